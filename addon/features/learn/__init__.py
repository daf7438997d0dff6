"""Joint limits learned from animation."""

from . import operators

PARTS = (operators,)
