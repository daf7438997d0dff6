"""Import springs and colliders that the VRM add-on stored in an armature.

Only its public property names are used, so the add-on isn't needed to play the springs.
"""

from __future__ import annotations

from typing import Any

import bpy

from ...blender.errors import ProblemError
from ...blender.messages import counted, msg
from ...blender.skeleton import Skeleton, skeleton_of
from ...editing import constraints as editing
from ...settings.properties import free_name, settings
from ...ui.adding import MOTION_OPERATORS, all_or_none, known_objects
from ...ui.refusing import Working, active_armature, armature_refusal
from ...ui.registering import registering
from .recording import SOLVER
from .settings import colliders_of, spring_of

RATIO = 1e-9
"""Below this, a value at the first joint gives no ratio for the last one."""


def _stored(armature: bpy.types.Object) -> Any:
    """Return the VRM 1.0 springs stored in an armature; None without any."""
    extension = getattr(armature.data, "vrm_addon_extension", None)
    stored = getattr(extension, "spring_bone1", None)
    return stored if stored is not None and len(stored.springs) else None


def _stored_refusal(context: bpy.types.Context) -> str:
    if _stored(active_armature(context)) is not None:
        return ""
    return msg("No VRM springs: import a VRM 1.0 character with the VRM add-on")


class FABRIK_OT_springs_import(Working, bpy.types.Operator):
    """Import the springs that the VRM add-on stored."""

    bl_idname = "fabrik.springs_import"
    bl_label = "Import Springs"
    bl_description = (
        "Add the springs and colliders of VRM 1.0 that the VRM add-on stores in this armature"
    )
    asks = (armature_refusal, _stored_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraints and colliders."""
        armature = active_armature(context)
        stored = _stored(armature)
        start = len(settings(armature).constraints)
        with all_or_none(armature, known_objects()):
            for spring in stored.springs:
                _add_spring(armature, stored, spring)
        count = len(settings(armature).constraints) - start
        if not count:
            raise ProblemError("The VRM springs name no bones of this armature: check their joints")
        _add_colliders(armature, stored)
        settings(armature).active_index = start
        armature.update_tag()
        springs = counted(count, "{count} spring", "{count} springs")
        return msg("Imported {springs}: press Simulate", springs=springs)


def _add_spring(armature: bpy.types.Object, stored: Any, spring: Any) -> None:
    """Add a constraint to a spring's strand, if its bones exist."""
    joints = [joint for joint in spring.joints if joint.node.bone_name]
    count = _length(skeleton_of(armature), [joint.node.bone_name for joint in joints])
    if not count:
        return
    last = joints[-1].node.bone_name
    item = editing.add(armature, last, chain_count=count, solver=SOLVER, use_tail=False)
    values: Any = spring_of(item)
    values.mode = "VRM"
    moving = joints[:-1]  # The last joint only ends the bone before it.
    for name, theirs in (
        ("stiffness", "stiffness"),
        ("drag", "drag_force"),
        ("gravity", "gravity_power"),
        ("radius", "hit_radius"),
    ):
        _set_curve(values, name, [getattr(joint, theirs) for joint in moving])
    values.gravity_direction = joints[0].gravity_dir
    if spring.center.bone_name:
        values.center, values.center_bone = armature, spring.center.bone_name
    names = {group.uuid: group.vrm_name for group in stored.collider_groups}
    groups = [names.get(reference.collider_group_uuid, "") for reference in spring.collider_groups]
    values.use_colliders, values.groups = any(groups), ", ".join(filter(None, groups))


def _set_curve(spring: Any, name: str, along: list[float]) -> None:
    """Set a spring's value along its strand from the values of its bones."""
    start, end = along[0], along[-1]
    setattr(spring, name, start)
    if start > RATIO and start != end:
        halfway = 0.5 * (along[(len(along) - 1) // 2] + along[len(along) // 2])
        setattr(spring, f"{name}_tip", end / start)
        setattr(spring, f"{name}_middle", (halfway - start) / (end - start))


def _length(rig: Skeleton, names: list[str]) -> int:
    """Return how many bones lead from the first joint to the last; 0 if none do."""
    if len(names) < 2 or not {*names} <= rig.index.keys():
        return 0
    up = rig.chain_up(rig.index[names[-1]])
    first = rig.index[names[0]]
    return len(up) - 1 - up.index(first) if first in up else 0


def _add_colliders(armature: bpy.types.Object, stored: Any) -> None:
    """Add the colliders of each group."""
    by_uuid = {collider.uuid: collider for collider in stored.colliders}
    for group in stored.collider_groups:
        for reference in group.colliders:
            theirs = by_uuid.get(reference.collider_uuid)
            if theirs is None:
                continue
            ours: Any = colliders_of(armature).add()
            ours.name = free_name(armature, theirs.node.bone_name or "Collider", "colliders")
            ours.bone, ours.group = theirs.node.bone_name, group.vrm_name
            ours.kind = "CAPSULE" if theirs.shape_type == "Capsule" else "SPHERE"
            shape = getattr(theirs.shape, ours.kind.lower())
            ours.offset, ours.radius = shape.offset, shape.radius
            if ours.kind == "CAPSULE":
                ours.tail = shape.tail


register, unregister = registering(
    __name__,
    (MOTION_OPERATORS, ("fabrik.springs_import", msg("Import Springs"))),
)
