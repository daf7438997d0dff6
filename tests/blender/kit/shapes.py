"""Meshes to collide with."""

from collections.abc import Callable, Sequence

import bmesh
import bpy
from rigs import link


def make_ball(radius: float, location: Sequence[float]) -> bpy.types.Object:
    mesh = bpy.data.meshes.new("Ball")
    shape = bmesh.new()
    bmesh.ops.create_uvsphere(shape, u_segments=32, v_segments=16, radius=radius)
    shape.to_mesh(mesh)
    shape.free()
    ball = link(bpy.data.objects.new("Ball", mesh))
    ball.location = location
    return ball


def make_terrain(
    name: str,
    xs: Sequence[float],
    ys: Sequence[float],
    height: Callable[[float, float], float],
) -> bpy.types.Object:
    """Make a grid of quads whose height depends on the place."""
    many = len(ys)
    quads = [
        (many * i + j, many * i + j + many, many * i + j + many + 1, many * i + j + 1)
        for i in range(len(xs) - 1)
        for j in range(many - 1)
    ]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([(x, y, height(x, y)) for x in xs for y in ys], [], quads)
    return link(bpy.data.objects.new(name, mesh))
