"""Which bone carries which: its parent, or the control whose transforms it copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..blender.access import pose_bones
from ..blender.relations import active_constraints
from ..blender.skeleton import Skeleton

LOCAL: Final = {"LOCAL", "LOCAL_WITH_PARENT"}

CARRYING: Final = ("COPY_TRANSFORMS", "COPY_LOCATION")
"""The constraints by which a bone other than its parent carries a bone."""


class Carriers:
    """The bones that carry the bones of an armature.

    Attributes:
        rig: The skeleton.
    """

    def __init__(self, rig: Skeleton, shown: Any) -> None:
        """Find nothing yet.

        Args:
            rig: The skeleton.
            shown: The evaluated armature.
        """
        self.rig = rig
        self._bones = pose_bones(shown)
        self._known: dict[int, int] = {}

    def of(self, bone: int) -> int:
        """Return the bone that carries another one, -1 if none does."""
        if bone not in self._known:
            copied = self._copied(bone, *CARRYING)
            is_own = copied < 0 or self._is_circular(bone)
            self._known[bone] = self.rig.parents[bone] if is_own else copied
        return self._known[bone]

    def _is_circular(self, bone: int) -> bool:
        """Return whether a bone and its source copy each other; then its parent carries it."""
        seen: set[int] = set()
        at = self._copied(bone, *CARRYING)
        while at >= 0 and at not in seen:
            seen.add(at)
            at = self._copied(at, *CARRYING)
        return bone in seen

    def source(self, bone: int) -> int:
        """Return the bone that a bone ultimately copies; itself if it copies none."""
        copied = self._copied(bone, "COPY_TRANSFORMS")
        seen = {bone}
        while copied >= 0 and copied not in seen:
            seen.add(copied)
            bone, copied = copied, self._copied(copied, "COPY_TRANSFORMS")
        return bone

    def _copied(self, bone: int, *kinds: str) -> int:
        """Return the bone that a constraint of some kinds copies as a whole; -1 if none does."""
        for con in reversed(active_constraints(self._bones[bone])):
            if con.type not in kinds or con.influence < 1.0:
                continue
            is_own = con.target is not None and con.target.original == self.rig.object
            spaces = {con.owner_space, con.target_space}
            if is_own and con.subtarget in self.rig.index and not spaces & LOCAL:
                return self.rig.index[con.subtarget]
        return -1

    def is_constrained(self, bone: int) -> bool:
        """Return whether Blender's own constraints act on a bone."""
        return bool(active_constraints(self._bones[bone]))

    def turns(self, bone: int) -> bool:
        """Return whether a bone rotates with the one that carries it."""
        if not self.rig.rest(bone).use_inherit_rotation:
            return False
        if self._copied(bone, "COPY_LOCATION") == self.of(bone):
            return False
        return not any(
            con.type == "COPY_ROTATION" and con.influence == 1.0 and con.mix_mode == "REPLACE"
            for con in active_constraints(self._bones[bone])
        )

    def up(self, bone: int) -> list[int]:
        """Return a bone and those that carry it, topmost first."""
        line = [bone]
        while self.of(line[-1]) >= 0 and self.of(line[-1]) not in line:
            line.append(self.of(line[-1]))
        return line[::-1]

    def carries(self, above: int, bone: int) -> bool:
        """Return whether a bone is another one, or carries it."""
        return above in self.up(bone)

    def sorted(self, bones: Iterable[int]) -> list[int]:
        """Return bones, each after those that carry it."""
        return sorted(bones, key=lambda bone: (len(self.up(bone)), bone))
