"""Casting rays from a foot to the ground.

Everything is read from the handler's depsgraph, so that moving or deforming ground is the ground of
the frame, in the viewport and in renders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import bpy
from mathutils import Vector

from ..core.vectors import Vec
from .access import session_uid
from .errors import ProblemError
from .relations import moves_with
from .skeleton import vector

Source = Literal["OBJECT", "COLLECTION", "SCENE"]

SOURCES: dict[Source, tuple[str, str]] = {
    "OBJECT": ("Object", "A single mesh"),
    "COLLECTION": ("Collection", "All meshes of a collection and its children"),
    "SCENE": ("Scene", "All visible objects of the scene except the character itself"),
}
"""The sources of ground, with label and description."""

PAST = 1e-4
"""The distance behind an ignored hit at which a ray continues, in metres."""

MOST_PASSED = 64
"""The most ignored hits of a ray."""


class Hit(NamedTuple):
    """The hit of a ray.

    Attributes:
        place: The point, in world space.
        normal: The unit normal in world space, facing the ray's origin.
        ob: The original object that was hit.
        face: The face of its evaluated mesh.
    """

    place: Vec
    normal: Vec
    ob: bpy.types.Object
    face: int


class Ground:
    """Objects that count as ground.

    Attributes:
        objects: Their meshes.

    Hidden objects count as well, unless they are excluded from the view layer or disabled in the
    render.
    """

    def __init__(self, objects: Iterable[bpy.types.Object]) -> None:
        """Take the meshes among the objects."""
        self.objects = [ob for ob in objects if ob.type == "MESH"]

    def cast(
        self, depsgraph: bpy.types.Depsgraph, origin: Vec, direction: Vec, distance: float
    ) -> Hit | None:
        """Return the nearest hit of a ray, None if there is none.

        Args:
            depsgraph: The depsgraph with the evaluated objects.
            origin: The origin of the ray, in world space.
            direction: Its direction, a unit vector in world space.
            distance: Its length, in metres.
        """
        nearest = None
        start, along = Vector(origin), Vector(direction)
        for ob in self.objects:
            found = _cast(ob, depsgraph, start, along, distance)
            if found is not None:
                distance, nearest = found
        return nearest

    def is_left_out(self, depsgraph: bpy.types.Depsgraph) -> bool:
        """Return whether there are objects, but rays can hit none of them."""
        return bool(self.objects) and not any(_is_there(ob, depsgraph) for ob in self.objects)


class SceneGround(Ground):
    """Everything visible in a scene, in the viewport and in renders, except the character."""

    def __init__(self, own: bpy.types.Object, besides: Iterable[bpy.types.Object]) -> None:
        """Exclude an armature and other objects, their children, and what they deform."""
        self._own = {ob.session_uid for ob in (own, *besides)}
        self._known: dict[int, bool] = {}
        shown = dict.fromkeys(ob for scene in own.users_scene for ob in scene.objects)
        super().__init__(ob for ob in shown if not self._is_left_out(ob))

    def cast(
        self, depsgraph: bpy.types.Depsgraph, origin: Vec, direction: Vec, distance: float
    ) -> Hit | None:
        """Return the nearest hit of a ray, as `Ground.cast`."""
        scene = cast(bpy.types.Scene, depsgraph.scene)
        start, along = Vector(origin), Vector(direction)
        for _ in range(MOST_PASSED):
            is_hit, place, normal, face, ob, _ = cast(
                Any, scene.ray_cast(depsgraph, start, along, distance=distance)
            )
            if not is_hit:
                return None
            if not self._is_left_out(ob):
                return Hit(vector(place), _against(normal, along), ob.original, face)
            distance -= (place - start).length + PAST
            if distance <= 0.0:
                return None
            start = place + along * PAST
        return None

    def _is_left_out(self, ob: bpy.types.Object) -> bool:
        # What only the viewport shows would be missing in the render.
        return ob.hide_render or self._is_own(ob)

    def _is_own(self, ob: bpy.types.Object) -> bool:
        uid = session_uid(ob)
        if uid not in self._known:
            self._known[uid] = moves_with(ob, self._own)
        return self._known[uid]


def ground_of(
    source: Source,
    ob: bpy.types.Object | None,
    collection: bpy.types.Collection | None,
    own: bpy.types.Object,
    besides: Iterable[bpy.types.Object],
) -> Ground:
    """Return the ground.

    It holds references, so it must not outlive a plan.

    Args:
        source: Whether that is one object, those of a collection, or those of the scene.
        ob: The object, if that is the source.
        collection: The collection, if that is.
        own: The armature of the character, which is excluded.
        besides: Other objects of a scene to exclude.

    Raises:
        ProblemError: If nothing is set, or it cannot be ground.
    """
    if source == "SCENE":
        return SceneGround(own, besides)
    if source == "COLLECTION":
        return _collection_ground(collection)
    if ob is None:
        raise ProblemError("There is no ground: choose an object as ground, or use Scene")
    if ob.type != "MESH":
        raise ProblemError(f"“{ob.name}” is not a mesh: choose a mesh object as ground")
    if moves_with(ob, {own.session_uid}):
        raise ProblemError(
            f"“{ob.name}” moves with the armature and cannot be its ground: choose another object"
        )
    return Ground([ob])


def _collection_ground(collection: bpy.types.Collection | None) -> Ground:
    if collection is None:
        raise ProblemError("There is no ground: choose a collection as ground, or use Scene")
    ground = Ground(collection.all_objects)
    if not ground.objects:
        raise ProblemError(
            f"The collection “{collection.name}” has no mesh: add the ground to it, or choose "
            "another collection"
        )
    return ground


def source_items(numbers: Mapping[Source, int]) -> tuple[tuple[str, str, str, int], ...]:
    """Return the sources of ground as enum items.

    Args:
        numbers: The numbers stored in files and keys.
    """
    return tuple((name, *SOURCES[name], number) for name, number in numbers.items())


def recalled(
    names: Sequence[str], grounds: Sequence[bpy.types.Object]
) -> list[bpy.types.Object | None]:
    """Return the objects that were the ground of a simulation.

    They are found by name among the current ground; renamed objects, and copies made together with
    the armature, by their index.

    Args:
        names: Their names at that time: of the ground, in order, and of others.
        grounds: The current ground.

    Returns:
        An object for each name, None if it is gone.
    """
    named = {ob.name: ob for ob in grounds}

    def found(place: int, name: str) -> bpy.types.Object | None:
        if name in named:
            return named[name]
        if place < len(grounds) and grounds[place].name not in names:
            return grounds[place]
        return bpy.data.objects.get(name)

    return [found(place, name) for place, name in enumerate(names)]


def _cast(
    ob: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    start: Vector,
    along: Vector,
    distance: float,
) -> tuple[float, Hit] | None:
    """Return the distance and the hit of a ray on an object, None if there is none."""
    evaluated = ob.evaluated_get(depsgraph)
    if not _is_there(ob, depsgraph):
        return None
    _let_be_cast(evaluated)
    to_local = evaluated.matrix_world.inverted_safe()  # A plane of zero thickness is ground too.
    # Its local length converts the distance to the object's own, maybe uneven, scale.
    local = to_local.to_3x3() @ along
    reach = distance * local.length
    try:
        is_hit, place, normal, face = cast(
            Any, evaluated.ray_cast(to_local @ start, local, distance=reach)
        )
    except RuntimeError:  # It was evaluated once, and is disabled now.
        return None
    if not is_hit:
        return None
    place = evaluated.matrix_world @ place
    turned = to_local.to_3x3().transposed() @ normal
    return (place - start).dot(along), Hit(vector(place), _against(turned, along), ob, face)


def _is_there(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether an object is evaluated: the view layer may leave it out."""
    evaluated = ob.evaluated_get(depsgraph)
    if not evaluated.is_evaluated:
        return False
    # A disabled object has an unevaluated mesh; casting a ray at it makes Blender 4.2 print.
    return not (isinstance(evaluated.data, bpy.types.Mesh) and evaluated.data.is_evaluated)


def _let_be_cast(evaluated: bpy.types.Object) -> None:
    """Prepare a mesh in Edit Mode, of this object or another user of it, for rays.

    Until the mesh is requested Blender only keeps what Edit Mode draws.
    """
    mesh = evaluated.data
    if isinstance(mesh, bpy.types.Mesh) and mesh.is_editmode and not mesh.vertices:
        evaluated.to_mesh()
        evaluated.to_mesh_clear()


def _against(normal: Vector, along: Vector) -> Vec:
    """Return a unit normal that faces the ray's origin."""
    normal = normal.normalized()
    return vector(-normal if normal.dot(along) > 0.0 else normal)
