"""Which constraints there are, what they hang on, and in which order they are solved.

The plan holds what does not change from frame to frame. It is thrown away when a setting of that
kind changes, when Blender rebuilds its own relations, and when references to objects die (load,
undo); and made anew when it is next needed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

import bpy

from . import dependencies
from .access import free_name, pose_bones, settings
from .body_plan import Unit, chains_of
from .chain_plan import ChainPlan
from .foresight import Foresight, driver_count, foresight_of
from .motion.carrier import Carrier
from .motion.carriers import carriers_of
from .native import active_constraints
from .order import Order
from .pose import Pose
from .resolving import resolved
from .skeleton import Skeleton, forget_skeletons, have_skeletons_changed, skeleton_of


@dataclass(eq=False, slots=True)
class Plan:
    """All constraints of the file.

    Attributes:
        units: Chains, and bodies of chains that are solved together, in the order of solving.
        chains: All constraints.
        rigs: The armatures with constraints or walks.
        posed: For each armature the bones that chains pose.
        moved: For each armature the bones that are posed, or hang on a posed bone.
        carried: Objects that hang on a moved bone.
        groups: For each armature all that are evaluated whenever it is.
        keys: For each armature the keys of its constraints, in the list's order.
        poses: What the armatures hold, looked at again at each update.
        timed: The armatures whose solutions depend on the time itself.
        watched: For each object that solutions depend on besides targets and poles their armatures.
        foresight: What is known of them ahead of an evaluation.
        copied: For the name of each armature object and its data the armatures copied with it.
        freed: The armatures that show more of the plan before than this one poses.
        left: Armatures without constraints that Blender is told of dependencies of.
        active: The bones with constraints of Blender's that count, and the names of those that act.
        objects: All objects that were looked at, each with what tells of it that it is as it was.
        file: What tells whether the file has other objects.
        is_declared: Whether Blender was told what the armatures depend on.
        remembered: How many bones' solutions the chains remember.
    """

    units: list[Unit] = field(default_factory=list)
    chains: list[ChainPlan] = field(default_factory=list)
    rigs: dict[int, Skeleton] = field(default_factory=dict)
    posed: dict[int, set[int]] = field(default_factory=dict)
    moved: dict[int, set[int]] = field(default_factory=dict)
    carried: set[int] = field(default_factory=set)
    groups: dict[int, set[int]] = field(default_factory=dict)
    keys: dict[int, list[int]] = field(default_factory=dict)
    poses: dict[int, Pose] = field(default_factory=dict)
    timed: set[int] = field(default_factory=set)
    watched: dict[int, set[int]] = field(default_factory=dict)
    foresight: Foresight = field(default_factory=Foresight)
    copied: dict[str, list[int]] = field(default_factory=dict)
    freed: dict[int, bpy.types.Object] = field(default_factory=dict)
    left: list[bpy.types.Object] = field(default_factory=list)
    active: list[tuple[Skeleton, str, list[str]]] = field(default_factory=list)
    objects: list[tuple[bpy.types.Object, object]] = field(default_factory=list)
    file: bytes = b""
    is_declared: bool = False
    remembered: int = 0

    def is_as_made(self, tagged: Set[str]) -> bool:
        """Return whether the plan still holds after Blender has rebuilt its relations.

        Blender does so for many an edit that is no concern of the plan. It tags what was edited,
        but for drivers that were removed, first keys, and what pointed to an object that is gone.

        Args:
            tagged: The names of the data-blocks that were tagged before.
        """
        try:
            for ob, was in self.objects:
                now = _told_of(ob)
                if now != was or not tagged.isdisjoint(now[:2]):
                    return False
        except ReferenceError:  # It was removed.
            return False
        file = _objects_of_file()
        if file != self.file:
            if any(_has_settings(ob) for ob in bpy.data.objects if ob.session_uid not in self.rigs):
                return False
            self.file = file
        return not self.stale(self.rigs)

    def has_other_actors(self) -> bool:
        """Return whether one of Blender's constraints on a bone was turned on or off."""
        return any(
            _active(pose_bones(rig.object)[bone]) != names for rig, bone, names in self.active
        )

    def changes_with_time(self, uid: int) -> bool:
        """Return whether an armature may be posed otherwise at each frame by itself."""
        return self.poses[uid].is_animated or uid in self.timed

    def look_at_animation(self) -> None:
        """Find out anew what is known ahead of an evaluation, if other channels are animated."""
        if self.foresight.is_outdated():
            self.foresight = foresight_of(self)
        for curves in self.foresight.curves.values():
            curves.forget()

    def has_new_drivers(self) -> bool:
        """Return whether an armature has more drivers or fewer, which Blender tells nobody."""
        count = self.foresight.drivers
        return any(count[uid] != driver_count(rig.object) for uid, rig in self.rigs.items())

    def stale(self, among: Iterable[int]) -> set[int]:
        """Return the armatures whose list a script changed, which Blender tells nobody."""
        return {uid for uid in among if _keys(self.rigs[uid].object) != self.keys[uid]}

    def posed_names(self, uid: int) -> set[tuple[str, int]]:
        """Return what chains pose of an armature: names of bones, each with a place in `KINDS`."""
        fk_pose, names = self.poses[uid].fk_pose, self.rigs[uid].names
        slots = fk_pose.posed if fk_pose else ()
        return {(names[slot % len(names)], slot // len(names)) for slot in slots}


_plan: Plan | None = None
_is_being_made = False
_followed: set[int] = set()

_shown: dict[int, tuple[bpy.types.Object, set[tuple[str, int]]]] = {}
"""What the plans before posed of each armature."""


def discard(skeletons: bool = False) -> None:
    """Throw the plan away, and the armatures' rest poses if these may have changed or died."""
    global _plan
    for uid, rig in _plan.rigs.items() if _plan else ():
        before = _shown.get(uid, (rig.object, set[tuple[str, int]]()))[1]
        _shown[uid] = rig.object, before | cast(Plan, _plan).posed_names(uid)
    _plan = None
    if skeletons:
        forget_skeletons()


def forget_shown() -> None:
    """Forget what was posed: all armatures show what their channels hold."""
    _shown.clear()


def is_outdated() -> bool:
    """Return whether an armature differs from what the plan was made for."""
    return have_skeletons_changed() or (_plan is not None and _plan.has_other_actors())


def discard_if_outdated() -> None:
    """Throw away what does not hold any more: without constraints no update asks for it."""
    if is_outdated():
        discard(skeletons=True)


def is_empty() -> bool:
    """Return whether it is known that there are no constraints."""
    return _plan is not None and not _plan.rigs


def known() -> Plan | None:
    """Return the plan if there is one.

    None is made, which would write to the file: Blender's drawing may ask.
    """
    return _plan


def partners(armature: bpy.types.Object, index: int) -> list[str]:
    """Return the names of the constraints that one is solved together with, as far as is known."""
    plan = known()
    for unit in plan.units if plan else ():
        if unit.rig.uid == armature.session_uid and index in unit.items:
            return [chain.name for chain in chains_of(unit) if chain.item != index]
    return []


def current() -> Plan:
    """Return the plan, made anew if it was thrown away."""
    global _plan, _is_being_made
    if _plan is None:
        # Following a renamed bone writes to the constraint, which throws the plan away; not this.
        _is_being_made = True
        try:
            plan = _make()
        finally:
            _is_being_made = False
        for uid, (ob, names) in _shown.items():
            if uid not in plan.rigs or not names <= plan.posed_names(uid):
                plan.freed[uid] = ob
        _shown.clear()
        _plan = plan
    return _plan


def is_being_made() -> bool:
    """Return whether settings that change now are changed by ourselves, to follow new names."""
    return _is_being_made


def note_followed(armature: bpy.types.Object) -> None:
    """Remember that a setting of an armature has followed a new name, which Blender has noticed."""
    _followed.add(armature.session_uid)


def take_followed() -> set[int]:
    """Return the armatures of which that is so since this was asked last."""
    was = set(_followed)
    _followed.clear()
    return was


def _make() -> Plan:
    plan = Plan()
    chains: list[ChainPlan] = []
    carrying: list[Carrier] = []
    for ob in bpy.data.objects:
        if not _has_settings(ob):
            if ob.type == "ARMATURE" and dependencies.NAME in ob:
                plan.left.append(ob)
            continue
        _name_apart(ob)
        rig = skeleton_of(ob)
        own = [resolved(rig, i) for i in range(len(settings(ob).constraints))]
        chains += own
        carriers = carriers_of(rig, own)
        carrying += carriers
        plan.rigs[rig.uid] = rig
        members = (*carriers, *own)
        posed = {slot for member in members for slot in (*member.bones, *member.more)}
        plan.posed[rig.uid] = {slot % len(rig.names) for slot in posed}
        plan.moved[rig.uid] = rig.below(plan.posed[rig.uid])
        plan.keys[rig.uid] = _keyed(ob)
        for block in (ob, cast(bpy.types.ID, ob.data)):
            plan.copied.setdefault(block.name, []).append(rig.uid)
        asked = {bone for chain in own for _, bone in chain.joints.asked}
        plan.poses[rig.uid] = Pose(rig, posed, asked)
    order = Order(carrying, chains, plan.posed, plan.moved)
    plan.chains = chains
    plan.units = order.ordered()
    plan.carried = order.carried
    plan.groups = order.groups()
    plan.active = _all_active(plan, order)
    for member in (*carrying, *chains):
        uid = member.rig.uid
        if member.is_timed:
            plan.timed.add(uid)
        for watched in member.watched:
            plan.watched.setdefault(watched.session_uid, set()).add(uid)
    plan.foresight = foresight_of(plan)
    objects = [*order.visited, *(ob for ob, _ in plan.foresight.signatures)]
    for rig in plan.rigs.values():
        objects += [ob for ob, _ in dependencies.sources(rig.object)]
    objects += [*plan.left, *(rig.object for rig in plan.rigs.values())]
    plan.objects = [(ob, _told_of(ob)) for ob in dict.fromkeys(objects)]
    plan.file = _objects_of_file()
    return plan


def _told_of(ob: bpy.types.Object) -> tuple[str, str, object]:
    """Return the names of an object and its data, and what of it Blender tells nobody."""
    data = ob.animation_data
    animation = (len(data.drivers), data.action is None, len(data.nla_tracks)) if data else ()
    ours: object = None
    if ob.type == "ARMATURE":
        ours = settings(ob).constraints.keys(), dependencies.sources(ob)
    return ob.name, ob.data.name if isinstance(ob.data, bpy.types.ID) else "", (animation, ours)


def _objects_of_file() -> bytes:
    objects = bpy.data.objects
    uids = array("i", bytes(4 * len(objects)))
    objects.foreach_get("session_uid", uids)
    return uids.tobytes()


def _has_settings(ob: bpy.types.Object) -> bool:
    """Return whether an object has constraints or walks."""
    if ob.type != "ARMATURE" or ob.pose is None:
        return False
    return len(settings(ob).constraints) > 0 or len(settings(ob).gaits) > 0


def _all_active(plan: Plan, order: Order) -> list[tuple[Skeleton, str, list[str]]]:
    """Return the bones with constraints of Blender's that count for the plan."""
    found: list[tuple[Skeleton, str, list[str]]] = []
    for rig in plan.rigs.values():
        bones = pose_bones(rig.object)
        asked = {bone for uid, bone in order.looked if uid == rig.uid and bone >= 0}
        for name in [rig.names[bone] for bone in asked | plan.posed[rig.uid]]:
            if bones[name].constraints:
                found.append((rig, name, _active(bones[name])))
    return found


def _active(bone: bpy.types.PoseBone) -> list[str]:
    return [con.name for con in active_constraints(bone)]


def _keys(ob: bpy.types.Object) -> list[int]:
    items = settings(ob).constraints
    keys = array("i", bytes(4 * len(items)))
    items.foreach_get("key", keys)
    return keys.tolist()


def _keyed(ob: bpy.types.Object) -> list[int]:
    """Return the keys of an armature's constraints, after giving one to those without."""
    keys = _keys(ob)
    for i, key in enumerate(keys):
        if key == 0 or key in keys[:i]:
            settings(ob).constraints[i].key = keys[i] = max(keys) + 1
    return keys


def _name_apart(ob: bpy.types.Object) -> None:
    """Let all constraints and walks have names of their own, as whatever is in Blender's lists.

    By nothing else does a library override know later which of them a value is for.
    """
    if ob.library is not None or ob.override_library is not None:
        return
    for collection in ("constraints", "gaits"):
        items = getattr(settings(ob), collection)
        names = items.keys()
        for i, name in enumerate(names):
            if name in names[:i]:
                names[i] = free_name(ob, name, collection)
                # While a panel is drawn Blender refuses: then they keep theirs until the next plan.
                with suppress(AttributeError):
                    items[i].name = names[i]
