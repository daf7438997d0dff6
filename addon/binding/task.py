"""One chain as the solver needs it: read from Blender, and solved."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

from ..core import (
    SOLVERS,
    WHOLE,
    ChainInput,
    Frame,
    Goal,
    Posture,
    Tip,
    head_in_parent,
    point_in,
    pose_in_world,
)
from ..core.vectors import ORIGIN, Mat3, Quat, Vec, mat_product, mat_upright
from .chain_plan import ChainPlan, ProblemError
from .joints import IkSettings
from .pose import Pose, Settings
from .read import Snapshot
from .skeleton import Point

SOLVER_NAMES = tuple(SOLVERS)


class Given(NamedTuple):
    """All that a chain under its FK input depends on, to the last bit.

    Attributes:
        channels: What `Pose.bits_of` tells of its bones.
        parent: The frame of the root bone's parent, in armature space.
        turned: What other chains made of its bones' rotations, if it shares any.
        joints: The settings for Blender's own IK of the bones that keep them.
    """

    channels: tuple[object, ...]
    parent: Frame
    turned: list[Quat | None] | None
    joints: tuple[IkSettings, ...]


class Task(NamedTuple):
    """All that the solution of a chain depends on, to the last bit.

    Attributes:
        given: Its FK input.
        settings: The constraint's settings.
        world: Where the armature stands in world space.
        target: The target in world space.
        pole: The pole in world space, if there is one.
        axes: The orientation for the tip bone in world space, if it is to take one.
    """

    given: Given
    settings: Settings
    world: Frame
    target: Vec
    pole: Vec | None
    axes: Mat3 | None


def read(moment: Snapshot, chain: ChainPlan) -> Task | None:
    """Return what is to be solved for a constraint, None if it is off.

    Raises:
        ProblemError: If the constraint cannot work.
    """
    rig = chain.rig
    pose = moment.poses[rig.uid]
    settings = pose.settings[chain.item]
    if not settings.enabled or settings.influence == 0.0:
        return None
    if chain.problem or chain.target is None:
        raise ProblemError(chain.problem)
    if settings is not chain.checked:
        _check(chain, settings)
        chain.checked = settings
    parent = WHOLE if chain.root_parent < 0 else moment.frame(rig, chain.root_parent)
    given = chain.given
    stamp = (pose.stamp, parent)
    if given is None or chain.is_shared or stamp != chain.stamp:
        chain.stamp = stamp
        turned = [pose.turned.get(bone) for bone in chain.bones] if chain.is_shared else None
        joints = tuple([pose.joints[bone] for _, bone in chain.joints.asked])
        now = Given(pose.bits_of(chain.runs, chain.tip_bone), parent, turned, joints)
        if given is None or now != given:
            given = chain.given = now
            chain.input = None
    world = moment.world(rig.object, rig.uid)
    pole = None if chain.pole is None else moment.point(chain.pole)
    target, axes = _aim(moment, chain, chain.target)
    return Task(given, settings, world, target, pole, axes)


def _aim(moment: Snapshot, chain: ChainPlan, target: Point) -> tuple[Vec, Mat3 | None]:
    """Return where the tip is wanted in world space, and the orientation that its bone takes.

    Raises:
        ProblemError: If the target has no orientation to take.
    """
    if not chain.has_hand and chain.offset is None:
        return moment.point(target), None
    frame = moment.place(target)
    place = frame[1] if chain.offset is None else point_in(frame, chain.offset[1])
    if not chain.has_hand:
        return place, None
    axes = mat_upright(frame[0])
    if axes is None:
        name = target.object.name if target.skeleton is None else target.skeleton.names[target.bone]
        raise ProblemError(
            f"“{name}” is scaled to nothing and so has no orientation: give it a scale, "
            "or turn off Match Target"
        )
    return place, axes if chain.offset is None else mat_product(axes, chain.offset[0])


def _check(chain: ChainPlan, settings: Settings) -> None:
    if not all([isfinite(number) for number in settings]):
        raise ProblemError(
            "A setting is not a number: type Influence, Tolerance, Bias, Stretch Max, Softness, "
            "Pole Angle and the weights in"
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
            f"Two Bone needs a chain of {wanted} bones, and this one has {count}: "
            f"set Chain Length to {wanted} or choose another solver"
        )


def solve(chain: ChainPlan, pose: Pose, task: Task) -> tuple[Posture, float]:
    """Return how a chain stands when it is solved, and how far its tip is from the target.

    Args:
        chain: The constraint.
        pose: Its armature.
        task: What was read for it last.

    Raises:
        ProblemError: If a number that went in is not finite, or too large to reckon with.
    """
    settings = task.settings
    try:
        undone = pose.in_armature(task.world)
    except ValueError:
        raise ProblemError(
            f"“{chain.rig.object.name}” is scaled to zero or has no finite place: give it a scale"
        ) from None
    try:
        return pose_in_world(
            input_of(chain, pose, task),
            (task.world, undone),
            _goal(task, settings),
            SOLVER_NAMES[settings.solver],
            settings.iterations,
            settings.tolerance,
            settings.influence,
            _tip(task, settings),
        )
    except (ValueError, ArithmeticError):
        for place, source in ((task.target, chain.target), (task.pole, chain.pole)):
            if place is not None and source is not None:
                _refuse_infinite(point_in(undone, place), source)
        raise ProblemError(
            "A bone of the chain, or above it, has no finite place: "
            "clear its location, rotation and scale"
        ) from None


def _goal(task: Task, settings: Settings) -> Goal:
    """Return the goal in world space."""
    return Goal(
        task.target,
        task.pole,
        settings.pole_angle,
        # Scripts get past the properties' limits.
        min(max(settings.pole_weight, 0.0), 1.0),
        min(max(settings.softness, 0.0), 0.9),
    )


def _tip(task: Task, settings: Settings) -> Tip | None:
    """Return the orientation in world space, if there is one to take."""
    if task.axes is None:
        return None
    weight, spread = settings.rotation_weight, settings.twist_spread
    return Tip(task.axes, min(max(weight, 0.0), 1.0), min(max(spread, 0.0), 1.0))


def input_of(chain: ChainPlan, pose: Pose, task: Task) -> ChainInput:
    """Return a chain under its FK input.

    Args:
        chain: The constraint.
        pose: Its armature.
        task: What was read for it last.

    Raises:
        ValueError: If a number that went in is not finite.
    """
    if chain.input is None:
        bones = [chain.rig.bone(bone) for bone in chain.bones]
        tip = (0.0, bones[-1].length, 0.0)
        if chain.tip_bone >= 0 and chain.has_hand:
            tip = ORIGIN
        elif chain.tip_bone >= 0:
            tip = head_in_parent(chain.rig.bone(chain.tip_bone), pose.local(chain.tip_bone))
        locals_ = [pose.posed_local(bone) for bone in chain.bones]
        limits, stiffness = chain.joints.now(task.given.joints)
        parent = task.given.parent
        chain.input = ChainInput(
            bones,
            locals_,
            tip,
            parent,
            chain.rest_bend,
            limits,
            stiffness,
            chain.has_hand,
            chain.limb_bend,
        )
    return chain.input


def _refuse_infinite(place: Vec, source: Point) -> None:
    if not isfinite(place[0] + place[1] + place[2]):
        raise ProblemError(f"“{source.object.name}” has no finite place: check its transform")
