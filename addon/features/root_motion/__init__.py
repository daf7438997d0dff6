"""Root motion: computed from the feet of an in-place cycle, or extracted from a traveling body."""

from . import operators

PARTS = (operators,)
