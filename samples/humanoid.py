"""A wooden figure with both feet pinned: its hands and head move the whole body."""

from __future__ import annotations

from math import cos, pi
from typing import Any

from mathutils import Vector

from . import shapes
from .parts import (
    GREEN,
    Bones,
    add_constraint,
    armature,
    camera,
    cone,
    hinge,
    keyed,
    material,
    pole,
    stage,
    target,
)
from .shapes import Point

READ_ME = """\
With the FABRIK IK extension enabled, play: the hands reach for an apple and for the basket, and \
the whole body comes along, while the feet stay where they are.
The chains of all five constraints begin at the Pelvis, which they share, and are solved together. \
Move Root lets the Pelvis move: nothing else moves it.
The feet have ten times the Weight of the hands, so that they stay on the ground whatever you do \
with the orange balls.
Knees and elbows are hinges that face the blue poles; all other joints are cones.
"""

YELLOW = (0.95, 0.75, 0.05)

APPLE = (0.61, -0.31, 2.04)
BASKET = (-0.53, -0.50, 0.0)


def build() -> None:
    """Make the sample in the open file."""
    stage((0.56, 0.70, 0.80), READ_ME)
    rig = armature("Rig", *_bones())
    for side in "LR":
        rig.data.bones[f"Foot.{side}"].use_inherit_rotation = False
    _joints(rig)
    _figure(rig)
    _garden()
    _effectors(rig)
    camera((1.4, -5.4, 1.6), (0.05, -0.15, 1.14), lens=48.0)


def _bones() -> tuple[Bones, dict[str, Point]]:
    """Return the bones, and the bend direction of each."""
    bones: Bones = {
        "Pelvis": ((0, 0, 0.98), (0, 0, 1.10), ""),
        "Spine": ((0, 0, 1.10), (0, 0.02, 1.28), "Pelvis"),
        "Chest": ((0, 0.02, 1.28), (0, 0, 1.54), "Spine"),
        "Head": ((0, 0, 1.54), (0, -0.04, 1.83), "Chest"),
    }
    bends: dict[str, Point] = dict.fromkeys(bones, (0.0, -1.0, 0.0))
    for side, sign in (("L", 1.0), ("R", -1.0)):
        shoulder, elbow = (sign * 0.20, 0.0, 1.47), (sign * 0.37, 0.05, 1.24)
        wrist, palm = (sign * 0.46, -0.04, 1.01), (sign * 0.49, -0.07, 0.92)
        hip, knee = (sign * 0.10, 0.0, 0.96), (sign * 0.19, -0.07, 0.54)
        ankle, toes = (sign * 0.21, 0.02, 0.10), (sign * 0.28, -0.15, 0.04)
        bones[f"Upper arm.{side}"] = (shoulder, elbow, "Chest")
        bones[f"Forearm.{side}"] = (elbow, wrist, f"Upper arm.{side}")
        bones[f"Hand.{side}"] = (wrist, palm, f"Forearm.{side}")
        bones[f"Thigh.{side}"] = (hip, knee, "Pelvis")
        bones[f"Shin.{side}"] = (knee, ankle, f"Thigh.{side}")
        bones[f"Foot.{side}"] = (ankle, toes, f"Shin.{side}")
        # Hinges bend in the plane of the limb's rest bend: knees forwards and outwards.
        elbow_side = Vector(elbow) - 0.5 * (Vector(shoulder) + Vector(wrist))
        knee_side = Vector(knee) - 0.5 * (Vector(hip) + Vector(ankle))
        for bone in ("Upper arm", "Forearm", "Hand"):
            bends[f"{bone}.{side}"] = (-elbow_side)[:]
        bends[f"Thigh.{side}"], bends[f"Shin.{side}"] = knee_side[:], (-knee_side)[:]
    return bones, bends


def _joints(rig: Any) -> None:
    for bone, swing_x, swing_z, twist in (
        ("Spine", 25.0, 18.0, 15.0),
        ("Chest", 25.0, 18.0, 20.0),
        ("Head", 45.0, 30.0, 30.0),
    ):
        cone(rig, bone, swing_x, swing_z, twist)
    for side in "LR":
        cone(rig, f"Upper arm.{side}", 130.0, 120.0, 80.0)
        hinge(rig, f"Forearm.{side}", -5.0, 140.0)
        cone(rig, f"Hand.{side}", 50.0, 25.0, 60.0)
        # Thighs swing far to the front and hardly to the back.
        cone(rig, f"Thigh.{side}", 65.0, 35.0, 20.0, lean=40.0)
        hinge(rig, f"Shin.{side}", -15.0, 140.0)


def _effectors(rig: Any) -> None:
    """Pin the feet, and key the targets of hands and head."""
    for side, reach in (("L", _left_hand), ("R", _right_hand)):
        sign = 1.0 if side == "L" else -1.0
        ankle = rig.data.bones[f"Shin.{side}"].tail_local
        pin = target(f"Foot target.{side}", ankle, size=0.056, color=GREEN, is_seen=False)
        knee = pole(f"Knee pole.{side}", (sign * 0.5, -1.1, 0.6), size=0.03)
        _add(rig, f"Foot.{side}", f"Shin.{side}", pin, pole_target=knee, weight=10.0)
        goal = target(f"Hand target.{side}", reach(0.0), size=0.05, is_seen=False)
        keyed(goal, "location", reach)
        elbow = pole(f"Elbow pole.{side}", (sign * 0.75, 0.7, 0.9), size=0.03)
        _add(rig, f"Hand.{side}", f"Forearm.{side}", goal, pole_target=elbow)
    goal = target("Head target", _head(0.0), size=0.05, color=YELLOW, is_seen=False)
    keyed(goal, "location", _head)
    _add(rig, "Head", "Head", goal)


def _add(rig: Any, name: str, bone: str, goal: Any, **fields: Any) -> None:
    free = {"use_free_root": True, "root_weight": 0.5}
    add_constraint(rig, name, bone=bone, target=goal, **free, **fields)


def _left_hand(a: float) -> Point:
    return _blend(a, (0.44, -0.16, 1.07), (0.53, -0.26, 1.86), (0.46, 0.0, 1.06))


def _right_hand(a: float) -> Point:
    return _blend(a, (-0.44, -0.16, 1.07), (-0.47, 0.02, 1.16), (-0.48, -0.44, 0.53))


def _head(a: float) -> Point:
    return _blend(a, (0.0, -0.04, 1.78), (0.06, -0.10, 1.80), (-0.20, -0.42, 1.36))


def _blend(a: float, standing: Point, high: Point, low: Point) -> Point:
    """Return a blend of the positions for standing, reaching high and reaching low."""
    rise, stoop = _swell(a, 0.5 * pi), _swell(a, 1.5 * pi)
    stand = 1.0 - rise - stoop
    coordinates = zip(standing, high, low, strict=True)
    return [stand * mid + rise * up + stoop * down for mid, up, down in coordinates]


def _swell(a: float, middle: float) -> float:
    """Return 1 at the middle, falling to 0 at a quarter of the loop from it."""
    return max(0.0, cos(a - middle)) ** 2


LIMBS = {
    "Spine": (0.095, 0.10),
    "Upper arm": (0.058, 0.047),
    "Forearm": (0.049, 0.036),
    "Hand": (0.034, 0.042),
    "Thigh": (0.085, 0.062),
    "Shin": (0.062, 0.042),
    "Foot": (0.045, 0.035),
}


def _figure(rig: Any) -> None:
    """Make a wooden figure: a rod for each limb and a ball for each joint."""
    wood = material("Wood", (0.86, 0.58, 0.33))
    dark = material("Dark wood", (0.42, 0.22, 0.10))
    for bone in rig.data.bones:
        part, dot, _ = bone.name.partition(".")
        if part in LIMBS:
            radii = LIMBS[part]
            rod = shapes.capsule(bone.name, bone.head_local, bone.tail_local, radii, wood)
            shapes.hang(rod, rig, bone.name)
            if dot:
                ball = shapes.ball(f"{bone.name} ball", bone.head_local, radii[0] * 1.12, dark)
                shapes.hang(ball, rig, bone.name)
    hips = shapes.capsule("Pelvis", (-0.07, 0, 1.0), (0.07, 0, 1.0), (0.105, 0.105), wood)
    shapes.hang(hips, rig, "Pelvis")
    shapes.hang(shapes.ball("Waist ball", (0, 0, 1.12), 0.10, dark), rig, "Pelvis")
    chest = ((0.001, 1.24), (0.10, 1.25), (0.15, 1.36), (0.165, 1.45), (0.12, 1.53), (0.001, 1.55))
    shapes.hang(shapes.turned("Chest", (0, 0, 0), (0, 0, 1), chest, wood, 28), rig, "Chest")
    neck = shapes.capsule("Neck", (0, 0, 1.53), (0, -0.015, 1.63), (0.045, 0.045), dark)
    shapes.hang(neck, rig, "Head")
    head = shapes.capsule("Head", (0, -0.015, 1.67), (0, -0.02, 1.74), (0.08, 0.10), wood)
    shapes.hang(head, rig, "Head")


def _garden() -> None:
    """Hang an apple on a branch, high on one side, and put a basket on the other."""
    red = material("Apple", (0.75, 0.05, 0.05), roughness=0.3)
    bark = material("Bark", (0.25, 0.14, 0.08), roughness=0.9)
    leaf = material("Leaf", (0.16, 0.45, 0.10), roughness=0.7)
    wicker = material("Wicker", (0.62, 0.38, 0.14), roughness=0.8)
    x, y, z = APPLE
    shapes.ball("Apple", APPLE, 0.06, red)
    shapes.capsule("Stalk", (x, y, z + 0.05), (x + 0.01, y, z + 0.15), (0.008, 0.008), bark)
    fork, top = (x + 0.01, y, z + 0.15), (x + 1.5, y, z + 0.31)
    shapes.capsule("Branch", fork, top, (0.018, 0.06), bark)
    for i, (along, up) in enumerate(((0.0, 0.06), (0.22, -0.05), (0.42, 0.13), (0.6, -0.02))):
        stem = Vector(fork).lerp(Vector(top), along) + Vector((0.0, 0.0, up))
        tip = stem + Vector((-0.10, -0.04, 0.4 * up))
        shapes.capsule(f"Leaf {i + 1}", stem[:], tip[:], (0.022, 0.032), leaf)
    x, y, _ = BASKET
    bowl = ((0.001, 0.0), (0.15, 0.0), (0.21, 0.28), (0.19, 0.28), (0.16, 0.13), (0.001, 0.13))
    shapes.turned("Basket", (x, y, 0.0), (x, y, 1.0), bowl, wicker, sides=32)
    for i, (aside, behind) in enumerate(((0.08, 0.0), (-0.07, 0.05), (-0.01, -0.08))):
        shapes.ball(f"Picked apple {i + 1}", (x + aside, y + behind, 0.20), 0.06, red)
