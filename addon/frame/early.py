"""Choose the armatures to solve ahead of Blender's evaluation, and write their poses for it.

The plan says what *can* be solved ahead, and what is *worth* it at a frame (see `plan.lookahead`).
This module narrows that down to the armatures that the coming evaluation affects and whose inputs
are certain.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

import bpy

from ..blender.access import pose_bones
from ..blender.curves import Sampler, mute_copy
from ..blender.rotation import PatchedRows, floats
from ..plan.chain_plan import GoalSource
from ..plan.plan import Lookahead, Plan
from ..plan.results import SolveResult
from .armature import Evaluated, Unevaluated
from .read import ChannelSnapshot
from .solved_scene import SolvedPose, SolvedScene
from .solving import Runs


class Coming(NamedTuple):
    """An evaluation that Blender is about to do.

    Attributes:
        plan: The plan.
        scene: The scene.
        graphs: The depsgraphs of its view layers; None for a new one, which evaluates everything.
        frame: The new frame; None if the frame did not change.
        tagged: The names of the data-blocks tagged for update.
        may_be_rebuilt: Whether Blender may rebuild its relations, which outdates the plan, or
            change the frame.
        flushed: The depsgraph whose animation Blender flushes to the original data, so that
            F-curves of posed channels may be muted in it; None otherwise.
        is_undone: Whether it follows undo or redo, and evaluates all armatures.
    """

    plan: Plan
    scene: bpy.types.Scene
    graphs: Sequence[bpy.types.Depsgraph] | None
    frame: float | None
    tagged: Set[str]
    may_be_rebuilt: bool
    flushed: bpy.types.Depsgraph | None
    is_undone: bool = False

    def copy_of(self, uid: int) -> bpy.types.Object | None:
        """Return the copy of an armature that Blender will evaluate without copying it again.

        None if Blender might not evaluate its pose. Call it only if nothing is tagged.
        """
        if self.flushed is None or self.graphs != [self.flushed]:
            return None
        if uid not in self.plan.lookahead.moving:
            return None
        copy = self.plan.rigs[uid].object.evaluated_get(self.flushed)
        return copy if copy.is_evaluated else None


class Early:
    """What the session solved ahead of the current evaluation.

    Attributes:
        plan: The plan, if everything that could be solved ahead was tried; else None.
        solved: The result; None if nothing was solved.
        seen: For each goal source, what it read of meshes ahead of the last frame.
        written: The armatures written ahead.
        driving: For each armature, the values of the properties that drove its settings when the
            channels last got them (see `Lookahead`).
        followed: The lookahead and depsgraph of which these values were read last; None if they
            had changed, or Blender has copied, or will copy, an armature since then.
        differing: For each depsgraph, the armatures that have another pose in it than in the
            original data.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.plan: Plan | None = None
        self.solved: SolvedScene | None = None
        self.seen: dict[GoalSource, object] = {}
        self.written: set[int] = set()
        self.driving: dict[int, list[object]] = {}
        self.followed: tuple[Lookahead, bpy.types.Depsgraph] | None = None
        self.differing: dict[bpy.types.Depsgraph, set[int]] = {}

    def forget(self) -> None:
        """Discard references to data that undo or redo may have replaced."""
        self.__dict__ = Early().__dict__

    def note_differing(self, coming: Coming, copied: Set[int]) -> None:
        """Note the armatures whose pose in a depsgraph differs from the original data.

        Blender flushes the pose of the depsgraph that it evaluated last. After bones are selected
        or hidden, or the mode changes, it copies that pose without evaluating it.

        Args:
            coming: The evaluation.
            copied: The armatures that the depsgraph copies.
        """
        graphs, plan = coming.graphs or (), coming.plan
        if len(graphs) == 1 == len(bpy.data.scenes):
            return
        for graph in graphs:
            for uid in copied:
                ob = plan.rigs[uid].object
                copy = ob.evaluated_get(graph)
                if copy.is_evaluated and _matrices(copy) != _matrices(ob):
                    self.differing.setdefault(graph, set()).add(uid)

    def look_at_meshes(
        self, rigs: Set[int], plan: Plan, depsgraph: bpy.types.Depsgraph | None
    ) -> tuple[set[int], dict[GoalSource, object]]:
        """Return the armatures that can't be solved ahead, because meshes they use may change.

        A mesh that changed since the last frame is expected to change again. This only saves work:
        the evaluated meshes are compared afterward.

        Args:
            rigs: Armatures.
            plan: The plan.
            depsgraph: The depsgraph to evaluate at a new frame; None for another evaluation, or
                after an edit.

        Returns:
            These armatures, and what the goals of the others read of their meshes.
        """
        meshes = plan.lookahead.meshes
        if not meshes:
            return set(), {}
        goal_sources = {source for uid in meshes.keys() & rigs for source in meshes[uid]}
        last, self.seen = self.seen, {}
        if depsgraph is not None:
            self.seen = {source: source.seen(depsgraph) for source in goal_sources}
        same = {
            source: current
            for source, current in self.seen.items()
            if current is not None and current == last.get(source)
        }
        blind = {uid for uid in meshes.keys() & rigs if not same.keys() >= {*meshes[uid]}}
        return blind, same


def _matrices(armature: bpy.types.Object) -> array[float]:
    return floats(pose_bones(armature), "matrix", 16)


class Choice(NamedTuple):
    """What to do ahead of an evaluation.

    Attributes:
        snapshot: The armatures to solve, as they will be evaluated; None without such armatures.
        is_tried: Whether this covers everything that can be solved ahead.
        unknown: The armatures whose inputs aren't certain yet, or needn't be read, because nothing
            was edited since the frame was last played. Their last result, or the frame's last one,
            is written. If it is still valid, one evaluation is enough.
    """

    snapshot: ChannelSnapshot | None
    is_tried: bool
    unknown: set[int]


def chosen(runs: Runs, early: Early, coming: Coming, copied: set[int]) -> Choice:
    """Return the armatures that are worth solving ahead of a coming evaluation.

    Args:
        runs: The session's runs.
        early: What was solved ahead of the last one.
        coming: The evaluation.
        copied: The armatures that the evaluation copies.
    """
    plan = runs.plan
    lookahead = plan.lookahead
    unknown = plan.rigs.keys() - lookahead.known
    if coming.may_be_rebuilt:
        return Choice(None, False, unknown)
    rigs: set[int] = set(lookahead.worth) if coming.frame is not None else set()
    rigs = rigs.union(
        *[lookahead.sources[name] for name in lookahead.sources.keys() & coming.tagged]
    )
    if coming.is_undone:
        rigs = _replaced(runs)
    if not rigs:
        return Choice(None, True, unknown)
    rigs = _evaluated_in(coming, rigs)
    if coming.frame in runs.played.frames and not coming.tagged:
        again = rigs - lookahead.meshes.keys()
        unknown |= again
        rigs -= again
    seen: dict[GoalSource, object] = {}
    if lookahead.meshes:
        depsgraph = None if coming.tagged else coming.flushed
        blind, seen = early.look_at_meshes(rigs, plan, depsgraph)
        rigs -= blind
        unknown |= blind
    if not rigs:
        return Choice(None, True, unknown)
    # A new depsgraph is evaluated right after planning.
    if coming.graphs is not None and runs.planner.with_changed_lists(rigs):
        return Choice(None, False, unknown)
    touched = copied | plan.animated if coming.tagged and coming.frame is not None else copied
    played = None if coming.tagged else runs.played
    snapshot = ChannelSnapshot(
        plan,
        runs.readers,
        coming.scene,
        rigs,
        touched,
        coming.frame,
        coming.flushed,
        seen,
        played,
        runs.posed if coming.frame is None and not coming.is_undone else None,
    )
    return Choice(snapshot, True, unknown)


def _replaced(runs: Runs) -> set[int]:
    """Return the unanimated armatures that undo or redo changed, with all solved with them."""
    plan = runs.plan
    new = {uid for uid in plan.lookahead.still if not runs.has_outlived(uid)}
    return {uid for rig in new for uid in plan.groups[rig]}


def _evaluated_in(coming: Coming, rigs: set[int]) -> set[int]:
    """Return the armatures that are evaluated; Blender doesn't notify of the others."""
    if coming.graphs is None:
        return rigs
    objects = [(uid, coming.plan.rigs[uid].object) for uid in rigs]
    return {
        uid
        for graph in coming.graphs
        for uid, ob in objects
        if ob.evaluated_get(graph).is_evaluated
    }


def compose_cached(
    runs: Runs, rigs: Iterable[int], frame: float, is_edited: bool
) -> dict[int, bool]:
    """Compose the cached results of a frame for armatures that can't be solved ahead.

    Args:
        runs: The session's runs.
        rigs: The armatures.
        frame: The frame.
        is_edited: Whether anything was edited since the last evaluation.

    Returns: For each armature with cached results, whether its values differ from the last ones.
    """
    composed: dict[int, bool] = {}
    results: dict[int, list[SolveResult | None]] = {}
    for unit in runs.units_at(frame):
        results.setdefault(unit.plan.rig.uid, []).append(unit.results.get(frame))
    for uid in rigs:
        pose = _cached_pose(runs, uid, results.get(uid, []), frame, is_edited)
        if pose is not None:
            composed[uid] = runs.writers[uid].compose(pose)
    return composed


def _cached_pose(
    runs: Runs, uid: int, results: Sequence[SolveResult | None], frame: float, is_edited: bool
) -> SolvedPose | None:
    """Return the pose from the cached results of a frame; None if any is missing."""
    plan, reader = runs.plan, runs.readers[uid]
    fk, varying = reader.last, runs.played.rigs[uid].varying
    if fk is None or not fk.groups or None in results:
        return None
    curves = plan.lookahead.replaced.get(uid)
    if curves is not None:
        posed = reader.posed_channels
        curves.restrict(posed)
        played = Sampler(curves, frame)
        if is_edited or varying is None or varying.has_channels:
            coming = Unevaluated(reader.rig, reader.rows, played, patched=PatchedRows)
            fk = reader.read(coming, coming.channels, is_touched=True, has_settings=False)
            if reader.posed_channels is not posed:
                return None  # Rotation modes were edited, so other F-curves apply.
        else:
            fk = reader.read_ahead(played)
    pose = SolvedPose(fk, Evaluated(plan.rigs[uid].object))
    for result in filter(None, results):
        pose.add(result)
    return pose


def write_early(runs: Runs, early: Early, uid: int, is_new: bool | None, coming: Coming) -> None:
    """Write those composed values of an armature that its animation won't overwrite.

    At a frame, F-curves of posed slots are muted; their values have been read. An edit rarely
    evaluates the animation; if it does, this is noticed afterward.

    Args:
        runs: The session's runs.
        early: Notes that Blender will copy the armature, if it will.
        uid: The armature.
        is_new: Whether the values differ from those composed before; None if none were composed
            for this evaluation.
        coming: The coming evaluation.
    """
    written, lookahead = runs.overwritten, runs.plan.lookahead
    writer, reader = runs.writers[uid], runs.readers[uid]
    copy, animated = None if coming.tagged else coming.copy_of(uid), lookahead.animated[uid]
    curves = None if is_new is None else lookahead.replaced.get(uid)
    muted = None
    if curves is not None:
        curves.restrict(reader.posed_channels)
        muted = None if coming.flushed is None else mute_copy(curves, coming.flushed)
    if uid in lookahead.mode_animated:
        to_copy = True
    elif curves is None or (coming.frame is not None and muted is None):
        to_copy = written.write_ahead(writer, animated, copy=copy, is_quiet=coming.is_undone)
    else:
        fk = None if muted is None else reader.last
        to_copy = written.write_ahead(writer, (), curves, muted, fk, copy)
    if to_copy:
        early.followed = None
    # A new depsgraph copies everything. The next undo reads tagged data again.
    if to_copy and is_new and coming.graphs is not None:
        writer.rig.object.update_tag(refresh={"OBJECT"})
