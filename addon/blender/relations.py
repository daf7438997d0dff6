"""What hangs on what in Blender, walked upwards from objects and bones.

This is the only walk of its kind. It knows Blender's own relations; whoever walks says which of
them count, and makes what it needs of what is met.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, TypeVar, cast

import bpy

from .curves import of_bone
from .skeleton import Point, skeleton_of

Node = tuple[bpy.types.Object, int]
"""An object with -1, or with a number from 0 on a bone of it."""


Met = TypeVar("Met", bound=tuple[bpy.types.Object, object])
"""A node, or another kind of part of an object."""


def node_of(ob: bpy.types.Object, bone: str) -> Node:
    """Return a bone of an object by its name, the object itself if it has no such bone."""
    if not bone or ob.type != "ARMATURE" or ob.pose is None:
        return ob, -1
    return ob, skeleton_of(ob).index.get(bone, -1)


def node_at(point: Point) -> Node:
    """Return what a point is on."""
    return point.object, point.bone


def parent_of(ob: bpy.types.Object) -> Node | None:
    """Return the object or the bone that an object is parented to, None if it has no parent."""
    if ob.parent is None:
        return None
    return node_of(ob.parent, ob.parent_bone if ob.parent_type == "BONE" else "")


def parents(node: Node) -> Iterator[Node]:
    """Yield the parent of an object; of a bone the armature object, and then the parent bone."""
    ob, bone = node
    if bone < 0:
        parent = parent_of(ob)
        if parent is not None:
            yield parent
        return
    yield ob, -1
    above = skeleton_of(ob).parents[bone]
    if above >= 0:
        yield ob, above


def deformers(ob: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the armatures that deform an object."""
    found = [getattr(mod, "object", None) for mod in ob.modifiers if mod.type == "ARMATURE"]
    return [armature for armature in found if armature is not None]


def read_by(driver: Any) -> Iterator[Node]:
    """Yield the objects and bones that the variables of a driver read."""
    for target in (target for variable in driver.variables for target in variable.targets):
        if isinstance(target.id, bpy.types.Object):
            yield node_of(target.id, target.bone_target or of_bone(target.data_path)[0])


def above(
    starts: Iterable[Met],
    relations: Callable[[Met], Iterable[Met]],
    known: Container[Met] = (),
) -> Iterator[Met]:
    """Yield the starts and all that they hang on, once each, and after what it hangs on itself.

    What leads back to itself is met once: on the way to it, it comes after what hangs on it.

    Args:
        starts: Where the walk begins.
        relations: Asked once of each node that is met, before any of what it gives is met.
        known: What is passed over, and what it hangs on with it.
    """
    met: set[Met] = set()
    path: list[Met] = []
    # Not by recursion: a chain may have more bones than Python allows calls.
    open_: list[Iterator[Met]] = [iter(starts)]
    while open_:
        node = next(open_[-1], None)
        if node is None:
            open_.pop()
            if path:
                yield path.pop()
        elif node not in met and node not in known:
            met.add(node)
            path.append(node)
            open_.append(iter(relations(node)))


def moves_with(ob: bpy.types.Object, carriers: Container[int]) -> bool:
    """Return whether an object, or its copy, is or hangs on one of some, or is deformed by one.

    Args:
        ob: The object.
        carriers: The numbers of the others (`session_uid`).
    """

    def relations(node: Node) -> Iterator[Node]:
        yield from parents(node)
        if node[1] < 0:
            yield from ((armature, -1) for armature in deformers(node[0]))

    start = cast(bpy.types.Object, ob.original), -1
    return any(found.session_uid in carriers for found, _ in above([start], relations))


TURNED_ONLY = ("COPY_ROTATION",)
"""Bone constraints that set the axes and leave the head where the parent carries it."""


def active_constraints(owner: bpy.types.Object | bpy.types.PoseBone) -> list[Any]:
    """Return the active constraints of Blender's on an object or bone."""
    return [con for con in owner.constraints if not con.mute and con.influence > 0.0]


def replaces_pose(con: Any) -> bool:
    """Return whether nothing of a bone's own pose is left where this constraint acts."""
    is_whole = con.type == "COPY_TRANSFORMS" and con.mix_mode == "REPLACE"
    return is_whole and con.influence == 1.0 and con.is_valid


def constraint_point(con: Any) -> Point | None:
    """Return what one of Blender's constraints looks at."""
    ob = getattr(con, "target", None)
    if ob is None:
        return None
    name = getattr(con, "subtarget", "")
    if name and ob.type == "ARMATURE" and ob.pose:
        skeleton = skeleton_of(ob.original)
        if name in skeleton.index:
            return Point(ob.original, skeleton, skeleton.index[name])
    return Point(ob.original)


def acts_plainly(con: Any, on_bone: bool) -> bool:
    """Return whether `read` places what this constraint acts on as Blender will."""
    if con.influence < 1.0 or con.owner_space != "WORLD" or con.target_space != "WORLD":
        return False
    if on_bone:
        return con.type in TURNED_ONLY and con.mix_mode == "REPLACE" and _all_axes(con)
    if con.type == "CHILD_OF":
        parts = [
            f"use_{part}_{axis}" for part in ("location", "rotation", "scale") for axis in "xyz"
        ]
        return all(getattr(con, part) for part in parts)
    if con.type == "COPY_LOCATION":
        return _all_axes(con) and con.head_tail == 0.0 and not con.use_offset
    return con.type == "COPY_TRANSFORMS" and con.mix_mode == "REPLACE" and con.head_tail == 0.0


def _all_axes(con: Any) -> bool:
    used = con.use_x and con.use_y and con.use_z
    return used and not (con.invert_x or con.invert_y or con.invert_z)
