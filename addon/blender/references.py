"""Dependencies of constraints, drivers and shapes, read from Blender's own properties.

The code follows the pointers of any type. So it needs no list of the types of constraints,
modifiers and nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import bpy

from .curves import split_bone_path
from .relations import ARRAY_INDEX, SHAPE, Node, driver_reads, node_of

TRANSFORMS = ("TRANSFORMS", "ROTATION_DIFF", "LOC_DIFF")
"""The types of driver variables that read transforms."""

SHAPING = ("modifiers", "data", "particle_systems", "instance_collection")
"""The properties of an object that determine its shape, besides its parent."""

UNRELATED = (bpy.types.Action, bpy.types.Image, bpy.types.Material, bpy.types.Scene)
"""Data-blocks that neither move nor shape anything."""

SKIPPED = ("rna_type", "animation_data")

PARTS = (("target", "subtarget"), ("object", "subtarget"), ("object", "bone"))
"""Replacements that turn a pointer's name into the name of the property for a part."""


class Reference(NamedTuple):
    """A data-block that a property points to.

    Attributes:
        block: The data-block.
        name: The name of the property.
        part: The bone or vertex group named with it; empty without a name. None if the type has no
            such property.
    """

    block: bpy.types.ID
    name: str
    part: str | None


def constraint_sources(con: Any) -> list[Node]:
    """Return the dependencies of one of Blender's constraints, except through its drivers."""
    has_space = "CUSTOM" in (con.owner_space, con.target_space)
    refs = [ref for ref in _references([con]) if isinstance(ref.block, bpy.types.Object)]
    return [_node(ref) for ref in refs if has_space or ref.name != "space_object"]


def driver_sources(driver: Any) -> Iterator[Node]:
    """Yield the objects and bones that a driver depends on."""
    pending = [driver]
    seen: set[tuple[bpy.types.ID, str]] = set()
    while pending:
        for block, path, bone in driver_reads(pending.pop()):
            is_object = isinstance(block, bpy.types.Object)
            if is_object:
                yield node_of(block, bone or split_bone_path(path)[0])
            key = block, path if is_object else ""
            if key not in seen:
                seen.add(key)
                pending += _driver_of(block, path) if is_object else _drivers(block)


def transform_sources(driver: Any) -> Iterator[Node]:
    """Yield the objects and bones whose transforms a driver reads."""
    for variable in driver.variables:
        for target in variable.targets if variable.type in TRANSFORMS else ():
            if target.id is not None:
                yield node_of(target.id, target.bone_target)


def shape_sources(ob: bpy.types.Object) -> Iterator[Node]:
    """Yield the objects and bones that an object's shape depends on, apart from its transform."""
    values = [getattr(ob, name) for name in SHAPING]
    blocks = [value for value in values if isinstance(value, bpy.types.ID)]
    parts = [part for value in values if value and value not in blocks for part in value]
    armatures: list[Any] = [ob.parent] if ob.parent and ob.parent_type == "ARMATURE" else []
    for reference in _references(parts):
        if not isinstance(reference.block, bpy.types.Object):
            blocks.append(reference.block)
        elif reference.part is None and reference.block.pose is not None:
            armatures.append(reference.block)
        else:
            yield _node(reference)
    for armature in armatures:
        names = ob.vertex_groups.keys() or armature.pose.bones.keys()
        yield from (node_of(armature, name) for name in names)
    yield from _sources(blocks)


def shape_parent(ob: bpy.types.Object) -> bpy.types.Object | None:
    """Return an object's parent if the parent's shape moves the object too; otherwise None."""
    parent: Any = ob.parent
    if parent is None or not (
        ob.parent_type.startswith("VERTEX") or (parent.type == "CURVE" and parent.data.use_path)
    ):
        return None
    return parent


def _sources(blocks: Iterable[bpy.types.ID]) -> Iterator[Node]:
    """Yield the objects and bones that data-blocks other than objects depend on."""
    pending = [*blocks]
    seen = {*pending}
    while pending:
        block = pending.pop()
        if isinstance(block, bpy.types.Collection):
            yield from ((ob, SHAPE) for ob in block.all_objects)
            continue
        for driver in _drivers(block):
            yield from driver_sources(driver)
        for reference in _references([block]):
            if isinstance(reference.block, bpy.types.Object):
                yield _node(reference)
            elif reference.block not in seen:
                seen.add(reference.block)
                pending.append(reference.block)


def _drivers(block: bpy.types.ID) -> list[Any]:
    data: Any = getattr(block, "animation_data", None)
    return [curve.driver for curve in data.drivers] if data else []


def _driver_of(ob: bpy.types.Object, path: str) -> list[Any]:
    """Return the driver of an object's property, if it has one."""
    data: Any = ob.animation_data
    match = ARRAY_INDEX.search(path)
    key = (path[: match.start()], int(match[1])) if match else (path, 0)
    curve = data.drivers.find(key[0], index=key[1]) if data and path else None
    return [curve.driver] if curve else []


def _node(reference: Reference) -> Node:
    """Return the node of a reference to an object.

    If the reference could name a part but doesn't, only the transform matters. Otherwise the shape
    does.
    """
    ob: Any = reference.block.original
    if ob.pose is not None:
        return node_of(ob, reference.part or "")
    names_none = reference.part is not None and reference.part not in getattr(
        ob, "vertex_groups", ()
    )
    return ob, -1 if names_none else SHAPE


def _references(structs: Iterable[Any]) -> Iterator[Reference]:
    """Yield the data-blocks that some structs and all their parts point to."""
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
        with suppress(TypeError):  # The inputs of a modifier's nodes, up to Blender 5.1.
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
"""Pointers, each with the property that names a part of its data-block, and collections."""


@cache
def _properties(identifier: str) -> Properties | None:
    """Return a Blender type's properties that may lead to data-blocks; None if unknown."""
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
            if _may_refer(kind.identifier) or "type" in kind.properties:  # Types may be derived.
                collections.append(name)
        elif prop.type == "POINTER":
            parts = [name.replace(old, new) for old, new in PARTS if old in name]
            part_names = [part for part in parts if part in rna.properties]
            pointers.append((name, part_names[0] if part_names else None))
    return pointers, collections


@cache
def _may_refer(identifier: str) -> bool:
    """Return whether a type may point to data-blocks; derived types may do so anyway.

    Elements of a mesh are left out, because there are too many of them to follow.
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
