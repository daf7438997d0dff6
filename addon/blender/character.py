"""What an armature is of, as the world has it: which way is up, which way it faces, its limbs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

import bpy
from mathutils import Quaternion, Vector

from ..motion.anatomy import UP, Anatomy, RestBone, recognize
from .axes import AXES
from .skeleton import vector


class Character(NamedTuple):
    """What an armature is of.

    Attributes:
        names: Those of its bones, as `anatomy` numbers them.
        anatomy: Its parts, with Z up.
        size: Its height; if it does not stand on legs, its largest extent.
        up_axis: The axis of the armature that is up, as `AXES` names it.
        turn: From there into the space of the armature.
    """

    names: list[str]
    anatomy: Anatomy
    size: float
    up_axis: str
    turn: Quaternion

    @property
    def up(self) -> Vector:
        """The direction up, in armature space."""
        return self.turn @ Vector(UP)

    @property
    def front(self) -> Vector:
        """The direction that it faces, in armature space."""
        return self.turn @ Vector(self.anatomy.front)

    @property
    def front_axis(self) -> str:
        """The level axis of the armature that is nearest to its front, as `AXES` names it."""
        return nearest_axis(self.front, [name for name in AXES if name[-1] != self.up_axis[-1]])


def nearest_axis(way: Vector, names: Iterable[str]) -> str:
    """Return the axis that is nearest to a direction."""
    return max(names, key=lambda name: Vector(AXES[name]).dot(way))


def character_of(armature: bpy.types.Object) -> Character:
    """Return what an armature is of, from its rest pose and how the object stands in the world.

    Up is as for `standing_character`. Where no legs are found that way, as of one that lies down,
    it is the axis for which they are.
    """
    found = [standing_character(armature)]
    if not found[0].anatomy.limbs:
        others = [axis for axis in ("Z", "Y") if axis != found[0].up_axis]
        found += [_recognized(armature, axis) for axis in others]
    return next((one for one in found if one.anatomy.hips >= 0), found[0])


def standing_character(armature: bpy.types.Object) -> Character:
    """Return what an armature is of if it stands in the world as its object is turned.

    Importers leave the Y axis up and turn the object, or turn the bones: up is the axis of the
    armature that points up most in the world.
    """
    above = armature.matrix_world.to_3x3().inverted_safe() @ Vector(UP)
    return _recognized(armature, nearest_axis(above, AXES))


def _recognized(armature: bpy.types.Object, up: str) -> Character:
    """Return what an armature is of if an axis of it is up."""
    turn = Vector(UP).rotation_difference(Vector(AXES[up]))
    back = turn.inverted()
    bones = cast(bpy.types.Armature, armature.data).bones  # Parents first, unlike those of a pose.
    names = [bone.name for bone in bones]
    places = {name: i for i, name in enumerate(names)}
    rest = [
        RestBone(
            bone.name,
            -1 if bone.parent is None else places[bone.parent.name],
            vector(back @ bone.head_local),
            vector(back @ bone.tail_local),
            bone.use_deform,
        )
        for bone in bones
    ]
    anatomy = recognize(rest)
    extents = [
        max(places) - min(places) for places in zip(*(bone.head for bone in rest), strict=True)
    ]
    size = anatomy.height if anatomy.hips >= 0 else max(extents, default=0.0)
    return Character(names, anatomy, size, up, turn)
