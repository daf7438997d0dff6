"""Whole bodies: the pose with the least motion since the press in which all goals are met.

What is pinned comes before what is dragged, that before targets, and those before what is soft: a
rank costs a stricter one about a thousandth of the body at most. The pose depends on
nothing but the press and the goals: many small moves of the mouse give what one large one gives,
and back is back.
"""

from collections.abc import Sequence
from typing import final

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
from .springs import Spring
from .support import Support
from .vectors import Quat, Vec, dot, length, quat_log, quat_product, scaled, sub

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


@final
class WholeBodyPose:
    """A pose of the body.

    Attributes:
        moved: How far each joint that is free has moved since the press; zero for the others.
        turns: The rotation of each joint since the press, in its own axes at the press.
        rotations: The rotation of each joint in the axes of its limit.
        heads: The pivots.
        axes: The axes of the joints.
        misses: For each goal, how far its point is from where it is wanted.
        centre: The centre of mass; None if nothing has a mass.
        effort: The sum of stiffness · angle², in radians².
        steps: How many Newton steps were taken.
    """

    __slots__ = (
        "axes",
        "centre",
        "effort",
        "heads",
        "misses",
        "moved",
        "rotations",
        "steps",
        "turns",
    )
    moved: list[Vec]
    turns: list[Quat]
    rotations: list[Quat]
    heads: list[Vec]
    axes: list[Quat]
    misses: list[float]
    centre: Vec | None
    effort: float
    steps: int

    def __init__(
        self,
        moved: list[Vec],
        turns: list[Quat],
        rotations: list[Quat],
        heads: list[Vec],
        axes: list[Quat],
        misses: list[float],
        centre: Vec | None,
        effort: float,
        steps: int,
    ) -> None:
        """Take the parts."""
        self.moved = moved
        self.turns = turns
        self.rotations = rotations
        self.heads = heads
        self.axes = axes
        self.misses = misses
        self.centre = centre
        self.effort = effort
        self.steps = steps


@final
class WholeBody:
    """A body as it is at the press, which goals pose.

    Attributes:
        joints: Its bones, parents first.
        links: Springs over several of them.
    """

    __slots__ = ("joints", "links")
    joints: list[WholeBodyJoint]
    links: Sequence[Link]

    def __init__(self, joints: Sequence[WholeBodyJoint], links: Sequence[Link] = ()) -> None:
        """Take the bones and the links between them.

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
        """Return the pose that meets the goals with the least motion since the press.

        Args:
            goals: What is wanted.
            support: What the centre of mass stays above, as a target; None if it may be anywhere.

        Raises:
            ValueError: If the body has no size.
            OverflowError: If a number is not finite.
        """
        origin = self.joints[0].head
        points = [joint.head for joint in self.joints]
        points += [goal.point for goal in goals if goal.location is not None]
        size = max(length(sub(point, origin)) for point in points)
        if not size > 0.0:
            raise ValueError("a body needs a size")
        ends = [goal.joint for goal in goals]
        body = Articulation(self.joints, ends, origin, size, support is not None)
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
            # It may stay as far out of balance as it was.
            inward = Support([*corners, body.centre_at_press()], support.up, support.force)
        search = Search(body, springs, inward, self.links)
        pose = search.run(body.start(points_of))
        body.complete(pose)
        return _posed(body, goals, pose, search.steps)


def _posed(
    body: Articulation, goals: Sequence[WholeBodyGoal], pose: Placement, steps: int
) -> WholeBodyPose:
    """Return a pose in the space of the body."""
    effort = 0.0
    for joint, turn in zip(body.joints, pose.turns, strict=True):
        vector = quat_log(turn)
        effort += joint.stiffness * dot(vector, vector)
    misses: list[float] = []
    for goal in goals:
        reached = body.outward(Spring(goal, body, None).point_of(pose))
        wanted = reached if goal.location is None else goal.location
        misses.append(length(sub(reached, wanted)))
    return WholeBodyPose(
        [scaled(moved, body.size) for moved in pose.moved],
        pose.turns,
        [quat_product(j.rotation, turn) for j, turn in zip(body.joints, pose.turns, strict=True)],
        [body.outward(head) for head in pose.heads],
        pose.axes,
        misses,
        body.outward(body.centre(pose)) if body.mass > 0.0 else None,
        effort,
        steps,
    )
