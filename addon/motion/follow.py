"""A free chain: its head goes where it is led, and the rest is dragged along.

Nothing holds the chain. FABRIK's backward pass alone (Aristidou and Lasenby, 2011, “FABRIK: a fast,
iterative solver for the inverse kinematics problem”) puts the head on its place and lets each joint
follow the one before it along the line between them, which keeps every length. Done in ever smaller
steps it comes to what a trailer does, the tractrix; along a straight line that has a closed form
(Steinhaus, “Mathematical Snapshots”), which is what is used here: a few steps then do for many. How
the chain lies depends on the way that the head has come, so that a chain is a function of all
places of its head from the start on.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from math import ceil, exp, floor, hypot, isfinite, sqrt

from ..core.vectors import Vec, add, dot, length, mix, scaled, sub, unit
from .easing import smooth

FINENESS = 0.25
"""The head moves by this share of the shortest bone at a time, so that fast heads cut no corners.

Round a circle of four bones' radius the fifth bone is then off by less than a hundredth of a bone,
and by four hundredths at two bones a frame.
"""

MOST_STEPS = 1000
"""The steps of one frame at most, so that a head that jumps very far is not waited for."""

OUTRIGHT = 3.0
"""How steep a curve may leave a place, in ways to the nearer neighbour: more would overshoot."""

UPWARD: Vec = (0.0, 0.0, 1.0)
"""The side of a joint that has none."""

MOST_KEPT = 200_000
"""Joints that a trail remembers at most: about 30 MB. What is beyond is reckoned anew."""


class Trail:
    """A free chain and the way of its head.

    What it remembers only saves time: every answer is a function of what it was made of.

    Attributes:
        start: The joints of the chain before its head is led, root first; the head is the last.
        path: The place of the head at each frame, in the same space.
        is_on_path: Whether the joints stay on the way of the head, as a train on rails does, and
            are not dragged straight after it.
    """

    def __init__(self, start: Sequence[Vec], path: Sequence[Vec], is_on_path: bool = False) -> None:
        """Take a chain.

        Raises:
            ValueError: If there is no bone, no place of the head, or a number is not finite.
        """
        if len(start) < 2 or not path:
            raise ValueError("a free chain needs at least one bone, and a place of its head")
        if not all(isfinite(x + y + z) for places in (start, path) for x, y, z in places):
            raise ValueError("a place is not finite")
        self.start = tuple(start)
        self.path = tuple(path)
        self.is_on_path = is_on_path
        self._lengths = [length(sub(b, a)) for a, b in pairwise(self.start[::-1])]
        self._step = FINENESS * min([size for size in self._lengths if size > 0.0], default=0.0)
        self._known = [dragged(self.start[::-1], self._lengths, self.path[0])]

    def joints(self, time: float, head: Vec | None = None) -> tuple[Vec, ...]:
        """Return the joints, root first.

        Args:
            time: In frames since the first place of the head, and between frames; before it and
                after the last place the chain holds still.
            head: Where the head is put in the end, if not on its way.
        """
        time = min(max(time, 0.0), len(self.path) - 1.0)
        whole = floor(time)
        if self.is_on_path:
            return self._along(self._back(whole, time - whole, head))[::-1]
        joints = self._at(whole)
        for place in self._way(whole, time - whole):
            joints = dragged(joints, self._lengths, place)
        if head is not None:
            joints = dragged(joints, self._lengths, head)
        return joints[::-1]

    def _at(self, frame: int) -> tuple[Vec, ...]:
        """Return the joints at a whole frame, head first."""
        joints = self._known[min(frame, len(self._known) - 1)]
        for i in range(len(self._known) - 1, frame):
            for place in self._way(i, 1.0):
                joints = dragged(joints, self._lengths, place)
            if len(self._known) * len(joints) < MOST_KEPT:
                self._known.append(joints)
        return joints

    def _way(self, frame: int, share: float) -> Iterator[Vec]:
        """Yield the places of the head after a frame, up to a share of the way to the next."""
        if share == 0.0:
            return
        curve, distance = way(self.path, frame)
        steps = 1
        if self._step > 0.0:
            steps = ceil(min(max(distance / self._step, 1.0), MOST_STEPS))
        for i in range(1, ceil(share * steps)):
            yield curve(i / steps)
        yield curve(share) if share < 1.0 else self.path[frame + 1]

    def _back(self, frame: int, share: float, head: Vec | None) -> Iterator[Vec]:
        """Yield the way back from where the head is: to where it started, and on without end.

        The chain as it was at the start is a part of it, and goes straight on from its root.
        """
        if head is not None:
            yield head
        yield from reversed(list(self._way(frame, share)))
        for i in reversed(range(frame)):
            yield from reversed(list(self._way(i, 1.0)))
        yield self.path[0]
        yield from self.start[::-1]
        side = next(filter(None, (unit(sub(a, b)) for a, b in pairwise(self.start))), UPWARD)
        for i in count(1):
            yield add(self.start[0], scaled(side, 2.0 * i * max(self._lengths)))

    def _along(self, way_back: Iterator[Vec]) -> tuple[Vec, ...]:
        """Return the joints, head first, each a bone's length behind the one before it."""
        near = far = next(way_back)
        joints = [near]
        for size in self._lengths:
            while length(sub(far, joints[-1])) < size:
                near, far = far, next(way_back)
            near = _crossing(joints[-1], size, near, far)
            joints.append(near)
        return tuple(joints)


def dragged(joints: Sequence[Vec], lengths: Sequence[float], place: Vec) -> tuple[Vec, ...]:
    """Return the joints of a chain, head first, after its head went straight to a place.

    With θ between a bone and the way of the joint that drags it, tan θ/2 falls as exp(−s/L) over
    the way s, L being the bone's length.

    Args:
        joints: The joints before, head first.
        lengths: The distance from each to the one after it.
        place: Where the head goes.
    """
    moved = [place]
    x, y, z = place
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
        if near + far > 0.0:  # Else it is pushed straight back, and stays ahead.
            across = 2.0 * left / (near + far)
            along = ((far - near) / (near + far) + across * cosine) * size
            side_x = across * side_x + along * ahead_x
            side_y = across * side_y + along * ahead_y
            side_z = across * side_z + along * ahead_z
        share = size / (hypot(side_x, side_y, side_z) or size)
        x, y, z = x + side_x * share, y + side_y * share, z + side_z * share
        moved.append((x, y, z))
    return tuple(moved)


def way(path: Sequence[Vec], frame: int) -> tuple[Callable[[float], Vec], float]:
    """Return the curve from one place of a path to the next, and about how long it is.

    It is a cubic Hermite curve with the slopes of Catmull and Rom, held back where the head stops
    or starts, so that it does not run beyond its places.

    Args:
        path: The places, one a frame.
        frame: The frame where it begins.
    """
    a, b = path[frame], path[frame + 1]
    step = sub(b, a)
    before = sub(a, path[frame - 1]) if frame > 0 else step
    after = sub(path[frame + 2], b) if frame + 2 < len(path) else step
    leaving, arriving = _slope(before, step), _slope(step, after)

    def curve(share: float) -> Vec:
        rest = 1.0 - share
        place = add(a, scaled(step, smooth(share)))
        swing = sub(scaled(leaving, rest), scaled(arriving, share))
        return add(place, scaled(swing, share * rest))

    return curve, max(length(step), length(leaving), length(arriving))


def _slope(before: Vec, after: Vec) -> Vec:
    """Return how steep a curve passes a place, from the ways to its neighbours."""
    mean = mix(before, after, 0.5)
    size = length(mean)
    most = OUTRIGHT * min(length(before), length(after))
    return scaled(mean, most / size) if size > most else mean


def _crossing(centre: Vec, size: float, near: Vec, far: Vec) -> Vec:
    """Return where a line leaves a sphere, exactly at its radius.

    Args:
        centre: Of the sphere.
        size: Its radius.
        near: The begin of the line, inside.
        far: Its end, outside.
    """
    along, offset = sub(far, near), sub(near, centre)
    square = dot(along, along)
    if size == 0.0 or square == 0.0:
        return near
    half = dot(along, offset)
    root = sqrt(max(0.0, half * half - square * (dot(offset, offset) - size * size)))
    place = add(offset, scaled(along, (root - half) / square))
    return add(centre, scaled(unit(place) or UPWARD, size))
