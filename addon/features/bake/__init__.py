"""What constraints pose, turned into keys and proven."""

from . import operators

PARTS = (operators,)
