"""An octopus: eight tentacles of 16 bones that wave, and reach for eight targets."""

from __future__ import annotations

from math import cos, pi, radians, sin, sqrt
from typing import Any

from . import shapes
from .parts import Bones, add_constraint, armature, camera, keyed, material, stage, target

READ_ME = """\
With the FABRIK IK extension enabled, play: each tentacle has two constraints, a Wave and, after \
it in the list, one that reaches. So it waves, and its tip is on its target all the same.
Move a Wave below the other one, and the tips wave as well. Change Amplitude, Wavelength and Speed \
of a Wave, or give it Noise and another Seed.
"""

TENTACLES = 8
COUNT = 16
SIZE = 0.125
HIGH = 0.92

FEET = (0, 1, 3, 4, 6, 7)
"""The tentacles that stay near the floor."""


def build() -> None:
    """Make the sample in the open file."""
    stage((0.10, 0.24, 0.42), READ_ME)
    rig = armature("Rig", {"Body": ((0, 0, HIGH), (0, 0, HIGH + 0.5), ""), **_tentacles()})
    skin = material("Skin", (0.80, 0.20, 0.10), roughness=0.35)
    _body(rig, skin)
    for n in range(TENTACLES):
        names = [f"Tentacle {n}.{i:02}" for i in range(COUNT)]
        shapes.tube(f"Tentacle {n}", rig, names, _radius, skin, blend=1.0, rings=2, sides=12)
        _wave(rig, n, names[-1])
        goal = target(f"Target {n}", _place(n, 0.0), size=0.045)
        keyed(goal, "location", lambda a, n=n: _place(n, a), every=5)
        add_constraint(
            rig,
            f"Reach {n}",
            bone=names[-1],
            chain_count=COUNT,
            target=goal,
            iterations=60,
        )
    body = rig.pose.bones["Body"]
    keyed(body, "location", lambda a: (0.08 * sin(a), 0.09 * sin(2.0 * a), 0.06 * cos(a)), every=5)
    body.rotation_mode = "XYZ"
    turn = radians(6.0)
    keyed(body, "rotation_euler", lambda a: (turn * sin(2.0 * a), 0.0, turn * cos(a)), every=5)
    camera((0.5, -6.6, 2.4), (0.0, 0.0, 0.78), lens=50.0)


def _angle(n: int) -> float:
    """Return the direction of a tentacle, as an angle in radians."""
    return 2.0 * pi * (n + 0.5) / TENTACLES


def _tentacles() -> Bones:
    """Return the bones of the tentacles: up and then down to the floor, or down and then up.

    They end near their targets, so that reaching changes little of their shape.
    """
    bones: Bones = {}
    for n in range(TENTACLES):
        along, across = cos(_angle(n)), sin(_angle(n))
        out, high = 0.2, HIGH
        for i in range(COUNT):
            fraction = i / COUNT
            slope = 0.8 - 2.2 * sin(pi * fraction) if n in FEET else 2.88 * fraction - 1.14
            start = (out * along, out * across, high)
            out, high = out + SIZE * cos(slope), high + SIZE * sin(slope)
            parent = f"Tentacle {n}.{i - 1:02}" if i else "Body"
            bones[f"Tentacle {n}.{i:02}"] = (start, (out * along, out * across, high), parent)
    return bones


def _place(n: int, a: float) -> tuple[float, float, float]:
    """Return the position of a tentacle's target at an angle of the loop."""
    angle = _angle(n) + 0.12 * sin(a + 2.1 * n)
    if n in FEET:
        out = 1.69 + 0.06 * sin(a + 1.3 * n)
        return (out * cos(angle), out * sin(angle), 0.12 + 0.1 * max(0.0, sin(a + 1.7 * n)))
    out = 1.75 + 0.08 * cos(a + n)
    return (out * cos(angle), out * sin(angle), 1.2 + 0.3 * sin(a + n))


def _wave(rig: Any, n: int, tip: str) -> None:
    """Add a wave to a tentacle, once per loop of five seconds, each with another phase."""
    item = add_constraint(rig, f"Wave {n}", bone=tip, chain_count=COUNT, solver="WAVE")
    wave = item.wave
    wave.amplitude, wave.wavelength, wave.speed = radians(13.0), 0.9, 0.2
    wave.phase, wave.falloff, wave.direction = 0.37 * n + 0.25, 0.4, radians(35.0 * (n % 3 - 1))


def _radius(fraction: float) -> float:
    """Return the thickness of a tentacle at a fraction of its length, round at its tip."""
    taper = 0.022 + 0.095 * (1.0 - fraction) ** 1.1
    return taper * sqrt(max(0.0, 1.0 - max(0.0, fraction - 0.97) / 0.0301))


def _body(rig: Any, skin: Any) -> None:
    """Parent the head and the eyes to their bone."""
    profile = (
        *((0.001, -0.14), (0.20, -0.10), (0.30, 0.0), (0.29, 0.10), (0.25, 0.18), (0.27, 0.28)),
        *((0.37, 0.45), (0.42, 0.62), (0.40, 0.80), (0.30, 0.95), (0.15, 1.03), (0.001, 1.05)),
    )
    head = shapes.turned("Head", (0, 0, HIGH), (0, 0.25, HIGH + 1.0), profile, skin, sides=28)
    shapes.hang(head, rig, "Body")
    white = material("Eye", (0.95, 0.93, 0.85), roughness=0.2)
    black = material("Pupil", (0.01, 0.01, 0.01), roughness=0.1)
    for side in (-1.0, 1.0):
        x = 0.17 * side
        eye = shapes.ball(f"Eye {side:+.0f}", (x, -0.20, HIGH + 0.27), 0.1, white)
        pupil = shapes.ball(f"Pupil {side:+.0f}", (1.12 * x, -0.275, HIGH + 0.275), 0.05, black)
        for part in (eye, pupil):
            shapes.hang(part, rig, "Body")
