"""A mesh as rays find it."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from ...core import Frame, frame_in, inverse, point_in
from ...core.vectors import Vec, dot, length, mat_apply, mat_columns, scaled, unit
from ...motion.rope_collision import Cast
from ..chain_plan import ProblemError
from ..skeleton import vector


class Shape:
    """A mesh in its own space, copied from Blender, so that it outlives it.

    Two are only equal if they are the same one, which `shape_of` sees to.

    Attributes:
        digest: Tells it from other meshes.
        tree: Its faces, for rays.
    """

    def __init__(self, digest: bytes, tree: BVHTree) -> None:
        """Keep it."""
        self.digest = digest
        self.tree = tree


class Surface(NamedTuple):
    """A mesh at a place.

    Attributes:
        shape: The mesh.
        world: Where it stands in world space.
    """

    shape: Shape
    world: Frame

    def seen_from(self, world: Frame) -> Cast:
        """Return what casts rays in the space of a frame, which is given in world space.

        Raises:
            ValueError: If the mesh is flat.
        """
        there = frame_in(inverse(self.world), world)
        back = inverse(there)
        columns = mat_columns(there[0])
        tree: Any = self.shape.tree

        def cast_ray(origin: Vec, direction: Vec, distance: float) -> tuple[Vec, Vec] | None:
            along = mat_apply(there[0], direction)
            reach = distance * length(along)
            hit, normal, _, _ = tree.ray_cast(Vector(point_in(there, origin)), Vector(along), reach)
            if hit is None:
                return None
            facing = vector(normal)
            turned = (dot(columns[0], facing), dot(columns[1], facing), dot(columns[2], facing))
            return point_in(back, vector(hit)), unit(turned) or scaled(direction, -1.0)

        return cast_ray


_shapes: dict[int, Shape] = {}


def surface_of(depsgraph: bpy.types.Depsgraph, ob: bpy.types.Object, world: Frame) -> Surface:
    """Return a mesh object as it is evaluated.

    Args:
        depsgraph: Where it is evaluated.
        ob: The object.
        world: Where it stands in world space.

    Raises:
        ProblemError: If it has no faces, or no size.
    """
    evaluated = ob.evaluated_get(depsgraph)
    mesh = cast(bpy.types.Mesh, evaluated.data)
    if not evaluated.is_evaluated or not mesh.polygons:
        raise ProblemError(
            f"“{ob.name}” has no faces that the rope could lie on, or is left out of the view "
            "layer: choose another Object for the collision"
        )
    try:
        inverse(world)
    except ValueError:
        raise ProblemError(f"“{ob.name}” is scaled to nothing: give it a scale") from None
    return Surface(_shape_of(depsgraph, ob, mesh), world)


def _shape_of(depsgraph: bpy.types.Depsgraph, ob: bpy.types.Object, mesh: bpy.types.Mesh) -> Shape:
    places = array("f", bytes(12 * len(mesh.vertices)))
    mesh.vertices.foreach_get("co", places)
    corners = array("i", bytes(4 * len(mesh.loops)))
    mesh.loops.foreach_get("vertex_index", corners)
    starts = array("i", bytes(4 * len(mesh.polygons)))
    mesh.polygons.foreach_get("loop_start", starts)
    digest = blake2b(places.tobytes())
    digest.update(corners.tobytes())
    digest.update(starts.tobytes())
    known = _shapes.get(ob.session_uid)
    if known is None or known.digest != digest.digest():
        known = Shape(digest.digest(), BVHTree.FromObject(ob, depsgraph))
        _shapes[ob.session_uid] = known
    return known


def forget() -> None:
    """Let go of all meshes, as of those of another file."""
    _shapes.clear()
