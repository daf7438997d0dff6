"""What constraints, drivers and shapes depend on, as Blender's own properties say.

Data-blocks are found by following the pointers of any type, so that no types of constraints,
modifiers and nodes are listed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import bpy

from .curves import split_bone_path
from .relations import SHAPE, Node, node_of

SHAPING = ("modifiers", "data", "particle_systems", "instance_collection")
"""The properties of an object that decide on its shape, besides its parent."""

UNRELATED = (bpy.types.Action, bpy.types.Image, bpy.types.Material, bpy.types.Scene)
"""Data-blocks that neither move nor shape anything."""

SKIPPED = ("rna_type", "animation_data")

PARTS = (("target", "subtarget"), ("object", "subtarget"), ("object", "bone"))
"""How to get from the name of a pointer to that of the property with a part of the object."""


class Reference(NamedTuple):
    """A data-block that a property points to.

    Attributes:
        block: The data-block.
        name: The name of the property.
        part: The bone or vertex group that is named along with it; None if that is not possible.
    """

    block: bpy.types.ID
    name: str
    part: str | None


def constraint_sources(con: Any) -> list[Node]:
    """Return what one of Blender's constraints depends on, but for what drives it."""
    has_space = "CUSTOM" in (con.owner_space, con.target_space)
    found = [one for one in _references([con]) if isinstance(one.block, bpy.types.Object)]
    return [_node(one) for one in found if has_space or one.name != "space_object"]


def driver_sources(driver: Any) -> Iterator[Node]:
    """Yield the objects and bones that a driver depends on."""
    yield from _sources([], [driver])


def shape_sources(ob: bpy.types.Object) -> Iterator[Node]:
    """Yield what the shape of an object depends on, besides its transform."""
    values = [getattr(ob, name) for name in SHAPING]
    blocks = [value for value in values if isinstance(value, bpy.types.ID)]
    parts = [part for value in values if value and value not in blocks for part in value]
    armatures: list[Any] = [ob.parent] if ob.parent and ob.parent_type == "ARMATURE" else []
    for one in _references(parts):
        if not isinstance(one.block, bpy.types.Object):
            blocks.append(one.block)
        elif one.part is None and one.block.pose is not None:
            armatures.append(one.block)
        else:
            yield _node(one)
    for armature in armatures:
        names = ob.vertex_groups.keys() or armature.pose.bones.keys()
        yield from (node_of(armature, name) for name in names)
    yield from _sources(blocks, [])


def shape_parent(ob: bpy.types.Object) -> bpy.types.Object | None:
    """Return the parent of an object if its shape moves the object, not its transform alone."""
    parent: Any = ob.parent
    if parent is None or not (
        ob.parent_type.startswith("VERTEX") or (parent.type == "CURVE" and parent.data.use_path)
    ):
        return None
    return parent


def _sources(blocks: Iterable[bpy.types.ID], drivers: Iterable[Any]) -> Iterator[Node]:
    """Yield the objects and bones on which drivers and data-blocks other than objects depend."""
    pending: list[bpy.types.ID] = [*blocks]
    seen, drivers = {*pending}, [*drivers]
    while pending or drivers:
        found: list[bpy.types.ID] = []
        for target in (t for driver in drivers for one in driver.variables for t in one.targets):
            if isinstance(target.id, bpy.types.Object):
                bone = target.bone_target or split_bone_path(target.data_path)[0]
                yield node_of(target.id, bone)
            elif target.id is not None:
                found.append(target.id)
        drivers = []
        if pending:
            block: Any = pending.pop()
            if isinstance(block, bpy.types.Collection):
                yield from ((ob, SHAPE) for ob in block.all_objects)
                continue
            data = getattr(block, "animation_data", None)
            drivers = [curve.driver for curve in data.drivers] if data else []
            for one in _references([block]):
                if isinstance(one.block, bpy.types.Object):
                    yield _node(one)
                else:
                    found.append(one.block)
        pending += [block for block in dict.fromkeys(found) if block not in seen]
        seen.update(found)


def _node(one: Reference) -> Node:
    """Return the node of a reference to an object.

    Where a part can be named, and none is, the transform alone counts; elsewhere the shape does.
    """
    ob: Any = one.block.original
    if ob.pose is not None:
        return node_of(ob, one.part or "")
    names_none = one.part is not None and one.part not in getattr(ob, "vertex_groups", ())
    return ob, -1 if names_none else SHAPE


def _references(structs: Iterable[Any]) -> Iterator[Reference]:
    """Yield the data-blocks that some structs and all parts of them point to."""
    pending = [*structs]
    seen: set[tuple[int, str]] = set()
    while pending:
        struct = pending.pop()
        kind = struct.bl_rna
        key = struct.as_pointer(), kind.identifier
        if key in seen:
            continue
        seen.add(key)
        pointers, collections = _properties(kind.identifier) or _properties_of(kind)
        values = [
            (getattr(struct, name), name, part and getattr(struct, part)) for name, part in pointers
        ]
        with suppress(TypeError):  # What a modifier passes to its nodes, up to Blender 5.1.
            values += [(value, "", None) for value in struct.values()]
        for value, name, part in values:
            if not isinstance(value, bpy.types.ID):
                pending += [value] if isinstance(value, bpy.types.bpy_struct) else []
            elif not isinstance(value, UNRELATED):
                yield Reference(value, name, part)
        for name in collections:
            items = getattr(struct, name)
            if len(items) and _may_refer(items[0].bl_rna.identifier):
                pending += items


Properties = tuple[list[tuple[str, str | None]], list[str]]
"""Pointers, each with the property that names a part of what it points to, and collections."""


@cache
def _properties(identifier: str) -> Properties | None:
    """Return the properties of a type of Blender's that may lead to data-blocks."""
    kind = getattr(bpy.types, identifier, None)
    return None if kind is None else _properties_of(kind.bl_rna)


def _properties_of(rna: Any) -> Properties:
    pointers: list[tuple[str, str | None]] = []
    collections: list[str] = []
    for prop in rna.properties:
        name = prop.identifier
        if name in SKIPPED or name in bpy.types.ID.bl_rna.properties:
            continue
        if prop.type == "COLLECTION":
            kind = prop.fixed_type
            if _may_refer(kind.identifier) or "type" in kind.properties:  # It may have other types.
                collections.append(name)
        elif prop.type == "POINTER":
            parts = [name.replace(old, new) for old, new in PARTS if old in name]
            named = [part for part in parts if part in rna.properties]
            pointers.append((name, named[0] if named else None))
    return pointers, collections


@cache
def _may_refer(identifier: str) -> bool:
    """Return whether a type may point to data-blocks; those derived from another one may.

    The parts of a mesh do not, of which there are very many.
    """
    pending, seen = [identifier], {identifier}
    while pending:
        kind: Any = getattr(bpy.types, pending.pop(), None)
        if kind is None or issubclass(kind, bpy.types.ID) or kind.bl_rna.base is not None:
            return True
        linked = [p for p in kind.bl_rna.properties if p.type in ("POINTER", "COLLECTION")]
        names = {p.fixed_type.identifier for p in linked if p.identifier not in SKIPPED} - seen
        pending += names
        seen |= names
    return False
