"""Saving, restoring and flushing the values of an object's animated properties."""

from __future__ import annotations

import re
from typing import Any

import bpy

from .animation import animated

CUSTOM_PROPERTY = re.compile(r'(.*)\["((?:[^"\\]|\\.)*)"\]', re.DOTALL)
"""Matches the data path of a custom property: its owner's path, and its escaped name."""

UNREACHABLE = (ValueError, LookupError, AttributeError, TypeError)
"""Errors for a property that is missing or read-only, and for an F-curve whose path or index leads
nowhere, as damaged files have."""

Values = dict[tuple[str, int], Any]
"""Values of animated properties, by data path and array index."""

Flushed = dict[tuple[str, int], tuple[Any, Any]]
"""Values of animated properties before and after a flush, by data path and array index."""


def flush_to_original(evaluated: bpy.types.Object, original: bpy.types.Object) -> Flushed:
    """Copy the animated values of an evaluated object to its original.

    Blender flushes them only in the window's depsgraph. In any other depsgraph, writing a channel
    makes Blender copy the whole original to the evaluated object again. Blender doesn't evaluate
    the animation then, and shows the original's values.

    Returns:
        The values that differed.
    """
    flushed: Flushed = {}
    channels = animated(original)
    for path, index in channels.keyed | channels.driven:
        try:
            old_value, new_value = _get(original, path, index), _get(evaluated, path, index)
            if old_value != new_value:
                _set(original, path, index, new_value)
                flushed[path, index] = old_value, _get(original, path, index)
        except UNREACHABLE:
            continue
    return flushed


def take_back(ob: bpy.types.Object, flushed: Flushed) -> None:
    """Restore the values from before a flush, unless they have changed since then."""
    for (path, index), (old_value, new_value) in flushed.items():
        try:
            if _get(ob, path, index) == new_value:
                _set(ob, path, index, old_value)
        except UNREACHABLE:
            continue


def values(ob: bpy.types.Object) -> Values:
    """Return the current values of an object's animated properties."""
    channels = animated(ob)
    result: Values = {}
    for path, index in channels.keyed | channels.driven:
        try:
            result[path, index] = _get(ob, path, index)
        except UNREACHABLE:
            continue
    return result


def restore(ob: bpy.types.Object, values: Values) -> None:
    """Restore those values of an object's animated properties that have changed."""
    for (path, index), value in values.items():
        try:
            _set(ob, path, index, value)
        except UNREACHABLE:
            continue


def _get(ob: bpy.types.Object, path: str, index: int) -> Any:
    """Return the value of a property, or of one component of an array property.

    Raises:
        UNREACHABLE: If there is no such property.
    """
    value: Any = ob.path_resolve(path)
    return value[index] if _is_array(value) else value


def _set(ob: bpy.types.Object, path: str, index: int, value: Any) -> None:
    """Set a property, or one component of an array property, if its value differs.

    Raises:
        UNREACHABLE: If there is no such property, or it is read-only.
    """
    current: Any = ob.path_resolve(path)
    if _is_array(current):
        if current[index] != value:
            current[index] = value
        return
    if current == value:
        return
    custom = CUSTOM_PROPERTY.fullmatch(path)
    owner_path, name = custom.groups() if custom else path.rpartition(".")[::2]
    owner: Any = ob.path_resolve(owner_path) if owner_path else ob
    if custom:
        owner[bpy.utils.unescape_identifier(name)] = value
    else:
        setattr(owner, name, value)


def _is_array(value: Any) -> bool:
    return hasattr(value, "__getitem__") and not isinstance(value, str)
