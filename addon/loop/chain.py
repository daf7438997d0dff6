"""Reading the inputs of a chain, and solving it."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

from fabrik_solver import (
    SOLVERS,
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
from fabrik_solver.core.vectors import ORIGIN, Mat3, Vec, add

from ..blender.errors import ProblemError
from ..blender.messages import label
from ..settings.properties import AnimatedSettings, settings_form
from .chain_plan import ChainPlan, ChainPose, FkState, MotionContext, StartPose, aim_of
from .registry import MOTIONS, SOLVER_NAMES
from .results import Report, explanation
from .solved_pose import SolvedPose
from .solved_scene import SolvedScene


class SolveInput(NamedTuple):
    """All inputs of a chain's solution; equal inputs give the same solution bit for bit.

    Attributes:
        parent: Frame of the root bone's parent, in armature space.
        fk_state: Its FK state.
        settings: The settings of the constraint.
        world: Frame of the armature in world space.
        target: The goal of the tip in world space.
        pole: The pole in world space, if there is one.
        axes: The goal orientation of the tip bone in world space, if there is one.
        note: The note to report.
        extra: What a motion has read.
        start: The pose to solve from instead of the FK pose, if it is continuous.
        facing: Where it bends if it is nearly straight and has no pole (see `Aim`).
    """

    parent: Frame
    fk_state: FkState
    settings: AnimatedSettings
    world: Frame
    target: Vec
    pole: Vec | None
    axes: Mat3 | None
    note: str = ""
    extra: object = None
    start: StartPose | None = None
    facing: tuple[Vec, float] | None = None


def read_chain(solved: SolvedScene, chain: ChainPlan, is_member: bool = False) -> SolveInput | None:
    """Return the inputs of a constraint; None if it is off.

    Args:
        solved: The scene with all results before the chain.
        chain: The constraint.
        is_member: Whether it belongs to a tree, which then has the start pose.

    Raises:
        ProblemError: If the constraint is invalid.
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
    if (
        fk_state is None
        or chain.is_layered
        or fk_state.bias != settings.chain_bias
        or pose.fk.stamp != chain.stamp
    ):
        fk_state = _fk_state(chain, pose, settings.chain_bias)
    world = solved.world(rig.object, rig.uid)
    pole = None if chain.pole is None else solved.point(chain.pole)
    if pole is not None and chain.pole_tie is not None:
        pole = add(pole, solved.lift(chain, chain.pole_tie))
    aim = aim_of(solved, chain)
    if chain.target_tie is not None:
        aim = aim._replace(place=add(aim.place, solved.lift(chain, chain.target_tie)))
    if chain.goal_source is not None:
        aim = chain.goal_source.goal(solved, chain, aim)
    extra = None if chain.motion is None else chain.motion.read(solved, chain)
    start_source = None if is_member else chain.start_source
    start = None if start_source is None else start_source.start_pose(solved.time, len(chain.bones))
    note = chain.note or aim.note
    facing = None if is_member else aim.facing
    return SolveInput(
        parent, fk_state, settings, world, aim.place, pole, aim.axes, note, extra, start, facing
    )


def _fk_state(chain: ChainPlan, pose: SolvedPose, bias: float) -> FkState:
    """Return the FK state of a chain, the same object if nothing has changed."""
    before = chain.fk_state
    if before is None or pose.fk.stamp != chain.stamp:
        joints = tuple([pose.fk.joints[bone] for _, bone in chain.joints.native])
        channels = pose.fk.bits_of(chain.runs, chain.tip_bone)
    else:
        channels, joints = before.channels, before.joints
    beneath = pose.beneath(chain.bones) if chain.is_layered else None
    now = FkState(channels, beneath, joints, bias)
    chain.stamp = pose.fk.stamp
    if before is not None and now == before:
        return before
    chain.input, chain.fk_state = None, now
    return now


def _check(chain: ChainPlan, settings: AnimatedSettings) -> None:
    settings_form().check(tuple(settings))
    if settings.weight <= 0.0 and chain.motion is None:
        raise ProblemError(
            "Weight is 0, so the constraint has no effect: increase it, or disable the constraint"
        )
    if settings.solver not in SOLVER_NAMES:
        raise ProblemError(
            "Solver has the invalid number {solver}: choose another solver, or correct its F-curve "
            "or driver",
            solver=settings.solver,
        )
    if MOTIONS.get(SOLVER_NAMES[settings.solver]) is not chain.motion:
        raise ProblemError(
            "Only solvers that reach a target can be switched by animation: animate the "
            "Influence of two constraints instead"
        )
    method = SOLVERS.get(SOLVER_NAMES[settings.solver])
    if method is None or method.bones == 0:
        return
    # A hand whose tail is the tip is one bone more, or one of them with a Rotation Weight of 0.
    count, required = len(chain.bones), method.bones
    if chain.has_hand and chain.tip_bone >= 0:
        count -= 1
    elif chain.has_hand and count != required:
        required += 1
    if count != required:
        raise ProblemError(
            "{solver} requires a chain of {required} bones, and this one has {count}: set Chain "
            "Length to {required}, or choose another solver",
            solver=label(method.title),
            required=required,
            count=count,
        )


def solve_chain(chain: ChainPlan, pose: SolvedPose, inputs: SolveInput) -> ChainPose:
    """Return the solved pose of a chain.

    Args:
        chain: The constraint.
        pose: Its armature.
        inputs: The inputs that were read last.

    Raises:
        ProblemError: If an input is not finite, or overflows.
    """
    settings = inputs.settings
    to_armature = chain.rig.from_world(inputs.world)
    try:
        given = input_of(chain, pose, inputs)
        if chain.motion is not None:
            context = MotionContext(
                inputs.world, to_armature, inputs.target, settings.influence, settings.tolerance
            )
            return with_note(chain.motion.pose(given, context, inputs.extra), chain.note)
        posture, error = pose_in_world(
            given,
            (inputs.world, to_armature),
            goal_of(inputs),
            SOLVER_NAMES[settings.solver],
            settings.iterations,
            settings.tolerance,
            settings.influence,
            None if inputs.axes is None else orientation_of(inputs, inputs.axes),
            stretch_of(settings) if chain.stretches else None,
            () if inputs.start is None else inputs.start.rotations,
        )
    except (ValueError, ArithmeticError):
        raise not_finite_error(chain, inputs, to_armature) from None
    message = inputs.note or ("" if inputs.start is None else inputs.start.note)
    if not message and posture.state != "REACHED":
        message = explanation(posture, chain.stretches, has_iterations(settings))
    # Rounded to micrometres; anything below is noise.
    report = Report(posture.state, round(error, 6), posture.solution.iterations_used, message)
    return ChainPose(posture, report)


def has_iterations(settings: AnimatedSettings) -> bool:
    """Return whether more iterations bring the solver closer to the target."""
    return not SOLVERS[SOLVER_NAMES[settings.solver]].is_exact


def with_note(posed: ChainPose, note: str) -> ChainPose:
    """Return a posed chain with a note as its message, if there is one."""
    if note:
        posed.report = posed.report._replace(message=note)
    return posed


def not_finite_error(chain: ChainPlan, inputs: SolveInput, to_armature: Frame) -> ProblemError:
    """Return the error for inputs that are not finite."""
    for place, source in ((inputs.target, chain.target), (inputs.pole, chain.pole)):
        if place is not None and source is not None:
            x, y, z = point_in(to_armature, place)
            if not isfinite(x + y + z):
                name = source.object.name
                return ProblemError(
                    "“{name}” has an invalid position: check its transform", name=name
                )
    return ProblemError(
        "A bone of the chain, or one of its parents, has an invalid position: clear its "
        "location, rotation and scale"
    )


def goal_of(inputs: SolveInput) -> Goal:
    """Return the goal in world space, without the pole if the start pose faces it already."""
    settings = inputs.settings
    has_start = inputs.start is not None and len(inputs.start.rotations) > 0
    if inputs.facing is not None and inputs.pole is None and not has_start:
        hint, weight = inputs.facing
        return Goal(inputs.target, hint, 0.0, weight, settings.softness, settings.swing, True)
    return Goal(
        inputs.target,
        None if has_start else inputs.pole,
        settings.pole_angle,
        settings.pole_weight,
        settings.softness,
        settings.swing,
    )


def stretch_of(settings: AnimatedSettings) -> Stretch:
    """Return the stretch limits."""
    return Stretch(settings.stretch_max, settings.use_volume)


def orientation_of(inputs: SolveInput, axes: Mat3) -> Tip:
    """Return the goal orientation of the tip bone in world space."""
    return Tip(axes, inputs.settings.rotation_weight, inputs.settings.twist_spread)


def input_of(chain: ChainPlan, pose: SolvedPose, inputs: SolveInput) -> ChainInput:
    """Return a chain in its FK pose.

    Args:
        chain: The constraint.
        pose: Its armature.
        inputs: The inputs that were read last.

    Raises:
        ValueError: If an input is not finite.
        ProblemError: If it stretches and has no length.
    """
    given, parent = chain.input, inputs.parent
    if given is not None and given.parent == parent:
        return given
    if given is not None and given.hand is None:
        given = given.carried(parent)  # Nothing else has changed.
    else:
        bones = [chain.rig.bone(bone) for bone in chain.bones]
        locals_ = [pose.posed_local(bone) for bone in chain.bones]
        limits, stiffness = chain.joints.now(inputs.fk_state.joints)
        given = ChainInput(
            bones,
            locals_,
            tip_of(chain, pose),
            parent,
            chain.rest_bend,
            limits,
            stiffness,
            chain.has_hand,
            chain.limb_bend,
            inputs.settings.chain_bias,
        )
    if chain.stretches and given.chain.scale == 0.0:
        raise ProblemError(
            "The chain from “{name}” on has zero length and cannot stretch: change the "
            "scale of its bones, or disable Stretch",
            name=chain.rig.names[chain.bones[0]],
        )
    chain.input = given
    return given


def tip_of(chain: ChainPlan, pose: SolvedPose) -> Vec:
    """Return the location of the tip in the space of the chain's last bone."""
    if chain.tip_bone >= 0 and chain.has_hand:
        return ORIGIN
    if chain.tip_bone >= 0:
        return head_in_parent(chain.rig.bone(chain.tip_bone), pose.local(chain.tip_bone))
    return (0.0, chain.rig.bone(chain.bones[-1]).length, 0.0)
