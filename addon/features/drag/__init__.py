"""Dragging bones in the viewport, without a window."""
