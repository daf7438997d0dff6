"""Adding an offset layer above the action of an object, switching, merging and removing it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any, Final, NamedTuple, cast

import bpy

from ..blender import animation
from ..blender.errors import ProblemError
from ..blender.keying import ActiveCurves, group_of, pin, put_keys
from ..blender.messages import msg
from ..blender.offset_layers import COMBINE, OffsetLayer, edit_layer, edited_layer, layer_of
from ..blender.offset_values import above_layer
from ..blender.refusals import linked_problem, tweak_problem
from .transaction import at_the_end

LAST: Final = 1_048_574
"""The last frame that Blender supports."""


def refuse_unlayered(ob: bpy.types.Object) -> None:
    """Refuse an object whose action can't get an offset layer above it.

    Raises:
        ProblemError: If the object is refused; the message says why.
    """
    if problem := linked_problem(ob) or tweak_problem(ob):
        raise ProblemError(problem)
    if layer_of(ob) is not None:
        raise ProblemError(
            "“{object}” already has an offset layer: turn it on, or merge it first", object=ob.name
        )
    data: Any = ob.animation_data
    name = msg("“{object}”", object=ob.name)
    if data.nla_tracks and not data.use_nla:
        raise ProblemError("The NLA of {name} is off: turn its tracks on first", name=name)
    if any(track.is_solo for track in data.nla_tracks):
        raise ProblemError(
            "An NLA track of {name} is solo and would hide the offset layer: turn solo off",
            name=name,
        )
    if data.action_blend_type != "REPLACE" or data.action_influence < 1.0:
        raise ProblemError(
            "The active action of {name} blends with the NLA: set its blending to Replace and its "
            "influence to 1",
            name=name,
        )


def add_layer(ob: bpy.types.Object) -> None:
    """Push an object's action down, and add an empty offset layer above it to key into.

    The object must have an action, and `refuse_unlayered` must have accepted it.
    """
    data: Any = ob.animation_data
    action, slot = data.action, getattr(data, "action_slot_handle", 0)
    first, last = _extent(ob)
    layer_action = bpy.data.actions.new(f"{action.name} Offset")
    handle = 0
    if animation.HAS_LAYERS:
        handle = cast(Any, layer_action).slots.new("OBJECT", ob.name).handle
    data.use_nla, data.action = True, None
    base = _new_strip(data, action, slot, action.name, first, last)
    base.extrapolation = data.action_extrapolation
    strip = _new_strip(data, layer_action, handle, "Offset Layer", first, LAST)
    strip.blend_type, strip.extrapolation = COMBINE, "HOLD"
    strip.use_animated_influence = True
    for curve in strip.fcurves:  # Without this key, the influence can be set.
        curve.keyframe_points.clear()
    strip.influence = 1.0
    edit_layer(ob)


def _extent(ob: bpy.types.Object) -> tuple[int, int]:
    """Return the range of the strip that plays an object's action unchanged.

    A strip holds its end values, so it has to include any change outside the keys. The range starts
    at frame 0 if possible: Blender subtracts and adds its start, which rounds fractions of frames.
    """
    curves = animation.all_active_curves(ob)
    scene = cast(bpy.types.Scene, bpy.context.scene)
    keys = [key.co[0] for curve in curves for key in curve.keyframe_points]
    first, last = floor(min([0.0, scene.frame_start, *keys])), ceil(max([1.0, *keys]))
    beyond = {end for c in curves for end in animation.frames_beyond_keys(c, first - 2, last + 2)}
    return -LAST if first - 2 in beyond else first, LAST if last + 2 in beyond else last


def _new_strip(data: Any, action: Any, slot: int, name: str, first: int, last: int) -> Any:
    """Add a strip in a new track on top, which plays frames of an action at the same frames.

    Args:
        data: The animation data.
        action: The action.
        slot: The handle of its slot; 0 without a slot.
        name: The name of the track and the strip.
        first: The first frame.
        last: The last frame.
    """
    track = data.nla_tracks.new()
    track.name = name
    strip = track.strips.new(name, first, action)
    strip.name = name
    if slot:
        strip.action_slot = next(s for s in action.slots if s.handle == slot)
    strip.use_sync_length = False
    for _ in range(2):  # Each of them is limited by the others.
        strip.action_frame_start, strip.action_frame_end = first, last
        strip.frame_start, strip.frame_end = first, last
    return strip


def refuse_covered(ob: bpy.types.Object, layer: OffsetLayer) -> None:
    """Refuse an offset layer that can't be edited.

    Raises:
        ProblemError: If another action is above it, or a strip is in tweak mode.
    """
    action = cast(Any, ob.animation_data).action
    if problem := linked_problem(ob) or tweak_problem(ob):
        raise ProblemError(problem)
    if edited_layer(ob) is None and action not in (None, layer.base.action):
        raise ProblemError(
            "The action “{action}” of “{object}” is above the offset layer: unassign it first",
            action=action.name,
            object=ob.name,
        )


def turn_on(ob: bpy.types.Object, layer: OffsetLayer) -> None:
    """Push the action down again, and key into the layer. Call `refuse_covered` before."""
    cast(Any, ob.animation_data).action = None
    _mute(layer, is_muted=False)
    edit_layer(ob)


def turn_off(ob: bpy.types.Object, layer: OffsetLayer) -> None:
    """Make the action below the layer active again, and mute the layer."""
    data: Any = ob.animation_data
    action, slot = layer.base.action, getattr(layer.base, "action_slot_handle", 0)
    data.use_tweak_mode = False
    layer = cast(OffsetLayer, layer_of(ob))
    _mute(layer, is_muted=True)
    if data.action is None:
        animation.use_action(ob, action, slot)
    ob.update_tag()


def _mute(layer: OffsetLayer, is_muted: bool) -> None:
    layer.base_track.mute = layer.track.mute = is_muted
    layer.base.mute = layer.strip.mute = False


def remove_layer(ob: bpy.types.Object) -> None:
    """Remove an offset layer, and its action unless something else uses it."""
    turn_off(ob, cast(OffsetLayer, layer_of(ob)))
    at_the_end(lambda: remove_tracks(ob))


def remove_tracks(ob: bpy.types.Object) -> None:
    """Remove the tracks of an offset layer that is off, and its action unless it is still used."""
    layer, data = cast(OffsetLayer, layer_of(ob)), cast(Any, ob.animation_data)
    action = layer.strip.action
    data.nla_tracks.remove(layer.track)
    data.nla_tracks.remove(layer.base_track)
    if not action.users:
        bpy.data.actions.remove(action)


def merge_layer(ob: bpy.types.Object, layer: OffsetLayer) -> int:
    """Key the result of an offset layer into the action below, and remove the layer.

    Keys outside of the frames that the layer changes stay as they are. An action that is linked or
    used by other objects is copied first.

    Returns:
        The number of merged channels.
    """
    merges = merges_of(ob, layer)
    remove_layer(ob)
    animation.before_edit.notify(ob)
    other_objects = [other for other in bpy.data.objects if other != ob]
    animation.rewrite_in([ob.animation_data], other_objects, lambda _curves: None)
    return sum([merge.write(ob) for merge in merges])


def merges_of(ob: bpy.types.Object, layer: OffsetLayer) -> list[Merge]:
    """Return the channels that an offset layer animates, with their values below and above it."""
    scene = cast(bpy.types.Scene, bpy.context.scene)
    lists = animation.curve_lists(layer.strip.action, getattr(layer.strip, "action_slot", None))
    curves = [curve for curves in lists for curve in curves if animation.has_effect(curve)]
    influence = [curve for curve in layer.strip.fcurves if not curve.is_empty]
    merges: list[Merge] = []
    for path in dict.fromkeys(curve.data_path for curve in curves):
        offsets = [curve for curve in curves if curve.data_path == path]
        base = [*animation.active_curves(ob, path).values()]
        frames = _frames([*offsets, *base, *influence], scene)
        merges.append(Merge(path, frames, *above_layer(ob, layer, path, frames)))
    return merges


class Merge(NamedTuple):
    """A channel to merge.

    Attributes:
        path: Its data path.
        frames: The frames of its keys.
        lower: Its values below the layer, frames × components.
        upper: Its values above it.
    """

    path: str
    frames: list[float]
    lower: list[list[float]]
    upper: list[list[float]]

    def write(self, ob: bpy.types.Object) -> int:
        """Key the components where the layer changes them, and return their number."""
        pairs = zip(self.lower, self.upper, strict=True)
        changed = [i for i, (lower, upper) in enumerate(pairs) if lower != upper]
        if not changed:
            return 0
        start, end = max(changed[0] - 1, 0), min(changed[-1] + 2, len(self.frames))
        curves, merged = ActiveCurves(ob), 0
        columns = zip(zip(*self.lower, strict=True), zip(*self.upper, strict=True), strict=True)
        for index, (lower, upper) in enumerate(columns):
            if lower != upper:
                curve = curves.at(self.path, index, _group(ob, self.path))
                _replace(curve, self.frames, upper, start, end)
                merged += 1
        return merged


def _frames(curves: Sequence[Any], scene: bpy.types.Scene) -> list[float]:
    """Return the frames at which any F-curve may bend: its keys, and all frames in between."""
    keys = {key.co[0] for curve in curves for key in curve.keyframe_points}
    if any(len(curve.modifiers) or curve.extrapolation != "CONSTANT" for curve in curves):
        keys |= {float(scene.frame_start), float(scene.frame_end)}
    return sorted(keys | {float(frame) for frame in range(ceil(min(keys)), floor(max(keys)) + 1)})


def _replace(
    curve: Any, frames: Sequence[float], column: Sequence[float], start: int, end: int
) -> None:
    """Replace a part of an F-curve, without changing it before and after.

    Args:
        curve: The F-curve.
        frames: All its frames.
        column: The new value at each.
        start: The index of the first frame to replace.
        end: The index after the last.
    """
    if not curve.is_empty:
        if start > 0:
            pin(curve, frames[start], column[start])
            start += 1
        if end < len(frames):
            end -= 1
            pin(curve, frames[end], column[end])
    import numpy as np  # It takes a tenth of a second to load.

    slope = np.gradient(column, frames, edge_order=2 if len(frames) > 2 else 1).tolist()
    put_keys(curve, frames[start:end], column[start:end], slope[start:end])


def _group(ob: bpy.types.Object, path: str) -> str:
    return group_of(ob.path_resolve(path.rpartition(".")[0]) if "." in path else ob)
