"""What the viewport shows of the active bone's joint, from the limit that the solver keeps.

It is read as in `chains`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import bpy

from ...blender.access import pose_bones
from ...blender.skeleton import rest_of
from ...core import WHOLE, Frame, bone_frame, point_in
from ...core.vectors import Quat, Vec
from ...loop.joints import ik_settings, joint_problem, joints_of
from .chains import ShownRig

SIZE = 0.75
"""The size of a drawn limit, as a share of its bone."""

TWIST_RADIUS, TWIST_PLACE = 0.2, 0.4
"""The radius of a drawn twist, and how far along the bone it lies, as shares of the bone."""


@dataclass(frozen=True, slots=True)
class ShownJoint:
    """What the joint of a bone allows, in world space.

    Attributes:
        head: The joint.
        edge: Where a point of the bone comes to along the edge of what is allowed; see
            `Limit.outline`.
        twist: Where a point beside the bone comes to as the bone twists; see `Limit.twists`.
        twisted: The place on the bone that it turns about, and where it is now.
    """

    head: Vec
    edge: tuple[Vec, ...]
    twist: tuple[Vec, ...]
    twisted: tuple[Vec, Vec]


def shown_joint(
    layer: bpy.types.ViewLayer, viewport: bpy.types.SpaceView3D | None = None
) -> ShownJoint | None:
    """Return what the joint of the active pose bone allows, None if nothing limits it.

    Args:
        layer: Whose objects are looked at, as it was evaluated last.
        viewport: Where the armature is to be seen; anywhere if None.
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
    joints = joints_of([bone], [index])
    limits, _ = joints.now([ik_settings(posed) for _ in joints.asked])
    limit = limits[0] if limits else None
    if limit is None:
        return None
    rest = rest_of(bone.bone)
    parent = WHOLE if posed.parent is None else rig.now.frame(rig.now.bones.find(posed.parent.name))
    now = rig.rotation(index)

    def place(rotation: Quat, point: Vec) -> Vec:
        """Return where a point, in lengths of the bone, is in world space if the bone is turned."""
        frame: Frame = bone_frame(rest, rig.local(index, rotation), parent)
        x, y, z = (rest.length * number for number in point)
        return point_in(rig.world, point_in(frame, (x, y, z)))

    on, beside = (0.0, TWIST_PLACE, 0.0), (TWIST_RADIUS, TWIST_PLACE, 0.0)
    return ShownJoint(
        place(now, (0.0, 0.0, 0.0)),
        tuple(place(rotation, (0.0, SIZE, 0.0)) for rotation in limit.outline()),
        tuple(place(rotation, beside) for rotation in limit.twists(now)),
        (place(now, on), place(now, beside)),
    )
