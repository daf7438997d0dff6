"""Mapping settings between native IK constraints and ours.

Each setting without an equivalent adds a note.
"""

from __future__ import annotations

from math import inf, pi, radians
from typing import Any

import bpy
from mathutils import Vector

from fabrik_solver import exact_for

from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.messages import label, msg
from ...blender.relations import active_constraints
from ...blender.skeleton import skeleton_of
from ...body.chains import named_chain, next_joint
from ...plan.registry import kind_of
from ...settings.joint_limits import AXES, FREE, ik_settings, joint_problem
from ...settings.joints import FabrikJoint
from ...settings.properties import FabrikConstraint
from ...settings.values import default_of, settings_in
from ...ui.sections import is_exact

NOT_LIMITED = (FREE, FREE, FREE)
"""The ranges of a bone without limits."""

SAME = (
    "target",
    "subtarget",
    "pole_target",
    "pole_subtarget",
    "chain_count",
    "use_tail",
    "use_rotation",
    "iterations",
    "influence",
    "enabled",
    "weight",
)
"""Settings that have the same name in native and our constraints."""

ANIMATED = {
    "influence": "influence",
    "enabled": "enabled",
    "pole_angle": "pole_angle",
    "iterations": "iterations",
    "weight": "weight",
    "orient_weight": "rotation_weight",
}
"""Native settings that can be animated there and here, and our names for them."""

CONVERTED = {*SAME, *ANIMATED.values(), "bone", "solver", "use_stretch", "show_overlay"}
"""Our settings that are converted or need no conversion."""

PART_OF = {
    "offset_location": "use_offset",
    "offset_rotation": "use_offset",
    "root_weight": "use_free_root",
}
"""Our settings that belong to another setting. The other setting gets the note."""

NEEDS = {"stretch_max": "use_stretch", "use_volume": "use_stretch", "pole_weight": "pole_target"}
"""Our settings that have no effect without another setting."""

IK_STRETCH = 0.1
"""Default IK Stretch of bones of a stretching chain, as in Rigify."""

STIFFEST = 0.99
"""Maximum native stiffness."""

IN_LINE = radians(0.1)
"""Maximum angle between a hinge axis and the bone axis replacing it."""


# From Blender


def refuse_native(bone: Any, con: Any) -> None:
    """Refuse a native IK constraint that can't be converted.

    Raises:
        ProblemError: If the constraint can't be converted.
    """
    name = msg("“{constraint}” of “{bone}”", constraint=con.name, bone=bone.name)
    if bone.id_data.override_library is not None and con.is_override_data:
        raise ProblemError("{name} comes from a linked file: convert it there", name=name)
    if con.target is None:
        raise ProblemError("{name} has no target: choose one, or remove the constraint", name=name)
    if con.ik_type == "DISTANCE":
        raise ProblemError(
            "{name} keeps a distance, which FABRIK IK doesn't support: set IK Type to Copy Pose",
            name=name,
        )
    if not con.use_location:
        raise ProblemError("{name} has Position disabled: enable it", name=name)
    for ob, part in ((con.target, con.subtarget), (con.pole_target, con.pole_subtarget)):
        if ob is not None and part and ob.type != "ARMATURE":
            raise ProblemError(
                "{name} targets the vertex group “{part}”, which isn't supported: target an "
                "Empty parented to “{object}” instead",
                name=name,
                part=part,
                object=ob.name,
            )
    if not con.use_tail and bone.parent is None:
        raise ProblemError(
            "“{bone}” has no parent to move its head: enable Use Tail", bone=bone.name
        )
    rig = skeleton_of(bone.id_data)
    next_bone = next_joint(rig, rig.index[bone.name])
    if con.use_tail and not con.use_rotation and next_bone >= 0:
        raise ProblemError(
            "{name} moves the bone's tail, which isn't at the head of “{after}”: move the tail "
            "there in Edit Mode",
            name=name,
            after=rig.names[next_bone],
        )


def from_native(bone: Any, con: Any, item: FabrikConstraint) -> list[str]:
    """Set up our new constraint from a native constraint, without its pole angle.

    Returns:
        Notes on settings without an equivalent.
    """
    notes: list[str] = []
    chain = named_chain(con, bone)
    for name in SAME:
        setattr(item, name, max(1, con.iterations) if name == "iterations" else getattr(con, name))
    item.bone = bone.name
    item.rotation_weight = con.orient_weight
    item.pole_angle = 0.0
    if not con.use_tail and (con.use_rotation or _is_apart(bone)):
        item.bone, item.use_tail = bone.parent.name, True
        notes.append(
            msg("The tip is the tail of “{bone}”, which is what Blender's IK moves", bone=item.bone)
        )
    if not con.use_rotation:
        item.solver = exact_for(item.solver, len(chain.bones))
    bones = [pose_bones(bone.id_data)[name] for name in chain.bones]
    stretches = {chain_bone.ik_stretch for chain_bone in bones}
    item.use_stretch = con.use_stretch and stretches != {0.0}
    if item.use_stretch:
        stretch_max: Any = item.bl_rna.properties["stretch_max"]
        item.stretch_max = stretch_max.hard_max
        notes.append(
            msg(
                "Bones stretch only when the target is out of reach. Blender's IK also stretches "
                "them within reach, so elbows and knees differ slightly"
            )
        )
    if item.use_stretch and len(stretches) > 1:
        notes.append(
            msg("IK Stretch differs between bones: with FABRIK IK, all bones of a chain stretch")
        )
    if 0.0 < con.influence < 1.0:
        notes.append(
            msg(
                "With a partial Influence, the bones rotate part of the way. With Blender's IK, "
                "the tip moves part of the way"
            )
        )
    return notes + _native_notes(con, bones)


def _itasc_notes(con: Any, bone: Any) -> list[str]:
    if bone.id_data.pose.ik_solver != "ITASC":
        return []
    notes: list[str] = [msg("The armature's iTaSC solver settings aren't supported")]
    locks = [f"lock_{kind}_{axis}" for kind in ("location", "rotation") for axis in "xyz"]
    if not all(getattr(con, lock) for lock in locks) or con.reference_axis != "BONE":
        notes.append(msg("Copy Pose's axes and their reference aren't supported"))
    return notes


def _native_notes(con: Any, bones: list[Any]) -> list[str]:
    """Return notes on native settings without an equivalent in ours."""
    notes = _itasc_notes(con, bones[0])
    uneven = [b.name for b in bones if len(_stiffness(b)) > 1]
    if uneven:
        notes.append(
            msg(
                "Stiffness of {names} differs between axes: the largest one is used",
                names=listed(uneven),
            )
        )
    if con.pole_target is not None and ik_settings(bones[0]).ranges != NOT_LIMITED:
        notes.append(
            msg(
                "The limits of “{bones}” now apply: Blender's IK ignored them because it had a "
                "pole",
                bones=bones[0].name,
            )
        )
    other_constraints = [
        msg("{other}” on “{bone}", other=other.name, bone=bone.name)
        for bone in bones
        for other in active_constraints(bone)
        if other.type != "IK"
    ]
    if other_constraints:
        notes.append(
            msg(
                "FABRIK IK is solved before {others}; Blender's IK was applied last, so the pose "
                "may differ",
                others=listed(other_constraints),
            )
        )
    return notes


def _is_apart(bone: Any) -> bool:
    """Return whether a bone's head is apart from its parent's tail."""
    gap = (bone.bone.head_local - bone.bone.parent.tail_local).length
    return gap > 1e-4 * bone.parent.bone.length


def _stiffness(bone: Any) -> set[float]:
    """Return the stiffnesses of the unlocked axes."""
    axes = [axis for axis in "xyz" if not getattr(bone, f"lock_ik_{axis}")]
    return {getattr(bone, f"ik_stiffness_{axis}") for axis in axes}


# To Blender


def refuse_own(item: FabrikConstraint, bone: Any) -> None:
    """Refuse a constraint of ours that can't be converted.

    Raises:
        ProblemError: If the constraint can't be converted.
    """
    name = msg("“{constraint}”", constraint=item.name)
    if bone is None:
        raise ProblemError("{name} has no tip bone: choose the last bone of the chain", name=name)
    if not kind_of(item.solver).reaches:
        raise ProblemError(
            "{name} doesn't use an IK solver and can't be converted: bake it", name=name
        )
    if item.target is None:
        raise ProblemError("{name} has no target: choose an object or a bone", name=name)
    if not item.use_tail and bone.parent is None:
        raise ProblemError(
            "“{bone}” has no parent to move its head: enable Use Tail", bone=bone.name
        )
    if not item.use_tail and _is_apart(bone):
        raise ProblemError(
            "{name} moves the head of “{bone}”, but Blender's IK moves the tail of “{parent}”: "
            "bake it, or move the tail to the head in Edit Mode",
            name=name,
            bone=bone.name,
            parent=bone.parent.name,
        )
    problems = [
        joint_problem(pose_bones(bone.id_data)[part]) for part in named_chain(item, bone).bones
    ]
    for problem in filter(None, problems):
        raise ProblemError(problem)


def to_native(item: FabrikConstraint, bone: Any, con: Any) -> list[str]:
    """Set up a new native constraint from ours, without its pole angle.

    Returns:
        Notes on settings without an equivalent.
    """
    notes: list[str] = []
    for name in SAME:
        setattr(con, name, getattr(item, name))
    con.orient_weight = item.rotation_weight
    bones = [pose_bones(bone.id_data)[name] for name in named_chain(item, bone).bones]
    notes += _own_notes(item)
    if item.use_rotation and not item.use_tail:
        notes.append(
            msg(
                "Blender's IK rotates the parent of “{bone}” to the target, not “{bone}” itself: "
                "add a Copy Rotation constraint to “{bone}”",
                bone=bone.name,
            )
        )
        con.use_rotation = False
    # Bones without IK Stretch don't stretch anyway, and it is on by default.
    con.use_stretch = item.use_stretch or not any(chain_bone.ik_stretch for chain_bone in bones)
    if item.use_stretch and not any(chain_bone.ik_stretch for chain_bone in bones):
        for chain_bone in bones:
            chain_bone.ik_stretch = IK_STRETCH
        notes.append(
            msg(
                "IK Stretch of the bones of the chain was set to {ik_stretch}",
                ik_stretch=IK_STRETCH,
            )
        )
    return notes


def _own_notes(item: FabrikConstraint) -> list[str]:
    """Return notes on our settings without an equivalent in native IK."""
    notes: list[str] = []
    lost = [prop.name for prop in settings_in(type(item)) if _is_lost(item, prop)]
    if lost:
        notes.append(msg("No equivalent in Blender's IK: {lost}", lost=listed(lost)))
    if item.weight > 1.0:
        notes.append(
            msg("Weight is {weight:g}, but the maximum of Blender's IK is 1", weight=item.weight)
        )
    if not is_exact(item.solver):
        solvers: Any = item.bl_rna.properties["solver"]
        notes.append(
            msg(
                "Blender's IK solver replaces “{solver}”: long chains may not reach their targets",
                solver=label(solvers.enum_items[item.solver].name),
            )
        )
    return notes


def _is_lost(item: FabrikConstraint, prop: Any) -> bool:
    """Return whether our setting has an effect that native IK lacks."""
    name = prop.identifier
    if prop.type == "POINTER":
        # A settings group that is enabled, such as On the Ground.
        return bool(getattr(getattr(item, name), "use", False))
    if name in CONVERTED or name in PART_OF:
        return False
    if name in NEEDS and not getattr(item, NEEDS[name]):
        return False
    return name == "stretch_max" or getattr(item, name) != default_of(prop)


def set_native_limits(bone: Any) -> list[str]:
    """Convert the limits and stiffness of a joint to native IK settings.

    Returns:
        Notes on limits that can't be converted.
    """
    joint: FabrikJoint = bone.fabrik_joint
    kind = joint.limit_type
    if kind == "BLENDER":
        return []
    notes: list[str] = []
    if kind == "HINGE":
        notes += _set_hinge(bone, joint)
    elif kind == "CONE":
        notes += _set_cone(bone, joint)
    if joint.stiffness:
        for axis in "xyz":
            setattr(bone, f"ik_stiffness_{axis}", min(joint.stiffness, STIFFEST))
    return notes


def _set_hinge(bone: Any, joint: FabrikJoint) -> list[str]:
    direction = Vector(AXES.get(joint.hinge_axis) or joint.hinge_vector)
    for axis, axis_vector in AXES.items():
        angle = direction.angle(Vector(axis_vector), inf)
        if min(angle, pi - angle) > IN_LINE:
            continue
        low, high = joint.hinge_min, joint.hinge_max
        if angle > IN_LINE:
            low, high = -high, -low
        for other in "xyz":
            setattr(bone, f"lock_ik_{other}", other != axis.lower())
        return _set_range(bone, axis.lower(), low, high)
    return [
        msg(
            "The hinge of “{bone}” isn't aligned with one of its axes, so its limits weren't "
            "converted",
            bone=bone.name,
        )
    ]


def _set_cone(bone: Any, joint: FabrikJoint) -> list[str]:
    notes: list[str] = []
    ranges = {
        "x": (-joint.swing_x, joint.swing_x),
        "y": (joint.twist_min, joint.twist_max),
        "z": (-joint.swing_z, joint.swing_z),
    }
    for axis, (low, high) in ranges.items():
        setattr(bone, f"lock_ik_{axis}", low == high == 0.0)
        notes += _set_range(bone, axis, low, high)
    if any(joint.center):
        notes.append(
            msg(
                "Blender's IK limits have no Center, so the cone of “{bone}” is now centered on "
                "the rest pose",
                bone=bone.name,
            )
        )
    return notes


def _set_range(bone: Any, axis: str, low: float, high: float) -> list[str]:
    """Set the native limits about an axis; return a note if they aren't supported."""
    is_free = high - low >= 2.0 * pi - 1e-6
    setattr(bone, f"use_ik_limit_{axis}", not is_free)
    if is_free:
        return []
    setattr(bone, f"ik_min_{axis}", low)
    setattr(bone, f"ik_max_{axis}", high)
    if -pi - 1e-6 <= low <= 0.0 <= high <= pi + 1e-6:
        return []
    return [
        msg(
            "The limit of “{bone}” about {axis} excludes 0 or exceeds 180°, which Blender's IK "
            "doesn't support",
            bone=bone.name,
            axis=axis.upper(),
        )
    ]


def ik_names(bone: bpy.types.PoseBone) -> list[str]:
    """Return the names of a bone's native IK constraints."""
    return [con.name for con in bone.constraints if con.type == "IK"]
