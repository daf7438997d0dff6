"""Which armatures can be solved ahead of Blender's evaluation, and when they have to be.

It can be done where all that goes in is known by then: channels, F-curves and parents. Blender's
constraints, drivers, physics, strips of the NLA and meshes are not, nor are histories. What
decides is how things hang together and never what they hold at a moment, so that an armature is
read in one way at every frame, however that is reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import bpy

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.curves import Curves, split_bone_path
from ..blender.errors import contained
from ..blender.relations import Node, node_at, parents, walk_dependencies
from ..blender.rotation import LOCATION, QUATERNION, SCALE
from ..blender.skeleton import Skeleton, skeleton_of
from .body_plan import BodyPlan, Unit, chains_of
from .chain_plan import ChainPlan
from .fk_pose import FkReader

TURNS = {"rotation_euler", "rotation_quaternion", "rotation_axis_angle"}

KIND_OF = {"location": LOCATION, "scale": SCALE} | dict.fromkeys(TURNS, QUATERNION)
"""The kind (see `KINDS`) of each channel of a bone."""

BONE_CHANNELS = {"location", "scale", *TURNS}

OBJECT_CHANNELS = BONE_CHANNELS | {f"delta_{name}" for name in ("location", "scale")}
OBJECT_CHANNELS |= {"delta_rotation_euler", "delta_rotation_quaternion"}

PLACES = {"location", "delta_location"}

PLACING = ("location", "rotation", "scale", "delta_", "parent", "constraints")
"""How the paths of properties begin that place an object."""

SWITCHES = (".influence", ".mute", ".enabled")
"""How the paths of properties end that turn one of Blender's constraints on or off."""

PARENTS = ("OBJECT", "ARMATURE", "BONE")
"""The ways to hang on a parent of which it is known where the parent carries the child."""


class PlanInMaking(Protocol):
    """What is asked of the plan while it is made (see `plan.Plan`)."""

    rigs: dict[int, Skeleton]
    readers: dict[int, FkReader]
    units: list[Unit]
    groups: dict[int, set[int]]


@dataclass
class Foresight:
    """What is known of the armatures of a plan ahead of an evaluation.

    Attributes:
        known: Those that can be solved then.
        timed: Those of them whose input may change with the frame.
        moving: Those of them that Blender evaluates at each frame, whatever is solved. The others
            it has to evaluate once in any case, and what they depend on costs less to read after
            it has been evaluated.
        sources: For the name of each data-block the armatures that depend on it, or are it.
        curves: The F-curves of animated objects among what the known ones depend on.
        placed: Those objects of them whose place, turn or size F-curves set.
        turned: Those of them that F-curves turn or size.
        switched: The bones of armatures, by name, with constraints of Blender's that F-curves or
            drivers turn on and off.
        animated: For each armature the slots (see `KINDS`) that F-curves or drivers set of those
            that chains pose.
        moded: The armatures of which they set a rotation mode.
        drivers: For each armature how many drivers it has.
        signatures: All objects that were looked at, with what tells how they are animated.
    """

    known: set[int] = field(default_factory=set)
    timed: set[int] = field(default_factory=set)
    moving: set[int] = field(default_factory=set)
    sources: dict[str, set[int]] = field(default_factory=dict)
    curves: dict[int, Curves] = field(default_factory=dict)
    placed: set[int] = field(default_factory=set)
    turned: set[int] = field(default_factory=set)
    switched: set[tuple[int, str]] = field(default_factory=set)
    animated: dict[int, set[int]] = field(default_factory=dict)
    moded: set[int] = field(default_factory=set)
    drivers: dict[int, int] = field(default_factory=dict)
    signatures: list[tuple[bpy.types.Object, object]] = field(default_factory=list)

    def concerned(self, tagged: Iterable[str], is_frame_change: bool) -> set[int]:
        """Return the known armatures that change with data-blocks, given by name, or the frame."""
        found = set(self.moving) if is_frame_change else set[int]()
        return found.union(*[self.sources[name] for name in tagged if name in self.sources])

    def is_outdated(self) -> bool:
        """Return whether other channels of an object are animated by now."""
        return any(animation.signature(ob) != known for ob, known in self.signatures)


def driver_count(ob: bpy.types.Object) -> int:
    """Return how many drivers an object has."""
    data = ob.animation_data
    return len(data.drivers) if data else 0


def foresight_of(plan: PlanInMaking) -> Foresight:
    """Find out what is known of the armatures of a plan, and what is animated of their poses."""
    foresight = Foresight()
    foresight.drivers = {uid: driver_count(rig.object) for uid, rig in plan.rigs.items()}
    for uid, reader in plan.readers.items():
        found = animation.animated(reader.rig.object)
        foresight.switched |= _switched(reader.rig, found)
        foresight.animated[uid] = _animated(reader, found)
        if reader.slots and found.has_modes:
            foresight.moded.add(uid)
    units: dict[int, list[Unit]] = {}
    for unit in plan.units:
        units.setdefault(unit.rig.uid, []).append(unit)
    looked: set[int] = set()
    for uid in plan.rigs:
        group = plan.groups.get(uid, {uid})
        if uid not in looked:
            looked |= group
            own = [unit for one in group for unit in units.get(one, ())]
            _look_at_group(foresight, group, own)
    return foresight


def _look_at_group(foresight: Foresight, group: set[int], units: list[Unit]) -> None:
    """Find out what is known of armatures that are evaluated together."""
    walk = _Walk(foresight)
    is_known = False
    with contained("could not look ahead"):
        is_known = walk.knows(units)
    foresight.signatures += [(ob, animation.signature(ob)) for ob in walk.objects]
    if not is_known:
        return
    foresight.known |= group
    foresight.curves |= walk.curves
    for animated, curves in walk.curves.items():
        channels = OBJECT_CHANNELS & curves.places.keys()
        foresight.placed |= {animated} if channels else set()
        foresight.turned |= {animated} if channels - PLACES else set()
    if walk.curves:
        foresight.timed |= group
    if not group.isdisjoint(walk.curves):
        foresight.moving |= group
    for source in walk.sources:
        foresight.sources.setdefault(source, set()).update(group)


def _animated(reader: FkReader, found: animation.Channels) -> set[int]:
    """Return the slots that F-curves or drivers set of those that chains pose."""
    rig, slots = reader.rig, set[int]()
    for path in {path for path, _ in found.keyed | found.driven}:
        name, channel = split_bone_path(path)
        if channel in KIND_OF and name in rig.index:
            slots.add(rig.slot(KIND_OF[channel], rig.index[name]))
    return slots.intersection(reader.slots)


def _switched(rig: Skeleton, found: animation.Channels) -> set[tuple[int, str]]:
    """Return the bones with constraints of Blender's that F-curves or drivers turn on and off."""
    paths = [path for path, _ in found.keyed | found.driven if path.endswith(SWITCHES)]
    bones = [name for name, rest in map(split_bone_path, paths) if rest.startswith("constraints[")]
    return {(rig.uid, name) for name in bones}


class _Walk:
    """A walk upwards from the chains of armatures that are solved together."""

    def __init__(self, foresight: Foresight) -> None:
        self.foresight = foresight
        self.sources: set[str] = set()
        self.objects: list[bpy.types.Object] = []
        self.curves: dict[int, Curves] = {}
        self._objects: dict[int, bool] = {}
        self._reached: dict[int, set[str]] = {}

    def knows(self, units: Iterable[Unit]) -> bool:
        """Return whether all that some units are solved from is known."""
        found: list[bool] = []
        starts: list[Node] = []
        for unit in units:
            found.append(isinstance(unit, ChainPlan | BodyPlan))
            for chain in chains_of(unit):
                found.append(self._knows_chain(chain))
                starts += _starts(chain) if found[-1] else ()

        def relations(node: Node) -> Iterable[Node]:
            found.append(self._knows(node))
            return parents(node) if found[-1] else ()

        for _ in walk_dependencies(starts, relations):
            pass
        return all(found)

    def _knows_chain(self, chain: ChainPlan) -> bool:
        rig, foresight = chain.rig, self.foresight
        if not self._knows_object(rig.object) or not self._settings(rig.object):
            return False
        if foresight.animated[rig.uid] or rig.uid in foresight.moded:
            return False  # What is written ahead would be overwritten.
        is_plain = chain.motion is None and chain.goal_source is None and not chain.watched
        return bool(chain.problem) or is_plain

    def _settings(self, ob: bpy.types.Object) -> bool:
        data = ob.animation_data
        drivers = data.drivers if data else ()
        return not any(curve.data_path.startswith("fabrik.") for curve in drivers)

    def _knows(self, node: Node) -> bool:
        """Return whether all is known of what an object or bone does itself."""
        ob, bone = node
        if not self._knows_object(ob):
            return False
        return bone < 0 or self._knows_bone(ob, skeleton_of(ob).names[bone])

    def _knows_object(self, ob: bpy.types.Object) -> bool:
        uid = ob.session_uid
        if uid not in self._objects:
            self._objects[uid] = self._look_at(ob)
        return self._objects[uid]

    def _look_at(self, ob: bpy.types.Object) -> bool:
        self.sources.add(ob.name)
        self.objects.append(ob)
        if isinstance(ob.data, bpy.types.ID):
            self.sources.add(ob.data.name)
        if any(not con.mute for con in ob.constraints) or ob.rigid_body is not None:
            return False
        if ob.soft_body is not None or not self._animation(ob):
            return False
        return ob.parent is None or (ob.parent_type in PARENTS and ob.parent.type != "CURVE")

    def _animation(self, ob: bpy.types.Object) -> bool:
        """Return whether the animation of an object is of a kind that is known."""
        data: Any = ob.animation_data
        if data is None:
            return True
        if data.nla_tracks or any(_places(curve.data_path) for curve in data.drivers):
            return False
        curves = Curves(ob)
        if len(curves.refresh()) > 1:
            return False
        if curves.places:
            self.curves[ob.session_uid] = curves
        return all(path in OBJECT_CHANNELS for path in curves.places if _places(path))

    def _knows_bone(self, ob: bpy.types.Object, name: str) -> bool:
        constraints = pose_bones(ob)[name].constraints
        return all(con.mute for con in constraints) and name not in self._native(ob)

    def _native(self, ob: bpy.types.Object) -> set[str]:
        """Return the bones that something else moves than their channels, and curves of these."""
        uid = ob.session_uid
        if uid not in self._reached:
            self._reached[uid] = _by_constraints(ob) | self._by_animation(ob)
        return self._reached[uid]

    def _by_animation(self, ob: bpy.types.Object) -> set[str]:
        """Return the bones of which a driver, or an F-curve of no channel, sets anything."""
        bones = pose_bones(ob).keys()
        rests = animation.all_curves(cast(Any, ob.data))
        if any(c.data_path.startswith("bones[") and not HIDES.search(c.data_path) for c in rests):
            return set(bones)
        data = ob.animation_data
        curves = self.curves.get(ob.session_uid)
        driven = [split_bone_path(curve.data_path) for curve in (data.drivers if data else ())]
        keyed = [split_bone_path(path) for path in (curves.places if curves else ())]
        other = [(name, rest) for name, rest in keyed if rest not in BONE_CHANNELS]
        return {name for name, _ in (*driven, *other)} & set(bones)


def _starts(chain: ChainPlan) -> list[Node]:
    """Return what a chain is solved from: none if it is not."""
    if chain.problem:
        return [(chain.rig.object, -1)]
    bones = (*chain.bones, chain.tip_bone)
    return [*((chain.rig.object, bone) for bone in bones), *map(node_at, chain.needs())]


HIDES = re.compile(r"\.hide(_\w+)?$")


def _by_constraints(ob: bpy.types.Object) -> set[str]:
    """Return the bones that Blender's IK poses."""
    found: set[str] = set()
    for bone in pose_bones(ob):
        for con in bone.constraints:
            if con.type in ("IK", "SPLINE_IK") and not con.mute:
                found |= _reached_by(bone, con.chain_count)
    return found


def _places(path: str) -> bool:
    """Return whether a property of an object decides where it stands."""
    return path.startswith(PLACING)


def _reached_by(bone: Any, count: int) -> set[str]:
    """Return the bones that one of Blender's constraints on a bone poses."""
    found: set[str] = set()
    while bone is not None and (count == 0 or len(found) <= count):
        found.add(bone.name)
        bone = bone.parent
    return found
