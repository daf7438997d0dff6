"""Bones posed before the chains below them, such as the hips above feet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from fabrik_solver import WHOLE, Frame, Local, location_at, rotation_to
from fabrik_solver.core.vectors import Mat3, Quat, Vec

from ..blender.errors import ProblemError
from ..blender.rotation import IndexRange, ranges_of
from ..blender.skeleton import Point, Skeleton
from .chain_plan import ChainPlan, Snapshot, UnitPart
from .results import SolveResult

if TYPE_CHECKING:
    import bpy


class BoneInput(NamedTuple):
    """All inputs of the pose of a pre-pass bone, compared exactly.

    Attributes:
        channels: The results of `FkPose.bits_of` and, for a layer, `SolvedPose.beneath`.
        parent: The frame of its parent, in armature space.
        world: The frame of the armature in world space.
        wanted: The goals of the pose.
    """

    channels: tuple[object, ...]
    parent: Frame
    world: Frame
    wanted: Any


@dataclass(eq=False)
class PrePassBone(UnitPart, ABC):
    """A bone posed on top of its FK pose, before the chains that depend on it.

    It isn't in the list of constraints: the chains that it serves report its problems, and it is
    off while all of them are disabled.

    Attributes:
        rig: The armature.
        bone: The bone; for a body, its first bone.
        chains: The chains that it serves.
        more: Slots (see `KINDS`) that it poses besides its rotation.
        items: Empty, because it doesn't report for a constraint.
        note: See `ChainPlan`; not shown.
        is_late: See `ChainPlan`.
        bones: The posed bones: only the bone, or all those of a body.
        ranges: The posed bones as ranges of indices.
        root_parent: The parent of the bone, or -1 if there is none.
        is_layered: Whether an earlier unit also poses the bone.
        is_timed: Whether it depends on the frame itself.
        watched: Further objects that it depends on, besides those of its chains.
        states: Its needs, by state (see `needs_by_state`).
        keeps: The bones that move the points it keeps in place. Units that pose them are below it.
    """

    is_known_ahead: ClassVar[bool] = False

    rig: Skeleton
    bone: int
    chains: list[ChainPlan]
    more: list[int] = field(default_factory=list)
    items: tuple[int, ...] = ()
    note: str = ""
    is_late: bool = False
    bones: list[int] = field(init=False)
    ranges: list[IndexRange] = field(init=False)
    root_parent: int = field(init=False)
    is_layered: bool = False
    is_timed: bool = False
    watched: list[bpy.types.Object] = field(default_factory=list)
    states: Sequence[Sequence[Point]] = ()
    keeps: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        """Set the attributes that all units have."""
        self.bones = [self.bone]
        self.ranges = ranges_of(self.bones)
        self.root_parent = self.rig.parents[self.bone]

    @property
    def members(self) -> Sequence[ChainPlan]:
        """Empty, because the bone doesn't pose the chains that it serves."""
        return ()

    def needs_by_state(self) -> Sequence[Sequence[Point]]:
        """Return the points that the bone needs in each of its states."""
        return self.states

    def groups(self) -> Sequence[str]:
        """Return the paths of settings, from the armature, that pose the bone besides chains."""
        return ()

    @abstractmethod
    def needs(self) -> list[Point]:
        """Return the points whose transforms must be final before the bone is solved."""

    def read(self, snapshot: Snapshot) -> object | None:
        """Return the inputs of the solution, compared with ``==``; None if the bone is off.

        Raises:
            ProblemError: If the bone can't be solved.
        """
        raise NotImplementedError  # Bones with a `batch` are solved by it.

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the solution of the bone.

        Raises:
            ProblemError: If there is no solution.
        """
        raise NotImplementedError

    def inputs(self, snapshot: Snapshot, wanted: object) -> BoneInput:
        """Return the inputs of the bone's pose in a snapshot."""
        rig, pose = self.rig, snapshot.poses[self.rig.uid]
        return BoneInput(
            (*pose.fk_bits(self.ranges), pose.beneath(self.bones) if self.is_layered else None),
            WHOLE if self.root_parent < 0 else snapshot.frame(rig, self.root_parent),
            snapshot.world(rig.object, rig.uid),
            wanted,
        )

    def rotation_to(self, axes: Mat3, parent: Frame, local: Local) -> Quat:
        """Return the local rotation that gives the bone some axes.

        Args:
            axes: The axes in armature space.
            parent: The frame of its parent in armature space.
            local: Its local channels; the result is compatible with their rotation.
        """
        return rotation_to(self.rig.bone(self.bone), axes, parent[0], local)

    def location_to(self, head: Vec, parent: Frame) -> Vec:
        """Return the local location that puts the bone's head at a point.

        Args:
            head: The point in armature space.
            parent: The frame of its parent in armature space.

        Raises:
            ProblemError: If the parent has zero scale.
        """
        try:
            return location_at(self.rig.bone(self.bone), head, parent)
        except ValueError:
            raise self.zero_scale_problem() from None

    def zero_scale_problem(self) -> ProblemError:
        """Return the problem of a bone whose parent has zero scale."""
        name = self.rig.names[self.bone]
        return ProblemError("“{name}” is parented to a bone with zero scale", name=name)
