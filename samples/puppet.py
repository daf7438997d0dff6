"""A flat puppet of card that moves in the XZ plane only."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

from . import shapes
from .parts import Bones, add_constraint, armature, camera, keyed, material, pole, stage, target

READ_ME = """\
With the FABRIK IK extension enabled, play: four limbs follow their targets, and every joint stays \
in the plane of the card, without a lock anywhere.
Poles in the same plane say to which side elbows and knees bend, whatever the FK pose does.
Hips and torso carry ordinary keys; the feet stay flat because their bones inherit no rotation.
"""

Outline = list[tuple[float, float]]

BEND = 0.05
"""The bend of elbows and knees in the FK pose: Blender's own IK, with which the demo compares,
cannot bend straight limbs.
"""


def build() -> None:
    """Make the sample in the open file."""
    stage((0.55, 0.72, 0.50), READ_ME)
    rig = armature("Rig", _bones())
    for side in "LR":
        rig.data.bones[f"Foot.{side}"].use_inherit_rotation = False
    _card(rig)
    _limbs(rig)
    hips, torso, head = (rig.pose.bones[name] for name in ("Hips", "Torso", "Head"))
    keyed(hips, "location", lambda a: (0.13 * sin(a), -0.06 - 0.04 * cos(2.0 * a), 0.0))
    for bone, size in ((torso, 0.13), (head, -0.22)):
        bone.rotation_mode = "XYZ"
        keyed(bone, "rotation_euler", lambda a, size=size: (0.0, 0.0, size * sin(a)))
    camera((0.35, -6.2, 1.35), (0.0, 0.0, 1.1), lens=54.0)


def _bones() -> Bones:
    """Return bones along the world axes: rounding can hardly rotate these out of the plane."""
    bones: Bones = {
        "Hips": ((0, 0, 1.0), (0, 0, 1.12), ""),
        "Torso": ((0, 0, 1.12), (0, 0, 1.6), "Hips"),
        "Head": ((0, 0, 1.6), (0, 0, 1.95), "Torso"),
    }
    for side, sign in (("L", 1.0), ("R", -1.0)):
        x = sign * 0.12
        bones[f"Upper arm.{side}"] = ((sign * 0.2, 0, 1.5), (sign * 0.5, 0, 1.5), "Torso")
        bones[f"Forearm.{side}"] = ((sign * 0.5, 0, 1.5), (sign * 0.8, 0, 1.5), f"Upper arm.{side}")
        bones[f"Thigh.{side}"] = ((x, 0, 1.0), (x, 0, 0.56), "Hips")
        bones[f"Shin.{side}"] = ((x, 0, 0.56), (x, 0, 0.12), f"Thigh.{side}")
        bones[f"Foot.{side}"] = ((x, 0, 0.12), (x + sign * 0.2, 0, 0.12), f"Shin.{side}")
    return bones


def _limbs(rig: Any) -> None:
    for side, sign in (("L", 1.0), ("R", -1.0)):
        # The right side repeats the left side's motion half a loop later.
        late = 0.0 if side == "L" else pi
        hand = target(f"Hand target.{side}", (sign * 0.6, 0, 1.5), size=0.045)
        foot = target(f"Foot target.{side}", (sign * 0.25, 0, 0.12), size=0.045)
        keyed(hand, "location", lambda a, s=sign, b=late: _hand(a + b, s))
        keyed(foot, "location", lambda a, s=sign, b=late: _foot(a + b, s))
        limb = {"solver": "TWO_BONE", "chain_count": 2}
        for bone, channel in ((f"Forearm.{side}", 1), (f"Shin.{side}", 3)):
            rig.pose.bones[bone].rotation_quaternion[channel] = sign * BEND
        elbow = pole(f"Elbow pole.{side}", (sign * 0.62, 0, 0.8), size=0.03)
        knee = pole(f"Knee pole.{side}", (sign * 0.95, 0, 0.5), size=0.03)
        add_constraint(
            rig, f"Arm.{side}", bone=f"Forearm.{side}", target=hand, pole_target=elbow, **limb
        )
        add_constraint(
            rig, f"Leg.{side}", bone=f"Shin.{side}", target=foot, pole_target=knee, **limb
        )


def _hand(a: float, sign: float) -> tuple[float, float, float]:
    return sign * (0.58 + 0.07 * cos(a)), 0.0, 1.62 + 0.26 * sin(a)


def _foot(a: float, sign: float) -> tuple[float, float, float]:
    lift = max(0.0, -sin(a))
    return sign * (0.26 + 0.10 * lift), 0.0, 0.12 + 0.16 * lift


def _card(rig: Any) -> None:
    """Cut the figure out of colored card, and add rivets."""
    red = material("Red card", (0.80, 0.10, 0.10), roughness=0.8)
    blue = material("Blue card", (0.08, 0.20, 0.55), roughness=0.8)
    skin = material("Skin card", (0.98, 0.74, 0.55), roughness=0.8)
    dark = material("Dark card", (0.08, 0.06, 0.06), roughness=0.8)
    brass = material("Brass", (0.85, 0.60, 0.18), roughness=0.25, metallic=0.5)
    torso = [(-0.15, 1.0), (0.15, 1.0), (0.20, 1.3), (0.25, 1.52), (0.16, 1.60), (-0.16, 1.60)]
    torso += [(-0.25, 1.52), (-0.20, 1.3)]
    _hung(rig, "Torso", torso, 0.0, red)
    _hung(rig, "Hips", [(-0.2, 0.94), (0.2, 0.94), (0.16, 1.14), (-0.16, 1.14)], 0.012, blue)
    _hung(rig, "Head", _disc(0.0, 1.78, 0.18), 0.01, skin)
    _hung(rig, "Head", [(-0.2, 1.86), (0.2, 1.86), (0.0, 2.2)], -0.004, blue, "Hat")
    _hung(rig, "Head", _disc(0.0, 2.2, 0.045), -0.008, red, "Bobble")
    _hung(rig, "Head", _disc(0.0, 1.765, 0.035), -0.004, red, "Nose")
    for side, sign in (("L", 1.0), ("R", -1.0)):
        _hung(rig, "Head", _disc(sign * 0.065, 1.81, 0.02), -0.004, dark, f"Eye.{side}")
        for name, depth, look, sizes in (
            ("Upper arm", -0.006, red, (0.075, 0.06)),
            ("Forearm", -0.012, skin, (0.055, 0.045)),
            ("Thigh", 0.018, blue, (0.095, 0.075)),
            ("Shin", 0.024, blue, (0.075, 0.055)),
        ):
            bone = rig.data.bones[f"{name}.{side}"]
            _hung(rig, bone.name, _strip(bone, sizes), depth, look)
            x, _, z = bone.head_local
            front = depth - 0.016 if "arm" in name else -0.012
            rivet = shapes.turned(
                f"Rivet {bone.name}", (x, front, z), (x, front - 1, z), RIVET, brass, sides=12
            )
            shapes.hang(rivet, rig, bone.name)
        x = sign * 0.12
        shoe = [(x - sign * 0.08, 0.0), (x + sign * 0.22, 0.0), (x + sign * 0.2, 0.07)]
        shoe += [(x + sign * 0.07, 0.14), (x - sign * 0.08, 0.14)]
        _hung(rig, f"Foot.{side}", shoe, 0.016, dark)


RIVET = ((0.022, -0.004), (0.022, 0.004), (0.012, 0.012), (0.001, 0.014))


def _hung(rig: Any, bone: str, outline: Outline, depth: float, look: Any, name: str = "") -> None:
    shapes.hang(shapes.cutout(name or bone, outline, depth, look), rig, bone)


def _disc(x: float, z: float, radius: float) -> Outline:
    turns = [2.0 * pi * i / 24 for i in range(24)]
    return [(x + radius * cos(turn), z + radius * sin(turn)) for turn in turns]


def _strip(bone: Any, sizes: tuple[float, float]) -> Outline:
    """Return a strip with round ends along a bone."""
    (x, _, z), (tail_x, _, tail_z) = bone.head_local, bone.tail_local
    angle = 0.0 if tail_x > x else pi if tail_x < x else -0.5 * pi
    outline = []
    for (cx, cz), radius, start in (
        ((x, z), sizes[0], angle + 0.5 * pi),
        ((tail_x, tail_z), sizes[1], angle - 0.5 * pi),
    ):
        for i in range(9):
            turn = start + pi * i / 8
            outline.append((cx + radius * cos(turn), cz + radius * sin(turn)))
    return outline
