"""A foot through a cycle of walking or running: heel strike, roll over the ball, swing.

The numbers follow gait analysis: Perry and Burnfield, “Gait Analysis” (2010), and Winter,
“Biomechanics and Motor Control of Human Movement” (2009).
"""

from __future__ import annotations

from math import pi, sin
from typing import NamedTuple

from mathutils import Matrix, Vector

from .figure import ANKLE

HEEL, BALL = Vector((-0.05, 0.0, -ANKLE)), Vector((0.12, 0.0, 0.035 - ANKLE))
"""The points about which a foot rolls, relative to its ankle."""


class Foot(NamedTuple):
    """A foot at a time of its cycle.

    Attributes:
        ankle: The position of its ankle, in meters; flat on the ground it is above the origin.
        pitch: The downward rotation of the foot, in radians.
        toes: The downward rotation of its toes, in radians.
    """

    ankle: Vector
    pitch: float
    toes: float


class Stride(NamedTuple):
    """The cycle of a foot, from a heel strike at 0 to the next at 1.

    Attributes:
        length: The length of a cycle, in meters.
        flat: The time of foot flat.
        heel_off: The time of heel off.
        toe_off: The time of toe off.
        strike: The downward rotation at heel strike, in radians; negative, as toes point up.
        push: The downward rotation at toe off.
        kick: The largest downward rotation during swing.
        lift: The height that the ankle swings above its straight path, in meters.
    """

    length: float
    flat: float
    heel_off: float
    toe_off: float
    strike: float
    push: float
    kick: float
    lift: float

    def foot(self, u: float) -> Foot:
        """Return the foot at a time of the cycle, from 0 to 1."""
        if u <= self.toe_off:
            return self._standing(u)
        small = 1e-4
        start, end = self._standing(self.toe_off), self._standing(0.0)
        path = Vector((self.length, 0.0, 0.0)) + end.ankle - start.ankle
        swing = 1.0 - self.toe_off
        s = (u - self.toe_off) / swing
        off = (start.ankle - self._standing(self.toe_off - small).ankle) * (swing / small)
        on = (self._standing(small).ankle - end.ankle) * (swing / small)
        ankle = start.ankle + path * (s * s * (3.0 - 2.0 * s))
        ankle += off * (s * (1.0 - s) ** 2) - on * (s * s * (1.0 - s))
        ankle.z += self.lift * s * s * (1.0 - s) ** 3 / 0.4**2 / 0.6**3
        kick = (self.kick - self.push) * sin(pi * min(1.0, 2.0 * s)) ** 2
        pitch = self.push + (self.strike - self.push) * _eased(s) + kick
        return Foot(ankle, pitch, pitch * _eased(2.0 * s) if pitch > 0.0 else pitch)

    def _standing(self, u: float) -> Foot:
        """Return a foot in stance: it rolls on its heel, lies flat, and rolls on its ball."""
        if u < self.flat:
            pitch, pivot = self.strike * (1.0 - u / self.flat) ** 2, HEEL
        else:
            push = max(0.0, (u - self.heel_off) / (self.toe_off - self.heel_off))
            pitch, pivot = self.push * push * push, BALL
        ankle = pivot + Matrix.Rotation(pitch, 3, "Y") @ -pivot
        return Foot(ankle + Vector((0.0, 0.0, ANKLE)), pitch, min(pitch, 0.0))


def _eased(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
