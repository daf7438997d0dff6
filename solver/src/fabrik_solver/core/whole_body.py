"""Whole bodies: the pose of least motion since the start of a drag that meets all goals.

Pinned points take priority over dragged points, dragged points over targets, and targets over soft
goals. A lower-priority rank shifts a higher one by at most about a thousandth of the body's size.
The pose depends only on the start of the drag and the goals. Many small mouse moves give the same
pose as one large move, and moving back restores the starting pose.

Sometimes a small move of a goal makes this pose jump. `WholeBody.toward` then moves the displayed
pose there step by step. Goals stay met; only goals that are or were out of reach lag behind.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, final

from .articulation import (
    DRAGGED,
    PINNED,
    SOFT,
    TARGET,
    Articulation,
    Link,
    Onset,
    Placement,
    Resistance,
    WholeBodyGoal,
    WholeBodyJoint,
)
from .least_motion import Search
from .springs import SLACK, Spring
from .support import Support
from .vectors import (
    Quat,
    Vec,
    add,
    dot,
    length,
    mix,
    quat_angle,
    quat_inverse,
    quat_log,
    quat_product,
    scaled,
    slerp,
    sub,
)

__all__ = [
    "DRAGGED",
    "PINNED",
    "SOFT",
    "TARGET",
    "Link",
    "Onset",
    "Resistance",
    "Support",
    "WholeBody",
    "WholeBodyGoal",
    "WholeBodyJoint",
    "WholeBodyPose",
]

TURNING: Final = 3.5
"""How far bones rotate while goals move by the size of the body, in radians, unless pins or goals
in reach require more. Where the pose of least motion jumps, the body follows at this rate."""

TRIES: Final = 4
"""The most times that a pose on the way is tried until bones rotate by an allowed angle."""

NEARLY: Final = 1.05
"""The multiple of the allowed rotation that is close enough."""


class WholeBodyPose(NamedTuple):
    """A pose of the body.

    Attributes:
        moved: How far each free joint has moved since the start of the drag; zero for the others.
        turns: The rotation of each joint since then, in its own axes at that time.
        heads: The pivots.
        axes: The axes of the joints.
        misses: For each goal, the distance of its point from the desired location; zero if it may
            be anywhere.
        missed: The joints whose goals are out of reach, or lag behind.
        center: The center of mass; None if nothing has a mass.
        effort: The sum of stiffness · angle², in radians².
        steps: The number of Newton steps.
        is_turning: Whether it is on the way to the pose of least motion.
    """

    moved: list[Vec]
    turns: list[Quat]
    heads: list[Vec]
    axes: list[Quat]
    misses: list[float]
    missed: set[int]
    center: Vec | None
    effort: float
    steps: int
    is_turning: bool = False


@final
class WholeBody:
    """A body at the start of a drag, posed by goals.

    Attributes:
        joints: Its bones, parents first.
        links: Springs over several of them.
    """

    __slots__ = ("joints", "links")

    def __init__(self, joints: Sequence[WholeBodyJoint], links: Sequence[Link] = ()) -> None:
        """Set the bones and the links between them.

        Raises:
            ValueError: Without a joint, or if a parent doesn't come before its child.
        """
        self.joints = list(joints)
        self.links = links
        if not self.joints:
            raise ValueError("a body needs a bone")
        for index, joint in enumerate(self.joints):
            if joint.parent >= index:
                raise ValueError("a parent must come before its children")

    def solve(
        self, goals: Sequence[WholeBodyGoal], support: Support | None = None
    ) -> WholeBodyPose:
        """Return the pose that meets the goals with the least motion since the start of the drag.

        Args:
            goals: The goals.
            support: The support below the center of mass, with the rank of a target; None if the
                center may be anywhere.

        Raises:
            ValueError: If the body has no size.
            OverflowError: If a number is not finite.
        """
        body = self._articulation(goals, support is not None)
        springs: list[Spring] = []
        points_of: dict[int, Vec] = {}
        for goal in goals:
            points_of[goal.joint] = body.inward(goal.point)
            if goal.location is not None:
                springs.append(Spring(goal, body, None))
            if goal.rotation is not None:
                springs.append(Spring(goal, body, goal.rotation))
        inward = None
        if support is not None and support.corners and body.mass > 0.0:
            corners = [body.inward(corner) for corner in support.corners]
            lifted = [body.inward(corner) for corner in support.lifted]
            standing = Support(corners, support.up, support.force, lifted)
            inward = standing.including(body.center_at_press())
        search = Search(body, springs, inward, self.links)
        pose = search.run(body.start(points_of))
        body.complete(pose)
        return _posed(body, goals, pose, search.steps)

    def toward(
        self,
        pose: WholeBodyPose,
        last: WholeBodyPose,
        moved: float,
        goals: Sequence[WholeBodyGoal],
    ) -> WholeBodyPose:
        """Return a pose between two others, in which bones rotate only as fast as the goals move.

        It meets the pins as the later pose does, and the goals that both poses meet. A point that
        is out of reach, or was until now, approaches its place in the later pose. It does so as far
        as the rotation of the bones allows.

        Args:
            pose: The later pose. It is returned if it is near enough.
            last: The earlier pose.
            moved: How far the goals have moved since then, as a fraction of the body.
            goals: The goals of the later pose.
        """
        if _turned(last, pose) <= TURNING * moved:
            return pose
        body = self._articulation(goals, is_balanced=True)
        transition = Transition(body, last, pose, moved, goals)
        between = transition.followed()
        return _posed(body, goals, between, pose.steps + transition.steps, is_turning=True)

    def _articulation(self, goals: Sequence[WholeBodyGoal], is_balanced: bool) -> Articulation:
        """Return the bones that goals move.

        Raises:
            ValueError: If the body has no size.
        """
        origin = self.joints[0].head
        points = [joint.head for joint in self.joints]
        for goal in goals:  # All points of a bone that must not rotate have the same effect.
            if goal.location is not None and goal.rotation is None:
                points.append(goal.point)
        size = max(length(sub(point, origin)) for point in points)
        if not size > 0.0:
            raise ValueError("a body needs a size")
        return Articulation(self.joints, [g.joint for g in goals], origin, size, is_balanced)


@final
class Transition:
    """The path from a pose to a later one, in the space of the search.

    Attributes:
        fraction: How far along it the bones have rotated, from 0 to 1.
        steps: The number of Newton steps.
    """

    __slots__ = (
        "_body",
        "_end",
        "_goals",
        "_late",
        "_most",
        "_near",
        "_springs",
        "_start",
        "fraction",
        "steps",
    )

    def __init__(
        self,
        body: Articulation,
        last: WholeBodyPose,
        pose: WholeBodyPose,
        moved: float,
        goals: Sequence[WholeBodyGoal],
    ) -> None:
        """Set up the path between two poses; see `WholeBody.toward` for the arguments."""
        self._body = body
        self._goals = [goal for goal in goals if goal.rank != SOFT]
        self._springs = [Spring(goal, body, None) for goal in self._goals]
        self._start, self._end = _placed(body, last), _placed(body, pose)
        self._most = TURNING * moved
        self.fraction = self._most / _turned(last, pose)
        self.steps = 0
        self._near: list[Vec | None] = []
        self._late: list[tuple[int, Vec]] = []
        step = moved + SLACK
        missed = last.missed | pose.missed
        for index, spring in enumerate(self._springs):
            here, there = spring.point_of(self._start), spring.point_of(self._end)
            if spring.rank != PINNED and spring.joint in missed:
                distance = length(sub(there, here))
                there = mix(here, there, min(1.0, self.fraction + step / max(distance, step)))
                self._late.append((index, there))
            self._near.append(there)

    def followed(self) -> Placement:
        """Return the pose on the path; points out of reach come as near as its rotations allow."""
        pose = self._bent(self._near)
        if self._is_slow(pose):
            return pose
        return self._approached() if self._late else self._slowed(pose, self._near)

    def _slowed(self, pose: Placement, near: Sequence[Vec | None]) -> Placement:
        """Return a pose earlier on the path, so that no bone rotates too far in one update."""
        for _ in range(TRIES):
            if self._is_slow(pose):
                break
            self.fraction *= self._most / _turned(self._start, pose)
            pose = self._bent(near)
        return pose

    def _approached(self) -> Placement:
        """Return a pose in which no bone rotates too far, and lagging points come nearer.

        A hip that moves straight to its place may be stopped by its feet. Lagging points therefore
        start from where the rotating bones carry them, and move toward their places.
        """
        near = [*self._near]
        for index, _ in self._late:
            near[index] = None
        pose = self._slowed(self._bent(near), near)
        alone = [self._springs[index].point_of(pose) for index, _ in self._late]
        approach = 0.0
        for attempt in range(1, 1 + TRIES):
            farther = approach + 0.5**attempt
            for (index, there), here in zip(self._late, alone, strict=True):
                near[index] = mix(here, there, farther)
            bent = self._bent(near)
            if self._is_slow(bent):
                pose, approach = bent, farther
        return pose

    def _is_slow(self, pose: Placement) -> bool:
        return _turned(self._start, pose) <= NEARLY * self._most

    def _bent(self, places: Sequence[Vec | None]) -> Placement:
        """Return a pose on the path, bent to put points at their places; None ignores a point."""
        body, start, end = self._body, self._start, self._end
        between = Placement(
            [mix(a, b, self.fraction) for a, b in zip(start.moved, end.moved, strict=True)],
            [slerp(a, b, self.fraction) for a, b in zip(start.turns, end.turns, strict=True)],
        )
        body.place(between)
        wanted: list[WholeBodyGoal] = []
        for goal, spring, place in zip(self._goals, self._springs, places, strict=True):
            bone = goal.joint
            change = quat_product(end.changes[bone], quat_inverse(between.changes[bone]))
            location = None if place is None else body.outward(place)
            wanted.append(
                goal._replace(
                    point=body.outward(spring.point_of(between)),
                    location=None if goal.location is None else location,
                    rotation=None if goal.rotation is None else change,
                    weight=1.0,
                )
            )
        bent = WholeBody(body.bent(between)).solve(wanted)
        self.steps += bent.steps
        moved = [scaled(offset, 1.0 / body.size) for offset in bent.moved]
        final = Placement(
            [add(a, b) for a, b in zip(between.moved, moved, strict=True)],
            [quat_product(a, b) for a, b in zip(between.turns, bent.turns, strict=True)],
        )
        body.place(final)
        return final


def _turned(earlier: WholeBodyPose | Placement, later: WholeBodyPose | Placement) -> float:
    """Return the largest rotation of a bone or joint between two poses."""
    pairs = [
        *zip(earlier.turns, later.turns, strict=True),
        *zip(earlier.axes, later.axes, strict=True),
    ]
    return max([quat_angle(a, b) for a, b in pairs])


def _placed(body: Articulation, pose: WholeBodyPose) -> Placement:
    """Return a pose in the space of the search."""
    placement = Placement([scaled(moved, 1.0 / body.size) for moved in pose.moved], pose.turns)
    body.place(placement)
    return placement


def _posed(
    body: Articulation,
    goals: Sequence[WholeBodyGoal],
    pose: Placement,
    steps: int,
    is_turning: bool = False,
) -> WholeBodyPose:
    """Return a pose in the space of the body."""
    effort = 0.0
    for joint, turn in zip(body.joints, pose.turns, strict=True):
        vector = quat_log(turn)
        effort += joint.stiffness * dot(vector, vector)
    misses: list[float] = []
    for goal in goals:
        reached = body.outward(Spring(goal, body, None).point_of(pose))
        misses.append(0.0 if goal.location is None else length(sub(reached, goal.location)))
    return WholeBodyPose(
        [scaled(moved, body.size) for moved in pose.moved],
        pose.turns,
        [body.outward(head) for head in pose.heads],
        pose.axes,
        misses,
        {g.joint for g, miss in zip(goals, misses, strict=True) if miss > SLACK * body.size},
        body.outward(body.center(pose)) if body.mass > 0.0 else None,
        effort,
        steps,
        is_turning,
    )
