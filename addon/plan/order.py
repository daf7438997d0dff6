"""The order in which units are solved, and the objects that follow them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError
from typing import Any

import bpy

from ..blender import dependency_driver
from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.errors import INTERNAL_ERROR, listed, report_once
from ..blender.messages import msg
from ..blender.relations import (
    Node,
    active_constraints,
    constraint_point,
    deformers,
    driver_inputs,
    is_predictable,
    limits_own_channels,
    node_at,
    parents,
    walk_dependencies,
)
from ..blender.skeleton import skeleton_of
from .chain_plan import ChainPlan, UnitPart, UnitPlan
from .sequences import in_order
from .tree_plan import TreePlan


class RefusedError(Exception):
    """A chain cannot be ordered; its problem is set, and ordering starts again without it."""


class Order:
    """The dependencies between units, found by walking up from targets, poles and roots."""

    def __init__(
        self,
        pre_pass: Sequence[UnitPart],
        chains: list[ChainPlan],
        posed: dict[int, set[int]],
        moved: dict[int, set[int]],
    ) -> None:
        """Order the units.

        Chains in a dependency cycle get a problem and are left out.

        Args:
            pre_pass: The pre-pass bones.
            chains: All constraints, in the order of the lists.
            posed: By armature, the bones that units pose.
            moved: By armature, the posed bones and their descendants.
        """
        self.pre_pass = pre_pass
        self.chains = chains
        self.posed = posed
        self.moved = moved
        self.constrained: set[tuple[int, int]] = set()
        self.visited: set[bpy.types.Object] = set()
        self._drivers: dict[int, dict[str, list[Any]]] = {}
        self._read: dict[Node, list[Node]] = {}
        while True:
            try:
                self._walk()
                break
            except RefusedError:
                continue

    def _walk(self) -> None:
        """Find the units and their order.

        Raises:
            RefusedError: If a chain is in a dependency cycle, or fails.
        """
        self.carried: set[int] = set()
        self._native: dict[Node, list[tuple[Any, Node | None]]] = {}
        self._reading: dict[Node, bool] = {}
        """Whether what drivers read follows a solved chain; not a dependency."""
        chains = [chain for chain in self.chains if not chain.problem]
        self.units: list[UnitPlan] = [*self.pre_pass, *self._merge_sharing(chains)]
        self.posing: dict[tuple[int, int], list[UnitPlan]] = {}
        for unit in self.units:
            for bone in unit.bones:
                self.posing.setdefault((unit.rig.uid, bone), []).append(unit)
        self.beneath: dict[UnitPlan, set[UnitPlan]] = {}
        for unit in self.units:
            self.beneath[unit] = self._units_beneath(unit)
        self.unit_of = {member: unit for unit in self.units for member in unit.parts}
        # The dependencies of each chain, and of its unit.
        self.own = {member: self._own_needs(member, u) for member, u in self.unit_of.items()}
        self.needs = {
            unit: self.beneath[unit].union(*[self.own[member] for member in unit.parts])
            for unit in self.units
        }
        # What those need that are in different states over time.
        self.by_state: dict[UnitPlan, list[set[UnitPlan]]] = {
            bone: [self._posing(map(node_at, points), bone) for points in bone.needs_by_state()]
            for bone in self.pre_pass
            if bone.needs_by_state()
        }
        for unit in self.units:
            for layer in (unit, *unit.members):
                layer.is_layered = bool(self.beneath[unit])
            self._note_layer_order(unit)
        try:
            self.sequence = in_order(self.units, self.needs)
        except CycleError:
            self._report_cycle()
            raise RefusedError from None

    def _merge_sharing(self, chains: list[ChainPlan]) -> list[UnitPlan]:
        """Return the units: reaching chains that share bones form a tree."""
        first: dict[tuple[int, int], int] = {}
        leader = list(range(len(chains)))

        def leader_of(i: int) -> int:
            while leader[i] != i:
                i = leader[i]
            return i

        for i, chain in enumerate(chains):
            for bone in chain.bones if chain.kind.reaches else ():
                other = leader_of(first.setdefault((chain.rig.uid, bone), i))
                own = leader_of(i)
                leader[max(own, other)] = min(own, other)
        groups: dict[int, list[ChainPlan]] = {}
        for i, chain in enumerate(chains):
            groups.setdefault(leader_of(i), []).append(chain)
        return [
            group[0] if len(group) == 1 and not group[0].is_root_free else TreePlan(group)
            for group in groups.values()
        ]

    def _units_beneath(self, unit: UnitPlan) -> set[UnitPlan]:
        """Return the units beneath one: those earlier in the list that pose some of its bones.

        Those in turn beneath them are included; they have been found already.
        """
        sharing = {o for bone in unit.bones for o in self.posing[unit.rig.uid, bone]}
        below = sharing & self.beneath.keys()
        return below.union(*[self.beneath[other] for other in below])

    def _note_layer_order(self, tree: UnitPlan) -> None:
        """Note on chains of a tree that are solved before a layer earlier in the list."""
        for chain in tree.members[1:]:
            first = tree.members[0]
            above = [unit for unit in self.units if tree in self.beneath[unit]]
            for layer in [layer for unit in above for layer in unit.members]:
                if layer.item < chain.item and set(layer.bones) & set(chain.bones):
                    chain.note = chain.note or msg(
                        "It's solved together with “{first}”, before “{layer}”: move “{layer}” "
                        "above or below both in the list",
                        first=first.name,
                        layer=layer.name,
                    )

    def ordered(self) -> list[UnitPlan]:
        """Return the units in solving order, with invalid chains at the end."""
        return [*self.sequence, *(chain for chain in self.chains if chain not in self.unit_of)]

    def groups(self) -> dict[int, set[int]]:
        """Return by armature those that must be evaluated together with it.

        If only one of two dependent armatures were evaluated, transforms would come from our own
        arithmetic in one update and from Blender's in another, and differ in the last bits.
        """
        groups = {uid: {uid} for uid in self.posed}
        for unit, needs in self.needs.items():
            for other in needs.union(*self.by_state.get(unit, ())):
                merged = groups[unit.rig.uid] | groups[other.rig.uid]
                for uid in merged:
                    groups[uid] = merged
        return groups

    def _report_cycle(self) -> None:
        """Set the problem of one chain in a dependency cycle."""
        for unit in self.units:
            cycle = self._all_dependencies(unit)
            if unit not in cycle:
                continue
            cycle = {other for other in cycle if unit in self._all_dependencies(other)}
            chains = [
                chain
                for other in self.units
                if other in cycle
                for chain in other.members
                if self.own[chain] & cycle
            ]
            if not chains:  # Bones that are held, and the objects that these carry.
                self.pre_pass = [bone for bone in self.pre_pass if bone is not unit]
                return
            names = listed([chain.name for chain in chains])
            first = next((chain for chain in unit.members if chain in chains), chains[0])
            first.problem = msg(
                "Dependency cycle: the target, pole or root depends on the chain itself (through "
                "{names}). Choose one that doesn't",
                names=names,
            )
            return
        raise AssertionError("a cycle that no unit is part of")

    def _all_dependencies(self, unit: UnitPlan) -> set[UnitPlan]:
        found: set[UnitPlan] = set()
        fringe = [unit]
        while fringe:
            for other in self.needs[fringe.pop()]:
                if other not in found:
                    found.add(other)
                    fringe.append(other)
        return found

    def _own_needs(self, member: UnitPart, unit: UnitPlan) -> set[UnitPlan]:
        """Return the dependencies of a member.

        Raises:
            RefusedError: If they cannot be determined.
        """
        try:
            return self._needs(member, unit)
        except ReferenceError:
            raise
        except Exception:
            report_once("could not find out what a chain depends on")
            for chain in member.members:
                chain.problem = INTERNAL_ERROR
                raise RefusedError from None
            return set()

    def _needs(self, chain: UnitPart, unit: UnitPlan) -> set[UnitPlan]:
        """Return the units that must be solved before a member."""
        # A layer on top may pose the parent as well, but is solved later.
        carrying = self._posing([(chain.rig.object, unit.root_parent)], chain)
        carrying = {other for other in carrying if unit not in self.beneath[other]}
        return carrying | self._posing(map(node_at, chain.needs()), chain)

    def _posing(self, starts: Iterable[Node], chain: UnitPart) -> set[UnitPlan]:
        """Return the units that some nodes follow."""
        moving: dict[Node, bool] = {}
        self._walk_up(starts, moving, chain)
        units = [self.posing.get((ob.session_uid, bone), ()) for ob, bone in moving]
        return {unit for found in units for unit in found}

    def _walk_up(self, starts: Iterable[Node], moving: dict[Node, bool], chain: UnitPart) -> None:
        """Find out which ancestors of some nodes follow a solved chain.

        Args:
            starts: Target, pole or root of the chain.
            moving: Filled with the result; nodes that it contains are not visited again.
            chain: Gets a note if it lags one update behind.
        """

        def relations(node: Node) -> Iterator[Node]:
            ob, bone = node
            moving[node] = bone in self.posed.get(ob.session_uid, ()) or self._is_posed(node)
            self.visited.add(ob)
            if bone >= 0:
                skeleton_of(ob).record(bone)
            yield from parents(node)
            for _, source in self._constraints(node):
                if source is not None:
                    yield source

        for node in walk_dependencies(starts, relations, moving):
            moving[node] |= any([moving[parent] for parent in parents(node)])
            moving[node] |= self._follows(node, moving, chain)
            self._note_hidden_relations(node, chain)
            if moving[node] and node[1] < 0:
                self.carried.add(node[0].session_uid)

    def _is_posed(self, node: Node) -> bool:
        return (node[0].session_uid, node[1]) in self.posing

    def _constraints(self, node: Node) -> list[tuple[Any, Node | None]]:
        """Return the native constraints of a node that is not solved, each with its target."""
        if self._is_posed(node):
            return []
        if node not in self._native:
            points = [(con, constraint_point(con)) for con in active_constraints(_owner(node))]
            self._native[node] = [(con, point and node_at(point)) for con, point in points]
        return self._native[node]

    def _follows(self, node: Node, moving: dict[Node, bool], chain: UnitPart) -> bool:
        """Return whether a node follows a solved chain through its native constraints.

        Adds a note to the chain if the result cannot be computed ahead of Blender. A bone that is
        constrained in world space changes its pose when its armature is moved.
        """
        ob, bone = node
        if self._is_posed(node):
            return False
        self.constrained.add((ob.session_uid, bone))
        is_placed = bone < 0 or bone in self.moved.get(ob.session_uid, ())
        follows = False
        for con, source in self._constraints(node):
            source_moves = source is not None and moving[source]
            follows |= source_moves
            is_foreseen = is_placed and is_predictable(con, bone >= 0)
            is_foreseen |= self._is_carried_along(con, source_moves, source, node)
            if (moving[node] or source_moves) and not is_foreseen:
                chain.is_late = True
                chain.note = msg(
                    "“{owner}” follows a solved chain one update late, through its constraint "
                    "“{constraint}”: use a parent or a plain Child Of instead",
                    owner=_owner(node).name,
                    constraint=con.name,
                )
        return follows

    def _is_carried_along(
        self, con: Any, source_moves: bool, source: Node | None, node: Node
    ) -> bool:
        """Return whether a constraint of a bone does the same wherever a solved bone carries it.

        A solved bone that carries a bone and what it follows moves both alike, and does not change
        a scale.
        """
        if node[1] < 0:
            return False
        if (con.type == "COPY_SCALE" and not source_moves) or limits_own_channels(con):
            return True
        carrier = self._carrier(node)
        return source is not None and carrier is not None and self._carrier(source) == carrier

    def _carrier(self, node: Node) -> Node | None:
        """Return the solved bone that carries a bone, None if there is none."""
        ob, bone = node
        posed = self.posed.get(ob.session_uid, ())
        way = skeleton_of(ob).chain_up(bone)[:-1] if bone >= 0 else []
        return next(((ob, above) for above in reversed(way) if above in posed), None)

    def _note_hidden_relations(self, node: Node, chain: UnitPart) -> None:
        """Note on drivers and vertex parents that make a node follow a solved chain late."""
        ob, bone = node
        if any(self._is_moved(read, chain) for read in self._driving(node)):
            chain.is_late = True
            chain.note = msg(
                "“{owner}” is one update late, because a solved chain drives it: use a parent or "
                "a plain Child Of instead",
                owner=_owner(node).name,
            )
        if bone < 0 and ob.parent and ob.parent_type in ("VERTEX", "VERTEX_3"):
            for rig in deformers(ob.parent):
                if self.posed.get(rig.session_uid):
                    chain.is_late = True
                    chain.note = msg(
                        "“{object}” is one update late, because it's parented to vertices that a "
                        "solved chain deforms: parent it to the bone instead",
                        object=ob.name,
                    )

    def _driving(self, node: Node) -> list[Node]:
        """Return the nodes that the drivers of a node read."""
        ob, bone = node
        if node not in self._read:
            if ob.session_uid not in self._drivers:
                self._drivers[ob.session_uid] = _drivers_by_bone(ob)
            name = skeleton_of(ob).names[bone] if bone >= 0 else ""
            drivers = self._drivers[ob.session_uid].get(name, ())
            self._read[node] = [read for driver in drivers for read in driver_inputs(driver)]
        return self._read[node]

    def _is_moved(self, node: Node, chain: UnitPart) -> bool:
        """Return whether a node that a driver reads follows a solved chain."""
        ob, bone = node
        if bone >= 0:
            return bone in self.moved.get(ob.session_uid, ())
        self._walk_up([node], self._reading, chain)
        return self._reading[node]


def _owner(node: Node) -> Any:
    ob, bone = node
    return ob if bone < 0 else pose_bones(ob)[skeleton_of(ob).names[bone]]


def _drivers_by_bone(ob: bpy.types.Object) -> dict[str, list[Any]]:
    """Return the drivers of an object by the name of the bone that they set, empty for none."""
    found: dict[str, list[Any]] = {}
    for curve in ob.animation_data.drivers if ob.animation_data else ():
        path = curve.data_path
        name, _ = split_bone_path(path)
        # Custom properties do not move anything.
        if name or not (path == dependency_driver.PATH or path.startswith("pose.bones")):
            found.setdefault(name, []).append(curve.driver)
    return found
