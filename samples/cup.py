"""A figure takes a cup, hands it over, drinks, puts it on a tray and pulls the tray."""

from __future__ import annotations

from math import atan2, radians
from typing import Any

import bpy
from mathutils import Matrix, Vector

from . import figure, shapes
from .parts import add_constraint, armature, camera, material, pole, stage, target
from .shapes import Point

READ_ME = """\
With the FABRIK IK extension enabled, play: the right hand takes the cup, the left hand takes it \
over, the figure drinks and puts it on the tray, and the right hand pulls the tray along.
The cup and the tray have no keys of their own. What holds them changes at five keys, on the \
armature Props: drag one in the dope sheet, and press Simulate. Nothing moves at any.
Only the Targets of the hands, the chest and the head have keys.
"""

LAST = 180

TABLE = 0.98
"""The height of the table."""

CUP = (0.42, -0.17, TABLE)
TRAY = (0.40, 0.21, TABLE)

ASIDE = 0.062
"""The distance of a palm from the axis of the cup it holds."""

BEHIND = 0.08
"""The distance from the palm back to the wrist."""

AHEAD = Vector((1.0, 0.0, 0.0))

Way = tuple[tuple[int, Point, float, float], ...]
"""Keys of a hand: the frame, the position of the held object's axis, and the backward tilt and
inward turn of the hand in degrees.
"""

RIGHT: Way = (
    (1, (0.24, -0.30, 1.04), 0, 0),
    (14, (0.30, -0.26, 1.09), 0, 0),
    (28, (CUP[0], CUP[1], 1.035), 0, 0),
    (34, (CUP[0], CUP[1], 1.035), 0, 0),
    (54, (0.33, -0.01, 1.21), 0, 20),
    (64, (0.33, -0.01, 1.21), 0, 20),
    (72, (0.31, -0.12, 1.18), 0, 10),
    (90, (0.27, -0.26, 1.05), 0, 0),
    (124, (0.30, -0.20, 1.05), 0, 0),
    (142, (0.40, 0.085, 1.02), 0, 0),
    (148, (0.40, 0.085, 1.02), 0, 0),
    (166, (0.40, -0.10, 1.02), 0, 0),
    (170, (0.40, -0.10, 1.02), 0, 0),
    (LAST, (0.29, -0.27, 1.05), 0, 0),
)

LEFT: Way = (
    (1, (0.24, 0.30, 1.04), 0, 0),
    (40, (0.26, 0.24, 1.06), 0, 0),
    (58, (0.33, -0.01, 1.21), 0, 20),
    (64, (0.33, -0.01, 1.21), 0, 20),
    (84, (0.175, 0.0, 1.575), 18, 40),
    (92, (0.165, 0.0, 1.60), 46, 40),
    (100, (0.175, 0.0, 1.575), 18, 40),
    (122, (TRAY[0], TRAY[1], 1.052), 0, 0),
    (130, (TRAY[0], TRAY[1], 1.052), 0, 0),
    (138, (0.33, 0.30, 1.10), 0, 0),
    (156, (0.25, 0.31, 1.04), 0, 0),
    (LAST, (0.24, 0.30, 1.04), 0, 0),
)

NODS = (
    (1, 12, 8),
    (28, 24, 16),
    (56, 16, 0),
    (84, -4, 0),
    (92, -22, 0),
    (102, -2, 0),
    (124, 22, -22),
    (146, 20, -6),
    (166, 22, 8),
    (LAST, 12, 0),
)
"""Frames, with the head's bow and turn to the right in degrees."""


def build() -> None:
    """Make the sample in the open file."""
    scene = stage((0.60, 0.66, 0.62), READ_ME)
    scene.frame_end = LAST
    rig = armature("Rig", *figure.bones(has_hands=True))
    figure.dress(rig)
    for name, path in (("R", RIGHT), ("L", LEFT)):
        _reach(rig, name, path)
    for frame, bow, turn in NODS:
        _turn(rig, "Chest", "Pelvis", frame, 0.22 * bow, 0.35 * turn)
        _turn(rig, "Head", "Chest", frame, 0.78 * bow, 0.65 * turn)
    _table()
    cup, tray = _cup(), _tray()
    _hold(rig, cup, tray)
    eye = Vector((2.5, -1.62, 1.70))
    camera(eye[:], (0.2, 0.04, 1.23), lens=50.0)
    # Turn the wall to face the camera.
    bpy.data.objects["Studio"].rotation_euler.z = atan2(eye.x, -eye.y)


def _reach(rig: Any, side: str, path: Way) -> None:
    """Add a hand's constraint, and key its target along a path."""
    sign = 1.0 if side == "L" else -1.0
    goal = target(f"Target.{side}", (0, 0, 0), size=0.04, is_seen=False)
    goal.rotation_mode = "QUATERNION"
    rest = rig.data.bones[f"Hand.{side}"]
    for frame, grip_point, tilt, turn in path:
        fingers, inwards = _palm(sign, radians(tilt), radians(turn))
        wrist = Vector(grip_point) - BEHIND * fingers - ASIDE * inwards
        goal.location = wrist
        goal.rotation_quaternion = _facing(rest, sign, fingers, inwards).to_quaternion()
        for channel in ("location", "rotation_quaternion"):
            goal.keyframe_insert(channel, frame=frame)
    add_constraint(
        rig,
        f"Hand.{side}",
        solver="TWO_BONE",
        bone=f"Hand.{side}",
        use_tail=False,
        use_rotation=True,
        chain_count=2,
        target=goal,
        pole_target=pole(f"Pole.{side}", (-0.35, sign * 0.75, 0.75)),
    )


def _palm(sign: float, tilt: float, turn: float) -> tuple[Vector, Vector]:
    """Return the directions of the fingers and of the palm, in world space."""
    inwards = Matrix.Rotation(-sign * turn, 3, "Z")
    back = Matrix.Rotation(-tilt, 3, "Y")
    return back @ inwards @ AHEAD, back @ inwards @ Vector((0.0, -sign, 0.0))


def _facing(rest: Any, sign: float, fingers: Vector, inwards: Vector) -> Matrix:
    """Return the axes of a hand with its fingers and palm in given directions."""
    along = (rest.tail_local - rest.head_local).normalized()
    palm = Vector((0.0, -sign, 0.0))
    palm = (palm - along * palm.dot(along)).normalized()
    rest_axes, goal_axes = _axes(along, palm), _axes(fingers, inwards)
    return goal_axes @ rest_axes.inverted() @ rest.matrix_local.to_3x3()


def _axes(first: Any, second: Any) -> Matrix:
    """Return axes with the given first and second column."""
    return Matrix((first, second, first.cross(second))).transposed()


def _turn(rig: Any, name: str, above: str, frame: int, bow: float, turn: float) -> None:
    """Bow and turn a bone of the trunk, on top of the bone below it."""
    bone, below = rig.pose.bones[name], rig.pose.bones[above]
    bone.rotation_mode = "QUATERNION"
    turned = figure.about("Z", radians(-turn)) @ figure.about("Y", radians(bow))
    base = figure.about("Z", 0.0)
    bone.rotation_quaternion = figure.local(bone, base, turned) if below else base
    bone.keyframe_insert("rotation_quaternion", frame=frame)


def _table() -> None:
    wood = material("Wood", (0.45, 0.27, 0.14), roughness=0.5)
    shapes.box("Table", (0.56, 0.0, TABLE - 0.025), (0.62, 1.5, 0.05), wood, bevel=0.012)
    for i, (x, y) in enumerate(((0.32, 0.66), (0.32, -0.66), (0.8, 0.66), (0.8, -0.66))):
        leg = ((0.001, 0.0), (0.028, 0.0), (0.034, TABLE - 0.05), (0.001, TABLE - 0.05))
        shapes.turned(f"Leg {i}", (x, y, 0), (x, y, 1), leg, wood, 20)


def _cup() -> bpy.types.Object:
    """Make a cup with its origin in its middle."""
    blue = material("Cup", (0.10, 0.30, 0.62), roughness=0.25)
    x, y, z = CUP
    outside = ((0.001, 0.0), (0.028, 0.0), (0.034, 0.006), (0.040, 0.10))
    inside = ((0.036, 0.10), (0.030, 0.012), (0.001, 0.010))
    made = shapes.turned("Cup", (x, y, z), (x, y, z + 1), outside + inside, blue, 32)
    return _centerd(made, (x, y, z + 0.05))


def _tray() -> bpy.types.Object:
    red = material("Tray", (0.62, 0.12, 0.08), roughness=0.4)
    x, y, z = TRAY
    made = shapes.box("Tray", (x, y, z + 0.006), (0.24, 0.24, 0.012), red, bevel=0.005)
    for i, (across, along) in enumerate(((0.115, 0.0), (-0.115, 0.0), (0.0, 0.115), (0.0, -0.115))):
        size = (0.012, 0.24, 0.03) if across else (0.24, 0.012, 0.03)
        rim = shapes.box(f"Rim {i}", (x + across, y + along, z + 0.018), size, red, bevel=0.004)
        rim.parent = made
        rim.matrix_parent_inverse = made.matrix_world.inverted()
    return made


def _centerd(ob: bpy.types.Object, origin: Point) -> bpy.types.Object:
    """Move the origin of a mesh without moving the mesh."""
    shift: Any = Vector(origin) - ob.location
    data: Any = ob.data
    data.transform(Matrix.Translation(-shift))
    ob.location = origin
    return ob


def _hold(rig: Any, cup: bpy.types.Object, tray: bpy.types.Object) -> None:
    """Add the holds of cup and tray with the operators, as an animator would."""
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    hold: Any = bpy.ops.fabrik.hold  # type: ignore[attr-defined]
    release: Any = bpy.ops.fabrik.release  # type: ignore[attr-defined]
    for frame, held, by, bone in (
        (32, cup, "Rig", "Hand.R"),
        (61, cup, "Rig", "Hand.L"),
        (126, cup, tray.name, ""),
        (145, tray, "Rig", "Hand.R"),
        (168, tray, "", ""),
    ):
        bpy.context.scene.frame_set(frame)
        if by:
            hold(object=held.name, holder=by, bone=bone)
        else:
            release(object=held.name)
    bpy.ops.object.mode_set(mode="OBJECT")
