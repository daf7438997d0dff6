"""Formatting numbers, names and lengths for reports and labels."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ..blender.errors import listed

MOST_NAMES = 4
"""The most names that a message lists."""


def counted(count: int, noun: str) -> str:
    """Format a count: 1 key, 2 keys."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def named(names: Sequence[str]) -> str:
    """Format names for a sentence: the first few, and the number of others."""
    more = len(names) - MOST_NAMES
    if more <= 0:
        return listed(names)
    return f"{', '.join(f'“{name}”' for name in names[:MOST_NAMES])} and {more} more"


def length_text(scene: bpy.types.Scene, metres: float) -> str:
    """Format a length in the units of a scene."""
    units = scene.unit_settings
    return bpy.utils.units.to_string(
        units.system, "LENGTH", metres * units.scale_length, precision=4
    ).strip()
