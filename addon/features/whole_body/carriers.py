"""Which bone carries which: the parent, or the control whose transforms a bone copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...blender.access import pose_bones
from ...blender.relations import active_constraints
from ...blender.skeleton import Skeleton


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
            self._known[bone] = self._copied(bone)
        return self._known[bone]

    def _copied(self, bone: int) -> int:
        """Return the bone whose transforms a bone copies in the end, or else its parent."""
        for con in reversed(active_constraints(self._bones[bone])):
            subtarget = getattr(con, "subtarget", "")
            is_own = subtarget in self.rig.index and con.target.original == self.rig.object
            is_whole = con.type == "COPY_TRANSFORMS" and con.influence == 1.0
            spaces = {con.owner_space, con.target_space}
            if is_own and is_whole and not spaces & {"LOCAL", "LOCAL_WITH_PARENT"}:
                return self.rig.index[subtarget]
        return self.rig.parents[bone]

    def turns(self, bone: int) -> bool:
        """Return whether a bone rotates with the one that carries it."""
        if not self.rig.rest(bone).use_inherit_rotation:
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
