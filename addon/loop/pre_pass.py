"""Bones that are posed ahead of the chains that hang on them, as the hip is by its feet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..blender.rotation import Run, runs_of
from ..blender.skeleton import Point, Skeleton
from .chain_plan import ChainPlan, Snapshot
from .results import Answer

if TYPE_CHECKING:
    import bpy


@dataclass(eq=False)
class PrePassBone(ABC):
    """One bone, posed on top of its FK pose before any chain of its armature that needs it.

    It has no place in the list of constraints: what is wrong with it is said by the chains for
    whose sake it is there. While none of them is on, it has to be off.

    Attributes:
        rig: The armature.
        bone: The bone.
        chains: The chains for whose sake it is there.
        more: The slots (see `KINDS`) that it needs besides its rotation.
        items: The constraints that it reports for: none.
        note: What cannot be placed ahead of Blender, as of chains; nobody is told of it.
        is_late: Whether there is anything of the kind.
        bones: The bone, as units have it.
        runs: The same as runs of neighbours.
        root_parent: The bone's parent, -1 if it has none.
        is_layered: Whether another one before it poses the bone as well.
        is_timed: Whether it depends on the time itself.
        watched: Objects besides those of its chains that it depends on.
        last: What was solved in the last update.
        answers: What was solved, by frame.
    """

    rig: Skeleton
    bone: int
    chains: list[ChainPlan]
    more: list[int] = field(default_factory=list)
    items: tuple[int, ...] = ()
    note: str = ""
    is_late: bool = False
    bones: list[int] = field(init=False)
    runs: list[Run] = field(init=False)
    root_parent: int = field(init=False)
    is_layered: bool = False
    is_timed: bool = False
    watched: list[bpy.types.Object] = field(default_factory=list)
    last: Answer | None = None
    answers: dict[float, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Say of the bone what units say of theirs."""
        self.bones = [self.bone]
        self.runs = runs_of(self.bones)
        self.root_parent = self.rig.parents[self.bone]

    @abstractmethod
    def needs(self) -> list[Point]:
        """Return the places that have to be right before it is solved."""

    @abstractmethod
    def read(self, snapshot: Snapshot) -> object | None:
        """Return what its solution depends on, to the last bit; None if it is off.

        Raises:
            ProblemError: If it cannot work.
        """

    @abstractmethod
    def answer(self, snapshot: Snapshot, task: object) -> Answer:
        """Return its solution.

        Raises:
            ProblemError: If there can be none.
        """
