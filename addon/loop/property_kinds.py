"""Definitions of settings: those that can be animated, and those that the plan depends on.

A definition is the only place that lists a setting; everything that iterates over settings uses it
through RNA (see `property_values`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast, get_origin, get_type_hints

import bpy
from bpy.props import PointerProperty, StringProperty

from ..blender.messages import context_of
from . import changes

if TYPE_CHECKING:
    ItemList = bpy.types.bpy_prop_collection_idprop
else:
    ItemList = list
"""The type of a list of groups."""

KEYABLE = {"ANIMATABLE"}
FIXED: set[str] = set()
BROWSING = {"LIBRARY_EDITABLE"}
"""Which item of a list is shown; of linked armatures too, whose settings Blender greys."""

OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}
FACTOR: dict[str, Any] = {"min": 0.0, "max": 1.0, "subtype": "FACTOR"}
NOT_IN_PRESETS = {"SKIP_SAVE"}
"""Only a mark: files store such properties as well. Enums do not support SKIP_PRESET."""


def value_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Tag the armature for update."""
    armature = cast(bpy.types.Object | None, item.id_data)
    if armature is not None:  # None in the preferences.
        armature.update_tag()


def structure_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Discard the plan of the armature, and tag it for update."""
    armature = cast(bpy.types.Object | None, item.id_data)
    if armature is None:  # In the preferences.
        return
    if changes.is_following():  # Planning does the rest.
        changes.note_followed(armature)
        return
    changes.structure.notify(armature)
    armature.update_tag()


@dataclass(frozen=True, eq=False)
class Definition:
    """The definition of a property.

    It annotates the type of the value in a property group, as in
    ``swing: Annotated[float, animated(FloatProperty, "Swing First", ...)]``.

    Attributes:
        make: The function of `bpy.props`.
        keywords: Its arguments.
    """

    make: Callable[..., Any]
    keywords: Mapping[str, Any]

    def property(self) -> Any:
        """Return the property as Blender registers it."""
        return self.make(**self.keywords)


def defined(make: Callable[..., Any], name: str, description: str, **more: object) -> Definition:
    """Define a property.

    Args:
        make: The function of `bpy.props`.
        name: The label.
        description: The tooltip.
        more: Further arguments: default, range etc.
    """
    labels = [item[1] for item in cast(Sequence[tuple[str, ...]], more.get("items", ()))]
    texts = {"name": name, "description": description}
    return Definition(make, {**texts, "translation_context": context_of(name, *labels), **more})


def animated(
    make: Callable[..., Any], name: str, description: str, in_presets: bool = True, **more: object
) -> Definition:
    """Define a setting that can be animated.

    Args:
        make: The function of `bpy.props`.
        name: The label.
        description: The tooltip.
        in_presets: Whether presets contain it.
        more: Further arguments: default, range etc.
    """
    options = KEYABLE if in_presets else KEYABLE | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": value_changed}
    return defined(make, name, description, **{**shared, **more})


def fixed(
    make: Callable[..., Any], name: str, description: str, in_presets: bool = True, **more: object
) -> Definition:
    """Define a setting that the plan depends on, which cannot be animated; see `animated`."""
    options = FIXED if in_presets else FIXED | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": structure_changed}
    return defined(make, name, description, **{**shared, **more})


def stored(name: str, description: str) -> Definition:
    """Define a hidden property of bytes for internal data."""
    hidden = {"options": {"HIDDEN"}, "override": OVERRIDABLE}
    return defined(StringProperty, name, description, subtype="BYTE_STRING", **hidden)


def group(kind: type[bpy.types.PropertyGroup], name: str, description: str) -> Definition:
    """Define a pointer to a property group."""
    return defined(PointerProperty, name, description, type=kind, override=OVERRIDABLE)


class _Definition:
    """Replaces `Annotated` while annotations are evaluated.

    Python's own caches its arguments, and with them registered classes, which crashes Blender 4.2
    at exit.
    """

    def __class_getitem__(cls, pair: tuple[object, Definition]) -> Definition:
        return pair[1]


def definitions_of(cls: type[Any]) -> dict[str, Any]:
    """Return the definitions of the properties of a class, by name."""
    names = {**vars(sys.modules[cls.__module__]), "Annotated": _Definition}
    hints = get_type_hints(cls, names, dict(vars(cls)), include_extras=True)
    return {
        name: hints[name].__metadata__[0] if get_origin(hints[name]) is Annotated else hints[name]
        for name in cls.__annotations__
    }


def register_group(
    cls: type[bpy.types.PropertyGroup | bpy.types.AddonPreferences],
    further: Mapping[str, Definition] = MappingProxyType({}),
) -> None:
    """Register a property group, or preferences.

    Args:
        cls: The class with its definitions.
        further: Definitions that features add, by name.
    """
    own = cls.__annotations__
    found = {**definitions_of(cls), **further}
    cls.__annotations__ = {
        name: one.property() if isinstance(one, Definition) else one for name, one in found.items()
    }
    try:
        bpy.utils.register_class(cls)
    finally:
        # Blender 4.2 crashes at exit if deferred properties with callbacks are kept.
        cls.__annotations__ = own
