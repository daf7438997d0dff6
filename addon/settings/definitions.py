"""Definitions of settings: animatable ones, and those that the plan depends on.

Each setting is listed only in its definition. All code that iterates over settings reads the
definitions through RNA (see `values`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..blender.messages import context_of
from . import notifications

if TYPE_CHECKING:
    ItemList = bpy.types.bpy_prop_collection_idprop
else:
    ItemList = list
"""The type of a collection of property groups."""

KEYABLE = {"ANIMATABLE"}
FIXED: set[str] = set()
BROWSING = {"LIBRARY_EDITABLE"}
"""Lets users browse a list, also in linked armatures, whose settings are grayed out."""

OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}
FACTOR: dict[str, Any] = {"min": 0.0, "max": 1.0, "subtype": "FACTOR"}
NOT_IN_PRESETS = {"SKIP_SAVE"}
"""Only a marker: files store such properties as well. Enums don't support SKIP_PRESET."""


def value_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Tag the armature for update."""
    armature = cast("bpy.types.Object | None", item.id_data)
    if armature is not None:  # None in the preferences.
        armature.update_tag()


def structure_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Discard the armature's plan, and tag the armature for update."""
    armature = cast("bpy.types.Object | None", item.id_data)
    if armature is None:  # In the preferences.
        return
    if notifications.note_followed(armature):
        return  # Planning handles the rest.
    notifications.structure.notify(armature)
    armature.update_tag()


@dataclass(frozen=True, eq=False)
class Definition:
    """The definition of a property, assigned to an annotated name of a class.

    An example is ``swing: float = animated("Swing First", ...)``. Blender's property hides it in
    instances.

    Attributes:
        keywords: The arguments of the `bpy.props` function. The annotation determines the function.
    """

    keywords: Mapping[str, Any]

    def property(self, kind: Any) -> Any:
        """Return the property for Blender to register.

        Args:
            kind: The type of its value, from the annotation.
        """
        arguments = {**self.keywords}
        if callable(arguments.get("items")):
            arguments["items"] = arguments["items"]()
        labels = [item[1] for item in arguments.get("items", ())]
        context = context_of(arguments["name"], *labels)
        make, more = _maker(kind, arguments)
        return make(**{"translation_context": context, **more, **arguments})


def _maker(kind: Any, keywords: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the `bpy.props` function for a type, with the arguments that the type implies."""
    if "items" in keywords:
        return EnumProperty, {}
    if kind in SIMPLE:
        return SIMPLE[kind]
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple:
        return FloatVectorProperty, {"size": len(parts)}
    if origin is ItemList:
        return CollectionProperty, {"type": parts[0]}
    # A pointer to a data-block may be None, a pointer to a group may not.
    return PointerProperty, {"type": parts[0] if parts else kind}


SIMPLE: dict[Any, tuple[Callable[..., Any], dict[str, Any]]] = {
    bool: (BoolProperty, {}),
    int: (IntProperty, {}),
    float: (FloatProperty, {}),
    str: (StringProperty, {}),
    bytes: (StringProperty, {"subtype": "BYTE_STRING"}),
}
"""The `bpy.props` function of each type, with the arguments that it adds to the definition."""


TypedDefinition = tuple[Any, Definition]
"""The type of a property's value, and the property's definition."""


def defined(name: str, description: str, **more: object) -> Any:
    """Define a property.

    Args:
        name: The label.
        description: The tooltip.
        more: Further arguments of the `bpy.props` function: default, range etc. If ``items`` is a
            function, it is called when the property is registered.
    """
    return Definition({"name": name, "description": description, **more})


def animated(name: str, description: str, in_presets: bool = True, **more: object) -> Any:
    """Define an animatable setting.

    Args:
        name: The label.
        description: The tooltip.
        in_presets: Whether presets contain it.
        more: Further arguments of the `bpy.props` function: default, range etc.
    """
    options = KEYABLE if in_presets else KEYABLE | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": value_changed}
    return defined(name, description, **{**shared, **more})


def fixed(name: str, description: str, in_presets: bool = True, **more: object) -> Any:
    """Define a setting that the plan depends on. It can't be animated; see `animated`."""
    options = FIXED if in_presets else FIXED | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": structure_changed}
    return defined(name, description, **{**shared, **more})


def stored(name: str, description: str) -> Any:
    """Define a hidden bytes property for internal data."""
    return defined(name, description, options={"HIDDEN"}, override=OVERRIDABLE)


def group(name: str, description: str) -> Any:
    """Define a nested property group."""
    return defined(name, description, override=OVERRIDABLE)


_taken: dict[tuple[str, str], dict[str, Definition]] = {}
"""The definitions of each class, by module and qualified name.

Blender 4.2 crashes at exit if a registered class has them as attributes.
"""


def definitions_of(cls: type[Any]) -> dict[str, TypedDefinition]:
    """Return the properties that a class defines, by name: value type and definition."""
    taken = _taken.setdefault((cls.__module__, cls.__qualname__), {})
    for name, value in [*vars(cls).items()]:
        if isinstance(value, Definition):
            taken[name] = value
            delattr(cls, name)
    if not taken:
        return {}
    kinds = vars(cls)["__annotations__"]
    scope, attributes = vars(sys.modules[cls.__module__]), dict(vars(cls))
    return {
        name: (eval(kind, scope, attributes) if isinstance(kind, str) else kind, taken[name])
        for name, kind in kinds.items()
        if name in taken
    }


def register_class(
    cls: type[Any], further: Mapping[str, TypedDefinition] = MappingProxyType({})
) -> None:
    """Register a Blender class with the properties that it and its bases define.

    Args:
        cls: The class.
        further: Definitions added by features, by name.
    """
    by_base = {base: definitions_of(base) for base in cls.__mro__}
    by_base[cls] = {**by_base[cls], **further}
    original = {base: vars(base).get("__annotations__", {}) for base in by_base if by_base[base]}
    try:
        for base in original:
            base.__annotations__ = {
                n: definition.property(kind) for n, (kind, definition) in by_base[base].items()
            }
        bpy.utils.register_class(cls)
    finally:
        # Blender 4.2 crashes at exit if the class still has deferred properties with callbacks.
        for base, annotations in original.items():
            base.__annotations__ = annotations
