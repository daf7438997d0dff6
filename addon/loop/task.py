"""One chain as the solver needs it: read from Blender, and solved."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

from ..blender.errors import ProblemError
from ..core import (
    WHOLE,
    ChainInput,
    Frame,
    Goal,
    Stretch,
    Tip,
    head_in_parent,
    point_in,
    pose_in_world,
)
from ..core.vectors import ORIGIN, Mat3, Vec
from .chain_plan import Begun, ChainPlan, ChainPose, FkState, Scenery, aim_of
from .explain import explanation
from .registry import MOTIONS, SOLVER_NAMES
from .results import Report
from .settings_now import Settings, form
from .solved_pose import SolvedPose
from .solved_scene import SolvedScene


class Task(NamedTuple):
    """All that the solution of a chain depends on, to the last bit.

    Attributes:
        fk_state: Its FK pose.
        settings: The constraint's settings.
        world: Where the armature stands in world space.
        target: The target in world space.
        pole: The pole in world space, if there is one.
        axes: The orientation for the tip bone in world space, if it is to take one.
        note: What is to be said besides, of the chain or else of its goal.
        extra: What a motion depends on besides.
        begun: What it is solved from instead of its FK pose, if it is solved as a shot.
    """

    fk_state: FkState
    settings: Settings
    world: Frame
    target: Vec
    pole: Vec | None
    axes: Mat3 | None
    note: str = ""
    extra: object = None
    begun: Begun | None = None


def read_chain(solved: SolvedScene, chain: ChainPlan, is_member: bool = False) -> Task | None:
    """Return what is to be solved for a constraint, None if it is off.

    Args:
        solved: What was read, with all that was solved before the chain.
        chain: The constraint.
        is_member: Whether it is solved together with others: then a shot is of them all.

    Raises:
        ProblemError: If the constraint cannot work.
    """
    rig = chain.rig
    pose = solved.poses[rig.uid]
    settings = pose.fk.settings[chain.item]
    if not settings.enabled or settings.influence == 0.0:
        return None
    if chain.problem:
        raise ProblemError(chain.problem)
    if settings is not chain.checked:
        _check(chain, settings)
        chain.checked = settings
    parent = WHOLE if chain.root_parent < 0 else solved.frame(rig, chain.root_parent)
    fk_state = chain.fk_state
    bias = settings.chain_bias
    beneath = pose.beneath(chain.bones) if chain.is_layered else None
    stamp = (pose.fk.stamp, parent, bias, beneath)
    if fk_state is None or stamp != chain.stamp:
        chain.stamp = stamp
        joints = tuple([pose.fk.joints[bone] for _, bone in chain.joints.asked])
        channels = (*pose.bits_of(chain.runs, chain.tip_bone), beneath)
        now = FkState(channels, parent, joints, bias)
        if fk_state is None or now != fk_state:
            fk_state = chain.fk_state = now
            chain.input = None
    world = solved.world(rig.object, rig.uid)
    pole = None if chain.pole is None else solved.point(chain.pole)
    aim = aim_of(solved, chain)
    if chain.goal_source is not None:
        aim = chain.goal_source.goal(solved, chain, aim)
    extra = None if chain.motion is None else chain.motion.read(solved, chain)
    shot = None if is_member else chain.shot
    begun = None if shot is None else shot.begun(solved.time, len(chain.bones))
    note = chain.note or aim.note
    return Task(fk_state, settings, world, aim.place, pole, aim.axes, note, extra, begun)


def _check(chain: ChainPlan, settings: Settings) -> None:
    form().check(tuple(settings))
    if settings.weight <= 0.0 and chain.motion is None:
        raise ProblemError(
            "Weight is 0, so the constraint has no effect: increase it, or disable the constraint"
        )
    if settings.solver not in SOLVER_NAMES:
        raise ProblemError(
            f"Solver is animated to the invalid number {settings.solver}: correct its F-curve or "
            "driver"
        )
    if MOTIONS.get(SOLVER_NAMES[settings.solver]) is not chain.motion:
        raise ProblemError(
            "Only solvers that reach a target can be switched by animation: animate the "
            "Influence of two constraints instead"
        )
    if SOLVER_NAMES[settings.solver] != "TWO_BONE":
        return
    # A hand whose tail is the tip is the third bone of a limb, or the second if it is let go of.
    count, wanted = len(chain.bones), 2
    if chain.has_hand and chain.tip_bone >= 0:
        count -= 1
    elif chain.has_hand and count != 2:
        wanted = 3
    if count != wanted:
        raise ProblemError(
            f"Two Bone requires a chain of {wanted} bones, and this one has {count}: set Chain "
            f"Length to {wanted}, or choose another solver"
        )


def solve_chain(chain: ChainPlan, pose: SolvedPose, task: Task) -> ChainPose:
    """Return how a chain stands when it is solved.

    Args:
        chain: The constraint.
        pose: Its armature.
        task: What was read for it last.

    Raises:
        ProblemError: If a number that went in is not finite, or too large to reckon with.
    """
    settings = task.settings
    undone = chain.rig.from_world(task.world)
    try:
        given = input_of(chain, pose, task)
        if chain.motion is not None:
            scenery = Scenery(
                task.world, undone, task.target, settings.influence, settings.tolerance
            )
            return noted(chain.motion.pose(given, scenery, task.extra), chain.note)
        posture, error = pose_in_world(
            given,
            (task.world, undone),
            goal_of(task),
            SOLVER_NAMES[settings.solver],
            settings.iterations,
            settings.tolerance,
            settings.influence,
            None if task.axes is None else orientation_of(task, task.axes),
            stretch_of(settings) if chain.stretches else None,
            () if task.begun is None else task.begun.rotations,
        )
    except (ValueError, ArithmeticError):
        raise infinite(chain, task, undone) from None
    message = task.note or ("" if task.begun is None else task.begun.note)
    if not message and posture.state != "REACHED":
        message = explanation(posture, chain.stretches, has_iterations(settings))
    # To a micrometre: what is below that differs from frame to frame, and means nothing.
    report = Report(posture.state, round(error, 6), posture.solution.iterations_used, message)
    return ChainPose(posture, report)


def has_iterations(settings: Settings) -> bool:
    """Return whether a solver comes nearer to the target with more iterations."""
    return SOLVER_NAMES[settings.solver] != "TWO_BONE"


def noted(posed: ChainPose, note: str) -> ChainPose:
    """Return how a chain stands, with what the user should know of it besides."""
    report = posed.report
    return posed._replace(report=report._replace(message=note)) if note else posed


def infinite(chain: ChainPlan, task: Task, undone: Frame) -> ProblemError:
    """Return what of a task is not finite, in a sentence."""
    for place, source in ((task.target, chain.target), (task.pole, chain.pole)):
        if place is not None and source is not None:
            x, y, z = point_in(undone, place)
            if not isfinite(x + y + z):
                name = source.object.name
                return ProblemError(f"“{name}” has an invalid position: check its transform")
    return ProblemError(
        "A bone of the chain, or one of its parents, has an invalid position: clear its "
        "location, rotation and scale"
    )


def goal_of(task: Task) -> Goal:
    """Return the goal in world space.

    The poses of a shot face the pole already.
    """
    settings = task.settings
    is_begun = task.begun is not None and len(task.begun.rotations) > 0
    return Goal(
        task.target,
        None if is_begun else task.pole,
        settings.pole_angle,
        settings.pole_weight,
        settings.softness,
        settings.swing,
    )


def stretch_of(settings: Settings) -> Stretch:
    """Return how far the bones may grow."""
    return Stretch(settings.stretch_max, settings.use_volume)


def orientation_of(task: Task, axes: Mat3) -> Tip:
    """Return the orientation that the tip bone takes, in world space."""
    return Tip(axes, task.settings.rotation_weight, task.settings.twist_spread)


def input_of(chain: ChainPlan, pose: SolvedPose, task: Task) -> ChainInput:
    """Return a chain under its FK pose.

    Args:
        chain: The constraint.
        pose: Its armature.
        task: What was read for it last.

    Raises:
        ValueError: If a number that went in is not finite.
        ProblemError: If it is to stretch, and has no length.
    """
    if chain.input is None:
        bones = [chain.rig.bone(bone) for bone in chain.bones]
        locals_ = [pose.posed_local(bone) for bone in chain.bones]
        limits, stiffness = chain.joints.now(task.fk_state.joints)
        chain.input = ChainInput(
            bones,
            locals_,
            tip_of(chain, pose),
            task.fk_state.parent,
            chain.rest_bend,
            limits,
            stiffness,
            chain.has_hand,
            chain.limb_bend,
            task.settings.chain_bias,
        )
        if chain.stretches and chain.input.chain.scale == 0.0:
            name, chain.input = chain.rig.names[chain.bones[0]], None
            raise ProblemError(
                f"The chain from “{name}” on has zero length and cannot stretch: change the "
                "scale of its bones, or disable Stretch"
            )
    return chain.input


def tip_of(chain: ChainPlan, pose: SolvedPose) -> Vec:
    """Return where the tip is in the space of the chain's last bone."""
    if chain.tip_bone >= 0 and chain.has_hand:
        return ORIGIN
    if chain.tip_bone >= 0:
        return head_in_parent(chain.rig.bone(chain.tip_bone), pose.local(chain.tip_bone))
    return (0.0, chain.rig.bone(chain.bones[-1]).length, 0.0)
