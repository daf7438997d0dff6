"""Keys on properties, many at once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, cast

import bpy

from . import animation
from .chain_plan import ProblemError

LINEAR, BEZIER = 1, 2
"""Blender's numbers for how a curve runs from one key to the next."""

VECTOR, AUTO_CLAMPED = 2, 4
"""Blender's numbers for handles: straight to the next key, or smooth without going beyond it."""

KEYFRAME = 0
"""Blender's number for an ordinary key."""

NEAR = 1e-3
"""Keys that are nearer to each other than this share of a frame are at the same one."""


def set_keys(
    owner: Any,
    name: str,
    frames: Sequence[float],
    rows: Sequence[Sequence[float]],
    is_linear: bool = True,
) -> None:
    """Give a property keys, in place of all that it has from the first of the frames to the last.

    They go into the active action of the data-block, which is made if there is none.

    Args:
        owner: What has the property, as a pose bone or an object.
        name: Of the property.
        frames: Where the keys stand, ascending; at least one.
        rows: For each number of the property its values at the frames.
        is_linear: Whether the curve runs straight from key to key, or smoothly.

    Raises:
        RuntimeError: If it cannot be keyed, as where the action is linked.
    """
    curves = _curves(owner, name, frames[0])
    for i, values in enumerate(rows):
        curve = curves[i]
        curve.mute = False
        _clear(curve, frames[0], frames[-1])
        _append(curve, frames, values, is_linear)


def set_span(
    owner: Any,
    name: str,
    frames: Sequence[float],
    rows: Sequence[Sequence[float]],
    guards: Sequence[float],
    outside: Sequence[float],
) -> None:
    """Give a property keys, and leave it as it is before, and after, the frames.

    Args:
        owner: See `set_keys`.
        name: See `set_keys`.
        frames: See `set_keys`.
        rows: See `set_keys`.
        guards: The last frame before that is to stay as it is, and the first one after, if any.
            They get keys, and the curve holds from the first guard, and from the last of the
            frames, to the next key. Without guards the curve runs smoothly.
        outside: What the numbers of the property are there if they have no keys yet.

    Raises:
        RuntimeError: See `set_keys`.
    """
    path = owner.path_from_id(name)
    known = {i: c for i, c in animation.active_curves(owner.id_data, path).items() if _keys(c)}
    for curve in known.values():
        for guard in guards:
            _pin(curve, guard, curve.evaluate(guard))
    set_keys(owner, name, frames, rows, is_linear=False)
    for i, curve in animation.active_curves(owner.id_data, path).items() if guards else ():
        for guard in guards if i not in known else ():
            _pin(curve, guard, outside[i])
        _hold_from(curve, guards[0])
        if len(guards) > 1:
            _hold_from(curve, frames[-1])
        curve.update()


def key_frames(owner: Any, names: Sequence[str]) -> set[float]:
    """Return at which frames properties have keys in the active action of their data-block."""
    return {
        key.co[0]
        for name in names
        for curve in animation.active_curves(owner.id_data, owner.path_from_id(name)).values()
        for key in _keys(curve)
    }


def _keys(curve: Any) -> list[Any]:
    return list(curve.keyframe_points)


def _pin(curve: Any, frame: float, value: float) -> None:
    """Give a curve a key that leaves its shape, whatever keys come to the other side of it."""
    keys = _keys(curve)
    before = [key for key in keys if key.co[0] < frame - NEAR]
    after = [key for key in keys if key.co[0] > frame + NEAR]
    for key in before[-1:] + after[:1]:
        key.handle_left_type = key.handle_right_type = "FREE"
    key = curve.keyframe_points.insert(frame, value)
    key.handle_left_type = key.handle_right_type = "FREE"


def _hold_from(curve: Any, frame: float) -> None:
    """Let a curve keep the value of its key at a frame until the next key."""
    for key in _keys(curve):
        if abs(key.co[0] - frame) <= NEAR:
            key.interpolation = "CONSTANT"


def auto_key(owner: Any, name: str) -> None:
    """Key a property at the present frame if auto keying is on.

    As with Blender's own tools, preferences and tool settings say whether everything is keyed, or
    only what differs, or what has keys already. Keying sets are left aside.

    Raises:
        ProblemError: If the action cannot be changed.
    """
    tools = cast(bpy.types.Scene, bpy.context.scene).tool_settings
    if not tools.use_keyframe_insert_auto:
        return
    data = owner.id_data.animation_data
    if data is not None and data.action is not None and not data.action.is_editable:
        raise ProblemError(
            f"the action “{data.action.name}” is linked from another file: give “"
            f"{owner.id_data.name}” one of its own"
        )
    edit = cast(bpy.types.Preferences, bpy.context.preferences).edit
    is_replacing = tools.auto_keying_mode == "REPLACE_KEYS"
    is_picky = is_replacing or edit.use_keyframe_insert_available
    if is_picky and not animation.active_curves(owner.id_data, owner.path_from_id(name)):
        return  # Blender would warn of each number in the console.
    options = {
        "INSERTKEY_NEEDED": edit.use_auto_keyframe_insert_needed,
        "INSERTKEY_AVAILABLE": edit.use_keyframe_insert_available,
        "INSERTKEY_REPLACE": is_replacing,
        "INSERTKEY_CYCLE_AWARE": tools.use_keyframe_cycle_aware,
    }
    owner.keyframe_insert(
        name,
        group=_group(owner),
        options={option for option, is_on in options.items() if is_on},
        keytype=tools.keyframe_type,
    )


def _curves(owner: Any, name: str, frame: float) -> dict[int, Any]:
    """Return a property's F-curves by their index, made with a key at a frame if need be."""
    ob = owner.id_data
    # Whichever way a Blender stores its actions, this makes what is missing.
    owner.keyframe_insert(name, frame=frame, group=_group(owner))
    return animation.active_curves(ob, owner.path_from_id(name))


def _group(owner: Any) -> str:
    return owner.name if isinstance(owner, bpy.types.PoseBone) else ""


def _clear(curve: Any, first: float, last: float) -> None:
    """Take away the keys from one frame to another, both included."""
    points = curve.keyframe_points
    for i in reversed(range(len(points))):
        if first - NEAR <= points[i].co[0] <= last + NEAR:
            points.remove(points[i], fast=True)


def _append(curve: Any, frames: Sequence[float], values: Sequence[float], is_linear: bool) -> None:
    points = curve.keyframe_points
    start = len(points)
    points.add(len(frames))
    places = array("f", bytes(8 * len(points)))
    points.foreach_get("co", places)
    places[2 * start :: 2] = array("f", frames)
    places[2 * start + 1 :: 2] = array("f", values)
    points.foreach_set("co", places)
    kinds = {
        "interpolation": LINEAR if is_linear else BEZIER,
        "handle_left_type": VECTOR if is_linear else AUTO_CLAMPED,
        "handle_right_type": VECTOR if is_linear else AUTO_CLAMPED,
        "type": KEYFRAME,
    }
    for kind, value in kinds.items():
        column = array("i", bytes(4 * len(points)))
        points.foreach_get(kind, column)
        column[start:] = array("i", [value]) * len(frames)
        points.foreach_set(kind, column)
    curve.update()
