"""The solve input of each frame of a shot, and candidate poses for it."""

from collections.abc import Sequence
from math import inf, sqrt
from typing import Final, final

from .body import BodyInput, Pull, pose_body
from .chain import Goal
from .frames import Frame, point_in
from .limit_solver import spread
from .pose import pose_chain
from .posture import ChainInput, Posture, chain_frames
from .reach import distance_to
from .stretch import Stretch
from .tip import Tip
from .vectors import ORIGIN, Quat, Vec, add, length, mat_columns, scaled, sub, unit

ASIDE: Final = 0.25
"""The distance from a bone of the point that shows its twist, in bone lengths."""


@final
class Candidate:
    """A pose at a frame.

    Attributes:
        rotations: The local rotations of all bones.
        location: The location channel of the first bone, for a body with a free root.
        points: The points that measure motion: joints, tips and a point next to each bone, in chain
            lengths.
        missed: The distance to the target, in chain lengths.
        reaches: Whether that distance is within the tolerance.
    """

    def __init__(
        self,
        rotations: Sequence[Quat],
        location: Vec,
        points: list[Vec],
        missed: float,
        reaches: bool,
    ) -> None:
        self.rotations = rotations
        self.location = location
        self.points = points
        self.missed = missed
        self.reaches = reaches


class Instant:
    """The solve input of a frame.

    Call `alone` first, because it determines where the pole swivels the chain.
    """

    def alone(self) -> Candidate:
        """Return the pose solved from the FK pose, independent of other frames."""
        raise NotImplementedError

    def solved_from(self, rotations: Sequence[Quat], location: Vec) -> Candidate:
        """Return the solved pose closest to another pose, or one nearly as close.

        Args:
            rotations: The local rotations of the other pose.
            location: The location channel of its first bone, for a body with a free root.
        """
        raise NotImplementedError

    def spread(self, number: int) -> Sequence[Quat]:
        """Return rotations within the limits: an element of a sequence that covers them evenly."""
        raise NotImplementedError


@final
class ChainInstant(Instant):
    """A chain at a frame; see `pose_chain` for the arguments."""

    def __init__(
        self,
        chain: ChainInput,
        goal: Goal,
        solver: str = "FABRIK",
        iterations: int = 20,
        tolerance: float = 1e-4,
        tip: Tip | None = None,
        stretch: Stretch | None = None,
    ) -> None:
        self._chain = chain
        self._goal = goal
        self._led = goal
        self._solver = solver
        self._iterations = iterations
        self._tolerance = tolerance
        self._tip = tip
        self._stretch = stretch

    def alone(self) -> Candidate:
        """Return the pose solved from the FK pose."""
        return self._candidate((), self._goal)

    def solved_from(self, rotations: Sequence[Quat], location: Vec) -> Candidate:
        """Return a solved pose close to another pose."""
        return self._candidate(rotations, self._led)

    def spread(self, number: int) -> Sequence[Quat]:
        """Return an element of a sequence of rotations that covers the limits evenly."""
        chain = self._chain
        rotations = list(chain.rotations)
        for i, bone in enumerate(chain.constrained):
            if bone.limit is not None:
                rotations[i] = bone.limit.inside(spread(number, i))
        if chain.hand is not None and chain.limb is None:
            rotations.append(chain.hand.fk_rotation)
        return rotations

    def _candidate(self, start: Sequence[Quat], goal: Goal) -> Candidate:
        chain = self._chain
        posture = pose_chain(
            chain,
            goal,
            self._solver,
            self._iterations,
            self._tolerance,
            1.0,
            self._tip,
            self._stretch,
            start,
        )
        if not start:
            self._led = _led(posture, goal)
        size = chain.chain.scale or 1.0
        rotations = posture.rotations
        posed = chain.with_scales(posture.scales) if posture.scales else chain
        frames = chain_frames(posed, rotations)
        arms = [link.arm for link in chain.links]
        missed = distance_to(posture.tip, self._goal.target) / size + posture.orientation_error
        points = _points(frames, arms, size)
        return Candidate(rotations, ORIGIN, points, missed, posture.state == "REACHED")


def _led(posture: Posture, goal: Goal) -> Goal:
    """Return the goal with its pole in the bend direction of the solved chain.

    A pole of partial weight swivels a chain partway from its FK pose. If it were applied again at
    every frame, it would swivel the chain all the way.
    """
    if goal.is_hint:
        return goal
    solution = posture.solution
    pole: Vec | None = None
    axis = unit(solution.aim)
    if goal.pole is not None and axis is not None:
        bend, _ = solution.chain.own_bend(solution.moved, axis)
        side = unit(bend)
        if side is not None:
            pole = add(solution.chain.root, scaled(side, solution.chain.scale))
    return Goal(goal.target, pole, 0.0, 1.0, goal.softness, goal.swing)


@final
class BodyInstant(Instant):
    """A body at a frame; see `pose_body` for the arguments.

    All influences are treated as 1, because they blend the path with the FK pose afterward.
    """

    def __init__(self, body: BodyInput, pulls: Sequence[Pull | None]) -> None:
        self._body = body
        self._pulls: Sequence[Pull | None] = [
            None if pull is None else pull.whole() for pull in pulls
        ]
        self._arms = [(0.0, bone.length, 0.0) for bone in body.bones]
        for member in body.members:
            self._arms[member.bones[-1]] = member.tip
        frames = body.frames(body.fk())
        lengths = [member.length(frames) for member in body.members]
        self._size = max(lengths, default=0.0) or 1.0

    def alone(self) -> Candidate:
        """Return the pose solved from the FK pose."""
        return self._candidate(self._body)

    def solved_from(self, rotations: Sequence[Quat], location: Vec) -> Candidate:
        """Return a solved pose close to another pose."""
        return self._candidate(self._body.started(rotations, location))

    def spread(self, number: int) -> Sequence[Quat]:
        """Return an element of a sequence of rotations that covers the limits evenly."""
        rotations: list[Quat] = []
        for i, limit in enumerate(self._body.limits):
            fk_rotation = self._body.locals[i].rotation
            rotations.append(fk_rotation if limit is None else limit.inside(spread(number, i)))
        return rotations

    def _candidate(self, body: BodyInput) -> Candidate:
        posture = pose_body(body, self._pulls)
        points = _points(body.frames(posture), self._arms, self._size)
        missed, reaches = 0.0, True
        for outcome, pull in zip(posture.outcomes, self._pulls, strict=True):
            if outcome is not None and pull is not None:
                reaches = reaches and outcome.state == "REACHED"
                gap = distance_to(outcome.tip, pull.goal.target) / self._size
                missed += pull.weight * gap * gap
        return Candidate(posture.rotations, posture.location, points, sqrt(missed), reaches)


def _points(frames: list[Frame], arms: list[Vec], size: float) -> list[Vec]:
    """Return the points that measure motion (see `Candidate`)."""
    points: list[Vec] = []
    for i, frame in enumerate(frames):
        axes, head = frame
        end = point_in(frame, arms[i])
        x, _, _ = mat_columns(axes)
        aside = ASIDE * length(sub(end, head)) / max(length(x), 1e-300)
        for point in (head, end, add(head, scaled(x, aside))):
            points.append(scaled(point, 1.0 / size))
    return points


def squared_distance(a: Candidate, b: Candidate, most: float = inf) -> float:
    """Return the sum of all points' squared distances, or any value above ``most``."""
    total = 0.0
    for p, q in zip(a.points, b.points, strict=True):
        x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
        total += x * x + y * y + z * z
        if total > most:
            break
    return total


def largest_step(a: Candidate, b: Candidate) -> float:
    """Return the largest distance that any point moves."""
    most = 0.0
    for p, q in zip(a.points, b.points, strict=True):
        x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
        most = max(most, x * x + y * y + z * z)
    return sqrt(most)


def second_difference(a: Candidate, b: Candidate, c: Candidate) -> float:
    """Return the largest second difference of any point."""
    most = 0.0
    for i, here in enumerate(b.points):
        x, y, z = sub(add(a.points[i], c.points[i]), scaled(here, 2.0))
        most = max(most, x * x + y * y + z * z)
    return sqrt(most)
