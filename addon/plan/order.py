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
from ..blender.references import (
    constraint_sources,
    driver_sources,
    shape_parent,
    shape_sources,
)
from ..blender.relations import (
    SHAPE,
    Node,
    active_constraints,
    components,
    is_predictable,
    limits_own_channels,
    node_at,
    parents,
    possible_constraints,
    walk_dependencies,
)
from ..blender.skeleton import skeleton_of
from .chain_plan import ChainPlan, UnitPart, UnitPlan
from .plan import native_ik_chains
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
        self.switched: set[bpy.types.Object] = set()
        """Objects with constraints that animation switches, if all at once would be a cycle."""
        self._switching: set[bpy.types.Object] = set()
        self._pulling: dict[bpy.types.Object, list[tuple[Any, list[int]]]] = {}
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
        self._native: dict[Node, list[tuple[Any, list[Node]]]] = {}
        self._behind: dict[Node, set[UnitPlan]] = {}
        """What is solved before something is right, in whatever way it depends on it."""
        self.late: dict[UnitPart, dict[str, set[UnitPlan]]] = {}
        """By member, what it reads one update late, and what that depends on."""
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
            if self._switching and not self.switched:
                self.switched = self._switching
            else:
                self._report_cycle()
            raise RefusedError from None
        self._note_late_cycles()

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
                        "It is solved together with “{first}”, before “{layer}” is "
                        "applied: move “{layer}” before or after both in the list",
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
                "Dependency cycle: the target, pole or root depends on the chain itself "
                "(through {names}). Choose one that does not",
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
        needs = carrying | self._posing(map(node_at, chain.needs()), chain)
        for member in chain.members:
            self._note_late_inputs(member)
        return needs

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
            for _, sources in self._constraints(node):
                yield from (source for source in sources if source[1] != SHAPE)

        for node in walk_dependencies(starts, relations, moving):
            moving[node] |= any([moving[parent] for parent in parents(node)])
            moving[node] |= self._follows(node, moving, chain)
            self._note_hidden_relations(node, chain)
            if moving[node] and node[1] == -1:
                self.carried.add(node[0].session_uid)

    def _is_posed(self, node: Node) -> bool:
        return (node[0].session_uid, node[1]) in self.posing

    def _constraints(self, node: Node) -> list[tuple[Any, list[Node]]]:
        """Return the native constraints of a node that is not solved, each with its sources."""
        if self._is_posed(node) or node[1] == SHAPE:
            return []
        if node not in self._native:
            owner = _owner(node)
            found = active = active_constraints(owner)
            if len(active) < len(owner.constraints):
                found = possible_constraints(owner)
                if len(found) > len(active):
                    self._switching.add(node[0])
                    found = active if self.switched else found
            found = dict.fromkeys([*found, *self._native_ik_of(node)])
            self._native[node] = [(con, constraint_sources(con)) for con in found]
        return self._native[node]

    def _native_ik_of(self, node: Node) -> list[Any]:
        """Return the native IK constraints that pose a bone, mostly of one below it."""
        ob, bone = node
        if bone < 0:
            return []
        if ob not in self._pulling:
            self._pulling[ob] = native_ik_chains(skeleton_of(ob), ("IK", "SPLINE_IK"))
        return [con for con, chain in self._pulling[ob] if bone in chain and con.influence > 0.0]

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
        for con, sources in self._constraints(node):
            source_moves = any([moving.get(source) for source in sources])
            shapes = [source for source in sources if source[1] == SHAPE]
            behind = {unit for shape in shapes for unit in self._units_behind(shape)}
            follows |= source_moves
            is_foreseen = is_placed and is_predictable(con, bone >= 0)
            is_foreseen |= self._is_carried_along(con, source_moves, sources, node)
            if behind or ((moving[node] or source_moves) and not is_foreseen):
                self._note_late(
                    chain,
                    behind,
                    _owner(node).name,
                    msg(
                        "“{owner}” follows a solved chain through its constraint "
                        "“{constraint}” one update late: use a parent or a plain Child Of instead",
                        owner=_owner(node).name,
                        constraint=con.name,
                    ),
                )
        return follows

    def _is_carried_along(
        self, con: Any, source_moves: bool, sources: list[Node], node: Node
    ) -> bool:
        """Return whether a constraint of a bone does the same wherever a solved bone carries it.

        A solved bone that carries a bone and what it follows moves both alike, and does not change
        a scale.
        """
        if node[1] < 0:
            return False
        if (con.type == "COPY_SCALE" and not source_moves) or limits_own_channels(con):
            return True
        carriers = {self._carrier(one) for one in (node, *sources)}
        return bool(sources) and len(carriers) == 1 and None not in carriers

    def _carrier(self, node: Node) -> Node | None:
        """Return the solved bone that carries a bone, None if there is none."""
        ob, bone = node
        posed = self.posed.get(ob.session_uid, ())
        way = skeleton_of(ob).chain_up(bone)[:-1] if bone >= 0 else []
        return next(((ob, above) for above in reversed(way) if above in posed), None)

    def _note_late(self, chain: UnitPart, behind: set[UnitPlan], name: str, note: str) -> None:
        """Note that a chain depends on something one update late.

        Args:
            chain: The chain.
            behind: What that depends on, if it does not count for the order of solving.
            name: What it is.
            note: The note.
        """
        chain.is_late, chain.note = True, note
        self.late.setdefault(chain, {}).setdefault(name, set()).update(behind)

    def _note_hidden_relations(self, node: Node, chain: UnitPart) -> None:
        """Note on drivers and shapes that make a node follow a solved chain late."""
        ob, bone = node
        self._note_drivers(node, self._driving(node), chain)
        parent = shape_parent(ob) if bone < 0 else None
        if parent is not None and self._units_behind((parent, SHAPE)):
            note = msg(
                "“{object}” is parented to vertices that a solved chain deforms, and "
                "is therefore one update late: parent it to the bone instead",
                object=ob.name,
            )
            self._note_late(chain, self._units_behind((parent, SHAPE)), ob.name, note)

    def _note_drivers(self, node: Node, read: Iterable[Node], chain: UnitPart) -> None:
        behind = {unit for source in read for unit in self._units_behind(source)}
        if behind:
            name = _owner(node).name
            note = msg(
                "“{owner}” is driven by a solved chain and therefore one update "
                "late: use a parent or a plain Child Of instead",
                owner=name,
            )
            self._note_late(chain, behind, name, note)

    def _note_late_inputs(self, chain: ChainPlan) -> None:
        """Note on what a chain reads besides target, pole and root, if that follows a solved one.

        That is where its ground is, or the shape that it collides with, and what drives its bones.
        """
        for ob in chain.watched:
            behind = self._units_behind((ob, SHAPE))
            if behind:
                note = msg(
                    "“{object}” is moved or deformed by a solved chain, and is met one update "
                    "late: choose an object that no chain moves",
                    object=ob.name,
                )
                self._note_late(chain, behind, ob.name, note)
        for bone in chain.bones:
            self._note_drivers(
                (chain.rig.object, bone), self._driving((chain.rig.object, bone)), chain
            )

    def _note_late_cycles(self) -> None:
        """Note on chains that depend on themselves through something that is late."""
        waits = {unit: {*needs} for unit, needs in self.needs.items()}
        for member, read in self.late.items():
            waits[self.unit_of[member]].update(*read.values())
        parts = [{*units} for units in components(waits)] if self.late else []
        cycle_of = {unit: part for part in parts for unit in part}
        for member, read in self.late.items():
            for name, behind in read.items():
                if not behind.isdisjoint(cycle_of[self.unit_of[member]]):
                    member.note = msg(
                        "Dependency cycle: “{owner}” follows the chain itself, one update late. "
                        "Let it follow something else",
                        owner=name,
                    )

    def _driving(self, node: Node) -> list[Node]:
        """Return the nodes that the drivers of a node read."""
        ob, bone = node
        if node not in self._read:
            if ob.session_uid not in self._drivers:
                self._drivers[ob.session_uid] = _drivers_by_bone(ob)
            name = skeleton_of(ob).names[bone] if bone >= 0 else ""
            drivers = self._drivers[ob.session_uid].get(name, ())
            self._read[node] = [read for driver in drivers for read in driver_sources(driver)]
        return self._read[node]

    def _units_behind(self, node: Node) -> set[UnitPlan]:
        """Return what is solved before a node is right, in whatever way it depends on it."""
        if node not in self._behind:
            found = walk_dependencies([node], self._all_sources)
            posing = [self.posing.get((ob.session_uid, bone), ()) for ob, bone in found]
            self._behind[node] = {unit for units in posing for unit in units}
        return self._behind[node]

    def _all_sources(self, node: Node) -> Iterator[Node]:
        """Yield all that a node depends on, in whatever way."""
        ob, bone = node
        self.visited.add(ob)
        if bone == SHAPE:
            yield ob, -1
            yield from shape_sources(ob)
            return
        if bone >= 0:
            skeleton_of(ob).record(bone)
        yield from parents(node)
        yield from self._driving(node)
        for _, sources in self._constraints(node):
            yield from sources
        parent = shape_parent(ob) if bone < 0 else None
        if parent is not None:
            yield parent, SHAPE


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
