"""Trees: chains that share bones or may move their root, read and solved together."""

from __future__ import annotations

from math import dist, inf, isfinite
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
    point_in,
    pose_body,
    seen_from,
)
from fabrik_solver.core.vectors import Mat3, mat_determinant

from ..blender.errors import ProblemError, listed
from ..blender.messages import msg
from .chain import (
    SOLVER_NAMES,
    SolveInput,
    goal_of,
    has_iterations,
    input_of,
    not_finite_error,
    orientation_of,
    read_chain,
    stretch_of,
    tip_of,
)
from .chain_plan import ChainPlan, StartPose
from .results import LIMITED, OFF, Report, SolveResult, explanation
from .solved_pose import SolvedPose
from .solved_scene import SolvedScene
from .tree_plan import TreePlan

REGULAR = 1e-9
"""The share of the largest possible determinant from which on axes count as regular."""


class TreeInput(NamedTuple):
    """All inputs of a tree's solution; equal inputs give the same solution bit for bit.

    Attributes:
        parent: Frame of the first bone's parent, in armature space.
        channels: `FkPose.bits_of` and, for a layer, `SolvedPose.beneath` of the bones.
        chains: The inputs of each chain, or its report if it is not solved.
        start: The pose to solve from instead of the FK pose, if the chain is continuous.
    """

    parent: Frame
    channels: tuple[object, ...]
    chains: tuple[SolveInput | Report, ...]
    start: StartPose | None = None


def read_tree(solved: SolvedScene, tree: TreePlan) -> TreeInput:
    """Return the inputs of a tree."""
    pose = solved.poses[tree.rig.uid]
    parent = WHOLE if tree.root_parent < 0 else solved.frame(tree.rig, tree.root_parent)
    chains = tuple(_member_input(solved, chain) for chain in tree.chains)
    beneath = pose.beneath(tree.bones) if tree.is_layered else None
    if pose.fk.stamp != tree.stamp:
        tree.stamp, tree.bits = pose.fk.stamp, pose.fk.bits_of(tree.runs, -1)
    channels = (*tree.bits, beneath)
    if tree.start_source is None:
        return TreeInput(parent, channels, chains)
    return TreeInput(
        parent, channels, chains, tree.start_source.start_pose(solved.time, len(tree.bones))
    )


def _member_input(solved: SolvedScene, chain: ChainPlan) -> SolveInput | Report:
    try:
        inputs = read_chain(solved, chain, is_member=True)
        if inputs is None:
            return Report("DISABLED")
        pose = solved.poses[chain.rig.uid]
        places = (*inputs.target, *(inputs.pole or ()))
        if not all(isfinite(number) for number in places):
            raise not_finite_error(chain, inputs, chain.rig.from_world(inputs.world))
        if chain.stretches and not _has_length(chain, inputs):
            input_of(chain, pose, inputs)  # Raises if it cannot stretch.
    except ProblemError as problem:
        return Report("INVALID", message=str(problem))
    return inputs


def _has_length(chain: ChainPlan, inputs: SolveInput) -> bool:
    """Return whether a chain is known to have a length: it had one, and only its parent moved."""
    known, parent = chain.input, inputs.parent
    if known is None or known.parent == parent:
        return known is not None
    return _is_regular(known.parent[0]) and _is_regular(parent[0])


def _is_regular(axes: Mat3) -> bool:
    """Return whether axes are far from giving any vector zero length; False if not finite."""
    largest = max(map(abs, axes))
    return REGULAR * largest * largest * largest < abs(mat_determinant(axes)) < inf


def solve_tree(tree: TreePlan, pose: SolvedPose, inputs: TreeInput) -> SolveResult:
    """Return the solution of a tree.

    Raises:
        ProblemError: If an input is not finite, or overflows.
    """
    working = [i for i, own in enumerate(inputs.chains) if isinstance(own, SolveInput)]
    if not working:
        reports = tuple(own for own in inputs.chains if isinstance(own, Report))
        return SolveResult(inputs, (), (), reports, {}, {})
    try:
        posture = _solve(tree, pose, inputs)
    except ProblemError as problem:
        broken = Report("INVALID", message=str(problem))
        reports = tuple(own if isinstance(own, Report) else broken for own in inputs.chains)
        return SolveResult(inputs, (), (), reports, {}, {})
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


def _solve(tree: TreePlan, pose: SolvedPose, inputs: TreeInput) -> BodyPosture:
    start = inputs.start
    try:
        given, pulls = solver_input(tree, pose, inputs)
        if start is not None and start.rotations:
            given = given.started(start.rotations, start.location)
        return pose_body(given, pulls)
    except (ValueError, ArithmeticError):
        own = next(own for own in inputs.chains if isinstance(own, SolveInput))
        raise not_finite_error(tree.chains[0], own, tree.rig.from_world(own.world)) from None


def solver_input(
    tree: TreePlan, pose: SolvedPose, inputs: TreeInput
) -> tuple[BodyInput, list[Pull | None]]:
    """Return a tree in its FK pose, and the goal and settings of each chain; None if it is off."""
    has_start = inputs.start is not None and len(inputs.start.rotations) > 0
    pulls: list[Pull | None] = []
    for chain, own in zip(tree.chains, inputs.chains, strict=True):
        if isinstance(own, SolveInput):
            # The start pose faces the pole already.
            pulls.append(_pull_of(tree, chain, pose, own._replace(pole=None) if has_start else own))
        else:
            pulls.append(None)
    return _input_of(tree, pose, inputs), pulls


def _is_root_free(tree: TreePlan, inputs: TreeInput) -> bool:
    """Return whether an active chain may move the first bone."""
    return any(
        isinstance(own, SolveInput) and chain.is_root_free and chain.bones[0] == tree.bones[0]
        for chain, own in zip(tree.chains, inputs.chains, strict=True)
    )


def _pull_of(tree: TreePlan, chain: ChainPlan, pose: SolvedPose, inputs: SolveInput) -> Pull:
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


def _input_of(tree: TreePlan, pose: SolvedPose, inputs: TreeInput) -> BodyInput:
    """Return a tree in its FK pose; only its parent has moved, mostly."""
    key = inputs.channels, [isinstance(c, SolveInput) and c.fk_state for c in inputs.chains]
    if tree.body is None or tree.body[0] != key:
        tree.body = key, _read_body(tree, pose, inputs)
    return tree.body[1].carried(inputs.parent)


def _read_body(tree: TreePlan, pose: SolvedPose, inputs: TreeInput) -> BodyInput:
    places = {bone: place for place, bone in enumerate(tree.bones)}
    limits: list[Limit | None] = [None] * len(places)
    stiffness = [0.0] * len(places)
    members: list[Member] = []
    for chain, own, bends in zip(tree.chains, inputs.chains, tree.bends, strict=True):
        bones = [places[bone] for bone in chain.bones]
        members.append(Member(bones, tip_of(chain, pose), *bends, chain.has_hand))
        if isinstance(own, SolveInput):
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


def _report(tree: TreePlan, i: int, inputs: TreeInput, posture: BodyPosture) -> Report:
    own, outcome = inputs.chains[i], posture.outcomes[i]
    if isinstance(own, Report) or outcome is None:
        return cast(Report, own)
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
        if isinstance(own, SolveInput) and chain is not tree.chains[i] and bones & set(chain.bones)
    ]
    if not others and posture is not None:
        own = cast(SolveInput, inputs.chains[i])
        return explanation(posture, tree.chains[i].stretches, has_iterations(own.settings))
    return msg(
        "It shares bones with {others}, and not all targets can be reached: increase "
        "its Weight, or move a target",
        others=listed(others),
    )


def solve_member(
    solved: SolvedScene, tree: TreePlan, item: int
) -> tuple[ChainInput, Posture, Frame]:
    """Solve one constraint of a tree (see `solving.solve_constraint`).

    Raises:
        ProblemError: If the constraint is off or invalid, or shares all of its bones.
    """
    inputs = read_tree(solved, tree)
    place = tree.items.index(item)
    own = inputs.chains[place]
    if isinstance(own, Report):
        raise ProblemError(own.message or OFF)
    outcome = _solve(tree, solved.poses[tree.rig.uid], inputs).outcomes[place]
    if outcome is None or outcome.given is None or outcome.posture is None:
        raise ProblemError(
            "All its bones are shared with other constraints: no bone of its own can bend"
        )
    return outcome.given, outcome.posture, own.world
