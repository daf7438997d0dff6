"""Trees: chains that share bones or may move their root, and are solved together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import dist, isfinite
from typing import NamedTuple, cast

from fabrik_solver import (
    WHOLE,
    BodyInput,
    BodyPosture,
    ChainInput,
    Frame,
    Limit,
    Member,
    MemberOutcome,
    Posture,
    Pull,
    RestBend,
    Slab,
    is_on_target,
    judged,
    point_in,
    pose_body,
    seen_from,
    unit_rotations,
)
from fabrik_solver.core.constraints import ConstraintSpaces
from fabrik_solver.core.vectors import ORIGIN, Vec, add

from ..blender.access import pose_bones
from ..blender.errors import ProblemError, listed
from ..blender.messages import msg
from ..body.flexion import bend_side
from ..plan.chain_plan import ChainPlan, Report, StartPose
from ..plan.registry import SOLVER_NAMES
from ..plan.results import LIMITED, MISSED, NOTHING, OFF, SolveResult, explanation
from ..plan.tree_plan import TreePlan
from ..plan.unit import Unit
from .chain import (
    ReachingChain,
    SolveInput,
    goal_of,
    has_iterations,
    moved_note,
    moved_report,
    not_finite_error,
    orientation_of,
    stretch_of,
    tip_of,
    volume_note,
)
from .root_locks import RootLocks, root_locks, with_locks
from .solved_scene import SolvedPose, SolvedScene

Bends = tuple[list[RestBend | None], list[RestBend | None]]
"""The rest bend of a chain from each of its bones to its tip, with and without the hand."""


class TreeInput(NamedTuple):
    """All inputs of a tree's solution. Equal inputs give the same solution, bit for bit.

    Attributes:
        parent: The frame of the first bone's parent, in armature space.
        channels: The results of `FkPose.bits_of` and, for a layer, `SolvedPose.beneath`.
        chains: The inputs of each chain; None if it isn't solved.
        refused: The report of each chain that isn't solved.
        start: The pose to solve from instead of the FK pose, if the tree is continuous.
        locks: The first bone's locks, if it may move.
    """

    parent: Frame
    channels: tuple[object, ...]
    chains: tuple[SolveInput | None, ...]
    refused: tuple[Report | None, ...]
    start: StartPose | None = None
    locks: RootLocks | None = None


class TreeUnit(Unit):
    """A tree of chains."""

    plan: TreePlan

    def __init__(self, plan: TreePlan) -> None:
        """Start without a result."""
        super().__init__(plan)
        self._members = [ReachingChain(chain, is_member=True) for chain in plan.chains]
        self._bits: tuple[object, ...] = ()
        self._stamp: tuple[int, int] | None = None
        self._body: tuple[object, BodyInput] | None = None  # And the inputs it was made from.
        self._posed: tuple[BodyInput, BodyPosture] | None = None

    @cached_property
    def _index_of(self) -> dict[int, int]:
        """The index of each bone in the tree."""
        return {bone: index for index, bone in enumerate(self.plan.bones)}

    @cached_property
    def _bends(self) -> list[Bends]:
        """The rest bends of each chain."""
        return [_bends(chain) for chain in self.plan.chains]

    def read(self, scene: SolvedScene) -> TreeInput:
        """Return the inputs of the tree."""
        tree = self.plan
        pose = scene.poses[tree.rig.uid]
        parent = WHOLE if tree.root_parent < 0 else scene.frame(tree.rig, tree.root_parent)
        read = [_member_input(scene, member) for member in self._members]
        chains, refused = zip(*read, strict=True)
        beneath = pose.beneath(tree.bones) if tree.is_layered else None
        if pose.fk.stamp != self._stamp:
            self._stamp, self._bits = pose.fk.stamp, pose.fk.bits_of(tree.ranges, -1)
        source = tree.start_source
        start = None if source is None else source.start_pose(scene.time, len(tree.bones))
        locks = self._root_locks(scene, chains)
        return TreeInput(parent, (*self._bits, beneath), chains, refused, start, locks)

    def _root_locks(
        self, scene: SolvedScene, chains: Sequence[SolveInput | None]
    ) -> RootLocks | None:
        """Return the first bone's locks, if an active chain may move it."""
        tree = self.plan
        for chain, solve_input in zip(tree.chains, chains, strict=True):
            if solve_input is not None and chain.is_root_free and chain.bones[0] == tree.bones[0]:
                bone = pose_bones(with_locks(scene, tree.rig))[tree.rig.names[tree.bones[0]]]
                return root_locks(bone, chain.root_limits)
        return None

    def solve(self, scene: SolvedScene, inputs: TreeInput) -> SolveResult:
        """Return the solution; problems of the whole tree go into the reports of its chains."""
        tree = self.plan
        working = [i for i, solve_input in enumerate(inputs.chains) if solve_input is not None]
        if not working:
            return _unposed(inputs, Report("DISABLED"))
        try:
            posture = self._posture(scene.poses[tree.rig.uid], inputs)
        except ProblemError as problem:
            return _unposed(inputs, Report("INVALID", message=str(problem)))
        bones = {bone for i in working for bone in tree.chains[i].bones}
        tree_indices = [index for index, bone in enumerate(tree.bones) if bone in bones]
        rotations = [number for index in tree_indices for number in posture.rotations[index]]
        reports = (Report("DISABLED"),) * len(tree.chains)
        scales = {
            bone: posture.scales[self._index_of[bone]]
            for i in working
            if tree.chains[i].stretches
            for bone in tree.chains[i].bones
        }
        locations = {}
        if inputs.locks is not None:
            fk = scene.poses[tree.rig.uid].posed_local(tree.bones[0]).location
            locations[tree.bones[0]] = inputs.locks.kept(posture.location, fk)
        posed = [tree.bones[index] for index in tree_indices]
        return SolveResult(inputs, posed, rotations, reports, scales, locations)

    def measured(
        self, inputs: TreeInput, result: SolveResult, turns: list[float], rounding: float
    ) -> tuple[Report, ...]:
        """Return the reports of the tree's chains, measured on the written pose."""
        if self._posed is None:
            return result.reports
        tree, (body, posture) = self.plan, self._posed
        written = BodyPosture(
            [local.rotation for local in body.locals],
            [local.scale for local in body.locals],
            result.locations.get(tree.bones[0], body.locals[0].location),
            posture.outcomes,
        )
        for bone, turn in zip(result.bones, unit_rotations(turns), strict=True):
            index = self._index_of[bone]
            written.rotations[index] = turn
            written.scales[index] = result.scales.get(bone, written.scales[index])
        frames = body.frames(written)
        displaced = ORIGIN
        if inputs.locks is not None:
            displaced = inputs.locks.displaced(frames[0], self._spaces(body, inputs))
        reports: list[Report] = []
        for i, member in enumerate(body.members):
            joints = [add(joint, displaced) for joint in member.joints(frames)]
            reports.append(_report(tree, i, inputs, posture.outcomes[i], joints, rounding))
        return tuple(reports)

    def beneath(
        self, scene: SolvedScene, reports: tuple[Report, ...], layer: Unit
    ) -> tuple[Report, ...]:
        """Return the reports of the tree's chains after a layer has posed some of its bones too."""
        if self.last is None:
            return reports
        inputs = cast(TreeInput, self.last.inputs)
        note = moved_note(layer)
        read = zip(self.plan.chains, inputs.chains, reports, strict=True)
        return tuple([moved_report(scene, *chain, note) for chain in read])

    def _posture(self, pose: SolvedPose, inputs: TreeInput) -> BodyPosture:
        tree, start = self.plan, inputs.start
        try:
            body, pulls = self.fk_input(pose, inputs)
            if start is not None and start.rotations:
                body = body.started(start.rotations, start.location)
            posture = pose_body(body, pulls)
            self._posed = body, posture
            return posture
        except (ValueError, ArithmeticError):
            solve_input = next(filter(None, inputs.chains))
            raise not_finite_error(
                tree.chains[0], solve_input, tree.rig.from_world(solve_input.world)
            ) from None

    def fk_input(self, pose: SolvedPose, inputs: TreeInput) -> tuple[BodyInput, list[Pull | None]]:
        """Return the tree in its FK pose, and each chain's goal and settings; None if off."""
        tree = self.plan
        has_start = inputs.start is not None and len(inputs.start.rotations) > 0
        pulls: list[Pull | None] = []
        for chain, solve_input in zip(tree.chains, inputs.chains, strict=True):
            if solve_input is not None and has_start:
                # The start pose faces the pole already.
                solve_input = solve_input._replace(pole=None)
            pulls.append(None if solve_input is None else _pull_of(tree, chain, solve_input))
        key = (
            inputs.channels,
            [solve_input and solve_input.fk_state for solve_input in inputs.chains],
            inputs.locks,
        )
        if self._body is None or self._body[0] != key:
            self._body = key, self._read_body(pose, inputs)
        body = self._body[1]
        # Usually only its parent moved.
        return body.carried(inputs.parent, self._slabs(body, inputs)), pulls

    def _slabs(self, body: BodyInput, inputs: TreeInput) -> list[Slab]:
        """Return the limits of the first bone's head, in armature space."""
        if inputs.locks is None:
            return []
        return inputs.locks.slabs(body.bones[0], body.locals[0], self._spaces(body, inputs))

    def _spaces(self, body: BodyInput, inputs: TreeInput) -> ConstraintSpaces:
        """Return the spaces of the first bone's constraints."""
        rest, chain = (
            self.plan.rig.rest_frame(self.plan.bones[0]),
            next(filter(None, inputs.chains)),
        )
        return ConstraintSpaces(body.bones[0], rest, inputs.parent, chain.world)

    def _read_body(self, pose: SolvedPose, inputs: TreeInput) -> BodyInput:
        tree = self.plan
        index_of = self._index_of
        limits: list[Limit | None] = [None] * len(index_of)
        stiffness = [0.0] * len(index_of)
        members: list[Member] = []
        for chain, solve_input, bends in zip(tree.chains, inputs.chains, self._bends, strict=True):
            bones = [index_of[bone] for bone in chain.bones]
            members.append(Member(bones, tip_of(chain, pose), *bends, chain.has_hand))
            if solve_input is not None:
                for index, limit, stiff in zip(
                    bones, *chain.joints.now(solve_input.fk_state.joints), strict=False
                ):
                    limits[index], stiffness[index] = limit, stiff
        locals_ = [pose.posed_local(bone) for bone in tree.bones]
        if inputs.locks is not None:
            limits[0] = inputs.locks.joint(limits[0], locals_[0].rotation)
        return BodyInput(
            [tree.rig.bone(bone) for bone in tree.bones],
            locals_,
            [index_of.get(tree.rig.parents[bone], -1) for bone in tree.bones],
            inputs.parent,
            members,
            limits,
            stiffness,
        )

    def constraint(self, scene: SolvedScene, item: int) -> tuple[ChainInput, Posture, Frame]:
        """Solve one of the tree's constraints; see `solving.solve_constraint`.

        Raises:
            ProblemError: If the constraint is off or invalid, or shares all of its bones.
        """
        inputs = self.read(scene)
        index = self.plan.items.index(item)
        solve_input = inputs.chains[index]
        if solve_input is None:
            report = inputs.refused[index]
            raise ProblemError((report and report.message) or OFF)
        outcome = self._posture(scene.poses[self.plan.rig.uid], inputs).outcomes[index]
        if outcome is None or outcome.fk_chain is None or outcome.posture is None:
            raise ProblemError(
                "Other constraints share all its bones, so none is free to bend: increase Chain "
                "Length"
            )
        return outcome.fk_chain, outcome.posture, solve_input.world


def _member_input(
    scene: SolvedScene, member: ReachingChain
) -> tuple[SolveInput | None, Report | None]:
    """Return a chain's inputs, or its report if it isn't solved."""
    chain = member.plan
    try:
        inputs = member.read(scene)
        if inputs is None:
            return None, Report("DISABLED")
        coordinates = (*inputs.target, *(inputs.pole or ()))
        if not all(isfinite(number) for number in coordinates):
            raise not_finite_error(chain, inputs, chain.rig.from_world(inputs.world))
        if chain.stretches and not member.has_length(inputs):
            member.fk_input(scene.poses[chain.rig.uid], inputs)  # Raises if it can't stretch.
    except ProblemError as problem:
        return None, Report("INVALID", message=str(problem))
    return inputs, None


def _unposed(inputs: TreeInput, report: Report) -> SolveResult:
    """Return a result without bones, and a report for each chain that lacks one."""
    reports = tuple([refused or report for refused in inputs.refused])
    return SolveResult(inputs, (), (), reports, NOTHING, NOTHING)


def _pull_of(tree: TreePlan, chain: ChainPlan, inputs: SolveInput) -> Pull:
    settings = inputs.settings
    is_free = chain.is_root_free and chain.bones[0] == tree.bones[0]
    to_armature = chain.rig.from_world(inputs.world)
    tip = (
        None
        if inputs.axes is None
        else orientation_of(inputs, inputs.axes).seen_from(to_armature[0])
    )
    return Pull(
        seen_from(to_armature, goal_of(inputs)),
        SOLVER_NAMES[settings.solver],
        settings.iterations,
        settings.tolerance,
        settings.influence,
        settings.weight,
        settings.root_weight if is_free else 0.0,
        settings.chain_bias,
        tip,
        stretch_of(chain, settings) if chain.stretches else None,
    )


def _report(
    tree: TreePlan,
    i: int,
    inputs: TreeInput,
    outcome: MemberOutcome | None,
    joints: Sequence[Vec],
    rounding: float,
) -> Report:
    """Return a chain's report, measured on the written pose.

    Args:
        tree: The tree.
        i: The index of the chain.
        inputs: The inputs of the tree.
        outcome: The result of the chain.
        joints: Its joints in the written pose, in armature space.
        rounding: The largest rounding error of a rotation, in radians.
    """
    solve_input = inputs.chains[i]
    if solve_input is None or outcome is None:
        return cast(Report, inputs.refused[i])
    error = dist(point_in(solve_input.world, joints[-1]), solve_input.target)
    state: str = outcome.state
    if solve_input.settings.influence == 1.0:
        target = point_in(tree.rig.from_world(solve_input.world), solve_input.target)
        is_on = is_on_target(joints, target, solve_input.settings.tolerance, rounding)
        posture = outcome.posture
        state = judged(outcome.state, is_on, posture is not None and posture.has_orientation_error)
    start = "" if inputs.start is None else inputs.start.note
    message = solve_input.note or start or _reason(tree, i, inputs, outcome, state)
    return Report(state, round(error, 6), outcome.iterations_used, message)


def _reason(tree: TreePlan, i: int, inputs: TreeInput, outcome: MemberOutcome, state: str) -> str:
    """Return why a chain's tip misses its target, or why the chain doesn't keep its volume."""
    if state == "REACHED":
        return volume_note(tree.chains[i], cast(SolveInput, inputs.chains[i]).settings)
    posture, bones = outcome.posture, set(tree.chains[i].bones)
    if state == "LIMITED":
        return explanation(posture, False) if posture and posture.has_orientation_error else LIMITED
    sharing = [
        chain.name
        for chain, solve_input in zip(tree.chains, inputs.chains, strict=True)
        if solve_input is not None and chain is not tree.chains[i] and bones & set(chain.bones)
    ]
    if not sharing and outcome.state == "REACHED":
        return MISSED
    if not sharing and posture is not None:
        solve_input = cast(SolveInput, inputs.chains[i])
        return explanation(posture, tree.chains[i].stretches, has_iterations(solve_input.settings))
    return msg(
        "It shares bones with {others}, and not all targets can be reached: increase "
        "its Weight, or move a target",
        others=listed(sharing),
    )


def _bends(chain: ChainPlan) -> Bends:
    """Return the rest bends of the parts of a chain that begin at each of its bones."""
    rig, bones = chain.rig, chain.bones
    starts = range(len(bones))
    if not chain.has_hand:
        whole = [bend_side(rig, bones[start:], chain.tip_bone) for start in starts]
        return whole, whole
    limb, hand = bones[:-1], bones[-1]
    limb_bends = [bend_side(rig, limb[start:], hand) if limb[start:] else None for start in starts]
    if chain.tip_bone >= 0:
        return limb_bends, limb_bends  # Only the hand's head reaches the target.
    return [bend_side(rig, bones[start:], -1) for start in starts], limb_bends
