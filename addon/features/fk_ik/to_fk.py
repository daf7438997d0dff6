"""Snapping IK to FK: moving targets and poles so that the solved pose matches the FK pose."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import dist
from typing import Any

import bpy

from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    length,
    mat_apply,
    mat_columns,
    orthonormalize,
)

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import set_span
from ...blender.messages import msg, recalled
from ...blender.moving import (
    channels_of,
    is_ever_held,
    move_to,
    owner_of,
    place_of,
    refuse_held,
    refuse_unmovable,
)
from ...blender.precision import rounding_of
from ...blender.refusals import refuse_unkeyable
from ...blender.rotation import CHANNELS, LOCATION, continuous, mode_of
from ...blender.skeleton import Point
from ...editing.constraints import is_on
from ...editing.placed import placed_among
from ...editing.playing import updated
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...plan.tree_plan import TreePlan
from ...settings.muting import full_influence, in_fk, muting
from ...settings.properties import settings
from ...ui.sections import is_exact
from .applying import (
    Values,
    apply_pose,
    fk_values,
    key_values,
    posed_channels,
    refuse_driven,
    shown_values,
)
from .goal import FkGoal, PoleOffset, fk_goal
from .snap import (
    NEAR,
    ROUNDED,
    PosePoints,
    SnapResult,
    bones_length,
    compared,
    concerning,
    farthest,
    keeping_unkeyed,
    on_top,
    pose_points,
    restored_frame,
    sharing,
    snappable_chains,
)
from .span import Span, key_influence, key_takeover

ROUNDS = 8
"""Maximum number of passes over targets that may depend on each other."""


class SnapControl:
    """A target or pole to move, and its channel values at each frame.

    Attributes:
        point: The target or pole.
        names: Names of the written channels.
        before: Values of the channels before the snap.
        is_moved: Whether the snap has moved it at any frame.
        rows: Values of each channel at the frames.
    """

    def __init__(self, point: Point, turns: bool, moves: bool = True) -> None:
        """Copy the current channel values.

        Args:
            point: The target, pole or other control.
            turns: Whether the control's rotation is written.
            moves: Whether the control's location is written.
        """
        self.point = point
        self.names = channels_of(point, turns)[not moves :]
        self.before = self._values()
        self.is_moved = False
        self.rows: list[list[list[float]]] = [[] for _ in self.names]

    @property
    def owner(self) -> Any:
        """The object or pose bone, looked up each time."""
        return owner_of(self.point)

    def _values(self) -> list[list[float]]:
        return [list(getattr(self.owner, name)) for name in self.names]

    def record(self) -> None:
        """Append the channel values of a frame."""
        for row, values in zip(self.rows, self._values(), strict=True):
            row.append(values)

    def restore(self) -> None:
        """Restore the channel values from before the snap."""
        for name, values in zip(self.names, self.before, strict=True):
            setattr(self.owner, name, values)

    def key(self, span: Span) -> None:
        """Insert keys with the recorded values."""
        owner = self.owner
        for name, rows, original in zip(self.names, self.rows, self.before, strict=True):
            if name != CHANNELS[LOCATION][0]:
                rows = continuous(mode_of(owner), rows)
            columns = list(zip(*rows, strict=True))
            set_span(owner, name, span.frames, columns, span.guards, original)


class Snap:
    """Constraints to snap together, with their targets and poles.

    Attributes:
        armature: The armature.
        chains: The constraints.
        yielding: Constraints that ground contact or a walk keeps away from the FK pose.
        others: Constraints that are solved together with them (see `sharing`).
        channels: The channels that the others pose.
        values: Shown values of these channels at each frame.
        layers: Constraints on top, muted during the snap.
        targets: The target of each constraint; None if it stays.
        poles: The pole of each constraint; None without a pole, or if it stays.
        turned: The other controls of each constraint, which keep their location.
        unmoved: Why a target or pole stays, by index of the constraint.
    """

    def __init__(
        self,
        armature: bpy.types.Object,
        indices: Sequence[int],
        span: Span,
        still: Collection[str] = (),
    ) -> None:
        """Check whether the constraints can be snapped, without changing anything.

        Args:
            armature: The armature.
            indices: Indices of the constraints.
            span: The frames.
            still: Bones of the armature to leave in place even if they are targets.

        Raises:
            ProblemError: If the constraints can't be snapped.
            UnsnappableError: If only a single constraint can't be snapped.
        """
        self.chains = snappable_chains(armature, indices, span)
        for chain in self.chains:
            with concerning(chain):
                _refuse_motion(chain)
        self.yielding: list[ChainPlan] = []
        self.armature, self._span, self._placed = armature, span, set[int]()
        self.layers = on_top(self.chains)
        self.others = sharing(self.chains) if span.switches else []
        self.channels = posed_channels(self.others)
        refuse_driven(armature, self.channels)
        self.values: list[Values] = []
        self.starts = [_start(chain, indices) for chain in self.chains]
        self.unmoved: dict[int, str] = {}
        # Poles keep their first location relative to their chains.
        self.offsets: list[PoleOffset | None] = [None] * len(self.chains)
        used_targets: set[tuple[int, int]] = set()
        self.targets = [self._target(chain, indices, still, used_targets) for chain in self.chains]
        self.poles = [self._pole(chain, used_targets) for chain in self.chains]
        self.turned = [self._turned(chain) for chain in self.chains]
        if span.is_keyed:
            for chain, controls in zip(self.chains, self._by_chain(), strict=True):
                with concerning(chain):
                    for control in controls:
                        refuse_unkeyable(control.point.object)

    def _target(
        self,
        chain: ChainPlan,
        indices: Sequence[int],
        still: Collection[str],
        used_targets: set[tuple[int, int]],
    ) -> SnapControl | None:
        """Return a chain's target unless it stays; note the reason if another chain moves it.

        Args:
            chain: The chain.
            indices: Indices of the constraints.
            still: See `__init__`.
            used_targets: The targets of previous chains; this target is added.

        Raises:
            UnsnappableError: If the target can't be moved.
        """
        target = chain.target
        assert target is not None
        if target.object == self.armature and target.bone >= 0 and owner_of(target).name in still:
            return None
        target_id = target.uid, target.bone
        if target_id in used_targets:
            self.unmoved[chain.item] = msg(
                "“{target}” is also another constraint's target and can't be at both tips: give "
                "each constraint its own target",
                target=owner_of(target).name,
            )
            return None
        used_targets.add(target_id)
        with concerning(chain):
            _refuse_target(chain, target, indices)
        return SnapControl(target, chain.has_hand)

    def _pole(self, chain: ChainPlan, used_targets: set[tuple[int, int]]) -> SnapControl | None:
        """Return a chain's pole if it can be moved; otherwise note the reason."""
        pole = chain.pole
        if pole is None:
            return None
        users = [
            other.name
            for other in planner.current().chains
            if other is not chain and other.pole is not None and _are_same(other.pole, pole)
        ]
        try:
            _refuse_posed(pole)
            refuse_unmovable(pole, turns=False)
            refuse_held(pole)
            if users or (pole.uid, pole.bone) in used_targets:
                user = users[0] if users else chain.name
                raise ProblemError(
                    "“{pole}” is also used by “{user}”, so it wasn't moved: give the chain its "
                    "own pole target",
                    pole=owner_of(pole).name,
                    user=user,
                )
        except ProblemError as problem:
            self.unmoved[chain.item] = str(problem)
            return None
        return SnapControl(pole, turns=False)

    @staticmethod
    def _turned(chain: ChainPlan) -> list[SnapControl]:
        """Return a chain's other controls, which are only rotated.

        Raises:
            UnsnappableError: If a control can't be rotated.
        """
        with concerning(chain):
            for point in chain.controls:
                refuse_unmovable(point, turns=True)
        return [SnapControl(point, True, moves=False) for point in chain.controls]

    def _by_chain(self) -> list[list[SnapControl]]:
        """Return the controls that may be moved, for each chain."""
        rows = zip(self.targets, self.poles, self.turned, strict=True)
        return [[*filter(None, (target, pole)), *turned] for target, pole, turned in rows]

    @property
    def controls(self) -> list[SnapControl]:
        """All targets, poles and other controls that may be moved."""
        return [control for controls in self._by_chain() for control in controls]

    @property
    def keyed(self) -> list[SnapControl]:
        """The controls that were moved and get keys."""
        pairs = zip(self.chains, self._by_chain(), strict=True)
        controls = [controls for chain, controls in pairs if chain not in self.yielding]
        return [c for both in controls for c in both if c.is_moved]

    def settle(self) -> PosePoints:
        """Move all targets and poles to match the evaluated FK pose, and return that pose.

        The poses of `others` follow it.

        Raises:
            ProblemError: If the solved pose doesn't converge to the FK pose.
        """
        self._placed = {placement.chain.item for placement in placed_among(self.chains)}
        if not self.layers:
            points = self._settled()
        else:
            with muting(self.armature, self.layers):
                self._settled()
            points = pose_points(updated(), self.chains)
        points += pose_points(updated(), self.others)
        self.values.append(shown_values(self.armature, self.channels))
        for control in self.controls:
            control.record()
        if self._span.switches:
            self._find_yielding(points)
        return points

    @staticmethod
    def restore(controls: Sequence[SnapControl]) -> None:
        """Restore controls to their values before the snap."""
        for control in controls:
            control.restore()

    def key(self, fk: Values) -> None:
        """Insert keys with the recorded values of each frame.

        Args:
            fk: FK values of the channels before the snap.
        """
        for control in self.keyed:
            control.key(self._span)
        key_values(self.armature, self._span, self.values, fk)

    def _find_yielding(self, expected: PosePoints) -> None:
        """Collect the constraints that ground contact or a walk keeps away from their FK pose.

        Raises:
            UnsnappableError: If there is such a constraint while several frames are snapped.
        """
        if not self._placed:
            return
        with full_influence(self.armature, [chain.item for chain in self.chains]):
            solved = pose_points(updated(), self.chains)
        updated()
        fk_pose = expected[: len(self.chains)]
        for chain, fk_points, solved_points in zip(self.chains, fk_pose, solved, strict=True):
            is_off = farthest(fk_points, solved_points) > NEAR * bones_length(fk_points)
            if chain.item not in self._placed or not is_off:
                continue
            if not self._span.is_range:
                self.yielding.append(chain)
                continue
            with concerning(chain):
                raise ProblemError(
                    "On the Ground or a walk moves “{constraint}” away from its FK pose: switch "
                    "it at one frame, or bake the ground or walk first",
                    constraint=chain.name,
                )

    def _settled(self) -> PosePoints:
        moved: list[tuple[ChainPlan, SnapControl]] = []
        for trial in range(ROUNDS):
            depsgraph = updated()
            moved = []
            for i, chain in enumerate(self.chains):
                with concerning(chain):
                    moved += [(chain, c) for c in self._moved(depsgraph, i, is_first=trial == 0)]
            if not moved:
                return pose_points(depsgraph, self.chains)
        chain, control = moved[0]
        with concerning(chain):
            raise ProblemError(
                "“{target}” can't be moved to the tip, because the chain or another constraint "
                "depends on it: choose another target",
                target=control.owner.name,
            )

    def _moved(self, depsgraph: bpy.types.Depsgraph, i: int, is_first: bool) -> list[SnapControl]:
        """Move a chain's target and pole, and return those that weren't at their goals.

        Args:
            depsgraph: The depsgraph, with the chain in its FK pose.
            i: The index of the chain.
            is_first: Whether this is the first pass, which moves all and leaves other controls for
                later.
        """
        chain, target, pole = self.chains[i], self.targets[i], self.poles[i]
        if chain.item in self._placed and self._span.switches:
            target = None
        goal = fk_goal(depsgraph, chain, self.starts[i], self.offsets[i])
        self.offsets[i] = goal.offset
        moved: list[SnapControl] = []
        goals = [(target, goal.location, goal.axes), (pole, goal.pole, None)]
        if target is not None and not is_first:  # It carries the others, so it moves first.
            goals += self._turns(i, goal)
        for control, wanted, axes in goals:
            if control is None or (wanted is None and axes is None):
                continue
            arm = chain.offset[1] if control is target and chain.offset is not None else ORIGIN
            if _move_to_goal(depsgraph, control, wanted, axes, arm, is_first):
                control.is_moved = True
                moved.append(control)
        return moved

    def _turns(self, i: int, goal: FkGoal) -> list[tuple[SnapControl | None, Vec | None, Any]]:
        """Return the other controls of a chain, which are rotated in place, with their axes."""
        pairs = zip(self.turned[i], goal.turns, strict=True)
        return [(control, None, axes) for control, (_, axes) in pairs]

    def why(self, chain: ChainPlan, is_rounded: bool) -> str:
        """Return why the solved pose of a chain differs from its FK pose.

        Args:
            chain: The constraint.
            is_rounded: Whether rounding can explain it.
        """
        item = settings(chain.rig.object).constraints[chain.item]
        if chain.item in self.unmoved:
            return self.unmoved[chain.item]
        if chain.item in self._placed:
            return msg(
                "On the Ground or a walk moves it off its target: to pose it with the target, "
                "choose Bake to Targets or Bake Steps"
            )
        if item.state == "LIMITED":
            return msg("The FK pose exceeds its joint limits: widen them, or pose it within them")
        if chain.has_hand and chain.pole is not None and 0.0 < item.rotation_weight < 1.0:
            return msg(
                "No pole angle matches the FK pose while Copy Target Rotation has a partial "
                "weight: set it to 1 or 0"
            )
        if softened := _why_soft(chain, item.softness):
            return softened
        if chain in self.others or self.starts[self.chains.index(chain)] > 0:
            return msg(
                "It shares bones with constraints that need another pose: snap them together "
                "with Constraints set to All"
            )
        if is_rounded:
            return ROUNDED
        remedy = (
            msg("scale its bones uniformly")
            if is_exact(item.solver)
            else msg("increase Iterations")
        )
        return recalled(item.message) or msg(
            "The solved pose differs from the FK pose: {remedy}", remedy=remedy
        )


def snap_to_fk(
    armature: bpy.types.Object,
    indices: Sequence[int],
    span: Span,
    still: Collection[str] = (),
) -> SnapResult:
    """Move the targets and poles of constraints so that the solved pose matches the FK pose.

    Args:
        armature: The armature.
        indices: Indices of the constraints.
        span: The frames. A switch enables the constraints at these frames only.
        still: Bones of the armature to leave in place even if they are targets.

    Raises:
        ProblemError: If a constraint can't be snapped; nothing is changed.
    """
    snap = Snap(armature, indices, span, still)
    fk_before = fk_values(armature, snap.channels)
    with restored_frame(span):
        try:
            with in_fk(armature, indices):
                expected = [snap.settle() for _ in span.visit()]
        except BaseException:
            snap.restore(snap.controls)
            raise
        keyed = snap.keyed
        snap.restore([control for control in snap.controls if control not in keyed])
        if snap.channels and not span.is_range:
            apply_pose(armature, snap.values[0])
        owners = [armature, *(control.point.object for control in keyed)]
        with keeping_unkeyed(owners, span):
            if span.is_keyed:
                snap.key(fk_before)
            last = _switch(snap, indices, span) if span.switches else 0.0
        yielding = {chain.item: chain.name for chain in snap.yielding}
        with full_influence(armature, [index for index in indices if index not in yielding]):
            difference, problem = compared([*snap.chains, *snap.others], span, expected, snap.why)
    return SnapResult(difference, problem, yielding=[*yielding.values()], taken_over=last)


def _why_soft(chain: ChainPlan, softness: float) -> str:
    """Return which softness or stiffness changes a solved pose; empty if none does."""
    if softness > 0.0 and chain.stretches:
        return msg("Softness makes Stretch start before full extension: decrease Softness")
    if softness > 0.0:
        return msg("Softness keeps it from being as straight as its FK pose: decrease it")
    bones = pose_bones(chain.rig.object)
    if any(bones[chain.rig.names[i]].fabrik_joint.stiffness > 0.0 for i in chain.bones):
        return msg("Stiff joints change the solved pose: set their Stiffness to 0")
    return ""


def _switch(snap: Snap, indices: Sequence[int], span: Span) -> float:
    """Key the influence of constraints; return the frame at which takeovers end, or else 0."""
    yielding, last = [chain.item for chain in snap.yielding], 0.0
    for index in indices:
        if index in yielding:
            last = key_takeover(snap.armature, index, span)
        else:
            key_influence(snap.armature, index, span, is_on=True)
    return last


def _start(chain: ChainPlan, indices: Sequence[int]) -> int:
    """Return the index of a chain's first bone that no other active constraint poses."""
    for unit in planner.current().units:
        if isinstance(unit, TreePlan) and chain in unit.chains:
            sharing = [c for c in unit.chains if c is not chain and (c.item in indices or is_on(c))]
            shared = {bone for other in sharing for bone in other.bones}
            shared_indices = [index for index, bone in enumerate(chain.bones) if bone in shared]
            return shared_indices[-1] + 1 if shared_indices else 0
    return 0


def _refuse_motion(chain: ChainPlan) -> None:
    if not chain.kind.reaches:
        raise ProblemError(
            "“{chain}” doesn't reach for a target, so it can't match a pose: choose another "
            "constraint",
            chain=chain.name,
        )


def _refuse_target(chain: ChainPlan, target: Point, indices: Sequence[int]) -> None:
    _refuse_posed(target)
    refuse_unmovable(target, chain.has_hand)
    refuse_held(target)
    for other in planner.current().chains:
        is_among = other.rig is chain.rig and other.item in indices
        if is_among or other.target is None or not _are_same(other.target, target):
            continue
        if is_on(other):
            raise ProblemError(
                "“{target}” is also the target of “{other}”, which would "
                "move with it: give “{chain}” its own target, or snap both",
                target=owner_of(target).name,
                other=other.name,
                chain=chain.name,
            )


def _refuse_posed(point: Point) -> None:
    posed = planner.current().posed.get(point.uid, ())
    # A held bone can still be moved within its hold.
    if point.skeleton is not None and point.bone in posed and not is_ever_held(point):
        raise ProblemError(
            "“{point}” is posed by a constraint and can't be moved: choose another target",
            point=owner_of(point).name,
        )


def _are_same(a: Point, b: Point) -> bool:
    return (a.uid, a.bone) == (b.uid, b.bone)


def _axes_distance(axes: Any, expected: Any) -> float:
    """Return the largest distance between orthonormalized axes and the goal axes."""
    actual = orthonormalize(axes)
    if actual is None:
        return 0.0
    return max(dist(a, b) for a, b in zip(mat_columns(actual), mat_columns(expected), strict=True))


def _move_to_goal(
    depsgraph: bpy.types.Depsgraph,
    control: SnapControl,
    wanted: Vec | None,
    axes: Mat3 | None,
    arm: Vec,
    in_any_case: bool,
) -> bool:
    """Move a control unless it is at its goal; return whether it was moved.

    Args:
        depsgraph: The depsgraph.
        control: The control.
        wanted: Its location in world space; None to rotate it in place.
        axes: Its axes in world space; None to leave them.
        arm: The point to move to the goal, in the space of the control.
        in_any_case: Whether to move it even if it is already there.
    """
    actual = place_of(depsgraph, control.point)
    location = wanted or actual[1]
    rounding = rounding_of(depsgraph, control.point)
    tolerance = rounding.place + rounding.turn * length(mat_apply(actual[0], arm))
    is_off = dist(actual[1], location) > tolerance
    is_turned = axes is not None and _axes_distance(actual[0], axes) > rounding.turn
    if not (in_any_case or is_off or is_turned):
        return False
    move_to(depsgraph, control.point, location, axes)
    return True
