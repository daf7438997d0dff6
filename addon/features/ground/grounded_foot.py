"""A foot at one moment, and the ground below its sole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fabrik_solver.core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    dot,
    length,
    mix,
    quat_matrix,
    quat_of,
    quat_product,
    rotate,
    scaled,
    slerp,
    sub,
)
from fabrik_solver.motion import ground as shape
from fabrik_solver.motion.ground import Pose
from fabrik_solver.motion.planted import Offset
from fabrik_solver.motion.sole import Sole, counted, resting_normal

from ...plan.chain_plan import Aim
from .probe import Probe, Under

CLIMB = 0.35
"""How high a foot is lifted for ground below one end only, in leg lengths. Higher ground is a
wall."""


NOWHERE = -1e30
"""The need of a foot that has no ground below it."""


class GroundOffset(NamedTuple):
    """The transform of a foot from the animation's floor to the ground.

    Attributes:
        shift: The translation.
        tilt: The rotation vector of the foot.
        rise: How far the ground is above the animation's floor.
        influence: How much the ground counts: 0 in a contact without ground below.
    """

    shift: Vec = ORIGIN
    tilt: Vec = ORIGIN
    rise: float = 0.0
    influence: float = 1.0

    @property
    def values(self) -> Offset:
        """Its components."""
        return *self.shift, *self.tilt, self.rise, self.influence

    def of(self, foot: Pose) -> Pose:
        """Return a foot on the ground from its pose on the animation's floor."""
        turn = foot.turn
        if self.tilt != ORIGIN:
            turn = quat_product(shape.turn_of(self.tilt), turn)
        return Pose(add(foot.place, self.shift), turn)


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


class Below(NamedTuple):
    """The ground below a swinging foot.

    Attributes:
        depth: How far the foot is too low; negative if it has room below.
        heights: The heights of its heel and ball.
        levels: The lowest allowed height of each; None without ground below.
    """

    depth: float
    heights: list[float]
    levels: list[float | None]


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
    """Return a pose as a goal, no lower than the animated goal if the foot may only be lifted."""
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
    """Return a foot's pose blended from the animated pose (weight 0) to that on the ground (1)."""
    if weight >= 1.0 or weight <= 0.0:
        return foot if weight >= 1.0 else animated
    return Pose(mix(animated.place, foot.place, weight), slerp(animated.turn, foot.turn, weight))


def sole_contact(probe: Probe, location: Vec, points: Sequence[Vec]) -> GroundOffset | None:
    """Return how the ground moves a foot that lies on it; None without ground.

    Args:
        probe: Finds the ground.
        location: The animated location of the goal.
        points: The points that touch the animation's floor, relative to the goal. The first takes
            priority; the second, if any, is the other end.
    """
    up = probe.up
    near = probe.under(add(location, points[0]))
    if near is None:
        # If one end is over a wall, such as a stair's riser, the foot stands on the other end.
        return sole_contact(probe, location, points[1:]) if len(points) > 1 else None
    first, other = points[0], points[-1]
    far = probe.under(add(location, other)) if len(points) > 1 else None
    normal, apart = near.normal, 0.0
    if far is not None:
        end, apart = sub(other, first), far.height - near.height
        if abs(apart) <= length(across(end, up)):  # Else too high or low for both to stand.
            normal = resting_normal(normal, far.normal, end, apart, up)
    tilt = shape.tilt_of(normal, up, probe.most) if probe.turns else ORIGIN
    height, lift = _goal_height(probe, near, first, tilt), 0.0
    if far is not None:
        wanted = _goal_height(probe, far, other, tilt)
        lift = counted(wanted - height, apart, CLIMB * probe.leg)
    shift = scaled(up, height + lift - dot(location, up))
    return GroundOffset(shift, tilt, probe.level(near) - probe.floor + lift)


def _goal_height(probe: Probe, under: Under, point: Vec, tilt: Vec) -> float:
    """Return how high a tilted foot's goal is if one of its points is on the plane of a face.

    Args:
        probe: The probe.
        under: The face.
        point: The point, relative to the goal.
        tilt: The rotation vector of the tilt.
    """
    turned = rotate(shape.turn_of(tilt), point)
    aside = across(sub(turned, point), probe.up)
    level = probe.level(under) - dot(aside, under.normal) / dot(under.normal, probe.up)
    return level - dot(turned, probe.up)


def need(probe: Probe, sole: Sole, animated: Pose, foot: Pose) -> Below:
    """Return the ground below a foot.

    Where the animation puts the foot below its floor, the foot may be as far below the ground.

    Args:
        probe: Finds the ground.
        sole: The points of the foot that touch the ground.
        animated: The pose on the animation's floor.
        foot: The pose on the ground.
    """
    heights: list[float] = []
    levels: list[float | None] = []
    for point, round_by in dict.fromkeys(((sole.heel, 0.0), (sole.pivot, sole.roundness))):
        point_world = add(foot.place, rotate(foot.turn, point))
        under = probe.under(point_world)
        lowest = dot(add(animated.place, rotate(animated.turn, point)), probe.up) - round_by
        heights.append(dot(point_world, probe.up) - round_by)
        levels.append(
            None if under is None else probe.level(under) + min(0.0, lowest - probe.floor)
        )
    return Below(_depth(probe, heights, levels), heights, levels)


def depth_between(probe: Probe, foot: Below, beside: Sequence[Below], is_free: bool) -> float:
    """Return how far a foot is too low for the ground around a moment.

    Args:
        probe: Finds the ground.
        foot: The ground below it at that moment.
        beside: The ground below it just before, at, and just after that moment.
        is_free: Whether the foot swings throughout. An edge may then be anywhere in between.
            Otherwise the ground next to a point counts only if none is right below it, as over a
            riser.
    """
    levels = [
        here if here is not None and not is_free else max(around, default=None)
        for here, around in zip(foot.levels, _present(beside), strict=True)
    ]
    return max(_depth(probe, foot.heights, levels), *[other.depth for other in beside])


def _present(beside: Sequence[Below]) -> list[list[float]]:
    """Return the known levels below each point."""
    columns = zip(*[other.levels for other in beside], strict=True)
    return [[level for level in column if level is not None] for column in columns]


def _depth(probe: Probe, heights: Sequence[float], levels: Sequence[float | None]) -> float:
    """Return the lowest point's depth below ground; walls next to the first point count less.

    Args:
        probe: The probe.
        heights: The height of each point.
        levels: The level of the ground below each point; None without ground.
    """
    pairs = zip(heights, levels, strict=True)
    lacks = [(level - height, level) for height, level in pairs if level is not None]
    far = CLIMB * probe.leg
    return max(
        [more if more <= 0.0 else counted(more, high - lacks[0][1], far) for more, high in lacks],
        default=NOWHERE,
    )
