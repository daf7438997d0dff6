"""The viewport overlay: chains, their reach and joint limits."""

from . import overlay

PARTS = (overlay,)
