"""How settings are defined: those that Blender may animate, and those on which the plan depends.

A definition says all there is to say of a setting. Whoever goes through settings takes it from
there (see `property_values`), and nothing else lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import bpy
from bpy.props import PointerProperty, StringProperty

from . import changes

KEYABLE = {"ANIMATABLE", "LIBRARY_EDITABLE"}
FIXED = {"LIBRARY_EDITABLE"}
OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}
NOT_IN_PRESETS = {"SKIP_SAVE"}
"""Blender's word for it; in files such properties are saved as all others."""


def value_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Let Blender evaluate the armature, and with it the constraint, again."""
    cast(bpy.types.Object, item.id_data).update_tag()


def structure_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Throw the plan away, and have Blender told what the armature now depends on."""
    armature = cast(bpy.types.Object, item.id_data)
    if changes.is_following():  # Whoever makes the plan sees to the rest.
        changes.note_followed(armature)
        return
    changes.structure.tell(armature)
    armature.update_tag()


def animated(
    make: Callable[..., Any],
    name: str,
    description: str,
    in_presets: bool = True,
    **more: object,
) -> Any:
    """Make a property that Blender may change from frame to frame.

    Args:
        make: The maker of properties of its type.
        name: The label.
        description: The tooltip.
        in_presets: Whether presets set it: not what says what a motion is for.
        more: Its default, its range and what else its type has.
    """
    options = KEYABLE if in_presets else KEYABLE | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": value_changed}
    return make(name=name, description=description, **{**shared, **more})


def fixed(
    make: Callable[..., Any],
    name: str,
    description: str,
    in_presets: bool = True,
    **more: object,
) -> Any:
    """Make a property on which the plan depends; see `animated`."""
    options = FIXED if in_presets else FIXED | NOT_IN_PRESETS
    shared = {"options": options, "override": OVERRIDABLE, "update": structure_changed}
    return make(name=name, description=description, **{**shared, **more})


def stored(name: str, description: str) -> Any:
    """Make a property of bytes that only the extension itself looks at."""
    return StringProperty(
        name=name,
        description=description,
        subtype="BYTE_STRING",
        options={"HIDDEN"},
        override=cast(Any, OVERRIDABLE),
    )


def group(kind: type[bpy.types.PropertyGroup], name: str, description: str) -> Any:
    """Make a property that holds a group of settings."""
    shared: dict[str, Any] = {"override": OVERRIDABLE}
    return PointerProperty(name=name, description=description, type=kind, **shared)
