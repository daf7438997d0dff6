"""Notifications of changed settings, independent of their listeners."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy

from ..blender.listeners import Listeners

structure = Listeners[[bpy.types.ID]]()
"""Notified with an armature object or armature data when the plan is outdated.

A setting has changed that the plan uses. The armature isn't tagged for update yet.
"""

ends = Listeners[[Any]]()
"""Notified with a constraint whose tip or target changed, except by following a rename."""

offset = Listeners[[Any]]()
"""Notified with a constraint when its Keep Offset was enabled."""

_followed: set[int] | None = None
"""UIDs of armatures whose settings follow renamed bones; None outside of `following`."""


@contextmanager
def following() -> Iterator[set[int]]:
    """Collect the UIDs of armatures whose settings change within the block to follow renames.

    Blender tags these armatures for update itself.
    """
    global _followed
    armature_uids: set[int] = set()
    _followed = armature_uids
    try:
        yield armature_uids
    finally:
        _followed = None


def is_following() -> bool:
    """Return whether settings are being changed to follow renamed bones."""
    return _followed is not None


def note_followed(armature: bpy.types.Object) -> bool:
    """Record that an armature's setting has changed; return whether it follows a rename."""
    if _followed is None:
        return False
    _followed.add(armature.session_uid)
    return True
