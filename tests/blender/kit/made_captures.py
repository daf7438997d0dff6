"""A capture that is made: a walk with heel strike, roll and toe off, keyed on all frames."""

import random
from math import pi, radians, sin
from typing import Any

import bpy
from mathutils import Matrix, Quaternion, Vector
from rigs import add_constraint, make_armature, make_empty, update

RATE, STEP, STRIDE = 60, 1.1, 1.2
"""Frames a second, how many seconds a step takes, and how far it goes for a leg of 0.85."""

STAND, FLAT, LAND = 0.62, 0.42, 0.08
"""Until when of a step a foot stands, is flat, and lands on its heel, in seconds."""

THIGH, SHIN, ANKLE, BALL = 0.43, 0.42, 0.09, 0.14
FRAMES = 150

REST = THIGH + SHIN + ANKLE
"""How high the hip of a figure rests that stands at the origin."""

SIDES = {"L": (0.1, 0.0), "R": (-0.1, 0.5)}
LEGS = [(f"UpLeg{side}", f"Leg{side}", f"Foot{side}", f"Toe{side}") for side in SIDES]


def eased(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


def pitch_at(t: float) -> float:
    if t < LAND:
        return -radians(15) * (1.0 - eased(t / LAND))
    down = eased((t - FLAT) / (STAND - FLAT)) * (1.0 - eased((t - STAND) / 0.25))
    return radians(30) * down - radians(15) * eased((t - STAND) / (STEP - STAND))


def standing(t: float, creep: float, press: float = 0.0) -> Vector:
    pitch = pitch_at(t)
    pivot = Vector((0.0, 0.0, -ANKLE)) if pitch <= 0.0 else Vector((BALL, 0.0, -ANKLE))
    back = pivot - Matrix.Rotation(pitch, 3, "Y") @ pivot
    sunk = press * eased((t - FLAT) / (STAND - FLAT))
    return Vector((creep * (min(t, FLAT) / FLAT - 0.5), 0.0, ANKLE - sunk)) + back


def ankle(seconds: float, late: float, creep: float, press: float = 0.0) -> tuple[Vector, float]:
    """Return where an ankle is, and the pitch of its foot."""
    cycle, t = divmod(seconds + late * STEP, STEP)
    place = standing(min(t, STAND), creep, press)
    share = eased((t - STAND) / (STEP - STAND))
    if t > STAND:
        landing = standing(0.0, creep) + Vector((STRIDE, 0.0, 0.0))
        place = place.lerp(landing, share) + Vector((0, 0, 0.24 * share * (1.0 - share)))
    return place + Vector((STRIDE * (cycle - late), 0.0, 0.0)), pitch_at(t)


def drifted(seconds: float, late: float) -> float:
    """Return the share of the drift: 0 and 1 in turn."""
    cycle, t = divmod(seconds + late * STEP, STEP)
    share = eased((t - STAND) / (STEP - STAND))
    return share if cycle % 2 == 0 else 1.0 - share


def captured(
    size: float = 1.0,
    scale: float = 1.0,
    creep: float = 0.02,
    hover: float = 0.0,
    tremble: float = 0.0,
    t_pose: bool = False,
    hip_height: float = 0.88,
    jolt: int = 0,
    kicks: bool = False,
    press: float = 0.0,
    rest_height: float = 0.0,
    drift: float = 0.0,
    climb: float = 0.0,
    apart: float = 0.0,
    last: int = FRAMES,
) -> bpy.types.Object:
    """Make a figure whose motion is keyed on all frames, as an importer leaves it.

    The tails of its bones aren't at the joints, and it rests with its hip at the armature's origin.
    Target.L and Target.R hold the feet where the motion has them.

    Args:
        size: How large the bones are in the armature.
        scale: The scale of the armature object.
        creep: By how much a foot slides while it stands.
        hover: How high above the floor it walks.
        tremble: By how much each frame is off.
        t_pose: Whether the first frame is one at the origin, apart from the motion.
        hip_height: How high its hip walks.
        jolt: A frame at which all of it is off by 6 mm; 0 for none.
        kicks: Whether the right foot stays in the air, and the left one where it is.
        press: How far the balls of the feet are pressed into the floor as they roll off.
        rest_height: How high above the origin of the armature its hip rests.
        drift: How much higher it stands in every other step.
        climb: How much higher its floor is after a meter.
        apart: How much higher its left foot is all the time than its right one.
        last: The last frame that has keys.
    """
    scene = bpy.context.scene
    scene.render.fps = RATE
    scene.frame_start, scene.frame_end = 1, FRAMES
    reach = THIGH + SHIN
    bones: dict[str, Any] = {"Hips": ((0, 0, rest_height * size), (0, 0, 24.0 * size), "")}
    for side, (y, _) in SIDES.items():
        names = f"UpLeg{side}", f"Leg{side}", f"Foot{side}", f"Toe{side}"
        joints = (0, 0), (0.02, -THIGH), (0, 0.001 - reach), (BALL, -reach - ANKLE)
        parent = "Hips"
        for name, (x, z) in zip(names, joints, strict=True):
            head = size * x, size * y, size * (z + rest_height)
            bones[name] = (head, (size * (x + 24.0), y, z + rest_height), parent)
            parent = name
    rig = make_armature(bones, "Captured")
    rig.scale = (scale,) * 3
    whole = size * scale  # Of what is in world space.
    rng = random.Random(3)
    hips = rig.pose.bones["Hips"]
    hips.rotation_mode = "QUATERNION"
    to_bone = hips.bone.matrix_local.to_3x3().inverted()
    for side in SIDES:
        target = make_empty(f"Target.{side}")
        target.rotation_mode = "QUATERNION"
        item = add_constraint(
            rig, f"Foot{side}", target, chain_count=2, use_tail=False, use_rotation=True
        )
        item.name, item.solver = f"Leg.{side}", "TWO_BONE"
    update()
    rest = {side: rig.data.bones[f"Foot{side}"].matrix_local.to_quaternion() for side in SIDES}
    for frame in range(1, last + 1):
        is_rest = t_pose and frame == 1
        seconds = (frame - 1) / RATE
        off = Vector((0.0, 0.0, 6e-3)) if frame == jolt else Vector()
        noise = Vector([rng.gauss(0, tremble) for _ in range(3)]) + off
        at = (
            Vector((STRIDE * (seconds / STEP - 0.2), 0.0, hip_height + hover - rest_height)) + noise
        )
        if kicks:
            at.x = 0.1 + 0.1 * sin(seconds)
        at.z += climb * at.x
        hips.location = to_bone @ (Vector() if is_rest else at * size)
        hips.keyframe_insert("location", frame=frame)
        for side, (y, late) in SIDES.items():
            target = bpy.data.objects[f"Target.{side}"]
            place, pitch = ankle(seconds, late, creep, press)
            place += Vector((0.0, y, hover + drift * drifted(seconds, late))) + off
            place.z += climb * place.x + (apart if side == "L" else 0.0)
            place += Vector([rng.gauss(0, tremble) for _ in range(3)])
            if kicks:
                swing = sin(2.0 * pi * seconds) if side == "R" else 0.0
                place, pitch = Vector((0.1 + 0.5 * swing, y, ANKLE + 0.3 * abs(swing))), 0.0
            if is_rest:
                place, pitch = Vector((0.0, y, -reach + 0.001)), 0.0
            target.location = place * whole
            target.rotation_quaternion = Quaternion((0, 1, 0), pitch) @ rest[side]
            target.keyframe_insert("location", frame=frame)
            target.keyframe_insert("rotation_quaternion", frame=frame)
    return rig
