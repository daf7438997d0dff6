"""A foot at one moment: on the ground, locked, or swinging to its next foothold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fabrik_solver.core.vectors import (
    Vec,
    add,
    dot,
    mix,
    quat_matrix,
    quat_of,
    rotate,
    scaled,
    slerp,
    sub,
)
from fabrik_solver.motion import ground as shape
from fabrik_solver.motion.planted import Pose

from ...plan.chain_plan import Aim
from .probe import Probe
from .sole import GroundOffset, sole_contact


class Foothold(NamedTuple):
    """A foot's goal on the ground.

    Attributes:
        aim: The goal.
        base: Its location before it is lifted over obstacles, in world space.
        rise: How far the ground is above the floor of the animation, in meters.
        root: The animated hip joint if the leg keeps its pose, as before a cut; otherwise None.
    """

    aim: Aim
    base: Vec
    rise: float = 0.0
    root: Vec | None = None


def unlocked(probe: Probe, aim: Aim, blend: float, points: tuple[Vec, Vec]) -> Foothold:
    """Return a foot on the ground below it, without a lock.

    Args:
        probe: Finds the ground.
        aim: Its animated goal.
        blend: Height up to which the ground counts fully.
        points: The joints above heel and ball, relative to the goal, in the goal's axes.
    """
    animated = pose_of(aim)
    moved = ground_below(probe, animated, points)
    if moved is None:
        return Foothold(aim, aim.place)
    weight = shape.influence(dot(aim.place, probe.up) - probe.floor, blend)
    foot = blended(animated, moved.of(animated), weight)
    return Foothold(goal_of(probe, aim, foot), foot.place, weight * moved.rise)


def ground_below(probe: Probe, foot: Pose, points: Iterable[Vec]) -> GroundOffset | None:
    """Return how the ground below moves a foot; None without ground.

    Args:
        probe: Finds the ground.
        foot: Its pose on the animation's floor.
        points: The points of its sole, relative to the goal, in the goal's axes.
    """
    ends = [rotate(foot.turn, point) for point in dict.fromkeys(points)]
    heights = [dot(add(foot.place, end), probe.up) - probe.floor for end in ends]
    on_floor = [sub(e, scaled(probe.up, high)) for e, high in zip(ends, heights, strict=True)]
    return sole_contact(probe, foot.place, on_floor)


def goal_of(probe: Probe, animated: Aim, foot: Pose) -> Aim:
    """Return a pose as a goal; if the foot may only be lifted, no lower than the animated one."""
    location, axes = foot.place, animated.axes
    rise = dot(sub(animated.place, location), probe.up)
    if probe.lift_only and rise > 0.0:
        location = add(location, scaled(probe.up, rise))
    if axes is not None and foot.turn != quat_of(axes):
        axes = quat_matrix(foot.turn)
    return Aim(location, axes)


def pose_of(aim: Aim) -> Pose:
    """Return a goal as a pose, without rotation if the goal has none."""
    return Pose(aim.place) if aim.axes is None else Pose(aim.place, quat_of(aim.axes))


def blended(animated: Pose, foot: Pose, weight: float) -> Pose:
    """Blend from the animated pose to the pose on the ground."""
    if weight >= 1.0 or weight <= 0.0:
        return foot if weight >= 1.0 else animated
    return Pose(mix(animated.place, foot.place, weight), slerp(animated.turn, foot.turn, weight))
