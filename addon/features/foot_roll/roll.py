"""A rolling foot: its offset from its target, and its toes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import bpy

from fabrik_solver import Frame, frame_in, inverse
from fabrik_solver.core.vectors import (
    IDENTITY,
    Mat3,
    Quat,
    Vec,
    mat_product,
    mat_transposed,
    quat_about,
    quat_compatible,
    quat_inverse,
    quat_matrix,
    quat_of,
    quat_product,
    slerp,
)
from fabrik_solver.motion.foot_roll import SIDE, Rolled, rolled, toes_of, unbent
from fabrik_solver.motion.sole import Sole

from ...blender.access import pose_bones
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
        break_angle: Largest bend of the ball, in radians.
        pivot: The point of the sole that the foot turns about.
        width: The width of the sole, in lengths of the sole.
    """

    break_angle: float
    pivot: str
    width: float


def roll_values(item: FabrikConstraint) -> RollValues:
    """Return the animated settings of a constraint's roll."""
    roll = roll_settings(item)
    return RollValues(roll.break_angle, roll.pivot, roll.width)


@dataclass(eq=False)
class FootRoll:
    """The roll of a foot, read from its controls, which are children of its target.

    Attributes:
        control: The bone that rolls it. Its rest pose lies on the sole, from the heel to the tip of
            the toes, with Z down.
        toe_control: The bone that rotates the toes, neutral in its rest pose; None without toes.
        toe: The toe bone; -1 without toes.
        length: The length of the sole.
        ball: The joint of the toes in the space of the sole; None without toes.
        sole: The frame of the sole in the space of the target.
        neutral: The axes of the neutral toes in the space of the target.
        rest: The rest axes of the toes in the space of the target.
    """

    control: Point
    toe_control: Point | None
    toe: int
    length: float
    ball: Vec | None
    sole: Frame
    neutral: Mat3
    rest: Mat3

    def __post_init__(self) -> None:
        """Invert the frames that don't change."""
        self._from_target = inverse(self.sole)
        self._from_sole = quat_of(mat_product(mat_transposed(self.rest), self.sole[0]))
        self._to_sole = quat_of(mat_product(self._from_target[0], self.neutral))
        self._rolled_at: tuple[weakref.ref[Snapshot], Rolled] | None = None

    @property
    def controls(self) -> Sequence[Point]:
        """The roll control, and the toe control if there is one."""
        return (self.control,) if self.toe_control is None else (self.control, self.toe_control)

    def offset(self, snapshot: Snapshot, chain: ChainPlan) -> Frame:
        """Return the frame of the foot in the space of its target."""
        return self._offset(chain, self.rolled(snapshot, chain))

    def _offset(self, chain: ChainPlan, result: Rolled) -> Frame:
        moved = frame_in(self.sole, frame_in(result.foot, self._from_target))
        return moved if chain.offset is None else frame_in(moved, chain.offset)

    def rolled(self, snapshot: Snapshot, chain: ChainPlan) -> Rolled:
        """Return how the foot has rolled, cached for an update: leg and toes both need it."""
        last = self._rolled_at
        if last is None or last[0]() is not snapshot:
            turn = snapshot.poses[chain.rig.uid].local(self.control.bone).rotation
            result = self._rolled(quat_matrix(turn), snapshot.cached(chain, roll_values))
            last = self._rolled_at = weakref.ref(snapshot), result
        return last[1]

    def _rolled(self, turn: Mat3, values: RollValues) -> Rolled:
        ball = self.length if self.ball is None else self.ball[1]
        pivot = {"HEEL": 0.0, "TOE": self.length}.get(values.pivot, ball)
        tip, edge = (0.0, self.length, 0.0), 0.5 * values.width * self.length
        sole = Sole(joint=self.ball, tip=tip, edge=edge)
        return rolled(sole, turn, pivot, values.break_angle)

    def toe_rotation(self, snapshot: Snapshot, chain: ChainPlan) -> Quat:
        """Return the local rotation of the toes."""
        control = cast(Point, self.toe_control)
        turn = snapshot.poses[chain.rig.uid].local(control.bone).rotation
        toes = toes_of(self.rolled(snapshot, chain).bend, quat_product(self._to_sole, turn))
        return quat_product(self._from_sole, toes)

    def values(self, chain: ChainPlan) -> RollValues:
        """Return the animated settings of the roll."""
        return roll_values(settings(chain.rig.object).constraints[chain.item])

    def shown(self, depsgraph: bpy.types.Depsgraph, chain: ChainPlan) -> Frame:
        """Return the offset in the evaluated pose."""
        evaluated = chain.rig.object.evaluated_get(depsgraph)
        bone: Any = pose_bones(evaluated)[self.control.bone]
        w, x, y, z = bone.matrix_basis.to_quaternion()
        values = roll_values(settings(evaluated).constraints[chain.item])
        return self._offset(chain, self._rolled(quat_matrix((w, x, y, z)), values))

    def matched(self, chain: ChainPlan, toes: Quat) -> tuple[Frame, list[tuple[Point, Mat3]]]:
        """Return the offset and the axes of the controls that fit a pose.

        The roll takes the bend of the ball up to Break Angle, and the toe control takes the rest.
        The target of a foot on flat toes therefore lies flat. Bank and turn come from the target.
        """
        values = self.values(chain)
        in_sole = quat_product(quat_inverse(self._from_sole), toes)
        bend, rest = unbent(quat_product(in_sole, quat_inverse(self._to_sole)), values.break_angle)
        if self.toe_control is None:
            bend = 0.0
        turn = quat_matrix(quat_about(SIDE, bend))
        turns = [(self.control, mat_product(self.sole[0], turn))]
        if self.toe_control is not None:
            straight = quat_matrix(quat_product(rest, self._to_sole))
            turns.append((self.toe_control, mat_product(self.sole[0], straight)))
        return self._offset(chain, self._rolled(turn, values)), turns


class ToeInput(NamedTuple):
    """All inputs of the toes' pose, compared exactly.

    Attributes:
        channels: The results of `FkPose.bits_of` and, for a layer, `SolvedPose.beneath`.
        rotation: Local rotation of the toes.
        influence: The influence of the constraint.
    """

    channels: tuple[object, ...]
    rotation: Quat
    influence: float


@dataclass(eq=False)
class RolledToes(PrePassBone):
    """The toes of a rolling foot, which stay on the floor while the ball bends."""

    is_known_ahead: ClassVar[bool] = True

    def needs(self) -> list[Point]:
        """Return the controls, and the target that they are relative to."""
        [leg] = self.chains
        return [cast(Point, leg.target), *leg.controls]

    def read(self, snapshot: Snapshot) -> ToeInput | None:
        """Return the inputs of the toes' pose; None if they keep their animation."""
        [leg] = self.chains
        pose = snapshot.poses[self.rig.uid]
        values = pose.settings[leg.item]
        if leg.problem or not values.enabled or values.influence == 0.0:
            return None
        rotation = cast(FootRoll, leg.roll).toe_rotation(snapshot, leg)
        beneath = pose.beneath(self.bones) if self.is_layered else None
        return ToeInput((*pose.fk_bits(self.ranges), beneath), rotation, values.influence)

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the toes' rotation."""
        assert isinstance(inputs, ToeInput)
        posed = snapshot.poses[self.rig.uid].posed_local(self.bone).rotation
        rotation = quat_compatible(inputs.rotation, posed)
        if inputs.influence < 1.0:
            rotation = slerp(posed, rotation, inputs.influence)
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, NOTHING)


def resolve_roll(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Let the foot of a chain roll, if it has a roll control.

    A target of another kind, or in another armature, can't have a control as its child.

    Raises:
        ProblemError: If a named bone doesn't exist, the toes don't rotate with the foot, or a
            control isn't a child of the target.
    """
    if not item.is_property_set("roll"):
        return  # Reading it would store it (see `pointed`).
    options, rig, target = roll_settings(item), chain.rig, chain.target
    is_foot = chain.has_hand and chain.tip_bone >= 0
    if not (options.use and options.control and is_foot and target and target.skeleton is rig):
        return
    foot = chain.bones[-1]
    control = _control(chain, bone_index(rig, options, "control"))
    to_target = inverse(rig.rest_frame(target.bone))
    sole = frame_in(to_target, rig.rest_frame(control.bone))
    length = rig.bone(control.bone).length
    if not (options.toe and options.toe_control):
        chain.roll = FootRoll(control, None, -1, length, None, sole, IDENTITY, IDENTITY)
        return
    toe = bone_index(rig, options, "toe")
    toe_control = _control(chain, bone_index(rig, options, "toe_control"))
    if foot not in rig.chain_up(toe)[:-1] or not rig.bone(toe).inherit_rotation:
        raise ProblemError(
            "“{toe}” doesn't inherit the rotation of “{foot}”, so it can't roll with it: choose "
            "other Toes",
            toe=rig.names[toe],
            foot=rig.names[foot],
        )
    neutral = frame_in(to_target, rig.rest_frame(toe_control.bone))[0]
    in_foot = frame_in(inverse(rig.rest_frame(foot)), rig.rest_frame(toe))
    rest = in_foot if chain.offset is None else frame_in(chain.offset, in_foot)
    ball = frame_in(inverse(sole), rest)[1]
    chain.roll = FootRoll(control, toe_control, toe, length, ball, sole, neutral, rest[0])


def _control(chain: ChainPlan, bone: int) -> Point:
    """Return a control of a foot roll.

    Raises:
        ProblemError: If the control isn't a child of the target, as then its channels aren't
            relative to the target.
    """
    rig, target = chain.rig, cast(Point, chain.target)
    if rig.parents[bone] != target.bone:
        raise ProblemError(
            "“{control}” must be a child of “{target}” to roll the foot: parent it in Edit Mode, "
            "or disable Foot Roll",
            control=rig.names[bone],
            target=rig.names[target.bone],
        )
    return Point(rig.object, rig, bone)


def rolled_toes(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[RolledToes]:
    """Yield the toes of rolling feet."""
    for chain in chains:
        if isinstance(chain.roll, FootRoll) and chain.roll.toe >= 0 and not chain.problem:
            yield RolledToes(rig, chain.roll.toe, [chain])
