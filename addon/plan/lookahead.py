"""Find the armatures that can be solved ahead of Blender's evaluation, and are worth it.

This is possible if all inputs follow from channels, F-curves, parents and those native constraints
on bones that we compute. It isn't with native IK, drivers of transforms, physics, NLA strips or
simulations. Only relations decide, never values, so an armature is read in the same way at every
frame. A mesh that didn't change in the last two frames is expected to stay the same. So are
settings that drivers set from custom properties.

F-curves of posed channels would overwrite values written ahead. They are muted for the evaluation,
in the depsgraph's copy of the action; their values are the FK pose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from typing import Any, cast

import bpy

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.curves import Curves, split_bone_path
from ..blender.errors import contained
from ..blender.native_constraints import is_predictable
from ..blender.offset_layers import edited_layer, layer_of
from ..blender.references import constraint_sources
from ..blender.relations import (
    ConstrainedBones,
    Node,
    is_placing,
    name_of,
    node_at,
    parents,
    possible_constraints,
    settle,
    walk_dependencies,
)
from ..blender.rotation import KIND_OF
from ..blender.skeleton import Landmarks, Skeleton, skeleton_of
from ..settings.properties import settings
from .chain_plan import ChainPlan, GoalSource, UnitPlan
from .plan import Lookahead, Plan, native_ik_chains

OBJECT_CHANNELS = {*KIND_OF, "delta_location", "delta_scale"}
OBJECT_CHANNELS |= {"delta_rotation_euler", "delta_rotation_quaternion"}

PLACES = {"location", "delta_location"}

SWITCHES = (".influence", ".mute", ".enabled", ".rotation_mode")
"""Suffixes of RNA paths that enable or disable a native constraint, or drivers of a rotation."""

CROWD = 32
"""Above this ratio of all objects to animated inputs, a second evaluation takes longer than reading
the inputs' F-curves: it visits everything in the scene."""

PARENTS = ("OBJECT", "ARMATURE", "BONE")
"""The parent types that can be computed."""


def lookahead_of(plan: Plan, animated_rigs: Set[int]) -> Lookahead:
    """Find the armatures that can be solved ahead, and the animated channels of their poses.

    Args:
        plan: A plan that is complete except for its lookahead.
        animated_rigs: The armatures with animation (see `is_animated`).
    """
    lookahead = Lookahead()
    unsettled: set[tuple[int, str, str]] = set()
    for uid, rig in plan.rigs.items():
        data = rig.object.animation_data
        lookahead.drivers[uid] = len(data.drivers) if data else 0
        if uid not in animated_rigs:
            lookahead.animated[uid] = set()
            continue
        posed, channels = plan.slots[uid], animation.animated(rig.object)
        switched = _switched(channels)
        lookahead.switched |= {(uid, name) for name, _ in switched}
        unsettled |= {(uid, *setting) for setting in switched}
        animated = posed & _slots_of(rig, channels.keyed | channels.driven)
        lookahead.animated[uid] = animated
        if posed and channels.has_modes:
            lookahead.mode_animated.add(uid)
        elif animated and not posed & _slots_of(rig, channels.driven):
            curves = _replaced(rig.object)
            if curves is not None:
                lookahead.replaced[uid] = curves
    done: set[int] = set()
    objects = len(bpy.data.objects)  # Blender walks them to count them.
    for uid, group in plan.groups.items():
        if uid not in done:
            done |= group
            units = [unit for key in group for unit in plan.units_of[key]]
            _look_at_group(plan, lookahead, group, units, objects)
    lookahead.unsettled = {(uid, name) for uid, name, _ in unsettled - lookahead.settled}
    posed = {uid for uid, curves in lookahead.curves.items() if curves.bone_places}
    lookahead.moving = lookahead.replaced.keys() | plan.rigs.keys() & (posed | lookahead.placed)
    lookahead.still = lookahead.known - lookahead.timed
    lookahead.is_early = bool(lookahead.worth) or lookahead.known < plan.rigs.keys()
    lookahead.is_timed = plan.rigs.keys() <= plan.timed | lookahead.timed
    return lookahead


def _look_at_group(
    plan: Plan, lookahead: Lookahead, group: set[int], units: list[UnitPlan], objects: int
) -> None:
    """Record whether armatures that are evaluated together can be solved ahead.

    Args:
        plan: The plan.
        lookahead: Where to record it.
        group: The armatures.
        units: Their units.
        objects: The number of objects in the file.
    """
    walk = _DependencyWalk(lookahead, plan.constrained)
    unknown = plan.rigs[min(group)].object.name  # The result if the walk fails.
    with contained("could not look ahead"):
        unknown = walk.unknown(units)
    lookahead.signatures += [(ob, animation.signature(ob)) for ob in walk.objects]
    if unknown:
        lookahead.unknown |= dict.fromkeys(group, unknown)
        return
    lookahead.known |= group
    inputs = walk.inputs()
    if inputs and not walk.meshes:
        lookahead.visited |= dict.fromkeys(group, walk.objects)
    _note_foreseen(lookahead, walk, inputs, plan)
    if any(part.is_timed for unit in units for part in unit.parts):
        lookahead.timed |= group
    if walk.curves:
        lookahead.timed |= group
    if _is_worth_solving_early(group, walk, objects):
        lookahead.worth |= group
    if walk.meshes:
        sources = [*walk.meshes.values()]
        lookahead.meshes |= {uid: sources for uid in group}
    for source in walk.sources:
        lookahead.sources.setdefault(source, set()).update(group)


def _note_foreseen(
    lookahead: Lookahead, walk: _DependencyWalk, inputs: Mapping[Skeleton, list[int]], plan: Plan
) -> None:
    """Record the computed and expected values to compare after an evaluation."""
    for rig, bones in inputs.items():
        _, present = lookahead.constrained.setdefault(rig.uid, (rig, set()))
        present |= {*bones} - plan.moved.get(rig.uid, set())
    for uid in walk.driving.keys() & plan.rigs.keys():
        known = lookahead.driving.setdefault(uid, {})
        for block, paths in walk.driving[uid].items():
            known[block] = [*dict.fromkeys([*known.get(block, ()), *paths])]
        if all([block in walk.objects and _stay(block, known[block]) for block in known]):
            lookahead.steady.add(uid)
    lookahead.settled |= walk.settled
    lookahead.constrained_objects |= walk.constrained_objects
    lookahead.curves |= walk.curves
    for animated, curves in walk.curves.items():
        channels = OBJECT_CHANNELS & curves.places.keys()
        lookahead.placed |= {animated} if channels else set()
        lookahead.turned |= {animated} if channels - PLACES else set()


def _is_worth_solving_early(group: set[int], walk: _DependencyWalk, objects: int) -> bool:
    """Return whether to solve armatures ahead of each frame, if they can be.

    This pays off where it saves Blender an evaluation that takes longer than reading F-curves. This
    is the case if Blender evaluates the armatures anyway, because their channels or settings are
    animated. It is also the case if they depend on meshes, which would be evaluated twice, or if
    the scene is crowded. Otherwise the armatures are read after the evaluation, and evaluated alone
    once more.
    """
    is_crowded = objects > CROWD * len(walk.curves)
    is_evaluated = not group.isdisjoint(walk.curves)
    return bool(walk.meshes or (walk.curves and (is_crowded or is_evaluated)))


def _slots_of(rig: Skeleton, channels: Iterable[tuple[str, int]]) -> set[int]:
    """Return the slots of an armature that animated channels set."""
    slots: set[int] = set()
    for path in {path for path, _ in channels}:
        name, channel = split_bone_path(path)
        if channel in KIND_OF and name in rig.index:
            slots.add(rig.slot(KIND_OF[channel], rig.index[name]))
    return slots


def _replaced(ob: bpy.types.Object) -> Curves | None:
    """Return an armature's F-curves; None with NLA strips, or several strips in an action."""
    data = ob.animation_data
    if data is None or (data.nla_tracks and _has_strips(ob)):
        return None
    curves = Curves(ob, ())
    return curves if curves.refresh() and curves.is_plain else None


def _has_strips(ob: bpy.types.Object) -> bool:
    """Return whether NLA tracks are evaluated, or may be: Blender doesn't notify of unmuting them.

    An offset layer is computed while it is on, and its tracks are muted while it is off.
    """
    layer = layer_of(ob)
    return layer is None or (layer.is_on and edited_layer(ob) is None)


def _switched(animated: animation.Channels) -> set[tuple[str, str]]:
    """Return the bones with native constraints or drivers that animation switches, with paths."""
    paths = [path for path, _ in animated.keyed | animated.driven if path.endswith(SWITCHES)]
    return {
        (name, path)
        for name, path in map(split_bone_path, paths)
        if path.startswith(("constraints[", "rotation_mode"))
    }


class _DependencyWalk:
    """A walk up the dependencies of armatures that are solved together."""

    def __init__(self, lookahead: Lookahead, constrained: ConstrainedBones) -> None:
        self.lookahead = lookahead
        self.sources: set[str] = set()
        self.objects: list[bpy.types.Object] = []
        self.curves: dict[int, Curves] = {}
        self.meshes: dict[tuple[int, ...], GoalSource] = {}
        self._objects: dict[int, bool] = {}
        self._standing: dict[bpy.types.Object, bool] = {}
        self._constrained = constrained
        self._unpredictable: dict[bpy.types.Object, set[str]] = {}
        self._landmarks: dict[bpy.types.Object, Landmarks] = {}
        self.driving: dict[int, dict[bpy.types.ID, list[str]]] = {}
        self.settled: set[tuple[int, str, str]] = set()
        self.constrained_objects: set[int] = set()
        self._followed: dict[Node, list[Node]] = {}
        self._starts: list[Node] = []

    def unknown(self, units: Iterable[UnitPlan]) -> str:
        """Return the name of an input of some units that can't be computed ahead; empty if none."""
        names: list[str] = []
        starts = self._starts
        for unit in units:
            if not (unit.is_known_ahead and self._knows_writing(unit.rig)):
                names.append(unit.rig.object.name)
            names += [ob.name for ob in unit.channels_of() if not self._knows_object(ob)]
            starts += [node_at(point) for points in unit.needs_by_state() for point in points]
            if not unit.members:  # A pre-pass bone, whose chains are separate units.
                starts.append((unit.rig.object, unit.bones[0]))
            for chain in unit.members:
                if self._knows_chain(chain):
                    starts += _starts(chain)
                else:
                    names.append(settings(chain.rig.object).constraints[chain.item].name)

        def relations(node: Node) -> Iterable[Node]:
            if not self._knows(node):
                names.append(name_of(node))
                return ()
            return map(self._landmark, (*parents(node), *self._followed.get(node, ())))

        walk_dependencies(map(self._landmark, starts), relations)
        return names[0] if names else ""

    def inputs(self) -> dict[Skeleton, list[int]]:
        """Return the constrained bones that the units follow directly, not through other bones."""
        inputs: dict[Skeleton, list[int]] = {}
        if not self._followed:
            return inputs
        for ob, bone in dict.fromkeys(self._starts):
            above = skeleton_of(ob).chain_up(bone) if bone >= 0 else ()
            last = [i for i in above if (ob, i) in self._followed][-1:]
            bones = inputs.setdefault(skeleton_of(ob), []) if last else []
            bones += [i for i in last if i not in bones]
        return inputs

    def _knows_writing(self, rig: Skeleton) -> bool:
        """Return whether the channels of an armature can be read and written ahead."""
        lookahead = self.lookahead
        if not self._knows_object(rig.object) or not self._has_plain_settings(rig.object):
            return False
        if rig.uid in lookahead.mode_animated:
            return False
        # Otherwise animation would overwrite values written ahead.
        return not lookahead.animated[rig.uid] or rig.uid in lookahead.replaced

    def _knows_chain(self, chain: ChainPlan) -> bool:
        return bool(chain.problem) or (self._knows_goal(chain) and self._knows_motion(chain))

    def _knows_goal(self, chain: ChainPlan) -> bool:
        source = chain.goal_source
        if chain.roll is not None and self._has_keyed_groups(chain):
            return False
        if source is None:
            return not chain.watched
        if not source.is_known_ahead or self._has_keyed_groups(chain):
            return False
        self.meshes.setdefault(tuple([ob.session_uid for ob in chain.watched]), source)
        return all([self._stands_still(ob) for ob in chain.watched])

    def _stands_still(self, ob: bpy.types.Object) -> bool:
        """Return whether neither animation nor bones move an object."""
        settle([ob], _parents_of, self._standing, self._stands)
        return self._standing[ob]

    def _stands(self, ob: bpy.types.Object) -> bool:
        return (
            self._knows_object(ob)
            and ob.session_uid not in self.curves
            and ob.session_uid not in self.constrained_objects
            and (ob.parent is None or ob.parent_type == "OBJECT")
            and all([self._standing.get(parent, True) for parent in _parents_of(ob)])
        )

    def _knows_motion(self, chain: ChainPlan) -> bool:
        if chain.kind.reaches:
            return True  # It needs only its goal.
        item = settings(chain.rig.object).constraints[chain.item]
        return chain.kind.is_known_ahead(item) and not self._has_keyed_groups(chain)

    def _has_keyed_groups(self, chain: ChainPlan) -> bool:
        """Return whether F-curves set settings in groups of a constraint, which aren't sampled."""
        prefix = settings(chain.rig.object).constraints[chain.item].path_from_id() + "."
        curves = self.curves.get(chain.rig.uid)
        paths = curves.places if curves else ()
        return any(path.startswith(prefix) and "." in path[len(prefix) :] for path in paths)

    def _has_plain_settings(self, ob: bpy.types.Object) -> bool:
        """Return whether drivers set constraints of ours from custom properties alone."""
        driven = [c for c in _drivers(ob) if c.data_path.startswith("fabrik.")]
        self._expect(ob, driven)
        return all(map(_is_settled, driven))

    def _expect(self, ob: bpy.types.Object, driven: Iterable[bpy.types.FCurve]) -> None:
        """Note the properties that drive settings, and are expected not to change."""
        for curve in driven:
            for variable in cast(Any, curve.driver).variables:
                for target in variable.targets:
                    if target.id is not None:
                        driving = self.driving.setdefault(ob.session_uid, {})
                        driving.setdefault(target.id, []).append(target.data_path)

    def _knows(self, node: Node) -> bool:
        """Return whether a node's transform relative to its parent can be computed ahead."""
        ob, bone = node
        if not self._knows_object(ob):
            return False
        if bone < 0:
            return True
        name = skeleton_of(ob).names[bone]
        return name not in self._unpredictable[ob] and self._knows_constraints(node, name)

    def _landmark(self, node: Node) -> Node:
        """Return the nearest node, at or above a node, that something besides its parent moves."""
        ob, bone = node
        if bone < 0:
            return node
        if not self._knows_object(ob):
            return ob, -1
        landmarks = self._landmarks.get(ob)
        if landmarks is None:
            rig = skeleton_of(ob)
            unpredictable = self._unpredictable[ob] = self._unpredictable_bones(rig)
            bones = [rig.index[name] for name in unpredictable if name in rig.index]
            landmarks = Landmarks(rig, (*bones, *self._constrained.of(rig)))
            self._landmarks[ob] = landmarks
        return ob, landmarks.nearest(bone)

    def _knows_object(self, ob: bpy.types.Object) -> bool:
        uid = ob.session_uid
        if uid not in self._objects:
            self._objects[uid] = self._examine(ob)
        return self._objects[uid]

    def _examine(self, ob: bpy.types.Object) -> bool:
        self.sources.add(ob.name)
        self.objects.append(ob)
        if isinstance(ob.data, bpy.types.ID):
            self.sources.add(ob.data.name)
        if ob.rigid_body is not None or ob.soft_body is not None:
            return False
        if (
            ob.constraints and not self._knows_object_constraints(ob)
        ) or not self._has_plain_animation(ob):
            return False
        return ob.parent is None or (ob.parent_type in PARENTS and ob.parent.type != "CURVE")

    def _knows_object_constraints(self, ob: bpy.types.Object) -> bool:
        """Return whether all constraints of an object can be computed, and note their dependencies.

        Whether each constraint is on is read at each frame.
        """
        sources = [source for con in ob.constraints for source in constraint_sources(con)]
        self._followed[ob, -1] = sources
        self.constrained_objects.add(ob.session_uid)
        return all([is_predictable(con, False) for con in ob.constraints if not con.mute])

    def _has_plain_animation(self, ob: bpy.types.Object) -> bool:
        """Return whether the animation of an object consists of plain F-curves."""
        data: Any = ob.animation_data
        if data is None:
            return True
        if data.nla_tracks and _has_strips(ob):
            return False
        if any([is_placing(curve.data_path) for curve in data.drivers]):
            return False
        if data.action is None:
            return True
        curves = Curves(ob)
        curves.refresh()
        if not curves.is_plain:
            return False
        if curves.places:
            self.curves[ob.session_uid] = curves
        return all(path in OBJECT_CHANNELS for path in curves.places if is_placing(path))

    def _knows_constraints(self, node: Node, bone: str) -> bool:
        """Return whether all constraints of a bone can be computed, and note their dependencies."""
        constraints = possible_constraints(pose_bones(node[0])[bone])
        if constraints:
            sources = [source for con in constraints for source in constraint_sources(con)]
            self._followed[node] = sources
            prefix = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].constraints['
            drivers = [c for c in _drivers(node[0]) if c.data_path.startswith(prefix)]
            self._expect(node[0], drivers)
            uid = node[0].session_uid
            self.settled |= {(uid, *split_bone_path(c.data_path)) for c in drivers}
        return all([is_predictable(con, on_bone=True) for con in constraints])

    def _unpredictable_bones(self, rig: Skeleton) -> set[str]:
        """Return the bones that native IK, drivers or unsupported F-curves move."""
        chains = native_ik_chains(rig, ("IK", "SPLINE_IK"), self._constrained.of(rig))
        posed = {rig.names[bone] for _, chain in chains for bone in chain}
        return posed | self._posed_by_animation(rig.object)

    def _posed_by_animation(self, ob: bpy.types.Object) -> set[str]:
        """Return the bones that drivers pose, or F-curves of other than transform channels."""
        if any(map(_moves_rest, animation.all_curves(cast(Any, ob.data)))):
            return {*pose_bones(ob).keys()}
        curves = self.curves.get(ob.session_uid)
        paths = [curve.data_path for curve in _drivers(ob) if not _sets_constraint(curve)]
        paths += [path for path in (curves.places if curves else ()) if not _is_channel(path)]
        return {name for name, path in map(split_bone_path, paths) if not STILL.match(path)}


def _parents_of(ob: bpy.types.Object) -> list[bpy.types.Object]:
    return [] if ob.parent is None else [ob.parent]


def _starts(chain: ChainPlan) -> list[Node]:
    """Return the nodes on which a chain depends; its other bones are between the first two."""
    ob = chain.rig.object
    if chain.problem:
        return [(ob, -1)]
    last = chain.tip_bone if chain.tip_bone >= 0 else chain.bones[-1]
    feet = [(ob, chain.limb.foot)] if chain.limb.foot >= 0 else []
    return [(ob, chain.bones[0]), (ob, last), *feet, *map(node_at, chain.needs())]


STILL = re.compile(r"hide(_\w+)?$|bbone_")
"""The properties of a bone that don't move its joints: its visibility and its bend."""

CONSTRAINT = re.compile(r"\]\.constraints\[")

FRAME = re.compile(r"\bframe\b")
"""The variable of driver expressions that is the current frame."""

CUSTOM_PROPERTY = re.compile(r"\[\"[^\]]*\"\]$")


def _moves_rest(curve: bpy.types.FCurve) -> bool:
    name, channel = split_bone_path(f"pose.{curve.data_path}")
    return bool(name) and not STILL.match(channel)


def _is_channel(path: str) -> bool:
    return split_bone_path(path)[1] in KIND_OF


def _sets_constraint(curve: bpy.types.FCurve) -> bool:
    """Return whether a driver sets a constraint of a bone from custom properties."""
    return bool(CONSTRAINT.search(curve.data_path)) and _is_settled(curve)


def _drivers(ob: bpy.types.Object) -> Iterable[bpy.types.FCurve]:
    data = ob.animation_data
    return data.drivers if data else ()


def _stay(block: bpy.types.ID, properties: Iterable[str]) -> bool:
    """Return whether animation sets no custom property with the name of one of these."""
    animated = {*map(_name_of, animation.animated(block).paths)}
    return animated.isdisjoint(map(_name_of, properties))


def _name_of(path: str) -> str:
    """Return the name of a custom property."""
    return path.rpartition("[")[2].strip("]\"'")


def _is_settled(curve: bpy.types.FCurve) -> bool:
    """Return whether a driver depends only on custom properties."""
    driver: Any = curve.driver
    variables = driver.variables
    is_scripted = driver.type == "SCRIPTED"
    if is_scripted and (not driver.is_simple_expression or FRAME.search(driver.expression)):
        return False
    return all(
        [
            variable.type == "SINGLE_PROP" and bool(CUSTOM_PROPERTY.search(target.data_path))
            for variable in variables
            for target in variable.targets
        ]
    )
