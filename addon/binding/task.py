"""One chain as the solver needs it: read from Blender, and solved."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ..core import (
    SOLVERS,
    ChainInput,
    Frame,
    Goal,
    Posture,
    head_in_parent,
    point_in,
    pose_chain,
)
from ..core.vectors import Vec
from .chain_plan import ChainPlan, ProblemError
from .pose import Pose, Settings
from .read import Snapshot
from .skeleton import Point

SOLVER_NAMES = tuple(SOLVERS)


@dataclass(slots=True)
class Task:
    """One chain, ready to be solved.

    Attributes:
        chain: The constraint.
        pose: The armature.
        parent: The frame of the root bone's parent, in armature space.
        settings: The constraint's settings.
        world: Where the armature stands in world space.
        target_world: The target in world space.
        pole_world: The pole in world space, if there is one.
    """

    chain: ChainPlan
    pose: Pose
    parent: Frame
    settings: Settings
    world: Frame
    target_world: Vec
    pole_world: Vec | None

    def key(self) -> tuple[object, ...]:
        """Return all that the solution depends on, to the last bit."""
        chain, pose = self.chain, self.pose
        stamp = (pose.stamp, self.parent)
        if chain.is_shared or stamp != chain.stamp:
            chain.stamp = stamp
            turned = [pose.turned.get(bone) for bone in chain.bones] if chain.is_shared else None
            given = (pose.bits_of(chain.runs, chain.tip_bone), self.parent, turned)
            if given != chain.given_key:
                chain.given_key, chain.given = given, None
        return (chain.given_key, self.settings, self.world, self.target_world, self.pole_world)

    def given(self) -> ChainInput:
        """Return the chain under its FK input.

        Raises:
            ValueError: If a number that went in is not finite.
        """
        chain, pose = self.chain, self.pose
        if chain.given is None:
            bones = [chain.rig.bone(bone) for bone in chain.bones]
            tip = (0.0, bones[-1].length, 0.0)
            if chain.tip_bone >= 0:
                tip = head_in_parent(chain.rig.bone(chain.tip_bone), pose.local(chain.tip_bone))
            locals_ = [pose.posed_local(bone) for bone in chain.bones]
            chain.given = ChainInput(bones, locals_, tip, self.parent, chain.rest_bend)
        return chain.given

    def goal(self) -> Goal:
        """Return target and pole in armature space.

        Raises:
            ProblemError: If one of them, or the armature, has no finite place there.
        """
        chain = self.chain
        try:
            to_armature = self.pose.in_armature(self.world)
        except ValueError:
            raise ProblemError(
                f"“{chain.rig.object.name}” is scaled to zero or has no finite place: "
                "give it a scale"
            ) from None
        target = _finite(point_in(to_armature, self.target_world), chain.target)
        pole = None
        if self.pole_world is not None:
            pole = _finite(point_in(to_armature, self.pole_world), chain.pole)
        return Goal(target, pole, self.settings.pole_angle)


def read(moment: Snapshot, chain: ChainPlan) -> Task | None:
    """Return what is to be solved for a constraint, None if it is off.

    Raises:
        ProblemError: If the constraint cannot work.
    """
    settings = moment.poses[chain.rig.uid].settings[chain.item]
    if not settings.enabled or settings.influence == 0.0:
        return None
    if chain.problem or chain.target is None:
        raise ProblemError(chain.problem)
    if not isfinite(settings.influence + settings.tolerance + settings.pole_angle):
        raise ProblemError("A setting is not a number: type Influence, Tolerance and Pole Angle in")
    if len(chain.bones) != 2 and SOLVER_NAMES[settings.solver] == "TWO_BONE":
        raise ProblemError(
            f"Two Bone needs a chain of 2 bones, and this one has {len(chain.bones)}: "
            "set Chain Length to 2 or choose another solver"
        )
    return Task(
        chain,
        moment.poses[chain.rig.uid],
        moment.parent_frame(chain.rig, chain.bones[0]),
        settings,
        moment.world(chain.rig.object),
        moment.point(chain.target),
        None if chain.pole is None else moment.point(chain.pole),
    )


def solve(task: Task) -> Posture:
    """Return how the chain stands when it is solved.

    Raises:
        ProblemError: If a number that went in is not finite, or too large to reckon with.
    """
    goal, settings = task.goal(), task.settings
    try:
        return pose_chain(
            task.given(),
            goal,
            SOLVER_NAMES[settings.solver],
            settings.iterations,
            settings.tolerance,
            settings.influence,
        )
    except (ValueError, ArithmeticError):
        raise ProblemError(
            "A bone of the chain, or above it, has no finite place: "
            "clear its location, rotation and scale"
        ) from None


def _finite(point: Vec, source: Point | None) -> Vec:
    if source is not None and not isfinite(point[0] + point[1] + point[2]):
        raise ProblemError(f"“{source.object.name}” has no finite place: check its transform")
    return point
