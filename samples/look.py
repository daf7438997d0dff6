"""A head that follows a fly: the eyes first, then the head with neck and chest."""

from __future__ import annotations

from math import cos, pi, radians, sin
from typing import Any

from . import shapes
from .parts import Bones, add_constraint, armature, camera, keyed, material, stage, target

READ_ME = """\
With the FABRIK IK extension enabled, play: the eyes follow the fly, and the head follows the eyes.
Head, neck and chest share the turn (Share), up to a Limit Angle with a soft edge, and come a \
little late (Damping). They take seven tenths of it (Influence), as people do, and the eyes the \
rest: these have constraints of their own, without damping, so that they lead.
Select the Rig and enter Pose Mode to see the three constraints in the sidebar's tab FABRIK. Move \
the Fly by hand, or turn the head: what you pose is where it looks from.
"""

EYE = 0.1
"""The radius of an eye."""

EARS = 0.82
"""The height at which the skull turns on its neck."""

SKIN = (0.93, 0.62, 0.44)

AROUND, ABOVE = radians(58.0), radians(16.0)
"""The largest angles of the fly to the side, and above or below the eyes."""


def build() -> None:
    """Make the sample in the open file."""
    stage((0.42, 0.66, 0.62), READ_ME)
    rig = armature("Rig", _bones())
    _body(rig)
    _eyes(rig)
    fly = target("Fly", (0.0, -1.0, 1.0), size=0.045)
    _wings(fly)
    keyed(fly, "location", _flight, beyond=8)
    head = add_constraint(rig, "Head", bone="Head", target=fly, solver="LOOK_AT", chain_count=3)
    head.look.share = 0.75
    head.look.limit_angle, head.look.limit_softness = radians(75.0), 0.3
    head.look.damping = 0.16
    head.influence = 0.7
    for side in "LR":
        eye = add_constraint(
            rig, f"Eye.{side}", bone=f"Eye.{side}", target=fly, solver="LOOK_AT", chain_count=1
        )
        eye.look.up_axis, eye.look.axis = "Z", "Y"
        eye.look.limit_angle, eye.look.limit_softness = radians(30.0), 0.2
    camera((0.35, -4.35, 1.3), (0.0, 0.0, 0.82), lens=64.0)


def _bones() -> Bones:
    bones: Bones = {
        "Chest": ((0, 0.03, 0.0), (0, 0.03, 0.4), ""),
        "Neck": ((0, 0.03, 0.4), (0, 0.0, EARS), "Chest"),
        "Head": ((0, 0.0, EARS), (0, 0.0, 1.24), "Neck"),
    }
    for side, sign in (("L", 1.0), ("R", -1.0)):
        x = sign * 0.135
        bones[f"Eye.{side}"] = ((x, -0.262, 0.92), (x, -0.262 - EYE, 0.92), "Head")
    return bones


def _flight(a: float) -> tuple[float, float, float]:
    """Return the position of the fly: on a figure of eight in front of the face."""
    turn, rise = AROUND * sin(a), ABOVE * sin(2.0 * a + 0.4)
    away = 1.05
    return away * sin(turn) * cos(rise), -away * cos(turn) * cos(rise), 0.95 + away * sin(rise)


def _body(rig: Any) -> None:
    """Make chest, neck and head on a lathe, with a face."""
    shirt = material("Shirt", (0.16, 0.24, 0.52), roughness=0.8)
    skin = material("Skin", SKIN, roughness=0.5)
    hair = material("Hair", (0.22, 0.09, 0.04), roughness=0.8)
    blush = material("Nose", (0.90, 0.42, 0.33), roughness=0.4)
    dark = material("Mouth", (0.30, 0.06, 0.07))
    chest = ((0.30, -0.30), (0.31, 0.0), (0.29, 0.2), (0.24, 0.32), (0.17, 0.4), (0.12, 0.43))
    _turned(rig, "Chest", "Shirt", (0, 0.03, 0.0), chest, shirt)
    for side, sign in (("L", 1.0), ("R", -1.0)):
        shoulder, elbow = (sign * 0.36, 0.04, 0.2), (sign * 0.42, 0.05, -0.2)
        for name, start, end, radii in (
            ("Shoulder", (sign * 0.14, 0.04, 0.27), shoulder, (0.12, 0.13)),
            ("Sleeve", shoulder, elbow, (0.13, 0.12)),
        ):
            part = shapes.capsule(f"{name}.{side}", start, end, radii, shirt)
            shapes.hang(part, rig, "Chest")
    for i in range(2):
        button = shapes.ball(f"Button {i + 1}", (0, -0.25 - 0.02 * i, 0.21 - 0.1 * i), 0.022, dark)
        shapes.hang(button, rig, "Chest")
    neck = ((0.13, -0.06), (0.115, 0.04), (0.115, 0.2), (0.09, 0.26))
    _turned(rig, "Neck", "Neck", (0, 0.03, 0.4), neck, skin)
    skull = [(0.36 * sin(t) * (1.0 - 0.12 * cos(t)), -0.38 * cos(t)) for t in _turns(14)]
    _turned(rig, "Head", "Skull", (0, 0.02, 0.92), skull, skin)
    cap = [(0.375 * sin(t), -0.40 * cos(t)) for t in _turns(14) if cos(t) < -0.22]
    _turned(rig, "Head", "Hair", (0, 0.055, 0.935), cap, hair)
    for side, sign in (("L", 1.0), ("R", -1.0)):
        ear = shapes.ball(f"Ear.{side}", (sign * 0.36, 0.04, 0.88), 0.075, skin)
        shapes.hang(ear, rig, "Head")
        brow = shapes.box(
            f"Brow.{side}", (sign * 0.15, -0.30, 1.075), (0.16, 0.06, 0.032), hair, 0.012
        )
        shapes.hang(brow, rig, "Head")
    shapes.hang(shapes.ball("Nose", (0, -0.375, 0.80), 0.065, blush), rig, "Head")
    mouth = shapes.box("Mouth", (0, -0.235, 0.675), (0.15, 0.05, 0.028), dark, 0.012)
    shapes.hang(mouth, rig, "Head")


def _turns(count: int) -> list[float]:
    # A tiny radius at the poles keeps all rings alike.
    return [pi * (i + 0.02) / (count + 0.04) for i in range(count + 1)]


def _turned(rig: Any, bone: str, name: str, foot: Any, profile: Any, look: Any) -> None:
    x, y, z = foot
    shapes.hang(shapes.turned(name, foot, (x, y, z + 1.0), profile, look, 28), rig, bone)


def _eyes(rig: Any) -> None:
    skin = material("Skin", SKIN, roughness=0.5)
    white = material("White", (0.95, 0.95, 0.92), roughness=0.25)
    iris = material("Iris", (0.08, 0.36, 0.26), roughness=0.3)
    pupil = material("Pupil", (0.01, 0.01, 0.015), roughness=0.15)
    for side in "LR":
        bone = f"Eye.{side}"
        center = rig.data.bones[bone].head_local
        x, y, z = center
        shapes.hang(shapes.ball(f"Eyeball.{side}", center, EYE, white), rig, bone)
        lid = [(1.07 * EYE * sin(t), 1.07 * EYE * cos(t)) for t in _turns(14) if t < 1.32]
        above = (x + 0.5 * x / abs(x), y + 0.7, z + 1.0)
        shapes.hang(shapes.turned(f"Lid.{side}", center, above, lid, skin, 24), rig, "Head")
        for name, edge, look in (("Iris", 0.68, iris), ("Pupil", 0.36, pupil)):
            # Shells on the ball, each a little above the previous.
            out = EYE * (1.012 if name == "Iris" else 1.024)
            rings = [edge * (1.0 - i / 5.0) + 0.004 for i in range(6)]
            profile = [(out * sin(t), out * cos(t)) for t in rings]
            shell = shapes.turned(f"{name}.{side}", center, (x, y - 1.0, z), profile, look, 24)
            shapes.hang(shell, rig, bone)


def _wings(fly: Any) -> None:
    """Give the fly wings that point up and out."""
    clear = material("Wings", (0.92, 0.95, 1.0), roughness=0.2)
    for side, sign in (("L", 1.0), ("R", -1.0)):
        turns = [2.0 * pi * i / 16 for i in range(16)]
        outline = [
            (sign * (0.055 + 0.05 * cos(t)), 0.055 + 0.03 * sin(t) + 0.03 * cos(t)) for t in turns
        ]
        wing = shapes.cutout(f"Wing.{side}", outline, 0.0, clear)
        wing.parent = fly
        wing.hide_select = True
