"""The settings of new constraints, which the preferences store."""

from __future__ import annotations

from typing import Any

import bpy

from ..settings.definitions import definitions_of, register_class
from ..settings.properties import FabrikConstraint
from ..settings.values import default_of, settings_in

PACKAGE = __name__.rpartition(".editing.")[0]
"""The name under which Blender has the add-on, whether as an extension or not."""

OF_THE_LIMB = {"solver", "chain_count", "swing", "use_rotation"}
"""Settings that depend on the chain that a constraint is added to."""


class FabrikDefaults(bpy.types.PropertyGroup):
    """Settings of new constraints: those of constraints that presets contain, and the overlay.

    It has their definitions. A group with pointers, as that of constraints, cannot be in
    preferences.
    """


def register() -> None:
    """Register the group, after that of constraints."""
    known = definitions_of(FabrikConstraint)
    names = [
        prop.identifier
        for prop in settings_in(FabrikConstraint)
        if prop.identifier in known
        and prop.type != "POINTER"
        and not prop.is_skip_save
        and prop.identifier not in OF_THE_LIMB
    ]
    register_class(FabrikDefaults, {name: known[name] for name in (*names, "show_overlay")})


def unregister() -> None:
    """Unregister the group."""
    bpy.utils.unregister_class(FabrikDefaults)


def stored_defaults() -> FabrikDefaults | None:
    """Return the settings of new constraints, None without preferences."""
    entry: Any = bpy.context.preferences.addons.get(PACKAGE)  # type: ignore[union-attr]
    return getattr(entry.preferences, "defaults", None) if entry is not None else None


def names_of_defaults() -> list[str]:
    """Return the names of the settings that are stored."""
    return [prop.identifier for prop in settings_in(FabrikDefaults)]


def changed_defaults() -> dict[str, Any]:
    """Return the settings of new constraints that differ from those of the extension."""
    stored = stored_defaults()
    if stored is None:
        return {}
    properties: Any = stored.bl_rna.properties
    values = {name: getattr(stored, name) for name in names_of_defaults()}
    return {n: value for n, value in values.items() if value != default_of(properties[n])}


def apply_defaults(item: FabrikConstraint) -> None:
    """Give a new constraint the stored settings."""
    for name, value in changed_defaults().items():
        setattr(item, name, value)


def save_defaults(item: FabrikConstraint, stored: FabrikDefaults) -> None:
    """Store the settings of a constraint for new ones."""
    for name in names_of_defaults():
        setattr(stored, name, getattr(item, name))
    _note_changed()


def reset_defaults(stored: FabrikDefaults) -> None:
    """Store the extension's own settings."""
    for name in names_of_defaults():
        stored.property_unset(name)
    _note_changed()


def _note_changed() -> None:
    """Have Blender save the preferences with the others."""
    preferences: Any = bpy.context.preferences
    preferences.is_dirty = True
