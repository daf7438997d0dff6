"""A wave that travels along a chain, on top of its pose."""

from collections.abc import Sequence
from math import cos, floor, fsum, pi, sin
from typing import Final, NamedTuple

from ..core import ChainInput, Posture
from ..core.vectors import Vec, quat_exp, quat_product
from .easing import smooth
from .joint_fitting import with_rotations

FULL_TURN: Final = 2.0 * pi

WORD: Final = 0xFFFFFFFF
"""The mask of 32-bit arithmetic, so that the noise is the same on all machines."""


class Wave(NamedTuple):
    """The settings of a wave.

    Attributes:
        amplitude: Maximum rotation of a bone relative to its parent, in radians.
        wavelength: The wavelength, in lengths of the chain.
        turns: The phase, in waves that have passed the root: speed times time, plus an offset.
        falloff: At -1 the tip is still and the root has the full amplitude; at 1 it is the other
            way around. At 0 all bones have the full amplitude.
        direction: The plane of the wave, as an angle about each bone's local Y axis; 0 rotates
            about the X axis.
        noise: The fraction of noise: 0 is a sine, 1 only noise.
        seed: The seed of the noise.
    """

    amplitude: float
    wavelength: float
    turns: float
    falloff: float
    direction: float
    noise: float
    seed: int


def pose_wave(chain: ChainInput, wave: Wave, influence: float = 1.0) -> Posture:
    """Return the posture of a chain that waves on top of its FK pose.

    Each bone rotates about its local X and Z axes. The wave travels from the root to the tip. Its
    phase is measured along the bones in the FK pose, so that it doesn't depend on their number. The
    rotation of a bone doesn't scale with its length.

    Args:
        chain: The bones and their FK pose.
        wave: The wave. The same numbers give the same posture, bit for bit.
        influence: See `pose_chain`.

    Raises:
        ValueError: If a number isn't finite.
    """
    turning = zip(chain.rotations, turns(chain.chain.bone_lengths(), wave), strict=True)
    rotations = [quat_product(rotation, quat_exp(turn)) for rotation, turn in turning]
    return with_rotations(
        chain, [number for rotation in rotations for number in rotation], influence
    )


def turns(lengths: Sequence[float], wave: Wave) -> list[Vec]:
    """Return the rotation vector of each bone.

    Args:
        lengths: The lengths of the bones, root first.
        wave: The wave.
    """
    size = fsum(lengths)
    cosine, sine = cos(wave.direction), sin(wave.direction)
    rotations: list[Vec] = []
    at = 0.0
    for i, part in enumerate(lengths):
        # At the middle of the bone, or by the number of bones if they have no length.
        position = (at + 0.5 * part) / size if size > 0.0 else (i + 0.5) / len(lengths)
        at += part
        angle = wave.amplitude * _share(position, wave.falloff)
        phase = position / wave.wavelength - wave.turns
        regular = (wave.noise - 1.0) * angle * sin(FULL_TURN * phase)
        random = wave.noise * angle
        along = regular + random * smooth_noise(phase, 2 * wave.seed)
        across = random * smooth_noise(phase, 2 * wave.seed + 1)
        rotations.append((along * cosine - across * sine, 0.0, along * sine + across * cosine))
    return rotations


def _share(position: float, falloff: float) -> float:
    """Return the fraction of the amplitude at a position between the root (0) and the tip (1)."""
    still = position if falloff < 0.0 else 1.0 - position
    return 1.0 - abs(falloff) * still


def smooth_noise(position: float, seed: int) -> float:
    """Return smooth one-dimensional value noise from -1 to 1.

    It interpolates smoothly between random values at whole and half positions.
    """
    first = floor(2.0 * position)
    fraction = smooth(2.0 * position - first)
    low, high = _random(first, seed), _random(first + 1, seed)
    return low + fraction * (high - low)


def _random(position: int, seed: int) -> float:
    """Return a pseudorandom number from -1 to 1, a hash of position and seed.

    C. Wellons, “Prospecting for Hash Functions” (2018).
    """
    bits = (position * 0x9E3779B1 ^ seed * 0x85EBCA77 ^ 0x27D4EB2F) & WORD
    for _ in range(2):
        bits ^= bits >> 16
        bits = bits * 0x7FEB352D & WORD
        bits ^= bits >> 15
        bits = bits * 0x846CA68B & WORD
        bits ^= bits >> 16
    return 2.0 * bits / WORD - 1.0
