"""A figure walks its flat cycle over hills: feet on the ground, and the hip above them."""

from __future__ import annotations

from math import cos, pi, radians, sin
from typing import Any

import bpy
from mathutils import Quaternion, Vector

from . import figure, shapes
from .figure import ARMS, about, local
from .parts import add_constraint, armature, camera, curves_of, material, stage
from .shapes import link
from .stride import Stride

READ_ME = """\
With the FABRIK IK extension enabled, play: the figure walks over the hills.
Its animation knows nothing of them. It is one cycle of a walk on a flat floor, 28 frames long, \
repeated by a Cycles modifier on each curve. Turn On the Ground off for both legs (sidebar, tab \
FABRIK, group Ground), and you see it.
While a foot stands it is locked to where it stands, and it lies on the slope. The Pelvis goes \
along with the feet, and down as far as both need to reach.
Pull at the mesh Hills in Sculpt Mode, or move it: the feet follow at once. Change the walk, and \
press Simulate, so that it is known again when each foot stands.
Bake to Targets makes ordinary keys of it, few enough to go on by hand.
"""

CYCLE = 28
"""Frames of a cycle, from one heel strike of the left foot to the next."""

STEP = Stride(
    length=1.12,
    flat=0.1,
    heel_off=0.34,
    toe_off=0.62,
    strike=radians(-18.0),
    push=radians(56.0),
    kick=radians(62.0),
    lift=0.03,
)
"""The cycle of a foot."""

AHEAD = 0.28
"""The distance from the hip ahead to where a foot lands."""

START = -2.35

LOW = -0.023
"""The mean height of the hip relative to the rest pose, in which the legs are straight."""

OUTWARD = radians(6.0)
"""The outward rotation of toes, in radians."""

SIDES = {"L": (0.06, 0), "R": (-0.06, CYCLE // 2)}
"""The offset of each foot to the left, and its delay in frames."""


def build() -> None:
    """Make the sample in the open file."""
    scene = stage((0.62, 0.74, 0.84), READ_ME)
    rig = armature("Rig", *figure.bones(has_toes=True))
    figure.dress(rig)
    ground = _hills()
    _trees()
    _key(rig, "location", [(START, 0, 0), (START + STEP.length, 0, 0)], [1, 1 + CYCLE], "LINEAR")
    _swing_body(rig)
    for side in SIDES:
        _leg(rig, side, ground)
    camera((0.3, -6.3, 1.65), (0.02, 0.0, 0.92), lens=42.0)
    scene.view_layers[0].objects.active = rig
    bpy.ops.fabrik.simulate()  # type: ignore[attr-defined]


def _leg(rig: Any, side: str, ground: bpy.types.Object) -> None:
    """Key a foot's target and its toes for one cycle, and put the leg on the ground."""
    goal = link(bpy.data.objects.new(f"Foot target.{side}", None))
    goal.empty_display_type, goal.empty_display_size = "ARROWS", 0.12
    goal.rotation_mode = "QUATERNION"
    rest = rig.data.bones[f"Foot.{side}"].matrix_local.to_quaternion()
    frames = range(1, 2 + CYCLE)
    left, late = SIDES[side]
    outward = about("Z", OUTWARD if side == "L" else -OUTWARD)
    locations, rotations, toes = [], [], []
    for frame in frames:
        cycle, phase = divmod(frame - 1 - late, CYCLE)
        foot = STEP.foot(phase / CYCLE)
        struck = START + STEP.length * (cycle + late / CYCLE) + AHEAD
        locations.append(foot.ankle + Vector((struck, left, 0.0)))
        rotations.append(outward @ about("Y", foot.pitch) @ rest)
        bend = about("Y", foot.toes - foot.pitch)
        toes.append(local(rig.pose.bones[f"Toe.{side}"], Quaternion(), bend))
    _key(goal, "location", locations, frames)
    _key(goal, "rotation_quaternion", rotations, frames)
    _key(rig.pose.bones[f"Toe.{side}"], "rotation_quaternion", toes, frames)
    item = add_constraint(
        rig,
        f"Leg.{side}",
        bone=f"Foot.{side}",
        chain_count=2,
        use_tail=False,
        use_rotation=True,
        solver="TWO_BONE",
        target=goal,
    )
    item.ground.object = ground
    item.ground.hip = "Pelvis"
    item.ground.use = True


def _swing_body(rig: Any) -> None:
    """Key the hip, the chest, the head and the arms for one cycle."""
    frames = range(1, 2 + CYCLE, 2)
    poses = [_body(2.0 * pi * (frame - 1) / CYCLE) for frame in frames]
    pelvis = rig.pose.bones["Pelvis"]
    rest = pelvis.bone.matrix_local.to_quaternion()
    _key(pelvis, "location", [rest.inverted() @ offset for offset, _ in poses], frames)
    for name in poses[0][1]:
        bone = rig.pose.bones[name]
        turns = [
            local(bone, pose.get(bone.parent.name, Quaternion()), pose[name]) for _, pose in poses
        ]
        _key(bone, "rotation_quaternion", turns, frames)


def _body(a: float) -> tuple[Vector, dict[str, Quaternion]]:
    """Return the offset of the pelvis from rest, and the rotations of the bones above the legs.

    Args:
        a: The angle of the cycle, 0 as the left heel strikes the floor.
    """
    # Lowest in double support, and above the foot in single support.
    offset = Vector((0.0, 0.02 * sin(a + 0.2), LOW + 0.012 * cos(2.0 * (a - 2.0 * pi * 0.29))))
    # The hip of the landing leg is ahead, and that of the swinging leg drops.
    pelvis = about("Z", -0.09 * cos(a)) @ about("X", 0.07 * sin(a - 0.3))
    chest = about("Z", 0.1 * cos(a)) @ about("X", -0.02 * sin(a)) @ about("Y", 0.05)
    turns = {"Pelvis": pelvis, "Chest": chest, "Head": about("Z", 0.02 * cos(a))}
    for side, sign in (("L", 1.0), ("R", -1.0)):
        # Each arm swings with the opposite leg; the forearm follows through.
        swing = -sign * 0.4 * cos(a) - 0.04
        bend = 0.26 - sign * 0.17 * cos(a - 0.5)
        hanging = about("X", -sign * (ARMS - 0.07))
        turns[f"Upper arm.{side}"] = chest @ about("Y", -swing) @ hanging
        turns[f"Forearm.{side}"] = chest @ about("Y", -swing - bend) @ hanging
    return offset, turns


def _key(owner: Any, name: str, rows: Any, frames: Any, interpolation: str = "BEZIER") -> None:
    """Key a cycle of a channel, which repeats with an offset."""
    for frame, row in zip(frames, rows, strict=True):
        setattr(owner, name, row)
        owner.keyframe_insert(name, frame=frame)
    path = owner.path_from_id(name)
    action = owner.id_data.animation_data.action
    for curve in (curve for curve in curves_of(action) if curve.data_path == path):
        for point in curve.keyframe_points:
            point.interpolation = interpolation
        cycles: Any = curve.modifiers.new("CYCLES")
        cycles.mode_before = cycles.mode_after = "REPEAT_OFFSET"


def height(x: float, y: float) -> float:
    """Return the height of the hills at a position."""
    waves = (
        0.15 * sin(1.3 * x + 0.5 * y + 1.5) + 0.014 * sin(3.7 * x - 1.1 * y) + 0.03 * sin(2.4 * y)
    )
    return 0.27 + waves


def _hills() -> bpy.types.Object:
    xs = [-3.4 + 0.07 * i for i in range(98)]
    ys = [-1.85 + 0.1 * i for i in range(32)]
    return shapes.land("Hills", xs, ys, height, material("Grass", (0.28, 0.50, 0.16), 0.9))


def _trees() -> None:
    bark = material("Bark", (0.25, 0.14, 0.08), roughness=0.9)
    leaf = material("Leaf", (0.10, 0.32, 0.12), roughness=0.8)
    for i, (x, y, size) in enumerate(
        ((-2.2, 0.95, 1.0), (-0.9, 1.05, 0.75), (0.8, 0.92, 1.1), (2.3, 1.0, 0.85))
    ):
        foot = Vector((x, y, height(x, y) - 0.05))
        top = foot + Vector((0.0, 0.0, 0.35 * size))
        shapes.capsule(f"Trunk {i + 1}", foot[:], top[:], (0.03 * size, 0.025 * size), bark)
        crown = ((0.001, 0.0), (0.2 * size, 0.02), (0.001, 0.7 * size))
        shapes.turned(f"Crown {i + 1}", top[:], (top + Vector((0, 0, 1)))[:], crown, leaf)
