"""One constraint, resolved, and what takes part in solving it besides the solver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import bpy
from mathutils import Matrix

from ..blender.errors import ProblemError
from ..blender.rotation import LOCATION, SCALE, Run
from ..blender.skeleton import Point, Skeleton
from ..core import ChainInput, Frame, Posture, point_in
from ..core.vectors import Mat3, Quat, Vec, mat_product, orthonormalize
from .joints import IkSettings, Joints
from .properties import FabrikConstraint, Item, settings
from .results import Answer, Report
from .settings_now import Settings
from .solved_pose import SolvedPose


class Planned(Protocol):
    """What can be asked of the plan."""

    @property
    def moved(self) -> Mapping[int, Collection[int]]:
        """For each armature the bones that are posed, or hang on a posed bone."""
        ...

    @property
    def carried(self) -> Collection[int]:
        """Objects that hang on a moved bone."""
        ...


class Snapshot(Protocol):
    """What can be asked at one moment of a solve (see `solved_scene.SolvedScene`).

    All stands as it was read, with what was solved by then posed.
    """

    @property
    def time(self) -> float:
        """The frame of the scene."""
        ...

    @property
    def depsgraph(self) -> bpy.types.Depsgraph:
        """Where all is read from."""
        ...

    @property
    def plan(self) -> Planned:
        """What hangs on what."""
        ...

    @property
    def rigs(self) -> Mapping[int, bpy.types.Object]:
        """The armatures that are solved now, as evaluated."""
        ...

    @property
    def poses(self) -> Mapping[int, SolvedPose]:
        """What armatures hold, and what was solved of them by now."""
        ...

    def item(self, chain: ChainPlan) -> FabrikConstraint:
        """Return a constraint as evaluated."""
        ...

    def point(self, point: Point) -> Vec:
        """Return where a target or pole stands, in world space."""
        ...

    def place(self, point: Point) -> Frame:
        """Return where a target stands and how it is turned and scaled, in world space."""
        ...

    def frame(self, rig: Skeleton, bone: int) -> Frame:
        """Return where a bone stands, in armature space."""
        ...

    def world(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return where an object, whose number is ``uid``, stands in world space."""
        ...


class Scenery(NamedTuple):
    """What every motion is told besides its own settings.

    Attributes:
        world: Where the armature stands in world space.
        to_armature: The frame of world space in the armature's.
        target: The target in world space; the armature's origin if the chain has none.
        influence: How far the chain follows, from 0 to 1.
        tolerance: How near is near enough, as a share of the chain's length.
    """

    world: Frame
    to_armature: Frame
    target: Vec
    influence: float
    tolerance: float


class ChainPose(NamedTuple):
    """How a chain stands, and what its constraint says of it.

    Attributes:
        posture: The chain.
        report: What is shown of it.
        location: The local location of its first bone, None if that keeps its place.
    """

    posture: Posture
    report: Report
    location: Vec | None = None


class Motion(NamedTuple):
    """One kind of motion, known by the constraint's solver.

    Attributes:
        solver: The item of the setting Solver that stands for it.
        needs_target: Whether it cannot work without a target.
        resolve: Completes the plan of a chain from its constraint; raises `ProblemError` if that
            cannot work.
        read: Returns what the solution depends on besides the chain and `Scenery`: settings as
            evaluated, times, places. Compared with ``==``, to the last bit.
        pose: Returns how the chain stands, from its input, the scenery and what was read.
        places_tip: Whether it brings the tip to a place.
        doing: What it is said to do while all is well, if it has nothing to reach.
        gaze: Returns the axis of the last bone that looks at the target, if one does.
        mirrored: Returns the settings on the other side that differ, by their names, and what has
            no mirror image; given the constraint, and the axes of the tip bone here in those there.
    """

    solver: Item
    needs_target: bool
    resolve: Callable[[ChainPlan, FabrikConstraint], None]
    read: Callable[[Snapshot, ChainPlan], object]
    pose: Callable[[ChainInput, Scenery, object], ChainPose]
    places_tip: bool = True
    doing: str = ""
    gaze: Callable[[FabrikConstraint], Vec] | None = None
    mirrored: Callable[[FabrikConstraint, Matrix], tuple[dict[str, Any], str]] | None = None


class Aim(NamedTuple):
    """Where a tip is wanted, and what is said of it.

    Attributes:
        place: The place in world space.
        axes: The orientation for the tip bone in world space, None if it takes none.
        note: What the user should know, empty if nothing.
    """

    place: Vec
    axes: Mat3 | None
    note: str = ""


class GoalSource(Protocol):
    """What changes the goal of a chain."""

    def goal(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
        """Return the goal that is solved for, given that of the constraint's target.

        Raises:
            ProblemError: If there can be none.
        """
        ...


class Begun(NamedTuple):
    """What a chain or a body is solved from at a moment.

    Attributes:
        rotations: The local rotations of its bones; none if it is solved from its FK pose.
        location: The location channel of its first bone.
        note: What is to be said.
    """

    rotations: tuple[Quat, ...]
    location: Vec
    note: str


class Shot(Protocol):
    """The poses of a chain or a body over all frames."""

    def begun(self, time: float, bones: int) -> Begun | None:
        """Return what is solved from at a time, None while it is being simulated.

        Args:
            time: In frames.
            bones: How many bones are posed.
        """
        ...


class FkState(NamedTuple):
    """All that a chain under its FK pose depends on, to the last bit.

    Attributes:
        channels: What `SolvedPose.bits_of` and, of a layer, `SolvedPose.beneath` tell of its bones.
        parent: The frame of the root bone's parent, in armature space.
        joints: The settings for Blender's own IK of the bones that keep them.
        bias: Which bones turn more than the others.
    """

    channels: tuple[object, ...]
    parent: Frame
    joints: tuple[IkSettings, ...]
    bias: float


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
        fk_state: What its FK pose was last.
        stamp: What that was taken at.
        input: The chain under it, as soon as it was needed.
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
    fk_state: FkState | None = None
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
            f"“{rig.names[bone]}” is connected to its parent and cannot be moved: {instead}, or "
            "disable the bone's Connected option in Edit Mode"
        )


def aim_of(snapshot: Snapshot, chain: ChainPlan) -> Aim:
    """Return where the target of a chain wants its tip, before anything changes that.

    A chain without a target has the armature's origin.

    Raises:
        ProblemError: If the target has no orientation to take.
    """
    if chain.target is None:
        return Aim(snapshot.world(chain.rig.object, chain.rig.uid)[1], None)
    if chain.has_hand or chain.offset is not None:
        return _aim(snapshot, chain, chain.target)
    return Aim(snapshot.point(chain.target), None)


def _aim(snapshot: Snapshot, chain: ChainPlan, target: Point) -> Aim:
    frame = snapshot.place(target)
    place = frame[1] if chain.offset is None else point_in(frame, chain.offset[1])
    if not chain.has_hand:
        return Aim(place, None)
    axes = orthonormalize(frame[0])
    if axes is None:
        name = target.object.name if target.skeleton is None else target.skeleton.names[target.bone]
        raise ProblemError(
            f"“{name}” has zero scale and therefore no orientation: change its scale, or disable "
            "Copy Target Rotation"
        )
    return Aim(place, axes if chain.offset is None else mat_product(axes, chain.offset[0]))
