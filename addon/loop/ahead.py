"""Solving ahead of Blender's evaluation, so that one evaluation is enough."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Set
from math import dist
from typing import cast

import bpy

from fabrik_solver.core.vectors import Vec

from ..blender.access import pose_bones
from ..blender.curves import Sampler, mute_copy
from ..blender.errors import report_once
from ..blender.rotation import floats
from ..blender.skeleton import matrix3
from .evaluated import Evaluated
from .plan import Plan, known
from .read import SnapshotAhead
from .solved_pose import SolvedPose
from .solved_scene import SolvedScene
from .solving import solve_scene
from .unevaluated import Unevaluated
from .write import write_ahead

PRECISION = 1e-5
"""Tolerance of single precision: for locations relative to the largest coordinate of the object and
its parents, for axes relative to their length."""

_solved_ahead: tuple[Plan, SolvedScene | None] | None = None
"""The plan that the current evaluation was solved ahead by, and the result."""

_differing: dict[bpy.types.Depsgraph, set[int]] = {}
"""By depsgraph, the armatures in it that the original data shows in another pose."""


def solve_ahead(
    scene: bpy.types.Scene,
    graphs: Collection[bpy.types.Depsgraph],
    is_frame_change: bool,
    tagged: Set[str],
    may_mute: bool,
) -> None:
    """Solve and write the armatures that the coming evaluation affects.

    If the inputs of an armature cannot be known yet, the last result is written, or the cached one
    of this frame: if it is still valid, one evaluation is enough. All results are verified after
    the evaluation.

    Args:
        scene: The scene that will be evaluated.
        graphs: The depsgraphs of its view layers.
        is_frame_change: Whether its animation will be evaluated.
        tagged: The names of the data-blocks that are tagged for update.
        may_mute: Whether F-curves of posed channels may be muted for it.
    """
    global _solved_ahead
    plan = known()
    if plan is None or not plan.rigs:
        return
    # Blender may change the frame then, or rebuild its relations and so outdate the plan.
    may_be_rebuilt = any(graph.id_type_updated("SCENE") for graph in graphs)
    copied = plan.copied_with(tagged) if tagged else set[int]()
    _note_differing(plan, graphs, copied)
    if may_be_rebuilt or _has_new_animation(plan, graphs):
        plan.look_at_animation()
    frame = scene.frame_current_final if is_frame_change else None
    rigs = set() if may_be_rebuilt else plan.lookahead.concerned(tagged, is_frame_change)
    rigs = _evaluated_in(graphs, {uid: plan.rigs[uid].object for uid in rigs})
    if not plan.has_same_names(tagged):
        return  # F-curves already use the new bone names, the plan the old ones.
    needs_graph = plan.lookahead.replaced or plan.lookahead.meshes
    graph = _flushed(graphs) if needs_graph and may_mute and not may_be_rebuilt else None
    blind, seen = plan.lookahead.look_at_meshes(rigs, None if tagged else graph)
    rigs -= blind
    solved = None
    if plan.stale(rigs):
        rigs = set()
    elif not may_be_rebuilt:
        if rigs:
            now = SnapshotAhead(plan, scene, rigs, copied, frame, graph, seen)
            solved = solve_scene(now, frame)
        _solved_ahead = plan, solved
    changed = compose_all(solved) if solved is not None else set[int]()
    unknown = (plan.rigs.keys() - plan.lookahead.known) | blind
    cached = {} if frame is None else _compose_cached(plan, unknown, frame)
    changed |= {uid for uid, is_new in cached.items() if is_new}
    foreseen = rigs | cached.keys()
    played = set[int]() if frame is None else foreseen & (rigs | plan.lookahead.replaced.keys())
    for uid in changed | copied | played:
        if uid not in plan.lookahead.mode_animated:
            _write_ahead(plan, uid, uid in foreseen, frame, graph)
    for uid in changed:
        plan.rigs[uid].object.update_tag(refresh={"OBJECT"})


def _evaluated_in(
    graphs: Iterable[bpy.types.Depsgraph], objects: Mapping[int, bpy.types.Object]
) -> set[int]:
    """Return the armatures that depsgraphs evaluate: of the others there is no notification."""
    return {
        uid
        for graph in graphs
        for uid, ob in objects.items()
        if ob.evaluated_get(graph).is_evaluated
    }


def _note_differing(plan: Plan, graphs: Collection[bpy.types.Depsgraph], copied: Set[int]) -> None:
    """Note which armatures the depsgraphs show in another pose than the original data.

    Blender flushes the pose of the depsgraph that it evaluated last. After selecting or hiding
    bones, or changing the mode, it copies that pose, and does not evaluate it.
    """
    _differing.clear()
    if len(graphs) == 1 == len(bpy.data.scenes):
        return
    for graph in graphs:
        for uid in copied:
            ob = plan.rigs[uid].object
            there = ob.evaluated_get(graph)
            if there.is_evaluated and _matrices(there) != _matrices(ob):
                _differing.setdefault(graph, set()).add(uid)


def _matrices(armature: bpy.types.Object) -> array[float]:
    return floats(pose_bones(armature), "matrix", 16)


def _flushed(graphs: Iterable[bpy.types.Depsgraph]) -> bpy.types.Depsgraph | None:
    """Return the depsgraph, among some, whose animation Blender flushes to the original data.

    None if it will copy an edited action, with the F-curves as they are.
    """
    layer = bpy.context.view_layer
    shown = None if layer is None else layer.depsgraph
    found = [graph for graph in graphs if graph == shown]
    return found[0] if found and not found[0].id_type_updated("ACTION") else None


def _write_ahead(
    plan: Plan,
    uid: int,
    is_foreseen: bool,
    frame: float | None,
    graph: bpy.types.Depsgraph | None,
) -> None:
    """Write the composed values of an armature, as far as its animation does not overwrite them.

    At a frame F-curves of posed slots are muted; what they give was read. An edit evaluates the
    animation only in rare cases, which are found out afterwards.

    Args:
        plan: The plan.
        uid: The armature.
        is_foreseen: Whether the values were composed for this evaluation.
        frame: The frame; None for an edit.
        graph: The depsgraph to mute them in; None if that is not possible.
    """
    writer, animated = plan.writers[uid], plan.lookahead.animated[uid]
    curves = plan.lookahead.replaced.get(uid) if is_foreseen else None
    if curves is None:
        write_ahead(writer, animated)
        return
    reader = plan.readers[uid]
    curves.restrict(reader.posed_channels)
    if frame is None:
        write_ahead(writer, (), curves)
        return
    muted = None if graph is None else mute_copy(curves, graph)
    if muted is None:
        write_ahead(writer, animated)
    else:
        write_ahead(writer, (), muted=muted, fk=reader.last)


def _has_new_animation(plan: Plan, graphs: Iterable[bpy.types.Depsgraph]) -> bool:
    """Return whether the set of animated channels may have changed since it was last read."""
    return plan.has_new_drivers() or any(graph.id_type_updated("ACTION") for graph in graphs)


def compose_all(solved: SolvedScene) -> set[int]:
    """Compose the channel values of all armatures of a solved scene.

    Returns:
        The armatures whose values differ from the last ones.
    """
    changed = set[int]()
    for uid in solved.rigs:
        writer = solved.plan.writers[uid]
        try:
            if writer.compose(solved.poses[uid]):
                changed.add(uid)
        except ReferenceError:
            raise
        except Exception:
            report_once(f"could not pose “{writer.rig.object.name}”")
    return changed


def _compose_cached(plan: Plan, rigs: Iterable[int], frame: float) -> dict[int, bool]:
    """Compose the cached results of a frame for armatures that cannot be solved ahead.

    Returns:
        The armatures that have any, and whether their values differ from the last ones.
    """
    found: dict[int, bool] = {}
    for uid in rigs:
        pose = _cached_pose(plan, uid, frame)
        if pose is not None:
            found[uid] = plan.writers[uid].compose(pose)
    return found


def _cached_pose(plan: Plan, uid: int, frame: float) -> SolvedPose | None:
    """Return the pose of an armature by the cached results of a frame, if it has all of them."""
    reader = plan.readers[uid]
    fk = reader.last
    if fk is None or not fk.groups:
        return None
    units = plan.units_of[uid]
    if not all(frame in unit.results for unit in units):
        return None
    curves = plan.lookahead.replaced.get(uid)
    if curves is not None:
        posed = reader.posed_channels
        curves.restrict(posed)
        coming = Unevaluated(reader.rig, reader.rows, Sampler(curves, frame))
        fk = reader.read(coming, coming.channels, is_touched=True, has_settings=False)
        if reader.posed_channels is not posed:
            return None  # Rotation modes were edited, so that other F-curves count.
    pose = SolvedPose(fk, Evaluated(plan.rigs[uid].object))
    for unit in units:
        pose.add(unit.results[frame])
    return pose


def take_solved_ahead() -> tuple[Plan, SolvedScene | None] | None:
    """Return and clear the plan and the result of solving ahead."""
    global _solved_ahead
    ahead, _solved_ahead = _solved_ahead, None
    return ahead


def take_differing(depsgraph: bpy.types.Depsgraph) -> set[int]:
    """Return and clear the armatures that may now show the pose of another depsgraph."""
    return _differing.pop(depsgraph, set[int]())


def agrees(solved: SolvedScene, depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether a depsgraph has evaluated what was expected.

    That is transforms to single precision, and meshes exactly.
    """
    snapshot = cast(SnapshotAhead, solved.snapshot)
    seen = snapshot.seen
    if seen and any([source.seen(depsgraph) != known for source, known in seen.items()]):
        return False
    for uid, ob in snapshot.objects.items():
        copy = ob.evaluated_get(depsgraph)
        if copy.is_evaluated and not _has_expected_transform(solved, uid, ob, copy):
            return False
    return all(snapshot.has_played(uid, depsgraph) for uid in snapshot.rigs)


def _has_expected_transform(
    solved: SolvedScene, uid: int, ob: bpy.types.Object, copy: bpy.types.Object
) -> bool:
    """Return whether an object was evaluated with the expected transform."""
    world = solved.worlds.get(uid)
    locations = cast(SnapshotAhead, solved.snapshot).locations
    place = world[1] if world is not None else locations.get(uid)
    if place is None:
        return True  # It follows a solved bone.
    there = copy.matrix_world.translation.to_tuple()
    if not dist(there, place) <= PRECISION * _largest_coordinate(solved, ob, place):
        return False
    if world is None:
        return True
    near = PRECISION * max(map(abs, world[0]))
    axes = zip(matrix3(copy.matrix_world), world[0], strict=True)
    return all([abs(a - b) <= near for a, b in axes])


def _largest_coordinate(solved: SolvedScene, ob: bpy.types.Object, place: Vec) -> float:
    """Return the largest world coordinate of an object and its parents."""
    largest = max(map(abs, place))
    while ob.parent is not None:
        ob = ob.parent
        world = solved.worlds.get(ob.session_uid)
        largest = max(largest, *map(abs, world[1])) if world else largest
    return largest
