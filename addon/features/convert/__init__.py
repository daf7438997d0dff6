"""Converting between Blender's IK constraints and those of the extension."""

from . import operators

PARTS = (operators,)
