"""How readily the joints of a person bend: which way, how far, and for how much of a drag.

Weights are those of squared angles in radians², about the axes of the standing body. They apply to
a whole part: all of the spine, all of the neck, one joint of a limb. They are fitted so that
dragged bodies pose like captured people who bend, lift and sit down. A joint about which nothing is
known has a weight of 1. Ranges are degrees from there, about those of healthy adults.
"""

from __future__ import annotations

from math import radians
from typing import Final, NamedTuple

from fabrik_solver.core.vectors import Quat, Vec, dot, quat_inverse, quat_log, rotate
from fabrik_solver.core.whole_body import Onset, Resistance


class Axis(NamedTuple):
    """The resistance of a joint about one axis, in its negative and its positive direction."""

    negative: float
    positive: float
    low: float = -180.0
    high: float = 180.0


class Bending(NamedTuple):
    """The resistance of a part about the front axis, the left axis and the up axis of the body.

    Positive is to the right, forward (of what points up) and to the left; for limbs on the left.
    """

    aside: Axis
    pitch: Axis
    twist: Axis


BEYOND: Final = 20.0
"""The weight beyond a range, also of a whole part. A pull of `REACH` at the length of a leg exceeds
a range by half a radian."""

PERSON: Final = {
    # The pelvis tips forward as readily as thighs flex, by which people bow; back, it would limbo.
    "HIPS": Bending(Axis(2.0, 2.0), Axis(3.0, 0.1), Axis(1.0, 1.0)),
    # Discs give way forward; backward the facets of the vertebrae meet. The ribs share twists.
    "SPINE": Bending(
        Axis(1.0, 1.0, -36.0, 36.0), Axis(2.0, 0.17, -24.0, 66.0), Axis(0.67, 0.67, -35.0, 35.0)
    ),
    # As limp as half of any joint: the gaze is kept by a weight of its own.
    "NECK": Bending(
        Axis(0.5, 0.5, -40.0, 40.0), Axis(0.5, 0.35, -44.0, 44.0), Axis(0.5, 0.5, -70.0, 70.0)
    ),
    # It follows the arm; what it does beside that is stiff. Up by what a shrug has.
    "CLAVICLE": Bending(
        Axis(2.0, 2.0, -10.0, 35.0), Axis(2.0, 2.0, -10.0, 10.0), Axis(2.0, 2.0, -25.0, 15.0)
    ),
    # Flexing is what sitting down and bowing do; extending is stopped by the ligaments in front.
    "THIGH": Bending(
        Axis(1.0, 1.0, -40.0, 40.0), Axis(0.1, 4.0, -120.0, 20.0), Axis(1.0, 1.0, -40.0, 40.0)
    ),
    # A hinge with a limit of its own: knees give way before anything else does.
    "SHIN": Bending(Axis(0.25, 0.25), Axis(0.25, 0.25), Axis(0.25, 0.25)),
    # Under load an ankle flexes by 35 degrees, and points down by 50.
    "FOOT": Bending(
        Axis(1.0, 1.0, -25.0, 25.0), Axis(0.5, 0.5, -35.0, 50.0), Axis(1.0, 1.0, -25.0, 25.0)
    ),
}
"""The resistances of the parts of a person."""


class Part(NamedTuple):
    """A bone of a part of a person.

    Attributes:
        kind: The part, of `PERSON`.
        share: Its share of the length of the part.
        is_right: Whether it is on the right side.
    """

    kind: str
    share: float
    is_right: bool

    def _bending(self) -> Bending:
        aside, pitch, twist = PERSON[self.kind]
        if self.is_right:
            aside, twist = (
                Axis(axis.positive, axis.negative, -axis.high, -axis.low) for axis in (aside, twist)
            )
        return Bending(aside, pitch, twist)

    @property
    def stiffness(self) -> float:
        """The resistance of the bone in all directions."""
        return min(min(axis.negative, axis.positive) for axis in PERSON[self.kind]) / self.share

    def resistances(self, axes: tuple[Vec, ...], rotation: Quat) -> list[Resistance]:
        """Return its resistances besides its stiffness.

        The part common to both directions counts from the start of the drag; the excess of one
        direction, from the standing pose.

        Args:
            axes: The front, left and up axes of the body in the axes of the bone while it stands.
            rotation: Its rotation at the start of the drag, since the standing pose.
        """
        turned, to_own = quat_log(rotation), quat_inverse(rotation)
        result: list[Resistance] = []
        for standing_axis, axis in zip(axes, self._bending(), strict=True):
            since_standing = dot(turned, standing_axis)
            common = min(axis.negative, axis.positive)
            sides = [
                self._onsets(common, weight, degrees, room)
                for weight, degrees, room in (
                    (axis.negative, -axis.low, since_standing),
                    (axis.positive, axis.high, -since_standing),
                )
            ]
            result.append(Resistance(rotate(to_own, standing_axis), *sides))
        return result

    def _onsets(self, common: float, weight: float, degrees: float, room: float) -> list[Onset]:
        """Return the onsets of one direction, from its weight and that common to both.

        It goes that many degrees from the standing pose. At the start of the drag the joint is
        there by ``room`` radians on the other side.
        """
        onsets: list[Onset] = []
        if common / self.share > self.stiffness:
            onsets.append((0.0, common / self.share - self.stiffness))
        if weight > common:
            onsets.append((max(0.0, room), (weight - common) / self.share))
        if degrees < 180.0:
            onsets.append((max(0.0, radians(degrees) * self.share + room), BEYOND / self.share))
        return onsets


HAMSTRING: Final = 4.0
"""The weight of hips that flex beyond `LONGEST` over straight legs: hamstrings pass both joints. It
equals that of an extending thigh, whose muscles are as strong."""

LONGEST: Final = radians(50.0)
"""The flexion of a hip over a straight leg at which hamstrings begin to pull."""

KNEE: Final = 0.5
"""The share of a knee's flexion by which the hip may flex farther. The levers of hamstrings at the
knee are about half as long as at the hip."""


LEANING: Final = {"HIPS": 0.25, "SPINE": 0.35}
"""How far the parts of the trunk lean forward, as shares of the flexion of the knees below it.
People who lift something lean by 0.3 and 0.7 of that, those who sit down by as much at first and
less on the chair; a torso control doesn't lean at all."""

TOGETHER: Final = 2.0
"""The weight of leaning by another angle: the same as bending the spine backward."""


# How bones keep their orientation during a drag: weights about the front, left and up axes.

GAZE: Final = (0.5, 0.5, 0.5)
"""Of the head: as much as the neck, so that it keeps half of its direction."""

FREE_GAZE: Final = (0.05, 0.05, 0.05)
"""Of the head while it is dragged itself, which isn't about where it looks."""


class Upright(NamedTuple):
    """How strictly the trunk stays upright.

    Attributes:
        chest: The weights of the chest while hips or feet are dragged. With more, it would not
            follow a head and hands that are dragged as well.
        pelvis: Those of the pelvis while it is dragged. A torso control stops where a leg is
            straight, and the pelvis gains no more by turning.
    """

    chest: Vec
    pelvis: Vec


UPRIGHT: Final = Upright((4.0, 4.0, 4.0), (40.0, 10.0, 40.0))
PERSON_UPRIGHT: Final = Upright((4.0, 0.0, 4.0), (40.0, 0.0, 40.0))
"""A person's trunk has no weight against pitching: it leans by `LEANING`."""

CARRIED_TOGETHER: Final = UPRIGHT.pelvis[1]
"""As `TOGETHER`, of a person's pelvis while it is dragged: as strict as any other body's pitch."""

HANGING: Final = (1.0, 1.0, 1.0)
"""Of the arms that nothing drags: ten times what their shoulders resist, so that they hang as
before below a trunk that leans."""

# What a drag may cost. A person reaches for something as long as that costs less effort than this
# for the length of a leg. Beyond that, the pose stays, whatever the mouse does.

REACH: Final = 5e-4
"""The weight of dragged points: a force of 10 radians² per length of a leg. It lifts a heel,
too."""

CARRY: Final = 2e-3
"""The same of the hips, which carry the body."""

BALANCED: Final = 20.0
"""The force that keeps the center of mass in balance: people don't fall over to reach something."""

CARRIED: Final = 2.0
"""The same while the hips are dragged, which moves the body's weight. With more, hips moving back
throw the chest forward by more than a torso control would."""

TARGETED: Final = 1e-2
"""The weight of targets that constraints reach for."""

STANDING: Final = 0.15
"""The same for those of the feet: the body stands on them."""
