"""Make the plan on demand, and discard it once it is outdated.

It is discarded when a setting or relation that it uses changes, and with the session (load, undo).
Only armatures with changed inputs are planned again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import replace
from typing import cast

import bpy

from ..blender.access import is_edited, session_uid
from ..blender.session import part
from ..blender.skeleton import (
    forget_replaced,
    forget_skeletons,
    have_bones_changed,
    have_skeletons_changed,
    skeleton_of,
)
from ..settings import notifications
from ..settings.properties import settings
from .bodies import tie_to_bodies
from .chain_plan import ChainPlan, UnitPart
from .deferred import DeferredWrites, has_copied_names
from .dependencies import PendingDeclarations
from .lookahead import lookahead_of
from .making import is_orphaned, make_plan
from .plan import ArmaturePlan, Plan, has_settings, keys_of
from .registry import pre_pass_of
from .resolving import plan_chain


class Planner:
    """The session's plan, and its inputs.

    Attributes:
        plan: The plan; None until it is needed.
        armatures: The plan of each armature.
        released: Armatures with bones that a previous plan posed and this one doesn't.
        pending: The dependencies to be declared.
        deferred: The deferred writes of planning.
        is_declared: Whether the dependencies of the plan were declared to Blender.
    """

    def __init__(self) -> None:
        """Start without a plan."""
        self.plan: Plan | None = None
        self.released: dict[int, bpy.types.Object] = {}
        self.is_declared = False
        self.pending = part(PendingDeclarations)
        self.deferred = part(DeferredWrites)
        self.armatures: dict[int, ArmaturePlan] = {}
        self._signatures: list[tuple[bpy.types.Object, object]] = []
        self._objects = array("i")  # Session UIDs of all objects in the file.
        # The posed channels of each armature in discarded plans.
        self._posed: dict[int, tuple[bpy.types.Object, set[tuple[str, int]]]] = {}

    def current(self) -> Plan:
        """Return the plan; make it if necessary."""
        if self.plan is None:
            if have_bones_changed():  # Blender doesn't notify of hidden armatures.
                self.discard(skeletons=True)
            self.plan = self._make()
        return self.plan

    def _make(self) -> Plan:
        objects = {ob.session_uid: ob for ob in bpy.data.objects if has_settings(ob)}
        # Blender doesn't evaluate hidden armatures, so a script's change of a list went unnoticed.
        self._discard(self.with_changed_lists(objects.keys() & self.armatures.keys()))
        self.armatures = {
            uid: self.armatures.get(uid) or _plan_armature(ob) for uid, ob in objects.items()
        }
        for armature in self.armatures.values():
            armature.reset_messages()
        plan = make_plan(self.armatures)
        self._signatures = [(ob, self._signature(ob)) for ob in plan.examined]
        self._objects = _objects_of_file()
        self.is_declared = False
        self.released |= {
            uid: ob
            for uid, (ob, names) in self._posed.items()
            if uid not in plan.rigs or not names <= self.armatures[uid].names
        }
        self._posed.clear()
        return plan

    def current_after_writes(self, edited: Collection[bpy.types.ID] = ()) -> Plan:
        """Return the plan after applying its deferred writes.

        For updates of viewports only, not for renders and draw handlers.

        Args:
            edited: Armature data whose bones may store other bones' names, because pasting a pose
                copies them. After a bone is renamed, this can't be detected.
        """
        deferred = self.deferred
        pending = {*deferred.new}
        plan = self.plan or self.current()
        just_planned = deferred.new.keys() - pending
        for rig in {rig for data in edited for rig in plan.read.get(data.name, ())}:
            if has_copied_names(rig.object):
                deferred.note_new(rig.object)
        if not (deferred.noted or deferred.shapes or deferred.new):
            return plan
        planned = {uid: self.armatures[uid] for uid in deferred.new.keys() & self.armatures.keys()}
        outdated = self.with_changed_lists(planned.keys() - just_planned)
        outdated |= deferred.apply() & planned.keys()
        for uid in planned.keys() - outdated:
            planned[uid].reread_lists()
        if outdated:  # Problems may contain names of other constraints.
            self._discard(outdated)
        return self.current()

    def look_at_animation(self) -> None:
        """Update the lookahead, if the set of animated channels changed."""
        plan = self.current()
        # If a script also changed a list, the plan is soon discarded anyway.
        if plan.lookahead.is_outdated() and not (
            have_bones_changed() or self.with_changed_lists(plan.rigs)
        ):
            self.plan = plan = replace(plan, lookahead=lookahead_of(plan))
            tie_to_bodies(plan.units, plan.chains)
        for curves in (*plan.lookahead.curves.values(), *plan.lookahead.replaced.values()):
            curves.forget()

    def discard(self, skeletons: bool = False) -> None:
        """Discard the plan, and also skeletons if they may have changed or become invalid."""
        self._discard(list(self.armatures))
        if skeletons:
            forget_skeletons()
            self._signatures.clear()

    def outlive(self, replaced: Set[int], shown: Set[int]) -> None:
        """Keep only the plans of armatures that weren't changed by undo or redo.

        Args:
            replaced: The replaced data-blocks, by session UID.
            shown: The armatures that were evaluated before. No others were updated.
        """
        deferred = self.deferred
        unsettled = deferred.new.keys() | {uid for uid, *_ in (*deferred.noted, *deferred.shapes)}
        deferred.forget()
        has_new_curves = not replaced.isdisjoint([act.session_uid for act in bpy.data.actions])
        self.armatures = {
            uid: plan
            for uid, plan in self.armatures.items()
            if uid in shown - unsettled
            and plan.outlives(replaced)
            and not (plan.is_animated and has_new_curves)
        }
        forget_replaced(replaced)
        self.pending.armatures.clear()
        self.plan = None
        self._signatures.clear()
        self._posed.clear()
        self.released.clear()

    def discard_of(self, block: bpy.types.ID) -> None:
        """Discard the plans of an armature object, or of all objects that use armature data."""
        uid = block.session_uid
        self._discard([key for key, armature in self.armatures.items() if uid in armature.uids])

    def _discard(self, rigs: Iterable[int]) -> None:
        for uid in rigs:
            armature = self.armatures.pop(uid)
            names = self._posed.get(uid, (armature.rig.object, set()))[1]
            self._posed[uid] = armature.rig.object, names | armature.names
        self.plan = None

    def revise(self, tagged: Set[str], armatures: Collection[bpy.types.ID]) -> None:
        """Discard the data that became invalid when Blender rebuilt its relations.

        Many such edits don't affect the plan. Blender tags edited data-blocks, except for removed
        drivers, first keys, and pointers to removed objects.

        Args:
            tagged: The names of the tagged data-blocks.
            armatures: Updated armature data, which may have been in Edit Mode.
        """
        try:
            forget_skeletons(armatures)
            changed = {
                ob.session_uid
                for ob, old in self._signatures
                for new in [self._signature(ob)]
                if new != old or not tagged.isdisjoint(new[:2]) or ob.data in armatures
            }
            changed_lists = {
                uid for uid, plan in self.armatures.items() if plan.has_changed_lists()
            }
        except ReferenceError:  # Something was removed.
            self.discard(skeletons=True)
            return
        if have_bones_changed():  # Of a formerly hidden armature.
            self.discard(skeletons=True)
            return
        sources = self.armatures.items()
        outdated = changed_lists | {uid for uid, plan in sources if changed & {uid, *plan.sources}}
        if changed or outdated or self._has_new_armatures():
            self._discard(outdated)

    def _has_new_armatures(self) -> bool:
        """Return whether armatures with constraints were added to the file."""
        old_uids, self._objects = self._objects, _objects_of_file()
        if old_uids == self._objects:
            return False
        old_set, objects = set(old_uids), bpy.data.objects
        new = [ob for ob, uid in zip(objects, self._objects, strict=True) if uid not in old_set]
        return any(map(has_settings, new))

    def _signature(self, ob: bpy.types.Object) -> tuple[str, str, object]:
        """Return an object's name, its data's name, and states of which Blender doesn't notify."""
        data = ob.animation_data
        animation = (len(data.drivers), data.action is None, len(data.nla_tracks)) if data else ()
        armature = self.armatures.get(ob.session_uid)
        ours: object = None
        if armature is not None:
            groups = [group.all_objects for group in armature.collections]
            within = [[ob_within.session_uid for ob_within in group] for group in groups]
            ours = settings(ob).constraints.keys(), within, is_edited(ob)
        return ob.name, ob.data.name if isinstance(ob.data, bpy.types.ID) else "", (animation, ours)

    def with_changed_lists(self, among: Iterable[int]) -> set[int]:
        """Return the armatures whose lists a script changed; Blender doesn't notify of this."""
        return {uid for uid in among if self.armatures[uid].has_changed_lists()}

    def is_outdated(
        self,
        edited: Collection[bpy.types.ID] | None = None,
        renamed: Collection[bpy.types.ID] = (),
        moved: Collection[int] | None = None,
    ) -> bool:
        """Return whether an armature changed since the plan was made.

        Args:
            edited: Armature data that may have changed, where only bones in use are compared; None
                to compare all bones of all armatures.
            renamed: Armature data in which only names of bones may have changed.
            moved: Armatures whose bone constraints may have been edited; None for all.
        """
        if renamed and have_bones_changed(renamed):
            return True
        if edited is not None and not edited:
            return False
        if have_skeletons_changed(edited):
            return True
        plan = self.plan
        if plan is None:
            return False
        if edited is None:
            edited = {cast("bpy.types.ID", rig.object.data) for rig in plan.rigs.values()}
        return plan.has_switched(plan.rigs if moved is None else moved, edited)


def _plan_armature(armature: bpy.types.Object) -> ArmaturePlan:
    part(DeferredWrites).note_new(armature)
    rig, keys = skeleton_of(armature), keys_of(settings(armature))
    chains = [plan_chain(rig, index) for index in range(len(keys))]
    # In Edit Mode, rest bones keep their old names, so bodies can't be recognized, and the armature
    # isn't posed.
    pre_pass = () if is_edited(armature) else pre_pass_of(rig, chains)
    return ArmaturePlan(rig, keys, chains, pre_pass)


def _objects_of_file() -> array[int]:
    objects = bpy.data.objects
    uids = array("i", bytes(4 * len(objects)))
    objects.foreach_get("session_uid", uids)
    return uids


def current() -> Plan:
    """Return the plan; make it if necessary."""
    return part(Planner).current()


def known() -> Plan | None:
    """Return the plan; None if it isn't made yet.

    It never makes a plan, so draw handlers can call it.
    """
    return part(Planner).plan


def chains_in(armature: bpy.types.Object) -> list[ChainPlan]:
    """Return the constraints of an armature, in list order."""
    current()
    plan = part(Planner).armatures.get(session_uid(armature))
    return [] if plan is None else plan.chains


def bodies_in(armature: bpy.types.Object) -> Sequence[UnitPart]:
    """Return the bones and bodies that are posed before an armature's chains."""
    current()
    plan = part(Planner).armatures.get(session_uid(armature))
    return () if plan is None else plan.pre_pass


def discard() -> None:
    """Discard the plan."""
    part(Planner).discard()


def discard_if_outdated() -> None:
    """Discard the plan if it is outdated; without constraints, updates don't check it."""
    if part(Planner).is_outdated():
        part(Planner).discard(skeletons=True)


@notifications.structure
def _discard_of(block: bpy.types.ID) -> None:
    part(Planner).discard_of(block)


def is_used() -> bool:
    """Return whether the file has anything to plan, without making a plan."""
    return any(has_settings(ob) or is_orphaned(ob) for ob in bpy.data.objects)


def partners(armature: bpy.types.Object, index: int) -> list[str]:
    """Return the names of constraints solved together with another; empty without a plan."""
    plan = known()
    for unit in plan.units if plan else ():
        if unit.rig.uid == armature.session_uid and index in unit.items:
            return [chain.name for chain in unit.members if chain.item != index]
    return []
