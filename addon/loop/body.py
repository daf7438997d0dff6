"""Chains that share bones, or whose root is free: read from Blender and solved together."""

from __future__ import annotations

from math import dist, isfinite
from typing import NamedTuple, cast

from ..blender.errors import ProblemError, listed
from ..core import (
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
from .body_plan import BodyPlan
from .chain_plan import Begun, ChainPlan
from .explain import LIMITED, explanation
from .results import OFF, Answer, Report
from .solved_pose import SolvedPose
from .solved_scene import SolvedScene
from .task import (
    SOLVER_NAMES,
    Task,
    goal_of,
    has_iterations,
    infinite,
    input_of,
    orientation_of,
    read_chain,
    stretch_of,
    tip_of,
)


class BodyTask(NamedTuple):
    """All that the solution of a body depends on, to the last bit.

    Attributes:
        parent: The frame of the first bone's parent, in armature space.
        channels: What `SolvedPose.bits_of` and, of a layer, `SolvedPose.beneath` tell of the bones.
        tasks: What each chain is to do, or what it reports instead.
        begun: What it is solved from instead of its FK pose, if it is solved as a shot.
    """

    parent: Frame
    channels: tuple[object, ...]
    tasks: tuple[Task | Report, ...]
    begun: Begun | None = None


def read_body(solved: SolvedScene, body: BodyPlan) -> BodyTask:
    """Return what is to be solved for the chains of a body."""
    pose = solved.poses[body.rig.uid]
    parent = WHOLE if body.root_parent < 0 else solved.frame(body.rig, body.root_parent)
    tasks = tuple(_member_task(solved, chain) for chain in body.chains)
    beneath = pose.beneath(body.bones) if body.is_layered else None
    channels = (*pose.bits_of(body.runs, -1), beneath)
    if body.shot is None:
        return BodyTask(parent, channels, tasks)
    return BodyTask(parent, channels, tasks, body.shot.begun(solved.time, len(body.bones)))


def _member_task(solved: SolvedScene, chain: ChainPlan) -> Task | Report:
    try:
        task = read_chain(solved, chain, is_member=True)
        if task is None:
            return Report("DISABLED")
        pose = solved.poses[chain.rig.uid]
        places = (*task.target, *(task.pole or ()))
        if not all(isfinite(number) for number in places):
            raise infinite(chain, task, chain.rig.from_world(task.world))
        if chain.stretches:
            input_of(chain, pose, task)  # It may have to be refused.
    except ProblemError as problem:
        return Report("INVALID", message=str(problem))
    return task


def body_answer(body: BodyPlan, pose: SolvedPose, task: BodyTask) -> Answer:
    """Return the solution of a body.

    Raises:
        ProblemError: If a number that went in is not finite, or too large to reckon with.
    """
    working = [i for i, own in enumerate(task.tasks) if isinstance(own, Task)]
    if not working:
        reports = tuple(own for own in task.tasks if isinstance(own, Report))
        return Answer(task, (), (), reports, {}, {})
    try:
        posture = _solve(body, pose, task)
    except ProblemError as problem:
        broken = Report("INVALID", message=str(problem))
        reports = tuple(own if isinstance(own, Report) else broken for own in task.tasks)
        return Answer(task, (), (), reports, {}, {})
    bones = {bone for i in working for bone in body.chains[i].bones}
    places = [place for place, bone in enumerate(body.bones) if bone in bones]
    rotations = [number for place in places for number in posture.rotations[place]]
    reports = tuple(_report(body, i, task, posture) for i in range(len(body.chains)))
    scales = {
        bone: posture.scales[body.bones.index(bone)]
        for i in working
        if body.chains[i].stretches
        for bone in body.chains[i].bones
    }
    locations = {body.bones[0]: posture.location} if _is_root_free(body, task) else {}
    posed = [body.bones[place] for place in places]
    return Answer(task, posed, rotations, reports, scales, locations)


def _solve(body: BodyPlan, pose: SolvedPose, task: BodyTask) -> BodyPosture:
    begun = task.begun
    try:
        given, pulls = solver_input(body, pose, task)
        if begun is not None and begun.rotations:
            given = given.started(begun.rotations, begun.location)
        return pose_body(given, pulls)
    except (ValueError, ArithmeticError):
        own = next(own for own in task.tasks if isinstance(own, Task))
        raise infinite(body.chains[0], own, body.rig.from_world(own.world)) from None


def solver_input(
    body: BodyPlan, pose: SolvedPose, task: BodyTask
) -> tuple[BodyInput, list[Pull | None]]:
    """Return a body under its FK pose, and what each chain is to do."""
    is_begun = task.begun is not None and len(task.begun.rotations) > 0
    pulls: list[Pull | None] = []
    for chain, own in zip(body.chains, task.tasks, strict=True):
        if isinstance(own, Task):
            # The poses of a shot face their poles already.
            pulls.append(_pull(body, chain, pose, own._replace(pole=None) if is_begun else own))
        else:
            pulls.append(None)
    return _input_of(body, pose, task), pulls


def _is_root_free(body: BodyPlan, task: BodyTask) -> bool:
    """Return whether a chain that is solved may move the first bone."""
    return any(
        isinstance(own, Task) and chain.is_root_free and chain.bones[0] == body.bones[0]
        for chain, own in zip(body.chains, task.tasks, strict=True)
    )


def _pull(body: BodyPlan, chain: ChainPlan, pose: SolvedPose, task: Task) -> Pull:
    settings = task.settings
    is_free = chain.is_root_free and chain.bones[0] == body.bones[0]
    undone = chain.rig.from_world(task.world)
    tip = None if task.axes is None else orientation_of(task, task.axes).seen_from(undone[0])
    return Pull(
        seen_from(undone, goal_of(task)),
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


def _input_of(body: BodyPlan, pose: SolvedPose, task: BodyTask) -> BodyInput:
    places = {bone: place for place, bone in enumerate(body.bones)}
    limits: list[Limit | None] = [None] * len(places)
    stiffness = [0.0] * len(places)
    members: list[Member] = []
    for chain, own, bends in zip(body.chains, task.tasks, body.bends, strict=True):
        bones = [places[bone] for bone in chain.bones]
        members.append(Member(bones, tip_of(chain, pose), *bends, chain.has_hand))
        if isinstance(own, Task):
            for place, limit, stiff in zip(
                bones, *chain.joints.now(own.fk_state.joints), strict=False
            ):
                limits[place], stiffness[place] = limit, stiff
    return BodyInput(
        [body.rig.bone(bone) for bone in body.bones],
        [pose.posed_local(bone) for bone in body.bones],
        [places.get(body.rig.parents[bone], -1) for bone in body.bones],
        task.parent,
        members,
        limits,
        stiffness,
    )


def _report(body: BodyPlan, i: int, task: BodyTask, posture: BodyPosture) -> Report:
    own, outcome = task.tasks[i], posture.outcomes[i]
    if isinstance(own, Report) or outcome is None:
        return cast(Report, own)
    error = dist(point_in(own.world, outcome.tip), own.target)
    begun = "" if task.begun is None else task.begun.note
    message = own.note or begun or _why(body, i, task, outcome)
    return Report(outcome.state, round(error, 6), outcome.iterations_used, message)


def _why(body: BodyPlan, i: int, task: BodyTask, outcome: MemberOutcome) -> str:
    """Return why a chain of a body is not on its target; empty if it is."""
    if outcome.state == "REACHED":
        return ""
    posture, bones = outcome.posture, set(body.chains[i].bones)
    if outcome.state == "LIMITED":
        return explanation(posture, False) if posture and posture.has_orientation_error else LIMITED
    others = [
        chain.name
        for chain, own in zip(body.chains, task.tasks, strict=True)
        if isinstance(own, Task) and chain is not body.chains[i] and bones & set(chain.bones)
    ]
    if not others and posture is not None:
        own = cast(Task, task.tasks[i])
        return explanation(posture, body.chains[i].stretches, has_iterations(own.settings))
    return (
        f"It shares bones with {listed(others)}, and not all targets can be reached: increase "
        "its Weight, or move a target"
    )


def present_member(
    solved: SolvedScene, body: BodyPlan, item: int
) -> tuple[ChainInput, Posture, Frame]:
    """Solve one constraint of a body (see `solving.present`).

    Raises:
        ProblemError: If the constraint is off, cannot work, or has no bones of its own.
    """
    task = read_body(solved, body)
    place = body.items.index(item)
    own = task.tasks[place]
    if isinstance(own, Report):
        raise ProblemError(own.message or OFF)
    outcome = _solve(body, solved.poses[body.rig.uid], task).outcomes[place]
    if outcome is None or outcome.given is None or outcome.posture is None:
        raise ProblemError(
            "All its bones are shared with other constraints: no bone of its own can bend"
        )
    return outcome.given, outcome.posture, own.world
