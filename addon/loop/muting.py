"""Constraints that count as off, or as wholly on, for a while: for operators that look at poses.

Whether a constraint is on may be keyed or driven, so that turning it off would not last for a
single frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import bpy

from ..blender.access import session_uid

_counted: dict[int, dict[int, float]] = {}
"""For each armature the influences that constraints count with, by their places in the list."""


def counted(uid: int) -> Mapping[int, float]:
    """Return the influences that constraints of an armature count with, whatever theirs are."""
    return _counted.get(uid, {})


def muting(armature: bpy.types.Object, indices: Iterable[int]) -> AbstractContextManager[None]:
    """Let constraints of an armature count as off, in all updates meanwhile.

    The list of constraints must not change meanwhile. The next update shows the change, before and
    after: the caller evaluates.
    """
    return _counting(armature, dict.fromkeys(indices, 0.0))


def insisting(armature: bpy.types.Object, indices: Iterable[int]) -> AbstractContextManager[None]:
    """Let constraints of an armature count as on with all their influence; else as `muting`."""
    return _counting(armature, dict.fromkeys(indices, 1.0))


@contextmanager
def _counting(armature: bpy.types.Object, influences: dict[int, float]) -> Iterator[None]:
    uid = session_uid(armature)
    before = _counted.get(uid)
    _counted[uid] = (before or {}) | influences
    armature.update_tag()
    try:
        yield
    finally:
        if before is None:
            del _counted[uid]
        else:
            _counted[uid] = before
        armature.update_tag()
