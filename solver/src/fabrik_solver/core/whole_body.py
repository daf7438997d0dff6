"""Whole bodies: the pose of least motion since the start of a drag that meets all goals.

Pinned points take priority over dragged ones, those over targets, and targets over soft goals. A
lower-priority rank shifts a higher one by at most about a thousandth of the body's size. The pose
depends only on the start of the drag and the goals. Many small mouse moves give the same pose as
one large move, and moving back restores the starting pose.

Such a pose jumps where a minimum ends. `WholeBody.toward` moves the shown pose there step by step,
with all goals met as in the new pose.
"""

from collections.abc import Sequence
from typing import Final, final

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

TRIES: Final = 4
"""The most times that the fraction of a jump is reduced until bones rotate by an allowed angle."""

NEARLY: Final = 1.05
"""The multiple of the allowed rotation that is close enough."""


@final
class WholeBodyPose:
    """A pose of the body.

    Attributes:
        moved: How far each free joint has moved since the start of the drag; zero for the others.
        turns: The rotation of each joint since then, in its own axes at that time.
        rotations: The rotation of each joint in the axes of its limit.
        heads: The pivots.
        axes: The axes of the joints.
        offsets: For each goal, the offset of its point from the desired location; zero for any
            location.
        misses: The lengths of these.
        center: The center of mass; None if nothing has a mass.
        effort: The sum of stiffness · angle², in radians².
        steps: The number of Newton steps.
        aim: The pose of least motion it is moving toward; None if it has arrived.
    """

    __slots__ = (
        "aim",
        "axes",
        "center",
        "effort",
        "heads",
        "misses",
        "moved",
        "offsets",
        "rotations",
        "steps",
        "turns",
    )

    def __init__(
        self,
        moved: list[Vec],
        turns: list[Quat],
        rotations: list[Quat],
        heads: list[Vec],
        axes: list[Quat],
        offsets: list[Vec],
        center: Vec | None,
        effort: float,
        steps: int,
        aim: "WholeBodyPose | None" = None,
    ) -> None:
        """Take the parts."""
        self.moved = moved
        self.turns = turns
        self.rotations = rotations
        self.heads = heads
        self.axes = axes
        self.offsets = offsets
        self.misses = [length(offset) for offset in offsets]
        self.center = center
        self.effort = effort
        self.steps = steps
        self.aim = aim


@final
class WholeBody:
    """A body at the start of a drag, posed by goals.

    Attributes:
        joints: Its bones, parents first.
        links: Springs over several of them.
    """

    __slots__ = ("joints", "links")

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
        """Return the pose that meets the goals with the least motion since the start of the drag.

        Args:
            goals: The goals.
            support: The support below the center of mass, with the rank of a target; None if that
                may be anywhere.

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
        most: float,
        goals: Sequence[WholeBodyGoal],
    ) -> WholeBodyPose:
        """Return a pose between two, in which no bone has rotated by more than allowed.

        It meets the pins as the later pose does, and dragged points follow that pose as far as they
        reach. Bones rotate by more if the goals require it.

        Args:
            pose: The later pose, returned if it is near enough.
            last: The earlier pose.
            most: The largest rotation from the earlier pose, in radians, unless the goals require
                more.
            goals: The goals of the later pose; the earlier pose had them at other locations.
        """
        turn = _turned(last, pose)
        if turn <= most:
            return pose
        fraction, part = most / turn, 1.0
        body = self._articulation(goals, is_balanced=True)
        between, steps = self._between(body, pose, last, fraction, goals)
        is_reached = max(pose.misses) <= SLACK * body.size  # Else no goal requires more.
        for _ in range(0 if is_reached else TRIES):
            turned = _turned(last, between)
            if turned <= NEARLY * most:
                break
            part *= most / turned
            between, more = self._between(body, pose, last, fraction * part, goals, part)
            steps += more
        return _posed(body, goals, between, pose.steps + steps, pose)

    def _between(
        self,
        body: Articulation,
        pose: WholeBodyPose,
        last: WholeBodyPose,
        fraction: float,
        goals: Sequence[WholeBodyGoal],
        part: float = 1.0,
    ) -> tuple[Placement, int]:
        """Return the pose at a fraction between two poses, and the number of steps.

        Args:
            body: The bones.
            pose: The later pose.
            last: The earlier pose.
            fraction: The fraction.
            goals: The goals of the later pose.
            part: The fraction of its motion that a point out of reach makes.
        """
        aim = last.aim or last
        start, end = _placed(body, last.moved, last.turns), _placed(body, pose.moved, pose.turns)
        previous_aim = _placed(body, aim.moved, aim.turns)
        between = _placed(
            body,
            [mix(a, b, fraction) for a, b in zip(last.moved, pose.moved, strict=True)],
            [slerp(a, b, fraction) for a, b in zip(last.turns, pose.turns, strict=True)],
        )
        wanted: list[WholeBodyGoal] = []
        for index, goal in enumerate(goals):
            if goal.rank == SOFT:
                continue
            spring, bone = Spring(goal, body, None), goal.joint
            there, here = spring.point_of(end), spring.point_of(start)
            # The point moves with the pose of least motion, but no farther than its goal has moved.
            along = sub(there, spring.point_of(previous_aim))
            gone = sub(along, scaled(sub(pose.offsets[index], aim.offsets[index]), 1.0 / body.size))
            along = scaled(along, min(1.0, length(gone) / max(length(along), SLACK)))
            if pose.misses[index] > SLACK * body.size:
                along = scaled(along, part)
            there = body.outward(mix(add(here, along), there, fraction))
            change = quat_product(end.changes[bone], quat_inverse(between.changes[bone]))
            wanted.append(
                goal._replace(
                    point=body.outward(spring.point_of(between)),
                    location=None if goal.location is None else there,
                    rotation=None if goal.rotation is None else change,
                    weight=1.0,
                )
            )
        bent = WholeBody(body.bent(between)).solve(wanted)
        moved = [scaled(offset, body.size) for offset in between.moved]
        final = _placed(
            body,
            [add(a, b) for a, b in zip(moved, bent.moved, strict=True)],
            [quat_product(a, b) for a, b in zip(between.turns, bent.turns, strict=True)],
        )
        return final, bent.steps

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


def _turned(earlier: WholeBodyPose, later: WholeBodyPose | Placement) -> float:
    """Return the largest rotation of a bone or joint between two poses."""
    pairs = [
        *zip(earlier.turns, later.turns, strict=True),
        *zip(earlier.axes, later.axes, strict=True),
    ]
    return max([quat_angle(a, b) for a, b in pairs])


def _placed(body: Articulation, moved: Sequence[Vec], turns: Sequence[Quat]) -> Placement:
    """Return a pose from its joints' displacements and rotations since the drag began."""
    placement = Placement([scaled(offset, 1.0 / body.size) for offset in moved], list(turns))
    body.place(placement)
    return placement


def _posed(
    body: Articulation,
    goals: Sequence[WholeBodyGoal],
    pose: Placement,
    steps: int,
    aim: WholeBodyPose | None = None,
) -> WholeBodyPose:
    """Return a pose in the space of the body."""
    effort = 0.0
    for joint, turn in zip(body.joints, pose.turns, strict=True):
        vector = quat_log(turn)
        effort += joint.stiffness * dot(vector, vector)
    offsets: list[Vec] = []
    for goal in goals:
        reached = body.outward(Spring(goal, body, None).point_of(pose))
        offsets.append(sub(reached, reached if goal.location is None else goal.location))
    return WholeBodyPose(
        [scaled(moved, body.size) for moved in pose.moved],
        pose.turns,
        [quat_product(j.rotation, turn) for j, turn in zip(body.joints, pose.turns, strict=True)],
        [body.outward(head) for head in pose.heads],
        pose.axes,
        offsets,
        body.outward(body.center(pose)) if body.mass > 0.0 else None,
        effort,
        steps,
        aim,
    )
