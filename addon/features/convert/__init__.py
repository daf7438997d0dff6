"""Blender's IK constraints made ours, and ours Blender's."""

from . import operators

PARTS = (operators,)
