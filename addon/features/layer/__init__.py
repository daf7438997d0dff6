"""Offset layers: keys that offset captured animation, based on Blender's NLA."""

from . import operators

PARTS = (operators,)
