"""FK and IK poses snapped to each other, and the switch between them keyed."""

from . import operators

PARTS = (operators,)
