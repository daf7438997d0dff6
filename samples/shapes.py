"""Meshes: bodies turned on a lathe, tubes skinned to bones, boxes, flat cut-outs.

Their vertices are at their rest positions in world space; the objects are at the origin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, pi, sin
from typing import Any

import bpy
from mathutils import Matrix, Vector

SHARP = 0.7
"""The angle between faces above which their edge stays sharp, in radians."""

Point = Sequence[float]
Face = tuple[int, ...]
Look = bpy.types.Material
Profile = Sequence[tuple[float, float]]
"""Radius and height of a turned body, from bottom to top."""


def link(ob: bpy.types.Object) -> bpy.types.Object:
    """Add an object to the scene."""
    bpy.context.scene.collection.objects.link(ob)
    return ob


def mesh(name: str, points: Sequence[Any], faces: Sequence[Face], look: Look) -> bpy.types.Object:
    """Make a mesh object, shaded smooth except at sharp edges."""
    data = bpy.data.meshes.new(name)
    data.from_pydata([tuple(point) for point in points], [], faces)
    data.materials.append(look)
    data.shade_smooth()
    data.set_sharp_from_angle(angle=SHARP)
    return link(bpy.data.objects.new(name, data))


def hang(ob: bpy.types.Object, rig: bpy.types.Object, bone: str) -> bpy.types.Object:
    """Parent an object to a bone, keeping its position in the rest pose."""
    data: Any = rig.data
    rest = data.bones[bone]
    # Children of a bone are parented to its tail.
    tail = rest.matrix_local @ Matrix.Translation((0.0, rest.length, 0.0))
    ob.parent, ob.parent_type, ob.parent_bone = rig, "BONE", bone
    ob.matrix_parent_inverse = tail.inverted()
    return ob


def _rings(count: int, sides: int) -> list[Face]:
    """Return the faces between rings of vertices, and the faces of both ends."""
    faces: list[Face] = []
    for ring in range(count - 1):
        low, high = ring * sides, (ring + 1) * sides
        for i in range(sides):
            j = (i + 1) % sides
            faces.append((low + i, low + j, high + j, high + i))
    faces.append(tuple(reversed(range(sides))))
    faces.append(tuple(range((count - 1) * sides, count * sides)))
    return faces


def turned(
    name: str, start: Point, end: Point, profile: Profile, look: Look, sides: int = 20
) -> bpy.types.Object:
    """Turn a profile about the line from ``start``, where its height is 0, toward ``end``."""
    axis = Vector(end) - Vector(start)
    to_world = Matrix.Translation(start) @ axis.to_track_quat("Z", "Y").to_matrix().to_4x4()
    points = [
        to_world @ Vector((radius * cos(turn), radius * sin(turn), height))
        for radius, height in profile
        for turn in (2.0 * pi * i / sides for i in range(sides))
    ]
    return mesh(name, points, _rings(len(profile), sides), look)


def ball(name: str, center: Point, radius: float, look: Look) -> bpy.types.Object:
    """Make a ball."""
    above = (center[0], center[1], center[2] + 1.0)
    return turned(name, center, above, _capsule(radius, radius, 0.0), look)


def capsule(
    name: str, start: Point, end: Point, radii: tuple[float, float], look: Look
) -> bpy.types.Object:
    """Make a rod with round ends, tapered from the first radius to the second."""
    size = (Vector(end) - Vector(start)).length
    return turned(name, start, end, _capsule(*radii, size), look)


def _capsule(first: float, second: float, size: float, steps: int = 6) -> Profile:
    # A tiny radius at the poles keeps all rings alike.
    angles = [0.5 * pi * (i + 0.02) / steps for i in range(steps + 1)]
    below = [(first * sin(a), -first * cos(a)) for a in angles]
    above = [(second * sin(a), size + second * cos(a)) for a in reversed(angles)]
    return below + above


def box(name: str, center: Point, size: Point, look: Look, bevel: float = 0.0) -> bpy.types.Object:
    """Make a box, with its edges bevelled by a modifier if ``bevel`` is not 0."""
    corners = [
        [center[i] + 0.5 * size[i] * signs[i] for i in range(3)]
        for signs in ((x, y, z) for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    ]
    ob = mesh(name, corners, _rings(2, 4), look)
    if bevel:
        modifier: Any = ob.modifiers.new("Bevel", "BEVEL")
        modifier.width, modifier.segments = bevel, 2
    return ob


def cutout(
    name: str, outline: Sequence[tuple[float, float]], depth: float, look: Look
) -> bpy.types.Object:
    """Cut a flat figure out of the XZ plane; ``depth`` is its Y, so that figures can overlap."""
    points = [(x, depth, z) for x, z in outline]
    return mesh(name, points, [tuple(range(len(points)))], look)


def tube(
    name: str,
    rig: bpy.types.Object,
    bones: Sequence[str],
    radius: Callable[[float], float],
    look: Look,
    blend: float,
    rings: int,
    sides: int = 14,
) -> bpy.types.Object:
    """Make a tube along connected bones and skin it to them.

    Args:
        name: The object's name.
        rig: The armature.
        bones: The names of the bones, root first.
        radius: Maps the fraction of the length of all bones, 0 to 1, to the tube's radius.
        look: The material.
        blend: The part of a bone, 0 to 1, that shares its weight with a neighbor.
        rings: The number of rings of vertices per bone.
        sides: The number of vertices per ring.
    """
    armature: Any = rig.data
    chain = [armature.bones[bone] for bone in bones]
    points: list[Vector] = []
    weights: list[dict[str, float]] = []
    for i, bone in enumerate(chain):
        last = i == len(chain) - 1
        for ring in range(rings + last):
            fraction = ring / rings
            size = radius((i + fraction) / len(chain))
            axes = bone.matrix_local.to_3x3()
            center = bone.head_local.lerp(bone.tail_local, fraction)
            for turn in (2.0 * pi * k / sides for k in range(sides)):
                # In order from Z to X, so that faces point outwards.
                side = Vector((sin(turn), 0.0, cos(turn)))
                points.append(center + axes @ (side * size))
                weights.append(_weights(bones, i, fraction, blend))
    ob = mesh(name, points, _rings(len(points) // sides, sides), look)
    for bone in bones:
        ob.vertex_groups.new(name=bone)
    for vertex, shares in enumerate(weights):
        for bone, weight in shares.items():
            ob.vertex_groups[bone].add([vertex], weight, "REPLACE")
    ob.parent = rig
    modifier: Any = ob.modifiers.new("Armature", "ARMATURE")
    modifier.object = rig
    return ob


def _weights(bones: Sequence[str], i: int, fraction: float, blend: float) -> dict[str, float]:
    """Return a bone's weights: half at its ends, full from half of ``blend`` inwards."""
    near_end = fraction > 0.5
    other = i + 1 if near_end else i - 1
    distance = 1.0 - fraction if near_end else fraction
    weight = min(1.0, 0.5 + distance / blend)
    if not 0 <= other < len(bones) or weight == 1.0:
        return {bones[i]: 1.0}
    return {bones[i]: weight, bones[other]: 1.0 - weight}


def land(
    name: str,
    xs: Sequence[float],
    ys: Sequence[float],
    height: Callable[[float, float], float],
    look: Look,
) -> bpy.types.Object:
    """Make a block of ground over a grid, cut off at its sides.

    Args:
        name: The object's name.
        xs: The X coordinates of the grid.
        ys: The Y coordinates of the grid.
        height: Maps X and Y to the height of the ground.
        look: The material.
    """
    wide = len(ys)
    points = [(x, y, height(x, y)) for x in xs for y in ys]
    faces: list[Face] = [
        (wide * i + j, wide * i + j + wide, wide * i + j + wide + 1, wide * i + j + 1)
        for i in range(len(xs) - 1)
        for j in range(wide - 1)
    ]
    rim = [wide * i for i in range(len(xs))]
    rim += [wide * (len(xs) - 1) + j for j in range(1, wide)]
    rim += [wide * i + wide - 1 for i in reversed(range(len(xs) - 1))]
    rim += list(reversed(range(1, wide - 1)))
    base = len(points)
    points += [(points[i][0], points[i][1], 0.0) for i in rim]
    for i, corner in enumerate(rim):
        j = (i + 1) % len(rim)
        faces.append((rim[j], corner, base + i, base + j))
    return mesh(name, points, faces, look)


def studio(name: str, look: Look, reach: float = 14.0) -> bpy.types.Object:
    """Make a floor that rises in a curve to a wall behind the scene."""
    bend, back = 3.0, 5.0
    curve = [(-reach, 0.0)]
    curve += [
        (back - bend + bend * sin(a), bend - bend * cos(a))
        for a in (i * pi / 24 for i in range(13))
    ]
    curve.append((back, reach))
    points = [(x, y, z) for y, z in curve for x in (-reach, reach)]
    faces = [(2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2) for i in range(len(curve) - 1)]
    ob = mesh(name, points, faces, look)
    ob.hide_select = True
    return ob
