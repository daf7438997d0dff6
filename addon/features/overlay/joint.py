"""The active bone's joint limit for the overlay. Read-only, like `chains`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import bpy

from fabrik_solver import Frame, bone_frame, point_in
from fabrik_solver.core.vectors import Quat, Vec, quat_product

from ...blender.access import pose_bones
from ...blender.skeleton import rest_of
from ...settings.joint_limits import ik_settings, joint_problem, joints_of
from .chains import NEAR_END, ShownRig

SIZE = 0.75
"""Size of a drawn limit, as a fraction of the bone length."""

TWIST_RADIUS, TWIST_PLACE = 0.2, 0.4
"""Radius of a drawn twist, and its position along the bone, as fractions of the bone length."""


@dataclass(frozen=True, slots=True)
class ShownJoint:
    """A displayed joint limit, in world space.

    Attributes:
        head: Head of the bone.
        edge: Path of a point on the bone along the edge of the limit; see `Limit.outline`.
        twist: Path of a point next to the bone over the twist range; see `Limit.twists`.
        twisted: Center of the twist path, and the point's current location.
        is_at_end: Whether the joint is at its limit.
    """

    head: Vec
    edge: tuple[Vec, ...]
    twist: tuple[Vec, ...]
    twisted: tuple[Vec, Vec]
    is_at_end: bool


def shown_joint(
    layer: bpy.types.ViewLayer, viewport: bpy.types.SpaceView3D | None = None
) -> ShownJoint | None:
    """Return the joint limit of the active pose bone; None without a limit.

    Args:
        layer: The evaluated view layer.
        viewport: The viewport in which the armature must be visible; None to ignore this.
    """
    ob = layer.objects.active
    if ob is None or ob.type != "ARMATURE" or ob.mode != "POSE":
        return None
    rig = ShownRig.seen(ob, layer, viewport)
    active = cast(bpy.types.Armature, ob.data).bones.active
    if rig is None or active is None or active.name not in rig.now.bones:
        return None
    bone = pose_bones(ob)[active.name]
    return None if joint_problem(bone) else _shown(rig, bone)


def _shown(rig: ShownRig, bone: Any) -> ShownJoint | None:
    index = rig.now.bones.find(bone.name)
    posed = rig.now.bones[index]
    joints = joints_of([bone.fabrik_joint], [index])
    limits, _ = joints.now([ik_settings(posed) for _ in joints.native])
    limit = limits[0] if limits else None
    if limit is None:
        return None
    rest, parent = rest_of(bone.bone), rig.parent(index)
    carried, current = rig.carried(index), rig.joint(index)

    def place(rotation: Quat, point: Vec) -> Vec:
        """Return the world location of a point, in bone lengths, at a rotation of the joint."""
        local = rig.local(index, quat_product(carried, rotation))
        frame: Frame = bone_frame(rest, local, parent)
        x, y, z = (rest.length * number for number in point)
        return point_in(rig.world, point_in(frame, (x, y, z)))

    on_axis, beside = (0.0, TWIST_PLACE, 0.0), (TWIST_RADIUS, TWIST_PLACE, 0.0)
    return ShownJoint(
        place(current, (0.0, 0.0, 0.0)),
        tuple(place(rotation, (0.0, SIZE, 0.0)) for rotation in limit.outline()),
        tuple(place(rotation, beside) for rotation in limit.twists(current)),
        (place(current, on_axis), place(current, beside)),
        limit.is_at_end(current, NEAR_END),
    )
