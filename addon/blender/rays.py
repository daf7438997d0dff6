"""Casting rays from a foot to the ground.

The handler's depsgraph provides the ground, so that moving and deforming ground is at the current
frame, in the viewport and in renders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver.core.vectors import Vec

from .access import session_uid
from .errors import ProblemError
from .meshes import Meshes
from .relations import moves_with
from .session import part
from .skeleton import matrix_frame, vector

Source = Literal["OBJECT", "COLLECTION", "SCENE"]

SOURCES: dict[Source, tuple[str, str]] = {
    "OBJECT": ("Object", "A single mesh"),
    "COLLECTION": ("Collection", "All meshes of a collection and its children"),
    "SCENE": ("Scene", "All visible objects of the scene except the character itself"),
}
"""The sources of ground, with label and description."""

SKIP = 1e-4
"""The distance behind an ignored hit at which a ray continues, in meters."""

MAX_IGNORED = 64
"""The maximum number of ignored hits of a ray."""


class Hit(NamedTuple):
    """The hit of a ray.

    Attributes:
        place: The hit point, in world space.
        normal: The unit normal in world space, on the side of the ray's origin.
        ob: The original of the hit object.
        face: The index of the hit face in its evaluated mesh.
    """

    place: Vec
    normal: Vec
    ob: bpy.types.Object
    face: int


Cast = Callable[[Vec, Vec, float], Hit | None]
"""Casts a ray from an origin along a direction (a unit vector) for a length, in world space."""


class Ground:
    """Mesh objects that are ground.

    Hidden objects are ground as well, unless they are excluded from the view layer or disabled in
    renders.

    Attributes:
        objects: The objects.
    """

    def __init__(self, objects: Iterable[bpy.types.Object]) -> None:
        """Keep the mesh objects only."""
        self.objects = [ob for ob in objects if ob.type == "MESH"]

    def cast(
        self, depsgraph: bpy.types.Depsgraph, origin: Vec, direction: Vec, distance: float
    ) -> Hit | None:
        """Return the nearest hit of a ray; None without a hit.

        Args:
            depsgraph: The depsgraph.
            origin: The origin of the ray, in world space.
            direction: Its direction, a unit vector in world space.
            distance: Its length, in meters.
        """
        return self.caster(depsgraph)(origin, direction, distance)

    def caster(self, depsgraph: bpy.types.Depsgraph) -> Cast:
        """Return a function that casts rays like `cast`, valid until the next evaluation.

        It prepares its objects once, at the first ray.
        """
        targets: list[_Target] | None = None

        def cast_ray(origin: Vec, direction: Vec, distance: float) -> Hit | None:
            nonlocal targets
            if targets is None:
                candidates = (_target(ob, depsgraph) for ob in self.objects)
                targets = [target for target in candidates if target is not None]
            nearest = None
            start, along = Vector(origin), Vector(direction)
            for target in targets:
                result = _cast(target, start, along, distance)
                if result is not None:
                    distance, nearest = result
            return nearest

        return cast_ray

    def state(self, depsgraph: bpy.types.Depsgraph) -> tuple[object, ...] | None:
        """Return a state that determines the hits of all rays; None if it is unknown.

        If it is equal at two frames, rays hit the same there, bit for bit.
        """
        meshes = part(Meshes)
        tokens = [meshes.token_of(ob, depsgraph) for ob in self.objects]
        if None in tokens:
            return None
        pairs = zip(self.objects, tokens, strict=True)
        return tuple([_state(ob, depsgraph, token) for ob, token in pairs])

    def is_excluded(self, depsgraph: bpy.types.Depsgraph) -> bool:
        """Return whether ground exists, but rays can't hit any of it."""
        return bool(self.objects) and not any(_is_evaluated(ob, depsgraph) for ob in self.objects)


class SceneGround(Ground):
    """Everything visible in a scene, in the viewport and in renders, except the character."""

    def __init__(self, armature: bpy.types.Object, excluded: Iterable[bpy.types.Object]) -> None:
        """Exclude an armature and other objects, with their descendants and deformed meshes."""
        self._own = {ob.session_uid for ob in (armature, *excluded)}
        self._own_cache: dict[int, bool] = {}
        shown = dict.fromkeys(ob for scene in armature.users_scene for ob in scene.objects)
        super().__init__(ob for ob in shown if not self._is_excluded(ob))

    def cast(
        self, depsgraph: bpy.types.Depsgraph, origin: Vec, direction: Vec, distance: float
    ) -> Hit | None:
        """Return the nearest hit of a ray; see `Ground.cast`."""
        scene = cast("bpy.types.Scene", depsgraph.scene)
        start, along = Vector(origin), Vector(direction)
        for _ in range(MAX_IGNORED):
            is_hit, hit_position, normal, face, ob, _ = cast(
                Any, scene.ray_cast(depsgraph, start, along, distance=distance)
            )
            if not is_hit:
                return None
            if not self._is_excluded(ob):
                return Hit(vector(hit_position), _facing(normal, along), ob.original, face)
            distance -= (hit_position - start).length + SKIP
            if distance <= 0.0:
                return None
            start = hit_position + along * SKIP
        return None

    def caster(self, depsgraph: bpy.types.Depsgraph) -> Cast:
        """Return a function that casts rays; see `Ground.caster`."""
        return partial(self.cast, depsgraph)

    def state(self, depsgraph: bpy.types.Depsgraph) -> tuple[object, ...] | None:
        """Return None: visibility may change without an update."""
        return None

    def _is_excluded(self, ob: bpy.types.Object) -> bool:
        # Hits on an object that is disabled in renders would differ there.
        return ob.hide_render or self._is_own(ob)

    def _is_own(self, ob: bpy.types.Object) -> bool:
        uid = session_uid(ob)
        if uid not in self._own_cache:
            self._own_cache[uid] = moves_with(ob, self._own)
        return self._own_cache[uid]


def ground_of(
    source: Source,
    ob: bpy.types.Object | None,
    collection: bpy.types.Collection | None,
    armature: bpy.types.Object,
    excluded: Iterable[bpy.types.Object],
) -> Ground:
    """Return the ground.

    The result stores references to objects, so it must not outlive a plan.

    Args:
        source: The kind of source.
        ob: The object for the source `OBJECT`.
        collection: The collection for the source `COLLECTION`.
        armature: The armature of the character, which is excluded.
        excluded: Other objects to exclude for the source `SCENE`.

    Raises:
        ProblemError: If the source isn't set, or can't be ground.
    """
    if source == "SCENE":
        return SceneGround(armature, excluded)
    if source == "COLLECTION":
        return _collection_ground(collection)
    if ob is None:
        raise ProblemError("No ground: choose an object, or use Scene")
    if ob.type != "MESH":
        raise ProblemError(
            "“{object}” isn't a mesh: choose a mesh object as ground", object=ob.name
        )
    if moves_with(ob, {armature.session_uid}):
        raise ProblemError(
            "“{object}” moves with the armature and can't be its ground: choose another object",
            object=ob.name,
        )
    return Ground([ob])


def _collection_ground(collection: bpy.types.Collection | None) -> Ground:
    if collection is None:
        raise ProblemError("No ground: choose a collection, or use Scene")
    ground = Ground(collection.all_objects)
    if not ground.objects:
        raise ProblemError(
            "The collection “{collection}” has no meshes: add the ground to it, or choose "
            "another collection",
            collection=collection.name,
        )
    return ground


def source_items(numbers: Mapping[Source, int]) -> tuple[tuple[str, str, str, int], ...]:
    """Return the sources of ground as enum items.

    Args:
        numbers: The numbers stored in files and keys.
    """
    return tuple((name, *SOURCES[name], number) for name, number in numbers.items())


def resolve_ground(
    names: Sequence[str], grounds: Sequence[bpy.types.Object]
) -> list[bpy.types.Object | None]:
    """Return the ground objects whose names a simulation has stored.

    They are looked up by name in the current ground. Renamed objects, and copies made together with
    the armature, are looked up by index.

    Args:
        names: The stored names: of the ground objects, in order, then of other objects.
        grounds: The current ground.

    Returns:
        The object of each name; None if it is missing.
    """
    by_name = {ob.name: ob for ob in grounds}

    def resolve(i: int, name: str) -> bpy.types.Object | None:
        if name in by_name:
            return by_name[name]
        if i < len(grounds) and grounds[i].name not in names:
            return grounds[i]
        return bpy.data.objects.get(name)

    return [resolve(i, name) for i, name in enumerate(names)]


def _state(
    ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph, token: object
) -> tuple[object, ...] | None:
    """Return the world frame of an object and its mesh's token; None if it isn't evaluated."""
    if not _is_evaluated(ob, depsgraph):
        return None
    return matrix_frame(ob.evaluated_get(depsgraph).matrix_world), token


class _Target(NamedTuple):
    """An object at which rays are cast.

    Attributes:
        ob: The object.
        evaluated: Its evaluated copy.
        world: The transform from object space to world space.
        local: The inverse of `world`.
        turn: The 3 × 3 part of `local`, which transforms directions.
        normals: The matrix that transforms normals to world space.
    """

    ob: bpy.types.Object
    evaluated: bpy.types.Object
    world: Matrix
    local: Matrix
    turn: Matrix
    normals: Matrix


def _target(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> _Target | None:
    """Prepare an object for rays; None if it isn't evaluated."""
    if not _is_evaluated(ob, depsgraph):
        return None
    evaluated = ob.evaluated_get(depsgraph)
    _ensure_mesh(evaluated)
    world = evaluated.matrix_world.copy()
    local = world.inverted_safe()  # The scale may be zero across a plane.
    turn = local.to_3x3()
    return _Target(ob, evaluated, world, local, turn, turn.transposed())


def _cast(
    target: _Target, start: Vector, along: Vector, distance: float
) -> tuple[float, Hit] | None:
    """Return the distance in meters and the hit of a ray on an object; None without a hit."""
    # The scale may be uneven: the length of the local direction converts the distance.
    local = target.turn @ along
    reach = distance * local.length
    try:
        is_hit, hit_position, normal, face = cast(
            Any, target.evaluated.ray_cast(target.local @ start, local, distance=reach)
        )
    except RuntimeError:  # The object was evaluated earlier, and has been disabled since.
        return None
    if not is_hit:
        return None
    hit_position = target.world @ hit_position
    normal = target.normals @ normal
    return (hit_position - start).dot(along), Hit(
        vector(hit_position), _facing(normal, along), target.ob, face
    )


def _is_evaluated(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether an object is evaluated; it isn't if it is excluded from the view layer."""
    evaluated = ob.evaluated_get(depsgraph)
    if not evaluated.is_evaluated:
        return False
    # A disabled object has an unevaluated mesh, and Blender 4.2 prints an error for rays at it.
    return not (isinstance(evaluated.data, bpy.types.Mesh) and evaluated.data.is_evaluated)


def _ensure_mesh(evaluated: bpy.types.Object) -> None:
    """Make Blender create the mesh of an object if a user of the mesh is in Edit Mode.

    Until the mesh is requested, only Edit Mode's drawing data exists.
    """
    mesh = evaluated.data
    if isinstance(mesh, bpy.types.Mesh) and mesh.is_editmode and not mesh.vertices:
        evaluated.to_mesh()
        evaluated.to_mesh_clear()


def _facing(normal: Vector, along: Vector) -> Vec:
    """Return a normal as a unit vector on the side of the ray's origin."""
    normal = normal.normalized()
    return vector(-normal if normal.dot(along) > 0.0 else normal)
