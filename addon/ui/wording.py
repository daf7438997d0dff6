"""Formats numbers, names and lengths for reports and labels."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ..blender.errors import listed
from ..blender.messages import Message

MOST_NAMES = 4
"""Maximum number of names in a message."""


def named(names: Sequence[str]) -> Message:
    """Format names for a sentence: the first few, and how many more there are."""
    return listed(names[:MOST_NAMES], max(len(names) - MOST_NAMES, 0))


def length_text(scene: bpy.types.Scene, meters: float) -> str:
    """Format a length in meters in the units of a scene."""
    units = scene.unit_settings
    return bpy.utils.units.to_string(
        units.system, "LENGTH", meters * units.scale_length, precision=4
    ).strip()
