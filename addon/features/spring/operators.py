"""Operators that add springs and colliders, and their settings panels."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ...blender.access import pose_bones
from ...blender.errors import listed
from ...blender.messages import msg
from ...blender.skeleton import Skeleton, skeleton_of
from ...editing import constraints as editing
from ...settings.properties import FabrikConstraint, settings
from ...ui.adding import MOTION_OPERATORS, all_or_none, known_objects, tip_refusal
from ...ui.layout import Layout, draw_bone_of, draw_if
from ...ui.refusing import Working
from ...ui.registering import registering
from ...ui.sections import SECTIONS, Section
from ..simulation import history
from .recording import SOLVER, notes, strands
from .settings import ALONG, CURVES, AlongStrand, colliders_of, spring_of

ROOT = msg("the first bone of a strand")
"""What messages call the active bone."""


def _root_refusal(context: bpy.types.Context) -> str:
    return tip_refusal(context, ROOT)


def strands_below(rig: Skeleton, root: int) -> list[list[int]]:
    """Return the strands that start at or below a bone, each from its first bone to its tip.

    Where bones branch, a strand follows the longest branch. The other branches start new strands.
    """
    strands_found: list[list[int]] = []
    pending = [root]
    while pending:
        strand = [pending.pop(0)]
        while children := rig.children[strand[-1]]:
            longest = max(children, key=lambda child: _reach(rig, child))
            pending += [child for child in children if child != longest]
            strand.append(longest)
        strands_found.append(strand)
    return strands_found


def _reach(rig: Skeleton, bone: int) -> float:
    """Return the length of the longest strand from a bone to a tip."""
    pending, longest = [(bone, 0.0)], 0.0
    while pending:
        at, reach = pending.pop()
        size = reach + rig.bone(at).length
        longest = max(longest, size)
        pending += [(child, size) for child in rig.children[at]]
    return longest


def _selected_roots(context: bpy.types.Context) -> tuple[bpy.types.Object, list[str]]:
    """Return the active bone's armature, and the selected bones that aren't below another."""
    active: Any = context.active_pose_bone
    armature: bpy.types.Object = active.id_data
    selected = [bone for bone in context.selected_pose_bones or () if bone.id_data == armature]
    names = {bone.name for bone in (active, *selected)}
    bones = [bone for bone in pose_bones(armature) if bone.name in names]
    return armature, [
        bone.name
        for bone in bones
        if names.isdisjoint(parent.name for parent in bone.parent_recursive)
    ]


class FABRIK_OT_spring_add(AlongStrand, Working, bpy.types.Operator):
    """Let the bones below the selected bones swing."""

    bl_idname = "fabrik.spring_add"
    bl_label = "Add Spring"
    bl_description = (
        "Let hair, ears or a tail swing: each selected bone, with all bones below it. "
        "Select the first bone of each strand"
    )
    asks = (_root_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Add a constraint to each strand."""
        armature, roots = _selected_roots(context)
        rig = skeleton_of(armature)
        start = len(settings(armature).constraints)
        tips: list[str] = []
        chosen = [n for n in CURVES if cast(Any, self).properties.is_property_set(n)]
        with all_or_none(armature, known_objects()):
            for root in roots:
                for strand in strands_below(rig, rig.index[root]):
                    tips.append(rig.names[strand[-1]])
                    item = editing.add(armature, tips[-1], chain_count=len(strand), solver=SOLVER)
                    for name in chosen:
                        setattr(spring_of(item), name, getattr(self, name))
        settings(armature).active_index = start
        return msg("Added springs to {tips}: press Simulate", tips=listed(tips))


def _draw(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    spring = spring_of(item)
    layout.prop(spring, "mode")
    for name in ALONG:
        column = layout.column(align=True)
        column.prop(spring, name)
        column.prop(spring, f"{name}_tip")
        draw_if(getattr(spring, f"{name}_tip") != 1.0, column, spring, f"{name}_middle")
    draw_if(spring.gravity != 0.0, layout, spring, "gravity_direction")
    layout.prop(spring, "field_weight")
    layout.prop(spring, "center")
    draw_bone_of(layout, spring, "center_bone", spring.center)
    for name in ("use_settle", "use_loop", "use_cuts", "reset"):
        layout.prop(spring, name)
    layout.prop(spring, "use_colliders")
    draw_if(spring.use_colliders and len(colliders_of(armature)) > 0, layout, spring, "groups")


def _draw_colliders(layout: Layout, armature: bpy.types.Object, _item: FabrikConstraint) -> None:
    layout.operator("fabrik.collider_add", icon="ADD")
    for i, collider in enumerate(colliders_of(armature)):
        box = layout.box().column()
        row = box.row(align=True)
        row.prop(collider, "kind", text="")
        cast(Any, row.operator("fabrik.collider_remove", text="", icon="X")).index = i
        box.prop(collider, "object")
        if collider.kind != "MESH":
            draw_bone_of(box, collider, "bone", collider.object or armature)
            box.prop(collider, "offset")
            draw_if(not collider.kind.endswith("SPHERE"), box, collider, "tail")
            draw_if(collider.kind != "PLANE", box, collider, "radius")
        box.prop(collider, "group")


register, unregister = registering(
    __name__,
    (SECTIONS, Section(33, msg("Spring"), _draw, SOLVER.__eq__)),
    (SECTIONS, Section(34, msg("Colliders"), _draw_colliders, SOLVER.__eq__, is_closed=True)),
    (history.PROVIDERS, strands),
    (history.NOTES, notes),
    (MOTION_OPERATORS, ("fabrik.spring_add", msg("Spring"))),
)
