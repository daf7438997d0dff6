"""In which order chains are solved, and what is carried along with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

import bpy

from ..blender import dependency_driver
from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.errors import INTERNAL_ERROR, listed, report_once
from ..blender.relations import (
    Node,
    active_constraints,
    constraint_point,
    deformers,
    driver_inputs,
    is_predictable,
    node_at,
    parents,
    walk_dependencies,
)
from ..blender.skeleton import skeleton_of
from .body_plan import BodyPlan, Unit, chains_of
from .chain_plan import ChainPlan
from .pre_pass import PrePassBone

Member = ChainPlan | PrePassBone
"""What waits for others by itself."""


class RefusedError(Exception):
    """A chain cannot be put in order, and knows why: the walk is made anew without it."""


class Order:
    """What hangs on what, found by walking upwards from what the chains are given."""

    def __init__(
        self,
        pre_pass: list[PrePassBone],
        chains: list[ChainPlan],
        posed: dict[int, set[int]],
        moved: dict[int, set[int]],
    ) -> None:
        """Walk.

        A chain that waits for itself is told so, and left out of another attempt.

        Args:
            pre_pass: Bones that are posed before the chains of their armatures.
            chains: All constraints, in the order of the lists.
            posed: For each armature the bones that chains pose.
            moved: For each armature the bones that are posed, or hang on a posed bone.
        """
        self.pre_pass = pre_pass
        self.chains = chains
        self.posed = posed
        self.moved = moved
        self.looked: set[tuple[int, int]] = set()
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
            RefusedError: If a chain waits for itself, or fails.
        """
        self.carried: set[int] = set()
        self._native: dict[Node, list[tuple[Any, Node | None]]] = {}
        self._reading: dict[Node, bool] = {}
        """Whether what drivers read moves with a solved chain: nothing waits for it."""
        chains = [chain for chain in self.chains if not chain.problem]
        self.units: list[Unit] = [*self.pre_pass, *self._together(chains)]
        self.posing: dict[tuple[int, int], list[Unit]] = {}
        for unit in self.units:
            for bone in unit.bones:
                self.posing.setdefault((unit.rig.uid, bone), []).append(unit)
        self.beneath: dict[Unit, set[Unit]] = {}
        for unit in self.units:
            self.beneath[unit] = self._units_beneath(unit)
        self.unit_of = {member: unit for unit in self.units for member in _members(unit)}
        # What each chain itself waits for, and what its unit does.
        self.own = {member: self._own_needs(member, u) for member, u in self.unit_of.items()}
        self.needs = {
            unit: self.beneath[unit].union(*[self.own[member] for member in _members(unit)])
            for unit in self.units
        }
        for unit in self.units:
            for layer in (unit, *chains_of(unit)):
                layer.is_layered = bool(self.beneath[unit])
            if isinstance(unit, BodyPlan):
                self._note_buried(unit)
        try:
            self.sequence = self._sorted()
        except CycleError:
            self._say_cycle()
            raise RefusedError from None

    def _sorted(self) -> list[Unit]:
        """Return the units, each after those that it needs, else in the order of the lists."""
        sorter = TopologicalSorter(self.needs)
        sorter.prepare()
        place = {unit: i for i, unit in enumerate(self.units)}
        ready: list[int] = []
        found: list[Unit] = []
        while sorter.is_active():
            for unit in sorter.get_ready():
                heappush(ready, place[unit])
            found.append(self.units[heappop(ready)])
            sorter.done(found[-1])
        return found

    def _together(self, chains: list[ChainPlan]) -> list[Unit]:
        """Return the units: chains that reach and share bones are one, others stand alone."""
        first: dict[tuple[int, int], int] = {}
        leader = list(range(len(chains)))

        def led_by(i: int) -> int:
            while leader[i] != i:
                i = leader[i]
            return i

        for i, chain in enumerate(chains):
            for bone in chain.bones if chain.motion is None else ():
                other = led_by(first.setdefault((chain.rig.uid, bone), i))
                own = led_by(i)
                leader[max(own, other)] = min(own, other)
        groups: dict[int, list[ChainPlan]] = {}
        for i, chain in enumerate(chains):
            groups.setdefault(led_by(i), []).append(chain)
        return [
            group[0] if len(group) == 1 and not group[0].is_root_free else BodyPlan(group)
            for group in groups.values()
        ]

    def _units_beneath(self, unit: Unit) -> set[Unit]:
        """Return the units that pose bones of one before it, and what is beneath these.

        They are those before it in the list, of which it is known already.
        """
        sharing = {o for bone in unit.bones for o in self.posing[unit.rig.uid, bone]}
        below = sharing & self.beneath.keys()
        return below.union(*[self.beneath[other] for other in below])

    def _note_buried(self, body: BodyPlan) -> None:
        """Say which chains of a body come before a layer that stands before them in the list."""
        first = body.chains[0]
        layers = [unit for unit in self.units if isinstance(unit, ChainPlan)]
        layers = [layer for layer in layers if body in self.beneath[layer]]
        for chain in body.chains[1:]:
            for layer in layers:
                if layer.item < chain.item and set(layer.bones) & set(chain.bones):
                    chain.note = chain.note or (
                        f"It is solved together with “{first.name}”, before “{layer.name}” is "
                        f"applied: move “{layer.name}” before or after both in the list"
                    )

    def ordered(self) -> list[Unit]:
        """Return the units so that each comes after all it needs, else in the list's order."""
        return [*self.sequence, *(chain for chain in self.chains if chain not in self.unit_of)]

    def groups(self) -> dict[int, set[int]]:
        """Return for each armature those that are evaluated with it, because one needs the other.

        Were only the one evaluated that changed, what another one gives it would come once from
        our own arithmetic and once from Blender's, and their last bits differ.
        """
        groups = {uid: {uid} for uid in self.posed}
        for unit, needs in self.needs.items():
            for other in needs:
                merged = groups[unit.rig.uid] | groups[other.rig.uid]
                for uid in merged:
                    groups[uid] = merged
        return groups

    def _say_cycle(self) -> None:
        """Tell one of the chains that wait for themselves."""
        for unit in self.units:
            cycle = self._waiting_for(unit)
            if unit not in cycle:
                continue
            cycle = {other for other in cycle if unit in self._waiting_for(other)}
            guilty = [
                chain
                for other in self.units
                if other in cycle
                for chain in chains_of(other)
                if self.own[chain] & cycle
            ]
            names = listed([chain.name for chain in guilty])
            first = next(chain for chain in chains_of(unit) if chain in guilty)
            first.problem = (
                "Dependency cycle: the target, pole or root depends on the chain itself "
                f"(through {names}). Choose one that does not"
            )
            return
        raise AssertionError("chains that all wait, but none for itself")

    def _waiting_for(self, unit: Unit) -> set[Unit]:
        found: set[Unit] = set()
        fringe = [unit]
        while fringe:
            for other in self.needs[fringe.pop()]:
                if other not in found:
                    found.add(other)
                    fringe.append(other)
        return found

    def _own_needs(self, member: Member, unit: Unit) -> set[Unit]:
        """Return `_needs`.

        Raises:
            RefusedError: If that fails for a chain.
        """
        try:
            return self._needs(member, unit)
        except ReferenceError:
            raise
        except Exception:
            report_once("could not find out what a chain depends on")
            if isinstance(member, PrePassBone):
                return set()
            member.problem = INTERNAL_ERROR
            raise RefusedError from None

    def _needs(self, chain: Member, unit: Unit) -> set[Unit]:
        """Return the units that must be solved before a chain of one."""
        # What is put on top of a layer may carry it as well, and is not there yet.
        carrying = self._posing([(chain.rig.object, unit.root_parent)], chain)
        carrying = {other for other in carrying if unit not in self.beneath[other]}
        return carrying | self._posing(map(node_at, chain.needs()), chain)

    def _posing(self, starts: Iterable[Node], chain: Member) -> set[Unit]:
        """Return the units with which the starts move."""
        moving: dict[Node, bool] = {}
        self._walk_up(starts, moving, chain)
        units = [self.posing.get((ob.session_uid, bone), ()) for ob, bone in moving]
        return {unit for found in units for unit in found}

    def _walk_up(self, starts: Iterable[Node], moving: dict[Node, bool], chain: Member) -> None:
        """Find out which of all that the starts hang on moves with a solved chain.

        Args:
            starts: What the chain is given.
            moving: Gets what is found; what it has is known.
            chain: Gets a note on what we cannot place ahead of Blender.
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
            self._note_unseen(node, chain)
            if moving[node] and node[1] < 0:
                self.carried.add(node[0].session_uid)

    def _is_posed(self, node: Node) -> bool:
        return (node[0].session_uid, node[1]) in self.posing

    def _constraints(self, node: Node) -> list[tuple[Any, Node | None]]:
        """Return Blender's constraints of what is not solved, and what each of them looks at."""
        if self._is_posed(node):
            return []
        if node not in self._native:
            points = [(con, constraint_point(con)) for con in active_constraints(_owner(node))]
            self._native[node] = [(con, point and node_at(point)) for con, point in points]
        return self._native[node]

    def _follows(self, node: Node, moving: dict[Node, bool], chain: Member) -> bool:
        """Return whether a node moves by its constraints' sources.

        What we cannot place ahead of Blender is said in the chain's note. What a bone does in world
        space changes its pose when its armature is carried along.
        """
        ob, bone = node
        if self._is_posed(node):
            return False
        self.looked.add((ob.session_uid, bone))
        is_placed = bone < 0 or bone in self.moved.get(ob.session_uid, ())
        follows = False
        for con, source in self._constraints(node):
            source_moves = source is not None and moving[source]
            follows |= source_moves
            is_foreseen = is_placed and is_predictable(con, bone >= 0)
            if (moving[node] or source_moves) and not is_foreseen:
                chain.is_late = True
                chain.note = (
                    f"“{_owner(node).name}” follows a solved chain through its constraint "
                    f"“{con.name}” one update late: use a parent or a plain Child Of instead"
                )
        return follows

    def _note_unseen(self, node: Node, chain: Member) -> None:
        """Say what moves a node with a solved chain without our seeing how: drivers and meshes."""
        ob, bone = node
        if any(self._is_moved(read, chain) for read in self._driving(node)):
            chain.is_late = True
            chain.note = (
                f"“{_owner(node).name}” is driven by a solved chain and therefore one update "
                "late: use a parent or a plain Child Of instead"
            )
        if bone < 0 and ob.parent and ob.parent_type in ("VERTEX", "VERTEX_3"):
            for rig in deformers(ob.parent):
                if self.posed.get(rig.session_uid):
                    chain.is_late = True
                    chain.note = (
                        f"“{ob.name}” is parented to vertices that a solved chain deforms, and "
                        "is therefore one update late: parent it to the bone instead"
                    )

    def _driving(self, node: Node) -> list[Node]:
        """Return what the drivers of a node read."""
        ob, bone = node
        if node not in self._read:
            if ob.session_uid not in self._drivers:
                self._drivers[ob.session_uid] = _drivers_by_bone(ob)
            name = skeleton_of(ob).names[bone] if bone >= 0 else ""
            drivers = self._drivers[ob.session_uid].get(name, ())
            self._read[node] = [read for driver in drivers for read in driver_inputs(driver)]
        return self._read[node]

    def _is_moved(self, node: Node, chain: Member) -> bool:
        """Return whether what a driver of a chain reads moves with any solved chain."""
        ob, bone = node
        if bone >= 0:
            return bone in self.moved.get(ob.session_uid, ())
        self._walk_up([node], self._reading, chain)
        return self._reading[node]


def _members(unit: Unit) -> Sequence[Member]:
    return [unit] if isinstance(unit, PrePassBone) else chains_of(unit)


def _owner(node: Node) -> Any:
    ob, bone = node
    return ob if bone < 0 else pose_bones(ob)[skeleton_of(ob).names[bone]]


def _drivers_by_bone(ob: bpy.types.Object) -> dict[str, list[Any]]:
    """Return the drivers of an object by the bone that they set, with no name those of none."""
    found: dict[str, list[Any]] = {}
    for curve in ob.animation_data.drivers if ob.animation_data else ():
        path = curve.data_path
        name, _ = split_bone_path(path)
        # A custom property of a bone does not move it.
        if name or not (path == dependency_driver.PATH or path.startswith("pose.bones")):
            found.setdefault(name, []).append(curve.driver)
    return found
