"""The extension's entries in Blender's own menus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy

from ..blender.messages import shown
from ..ui.adding import MOTION_OPERATORS


class FABRIK_MT_motion(bpy.types.Menu):
    """Constraints that move a chain by themselves, and walks."""

    bl_label = "Add Motion"
    bl_description = "Add a look-at, rope, free chain, wave or walk"

    def draw(self, _context: bpy.types.Context) -> None:  # type: ignore[override]
        """Draw the operators."""
        layout: Any = self.layout
        for name, title in MOTION_OPERATORS:
            layout.operator(name, text=shown(title), translate=False)


def draw_ik(menu: Any, _context: bpy.types.Context) -> None:
    """Draw the entries of Pose > Inverse Kinematics."""
    layout = menu.layout
    layout.separator()
    layout.operator("fabrik.constraint_add")
    layout.operator("fabrik.constraint_remove", text="Remove FABRIK IK")
    layout.menu(FABRIK_MT_motion.__name__)
    layout.operator("fabrik.convert_from_blender")
    layout.separator()
    layout.operator("fabrik.drag").under_mouse = False
    layout.operator("fabrik.snap_to_fk")
    layout.operator("fabrik.snap_to_ik")
    layout.operator("fabrik.bake", text="Bake FABRIK IK…")


def draw_animation(menu: Any, context: bpy.types.Context) -> None:
    """Draw the entries of Pose > Animation, which is also Object > Animation."""
    if context.mode == "POSE":
        menu.layout.operator("fabrik.bake", text="Bake FABRIK IK…")
    if context.object is not None and context.object.type == "ARMATURE":
        menu.layout.operator("fabrik.root_motion_add")
        menu.layout.operator("fabrik.root_motion_extract")


def _entries() -> list[tuple[Any, Callable[..., None]]]:
    types: Any = bpy.types
    return [
        (types.VIEW3D_MT_pose_ik, draw_ik),
        (types.VIEW3D_MT_object_animation, draw_animation),
    ]


def register() -> None:
    """Add the entries."""
    bpy.utils.register_class(FABRIK_MT_motion)
    for menu, draw in _entries():
        menu.append(draw)


def unregister() -> None:
    """Remove them."""
    for menu, draw in reversed(_entries()):
        menu.remove(draw)
    bpy.utils.unregister_class(FABRIK_MT_motion)
