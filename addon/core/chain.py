"""What a solver is given and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import dist, fsum, isfinite
from typing import Literal

Point = tuple[float, ...]
State = Literal["REACHED", "OUT_OF_REACH"]


@dataclass(frozen=True, slots=True)
class Chain:
    """The joints of a chain in its input pose, from the root to the tip.

    Attributes:
        joints: n + 1 points for n bones, all of 2 or all of 3 coordinates, in any one space.
        bend: The direction in which the chain leaves its axis if it is straight; a pole turns it
            from there. None takes the direction to the pole, or any at right angles to the chain.
        lengths: The n lengths to solve with. None takes the distances between the joints.
    """

    joints: tuple[Point, ...]
    bend: Point | None = None
    lengths: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what has no answer.

        Raises:
            ValueError: If there is no bone, a number is not finite, dimensions differ or a
                length is below 0.
        """
        if len(self.joints) < 2:
            raise ValueError("a chain needs at least one bone, which is two joints")
        dimension = len(self.joints[0])
        if dimension not in (2, 3) or {len(joint) for joint in self.joints} != {dimension}:
            raise ValueError("all joints of a chain need 2 coordinates, or all need 3")
        # A sum of finite numbers is finite, but for huge ones.
        total = 0.0
        for joint in self.joints:
            for number in joint:
                total += number
        if not isfinite(total) and not all(isfinite(n) for joint in self.joints for n in joint):
            raise ValueError("a joint of the chain is not finite: give numbers")
        if self.bend is not None and not _is_point(self.bend, dimension):
            raise ValueError(f"the bend of this chain needs {dimension} finite coordinates")
        if self.lengths is None:
            return
        if len(self.lengths) != len(self.joints) - 1:
            raise ValueError("a chain needs one length a bone")
        if not all(isfinite(size) and size >= 0.0 for size in self.lengths):
            raise ValueError("the lengths of a chain must be finite and not below 0")

    def bone_lengths(self) -> tuple[float, ...]:
        """Return the lengths to solve with, from the root on."""
        if self.lengths is not None:
            return self.lengths
        joints = self.joints
        return tuple([dist(joints[i], joints[i + 1]) for i in range(len(joints) - 1)])


@dataclass(frozen=True, slots=True)
class Goal:
    """Where the tip should be and which way the chain should bend, in the chain's space.

    Attributes:
        target: The point that the tip should reach.
        pole: The point that the bend should face, or None to keep the bend of the input pose.
        pole_angle: Swivel in radians about root → tip, added after the bend faces the pole; by
            the right-hand rule. Only chains in three dimensions can swivel.
    """

    target: Point
    pole: Point | None = None
    pole_angle: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what has no answer.

        Raises:
            ValueError: If a number is not finite.
        """
        if not all(map(isfinite, self.target)) or not all(map(isfinite, self.pole or ())):
            raise ValueError("the target or the pole is not finite: give numbers")
        if not isfinite(self.pole_angle):
            raise ValueError("the pole angle is not finite: give radians")


@dataclass(frozen=True, slots=True)
class Solution:
    """The solved joints.

    Attributes:
        joints: As in `Chain`, with the root where it was.
        state: ``'REACHED'`` if the tip is within the tolerance of the target.
        in_reach: Whether the target lies in the reachable shell of the chain.
        residual: Distance from the tip to the target.
        sweeps: Sweeps, and steps of landing, taken by the solver.
    """

    joints: tuple[Point, ...]
    state: State
    in_reach: bool
    residual: float
    sweeps: int


def _is_point(point: Point, dimension: int) -> bool:
    return len(point) == dimension and all(map(isfinite, point))


def reach(lengths: Sequence[float]) -> tuple[float, float]:
    """Return the inner and the outer radius of the shell that the tip can reach.

    The tip gets nearest to the root when all other bones fold back along the longest one.
    """
    outer = fsum(lengths)
    return max(0.0, 2.0 * max(lengths) - outer), outer
