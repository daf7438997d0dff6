"""A free chain: its head follows a path and drags the other bones.

The root is free. FABRIK's backward pass alone (Aristidou and Lasenby, 2011, “FABRIK: a fast,
iterative solver for the inverse kinematics problem”) moves the head to its goal. Each joint then
moves toward its predecessor until the bone has its length. With ever smaller steps, each joint
moves along a tractrix, like a trailer. For a straight step, the tractrix has a closed form
(Steinhaus, “Mathematical Snapshots”), so few steps suffice. A pose depends on the whole path of the
head from the start.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from math import ceil, exp, floor, hypot, isfinite, sqrt

from ..core.vectors import Vec, add, dot, length, mix, scaled, sub, unit
from .easing import smooth

FINENESS = 0.25
"""The head's substep, as a fraction of the shortest bone, so that fast heads don't cut corners.

On a circle with a radius of four bones, the error of the fifth bone is then below 0.01 bones. At
two bones per frame it is 0.04 bones.
"""

MAX_STEPS = 1000
"""The maximum number of substeps of a frame, for a head that jumps very far."""

MAX_TANGENT = 3.0
"""Maximum tangent, in distances to the nearer neighbor. A larger one would overshoot."""

UPWARD: Vec = (0.0, 0.0, 1.0)
"""The direction to use if none is defined."""

MAX_CACHED = 200_000
"""Maximum number of joints that a trail caches, about 30 MB. Others are computed again."""


class Trail:
    """A free chain and the path of its head.

    It has a cache, but its results depend only on its arguments.

    Attributes:
        start: The joints of the chain at the start, root first and head last.
        path: The position of the head at each frame, in the same space.
        is_on_path: Whether the joints stay on the path of the head, like a train on rails, instead
            of being dragged.
    """

    def __init__(self, start: Sequence[Vec], path: Sequence[Vec], is_on_path: bool = False) -> None:
        """Set the chain and the path.

        Raises:
            ValueError: If the chain has no bone, the path is empty, or a number isn't finite.
        """
        if len(start) < 2 or not path:
            raise ValueError("a free chain needs at least one bone and one position of its head")
        if not all(isfinite(x + y + z) for positions in (start, path) for x, y, z in positions):
            raise ValueError("a position is not finite")
        self.start = tuple(start)
        self.path = tuple(path)
        self.is_on_path = is_on_path
        self._lengths = [length(sub(b, a)) for a, b in pairwise(self.start[::-1])]
        self._step = FINENESS * min([size for size in self._lengths if size > 0.0], default=0.0)
        self._cached = [dragged(self.start[::-1], self._lengths, self.path[0])]

    def joints(self, time: float, head: Vec | None = None) -> tuple[Vec, ...]:
        """Return the joints, root first.

        Args:
            time: In frames since the first position, with fractions; clamped to the path.
            head: The final position of the head, if it isn't on the path.
        """
        time = min(max(time, 0.0), len(self.path) - 1.0)
        whole = floor(time)
        if self.is_on_path:
            return self._along(self._backward(whole, time - whole, head))[::-1]
        joints = self._at(whole)
        for position in self._substeps(whole, time - whole):
            joints = dragged(joints, self._lengths, position)
        if head is not None:
            joints = dragged(joints, self._lengths, head)
        return joints[::-1]

    def _at(self, frame: int) -> tuple[Vec, ...]:
        """Return the joints at a whole frame, head first."""
        joints = self._cached[min(frame, len(self._cached) - 1)]
        for i in range(len(self._cached) - 1, frame):
            for position in self._substeps(i, 1.0):
                joints = dragged(joints, self._lengths, position)
            if len(self._cached) * len(joints) < MAX_CACHED:
                self._cached.append(joints)
        return joints

    def _substeps(self, frame: int, fraction: float) -> Iterator[Vec]:
        """Yield the substeps of the head after a frame, up to a fraction of the next interval."""
        if fraction == 0.0:
            return
        curve, distance = curve_between(self.path, frame)
        steps = 1
        if self._step > 0.0:
            steps = ceil(min(max(distance / self._step, 1.0), MAX_STEPS))
        for i in range(1, ceil(fraction * steps)):
            yield curve(i / steps)
        yield curve(fraction) if fraction < 1.0 else self.path[frame + 1]

    def _backward(self, frame: int, fraction: float, head: Vec | None) -> Iterator[Vec]:
        """Yield the path backward from the head, endlessly.

        Before its start, the path is extended by the initial chain, then by the direction of its
        root bone.
        """
        if head is not None:
            yield head
        yield from reversed(list(self._substeps(frame, fraction)))
        for i in reversed(range(frame)):
            yield from reversed(list(self._substeps(i, 1.0)))
        yield self.path[0]
        yield from self.start[::-1]
        side = next(filter(None, (unit(sub(a, b)) for a, b in pairwise(self.start))), UPWARD)
        for i in count(1):
            yield add(self.start[0], scaled(side, 2.0 * i * max(self._lengths)))

    def _along(self, backward: Iterator[Vec]) -> tuple[Vec, ...]:
        """Return the joints on a path, head first, with the bones' lengths between them."""
        near = far = next(backward)
        joints = [near]
        for size in self._lengths:
            while length(sub(far, joints[-1])) < size:
                near, far = far, next(backward)
            near = _crossing(joints[-1], size, near, far)
            joints.append(near)
        return tuple(joints)


def dragged(joints: Sequence[Vec], lengths: Sequence[float], position: Vec) -> tuple[Vec, ...]:
    """Drag a chain's head straight to a new position; return the joints, head first.

    Let θ be the angle between a bone and the movement of the joint that drags it. Then tan θ/2
    decreases as exp(−s/L) over the distance s, where L is the bone's length.

    Args:
        joints: The previous joints, head first.
        lengths: The distance of each joint to the next.
        position: The new position of the head.
    """
    moved = [position]
    x, y, z = position
    for leader, joint, size in zip(joints[:-1], joints[1:], lengths, strict=True):
        ahead_x, ahead_y, ahead_z = x - leader[0], y - leader[1], z - leader[2]
        distance = hypot(ahead_x, ahead_y, ahead_z)
        if size == 0.0 or distance == 0.0:
            x, y, z = (x, y, z) if size == 0.0 else joint
            moved.append((x, y, z))
            continue
        ahead_x, ahead_y, ahead_z = ahead_x / distance, ahead_y / distance, ahead_z / distance
        side_x, side_y, side_z = joint[0] - leader[0], joint[1] - leader[1], joint[2] - leader[2]
        cosine = -(side_x * ahead_x + side_y * ahead_y + side_z * ahead_z) / size
        left = exp(-distance / size)
        near, far = 1.0 + cosine, (1.0 - cosine) * left * left
        if near + far > 0.0:  # Otherwise the joint is pushed straight back and stays ahead.
            across = 2.0 * left / (near + far)
            along = ((far - near) / (near + far) + across * cosine) * size
            side_x = across * side_x + along * ahead_x
            side_y = across * side_y + along * ahead_y
            side_z = across * side_z + along * ahead_z
        factor = size / (hypot(side_x, side_y, side_z) or size)
        x, y, z = x + side_x * factor, y + side_y * factor, z + side_z * factor
        moved.append((x, y, z))
    return tuple(moved)


def curve_between(path: Sequence[Vec], frame: int) -> tuple[Callable[[float], Vec], float]:
    """Return the curve from one position of a path to the next, and its approximate length.

    It is a Catmull–Rom spline with clamped tangents, so that it doesn't overshoot where the head
    starts or stops.

    Args:
        path: The positions, one per frame.
        frame: The frame at which the curve starts.
    """
    a, b = path[frame], path[frame + 1]
    step = sub(b, a)
    previous = sub(a, path[frame - 1]) if frame > 0 else step
    following = sub(path[frame + 2], b) if frame + 2 < len(path) else step
    leaving, arriving = _slope(previous, step), _slope(step, following)

    def curve(fraction: float) -> Vec:
        remainder = 1.0 - fraction
        position = add(a, scaled(step, smooth(fraction)))
        swing = sub(scaled(leaving, remainder), scaled(arriving, fraction))
        return add(position, scaled(swing, fraction * remainder))

    return curve, max(length(step), length(leaving), length(arriving))


def _slope(previous: Vec, following: Vec) -> Vec:
    """Return the tangent at a position, from the steps before and after it."""
    mean = mix(previous, following, 0.5)
    size = length(mean)
    most = MAX_TANGENT * min(length(previous), length(following))
    return scaled(mean, most / size) if size > most else mean


def _crossing(center: Vec, size: float, near: Vec, far: Vec) -> Vec:
    """Return the intersection of a line with a sphere, exactly at its radius.

    Args:
        center: The center of the sphere.
        size: The radius of the sphere.
        near: The start of the line, inside the sphere.
        far: The end of the line, outside the sphere.
    """
    along, offset = sub(far, near), sub(near, center)
    square = dot(along, along)
    if size == 0.0 or square == 0.0:
        return near
    half = dot(along, offset)
    root = sqrt(max(0.0, half * half - square * (dot(offset, offset) - size * size)))
    position = add(offset, scaled(along, (root - half) / square))
    return add(center, scaled(unit(position) or UPWARD, size))
