"""Setting a tip's offset from its target to the displayed offset."""

from __future__ import annotations

from typing import cast

import bpy

from fabrik_solver import Frame, frame_in, inverse, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    mat_columns,
    mat_determinant,
    mat_product,
    orthonormalize,
    quat_of,
)

from ..blender.access import pose_bones, session_uid
from ..blender.errors import ProblemError
from ..blender.moving import place_of
from ..blender.skeleton import Point, matrix3, matrix_frame, skeleton_of, vector
from ..body.chains import next_joint
from ..plan.planner import chains_in
from ..settings import notifications
from ..settings.properties import FabrikConstraint, settings
from .lifting import lifts_of

SOLVED = ("REACHED", "OUT_OF_REACH", "LIMITED")
"""States of a constraint that has posed its chain."""

NO_OFFSET = (*ORIGIN, *QUAT_IDENTITY)

ROUNDING = 1e-6
"""Maximum relative difference between offsets that is due to rounding."""

_last_set: dict[tuple[int, str], tuple[float, ...]] = {}
"""The last offset set here for each constraint, to recognize offsets set by the user."""


def take(item: FabrikConstraint) -> None:
    """Set a constraint's offset to that of the displayed pose, in the target's space.

    If the constraint hasn't posed its chain yet, the offset is that of the FK pose.

    Raises:
        ProblemError: If the bone or target is missing, or the target has zero scale.
    """
    is_enabled = item.enabled
    if item.state not in SOLVED:
        item.enabled = False  # Don't move the tip before the offset is set.
    try:
        depsgraph = bpy.context.evaluated_depsgraph_get()
        tip, hand = _tip(item, depsgraph)
        target = _target_frame(item, depsgraph)
    finally:
        if item.enabled != is_enabled:
            item.enabled = is_enabled
    try:
        location = point_in(inverse(target), tip)
    except ValueError:
        raise ProblemError(
            "The target has zero scale, so it can't have an offset: change its scale"
        ) from None
    values = (*location, *_turn(target[0], hand))
    current = (*item.offset_location, *item.offset_rotation)
    size = 1.0 + max(abs(number) for number in location)
    if max(abs(a - b) for a, b in zip(values, current, strict=True)) > ROUNDING * size:
        item.offset_location = values[:3]
        item.offset_rotation = values[3:]
    _last_set[_key(item)] = (*item.offset_location, *item.offset_rotation)


@notifications.ends
def take_if_new(item: FabrikConstraint) -> None:
    """Set the offset of a constraint whose tip or target has been assigned.

    This only applies if the constraint hasn't posed its chain yet, and the user hasn't set an
    offset.
    """
    if not item.use_offset or item.state in SOLVED:
        return
    current = (*item.offset_location, *item.offset_rotation)
    if current in (NO_OFFSET, _last_set.get(_key(item))):
        take_if_possible(item)


@notifications.offset
def take_if_possible(item: FabrikConstraint) -> None:
    """Set the offset, unless the bone or target is missing."""
    try:
        take(item)
    except ProblemError:
        return


def _key(item: FabrikConstraint) -> tuple[int, str]:
    return session_uid(cast(bpy.types.ID, item.id_data)), item.path_from_id()


def _tip(item: FabrikConstraint, depsgraph: bpy.types.Depsgraph) -> tuple[Vec, Mat3]:
    """Return the tip's displayed position and its bone's axes, in world space."""
    armature = cast(bpy.types.Object, item.id_data).evaluated_get(depsgraph)
    bone = pose_bones(armature).get(item.bone)
    if bone is None:
        raise ProblemError("No tip bone: choose the last bone of the chain")
    world = matrix_frame(armature.matrix_world)
    axes, head = frame_in(world, (matrix3(bone.matrix), vector(bone.head)))
    if not item.use_tail:
        return head, axes
    rig = skeleton_of(cast(bpy.types.Object, item.id_data))
    next_bone = -1 if item.use_rotation else next_joint(rig, rig.index[item.bone])
    end = bone.tail if next_bone < 0 else pose_bones(armature)[next_bone].head
    return point_in(world, vector(end)), axes


def _target_frame(item: FabrikConstraint, depsgraph: bpy.types.Depsgraph) -> Frame:
    """Return the target's world-space frame, lifted with the body to which it belongs.

    Raises:
        ProblemError: If the target is missing.
    """
    axes, location = place_of(depsgraph, _target(item))
    return axes, add(location, _lift(item, depsgraph))


def _lift(item: FabrikConstraint, depsgraph: bpy.types.Depsgraph) -> Vec:
    """Return the offset from a constraint's target to its goal, at the last update."""
    armature = cast(bpy.types.Object, item.id_data)
    index = settings(armature).constraints.find(item.name)
    chains = [chain for chain in chains_in(armature) if chain.item == index]
    return lifts_of(depsgraph, chains[0])[0] if chains else ORIGIN


def _target(item: FabrikConstraint) -> Point:
    """Return the target.

    Raises:
        ProblemError: If the target is missing.
    """
    if item.target is None:
        raise ProblemError("No target: choose an object or a bone")
    if not item.subtarget or item.target.type != "ARMATURE":
        return Point(item.target)
    rig = skeleton_of(item.target)
    if item.subtarget not in rig.index:
        raise ProblemError(
            "“{object}” has no bone “{name}”: choose another bone",
            name=item.subtarget,
            object=item.target.name,
        )
    return Point(item.target, rig, rig.index[item.subtarget])


def _turn(target: Mat3, hand: Mat3) -> Quat:
    """Return the tip bone's rotation in the target's axes; the identity if either is singular."""
    outer, inner = orthonormalize(target), orthonormalize(hand)
    if outer is None or inner is None:
        return QUAT_IDENTITY
    x, y, z = mat_columns(outer)
    w, a, b, c = quat_of(mat_product((*x, *y, *z), inner))
    if mat_determinant(target) < 0.0:  # See `offset_turn`.
        b, c = -b, -c
    return (-w, -a, -b, -c) if w < 0.0 else (w, a, b, c)
