"""The settings of a constraint or joint, by their names."""

from __future__ import annotations

from typing import Any

import bpy

NOT_SETTINGS = ("name", "key", "state", "error", "iterations_used", "message")
"""What a constraint has that says which one it is, or how it did."""


def values_of(group: bpy.types.PropertyGroup) -> dict[str, Any]:
    """Return the settings of a constraint or joint by their names, in an order to set them in.

    Those of a group within it are named as in ``"look.weight"``.
    """
    found: dict[str, Any] = {}
    for prop in group.bl_rna.properties:
        if not prop.is_runtime or prop.is_hidden or prop.identifier in NOT_SETTINGS:
            continue
        value = getattr(group, prop.identifier)
        if isinstance(value, bpy.types.PropertyGroup):
            within = values_of(value)
            found |= {f"{prop.identifier}.{name}": inner for name, inner in within.items()}
        elif hasattr(value, "__len__") and not isinstance(value, str):
            found[prop.identifier] = tuple(value)
        else:
            found[prop.identifier] = value
    return found
