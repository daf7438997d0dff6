"""How settings are defined: those that Blender may animate, and those on which the plan depends.

A definition says all there is to say of a setting. Whoever goes through settings takes it from
there (see `property_values`), and nothing else lists them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast, get_origin, get_type_hints

import bpy
from bpy.props import PointerProperty, StringProperty

from . import changes

if TYPE_CHECKING:
    ItemList = bpy.types.bpy_prop_collection_idprop
else:
    ItemList = list
"""The type of a list of groups."""

KEYABLE = {"ANIMATABLE", "LIBRARY_EDITABLE"}
FIXED = {"LIBRARY_EDITABLE"}
OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}
NOT_IN_PRESETS = {"SKIP_SAVE"}
"""Only marks them: files keep such properties as all others. Enums cannot take SKIP_PRESET."""


def value_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Let Blender evaluate the armature, and with it the constraint, again."""
    cast(bpy.types.Object, item.id_data).update_tag()


def structure_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Throw the plan away, and have Blender told what the armature now depends on."""
    armature = cast(bpy.types.Object, item.id_data)
    if changes.is_following():  # Whoever makes the plan sees to the rest.
        changes.note_followed(armature)
        return
    changes.structure.notify(armature)
    armature.update_tag()


@dataclass(frozen=True, eq=False)
class Definition:
    """One property, before Blender has made it.

    It stands beside the type of what is read in the class of its group, as in
    ``swing: Annotated[float, animated(FloatProperty, "Swing First", ...)]``.

    Attributes:
        make: The maker of properties of its type.
        keywords: What that is given.
    """

    make: Callable[..., Any]
    keywords: Mapping[str, Any]

    def property(self) -> Any:
        """Return what Blender takes for the property."""
        return self.make(**self.keywords)


def defined(make: Callable[..., Any], name: str, description: str, **more: object) -> Definition:
    """Define a property.

    Args:
        make: The maker of properties of its type.
        name: The label.
        description: The tooltip.
        more: Its default, its range and what else its type has.
    """
    return Definition(make, {"name": name, "description": description, **more})


def animated(
    make: Callable[..., Any], name: str, description: str, in_presets: bool = True, **more: object
) -> Definition:
    """Define a setting that Blender may change from frame to frame.

    Args:
        make: The maker of properties of its type.
        name: The label.
        description: The tooltip.
        in_presets: Whether presets set it: they do not say what a motion is for.
        more: Its default, its range and what else its type has.
    """
    options = KEYABLE if in_presets else KEYABLE | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": value_changed}
    return defined(make, name, description, **{**shared, **more})


def fixed(
    make: Callable[..., Any], name: str, description: str, in_presets: bool = True, **more: object
) -> Definition:
    """Define a setting on which the plan depends; see `animated`."""
    options = FIXED if in_presets else FIXED | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": structure_changed}
    return defined(make, name, description, **{**shared, **more})


def stored(name: str, description: str) -> Definition:
    """Define a property of bytes that only the extension itself looks at."""
    hidden = {"options": {"HIDDEN"}, "override": OVERRIDABLE}
    return defined(StringProperty, name, description, subtype="BYTE_STRING", **hidden)


def group(kind: type[bpy.types.PropertyGroup], name: str, description: str) -> Definition:
    """Define a property that holds a group of settings."""
    return defined(PointerProperty, name, description, type=kind, override=OVERRIDABLE)


class _Definition:
    """Stands for `Annotated` while annotations are evaluated.

    The one of Python remembers what it was given, and with it classes, which must not live on:
    Blender 4.2 crashes as it ends.
    """

    def __class_getitem__(cls, pair: tuple[object, Definition]) -> Definition:
        return pair[1]


def register_group(
    cls: type[bpy.types.PropertyGroup], further: Mapping[str, Definition] = MappingProxyType({})
) -> None:
    """Register a class of properties.

    Args:
        cls: The class, in which they are defined.
        further: Those that features add, by their names.
    """
    own = cls.__annotations__
    names = {**vars(sys.modules[cls.__module__]), "Annotated": _Definition}
    hints = get_type_hints(cls, names, dict(vars(cls)), include_extras=True)
    found: dict[str, Any] = {
        name: hints[name].__metadata__[0] if get_origin(hints[name]) is Annotated else hints[name]
        for name in own
    }
    found |= further
    cls.__annotations__ = {
        name: one.property() if isinstance(one, Definition) else one for name, one in found.items()
    }
    try:
        bpy.utils.register_class(cls)
    finally:
        # What defines a property and calls back must not live on: Blender 4.2 crashes as it ends.
        cls.__annotations__ = own
