"""The carriers of bones: a bone's parent, or the control whose transforms it copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..blender.access import pose_bones
from ..blender.relations import active_constraints
from ..blender.skeleton import Skeleton

LOCAL: Final = {"LOCAL", "LOCAL_WITH_PARENT"}

CARRYING: Final = ("COPY_TRANSFORMS", "COPY_LOCATION")
"""The constraints through which a bone other than the parent carries a bone."""


class Carriers:
    """The bones that carry the bones of an armature.

    Attributes:
        rig: The skeleton.
    """

    def __init__(self, rig: Skeleton, shown: Any) -> None:
        """Set the skeleton of an evaluated armature; carriers are looked up on demand."""
        self.rig = rig
        self._bones = pose_bones(shown)
        self._known: dict[int, int] = {}

    def of(self, bone: int) -> int:
        """Return the bone that carries a bone, or -1 if there is none."""
        if bone not in self._known:
            line = self._copies(bone, *CARRYING)
            # The parent also carries it if both copy the same bone.
            is_own = len(line) < 2 or self._copied(line[-1], *CARRYING) == bone
            self._known[bone] = self.rig.parents[bone] if is_own else line[1]
        return self._known[bone]

    def source(self, bone: int) -> int:
        """Return the bone that a bone ultimately copies, or the bone itself."""
        return self._copies(bone, "COPY_TRANSFORMS")[-1]

    def _copies(self, bone: int, *kinds: str) -> list[int]:
        """Return a bone, the bone that it copies, the bone that this one copies, and so on."""
        line = [bone]
        while (copied := self._copied(line[-1], *kinds)) >= 0 and copied not in line:
            line.append(copied)
        return line

    def _copied(self, bone: int, *kinds: str) -> int:
        """Return the bone that constraints of some kinds copy completely, or -1."""
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
        """Return whether a bone rotates with its carrier."""
        if not self.rig.rest(bone).use_inherit_rotation:
            return False
        if self._copied(bone, "COPY_LOCATION") == self.of(bone):
            return False
        return not any(
            con.type == "COPY_ROTATION" and con.influence == 1.0 and con.mix_mode == "REPLACE"
            for con in active_constraints(self._bones[bone])
        )

    def up(self, bone: int) -> list[int]:
        """Return a bone and its carriers, topmost first."""
        line = [bone]
        while self.of(line[-1]) >= 0 and self.of(line[-1]) not in line:
            line.append(self.of(line[-1]))
        return line[::-1]

    def carries(self, above: int, bone: int) -> bool:
        """Return whether a bone is the same as, or carries, another bone."""
        return above in self.up(bone)

    def sorted(self, bones: Iterable[int]) -> list[int]:
        """Return bones in an order in which each comes after its carriers."""
        return sorted(bones, key=lambda bone: (len(self.up(bone)), bone))
