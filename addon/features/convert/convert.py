"""Converting Blender's IK constraints to ours and back, keeping the pose.

Pole angles differ: Blender rotates an axis of the root bone to the pole; our chains bend toward it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from math import atan2, cos, pi, sin
from typing import Any, NamedTuple

import bpy
from mathutils import Quaternion, Vector

from fabrik_solver import Chain
from fabrik_solver.core.vectors import unit

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.messages import joined, msg
from ...body.chains import named_chain
from ...editing import constraints as editing
from ...editing.bending import unused_limits_notes, use_native_limits
from ...editing.placing import side_of_bend
from ...settings.muting import muting
from ...settings.properties import free_name, settings
from .counterpart import (
    ANIMATED,
    from_native,
    ik_names,
    refuse_native,
    refuse_own,
    set_native_limits,
    to_native,
)
from .curve_moves import Move, animated_below, move_curves
from .matching import Replacement, decide_flexion, match_pose
from .other_frames import notes_on, other_frames, poses_at
from .poses import angle_about, evaluated_pose

NATIVE_NAME = "IK"
"""Default name of native IK constraints, which new constraints don't take over."""


class Conversion(NamedTuple):
    """The result of a conversion.

    Attributes:
        names: Names of the new constraints.
        notes: Notes on settings without an equivalent, and on changes.
        moved: Largest movement of a head or tail, in meters in world space.
        turned: Largest rotation of a bone, in radians.
        off: Names of the constraints that don't reproduce the pose.
    """

    names: list[str]
    notes: list[str]
    moved: float
    turned: float
    off: list[str]


def convert_from_blender(
    armature: bpy.types.Object, bones: Collection[str] | None = None
) -> Conversion:
    """Convert native IK constraints and their animation to ours, and keep the pose.

    Args:
        armature: The armature object, in the scene and not in the NLA's tweak mode.
        bones: Names of the bones whose constraints to convert; None for all.

    Raises:
        ProblemError: If no constraint can be converted; nothing is changed.
    """
    posed = pose_bones(armature)
    native_refs = [
        (bone.name, name)
        for bone in posed
        if bones is None or bone.name in bones
        for name in ik_names(bone)
    ]
    if not native_refs:
        if bones is None:
            raise ProblemError("The armature has no Inverse Kinematics constraint")
        raise ProblemError("The selected bones have no Inverse Kinematics constraint")
    original_pose = evaluated_pose(armature)
    frames = other_frames(armature, [posed[b].constraints[n] for b, n in native_refs])
    original_poses = poses_at(armature, frames)
    notes: list[str] = []
    added: list[tuple[str, str]] = []
    waiting = native_refs
    while waiting:
        refused: dict[tuple[str, str], str] = {}
        for bone, name in waiting:
            con = posed[bone].constraints[name]
            try:
                notes += _add_own(armature, posed[bone], con)
            except ProblemError as problem:
                refused[bone, name] = str(problem)
                continue
            con.target = None  # Disables it; removing it would also remove its drivers.
            added.append((bone, name))
        if len(refused) == len(waiting):
            notes += refused.values()
            break
        # Some may only have to wait until Blender's IK that follows them is converted.
        waiting = [*refused]
    if not added:
        raise ProblemError(joined(" ", [msg("{note}.", note=note) for note in notes]))
    items = settings(armature).constraints
    first = len(items) - len(added)
    replacements = [
        _own_link(posed[b], posed[b].constraints[n], items[first + i])
        for i, (b, n) in enumerate(added)
    ]
    for item in items[first:]:
        use_native_limits(armature, item)
    notes += unused_limits_notes(armature, items[first:])
    decide_flexion(armature, replacements, original_pose)
    difference, off = match_pose(armature, replacements, original_pose, notes)
    for new in replacements:
        notes += _move_animation(armature, new, {**ANIMATED, "mute": "enabled"})
    for bone, name in added:
        posed[bone].constraints.remove(posed[bone].constraints[name])
    settings(armature).active_index = first
    editing.changed(armature)
    bpy.context.view_layer.update()
    notes += notes_on(armature, replacements, frames, original_poses, poses_at(armature, frames))
    return Conversion([new.constraint.name for new in replacements], notes, *difference, off)


def _add_own(armature: bpy.types.Object, bone: Any, con: Any) -> list[str]:
    """Add a disabled FABRIK constraint for a native constraint.

    Returns:
        Notes on settings without an equivalent.

    Raises:
        ProblemError: If the new constraint would be invalid or invalidate another; nothing is
            changed.
    """
    refuse_native(bone, con)
    earlier_problems = editing.problems(with_lag=True)
    items = settings(armature).constraints
    name = bone.name if _is_numbered(con.name, NATIVE_NAME) else con.name
    name = free_name(armature, name)
    item = items.add()
    item.name = name
    notes = from_native(bone, con, item)
    item.enabled = False
    if problem := editing.new_problem(earlier_problems, with_lag=True):
        items.remove(len(items) - 1)
        editing.changed(armature)
        raise ProblemError(
            "“{constraint}” of “{bone}” wasn't converted: {problem}",
            constraint=con.name,
            bone=bone.name,
            problem=problem,
        )
    return [msg("“{name}”: {note}", name=name, note=note) for note in notes]


def _own_link(bone: Any, con: Any, item: Any) -> Replacement:
    theta = con.pole_angle

    def turn(root: Any, chain: Chain) -> float:
        return angle_about(Vector(chain.axis), _up(root, theta), Vector(side_of_bend(chain)))

    tip = pose_bones(bone.id_data)[item.bone]
    return Replacement(
        item, named_chain(item, tip), item.name, turn, not con.mute, theta, con.path_from_id() + "."
    )


def _convertible(
    armature: bpy.types.Object, indices: Collection[int], notes: list[str]
) -> list[int]:
    """Return the constraints that can be converted, and add notes on why others can't.

    Raises:
        ProblemError: If no constraint can be converted.
    """
    bones, items = pose_bones(armature), settings(armature).constraints
    chosen: list[int] = []
    for index in sorted(indices):
        try:
            refuse_own(items[index], bones.get(items[index].bone))
        except ProblemError as problem:
            notes.append(str(problem))
        else:
            chosen.append(index)
    if not chosen:
        raise ProblemError(joined(" ", [msg("{note}.", note=note) for note in notes]))
    return chosen


def convert_to_blender(armature: bpy.types.Object, indices: Collection[int]) -> Conversion:
    """Convert our constraints and their animation to native IK constraints, and keep the pose.

    Args:
        armature: The armature object, in the scene and not in the NLA's tweak mode.
        indices: Indices of the constraints; at least one.

    Raises:
        ProblemError: If no constraint can be converted; nothing is changed.
    """
    bones, items = pose_bones(armature), settings(armature).constraints
    original_pose = evaluated_pose(armature)
    notes: list[str] = []
    chosen = _convertible(armature, indices, notes)
    frames = other_frames(armature, [items[index] for index in chosen])
    original_poses = poses_at(armature, frames)
    added = [_add_native(bones[items[index].bone], items[index], notes) for index in chosen]
    replacements = [
        _native_link(bones[bone], bones[bone].constraints[name], items[index])
        for index, (bone, name) in zip(chosen, added, strict=True)
    ]
    for name in dict.fromkeys(name for new in replacements for name in new.chain.bones):
        notes += set_native_limits(bones[name])
    with muting(armature, chosen):
        difference, off = match_pose(armature, replacements, original_pose, notes)
    ours_to_native = {our_name: native_name for native_name, our_name in ANIMATED.items()}
    for new in replacements:
        notes += _move_animation(armature, new, ours_to_native)
    for index in reversed(chosen):
        notes += _remove_own(armature, index)
    bpy.context.view_layer.update()
    notes += notes_on(armature, replacements, frames, original_poses, poses_at(armature, frames))
    return Conversion([name for _, name in added], notes, *difference, off)


def _is_numbered(name: str, stem: str) -> bool:
    """Return whether a name is a stem, with or without the number that Blender appends."""
    return re.fullmatch(rf"{re.escape(stem)}(\.\d+)?", name) is not None


def _add_native(bone: Any, item: Any, notes: list[str]) -> tuple[str, str]:
    con = bone.constraints.new("IK")
    con.name = NATIVE_NAME if _is_numbered(item.name, bone.name) else item.name
    notes += [
        msg("“{name}”: {note}", name=item.name, note=note) for note in to_native(item, bone, con)
    ]
    con.enabled = False
    return bone.name, con.name


def _native_link(bone: Any, con: Any, item: Any) -> Replacement:
    angle = item.pole_angle

    def turn(root: Any, chain: Chain) -> float:
        """Return the angle about the chain's axis from the X axis to the pole."""
        axis = Vector(chain.axis)
        # Native IK keeps the bend direction of a knee, even if it is bent backward.
        bend, _ = chain.own_bend(chain.start, chain.axis)
        side = Vector(unit(bend) or side_of_bend(chain))
        up: Vector = Quaternion(axis, -angle) @ side
        perpendicular = axis.cross(up)
        x, z = root.col[0].to_3d(), root.col[2].to_3d()
        theta = atan2(-x.dot(perpendicular), z.dot(perpendicular))
        return theta if _up(root, theta).dot(up) > 0.0 else theta + pi

    return Replacement(
        con,
        named_chain(item, bone),
        item.name,
        turn,
        item.enabled,
        angle,
        item.path_from_id() + ".",
    )


def _remove_own(armature: bpy.types.Object, index: int) -> list[str]:
    try:
        editing.remove(armature, index)
    except ProblemError as problem:
        item = settings(armature).constraints[index]
        item.enabled = False
        return [
            msg("“{constraint}” is disabled: {problem}", constraint=item.name, problem=str(problem))
        ]
    return []


def _up(root: Any, theta: float) -> Vector:
    """Return the direction that native IK turns to the pole, in armature space.

    Args:
        root: The matrix of the chain's first bone.
        theta: The angle from that bone's X axis, about its Y axis, in radians.
    """
    return root.col[0].to_3d() * cos(theta) + root.col[2].to_3d() * sin(theta)


def _move_animation(
    armature: bpy.types.Object, new: Replacement, counterparts: dict[str, str]
) -> list[str]:
    """Move the animation of an old constraint to its replacement.

    Returns:
        Notes on animation that was lost.
    """
    prefix = new.constraint.path_from_id() + "."
    animated = animated_below(armature, new.old)
    moves: dict[str, Move | None] = {}
    lost: list[str] = []
    for name in animated:
        counterpart = counterparts.get(name)
        is_opposite = name == "mute"
        if counterpart is None or (is_opposite and "enabled" in animated):
            moves[new.old + name] = None
            lost.append(name)
            continue
        shift = new.constraint.pole_angle - new.old_pole_angle if name == "pole_angle" else 0.0
        moves[new.old + name] = Move(prefix + counterpart, shift, is_opposite)
    if moves:
        lost += [path[len(new.old) :] for path in move_curves(armature, moves)]
    notes = []
    if lost:
        notes.append(
            msg(
                "“{new}”: the animation of {lost} was lost",
                new=new.title,
                lost=listed(sorted(set(lost))),
            )
        )
    if _exceeds_half_turn(armature, prefix + "pole_angle"):
        notes.append(
            msg("“{new}”: keys of Pole Angle exceed 180°, where they are clamped", new=new.title)
        )
    return notes


def _exceeds_half_turn(armature: bpy.types.Object, path: str) -> bool:
    if path.startswith("fabrik."):
        return False
    values = [
        point.co[1]
        for curve in animation.all_curves(armature)
        if curve.data_path == path and curve.driver is None
        for point in curve.keyframe_points
    ]
    return any(abs(value) > pi + 1e-6 for value in values)
