"""Mirroring of constraints and joints to the other side of an armature.

The mirror plane is the YZ plane of armature space. The matrix S = R'ᵀ M R mirrors vectors from a
bone's axes to those of the bone on the other side. M mirrors armature space; R and R' are the rest
axes of the two bones. As S is a reflection, a rotation about an axis a becomes a rotation by the
same angle about −S a.
"""

from __future__ import annotations

from collections.abc import Container
from math import atan2, pi
from typing import Any, NamedTuple

import bpy
from mathutils import Euler, Matrix, Quaternion, Vector

from fabrik_solver.motion.anatomy import opposites

from ...blender.access import pose_bones, rest_bone
from ...blender.errors import ProblemError, listed
from ...blender.messages import msg
from ...blender.refusals import joints_problem
from ...blender.skeleton import vector
from ...body.chains import common_name, named_chain
from ...body.flexion import Stored, restore_flexions, stored_flexions
from ...editing import constraints as editing
from ...editing.bending import hinge_values, rolled_cone
from ...editing.controls import (
    foot_controls,
    mirror_bones,
    remove_bones,
    uneditable_problem,
)
from ...editing.copying import IK_AXIS, add_with, set_values, values_of, values_to_copy
from ...editing.placing import new_empty
from ...editing.uses import named_controls
from ...plan.registry import kind_of
from ...settings.joint_limits import AXES
from ...settings.joints import FabrikJoint
from ...settings.properties import free_name, settings

MIRROR_X = Matrix.Diagonal((-1.0, 1.0, 1.0))
"""The reflection of armature space, and of symmetrized bones' axes."""

TOLERANCE = 1e-3
"""The largest negligible difference, in radians or relative to the size."""


class Mirrored(NamedTuple):
    """The result of mirroring a constraint.

    Attributes:
        name: The name of the mirrored constraint.
        is_new: Whether it was added, instead of replacing one with the same name and tip bone.
        notes: Sentences on what couldn't be mirrored, and which objects were added.
    """

    name: str
    is_new: bool
    notes: list[str]


class MirroredTarget(NamedTuple):
    """The target or pole target of a mirrored constraint.

    Attributes:
        object: The object; None without a target.
        bone: The name of its bone; empty for the object itself.
        axes: The reflection from the original's axes to those of this target.
    """

    object: bpy.types.Object | None
    bone: str
    axes: Matrix


# Joints


def mirrored_axes(armature: bpy.types.Object, bone: str, other: str) -> Matrix:
    """Return S, the reflection from a bone's rest axes to those of the bone on the other side."""
    return _rest(armature, other).transposed() @ MIRROR_X @ _rest(armature, bone)


def flipped(name: str, names: Container[str]) -> str:
    """Return the name of the counterpart on the other side; a name without a side is unchanged.

    Blender flips a side at the beginning or end. In other names it may be anywhere, as in
    ``mixamorig:LeftFoot``, if the counterpart is among the names.
    """
    other = bpy.utils.flip_name(name)
    if other != name:
        return other
    return next((other for other in opposites(name) if other in names), name)


def other_side(armature: bpy.types.Object, bone: str) -> str:
    """Return the name of the bone on the other side.

    Raises:
        ProblemError: If there is no such bone.
    """
    name = flipped(bone, pose_bones(armature))
    if name == bone:
        raise ProblemError("“{bone}” has no side: add one to its name, such as .L or .R", bone=bone)
    if name not in pose_bones(armature):
        raise ProblemError(
            "“{bone}” has no counterpart “{name}” in “{armature}”",
            name=name,
            armature=armature.name,
            bone=bone,
        )
    return name


def mirror_joint(armature: bpy.types.Object, bone: str) -> list[str]:
    """Mirror a bone's joint to the bone on the other side.

    Returns:
        Notes on what couldn't be mirrored.

    Raises:
        ProblemError: If the other bone doesn't exist, or joints can't be changed.
    """
    other = other_side(armature, bone)
    if problem := joints_problem(armature):
        raise ProblemError(problem)
    bones = pose_bones(armature)
    axes = mirrored_axes(armature, bone, other)
    restore_flexions(
        armature, {other: _mirrored_flexion(stored_flexions(armature, [bone])[bone], axes)}
    )
    joint: FabrikJoint = bones[bone].fabrik_joint
    values = values_of(joint)
    kind = joint.limit_type
    if kind != "NONE" and (axes @ Vector(AXES["Y"])).angle(Vector(AXES["Y"])) > TOLERANCE:
        return [
            msg(
                "“{other}” doesn't mirror “{bone}” at rest, so its limits weren't changed",
                other=other,
                bone=bone,
            )
        ]
    notes: list[str] = []
    if kind == "HINGE":
        values |= _mirrored_hinge(joint, axes)
    elif kind == "CONE":
        mirrored, is_whole = _mirrored_cone(joint, axes)
        values |= mirrored
        if not is_whole:
            notes.append(
                msg("The twist of “{other}” would exceed 180°, where it is clamped", other=other)
            )
    elif kind == "BLENDER" and not _mirror_native(bones[bone], bones[other], axes):
        return [
            (
                msg(
                    "The roll of “{other}” doesn't mirror “{bone}”, so its limits for Blender's "
                    "IK weren't changed",
                    other=other,
                    bone=bone,
                )
            )
        ]
    set_values(bones[other].fabrik_joint, values)
    return notes


def _mirrored_flexion(stored: Stored, axes: Matrix) -> Stored:
    """Return a bone's stored flexion, mirrored; zero vectors stay zero."""
    axis, detected, linked = (vector(axes @ Vector(vec) * -1.0) for vec in stored)
    return axis, detected, linked


def _mirrored_hinge(joint: FabrikJoint, axes: Matrix) -> dict[str, Any]:
    low, high = joint.hinge_min, joint.hinge_max
    axis: Vector = -(axes @ Vector(AXES.get(joint.hinge_axis) or joint.hinge_vector))
    if joint.hinge_axis == "FREE":
        return {"hinge_axis": "FREE", "hinge_vector": vector(axis)}
    return hinge_values(axis, low, high)


def _mirrored_cone(joint: FabrikJoint, axes: Matrix) -> tuple[dict[str, Any], bool]:
    """Return the settings of a mirrored cone, and whether they describe it completely.

    S is a reflection of X, which reverses the twist, and then a rotation about Y, the roll.
    """
    roll_matrix: Matrix = axes @ MIRROR_X
    roll = atan2(roll_matrix[0][2], roll_matrix[0][0])
    center = Euler(joint.center).to_matrix()
    low, high = joint.twist_min, joint.twist_max
    is_unlimited = high - low >= 2.0 * pi - TOLERANCE
    swing = (joint.swing_x, joint.swing_z)
    values = rolled_cone(
        swing,
        (low, high) if is_unlimited else (-high, -low),
        axes @ center @ axes.transposed() if any(joint.center) else center,
        roll,
    )
    twist_range = values["twist_max"] - values["twist_min"]
    return values, abs(twist_range - (high - low)) <= TOLERANCE


def _mirror_native(bone: Any, other: Any, axes: Matrix) -> bool:
    """Mirror a bone's settings for Blender's IK; return False if the axes don't allow it."""
    images = [vector(-(axes @ Vector(AXES[name]))) for name in "XYZ"]
    if any(max(map(abs, image)) < 1.0 - TOLERANCE for image in images):
        return False
    values = {name: {axis: getattr(bone, name + axis) for axis in "xyz"} for name in IK_AXIS}
    for axis, image in zip("xyz", images, strict=True):
        image_axis = max(range(3), key=lambda i: abs(image[i]))
        to = "xyz"[image_axis]
        low, high = values["ik_min_"][axis], values["ik_max_"][axis]
        limits = (low, high) if image[image_axis] > 0.0 else (-high, -low)
        for name in IK_AXIS:
            setattr(other, name + to, values[name][axis])
        setattr(other, "ik_min_" + to, limits[0])
        setattr(other, "ik_max_" + to, limits[1])
    return True


# Constraints


def mirror_constraint(armature: bpy.types.Object, index: int) -> Mirrored:
    """Mirror a constraint and the joints of its chain to the other side.

    A constraint that already has the mirrored name and tip bone gets the settings. Targets and
    poles become the objects or bones with the mirrored names; missing controls are added.

    Args:
        armature: The armature object.
        index: The index of the constraint in the list.

    Raises:
        ProblemError: If the other side is missing, or the mirrored constraint wouldn't work.
            Nothing is changed.
    """
    item = settings(armature).constraints[index]
    if item.bone not in pose_bones(armature):
        raise ProblemError("No tip bone: choose the last bone of the chain")
    tip = other_side(armature, item.bone)
    has_more = any(named_controls(armature, item))
    new_bones = _add_controls(armature, item, tip)
    try:
        mirrored = _mirror_constraint(armature, index, tip)
    except BaseException:
        if new_bones:
            remove_bones(armature, new_bones)
        raise
    if has_more and not uneditable_problem(armature):
        _add_foot_controls(armature, index, settings(armature).constraints.find(mirrored.name))
    return mirrored


def _add_foot_controls(armature: bpy.types.Object, index: int, other: int) -> None:
    """Add missing controls of a mirrored constraint, except target and pole, in mirrored poses."""
    items: Any = settings(armature).constraints
    existing = {*named_controls(armature, items[other])}
    foot_controls(armature, [other])()
    items, bones = settings(armature).constraints, pose_bones(armature)
    names = (named_controls(armature, items[i]) for i in (index, other))
    for bone, mirrored in zip(*names, strict=False):
        if mirrored not in existing:
            axes = mirrored_axes(armature, bone, mirrored).to_4x4()
            bones[mirrored].matrix_basis = axes @ bones[bone].matrix_basis @ axes.inverted()


def _add_controls(armature: bpy.types.Object, item: Any, tip: str) -> list[str]:
    """Add missing control bones of the mirrored constraint; return their names.

    Editing bones may move the settings in memory, so references to them become invalid.
    """
    bones = pose_bones(armature)
    missing = _missing_controls(armature, item, tip)
    if not missing or uneditable_problem(armature):
        return []
    above = {bone: bones[bone].parent for bone in missing}
    parents = {
        bone: flipped(parent.name, bones) if parent else "" for bone, parent in above.items()
    }
    mirror_bones(armature, missing, parents)
    return [*missing.values()]


def _missing_controls(armature: bpy.types.Object, item: Any, tip: str) -> dict[str, str]:
    """Return the names of the missing mirror images of a constraint's control bones."""
    bones = pose_bones(armature)
    ends = (item.target, item.subtarget), (item.pole_target, item.pole_subtarget)
    names = [bone for ob, bone in ends if ob == armature and bone in bones]
    names = [bone for bone in names if bones[bone].bone.fabrik_is_control]
    mirrored = {bone: _flipped(bone, item.bone, tip) for bone in names}
    return {bone: new for bone, new in mirrored.items() if new not in bones}


def _mirror_constraint(armature: bpy.types.Object, index: int, tip: str) -> Mirrored:
    item = settings(armature).constraints[index]
    axes_to_tip = mirrored_axes(armature, item.bone, tip)
    notes: list[str] = []
    added: list[bpy.types.Object] = []
    values = values_to_copy(item)
    name = _flipped(item.name, item.bone, tip)
    axes = axes_to_tip if item.use_rotation else MIRROR_X
    target = _mirrored_end(armature, item, "target", "subtarget", axes, added, notes)
    pole = _mirrored_end(armature, item, "pole_target", "pole_subtarget", MIRROR_X, added, notes)
    values |= {
        "bone": tip,
        "target": target.object,
        "subtarget": target.bone,
        "pole_target": pole.object,
        "pole_subtarget": pole.bone,
        "pole_angle": -item.pole_angle,
        **_mirrored_offset(armature, item, target.axes, axes_to_tip),
    }
    kind = kind_of(item.solver)
    if kind.mirrored is not None:
        motion_values, note = kind.mirrored(item, axes_to_tip)
        values |= motion_values
        notes += [note] if note else []
    chain = named_chain(item, pose_bones(armature)[item.bone])
    bones = [*chain.bones, chain.tip] if chain.tip and item.use_rotation else chain.bones
    count = len(settings(armature).constraints)
    try:
        result = _put(armature, name, values)
    except ProblemError:
        for ob in added:
            bpy.data.objects.remove(ob)
        raise
    for bone in bones:
        try:
            notes += mirror_joint(armature, bone)
        except ProblemError as problem:
            if pose_bones(armature)[bone].fabrik_joint.limit_type != "NONE":
                notes.append(str(problem))
    return Mirrored(result, len(settings(armature).constraints) > count, notes)


def _put(armature: bpy.types.Object, name: str, values: dict[str, Any]) -> str:
    """Apply settings to the constraint with a name and tip bone, or add it; return its name.

    Raises:
        ProblemError: If the constraint wouldn't work. Nothing is changed.
    """
    items = settings(armature).constraints
    existing = items.get(name)
    if existing is None or existing.bone != values["bone"]:
        name = free_name(armature, name)
        return add_with(armature, name, values).name
    old_values, broken = values_of(existing), editing.problems()
    set_values(existing, values)
    if problem := editing.new_problem(broken):
        set_values(existing, old_values)
        raise ProblemError(problem)
    return name


def _flipped(name: str, bone: str, other: str) -> str:
    """Return a name for the other side, even if it contains a bone's name: “hand.L Pole”."""
    mirrored = bpy.utils.flip_name(name)
    if mirrored != name:
        return mirrored
    # Limb names lack the prefix of their bones.
    return name.replace(bone, other).replace(common_name(bone), common_name(other))


def _mirrored_offset(
    armature: bpy.types.Object, item: Any, target: Matrix, axes_to_tip: Matrix
) -> dict[str, Any]:
    """Return the settings for the mirrored offset of the tip from its target.

    As rolls may differ between the sides, the mirrored constraint may need a rotation offset even
    if the original has none.

    Args:
        armature: The armature.
        item: The original constraint.
        target: The reflection from the original target's axes to the mirrored target's.
        axes_to_tip: The reflection from the original tip's axes to the mirrored tip's.
    """
    rotation = Quaternion(item.offset_rotation) if item.use_offset else Quaternion()
    location = Vector(item.offset_location) if item.use_offset else Vector()
    if _is_mirrored(armature) != _is_mirrored(item.target):
        # Their axes differ by a rotation, except for X, which is inverted.
        axes_to_tip = MIRROR_X @ axes_to_tip @ MIRROR_X
    mirrored = (target @ rotation.to_matrix() @ axes_to_tip.transposed()).to_quaternion()
    if not item.use_offset and (not item.use_rotation or mirrored.angle < TOLERANCE):
        return {}
    return {
        "use_offset": True,
        "offset_location": vector(target @ location),
        "offset_rotation": (mirrored.w, mirrored.x, mirrored.y, mirrored.z),
    }


def _is_mirrored(ob: bpy.types.Object | None) -> bool:
    return ob is not None and _world(ob).is_negative


def _mirrored_end(
    armature: bpy.types.Object,
    item: Any,
    pointer: str,
    bone_name: str,
    axes: Matrix,
    added: list[bpy.types.Object],
    notes: list[str],
) -> MirroredTarget:
    """Return the target or pole target on the other side, and add it if necessary.

    Args:
        armature: The armature.
        item: The constraint.
        pointer: The name of the object property.
        bone_name: The name of the bone property.
        axes: The reflection from the original's axes to those of an added object.
        added: The list to which an added object is appended.
        notes: The list to which notes are appended.
    """
    ob, bone = getattr(item, pointer), getattr(item, bone_name)
    if ob is None:
        return MirroredTarget(None, bone, MIRROR_X)
    if bone and ob.type == "ARMATURE":
        return _mirrored_bone(ob, bone, notes)
    tip = flipped(item.bone, pose_bones(armature))
    name = _flipped(ob.name, item.bone, tip)
    existing = bpy.data.objects.get(name)
    if existing is not None and existing != ob:
        return MirroredTarget(existing, "", MIRROR_X)
    matrix = _mirrored_matrix(armature, ob, MIRROR_X)
    size = max(_distance(armature, ob), 1e-6)
    on_plane = (matrix.translation - _world(ob).translation).length < TOLERANCE * size
    if ob.type != "EMPTY" or (name == ob.name and on_plane):
        notes.append(msg("“{name}” has no opposite side: both chains share it", name=ob.name))
        return MirroredTarget(ob, "", MIRROR_X)
    if name == ob.name:
        name = f"{tip} {'Pole' if pointer == 'pole_target' else 'Target'}"
    new = _mirrored_empty(armature, ob, name, _mirrored_matrix(armature, ob, axes))
    added.append(new)
    notes.append(
        msg("Added “{new}” as the mirror image of “{object}”", new=new.name, object=ob.name)
    )
    return MirroredTarget(new, "", axes)


def _mirrored_bone(ob: bpy.types.Object, bone: str, notes: list[str]) -> MirroredTarget:
    other = flipped(bone, pose_bones(ob))
    armature = bpy.data.objects.get(bpy.utils.flip_name(ob.name)) or ob
    if armature.type != "ARMATURE" or other not in pose_bones(armature):
        armature = ob
    if other == bone or other not in pose_bones(armature):
        notes.append(msg("“{name}” has no opposite side: both chains share it", name=bone))
        return MirroredTarget(ob, bone, MIRROR_X)
    return MirroredTarget(
        armature, other, _rest(armature, other).transposed() @ MIRROR_X @ _rest(ob, bone)
    )


def _rest(ob: bpy.types.Object, bone: str) -> Matrix:
    return rest_bone(ob, bone).matrix_local.to_3x3()


def _world(ob: bpy.types.Object) -> Matrix:
    return ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world


def _distance(armature: bpy.types.Object, ob: bpy.types.Object) -> float:
    return (_world(ob).translation - _world(armature).translation).length


def _mirrored_matrix(armature: bpy.types.Object, ob: bpy.types.Object, axes: Matrix) -> Matrix:
    """Return the mirror image of an object's world matrix.

    Raises:
        ProblemError: If the armature's matrix is singular.
    """
    world = _world(armature)
    try:
        back = world.inverted()
    except ValueError:
        raise ProblemError(
            "“{name}” has zero scale: change its scale", name=armature.name
        ) from None
    return world @ MIRROR_X.to_4x4() @ back @ _world(ob) @ axes.inverted().to_4x4()


def _mirrored_empty(
    armature: bpy.types.Object, ob: bpy.types.Object, name: str, matrix: Matrix
) -> bpy.types.Object:
    """Add the mirror image of an Empty, parented to the mirrored bone or the same parent."""
    new = new_empty(armature, name, vector(matrix.translation), ob.empty_display_size, "CUBE")
    new.empty_display_type = ob.empty_display_type
    new.rotation_mode = ob.rotation_mode
    if ob.parent is not None:
        new.parent, new.parent_type = ob.parent, ob.parent_type
        if ob.parent_type == "BONE":
            above = flipped(ob.parent_bone, pose_bones(ob.parent))
            new.parent_bone = above if above in pose_bones(ob.parent) else ob.parent_bone
        bpy.context.view_layer.update()
    new.matrix_world = matrix
    return new


def mirror_joints(armature: bpy.types.Object, bones: list[str]) -> tuple[list[str], list[str]]:
    """Mirror the joints of bones to the bones on the other side.

    Returns:
        The names of those bones, and notes on what couldn't be mirrored.

    Raises:
        ProblemError: If no bone has another side.
    """
    done: list[str] = []
    notes: list[str] = []
    for bone in bones:
        try:
            notes += mirror_joint(armature, bone)
            done.append(other_side(armature, bone))
        except ProblemError as problem:
            notes.append(str(problem))
    if not done:
        raise ProblemError(
            notes[0]
            if len(notes) == 1
            else msg("Bones without a side: {bones}", bones=listed(bones))
        )
    return done, notes
