"""Copying constraints and joints to other bones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

from ..blender.errors import ProblemError
from ..blender.messages import joined, msg
from ..blender.skeleton import skeleton_of
from ..plan import planner
from ..settings.properties import FabrikConstraint, free_name, settings
from ..settings.values import preset_names, values_of
from . import constraints as editing
from .joint_uses import store_flexion

IK_AXIS = ("lock_ik_", "use_ik_limit_", "ik_min_", "ik_max_", "ik_stiffness_")
"""Prefixes of a bone's settings for Blender's IK that exist per axis."""


def set_values(group: bpy.types.PropertyGroup, values: dict[str, Any]) -> None:
    """Set the properties of a group that differ from the values.

    Offsets are always set, because enabling Use Offset has overwritten them.
    """
    current = values_of(group)
    for name, value in values.items():
        if current[name] != value or name.startswith("offset_"):
            *path, last = name.split(".")
            setattr(group.path_resolve(path[0]) if path else group, last, value)


def values_to_copy(item: FabrikConstraint) -> dict[str, Any]:
    """Return the settings of a constraint that suit other chains too.

    Bones named by features, such as the toes of a foot, are left out: they belong to its chain.
    """
    shared = {*preset_names(item)}
    return {
        name: value
        for name, value in values_of(item).items()
        if "." not in name or name in shared or not isinstance(value, str)
    }


def copy_constraint(
    armature: bpy.types.Object, index: int, bones: Sequence[Any]
) -> tuple[list[str], list[str]]:
    """Copy a constraint to other tip bones, with its target but without its animation.

    The chain length is clamped to the bones up to the root.

    Args:
        armature: The armature of the constraint.
        index: Its index in the list.
        bones: The tip bones, of any armature.

    Returns:
        The names of the new constraints, and notes on bones that were skipped.

    Raises:
        ProblemError: If no copy can be added. Nothing is changed.
    """
    source = settings(armature).constraints[index]
    values, tip = values_to_copy(source), (armature, source.bone)
    added: list[str] = []
    notes: list[str] = []
    for owner, bone in [(pb.id_data, pb.name) for pb in bones]:
        if (owner, bone) == tip:
            continue
        try:
            added.append(_add_copy(owner, bone, values))
        except ProblemError as problem:
            notes.append(msg("Not copied to “{bone}”: {problem}", bone=bone, problem=str(problem)))
    if not added:
        raise ProblemError(joined(" ", notes) or msg("Select the bones to copy the constraint to"))
    return added, notes


def _add_copy(armature: bpy.types.Object, bone: str, values: dict[str, Any]) -> str:
    planner.discard_if_outdated()
    rig = skeleton_of(armature)
    length = len(rig.chain_up(rig.index[bone])) - (0 if values["use_tail"] else 1)
    count = min(values["chain_count"], length)
    name = free_name(armature, bone)
    item = add_with(armature, name, {**values, "bone": bone, "chain_count": count})
    store_flexion(armature, item)
    return item.name


def add_with(armature: bpy.types.Object, name: str, values: dict[str, Any]) -> FabrikConstraint:
    """Add a constraint with the settings in `values`.

    Raises:
        ProblemError: If the constraint wouldn't work, or would break another one. Nothing is
            changed.
    """
    known_problems = editing.problems()
    items = settings(armature).constraints
    item = items.add()
    item.name = name
    set_values(item, values)
    if problem := editing.new_problem(known_problems):
        items.remove(len(items) - 1)
        editing.changed(armature)
        raise ProblemError(problem)
    return item


def copy_joint(source: Any, bones: Sequence[Any]) -> list[str]:
    """Copy a pose bone's joint to other bones, with its settings for Blender's IK.

    Returns:
        The names of the other bones.
    """
    targets = [bone for bone in bones if bone != source]
    for bone in targets:
        set_values(bone.fabrik_joint, values_of(source.fabrik_joint))
        for name in IK_AXIS if source.fabrik_joint.limit_type == "BLENDER" else ():
            for axis in "xyz":
                setattr(bone, name + axis, getattr(source, name + axis))
    return [bone.name for bone in targets]
