"""Solving ahead of an evaluation of Blender's, so that the one is enough."""

from __future__ import annotations

from collections.abc import Iterable, Set
from math import dist
from typing import cast

import bpy

from ..blender.errors import report_once
from ..blender.skeleton import matrix3
from ..core.vectors import Vec
from .evaluated import Evaluated
from .plan import Plan, known
from .read import SnapshotAhead
from .solved_pose import SolvedPose
from .solved_scene import SolvedScene
from .solving import solve_scene
from .write import write_ahead

SAME_PLACE = 1e-5
"""How far apart two places may be that single precision takes for one, as a share of how far from
the world's origin anything is that they hang on; and two axes, as a share of how long they are."""

_foreseen: tuple[Plan, SolvedScene | None] | None = None
"""The plan that was known ahead of the evaluation that is going on, and what was solved then."""


def foresee(
    scene: bpy.types.Scene,
    graphs: Iterable[bpy.types.Depsgraph],
    is_frame_change: bool,
    tagged: Set[str],
) -> None:
    """Write the solutions of the armatures that an evaluation to come concerns.

    Where what goes in is not known yet, what was solved last is written, or at this frame before:
    if that is still right, the one evaluation is all that is needed. What is written is looked at
    after it in any case.

    Args:
        scene: What is going to be evaluated.
        graphs: The depsgraphs of its view layers.
        is_frame_change: Whether its animation will be.
        tagged: The names of what is tagged for it.
    """
    global _foreseen
    plan = known()
    if plan is None or not plan.rigs:
        return
    # Then Blender may go to another frame, or make new relations and the plan be outdated.
    may_be_rebuilt = any(graph.id_type_updated("SCENE") for graph in graphs)
    copied = {uid for name in plan.copied.keys() & tagged for uid in plan.copied[name]}
    if may_be_rebuilt or _has_new_animation(plan, graphs):
        plan.look_at_animation()
    frame = scene.frame_current_final if is_frame_change else None
    rigs = set() if may_be_rebuilt else plan.foresight.concerned(tagged, is_frame_change)
    if not plan.has_same_names(tagged):
        return  # F-curves name bones by their new names, and the plan by those before.
    solved = None
    if plan.stale(rigs):
        rigs = set()
    elif not may_be_rebuilt:
        if rigs:
            solved = solve_scene(SnapshotAhead(plan, scene, rigs, copied, frame), frame)
        _foreseen = plan, solved
    changed = compose_all(solved) if solved is not None else set[int]()
    changed |= _recalled(plan, frame)
    for uid in changed | copied | (rigs if is_frame_change else set[int]()):
        if uid not in plan.foresight.moded:
            write_ahead(plan.writers[uid], plan.foresight.animated[uid])
    for uid in changed:
        plan.rigs[uid].object.update_tag(refresh={"OBJECT"})


def _has_new_animation(plan: Plan, graphs: Iterable[bpy.types.Depsgraph]) -> bool:
    """Return whether other channels may be animated than when this was looked at last."""
    return plan.has_new_drivers() or any(graph.id_type_updated("ACTION") for graph in graphs)


def compose_all(solved: SolvedScene) -> set[int]:
    """Put together what is to be written of a solved scene.

    Returns:
        The armatures of which that is anything else than last time.
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


def _recalled(plan: Plan, frame: float | None) -> set[int]:
    """Put together what was solved at a frame before of the armatures that are not known ahead.

    Returns:
        The armatures of which that is anything else than what was written last.
    """
    others = plan.rigs.keys() - plan.foresight.known if frame is not None else ()
    return {uid for uid in others if _recall(plan, uid, cast(float, frame))}


def _recall(plan: Plan, uid: int, frame: float) -> bool:
    """Put together what was solved of an armature at a frame before.

    Returns:
        Whether it is anything else than what was written last.
    """
    fk = plan.readers[uid].last
    if fk is None or not fk.groups or not plan.changes_with_time(uid):
        return False
    units = [unit for unit in plan.units if unit.rig.uid == uid]
    if not all(frame in unit.answers for unit in units):
        return False
    pose = SolvedPose(fk, Evaluated(plan.rigs[uid].object))
    for unit in units:
        pose.add(unit.answers[frame])
    return plan.writers[uid].compose(pose)


def take_foreseen() -> tuple[Plan, SolvedScene | None] | None:
    """Return what was solved ahead of the evaluation that has ended, and by which plan."""
    global _foreseen
    ahead, _foreseen = _foreseen, None
    return ahead


def agrees(solved: SolvedScene, depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether a depsgraph has evaluated what was foreseen, to single precision."""
    snapshot = cast(SnapshotAhead, solved.snapshot)
    for uid, ob in snapshot.objects.items():
        copy = ob.evaluated_get(depsgraph)
        if copy.is_evaluated and not _is_at(solved, uid, ob, copy):
            return False
    return all(snapshot.has_played(uid, depsgraph) for uid in snapshot.rigs)


def _is_at(solved: SolvedScene, uid: int, ob: bpy.types.Object, copy: bpy.types.Object) -> bool:
    """Return whether an object was evaluated where it was foreseen, turned and sized so."""
    world = solved.worlds.get(uid)
    locations = cast(SnapshotAhead, solved.snapshot).locations
    place = world[1] if world is not None else locations.get(uid)
    if place is None:
        return True  # It hangs on a solved bone.
    there = copy.matrix_world.translation.to_tuple()
    if not dist(there, place) <= SAME_PLACE * _farthest(solved, ob, place):
        return False
    if world is None:
        return True
    near = SAME_PLACE * max(map(abs, world[0]))
    axes = zip(matrix3(copy.matrix_world), world[0], strict=True)
    return all([abs(a - b) <= near for a, b in axes])


def _farthest(solved: SolvedScene, ob: bpy.types.Object, place: Vec) -> float:
    """Return the largest coordinate of an object and all that it hangs on."""
    largest = max(map(abs, place))
    while ob.parent is not None:
        ob = ob.parent
        world = solved.worlds.get(ob.session_uid)
        largest = max(largest, *map(abs, world[1])) if world else largest
    return largest
