"""A figure that stands at the world's origin and faces along X."""

from __future__ import annotations

from math import radians
from typing import Any

from mathutils import Matrix, Quaternion, Vector

from . import shapes, skin
from .parts import Bones, material
from .shapes import Point
from .skin import Cloth, Flesh

HIP, ANKLE = 0.91, 0.09
"""The heights of these joints."""

FACE = (1.0, 0.0, 0.0)
"""The direction in which the figure looks and walks."""

ARMS = radians(18.0)
"""The angle between arms and body in radians: lower the arms by it to let them hang."""


def bones(has_toes: bool = False, has_hands: bool = False) -> tuple[Bones, dict[str, Point]]:
    """Return the bones, and the bend direction of each.

    Args:
        has_toes: Whether the feet bend at the ball.
        has_hands: Whether the arms bend at the wrist.
    """
    bone_ends: Bones = {
        "Root": ((0, 0, 0), (0.25, 0, 0), ""),
        "Pelvis": ((0, 0, HIP + 0.04), (0, 0, HIP + 0.16), "Root"),
        "Chest": ((0, 0, HIP + 0.16), (0, 0, 1.45), "Pelvis"),
        "Head": ((0, 0, 1.45), (0.02, 0, 1.72), "Chest"),
    }
    bends: dict[str, Point] = {}
    for side, y in (("L", 0.1), ("R", -0.1)):
        knee = (0.03, y, (HIP + ANKLE) / 2)
        bone_ends[f"Thigh.{side}"] = ((0, y, HIP), knee, "Pelvis")
        bone_ends[f"Shin.{side}"] = (knee, (0, y, ANKLE), f"Thigh.{side}")
        ball = (0.12, y, 0.035) if has_toes else (0.17, y, 0.04)
        bone_ends[f"Foot.{side}"] = ((0, y, ANKLE), ball, f"Shin.{side}")
        if has_toes:
            bone_ends[f"Toe.{side}"] = (ball, (0.19, y, 0.03), f"Foot.{side}")
        elbow, wrist = (-0.02, 3.0 * y, 1.15), (0.03, 3.9 * y, 0.92)
        bone_ends[f"Upper arm.{side}"] = ((0, 1.9 * y, 1.39), elbow, "Chest")
        bone_ends[f"Forearm.{side}"] = (elbow, wrist, f"Upper arm.{side}")
        bends[f"Upper arm.{side}"] = bends[f"Forearm.{side}"] = FACE
        if has_hands:
            bone_ends[f"Hand.{side}"] = (wrist, (0.045, 4.2 * y, 0.84), f"Forearm.{side}")
    return bone_ends, bends


def about(axis: Any, angle: float) -> Quaternion:
    """Return the rotation about a world axis by an angle: X ahead, Y to the left, Z up."""
    return Matrix.Rotation(angle, 3, axis).to_quaternion()


def local(bone: Any, above: Quaternion, turn: Quaternion) -> Quaternion:
    """Return the rotation channel of a pose bone.

    Args:
        bone: The pose bone.
        above: The rotation of its parent from its rest pose, in armature space.
        turn: Its own rotation from its rest pose, in armature space.
    """
    rest = bone.bone.matrix_local.to_quaternion()
    return rest.inverted() @ above.inverted() @ turn @ rest


def dress(rig: Any) -> None:
    """Make the figure's body in shirt, trousers and shoes, with hair and eyes."""
    rig.data.bones["Root"].use_deform = False
    tan = material("Skin", (0.80, 0.50, 0.35), roughness=0.55)
    shirt = material("Shirt", (0.85, 0.36, 0.12), roughness=0.8)
    denim = material("Trousers", (0.08, 0.14, 0.30), roughness=0.85)
    shoe = material("Shoes", (0.90, 0.88, 0.84), roughness=0.6)
    hair = material("Hair", (0.10, 0.05, 0.03), roughness=0.7)
    waist, collar = (0, 0, 1.0), (0, 0, 1.47)
    clothes = [
        Cloth("Pelvis", denim),
        Cloth("Pelvis", shirt, [(waist, (0, 0, 1))]),
        Cloth("Chest", shirt, [(collar, (-0.1, 0, -1))]),
        Cloth("Head", shirt, [(collar, (-0.1, 0, -1))]),
        Cloth("Head", hair, [((0.05, 0, 1.645), (-0.66, 0, 0.60))]),
    ]
    for side in "LR":
        arm, shin = (rig.data.bones[f"{bone}.{side}"] for bone in ("Upper arm", "Shin"))
        sleeve = arm.head_local.lerp(arm.tail_local, 0.62), arm.head_local - arm.tail_local
        hem = shin.tail_local + Vector((0, 0, 0.03)), (0.1, 0, 1)
        clothes += [
            Cloth(f"Upper arm.{side}", shirt, [sleeve]),
            Cloth(f"Thigh.{side}", denim),
            Cloth(f"Thigh.{side}", shirt, [(waist, (0, 0, 1))]),
            Cloth(f"Shin.{side}", shoe),
            Cloth(f"Shin.{side}", denim, [hem]),
        ]
        feet = [f"{bone}.{side}" for bone in ("Foot", "Toe")]
        clothes += [Cloth(bone, shoe) for bone in feet if bone in rig.data.bones]
    skin.body("Body", rig, _flesh(rig), tan, clothes)
    black = material("Eyes", (0.02, 0.02, 0.02), roughness=0.2)
    for side, y in (("L", 0.036), ("R", -0.036)):
        shapes.hang(shapes.ball(f"Eye.{side}", (0.097, y, 1.632), 0.014, black), rig, "Head")


LIMBS = {
    "Upper arm": (0.052, 0.040),
    "Forearm": (0.044, 0.030),
    "Thigh": (0.086, 0.058),
    "Shin": (0.056, 0.040),
    "Foot": (0.046, 0.036),
    "Toe": (0.036, 0.030),
}
"""The radii of limbs at both ends, in meters."""


def _flesh(rig: Any) -> list[Flesh]:
    """Return the rods of which the body is made."""
    flesh = [
        Flesh((-0.005, -0.055, 0.95), (-0.005, 0.055, 0.95), (0.105, 0.105)),
        Flesh((0.0, -0.045, 1.0), (0.005, -0.085, 1.34), (0.092, 0.094)),
        Flesh((0.0, 0.045, 1.0), (0.005, 0.085, 1.34), (0.092, 0.094)),
        Flesh((0.0, 0.0, 1.0), (0.005, 0.0, 1.34), (0.092, 0.10)),
        Flesh((0.0, 0.0, 1.40), (0.015, 0.0, 1.54), (0.058, 0.054)),
        Flesh((0.022, 0.0, 1.578), (0.012, 0.0, 1.655), (0.080, 0.104)),
        Flesh((0.104, 0.0, 1.605), (0.122, 0.0, 1.586), (0.014, 0.019)),
    ]
    for bone in rig.data.bones:
        radii = LIMBS.get(bone.name.partition(".")[0])
        if radii is not None:
            flesh.append(Flesh(bone.head_local[:], bone.tail_local[:], radii))
    for side in (1, -1):
        y = side * 0.1
        flesh += [
            Flesh((0, 0.9 * y, 1.39), (0, 1.85 * y, 1.385), (0.062, 0.058)),
            Flesh((0.03, 3.93 * y, 0.91), (0.045, 4.2 * y, 0.84), (0.032, 0.026)),
            Flesh((0.05, 3.9 * y, 0.90), (0.085, 3.95 * y, 0.85), (0.016, 0.013)),
            Flesh((0.0, y, 0.40), (-0.012, y, 0.29), (0.052, 0.046)),
            Flesh((-0.035, y, 0.045), (0.10, y, 0.036), (0.042, 0.038)),
            Flesh((0.01, side * 0.102, 1.60), (0.005, side * 0.106, 1.635), (0.016, 0.019)),
        ]
    return flesh
