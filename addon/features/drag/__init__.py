"""Dragging bones in the viewport, without a window."""

from . import operators

PARTS = (operators,)
