"""A spider crosses rocks and climbs a wall; only the bone below its body is animated."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import cos, pi, sin, sqrt
from typing import Any

import bpy
from mathutils import Quaternion, Vector

from . import shapes
from .parts import FRAMES, Bones, armature, camera, material, stage

READ_ME = """\
With the FABRIK IK extension enabled, play: a single bone, Root, carries keys, which lead it over \
the ground and up the wall. All steps follow from that.
The sidebar's tab FABRIK > Walking shows how the legs step. They were simulated once, and are in \
this file: jump to any frame. Move Root, the rocks, or a setting, and press Simulate.
Bake Steps turns the steps into ordinary keys on the targets of the feet.
"""

SIDES = ((-1.0, "R"), (1.0, "L"))
FOOT = ((0.62, -0.72), (0.78, -0.26), (0.76, 0.26), (0.58, 0.76))
"""The rest positions of the left feet, front to back: across and along."""

HIGH = 0.34
START, WALL, BEND = -2.3, 1.45, 0.95
"""The start of the path, the foot of the wall, and the radius of the corner."""


RADII = {"Femur": (0.045, 0.032), "Tibia": (0.032, 0.024), "Tarsus": (0.022, 0.008)}
"""The bones of a leg, root first, and their radii at both ends."""

KNEE = ((0.1, -1.1), (0.85, -0.75), (1.18, 0.0), (0.85, 0.75), (0.1, 1.1))

EYES = ((0.035, 0.05, 0.026), (0.085, 0.055, 0.018), (0.06, 0.085, 0.015))
"""The eyes of one side: across, up, and radius."""


def build() -> None:
    """Make the sample in the open file."""
    stage((0.62, 0.70, 0.78), READ_ME)
    rocks = bpy.data.collections.new("Rocks")
    bpy.context.scene.collection.children.link(rocks)
    for rock in (_ground(), _wall(), *_boulders()):
        bpy.context.scene.collection.objects.unlink(rock)
        rocks.objects.link(rock)
    rig = armature("Rig", _bones())
    _dress(rig)
    _legs(rig)
    _lead(rig)
    gait = rig.fabrik.gaits.add()
    gait.name, gait.body = "Crawl", "Body"
    for item in rig.fabrik.constraints:
        gait.legs.add().constraint = item.name
    gait.source, gait.collection, gait.climbs = "COLLECTION", rocks, True
    gait.threshold, gait.duration, gait.step_height = 0.18, 7.0, 0.14
    gait.overshoot, gait.body_bob, gait.ray_height = 0.6, 0.01, 0.45
    operators: Any = bpy.ops
    operators.fabrik.simulate()
    camera((-2.3, -7.0, 3.2), (-0.45, 0.0, 1.0), lens=46.0)


def _bones() -> Bones:
    bones: Bones = {
        "Root": ((0, 0, 0), (0, 0.3, 0), ""),
        "Body": ((0, 0.18, HIGH), (0, -0.22, HIGH), "Root"),
    }
    for i, (across, along) in enumerate(FOOT):
        for sign, side in SIDES:
            root = Vector((sign * 0.1, along * 0.24 - 0.05, HIGH))
            foot = Vector((sign * across, along, 0.0))
            out = (foot - root) * Vector((1, 1, 0))
            joints = [root, root + 0.34 * out + Vector((0, 0, 0.28))]
            joints += [root + 0.84 * out + Vector((0, 0, 0.03)), foot]
            parent = "Body"
            ends: list[Any] = [joint.to_tuple() for joint in joints]
            for name, (head, tail) in zip(RADII, pairwise(ends), strict=True):
                bones[f"{name} {i}.{side}"] = (head, tail, parent)
                parent = f"{name} {i}.{side}"
    return bones


def _legs(rig: Any) -> None:
    for i in range(len(FOOT)):
        for _, side in SIDES:
            name = f"Tarsus {i}.{side}"
            goal = shapes.link(bpy.data.objects.new(f"Foot {i}.{side}", None))
            goal.location = rig.data.bones[name].tail_local
            goal.empty_display_size = 0.05
            goal.empty_display_type = "SPHERE"
            item = rig.fabrik.constraints.add()
            item.name = f"Leg {i}.{side}"
            item.bone, item.target, item.chain_count, item.swing = name, goal, 3, 1.0


def _lead(rig: Any) -> None:
    """Key the path of the root: over the ground, around the corner and up the wall."""
    root = rig.pose.bones["Root"]
    step = 5
    for frame in range(1 - step, FRAMES + 2 * step, step):
        distance = 5.0 * (frame - 1) / FRAMES
        side = 0.22 * sin(2.2 * distance)
        turn = 0.3 * cos(2.2 * distance)
        x, z, tilt = _along(distance)
        root.location = (x, side, z)
        root.rotation_quaternion = Quaternion((0, 1, 0), -tilt) @ Quaternion(
            (0, 0, 1), 0.5 * pi + turn
        )
        for channel in ("location", "rotation_quaternion"):
            root.keyframe_insert(channel, frame=frame)


def _along(distance: float) -> tuple[float, float, float]:
    """Return the position at a distance along the path, across and up, and the upward tilt."""
    flat, bend = WALL - BEND - START, 0.5 * pi * BEND
    if distance <= flat:
        return START + distance, 0.0, 0.0
    if distance <= flat + bend:
        tilt = (distance - flat) / BEND
        return WALL - BEND + BEND * sin(tilt), BEND - BEND * cos(tilt), tilt
    return WALL, BEND + distance - flat - bend, 0.5 * pi


def _height(x: float, y: float) -> float:
    """Return the unevenness of rock at a position: a sum of waves, the same on every machine."""
    return (
        0.07 * sin(2.9 * x + 0.6 * y)
        + 0.05 * sin(4.3 * y - 1.7 * x + 1.0)
        + 0.03 * sin(8.1 * x + 5.2 * y + 2.0)
        + 0.02 * sin(13.0 * y - 9.0 * x)
    )


def _sheet(
    name: str,
    across: tuple[float, float],
    along: tuple[float, float],
    point_at: Callable[[float, float], tuple[float, float, float]],
    look: bpy.types.Material,
) -> bpy.types.Object:
    columns = round((across[1] - across[0]) / 0.14)
    rows = round((along[1] - along[0]) / 0.14)
    points = [
        point_at(
            across[0] + (across[1] - across[0]) * i / columns,
            along[0] + (along[1] - along[0]) * j / rows,
        )
        for j in range(rows + 1)
        for i in range(columns + 1)
    ]
    wide = columns + 1
    faces = [
        (j * wide + i, j * wide + i + 1, (j + 1) * wide + i + 1, (j + 1) * wide + i)
        for j in range(rows)
        for i in range(columns)
    ]
    return shapes.mesh(name, points, faces, look)


def _ground() -> bpy.types.Object:
    look = material("Ground", (0.46, 0.40, 0.32), roughness=0.95)
    across, along = (-3.4, WALL + 0.3), (-1.8, 2.4)
    return _sheet("Ground", across, along, lambda x, y: (x, y, _floor(x, y)), look)


def _floor(x: float, y: float) -> float:
    """Return the height of the ground, which falls to the studio's floor at its edges."""
    edge = min(x + 3.4, y + 1.8, 2.4 - y, 0.7) / 0.7
    return (0.17 + _height(x, y)) * edge - 0.01


def _wall() -> bpy.types.Object:
    look = material("Rock", (0.36, 0.34, 0.34), roughness=0.95)

    def point_at(y: float, z: float) -> tuple[float, float, float]:
        return WALL + 0.8 * _height(z + 5.0, y), y, z

    return _sheet("Wall", (-1.8, 2.4), (-0.3, 3.2), point_at, look)


BOULDERS = (
    *((-1.75, -0.42, 0.2), (-1.5, 0.5, 0.26), (-0.95, -0.05, 0.17), (-0.55, 0.62, 0.22)),
    *((-0.35, -0.55, 0.2), (0.15, 0.2, 0.16), (0.45, -0.5, 0.22), (-2.6, 0.9, 0.3)),
)
"""The boulders: across, along, and radius."""


def _boulders() -> list[bpy.types.Object]:
    look = material("Rock", (0.36, 0.34, 0.34), roughness=0.95)
    made = []
    for n, (x, y, radius) in enumerate(BOULDERS):
        center = Vector((x, y, _floor(x, y) + 0.1 * radius))
        rock: Any = shapes.ball(f"Boulder {n}", (x, y, center.z), radius, look)
        for vertex in rock.data.vertices:
            out = (vertex.co - center) / radius
            rough = 1.0 + 0.12 * sin(5.0 * out.x + 3.0 * n) + 0.1 * cos(6.0 * out.y + 2.0 * n)
            vertex.co = center + out * Vector((radius, radius, 0.75 * radius)) * rough
        made.append(rock)
    return made


def _dress(rig: Any) -> None:
    """Parent the parts of a spider to its bones."""
    hide = material("Hide", (0.12, 0.09, 0.08), roughness=0.55)
    band = material("Band", (0.78, 0.34, 0.06), roughness=0.5)
    eye = material("Eye", (0.02, 0.02, 0.02), roughness=0.1)
    mark = material("Mark", (0.86, 0.50, 0.12), roughness=0.5)
    for name, start, end, radii, look in (
        ("Chest", (0, 0.05, HIGH), (0, -0.2, HIGH), (0.115, 0.1), hide),
        ("Abdomen", (0, 0.25, HIGH + 0.1), (0, 0.43, HIGH + 0.18), (0.14, 0.165), hide),
        ("Waist", (0, 0.05, HIGH), (0, 0.2, HIGH + 0.05), (0.05, 0.05), band),
        ("Stripe", (0, 0.25, HIGH + 0.18), (0, 0.43, HIGH + 0.3), (0.07, 0.055), mark),
        ("Jaw.L", (0.04, -0.28, HIGH - 0.02), (0.03, -0.34, HIGH - 0.12), (0.035, 0.012), band),
        ("Jaw.R", (-0.04, -0.28, HIGH - 0.02), (-0.03, -0.34, HIGH - 0.12), (0.035, 0.012), band),
    ):
        shapes.hang(shapes.capsule(name, start, end, radii, look), rig, "Body")
    for n, (x, z, size) in enumerate(
        ((0.035, 0.05, 0.026), (0.085, 0.055, 0.018), (0.06, 0.085, 0.015))
    ):
        for sign, side in SIDES:
            center = (sign * x, -0.2 - sqrt(max(0.0, 0.0121 - x * x)) * 0.8, HIGH + z)
            shapes.hang(shapes.ball(f"Eye {n}.{side}", center, size, eye), rig, "Body")
    for bone in rig.data.bones:
        kind = bone.name.split()[0]
        radii = {"Femur": (0.045, 0.032), "Tibia": (0.032, 0.024), "Tarsus": (0.022, 0.008)}.get(
            kind
        )
        if radii is None:
            continue
        head, tail = tuple(bone.head_local), tuple(bone.tail_local)
        shapes.hang(shapes.capsule(bone.name, head, tail, radii, hide), rig, bone.name)
        knee = [(radii[0] * wide, radii[0] * high) for wide, high in KNEE]
        ring = shapes.turned(f"Knee {bone.name}", head, tail, knee, band, sides=12)
        shapes.hang(ring, rig, bone.name)
