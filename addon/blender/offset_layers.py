"""Offset layers: an NLA strip on top, whose keys are offsets from those of the action below it.

Blender's own blend mode *Combine* adds locations and Euler angles, multiplies scales, and composes
quaternions. The layer is edited in tweak mode, because only strips have an influence that can be
keyed. Blender then converts values keyed by hand, so that the keyed pose matches the one on the
screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import acos, cos, sin
from typing import Any, Final, NamedTuple, cast

import bpy
from mathutils import Quaternion, Vector

COMBINE: Final = "COMBINE"


class OffsetLayer(NamedTuple):
    """An offset layer, and the base below it.

    Attributes:
        base_track: The track of the base.
        base: The strip with the action below, at its own frames.
        track: The track of the layer.
        strip: The strip with the offsets, at their own frames.
    """

    base_track: Any
    base: Any
    track: Any
    strip: Any

    @property
    def is_on(self) -> bool:
        """Whether the layer is evaluated."""
        return not (self.track.mute or self.strip.mute or self.base_track.mute or self.base.mute)


def layer_of(ob: bpy.types.Object) -> OffsetLayer | None:
    """Return the offset layer of an object: its two topmost tracks, if they form one."""
    data = ob.animation_data
    if data is None or len(data.nla_tracks) < 2:
        return None
    base_track, track = data.nla_tracks[-2:]
    pairs = ((base_track, "REPLACE"), (track, COMBINE))
    if not all(_is_whole(track, blending) for track, blending in pairs):
        return None
    return OffsetLayer(base_track, base_track.strips[0], track, track.strips[0])


def edited_layer(ob: bpy.types.Object) -> OffsetLayer | None:
    """Return the offset layer that takes an object's keys, or None if there is none.

    Its keys are offsets. Code that reads or writes whole values uses the action below it.
    """
    data = ob.animation_data
    if data is None or not data.use_tweak_mode:
        return None
    layer = layer_of(ob)
    return layer if layer and layer.is_on and data.action == layer.strip.action else None


def edit_layer(ob: bpy.types.Object) -> None:
    """Enter tweak mode, so that an object's offset layer takes its keys."""
    data: Any = ob.animation_data
    for track in data.nla_tracks:
        is_layer = track == data.nla_tracks[-1]
        track.select = is_layer
        for strip in track.strips:
            strip.select = is_layer
    data.nla_tracks.active = data.nla_tracks[-1]
    data.use_tweak_mode = True
    ob.update_tag()


@contextmanager
def unedited(ob: bpy.types.Object) -> Iterator[None]:
    """Leave an object's tweak mode within the block, so that strips can be assigned actions."""
    is_edited = edited_layer(ob) is not None
    if is_edited:
        cast(Any, ob.animation_data).use_tweak_mode = False
    try:
        yield
    finally:
        if is_edited:
            edit_layer(ob)


class NlaState(NamedTuple):
    """The parts of an object's NLA that change when offset layers are added or switched.

    Attributes:
        is_edited: Whether new keys go to an offset layer.
        mutes: Whether each track is muted.
    """

    is_edited: bool
    mutes: list[bool]


def nla_state(ob: bpy.types.Object) -> NlaState:
    """Return the state of an object's NLA."""
    tracks = ob.animation_data.nla_tracks if ob.animation_data else ()
    return NlaState(edited_layer(ob) is not None, [track.mute for track in tracks])


def restore_tracks(ob: bpy.types.Object, state: NlaState) -> None:
    """Remove tracks added later, restore the mutes of the others, and leave tweak mode."""
    data: Any = ob.animation_data
    data.use_tweak_mode = False
    for track in [*data.nla_tracks][len(state.mutes) :]:
        data.nla_tracks.remove(track)
    for track, is_muted in zip(data.nla_tracks, state.mutes, strict=True):
        track.mute = is_muted


def _is_whole(track: Any, blending: str) -> bool:
    """Return whether a track has a single strip that plays an action at its own frames."""
    strip = track.strips[0] if len(track.strips) == 1 else None
    return (
        strip is not None
        and (strip.type, strip.blend_type, strip.use_reverse) == ("CLIP", blending, False)
        and (strip.scale, strip.repeat) == (1.0, 1.0)
        and strip.frame_start == strip.action_frame_start
    )


def influence_at(layer: OffsetLayer, frame: float) -> float:
    """Return the influence of a layer at a frame."""
    if not layer.is_on:
        return 0.0
    if not layer.strip.use_animated_influence:
        return 1.0
    curve = layer.strip.fcurves.find("influence")
    if curve is None or curve.is_empty or curve.mute:
        return layer.strip.influence
    return min(max(curve.evaluate(frame), 0.0), 1.0)


def combined(
    path: str, lower: list[float], offset: list[float], neutral: list[float], influence: float
) -> list[float]:
    """Return the value that Blender evaluates for a value below a layer and its offset.

    The formulas are those of `nla_combine_value` and `nla_combine_quaternion` (anim_sys.cc).

    Args:
        path: The data path of the property.
        lower: The components of the value below.
        offset: The components in the layer.
        neutral: The components that change nothing: the property's defaults.
        influence: The influence of the layer.
    """
    if influence == 0.0:
        return lower
    if path.endswith("rotation_quaternion"):
        return [*(Quaternion(lower).normalized() @ _power(offset, influence))]
    if path.endswith("scale"):
        return [a * b**influence for a, b in zip(lower, offset, strict=True)]
    changes = zip(lower, offset, neutral, strict=True)
    return [a + (b - default) * influence for a, b, default in changes]


def separated(
    path: str, value: list[float], offset: list[float], neutral: list[float], influence: float
) -> list[float]:
    """Return the value below a layer for a value above it: the inverse of `combined`."""
    if influence == 0.0:
        return value
    if path.endswith("rotation_quaternion"):
        return [*(Quaternion(value).normalized() @ _power(offset, influence).conjugated())]
    if path.endswith("scale"):
        factors = [b**influence for b in offset]
        return [a / b if b else a for a, b in zip(value, factors, strict=True)]
    changes = zip(value, offset, neutral, strict=True)
    return [a - (b - default) * influence for a, b, default in changes]


def _power(values: list[float], influence: float) -> Quaternion:
    """Return a power of a rotation, as Blender computes it (`pow_qt_fl_normalized`).

    Small angles lose digits in the cosine, even at influence 1.
    """
    turn = Quaternion(values).normalized()
    angle = influence * acos(min(max(turn.w, -1.0), 1.0))
    axis = Vector(turn[1:]).normalized() * sin(angle)
    return Quaternion((cos(angle), *axis))
