"""Selecting the constraints and frames that an operator affects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from ..blender.errors import ProblemError
from ..editing.constraints import that_pose
from ..loop.properties import settings

ACTIVE = ("Active", "Only the active constraint")
SELECTED = ("Selected Bones", "Constraints that pose a selected bone, or whose tip is one")
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
        ProblemError: If no constraint poses a selected bone.
    """
    if which == "ACTIVE":
        return [settings(armature).active_index]
    if which == "SELECTED":
        return [index for _, index in of_selected_bones(context, [armature])]
    return list(range(len(settings(armature).constraints)))


def of_selected_bones(
    context: bpy.types.Context, armatures: Iterable[bpy.types.Object]
) -> list[tuple[bpy.types.Object, int]]:
    """Return the constraints that pose a selected bone or have one as tip, by armature and index.

    Raises:
        ProblemError: If there is none.
    """
    found = [(ob, index) for ob in armatures for index in that_pose(ob, selected(context, ob))]
    if not found:
        raise ProblemError("No constraint poses a selected bone: select bones of its chain")
    return found


def selected(context: bpy.types.Context, armature: bpy.types.Object) -> set[str]:
    """Return the names of an armature's selected bones; none outside Pose Mode."""
    bones: Any = context.selected_pose_bones or ()
    return {bone.name for bone in bones if bone.id_data == armature}


def shown_range(scene: bpy.types.Scene) -> tuple[int, int]:
    """Return the frame range of playback: the preview range if it is used."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end
