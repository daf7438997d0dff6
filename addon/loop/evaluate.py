"""One update: read, solve, write, as far as possible ahead of Blender's evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import bpy

from ..blender.access import is_edited, session_uid
from ..blender.animated_values import flush_to_original
from ..blender.forgetting import forgets
from ..blender.skeleton import skeleton_of
from ..blender.updates import changed_in, tagged_in
from .ahead import agrees, compose_all, take_foreseen
from .changes import take_followed
from .evaluated import Evaluated
from .plan import Plan, current, discard, known
from .read import SceneSnapshot, SnapshotAhead
from .solved_scene import SolvedScene
from .solving import held_by, solve_scene
from .write import Kept, PoseWriter, take_back, write_pose, write_reports

misses = 0
"""How often what was solved ahead was not right, so that Blender had to evaluate once more."""


class Update(NamedTuple):
    """An evaluation of Blender's.

    Attributes:
        depsgraph: What was updated.
        is_frame_change: Whether its animation was evaluated for it.
        is_rebuilt: Whether it has new relations.
        is_undo: Whether it is the update of an undo or redo.
        changed: Armatures that Blender evaluates once more in any case, as it has been told of
            more that they depend on.
        has_company: Whether other handlers were called before, which may have changed something.
    """

    depsgraph: bpy.types.Depsgraph
    is_frame_change: bool
    is_rebuilt: bool
    is_undo: bool
    changed: Set[int] = frozenset()
    has_company: bool = False

    @property
    def frame(self) -> float | None:
        """The frame that it went to, None if it stayed at one."""
        scene = cast(bpy.types.Scene, self.depsgraph.scene)
        return scene.frame_current_final if self.is_frame_change else None


def evaluate(update: Update) -> bool:
    """Pose all chains that an update concerns; return whether there are any.

    What was solved ahead, and shown, and is right, stays. The others are read from what Blender has
    evaluated, solved, and written, for which it evaluates them once more.
    """
    ahead = take_foreseen()
    look = _look(update)
    plan, held = look.plan, look.held
    freed, plan.freed = plan.freed, {}
    if not held and not freed:
        return False
    if freed:
        # Else chains would be solved from where bones stand that nothing poses any more.
        _evaluate_again(look, set(), held.keys() - freed.keys(), freed.values())
        look = look._replace(new=set(held))
    outdated = _outdated(look, ahead)
    for solved in _read_and_solve(look, outdated):
        compose_all(solved)
    again = {uid for uid in outdated if not _is_shown(plan.writers[uid], held[uid])}
    again |= held.keys() & look.changed
    beside = _evaluated_beside(look, again)
    if again or beside:
        _evaluate_again(look, again, beside)
    for uid in held:
        write_reports(plan.writers[uid])
    plan.is_solved = True
    return True


def _outdated(look: _Look, ahead: tuple[Plan, SolvedScene | None] | None) -> set[int]:
    """Return the armatures that may show what is wrong, with all that is solved with them."""
    plan, update = look.plan, look.update
    right = set[int]()
    if ahead is not None and ahead[0] is plan and not update.is_undo:
        right = _right(look, ahead[1])
    if not (update.is_frame_change or update.is_undo):
        right |= _unconcerned(look)
    wrong = look.held.keys() - right
    return {uid for one in wrong for uid in plan.groups[one]} & look.held.keys()


def _evaluated_beside(look: _Look, again: Set[int]) -> set[int]:
    """Return the armatures that Blender may evaluate besides those that have to be."""
    plan, others = look.plan, look.held.keys() - again
    if look.changed:
        # It evaluates what is tagged for any view layer, or shares armature data with these.
        return others
    if look.update.has_company:
        tagged = tagged_in([look.update.depsgraph])
        return {uid for uid in others if plan.rigs[uid].object.name in tagged}
    return set()


def _right(look: _Look, ahead: SolvedScene | None) -> set[int]:
    """Return the armatures of which the one evaluation was all that is needed."""
    global misses
    right, foreseen = set[int](), set[int]()
    if ahead is not None and not look.has_new_curves:
        foreseen = look.held.keys() & ahead.rigs.keys()
        if agrees(ahead, look.update.depsgraph):
            right |= foreseen
        else:
            misses += 1
    if look.update.is_frame_change:  # Nothing that the others depend on has changed then.
        foresight = look.plan.foresight
        right |= look.held.keys() & (foresight.known - foresight.timed) - foreseen
    return {uid for uid in right if _is_shown(look.plan.writers[uid], look.held[uid])}


def _unconcerned(look: _Look) -> set[int]:
    """Return the armatures in an update that is about something else, if they show what they did.

    Blender lists all objects after new relations, and those of which bones are selected.
    """
    plan, depsgraph, is_rebuilt = look.plan, look.update.depsgraph, look.update.is_rebuilt
    may_be_other = is_rebuilt or depsgraph.id_type_updated("ARMATURE")
    if not (may_be_other and plan.is_solved) or look.has_new_curves:
        return set()
    changed = changed_in(depsgraph, is_rebuilt)
    concerned = look.new | look.changed | plan.driven | changed
    concerned |= _woken(plan, changed, depsgraph.id_type_updated("SCENE"))
    concerned = concerned.union(*[plan.sources[uid] for uid in plan.sources.keys() & changed])
    others = {uid for uid in look.held if concerned.isdisjoint(plan.groups[uid])}
    return {uid for uid in others if _is_as_before(plan, uid, look.held[uid])}


def _read_and_solve(look: _Look, outdated: set[int]) -> list[SolvedScene]:
    """Solve armatures from what was evaluated.

    Those of which all is known ahead are read as they are then, so that the last bits are the same
    whenever they are read; if that is not what was evaluated, they are read as the others are.
    """
    global misses
    plan, depsgraph, frame = look.plan, look.update.depsgraph, look.update.frame
    found: list[SolvedScene] = []
    touched = _touched(look) if outdated else set[int]()
    known = outdated & plan.foresight.known
    if known:
        solved = solve_scene(_read_ahead(look, known, touched), frame)
        if agrees(solved, depsgraph):
            found.append(solved)
        else:
            misses += 1
            known = set[int]()
    others = outdated - known
    if others:
        found.append(solve_scene(_read(look, others, touched | plan.foresight.known), frame))
    return found


def _read_ahead(look: _Look, rigs: set[int], touched: set[int]) -> SnapshotAhead:
    """Read armatures from the file's own data."""
    depsgraph = look.update.depsgraph
    frame = look.update.frame if look.is_foreign else None
    scene = cast(bpy.types.Scene, depsgraph.scene)
    return SnapshotAhead(look.plan, scene, rigs, touched, frame, depsgraph)


def _read(look: _Look, rigs: set[int], touched: set[int]) -> SceneSnapshot:
    """Read armatures from what was evaluated."""
    held = {uid: look.held[uid] for uid in rigs}
    has_foreign_animation = look.is_foreign and look.update.is_frame_change
    return SceneSnapshot(look.plan, look.update.depsgraph, held, touched, has_foreign_animation)


def _is_shown(writer: PoseWriter, evaluated: bpy.types.Object) -> bool:
    """Return whether an evaluated copy holds what was put together of an armature."""
    if not writer.poses_any:
        return True
    return writer.is_shown(Evaluated(evaluated, writer.rows).channels)


def _is_as_before(plan: Plan, uid: int, evaluated: bpy.types.Object) -> bool:
    """Return the same of one of which nothing but settings that are driven may have changed."""
    is_shown = _is_shown(plan.writers[uid], evaluated)
    return is_shown and plan.readers[uid].has_settings_of(Evaluated(evaluated))


TRIES = 2
"""How often solutions are evaluated at most. After undo, and where a script sets the frame, Blender
plays the animation once more in the first of them, and what it keys is as before."""


def _evaluate_again(
    look: _Look,
    again: set[int],
    beside: set[int],
    freed: Iterable[bpy.types.Object] = (),
) -> None:
    """Have solutions evaluated that Blender did not evaluate yet.

    In a render Blender does so by itself after the handlers. To do it here would hide from the
    renderer what has changed; and what is written is taken back by the next handler.

    Args:
        look: What the update concerns.
        again: The armatures that have to be evaluated.
        beside: Those that may be, for what others have tagged or what armatures now depend on.
        freed: Those of which no chain poses some bones any more.
    """
    freed = [armature for armature in freed if _is_there(armature) and not is_edited(armature)]
    for armature in freed:
        armature.update_tag(refresh={"OBJECT"})
    writers, depsgraph = look.plan.writers, look.update.depsgraph
    if depsgraph.mode == "RENDER":
        _write_again(look, again)
        return
    may_be_rebuilt = depsgraph.id_type_updated("SCENE")
    if may_be_rebuilt:
        # Up to 4.5 Blender crashes later without, for want of the bases of the view layer.
        cast(Any, depsgraph.scene).original.update_tag()
    # Other animation than what the file's channels hold may be brought there, or played.
    is_other = look.is_foreign or may_be_rebuilt
    kept: list[Kept] = []
    if is_other:
        rigs = [*(look.plan.rigs[uid] for uid in again | beside), *map(skeleton_of, freed)]
        kept = [Kept(rig) for rig in rigs]
    for uid in beside:
        write_pose(writers[uid], is_quiet=True)
    try:
        for _ in range(TRIES):
            _write_again(look, again)
            try:
                with _alone():
                    depsgraph.update()
            finally:
                take_back(has_new_bones=may_be_rebuilt)
            # Nothing but animation could have set anything else meanwhile.
            again = {uid for uid in again if look.plan.foresight.animated[uid]}
            again = {uid for uid in again if not _is_shown(writers[uid], look.held[uid])}
            if not again:
                break
    finally:
        for one in kept:
            one.give_back()


def _is_there(armature: bpy.types.Object) -> bool:
    try:
        return armature.pose is not None
    except ReferenceError:  # It was removed.
        return False


def _write_again(look: _Look, again: Iterable[int]) -> None:
    for uid in again:
        writer = look.plan.writers[uid]
        if look.is_foreign:
            flush_to_original(look.held[uid], writer.rig.object)
        write_pose(writer)
        # The object's own data is not tagged: it would be copied and evaluated once more.
        writer.rig.object.update_tag(refresh={"OBJECT"})


@contextmanager
def _alone() -> Iterator[None]:
    """Have no handler called meanwhile, as where Blender evaluates what a handler has changed."""
    before: list[Any] = bpy.app.handlers.depsgraph_update_pre
    after: list[Any] = bpy.app.handlers.depsgraph_update_post
    kept = before[:], after[:]
    before.clear()
    after.clear()
    try:
        yield
    finally:
        before[:], after[:] = kept


_seen: dict[tuple[int, str], set[int]] = {}
"""For each view layer the armatures that were solved for it, or are none of its."""


@forgets
def forget_seen() -> None:
    """Solve all armatures once more in each view layer."""
    _seen.clear()


class _Look(NamedTuple):
    """What an update concerns.

    Attributes:
        update: The update.
        plan: What hangs on what.
        held: The armatures to look at, as evaluated.
        new: Those that this view layer has not shown yet, or whose list a script has changed.
        changed: Those that Blender evaluates once more in any case.
        is_foreign: Whether Blender does not flush the depsgraph's animation to the file's data.
        has_new_curves: Whether F-curves may have been edited.
    """

    update: Update
    plan: Plan
    held: dict[int, bpy.types.Object]
    new: set[int]
    changed: Set[int]
    is_foreign: bool
    has_new_curves: bool


def _look(update: Update) -> _Look:
    """Look at the armatures to solve: at those that an update concerns.

    It concerns those that are in it, that depend on something in it, or on the time if that moves,
    or that this view layer has not shown yet; and all that are solved with them. If Blender has
    been told of other dependencies, it concerns all.
    """
    depsgraph, is_frame_change, changed = update.depsgraph, update.is_frame_change, update.changed
    plan = current()
    updates = depsgraph.updates
    if is_frame_change and len(updates) > len(plan.units) and depsgraph.mode != "RENDER":
        # It is cheaper to look at all armatures than to ask which of them Blender evaluated.
        updated = set(plan.rigs)
    else:
        updated = {session_uid(update.id) for update in updates}
    new = plan.stale(plan.rigs if is_frame_change else plan.rigs.keys() & updated)
    if new:
        discard()
        plan = current()
        updated = {session_uid(update.id) for update in updates}  # It may know other armatures.
        changed = changed | take_followed()
    if not is_frame_change:
        new |= _take_unseen(depsgraph)
    rigs: set[int] = set()
    # The scene has the gravity and the frame rate.
    is_timed = is_frame_change or session_uid(depsgraph.scene) in updated
    concerned = updated | new | _woken(plan, updated, is_timed)
    if changed:
        # Blender builds its relations anew, and may evaluate any of them for it.
        concerned |= plan.rigs.keys()
    for uid in plan.rigs.keys() & concerned:
        rigs |= plan.groups[uid]
    held = held_by(plan, depsgraph, rigs)
    is_foreign = _is_foreign(depsgraph)
    has_new_curves = not is_frame_change and depsgraph.id_type_updated("ACTION")
    return _Look(update, plan, held, new, changed, is_foreign, has_new_curves)


def _touched(look: _Look) -> set[int]:
    """Return the armatures that may differ in themselves from when they were looked at last."""
    updates = look.update.depsgraph.updates
    changed = [False] * len(updates)
    updates.foreach_get("is_updated_geometry", changed)
    found = set(look.new)
    if any(changed):
        pairs = zip(updates, changed, strict=True)
        found |= {session_uid(update.id) for update, is_changed in pairs if is_changed}
    return found | (look.held.keys() if look.is_foreign else look.held.keys() & look.plan.animated)


def _woken(plan: Plan, updated: set[int], is_timed: bool) -> set[int]:
    """Return the armatures that the time wakes up, if it does, or anything that they watch."""
    found = set(plan.timed) if is_timed else set[int]()
    return found.union(*[plan.watched[uid] for uid in plan.watched.keys() & updated])


def unseen(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> set[int]:
    """Return the armatures of a view layer that were not solved for it yet, as far as is known.

    Blender calls no handler at the first update of a view layer.
    """
    plan = known()
    if plan is None:
        return set()
    seen = _seen.setdefault((session_uid(scene), layer.name), set())
    new = plan.rigs.keys() - seen
    found = {uid for uid in new if plan.rigs[uid].object.name in layer.objects}
    seen |= new - found
    return found


def _take_unseen(depsgraph: bpy.types.Depsgraph) -> set[int]:
    """Return the `unseen` armatures of a depsgraph's view layer, from now on none of them."""
    scene, layer = depsgraph.scene, depsgraph.view_layer
    if depsgraph.mode == "RENDER" or scene is None or layer is None:
        return set()
    found = unseen(scene, layer)
    _seen.setdefault((session_uid(scene), layer.name), set()).update(found)
    return found


def _is_foreign(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether Blender does not flush this depsgraph's animation to the file's data."""
    layer = bpy.context.view_layer
    return depsgraph.mode == "RENDER" or layer is None or layer.depsgraph != depsgraph
