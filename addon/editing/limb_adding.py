"""Adds IK with target, pole and hinges to limbs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from math import pi
from typing import Any, Final, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver import exact_for

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.errors import ProblemError
from ..blender.messages import msg
from ..blender.relations import active_constraints
from ..blender.skeleton import upright, vector
from ..body.body import Limb
from ..body.chains import common_name
from ..body.flexion import flip, restore_flexions, stored_flexions
from ..body.helpers import is_seen
from ..settings.properties import FabrikConstraint, settings
from . import constraints as editing
from .bending import add_hinge, native_limits_notes, restore_limits
from .control_parents import ROOT, Parent
from .controls import foot_controls, refuse_uneditable, remove_bones, use_bones
from .ends import add_reaching, added_bone, reaching, with_ends
from .girth import beside_mesh
from .lifting import set_down
from .placing import new_empty
from .playing import updated
from .switching import SwitchState, limbs_to_fk, remember_switches, restore_switch
from .transaction import all_or_nothing

SAME_PLACE: Final = 1e-3
SAME_TURN: Final = 1e-2
"""Maximum change due to hinges: of a bone's head, relative to the limb length, and of its axes, in
radians.

Solvers stay well below it. Single precision bends a straight limb by half as much, and twists it
about its axis by up to 0.5°.
"""

COMPATIBLE = {
    "COPY_SCALE",
    "LIMIT_DISTANCE",
    "LIMIT_LOCATION",
    "LIMIT_ROTATION",
    "LIMIT_SCALE",
    "MAINTAIN_VOLUME",
}
"""Blender's constraints that a chain's bones may have: they adjust a pose, but don't set it."""


class AddingOptions(NamedTuple):
    """Options of adding IK to limbs.

    Attributes:
        is_oriented: Whether hands and feet copy the rotation of their targets.
        bones: Whether targets and poles are bones of the armature instead of Empties.
        poles: Whether to add pole targets.
        hinges: Whether to limit inner joints to their bend axes.
        flip: Whether to reverse the detected bend direction.
        parent: What control bones are parented to.
        target: What all limbs reach for; None adds a target to each that keeps its pose.
        roll: Whether feet get controls that roll them, if targets are bones.
    """

    is_oriented: bool = True
    bones: bool = True
    poles: bool = True
    hinges: bool = True
    flip: bool = False
    parent: Parent = ROOT
    target: bpy.types.Object | None = None
    roll: bool = True


def add_limbs(
    armature: bpy.types.Object, limbs: Sequence[Limb], options: AddingOptions
) -> tuple[list[int], list[str]]:
    """Add IK to limbs, and keep the pose.

    Returns:
        The indices of the constraints, and notes on hinges that couldn't be added.

    Raises:
        ProblemError: If IK can't be added. Nothing is changed.
    """
    for limb in limbs:
        refuse_posed(armature, (*limb.bones, *filter(None, [limb.hand])))
        refuse_known(armature, limb)
    if options.bones:
        refuse_uneditable(armature)
    switched: list[SwitchState] = []
    switchable = [limb for limb in limbs if limb.switch]
    with all_or_nothing() if switchable else nullcontext():
        try:
            switched += limbs_to_fk(armature, switchable, keeps_animation=True)
            for limb in limbs:
                refuse_unseen(armature, limb)
            indices, notes = _add_limbs(armature, limbs, options)
        except BaseException:
            for state in switched:
                restore_switch(armature, state)
            raise
    if switched:
        remember_switches(armature, switched)
        notes.append(
            msg("Switched the rig's own FK/IK to FK, because FABRIK IK poses the FK controls")
        )
    return indices, notes


def _add_limbs(
    armature: bpy.types.Object, limbs: Sequence[Limb], options: AddingOptions
) -> tuple[list[int], list[str]]:
    old_pose = shown_pose(armature)
    start = len(settings(armature).constraints)
    hinged: list[str] = []
    ends: list[str] = []
    flexions = stored_flexions(armature, [name for limb in limbs for name in limb.bones])
    try:
        if options.flip:
            flip(armature, [joint for limb in limbs for joint in limb.joints[1:]])
        jointed = with_ends(armature, limbs)
        ends += filter(None, map(added_bone, jointed))
        notes = _build(armature, jointed, options, old_pose, hinged)
    except BaseException:
        restore_limits(armature, hinged)
        _remove_from(armature, start)
        if ends:
            remove_bones(armature, ends)
        restore_flexions(armature, flexions)
        raise
    updated()
    indices = list(range(start, len(settings(armature).constraints)))
    items: list[Any] = [settings(armature).constraints[index] for index in indices]
    return indices, [*notes, *native_limits_notes(armature, items)]


def _build(
    armature: bpy.types.Object,
    limbs: Sequence[Limb],
    options: AddingOptions,
    old_pose: dict[str, Matrix],
    hinged: list[str],
) -> list[str]:
    """Add the constraints, poles, hinges and bones, and return notes.

    Args:
        armature: The armature.
        limbs: The limbs.
        options: The options.
        old_pose: The displayed pose.
        hinged: The list to which the result of `add_hinges` is appended.
    """
    start = len(settings(armature).constraints)
    for limb in limbs:
        add_to(armature, limb, options.is_oriented)
    # A straight limb bends about its hinges, so they come before its pole.
    notes = [_hinge(armature, limb, old_pose, hinged) for limb in limbs if options.hinges]
    indices = range(start, start + len(limbs))
    for index, limb in zip(indices, limbs, strict=True):
        if options.poles and len(limb.bones) > 1:
            editing.add_pole(updated(), armature, index)
    _reach_for(armature, indices, options.target)
    if options.bones:
        add_foot_controls = foot_controls(armature, indices if options.roll else ())
        use_bones(
            armature, indices, armature, only=_new_ends(armature, indices), parent=options.parent
        )
        add_foot_controls()
    else:
        set_down(armature, indices, [(end, "") for end in _new_ends(armature, indices)])
    if options.target is None:
        # Controls round the pose, and hinges may turn a nearly straight limb about itself then.
        notes += [
            keep_pose(armature, limb, old_pose, _limited(armature, limb, hinged)) for limb in limbs
        ]
    return list(filter(None, notes))


def _limited(armature: bpy.types.Object, limb: Limb, hinged: Sequence[str]) -> list[str]:
    """Return the bones of a limb that still have the hinges that were added."""
    bones: Any = pose_bones(armature)
    names = [name for name in limb.bones if name in hinged]
    return [name for name in names if bones[name].fabrik_joint.limit_type != "NONE"]


def _reach_for(
    armature: bpy.types.Object, indices: Sequence[int], target: bpy.types.Object | None
) -> None:
    """Use a target, if there is one, in place of Empties that were added for constraints.

    The Empties kept the pose until now, so that poles and hinges suit it.
    """
    for index in indices if target is not None else ():
        item = settings(armature).constraints[index]
        if item.target != armature:
            empty: Any = item.target
            item.target = target
            bpy.data.objects.remove(empty)


def _new_ends(armature: bpy.types.Object, indices: Sequence[int]) -> list[bpy.types.Object]:
    """Return the Empties that were added as targets and poles of constraints."""
    items: list[Any] = [settings(armature).constraints[index] for index in indices]
    ends = [end for item in items for end in (item.target, item.pole_target) if end]
    return [end for end in dict.fromkeys(ends) if end != armature and settings(end).is_control]


def _hinge(
    armature: bpy.types.Object, limb: Limb, old_pose: dict[str, Matrix], hinged: list[str]
) -> str:
    """Add a limb's hinges unless they change its pose; return why a limb with a knee gets none."""
    added = add_hinges(armature, limb)
    hinged += added
    last = limb.bones[-1]
    if not added:
        bones: list[Any] = [pose_bones(armature)[name] for name in limb.bones[1:]]
        has_knee = bool(limb.kind) or len(limb.bones) == 2
        if not has_knee or any(bone.fabrik_joint.limit_type != "NONE" for bone in bones):
            return ""
        return msg("No hinge for “{bone}”: it's straight at rest, or animated", bone=last)
    return keep_pose(armature, limb, old_pose, added)


def keep_pose(
    armature: bpy.types.Object, limb: Limb, old_pose: dict[str, Matrix], added: Sequence[str]
) -> str:
    """Remove hinges that change the pose of a limb; return why the limb has no hinge.

    Args:
        armature: The armature.
        limb: The limb.
        old_pose: The displayed pose without hinges (see `shown_pose`).
        added: The result of `add_hinges`.
    """
    if not added or not _differs(armature, limb, old_pose):
        return ""
    restore_limits(armature, added)
    return msg("No hinge for “{bone}”: its pose is outside the hinge's range", bone=limb.bones[-1])


def refuse_unseen(armature: bpy.types.Object, limb: Limb) -> None:
    """Refuse a limb that nothing visible follows.

    Raises:
        ProblemError: If IK on the limb would have no visible effect.
    """
    if not is_seen(armature, limb.bones):
        raise ProblemError(
            "Nothing visible follows “{bone}”: click a bone that deforms the mesh, or switch its "
            "limb to FK first",
            bone=limb.tip(True),
        )


def refuse_posed(armature: bpy.types.Object, bones: Sequence[str]) -> None:
    """Refuse bones that Blender's constraints or drivers pose.

    A driver may pose a bone whose child starts at the same joint, as rigs do to curl fingers.

    Args:
        armature: The armature.
        bones: The names of the bones, root first.

    Raises:
        ProblemError: If there are any; the message says why.
    """
    for name, child in zip(bones, (*bones[1:], ""), strict=True):
        for con in active_constraints(pose_bones(armature)[name]):
            if con.type == "IK" and con.target is not None:
                raise ProblemError(
                    "“{bone}” is posed by its constraint “{constraint}”: move its target "
                    "“{target}”, or choose Convert from Blender's IK first",
                    bone=name,
                    constraint=con.name,
                    target=con.subtarget or con.target.name,
                )
            if con.type not in COMPATIBLE:
                raise ProblemError(
                    "“{bone}” is posed by its constraint “{constraint}”: set up the bones that "
                    "control it, or bake the animation and remove its constraints first",
                    bone=name,
                    constraint=con.name,
                )
        if is_driven(armature, name) and not (child and _carries(armature, name, child)):
            raise ProblemError(
                "The rotation of “{bone}” has a driver: bake the animation and remove the driver "
                "first, or set up other bones",
                bone=name,
            )


def is_driven(armature: bpy.types.Object, bone: str) -> bool:
    """Return whether a bone's rotation has a driver, which also applies within a chain."""
    return animation.has_driver(armature, pose_bones(armature)[bone], "rotation")


def _carries(armature: bpy.types.Object, bone: str, child: str) -> bool:
    """Return whether a bone starts at the joint of a child that is free to rotate there."""
    head, child_head = (pose_bones(armature)[name].bone.head_local for name in (bone, child))
    return (head - child_head).length == 0.0 and not is_driven(armature, child)


def refuse_known(armature: bpy.types.Object, limb: Limb) -> None:
    """Refuse a limb whose tip already has a FABRIK IK constraint.

    Raises:
        ProblemError: If there is a constraint; the message names it.
    """
    reaches = reaching(armature, limb)
    for item in settings(armature).constraints:
        if item.name == reaches or item.bone in (limb.bones[-1], limb.hand):
            raise ProblemError(
                "“{bone}” already has the constraint “{constraint}”",
                bone=item.bone,
                constraint=item.name,
            )


def shown_pose(armature: bpy.types.Object) -> dict[str, Matrix]:
    """Return the bones' displayed matrices in armature space, by name."""
    evaluated = armature.evaluated_get(updated())
    return {bone.name: bone.matrix.copy() for bone in pose_bones(evaluated)}


def _differs(armature: bpy.types.Object, limb: Limb, old_pose: dict[str, Matrix]) -> bool:
    """Return whether the displayed pose of a limb's bones has changed."""
    pose = shown_pose(armature)
    names = (*limb.bones, *filter(None, [limb.hand]))
    # Tails may be anywhere.
    size = sum((pose[a].translation - pose[b].translation).length for a, b in pairwise(names))
    size += 0.0 if limb.hand else pose_bones(armature)[names[-1]].length
    for name in [name for name in names if name in old_pose]:  # Its end may have been added.
        turn = pose[name].to_quaternion().rotation_difference(old_pose[name].to_quaternion())
        angle = 2.0 * Vector((turn.x, turn.y, turn.z)).length  # `Quaternion.angle` is imprecise.
        distance = (pose[name].translation - old_pose[name].translation).length
        if angle > SAME_TURN or distance > SAME_PLACE * size:
            return True
    return False


def _remove_from(armature: bpy.types.Object, start: int) -> None:
    """Remove the constraints from an index onward, with the Empties that were added for them."""
    items = settings(armature).constraints
    for index in reversed(range(start, len(items))):
        ends = _new_ends(armature, [index])
        editing.remove(armature, index)
        for ob in ends:
            bpy.data.objects.remove(ob)


def add_limb(
    armature: bpy.types.Object, bone: str, count: int, is_oriented: bool
) -> FabrikConstraint:
    """Add a constraint to a limb, with an Empty as its target that keeps the current pose.

    Args:
        armature: The armature object.
        bone: The hand or foot that copies the rotation of the target; otherwise the last bone.
        count: The number of bones that bend.
        is_oriented: Whether the bone copies the rotation.
    """
    if not is_oriented:
        return editing.add(armature, bone, chain_count=count)
    evaluated = armature.evaluated_get(updated())
    tip = pose_bones(evaluated)[bone]
    world = evaluated.matrix_world @ tip.matrix
    heads = [pb.head for pb in (tip, *tip.parent_recursive[:count])]
    length = sum((a - b).length for a, b in pairwise(heads)) * evaluated.matrix_world.median_scale
    name = f"{common_name(bone)} Target"
    size = beside_mesh(armature, bone, 0.1 * length)
    target = new_empty(armature, name, vector(world.translation), size, "CUBE")
    target.rotation_mode = "QUATERNION"
    target.rotation_quaternion = upright(world)
    try:
        solver = exact_for("FABRIK", count)
        item = editing.add(armature, bone, target, "", count, solver, use_tail=False)
    except ProblemError:
        bpy.data.objects.remove(target)
        raise
    item.use_rotation, item.swing = True, 1.0
    return item


def add_to(armature: bpy.types.Object, limb: Limb, is_oriented: bool) -> FabrikConstraint:
    """Add a constraint to a limb that `with_ends` returned; the limb's end may be the target."""
    tip = limb.tip(is_oriented)
    return add_reaching(armature, limb) or add_limb(
        armature, tip, len(limb.bones), tip == limb.hand
    )


def add_hinges(armature: bpy.types.Object, limb: Limb) -> list[str]:
    """Limit a limb's inner joints to their axes of flexion, unless animated or limited.

    The joint within a bone that is split for twisting keeps its rest bend.

    Returns:
        The names of the limited bones, for `restore_limits`.
    """
    keyed = {split_bone_path(path)[0] for path, _ in animation.animated(armature).keyed}
    added: list[str] = []
    for joint in limb.joints[1:]:
        limit: Any = cast(Any, pose_bones(armature)[joint.bone]).fabrik_joint
        if limit.limit_type != "NONE" or joint.bone in keyed or not joint.source:
            continue
        # Less could make reachable targets unreachable.
        max_bend = 0.0 if joint.source == "TWIST" else pi
        # Keep a rest pose that is bent slightly backward in range.
        add_hinge(limit, joint.axis, min(0.0, -joint.fold), max_bend - joint.fold)
        added.append(joint.bone)
    return added
