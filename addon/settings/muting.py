"""Temporary overrides of influences, for operators that need a pose with or without constraints.

Setting the properties would not work, because they may be keyed or driven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import bpy

from ..blender.access import is_there, session_uid


class Override(NamedTuple):
    """What a constraint has instead of its settings.

    Attributes:
        enabled: Whether it is enabled; None as it is set.
        influence: Its influence.
    """

    enabled: bool | None
    influence: float


_overrides: dict[int, dict[int, Override]] = {}
"""By armature and index of a constraint, what overrides it."""


def influence_overrides(uid: int) -> Mapping[int, Override]:
    """Return the overrides of an armature's constraints, by index."""
    return _overrides.get(uid, {})


def muting(armature: bpy.types.Object, indices: Iterable[int]) -> AbstractContextManager[None]:
    """Disable constraints of an armature within the block.

    The list of constraints must not change meanwhile. The caller has to update the view layer, both
    within the block and after it.
    """
    return _override(armature, dict.fromkeys(indices, Override(False, 0.0)))


def in_fk(armature: bpy.types.Object, indices: Iterable[int]) -> AbstractContextManager[None]:
    """Give constraints of an armature no influence within the block; see `muting`.

    What moves their body for them, as the ground or a walk, still does.
    """
    return _override(armature, dict.fromkeys(indices, Override(None, 0.0)))


def full_influence(
    armature: bpy.types.Object, indices: Iterable[int]
) -> AbstractContextManager[None]:
    """Give constraints of an armature full influence within the block; see `muting`."""
    return _override(armature, dict.fromkeys(indices, Override(True, 1.0)))


@contextmanager
def _override(armature: bpy.types.Object, overrides: dict[int, Override]) -> Iterator[None]:
    uid = session_uid(armature)
    before = _overrides.get(uid)
    _overrides[uid] = (before or {}) | overrides
    armature.update_tag()
    try:
        yield
    finally:
        if before is None:
            del _overrides[uid]
        else:
            _overrides[uid] = before
        if is_there(armature):
            armature.update_tag()
