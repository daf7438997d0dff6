"""The extension's page in Blender's preferences."""

from __future__ import annotations

import platform
from typing import Any

import bpy

import fabrik_solver

from ..blender.messages import msg, shown
from ..editing import defaults
from ..editing.defaults import FabrikDefaults
from ..settings.definitions import group, register_class
from ..settings.properties import scene_settings
from ..ui.layout import Layout
from . import manual
from .keymap import SHORTCUTS

WEBSITE = ""
"""The website in the manifest, with manual and samples; empty if there isn't one."""

LINKS = ((msg("Manual"), "HELP", "index.html"), (msg("Sample Files"), "FILE_BLEND", "samples.html"))
"""Labels, icons and pages of links to the manual, bundled or on the website."""

PLACES = (
    (msg("Pose ▸ Inverse Kinematics"), msg("Add, remove, snap, bake")),
    (msg("Sidebar (N) ▸ FABRIK"), msg("All settings")),
    (msg("Properties ▸ Bone Constraints"), msg("Constraints of the active bone")),
    (msg("Properties ▸ Bone"), msg("Joint limits")),
    (msg("Toolbar (T) ▸ Drag Bones"), msg("Pose with the mouse")),
    (msg("Viewport Overlays"), msg("Show or hide the chains")),
)
"""Menus, panels and tools, and what they contain."""


class FabrikPreferences(bpy.types.AddonPreferences):
    """The preferences of the extension."""

    bl_idname = defaults.PACKAGE

    defaults: FabrikDefaults = group("Defaults", "Settings of new constraints")

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the page."""
        layout: Layout = self.layout
        _draw_places(_titled(layout, msg("Where to Find It")))
        _draw_links(layout)
        _draw_shortcuts(_titled(layout, msg("Keymap")), context)
        _draw_overlay(_titled(layout, msg("Overlay")), context, self.defaults)
        _draw_defaults(_titled(layout, msg("New Constraints")), self.defaults)
        _draw_solver(_titled(layout, msg("Solver")))


def _titled(layout: Layout, title: str) -> Layout:
    box = layout.box().column()
    box.label(text=shown(title), translate=False)
    return box


def _draw_places(layout: Layout) -> None:
    for location, contents in PLACES:
        row = layout.split(factor=0.4)
        row.label(text=shown(location), translate=False)
        row.label(text=shown(contents), translate=False)


def _draw_links(layout: Layout) -> None:
    row = layout.row()
    for title, icon, page in LINKS:
        url = manual.url(page) or (WEBSITE and f"{WEBSITE}/{page}")
        if url:
            row.operator("wm.url_open", text=shown(title), translate=False, icon=icon).url = url


def _draw_shortcuts(layout: Layout, context: bpy.types.Context) -> None:
    import rna_keymap_ui

    manager: Any = context.window_manager
    config = manager.keyconfigs.user
    keymap = config.keymaps.get("Pose")
    keymap_items = keymap.keymap_items if keymap is not None else ()
    items = [item for shortcut in SHORTCUTS for item in keymap_items if shortcut.is_in(item)]
    for item in items:
        column = layout.column()
        column.context_pointer_set("keymap", keymap)
        rna_keymap_ui.draw_kmi([], config, keymap, item, column, 0)
    if not items:
        layout.label(text="The keymap has no shortcuts for the add-on", icon="INFO")


def _draw_overlay(
    layout: Layout, context: bpy.types.Context, defaults_group: FabrikDefaults
) -> None:
    layout.use_property_split = True
    layout.use_property_decorate = False
    layout.prop(scene_settings(context.scene), "show_overlay", text="This Scene")
    layout.prop(defaults_group, "show_overlay", text="New Constraints")


def _draw_defaults(layout: Layout, defaults_group: FabrikDefaults) -> None:
    layout.use_property_split = True
    layout.use_property_decorate = False
    for name in defaults.names_of_defaults():
        if name != "show_overlay":
            layout.prop(defaults_group, name)
    row = layout.row()
    row.operator("fabrik.constraint_default_save", text="Save from Active Constraint")
    row.operator("fabrik.constraint_default_reset", text="Reset")


def _draw_solver(layout: Layout) -> None:
    if fabrik_solver.COMPILED:
        layout.label(text="Compiled: the fast version is used", icon="CHECKMARK")
        return
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    layout.label(text="Interpreted: slower, with the same results", icon="INFO")
    missing = msg("No compiled version is installed for {platform}", platform=system)
    layout.label(text=shown(missing), translate=False)


def register() -> None:
    """Add the preferences page."""
    defaults.register()
    register_class(FabrikPreferences)


def unregister() -> None:
    """Remove the preferences page."""
    bpy.utils.unregister_class(FabrikPreferences)
    defaults.unregister()
