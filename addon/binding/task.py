"""One chain as the solver needs it: read from Blender, and solved."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import bpy

from ..core import (
    Bone,
    Frame,
    Goal,
    Local,
    Posture,
    head_in_parent,
    inverse,
    point_in,
    pose_chain,
)
from ..core.vectors import Vec
from .access import settings
from .chain_plan import ChainPlan, ProblemError
from .read import Snapshot
from .skeleton import Point

if TYPE_CHECKING:
    from .properties import FabrikConstraint


@dataclass(slots=True)
class Task:
    """One chain, ready to be solved: the arguments of `pose_chain`, and besides them.

    Attributes:
        world: Where the armature stands in world space.
        target_world: The target in world space.
    """

    bones: list[Bone]
    inputs: list[Local]
    tip_in_bone: Vec
    parent: Frame
    goal: Goal
    rest_bend: Vec | None
    solver: str
    iterations: int
    tolerance: float
    influence: float
    world: Frame
    target_world: Vec


def read(moment: Snapshot, chain: ChainPlan) -> Task | None:
    """Return what is to be solved for a constraint, None if it is off.

    Raises:
        ProblemError: If the constraint cannot work.
    """
    item = _evaluated_item(moment, chain)
    if not item.enabled or item.influence == 0.0:
        return None
    if chain.problem or chain.target is None:
        raise ProblemError(chain.problem)
    numbers = (item.influence, item.tolerance, item.pole_angle)
    if not all(isfinite(number) for number in numbers):
        raise ProblemError("A setting is not a number: type Influence, Tolerance and Pole Angle in")
    solver = item.solver
    if solver == "TWO_BONE" and len(chain.bones) != 2:
        raise ProblemError(
            f"Two Bone needs a chain of 2 bones, and this one has {len(chain.bones)}: "
            "set Chain Length to 2 or choose another solver"
        )
    rig = chain.rig
    world = moment.world(rig.object)
    target_world = moment.point(chain.target)
    to_armature = _undone(world, rig.object)
    goal = Goal(
        target=_finite(point_in(to_armature, target_world), chain.target),
        pole=None
        if chain.pole is None
        else _finite(point_in(to_armature, moment.point(chain.pole)), chain.pole),
        pole_angle=item.pole_angle,
    )
    pose = moment.poses[rig.uid]
    bones = [rig.bone(i) for i in chain.bones]
    tip = (0.0, bones[-1].length, 0.0)
    if chain.tip_bone >= 0:
        tip = head_in_parent(rig.bone(chain.tip_bone), pose.local(chain.tip_bone))
    return Task(
        bones=bones,
        inputs=[pose.posed_local(i) for i in chain.bones],
        tip_in_bone=tip,
        parent=moment.parent_frame(rig, chain.bones[0]),
        goal=goal,
        rest_bend=chain.rest_bend,
        solver=solver,
        iterations=item.iterations,
        tolerance=item.tolerance,
        influence=item.influence,
        world=world,
        target_world=target_world,
    )


def solve(task: Task) -> Posture:
    """Return how the chain stands when it is solved.

    Raises:
        ProblemError: If a number that went in is not finite, or too large to reckon with.
    """
    try:
        return pose_chain(
            task.bones,
            task.inputs,
            task.tip_in_bone,
            task.parent,
            task.goal,
            rest_bend=task.rest_bend,
            solver=task.solver,
            iterations=task.iterations,
            tolerance=task.tolerance,
            influence=task.influence,
        )
    except (ValueError, ArithmeticError):
        raise ProblemError(
            "A bone of the chain, or above it, has no finite place: "
            "clear its location, rotation and scale"
        ) from None


def _evaluated_item(moment: Snapshot, chain: ChainPlan) -> FabrikConstraint:
    """Return the constraint with its animated values."""
    items = settings(moment.poses[chain.rig.uid].evaluated).constraints
    present_items = settings(chain.rig.object).constraints
    if len(items) == len(present_items):
        return items[chain.item]
    # The evaluated copy was made before a constraint was added or removed.
    return present_items[chain.item]


def _undone(world: Frame, armature: bpy.types.Object) -> Frame:
    try:
        return inverse(world)
    except ValueError:
        raise ProblemError(
            f"“{armature.name}” is scaled to zero or has no finite place: give it a scale"
        ) from None


def _finite(point: Vec, source: Point) -> Vec:
    if not all(isfinite(number) for number in point):
        raise ProblemError(f"“{source.object.name}” has no finite place: check its transform")
    return point
