"""What is solved at once: a chain, or a body of chains that share bones."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..blender.errors import listed
from ..blender.limbs import rest_bend
from ..blender.rotation import Run, runs_of
from ..blender.skeleton import Skeleton
from ..core.vectors import Vec
from .chain_plan import ChainPlan, Shot
from .pre_pass import PrePassBone
from .results import Answer

Bends = tuple[list[Vec | None], list[Vec | None]]
"""To which side a chain bends from each of its bones on, with and without its hand."""


@dataclass(eq=False, slots=True)
class BodyPlan:
    """Chains of an armature that are solved together.

    Attributes:
        chains: In the list's order.
        rig: The armature.
        items: The indices of the constraints.
        bones: All bones, each after its parent.
        runs: The same as runs of neighbours.
        root_parent: The bone that carries the first one, -1 if none does.
        is_layered: Whether a constraint before it in the list poses bones of it as well.
        shot: Its poses over all frames, if any of the chains is solved as a shot.
        last: What was solved in the last update.
        answers: What was solved, by frame.
    """

    chains: list[ChainPlan]
    rig: Skeleton = field(init=False)
    items: tuple[int, ...] = field(init=False)
    bones: list[int] = field(init=False)
    runs: list[Run] = field(init=False)
    root_parent: int = field(init=False)
    is_layered: bool = False
    shot: Shot | None = field(init=False)
    last: Answer | None = None
    answers: dict[float, Answer] = field(default_factory=dict)
    _rest_bends: list[Bends] | None = None

    def __post_init__(self) -> None:
        """Put the bones of the chains together."""
        self.rig = self.chains[0].rig
        self.items = tuple(chain.item for chain in self.chains)
        every = {bone for chain in self.chains for bone in chain.bones}
        self.bones = sorted(every, key=lambda bone: len(self.rig.chain_up(bone)))
        self.runs = runs_of(self.bones)
        self.root_parent = self.rig.parents[self.bones[0]]
        self.shot = next((chain.shot for chain in self.chains if chain.shot is not None), None)
        for chain in self.chains:
            chain.note = chain.note or self._idle_setting(chain)

    @property
    def bends(self) -> list[Bends]:
        """The rest bends of each chain (see `_bends`), from when they are first needed."""
        if self._rest_bends is None:
            self._rest_bends = [_bends(chain) for chain in self.chains]
        return self._rest_bends

    def _idle_setting(self, chain: ChainPlan) -> str:
        """Say which setting of a chain does nothing because it shares bones."""
        names = self.rig.names
        if chain.is_root_free and chain.bones[0] != self.bones[0]:
            return (
                f"Move Root has no effect here, because “{names[chain.bones[0]]}” is moved by "
                f"other chains: enable it for a chain that begins at “{names[self.bones[0]]}”"
            )
        hand = chain.bones[-1]
        others = [other for other in self.chains if other is not chain and hand in other.bones]
        if chain.has_hand and others:
            return (
                f"“{names[hand]}” cannot take the target's orientation, because "
                f"{listed([o.name for o in others])} poses it as well: let that chain begin "
                "below it, or disable Copy Target Rotation"
            )
        return ""


def _bends(chain: ChainPlan) -> Bends:
    """Return to which side the chain bends from each of its bones on, with and without its hand."""
    rig, bones = chain.rig, chain.bones
    places = range(len(bones))
    if not chain.has_hand:
        whole = [rest_bend(rig, bones[start:], chain.tip_bone) for start in places]
        return whole, whole
    limb, hand = bones[:-1], bones[-1]
    before = [rest_bend(rig, limb[start:], hand) if limb[start:] else None for start in places]
    if chain.tip_bone >= 0:
        return before, before  # The hand's head is all that reaches.
    return [rest_bend(rig, bones[start:], -1) for start in places], before


Unit = ChainPlan | BodyPlan | PrePassBone


def chains_of(unit: Unit) -> list[ChainPlan]:
    """Return the chains of a unit."""
    if isinstance(unit, BodyPlan):
        return unit.chains
    return [unit] if isinstance(unit, ChainPlan) else []
