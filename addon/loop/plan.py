"""The plan: all constraints, their dependencies and the order of solving.

It holds what does not change from frame to frame. It is discarded when such a setting changes, when
Blender rebuilds relations that it uses, and when references become invalid (load, undo), and made
again on demand.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass, field

import bpy

from ..blender import dependency_driver
from ..blender.access import pose_bones
from ..blender.listeners import on_invalidate
from ..blender.relations import active_constraints, replaces_pose
from ..blender.skeleton import (
    Skeleton,
    forget_skeletons,
    have_bones_changed,
    have_skeletons_changed,
    skeletons_by_name,
)
from ..settings import notifications
from ..settings.properties import settings, settings_form
from . import deferred, dependencies
from .armature_plan import ArmaturePlan, has_settings, plan_armature
from .bodies import tie_to_bodies
from .chain_plan import ChainPlan
from .fk_pose import FkReader
from .lookahead import Lookahead, driver_count, lookahead_of
from .order import Order
from .tree_plan import Unit, chains_of
from .write import PoseWriter

Active = tuple[str, list[tuple[str, bool]]]
"""The name of a bone, and its active native constraints: name, and whether it `replaces_pose`."""


@dataclass(eq=False, slots=True)
class Plan:
    """All constraints of the file.

    Armatures and objects are identified by their session UIDs.

    Attributes:
        units: All units, in solving order.
        units_of: The same, by armature.
        chains: All constraints.
        rigs: The armatures with constraints or walks.
        posed: By armature, the posed bones.
        moved: By armature, the posed bones and their descendants.
        carried: Objects that follow a moved bone.
        groups: By armature, all that are evaluated together with it.
        keys: By armature, the keys of its constraints, in the order of the list.
        readers: What reads each armature at each update.
        writers: What writes each armature.
        animated: Armatures whose channels and settings Blender may change at any frame.
        timed: Armatures whose solutions depend on the frame itself.
        driven: Armatures with drivers on settings that are not read at each frame; there is no
            notification of their changes.
        sources: By object that constraints or walks use, the armatures that depend on it.
        watched: The same for objects besides targets and poles.
        lookahead: What is known of the armatures ahead of an evaluation.
        read: All skeletons that were read, by the names of their objects and data.
        copied: By name of an object or data-block, the armatures that are copied with it.
        released: Armatures with bones that the previous plan posed and this one does not.
        orphaned: Armatures without constraints that still have a dependency driver.
        active: By armature, the bones with native constraints that matter.
        is_declared: Whether the dependencies were declared to Blender.
        is_solved: Whether an update was solved with it.
        cached: Number of bones in cached results.
    """

    units: list[Unit] = field(default_factory=list)
    units_of: dict[int, list[Unit]] = field(default_factory=dict)
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
    lookahead: Lookahead = field(default_factory=Lookahead)
    read: dict[str, list[Skeleton]] = field(default_factory=dict)
    copied: dict[str, list[int]] = field(default_factory=dict)
    released: dict[int, bpy.types.Object] = field(default_factory=dict)
    orphaned: list[bpy.types.Object] = field(default_factory=list)
    active: list[tuple[Skeleton, list[Active]]] = field(default_factory=list)
    is_declared: bool = False
    is_solved: bool = False
    cached: int = 0
    _below: dict[Unit, set[int]] = field(default_factory=dict)

    def have_constraints_switched(self, edited: Collection[int]) -> bool:
        """Return whether a native constraint of a bone was enabled or disabled.

        Args:
            edited: Armatures whose bone constraints may have been edited; those of others can only
                be switched by animation.
        """
        animated = self.lookahead.switched
        if not edited and not animated:
            return False
        for rig, active in self.active:
            is_edited = rig.uid in edited
            counting = [one for one in active if is_edited or (rig.uid, one[0]) in animated]
            bones = pose_bones(rig.object) if counting else None
            if bones and any([_active(bones[bone]) != names for bone, names in counting]):
                return True
        return False

    def below(self, unit: Unit) -> set[int]:
        """Return the bones of a unit and their descendants."""
        found = self._below.get(unit)
        if found is None:
            found = self._below[unit] = unit.rig.below(set(unit.bones))
        return found

    def look_at_animation(self) -> None:
        """Update the lookahead, if the set of animated channels has changed."""
        if self.lookahead.is_outdated() and not have_bones_changed():
            self.lookahead = lookahead_of(self.readers, self.units_of, self.groups)
            tie_to_bodies(self.units, self.chains)
        for curves in (*self.lookahead.curves.values(), *self.lookahead.replaced.values()):
            curves.forget()

    def copied_with(self, tagged: Set[str]) -> set[int]:
        """Return the armatures that are copied because of tagged data-blocks, by name."""
        return {uid for name in self.copied.keys() & tagged for uid in self.copied[name]}

    def has_same_names(self, tagged: Set[str]) -> bool:
        """Return whether the names of all bones are unchanged.

        Args:
            tagged: The names of tagged data-blocks.
        """
        found = [rig for name in tagged if name in self.read for rig in self.read[name]]
        return all([rig.has_same_names() for rig in dict.fromkeys(found)])

    def has_new_drivers(self) -> bool:
        """Return whether drivers were added or removed, for which there is no notification."""
        count = self.lookahead.drivers
        return any(count[uid] != driver_count(rig.object) for uid, rig in self.rigs.items())

    def stale(self, among: Iterable[int]) -> set[int]:
        """Return the armatures whose lists a script has changed, without a notification."""
        return {uid for uid in among if _armatures[uid].is_stale()}


_plan: Plan | None = None

_armatures: dict[int, ArmaturePlan] = {}
"""The plan of each armature."""

_examined: list[tuple[bpy.types.Object, object]] = []
"""All objects that the last plan was made from, each with its `_signature`."""

_file = array("i")
"""Session UIDs of all objects in the file at the time of the last plan."""

_shown: dict[int, tuple[bpy.types.Object, set[tuple[str, int]]]] = {}
"""The posed channels of each armature in discarded plans."""


def discard(skeletons: bool = False) -> None:
    """Discard the plan, and skeletons as well if they may have changed or become invalid."""
    _discard(list(_armatures))
    if skeletons:
        forget_skeletons()
        _examined.clear()


@notifications.structure
def discard_of(block: bpy.types.ID) -> None:
    """Discard the plans of an armature object, or of all objects that use armature data."""
    _discard([uid for uid, own in _armatures.items() if block.session_uid in own.uids])


def _discard(rigs: Iterable[int]) -> None:
    global _plan
    for uid in rigs:
        own = _armatures.pop(uid)
        before = _shown.get(uid, (own.rig.object, set[tuple[str, int]]()))[1]
        _shown[uid] = own.rig.object, before | own.names
    _plan = None


def revise(tagged: Set[str], armatures: Collection[bpy.types.ID]) -> None:
    """Discard what is no longer valid after Blender has rebuilt its relations.

    Many such edits do not affect the plan. Blender tags what was edited, except for removed
    drivers, first keys, and pointers to removed objects.

    Args:
        tagged: The names of the data-blocks that were tagged.
        armatures: Updated armature data, which may have been in Edit Mode.
    """
    try:
        forget_skeletons(armatures)
        changed = {
            ob.session_uid
            for ob, was in _examined
            for now in [_signature(ob)]
            if now != was or not tagged.isdisjoint(now[:2]) or ob.data in armatures
        }
        stale = {uid for uid, own in _armatures.items() if own.is_stale()}
    except ReferenceError:  # Something was removed.
        discard(skeletons=True)
        return
    if have_bones_changed():  # Of an armature that was hidden until now, without a notification.
        discard(skeletons=True)
        return
    outdated = stale | {uid for uid, own in _armatures.items() if changed & {uid, *own.sources}}
    if changed or outdated or _has_new_armatures():
        _discard(outdated)


def _has_new_armatures() -> bool:
    """Return whether armatures with constraints were added to the file."""
    global _file
    before, _file = _file, _objects_of_file()
    if before == _file:
        return False
    known = set(before)
    new = [ob for ob, uid in zip(bpy.data.objects, _file, strict=True) if uid not in known]
    return any(map(has_settings, new))


@on_invalidate
def forget() -> None:
    """Forget the file; all armatures show their FK pose."""
    discard(skeletons=True)
    _shown.clear()


def is_outdated(
    edited: Collection[bpy.types.ID] | None = None,
    renamed: Collection[bpy.types.ID] = (),
    moved: Collection[int] | None = None,
) -> bool:
    """Return whether an armature has changed since the plan was made.

    Args:
        edited: Armature data that may have changed, of which only relied-on bones are compared;
            None to compare all bones of all armatures.
        renamed: Armature data in which only names of bones may have changed.
        moved: Armatures whose bone constraints may have been edited; None for all.
    """
    if renamed and have_bones_changed(renamed):
        return True
    if edited is not None and not edited:
        return False
    if have_skeletons_changed(edited):
        return True
    return _plan is not None and _plan.have_constraints_switched(
        _plan.rigs if moved is None else moved
    )


def is_switched() -> bool:
    """Return whether animation has enabled or disabled a native constraint of a bone."""
    return _plan is not None and _plan.have_constraints_switched(())


def discard_if_outdated() -> None:
    """Discard the plan if it is outdated; updates do not check it without constraints."""
    if is_outdated():
        discard(skeletons=True)


def is_used() -> bool:
    """Return whether the file has anything for a plan, which need not have been made."""
    return any(has_settings(ob) or _is_orphaned(ob) for ob in bpy.data.objects)


def is_empty() -> bool:
    """Return whether there is a plan without any constraints."""
    return _plan is not None and not _plan.rigs


def known() -> Plan | None:
    """Return the plan if there is one.

    It makes no plan, so that draw handlers can call it.
    """
    return _plan


def partners(armature: bpy.types.Object, index: int) -> list[str]:
    """Return the names of the constraints that one is solved together with, if there is a plan."""
    plan = known()
    for unit in plan.units if plan else ():
        if unit.rig.uid == armature.session_uid and index in unit.items:
            return [chain.name for chain in chains_of(unit) if chain.item != index]
    return []


def current() -> Plan:
    """Return the plan; make it if there is none."""
    global _plan
    if _plan is None:
        if have_bones_changed():  # There is no notification for hidden armatures.
            discard(skeletons=True)
        plan = _make()
        for uid, (ob, names) in _shown.items():
            if uid not in plan.rigs or not names <= _armatures[uid].names:
                plan.released[uid] = ob
        _shown.clear()
        _plan = plan
    return _plan


def current_after_writes() -> Plan:
    """Return the plan after applying its deferred writes.

    For updates of viewports only, not for renders and draw handlers.
    """
    plan = current()
    if not deferred.is_due():
        return plan
    known = {uid: _armatures[uid] for uid in deferred.planned() & _armatures.keys()}
    outdated = {uid for uid, own in known.items() if own.is_stale()}
    outdated |= deferred.apply() & known.keys()
    for uid in known.keys() - outdated:
        known[uid].reread_lists()
    if outdated:  # Problems may contain names of other constraints.
        _discard(outdated)
        plan = current()
    return plan


def _make() -> Plan:
    plan = Plan(orphaned=[ob for ob in bpy.data.objects if _is_orphaned(ob)])
    armatures = _plan_armatures()
    for uid, own in armatures.items():
        plan.rigs[uid] = own.rig
        plan.readers[uid], plan.writers[uid] = own.reader, own.writer
        if own.is_animated:
            plan.animated.add(uid)
        plan.posed[uid], plan.moved[uid], plan.keys[uid] = own.posed, own.moved, own.keys
        for name in own.blocks:
            plan.copied.setdefault(name, []).append(uid)
        if _is_driven(own.rig.object):
            plan.driven.add(uid)
        for source in own.sources:
            plan.sources.setdefault(source, set()).add(uid)
    plan.chains = [chain for own in armatures.values() for chain in own.chains]
    pre_pass = [bone for own in armatures.values() for bone in own.pre_pass]
    order = Order(pre_pass, plan.chains, plan.posed, plan.moved)
    plan.units = order.ordered()
    plan.units_of = {uid: [] for uid in armatures}
    for unit in plan.units:
        plan.units_of[unit.rig.uid].append(unit)
    tie_to_bodies(pre_pass, plan.chains)
    plan.carried = order.carried
    plan.groups = order.groups()
    plan.active = _all_active(plan, order)
    plan.cached = sum([len(unit.bones) * len(unit.results) for unit in plan.units])
    for member in (*pre_pass, *plan.chains):
        uid = member.rig.uid
        if member.is_timed:
            plan.timed.add(uid)
        for watched in member.watched:
            plan.watched.setdefault(watched.session_uid, set()).add(uid)
    plan.lookahead = lookahead_of(plan.readers, plan.units_of, plan.groups)
    plan.read = skeletons_by_name()
    _remember_examined(plan, order)
    return plan


def _plan_armatures() -> dict[int, ArmaturePlan]:
    """Return the plan of each armature with constraints or walks."""
    present: dict[int, ArmaturePlan] = {}
    for ob in bpy.data.objects:
        if has_settings(ob):
            uid = ob.session_uid
            present[uid] = _armatures.get(uid) or plan_armature(ob)
            present[uid].reset_messages()
    _armatures.clear()
    _armatures.update(present)
    return present


def _remember_examined(plan: Plan, order: Order) -> None:
    """Remember what the plan was made from."""
    global _examined, _file
    examined = [*order.visited, *(ob for ob, _ in plan.lookahead.signatures), *plan.orphaned]
    for rig in plan.rigs.values():
        examined += [rig.object, *(source for source, _ in dependencies.sources(rig.object))]
    _examined = [(ob, _signature(ob)) for ob in dict.fromkeys(examined)]
    _file = _objects_of_file()


def _is_driven(ob: bpy.types.Object) -> bool:
    """Return whether drivers set properties of the extension that are not read at each frame."""
    data = ob.animation_data
    paths = [curve.data_path for curve in data.drivers] if data else []
    ours = [path for path in paths if "fabrik" in path and path != dependency_driver.PATH]
    plain = [path for path in ours if path.startswith("fabrik.constraints[")]
    names = settings_form().names
    return len(ours) > len([path for path in plain if path.split("].")[-1] in names])


def _is_orphaned(ob: bpy.types.Object) -> bool:
    return ob.type == "ARMATURE" and dependency_driver.NAME in ob and not has_settings(ob)


def _signature(ob: bpy.types.Object) -> tuple[str, str, object]:
    """Return the names of an object and its data, and states whose changes are not notified."""
    data = ob.animation_data
    animation = (len(data.drivers), data.action is None, len(data.nla_tracks)) if data else ()
    own = _armatures.get(ob.session_uid)
    ours: object = None
    if own is not None:
        within = [[one.session_uid for one in group.all_objects] for group in own.collections]
        ours = settings(ob).constraints.keys(), within
    return ob.name, ob.data.name if isinstance(ob.data, bpy.types.ID) else "", (animation, ours)


def _objects_of_file() -> array[int]:
    objects = bpy.data.objects
    uids = array("i", bytes(4 * len(objects)))
    objects.foreach_get("session_uid", uids)
    return uids


def _all_active(plan: Plan, order: Order) -> list[tuple[Skeleton, list[Active]]]:
    """Return the bones with native constraints that matter to the plan."""
    counting = {uid: set(bones) for uid, bones in plan.posed.items()}
    for uid, bone in order.constrained:
        if uid in counting and bone >= 0:
            counting[uid].add(bone)
    for chain in plan.chains:  # Those that cannot be solved pose nothing, perhaps for this reason.
        counting[chain.rig.uid].update(chain.bones)
    found: list[tuple[Skeleton, list[Active]]] = []
    for uid, rig in plan.rigs.items():
        bones = pose_bones(rig.object)
        names = [rig.names[bone] for bone in counting[uid]]
        found.append((rig, [(n, _active(bones[n])) for n in names if bones[n].constraints]))
    return found


def _active(bone: bpy.types.PoseBone) -> list[tuple[str, bool]]:
    return [(con.name, replaces_pose(con)) for con in active_constraints(bone)]
