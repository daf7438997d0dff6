"""What the constraints say of how they did."""

from __future__ import annotations

from math import degrees, dist

from ..core import Posture

LIMITED = "Joint limits keep the tip from the target: widen the limits, or move the target"


def explanation(posture: Posture, stretches: bool, has_iterations: bool = True) -> str:
    """Return why the tip is not on the target, and what to do.

    Args:
        posture: How the chain stands.
        stretches: Whether its bones may grow.
        has_iterations: Whether its solver comes nearer with more iterations.
    """
    solution = posture.solution
    if posture.state == "LIMITED" and posture.has_orientation_error:
        return (
            f"The limits of the tip bone keep it {degrees(posture.orientation_error):.1f}° from "
            "the target's orientation: widen the limits, or rotate the target"
        )
    if posture.state == "LIMITED":
        return LIMITED
    joints, target = solution.joints, posture.goal.target
    if not joints:
        return "The chain has zero scale and cannot reach anything: change the scale of its bones"
    is_beyond = dist(target, joints[0]) > dist(joints[-1], joints[0])
    is_held_back = dist(solution.aimed_at(), target) > solution.residual * 0.5
    if stretches and is_beyond and (is_held_back or not solution.in_reach):
        return "The target is beyond Stretch Max: increase it, or move the target closer"
    if is_held_back:
        return "Softness holds the tip back near full extension: decrease it to reach the target"
    if solution.in_reach and not has_iterations:
        return (
            "Its bones are scaled non-uniformly and change length as they rotate: scale "
            "them uniformly"
        )
    if solution.in_reach:
        return "Not converged: increase Iterations or Tolerance"
    if is_beyond:
        return "The target is farther away than the chain is long"
    return "The target is closer to the root than the chain can fold"
