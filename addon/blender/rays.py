"""Rays from where a foot is to the ground below it.

All is read from the depsgraph that the handler was given, so that a ground which moves, or is
deformed, counts as it is at this frame, in the viewport and in a render alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import bpy
from mathutils import Vector

from ..core.vectors import Vec
from .access import session_uid
from .errors import ProblemError
from .skeleton import vector

Source = Literal["OBJECT", "COLLECTION", "SCENE"]

SOURCES: dict[Source, tuple[str, str]] = {
    "OBJECT": ("Object", "A single mesh"),
    "COLLECTION": ("Collection", "All meshes of a collection and its children"),
    "SCENE": ("Scene", "All visible objects of the scene except the character itself"),
}
"""What can count as ground, with its title and what it is."""

PAST = 1e-4
"""How far behind a hit that does not count a ray begins anew, in metres."""

MOST_PASSED = 64
"""How many hits that do not count a ray goes through before it gives up."""


class Hit(NamedTuple):
    """Where a ray meets the ground.

    Attributes:
        place: The point, in world space.
        normal: Of length 1 in world space, on the side that the ray came from.
        ob: The object that was hit, of the file and not of the depsgraph.
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

    What hides an object from the eye does not keep feet from standing on it; only what the view
    layer, or the render, leaves out altogether is not there.
    """

    def __init__(self, objects: Iterable[bpy.types.Object]) -> None:
        """Take the meshes among the objects."""
        self.objects = [ob for ob in objects if ob.type == "MESH"]

    def cast(
        self, depsgraph: bpy.types.Depsgraph, origin: Vec, direction: Vec, distance: float
    ) -> Hit | None:
        """Return the nearest hit of a ray, None if it meets nothing.

        Args:
            depsgraph: Where the objects are read from, as evaluated.
            origin: Where the ray begins, in world space.
            direction: Its direction of length 1, in world space.
            distance: How far it goes, in metres.
        """
        nearest = None
        start, along = Vector(origin), Vector(direction)
        for ob in self.objects:
            found = _cast(ob, depsgraph, start, along, distance)
            if found is not None:
                distance, nearest = found
        return nearest

    def is_left_out(self, depsgraph: bpy.types.Depsgraph) -> bool:
        """Return whether there are objects, but none of them is there for rays to meet."""
        return bool(self.objects) and not any(_is_there(ob, depsgraph) for ob in self.objects)


class SceneGround(Ground):
    """All that a scene shows in the viewport and in renders, but the character itself."""

    def __init__(self, own: bpy.types.Object, besides: Iterable[bpy.types.Object]) -> None:
        """Leave out an armature and other objects, what hangs on them, and what they deform."""
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
        # What only the viewport shows would be no ground in the render.
        return ob.hide_render or self._is_own(ob)

    def _is_own(self, ob: bpy.types.Object) -> bool:
        uid = session_uid(ob)
        if uid not in self._known:
            self._known[uid] = uid in self._own or any(map(self._is_own, _carriers(ob)))
        return self._known[uid]


def ground_of(
    source: Source,
    ob: bpy.types.Object | None,
    collection: bpy.types.Collection | None,
    own: bpy.types.Object,
    besides: Iterable[bpy.types.Object],
) -> Ground:
    """Return what counts as ground.

    It holds references, so it is as short-lived as a plan of constraints.

    Args:
        source: Whether that is one object, those of a collection, or those of the scene.
        ob: The object, if that is the source.
        collection: The collection, if that is.
        own: The armature of the character, which is no ground to itself.
        besides: What of a scene is no ground to it either.

    Raises:
        ProblemError: If nothing is chosen, or what is chosen cannot be ground.
    """
    if source == "SCENE":
        return SceneGround(own, besides)
    if source == "COLLECTION":
        return _collection_ground(collection)
    if ob is None:
        raise ProblemError("There is no ground: choose an object as ground, or use Scene")
    if ob.type != "MESH":
        raise ProblemError(f"“{ob.name}” is not a mesh: choose a mesh object as ground")
    if moves_with(ob, own):
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
    """Return what can count as ground as the items of a setting.

    Args:
        numbers: What files and keys know each by.
    """
    return tuple((name, *SOURCES[name], number) for name, number in numbers.items())


def recalled(
    names: Sequence[str], grounds: Sequence[bpy.types.Object]
) -> list[bpy.types.Object | None]:
    """Return the objects that were the ground when something was simulated.

    That is those with their names among what counts as ground now. One that got another name, or
    is the copy that came along with a copy of the armature, is known by its place.

    Args:
        names: The names that they had: of all that counted as ground, in order, and of others.
        grounds: All that counts as ground now.

    Returns:
        An object for each name, None where there is none any more.
    """
    named = {ob.name: ob for ob in grounds}

    def found(place: int, name: str) -> bpy.types.Object | None:
        if name in named:
            return named[name]
        if place < len(grounds) and grounds[place].name not in names:
            return grounds[place]
        return bpy.data.objects.get(name)

    return [found(place, name) for place, name in enumerate(names)]


def moves_with(ob: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Return whether an object hangs on an armature, or is deformed by it."""
    return ob == armature or any(moves_with(carrier, armature) for carrier in _carriers(ob))


def _carriers(ob: bpy.types.Object) -> list[bpy.types.Object]:
    """Return what an object moves with: its parent, and armatures that deform it."""
    rigs = [getattr(mod, "object", None) for mod in ob.modifiers if mod.type == "ARMATURE"]
    return [carrier for carrier in (ob.parent, *rigs) if carrier is not None]


def _cast(
    ob: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    start: Vector,
    along: Vector,
    distance: float,
) -> tuple[float, Hit] | None:
    """Return how far away a ray meets an object within a distance, and where; None if nowhere."""
    evaluated = ob.evaluated_get(depsgraph)
    if not _is_there(ob, depsgraph):
        return None
    _let_be_cast(evaluated)
    to_local = evaluated.matrix_world.inverted_safe()  # A plane scaled flat is a ground as well.
    # Its local length tells how far the ray goes in the object's own, maybe uneven, scale.
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
    # That of one that is disabled is a copy of its mesh. Blender 4.2 prints if it is cast.
    return not (isinstance(evaluated.data, bpy.types.Mesh) and evaluated.data.is_evaluated)


def _let_be_cast(evaluated: bpy.types.Object) -> None:
    """Let rays meet a mesh that is in Edit Mode, by the object's own or by another that shares it.

    Until somebody asks for the mesh itself Blender keeps there only what Edit Mode draws.
    """
    mesh = evaluated.data
    if isinstance(mesh, bpy.types.Mesh) and mesh.is_editmode and not mesh.vertices:
        evaluated.to_mesh()
        evaluated.to_mesh_clear()


def _against(normal: Vector, along: Vector) -> Vec:
    """Return a normal with length 1, turned to the side that a ray comes from."""
    normal = normal.normalized()
    return vector(-normal if normal.dot(along) > 0.0 else normal)
