"""A digest of everything that the animation of objects depends on.

It is made of animation and unanimated values, so it is independent of the current frame, the
session, and linking. Names of data-blocks and bones and the order of constraints are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
"""An object with all its bones, or a point: an object, or a bone with its parents."""

_Node = tuple[bpy.types.Object, frozenset[str]]
"""An object, and those of its bones that matter."""

OWN = "fabrik.constraints["

NOWHERE = -1
"""The owner of a curve that does not matter."""


class Digest:
    """The digest of some objects and their dependencies.

    Attributes:
        seen: Session UIDs of all data that matters: the digest only changes if one of it does.
        items: By armature, the indices of the constraints that matter.
        groups: By armature, the paths of the other settings that pose bones that matter.
    """

    def __init__(
        self, sources: Iterable[Source], inputs: object, own: tuple[bpy.types.Object, str]
    ) -> None:
        """Compute the digest of all sources and their dependencies.

        Args:
            sources: The objects.
            inputs: Further inputs, whose ``repr`` is included.
            own: An armature, and the path of one of its constraints or of a group within it, whose
                settings are only included through the inputs.
        """
        self.seen: set[int] = set()
        self._own = own
        self._bones: dict[bpy.types.Object, set[str]] = {}
        self.items: dict[bpy.types.Object, set[int]] = {}
        self.groups: dict[bpy.types.Object, set[str]] = {}
        self._hash = blake2b(repr(inputs).encode(), digest_size=data_blocks.SIZE)
        self._ranks: dict[bpy.types.Object, dict[str, int]] = {}
        places: list[tuple[bpy.types.Object, str]] = []
        starts: list[_Node] = []
        sources = [*sources]
        shaped = {source for source in sources if isinstance(source, bpy.types.Object)}
        points = [source for source in sources if isinstance(source, Point)]
        # Of these only the place matters, and neither their mesh nor their modifiers.
        placed = {point.object for point in points if point.skeleton is None}
        self._placed = {ob for ob in placed - shaped if ob.type != "ARMATURE"}
        for source in sources:
            starts.append(_node_at(source) if isinstance(source, Point) else _whole(source))
            if isinstance(source, Point) and source.skeleton is not None:
                places.append((source.object, source.skeleton.names[source.bone]))
        for _ in walk_dependencies(starts, self._relations):
            pass
        for ob, bones in self._bones.items():
            order = [name for name in _all_bones(ob) if name in bones]
            self._ranks[ob] = {name: rank for rank, name in enumerate(order)}
        self._hash.update(repr([self._rank(*place) for place in places]).encode())
        for ob in self._bones:  # In the order of discovery.
            for part in self._of_object(ob):
                self._hash.update(part if isinstance(part, bytes) else repr(part).encode())

    def key(self) -> bytes:
        """Return the digest."""
        return self._hash.digest()

    def _relations(self, part: _Node) -> Iterator[_Node]:
        """Include an object and some of its bones; yield their dependencies."""
        ob, bones = part
        is_new = ob not in self._bones
        known = self._bones.setdefault(ob, set())
        fresh = _upward(ob, bones) - known
        known |= fresh
        if is_new:
            yield from _object_relations(ob)
        yield from self._bone_relations(ob, fresh)

    def _rank(self, ob: bpy.types.Object | None, name: str) -> int:
        """Return the index of a bone among those that matter, -1 if it does not."""
        return self._ranks.get(ob, {}).get(name, -1) if ob is not None else -1

    def _bone_relations(self, ob: bpy.types.Object, bones: set[str]) -> Iterator[_Node]:
        for name in sorted(bones):
            for con in active_constraints(pose_bones(ob)[name]):
                yield from _constraint_targets(con)
        known = planner.known() if bones else None
        for chain in known.chains if known else ():
            if _poses(chain, ob, bones):
                yield from self._posed_by(ob, chain, [chain], ())
        for unit in known.units_of.get(ob.session_uid, ()) if known else ():
            if isinstance(unit, PrePassBone) and _poses(unit, ob, bones):
                yield from self._posed_by(ob, unit, unit.chains, unit.groups())

    def _posed_by(
        self,
        ob: bpy.types.Object,
        part: UnitPart,
        chains: Sequence[ChainPlan],
        groups: Sequence[str],
    ) -> Iterator[_Node]:
        """Include what poses bones of an armature, unless it is what is simulated.

        All legs on the ground pose the hip above them: whatever hangs on that depends on each, but
        their own feet, as walks and holds, are simulated from what none of their kind poses.
        """
        if ob == self._own[0]:
            path, kind = self._own[1], _kind_of(self._own[1])
            is_own = path.startswith(tuple([f"{OWN}{chain.item}]" for chain in chains]))
            if is_own or kind in map(_kind_of, groups):
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
        """Yield the rest pose of bones, and the unanimated part of their FK pose."""
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
        items = [f"{OWN}{index}]" for index in sorted(self.items.get(ob, ()))]
        animated = {path for path, _ in moving}
        for path in (*items, *sorted(self.groups.get(ob, ()))):
            group: Any = ob.path_resolve(path)
            ranks = self._ranks[ob]
            yield [
                (name, ranks.get(value, value) if isinstance(value, str) else value)
                for name, held in values_of(group).items()
                if f"{path}.{name}" not in animated
                for value in [data_blocks.plain(held)]
            ]

    def _of_native(self, con: Any, moving: data_blocks.Moving) -> Iterator[object]:
        """Yield the settings of a native constraint, without the names of bones."""
        values = data_blocks.values(con, moving)
        yield [(name, value) for name, value in values if not name.endswith("subtarget")]
        yield [self._rank(*target) for target in _targets(con)]

    def _animation(self, owner: Any, ob: bpy.types.Object | None = None) -> Iterator[object]:
        """Yield the animation of a data-block; of an object, as far as it matters."""
        data = owner.animation_data
        if data is None:
            return
        if data.nla_tracks:
            yield from data_blocks.nla_content(data)
        for curve in data.drivers:
            place = None if ob is None else self._place(ob, curve.data_path)
            if curve.data_path != dependency_driver.PATH and place != NOWHERE:
                driver = data_blocks.driver_content(curve.driver)
                yield place, data_blocks.curve_digest(curve), driver
        for holder in animation.holders(owner):
            if holder.action is not None:
                self.seen.add(holder.action.session_uid)
                for path, part in data_blocks.action_content(holder):
                    place = None if ob is None else self._place(ob, path)
                    if place != NOWHERE:
                        yield place
                        yield part

    def _place(self, ob: bpy.types.Object, path: str) -> object:
        """Return the owner of a curve without names; `NOWHERE` if it does not matter."""
        kind, name = data_blocks.owner_in_path(path)
        if kind == "pose.bones":
            return self._ranks[ob].get(name, NOWHERE)
        if not kind:
            return None
        if ob == self._own[0] and self._own[1].startswith(f"{kind}[{name}]"):
            # What a foot or free chain does is simulated whether it is in IK or FK.
            is_switch = path == f"{OWN}{name}].influence" and self._own[1].startswith(
                f"{OWN}{name}]."
            )
            return NOWHERE if is_switch else "own"
        if kind != "fabrik.constraints":
            return kind, name
        counting = sorted(self.items.get(ob, ()))
        return counting.index(int(name)) if int(name) in counting else NOWHERE


def _poses(part: UnitPart, ob: bpy.types.Object, bones: set[str]) -> bool:
    """Return whether a part poses any of some bones of an armature."""
    names = part.rig.names
    return part.rig.object == ob and not bones.isdisjoint([names[bone] for bone in part.bones])


def _kind_of(path: str) -> str:
    """Return the path of settings without the numbers of items."""
    return re.sub(r"\[\d+\]", "", path)


def _node_at(point: Point) -> _Node:
    names = () if point.skeleton is None else (point.skeleton.names[point.bone],)
    return point.object, frozenset(names)


def _whole(ob: bpy.types.Object) -> _Node:
    return ob, frozenset(_all_bones(ob))


def _object_relations(ob: bpy.types.Object) -> Iterator[_Node]:
    """Yield the dependencies of an object, without those of its bones."""
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
    counted = [curve.driver for curve in drivers if curve.data_path != dependency_driver.PATH]
    for target in (t for driver in counted for v in driver.variables for t in v.targets):
        if isinstance(target.id, bpy.types.Object):
            yield target.id, frozenset(filter(None, (target.bone_target,)))


def _constraint_targets(con: Any) -> Iterator[_Node]:
    targets = [(ob, bone) for ob, bone in _targets(con) if ob is not None]
    yield from ((ob, frozenset(filter(None, (bone,)))) for ob, bone in targets)


def _targets(con: Any) -> list[tuple[bpy.types.Object | None, str]]:
    """Return the targets of a native constraint: objects, and names of their bones."""
    return [
        (getattr(one, name, None), getattr(one, name.replace("target", "subtarget"), ""))
        for one in (con, *getattr(con, "targets", ()))
        for name in ("target", "pole_target")
    ]


def _all_bones(ob: bpy.types.Object) -> list[str]:
    return pose_bones(ob).keys() if ob.pose is not None else []


def _upward(ob: bpy.types.Object, names: Iterable[str]) -> set[str]:
    """Return the existing bones among some names, with all their parents."""
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
