"""Temporary overrides of influences, for operators that need a pose with or without constraints.

Setting the properties wouldn't work, because they may be keyed or driven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import bpy

from ..blender.access import is_there, session_uid


class Override(NamedTuple):
    """Values that replace a constraint's settings.

    Attributes:
        enabled: Whether it is enabled; None uses the setting.
        influence: Its influence.
    """

    enabled: bool | None
    influence: float


_overrides: dict[int, dict[int, Override]] = {}
"""The override of each constraint, by session UID of the armature and index of the constraint."""


def influence_overrides(uid: int) -> Mapping[int, Override]:
    """Return the overrides of an armature's constraints, by index."""
    return _overrides.get(uid, {})


def muting(armature: bpy.types.Object, indices: Iterable[int]) -> AbstractContextManager[None]:
    """Disable constraints of an armature within the block.

    The list of constraints must not change there. Callers update the view layer, both within the
    block and after it.
    """
    return _override(armature, dict.fromkeys(indices, Override(False, 0.0)))


def in_fk(armature: bpy.types.Object, indices: Iterable[int]) -> AbstractContextManager[None]:
    """Set the influence of constraints to 0 within the block; see `muting`.

    The body still moves, for example with the ground or a walk.
    """
    return _override(armature, dict.fromkeys(indices, Override(None, 0.0)))


def full_influence(
    armature: bpy.types.Object, indices: Iterable[int]
) -> AbstractContextManager[None]:
    """Set the influence of constraints to 1 within the block; see `muting`."""
    return _override(armature, dict.fromkeys(indices, Override(True, 1.0)))


@contextmanager
def _override(armature: bpy.types.Object, overrides: dict[int, Override]) -> Iterator[None]:
    uid = session_uid(armature)
    previous = _overrides.get(uid)
    _overrides[uid] = (previous or {}) | overrides
    armature.update_tag()
    try:
        yield
    finally:
        if previous is None:
            del _overrides[uid]
        else:
            _overrides[uid] = previous
        if is_there(armature):
            armature.update_tag()
