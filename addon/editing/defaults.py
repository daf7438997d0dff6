"""Settings of new constraints, stored in the preferences."""

from __future__ import annotations

from typing import Any

import bpy

from ..settings.definitions import definitions_of, register_class
from ..settings.properties import FabrikConstraint
from ..settings.values import default_of, settings_in

PACKAGE = __name__.rpartition(".editing.")[0]
"""The add-on's module name in Blender, whether installed as an extension or not."""

OF_THE_LIMB = {"solver", "chain_count", "swing", "use_rotation"}
"""Settings that depend on the chain of the constraint."""


class FabrikDefaults(bpy.types.PropertyGroup):
    """Settings of new constraints: the constraint settings that presets contain, and the overlay.

    These settings are defined like those of a constraint. Preferences can't contain the
    constraints' own property group, because it has pointers.
    """


def register() -> None:
    """Register the group, after the constraints' group."""
    definitions = definitions_of(FabrikConstraint)
    names = [
        prop.identifier
        for prop in settings_in(FabrikConstraint)
        if prop.identifier in definitions
        and prop.type != "POINTER"
        and not prop.is_skip_save
        and prop.identifier not in OF_THE_LIMB
    ]
    register_class(FabrikDefaults, {name: definitions[name] for name in (*names, "show_overlay")})


def unregister() -> None:
    """Unregister the group."""
    bpy.utils.unregister_class(FabrikDefaults)


def stored_defaults() -> FabrikDefaults | None:
    """Return the settings of new constraints; None without preferences."""
    entry: Any = bpy.context.preferences.addons.get(PACKAGE)  # type: ignore[union-attr]
    return getattr(entry.preferences, "defaults", None) if entry is not None else None


def names_of_defaults() -> list[str]:
    """Return the names of the stored settings."""
    return [prop.identifier for prop in settings_in(FabrikDefaults)]


def changed_defaults() -> dict[str, Any]:
    """Return the settings of new constraints that differ from the factory defaults."""
    stored = stored_defaults()
    if stored is None:
        return {}
    properties: Any = stored.bl_rna.properties
    values = {name: getattr(stored, name) for name in names_of_defaults()}
    return {n: value for n, value in values.items() if value != default_of(properties[n])}


def apply_defaults(item: FabrikConstraint) -> None:
    """Apply the stored settings to a new constraint."""
    for name, value in changed_defaults().items():
        setattr(item, name, value)


def save_defaults(item: FabrikConstraint, stored: FabrikDefaults) -> None:
    """Store a constraint's settings for new constraints."""
    for name in names_of_defaults():
        setattr(stored, name, getattr(item, name))
    _note_changed()


def reset_defaults(stored: FabrikDefaults) -> None:
    """Restore the factory defaults."""
    for name in names_of_defaults():
        stored.property_unset(name)
    _note_changed()


def _note_changed() -> None:
    """Mark the preferences as changed, so that Blender saves them."""
    preferences: Any = bpy.context.preferences
    preferences.is_dirty = True
