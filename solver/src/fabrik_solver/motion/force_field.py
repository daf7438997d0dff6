"""Force fields: the effect of wind, attractors, vortices and turbulence on a point.

The forces and their falloffs are those described by Blender's manual for particles of 1 kg (Physics
> Force Fields). The tests compare them with Blender's particles. Two things differ, to make motions
independent of the frame rate and of random numbers. `ForceField.noise` gusts smoothly, and
turbulence has a different pattern, of the same size and strength. Both are improved Perlin noise
(K. Perlin, "Improving Noise", 2002) with an integer hash in place of its table.
"""

from collections.abc import Sequence
from math import acos, degrees, floor, inf
from typing import Final, NamedTuple

from ..core.vectors import ORIGIN, Vec, add, cross, dot, length, mix, scaled, sub, unit_or
from .easing import smoother

OCTAVES: Final = 3
"""The number of octaves of turbulence in Blender."""


class Falloff(NamedTuple):
    """How a field weakens with distance.

    Attributes:
        power: The exponent.
        least: The distance up to which the field doesn't weaken.
        most: The distance beyond which the field has no effect.
    """

    power: float = 0.0
    least: float = 0.0
    most: float = inf

    def at(self, distance: float) -> float:
        """Return the fraction of the strength that remains at a distance."""
        if distance > self.most:
            return 0.0
        return float((1.0 + max(0.0, distance - self.least)) ** -self.power)


class ForceField(NamedTuple):
    """A force field at a time, in the space of the simulation.

    Attributes:
        kind: ``FORCE``, ``WIND``, ``VORTEX`` or ``TURBULENCE``.
        shape: Where it starts: at its ``POINT``, its ``LINE`` along Z, or the ``PLANE`` across Z.
            A vortex always starts at its point.
        location: Its location.
        axis: Its Z axis, a unit vector.
        strength: The acceleration at its origin, in m/s².
        noise: How much the strength gusts, in m/s².
        seed: The seed of its noise.
        time: The time in seconds, for gusts.
        size: The size of turbulence.
        is_global: Whether turbulence stays in space when the field moves.
        has_gravitation: Whether a force weakens with the square of the distance.
        side: 1 to act only in front of Z, -1 only behind it, 0 on both sides.
        reach: ``SPHERE``, ``TUBE`` or ``CONE``: how distances are measured.
        fall: The falloff with the distance from the origin or, except for a sphere, along Z.
        radial: The falloff with the distance from Z, or for a cone with the angle in degrees.
    """

    kind: str
    shape: str
    location: Vec
    axis: Vec
    strength: float
    noise: float = 0.0
    seed: int = 0
    time: float = 0.0
    size: float = 0.0
    is_global: bool = False
    has_gravitation: bool = False
    side: int = 0
    reach: str = "SPHERE"
    fall: Falloff = Falloff()
    radial: Falloff = Falloff()

    def toward(self, other: "ForceField", t: float) -> "ForceField":
        """Blend to a later field; settings that can't be blended are the later field's."""
        left = 1.0 - t
        return other._replace(
            location=mix(self.location, other.location, t),
            axis=unit_or(mix(self.axis, other.axis, t), other.axis),
            strength=left * self.strength + t * other.strength,
            noise=left * self.noise + t * other.noise,
            time=left * self.time + t * other.time,
        )

    def weighted(self, weight: float) -> "ForceField":
        """Return the field with another strength."""
        if weight == 1.0:
            return self
        return self._replace(strength=weight * self.strength, noise=weight * self.noise)

    def acceleration(self, point: Vec) -> Vec:
        """Return the acceleration of a point, in m/s²."""
        beside = sub(point, self.location)
        along = dot(self.axis, beside)
        arm = self._arm(beside, scaled(self.axis, along))
        weakening = self._share(beside, along, length(arm))
        if weakening == 0.0:
            return ORIGIN
        strength = weakening * (self.strength + self._gust())
        if self.kind == "WIND":
            return scaled(self.axis, strength)
        if self.kind == "TURBULENCE":
            return scaled(
                self._turbulence(point if self.is_global else add(beside, self.axis)), strength
            )
        distance = length(arm)
        if self.kind == "VORTEX":
            return scaled(unit_or(cross(self.axis, arm), ORIGIN), strength * distance)
        if self.has_gravitation and distance > 0.0:
            strength /= distance * distance
        return scaled(unit_or(arm, ORIGIN), strength)

    def _arm(self, beside: Vec, along: Vec) -> Vec:
        """Return the vector from where the field starts to a point.

        Args:
            beside: The vector from the field's location to the point.
            along: The component of that vector along Z.
        """
        if self.shape == "POINT" or self.kind == "VORTEX":
            return beside
        return along if self.shape == "PLANE" else sub(beside, along)

    def _share(self, beside: Vec, along: float, distance: float) -> float:
        """Return the fraction of the strength that acts at a point.

        Args:
            beside: The vector from the field's location to the point.
            along: The component of that vector along Z.
            distance: The distance from where the field starts.
        """
        if self.side * along < 0.0:
            return 0.0
        if self.reach == "SPHERE":
            return self.fall.at(distance)
        along_axis = self.fall.at(abs(along))
        if self.reach == "TUBE":
            radius = length(sub(beside, scaled(self.axis, along)))
        else:
            far = length(beside)
            radius = degrees(acos(min(max(along / far, -1.0), 1.0))) if far > 0.0 else 0.0
        return along_axis * self.radial.at(radius)

    def _gust(self) -> float:
        """Return the contribution of noise to the strength; a gust takes about a second."""
        return self.noise * perlin((self.time, 0.5 * self.seed, 0.5)) if self.noise else 0.0

    def _turbulence(self, point: Vec) -> Vec:
        """Return the turbulence at a point, roughly from -1 to 1 on each axis."""
        x, y, z = scaled(point, 1.0 / self.size) if self.size > 0.0 else point
        return (
            _fractal((x, y, z), self.seed),
            _fractal((y, z, x), self.seed),
            _fractal((z, x, y), self.seed),
        )


def accelerations(fields: Sequence[ForceField], point: Vec) -> Vec:
    """Return the acceleration of a point by all fields, in m/s²."""
    total = ORIGIN
    for field in fields:
        total = add(total, field.acceleration(point))
    return total


def fields_at(
    start: Sequence[ForceField], end: Sequence[ForceField], t: float
) -> Sequence[ForceField]:
    """Return the fields between two frames."""
    if t == 1.0 or not end:
        return end
    return [a.toward(b, t) for a, b in zip(start, end, strict=True)]


def perlin(point: Vec, seed: int = 0) -> float:
    """Return Perlin's noise at a point: smooth, roughly from -1 to 1, and 0 at whole numbers."""
    x, y, z = point
    i, j, k = floor(x), floor(y), floor(z)
    x, y, z = x - i, y - j, z - k
    u, v, w = smoother(x), smoother(y), smoother(z)
    total = 0.0
    for di, across in ((0, 1.0 - u), (1, u)):
        for dj, up in ((0, 1.0 - v), (1, v)):
            for dk, deep in ((0, 1.0 - w), (1, w)):
                slope = _slope(_hashed(i + di, j + dj, k + dk, seed), x - di, y - dj, z - dk)
                total += across * up * deep * slope
    return total


def _fractal(point: Vec, seed: int) -> float:
    """Return fractal noise: octaves, each with half the scale and amplitude of the previous one."""
    total, amplitude = 0.0, 1.0
    for octave in range(OCTAVES):
        total += amplitude * perlin(scaled(point, 2.0**octave), seed)
        amplitude *= 0.5
    return total / (2.0 - 2.0 * amplitude)


def _slope(bits: int, x: float, y: float, z: float) -> float:
    """Return the dot product of a corner's gradient with the vector from the corner to a point.

    Args:
        bits: Four bits that select the gradient, one of twelve toward the edges of a cube.
        x: The first component of the vector.
        y: The second one.
        z: The third one.
    """
    u = x if bits < 8 else y
    v = y if bits < 4 else (x if bits in (12, 14) else z)
    return (u if bits & 1 == 0 else -u) + (v if bits & 2 == 0 else -v)


def _hashed(i: int, j: int, k: int, seed: int) -> int:
    """Return four well-mixed bits for a corner (mixed as in MurmurHash3 by A. Appleby)."""
    bits = (i * 0x8DA6B343 + j * 0xD8163841 + k * 0xCB1AB31F + seed * 0x9E3779B1) & 0xFFFFFFFF
    bits = ((bits ^ (bits >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    bits = ((bits ^ (bits >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return (bits ^ (bits >> 16)) & 15
