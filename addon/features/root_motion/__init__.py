"""Root motion: computed from the feet of a cycle in place, or extracted from a traveling body."""

from . import operators

PARTS = (operators,)
