"""What the joint of a bone allows."""

from . import panel, presets

PARTS = (panel, presets)
