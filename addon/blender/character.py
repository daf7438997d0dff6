"""Recognizing the character of an armature: its up and forward directions, and its limbs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import bpy
from mathutils import Quaternion, Vector

from fabrik_solver.motion.anatomy import UP, Anatomy, RestBone, recognize

from .axes import AXES
from .rigify import original_bones
from .skeleton import vector


class Character(NamedTuple):
    """The character of an armature.

    Attributes:
        bones: Its bones, by their index in `anatomy`, in the same space.
        anatomy: Its parts, in armature space rotated so that Z is up.
        size: Its height; if it does not stand on legs, its largest extent. In armature space.
        up_axis: The axis of the armature that points up, one of `AXES`.
        turn: The rotation from the space of `anatomy` to armature space.
    """

    bones: list[RestBone]
    anatomy: Anatomy
    size: float
    up_axis: str
    turn: Quaternion

    @property
    def names(self) -> list[str]:
        """The names of its bones."""
        return [bone.name for bone in self.bones]

    @property
    def up(self) -> Vector:
        """The direction up, in armature space."""
        return self.turn @ Vector(UP)

    @property
    def front(self) -> Vector:
        """The forward direction, in armature space."""
        return self.turn @ Vector(self.anatomy.front)

    @property
    def front_axis(self) -> str:
        """The horizontal axis of the armature nearest to its front, as `AXES` names it."""
        return nearest_axis(self.front, [name for name in AXES if name[-1] != self.up_axis[-1]])


def nearest_axis(direction: Vector, names: Iterable[str]) -> str:
    """Return the axis nearest to a direction."""
    return max(names, key=lambda name: Vector(AXES[name]).dot(direction))


def character_of(armature: bpy.types.Object) -> Character:
    """Recognize the character of an armature, from its rest pose and the object's orientation.

    Up is as for `standing_character`. If no legs are found that way, as for a character that lies
    down, the Z and Y axes are tried.
    """
    standing = standing_character(armature)
    if standing.anatomy.hips >= 0:
        return standing
    others = [_recognize(armature, axis) for axis in ("Z", "Y") if axis != standing.up_axis]
    # Seen from a side, the legs of a character that lies down are a second pair of arms.
    count = len(standing.anatomy.limbs)
    least = max(count, 4) if count else 0
    lying = (one for one in others if one.anatomy.hips >= 0 and len(one.anatomy.limbs) >= least)
    return next(lying, standing)


def generated_character(armature: bpy.types.Object) -> Character | None:
    """Recognize the character of a generated Rigify rig by its metarig, None for any other rig.

    Its bones have the names of the metarig's.
    """
    bones = [(name, bone, parent, True) for name, bone, parent in original_bones(armature)]
    return _recognize(armature, _up_axis(armature), bones) if bones else None


def standing_character(armature: bpy.types.Object) -> Character:
    """Recognize the character of an armature that stands upright in the world.

    Some importers keep Y up and rotate the object, others rotate the bones: up is the axis of the
    armature that points up most in world space.
    """
    return _recognize(armature, _up_axis(armature))


def _up_axis(armature: bpy.types.Object) -> str:
    """Return the axis of an armature that points up most in world space."""
    world_up = armature.matrix_world.to_3x3().inverted_safe() @ Vector(UP)
    return nearest_axis(world_up, AXES)


def _recognize(
    armature: bpy.types.Object,
    up: str,
    chosen: Sequence[tuple[str, bpy.types.Bone, int, bool]] = (),
) -> Character:
    """Return the character of an armature, given which of its axes points up.

    Args:
        armature: The armature object.
        up: The axis.
        chosen: The bones that count, parents first, each with its name, the index of its parent,
            and whether it deforms; empty for all.
    """
    turn = Vector(UP).rotation_difference(Vector(AXES[up]))
    back = turn.inverted()
    rest = [
        RestBone(
            name, parent, vector(back @ bone.head_local), vector(back @ bone.tail_local), deforms
        )
        for name, bone, parent, deforms in chosen or _all_bones(armature)
    ]
    anatomy = recognize(rest)
    extents = [
        max(values) - min(values) for values in zip(*(bone.head for bone in rest), strict=True)
    ]
    size = anatomy.height if anatomy.hips >= 0 else max(extents, default=0.0)
    return Character(rest, anatomy, size, up, turn)


def _all_bones(armature: bpy.types.Object) -> list[tuple[str, bpy.types.Bone, int, bool]]:
    bones = cast(bpy.types.Armature, armature.data).bones  # Parents first, unlike in a pose.
    index = {bone.name: i for i, bone in enumerate(bones)}
    return [
        (bone.name, bone, -1 if bone.parent is None else index[bone.parent.name], bone.use_deform)
        for bone in bones
    ]
