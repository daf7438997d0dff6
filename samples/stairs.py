"""A figure runs up and down stairs; its own animation is a run on a flat floor.

The run is keyed like a capture: on the bones at every frame, a little too high, trembling.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import acos, cos, pi, radians, sin
from typing import Any

import bpy
from mathutils import Matrix, Quaternion, Vector

from . import figure, shapes
from .figure import ARMS, FACE, HIP, about, local
from .parts import FRAMES, add_constraint, armature, camera, curves_of, material, stage
from .shapes import link
from .stride import Stride

READ_ME = """\
With the FABRIK IK extension enabled, play: the figure runs over the stairs.
Its run was on a flat floor, as captures are: keyed on the bones at all frames, 3 cm too high, and \
trembling. Turn On the Ground off for both legs (sidebar, tab FABRIK, group Ground), and you see it.
Both legs have a constraint, and Target to FK Pose put their targets where the run has its feet. \
On the Ground found by itself how high the floor of the run is, and when heel and ball stand.
Pull at the mesh Stairs, or move it: the feet follow. Press Simulate if the run was changed.
"""

RATE = 24
PERIOD = 0.7
"""The duration of a cycle, in seconds."""

STEP = Stride(
    length=1.5,
    flat=0.06,
    heel_off=0.12,
    toe_off=0.37,
    strike=radians(-12.0),
    push=radians(44.0),
    kick=radians(88.0),
    lift=0.19,
)
"""The cycle of a foot."""

AHEAD = 0.15
"""The distance from the hip ahead to where a foot lands."""

HIGH = 0.885 + 0.04
"""The mean height of the pelvis."""

START = -5.3
HOVER, TREMBLE, SHAKE = 0.03, 0.0008, radians(0.2)
"""The height of the run above the floor, and the noise of each frame."""

SIDES = {"L": (0.1, 0.0), "R": (-0.1, 0.5)}
"""The offset of each hip to the left, and the delay of its foot as a fraction of a cycle."""

RISE, DEPTH = 0.14, STEP.length / 4
"""The height and depth of a step: a foot lands on every other step."""

UP, DOWN = START + 2.68, START + 5.62
"""The X at which the stairs begin to rise, and to fall, with room for toes and heels."""

COUNT = 5
"""The number of steps on either side."""


def build() -> None:
    """Make the sample in the open file."""
    scene = stage((0.70, 0.72, 0.80), READ_ME)
    rig = armature("Rig", *figure.bones(has_toes=True))
    figure.dress(rig)
    stairs = _stairs()
    key_run(rig)
    scene.view_layers[0].objects.active = rig
    for side in SIDES:
        _leg(rig, side)
    for item in rig.fabrik.constraints:
        item.ground.object, item.ground.hip, item.ground.use = stairs, "Pelvis", True
    operators: Any = bpy.ops
    operators.fabrik.simulate()
    _follow()


def _leg(rig: Any, side: str) -> None:
    """Add a leg's constraint, with a target at the foot of the run."""
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


def key_run(rig: Any, every: int = 1) -> None:
    """Key the run on the bones, at each frame or at some of them."""
    noise = random.Random(7)
    previous_rotations: dict[str, Quaternion] = {}
    for frame in range(1, FRAMES + every, every):
        seconds = (frame - 1) / RATE
        hips, turns = _pose(rig, seconds)
        pelvis = rig.pose.bones["Pelvis"]
        hips += Vector([noise.gauss(0.0, TREMBLE) for _ in range(3)])
        rest = pelvis.bone.matrix_local.to_quaternion()
        pelvis.location = rest.inverted() @ (hips - pelvis.bone.head_local)
        pelvis.keyframe_insert("location", frame=frame)
        for name, turn in turns.items():
            bone = rig.pose.bones[name]
            axis = Vector([noise.gauss(0.0, 1.0) for _ in range(3)])
            shake = Quaternion(axis, noise.gauss(0.0, SHAKE))
            rotation = local(bone, turns.get(bone.parent.name, Quaternion()), turn) @ shake
            rotation.make_compatible(previous_rotations.get(name, rotation))
            previous_rotations[name] = bone.rotation_quaternion = rotation
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    for point in [p for c in curves_of(rig.animation_data.action) for p in c.keyframe_points]:
        point.interpolation = "LINEAR"
        # Linear keys ignore handles; equal handles take less space in the file.
        point.handle_left_type = point.handle_right_type = "FREE"
        point.handle_left = point.handle_right = point.co


def _pose(rig: Any, seconds: float) -> tuple[Vector, dict[str, Quaternion]]:
    """Return the position of the pelvis, and each bone's rotation from its rest pose."""
    phase = 2.0 * pi * seconds / PERIOD
    forward = START + STEP.length * seconds / PERIOD
    bob = -0.036 * cos(2.0 * (phase - 2.0 * pi * 0.18))
    hips = Vector((forward, 0.012 * sin(phase + 0.5), HIGH + bob + HOVER))
    # In flight before the left foot lands, the left thigh is ahead and the left arm behind.
    swung = cos(phase + 0.9)
    pelvis = about("Z", -0.1 * swung) @ about("Y", 0.08)
    chest = about("Z", 0.2 * swung) @ about("Y", 0.14)
    turns = {"Pelvis": pelvis, "Chest": chest, "Head": about("Z", 0.05 * swung)}
    for side, (left, late) in SIDES.items():
        sign = 1.0 if side == "L" else -1.0
        cycle, u = divmod(seconds / PERIOD + late, 1.0)
        foot = STEP.foot(u)
        struck = START + STEP.length * (cycle - late) + AHEAD
        ankle = foot.ankle + Vector((struck, 0.9 * left, HOVER))
        root = hips + pelvis @ Vector((0.0, left, HIP - 0.04 - HIP))
        turns |= _bent(rig, side, root, ankle, pelvis @ Vector(FACE))
        turns[f"Foot.{side}"] = about("Y", foot.pitch)
        turns[f"Toe.{side}"] = about("Y", foot.toes)
        swing = -sign * 0.75 * swung
        hanging = about("X", -sign * ARMS)
        turns[f"Upper arm.{side}"] = chest @ about("Y", -0.15 - swing) @ hanging
        turns[f"Forearm.{side}"] = chest @ about("Y", -1.55 - 1.2 * swing) @ hanging
    return hips, turns


def _bent(rig: Any, side: str, root: Vector, ankle: Vector, front: Vector) -> dict[str, Quaternion]:
    """Return the rotations of thigh and shin that bring the leg to its ankle, knee ahead."""
    names = f"Thigh.{side}", f"Shin.{side}"
    thigh, shin = (rig.data.bones[name] for name in names)
    a, b = thigh.length, shin.length
    to_ankle = ankle - root
    distance = min(to_ankle.length, 0.999 * (a + b))
    along = to_ankle.normalized()
    aside = (front - along * front.dot(along)).normalized()
    angle = acos((a * a + distance * distance - b * b) / (2.0 * a * distance))
    knee = root + along * (a * cos(angle)) + aside * (a * sin(angle))
    across: Any = along.cross(aside)
    return {
        names[0]: _turned(thigh, knee - root, across),
        names[1]: _turned(shin, ankle - knee, across),
    }


def _turned(bone: Any, direction: Vector, across: Vector) -> Quaternion:
    """Return the rotation of a leg bone, which rests in the XZ plane, to a direction."""
    sideways: Any = Vector((0.0, 0.0, -1.0)).cross(Vector(FACE))
    rest = _axes(bone.tail_local - bone.head_local, sideways)
    return (_axes(direction, across) @ rest.transposed()).to_quaternion()


def _axes(direction: Vector, across: Vector) -> Matrix:
    along, side = direction.normalized(), across.normalized()
    columns: Any = along, side, along.cross(side)
    return Matrix(columns).transposed()


def _stairs() -> bpy.types.Object:
    """Make stairs up and down, between two floors."""
    low, wide, end = 0.05, 1.0, 8.0
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
    """Move the camera with the run."""
    camera((START, -5.2, 1.6), (START + 0.25, 0.0, 0.95), lens=42.0)
    seen: Any = bpy.context.scene.camera
    height = seen.location.z
    for frame, ahead in ((1, 0.0), (FRAMES, STEP.length * (FRAMES - 1) / RATE / PERIOD)):
        seen.location.x = START + 0.25 + ahead
        seen.keyframe_insert("location", index=0, frame=frame)
    for frame, rise in ((25, 0.0), (52, 1.0), (60, 1.0), (86, 0.0)):
        seen.location.z = height + rise * RISE * COUNT
        seen.keyframe_insert("location", index=2, frame=frame)
    for curve in curves_of(seen.animation_data.action):
        for point in curve.keyframe_points if curve.array_index == 0 else ():
            point.interpolation = "LINEAR"
