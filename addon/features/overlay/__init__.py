"""What the overlay shows: read from what was evaluated, and nothing is written."""

from . import overlay

PARTS = (overlay,)
