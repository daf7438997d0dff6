"""A resolved constraint, and the interfaces of motions, goals and start poses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import bpy
from mathutils import Matrix

from fabrik_solver import ChainInput, Frame, Local, Posture, Written, measured_tip
from fabrik_solver.core.vectors import (
    IDENTITY,
    Mat3,
    Quat,
    Vec,
    mat_apply,
    mat_determinant,
    mat_product,
    mat_transposed,
    mix,
    orthonormalize,
    quat_matrix,
    quat_of,
    slerp,
    sub,
)

from ..blender.errors import ProblemError
from ..blender.rotation import LOCATION, SCALE, IndexRange
from ..blender.skeleton import Point, Skeleton
from ..body.posed import PosedLimb
from ..settings.joint_limits import Joints
from ..settings.properties import AnimatedSettings, FabrikConstraint, Item, settings

T = TypeVar("T")

Measure = Callable[
    [ChainInput, Written, tuple[Frame, Frame], Vec, float, object], tuple[float, bool]
]
"""See `ChainKind.measure`."""


class PlanView(Protocol):
    """The part of the plan that motions may use."""

    @property
    def posed(self) -> Mapping[int, Collection[int]]:
        """For each armature, the bones that constraints pose."""
        ...

    @property
    def moved(self) -> Mapping[int, Collection[int]]:
        """For each armature, the bones that constraints pose, and their descendants."""
        ...

    @property
    def carried(self) -> Collection[int]:
        """Objects that follow a moved bone."""
        ...

    def on_top(self, unit: UnitPlan, bones: Sequence[int]) -> Sequence[UnitPlan]:
        """Return the units solved after a unit of their armature that pose any of some bones."""
        ...


class Report(NamedTuple):
    """The report of a constraint on its last evaluation.

    Attributes:
        state: The state, one of `STATE_ITEMS`.
        error: Distance from tip to target in world space, in meters.
        iterations_used: Number of iterations of the solver.
        message: The problem and its solution; empty without a problem.
    """

    state: str
    error: float = 0.0
    iterations_used: int = 0
    message: str = ""


class Pose(Protocol):
    """The pose of an armature, as solved so far (see `solved_scene.SolvedPose`)."""

    @property
    def settings(self) -> Sequence[AnimatedSettings]:
        """The settings of the constraints, in list order."""
        ...

    def fk_bits(self, ranges: Sequence[IndexRange]) -> tuple[object, ...]:
        """Return the FK pose of some bones, as bytes."""
        ...

    def beneath(self, bones: Sequence[int]) -> tuple[object, ...]:
        """Return the solved channels of some bones, from which a layer starts."""
        ...

    def local(self, bone: int) -> Local:
        """Return the evaluated local channels of a bone that no chain poses."""
        ...

    def fk_local(self, bone: int) -> Local:
        """Return the FK pose of a bone that a unit poses, as local channels."""
        ...

    def posed_local(self, bone: int) -> Local:
        """Return the local channels of a bone that a chain poses."""
        ...


class Snapshot(Protocol):
    """Read access to a scene during a solve (see `solved_scene.SolvedScene`).

    Transforms include everything solved so far.
    """

    @property
    def time(self) -> float:
        """The frame of the scene."""
        ...

    @property
    def is_edit(self) -> bool:
        """Whether this is a viewport update after an edit, not after a change of the frame."""
        ...

    @property
    def scene(self) -> bpy.types.Scene:
        """The scene."""
        ...

    @property
    def frame_rate(self) -> float:
        """The frame rate of the scene, in frames per second."""
        ...

    @property
    def depsgraph(self) -> bpy.types.Depsgraph:
        """The depsgraph to read."""
        ...

    @property
    def plan(self) -> PlanView:
        """The relations between armatures."""
        ...

    @property
    def rigs(self) -> Mapping[int, bpy.types.Object]:
        """The evaluated armatures being solved."""
        ...

    @property
    def poses(self) -> Mapping[int, Pose]:
        """The poses of the armatures, as solved so far."""
        ...

    def item(self, chain: ChainPlan) -> FabrikConstraint:
        """Return an evaluated constraint."""
        ...

    def cached(self, chain: ChainPlan, make: Callable[[FabrikConstraint], T]) -> T:
        """Return a value that a function derives from a constraint, cached with its settings."""
        ...

    def point(self, point: Point) -> Vec:
        """Return the location of a target or pole in world space."""
        ...

    def place(self, point: Point) -> Frame:
        """Return the frame of a target in world space."""
        ...

    def frame(self, rig: Skeleton, bone: int) -> Frame:
        """Return the frame of a bone in armature space."""
        ...

    def world(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return the frame in world space of an object with the session UID ``uid``."""
        ...

    def basis(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return the frame of an object in the space of its parent, if it has one."""
        ...

    def lift(self, chain: ChainPlan, tie: Tie, location: Vec) -> Vec:
        """Return how far a chain's body moves a target or pole at a location, in world space."""
        ...


@dataclass(eq=False, slots=True)  # Not a named tuple: these take twice as long to make.
class MotionContext:
    """The inputs that all motions share.

    Attributes:
        world: The frame of the armature in world space.
        to_armature: Its inverse, which maps world space to armature space.
        target: The target in world space; without one, the armature's origin.
        influence: Blend from the FK pose (0) to the solved pose (1).
        tolerance: The distance at which the target is reached, as a fraction of the chain length.
    """

    world: Frame
    to_armature: Frame
    target: Vec
    influence: float
    tolerance: float


@dataclass(eq=False, slots=True)
class ChainPose:
    """A posed chain and the report of its constraint.

    Attributes:
        posture: The posed chain.
        report: The report.
        location: Local location of the first bone; None if it isn't moved.
    """

    posture: Posture
    report: Report
    location: Vec | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainKind:
    """What a constraint does with its chain, as set by Solver.

    Attributes:
        reaches: Whether one of the solver's methods bends the chain so that its tip reaches a
            target.
        resolve: Completes the plan of a chain from its constraint; raises `ProblemError` if the
            constraint is invalid.
        needs_target: Whether it requires a target.
        places_tip: Whether it moves the tip to a goal.
        doing: Status text in normal operation, for kinds without a goal.
        measure: Returns the distance of a written pose from its target in world space, and whether
            that is within the tolerance, as `measured_tip` does. Also takes what the motion read.
            None without a target to measure.
        gaze: For a look-at, returns the axis of the last bone that points at the target.
        mirrored: Takes the constraint and the matrix between the tip bones' axes. Returns by name
            the mirrored values of settings that differ, and a note on what can't be mirrored.
        is_known_ahead: Whether a motion's inputs can be read before an evaluation, because it needs
            only settings, the frame and the target (see `lookahead`).
    """

    reaches: ClassVar[bool] = True

    resolve: Callable[[ChainPlan, FabrikConstraint], None]
    needs_target: bool = True
    places_tip: bool = True
    doing: str = ""
    measure: Measure | None = measured_tip
    gaze: Callable[[FabrikConstraint], Vec] | None = None
    mirrored: Callable[[FabrikConstraint, Matrix], tuple[dict[str, Any], str]] | None = None
    is_known_ahead: Callable[[FabrikConstraint], bool] = lambda _: False


@dataclass(frozen=True, eq=False, kw_only=True)
class Motion(ChainKind):
    """A kind of motion, such as a look-at or a rope, which poses chains by itself.

    Attributes:
        solver: Its item of the Solver enum.
        read: Returns additional inputs of the solution: evaluated settings, times, locations. They
            are compared with ``==``.
        pose: Takes the chain's input, the context and what `read` returned; returns the posed
            chain.
        rotations: Takes what `read` returned; returns the local rotations at full influence, four
            numbers a bone, and the report. None for a motion that needs the bones for this.
    """

    reaches: ClassVar[bool] = False

    solver: Item
    read: Callable[[Snapshot, ChainPlan], object]
    pose: Callable[[ChainInput, MotionContext, object], ChainPose]
    rotations: Callable[[Any], tuple[Sequence[float], Report]] | None = None


class Aim(NamedTuple):
    """The goal of a tip, in world space.

    Attributes:
        place: The location of the tip.
        axes: The orientation of the tip bone; None if it is free.
        note: A note for the user; empty if there is none.
        facing: For a nearly straight limb without a pole, a point in world space toward which it
            bends, and its weight; else None.
    """

    place: Vec
    axes: Mat3 | None
    note: str = ""
    facing: tuple[Vec, float] | None = None

    def toward(self, goal: Aim, factor: float) -> Aim:
        """Return the goal blended toward another by a factor."""
        if factor == 1.0:
            return goal
        axes = goal.axes
        if self.axes is not None and axes is not None:
            axes = quat_matrix(slerp(quat_of(self.axes), quat_of(axes), factor))
        facing = None if goal.facing is None else (goal.facing[0], factor * goal.facing[1])
        return Aim(mix(self.place, goal.place, factor), axes, goal.note, facing)


class GoalSource(Protocol):
    """Changes the goal of a chain, as for a foot on the ground."""

    @property
    def replaces_target(self) -> bool:
        """Whether the last goal was independent of the target's location."""
        ...

    @property
    def is_known_ahead(self) -> bool:
        """Whether `goal` can be computed before an evaluation that doesn't change `seen`.

        It then needs only settings, the frame, the target, bones of the armature, and the
        transforms of objects that the chain watches (see `lookahead`).
        """
        ...

    def seen(self, depsgraph: bpy.types.Depsgraph) -> object | None:
        """Return a token of the evaluated meshes that the chain watches; None if unknown.

        It is equal for all goals of chains that watch the same objects.
        """
        ...

    def goal(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
        """Return the goal to solve for; ``aim`` itself if it doesn't change.

        Args:
            snapshot: The scene.
            chain: The chain.
            aim: The goal from the constraint's target.

        Raises:
            ProblemError: If the goal is invalid.
        """
        ...


class OffsetSource(Protocol):
    """Changes the offset of a hand or foot from its target, as for a foot that rolls on its sole.

    Attributes:
        toe: The bone after it that is posed as well, or -1 if there is none.
    """

    toe: int

    @property
    def controls(self) -> Sequence[Point]:
        """The bones besides the target that the offset depends on."""
        ...

    def offset(self, snapshot: Snapshot, chain: ChainPlan) -> Frame:
        """Return the frame of the tip in the space of the target."""
        ...

    def values(self, chain: ChainPlan) -> tuple[object, ...]:
        """Return the settings of the offset, for comparison."""
        ...

    def shown(self, depsgraph: bpy.types.Depsgraph, chain: ChainPlan) -> Frame:
        """Return the offset of the evaluated pose."""
        ...

    def matched(self, chain: ChainPlan, toes: Quat) -> tuple[Frame, list[tuple[Point, Mat3]]]:
        """Return the offset that fits a pose, and the axes of the controls causing it.

        Args:
            chain: The chain.
            toes: The local rotation of its toes.

        Returns:
            The offset, and each control with its axes in the space of the target.
        """
        ...


class StartPose(NamedTuple):
    """The pose from which a continuous chain or tree is solved.

    Attributes:
        rotations: Local rotations of its bones; empty to start from the FK pose.
        location: Local location of its first bone.
        note: A note for the user; empty if there is none.
    """

    rotations: tuple[Quat, ...]
    location: Vec
    note: str


class StartSource(Protocol):
    """Provides the start poses of a continuous chain or tree."""

    def start_pose(self, time: float, bones: int) -> StartPose | None:
        """Return the start pose; None while it is being simulated.

        Args:
            time: The time in frames.
            bones: The number of posed bones.
        """
        ...


class Hold(NamedTuple):
    """A native constraint that holds a target to something outside the body.

    Attributes:
        owner: The object.
        bone: The name of the bone; empty for a constraint of the object.
        name: The name of the constraint.
    """

    owner: bpy.types.Object
    bone: str
    name: str


class Tie(NamedTuple):
    """How a target or pole belongs to a body that is lifted.

    Attributes:
        bones: The bones whose lift it follows (see `SolveResult`).
        holds: Native constraints that reduce the lift by their influence.
    """

    bones: tuple[int, ...]
    holds: tuple[Hold, ...] = ()


class UnitPlan:
    """A unit, solved at once: a chain, a tree of chains that share bones, or a pre-pass bone.

    Attributes:
        rig: The armature.
        items: The indices of the constraints that it solves.
        bones: The posed bones; empty if it can't be solved.
        ranges: The posed bones as ranges of consecutive indices.
        root_parent: The parent of the first bone, or -1 if there is none.
        is_layered: Whether a unit earlier in the list poses some of its bones.
        is_known_ahead: Whether it can be solved before Blender evaluates the scene, if its chains
            can be (see `lookahead`).
        lifts_body: Whether its results may have a `lift`, which the targets of the body follow.
        batch: Combines units of the same kind and armature that don't need each other into one
            unit, which solves them together; None if each is solved alone. Only for units with
            states.
    """

    __slots__ = ()

    batch: ClassVar[Callable[[Sequence[Any]], UnitPlan] | None] = None
    is_known_ahead: ClassVar[bool] = True
    lifts_body: ClassVar[bool] = False

    rig: Skeleton
    items: tuple[int, ...]
    bones: list[int]
    ranges: list[IndexRange]
    root_parent: int
    is_layered: bool

    @property
    def members(self) -> Sequence[ChainPlan]:
        """The chains that the unit solves."""
        raise NotImplementedError

    @property
    def parts(self) -> Sequence[UnitPart]:
        """The parts of the unit, each with separate dependencies."""
        raise NotImplementedError

    def needs_by_state(self) -> Sequence[Sequence[Point]]:
        """Return, for each state of the unit, the points that must be final before it is solved.

        They are in addition to the points that it always needs. Empty for a unit without states.
        """
        return ()

    def state_at(self, _time: float) -> int:
        """Return the unit's state at a frame, if its needs change over time."""
        return 0

    def channels_of(self) -> Sequence[bpy.types.Object]:
        """Return the objects of which the unit reads the channels, but not the parents."""
        return ()


class UnitPart(UnitPlan):
    """A chain or a pre-pass bone: a unit, or a part of one, with separate dependencies.

    Attributes:
        more: Slots (see `KINDS`) that it poses besides rotations.
        note: A note for the user.
        is_late: Whether the note says that it is one update late.
        is_timed: Whether its solution depends on the frame itself.
        watched: Further objects that it depends on, besides its needs.
        keeps: For a pre-pass bone, the bones that move the points it keeps in place.
    """

    __slots__ = ()

    keeps: frozenset[int]
    more: list[int]
    note: str
    is_late: bool
    is_timed: bool
    watched: list[bpy.types.Object]

    @property
    def parts(self) -> Sequence[UnitPart]:
        """The part itself, as the only element."""
        return (self,)

    def needs(self) -> list[Point]:
        """Return the points whose transforms must be final before this part is solved."""
        raise NotImplementedError


def wholly(_time: float, _frame_rate: float) -> float:
    """Return full influence at any frame."""
    return 1.0


@dataclass(eq=False, slots=True)
class ChainPlan(UnitPart):
    """A constraint, resolved to bones and objects.

    Attributes:
        rig: The armature.
        item: The index of the constraint in the armature's list.
        kind: What it does with the chain.
        items: Only this item, in the tuple that every unit has.
        bones: The posed bones, root first; empty if the constraint is invalid.
        tip_bone: The bone whose head is the tip; -1 if the tip is the last bone's tail.
        has_hand: Whether the last bone copies the target's rotation.
        limb: How its bones bend, and what ends them.
        offset: The frame of the tip in the target's space; None without Keep Offset.
        roll: Changes that offset; None if nothing does.
        target: The target.
        pole: The pole target, or None if there is none.
        target_tie: How the target belongs to a lifted body; None if it doesn't.
        pole_tie: The same for the pole.
        problem: Why the constraint is invalid; empty if it is valid.
        note: A note on a valid constraint.
        is_disturbed: Whether the note says that Blender moves its bones after they are solved.
        is_late: Whether the note says that it is one update late.
        stretches: Whether its bones may stretch.
        uneven: A bone that doesn't inherit its parent's axes unchanged, or -1 if there is none. A
            parent scaled only along its length would shear it, so the chain stretches uniformly.
        more: Slots (see `KINDS`) that it poses besides rotations.
        ranges: The bones as ranges of consecutive indices.
        root_parent: The parent of the first bone, or -1 if there is none.
        is_root_free: Whether its first bone may move.
        root_limits: The names of the Limit Location constraints that limit the first bone's motion.
        is_layered: Whether a constraint earlier in the list poses some of its bones.
        is_timed: Whether its solution depends on the frame itself.
        watched: Further objects that it depends on, besides target and pole.
        places: Those watched objects whose transform must be final before it is solved.
        goal_source: Changes its goal before it is solved; None if nothing does.
        placed_share: Takes a frame and the frame rate; returns the influence of `goal_source`, from
            0 to 1: 0 while something holds its target.
        start_source: Provides the pose to solve from, if it is continuous.
        joints: The limits of its joints.
        driven: Its bones with driven rotations, which the solution keeps.
    """

    rig: Skeleton
    item: int
    kind: ChainKind
    items: tuple[int, ...] = field(init=False)
    limb: PosedLimb = field(init=False)
    bones: list[int] = field(default_factory=list)
    tip_bone: int = -1
    has_hand: bool = False
    offset: Frame | None = None
    roll: OffsetSource | None = None
    target: Point | None = None
    pole: Point | None = None
    target_tie: Tie | None = None
    pole_tie: Tie | None = None
    problem: str = ""
    note: str = ""
    is_disturbed: bool = False
    is_late: bool = False
    stretches: bool = False
    uneven: int = -1
    more: list[int] = field(default_factory=list)
    ranges: list[IndexRange] = field(default_factory=list)
    root_parent: int = -1
    is_root_free: bool = False
    root_limits: Sequence[str] = ()
    is_layered: bool = False
    is_timed: bool = False
    watched: list[bpy.types.Object] = field(default_factory=list)
    places: list[Point] = field(default_factory=list)
    goal_source: GoalSource | None = None
    placed_share: Callable[[float, float], float] = wholly
    start_source: StartSource | None = None
    joints: Joints = field(default_factory=Joints)
    driven: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The constraint's name."""
        return settings(self.rig.object).constraints[self.item].name

    @property
    def members(self) -> Sequence[ChainPlan]:
        """Only this chain."""
        return (self,)

    def __post_init__(self) -> None:
        """Set `items`, and a limb without bones."""
        self.items = (self.item,)
        self.limb = PosedLimb(self.rig, (), -1, False, None, None)

    @property
    def is_plain(self) -> bool:
        """Whether the chain reaches only for its target, and no feature has completed its plan."""
        sources = (self.goal_source, self.start_source, self.roll)
        return self.kind.reaches and sources == (None, None, None) and not self.watched

    @property
    def is_measured_late(self) -> bool:
        """Whether only Blender's evaluation of the solution shows where tip and target are."""
        return self.is_disturbed or (self.is_late and self.kind.reaches)

    def is_held_at(self, time: float) -> bool:
        """Return whether something holds the target at a frame, so `goal_source` isn't used."""
        return self.placed_share(time, 1.0) == 0.0

    @property
    def posed(self) -> list[int]:
        """All bones posed by the constraint: its chain, and toes that roll with it."""
        return (
            self.bones if self.roll is None or self.roll.toe < 0 else [*self.bones, self.roll.toe]
        )

    def shown_offset(self, depsgraph: bpy.types.Depsgraph) -> Frame | None:
        """Return the frame of the evaluated tip in its target's space; None if they coincide."""
        return self.offset if self.roll is None else self.roll.shown(depsgraph, self)

    def aimed_at(self) -> Point | None:
        """Return the source of the goal; None without a target.

        This is the target, or the parent of a foot that is the target.
        """
        if self.limb.foot < 0:
            return self.target
        parent = self.rig.parents[self.limb.foot]
        return Point(self.rig.object, self.rig, parent) if parent >= 0 else Point(self.rig.object)

    @property
    def controls(self) -> Sequence[Point]:
        """The bones besides target and pole that an animator moves."""
        return () if self.roll is None else self.roll.controls

    def needs(self) -> list[Point]:
        """Return the points whose transforms must be final before the chain is solved."""
        points = (self.aimed_at(), self.pole, *self.places, *self.controls)
        return [point for point in points if point is not None]

    def release_root(self, instead: str) -> None:
        """Let the first bone move.

        Args:
            instead: The alternative that the error message suggests.

        Raises:
            ProblemError: If the bone is connected to its parent.
        """
        self.more.append(self.rig.slot(LOCATION, self.bones[0]))
        refuse_connected(self.rig, self.bones[0], instead)

    def posed_tip(self, bones: Any) -> Any:
        """Return the tip in armature space, a mathutils vector.

        Args:
            bones: The pose bones of the armature, or of its evaluated copy.
        """
        if self.tip_bone >= 0:
            return bones[self.tip_bone].head
        return bones[self.bones[-1]].tail

    def enable_stretch(self) -> None:
        """Let the bones change their scale."""
        self.stretches = True
        beneath = sorted(self.rig.below({self.bones[0]}) - {self.bones[0]})
        uneven = [bone for bone in beneath if not self.rig.bone(bone).is_plain]
        self.uneven = uneven[0] if uneven else -1
        self.more += [self.rig.slot(SCALE, bone) for bone in self.bones]


def refuse_connected(rig: Skeleton, bone: int, instead: str) -> None:
    """Refuse a bone whose location has no effect.

    Args:
        rig: The armature.
        bone: The bone.
        instead: The alternative that the error message suggests.

    Raises:
        ProblemError: If the bone is connected to its parent.
    """
    if bone in rig.connected and rig.parents[bone] >= 0:
        raise ProblemError(
            "“{bone}” is connected to its parent and can't move: {instead}, or disable Connected "
            "in Edit Mode",
            bone=rig.names[bone],
            instead=instead,
        )


def offset_turn(offset: Frame, target: Mat3) -> Mat3:
    """Return the rotation of an offset in the right-handed axes of a target.

    The offset is stored in the target's axes. If these are mirrored, `orthonormalize` flips their X
    axis.

    Args:
        offset: The offset.
        target: The axes of the target in world space.
    """
    turn = offset[0]
    if mat_determinant(target) >= 0.0:
        return turn
    a, b, c, d, e, f, g, h, i = turn
    return (a, -b, -c, -d, e, f, -g, h, i)


def target_of(
    target: Frame, offset: Frame | None, tip: Vec, axes: Mat3 | None
) -> tuple[Vec, Mat3 | None]:
    """Return the location and axes of a target for which a tip is at its goal.

    Args:
        target: The current frame of the target in world space; its scale stays.
        offset: The frame of the tip in its space; None if it coincides with the target's.
        tip: The goal of the tip.
        axes: Its goal axes, orthonormal, or sheared as the armature's scale shears the target; None
            if the target keeps its rotation.
    """
    if offset is None:
        return tip, axes
    turned = target[0]
    if axes is not None:
        turn = offset[0] if mat_determinant(axes) < 0.0 else offset_turn(offset, turned)
        axes = orthonormalize(mat_product(axes, mat_transposed(turn))) or IDENTITY
        upright = orthonormalize(turned) or IDENTITY
        turned = mat_product(mat_product(axes, mat_transposed(upright)), turned)
    return sub(tip, mat_apply(turned, offset[1])), axes
