"""Dragging bones in the 3D Viewport."""

from . import operators

PARTS = (operators,)
