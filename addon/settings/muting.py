"""Temporary overrides of influences, for operators that need a pose with or without constraints.

Setting the properties would not work, because they may be keyed or driven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import bpy

from ..blender.access import session_uid

_overrides: dict[int, dict[int, float]] = {}
"""By armature and index of a constraint, the overriding influence."""


def influence_overrides(uid: int) -> Mapping[int, float]:
    """Return the overriding influences of an armature's constraints, by index."""
    return _overrides.get(uid, {})


def muting(armature: bpy.types.Object, indices: Iterable[int]) -> AbstractContextManager[None]:
    """Disable constraints of an armature within the block.

    The list of constraints must not change meanwhile. The caller has to update the view layer, both
    within the block and after it.
    """
    return _override(armature, dict.fromkeys(indices, 0.0))


def full_influence(
    armature: bpy.types.Object, indices: Iterable[int]
) -> AbstractContextManager[None]:
    """Give constraints of an armature full influence within the block; see `muting`."""
    return _override(armature, dict.fromkeys(indices, 1.0))


@contextmanager
def _override(armature: bpy.types.Object, influences: dict[int, float]) -> Iterator[None]:
    uid = session_uid(armature)
    before = _overrides.get(uid)
    _overrides[uid] = (before or {}) | influences
    armature.update_tag()
    try:
        yield
    finally:
        if before is None:
            del _overrides[uid]
        else:
            _overrides[uid] = before
        armature.update_tag()
