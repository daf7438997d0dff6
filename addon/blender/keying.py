"""Inserting keys, in bulk and by Auto Keying."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import bpy

from . import animation
from .errors import ProblemError
from .offset_values import below_layer
from .refusals import action_problem

LINEAR, BEZIER = 1, 2
"""Interpolation types, as Blender stores them."""

FREE, VECTOR, AUTO_CLAMPED = 0, 2, 4
"""Handle types, as Blender stores them."""

NEAR = 1e-3
"""The largest distance in frames between keys that count as being at the same frame."""


def set_keys(
    owner: Any,
    name: str,
    frames: Sequence[float],
    rows: Sequence[Sequence[float]],
    is_linear: bool = True,
) -> None:
    """Key a property, replacing its keys from the first to the last of the frames.

    The keys go into the active action of the data-block, which is created if needed. If it has an
    offset layer, they go into the action below, so that the property has these values above it.

    Args:
        owner: The owner of the property, such as a pose bone or an object.
        name: The property.
        frames: The frames of the keys, ascending; at least one.
        rows: The values at the frames, for each component of the property.
        is_linear: Whether to interpolate linearly instead of smoothly.
    """
    curves, path = ActiveCurves(owner.id_data), owner.path_from_id(name)
    for i, values in enumerate(below_layer(owner.id_data, path, frames, rows)):
        curve = curves.at(path, i, group_of(owner))
        _clear(curve, frames[0], frames[-1])
        _append(curve, frames, values, is_linear)
        curve.update()


class ActiveCurves:
    """The F-curves of an object's active action, indexed for fast lookup."""

    def __init__(self, ob: bpy.types.Object) -> None:
        """Index the F-curves; create the action if needed."""
        self._bag = animation.ensure_channelbag(ob)
        self._curves = {(c.data_path, c.array_index): c for c in self._bag.fcurves}
        self._groups: dict[str, Any] = {}

    def at(self, path: str, index: int, group: str) -> Any:
        """Return the F-curve of a property, created if needed, and make it effective.

        It is unmuted and unlocked, and its modifiers are muted, so that new keys take effect.

        Args:
            path: The data path.
            index: The array index.
            group: The name of the group for a new F-curve; empty without a group.
        """
        curve = self._curves.get((path, index))
        if curve is None:
            curve = self._curves[path, index] = self._bag.fcurves.new(path, index=index)
            if group:
                curve.group = self._group(group)
        curve.mute = curve.lock = False
        if _mutes(curve.group):
            curve.group = self._group(group)
        for modifier in curve.modifiers:
            modifier.mute = True
        return curve

    def _group(self, name: str) -> Any:
        """Return an unmuted group with a name, created if needed."""
        group = self._groups.get(name) or self._bag.groups.get(name)
        if group is None or _mutes(group):
            group = self._bag.groups.new(name)
        self._groups[name] = group
        return group


def _mutes(group: Any) -> bool:
    """Return whether a group mutes its F-curves."""
    return group is not None and group.mute and not animation.HAS_LAYERS


def put_keys(
    curve: Any,
    times: Sequence[float],
    values: Sequence[float],
    slopes: Sequence[float] | None = None,
    left_slopes: Sequence[float] | None = None,
) -> None:
    """Insert keys, and remove an F-curve's other keys between the first and the last of them.

    Args:
        curve: The F-curve.
        times: The frames of the keys, ascending; at least one.
        values: The values at the frames.
        slopes: The slopes at the frames, per frame, for a smooth curve; None for a linear curve.
        left_slopes: The slopes on the left of the frames, if they differ.
    """
    _clear(curve, times[0], times[-1])
    start = len(curve.keyframe_points)
    _append(curve, times, values, slopes is None)
    if slopes is not None:
        _set_handles(curve, start, times, values, left_slopes or slopes, slopes)
    curve.update()


def _set_handles(
    curve: Any,
    start: int,
    times: Sequence[float],
    values: Sequence[float],
    left_slopes: Sequence[float],
    right_slopes: Sequence[float],
) -> None:
    """Set the handles of keys at a third of the distance, so that time is linear.

    Args:
        curve: The F-curve.
        start: The index of the first of the keys.
        times: The frames of the keys.
        values: Their values.
        left_slopes: The slopes on their left, per frame.
        right_slopes: The slopes on their right, per frame.
    """
    points = curve.keyframe_points
    spans = [(b - a) / 3.0 for a, b in pairwise(times)] or [1.0]
    for name, sign, lengths, slopes in (
        ("left", -1.0, [spans[0], *spans], left_slopes),
        ("right", 1.0, [*spans, spans[-1]], right_slopes),
    ):
        _set_column(points, f"handle_{name}_type", array("i", [FREE]) * len(times), start)
        steps = [sign * length for length in lengths][: len(times)]
        handles = _pairs(
            [t + step for t, step in zip(times, steps, strict=True)],
            [v + step * m for v, step, m in zip(values, steps, slopes, strict=True)],
        )
        _set_column(points, f"handle_{name}", handles, start)


def set_span(
    owner: Any,
    name: str,
    frames: Sequence[float],
    rows: Sequence[Sequence[float]],
    guards: Sequence[float],
    outside: Sequence[float],
) -> None:
    """Key a property within a range, without changing it before and after.

    Args:
        owner: See `set_keys`.
        name: See `set_keys`.
        frames: See `set_keys`.
        rows: See `set_keys`.
        guards: The last frame before the range and the first frame after it; may be empty. They get
            keys. From the first guard to the next key, the curve is constant. With two guards, it
            is also constant from the last frame of the range. Without guards, it is smooth.
        outside: For components without keys, their values at the guards, by array index.
    """
    path = owner.path_from_id(name)
    animation.before_edit.notify(owner.id_data)
    keyed = {i: c for i, c in animation.active_curves(owner.id_data, path).items() if _keys(c)}
    for curve in keyed.values():
        for guard in guards:
            pin(curve, guard, curve.evaluate(guard))
    held = [[value] * len(guards) for value in outside]
    below = below_layer(owner.id_data, path, guards, held) if guards else held
    set_keys(owner, name, frames, rows, is_linear=False)
    for i, curve in animation.active_curves(owner.id_data, path).items() if guards else ():
        for guard, value in zip(guards, below[i], strict=True) if i not in keyed else ():
            pin(curve, guard, value)
        _hold_from(curve, guards[0])
        if len(guards) > 1:
            _hold_from(curve, frames[-1])
        curve.update()


def key_frames(owner: Any, names: Sequence[str]) -> set[float]:
    """Return the frames at which properties have keys in the active action of their owner."""
    return {
        key.co[0]
        for name in names
        for curve in animation.active_curves(owner.id_data, owner.path_from_id(name)).values()
        for key in _keys(curve)
    }


def _keys(curve: Any) -> list[Any]:
    return list(curve.keyframe_points)


def pin(curve: Any, frame: float, value: float) -> None:
    """Insert a key so that keys added on one side don't change the curve on the other side."""
    keys = _keys(curve)
    earlier = [key for key in keys if key.co[0] < frame - NEAR]
    later = [key for key in keys if key.co[0] > frame + NEAR]
    for key in earlier[-1:] + later[:1]:
        key.handle_left_type = key.handle_right_type = "FREE"
    key = curve.keyframe_points.insert(frame, value)
    key.handle_left_type = key.handle_right_type = "FREE"


def _hold_from(curve: Any, frame: float) -> None:
    """Make a curve constant between its key at a frame and the next key."""
    for key in _keys(curve):
        if abs(key.co[0] - frame) <= NEAR:
            key.interpolation = "CONSTANT"


def auto_key(owner: Any, name: str) -> None:
    """Key a property at the current frame if Auto Keying is on.

    Like Blender's tools, it respects the preferences and tool settings, such as Only Insert Needed
    and Only Insert Available. It ignores keying sets.

    Raises:
        ProblemError: If the action is linked.
    """
    tools = cast("bpy.types.Scene", bpy.context.scene).tool_settings
    if not tools.use_keyframe_insert_auto:
        return
    if problem := action_problem(owner.id_data):
        raise ProblemError(problem)
    edit = cast("bpy.types.Preferences", bpy.context.preferences).edit
    is_replacing = tools.auto_keying_mode == "REPLACE_KEYS"
    needs_curve = is_replacing or edit.use_keyframe_insert_available
    if needs_curve and not animation.active_curves(owner.id_data, owner.path_from_id(name)):
        return  # Blender would print a warning for each component.
    options = {
        "INSERTKEY_NEEDED": edit.use_auto_keyframe_insert_needed,
        "INSERTKEY_AVAILABLE": edit.use_keyframe_insert_available,
        "INSERTKEY_REPLACE": is_replacing,
        "INSERTKEY_CYCLE_AWARE": tools.use_keyframe_cycle_aware,
    }
    animation.before_edit.notify(owner.id_data)
    owner.keyframe_insert(
        name,
        group=group_of(owner),
        options={option for option, is_on in options.items() if is_on},
        keytype=tools.keyframe_type,
    )


def group_of(owner: Any) -> str:
    """Return the name of the group of an owner's F-curves, as Blender names it; may be empty."""
    return owner.name if isinstance(owner, bpy.types.PoseBone) else ""


def _clear(curve: Any, first: float, last: float) -> None:
    """Remove the keys between two frames, inclusive."""
    points = curve.keyframe_points
    if not points:
        return
    if first - NEAR <= points[0].co[0] and points[-1].co[0] <= last + NEAR:
        points.clear()
        return
    for i in reversed(range(len(points))):
        if first - NEAR <= points[i].co[0] <= last + NEAR:
            points.remove(points[i], fast=True)


def _append(curve: Any, frames: Sequence[float], values: Sequence[float], is_linear: bool) -> None:
    points = curve.keyframe_points
    start = len(points)
    points.add(len(frames))
    _set_column(points, "co", _pairs(frames, values), start)
    handle = VECTOR if is_linear else AUTO_CLAMPED
    # For new keys, the preferences set these. The key type is always Keyframe.
    properties = {
        "interpolation": LINEAR if is_linear else BEZIER,
        "handle_left_type": handle,
        "handle_right_type": handle,
    }
    for name, value in properties.items():
        _set_column(points, name, array("i", [value]) * len(frames), start)


def _pairs(frames: Sequence[float], values: Sequence[float]) -> array[float]:
    """Interleave frames and values, like `co` and the handles."""
    pairs = array("f", bytes(8 * len(frames)))
    pairs[::2] = array("f", frames)
    pairs[1::2] = array("f", values)
    return pairs


def _set_column(points: Any, name: str, column: array[Any], start: int) -> None:
    """Set a property of a curve's keys from an index to the end."""
    if start:
        size = column.itemsize * (len(column) // (len(points) - start))
        all_keys = array(column.typecode, bytes(size * len(points)))
        points.foreach_get(name, all_keys)
        all_keys[-len(column) :] = column
        column = all_keys
    points.foreach_set(name, column)
