"""A mannequin's arm of two bones whose elbow faces a pole."""

from __future__ import annotations

from math import cos, sin

from . import shapes
from .parts import add_constraint, armature, camera, keyed, material, pole, stage, target

READ_ME = """\
With the FABRIK IK extension enabled, play: the wrist follows the orange Target, and the elbow \
faces the blue Pole.
Move either of them, or select the Rig, enter Pose Mode and see the constraint "Arm" in the \
sidebar's tab FABRIK.
Two bones are solved exactly and without iteration by the solver Two Bone.
"""

SHOULDER = (0.17, 0.0, 1.42)
ELBOW = (0.47, 0.03, 1.42)
WRIST = (0.75, 0.0, 1.42)


def build() -> None:
    """Make the sample in the open file."""
    stage((0.42, 0.66, 0.70), READ_ME)
    rig = armature(
        "Rig",
        {
            "Shoulder": ((0.03, 0.0, 1.42), SHOULDER, ""),
            "Upper arm": (SHOULDER, ELBOW, "Shoulder"),
            "Forearm": (ELBOW, WRIST, "Upper arm"),
            "Hand": (WRIST, (0.92, 0.0, 1.42), "Forearm"),
        },
    )
    _mannequin(rig)
    goal = target("Target", (0.4, -0.3, 1.4), size=0.055, is_seen=False)
    bend = pole("Pole", (0.8, 0.35, 1.05))
    add_constraint(
        rig,
        "Arm",
        solver="TWO_BONE",
        bone="Forearm",
        chain_count=2,
        target=goal,
        pole_target=bend,
    )
    keyed(
        goal,
        "location",
        lambda a: (0.44 + 0.17 * cos(a), -0.30 + 0.10 * sin(a), 1.44 + 0.22 * sin(2.0 * a)),
    )
    camera((1.15, -2.7, 1.62), (0.30, 0.0, 1.40), lens=56.0)


def _mannequin(rig) -> None:
    wood = material("Wood", (0.86, 0.58, 0.33))
    dark = material("Dark wood", (0.42, 0.22, 0.10))
    shapes.tube("Arm", rig, ("Upper arm", "Forearm"), _radius, wood, blend=0.5, rings=10)
    for name, center, size, bone in (
        ("Shoulder ball", SHOULDER, 0.085, "Shoulder"),
        ("Elbow ball", ELBOW, 0.064, "Upper arm"),
    ):
        shapes.hang(shapes.ball(name, center, size, dark), rig, bone)
    palm = shapes.capsule("Palm", (0.81, 0, 1.42), (0.87, 0, 1.42), (0.042, 0.036), wood)
    thumb = shapes.capsule("Thumb", (0.80, -0.03, 1.43), (0.86, -0.075, 1.45), (0.02, 0.016), wood)
    for part in (palm, thumb):
        shapes.hang(part, rig, "Hand")
    chest = ((0.01, 0.98), (0.10, 0.98), (0.145, 1.06), (0.165, 1.2), (0.18, 1.36), (0.15, 1.46))
    top = ((0.06, 1.50), (0.05, 1.56), (0.001, 1.56))
    shapes.turned("Chest", (0, 0, 0), (0, 0, 1), (*chest, *top), wood, sides=40)
    shapes.capsule("Head", (0, -0.01, 1.68), (0, -0.02, 1.76), (0.085, 0.11), wood)
    shapes.ball("Neck", (0, 0, 1.57), 0.06, dark)
    foot = ((0.001, 0.0), (0.2, 0.0), (0.2, 0.03), (0.03, 0.05), (0.025, 1.0), (0.001, 1.0))
    shapes.turned("Stand", (0, 0, 0), (0, 0, 1), foot, dark, sides=32)


def _radius(fraction: float) -> float:
    """Return the arm's thickness at a fraction of its length: two muscles, thin at the joints."""
    bone_fraction = fraction * 2.0 % 1.0 if fraction < 1.0 else 1.0
    belly = 4.0 * bone_fraction * (1.0 - bone_fraction)
    return 0.046 + 0.02 * belly * (1.0 - 0.3 * fraction) - 0.008 * fraction
