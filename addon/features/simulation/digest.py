"""A digest of all that the animation of objects depends on, to find outdated simulations.

It covers animation and unanimated values. So it doesn't depend on the current frame, the session,
or linking. Renaming data-blocks and bones, or reordering constraints, doesn't change it either.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import bpy

from ...blender import animation, data_blocks, dependency_driver
from ...blender.access import pose_bones
from ...blender.relations import active_constraints, walk_dependencies
from ...blender.rotation import LOCATION, SCALE, channel_of, mode_of
from ...blender.skeleton import Point
from ...plan import planner
from ...plan.chain_plan import ChainPlan, UnitPart
from ...plan.pre_pass import PrePassBone
from ...settings.values import values_of

Source = bpy.types.Object | Point
"""An object with all its bones, or a point: an object, or a bone with its ancestors."""

_Node = tuple[bpy.types.Object, frozenset[str]]
"""An object and its relevant bones."""

OWN = "fabrik.constraints["

NOWHERE = -1
"""The owner of an F-curve that isn't relevant."""


class Digest:
    """The digest of some objects and their dependencies.

    Attributes:
        seen: Session UIDs of all relevant data: unless some of it changes, the digest stays the
            same.
        items: The indices of the relevant constraints, by armature.
        groups: The paths of other settings that pose relevant bones, by armature.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        inputs: object,
        excluded: tuple[bpy.types.Object, str],
        later: Collection[ChainPlan] = (),
    ) -> None:
        """Compute the digest of all sources and their dependencies.

        Args:
            sources: The objects and points.
            inputs: Other inputs, included by their ``repr``.
            excluded: An armature, and the path of a constraint or group in it. Its settings count
                only through the inputs.
            later: Constraints that are left out, with everything that only they depend on.
        """
        self.seen: set[int] = set()
        self._own, self._later = excluded, later
        self._bones: dict[bpy.types.Object, set[str]] = {}
        self.items: dict[bpy.types.Object, set[int]] = {}
        self.groups: dict[bpy.types.Object, set[str]] = {}
        self._hash = blake2b(repr(inputs).encode(), digest_size=data_blocks.SIZE)
        self._ranks: dict[bpy.types.Object, dict[str, int]] = {}
        bone_sources: list[tuple[bpy.types.Object, str]] = []
        starts: list[_Node] = []
        sources = [*sources]
        whole_objects = {source for source in sources if isinstance(source, bpy.types.Object)}
        points = [source for source in sources if isinstance(source, Point)]
        # Only their transforms are relevant, not their meshes or modifiers.
        point_objects = {point.object for point in points if point.skeleton is None}
        self._placed = {ob for ob in point_objects - whole_objects if ob.type != "ARMATURE"}
        for source in sources:
            starts.append(_node_at(source) if isinstance(source, Point) else _whole(source))
            if isinstance(source, Point) and source.skeleton is not None:
                bone_sources.append((source.object, source.skeleton.names[source.bone]))
        walk_dependencies(starts, self._relations)
        self._ranks = {ob: _ranks(_all_bones(ob), bones) for ob, bones in self._bones.items()}
        self._hash.update(repr([self._rank(*bone_source) for bone_source in bone_sources]).encode())
        for ob in self._bones:  # In order of discovery.
            for part in self._of_object(ob):
                self._hash.update(part if isinstance(part, bytes) else repr(part).encode())

    def key(self) -> bytes:
        """Return the digest."""
        return self._hash.digest()

    def _relations(self, node: _Node) -> Iterator[_Node]:
        """Include an object and some of its bones; yield their dependencies."""
        ob, bones = node
        is_new = ob not in self._bones
        included = self._bones.setdefault(ob, set())
        new_bones = _upward(ob, bones) - included
        included |= new_bones
        if is_new:
            yield from _object_relations(ob)
        yield from self._bone_relations(ob, new_bones)

    def _rank(self, ob: bpy.types.Object | None, name: str) -> int:
        """Return the index of a bone among the relevant bones; -1 if it isn't one."""
        return self._ranks.get(ob, {}).get(name, -1) if ob is not None else -1

    def _bone_relations(self, ob: bpy.types.Object, bones: set[str]) -> Iterator[_Node]:
        for name in sorted(bones):
            for con in active_constraints(pose_bones(ob)[name]):
                yield from _constraint_targets(con)
        plan = planner.known() if bones else None
        for chain in plan.chains if plan else ():
            if chain not in self._later and _poses(chain, ob, bones):
                yield from self._posed_by(ob, chain, [chain], ())
        for unit in plan.units_of.get(ob.session_uid, ()) if plan else ():
            if isinstance(unit, PrePassBone) and _poses(unit, ob, bones):
                yield from self._posed_by(ob, unit, unit.chains, unit.groups())

    def _posed_by(
        self,
        ob: bpy.types.Object,
        part: UnitPart,
        chains: Sequence[ChainPlan],
        groups: Sequence[str],
    ) -> Iterator[_Node]:
        """Include the constraints that pose some bones, and yield the bones of their chains.

        All legs on the ground pose the hip above them, so everything parented to it depends on each
        leg. Feet, walks and holds are simulated without the influence of any of their kind.

        Args:
            ob: The armature.
            part: The part of a unit that poses the bones.
            chains: Its chains.
            groups: The paths of other settings that pose the bones.
        """
        if ob == self._own[0]:
            path, kind = self._own[1], _kind_of(self._own[1])
            is_excluded = path.startswith(tuple([f"{OWN}{chain.item}]" for chain in chains]))
            if is_excluded or kind in map(_kind_of, groups):
                return
        self.groups.setdefault(ob, set()).update(groups)
        items = self.items.setdefault(ob, set())
        for chain in [chain for chain in chains if chain.item not in items]:
            items.add(chain.item)
            yield ob, frozenset(chain.rig.names[bone] for bone in chain.bones)
            yield from map(_node_at, filter(None, (chain.target, chain.pole)))
            yield from map(_whole, chain.watched)
        for points in part.needs_by_state():
            yield from map(_node_at, points)

    def _of_object(self, ob: bpy.types.Object) -> Iterator[object]:
        self.seen.add(ob.session_uid)
        animated = animation.animated(ob)
        moving = animated.keyed | animated.driven
        bone = self._rank(ob.parent, ob.parent_bone)
        yield ob.type, ob.parent is not None and (ob.parent_type, bone)
        yield [x for row in ob.matrix_parent_inverse for x in row]
        for name in ("location", "scale", "delta_location", "delta_scale"):
            yield data_blocks.static_values(ob, name, moving)
        for name in (channel_of(mode_of(ob))[0], "rotation_mode"):
            yield data_blocks.static_values(ob, name, moving)
            yield (
                data_blocks.static_values(ob, f"delta_{name}", moving)
                if hasattr(ob, f"delta_{name}")
                else None
            )
        for con in ob.constraints:
            yield from self._of_native(con, moving)
        yield from self._animation(ob, ob)
        if ob not in self._placed:
            for modifier in ob.modifiers:
                yield data_blocks.values(modifier, moving)
            if isinstance(ob.data, bpy.types.ID):
                yield from self._of_data(ob.data)
        if self._bones[ob]:
            yield from self._of_bones(ob, moving)

    def _of_data(self, data: Any) -> Iterator[object]:
        self.seen.add(data.session_uid)
        yield from self._animation(data)
        keys = getattr(data, "shape_keys", None)
        if keys is not None:
            self.seen.add(keys.session_uid)
            yield from self._animation(keys)
            yield [(key.name, key.mute, key.relative_key.name) for key in keys.key_blocks]
            yield data_blocks.shape_keys_digest(keys)
        if isinstance(data, bpy.types.Mesh):
            yield data_blocks.mesh_digest(data)
        elif isinstance(data, bpy.types.Curve):
            channels = animation.animated(data)
            yield data_blocks.values(data, channels.keyed | channels.driven)
            for spline in data.splines:
                yield data_blocks.column(spline.points, "co", "f", 4)
                for name in ("co", "handle_left", "handle_right"):
                    yield data_blocks.column(spline.bezier_points, name, "f", 3)

    def _of_bones(self, ob: bpy.types.Object, moving: data_blocks.Moving) -> Iterator[object]:
        """Yield the rest poses of bones, and the unanimated values of their FK poses."""
        bones = pose_bones(ob)
        for name in self._ranks[ob]:
            bone = bones[name]
            rest = bone.bone
            yield self._rank(ob, rest.parent.name) if rest.parent else -1
            yield rest.inherit_scale, rest.use_inherit_rotation, rest.use_local_location
            yield rest.length, [x for row in rest.matrix_local for x in row], rest.use_connect
            for channel in (mode_of(bone), LOCATION, SCALE):
                channel_name, _ = channel_of(channel)
                path = bone.path_from_id(channel_name)
                values = enumerate(getattr(bone, channel_name))
                yield [x for i, x in values if (path, i) not in moving]
            for con in active_constraints(bone):
                yield from self._of_native(con, moving)
        # Defaults are left out, so that a new setting doesn't change the digest.
        items = [f"{OWN}{index}]" for index in sorted(self.items.get(ob, ()))]
        animated = {path for path, _ in moving}
        for path in (*items, *sorted(self.groups.get(ob, ()))):
            group: Any = ob.path_resolve(path)
            ranks = self._ranks[ob]
            yield [
                (name, ranks.get(value, value) if isinstance(value, str) else value)
                for name, stored_value in values_of(group, without_defaults=True).items()
                if f"{path}.{name}" not in animated
                for value in [data_blocks.plain(stored_value)]
            ]

    def _of_native(self, con: Any, moving: data_blocks.Moving) -> Iterator[object]:
        """Yield a native constraint's settings, without bone names."""
        values = data_blocks.values(con, moving)
        yield [(name, value) for name, value in values if not name.endswith("subtarget")]
        yield [self._rank(*target) for target in _targets(con)]

    def _animation(self, owner: Any, ob: bpy.types.Object | None = None) -> Iterator[object]:
        """Yield the animation of a data-block, or the relevant part of an object's."""
        data = owner.animation_data
        if data is None:
            return
        if data.nla_tracks:
            yield from data_blocks.nla_content(owner)
        for curve in data.drivers:
            curve_owner = None if ob is None else self._place(ob, curve.data_path)
            if curve.data_path != dependency_driver.PATH and curve_owner != NOWHERE:
                driver = data_blocks.driver_content(curve.driver)
                yield curve_owner, data_blocks.curve_digest(curve), driver
        for holder in animation.acting_holders(owner):
            if holder.action is not None:
                self.seen.add(holder.action.session_uid)
                for path, part in data_blocks.action_content(holder):
                    curve_owner = None if ob is None else self._place(ob, path)
                    if curve_owner != NOWHERE:
                        yield curve_owner
                        yield part

    def _place(self, ob: bpy.types.Object, path: str) -> object:
        """Return the owner of an F-curve, without names; `NOWHERE` if it isn't relevant."""
        kind, name = data_blocks.owner_in_path(path)
        if kind == "pose.bones":
            return self._ranks[ob].get(name, NOWHERE)
        if not kind:
            return None
        if ob == self._own[0] and self._own[1].startswith(f"{kind}[{name}]"):
            # A foot or free chain is simulated in IK and in FK.
            is_switch = path == f"{OWN}{name}].influence" and self._own[1].startswith(
                f"{OWN}{name}]."
            )
            return NOWHERE if is_switch else "own"
        if kind != "fabrik.constraints":
            return kind, name
        included_items = sorted(self.items.get(ob, ()))
        return included_items.index(int(name)) if int(name) in included_items else NOWHERE


def _poses(part: UnitPart, ob: bpy.types.Object, bones: set[str]) -> bool:
    """Return whether a part of a unit poses any of an armature's bones."""
    names = part.rig.names
    return part.rig.object == ob and not bones.isdisjoint([names[bone] for bone in part.bones])


def _kind_of(path: str) -> str:
    """Return a property path without list indices."""
    return re.sub(r"\[\d+\]", "", path)


def _node_at(point: Point) -> _Node:
    names = () if point.skeleton is None else (point.skeleton.names[point.bone],)
    return point.object, frozenset(names)


def _whole(ob: bpy.types.Object) -> _Node:
    return ob, frozenset(_all_bones(ob))


def _object_relations(ob: bpy.types.Object) -> Iterator[_Node]:
    """Yield an object's dependencies, except those of its bones."""
    parent = ob.parent
    if parent is not None and ob.parent_type == "ARMATURE":
        yield _whole(parent)
    elif parent is not None:
        yield parent, frozenset((ob.parent_bone,) if ob.parent_type == "BONE" else ())
    for con in active_constraints(ob):
        yield from _constraint_targets(con)
    for modifier in ob.modifiers:
        yield from map(_whole, _objects_in(modifier))
    drivers: Any = ob.animation_data.drivers if ob.animation_data else ()
    relevant = [curve.driver for curve in drivers if curve.data_path != dependency_driver.PATH]
    for target in (t for driver in relevant for v in driver.variables for t in v.targets):
        if isinstance(target.id, bpy.types.Object):
            yield target.id, frozenset(filter(None, (target.bone_target,)))


def _constraint_targets(con: Any) -> Iterator[_Node]:
    targets = [(ob, bone) for ob, bone in _targets(con) if ob is not None]
    yield from ((ob, frozenset(filter(None, (bone,)))) for ob, bone in targets)


def _targets(con: Any) -> list[tuple[bpy.types.Object | None, str]]:
    """Return a native constraint's targets: objects and bone names."""
    return [
        (getattr(owner, name, None), getattr(owner, name.replace("target", "subtarget"), ""))
        for owner in (con, *getattr(con, "targets", ()))
        for name in ("target", "pole_target")
    ]


def _all_bones(ob: bpy.types.Object) -> list[str]:
    return pose_bones(ob).keys() if ob.pose is not None else []


def _ranks(order: Iterable[str], bones: Collection[str]) -> dict[str, int]:
    """Return the indices of some bones among themselves, in the order of all bones."""
    return {name: rank for rank, name in enumerate(name for name in order if name in bones)}


def _upward(ob: bpy.types.Object, names: Iterable[str]) -> set[str]:
    """Return the named bones that exist, with all their ancestors."""
    reached: set[str] = set()
    for name in names if ob.pose is not None else ():
        bone = pose_bones(ob).get(name)
        while bone is not None and bone.name not in reached:
            reached.add(bone.name)
            bone = bone.parent
    return reached


def _objects_in(struct: Any) -> list[bpy.types.Object]:
    pointers = [p.identifier for p in struct.bl_rna.properties if p.type == "POINTER"]
    objects = [getattr(struct, name) for name in pointers]
    return [value for value in objects if isinstance(value, bpy.types.Object)]
