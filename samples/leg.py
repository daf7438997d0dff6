"""A mannequin's leg with joint limits: a cone at the hip, and a hinge at the knee."""

from __future__ import annotations

from math import cos, radians, sin
from typing import Any

from . import shapes
from .parts import add_constraint, armature, camera, keyed, material, pole, stage, target

READ_ME = """\
With the FABRIK IK extension enabled, play: the ankle follows the orange Target as far as the \
joints allow, and the knee faces the blue Pole.
The knee is a hinge that bends by 145 degrees and never to the front; the hip swings within a cone \
and hardly twists. Both hold wherever you drag the Target and the Pole: where the hip allows no \
more, the constraint "Leg" says so.
Select the Rig, enter Pose Mode, choose Thigh or Shin, and see Joint in the sidebar's tab FABRIK.
"""

HIP = (0.11, 0.0, 0.95)
KNEE = (0.12, -0.03, 0.52)
ANKLE = (0.12, 0.03, 0.10)
TOES = (0.13, -0.15, 0.03)


def build() -> None:
    """Make the sample in the open file."""
    stage((0.66, 0.50, 0.72), READ_ME)
    rig = armature(
        "Rig",
        {
            "Pelvis": ((0.0, 0.0, 1.02), HIP, ""),
            "Thigh": (HIP, KNEE, "Pelvis"),
            "Shin": (KNEE, ANKLE, "Thigh"),
            "Foot": (ANKLE, TOES, "Shin"),
        },
    )
    _mannequin(rig)
    _joints(rig)
    goal = target("Target", ANKLE, size=0.075, is_seen=False)
    bend = pole("Pole", (0.2, -0.9, 0.6))
    add_constraint(rig, "Leg", bone="Shin", chain_count=2, target=goal, pole_target=bend)
    keyed(
        goal,
        "location",
        lambda a: (0.20 - 0.12 * cos(2.0 * a), -0.10 - 0.34 * sin(a), 0.40 + 0.16 * cos(a + 0.5)),
    )
    camera((1.8, -2.5, 1.0), (0.06, -0.12, 0.60), lens=44.0)


def _joints(rig: Any) -> None:
    hip = rig.pose.bones["Thigh"].fabrik_joint
    hip.limit_type = "CONE"
    hip.swing_x, hip.swing_z = radians(95.0), radians(40.0)
    hip.twist_min, hip.twist_max = radians(-30.0), radians(30.0)
    knee = rig.pose.bones["Shin"].fabrik_joint
    knee.limit_type = "HINGE"
    # The bone's roll determines whether the shin turns backwards, +Y, or forwards about its X axis.
    shin = rig.data.bones["Shin"].matrix_local.to_3x3()
    backwards = shin.col[0].cross(shin.col[1]).y > 0.0
    ends = (-5.0, 145.0) if backwards else (-145.0, 5.0)
    knee.hinge_min, knee.hinge_max = map(radians, ends)


def _mannequin(rig: Any) -> None:
    wood = material("Wood", (0.86, 0.58, 0.33))
    dark = material("Dark wood", (0.42, 0.22, 0.10))
    shapes.tube("Leg", rig, ("Thigh", "Shin"), _radius, wood, blend=0.5, rings=10)
    for name, center, size, bone in (
        ("Hip ball", HIP, 0.092, "Pelvis"),
        ("Knee ball", KNEE, 0.070, "Thigh"),
        ("Ankle ball", ANKLE, 0.050, "Shin"),
    ):
        shapes.hang(shapes.ball(name, center, size, dark), rig, bone)
    heel = (ANKLE[0], ANKLE[1] + 0.03, 0.05)
    shapes.hang(shapes.capsule("Shoe", heel, TOES, (0.052, 0.040), dark), rig, "Foot")
    shapes.capsule("Pelvis", (-0.12, 0.0, 1.0), (0.12, 0.0, 1.0), (0.12, 0.12), wood)
    shapes.capsule("Other thigh", (-0.12, 0.0, 0.95), (-0.12, -0.01, 0.5), (0.075, 0.06), wood)
    shapes.capsule("Other shin", (-0.12, -0.01, 0.5), (-0.12, 0.03, 0.1), (0.06, 0.042), wood)
    shapes.capsule("Other shoe", (-0.12, 0.06, 0.05), (-0.12, -0.15, 0.03), (0.052, 0.04), dark)
    trunk = ((0.001, 1.0), (0.13, 1.05), (0.11, 1.16), (0.13, 1.3), (0.001, 1.34))
    shapes.turned("Trunk", (0, 0, 0), (0, 0, 1), trunk, wood, sides=40)


def _radius(bones_along: float) -> float:
    """Return the leg's thickness along its bones: a thigh, and a calf thickest near the knee."""
    if bones_along < 1.0:
        return 0.078 - 0.018 * bones_along
    along_shin = bones_along - 1.0
    return 0.060 + 0.012 * sin(3.14 * min(1.0, 1.6 * along_shin)) - 0.020 * along_shin
