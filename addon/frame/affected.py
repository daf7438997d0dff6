"""Which armatures an evaluation by Blender affects, and which of them it does not."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple, cast

import bpy

from ..blender.access import session_uid
from ..blender.session import part
from ..blender.updates import Updates, changed_in, geometry_in
from ..plan import planner
from ..plan.plan import Plan
from ..settings.notifications import take_followed
from .evaluated import Evaluated
from .solving import Runs, evaluated_copies


class Update(NamedTuple):
    """An evaluation by Blender.

    Attributes:
        depsgraph: The evaluated depsgraph.
        updates: What it has updated.
        is_frame_change: Whether its animation was evaluated.
        is_played: Whether it was evaluated for nothing else: no data-block was edited.
        is_rebuilt: Whether its relations were rebuilt.
        is_undo: Whether it follows an undo or redo.
        redeclared: Armatures whose dependencies were just declared, so that Blender evaluates them
            again in any case.
        has_other_handlers: Whether handlers of other extensions ran before, which may have changed
            something.
    """

    depsgraph: bpy.types.Depsgraph
    updates: Updates
    is_frame_change: bool
    is_played: bool
    is_rebuilt: bool
    is_undo: bool
    redeclared: Set[int] = frozenset()
    has_other_handlers: bool = False


class Affected(NamedTuple):
    """The armatures that an update affects.

    Attributes:
        update: The update.
        runs: What is kept of them.
        evaluated: The affected armatures, evaluated.
        new: Those that this view layer has not shown yet, or whose lists a script changed.
        redeclared: Those that Blender evaluates again in any case.
        is_foreign: Whether Blender does not flush the depsgraph's animation to the original data.
        has_new_curves: Whether F-curves may have been edited.
        frame: The new frame; None if the frame did not change.
    """

    update: Update
    runs: Runs
    evaluated: dict[int, bpy.types.Object]
    new: set[int]
    redeclared: Set[int]
    is_foreign: bool
    has_new_curves: bool
    frame: float | None

    def is_shown(self, uid: int) -> bool:
        """Return whether an evaluated armature has the composed channel values."""
        writer = self.runs.writers[uid]
        if not writer.poses_any:
            return True
        return writer.is_shown(Evaluated(self.evaluated[uid], writer.rows).channels)

    def touched(self) -> set[int]:
        """Return those whose own channels or settings may have changed without animation."""
        found = set(self.new)
        if not self.update.is_played:
            found |= geometry_in(self.update.updates)
        return found | self.evaluated.keys() if self.is_foreign else found

    def unchanged(self) -> set[int]:
        """Return those of which an edit changed no input, so that they show the right pose.

        Blender lists all objects after rebuilding relations, and armatures whose selection changed.
        """
        update, runs = self.update, self.runs
        plan, depsgraph = runs.plan, update.depsgraph
        may_be_other = update.is_rebuilt or depsgraph.id_type_updated("ARMATURE")
        if not (may_be_other and runs.is_solved) or self.has_new_curves:
            return set()
        changed = changed_in(update.updates, update.is_rebuilt)
        concerned = self.new | self.redeclared | plan.driven | changed
        concerned |= _depending(plan, changed, depsgraph.id_type_updated("SCENE"))
        concerned = concerned.union(*[plan.sources[uid] for uid in plan.sources.keys() & changed])
        others = {uid for uid in self.evaluated if concerned.isdisjoint(plan.groups[uid])}
        return {uid for uid in others if self.is_shown(uid) and self._has_known_settings(uid)}

    def _has_known_settings(self, uid: int) -> bool:
        """Return whether the settings are those that were read last; they may be driven."""
        return self.runs.readers[uid].has_settings_of(Evaluated(self.evaluated[uid]))


def affected_by(runs: Runs, update: Update) -> Affected:
    """Return the armatures that an update affects.

    These are the updated ones, those that depend on something updated or on the frame, and those
    that this view layer has not shown yet, each with all that are solved with it. If dependencies
    changed, all armatures are affected.
    """
    depsgraph, redeclared = update.depsgraph, update.redeclared
    is_frame_change = update.is_frame_change
    plan = runs.follow()
    is_shown = is_frame_change and depsgraph.mode != "RENDER"
    updated = None
    # Where the frame affects all armatures, there is nothing to find out.
    if not (is_shown and plan.rigs.keys() <= plan.timed | plan.lookahead.timed):
        # Checking all armatures is cheaper than walking more updates than there are units.
        updated = _updated(update, len(plan.units) if is_shown else None)
    # Gravity and frame rate are settings of the scene.
    is_timed = is_frame_change or session_uid(depsgraph.scene) in (updated or ())
    every = set(plan.rigs)
    concerned = every if updated is None else updated | _depending(plan, updated, is_timed)
    unseen = set[int]() if is_frame_change else _take_unseen(depsgraph)
    # Scripts change lists without a notification, so all that will be solved is checked.
    is_all = is_frame_change or redeclared
    new = runs.planner.stale(plan.rigs if is_all else _solved_with(plan, concerned | unseen))
    if new:
        runs.planner.discard()
        plan = runs.follow()
        # The new plan may have other armatures.
        updated = _updated(update) or set[int]()
        concerned = updated | _depending(plan, updated, is_timed)
        redeclared = redeclared | take_followed()
        unseen |= set[int]() if is_frame_change else _take_unseen(depsgraph)
    new |= unseen
    concerned |= new
    if redeclared:
        # Blender rebuilds its relations, and may evaluate any armature for that.
        concerned |= plan.rigs.keys()
    is_every = concerned >= plan.rigs.keys()
    rigs = set(plan.rigs) if is_every else _solved_with(plan, concerned)
    evaluated = evaluated_copies(plan, depsgraph, rigs)
    has_new_curves = not is_frame_change and depsgraph.id_type_updated("ACTION")
    scene = cast(bpy.types.Scene, depsgraph.scene)
    frame = scene.frame_current_final if is_frame_change else None
    is_other = is_foreign(depsgraph)
    return Affected(update, runs, evaluated, new, redeclared, is_other, has_new_curves, frame)


def _updated(update: Update, most: int | None = None) -> set[int] | None:
    """Return the `session_uid`s of the updated data-blocks; None if there are too many.

    Args:
        update: The update.
        most: The largest number to list; None for all.
    """
    if most is not None and update.updates.are_more_than(most):
        return None
    return {block.session_uid for block in update.updates.blocks}


def _solved_with(plan: Plan, affected: Set[int]) -> set[int]:
    """Return the armatures among some data-blocks, each with all that are solved with it."""
    return {uid for one in plan.rigs.keys() & affected for uid in plan.groups[one]}


def _depending(plan: Plan, updated: set[int], is_timed: bool) -> set[int]:
    """Return the armatures that depend on the frame, if it changed, or on updated objects."""
    found = set(plan.timed) if is_timed else set[int]()
    return found.union(*[plan.watched[uid] for uid in plan.watched.keys() & updated])


class SeenArmatures(dict[tuple[int, str], set[int]]):
    """By view layer of the session, the armatures that were solved for it or are not in it."""


def forget_removed_layers() -> None:
    """Forget view layers that were removed: another one of that name has shown nothing yet."""
    seen = part(SeenArmatures)
    present = {
        (session_uid(scene), layer.name) for scene in bpy.data.scenes for layer in scene.view_layers
    }
    for layer in seen.keys() - present:
        del seen[layer]


def unseen(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> set[int]:
    """Return the armatures of a view layer that were not solved for it yet.

    Blender calls no handler at the first update of a view layer.
    """
    plan = planner.known()
    if plan is None:
        return set()
    seen = part(SeenArmatures).setdefault((session_uid(scene), layer.name), set())
    new = plan.rigs.keys() - seen
    found = {uid for uid in new if plan.rigs[uid].object.name in layer.objects}
    seen |= new - found
    return found


def _take_unseen(depsgraph: bpy.types.Depsgraph) -> set[int]:
    """Return the `unseen` armatures of a depsgraph's view layer, and mark them as seen."""
    scene, layer = depsgraph.scene, depsgraph.view_layer
    if depsgraph.mode == "RENDER" or scene is None or layer is None:
        return set()
    found = unseen(scene, layer)
    part(SeenArmatures).setdefault((session_uid(scene), layer.name), set()).update(found)
    return found


def is_foreign(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender does not flush this depsgraph's animation to the original data."""
    layer = bpy.context.view_layer
    return depsgraph.mode == "RENDER" or layer is None or layer.depsgraph != depsgraph
