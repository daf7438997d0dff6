"""A foot at one moment: on the ground below it, locked, or swinging to the next foothold."""

from __future__ import annotations

from typing import NamedTuple

from fabrik_solver.core.vectors import (
    Vec,
    add,
    dot,
    quat_matrix,
    quat_of,
    quat_product,
    scaled,
)
from fabrik_solver.motion import ground as shape
from fabrik_solver.motion.planted import Pose

from ...plan.chain_plan import Aim
from .probe import Probe
from .sole import sole_contact
from .stances import Stances, blended, level


class Foothold(NamedTuple):
    """The goal of a foot on the ground.

    Attributes:
        aim: The goal.
        base: Its location without obstacles, in world space.
        rise: How much higher the ground is than the floor of the animation, in metres.
        root: The animated hip joint if the leg keeps its pose, as before a cut, else None.
    """

    aim: Aim
    base: Vec
    rise: float = 0.0
    root: Vec | None = None


def unlocked(probe: Probe, aim: Aim, blend: float, points: tuple[Vec, Vec]) -> Foothold:
    """Return a foot on the ground that is below it.

    Args:
        probe: Finds the ground.
        aim: The animated goal of the foot.
        blend: The height up to which the ground counts.
        points: The joints above its heel and its ball, relative to its goal, in its own axes.
    """
    animated, height = pose_of(aim), _height(probe, aim)
    ends = dict.fromkeys(points)
    under = [level(animated, end, probe.up, probe.floor) for end in ends]
    lying = sole_contact(probe, aim.place, under)
    if lying is None:
        return Foothold(aim, aim.place)
    share = shape.influence(height, blend)
    more = share * (lying.height - probe.floor - height)
    base = add(aim.place, scaled(probe.up, more))
    turn = shape.turn_of(scaled(lying.tilt, share))
    foot = Pose(base, quat_product(turn, animated.turn))
    return Foothold(_placed(probe, aim, animated, foot), base, share * lying.rise)


def locked(stances: Stances, time: float, aim: Aim, blend: float) -> Foothold:
    """Return a foot, locked in stance, or swinging from one foothold to the next.

    Args:
        stances: Its contacts.
        time: The frame.
        aim: Its animated goal.
        blend: The height up to which the ground counts.
    """
    probe, animated = stances.probe, pose_of(aim)
    flat = stances.flat(time, animated)
    foot, moved = stances.locked(time, animated, flat)
    if stances.is_cut(time):
        root = add(aim.place, stances.animated_root(time))
        return Foothold(aim, aim.place, moved.rise, root)
    share = shape.influence(_height(probe, aim), blend)
    base = blended(animated, foot, share)
    lack = stances.need(time, flat, base)
    rise = share * max(stances.lift(time), lack)
    location = add(base.place, scaled(probe.up, rise)) if rise > 0.0 else base.place
    goal = _placed(probe, aim, animated, base._replace(place=location))
    return Foothold(goal, base.place, share * moved.rise)


def _height(probe: Probe, aim: Aim) -> float:
    """Return the height of an animated goal above the floor of the animation."""
    return dot(aim.place, probe.up) - probe.floor


def _placed(probe: Probe, aim: Aim, animated: Pose, foot: Pose) -> Aim:
    """Return a pose as the goal of a foot, not lower than animated if it may only be lifted.

    It has exactly the animated orientation if nothing has changed it.
    """
    location, axes = foot.place, aim.axes
    if axes is not None and foot.turn != animated.turn:
        axes = quat_matrix(foot.turn)
    rise = probe.floor + _height(probe, aim) - dot(location, probe.up)
    if probe.lift_only and rise > 0.0:
        location = add(location, scaled(probe.up, rise))
    return Aim(location, axes)


def pose_of(aim: Aim) -> Pose:
    """Return a goal as a pose, without rotation if the goal has none."""
    return Pose(aim.place) if aim.axes is None else Pose(aim.place, quat_of(aim.axes))
