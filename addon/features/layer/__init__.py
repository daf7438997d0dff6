"""Offset layers: keys on top of captured ones, as offsets, by Blender's NLA."""

from . import operators

PARTS = (operators,)
