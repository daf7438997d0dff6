"""Which constraints there are, what they hang on, and in which order they are solved.

The plan holds what does not change from frame to frame. It is thrown away when a setting of that
kind changes, when Blender rebuilds its own relations, and when references to objects die (load,
undo); and made anew when it is next needed.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Container, Iterable, Set
from dataclasses import dataclass, field

import bpy

from ..blender import dependency_driver
from ..blender.access import pose_bones
from ..blender.forgetting import forgets
from ..blender.relations import active_constraints, replaces_pose
from ..blender.skeleton import (
    Skeleton,
    forget_skeletons,
    have_bones_changed,
    have_skeletons_changed,
    skeletons_by_name,
)
from . import changes, dependencies, keeping
from .body_plan import Unit, chains_of
from .chain_plan import ChainPlan
from .fk_pose import FkReader
from .foresight import Foresight, driver_count, foresight_of
from .order import Order
from .part import Part, has_settings, part_of
from .properties import settings
from .settings_now import form
from .write import PoseWriter


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
        readers: What reads the armatures at each update.
        writers: What writes them.
        animated: Those whose channels and settings Blender may change at any frame.
        timed: The armatures whose solutions depend on the time itself.
        driven: Those of which drivers set anything of ours besides what is read at each frame:
            nobody tells of it.
        sources: For each object that constraints or walks name the armatures of these.
        watched: For each object that solutions depend on besides targets and poles their armatures.
        foresight: What is known of them ahead of an evaluation.
        read: All armatures that were read, by the names of their objects and data.
        copied: For the name of each armature object and its data the armatures copied with it.
        freed: The armatures that show more of the plan before than this one poses.
        left: Armatures without constraints that Blender is told of dependencies of.
        active: The bones with constraints of Blender's that count, and those that act,
            each with whether it replaces the pose.
        is_declared: Whether Blender was told what the armatures depend on.
        is_solved: Whether an update was solved by it.
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
    readers: dict[int, FkReader] = field(default_factory=dict)
    writers: dict[int, PoseWriter] = field(default_factory=dict)
    animated: set[int] = field(default_factory=set)
    timed: set[int] = field(default_factory=set)
    driven: set[int] = field(default_factory=set)
    sources: dict[int, set[int]] = field(default_factory=dict)
    watched: dict[int, set[int]] = field(default_factory=dict)
    foresight: Foresight = field(default_factory=Foresight)
    read: dict[str, list[Skeleton]] = field(default_factory=dict)
    copied: dict[str, list[int]] = field(default_factory=dict)
    freed: dict[int, bpy.types.Object] = field(default_factory=dict)
    left: list[bpy.types.Object] = field(default_factory=list)
    active: list[tuple[Skeleton, str, list[tuple[str, bool]]]] = field(default_factory=list)
    is_declared: bool = False
    is_solved: bool = False
    remembered: int = 0

    def has_other_actors(self, edited: Container[int]) -> bool:
        """Return whether one of Blender's constraints on a bone was turned on or off.

        Args:
            edited: The armatures with bones of which constraints may have been edited: elsewhere
                only animation turns them on and off.
        """
        animated = self.foresight.switched
        return any(
            _active(pose_bones(rig.object)[bone]) != names
            for rig, bone, names in self.active
            if rig.uid in edited or (rig.uid, bone) in animated
        )

    def changes_with_time(self, uid: int) -> bool:
        """Return whether an armature may be posed otherwise at each frame by itself."""
        return uid in self.animated or uid in self.timed

    def look_at_animation(self) -> None:
        """Find out anew what is known ahead of an evaluation, if other channels are animated."""
        if self.foresight.is_outdated() and self.has_same_bones(self.rigs):
            self.foresight = foresight_of(self)
        for curves in self.foresight.curves.values():
            curves.forget()

    def has_same_bones(self, among: Iterable[int]) -> bool:
        """Return whether armatures have the bones that the plan was made for."""
        return all(self.rigs[uid].has_same_bones() for uid in among)

    def has_same_names(self, tagged: Set[str]) -> bool:
        """Return whether bones have the names that they had.

        Args:
            tagged: The names of the data-blocks that Blender has been told of changes of.
        """
        found = [rig for name in tagged if name in self.read for rig in self.read[name]]
        return all([rig.has_same_names() for rig in dict.fromkeys(found)])

    def has_new_drivers(self) -> bool:
        """Return whether an armature has more drivers or fewer, which Blender tells nobody."""
        count = self.foresight.drivers
        return any(count[uid] != driver_count(rig.object) for uid, rig in self.rigs.items())

    def stale(self, among: Iterable[int]) -> set[int]:
        """Return the armatures of which a script changed a list, which Blender tells nobody."""
        return {uid for uid in among if _parts[uid].is_stale()}


_plan: Plan | None = None

_parts: dict[int, Part] = {}
"""What is known of each armature."""

_looked: list[tuple[bpy.types.Object, object]] = []
"""All objects that were looked at for the last plan, each with what tells that it is as it was."""

_file = array("i")
"""The numbers of all objects that the file had for the last plan."""

_shown: dict[int, tuple[bpy.types.Object, set[tuple[str, int]]]] = {}
"""What the plans before posed of each armature."""


def discard(skeletons: bool = False) -> None:
    """Throw all away, and the armatures' rest poses if these may have changed or died."""
    _discard(list(_parts))
    if skeletons:
        forget_skeletons()
        _looked.clear()


@changes.structure
def discard_of(block: bpy.types.ID) -> None:
    """Throw away what is known of an armature object, or of all those with an armature."""
    _discard([uid for uid, part in _parts.items() if block.session_uid in part.uids])


def _discard(rigs: Iterable[int]) -> None:
    global _plan
    for uid in rigs:
        part = _parts.pop(uid)
        before = _shown.get(uid, (part.rig.object, set[tuple[str, int]]()))[1]
        _shown[uid] = part.rig.object, before | part.names
    _plan = None


def revise(tagged: Set[str], armatures: Collection[bpy.types.ID]) -> None:
    """Throw away what does not hold any more after Blender has rebuilt its relations.

    Blender does so for many an edit that is no concern of the plan. It tags what was edited, but
    for drivers that were removed, first keys, and what pointed to an object that is gone.

    Args:
        tagged: The names of the data-blocks that were tagged before.
        armatures: The armatures that were updated: they may have been in Edit Mode.
    """
    try:
        forget_skeletons(armatures)
        changed = {
            ob.session_uid
            for ob, was in _looked
            for now in [_told_of(ob)]
            if now != was or not tagged.isdisjoint(now[:2]) or ob.data in armatures
        }
        stale = {uid for uid, part in _parts.items() if part.is_stale()}
    except ReferenceError:  # Something was removed.
        discard(skeletons=True)
        return
    outdated = stale | {uid for uid, part in _parts.items() if changed & {uid, *part.sources}}
    if changed or outdated or _has_new_armatures():
        _discard(outdated)


def _has_new_armatures() -> bool:
    """Return whether the file has got armatures with constraints."""
    global _file
    before, _file = _file, _objects_of_file()
    if before == _file:
        return False
    known = set(before)
    new = [ob for ob, uid in zip(bpy.data.objects, _file, strict=True) if uid not in known]
    return any(map(has_settings, new))


@forgets
def forget() -> None:
    """Keep nothing of the file, in which all armatures show what their channels hold."""
    discard(skeletons=True)
    _shown.clear()


def is_outdated(
    edited: Collection[bpy.types.ID] | None = None,
    renamed: Collection[bpy.types.ID] = (),
    moved: Container[int] | None = None,
) -> bool:
    """Return whether an armature differs from what the plan was made for.

    Args:
        edited: The armature data that may have changed in any way, as far as it is relied on; None
            for all, and wholly.
        renamed: That of which nothing but names of bones may have.
        moved: The armatures with bones of which constraints may have been edited; None for all.
    """
    if renamed and have_bones_changed(renamed):
        return True
    if edited is not None and not edited:
        return False
    if have_skeletons_changed(edited):
        return True
    return _plan is not None and _plan.has_other_actors(_plan.rigs if moved is None else moved)


def discard_if_outdated() -> None:
    """Throw away what does not hold any more: without constraints no update asks for it."""
    if is_outdated():
        discard(skeletons=True)


def is_empty() -> bool:
    """Return whether it is known that there are no constraints."""
    return _plan is not None and not _plan.rigs


def known() -> Plan | None:
    """Return the plan if there is one.

    None is made, for which there is no time: Blender's drawing may ask.
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
    global _plan
    if _plan is None:
        if have_bones_changed():  # Of an armature that is hidden Blender tells nobody.
            discard(skeletons=True)
        plan = _make()
        for uid, (ob, names) in _shown.items():
            if uid not in plan.rigs or not names <= _parts[uid].names:
                plan.freed[uid] = ob
        _shown.clear()
        _plan = plan
    return _plan


def kept() -> Plan:
    """Return the plan, and write what it found out and the file is to keep.

    It is for updates of viewports, never for a render or a drawing.
    """
    plan = current()
    if not keeping.is_due():
        return plan
    known = {uid: _parts[uid] for uid in keeping.planned() & _parts.keys()}
    outdated = {uid for uid, part in known.items() if part.is_stale()}
    outdated |= keeping.keep() & known.keys()
    for uid in known.keys() - outdated:
        known[uid].look_again()
    if outdated:  # Also where what is wrong with some tells the names of others.
        _discard(outdated)
        plan = current()
    return plan


def _make() -> Plan:
    plan = Plan(left=[ob for ob in bpy.data.objects if _is_left(ob)])
    parts = _all_parts()
    for uid, part in parts.items():
        plan.rigs[uid] = part.rig
        plan.readers[uid], plan.writers[uid] = part.reader, part.writer
        if part.is_animated:
            plan.animated.add(uid)
        plan.posed[uid], plan.moved[uid], plan.keys[uid] = part.posed, part.moved, part.keys
        for name in part.blocks:
            plan.copied.setdefault(name, []).append(uid)
        if _is_driven(part.rig.object):
            plan.driven.add(uid)
        for source in part.sources:
            plan.sources.setdefault(source, set()).add(uid)
    plan.chains = [chain for part in parts.values() for chain in part.chains]
    carrying = [bone for part in parts.values() for bone in part.pre_pass]
    order = Order(carrying, plan.chains, plan.posed, plan.moved)
    plan.units = order.ordered()
    plan.carried = order.carried
    plan.groups = order.groups()
    plan.active = _all_active(plan, order)
    plan.remembered = sum([len(unit.bones) * len(unit.answers) for unit in plan.units])
    for member in (*carrying, *plan.chains):
        uid = member.rig.uid
        if member.is_timed:
            plan.timed.add(uid)
        for watched in member.watched:
            plan.watched.setdefault(watched.session_uid, set()).add(uid)
    plan.foresight = foresight_of(plan)
    plan.read = skeletons_by_name()
    _remember_looked(plan, order)
    return plan


def _all_parts() -> dict[int, Part]:
    """Return what is known of each armature with constraints or walks, as if of it alone."""
    present: dict[int, Part] = {}
    for ob in bpy.data.objects:
        if has_settings(ob):
            uid = ob.session_uid
            present[uid] = _parts.get(uid) or part_of(ob)
            present[uid].start()
    _parts.clear()
    _parts.update(present)
    return present


def _remember_looked(plan: Plan, order: Order) -> None:
    """Remember what the plan was made of."""
    global _looked, _file
    looked = [*order.visited, *(ob for ob, _ in plan.foresight.signatures), *plan.left]
    for rig in plan.rigs.values():
        looked += [rig.object, *(source for source, _ in dependencies.sources(rig.object))]
    _looked = [(ob, _told_of(ob)) for ob in dict.fromkeys(looked)]
    _file = _objects_of_file()


def _is_driven(ob: bpy.types.Object) -> bool:
    """Return whether drivers set anything of the extension's besides what is read at each frame."""
    data = ob.animation_data
    paths = [curve.data_path for curve in data.drivers] if data else []
    ours = [path for path in paths if "fabrik" in path and path != dependency_driver.PATH]
    plain = [path for path in ours if path.startswith("fabrik.constraints[")]
    names = form().names
    return len(ours) > len([path for path in plain if path.split("].")[-1] in names])


def _is_left(ob: bpy.types.Object) -> bool:
    return ob.type == "ARMATURE" and dependency_driver.NAME in ob and not has_settings(ob)


def _told_of(ob: bpy.types.Object) -> tuple[str, str, object]:
    """Return the names of an object and its data, and what of it Blender tells nobody."""
    data = ob.animation_data
    animation = (len(data.drivers), data.action is None, len(data.nla_tracks)) if data else ()
    part = _parts.get(ob.session_uid)
    ours: object = None
    if part is not None:
        within = [[one.session_uid for one in group.all_objects] for group in part.collections]
        ours = settings(ob).constraints.keys(), within
    return ob.name, ob.data.name if isinstance(ob.data, bpy.types.ID) else "", (animation, ours)


def _objects_of_file() -> array[int]:
    objects = bpy.data.objects
    uids = array("i", bytes(4 * len(objects)))
    objects.foreach_get("session_uid", uids)
    return uids


def _all_active(plan: Plan, order: Order) -> list[tuple[Skeleton, str, list[tuple[str, bool]]]]:
    """Return the bones with constraints of Blender's that count for the plan."""
    counting = {uid: set(bones) for uid, bones in plan.posed.items()}
    for uid, bone in order.looked:
        if uid in counting and bone >= 0:
            counting[uid].add(bone)
    for chain in plan.chains:  # Those that cannot be solved pose nothing, perhaps for this reason.
        counting[chain.rig.uid].update(chain.bones)
    found: list[tuple[Skeleton, str, list[tuple[str, bool]]]] = []
    for uid, rig in plan.rigs.items():
        bones = pose_bones(rig.object)
        for name in [rig.names[bone] for bone in counting[uid]]:
            if bones[name].constraints:
                found.append((rig, name, _active(bones[name])))
    return found


def _active(bone: bpy.types.PoseBone) -> list[tuple[str, bool]]:
    return [(con.name, replaces_pose(con)) for con in active_constraints(bone)]
