"""Resolve the names in a constraint to bones and objects."""

from __future__ import annotations

from math import isfinite

import bpy

from fabrik_solver import Frame
from fabrik_solver.core.vectors import quat_matrix, quat_unit

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.errors import INTERNAL_ERROR, ProblemError, report_once
from ..blender.messages import channel_name, msg
from ..blender.native_constraints import constraint_point, is_predictable
from ..blender.relations import active_constraints, replaces_pose
from ..blender.rotation import KINDS, channel_of, ranges_of
from ..blender.skeleton import Point, Skeleton, skeleton_of
from ..body.chains import next_joint
from ..body.posed import posed_limb
from ..settings.joint_limits import joint_problem, joints_of
from ..settings.joints import FabrikJoint
from ..settings.properties import FabrikConstraint, settings
from ..settings.values import pointed
from .chain_plan import ChainPlan
from .deferred import is_renamed, stored_names, write_later
from .registry import kind_of


def plan_chain(rig: Skeleton, index: int, is_animated: bool) -> ChainPlan:
    """Return the plan of an armature's constraint, with its problem if it is invalid.

    Args:
        rig: The armature.
        index: The index of the constraint.
        is_animated: Whether the armature is animated, so that its bones may have drivers.
    """
    item = settings(rig.object).constraints[index]
    chain = ChainPlan(rig, index, kind_of(item.solver))
    try:
        _resolve_bones(chain, item)
        chain.target = _point(item, "target", "subtarget")
        if chain.target is None and chain.kind.needs_target:
            raise ProblemError("No target: choose an object or a bone")
        chain.offset = _offset(item)
        _resolve_joints(chain, is_animated)
        if chain.kind.reaches:
            chain.pole = _point(item, "pole_target", "pole_subtarget")
        chain.kind.resolve(chain, item)
        _refuse_posed_bones(chain)
        disturbance = _note_of_disturbance(chain)
        chain.is_disturbed = chain.kind.reaches and bool(disturbance)
        chain.note = disturbance or chain.note
    except ProblemError as problem:
        chain.problem = str(problem)
    except ReferenceError:
        raise
    except Exception:
        report_once(f"could not plan “{item.name}”")
        chain.problem = INTERNAL_ERROR
    return chain


def _resolve_bones(chain: ChainPlan, item: FabrikConstraint) -> None:
    rig = chain.rig
    if not item.bone:
        raise ProblemError("No tip bone: choose the last bone of the chain")
    up = rig.chain_up(bone_index(rig, item, "bone"))
    if item.use_tail:
        chain.tip_bone = -1 if item.use_rotation else next_joint(rig, up[-1])
    else:
        chain.tip_bone = up.pop()
        if not up:
            raise ProblemError(
                "“{bone}” has no parent to move its head: enable Use Tail, or choose another tip "
                "bone",
                bone=item.bone,
            )
    chain.bones = up[-item.chain_count :]
    chain.root_parent = rig.parents[chain.bones[0]]
    if chain.kind.reaches:
        _resolve_tip(chain, item)
    chain.limb = posed_limb(rig, chain.bones, chain.tip_bone, chain.has_hand)
    chain.ranges = ranges_of(chain.bones)


def _resolve_tip(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Resolve Copy Target Rotation, Stretch and Move Root."""
    if item.use_rotation:
        _resolve_hand(chain, item)
    if item.use_stretch:
        chain.enable_stretch()
    chain.is_root_free = item.use_free_root
    if item.use_free_root:
        chain.release_root(msg("disable Move Root"))
        chain.root_limits = _root_limits(chain)


def _root_limits(chain: ChainPlan) -> list[str]:
    """Return the names of the Limit Location constraints that the solver can keep."""
    armature = chain.rig.object
    bone = pose_bones(armature)[chain.rig.names[chain.bones[0]]]
    return [
        con.name
        for con in active_constraints(bone)
        if con.type == "LIMIT_LOCATION"
        and is_predictable(con, True)
        and not animation.is_set(armature, f"{con.path_from_id()}.influence")
    ]


def _resolve_hand(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Resolve Copy Target Rotation, for the chain's last bone or that bone's child."""
    chain.has_hand = True
    if chain.tip_bone >= 0:
        chain.bones.append(chain.tip_bone)
    elif len(chain.bones) == 1:
        raise ProblemError(
            "“{bone}” copies the target's rotation, which leaves no bone to reach it: increase "
            "Chain Length, or disable Copy Target Rotation",
            bone=item.bone,
        )


def _offset(item: FabrikConstraint) -> Frame | None:
    if not item.use_offset:
        return None
    x, y, z = item.offset_location
    w, a, b, c = item.offset_rotation
    if not all(isfinite(number) for number in (x, y, z, w, a, b, c)):
        raise ProblemError("The offset is invalid: press Set to Current, or enter a valid number")
    return quat_matrix(quat_unit((w, a, b, c))), (x, y, z)


def _resolve_joints(chain: ChainPlan, is_animated: bool) -> None:
    pose = pose_bones(chain.rig.object)
    bones = [pose[chain.rig.names[i]] for i in chain.bones]
    joints: list[FabrikJoint] = [bone.fabrik_joint for bone in bones]
    if problem := next(filter(None, map(joint_problem, bones, joints)), ""):
        raise ProblemError(problem)
    if chain.kind.reaches and is_animated:
        # Drivers override the solution, so the other bones must do the rest.
        chain.driven = [
            index
            for index, bone in zip(chain.bones, bones, strict=True)
            if animation.has_driver(chain.rig.object, bone, "rotation")
        ]
    free = [
        None if i in chain.driven else joint for i, joint in zip(chain.bones, joints, strict=True)
    ]
    chain.joints = joints_of(free, chain.bones)


def _is_above(chain: ChainPlan, bone: int, point: Point | None) -> bool:
    """Return whether a point is one of the parents of a bone."""
    return (
        point is not None and point.skeleton is chain.rig and point.bone in chain.rig.chain_up(bone)
    )


def _note_of_disturbance(chain: ChainPlan) -> str:
    """Return a note on drivers and native constraints that apply after the solve."""
    bones = pose_bones(chain.rig.object)
    count = len(chain.rig.names)
    driven = chain.driven
    reaching = chain.bones[:-1] if chain.has_hand else chain.bones
    # A single free bone only reaches targets at its length, and a hand must be free to copy.
    is_stuck = driven and (len({*reaching} - {*driven}) < 2 or not {*driven} <= {*reaching})
    if is_stuck:
        return msg(
            "The rotation of “{bone}” is driven, so the chain doesn't change it: remove the "
            "driver, or choose other bones",
            bone=chain.rig.names[driven[-1]],
        )
    for i in chain.bones:
        bone = bones[chain.rig.names[i]]
        channels = [channel_of(KINDS[slot // count])[0] for slot in chain.more if slot % count == i]
        for channel in channels if chain.kind.reaches else ("rotation", *channels):
            if animation.has_driver(chain.rig.object, bone, channel):
                return msg(
                    "The driven {channel} of “{bone}” applies after the solver and can move the "
                    "tip off its target: remove the driver, or drive a parent bone instead",
                    channel=channel_name(channel),
                    bone=bone.name,
                )
        for con in active_constraints(bone):
            if con.type == "COPY_SCALE" and _is_above(chain, i, constraint_point(con)):
                continue  # Its parent already gives it that scale.
            if i == chain.bones[0] and con.name in chain.root_limits:
                continue  # The solver keeps it.
            return msg(
                "The constraint “{constraint}” of “{bone}” applies after the solver and can move "
                "the tip off its target: mute it, or move it to another bone",
                bone=bone.name,
                constraint=con.name,
            )
    return ""


def _refuse_posed_bones(chain: ChainPlan) -> None:
    """Refuse bones whose solved pose another constraint would replace.

    Raises:
        ProblemError: If a native constraint would replace the pose.
    """
    bones = pose_bones(chain.rig.object)
    for bone in [bones[chain.rig.names[i]] for i in chain.bones]:
        for con in filter(replaces_pose, active_constraints(bone)):
            if animation.is_set(chain.rig.object, f"{con.path_from_id()}.influence"):
                continue
            raise ProblemError(
                "“{bone}” is posed by its constraint “{constraint}”, which hides the solution: "
                "mute it, or choose unconstrained bones",
                bone=bone.name,
                constraint=con.name,
            )


def _point(item: FabrikConstraint, pointer: str, bone_name: str) -> Point | None:
    ob = pointed(item, pointer)
    if ob is None:
        return None
    if not getattr(item, bone_name) or ob.type != "ARMATURE":
        return Point(ob)
    if ob.pose is None:
        raise ProblemError(
            "“{object}” has no pose: select it and enter Pose Mode once", object=ob.name
        )
    skeleton = skeleton_of(ob)
    return Point(ob, skeleton, bone_index(skeleton, item, bone_name))


def _has_passed_on(armature: bpy.types.Object, name: str) -> bool:
    """Return whether a bone's name was that of another bone, which was renamed as well."""
    if pose_bones(armature)[name].fabrik_name in ("", name):
        return False
    stored = stored_names(armature)
    return name in stored.values() and is_renamed(name, stored)


def bone_index(rig: Skeleton, owner: bpy.types.PropertyGroup, field_name: str) -> int:
    """Return the index of the bone that a setting names, following renames.

    Each bone stores the name by which settings refer to it. The name may no longer belong to a
    bone, or only to one that was renamed as well. It then means the renamed bone that stored it.
    Swapped names aren't followed: Paste Pose Flipped also swaps the stored names.

    Raises:
        ProblemError: If the bone doesn't exist.
    """
    name = getattr(owner, field_name)
    bones = pose_bones(rig.object)
    if name not in rig.index or _has_passed_on(rig.object, name):
        renamed = [bone.name for bone in bones if bone.fabrik_name == name]
        if renamed:
            rig.renamed[name] = renamed[0]
        elif name not in rig.renamed:
            rig.record_missing(name)
            raise ProblemError(
                "“{object}” has no bone “{name}”: choose another bone",
                name=name,
                object=rig.object.name,
            )
        name = rig.renamed[name]
        write_later(owner, field_name, name)
    write_later(bones[name], "fabrik_name", name)
    rig.record([rig.index[name]])
    return rig.index[name]
