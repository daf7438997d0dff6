"""What is told when settings change: settings know nobody who keeps something made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import bpy

Listener = TypeVar("Listener", bound=Callable[..., None])

_of_structure: list[Callable[[bpy.types.ID], None]] = []
_of_ends: list[Callable[[bpy.types.PropertyGroup], None]] = []
_of_offset: list[Callable[[bpy.types.PropertyGroup], None]] = []

_is_following = False
_followed: set[int] = set()


def on_structure(listener: Listener) -> Listener:
    """Have a function called with an armature object, or armature data, that the plan is made of.

    It is so before Blender is asked to evaluate that once more.
    """
    _of_structure.append(listener)
    return listener


def on_ends(listener: Listener) -> Listener:
    """Have a function called with a constraint that got another tip or target."""
    _of_ends.append(listener)
    return listener


def on_offset(listener: Listener) -> Listener:
    """Have a function called with a constraint of which Offset was turned on."""
    _of_offset.append(listener)
    return listener


def tell_structure(block: bpy.types.ID) -> None:
    """Tell of an armature object, or armature data."""
    for listener in _of_structure:
        listener(block)


def tell_ends(item: bpy.types.PropertyGroup) -> None:
    """Tell of a constraint with another tip or target, unless it only follows a new name."""
    for listener in () if _is_following else _of_ends:
        listener(item)


def tell_offset(item: bpy.types.PropertyGroup) -> None:
    """Tell of a constraint of which Offset was turned on."""
    for listener in _of_offset:
        listener(item)


@contextmanager
def following() -> Iterator[None]:
    """Let settings that change meanwhile be changed by ourselves, to follow new names."""
    global _is_following
    _is_following = True
    try:
        yield
    finally:
        _is_following = False


def is_following() -> bool:
    """Return whether that is so now."""
    return _is_following


def note_followed(armature: bpy.types.Object) -> None:
    """Remember that a setting of an armature has followed a new name, which Blender has noticed."""
    _followed.add(armature.session_uid)


def take_followed() -> set[int]:
    """Return the armatures of which that is so since this was asked last."""
    was = set(_followed)
    _followed.clear()
    return was
