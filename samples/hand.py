"""A wooden hand: five fingers that share the palm and the forearm, solved as one tree."""

from __future__ import annotations

from math import cos, pi, radians
from typing import Any

import bpy
from mathutils import Euler, Quaternion, Vector

from . import shapes
from .parts import (
    GREEN,
    ORANGE,
    Bones,
    add_constraint,
    armature,
    camera,
    cone,
    hinge,
    keyed,
    material,
    stage,
    target,
)
from .shapes import Point

READ_ME = """\
With the FABRIK IK extension enabled, play: each finger tip follows the ball of its color.
The chains of the five constraints run from the finger tips through the palm to the forearm. They \
share these two bones and are solved together, so that the wrist goes where it suits all fingers. \
Move one ball, and the whole hand comes along.
The outer two bones of each finger are hinges that bend toward the palm only; knuckles and wrist \
swing in cones. Give a constraint more Weight, and its finger wins where not all can arrive.
"""

ELBOW = (0.0, 0.0, 0.14)
WRIST = (0.0, 0.0, 0.66)
PALM_END = (0.0, 0.0, 1.02)
TO_PALM = (0.0, -1.0, 0.0)
"""The bend direction of the fingers."""

FINGERS: dict[str, tuple[Point, Point, Point, float, Point]] = {
    # Knuckle, direction, lengths of the three bones, thickness at the knuckle, color of the target
    "Thumb": ((0.10, -0.04, 0.74), (0.80, -0.22, 0.62), (0.19, 0.15, 0.12), 0.050, ORANGE),
    "Index": ((0.135, 0.0, 1.04), (0.12, 0.0, 1.0), (0.22, 0.15, 0.11), 0.042, (0.95, 0.75, 0.05)),
    "Middle": ((0.045, 0.0, 1.07), (0.02, 0.0, 1.0), (0.24, 0.17, 0.12), 0.043, GREEN),
    "Ring": ((-0.045, 0.0, 1.05), (-0.08, 0.0, 1.0), (0.23, 0.16, 0.11), 0.041, (0.1, 0.5, 0.95)),
    "Pinky": ((-0.13, 0.0, 1.0), (-0.2, 0.0, 1.0), (0.17, 0.12, 0.10), 0.036, (0.6, 0.25, 0.9)),
}

CURVE = 8.0
"""The angle between successive bones of a finger in the rest pose, in degrees."""


def build() -> None:
    """Make the sample in the open file."""
    stage((0.40, 0.50, 0.66), READ_ME)
    bones, bends = _bones()
    rig = armature("Rig", bones, bends)
    _joints(rig)
    _wood(rig)
    goals = {finger: _goal(rig, finger) for finger in FINGERS}
    _pose(rig, {})
    for finger, goal in goals.items():
        add_constraint(rig, finger, bone=f"{finger} 3", target=goal)
    camera((1.5, -3.9, 1.55), (0.02, 0.0, 0.90), lens=58.0)


def _bones() -> tuple[Bones, dict[str, Point]]:
    """Return the bones, and the bend direction of each."""
    bones: Bones = {"Forearm": (ELBOW, WRIST, ""), "Palm": (WRIST, PALM_END, "Forearm")}
    bends: dict[str, Point] = dict.fromkeys(bones, TO_PALM)
    for finger, (knuckle, direction, sizes, _, _) in FINGERS.items():
        # The thumb bends across the palm.
        side: Point = (-0.75, -0.5, 0.65) if finger == "Thumb" else TO_PALM
        along = Vector(direction).normalized()
        axis: Any = along.cross(Vector(side))
        curve = Quaternion(axis, radians(CURVE))
        start, parent = Vector(knuckle), "Palm"
        for i, size in enumerate(sizes):
            name = f"{finger} {i + 1}"
            along.rotate(curve)
            end = start + along * size
            bones[name] = (start[:], end[:], parent)
            bends[name] = side
            start, parent = end, name
    return bones, bends


def _joints(rig: Any) -> None:
    cone(rig, "Forearm", 35.0, 35.0, 50.0)
    cone(rig, "Palm", 60.0, 30.0, 10.0)
    for finger in FINGERS:
        if finger == "Thumb":
            cone(rig, "Thumb 1", 45.0, 40.0, 15.0)
        else:
            cone(rig, f"{finger} 1", 85.0, 18.0, 6.0)
        hinge(rig, f"{finger} 2", -5.0, 100.0)
        hinge(rig, f"{finger} 3", -5.0, 80.0)


def _goal(rig: Any, finger: str) -> bpy.types.Object:
    """Make a target that moves with the finger's tip while the hand is posed bone by bone.

    So at every key there is a pose in which all five fingers reach their targets.
    """
    tip = rig.pose.bones[f"{finger} 3"]
    goal = target(f"{finger} target", tip.tail, size=0.047, color=FINGERS[finger][-1])

    def place(a: float) -> Point:
        _pose(rig, _hand(a))
        return tip.tail[:]

    keyed(goal, "location", place, every=5)
    return goal


def _hand(a: float) -> dict[str, Point]:
    """Return the rotation of bones in degrees: the hand closes, opens, leans and wiggles."""
    closed = [_swell(a, 0.27 + 0.015 * i, 0.24) for i in range(5)]
    leaning = _swell(a, 0.74, 0.26)
    turns: dict[str, Point] = {
        "Forearm": (8.0 * leaning, 25.0 * leaning, -20.0 * leaning),
        "Palm": (-8.0 * leaning - 12.0 * closed[2], 0.0, -14.0 * leaning),
    }
    for i, finger in enumerate(FINGERS):
        wiggle = leaning * (0.5 - 0.5 * cos(3.0 * a - i))
        # Never quite straight: a fully extended finger bends abruptly.
        curl = 0.08 + (0.5 if i == 0 else 0.68) * closed[4 - i] + 0.40 * wiggle
        # The thumb is the last to close, and lies over the others.
        bend, side = ((25.0, 40.0, 45.0), 0.0) if i == 0 else ((72.0, 85.0, 55.0), 6.0 * (i - 2.3))
        turns[f"{finger} 1"] = (curl * bend[0], 0.0, side * (1.0 - 1.2 * min(1.0, curl)))
        turns[f"{finger} 2"] = (curl * bend[1], 0.0, 0.0)
        turns[f"{finger} 3"] = (curl * bend[2], 0.0, 0.0)
    return turns


def _swell(a: float, middle: float, half: float) -> float:
    """Return 1 at the middle, falling to 0 at ``half`` from it, in fractions of the loop."""
    away = abs((a / (2.0 * pi) - middle + 0.5) % 1.0 - 0.5)
    return 0.5 + 0.5 * cos(pi * away / half) if away < half else 0.0


def _pose(rig: Any, turns: dict[str, Point]) -> None:
    """Rotate the named bones by angles in degrees, and reset all others to rest."""
    for bone in rig.pose.bones:
        x, y, z = turns.get(bone.name, (0.0, 0.0, 0.0))
        bone.rotation_quaternion = Euler((radians(x), radians(y), radians(z))).to_quaternion()
    bpy.context.view_layer.update()


def _wood(rig: Any) -> None:
    """Make a wooden hand: a rod for each bone of a finger, a ball for each joint."""
    wood = material("Wood", (0.86, 0.58, 0.33))
    dark = material("Dark wood", (0.42, 0.22, 0.10))
    for finger, (_, _, _, thickness, _) in FINGERS.items():
        for i in range(3):
            bone = rig.data.bones[f"{finger} {i + 1}"]
            radii = (thickness * (1.0 - 0.1 * i), thickness * (0.92 - 0.1 * i))
            rod = shapes.capsule(bone.name, bone.head_local, bone.tail_local, radii, wood)
            ball = shapes.ball(f"{bone.name} ball", bone.head_local, radii[0] * 1.12, dark)
            shapes.hang(rod, rig, bone.name)
            shapes.hang(ball, rig, bone.name)
    body = ((0.001, 0.0), (0.09, 0.01), (0.13, 0.08), (0.175, 0.20), (0.195, 0.30), (0.18, 0.36))
    top = ((0.13, 0.41), (0.06, 0.435), (0.001, 0.44))
    palm = shapes.turned("Palm", WRIST, PALM_END, (*body, *top), wood, sides=40)
    palm.scale.y = 0.36
    shapes.hang(palm, rig, "Palm")
    shapes.hang(shapes.ball("Wrist ball", WRIST, 0.082, dark), rig, "Forearm")
    arm = ((0.001, 0.0), (0.11, 0.0), (0.125, 0.12), (0.09, 0.40), (0.07, 0.52), (0.001, 0.54))
    shapes.hang(shapes.turned("Forearm", ELBOW, WRIST, arm, wood, sides=32), rig, "Forearm")
    shapes.ball("Elbow ball", ELBOW, 0.13, dark)
    stand = ((0.001, 0.0), (0.30, 0.0), (0.30, 0.03), (0.16, 0.07), (0.12, 0.12), (0.001, 0.12))
    shapes.turned("Stand", (0, 0, 0), (0, 0, 1), stand, dark, sides=40)
