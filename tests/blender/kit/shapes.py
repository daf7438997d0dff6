"""Meshes to collide with."""

from collections.abc import Sequence

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
