"""A figure runs up and down stairs; what it brings along is a run on a flat floor.

The run is made as captures are: keyed on the bones at every frame, a little too high, trembling.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import acos, cos, pi, radians, sin
from typing import Any, NamedTuple

import bpy
from mathutils import Matrix, Quaternion, Vector

from . import figure, shapes
from .figure import ANKLE, ARMS, FACE, HIP
from .parts import FRAMES, add_constraint, armature, camera, curves_of, material, stage
from .shapes import link

READ_ME = """\
With the FABRIK IK extension enabled, play: the figure runs over the stairs.
Its run was on a flat floor, as captures are: keyed on the bones at all frames, 3 cm too high, and \
trembling. Turn On the Ground off for both legs (sidebar, tab FABRIK, group Ground), and you see it.
Both legs have a constraint, and Target to FK Pose put their targets where the run has its feet. \
On the Ground found by itself how high the floor of the run is, and when heel and ball stand.
Pull at the mesh Stairs, or move it: the feet follow. Press Simulate if the run was changed.
"""

RATE = 24
PERIOD, STRIDE = 0.75, 1.3
"""The seconds of a cycle, and how far it goes."""

FLAT, HEEL_OFF, TOE_OFF = 0.07, 0.2, 0.4
"""Until when of a cycle, from heel strike on, the foot lands, is flat, and pushes off."""

STRIKE_PITCH, PUSH_PITCH, KICK_PITCH = radians(-14.0), radians(48.0), radians(70.0)
"""How far toes point down at heel strike, at toe off, and at most in the air."""

AHEAD = 0.18
"""How far before the hip a foot lands."""

HEEL, BALL = Vector((-0.05, 0.0, -ANKLE)), Vector((0.12, 0.0, 0.035 - ANKLE))
"""What a foot rolls about, seen from its ankle."""

START = -4.2
HOVER, TREMBLE, SHAKE = 0.03, 0.0008, radians(0.2)
"""How far above the floor the run is, and by how much each frame is off."""

SIDES = {"L": (0.1, 0.0), "R": (-0.1, 0.5)}
"""How far to the left a hip is, and how much of a cycle its foot is late."""

RISE, DEPTH = 0.14, STRIDE / 4
"""How high a step is, and how deep: every other one gets a foot."""

UP, DOWN = START + 2.4, START + 4.93
"""Where the stairs begin to rise, and to fall: with room for toes there, and for heels here."""

COUNT = 5
"""How many steps there are on either side."""


def build() -> None:
    """Make the sample in the open file."""
    scene = stage((0.70, 0.72, 0.80), READ_ME)
    rig = armature("Rig", *figure.bones(has_toes=True))
    figure.dress(rig)
    stairs = _stairs()
    _key_run(rig)
    scene.view_layers[0].objects.active = rig
    for side in SIDES:
        _leg(rig, side)
    for item in rig.fabrik.constraints:
        item.ground.object, item.ground.hip, item.ground.use = stairs, "Pelvis", True
    operators: Any = bpy.ops
    operators.fabrik.simulate()
    _follow()


def _leg(rig: Any, side: str) -> None:
    """Add a constraint to a leg, with a target that is where the run has the foot."""
    goal = link(bpy.data.objects.new(f"Foot target.{side}", None))
    goal.empty_display_type, goal.empty_display_size = "ARROWS", 0.12
    goal.rotation_mode = "QUATERNION"
    add_constraint(
        rig,
        f"Leg.{side}",
        bone=f"Foot.{side}",
        chain_count=2,
        use_tail=False,
        use_rotation=True,
        solver="TWO_BONE",
        target=goal,
    )
    rig.fabrik.active_index = len(rig.fabrik.constraints) - 1
    operators: Any = bpy.ops
    operators.fabrik.snap_to_fk(use_range=True, frame_start=1, frame_end=FRAMES)


class Foot(NamedTuple):
    """A foot at a time of its cycle.

    Attributes:
        ankle: Where its ankle is; it stands flat below the origin.
        pitch: How far it points down, in radians.
        toes: How far its toes do.
    """

    ankle: Vector
    pitch: float
    toes: float


def _eased(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


def _standing(u: float) -> Foot:
    """Return a foot that rolls on its heel, stands, and rolls on its ball."""
    if u < FLAT:
        pitch, pivot = STRIKE_PITCH * (1.0 - u / FLAT) ** 2, HEEL
    else:
        push = max(0.0, (u - HEEL_OFF) / (TOE_OFF - HEEL_OFF))
        pitch, pivot = PUSH_PITCH * push * push, BALL
    ankle = pivot + Matrix.Rotation(pitch, 3, "Y") @ -pivot
    return Foot(ankle + Vector((0.0, 0.0, ANKLE)), pitch, min(pitch, 0.0))


def _foot(u: float) -> Foot:
    """Return a foot from one heel strike, at 0, to the next one, at 1."""
    if u <= TOE_OFF:
        return _standing(u)
    small = 1e-4
    start, end = _standing(TOE_OFF), _standing(0.0)
    way = Vector((STRIDE, 0.0, 0.0)) + end.ankle - start.ankle
    swing, s = 1.0 - TOE_OFF, (u - TOE_OFF) / (1.0 - TOE_OFF)
    off = (start.ankle - _standing(TOE_OFF - small).ankle) * (swing / small)
    on = (_standing(small).ankle - end.ankle) * (swing / small)
    ankle = start.ankle + way * (s * s * (3.0 - 2.0 * s))
    ankle += off * (s * (1.0 - s) ** 2) - on * (s * s * (1.0 - s))
    ankle.z += 5.0 * s * s * (1.0 - s) ** 3
    kick = (KICK_PITCH - PUSH_PITCH) * sin(pi * min(1.0, 2.0 * s)) ** 2
    pitch = PUSH_PITCH + (STRIKE_PITCH - PUSH_PITCH) * _eased(s) + kick
    return Foot(ankle, pitch, pitch * min(1.0, 6.0 * s) if pitch > 0.0 else pitch)


def _key_run(rig: Any) -> None:
    """Key the run on the bones, at each frame."""
    noise = random.Random(7)
    before: dict[str, Quaternion] = {}
    for frame in range(1, FRAMES + 1):
        seconds = (frame - 1) / RATE
        hips, turns = _pose(rig, seconds)
        pelvis = rig.pose.bones["Pelvis"]
        hips += Vector([noise.gauss(0.0, TREMBLE) for _ in range(3)])
        rest = pelvis.bone.matrix_local.to_quaternion()
        pelvis.location = rest.inverted() @ (hips - pelvis.bone.head_local)
        pelvis.keyframe_insert("location", frame=frame)
        for name, turn in turns.items():
            bone = rig.pose.bones[name]
            rest = bone.bone.matrix_local.to_quaternion()
            above = turns.get(bone.parent.name, Quaternion())
            local = rest.inverted() @ above.inverted() @ turn @ rest
            axis = Vector([noise.gauss(0.0, 1.0) for _ in range(3)])
            local = local @ Quaternion(axis, noise.gauss(0.0, SHAKE))
            local.make_compatible(before.get(name, local))
            before[name] = bone.rotation_quaternion = local
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    for point in [p for c in curves_of(rig.animation_data.action) for p in c.keyframe_points]:
        point.interpolation = "LINEAR"
        # The handles do nothing then; alike they take less room in the file.
        point.handle_left_type = point.handle_right_type = "FREE"
        point.handle_left = point.handle_right = point.co


def _pose(rig: Any, seconds: float) -> tuple[Vector, dict[str, Quaternion]]:
    """Return where the pelvis is, and how each bone is turned from its rest pose."""
    phase = 2.0 * pi * seconds / PERIOD
    forward = START + STRIDE * seconds / PERIOD
    bob = -0.032 * cos(2.0 * (phase - 2.0 * pi * 0.19))
    hips = Vector((forward, 0.012 * sin(phase + 0.5), 0.915 + 0.04 + bob + HOVER))
    pelvis = _about("Z", -0.1 * cos(phase)) @ _about("Y", 0.08)
    chest = _about("Z", 0.2 * cos(phase)) @ _about("Y", 0.14)
    turns = {"Pelvis": pelvis, "Chest": chest, "Head": _about("Z", 0.05 * cos(phase))}
    for side, (left, late) in SIDES.items():
        sign = 1.0 if side == "L" else -1.0
        cycle, u = divmod(seconds / PERIOD + late, 1.0)
        foot = _foot(u)
        struck = START + STRIDE * (cycle - late) + AHEAD
        ankle = foot.ankle + Vector((struck, 0.9 * left, HOVER))
        root = hips + pelvis @ Vector((0.0, left, HIP - 0.04 - HIP))
        turns |= _bent(rig, side, root, ankle, pelvis @ Vector(FACE))
        turns[f"Foot.{side}"] = _about("Y", foot.pitch)
        turns[f"Toe.{side}"] = _about("Y", foot.toes)
        swing = -sign * 0.75 * cos(phase)
        hanging = _about("X", -sign * ARMS)
        turns[f"Upper arm.{side}"] = chest @ _about("Y", -0.15 - swing) @ hanging
        turns[f"Forearm.{side}"] = chest @ _about("Y", -1.55 - 1.2 * swing) @ hanging
    return hips, turns


def _about(axis: Any, angle: float) -> Quaternion:
    return Matrix.Rotation(angle, 3, axis).to_quaternion()


def _bent(rig: Any, side: str, root: Vector, ankle: Vector, front: Vector) -> dict[str, Quaternion]:
    """Return how thigh and shin are turned for the leg to end at its ankle, with its knee ahead."""
    names = f"Thigh.{side}", f"Shin.{side}"
    thigh, shin = (rig.data.bones[name] for name in names)
    a, b = thigh.length, shin.length
    way = ankle - root
    far = min(way.length, 0.999 * (a + b))
    along = way.normalized()
    aside = (front - along * front.dot(along)).normalized()
    angle = acos((a * a + far * far - b * b) / (2.0 * a * far))
    knee = root + along * (a * cos(angle)) + aside * (a * sin(angle))
    across: Any = along.cross(aside)
    return {
        names[0]: _turned(thigh, knee - root, across),
        names[1]: _turned(shin, ankle - knee, across),
    }


def _turned(bone: Any, way: Vector, across: Vector) -> Quaternion:
    """Return what turns a bone of a leg that rests in the XZ plane to point some way."""
    sideways: Any = Vector((0.0, 0.0, -1.0)).cross(Vector(FACE))
    rest = _axes(bone.tail_local - bone.head_local, sideways)
    return (_axes(way, across) @ rest.transposed()).to_quaternion()


def _axes(way: Vector, across: Vector) -> Matrix:
    along, side = way.normalized(), across.normalized()
    columns: Any = along, side, along.cross(side)
    return Matrix(columns).transposed()


def _stairs() -> bpy.types.Object:
    """Make stairs up and down, between two floors."""
    low, wide, end = 0.05, 1.0, 6.5
    profile = [(-end, 0.0), (-end, low)]
    for first, rises in ((UP, range(COUNT)), (DOWN, reversed(range(COUNT)))):
        for i, below in enumerate(rises):
            ends = [(first + DEPTH * i, low + RISE * n) for n in (below, below + 1)]
            profile += ends if first == UP else reversed(ends)
    profile += [(end, low), (end, 0.0)]
    count = len(profile)
    points = [(x, y, z) for y in (-wide, wide) for x, z in profile]
    faces: list[Sequence[int]] = [
        (i, i + count, (i + 1) % count + count, (i + 1) % count) for i in range(count)
    ]
    faces += [tuple(range(count)), tuple(reversed(range(count, 2 * count)))]
    stone = material("Stone", (0.46, 0.47, 0.50), roughness=0.9)
    return shapes.mesh("Stairs", points, [tuple(face) for face in faces], stone)


def _follow() -> None:
    """Let the camera go along with the run."""
    camera((START, -5.2, 1.6), (START + 0.25, 0.0, 0.95), lens=42.0)
    seen: Any = bpy.context.scene.camera
    height = seen.location.z
    for frame, ahead in ((1, 0.0), (FRAMES, STRIDE * (FRAMES - 1) / RATE / PERIOD)):
        seen.location.x = START + 0.25 + ahead
        seen.keyframe_insert("location", index=0, frame=frame)
    for frame, rise in ((27, 0.0), (57, 1.0), (68, 1.0), (98, 0.0)):
        seen.location.z = height + rise * RISE * COUNT
        seen.keyframe_insert("location", index=2, frame=frame)
    for curve in curves_of(seen.animation_data.action):
        for point in curve.keyframe_points if curve.array_index == 0 else ():
            point.interpolation = "LINEAR"
