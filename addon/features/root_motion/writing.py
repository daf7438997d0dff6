"""Write keys that move an armature object and its bones to world matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver.core.vectors import ORIGIN

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import NEAR, ActiveCurves, pin, put_keys
from ...blender.messages import channel_name
from ...blender.relations import active_constraints
from ...blender.rotation import LOCATION, channel_of, channel_values, continuous, mode_of
from .body import Recording, Traveler

MIN_DISPLACEMENT = 1e-5
"""The displacement below which location isn't keyed, as a fraction of the leg length."""

MIN_ROTATION = 3e-3
"""The angle below which rotation isn't keyed, in radians."""


class Goals(NamedTuple):
    """World matrices to reach at each frame.

    Attributes:
        objects: The matrices of the armature object.
        bones: The matrices of bones, by name, parents first.
    """

    objects: list[Matrix]
    bones: dict[str, list[Matrix]]


class ChannelKeys(NamedTuple):
    """The keys of a channel.

    Attributes:
        owner: The object or pose bone.
        name: The name of the channel.
        rows: Its values at each frame.
    """

    owner: Any
    name: str
    rows: list[list[float]]


def changed_channels(body: Traveler, recording: Recording, goals: Goals) -> list[ChannelKeys]:
    """Return the keys of the channels that must change.

    Raises:
        ProblemError: If a channel can't be keyed.
    """
    rig = body.armature
    size = body.leg * recording.objects[0].median_scale
    new = [
        basis @ ob.inverted() @ goal
        for basis, ob, goal in zip(recording.bases, recording.objects, goals.objects, strict=True)
    ]
    channels = _changed(rig, recording.bases, new, MIN_DISPLACEMENT * size)
    bones = cast(bpy.types.Armature, rig.data).bones
    poses: dict[str, list[Matrix]] = {}
    for name, matrices in goals.bones.items():
        bone, parent = bones[name], bones[name].parent
        poses[name] = [a.inverted() @ b for a, b in zip(goals.objects, matrices, strict=True)]
        new = []
        for i, pose in enumerate(poses[name]):
            above: dict[str, Any] = {}
            if parent is not None:
                above = {
                    "parent_matrix": poses[parent.name][i],
                    "parent_matrix_local": parent.matrix_local,
                }
            new.append(bone.convert_local_to_pose(pose, bone.matrix_local, invert=True, **above))
        old = [matrices[name] for matrices in recording.channels]
        channels += _changed(pose_bones(rig)[name], old, new, MIN_DISPLACEMENT * body.leg)
    for channel in channels:
        _refuse_unkeyable(rig, channel)
    return channels


def _changed(
    owner: Any, old: Sequence[Matrix], new: Sequence[Matrix], min_displacement: float
) -> list[ChannelKeys]:
    """Return the keys of location and rotation, if these change.

    Args:
        owner: The object or pose bone.
        old: The matrix of its channels at each frame.
        new: The new matrix at each frame.
        min_displacement: The distance up to which a location counts as unchanged.
    """
    channels: list[ChannelKeys] = []
    # The matrix includes the delta transform; the channel doesn't.
    delta: Any = owner.delta_location if isinstance(owner, bpy.types.Object) else ORIGIN
    shifts = [b.translation - a.translation for a, b in zip(old, new, strict=True)]
    if max(shift.length for shift in shifts) > min_displacement:
        locations = [[*(matrix.translation - Vector(delta))] for matrix in new]
        channels.append(ChannelKeys(owner, channel_of(LOCATION)[0], locations))
    turns = [
        a.to_quaternion().rotation_difference(b.to_quaternion())
        for a, b in zip(old, new, strict=True)
    ]
    if max(turn.to_axis_angle()[1] for turn in turns) > MIN_ROTATION:
        mode = mode_of(owner)
        rows = continuous(mode, [_rotation_values(owner, matrix) for matrix in new])
        channels.append(ChannelKeys(owner, channel_of(mode)[0], rows))
    return channels


def _rotation_values(owner: Any, basis: Matrix) -> list[float]:
    """Return the channel values of the owner's rotation mode."""
    mode = mode_of(owner)
    turn = basis.to_quaternion()
    return channel_values(mode, (turn.w, turn.x, turn.y, turn.z), [0.0] * channel_of(mode)[1])


def _refuse_unkeyable(rig: bpy.types.Object, channel: ChannelKeys) -> None:
    """Refuse a channel if keys on it would have no effect.

    Raises:
        ProblemError: If the owner is constrained, driven, or connected to its parent.
    """
    owner = channel.owner
    for con in active_constraints(owner):
        raise ProblemError(
            "“{owner}” is positioned by its constraint “{constraint}”: bake it to keys first",
            owner=owner.name,
            constraint=con.name,
        )
    path = owner.path_from_id(channel.name)
    if any((path, i) in animation.driven(rig) for i in range(4)):
        raise ProblemError(
            "The {channel} of “{owner}” is driven: remove the driver first",
            channel=channel_name(channel.name),
            owner=owner.name,
        )
    if (
        isinstance(owner, bpy.types.PoseBone)
        and channel.name == "location"
        and owner.bone.use_connect
    ):
        raise ProblemError(
            "“{owner}” is connected to its parent and can't travel: disable Connected in Edit Mode",
            owner=owner.name,
        )


def write(channels: Sequence[ChannelKeys], frames: Sequence[float]) -> None:
    """Key channels in the active action."""
    for channel in channels:
        curves = ActiveCurves(channel.owner.id_data)
        path = channel.owner.path_from_id(channel.name)
        group = channel.owner.name if isinstance(channel.owner, bpy.types.PoseBone) else ""
        for i, values in enumerate(zip(*channel.rows, strict=True)):
            put_keys(curves.at(path, i, group), frames, values)


def _are_within(keys: Sequence[float], frames: Sequence[float]) -> bool:
    """Return whether the keys that change something are all within a range."""
    return len(keys) > 1 and frames[0] - NEAR <= keys[0] and keys[-1] <= frames[-1] + NEAR


def add_cycles(
    rig: bpy.types.Object,
    channels: Sequence[ChannelKeys],
    travelers: Sequence[Any],
    frames: Sequence[float],
) -> None:
    """Extend the active action beyond a range with Cycles modifiers.

    An F-curve without a key at an end of the range gets one, or its period would be wrong.

    Args:
        rig: The armature object.
        channels: The channels that were keyed.
        travelers: The object or bones that travel, whose location repeats with offset.
        frames: The frames of the range.
    """
    written = {channel.owner.path_from_id(channel.name) for channel in channels}
    traveling = {owner.path_from_id("location") for owner in travelers}
    animation.before_edit.notify(rig)
    for curve in animation.all_active_curves(rig):
        keys = [key.co[0] for key in curve.keyframe_points]
        if not _are_within(keys, frames):
            continue
        cycles = next((modifier for modifier in curve.modifiers if modifier.type == "CYCLES"), None)
        if cycles is not None and curve.data_path not in written:
            continue
        for end, at in ((frames[0], keys[0]), (frames[-1], keys[-1])):
            if abs(end - at) > NEAR:
                pin(curve, end, curve.evaluate(end))
        cycles = cycles or curve.modifiers.new("CYCLES")
        cycles.mute = False
        mode = "REPEAT_OFFSET" if curve.data_path in traveling & written else "REPEAT"
        cycles.mode_before = cycles.mode_after = mode
        curve.update()
