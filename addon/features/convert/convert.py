"""Blender's IK constraints made into ours, and back, with the pose kept.

A pole angle means another thing on either side: Blender turns an axis of the root bone to the pole,
and here the bend of the chain faces it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from math import atan2, cos, pi, sin
from typing import Any, NamedTuple

import bpy
from mathutils import Quaternion, Vector

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.limbs import named_chain
from ...core import Chain
from ...core.bend import bend_direction
from ...editing import constraints as editing
from ...editing.placing import side_of_bend
from ...loop.muting import muting
from ...loop.properties import free_name, settings
from .counterpart import (
    ANIMATED,
    from_native,
    give_native_joint,
    has_ik,
    keep_native_joint,
    refuse_native,
    refuse_own,
    to_native,
)
from .curve_moves import Move, animated_below, move_curves
from .elsewhen import notes_on, other_frames, poses_at
from .poses import angle_about, shown_pose
from .settling import Link, settle

NATIVE_NAME = "IK"
"""What Blender calls its IK constraints, so that it tells nothing of them."""


class Conversion(NamedTuple):
    """What came of converting.

    Attributes:
        names: The names of the new constraints.
        notes: What has no counterpart, or has changed, in a sentence each.
        moved: The farthest that a head or tail of a bone went by it, in metres in world space.
        turned: The most that a bone turned by it, in radians.
        off: The constraints that do not show the pose of before, as the notes call them.
    """

    names: list[str]
    notes: list[str]
    moved: float
    turned: float
    off: list[str]


def convert_from_blender(
    armature: bpy.types.Object, bones: Collection[str] | None = None
) -> Conversion:
    """Make Blender's IK constraints ours, with their animation, and keep the pose.

    Args:
        armature: The armature object, in the scene and not in the NLA's tweak mode.
        bones: Names of the bones whose constraints are converted; None for all.

    Raises:
        ProblemError: If none can be converted; then nothing has changed.
    """
    own = pose_bones(armature)
    picked = [
        (bone.name, name)
        for bone in own
        if bones is None or bone.name in bones
        for name in has_ik(bone)
    ]
    if not picked:
        where = "The armature has" if bones is None else "The selected bones have"
        raise ProblemError(f"{where} no Inverse Kinematics constraint")
    before = shown_pose(armature)
    frames = other_frames(armature, [own[b].constraints[n] for b, n in picked])
    earlier = poses_at(armature, frames)
    notes: list[str] = []
    made: list[tuple[str, str]] = []
    for bone, name in picked:
        try:
            found = _add_own(armature, own[bone], own[bone].constraints[name])
        except ProblemError as problem:
            notes.append(str(problem))
            continue
        made.append((bone, name))
        notes += found
    if not made:
        raise ProblemError(" ".join(f"{note}." for note in notes))
    items = settings(armature).constraints
    first = len(items) - len(made)
    links = [
        _own_link(own[b], own[b].constraints[n], items[first + i]) for i, (b, n) in enumerate(made)
    ]
    for bone, name in made:
        # It does nothing from now on. Removing it would take its drivers away as well.
        own[bone].constraints[name].target = None
    for name in dict.fromkeys(name for link in links for name in link.chain.bones):
        notes += keep_native_joint(own[name])
    outcome, off = settle(armature, links, before, notes)
    for link in links:
        notes += _move_animation(armature, link, {**ANIMATED, "mute": "enabled"})
    for bone, name in made:
        own[bone].constraints.remove(own[bone].constraints[name])
    settings(armature).active_index = first
    editing.changed(armature)
    bpy.context.view_layer.update()
    notes += notes_on(armature, links, frames, earlier, poses_at(armature, frames))
    return Conversion([link.holder.name for link in links], notes, *outcome, off)


def _add_own(armature: bpy.types.Object, bone: Any, con: Any) -> list[str]:
    """Add a constraint of ours, turned off, for one of Blender's.

    Returns:
        What has no counterpart.

    Raises:
        ProblemError: If it could not work, or would break another one; then nothing has changed.
    """
    refuse_native(bone, con)
    broken = editing.problems(with_lag=True)
    items = settings(armature).constraints
    name = bone.name if _is_numbered(con.name, NATIVE_NAME) else con.name
    name = free_name(armature, name)
    item = items.add()
    item.name = name
    notes = from_native(bone, con, item)
    item.enabled = False
    if problem := editing.new_problem(broken, with_lag=True):
        items.remove(len(items) - 1)
        editing.changed(armature)
        raise ProblemError(f"“{con.name}” of “{bone.name}” was not converted: {problem}")
    return [f"“{name}”: {note}" for note in notes]


def _own_link(bone: Any, con: Any, item: Any) -> Link:
    theta = con.pole_angle

    def turn(root: Any, chain: Chain) -> float:
        return angle_about(Vector(chain.axis), _up(root, theta), Vector(side_of_bend(chain)))

    tip = pose_bones(bone.id_data)[item.bone]
    return Link(
        item, named_chain(item, tip), item.name, turn, not con.mute, theta, con.path_from_id() + "."
    )


def convert_to_blender(armature: bpy.types.Object, indices: Collection[int]) -> Conversion:
    """Make constraints of ours Blender's IK constraints, with their animation, and keep the pose.

    Args:
        armature: The armature object, in the scene and not in the NLA's tweak mode.
        indices: Places of the constraints in the list; at least one.

    Raises:
        ProblemError: If none can be converted; then nothing has changed.
    """
    own, items = pose_bones(armature), settings(armature).constraints
    before = shown_pose(armature)
    notes: list[str] = []
    chosen: list[int] = []
    for index in sorted(indices):
        try:
            refuse_own(items[index], own.get(items[index].bone))
        except ProblemError as problem:
            notes.append(str(problem))
        else:
            chosen.append(index)
    if not chosen:
        raise ProblemError(" ".join(f"{note}." for note in notes))
    frames = other_frames(armature, [items[index] for index in chosen])
    earlier = poses_at(armature, frames)
    made = [_add_native(own[items[index].bone], items[index], notes) for index in chosen]
    links = [
        _native_link(own[bone], own[bone].constraints[name], items[index])
        for index, (bone, name) in zip(chosen, made, strict=True)
    ]
    for name in dict.fromkeys(name for link in links for name in link.chain.bones):
        notes += give_native_joint(own[name])
    with muting(armature, chosen):
        outcome, off = settle(armature, links, before, notes)
    back = {ours: theirs for theirs, ours in ANIMATED.items()}
    for link in links:
        notes += _move_animation(armature, link, back)
    for index in reversed(chosen):
        notes += _remove_own(armature, index)
    bpy.context.view_layer.update()
    notes += notes_on(armature, links, frames, earlier, poses_at(armature, frames))
    return Conversion([name for _, name in made], notes, *outcome, off)


def _is_numbered(name: str, stem: str) -> bool:
    """Return whether a name is another one, or that with the number that Blender appends."""
    return re.fullmatch(rf"{re.escape(stem)}(\.\d+)?", name) is not None


def _add_native(bone: Any, item: Any, notes: list[str]) -> tuple[str, str]:
    con = bone.constraints.new("IK")
    con.name = NATIVE_NAME if _is_numbered(item.name, bone.name) else item.name
    notes += [f"“{item.name}”: {note}" for note in to_native(item, bone, con)]
    con.enabled = False
    return bone.name, con.name


def _native_link(bone: Any, con: Any, item: Any) -> Link:
    angle = item.pole_angle

    def turn(root: Any, chain: Chain) -> float:
        """Return by how much X and Z are mixed into what points where the pole is to be."""
        axis = Vector(chain.axis)
        # Blender's IK bends a knee on to the side to which it is bent, be it backward.
        own = bend_direction([joint.at() for joint in chain.start], chain.axis)
        side = Vector(own or side_of_bend(chain))
        up: Vector = Quaternion(axis, -angle) @ side
        aside = axis.cross(up)
        x, z = root.col[0].to_3d(), root.col[2].to_3d()
        theta = atan2(-x.dot(aside), z.dot(aside))
        return theta if _up(root, theta).dot(up) > 0.0 else theta + pi

    return Link(
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
        return [f"“{item.name}” is disabled: {problem}"]
    return []


def _up(root: Any, theta: float) -> Vector:
    """Return what Blender's IK turns to the pole, given the frame of the chain's first bone."""
    return root.col[0].to_3d() * cos(theta) + root.col[2].to_3d() * sin(theta)


def _move_animation(
    armature: bpy.types.Object, link: Link, counterparts: dict[str, str]
) -> list[str]:
    """Let the animation of an old constraint go on in the new one.

    Returns:
        What cannot.
    """
    prefix = link.holder.path_from_id() + "."
    animated = animated_below(armature, link.old)
    moves: dict[str, Move | None] = {}
    lost: list[str] = []
    for name in animated:
        to = counterparts.get(name)
        is_opposite = name == "mute"
        if to is None or (is_opposite and "enabled" in animated):
            moves[link.old + name] = None
            lost.append(name)
            continue
        shift = link.holder.pole_angle - link.before if name == "pole_angle" else 0.0
        moves[link.old + name] = Move(prefix + to, shift, is_opposite)
    if moves:
        lost += [path[len(link.old) :] for path in move_curves(armature, moves)]
    notes = []
    if lost:
        notes.append(f"“{link.title}”: the animation of {listed(sorted(set(lost)))} was lost")
    if _goes_round(armature, prefix + "pole_angle"):
        notes.append(f"“{link.title}”: keys of Pole Angle exceed 180°, where they are clamped")
    return notes


def _goes_round(armature: bpy.types.Object, path: str) -> bool:
    if path.startswith("fabrik."):
        return False
    values = [
        point.co[1]
        for curve in animation.all_curves(armature)
        if curve.data_path == path and curve.driver is None
        for point in curve.keyframe_points
    ]
    return any(abs(value) > pi + 1e-6 for value in values)
