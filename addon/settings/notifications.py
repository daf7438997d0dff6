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

_followed: set[int] | None = None
"""The armatures whose settings follow renamed bones; None while settings change otherwise."""


@contextmanager
def following() -> Iterator[set[int]]:
    """Collect the armatures whose settings change within the block, made to follow renamed bones.

    Blender tags them for that.
    """
    global _followed
    found: set[int] = set()
    _followed = found
    try:
        yield found
    finally:
        _followed = None


def is_following() -> bool:
    """Return whether settings are being changed to follow renamed bones."""
    return _followed is not None


def note_followed(armature: bpy.types.Object) -> bool:
    """Note that a setting of an armature follows a rename; return whether it does."""
    if _followed is None:
        return False
    _followed.add(armature.session_uid)
    return True
