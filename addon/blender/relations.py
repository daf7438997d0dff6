"""Dependencies between objects and bones, and their traversal.

The functions that yield dependencies cover only Blender's own relations. The callers of
`walk_dependencies` choose among them and add others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar, cast

import bpy

from . import animation
from .access import pose_bones
from .curves import split_bone_path
from .skeleton import Point, Skeleton, skeleton_of

Node = tuple[bpy.types.Object, int]
"""An object and the index of one of its bones, -1 for the object itself."""

SHAPE = -2
"""Instead of a bone's index: the evaluated shape of an object, in world space."""

ARRAY_INDEX = re.compile(r"\[(\d+)\]$")
"""Matches the index at the end of the path of an array's element."""

PLACING = ("location", "rotation", "scale", "delta_", "parent", "constraints")
"""Prefixes of RNA paths that affect the transform of an object or bone."""

AnyNode = TypeVar("AnyNode", bound=Hashable)
"""A `Node`, or anything else with dependencies."""


def node_of(ob: bpy.types.Object, bone: str) -> Node:
    """Return the node of a bone by name, or of the object if it has no such bone."""
    if not bone or ob.pose is None:
        return ob, -1
    return ob, skeleton_of(ob).index.get(bone, -1)


def node_at(point: Point) -> Node:
    """Return the node of a point."""
    return point.object, point.bone


def name_of(node: Node) -> str:
    """Return the name of an object or bone."""
    ob, bone = node
    return skeleton_of(ob).names[bone] if bone >= 0 else ob.name


def parent_of(ob: bpy.types.Object) -> Node | None:
    """Return the object or bone that an object is parented to; None without a parent."""
    if ob.parent is None:
        return None
    return node_of(ob.parent, ob.parent_bone if ob.parent_type == "BONE" else "")


def ancestors(ob: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """Yield the parent of an object, the parent's parent and so on, each once.

    When joined armatures were parented to each other, Blender 4.2 parents an object to itself.
    """
    seen = {ob}
    above = ob.parent
    while above is not None and above not in seen:
        yield above
        seen.add(above)
        above = above.parent


def parents(node: Node) -> list[Node]:
    """Return the parent of an object or a bone.

    The parent of a root bone is the armature object.
    """
    ob, bone = node
    if bone < 0:
        parent = parent_of(ob)
        return [] if parent is None else [parent]
    return [(ob, skeleton_of(ob).parents[bone])]


def deformers(ob: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the armature objects that deform an object by modifiers."""
    armatures = [getattr(mod, "object", None) for mod in ob.modifiers if mod.type == "ARMATURE"]
    return [armature for armature in armatures if armature is not None]


def is_placing(path: str) -> bool:
    """Return whether a property of an object or bone affects its transform."""
    return path.startswith(PLACING)


def driver_targets(driver: Any) -> Iterator[tuple[bpy.types.ID, str]]:
    """Yield the data-blocks that the variables of a driver read, each with the name of a bone."""
    for block, path, bone in driver_reads(driver):
        yield block, bone or split_bone_path(path)[0]


def driver_reads(driver: Any) -> Iterator[tuple[bpy.types.ID, str, str]]:
    """Yield the inputs of a driver's variables: data-block, data path, and bone of a transform."""
    for variable in driver.variables:
        for target in variable.targets:
            block = bpy.context.scene if variable.type == "CONTEXT_PROP" else target.id
            if block is not None:
                path = target.data_path
                yield _owner_of(block, path), path, target.bone_target


def _owner_of(block: bpy.types.ID, path: str) -> bpy.types.ID:
    """Return the data-block of a property, which the path may reach through pointers."""
    with suppress(ValueError):  # No path, or an invalid one.
        prop: Any = block.path_resolve(ARRAY_INDEX.sub("", path), False)
        return getattr(prop, "id_data", block)
    return block


def walk_dependencies(
    starts: Iterable[AnyNode],
    relations: Callable[[AnyNode], Iterable[AnyNode]],
    skipped: Container[AnyNode] = (),
) -> list[AnyNode]:
    """Return the starts and their direct and indirect dependencies, each node once.

    This is a depth-first traversal in postorder: a node follows its dependencies, except in a
    cycle.

    Args:
        starts: The nodes to begin with.
        relations: Returns the dependencies of a node. It is called once for each node, before any
            dependency is visited.
        skipped: Nodes to skip, together with their dependencies.
    """
    visited: set[AnyNode] = set()
    walked: list[AnyNode] = []
    path: list[AnyNode] = []
    # Iterative, since a chain may have more bones than the recursion limit.
    pending: list[Iterator[AnyNode]] = [iter(starts)]
    while pending:
        for node in pending[-1]:
            if node not in visited and node not in skipped:
                visited.add(node)
                path.append(node)
                pending.append(iter(relations(node)))
                break
        else:
            pending.pop()
            if path:
                walked.append(path.pop())
    return walked


def settle(
    starts: Iterable[AnyNode],
    relations: Callable[[AnyNode], Iterable[AnyNode]],
    results: dict[AnyNode, Any],
    result: Callable[[AnyNode], Any],
) -> bool:
    """Compute the results of nodes from the results of their direct dependencies, once for each.

    For a cycle of dependencies, the computation is repeated until nothing changes.

    Args:
        starts: The nodes whose results are needed.
        relations: Returns the dependencies of a node, the same each time.
        results: The results by node. New ones are added.
        result: Computes the result of a node from those of its dependencies in `results`.

    Returns:
        Whether there was a cycle.
    """
    nodes: list[AnyNode] = []
    is_circular = False
    for node in walk_dependencies(starts, relations, results):
        is_circular |= any([other not in results for other in relations(node)])
        results[node] = result(node)
        nodes.append(node)
    is_changing = is_circular
    while is_changing:
        previous = [results[node] for node in nodes]
        for node in nodes:
            results[node] = result(node)
        is_changing = previous != [results[node] for node in nodes]
    return is_circular


def components(needs: Mapping[AnyNode, Collection[AnyNode]]) -> list[list[AnyNode]]:
    """Return groups of nodes that depend on each other, each after the groups it depends on.

    Kosaraju's algorithm for strongly connected components, in linear time.

    Args:
        needs: The dependencies of each node. All of them are keys.
    """
    needing: dict[AnyNode, list[AnyNode]] = {node: [] for node in needs}
    for node, dependencies in needs.items():
        for other in dependencies:
            needing[other].append(node)
    done: set[AnyNode] = set()
    groups: list[list[AnyNode]] = []
    for node in reversed(walk_dependencies(needing, needing.__getitem__)):
        if node not in done:
            is_alone = done.issuperset(needs[node])
            groups.append(
                [node] if is_alone else walk_dependencies([node], needs.__getitem__, done)
            )
            done.update(groups[-1])
    return groups


def cycles(needs: Mapping[AnyNode, Collection[AnyNode]]) -> list[list[AnyNode]]:
    """Return those `components` whose nodes depend on themselves."""
    return [part for part in components(needs) if len(part) > 1 or part[0] in needs[part[0]]]


def moves_with(ob: bpy.types.Object, carriers: Container[int]) -> bool:
    """Return whether an object is a carrier, or is parented to or deformed by one, even indirectly.

    Args:
        ob: The object, or an evaluated copy of it.
        carriers: The `session_uid`s of the carriers.
    """

    def relations(node: Node) -> Iterator[Node]:
        yield from parents(node)
        if node[1] < 0:
            yield from ((armature, -1) for armature in deformers(node[0]))

    start = cast("bpy.types.Object", ob.original), -1
    return any(
        carrier.session_uid in carriers for carrier, _ in walk_dependencies([start], relations)
    )


def active_constraints(owner: bpy.types.Object | bpy.types.PoseBone) -> list[Any]:
    """Return Blender's own constraints on an object or bone that have an effect."""
    constraints = owner.constraints
    return [con for con in constraints if not con.mute and con.influence > 0.0 and con.is_valid]


class ConstrainedBones(dict[int, set[int]]):
    """The bones that have native constraints, by armature, each armature read once."""

    def of(self, rig: Skeleton) -> set[int]:
        """Return the bones of an armature that have native constraints."""
        bones = self.get(rig.uid)
        if bones is None:
            bones = self[rig.uid] = constrained_bones(rig)
        return bones


def constrained_bones(rig: Skeleton) -> set[int]:
    """Return the bones of an armature that have native constraints."""
    return {i for i, bone in enumerate(pose_bones(rig.object)) if bone.constraints}


def possible_constraints(owner: bpy.types.Object | bpy.types.PoseBone) -> list[Any]:
    """Return the constraints that have an effect, or may get one because they are animated."""
    return [con for con in owner.constraints if _may(con, "mute") and _may(con, "influence")]


def _may(con: Any, switch: str) -> bool:
    is_on = not con.mute if switch == "mute" else con.influence > 0.0
    return is_on or _is_animated(con, switch)


def is_switched(con: Any) -> bool:
    """Return whether animation may enable or disable a constraint."""
    return _is_animated(con, "mute") or _is_animated(con, "influence")


def _is_animated(con: Any, name: str) -> bool:
    return animation.is_set(con.id_data, f"{con.path_from_id()}.{name}")


def replaces_pose(con: Any) -> bool:
    """Return whether a constraint replaces a bone's pose completely."""
    is_whole = con.type == "COPY_TRANSFORMS" and con.mix_mode == "REPLACE"
    return is_whole and con.influence == 1.0 and con.is_valid
