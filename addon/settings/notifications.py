"""Notifications of changed settings, which know nothing of their listeners."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy

from ..blender.listeners import Listeners

structure = Listeners[[bpy.types.ID]]()
"""Notified with an armature object or armature data when a setting changes that the plan uses.

This happens before the armature is tagged for update.
"""

ends = Listeners[[Any]]()
"""Notified with a constraint that got another tip or target, except by following a rename."""

offset = Listeners[[Any]]()
"""Notified with a constraint of which Keep Offset was enabled."""

_is_following = False
_followed: set[int] = set()


@contextmanager
def following() -> Iterator[None]:
    """Mark changes of settings within the block as our own, made to follow renamed bones."""
    global _is_following
    _is_following = True
    try:
        yield
    finally:
        _is_following = False


def is_following() -> bool:
    """Return whether settings are being changed to follow renamed bones."""
    return _is_following


def note_followed(armature: bpy.types.Object) -> None:
    """Remember that a setting of an armature followed a rename, for which Blender tagged it."""
    _followed.add(armature.session_uid)


def take_followed() -> set[int]:
    """Return and clear the armatures that were noted."""
    was = set(_followed)
    _followed.clear()
    return was
