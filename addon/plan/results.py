"""Results of solving: the values written to bones, and the reports in the panel."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import degrees, dist
from typing import NamedTuple

from fabrik_solver import Posture, Solution
from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.ground import Pose

from ..blender.messages import msg
from .chain_plan import Report


class SolveResult(NamedTuple):
    """The solution of a unit, and the inputs from which it was computed.

    Attributes:
        inputs: All inputs of the solution.
        bones: The solved bones.
        rotations: Local rotations of the bones, four numbers per bone.
        reports: One report per constraint of the unit.
        scales: Solved local scales, by bone.
        locations: Solved local locations, by bone.
        lift: How the solution moves the bones and everything tied to their body, in world space.
        values: The solution as channel values, in the rotation modes of the bones. Each array, of
            one or several consecutive bones, follows the index of its first value in an array with
            four values per slot.
    """

    inputs: object
    bones: Sequence[int]
    rotations: Sequence[float]
    reports: tuple[Report, ...]
    scales: Mapping[int, Vec]
    locations: Mapping[int, Vec]
    lift: Pose | None = None
    values: Sequence[tuple[int, array[float]]] = ()


NOTHING: Mapping[int, Vec] = {}
"""No solved locations or scales."""

FARTHEST = 1e30
"""The largest local coordinate of a bone; beyond it Blender's single precision overflows."""


def is_far(location: Vec) -> bool:
    """Return whether a local location overflows in Blender."""
    x, y, z = location
    return abs(x) > FARTHEST or abs(y) > FARTHEST or abs(z) > FARTHEST


OFF = msg("The constraint is disabled, or its influence is 0: enable it, and increase Influence")

MISSED = msg(
    "The solver missed its target: choose another Solver, then report a bug and attach this file"
)

LIMITED = msg("Joint limits keep the tip from the target: widen the limits, or move the target")


def explanation(posture: Posture, stretches: bool, has_iterations: bool = True) -> str:
    """Return why the written tip isn't on the target, and how to fix it.

    Args:
        posture: The solved chain, with the state according to its solver.
        stretches: Whether its bones may stretch.
        has_iterations: Whether more iterations can bring the tip closer to the target.
    """
    solution = posture.solution
    if posture.state == "LIMITED" and posture.has_orientation_error:
        return msg(
            "The limits of the tip bone keep it {angle:.1f}° from "
            "the target's orientation: widen the limits, or rotate the target",
            angle=degrees(posture.orientation_error),
        )
    if posture.state == "LIMITED":
        return LIMITED
    joints, target = solution.joints, posture.goal.target
    if not joints:
        return msg("The chain has zero scale and can't reach anything: change its bones' scale")
    is_beyond = dist(target, joints[0]) > dist(joints[-1], joints[0])
    is_softened = dist(solution.aimed_at(), target) > solution.residual * 0.5
    if stretches and is_beyond and (is_softened or not solution.in_reach):
        return msg("The target is beyond Stretch Max: increase it, or move the target closer")
    if is_softened:
        return msg("Softness holds the tip back near full extension: decrease it")
    if solution.in_reach:
        return _unconverged(solution, has_iterations)
    if is_beyond:
        return msg("The target is beyond the reach of the chain")
    return msg("The target is closer to the root than the chain can fold")


def _unconverged(solution: Solution, has_iterations: bool) -> str:
    """Return why a solver misses a target within reach."""
    if has_iterations:
        return msg("Not converged: increase Iterations or Tolerance")
    if solution.chain.lengths is None:  # The lengths are those of the FK pose.
        return MISSED
    return msg(
        "Its bones change length as they rotate, because their scale isn't uniform: scale them "
        "uniformly"
    )
