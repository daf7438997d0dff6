"""Snapping FK and IK poses to each other, and keying the switch between them."""

from . import operators, switching

PARTS = (operators, switching)
