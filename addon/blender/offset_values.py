"""The values of channels above and below an offset layer, frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

from . import animation
from .offset_layers import OffsetLayer, combined, edited_layer, influence_at, separated

Columns = Sequence[Sequence[float]]
"""The values of each component of a property at some frames."""


def below_layer(
    ob: bpy.types.Object, path: str, frames: Sequence[float], columns: Columns
) -> Columns:
    """Return the values to key below an object's offset layer to get some values above it.

    Args:
        ob: The object.
        path: The data path of the property.
        frames: The frames.
        columns: The values above the layer.
    """
    layer = edited_layer(ob)
    curves = None if layer is None else _curves(layer.strip, path, len(columns))
    if layer is None or curves is None:
        return columns
    neutral = neutral_of(ob, path)
    rows = [
        separated(path, [*row], _at(curves, frame, neutral), neutral, influence_at(layer, frame))
        for frame, row in zip(frames, zip(*columns, strict=True), strict=True)
    ]
    return [*zip(*rows, strict=True)]


def above_layer(
    ob: bpy.types.Object, layer: OffsetLayer, path: str, frames: Sequence[float]
) -> tuple[list[list[float]], list[list[float]]]:
    """Return the values of a property below and above a layer, frames × components."""
    neutral = neutral_of(ob, path)
    count = len(neutral)
    under = _curves(layer.base, path, count) or [None] * count
    over = _curves(layer.strip, path, count) or [None] * count
    lower = [_at(under, frame, neutral) for frame in frames]
    upper: list[list[float]] = []
    for frame, row in zip(frames, lower, strict=True):
        offset = _at(over, frame, neutral)
        # Composing quaternions rounds them, so even an identity offset changes them.
        is_neutral = offset == neutral
        influence = 0.0 if is_neutral else influence_at(layer, frame)
        upper.append(combined(path, row, offset, neutral, influence))
    return lower, upper


def _curves(strip: Any, path: str, count: int) -> list[Any] | None:
    """Return the effective F-curve of each component, or None where it is missing.

    Returns None instead of a list if all are missing.
    """
    lists = animation.curve_lists(strip.action, getattr(strip, "action_slot", None))
    curves = animation.channel_curves(lists, path, count)
    return curves if any(curves) else None


def _at(curves: Sequence[Any], frame: float, neutral: list[float]) -> list[float]:
    return [
        default if curve is None else curve.evaluate(frame)
        for curve, default in zip(curves, neutral, strict=True)
    ]


def neutral_of(ob: bpy.types.Object, path: str) -> list[float]:
    """Return the default of a property, from which Blender's NLA starts; empty if it has none."""
    if path.endswith("rotation_axis_angle"):
        return [0.0] * 4
    try:
        prop: Any = ob.path_resolve(path, False)
        if path.endswith('"]'):
            name = bpy.utils.unescape_identifier(path[path.rindex('["') + 2 : -2])
            default = prop.data.id_properties_ui(name).as_dict().get("default", 0.0)
        else:
            rna = prop.data.bl_rna.properties[path.rpartition(".")[2]]
            default = rna.default_array if getattr(rna, "is_array", False) else rna.default
    except (AttributeError, KeyError, ValueError):
        return []
    if isinstance(default, (int, float)):
        return [float(default)]
    return [0.0] if isinstance(default, str) else [float(value) for value in default]
