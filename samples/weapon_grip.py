"""A figure with a sword in both hands: the left hand reaches for the sword in the right."""

from __future__ import annotations

from math import cos, sin
from typing import Any

import bpy

from . import shapes
from .parts import (
    GREEN,
    Bones,
    add_constraint,
    armature,
    camera,
    keyed,
    material,
    pole,
    stage,
    target,
)

READ_ME = """\
With the FABRIK IK extension enabled, play: the right hand follows the orange Target, the Sword is \
parented to the right hand, the Grip to the Sword, and the left hand reaches for the Grip.
Both hands are right in one and the same update, in the viewport and in renders, in whatever order \
the two constraints stand in the list.
Chest and right hand carry ordinary keys, on which the solved arms hang.
"""

PALM = {"L": (0.54, -0.02, 1.02), "R": (-0.54, -0.02, 1.02)}
GRIP = 0.18
"""The distance from the right hand back to the left hand's grip."""


def build() -> None:
    """Make the sample in the open file."""
    stage((0.62, 0.50, 0.56), READ_ME)
    rig = armature("Rig", _bones())
    _figure(rig)
    sword = _sword(rig)
    x, y, z = PALM["R"]
    grip = target("Grip", (x, y + GRIP, z), size=0.046, color=GREEN, is_seen=False)
    grip.parent = sword
    goal = target("Target", (-0.05, -0.42, 1.2), size=0.046, is_seen=False)
    # The left hand's constraint is first: the order of the list doesn't matter.
    for side, reached_for in (("L", grip), ("R", goal)):
        sign = 1.0 if side == "L" else -1.0
        add_constraint(
            rig,
            f"Arm.{side}",
            solver="TWO_BONE",
            bone=f"Hand.{side}",
            use_tail=False,
            chain_count=2,
            target=reached_for,
            pole_target=pole(f"Pole.{side}", (sign * 0.95, 0.35, 0.75)),
        )
    _move(rig, goal)
    camera((1.9, -4.0, 1.65), (0.04, -0.2, 1.31), lens=49.0)


def _move(rig: Any, goal: bpy.types.Object) -> None:
    keyed(
        goal,
        "location",
        lambda a: (0.05 - 0.07 * sin(a), -0.345 + 0.03 * cos(a), 1.24 + 0.18 * cos(a)),
    )
    for name, motion in (
        ("Spine", lambda a: (0.08 + 0.05 * cos(a + 2.6), -0.08 * sin(a), 0.0)),
        ("Chest", lambda a: (0.05 - 0.06 * cos(a), -0.10 * sin(a), 0.0)),
        ("Head", lambda a: (-0.05, 0.15 * sin(a), 0.0)),
        ("Hand.R", lambda a: (0.3 - 0.1 * cos(a), 0.7 + 0.2 * cos(a), 0.0)),
    ):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        keyed(bone, "rotation_euler", motion)


def _bones() -> Bones:
    bones: Bones = {
        "Hips": ((0, 0, 0.98), (0, 0, 1.08), ""),
        "Spine": ((0, 0, 1.08), (0, 0, 1.28), "Hips"),
        "Chest": ((0, 0, 1.28), (0, 0, 1.52), "Spine"),
        "Head": ((0, 0, 1.56), (0, 0, 1.82), "Chest"),
    }
    for side, sign in (("L", 1.0), ("R", -1.0)):
        shoulder, elbow = (sign * 0.20, 0.0, 1.47), (sign * 0.38, 0.03, 1.24)
        hip, knee, ankle = (
            (sign * 0.10, 0, 0.96),
            (sign * 0.17, -0.05, 0.53),
            (sign * 0.22, 0.02, 0.1),
        )
        palm = PALM[side]
        end = (palm[0] + sign * 0.05, palm[1] - 0.015, palm[2] - 0.07)
        bones[f"Upper arm.{side}"] = (shoulder, elbow, "Chest")
        bones[f"Forearm.{side}"] = (elbow, palm, f"Upper arm.{side}")
        bones[f"Hand.{side}"] = (palm, end, f"Forearm.{side}")
        bones[f"Thigh.{side}"] = (hip, knee, "Hips")
        bones[f"Shin.{side}"] = (knee, ankle, f"Thigh.{side}")
        bones[f"Foot.{side}"] = (ankle, (sign * 0.25, -0.16, 0.04), f"Shin.{side}")
    return bones


LIMBS = {
    "Hips": (0.13, 0.11),
    "Spine": (0.10, 0.11),
    "Upper arm": (0.060, 0.048),
    "Forearm": (0.050, 0.036),
    "Thigh": (0.085, 0.062),
    "Shin": (0.062, 0.042),
    "Foot": (0.045, 0.035),
}


def _figure(rig: Any) -> None:
    """Make a wooden figure: a rod for each limb and a ball for each joint."""
    wood = material("Wood", (0.86, 0.58, 0.33))
    dark = material("Dark wood", (0.42, 0.22, 0.10))
    for bone in rig.data.bones:
        part = bone.name.split(".")[0]
        parts = []
        if part in LIMBS:
            radii = LIMBS[part]
            parts.append(shapes.capsule(bone.name, bone.head_local, bone.tail_local, radii, wood))
            if bone.name != part:
                parts.append(
                    shapes.ball(f"{bone.name} ball", bone.head_local, radii[0] * 1.12, dark)
                )
        elif part == "Hand":
            parts.append(shapes.ball(bone.name, bone.head_local, 0.042, wood))
        for ob in parts:
            shapes.hang(ob, rig, bone.name)
    chest = ((0.001, 1.24), (0.10, 1.25), (0.15, 1.36), (0.165, 1.45), (0.12, 1.53), (0.001, 1.55))
    shapes.hang(shapes.turned("Chest", (0, 0, 0), (0, 0, 1), chest, wood, 28), rig, "Chest")
    shapes.hang(shapes.ball("Neck", (0, 0, 1.56), 0.055, dark), rig, "Chest")
    head = shapes.capsule("Head", (0, -0.01, 1.67), (0, -0.02, 1.74), (0.08, 0.10), wood)
    shapes.hang(head, rig, "Head")


def _sword(rig: Any) -> bpy.types.Object:
    """Make a sword in the right hand, pointing forwards in the rest pose."""
    x, y, z = PALM["R"]
    steel = material("Steel", (0.75, 0.80, 0.88), roughness=0.2, metallic=0.6)
    leather = material("Leather", (0.16, 0.07, 0.05))
    gold = material("Gold", (0.95, 0.65, 0.15), roughness=0.25, metallic=0.5)
    blade = ((0.001, 0.11), (0.038, 0.11), (0.030, 0.78), (0.002, 0.92))
    sword = shapes.turned("Sword", (x, y, z), (x, y - 1, z), blade, steel, sides=4)
    hilt = ((0.001, -0.32), (0.020, -0.32), (0.020, 0.10), (0.001, 0.10))
    for part in (
        shapes.turned("Hilt", (x, y, z), (x, y - 1, z), hilt, leather),
        shapes.box("Guard", (x, y - 0.10, z), (0.24, 0.035, 0.04), gold, bevel=0.008),
        shapes.ball("Pommel", (x, y + 0.33, z), 0.036, gold),
    ):
        part.parent = sword
    return shapes.hang(sword, rig, "Hand.R")
