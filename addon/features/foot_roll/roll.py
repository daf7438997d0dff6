"""A foot that rolls: its offset from its target, and its toes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

from fabrik_solver import WHOLE, Frame, frame_in, inverse, rotation_to
from fabrik_solver.core.vectors import (
    IDENTITY,
    Mat3,
    mat_product,
    mat_transposed,
    orthonormalize,
    quat_about,
    quat_matrix,
    quat_of,
    slerp,
)
from fabrik_solver.motion.foot_roll import SIDE, Rolled, Sole, rolled, toes_of, unbent

from ...blender.errors import ProblemError
from ...blender.skeleton import Point, Skeleton
from ...plan.chain_plan import ChainPlan, Snapshot
from ...plan.pre_pass import PrePassBone
from ...plan.resolving import bone_index
from ...plan.results import NOTHING, SolveResult
from ...settings.properties import FabrikConstraint, settings
from .settings import roll_settings


class RollValues(NamedTuple):
    """The animated settings of a roll.

    Attributes:
        break_angle: The angle by which the ball bends, in radians.
        pivot: What a turn is about.
        width: The width of the sole, in its lengths.
    """

    break_angle: float
    pivot: str
    width: float


def roll_values(item: FabrikConstraint) -> RollValues:
    """Return the animated settings of the roll of a constraint."""
    roll = roll_settings(item)
    return RollValues(roll.break_angle, roll.pivot, roll.width)


@dataclass(eq=False)
class FootRoll:
    """The roll of a foot, read from its control.

    Attributes:
        control: The bone that rolls it. At rest it lies on the sole, from the heel to the tip of
            the toes, with Z down.
        toe_control: The bone that rotates its toes, which are neutral at rest; None without toes.
        toe: The bone of its toes; -1 without toes.
        length: The length of the sole.
        ball: The joint of the toes in the space of the sole; None without toes.
        sole: The frame of the sole in the space of the target.
        neutral: The axes of the neutral toes in the space of the target.
    """

    control: Point
    toe_control: Point | None
    toe: int
    length: float
    ball: tuple[float, float, float] | None
    sole: Frame
    neutral: Mat3

    def __post_init__(self) -> None:
        """Invert the frame of the sole, which doesn't change."""
        self._from_target = inverse(self.sole)

    @property
    def controls(self) -> Sequence[Point]:
        """The control of the roll, and that of the toes."""
        return (self.control,) if self.toe_control is None else (self.control, self.toe_control)

    def offset(self, snapshot: Snapshot, chain: ChainPlan) -> Frame:
        """Return the frame of the foot in the space of its target."""
        return self._offset(chain, self.rolled(snapshot, chain))

    def _offset(self, chain: ChainPlan, result: Rolled) -> Frame:
        moved = frame_in(self.sole, frame_in(result.foot, self._from_target))
        return moved if chain.offset is None else frame_in(moved, chain.offset)

    def rolled(self, snapshot: Snapshot, chain: ChainPlan) -> Rolled:
        """Return how the foot has rolled.

        Raises:
            ProblemError: If its target or its control has zero scale.
        """
        axes = self._seen(snapshot, chain, self.control)
        turn = mat_product(self._from_target[0], axes)
        return self._rolled(turn, snapshot.cached(chain, roll_values))

    def _rolled(self, turn: Mat3, values: RollValues) -> Rolled:
        ball = self.length if self.ball is None else self.ball[1]
        pivot = {"HEEL": 0.0, "BALL": ball, "TOE": self.length}.get(values.pivot, ball)
        sole = Sole(self.length, 0.5 * values.width * self.length, self.ball)
        return rolled(sole, turn, pivot, values.break_angle)

    def toe_axes(self, snapshot: Snapshot, chain: ChainPlan) -> Mat3:
        """Return the axes of the toes in the space of the foot.

        Raises:
            ProblemError: If its target or a control has zero scale.
        """
        bend = self.rolled(snapshot, chain).bend
        straight = self._seen(snapshot, chain, cast(Point, self.toe_control))
        bent = quat_matrix(toes_of(bend, (1.0, 0.0, 0.0, 0.0)))
        axes = mat_product(self._in_target(bent), straight)
        return axes if chain.offset is None else mat_product(mat_transposed(chain.offset[0]), axes)

    def matched(
        self, chain: ChainPlan, foot: Frame, toes: Frame
    ) -> tuple[Frame, list[tuple[Point, Mat3]]]:
        """Return the offset and the axes of the controls that fit a pose.

        The roll takes the bend of the ball up to Break Angle, so that the target of a foot on flat
        toes lies flat, and the toe control takes the rest. Bank and turn are those of the target.
        """
        values = roll_values(settings(chain.rig.object).constraints[chain.item])
        bend, rest = 0.0, (1.0, 0.0, 0.0, 0.0)
        if self.toe >= 0:
            in_foot = orthonormalize(frame_in(inverse(foot), toes)[0]) or IDENTITY
            axes = in_foot if chain.offset is None else mat_product(chain.offset[0], in_foot)
            bent = mat_product(axes, mat_transposed(self.neutral))
            bend, rest = unbent(quat_of(self._in_sole(bent)), values.break_angle)
        turn = quat_matrix(quat_about(SIDE, bend))
        turns = [(self.control, mat_product(self.sole[0], turn))]
        if self.toe_control is not None:
            straight = mat_product(self._in_target(quat_matrix(rest)), self.neutral)
            turns.append((self.toe_control, straight))
        return self._offset(chain, self._rolled(turn, values)), turns

    def _in_target(self, turn: Mat3) -> Mat3:
        """Return a rotation in the axes of the sole as one in those of the target."""
        return mat_product(mat_product(self.sole[0], turn), self._from_target[0])

    def _in_sole(self, turn: Mat3) -> Mat3:
        """Return a rotation in the axes of the target as one in those of the sole."""
        return mat_product(mat_product(self._from_target[0], turn), self.sole[0])

    def _seen(self, snapshot: Snapshot, chain: ChainPlan, control: Point) -> Mat3:
        """Return the axes of a control in the space of the target, without scale.

        Raises:
            ProblemError: If one of them has zero scale.
        """
        rig = chain.rig
        target = orthonormalize(snapshot.frame(rig, cast(Point, chain.target).bone)[0])
        axes = orthonormalize(snapshot.frame(rig, control.bone)[0])
        if target is None or axes is None:
            name = rig.names[control.bone]
            raise ProblemError(
                "“{name}” or its parent has zero scale, so it can't roll the foot: change its "
                "scale",
                name=name,
            )
        return mat_product(mat_transposed(target), axes)


class ToeInput(NamedTuple):
    """All inputs of the pose of toes, compared exactly.

    Attributes:
        channels: The results of `FkPose.bits_of` and, for a layer, `SolvedPose.beneath`.
        axes: Their axes in the space of the foot.
        influence: The influence of the constraint.
    """

    channels: tuple[object, ...]
    axes: Mat3
    influence: float


@dataclass(eq=False)
class RolledToes(PrePassBone):
    """The toes of a foot that rolls: they stay on the floor while the ball bends."""

    is_known_ahead: ClassVar[bool] = True

    def needs(self) -> list[Point]:
        """Return the controls, and the target that they are relative to."""
        [leg] = self.chains
        return [cast(Point, leg.target), *leg.controls]

    def read(self, snapshot: Snapshot) -> ToeInput | None:
        """Return the inputs of their pose; None if they keep their animation.

        Raises:
            ProblemError: If a control has zero scale.
        """
        [leg] = self.chains
        pose = snapshot.poses[self.rig.uid]
        values = pose.settings[leg.item]
        if leg.problem or not values.enabled or values.influence == 0.0:
            return None
        axes = cast(FootRoll, leg.roll).toe_axes(snapshot, leg)
        beneath = pose.beneath(self.bones) if self.is_layered else None
        return ToeInput((*pose.fk_bits(self.ranges), beneath), axes, values.influence)

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return their rotation."""
        assert isinstance(inputs, ToeInput)
        local = snapshot.poses[self.rig.uid].posed_local(self.bone)
        rotation = rotation_to(self.rig.bone(self.bone), inputs.axes, IDENTITY, local)
        if inputs.influence < 1.0:
            rotation = slerp(local.rotation, rotation, inputs.influence)
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, NOTHING)


def resolve_roll(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Let the foot of a chain roll, if it has a control for that.

    A target of another kind, or in another armature, carries no control.

    Raises:
        ProblemError: If a bone that the settings name doesn't exist, or the toes aren't a child.
    """
    if not item.is_property_set("roll"):
        return  # Reading it would store it (see `pointed`).
    options, rig, target = roll_settings(item), chain.rig, chain.target
    is_foot = chain.has_hand and chain.tip_bone >= 0
    if not (options.use and options.control and is_foot and target and target.skeleton is rig):
        return
    foot = chain.bones[-1]
    control = bone_index(rig, options, "control")
    to_target = inverse(rig.rest_frame(target.bone))
    sole = frame_in(to_target, rig.rest_frame(control))
    toe, toe_control, ball, neutral = -1, None, None, IDENTITY
    if options.toe and options.toe_control:
        toe = bone_index(rig, options, "toe")
        toe_control = Point(rig.object, rig, bone_index(rig, options, "toe_control"))
        if rig.parents[toe] != foot or not rig.bone(toe).inherit_rotation:
            raise ProblemError(
                "“{toe}” must be a child of “{foot}” and inherit its rotation to roll with it: "
                "choose other Toes",
                toe=rig.names[toe],
                foot=rig.names[foot],
            )
        neutral = frame_in(to_target, rig.rest_frame(toe_control.bone))[0]
        in_foot = frame_in(inverse(rig.rest_frame(foot)), rig.rest_frame(toe))
        in_target = frame_in(chain.offset or WHOLE, (IDENTITY, in_foot[1]))
        ball = frame_in(inverse(sole), in_target)[1]
    length = rig.bone(control).length
    chain.roll = FootRoll(
        Point(rig.object, rig, control), toe_control, toe, length, ball, sole, neutral
    )


def rolled_toes(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[RolledToes]:
    """Yield the toes of feet that roll."""
    for chain in chains:
        if isinstance(chain.roll, FootRoll) and chain.roll.toe >= 0 and not chain.problem:
            yield RolledToes(rig, chain.roll.toe, [chain])
