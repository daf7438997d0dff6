"""A wooden figure that stands on the world's origin and faces along X."""

from __future__ import annotations

from typing import Any

from . import shapes
from .parts import Bones, material
from .shapes import Point

HIP, ANKLE = 0.91, 0.09
"""The heights of these joints."""

FACE = (1.0, 0.0, 0.0)
"""Where the figure looks and goes."""


def bones(has_toes: bool = False) -> tuple[Bones, dict[str, Point]]:
    """Return the bones, and the side to which each bends.

    Args:
        has_toes: Whether the feet bend at their balls.
    """
    found: Bones = {
        "Root": ((0, 0, 0), (0.25, 0, 0), ""),
        "Pelvis": ((0, 0, HIP + 0.04), (0, 0, HIP + 0.16), "Root"),
        "Chest": ((0, 0, HIP + 0.16), (0, 0, 1.45), "Pelvis"),
        "Head": ((0, 0, 1.45), (0.02, 0, 1.72), "Chest"),
    }
    bends: dict[str, Point] = {}
    for side, y in (("L", 0.1), ("R", -0.1)):
        knee = (0.17, y, (HIP + ANKLE) / 2)
        found[f"Thigh.{side}"] = ((0, y, HIP), knee, "Pelvis")
        found[f"Shin.{side}"] = (knee, (0, y, ANKLE), f"Thigh.{side}")
        ball = (0.12, y, 0.035) if has_toes else (0.17, y, 0.04)
        found[f"Foot.{side}"] = ((0, y, ANKLE), ball, f"Shin.{side}")
        if has_toes:
            found[f"Toe.{side}"] = (ball, (0.19, y, 0.03), f"Foot.{side}")
        elbow, wrist = (-0.02, 2.1 * y, 1.13), (0.03, 2.3 * y, 0.88)
        found[f"Upper arm.{side}"] = ((0, 1.9 * y, 1.39), elbow, "Chest")
        found[f"Forearm.{side}"] = (elbow, wrist, f"Upper arm.{side}")
        bends[f"Upper arm.{side}"] = bends[f"Forearm.{side}"] = FACE
    return found, bends


LIMBS = {
    "Upper arm": (0.052, 0.043),
    "Forearm": (0.045, 0.036),
    "Thigh": (0.078, 0.058),
    "Shin": (0.058, 0.040),
    "Foot": (0.045, 0.032),
    "Toe": (0.032, 0.026),
}


def dress(rig: Any) -> None:
    """Hang wood on the bones: a rod for each limb and a ball for each joint."""
    wood = material("Wood", (0.86, 0.58, 0.33))
    dark = material("Dark wood", (0.42, 0.22, 0.10))
    for bone in rig.data.bones:
        radii = LIMBS.get(bone.name.partition(".")[0])
        if radii is not None:
            rod = shapes.capsule(bone.name, bone.head_local, bone.tail_local, radii, wood)
            ball = shapes.ball(f"{bone.name} ball", bone.head_local, radii[0] * 1.1, dark)
            for part in (rod, ball):
                shapes.hang(part, rig, bone.name)
    for side, y in (("L", 0.23), ("R", -0.23)):
        shapes.hang(
            shapes.ball(f"Hand.{side}", (0.03, y, 0.86), 0.045, dark), rig, f"Forearm.{side}"
        )
    hips = shapes.capsule("Pelvis", (0, -0.07, 0.95), (0, 0.07, 0.95), (0.1, 0.1), wood)
    shapes.hang(hips, rig, "Pelvis")
    shapes.hang(shapes.ball("Waist ball", (0, 0, 1.06), 0.09, dark), rig, "Pelvis")
    chest = ((0.001, 1.12), (0.09, 1.13), (0.13, 1.24), (0.145, 1.35), (0.1, 1.43), (0.001, 1.45))
    shapes.hang(shapes.turned("Chest", (0, 0, 0), (0, 0, 1), chest, wood, 28), rig, "Chest")
    neck = shapes.capsule("Neck", (0, 0, 1.43), (0.01, 0, 1.52), (0.042, 0.042), dark)
    shapes.hang(neck, rig, "Head")
    head = shapes.capsule("Head", (0.01, 0, 1.56), (0.02, 0, 1.63), (0.075, 0.092), wood)
    shapes.hang(head, rig, "Head")
    nose = shapes.ball("Nose", (0.11, 0, 1.6), 0.022, dark)
    shapes.hang(nose, rig, "Head")
