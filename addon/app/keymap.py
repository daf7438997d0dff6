"""The extension's shortcuts in Pose Mode."""

from __future__ import annotations

from typing import Any

import bpy

SHORTCUTS: tuple[tuple[str, str, dict[str, bool]], ...] = (
    ("fabrik.limb_add", "I", {"ctrl": True, "shift": True}),
    # Blender's own for Remove IK, which it still does where no bone with FABRIK IK is selected.
    ("fabrik.ik_clear", "I", {"ctrl": True, "alt": True}),
)
"""Operators with their keys and modifiers."""

_items: list[tuple[Any, Any]] = []


def register() -> None:
    """Add the shortcuts."""
    manager: Any = bpy.context.window_manager
    config = manager.keyconfigs.addon if manager is not None else None
    if config is None:  # Without a window there may be none.
        return
    keymap = config.keymaps.new(name="Pose")
    for operator, key, modifiers in SHORTCUTS:
        _items.append((keymap, keymap.keymap_items.new(operator, key, "PRESS", **modifiers)))


def unregister() -> None:
    """Remove them."""
    while _items:
        keymap, item = _items.pop()
        keymap.keymap_items.remove(item)
