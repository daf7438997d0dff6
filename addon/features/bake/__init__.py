"""Baking constraints to keys, with verification."""

from . import operators

PARTS = (operators,)
