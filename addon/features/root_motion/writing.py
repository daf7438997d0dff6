"""Keyframes that bring an armature object and its bones to given world matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import NEAR, ActiveCurves, pin, put_keys
from ...blender.relations import active_constraints
from ...blender.rotation import LOCATION, channel_of, continuous, mode_of
from ...core.vectors import ORIGIN
from .body import Body, Take

UNMOVED = 1e-5
"""The displacement below which a channel is not keyed, as a share of the leg."""

UNTURNED = 3e-3
"""The same for rotations, in radians."""


class Places(NamedTuple):
    """World matrices to reach at each frame.

    Attributes:
        worlds: Those of the armature object.
        bones: Those of bones, by name, parents first.
    """

    worlds: list[Matrix]
    bones: dict[str, list[Matrix]]


class Lane(NamedTuple):
    """A channel to key.

    Attributes:
        owner: The object or pose bone.
        name: The name of the channel.
        rows: Its values at each frame.
    """

    owner: Any
    name: str
    rows: list[list[float]]


def lanes_of(body: Body, take: Take, places: Places) -> list[Lane]:
    """Return the channels that have to change.

    Raises:
        ProblemError: If one of them cannot be keyed.
    """
    rig = body.armature
    objects: list[Matrix] = []
    for world, basis, wanted in zip(take.worlds, take.bases, places.worlds, strict=True):
        objects.append(basis @ world.inverted() @ wanted)
    lanes = _lanes(rig, take.bases, objects, UNMOVED * body.leg * take.worlds[0].median_scale)
    bones = cast(bpy.types.Armature, rig.data).bones
    now: dict[str, list[Matrix]] = {}
    for name, wanted in places.bones.items():
        bone, parent = bones[name], bones[name].parent
        now[name] = [a.inverted() @ b for a, b in zip(places.worlds, wanted, strict=True)]
        new: list[Matrix] = []
        for i, pose in enumerate(now[name]):
            above: dict[str, Any] = {}
            if parent is not None:
                above = {
                    "parent_matrix": now[parent.name][i],
                    "parent_matrix_local": parent.matrix_local,
                }
            new.append(bone.convert_local_to_pose(pose, bone.matrix_local, invert=True, **above))
        old = [channels[name] for channels in take.channels]
        lanes += _lanes(pose_bones(rig)[name], old, new, UNMOVED * body.leg)
    for lane in lanes:
        _refuse(rig, lane)
    return lanes


def _lanes(owner: Any, old: Sequence[Matrix], new: Sequence[Matrix], least: float) -> list[Lane]:
    """Return location and rotation, if they change."""
    lanes: list[Lane] = []
    # The matrix includes the delta transform, the channel does not.
    aside: Any = owner.delta_location if isinstance(owner, bpy.types.Object) else ORIGIN
    shifts = [b.translation - a.translation for a, b in zip(old, new, strict=True)]
    if max(shift.length for shift in shifts) > least:
        lanes.append(
            Lane(owner, channel_of(LOCATION)[0], [[*(m.translation - Vector(aside))] for m in new])
        )
    turns = [
        a.to_quaternion().rotation_difference(b.to_quaternion())
        for a, b in zip(old, new, strict=True)
    ]
    if max(turn.to_axis_angle()[1] for turn in turns) > UNTURNED:
        mode = mode_of(owner)
        name = channel_of(mode)[0]
        rows = [_numbers(owner, m) for m in new]
        lanes.append(Lane(owner, name, continuous(mode, rows)))
    return lanes


def _numbers(owner: Any, basis: Matrix) -> list[float]:
    """Return the values of the rotation channel in the owner's rotation mode."""
    turn = basis.to_quaternion()
    if owner.rotation_mode == "QUATERNION":
        return [*turn]
    if owner.rotation_mode == "AXIS_ANGLE":
        axis, angle = turn.to_axis_angle()
        return [angle, *axis]
    return [*turn.to_euler(owner.rotation_mode)]


def _refuse(rig: bpy.types.Object, lane: Lane) -> None:
    """Refuse a channel that does not follow its keys.

    Raises:
        ProblemError: If the owner is constrained, driven, or connected to its parent.
    """
    owner = lane.owner
    for con in active_constraints(owner):
        raise ProblemError(
            f"“{owner.name}” is positioned by its own constraint “{con.name}”: bake it into keys "
            "first"
        )
    path = owner.path_from_id(lane.name)
    if any((path, i) in animation.driven(rig) for i in range(4)):
        raise ProblemError(f"The {lane.name} of “{owner.name}” is driven: remove the driver first")
    if isinstance(owner, bpy.types.PoseBone) and lane.name == "location" and owner.bone.use_connect:
        raise ProblemError(
            f"“{owner.name}” is connected to its parent and cannot travel: disable the bone's "
            "Connected option in Edit Mode"
        )


def write(lanes: Sequence[Lane], frames: Sequence[float]) -> None:
    """Key the channels in the active action."""
    for lane in lanes:
        curves = ActiveCurves(lane.owner.id_data)
        path = lane.owner.path_from_id(lane.name)
        group = lane.owner.name if isinstance(lane.owner, bpy.types.PoseBone) else ""
        for i, values in enumerate(zip(*lane.rows, strict=True)):
            put_keys(curves.at(path, i, group), frames, values)


def repeat(
    rig: bpy.types.Object, lanes: Sequence[Lane], carriers: Sequence[Any], frames: Sequence[float]
) -> None:
    """Extend the active action beyond a range by Cycles modifiers.

    F-curves without a key at an end of the range get one, as their period would differ otherwise.

    Args:
        rig: The armature object.
        lanes: The channels that were keyed.
        carriers: The object or bones that travel, whose location repeats with offset.
        frames: The frames of the range.
    """
    written = {lane.owner.path_from_id(lane.name) for lane in lanes}
    travelling = {owner.path_from_id("location") for owner in carriers}
    for curve in animation.all_active_curves(rig):
        keys = [key.co[0] for key in curve.keyframe_points]
        if len(keys) < 2 or keys[0] < frames[0] - NEAR or keys[-1] > frames[-1] + NEAR:
            continue
        cycles = next((one for one in curve.modifiers if one.type == "CYCLES"), None)
        if cycles is not None and curve.data_path not in written:
            continue
        for end, at in ((frames[0], keys[0]), (frames[-1], keys[-1])):
            if abs(end - at) > NEAR:
                pin(curve, end, curve.evaluate(end))
        cycles = cycles or curve.modifiers.new("CYCLES")
        cycles.mute = False
        mode = "REPEAT_OFFSET" if curve.data_path in travelling & written else "REPEAT"
        cycles.mode_before = cycles.mode_after = mode
        curve.update()
