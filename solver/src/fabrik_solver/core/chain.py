"""The input and result of a solver."""

from collections.abc import Sequence
from math import dist, fsum
from typing import Literal, final

from .bend import (
    LIMB,
    STRAIGHT,
    axis_of,
    bend_of,
    clarity,
    eased,
    farthest_from,
    flattened,
    folded_bend,
    set_lengths,
    side_of,
)
from .joint import Joint, points_of
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    length,
    mix,
    rotate,
    scaled,
    sub,
    unit,
)

X_AXIS: Vec = (1.0, 0.0, 0.0)

Point = tuple[float, ...]
State = Literal["REACHED", "OUT_OF_REACH", "LIMITED"]

# Immutable by convention. Each frame creates some, and creating a frozen dataclass takes three
# times as long, or six times when compiled.


@final
class Chain:
    """The joints of a chain in its input pose, from the root to the tip.

    The first five attributes are the input. The others are derived once, for any goal.

    Attributes:
        joints: n + 1 points for n bones, all with 2 or all with 3 coordinates, in any one space.
        bend: The direction in which a straight chain bends, before a pole swivels it. None uses the
            direction to the pole, otherwise any perpendicular to the chain.
        is_sure: Whether the bend also applies to chains that aren't straight.
        folds: How each joint flexes in a limb that bends to both sides (see `RestBend`).
        lengths: The n bone lengths to solve with. None uses the distances between the joints.
        root: The first joint in three dimensions.
        scale: The length of the chain.
        start: The joints relative to the root, in chain lengths, with the bone lengths to solve
            with. Empty if the chain has zero length. Copied before they are moved.
        axis: The direction from the root to the tip, or of the first bone with a direction.
        deviation: The largest distance of these joints from the axis (see `farthest_from`).
        inner: The inner radius of the reachable shell, in chain lengths. The tip is closest to the
            root when all other bones fold back along the longest bone.
        outer: The outer radius: 1 except for rounding.
    """

    def __init__(
        self,
        joints: tuple[Point, ...],
        bend: Point | None = None,
        lengths: tuple[float, ...] | None = None,
        is_sure: bool = False,
        folds: tuple[int, ...] = (),
    ) -> None:
        """Set the input pose.

        Raises:
            ValueError: If bones are missing, a number isn't finite, dimensions differ, a length is
                below 0, or ``folds`` doesn't match the inner joints.
        """
        _refuse_bad_input(joints, bend, lengths)
        if folds and len(folds) != len(joints) - 2:
            raise ValueError("a limb that bends to both sides needs a fold for each inner joint")
        if lengths is None:
            sizes = tuple([dist(joints[i], joints[i + 1]) for i in range(len(joints) - 1)])
        else:
            sizes = lengths
        scale = fsum(sizes)
        root = in_space(joints[0])
        start: list[Joint] = []
        axis, deviation, inner, outer = ORIGIN, 0.0, 0.0, 0.0
        if scale != 0.0:
            ratios = [size / scale for size in sizes]
            outer = fsum(ratios)
            inner = max(0.0, 2.0 * max(ratios) - outer)
            ratios.append(0.0)
            is_flat = len(joints[0]) == 2
            a, b, c = root
            for i, joint in enumerate(joints):
                z = 0.0 if is_flat else (joint[2] - c) / scale
                start.append(Joint((joint[0] - a) / scale, (joint[1] - b) / scale, z, ratios[i]))
            if lengths is not None:
                set_lengths(start)
            axis = axis_of(start)
            deviation = farthest_from(axis, start)
        self.joints = joints
        self.bend = bend
        self.is_sure = is_sure
        self.folds = folds
        self.lengths = lengths
        self.root = root
        self.scale = scale
        self.start = start
        self.axis = axis
        self.deviation = deviation
        self.inner = inner
        self.outer = outer
        self._bending: tuple[Vec, Vec, float] | None = None
        self._flat: tuple[list[Joint], Vec] | None = None
        self._sizes = sizes

    def bending(self, otherwise: Vec | None = None) -> tuple[Vec, Vec, float]:
        """Return the bend direction, and how much of the input pose to keep.

        A nearly straight limb bends to its preferred side even if it is posed slightly backward or
        sideways.

        Args:
            otherwise: The default bend direction for a straight chain without one.

        Returns:
            The bend direction, a vector that is shorter the less certain it is. The unit vector to
            bend toward when leaving the input pose. How much of that pose to keep, from 0 to 1.
        """
        if self._bending is not None and (otherwise is None or self.bend is not None):
            return self._bending
        bend = None if self.bend is None else in_space(self.bend)
        side = side_of((bend, otherwise), self.axis)
        posed_bend, spread = self.own_bend(self.start, self.axis)
        keep = eased(self.deviation / STRAIGHT)
        bending = (mix(side, posed_bend, keep), side, keep)
        if self.is_known:
            bending = (*self.known_bend(posed_bend, spread, side), keep)
        if otherwise is None or self.bend is not None:
            self._bending = bending
        return bending

    def forward(self) -> Vec:
        """Return the unit direction in which the chain bends when it is straight."""
        return side_of((None if self.bend is None else in_space(self.bend),), self.axis)

    @property
    def is_known(self) -> bool:
        """Whether the chain is a limb with a preferred bend direction."""
        return self.is_sure and len(self.start) <= LIMB + 1

    def own_bend(self, joints: list[Joint], axis: Vec) -> tuple[Vec, float]:
        """Return the bend direction of joints, and the sum of their distances from the axis.

        Args:
            joints: The joints, as in `start`.
            axis: The direction from the root to the tip.
        """
        bend, spread = bend_of(joints, axis)
        if self.folds:
            bend = folded_bend(points_of(joints), axis, self.folds)
        return bend, spread

    def known_bend(self, posed_bend: Vec, spread: float, side: Vec) -> tuple[Vec, Vec]:
        """Return the bend direction of a limb, and its unit vector.

        Args:
            posed_bend: The direction in which its joints are bent (see `own_bend`).
            spread: The sum of their distances from the axis.
            side: The unit vector of its preferred bend direction (see `forward`).
        """
        pose_weight = clarity(posed_bend, spread, side, len(self.start) - 1)
        toward = unit(mix(side, posed_bend, pose_weight)) or side
        return scaled(toward, 1.0 + pose_weight * (length(posed_bend) - 1.0)), toward

    def bend_of_moved(self, joints: list[Joint], axis: Vec, turn: Quat) -> tuple[Vec, float]:
        """Return the bend direction of a moved chain, and the sum of its joints' distances.

        Args:
            joints: Other positions of its joints (see `moved_to`).
            axis: The direction from the root to the tip.
            turn: The rotation of the whole chain before bending.
        """
        bend, spread = self.own_bend(joints, axis)
        if not self.is_known:
            return bend, spread
        return self.known_bend(bend, spread, rotate(turn, self.forward()))[0], spread

    def flat_start(self, otherwise: Vec | None = None) -> tuple[list[Joint], Vec]:
        """Return `start` with a flat chain moved exactly into its plane, and the plane's normal.

        In chains that fold or bend to both sides, iterations would amplify rounding errors until
        the joints bend out of the plane. The normal is zero if the chain isn't flat.
        """
        if self._flat is not None and (otherwise is None or self.bend is not None):
            return self._flat
        flat = flattened(self.start, self.axis, self.bending(otherwise)[1])
        if otherwise is None or self.bend is not None:
            self._flat = flat
        return flat

    def moved_to(self, joints: Sequence[Vec]) -> list[Joint]:
        """Return other positions of the chain's joints, root first, as in `start`.

        Raises:
            ValueError: If a coordinate isn't finite.
        """
        for x, y, z in joints:
            if x - x != 0.0 or y - y != 0.0 or z - z != 0.0:
                raise ValueError("a joint of the chain is not finite: give numbers")
        if self.scale == 0.0:
            return []
        a, b, c = self.root
        scale = self.scale
        moved: list[Joint] = []
        for i, (x, y, z) in enumerate(joints):
            size = length(sub(joints[i + 1], joints[i])) / scale if i + 1 < len(joints) else 0.0
            moved.append(Joint((x - a) / scale, (y - b) / scale, (z - c) / scale, size))
        return moved

    def with_lengths(self, lengths: Sequence[float]) -> "Chain":
        """Return the same chain with other bone lengths to solve with."""
        return Chain(self.joints, self.bend, tuple(lengths), self.is_sure, self.folds)

    def bone_lengths(self) -> tuple[float, ...]:
        """Return the bone lengths to solve with, root first."""
        return self._sizes


@final
class Goal:
    """The desired tip position and bend direction of a chain, in the chain's space.

    Attributes:
        target: The point for the tip.
        pole: The point for the bend to face; None keeps the bend of the input pose.
        pole_angle: Swivel in radians about root → target, by the right-hand rule, added after the
            bend faces the pole. Only for chains in three dimensions.
        pole_weight: From 0 (the bend is unchanged) to 1 (it faces the pole).
        softness: The last fraction of the full reach over which the chain eases out, below 1.
        swing: How far the whole chain swings toward the target before it bends, from 0 to 1. At 1
            it keeps its bending plane. ``TWO_BONE`` and chains with a pole always swing fully.
        is_hint: Whether the pole only steers the bend of a nearly straight limb. The pole angle is
            then ignored.
    """

    def __init__(
        self,
        target: Point,
        pole: Point | None = None,
        pole_angle: float = 0.0,
        pole_weight: float = 1.0,
        softness: float = 0.0,
        swing: float = 0.0,
        is_hint: bool = False,
    ) -> None:
        """Set the goal.

        Raises:
            ValueError: If a number isn't finite or is out of range.
        """
        if not _is_finite(target) or (pole is not None and not _is_finite(pole)):
            raise ValueError("the target or the pole is not finite: give numbers")
        if pole_angle - pole_angle != 0.0:
            raise ValueError("the pole angle is not finite: give radians")
        if not 0.0 <= pole_weight <= 1.0:
            raise ValueError("the weight of the pole must be from 0 to 1")
        if not 0.0 <= softness < 1.0:
            raise ValueError("softness must be from 0 to less than 1")
        if not 0.0 <= swing <= 1.0:
            raise ValueError("swing must be from 0 to 1")
        self.target = target
        self.pole = pole
        self.pole_angle = pole_angle
        self.pole_weight = pole_weight
        self.softness = softness
        self.swing = swing
        self.is_hint = is_hint


@final
class Solution:
    """The solved joints.

    Attributes:
        chain: The chain that was solved.
        moved: The joints, relative and scaled like `Chain.start`.
        state: ``'REACHED'`` if the tip is within the tolerance of the target.
        in_reach: Whether the target lies in the reachable shell of the chain.
        residual: Distance from the tip to the target.
        iterations_used: Solver iterations and landing steps.
        aim: The point that the tip was solved for, scaled like ``moved``: the target, or a point
            short of it due to softness.
        turn: The rotation of the whole chain, without its bending.
        normal: The normal of the plane in which the chain then bends.
    """

    def __init__(
        self,
        chain: Chain,
        moved: list[Joint],
        state: State,
        in_reach: bool,
        residual: float,
        iterations_used: int,
        aim: Vec,
        turn: Quat = QUAT_IDENTITY,
        normal: Vec = X_AXIS,
    ) -> None:
        self.chain = chain
        self.moved = moved
        self.state: State = state
        self.in_reach = in_reach
        self.residual = residual
        self.iterations_used = iterations_used
        self.aim = aim
        self.turn = turn
        self.normal = normal

    def aimed_at(self) -> Vec:
        """Return the point that the tip was solved for, in the chain's space in 3D."""
        return add(self.chain.root, scaled(self.aim, self.chain.scale))

    @property
    def joints(self) -> tuple[Point, ...]:
        """The joints as in `Chain`, with the root unmoved."""
        a, b, c = self.chain.root
        scale = self.chain.scale
        if len(self.chain.joints[0]) == 2:
            return tuple([(a + joint.x * scale, b + joint.y * scale) for joint in self.moved])
        return tuple(
            [
                (a + joint.x * scale, b + joint.y * scale, c + joint.z * scale)
                for joint in self.moved
            ]
        )


def in_space(point: Point) -> Vec:
    """Return the point in three dimensions."""
    return (point[0], point[1], point[2] if len(point) == 3 else 0.0)


def measured(point: Point, root: Vec, scale: float) -> Vec:
    """Return the point relative to the root, in units of ``scale``."""
    x, y = (point[0] - root[0]) / scale, (point[1] - root[1]) / scale
    return (x, y, (point[2] - root[2]) / scale if len(point) == 3 else 0.0)


def _refuse_bad_input(
    joints: tuple[Point, ...], bend: Point | None, lengths: tuple[float, ...] | None
) -> None:
    if len(joints) < 2:
        raise ValueError("a chain needs at least one bone, which is two joints")
    dimension = len(joints[0])
    if not 2 <= dimension <= 3:
        raise ValueError("all joints of a chain need 2 coordinates, or all need 3")
    for joint in joints:
        if len(joint) != dimension:
            raise ValueError("all joints of a chain need 2 coordinates, or all need 3")
        if not _is_finite(joint):
            raise ValueError("a joint of the chain is not finite: give numbers")
    if bend is not None and (len(bend) != dimension or not _is_finite(bend)):
        raise ValueError(f"the bend of this chain needs {dimension} finite coordinates")
    if lengths is None:
        return
    if len(lengths) != len(joints) - 1:
        raise ValueError("a chain needs one length a bone")
    if not _is_finite(lengths) or min(lengths) < 0.0:
        raise ValueError("the lengths of a chain must be finite and not below 0")


def _is_finite(numbers: tuple[float, ...]) -> bool:
    for number in numbers:  # noqa: SIM110 - twelve times as fast as `all` when compiled
        # Infinity minus infinity is NaN.
        if number - number != 0.0:
            return False
    return True
