"""How readily a person's joints bend, in each direction, and how much effort a drag may take.

The weights are for squared angles in radians², about the axes of the standing body. They apply to a
whole part: the entire spine, the entire neck, or one joint of a limb. They are fitted so that
dragged bodies pose like captured people who bend, lift and sit down. A joint about which nothing is
known has a weight of 1. Ranges are in degrees from the standing pose, close to those of healthy
adults.
"""

from __future__ import annotations

from math import radians
from typing import Final, NamedTuple

from fabrik_solver.core.vectors import Quat, Vec, dot, quat_inverse, quat_log, rotate
from fabrik_solver.core.whole_body import Onset, Resistance


class Axis(NamedTuple):
    """The resistance of a joint about one axis, in the negative and positive directions."""

    negative: float
    positive: float
    low: float = -180.0
    high: float = 180.0


class Bending(NamedTuple):
    """The resistance of a part about the body's front, left and up axes.

    Positive angles lean right, pitch the upper end forward, and twist left. For limbs, the signs
    are those of the left side.
    """

    aside: Axis
    pitch: Axis
    twist: Axis


BEYOND: Final = 20.0
"""The weight of rotation beyond a range, also for a whole part. A pull of `REACH` over a leg length
exceeds a range by half a radian."""

PERSON: Final = {
    # People bow by tipping the pelvis as readily as they flex thighs; backward would be a limbo.
    # Leaning aside is up to the thighs and the spine.
    "HIPS": Bending(Axis(0.1, 0.1), Axis(3.0, 0.1), Axis(1.0, 1.0)),
    # Discs give way forward; backward, the facets of the vertebrae meet. Ribs share in twists.
    "SPINE": Bending(
        Axis(1.0, 1.0, -36.0, 36.0), Axis(2.0, 0.17, -24.0, 66.0), Axis(0.67, 0.67, -35.0, 35.0)
    ),
    "NECK": Bending(
        Axis(1.0, 1.0, -40.0, 40.0), Axis(1.0, 1.0, -44.0, 44.0), Axis(1.0, 1.0, -70.0, 70.0)
    ),
    # It follows the arm; any other movement is stiff. The upward range is that of a shrug.
    "CLAVICLE": Bending(
        Axis(2.0, 2.0, -10.0, 35.0), Axis(2.0, 2.0, -10.0, 10.0), Axis(2.0, 2.0, -25.0, 15.0)
    ),
    # It flexes when sitting down and bowing; the ligaments in front stop extension.
    "THIGH": Bending(
        Axis(1.0, 1.0, -40.0, 40.0), Axis(0.1, 4.0, -120.0, 20.0), Axis(1.0, 1.0, -40.0, 40.0)
    ),
    # A hinge with a separate limit; knees give way as readily as hips flex.
    "SHIN": Bending(Axis(0.1, 0.1), Axis(0.1, 0.1), Axis(0.1, 0.1)),
    # Under load, an ankle flexes by 35 degrees, and points down by 50.
    "FOOT": Bending(
        Axis(1.0, 1.0, -25.0, 25.0), Axis(0.5, 0.5, -35.0, 50.0), Axis(1.0, 1.0, -25.0, 25.0)
    ),
}
"""The resistances of a person's parts."""


class Part(NamedTuple):
    """A bone in one of a person's parts.

    Attributes:
        kind: The part, a key of `PERSON`.
        share: The bone's share of the part's length.
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
        """Return the resistances in addition to the stiffness.

        The part common to both directions counts from the start of the drag. What one direction has
        in excess counts from the standing pose.

        Args:
            axes: The front, left and up axes of the body in the axes of the bone while it stands.
            rotation: Its rotation at the start of the drag, relative to the standing pose.
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
        """Return the onsets of one direction, from its weight and the weight common to both.

        The direction has a range of ``degrees`` from the standing pose. At the start of the drag,
        the joint is ``room`` radians on the other side of the standing pose.
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
"""The weight of hips that flex beyond `LONGEST` over straight legs, because hamstrings pass both
joints. It equals the weight of extending a thigh, whose muscles are as strong."""

LONGEST: Final = radians(50.0)
"""The flexion of a hip over a straight leg at which hamstrings begin to pull."""

KNEE: Final = 0.5
"""How much farther the hip may flex per flexion of the knee. Hamstrings have about half the
lever at the knee that they have at the hip."""


LEANING: Final = {"HIPS": 0.25, "SPINE": 0.35}
"""How far parts of the trunk lean forward, per flexion of the knees below. People who lift
something lean by 0.3 and 0.7 of it. Those who sit down lean as much at first, and less on the
chair. A torso control doesn't lean at all."""

TOGETHER: Final = 2.0
"""The weight of leaning by a different angle: the same as bending the spine backward."""


# How strictly bones keep their orientation in a drag: weights about the front, left and up axes.

GAZE: Final = (0.5, 0.5, 0.5)
"""The weight of the head's direction: half that of the neck, so the head keeps a third of it."""

FREE_GAZE: Final = (0.1, 0.1, 0.1)
"""The same while the head is dragged, when its direction hardly matters."""


class Upright(NamedTuple):
    """How strictly the trunk stays upright.

    Attributes:
        chest: Weights of the chest while hips or feet are dragged. With larger weights, the chest
            wouldn't follow a head or hands that are also dragged.
        pelvis: Weights of the pelvis while it is dragged. They are large, because turning the
            pelvis of a dragged torso gains nothing once a leg is straight.
    """

    chest: Vec
    pelvis: Vec


UPRIGHT: Final = Upright((4.0, 4.0, 4.0), (40.0, 10.0, 40.0))
PERSON_UPRIGHT: Final = Upright((4.0, 0.0, 4.0), (40.0, 0.0, 40.0))
"""The same for a person whose hips are dragged. The trunk has no weight against pitching, because
it leans by `LEANING`."""

CARRIED_TOGETHER: Final = UPRIGHT.pelvis[1]
"""Like `TOGETHER`, for a person's pelvis while it is dragged: as strict as other bodies' pitch."""

HANGING: Final = (0.5, 0.5, 0.5)
"""For arms that nothing drags: five times the resistance of their shoulders, so that they keep
hanging while the trunk leans."""

# The cost of a drag. People reach for something as long as it takes less effort than this per leg
# length. Beyond that, the pose stays, whatever the mouse does.

REACH: Final = 5e-4
"""The weight of dragged points: a force of 10 radians² per leg length. It also lifts a heel."""

CARRY: Final = 2e-3
"""The same for the hips, which carry the body."""

BALANCED: Final = 20.0
"""The force that keeps the center of mass in balance: people don't fall over to reach something."""

CARRIED: Final = 2.0
"""The same while the hips are dragged, which moves the body's weight, or a person sits down, whose
weight a seat takes. If larger, moving the hips back would throw the chest farther forward than a
torso control does."""

SEAT: Final = 0.5
"""How far a head goes down to sit down, in leg lengths: until the thighs are level."""

TARGETED: Final = 1e-2
"""The weight of targets that constraints reach for."""

STANDING: Final = 0.15
"""The same for targets of the feet, because the body stands on them."""
