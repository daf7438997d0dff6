"""Constraints that count as off for a while: for operators that need the FK pose.

Whether a constraint is on may be keyed or driven, so that turning it off would not last for a
single frame.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import bpy

from .access import session_uid

_muted: dict[int, frozenset[int]] = {}
"""For each armature the places of its muted constraints in the list."""


def muted(uid: int) -> Collection[int]:
    """Return the places of an armature's muted constraints in its list."""
    return _muted.get(uid, ())


@contextmanager
def muting(armature: bpy.types.Object, indices: Iterable[int]) -> Iterator[None]:
    """Let constraints of an armature count as off, in all updates meanwhile.

    The list of constraints must not change meanwhile. The next update shows the change, before and
    after: the caller evaluates.
    """
    uid = session_uid(armature)
    before = _muted.get(uid)
    _muted[uid] = frozenset(indices).union(before or ())
    armature.update_tag()
    try:
        yield
    finally:
        if before is None:
            del _muted[uid]
        else:
            _muted[uid] = before
        armature.update_tag()
