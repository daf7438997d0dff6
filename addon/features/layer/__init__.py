"""Offset layers: keys that offset captured ones, based on Blender's NLA."""

from . import operators

PARTS = (operators,)
