"""Trees: chains of an armature that are solved together because they share bones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..blender.errors import listed
from ..blender.messages import msg
from ..blender.rotation import IndexRange, ranges_of
from ..blender.skeleton import Skeleton
from .chain_plan import ChainPlan, StartSource, UnitPart, UnitPlan


@dataclass(eq=False, slots=True)
class TreePlan(UnitPlan):
    """Chains of an armature that are solved together because they share bones.

    Attributes:
        chains: The chains, in list order.
        rig: The armature.
        items: The indices of the constraints.
        bones: All bones, each after its parent.
        ranges: The bones as ranges of consecutive indices.
        root_parent: The parent of the first bone, or -1 if there is none.
        is_layered: Whether a constraint earlier in the list poses some of its bones.
        start_source: Provides the pose to solve from, if any of the chains is continuous.
    """

    chains: list[ChainPlan]
    rig: Skeleton = field(init=False)
    items: tuple[int, ...] = field(init=False)
    bones: list[int] = field(init=False)
    ranges: list[IndexRange] = field(init=False)
    root_parent: int = field(init=False)
    is_layered: bool = False
    start_source: StartSource | None = field(init=False)

    def __post_init__(self) -> None:
        """Collect the bones of the chains."""
        self.rig = self.chains[0].rig
        self.items = tuple(chain.item for chain in self.chains)
        every = {bone for chain in self.chains for bone in chain.bones}
        self.bones = sorted(every, key=lambda bone: len(self.rig.chain_up(bone)))
        self.ranges = ranges_of(self.bones)
        self.root_parent = self.rig.parents[self.bones[0]]
        self.start_source = next(
            (chain.start_source for chain in self.chains if chain.start_source is not None), None
        )
        for chain in self.chains:
            chain.note = chain.note or self._unused_setting_note(chain)

    @property
    def members(self) -> Sequence[ChainPlan]:
        """The chains."""
        return self.chains

    @property
    def parts(self) -> Sequence[UnitPart]:
        """The chains."""
        return self.chains

    def _unused_setting_note(self, chain: ChainPlan) -> str:
        """Return a note on a setting that has no effect because the chain shares bones."""
        names = self.rig.names
        if chain.is_root_free and chain.bones[0] != self.bones[0]:
            return msg(
                "Move Root has no effect, because other chains move “{bone}”: enable it for a "
                "chain that begins at “{root}”",
                bone=names[chain.bones[0]],
                root=names[self.bones[0]],
            )
        hand = chain.bones[-1]
        also_posing = [other for other in self.chains if other is not chain and hand in other.bones]
        if chain.has_hand and also_posing:
            return msg(
                "“{hand}” can't copy the target's rotation, because it is also posed by {others}: "
                "shorten the other chains, or disable Copy Target Rotation",
                hand=names[hand],
                others=listed([o.name for o in also_posing]),
            )
        return ""


def splits(layer: ChainPlan, chain: ChainPlan) -> bool:
    """Return whether a layer on a tree comes before one of the tree's chains in the list."""
    return layer.item < chain.item and not set(layer.bones).isdisjoint(chain.bones)
