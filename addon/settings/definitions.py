"""Definitions of settings: those that can be animated, and those that the plan depends on.

A definition is the only place that lists a setting; everything that iterates over settings uses it
through RNA (see `values`).
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
    armature = cast("bpy.types.Object | None", item.id_data)
    if armature is not None:  # None in the preferences.
        armature.update_tag()


def structure_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Discard the plan of the armature, and tag it for update."""
    armature = cast("bpy.types.Object | None", item.id_data)
    if armature is None:  # In the preferences.
        return
    if notifications.note_followed(armature):
        return  # Planning does the rest.
    notifications.structure.notify(armature)
    armature.update_tag()


@dataclass(frozen=True, eq=False)
class Definition:
    """The definition of a property, the value of an annotated name of a class.

    As in ``swing: float = animated("Swing First", ...)``. Blender's property hides it in instances.

    Attributes:
        keywords: The arguments of the function of `bpy.props`, which the annotation tells.
    """

    keywords: Mapping[str, Any]

    def property(self, kind: Any) -> Any:
        """Return the property as Blender registers it.

        Args:
            kind: The type of its value.
        """
        given = {**self.keywords}
        if callable(given.get("items")):
            given["items"] = given["items"]()
        labels = [item[1] for item in given.get("items", ())]
        context = context_of(given["name"], *labels)
        make, more = _maker(kind, given)
        return make(**{"translation_context": context, **more, **given})


def _maker(kind: Any, keywords: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the function of `bpy.props` for a type, with the arguments that the type tells."""
    if "items" in keywords:
        return EnumProperty, {}
    if kind in SIMPLE:
        return SIMPLE[kind]
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple:
        return FloatVectorProperty, {"size": len(parts)}
    if origin is ItemList:
        return CollectionProperty, {"type": parts[0]}
    # Pointers to data-blocks may be None, those to groups are not.
    return PointerProperty, {"type": parts[0] if parts else kind}


SIMPLE: dict[Any, tuple[Callable[..., Any], dict[str, Any]]] = {
    bool: (BoolProperty, {}),
    int: (IntProperty, {}),
    float: (FloatProperty, {}),
    str: (StringProperty, {}),
    bytes: (StringProperty, {"subtype": "BYTE_STRING"}),
}
"""The functions of `bpy.props` by type, and what they need besides definitions."""


TypedDefinition = tuple[Any, Definition]
"""The type of a property's value, and its definition."""


def defined(name: str, description: str, **more: object) -> Any:
    """Define a property.

    Args:
        name: The label.
        description: The tooltip.
        more: Further arguments of the function of `bpy.props`: default, range etc. If ``items`` is
            a function, it is called when the property is registered.
    """
    return Definition({"name": name, "description": description, **more})


def animated(name: str, description: str, in_presets: bool = True, **more: object) -> Any:
    """Define a setting that can be animated.

    Args:
        name: The label.
        description: The tooltip.
        in_presets: Whether presets contain it.
        more: Further arguments of the function of `bpy.props`: default, range etc.
    """
    options = KEYABLE if in_presets else KEYABLE | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": value_changed}
    return defined(name, description, **{**shared, **more})


def fixed(name: str, description: str, in_presets: bool = True, **more: object) -> Any:
    """Define a setting that the plan depends on, which cannot be animated; see `animated`."""
    options = FIXED if in_presets else FIXED | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": structure_changed}
    return defined(name, description, **{**shared, **more})


def stored(name: str, description: str) -> Any:
    """Define a hidden property of bytes for internal data."""
    return defined(name, description, options={"HIDDEN"}, override=OVERRIDABLE)


def group(name: str, description: str) -> Any:
    """Define a property group within another one."""
    return defined(name, description, override=OVERRIDABLE)


_taken: dict[tuple[str, str], dict[str, Definition]] = {}
"""The definitions of each class, by its module and name.

Blender 4.2 crashes at exit if they are attributes of a registered class.
"""


def definitions_of(cls: type[Any]) -> dict[str, TypedDefinition]:
    """Return the properties that a class defines, by name: the type of the value, and the rest."""
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
    """Register a class of Blender's with the properties that it and its bases define.

    Args:
        cls: The class.
        further: Definitions that features add, by name.
    """
    by_base = {base: definitions_of(base) for base in cls.__mro__}
    by_base[cls] = {**by_base[cls], **further}
    before = {base: vars(base).get("__annotations__", {}) for base in by_base if by_base[base]}
    try:
        for base in before:
            base.__annotations__ = {
                n: one.property(kind) for n, (kind, one) in by_base[base].items()
            }
        bpy.utils.register_class(cls)
    finally:
        # Blender 4.2 crashes at exit if deferred properties with callbacks are kept.
        for base, annotations in before.items():
            base.__annotations__ = annotations
