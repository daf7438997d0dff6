"""Adds a look-at that keeps the pose, with the most likely axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, radians
from typing import Final, NamedTuple

import bpy
from mathutils import Matrix, Vector

from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.anatomy import words_of

from ...blender.access import pose_bones, rest_bone
from ...blender.axes import AXES, nearest_axis
from ...blender.errors import ProblemError
from ...blender.relations import active_constraints
from ...blender.skeleton import vector
from ...body.body import Body
from ...body.chains import common_name
from ...body.looking import body_of
from ...editing.constraints import add
from ...editing.placing import new_empty
from ...settings.properties import FabrikConstraint
from .look import look_of

ALIGNED = 0.7
"""Minimum cosine of the angle between a bone and the up or front direction for the bone to count
as aligned. It also applies between the gazes of bones looking in the same direction."""

EYE_TURN: Final = radians(30.0)
"""How far an eye turns in the head before people also turn the head, in radians."""

SKIN: Final = {
    *("brow", "cheek", "chin", "eyebrow", "eyelid", "face", "forehead", "jaw", "lid", "lip"),
    *("mouth", "nose", "teeth", "temple", "tongue"),
}
"""Words in names of facial bones that don't look by themselves, unlike eyes and ears."""

HEAD_TURN: Final = radians(75.0)
"""How far a head turns on its neck, in radians."""

TRACKING: Final = {"DAMPED_TRACK", "LOCKED_TRACK", "TRACK_TO"}
"""Blender's constraints that point a bone at something."""

TARGET_DISTANCE = 5.0
"""Distance of an Empty if the character has no size, in bone lengths."""


def likely_axes(body: Body, axes: Matrix, bone: str) -> tuple[str, str]:
    """Return the most likely Look Axis and Up Axis of a bone.

    The Look Axis is the axis closest to the character's front. Bones outside the trunk that aren't
    upright, such as an eye or a gun, use the Y axis.

    Args:
        body: The body.
        axes: The axes of the bone in the pose used to recognize the character, in armature space.
        bone: The name of the bone.
    """
    up, front, back = body.up, body.front, axes.transposed()
    along = axes @ Vector(AXES["Y"])
    is_upright = abs(along.dot(up)) >= ALIGNED
    anatomy = body.anatomy
    trunk = [body.names[i] for i in (*anatomy.spine, anatomy.head) if i >= 0]
    across = [name for name in AXES if name[-1] != "Y"]
    if not is_upright and (along.dot(front) >= ALIGNED or body.meant(bone) not in trunk):
        ahead = "Y"
    else:
        ahead = nearest_axis(back @ front, across if is_upright else AXES)
    if is_upright:
        return ahead, "Y" if along.dot(up) > 0.0 else "NEGATIVE_Y"
    return ahead, nearest_axis(back @ up, [name for name in AXES if name[-1] != ahead[-1]])


def looking_bone(body: Body, bone: str) -> str:
    """Return the bone that looks when a bone is clicked: for a bone of facial skin, the head."""
    anatomy, names = body.anatomy, body.names
    if anatomy.head < 0 or bone not in names or SKIN.isdisjoint(words_of(bone)):
        return bone
    index = names.index(bone)
    while index >= 0 and index != anatomy.head:
        index = body.bones[index].parent
    return names[anatomy.head] if index >= 0 else bone


def refuse_tracked(armature: bpy.types.Object, bone: str) -> None:
    """Refuse a control of bones that track another control with Blender's constraints.

    Rotating the parent or the target of such bones has no visible effect.

    Bones of facial skin aren't eyes, although rigs make them track each other.

    Raises:
        ProblemError: If there are such bones; the message names the bone to move.
    """
    if not SKIN.isdisjoint(words_of(bone)):
        return
    clicked = rest_bone(armature, bone)
    for posed in pose_bones(armature):
        for con in active_constraints(posed):
            if con.type not in TRACKING or con.target != armature or con.influence < 1.0:
                continue
            above = [parent.name for parent in posed.parent_recursive]
            is_eye = bone in above and posed.bone.head_local == clicked.head_local
            if is_eye or con.subtarget == bone:
                raise ProblemError(
                    "“{bone}” looks at “{target}” through its constraint “{constraint}”: move that "
                    "target, or mute the constraint first",
                    bone=posed.name,
                    target=con.subtarget,
                    constraint=con.name,
                )


def natural_limit(body: Body, bone: str) -> float:
    """Return the natural limit of a bone's gaze in radians; π unless it is an eye or head.

    The neck and trunk turn as far as the head that they move.
    """
    anatomy, words = body.anatomy, {*words_of(bone)}
    if "eye" in words:
        return EYE_TURN
    trunk = [body.names[i] for i in (*anatomy.spine, anatomy.head) if i >= 0]
    return HEAD_TURN if body.meant(bone) in trunk or "head" in words else pi


def add_look(
    armature: bpy.types.Object,
    bone: str,
    target: bpy.types.Object | None = None,
    subtarget: str = "",
    chain_count: int = 1,
    axis: str = "AUTO",
) -> FabrikConstraint:
    """Add a constraint that looks at a target, and make it active.

    Its limit is the bone's `natural_limit`.

    Args:
        armature: The armature object.
        bone: The last bone of the chain.
        target: The target; None adds an Empty in the direction of the current gaze.
        subtarget: The target's bone.
        chain_count: The number of bones that share the rotation; 0 for all up to the root.
        axis: The Look Axis, or ``'AUTO'`` for the `likely_axes`.

    Raises:
        ProblemError: If the constraint wouldn't work, or would break another one. Nothing is
            changed in that case.
    """
    body = body_of(armature, bone)
    ahead, up = _axes(body, armature, bone, axis)
    empty = None
    if target is None:
        empty = target = empty_ahead(armature, [bone], axis)
    try:
        item = add(armature, bone, target, subtarget, chain_count, "LOOK_AT")
    except ProblemError:
        if empty is not None:
            bpy.data.objects.remove(empty)
        raise
    look = look_of(item)
    look.axis, look.up_axis, look.limit_angle = ahead, up, natural_limit(body, bone)
    return item


def _axes(body: Body, armature: bpy.types.Object, bone: str, axis: str) -> tuple[str, str]:
    """Return a bone's Look Axis and Up Axis from a Look Axis or ``'AUTO'``."""
    if axis != "AUTO":
        return axis, "Z" if axis[-1] == "Y" else "Y"
    rest = body.matrix(rest_bone(armature, bone))
    return likely_axes(body, rest.to_3x3(), bone)


def empty_ahead(
    armature: bpy.types.Object, bones: Sequence[str], axis: str
) -> bpy.types.Object | None:
    """Add an Empty where bones look, at a distance equal to the character's height.

    Args:
        armature: The armature.
        bones: The bones, at least one.
        axis: The Look Axis, or ``'AUTO'`` for the `likely_axes` of each.

    Returns:
        The Empty; None if the bones look in different directions.

    Raises:
        ProblemError: If a bone has no direction.
    """
    body = body_of(armature, bones[0])
    rig = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    gazes = [_gaze(rig, bone, AXES[_axes(body, armature, bone, axis)[0]]) for bone in bones]
    mean_gaze = sum((gaze.direction for gaze in gazes), Vector()) / len(gazes)
    if any(gaze.direction.dot(mean_gaze) < ALIGNED for gaze in gazes):
        return None
    middle = sum((gaze.head for gaze in gazes), Vector()) / len(gazes)
    distance = body.size * rig.matrix_world.median_scale
    distance = distance or TARGET_DISTANCE * max(gaze.size for gaze in gazes) or 1.0
    location_world = middle + mean_gaze.normalized() * distance
    name = f"{common_name(bones[0])} Look Target"
    return new_empty(armature, name, vector(location_world), 0.05 * distance, "SPHERE")


class _Gaze(NamedTuple):
    """A bone's gaze, in world space.

    Attributes:
        head: The head of the bone.
        direction: The unit vector of the gaze.
        size: The length of the bone.
    """

    head: Vector
    direction: Vector
    size: float


def _gaze(rig: bpy.types.Object, bone: str, axis: Vec) -> _Gaze:
    """Return the gaze of an evaluated armature's bone along an axis."""
    posed = pose_bones(rig)[bone]
    world = rig.matrix_world @ posed.matrix
    direction = world.to_3x3() @ Vector(axis)
    if direction.length == 0.0:
        raise ProblemError(
            "“{bone}” has zero scale along an axis and can't look at anything: change its scale",
            bone=bone,
        )
    size = (rig.matrix_world @ posed.tail - rig.matrix_world @ posed.head).length
    return _Gaze(world.translation, direction.normalized(), size)
