"""One constraint, with its names resolved to bones and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mathutils import Vector

from ..core import ChainInput, Frame
from ..core.bend import STRAIGHT, bend_direction, chain_axis
from ..core.vectors import Vec, across, length
from .access import settings
from .joints import Joints
from .rotation import LOCATION, SCALE, Run
from .skeleton import Point, Skeleton, vector

if TYPE_CHECKING:
    import bpy

    from .motion.goals import GoalSource
    from .motion.motion import Motion
    from .motion.shot import Shot
    from .pose import Settings
    from .task import Given


class Report(NamedTuple):
    """How a constraint did.

    Attributes:
        state: One of the constraint's states.
        error: Distance from tip to target in world space, in metres.
        sweeps: Sweeps that the solver took.
        message: What is wrong and what to do about it, empty if nothing is.
    """

    state: str
    error: float = 0.0
    sweeps: int = 0
    message: str = ""


class Answer(NamedTuple):
    """A solution, and all that it is a function of.

    Attributes:
        task: What went in.
        bones: The bones that were solved.
        rotations: The local rotations of the bones, four numbers a bone.
        reports: How the constraints that were solved did.
        grown: The local scales that were solved, by bone.
        placed: The local locations that were solved, by bone.
    """

    task: object
    bones: Sequence[int]
    rotations: Sequence[float]
    reports: tuple[Report, ...]
    grown: Mapping[int, Vec]
    placed: Mapping[int, Vec]


NOTHING: Mapping[int, Vec] = {}
"""What was solved of locations or scales where there is nothing of the kind."""

OFF = "The constraint is off: turn it on, and its Influence up"


def listed(names: Sequence[str]) -> str:
    """Return names as they stand in a sentence: “A”, “B” and “C”."""
    *others, last = [f"“{name}”" for name in names]
    return f"{', '.join(others)} and {last}" if others else last


class ProblemError(Exception):
    """Why a constraint cannot work, in a sentence that says what to do."""


@dataclass(eq=False, slots=True)
class ChainPlan:
    """One constraint, resolved.

    Attributes:
        rig: The armature.
        item: Index of the constraint in the armature's list.
        motion: What poses it instead of a solver that reaches, if anything.
        items: The same, as of chains that are solved together.
        bones: The bones that it poses, root first; empty if there are none.
        tip_bone: The bone whose head is the tip; -1 if the last bone's tail is.
        has_hand: Whether the last of the bones takes the target's orientation.
        limb_bend: As ``rest_bend``, of the bones before a hand whose tail is the tip.
        offset: What the target's frame is multiplied by, None if nothing.
        target: What the tip reaches for.
        pole: What the bend faces, if anything.
        rest_bend: Side to which the rest pose bends, in the root bone's axes; None if straight.
        problem: Why the constraint cannot work; empty if it can.
        note: What the user should know although it works.
        is_late: Whether that is that it follows other chains one update late.
        stretches: Whether its bones may grow.
        more: The slots (see `KINDS`) that it needs besides the rotations of its bones.
        runs: The bones as runs of neighbours.
        root_parent: The bone that carries the chain, -1 if none does.
        is_root_free: Whether its first bone may leave its place.
        is_layered: Whether a constraint before it in the list poses bones of it as well.
        is_timed: Whether its solution depends on the time itself.
        watched: Objects besides its target and pole that it depends on.
        places: Those of them that have to be where they will be before it is solved.
        goal_source: What changes its goal before it is solved, if anything.
        shot: Its poses over all frames, if it is solved as a shot.
        joints: What its bones allow.
        checked: The settings that were found to be fit for the chain.
        given: What its FK pose was last.
        stamp: What ``given`` was taken at.
        input: The chain under that input, as soon as it was needed.
        last: What was solved in the last update.
        answers: What was solved, by frame.
    """

    rig: Skeleton
    item: int
    motion: Motion | None = None
    items: tuple[int, ...] = field(init=False)
    bones: list[int] = field(default_factory=list)
    tip_bone: int = -1
    has_hand: bool = False
    limb_bend: Vec | None = None
    offset: Frame | None = None
    target: Point | None = None
    pole: Point | None = None
    rest_bend: Vec | None = None
    problem: str = ""
    note: str = ""
    is_late: bool = False
    stretches: bool = False
    more: list[int] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    root_parent: int = -1
    is_root_free: bool = False
    is_layered: bool = False
    is_timed: bool = False
    watched: list[bpy.types.Object] = field(default_factory=list)
    places: list[Point] = field(default_factory=list)
    goal_source: GoalSource | None = None
    shot: Shot | None = None
    joints: Joints = field(default_factory=Joints)
    checked: Settings | None = None
    given: Given | None = None
    stamp: object = None
    input: ChainInput | None = None
    last: Answer | None = None
    answers: dict[float, Answer] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The constraint's name."""
        return settings(self.rig.object).constraints[self.item].name

    def __post_init__(self) -> None:
        """Name the constraints that are solved together: this one."""
        self.items = (self.item,)

    def needs(self) -> list[Point]:
        """Return the places that have to be right before it is solved."""
        points = (self.target, self.pole, *self.places)
        return [point for point in points if point is not None]

    def free_root(self, instead: str) -> None:
        """Let the first bone leave its place.

        Args:
            instead: What can be done where it cannot.

        Raises:
            ProblemError: If it is connected to its parent.
        """
        self.more.append(self.rig.slot(LOCATION, self.bones[0]))
        refuse_connected(self.rig, self.bones[0], instead)

    def let_grow(self) -> None:
        """Let the bones stretch."""
        self.stretches = True
        self.more += [self.rig.slot(SCALE, bone) for bone in self.bones]


def refuse_connected(rig: Skeleton, bone: int, instead: str) -> None:
    """Refuse a bone that cannot leave its place.

    Args:
        rig: The armature.
        bone: The bone.
        instead: What can be done besides.

    Raises:
        ProblemError: If it is connected to its parent.
    """
    if bone in rig.connected and rig.parents[bone] >= 0:
        raise ProblemError(
            f"“{rig.names[bone]}” is connected to its parent and cannot leave its place: "
            f"{instead}, or turn off the bone's Connected in Edit Mode"
        )


def rest_bend(rig: Skeleton, chain: Sequence[int], tip_bone: int) -> Vec | None:
    """Return to which side the rest pose of a chain bends, in its first bone's own axes.

    None if it is straight.

    Args:
        rig: The armature.
        chain: The bones, root first.
        tip_bone: The bone whose head is the tip; -1 if the last bone's tail is.
    """
    bones = [rig.rest(i) for i in chain]
    tip = bones[-1].tail_local
    if tip_bone >= 0:
        tip = rig.rest(tip_bone).head_local
    root = bones[0].head_local
    heads = [bone.head_local for bone in bones]
    joints = [vector(point - root) for point in (*heads, tip)]
    axis = chain_axis(joints)
    size = sum(length(vector(b - a)) for a, b in zip(heads, (*heads[1:], tip), strict=True))
    if max(length(across(joint, axis)) for joint in joints) <= STRAIGHT * size:
        return None
    bend = bend_direction([vector((p - root) / size) for p in (*heads, tip)], axis)
    if bend is None:
        return None
    root_axes = bones[0].matrix_local.to_3x3()
    return vector(root_axes.transposed() @ Vector(bend))
