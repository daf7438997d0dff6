"""Constraints and joints, copied to other bones or to the other side."""

from . import operators

PARTS = (operators,)
