"""A figure walks its flat cycle over hills: feet on the ground, and the hip over them."""

from __future__ import annotations

from math import cos, pi, radians, sin
from typing import Any

import bpy
from mathutils import Quaternion, Vector

from . import figure, shapes
from .figure import ANKLE, ARMS
from .parts import add_constraint, armature, camera, curves_of, material, stage
from .shapes import Point, link

READ_ME = """\
With the FABRIK IK extension enabled, play: the figure walks over the hills.
Its animation knows nothing of them. It is one cycle of a walk on a flat floor, 24 frames long, \
repeated by a Cycles modifier on each curve. Turn On the Ground off for both legs (sidebar, tab \
FABRIK, group Ground), and you see it.
While a foot stands it is locked to where it stands, and it lies on the slope. The Pelvis goes \
along with the feet, and down as far as both need to reach.
Pull at the mesh Hills in Sculpt Mode, or move it: the feet follow at once. Change the walk, and \
press Simulate, so that it is known again when each foot stands.
Bake to Targets makes ordinary keys of it, few enough to go on by hand.
"""

STAND, SWING = 14, 10
"""Frames of a cycle in which a foot stands, and in which it swings."""

CYCLE = STAND + SWING
STRIDE = 0.76
START = -1.9


def build() -> None:
    """Make the sample in the open file."""
    scene = stage((0.62, 0.74, 0.84), READ_ME)
    rig = armature("Rig", *figure.bones())
    figure.dress(rig)
    ground = _hills()
    _trees()
    _key(rig, "location", [(START, 0, 0), (START + STRIDE, 0, 0)], [1, 1 + CYCLE], "LINEAR")
    _swing_body(rig)
    for side, late in (("L", 0), ("R", CYCLE // 2)):
        _leg(rig, side, late, ground)
    camera((0.3, -5.7, 1.65), (0.02, 0.0, 0.86), lens=42.0)
    scene.view_layers[0].objects.active = rig
    bpy.ops.fabrik.simulate()  # type: ignore[attr-defined]


def _leg(rig: Any, side: str, late: int, ground: bpy.types.Object) -> None:
    """Key a foot's target for one cycle, and put the leg on the ground."""
    goal = link(bpy.data.objects.new(f"Foot target.{side}", None))
    goal.empty_display_type, goal.empty_display_size = "ARROWS", 0.12
    goal.rotation_mode = "QUATERNION"
    rest = rig.data.bones[f"Foot.{side}"].matrix_local.to_quaternion()
    frames = range(1, 2 + CYCLE)
    y = 0.1 if side == "L" else -0.1
    steps = [_foot(frame - 1 - late, y, late) for frame in frames]
    _key(goal, "location", [place for place, _ in steps], frames)
    turns = [Quaternion((0, 1, 0), pitch) @ rest for _, pitch in steps]
    _key(goal, "rotation_quaternion", turns, frames)
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
    item.ground.hip_reach = 0.95
    item.ground.hip_follow = 0.8
    item.ground.use = True


def _foot(frame: int, y: float, late: int) -> tuple[Point, float]:
    """Return where the ankle is on a flat floor, and how far its toes point down, in radians."""
    cycle, phase = divmod(frame, CYCLE)
    u = max(0.0, (phase - STAND) / SWING)
    share = u * u * (3.0 - 2.0 * u)
    ahead = 0.5 * STRIDE * STAND / CYCLE
    x = START + STRIDE * (cycle + share + late / CYCLE) + ahead
    height = ANKLE + 0.045 * (1.0 - cos(2.0 * pi * u))
    return (x, y, height), radians(38.0) * sin(pi * u) ** 2 * (1.0 - 1.6 * u)


def _swing_body(rig: Any) -> None:
    """Key the hip, the chest and the arms for one cycle."""
    frames = range(1, 2 + CYCLE, 3)
    angles = [2.0 * pi * (frame - 1) / CYCLE for frame in frames]
    bones = rig.pose.bones
    # The hip is highest over a standing leg, and leans to it.
    lifts = [(0.0, -0.012 * cos(2.0 * (a - 0.6)), 0.012 * sin(a)) for a in angles]
    _key(bones["Pelvis"], "location", lifts, frames)
    for bone in bones:
        if bone.name.partition(".")[0] in ("Upper arm", "Forearm", "Chest"):
            bone.rotation_mode = "XYZ"
    _key(bones["Chest"], "rotation_euler", [(0.04, 0.12 * cos(a), 0.0) for a in angles], frames)
    for side, sign in (("L", -1.0), ("R", 1.0)):
        arm = [(sign * 0.42 * cos(a), 0.0, sign * ARMS) for a in angles]
        _key(bones[f"Upper arm.{side}"], "rotation_euler", arm, frames)
        bend = [(0.25 + sign * 0.18 * cos(a), 0.0, 0.0) for a in angles]
        _key(bones[f"Forearm.{side}"], "rotation_euler", bend, frames)


def _key(owner: Any, name: str, rows: Any, frames: Any, interpolation: str = "BEZIER") -> None:
    """Key one cycle of a channel, which goes on and on from where it ends."""
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
    """Return how high the hills are."""
    waves = (
        0.16 * sin(2.1 * x + 0.5 * y + 0.6) + 0.03 * sin(3.7 * x - 1.1 * y) + 0.03 * sin(2.4 * y)
    )
    return 0.27 + waves


def _hills() -> bpy.types.Object:
    xs = [-2.9 + 0.06 * i for i in range(98)]
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
