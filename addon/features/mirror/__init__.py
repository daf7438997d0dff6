"""Copying and mirroring of constraints and joints."""

from . import operators

PARTS = (operators,)
