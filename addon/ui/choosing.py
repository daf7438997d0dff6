"""Selecting the constraints and frames that an operator affects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from ..blender.errors import ProblemError
from ..editing.constraints import chains_in, that_pose
from ..settings.properties import settings
from .following import controls_of

ACTIVE = ("Active", "Only the active constraint")
SELECTED = (
    "Selected",
    "Constraints that pose a selected bone, or whose tip, target or pole target is selected",
)
"""Names and descriptions of enum items that several operators share."""

WHICH_ITEMS = (
    ("ACTIVE", *ACTIVE),
    ("SELECTED", *SELECTED),
    ("ALL", "All", "All constraints of the armature"),
)
"""Items of an enum property: which constraints of the active armature to use."""


def chosen(context: bpy.types.Context, armature: bpy.types.Object, which: str) -> list[int]:
    """Return the indices of the constraints that one of `WHICH_ITEMS` selects.

    Raises:
        ProblemError: If none is selected.
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
        ProblemError: If there is none.
    """
    found = [(ob, index) for ob in armatures for index in selected_in(context, ob)]
    if not found:
        raise ProblemError(
            "No constraint belongs to the selection: select a bone of its chain, or its target"
        )
    return found


def selected_in(context: bpy.types.Context, armature: bpy.types.Object) -> list[int]:
    """Return the indices of an armature's selected constraints.

    That is, of those that pose a selected bone, and those whose tip, target or pole target is
    selected. In Pose Mode only bones count, as objects stay selected from before.
    """
    bones: Any = context.selected_pose_bones or ()
    aims = {(bone.id_data, bone.name) for bone in bones}
    if context.mode != "POSE":
        aims |= {(ob, "") for ob in context.selected_objects}
    aimed = {chain.item for chain in chains_in(armature) if not aims.isdisjoint(controls_of(chain))}
    return sorted(aimed.union(that_pose(armature, selected(context, armature))))


def selected(context: bpy.types.Context, armature: bpy.types.Object) -> set[str]:
    """Return the names of an armature's selected bones; none outside Pose Mode."""
    bones: Any = context.selected_pose_bones or ()
    return {bone.name for bone in bones if bone.id_data == armature}


def shown_range(scene: bpy.types.Scene) -> tuple[int, int]:
    """Return the frame range of playback: the preview range if it is used."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end
