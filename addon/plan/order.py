"""The order of solving units, and the objects that follow them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError
from typing import Any, NamedTuple

import bpy

from ..blender import dependency_driver
from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.errors import INTERNAL_ERROR, listed, report_once
from ..blender.messages import msg
from ..blender.native_constraints import is_predictable, limits_own_channels
from ..blender.references import (
    constraint_sources,
    driver_sources,
    shape_parent,
    shape_sources,
    transform_sources,
)
from ..blender.relations import (
    SHAPE,
    ConstrainedBones,
    Node,
    active_constraints,
    components,
    cycles,
    is_placing,
    is_switched,
    node_at,
    parents,
    possible_constraints,
    settle,
    walk_dependencies,
)
from ..blender.skeleton import Landmarks, skeleton_of
from .chain_plan import ChainPlan, UnitPart, UnitPlan
from .plan import native_ik_chains
from .sequences import in_order
from .tree_plan import TreePlan, splits


class RefusedError(Exception):
    """Some chains can't be ordered; their problem is set, and ordering starts again."""


class Late(NamedTuple):
    """An input whose value a chain gets one update late.

    Attributes:
        name: The name of its object or bone.
        note: A note for the user.
        behind: The units it depends on that don't affect the order of solving.
    """

    name: str
    note: str
    behind: frozenset[UnitPlan] = frozenset()


class Trace(NamedTuple):
    """The results of tracing a node's dependencies.

    Attributes:
        is_moving: Whether it follows a solved chain.
        units: The units that the node follows directly, without the units that those need.
        late: The inputs on which it depends one update late.
    """

    is_moving: bool = False
    units: frozenset[UnitPlan] = frozenset()
    late: tuple[Late, ...] = ()


class Order:
    """The dependencies between units, traced up from targets, poles and roots."""

    def __init__(
        self,
        pre_pass: Sequence[UnitPart],
        chains: list[ChainPlan],
        posed: dict[int, set[int]],
        moved: dict[int, set[int]],
        constrained_bones: ConstrainedBones,
    ) -> None:
        """Order the units.

        Chains in a dependency cycle get a problem and are left out.

        Args:
            pre_pass: The pre-pass bones.
            chains: All constraints, in list order.
            posed: For each armature, the bones that units pose.
            moved: For each armature, the posed bones and their descendants.
            constrained_bones: The bones with native constraints.
        """
        self.pre_pass = pre_pass
        self.chains = chains
        self.posed = posed
        self.moved = moved
        self._constrained_bones = constrained_bones
        self.constrained: set[tuple[int, int]] = set()
        self.visited: set[bpy.types.Object] = set()
        self.circular: set[tuple[int, int]] = set()
        """Objects and bones that follow themselves through Blender's own relations."""
        self._drivers: dict[int, dict[str, list[Any]]] = {}
        self._read: dict[Node, list[Node]] = {}
        self.switched: set[tuple[bpy.types.Object, str]] = set()
        """The paths of constraints that animation switches, if all together form a cycle."""
        self._is_any_off = False
        self._pulling: dict[bpy.types.Object, dict[int, list[Any]]] = {}
        self._landmarks: dict[bpy.types.Object, Landmarks] = {}
        notes = [(member, member.note, member.is_late) for member in (*pre_pass, *chains)]
        while True:
            for member, note, is_late in notes:  # Another try may find other dependencies.
                member.note, member.is_late = note, is_late
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
        self._behind: dict[Node, frozenset[UnitPlan]] = {}
        """The units on which a node depends in any way, including one update late."""
        self._traces: dict[Node, Trace] = {}
        self._is_circular = False
        self._sources: dict[Node, list[Node]] = {}
        self._all_sources: dict[Node, list[Node]] = {}
        self.late: dict[UnitPart, dict[str, set[UnitPlan]]] = {}
        """For each member, its inputs that are one update late, and the units these depend on."""
        self._find_units()
        self._find_needs()
        circular = self._find_circular()
        if circular != self.circular:
            if not self._ignore_switched():
                self.circular = circular
            raise RefusedError
        for unit in self.units:
            for layer in (unit, *unit.members):
                layer.is_layered = bool(self.beneath[unit])
            self._note_layer_order(unit)
        try:
            self.sequence = in_order(self.units, self.needs)
        except CycleError:
            if not self._ignore_switched():
                self._report_cycles()
            raise RefusedError from None
        self._note_late_leaders()
        self._note_late_cycles()

    def _find_units(self) -> None:
        """Find the units, and for each unit the units that pose some of its bones earlier."""
        chains = [chain for chain in self.chains if not chain.problem]
        self._stack([*self.pre_pass, *self._merge_sharing(chains)])
        layers = [unit for unit in self.units if self.beneath[unit]]
        self._stacked = {*layers}.union(*[self.beneath[unit] for unit in layers])
        self._alone = {
            key: units[0] for key, units in self.posing.items() if units[0] not in self._stacked
        }

    def _find_needs(self) -> None:
        """Find the needs of the units, in each of their states (see `_own_needs`)."""
        self.unit_of = {member: unit for unit in self.units for member in unit.parts}
        # The dependencies of each chain, and of its unit.
        self.own = {member: self._own_needs(member, u) for member, u in self.unit_of.items()}
        self.needs = {
            unit: self.beneath[unit].union(*[self.own[member] for member in unit.parts])
            for unit in self.units
        }
        # The needs of units with states, by state.
        self.by_state: dict[UnitPlan, list[set[UnitPlan]]] = {
            bone: [self._posing(map(node_at, points), bone) for points in bone.needs_by_state()]
            for bone in self.pre_pass
            if bone.needs_by_state()
        }

    def _find_circular(self) -> set[tuple[int, int]]:
        """Return the objects and bones that follow themselves, though no unit poses them."""
        if not (self._is_circular or any(self._drivers.values())):
            return set()

        def sources(node: Node) -> list[Node]:
            nodes = self._landmarks_of(self._find_sources(node, self._placing(node)))
            return [source for source in nodes if not self._is_posed(source)]

        walked = walk_dependencies(self._traces, sources)
        found = cycles({node: sources(node) for node in walked if not self._is_posed(node)})
        return {(ob.session_uid, bone) for cycle in found for ob, bone in cycle}

    def _ignore_switched(self) -> bool:
        """Ignore switched constraints while they are off; return whether this is new."""
        switched: list[Any] = []
        if self._is_any_off and not self.switched:
            every = [con for constraints in self._native.values() for con, _ in constraints]
            switched = [*filter(is_switched, dict.fromkeys(every))]
        self.switched |= {(con.id_data, con.path_from_id()) for con in switched}
        return bool(switched)  # Those that are off may just lack a target.

    def _merge_sharing(self, chains: list[ChainPlan]) -> list[UnitPlan]:
        """Return the units: reaching chains that share bones form a tree."""
        first: dict[tuple[int, int], int] = {}
        leader = list(range(len(chains)))

        def leader_of(i: int) -> int:
            while leader[i] != i:
                i = leader[i]
            return i

        for i, chain in enumerate(chains):
            uid, bones = chain.rig.uid, chain.bones if chain.kind.reaches else ()
            sharing = {first.setdefault((uid, bone), i) for bone in bones} - {i}
            for first_leader in map(leader_of, sharing):
                leader_index = leader_of(i)
                leader[max(leader_index, first_leader)] = min(leader_index, first_leader)
        groups: dict[int, list[ChainPlan]] = {}
        for i, chain in enumerate(chains):
            groups.setdefault(leader_of(i), []).append(chain)
        return [
            group[0] if len(group) == 1 and not group[0].is_root_free else TreePlan(group)
            for group in groups.values()
        ]

    def _stack(self, units: list[UnitPlan]) -> None:
        """Set the units, the units that pose each bone, and the units below each one.

        Units that share bones are stacked in list order. But a unit moving a bone is below the unit
        that keeps this bone in place.
        """
        keeping = [bone for bone in self.pre_pass if bone.keeps]
        movers = {(bone.rig.uid, index) for bone in keeping for index in bone.keeps}
        self.units = [unit for unit in units if unit not in keeping]
        self._find_beneath()
        if keeping:
            moving = [unit for key in movers & self.posing.keys() for unit in self.posing[key]]
            below = {*self.pre_pass, *moving}.union(*[self.beneath[unit] for unit in moving])
            above = [unit for unit in self.units if unit not in below]
            self.units = [*filter(below.__contains__, self.units), *keeping, *above]
            self._find_beneath()

    def _find_beneath(self) -> None:
        self.posing: dict[tuple[int, int], list[UnitPlan]] = {}
        for unit in self.units:
            for bone in unit.bones:
                self.posing.setdefault((unit.rig.uid, bone), []).append(unit)
        self.beneath: dict[UnitPlan, set[UnitPlan]] = {}
        for unit in self.units:
            self.beneath[unit] = self._units_beneath(unit)

    def _units_beneath(self, unit: UnitPlan) -> set[UnitPlan]:
        """Return the units earlier in the list that pose some of a unit's bones.

        Units beneath those are included too, because earlier calls determined them.
        """
        sharing = {posing for bone in unit.bones for posing in self.posing[unit.rig.uid, bone]}
        below = sharing & self.beneath.keys()
        return below.union(*[self.beneath[other] for other in below])

    def _note_layer_order(self, tree: UnitPlan) -> None:
        """Add notes to chains of a tree that are solved before a layer earlier in the list."""
        if tree not in self._stacked:
            return
        first, above = tree.members[:1], [u for u in self.units if tree in self.beneath[u]]
        for chain in tree.members[1:]:
            for layer in [layer for unit in above for layer in unit.members]:
                if splits(layer, chain):
                    chain.note = chain.note or msg(
                        "It's solved together with “{first}”, before “{layer}”: move “{layer}” "
                        "above or below both in the list",
                        first=first[0].name,
                        layer=layer.name,
                    )

    def ordered(self) -> list[UnitPlan]:
        """Return the units in solving order, with invalid chains at the end."""
        return [*self.sequence, *(chain for chain in self.chains if chain not in self.unit_of)]

    def groups(self) -> dict[int, set[int]]:
        """Return, for each armature, the armatures that must be evaluated together with it.

        Otherwise transforms would come from our arithmetic in one update and from Blender's in
        another, and differ in the last bits.
        """
        together: dict[int, set[int]] = {uid: set() for uid in self.posed}
        for unit, needs in self.needs.items():
            for other in needs.union(*self.by_state.get(unit, ())):
                together[unit.rig.uid].add(other.rig.uid)
                together[other.rig.uid].add(unit.rig.uid)
        parts = [{*part} for part in components(together)]
        return {uid: part for part in parts for uid in part}

    def _report_cycles(self) -> None:
        """Set the problem of one chain in each dependency cycle."""
        position = {unit: i for i, unit in enumerate(self.units)}
        for cycle in cycles(self.needs):
            self._report_cycle(sorted(cycle, key=position.__getitem__))

    def _report_cycle(self, cycle: list[UnitPlan]) -> None:
        units = {*cycle}
        chains = [chain for unit in cycle for chain in unit.members if self.own[chain] & units]
        if not chains:  # A cycle of held bones and the objects that they carry.
            self.pre_pass = [bone for bone in self.pre_pass if bone is not cycle[0]]
            return
        first = next((chain for chain in cycle[0].members if chain in chains), chains[0])
        first.problem = msg(
            "Dependency cycle: the target, pole or root depends on the chain itself (through "
            "{names}). Choose one that doesn't",
            names=listed([chain.name for chain in chains]),
        )

    def _own_needs(self, member: UnitPart, unit: UnitPlan) -> set[UnitPlan]:
        """Return the dependencies of a member.

        Raises:
            RefusedError: If the dependencies can't be determined.
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
        nodes = [(chain.rig.object, unit.root_parent), *map(node_at, chain.needs())]
        # A layer on top may also pose the parent or move the target, but is solved later.
        needs = {other for other in self._posing(nodes, chain) if unit not in self.beneath[other]}
        for member in chain.members:
            self._note_late_inputs(member)
        return needs

    def _posing(self, starts: Iterable[Node], chain: UnitPart) -> set[UnitPlan]:
        """Return the units that some nodes follow, except those that these units need anyway.

        The chain gets notes if it is one update late.
        """
        nodes = self._landmarks_of(starts)
        self._is_circular |= settle(nodes, self._sources_of, self._traces, self._trace)
        for node in nodes:
            for late in self._traces[node].late:
                self._note_late(chain, late)
        return {unit for node in nodes for unit in self._traces[node].units}

    def _sources_of(self, node: Node) -> list[Node]:
        """Return the landmarks on which a landmark depends for the order of solving."""
        upstream = self._sources.get(node)
        if upstream is None:
            sources = [source for _, sources in self._constraints(node) for source in sources]
            nodes = [*parents(node), *(source for source in sources if source[1] != SHAPE)]
            upstream = self._sources[node] = self._landmarks_of(nodes)
        return upstream

    def _landmarks_of(self, nodes: Iterable[Node]) -> list[Node]:
        """Return the nearest node at or above each node that something besides its parent moves.

        A bone that only follows its parent has the same dependencies. Objects that nothing moves
        are left out.
        """
        landmarks: list[Node] = []
        for ob, bone in nodes:
            self.visited.add(ob)
            nearest = bone if bone < 0 else self._bones_of(ob).nearest(bone)
            if nearest != -1 or ob.parent or ob.constraints or self._drivers_of(ob):
                landmarks.append((ob, nearest))
        return landmarks

    def _bones_of(self, ob: bpy.types.Object) -> Landmarks:
        landmarks = self._landmarks.get(ob)
        if landmarks is None:
            rig = skeleton_of(ob)
            driven = [rig.index[name] for name in self._drivers_of(ob) if name in rig.index]
            moved = *self.posed.get(rig.uid, ()), *self._pulling_in(ob), *driven
            landmarks = Landmarks(rig, (*moved, *self._constrained_bones.of(rig)))
            self._landmarks[ob] = landmarks
        return landmarks

    def _trace(self, node: Node) -> Trace:
        """Return a node's trace, from the traces of its sources."""
        ob, bone = node
        sources, traces = self._sources_of(node), self._traces
        above = [traces[source] for source in sources if source in traces]
        is_carried = self._is_posed(node) or bone in self.posed.get(ob.session_uid, ())
        is_moving = is_carried or any([trace.is_moving for trace in above])
        if is_moving and bone == -1:
            self.carried.add(ob.session_uid)
        late = dict.fromkeys(traces[node].late if node in traces else ())
        for trace in above:
            late |= dict.fromkeys(trace.late)
        late |= dict.fromkeys(self._late_at(node, is_carried))
        units = [traces[src].units for src in self._counted(node, sources) if src in traces]
        return Trace(is_moving, self._united(node, units), tuple(late))

    def _counted(self, node: Node, sources: list[Node]) -> list[Node]:
        """Return the sources of a node that may add to the units that pose it.

        If a whole unit poses it, its parents are already among that unit's needs.
        """
        ob, bone = node
        unit = self._alone.get((ob.session_uid, bone))
        if unit is None:
            return sources
        parent = unit.rig.parents[bone]
        return [] if parent in (-1, unit.root_parent) else self._landmarks_of([(ob, parent)])

    def _united(self, node: Node, units: Iterable[frozenset[UnitPlan]]) -> frozenset[UnitPlan]:
        """Return the union of the units that pose a node and others, sharing sets if possible."""
        posing = frozenset(self.posing.get((node[0].session_uid, node[1]), ()))
        distinct = {group for group in (posing, *units) if group}
        return distinct.pop() if len(distinct) == 1 else frozenset[UnitPlan]().union(*distinct)

    def following(self) -> dict[tuple[int, int], list[Node]]:
        """Return the objects and constrained bones that follow a unit, for each unit's first bone.

        Followers of another unit that needs the unit are left out.
        """
        followers: dict[tuple[int, int], list[Node]] = {}
        for node, trace in self._traces.items():
            is_free = not self._is_posed(node) and (node[1] < 0 or self._constraints(node))
            for unit in trace.units if is_free else ():
                followers.setdefault((unit.rig.uid, unit.bones[0]), []).append(node)
        return followers

    def _is_posed(self, node: Node) -> bool:
        return (node[0].session_uid, node[1]) in self.posing

    def _constraints(self, node: Node) -> list[tuple[Any, list[Node]]]:
        """Return the native constraints of an unsolved node, each with its sources."""
        if node not in self._native:
            is_unsolved = node[1] != SHAPE and not self._is_posed(node)
            acting = [*self._acting_on(node), *self._native_ik_of(node)] if is_unsolved else []
            self._native[node] = [(con, constraint_sources(con)) for con in dict.fromkeys(acting)]
        return self._native[node]

    def _acting_on(self, node: Node) -> list[Any]:
        """Return the native constraints of a node, with those that animation switches on."""
        owner = _owner(node)
        active = active_constraints(owner)
        if len(active) == len(owner.constraints):
            return active
        possible = possible_constraints(owner)
        self._is_any_off |= len(possible) > len(active)
        return active if self.switched else possible

    def _native_ik_of(self, node: Node) -> list[Any]:
        """Return the native IK constraints that pose a bone, usually on a bone below it."""
        ob, bone = node
        return [] if bone < 0 else self._pulling_in(ob).get(bone, [])

    def _pulling_in(self, ob: bpy.types.Object) -> dict[int, list[Any]]:
        """Return the native IK constraints of an armature by the bones that they pose."""
        pulling = self._pulling.get(ob)
        if pulling is None:
            rig, pulling = skeleton_of(ob), self._pulling.setdefault(ob, {})
            constrained = self._constrained_bones.of(rig)
            for con, chain in native_ik_chains(rig, ("IK", "SPLINE_IK"), constrained):
                for pulled in chain if con.influence > 0.0 else ():
                    pulling.setdefault(pulled, []).append(con)
        return pulling

    def _late_at(self, node: Node, is_carried: bool) -> Iterator[Late]:
        """Yield the inputs through which a node follows a solved chain late.

        Args:
            node: The node.
            is_carried: Whether a unit poses the node.
        """
        key = node[0].session_uid, node[1]
        is_posed = self._is_posed(node)
        if not is_posed:
            self.constrained.add(key)
        if key in self.circular:
            name = _owner(node).name
            note = msg(
                "Dependency cycle: “{owner}” follows itself, one update late. Make it follow "
                "something else",
                owner=name,
            )
            yield Late(name, note, self._units_behind([node]))
            return
        if not is_posed:
            yield from self._late_constraints(node, is_carried)
        yield from self._late_drivers(node)
        parent = shape_parent(node[0]) if node[1] < 0 else None
        behind = self._units_behind([(parent, SHAPE)]) if parent else None
        if behind:
            note = msg(
                "“{object}” is one update late, because it's parented to vertices that a solved "
                "chain deforms: parent it to the bone instead",
                object=node[0].name,
            )
            yield Late(node[0].name, note, behind)

    def _late_constraints(self, node: Node, is_carried: bool) -> Iterator[Late]:
        """Yield the native constraints of a node that can't be computed ahead of Blender.

        A bone constrained in world space changes its pose when its armature moves.
        """
        constraints = self._constraints(node)
        if not constraints:
            return
        ob, bone = node
        is_placed = bone < 0 or bone in self.moved.get(ob.session_uid, ())
        is_carried = is_carried or self._any_moves(parents(node))
        for con, sources in constraints:
            source_moves = self._any_moves(sources)
            behind = self._units_behind([source for source in sources if source[1] == SHAPE])
            is_foreseen = is_placed and is_predictable(con, bone >= 0)
            is_foreseen |= self._is_carried_along(con, source_moves, sources, node)
            if behind or ((is_carried or source_moves) and not is_foreseen):
                note = msg(
                    "“{owner}” follows a solved chain one update late, through its constraint "
                    "“{constraint}”: use a parent or a plain Child Of instead",
                    owner=_owner(node).name,
                    constraint=con.name,
                )
                yield Late(_owner(node).name, note, behind)

    def _any_moves(self, nodes: Iterable[Node]) -> bool:
        landmarks = self._landmarks_of(nodes)
        return any([self._traces[node].is_moving for node in landmarks if node in self._traces])

    def _is_carried_along(
        self, con: Any, source_moves: bool, sources: list[Node], node: Node
    ) -> bool:
        """Return whether a bone's constraint has the same effect wherever a solved bone moves it.

        A solved bone above both the bone and its constraint's targets moves them alike, and doesn't
        change a scale.

        Args:
            con: The constraint.
            source_moves: Whether a target of the constraint follows a solved chain.
            sources: The targets.
            node: The bone.
        """
        if node[1] < 0:
            return False
        if (con.type == "COPY_SCALE" and not source_moves) or limits_own_channels(con):
            return True
        carriers = {self._carrier(related) for related in (node, *sources)}
        return bool(sources) and len(carriers) == 1 and None not in carriers

    def _carrier(self, node: Node) -> Node | None:
        """Return the solved bone above a bone, or None if there is none."""
        ob, bone = node
        posed = self.posed.get(ob.session_uid, ())
        path = skeleton_of(ob).chain_up(bone)[:-1] if bone >= 0 else []
        return next(((ob, above) for above in reversed(path) if above in posed), None)

    def _late_drivers(self, node: Node) -> Iterator[Late]:
        """Yield a node's late input if something solved drives it."""
        driving = self._driving(node)
        behind = self._units_behind(driving) if driving else None
        if behind:
            name = _owner(node).name
            note = msg(
                "“{owner}” is one update late, because a solved chain drives it: use a parent or "
                "a plain Child Of instead",
                owner=name,
            )
            yield Late(name, note, behind)

    def _note_late(self, chain: UnitPart, late: Late) -> None:
        """Note that a chain depends on something one update late."""
        chain.is_late, chain.note = True, late.note
        self.late.setdefault(chain, {}).setdefault(late.name, set()).update(late.behind)

    def _note_late_inputs(self, chain: ChainPlan) -> None:
        """Add notes for further inputs of a chain that follow a solved chain.

        These are its ground, the shapes it collides with, and the drivers of its bones.
        """
        for ob in chain.watched:
            behind = self._units_behind([(ob, SHAPE)])
            if behind:
                note = msg(
                    "“{object}” is one update late, because a solved chain moves or deforms it: "
                    "choose another object",
                    object=ob.name,
                )
                self._note_late(chain, Late(ob.name, note, behind))
        for bone in chain.bones if self._drivers_of(chain.rig.object) else ():
            for late in self._late_drivers((chain.rig.object, bone)):
                self._note_late(chain, late)

    def _note_late_leaders(self) -> None:
        """Also mark chains as late if they depend on late chains."""
        notes: dict[UnitPlan, str] = {}
        for unit in self.sequence if self.late else ():
            needs = self.needs[unit].union(*self.by_state.get(unit, ()))
            noted = {part.note for part in unit.parts if part in self.late}
            noted |= {notes[other] for other in needs if other in notes}
            if noted:
                notes[unit] = min(noted)
                for part in (part for part in unit.parts if part not in self.late):
                    part.is_late, part.note = True, part.note or notes[unit]

    def _note_late_cycles(self) -> None:
        """Add notes to chains that depend on themselves through a late input."""
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
                        "Make it follow something else",
                        owner=name,
                    )

    def _driving(self, node: Node) -> list[Node]:
        """Return the nodes that the drivers of a node read."""
        if node not in self._read:
            drivers = [curve.driver for curve in self._drivers_at(node)]
            self._read[node] = [source for driver in drivers for source in driver_sources(driver)]
        return self._read[node]

    def _placing(self, node: Node) -> list[Node]:
        """Return the nodes whose transforms drive the transform of a node."""
        ob, bone = node
        curves = [
            curve
            for curve in self._drivers_at(node)
            if is_placing(split_bone_path(curve.data_path)[1] or curve.data_path)
        ]
        sources = [source for curve in curves for source in transform_sources(curve.driver)]
        # Drivers that read their own object or bone are no cycle for Blender.
        return [other for other in sources if other != node and (bone >= 0 or other[0] != ob)]

    def _drivers_at(self, node: Node) -> Sequence[Any]:
        """Return the F-curves of the drivers of a node."""
        ob, bone = node
        by_bone = self._drivers_of(ob)
        name = skeleton_of(ob).names[bone] if by_bone and bone >= 0 else ""
        return by_bone.get(name, ()) if bone != SHAPE else ()

    def _drivers_of(self, ob: bpy.types.Object) -> dict[str, list[Any]]:
        by_bone = self._drivers.get(ob.session_uid)
        if by_bone is None:
            by_bone = self._drivers[ob.session_uid] = _drivers_by_bone(ob)
        return by_bone

    def _units_behind(self, starts: Sequence[Node]) -> frozenset[UnitPlan]:
        """Return the units on which nodes depend in any way, including one update late.

        Units that these need anyway are left out.
        """
        if not starts:
            return frozenset()
        nodes = self._landmarks_of(starts)
        settle(nodes, self._all_sources_of, self._behind, self._behind_of)
        return frozenset[UnitPlan]().union(*[self._behind[node] for node in nodes])

    def _behind_of(self, node: Node) -> frozenset[UnitPlan]:
        behind = self._behind
        return self._united(
            node, [behind[source] for source in self._all_sources_of(node) if source in behind]
        )

    def _all_sources_of(self, node: Node) -> list[Node]:
        """Return all landmarks on which a landmark depends in any way, except its unit's needs."""
        node_sources = self._all_sources.get(node)
        if node_sources is None:
            sources = self._find_sources(node, self._driving(node))
            node_sources = self._all_sources[node] = self._landmarks_of(sources)
        return node_sources

    def _find_sources(self, node: Node, driving: Iterable[Node]) -> Iterator[Node]:
        ob, bone = node
        if bone == SHAPE:
            yield ob, -1
            yield from shape_sources(ob)
            return
        yield from self._counted(node, parents(node))
        yield from driving
        for _, sources in self._constraints(node):
            yield from sources
        parent = shape_parent(ob) if bone < 0 else None
        if parent is not None:
            yield parent, SHAPE


def _owner(node: Node) -> Any:
    ob, bone = node
    return ob if bone < 0 else pose_bones(ob)[skeleton_of(ob).names[bone]]


def _drivers_by_bone(ob: bpy.types.Object) -> dict[str, list[Any]]:
    """Return an object's drivers, by the name of the bone that they set; empty for the object."""
    by_bone: dict[str, list[Any]] = {}
    for curve in ob.animation_data.drivers if ob.animation_data else ():
        path = curve.data_path
        name, _ = split_bone_path(path)
        # Custom properties don't move anything.
        if name or not (path == dependency_driver.PATH or path.startswith("pose.bones")):
            by_bone.setdefault(name, []).append(curve)
    return by_bone
