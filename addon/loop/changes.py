"""What is told when settings change: settings know nobody who keeps something made of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy

from ..blender.listeners import Listeners

structure = Listeners[[bpy.types.ID]]()
"""Is told of an armature object, or armature data, that the plan is made of.

It is so before Blender is asked to evaluate that once more.
"""

ends = Listeners[[Any]]()
"""Is told of a constraint that got another tip or target, but for one that follows a new name."""

offset = Listeners[[Any]]()
"""Is told of a constraint of which Keep Offset was turned on."""

_is_following = False
_followed: set[int] = set()


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
