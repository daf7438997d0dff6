"""A figure runs through a gust: its ponytail, ears and cape swing, and rest on its body.

Only the body has keys: the run of the sample “stairs”, over a flat floor.
"""

from __future__ import annotations

from itertools import pairwise
from math import sin
from typing import Any

import bpy
from mathutils import Vector

from . import figure, shapes, stairs
from .parts import FRAMES, Bones, armature, camera, curves_of, material, stage
from .shapes import Point

READ_ME = """\
With the FABRIK IK extension enabled, play: hair, ears and cape swing, and none of them has keys.
Add Spring (menu Pose, Inverse Kinematics, Add Motion) made a constraint for each of the seven \
strands. They stay out of the colliders of head, chest, hips, upper arms and thighs, which Add \
Collider fitted to the mesh. The ears collide only with the group Trunk, so that no swinging arm \
catches them. The force field Wind blows from the left in the second half.
All was simulated once, and is in this file: jump to any frame. Drag Stiffness, Drag or Gravity of \
a strand, and it answers at once.
"""

HAIR, EAR, CAPE = 6, 5, 6
"""The numbers of bones of a strand."""

SPRINGS = {"Hair": (0.3, 0.07, 0.035), "Ear": (0.3, 0.09, 0.015), "Cape": (0.03, 0.06, 0.025)}
"""Stiffness, drag, and radius in meters, by kind of strand."""

ACROSS = 4
"""The number of strands of the cape."""

TRUNK = "Trunk"
"""The group of the colliders that the ears collide with."""

GUST = ((56, 0.0), (66, 9.0), (80, 5.0), (92, 9.0), (112, 0.0))
"""The strength of the wind in m/s², by frame."""


def build() -> None:
    """Make the sample in the open file."""
    scene = stage((0.60, 0.68, 0.66), READ_ME)
    bones, bends = figure.bones(has_toes=True)
    rig = armature("Rig", bones | _strands(), bends)
    loose = [bone for bone in rig.data.bones if bone.name.partition(" ")[0] in SPRINGS]
    for bone in loose:
        bone.use_deform = False  # The body isn't skinned to them.
    figure.dress(rig)
    for bone in loose:
        bone.use_deform = True
    _dress(rig)
    stairs.key_run(rig, every=3)
    rig.location.z = -stairs.HOVER
    _wind()
    _collide(rig)
    _swing(rig)
    operators: Any = bpy.ops
    scene.view_layers[0].objects.active = rig
    operators.fabrik.simulate()
    _follow()


def _strands() -> Bones:
    """Return the bones of ponytail, ears and cape."""
    bones: Bones = {}

    def strand(name: str, parent: str, points: list[Point]) -> None:
        for i, (head, tail) in enumerate(pairwise(points)):
            bones[f"{name} {i + 1}"] = (head, tail, f"{name} {i}" if i else parent)

    strand("Hair", "Head", [_hair(i / HAIR) for i in range(HAIR + 1)])
    for side, sign in (("L", 1.0), ("R", -1.0)):
        strand(f"Ear {side}", "Head", [_ear(i / EAR, sign) for i in range(EAR + 1)])
    for n in range(ACROSS):
        strand(f"Cape {n}", "Chest", [_cape(i / CAPE, n) for i in range(CAPE + 1)])
    return bones


def _hair(t: float) -> Point:
    """Return a point of the ponytail, from its root at 0 to its tip at 1."""
    return (-0.11 - 0.10 * sin(2.2 * t) * (1.2 - t), 0.0, 1.71 - 0.44 * t)


def _ear(t: float, sign: float) -> Point:
    """Return a point of an ear, which lops over a shoulder."""
    return (-0.01 + 0.02 * t, sign * (0.085 + 0.085 * sin(1.6 * t)), 1.72 - 0.34 * t * t - 0.02 * t)


def _cape(t: float, n: float) -> Point:
    """Return a point of a strand of the cape, the first one on the right."""
    side = 2.0 * n / (ACROSS - 1) - 1.0
    wide = 0.135 + 0.13 * t
    return (-0.115 - 0.09 * t + 0.05 * abs(side) * (1.0 - t), side * wide, 1.435 - 0.78 * t)


def _dress(rig: Any) -> None:
    """Make hair, ears and cape, skinned to their strands."""
    hair = material("Hair", (0.10, 0.05, 0.03), roughness=0.7)
    fur = material("Ears", (0.92, 0.88, 0.84), roughness=0.8)
    names = [f"Hair {i + 1}" for i in range(HAIR)]
    shapes.tube("Ponytail", rig, names, _thickness, hair, blend=1.0, rings=2, sides=10)
    for side in "LR":
        names = [f"Ear {side} {i + 1}" for i in range(EAR)]
        shapes.tube(
            f"Ear.{side}", rig, names, lambda t: 0.9 * _thickness(t), fur, 1.0, rings=2, sides=10
        )
    band = material("Band", (0.85, 0.36, 0.12), roughness=0.6)
    shapes.hang(shapes.ball("Band", _hair(0.0), 0.036, band), rig, "Head")
    _cape_mesh(rig)


def _thickness(t: float) -> float:
    """Return the radius of the ponytail, from its root at 0 to its tip at 1."""
    return 0.012 + 0.034 * sin(2.9 * (t + 0.07)) if t < 0.98 else 0.006


def _cape_mesh(rig: Any) -> None:
    """Make the cape: a sheet whose columns between two strands follow both."""
    fine, rows = 3, 2 * CAPE
    columns = fine * (ACROSS - 1)
    points = [
        _cape(row / rows, column / fine) for row in range(rows + 1) for column in range(columns + 1)
    ]
    wide = columns + 1
    faces = [
        (r * wide + c, r * wide + c + 1, (r + 1) * wide + c + 1, (r + 1) * wide + c)
        for r in range(rows)
        for c in range(columns)
    ]
    cloth = material("Cape", (0.62, 0.07, 0.09), roughness=0.85)
    ob = shapes.mesh("Cape", points, faces, cloth)
    for vertex in range(len(points)):
        row, column = divmod(vertex, wide)
        strand, part = divmod(column, fine)
        # Two rows a bone: those at joints follow both bones.
        rows_of = {min(max(i, 1), CAPE) for i in (row // 2 + 1, (row + 1) // 2)}
        for n, share in ((strand, 1.0 - part / fine), (strand + 1, part / fine)):
            for i in rows_of if share else ():
                group = f"Cape {n} {i}"
                slot = ob.vertex_groups.get(group) or ob.vertex_groups.new(name=group)
                slot.add([vertex], share / len(rows_of), "REPLACE")
    ob.parent = rig
    skin: Any = ob.modifiers.new("Armature", "ARMATURE")
    skin.object = rig
    smooth: Any = ob.modifiers.new("Smooth", "SUBSURF")
    smooth.levels = smooth.render_levels = 1
    thick: Any = ob.modifiers.new("Thickness", "SOLIDIFY")
    thick.thickness, thick.offset = 0.008, 0.0


def _select(rig: Any, names: list[str]) -> None:
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    for bone in rig.pose.bones:
        owner: Any = bone if bpy.app.version >= (5, 0, 0) else bone.bone
        owner.select = bone.name in names
    rig.data.bones.active = rig.data.bones[names[0]]


def _collide(rig: Any) -> None:
    """Add colliders to the bones of the body that are near the strands."""
    body = ["Chest", "Pelvis", "Upper arm.L", "Upper arm.R", "Thigh.L", "Thigh.R", "Head"]
    _select(rig, body)
    operators: Any = bpy.ops
    operators.fabrik.collider_add()
    bpy.ops.object.mode_set(mode="OBJECT")
    for collider in rig.fabrik.colliders:
        collider.group = "Arms" if collider.bone.startswith("Upper arm") else TRUNK


def _swing(rig: Any) -> None:
    """Add the springs."""
    roots = ["Hair 1", "Ear L 1", "Ear R 1", *[f"Cape {n} 1" for n in range(ACROSS)]]
    _select(rig, roots)
    operators: Any = bpy.ops
    operators.fabrik.spring_add()
    bpy.ops.object.mode_set(mode="OBJECT")
    for item in rig.fabrik.constraints:
        spring = item.spring
        stiffness, drag, radius = SPRINGS[item.bone.partition(" ")[0]]
        spring.stiffness, spring.drag, spring.radius = stiffness, drag, radius
        spring.stiffness_tip, spring.gravity, spring.use_settle = 0.4, 9.81, True
        spring.groups = TRUNK if item.bone.startswith("Ear") else ""


def _wind() -> None:
    """Add the wind, which blows from the left and from behind."""
    operators: Any = bpy.ops
    operators.object.effector_add(type="WIND", location=(0.0, 2.0, 1.2))
    wind: Any = bpy.context.object
    wind.name = "Wind"
    wind.rotation_euler = Vector((0.25, -1.0, 0.1)).to_track_quat("Z", "Y").to_euler()
    wind.field.noise, wind.field.seed = 6.0, 3
    for frame, strength in GUST:
        wind.field.strength = strength
        wind.keyframe_insert("field.strength", frame=frame)
        wind.field.noise = 0.5 * strength
        wind.keyframe_insert("field.noise", frame=frame)


def _follow() -> None:
    """Move the camera with the run."""
    start = stairs.START
    camera((start - 1.7, -3.7, 1.7), (start - 0.05, 0.0, 0.95), lens=46.0)
    seen: Any = bpy.context.scene.camera
    way = stairs.STEP.length * (FRAMES - 1) / stairs.RATE / stairs.PERIOD
    for frame, ahead in ((1, 0.0), (FRAMES, way)):
        seen.location.x = start - 1.6 + ahead
        seen.keyframe_insert("location", index=0, frame=frame)
    for curve in curves_of(seen.animation_data.action):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
