"""Solving ahead of an evaluation of Blender's, so that the one is enough."""

from __future__ import annotations

from collections.abc import Iterable, Set

import bpy

from ..blender.errors import say_once
from .plan import Plan, known
from .read import SnapshotAhead
from .solving import solve_all
from .write import compose, write_ahead

_foreseen: tuple[Plan, SnapshotAhead | None] | None = None
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
    if plan.stale(rigs):
        rigs = set()
    elif not may_be_rebuilt:
        snapshot = None
        if rigs:
            snapshot = SnapshotAhead(plan, scene, rigs, copied, frame)
            solve_all(snapshot, frame)
        _foreseen = plan, snapshot
    changed = _composed(plan, rigs, frame)
    for uid in changed | copied | (rigs if is_frame_change else set[int]()):
        write_ahead(plan.poses[uid])
    for uid in changed:
        plan.rigs[uid].object.update_tag(refresh={"OBJECT"})


def _has_new_animation(plan: Plan, graphs: Iterable[bpy.types.Depsgraph]) -> bool:
    """Return whether other channels may be animated than when this was looked at last."""
    return plan.has_new_drivers() or any(graph.id_type_updated("ACTION") for graph in graphs)


def _composed(plan: Plan, rigs: set[int], frame: float | None) -> set[int]:
    """Put together what is to be written ahead of a frame or edit.

    Returns:
        The armatures of which that is anything else than last time.
    """
    changed = compose_all(plan, rigs)
    if frame is None:
        return changed
    others = plan.rigs.keys() - plan.foresight.known
    return changed | {uid for uid in others if _recall(plan, uid, frame)}


def compose_all(plan: Plan, rigs: Iterable[int]) -> set[int]:
    """Put together what is to be written of armatures; return those of which it is another now."""
    changed = set[int]()
    for uid in rigs:
        try:
            if compose(plan.poses[uid]):
                changed.add(uid)
        except ReferenceError:
            raise
        except Exception:
            say_once(f"could not pose “{plan.rigs[uid].object.name}”")
    return changed


def _recall(plan: Plan, uid: int, frame: float) -> bool:
    """Put together what was solved of an armature at a frame before.

    Returns:
        Whether it is anything else than what was written last.
    """
    pose = plan.poses[uid]
    is_still = not pose.is_animated and uid not in plan.timed
    if is_still or pose.fk_pose is None:
        return False
    units = [unit for unit in plan.units if unit.rig.uid == uid]
    if not pose.fk_pose.groups or not all(frame in unit.answers for unit in units):
        return False
    pose.start()
    for unit in units:
        pose.turn(unit.answers[frame])
    return compose(pose)


def take_foreseen() -> tuple[Plan, SnapshotAhead | None] | None:
    """Return what was solved ahead of the evaluation that has ended, and by which plan."""
    global _foreseen
    ahead, _foreseen = _foreseen, None
    return ahead
