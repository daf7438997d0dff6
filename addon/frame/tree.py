"""Trees: chains that share bones or may move their root, read and solved together."""

from __future__ import annotations

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
    point_in,
    pose_body,
    seen_from,
)

from ..blender.errors import ProblemError, listed
from ..blender.messages import msg
from ..plan.bend_side import bend_side
from ..plan.chain_plan import ChainPlan, Report, StartPose
from ..plan.registry import SOLVER_NAMES
from ..plan.results import LIMITED, NOTHING, OFF, SolveResult, explanation
from ..plan.tree_plan import TreePlan
from ..plan.unit import Unit
from .chain import (
    ReachingChain,
    SolveInput,
    goal_of,
    has_iterations,
    not_finite_error,
    orientation_of,
    stretch_of,
    tip_of,
)
from .solved_scene import SolvedPose, SolvedScene

Bends = tuple[list[RestBend | None], list[RestBend | None]]
"""The rest bend of a chain from each of its bones on, with and without its hand."""


class TreeInput(NamedTuple):
    """All inputs of a tree's solution; equal inputs give the same solution bit for bit.

    Attributes:
        parent: Frame of the first bone's parent, in armature space.
        channels: `FkPose.bits_of` and, for a layer, `SolvedPose.beneath` of the bones.
        chains: The inputs of each chain; None if it is not solved.
        refused: Its report then.
        start: The pose to solve from instead of the FK pose, if the chain is continuous.
    """

    parent: Frame
    channels: tuple[object, ...]
    chains: tuple[SolveInput | None, ...]
    refused: tuple[Report | None, ...]
    start: StartPose | None = None


class TreeUnit(Unit):
    """A tree of chains."""

    plan: TreePlan

    def __init__(self, plan: TreePlan) -> None:
        """Start without a result."""
        super().__init__(plan)
        self._members = [ReachingChain(chain, is_member=True) for chain in plan.chains]
        self._bits: tuple[object, ...] = ()
        self._stamp: tuple[int, int] | None = None
        self._body: tuple[object, BodyInput] | None = None  # After what it was made from.

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
        return TreeInput(parent, (*self._bits, beneath), chains, refused, start)

    def solve(self, scene: SolvedScene, inputs: TreeInput) -> SolveResult:
        """Return the solution; what concerns the whole tree is in the reports of its chains."""
        tree = self.plan
        working = [i for i, own in enumerate(inputs.chains) if own is not None]
        if not working:
            return _unposed(inputs, Report("DISABLED"))
        try:
            posture = self._posture(scene.poses[tree.rig.uid], inputs)
        except ProblemError as problem:
            return _unposed(inputs, Report("INVALID", message=str(problem)))
        bones = {bone for i in working for bone in tree.chains[i].bones}
        places = [place for place, bone in enumerate(tree.bones) if bone in bones]
        rotations = [number for place in places for number in posture.rotations[place]]
        reports = tuple(_report(tree, i, inputs, posture) for i in range(len(tree.chains)))
        scales = {
            bone: posture.scales[tree.bones.index(bone)]
            for i in working
            if tree.chains[i].stretches
            for bone in tree.chains[i].bones
        }
        locations = {tree.bones[0]: posture.location} if _is_root_free(tree, inputs) else {}
        posed = [tree.bones[place] for place in places]
        return SolveResult(inputs, posed, rotations, reports, scales, locations)

    def _posture(self, pose: SolvedPose, inputs: TreeInput) -> BodyPosture:
        tree, start = self.plan, inputs.start
        try:
            given, pulls = self.given(pose, inputs)
            if start is not None and start.rotations:
                given = given.started(start.rotations, start.location)
            return pose_body(given, pulls)
        except (ValueError, ArithmeticError):
            own = next(filter(None, inputs.chains))
            raise not_finite_error(tree.chains[0], own, tree.rig.from_world(own.world)) from None

    def given(self, pose: SolvedPose, inputs: TreeInput) -> tuple[BodyInput, list[Pull | None]]:
        """Return the tree in its FK pose, and each chain's goal and settings; None if it is off."""
        tree = self.plan
        has_start = inputs.start is not None and len(inputs.start.rotations) > 0
        pulls: list[Pull | None] = []
        for chain, own in zip(tree.chains, inputs.chains, strict=True):
            if own is not None and has_start:
                own = own._replace(pole=None)  # The start pose faces the pole already.
            pulls.append(None if own is None else _pull_of(tree, chain, own))
        key = inputs.channels, [own and own.fk_state for own in inputs.chains]
        if self._body is None or self._body[0] != key:
            self._body = key, self._read_body(pose, inputs)
        return self._body[1].carried(inputs.parent), pulls  # Mostly only its parent has moved.

    def _read_body(self, pose: SolvedPose, inputs: TreeInput) -> BodyInput:
        tree = self.plan
        places = {bone: place for place, bone in enumerate(tree.bones)}
        limits: list[Limit | None] = [None] * len(places)
        stiffness = [0.0] * len(places)
        members: list[Member] = []
        for chain, own, bends in zip(tree.chains, inputs.chains, self._bends, strict=True):
            bones = [places[bone] for bone in chain.bones]
            members.append(Member(bones, tip_of(chain, pose), *bends, chain.has_hand))
            if own is not None:
                for place, limit, stiff in zip(
                    bones, *chain.joints.now(own.fk_state.joints), strict=False
                ):
                    limits[place], stiffness[place] = limit, stiff
        return BodyInput(
            [tree.rig.bone(bone) for bone in tree.bones],
            [pose.posed_local(bone) for bone in tree.bones],
            [places.get(tree.rig.parents[bone], -1) for bone in tree.bones],
            inputs.parent,
            members,
            limits,
            stiffness,
        )

    def constraint(self, scene: SolvedScene, item: int) -> tuple[ChainInput, Posture, Frame]:
        """Solve one of its constraints; see `solving.solve_constraint`.

        Raises:
            ProblemError: If the constraint is off or invalid, or shares all of its bones.
        """
        inputs = self.read(scene)
        place = self.plan.items.index(item)
        own = inputs.chains[place]
        if own is None:
            report = inputs.refused[place]
            raise ProblemError((report and report.message) or OFF)
        outcome = self._posture(scene.poses[self.plan.rig.uid], inputs).outcomes[place]
        if outcome is None or outcome.given is None or outcome.posture is None:
            raise ProblemError(
                "Other constraints share all its bones, so none is free to bend: increase Chain "
                "Length"
            )
        return outcome.given, outcome.posture, own.world


def _member_input(
    scene: SolvedScene, member: ReachingChain
) -> tuple[SolveInput | None, Report | None]:
    """Return the inputs of a chain, or its report if it is not solved."""
    chain = member.plan
    try:
        inputs = member.read(scene)
        if inputs is None:
            return None, Report("DISABLED")
        places = (*inputs.target, *(inputs.pole or ()))
        if not all(isfinite(number) for number in places):
            raise not_finite_error(chain, inputs, chain.rig.from_world(inputs.world))
        if chain.stretches and not member.has_length(inputs):
            member.given(scene.poses[chain.rig.uid], inputs)  # Raises if it cannot stretch.
    except ProblemError as problem:
        return None, Report("INVALID", message=str(problem))
    return inputs, None


def _unposed(inputs: TreeInput, report: Report) -> SolveResult:
    """Return a result without bones, with a report for the chains that have none yet."""
    reports = tuple([refused or report for refused in inputs.refused])
    return SolveResult(inputs, (), (), reports, NOTHING, NOTHING)


def _is_root_free(tree: TreePlan, inputs: TreeInput) -> bool:
    """Return whether an active chain may move the first bone."""
    return any(
        own is not None and chain.is_root_free and chain.bones[0] == tree.bones[0]
        for chain, own in zip(tree.chains, inputs.chains, strict=True)
    )


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
        stretch_of(settings) if chain.stretches else None,
    )


def _report(tree: TreePlan, i: int, inputs: TreeInput, posture: BodyPosture) -> Report:
    own, outcome = inputs.chains[i], posture.outcomes[i]
    if own is None or outcome is None:
        return cast(Report, inputs.refused[i])
    error = dist(point_in(own.world, outcome.tip), own.target)
    start = "" if inputs.start is None else inputs.start.note
    message = own.note or start or _reason(tree, i, inputs, outcome)
    return Report(outcome.state, round(error, 6), outcome.iterations_used, message)


def _reason(tree: TreePlan, i: int, inputs: TreeInput, outcome: MemberOutcome) -> str:
    """Return why the tip of a chain is not on its target; empty if it is."""
    if outcome.state == "REACHED":
        return ""
    posture, bones = outcome.posture, set(tree.chains[i].bones)
    if outcome.state == "LIMITED":
        return explanation(posture, False) if posture and posture.has_orientation_error else LIMITED
    others = [
        chain.name
        for chain, own in zip(tree.chains, inputs.chains, strict=True)
        if own is not None and chain is not tree.chains[i] and bones & set(chain.bones)
    ]
    if not others and posture is not None:
        own = cast(SolveInput, inputs.chains[i])
        return explanation(posture, tree.chains[i].stretches, has_iterations(own.settings))
    return msg(
        "It shares bones with {others}, and not all targets can be reached: increase "
        "its Weight, or move a target",
        others=listed(others),
    )


def _bends(chain: ChainPlan) -> Bends:
    """Return the rest bend of a chain from each of its bones on."""
    rig, bones = chain.rig, chain.bones
    places = range(len(bones))
    if not chain.has_hand:
        whole = [bend_side(rig, bones[start:], chain.tip_bone) for start in places]
        return whole, whole
    limb, hand = bones[:-1], bones[-1]
    before = [bend_side(rig, limb[start:], hand) if limb[start:] else None for start in places]
    if chain.tip_bone >= 0:
        return before, before  # Only the head of the hand reaches.
    return [bend_side(rig, bones[start:], -1) for start in places], before
