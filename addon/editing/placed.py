"""Chains positioned by something other than their target, such as the ground or a walk."""

from __future__ import annotations

from collections.abc import Iterable
from math import dist
from typing import NamedTuple

from fabrik_solver import point_in
from fabrik_solver.core.vectors import mat_columns

from ..blender.errors import ProblemError
from ..blender.messages import msg
from ..frame.chain import aim_of, placed
from ..frame.solving import solve_armatures
from ..plan.chain_plan import Aim, ChainPlan
from .placing import size_of
from .playing import updated


class Placed(NamedTuple):
    """A chain positioned by something other than its target.

    Attributes:
        chain: The chain.
        aim: The goal that its target defines.
        goal: Its actual goal.
        size: Its length in world space.
    """

    chain: ChainPlan
    aim: Aim
    goal: Aim
    size: float

    def is_beside(self, near: float) -> bool:
        """Return whether the goal differs from the target in location or rotation.

        Args:
            near: The minimum distance in chain lengths, and the minimum difference of a unit axis.
        """
        if dist(self.goal.place, self.aim.place) > near * self.size:
            return True
        if self.aim.axes is None or self.goal.axes is None:
            return False
        pairs = zip(mat_columns(self.aim.axes), mat_columns(self.goal.axes), strict=True)
        return max(dist(a, b) for a, b in pairs) > near


def placed_among(chains: Iterable[ChainPlan]) -> list[Placed]:
    """Return the chains positioned by something other than their target at this frame."""
    sourced = [chain for chain in chains if chain.goal_source is not None and not chain.problem]
    if not sourced:
        return []
    solved = solve_armatures(updated(), [chain.rig.object for chain in sourced])
    placed_chains: list[Placed] = []
    for chain in sourced:
        try:
            aim = aim_of(solved, chain)
            goal = placed(solved, chain, aim)
        except ProblemError:
            continue  # Nothing positions it; the constraint reports that.
        if goal is aim:
            continue
        rig, world = chain.rig, solved.world(chain.rig.object, chain.rig.uid)
        joints = [point_in(world, solved.frame(rig, bone)[1]) for bone in chain.bones]
        placed_chains.append(Placed(chain, aim, goal, size_of([*joints, goal.place])))
    return placed_chains


def walk_problem(chain: ChainPlan) -> str:
    """Return why a walk moves a chain instead of its target; empty if no walk moves it."""
    if chain.goal_source is None or not chain.goal_source.replaces_target:
        return ""
    return msg(
        "“{constraint}” steps in a walk, so its target doesn't move it: disable the walk, or "
        "choose Bake Steps",
        constraint=chain.name,
    )
