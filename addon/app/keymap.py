"""The extension's shortcuts in Pose Mode."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import bpy

PIE = "FABRIK_MT_pie"
"""The pie menu."""


class Shortcut(NamedTuple):
    """A key that calls an operator.

    Attributes:
        operator: The operator.
        key: Blender's name of the key.
        modifiers: The modifier keys.
        settings: The properties that the operator is called with.
    """

    operator: str
    key: str
    modifiers: Collection[str]
    settings: Mapping[str, object] = {}

    def is_in(self, item: Any) -> bool:
        """Return whether a keymap item calls the same operator with the same settings."""
        return item.idname == self.operator and all(
            getattr(item.properties, setting) == value for setting, value in self.settings.items()
        )


SHORTCUTS = (
    Shortcut("fabrik.limb_add", "I", ("ctrl", "shift")),
    # Blender's shortcut for Remove IK. It still does that if no selected bone has FABRIK IK.
    Shortcut("fabrik.ik_clear", "I", ("ctrl", "alt")),
    Shortcut("fabrik.switch", "K", ("ctrl", "shift")),
    Shortcut("wm.call_menu_pie", "Q", ("shift",), {"name": PIE}),
    # Blender's shortcuts for Move and Rotate. They still do that if IK poses no selected bone.
    Shortcut("fabrik.control_move", "G", ()),
    Shortcut("fabrik.control_rotate", "R", ()),
)
"""The shortcuts. Comments name Blender's shortcuts that they replace; other keys were unused."""

_items: list[tuple[Any, Any]] = []


def register() -> None:
    """Add the shortcuts."""
    manager: Any = bpy.context.window_manager
    config = manager.keyconfigs.addon if manager is not None else None
    if config is None:  # May be missing without a window.
        return
    keymap = config.keymaps.new(name="Pose")
    for operator, key, modifiers, settings in SHORTCUTS:
        modifier_flags = dict.fromkeys(modifiers, True)
        item = keymap.keymap_items.new(operator, key, "PRESS", **modifier_flags)
        for name, value in settings.items():
            setattr(item.properties, name, value)
        _items.append((keymap, item))


def unregister() -> None:
    """Remove the shortcuts."""
    while _items:
        keymap, item = _items.pop()
        keymap.keymap_items.remove(item)
