"""The values of an object's animated channels: saved, restored, and copied to the original."""

from __future__ import annotations

import re
from typing import Any

import bpy

from .animation import animated

CUSTOM = re.compile(r'(.*)\["((?:[^"\\]|\\.)*)"\]', re.DOTALL)
"""Splits the path of a custom property into its owner's path and its name."""

Values = dict[tuple[str, int], Any]
"""Values of animated channels, by data path and array index."""


def bring_over(evaluated: bpy.types.Object, original: bpy.types.Object) -> None:
    """Copy the animated values of an evaluated object to its original.

    In a render Blender does not flush them; but as soon as one channel is written, it copies the
    whole original to the evaluated object again, without its animation. The values of the original
    are then what is rendered.
    """
    channels = animated(original)
    for path, index in channels.keyed | channels.driven:
        try:
            _put(original, path, index, _taken(evaluated, path, index))
        except (ValueError, KeyError, AttributeError):
            continue  # The property is missing or cannot be written.


def values(ob: bpy.types.Object) -> Values:
    """Return the current values of an object's animated channels, keyed or not."""
    channels = animated(ob)
    found: Values = {}
    for path, index in channels.keyed | channels.driven:
        try:
            found[path, index] = _taken(ob, path, index)
        except ValueError:
            continue  # A curve of something that is not there any more.
    return found


def restore(ob: bpy.types.Object, values: Values) -> None:
    """Restore the values of an object's animated channels that differ."""
    for (path, index), value in values.items():
        try:
            _put(ob, path, index, value)
        except (ValueError, KeyError, AttributeError, TypeError):
            continue  # It cannot be written.


def _taken(ob: bpy.types.Object, path: str, index: int) -> Any:
    """Return one number, or one value without index.

    Raises:
        ValueError: If there is no such property.
    """
    value: Any = ob.path_resolve(path)
    return value[index] if _is_array(value) else value


def _put(to: bpy.types.Object, path: str, index: int, value: Any) -> None:
    """Set one number, or one value without index, if it is another one.

    Raises:
        ValueError, KeyError, AttributeError: If there is no such property, or it cannot be set.
    """
    present: Any = to.path_resolve(path)
    if _is_array(present):
        if present[index] != value:
            present[index] = value
        return
    if present == value:
        return
    custom = CUSTOM.fullmatch(path)
    owner_path, name = custom.groups() if custom else path.rpartition(".")[::2]
    owner: Any = to.path_resolve(owner_path) if owner_path else to
    if custom:
        owner[bpy.utils.unescape_identifier(name)] = value
    else:
        setattr(owner, name, value)


def _is_array(value: Any) -> bool:
    return hasattr(value, "__getitem__") and not isinstance(value, str)
