"""Which armatures are solved ahead of Blender's evaluation, and writing their poses for it.

What *can* be solved ahead, and what is *worth* it at a frame, is planned (see `plan.lookahead`).
Here that is narrowed to what the coming evaluation affects, and can be known of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

import bpy

from ..blender.access import pose_bones
from ..blender.curves import Sampler, mute_copy
from ..blender.rotation import floats
from ..plan.chain_plan import GoalSource
from ..plan.plan import Plan
from ..plan.results import SolveResult
from .armature import Evaluated, UnevaluatedRows
from .read import ChannelSnapshot
from .solved_scene import SolvedPose, SolvedScene
from .solving import Runs


class Coming(NamedTuple):
    """An evaluation that Blender is about to do.

    Attributes:
        plan: The plan by which it can be known what it needs.
        scene: The scene.
        graphs: The depsgraphs of its view layers.
        frame: The new frame; None if the frame did not change.
        tagged: The names of the data-blocks that are tagged for update.
        may_be_rebuilt: Whether Blender may rebuild its relations, and so outdate the plan, or
            change the frame.
        flushed: The depsgraph in which F-curves of posed channels may be muted for it, as Blender
            flushes its animation to the original data; None if there is none.
    """

    plan: Plan
    scene: bpy.types.Scene
    graphs: Sequence[bpy.types.Depsgraph]
    frame: float | None
    tagged: Set[str]
    may_be_rebuilt: bool
    flushed: bpy.types.Depsgraph | None


class Early:
    """What the session has solved ahead of the present evaluation.

    Attributes:
        plan: The plan by which all was tried that could be known; None if it was not.
        solved: The result; None if there is none.
        seen: By the source of a goal, what it had read of meshes ahead of the last frame.
        written: The armatures that were written ahead.
        differing: By depsgraph, the armatures in it that the original data shows in another pose.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.plan: Plan | None = None
        self.solved: SolvedScene | None = None
        self.seen: dict[GoalSource, object] = {}
        self.written: set[int] = set()
        self.differing: dict[bpy.types.Depsgraph, set[int]] = {}

    def note_differing(self, coming: Coming, copied: Set[int]) -> None:
        """Note which armatures the depsgraphs show in another pose than the original data.

        Blender flushes the pose of the depsgraph that it evaluated last. After selecting or hiding
        bones, or changing the mode, it copies that pose, and does not evaluate it.

        Args:
            coming: The evaluation.
            copied: The armatures that are copied for it.
        """
        if len(coming.graphs) == 1 == len(bpy.data.scenes):
            return
        plan = coming.plan
        for graph in coming.graphs:
            for uid in copied:
                ob = plan.rigs[uid].object
                there = ob.evaluated_get(graph)
                if there.is_evaluated and _matrices(there) != _matrices(ob):
                    self.differing.setdefault(graph, set()).add(uid)

    def look_at_meshes(
        self, rigs: Set[int], plan: Plan, depsgraph: bpy.types.Depsgraph | None
    ) -> tuple[set[int], dict[GoalSource, object]]:
        """Return which armatures cannot be solved ahead now because of meshes that may change.

        A mesh that has changed since the last frame is taken to change again. This only saves work:
        what was seen is compared with what is evaluated.

        Args:
            rigs: Armatures.
            plan: The plan.
            depsgraph: The depsgraph that will be evaluated at a new frame; None if it is another
                evaluation, or if anything is edited.

        Returns:
            These armatures, and what the goals of the others have seen of their meshes.
        """
        meshes = plan.lookahead.meshes
        if not meshes:
            return set(), {}
        found = {source for uid in meshes.keys() & rigs for source in meshes[uid]}
        last, self.seen = self.seen, {}
        if depsgraph is not None:
            self.seen = {source: source.seen(depsgraph) for source in found}
        same = {
            source: now
            for source, now in self.seen.items()
            if now is not None and now == last.get(source)
        }
        blind = {uid for uid in meshes.keys() & rigs if not same.keys() >= {*meshes[uid]}}
        return blind, same


def _matrices(armature: bpy.types.Object) -> array[float]:
    return floats(pose_bones(armature), "matrix", 16)


class Choice(NamedTuple):
    """What is done ahead of an evaluation.

    Attributes:
        snapshot: What is solved, as it will be evaluated; None if nothing is.
        is_tried: Whether everything was that could be known.
        unknown: The armatures whose inputs cannot be known yet, or need not be read, as nothing
            was edited since the frame was played before. Their last result, or that of the same
            frame, is written: if it is still valid, one evaluation is enough.
    """

    snapshot: ChannelSnapshot | None
    is_tried: bool
    unknown: set[int]


def chosen(runs: Runs, early: Early, coming: Coming) -> Choice:
    """Return what is worth solving ahead, of what the coming evaluation affects."""
    plan = runs.plan
    lookahead = plan.lookahead
    unknown = plan.rigs.keys() - lookahead.known
    if coming.may_be_rebuilt:
        return Choice(None, False, unknown)
    rigs = lookahead.affected(coming.tagged, coming.frame is not None)
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
    if runs.planner.with_changed_lists(rigs):
        return Choice(None, False, unknown)
    touched = plan.copied_with(coming.tagged)
    if coming.tagged and coming.frame is not None:
        touched |= plan.animated
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
    )
    return Choice(snapshot, True, unknown)


def _evaluated_in(coming: Coming, rigs: set[int]) -> set[int]:
    """Return the armatures that are evaluated: of the others there is no notification."""
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
    """Compose the cached results of a frame for armatures that cannot be solved ahead.

    Args:
        runs: What is kept of them.
        rigs: The armatures.
        frame: The frame.
        is_edited: Whether anything was edited since the last evaluation.

    Returns:
        The armatures that have any, and whether their values differ from the last ones.
    """
    found: dict[int, bool] = {}
    results: dict[int, list[SolveResult | None]] = {}
    for unit in runs.units_at(frame):
        results.setdefault(unit.plan.rig.uid, []).append(unit.results.get(frame))
    for uid in rigs:
        pose = _cached_pose(runs, uid, results.get(uid, []), frame, is_edited)
        if pose is not None:
            found[uid] = runs.writers[uid].compose(pose)
    return found


def _cached_pose(
    runs: Runs, uid: int, results: Sequence[SolveResult | None], frame: float, is_edited: bool
) -> SolvedPose | None:
    """Return the pose of an armature by the cached results of a frame, if it has all of them."""
    plan, reader = runs.plan, runs.readers[uid]
    fk, varying = reader.last, runs.played.varying.get(uid)
    if fk is None or not fk.groups or None in results:
        return None
    curves = plan.lookahead.replaced.get(uid)
    if curves is not None:
        posed = reader.posed_channels
        curves.restrict(posed)
        played = Sampler(curves, frame)
        if is_edited or varying is None or varying.has_channels:
            coming = UnevaluatedRows(reader.rig, reader.rows, played)
            fk = reader.read(coming, coming.channels, is_touched=True, has_settings=False)
            if reader.posed_channels is not posed:
                return None  # Rotation modes were edited, so that other F-curves count.
        else:
            fk = reader.read_ahead(played)
    pose = SolvedPose(fk, Evaluated(plan.rigs[uid].object))
    for result in filter(None, results):
        pose.add(result)
    return pose


def write_early(runs: Runs, uid: int, is_foreseen: bool, coming: Coming) -> None:
    """Write the composed values of an armature, as far as its animation does not overwrite them.

    At a frame F-curves of posed slots are muted; what they give was read. An edit evaluates the
    animation only in rare cases, which are found out afterwards.

    Args:
        runs: What is kept of it.
        uid: The armature.
        is_foreseen: Whether the values were composed for this evaluation.
        coming: The evaluation.
    """
    written, lookahead = runs.overwritten, runs.plan.lookahead
    writer, reader = runs.writers[uid], runs.readers[uid]
    animated = lookahead.animated[uid]
    curves = lookahead.replaced.get(uid) if is_foreseen else None
    if curves is None:
        written.write_ahead(writer, animated)
        return
    curves.restrict(reader.posed_channels)
    if coming.frame is None:
        written.write_ahead(writer, (), curves)
        return
    muted = None if coming.flushed is None else mute_copy(curves, coming.flushed)
    if muted is None:
        written.write_ahead(writer, animated)
    else:
        written.write_ahead(writer, (), curves, muted, reader.last)
