"""A quadruped walks over uneven ground; its legs rest nearly straight.

Only its root, head and tail have keys; the root moves over a flat floor. Add Walk recognizes its
legs.
"""

from __future__ import annotations

from itertools import pairwise
from math import cos, pi, sin, sqrt
from typing import Any

import bpy
from mathutils import Quaternion, Vector

from . import shapes, skin
from .parts import FRAMES, Bones, armature, camera, curves_of, keyed, material, stage
from .shapes import Point
from .skin import Cloth, Flesh

READ_ME = """\
With the FABRIK IK extension enabled, play: the creature walks over the bumps.
Only the bone Root has keys, which lead it over a flat floor; head and tail sway on their own. \
Add Walk (sidebar, tab FABRIK, Walking) found the four legs and made their constraints. They rest \
nearly straight, so the body sinks as far as they need to step.
The steps were simulated once, and are in this file: jump to any frame. Move Root, the mesh \
Ground, or a setting, and press Simulate.
"""

HIGH, ANKLE = 0.78, 0.06
"""The heights of legs' roots and of ankles."""

EXTENSION = 0.975
"""The extension of a leg at rest, as a fraction of its length."""

LEG = 3
"""The number of bones of a leg, without its paw."""

START, WAY = -1.9, 3.8


def build() -> None:
    """Make the sample in the open file."""
    stage((0.74, 0.72, 0.66), READ_ME)
    rig = armature("Rig", _bones())
    _dress(rig)
    ground = _ground()
    _lead(rig)
    _sway(rig)
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    scene.view_layers[0].objects.active = rig
    operators: Any = bpy.ops
    operators.fabrik.gait_add()
    gait = rig.fabrik.gaits[0]
    gait.source, gait.ground = "OBJECT", ground
    operators.fabrik.simulate()
    _follow()


def _bones() -> Bones:
    spine = HIGH + 0.08
    bones: Bones = {
        "Root": ((0, 0, 0), (0.3, 0, 0), ""),
        "Hips": ((-0.5, 0, spine), (-0.26, 0, spine + 0.02), "Root"),
        "Loin": ((-0.26, 0, spine + 0.02), (0.0, 0, spine + 0.03), "Hips"),
        "Back": ((0.0, 0, spine + 0.03), (0.26, 0, spine + 0.02), "Loin"),
        "Chest": ((0.26, 0, spine + 0.02), (0.52, 0, spine + 0.04), "Back"),
        "Neck": ((0.52, 0, spine + 0.04), (0.7, 0, spine + 0.27), "Chest"),
        "Head": ((0.7, 0, spine + 0.27), (0.98, 0, spine + 0.2), "Neck"),
        "Tail 1": ((-0.53, 0, spine), (-0.72, 0, spine - 0.05), "Hips"),
        "Tail 2": ((-0.72, 0, spine - 0.05), (-0.9, 0, spine - 0.14), "Tail 1"),
        "Tail 3": ((-0.9, 0, spine - 0.14), (-1.04, 0, spine - 0.28), "Tail 2"),
    }
    for row, along, carrier in (("F", 0.44, "Chest"), ("H", -0.44, "Hips")):
        for side, across in (("L", 0.14), ("R", -0.14)):
            joints = [(along + x, across, z) for x, z in _joints()]
            parent = carrier
            for i, (head, tail) in enumerate(pairwise(joints)):
                bones[f"Leg {i + 1}.{row}.{side}"] = (head, tail, parent)
                parent = f"Leg {i + 1}.{row}.{side}"
            x, _, _ = joints[-1]
            ball, tip = (x + 0.07, across, 0.025), (x + 0.13, across, 0.02)
            bones[f"Paw.{row}.{side}"] = (joints[-1], ball, parent)
            bones[f"Toe.{row}.{side}"] = (ball, tip, f"Paw.{row}.{side}")
    return bones


def _joints() -> list[tuple[float, float]]:
    """Return the joints of a leg in a zigzag: their offset ahead, and their height."""
    size = (HIGH - ANKLE) / LEG
    aside = size * sqrt(1.0 / EXTENSION**2 - 1.0)
    return [(aside * (i / LEG - i % 2), HIGH - size * i) for i in range(LEG + 1)]


def _lead(rig: Any) -> None:
    """Key the path of the root: ahead, in gentle turns."""
    root = rig.pose.bones["Root"]
    rest = root.bone.matrix_local.to_quaternion()
    for frame in range(-9, FRAMES + 20, 10):
        fraction = (frame - 1) / FRAMES
        position = Vector((START + WAY * fraction, _aside(fraction), 0.0))
        slope = (_aside(fraction + 1e-3) - _aside(fraction - 1e-3)) / 2e-3 / WAY
        root.location = rest.inverted() @ position
        root.rotation_quaternion = (
            rest.inverted() @ Vector((1, 0, 0)).rotation_difference((1, slope, 0)) @ rest
        )
        for channel in ("location", "rotation_quaternion"):
            root.keyframe_insert(channel, frame=frame)


def _aside(fraction: float) -> float:
    return 0.16 * sin(2.0 * pi * fraction)


def _sway(rig: Any) -> None:
    """Key the tail to swing and the head to look about."""
    for name, size, late in (
        *(("Tail 1", 0.22, 0.0), ("Tail 2", 0.3, 0.7), ("Tail 3", 0.34, 1.4)),
        *(("Neck", 0.1, 0.4), ("Head", 0.16, 0.9)),
    ):
        bone = rig.pose.bones[name]
        up = bone.bone.matrix_local.to_quaternion().inverted() @ Vector((0, 0, 1))

        def motion(turn: float, up: Vector = up, size: float = size, late: float = late) -> Any:
            return Quaternion(up, size * sin(3.0 * turn - late))

        keyed(bone, "rotation_quaternion", motion, every=5)


def _height(x: float, y: float) -> float:
    """Return the height of the ground: bumps of two sizes."""
    return (
        0.09
        + 0.04 * sin(1.9 * x + 0.8 * y)
        + 0.026 * sin(3.1 * x - 1.7 * y + 1.0)
        + 0.013 * cos(5.3 * x + 3.9 * y)
    )


def _ground() -> bpy.types.Object:
    xs = [-4.4 + 0.1 * i for i in range(89)]
    ys = [-1.6 + 0.1 * i for i in range(33)]
    return shapes.land("Ground", xs, ys, _height, material("Earth", (0.50, 0.40, 0.26), 0.95))


def _follow() -> None:
    """Move the camera with the creature."""
    camera((START, -4.6, 1.9), (START + 0.05, 0.0, 0.62), lens=46.0)
    seen: Any = bpy.context.scene.camera
    for frame, ahead in ((1, 0.0), (1 + FRAMES, WAY)):
        seen.location.x = START + 0.05 + ahead
        seen.keyframe_insert("location", index=0, frame=frame)
    for curve in curves_of(seen.animation_data.action):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"


PARTS = {
    "Hips": (0.125, 0.12),
    "Loin": (0.12, 0.115),
    "Back": (0.12, 0.135),
    "Chest": (0.14, 0.125),
    "Neck": (0.105, 0.075),
    "Tail 1": (0.045, 0.036),
    "Tail 2": (0.036, 0.03),
    "Tail 3": (0.03, 0.02),
    "Leg 1": (0.075, 0.052),
    "Leg 2": (0.052, 0.038),
    "Leg 3": (0.038, 0.034),
    "Paw": (0.036, 0.038),
    "Toe": (0.036, 0.026),
}
"""The radii of the flesh at each bone's head and tail."""

DARK = ("Paw", "Toe", "Tail 3", "Leg 3")
"""The bones with dark fur."""


def _dress(rig: Any) -> None:
    """Make the creature's body in one piece, with dark legs, ears and nose."""
    rig.data.bones["Root"].use_deform = False
    fur = material("Fur", (0.72, 0.46, 0.24), roughness=0.8)
    dark = material("Dark fur", (0.30, 0.17, 0.09), roughness=0.8)
    black = material("Eyes", (0.02, 0.02, 0.02), roughness=0.2)
    names = [bone.name for bone in rig.data.bones if bone.name.partition(".")[0] in DARK]
    skin.body("Body", rig, _flesh(rig), fur, [Cloth(name, dark) for name in names], 0.023)
    nose: Point = (1.005, 0.0, HIGH + 0.285)
    shapes.hang(shapes.ball("Nose", nose, 0.026, black), rig, "Head")
    for side in (-1.0, 1.0):
        eye: Point = (0.825, 0.05 * side, HIGH + 0.373)
        shapes.hang(shapes.ball(f"Eye {side:+.0f}", eye, 0.018, black), rig, "Head")
        ear, tip = (0.7, 0.065 * side, HIGH + 0.4), (0.67, 0.085 * side, HIGH + 0.53)
        part = shapes.capsule(f"Ear {side:+.0f}", ear, tip, (0.036, 0.012), dark)
        shapes.hang(part, rig, "Head")


def _flesh(rig: Any) -> list[Flesh]:
    """Return the rods of which the body is made."""
    flesh = []
    for bone in rig.data.bones:
        radii = PARTS.get(bone.name.partition(".")[0])
        if radii is not None:
            flesh.append(Flesh(bone.head_local[:], bone.tail_local[:], radii))
    skull, brow, muzzle = (0.7, 0, HIGH + 0.35), (0.78, 0, HIGH + 0.345), (0.97, 0, HIGH + 0.275)
    flesh += [
        Flesh(skull, brow, (0.085, 0.075)),
        Flesh(brow, muzzle, (0.06, 0.038)),
        Flesh((-0.2, 0, HIGH + 0.07), (0.46, 0, HIGH + 0.0), (0.1, 0.13)),
        Flesh((-0.54, 0, HIGH + 0.08), (-0.7, 0, HIGH + 0.03), (0.06, 0.04)),
    ]
    for across in (0.11, -0.11):
        flesh += [
            Flesh((0.44, across, HIGH + 0.03), (0.42, across, HIGH - 0.1), (0.085, 0.07)),
            Flesh((-0.44, across, HIGH + 0.05), (-0.46, across, HIGH - 0.12), (0.1, 0.075)),
        ]
    return flesh
