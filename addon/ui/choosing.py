"""Choosing the constraints and frames that an operator affects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from ..blender.errors import ProblemError
from ..blender.skeleton import skeleton_of
from ..editing.constraints import that_pose
from ..plan.planner import chains_in
from ..settings.properties import settings
from .following import controls_of, is_below_end

ACTIVE = ("Active", "Only the active constraint")
SELECTED = (
    "Selected",
    "Constraints that pose a selected bone, or whose target or pole target is selected",
)
"""Names and descriptions of enum items shared by several operators."""

WHICH_ITEMS = (
    ("ACTIVE", *ACTIVE),
    ("SELECTED", *SELECTED),
    ("ALL", "All", "All constraints of the armature"),
)
"""Enum items: which constraints of the active armature to use."""


def chosen(context: bpy.types.Context, armature: bpy.types.Object, which: str) -> list[int]:
    """Return the indices of the constraints chosen by one of `WHICH_ITEMS`.

    Raises:
        ProblemError: If no constraint is selected.
    """
    if which == "ACTIVE":
        return [settings(armature).active_index]
    if which == "SELECTED":
        return [index for _, index in of_selection(context, [armature])]
    return list(range(len(settings(armature).constraints)))


def of_selection(
    context: bpy.types.Context, armatures: Iterable[bpy.types.Object]
) -> list[tuple[bpy.types.Object, int]]:
    """Return the selected constraints, by armature and index (see `selected_in`).

    Raises:
        ProblemError: If no constraint is selected.
    """
    constraints = [(ob, index) for ob in armatures for index in selected_in(context, ob)]
    if not constraints:
        raise ProblemError(
            "No constraint belongs to the selection: select a bone of its chain, or its target"
        )
    return constraints


def _names_of(chain: Any, armature: bpy.types.Object) -> list[str]:
    """Return the names of the bones that a constraint poses, and of its control bones."""
    controls = [bone for ob, bone in controls_of(chain) if ob == armature]
    return controls + [chain.rig.names[i] for i in (*chain.bones, chain.tip_bone) if i >= 0]


def selected_in(context: bpy.types.Context, armature: bpy.types.Object) -> list[int]:
    """Return the indices of an armature's selected constraints.

    A constraint is selected with any bone that it poses, and with its tip, target or pole. The hand
    or foot of its limb also selects it. In Pose Mode selected objects are ignored, because they
    stay selected from Object Mode.
    """
    bones: Any = context.selected_pose_bones or ()
    handles = {(bone.id_data, bone.name) for bone in bones}
    if context.mode != "POSE":
        handles |= {(ob, "") for ob in context.selected_objects}
    chains, names = chains_in(armature), selected(context, armature)
    aimed = {chain.item for chain in chains if not handles.isdisjoint(controls_of(chain))}
    used_names = [name for chain in chains for name in _names_of(chain, armature)]
    free = [skeleton_of(armature).index[name] for name in names.difference(used_names)]
    below_hand = {chain.item for chain in chains for bone in free if is_below_end(chain, bone)}
    return sorted(aimed | below_hand | {*that_pose(armature, names)})


def selected(context: bpy.types.Context, armature: bpy.types.Object) -> set[str]:
    """Return the names of an armature's selected bones; empty outside Pose Mode."""
    bones: Any = context.selected_pose_bones or ()
    return {bone.name for bone in bones if bone.id_data == armature}


def shown_range(scene: bpy.types.Scene) -> tuple[int, int]:
    """Return the frame range of playback: the preview range if it is used."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end
