"""Solving a snapshot, unit by unit, each on top of those before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import bpy

from fabrik_solver import ChainInput, Frame, Posture
from fabrik_solver.core.vectors import Vec

from ..blender.access import is_edited, session_uid
from ..blender.errors import INTERNAL_ERROR, ProblemError, listed, report_once
from .chain import SolveInput, input_of, read_chain, solve_chain
from .chain_plan import ChainPlan
from .plan import Plan, current
from .pre_pass import PrePassBone
from .read import SceneSnapshot
from .results import NOTHING, OFF, Report, SolveResult
from .solved_pose import SolvedPose
from .solved_scene import SolvedScene
from .tree import read_tree, solve_member, solve_tree
from .tree_plan import TreePlan, Unit, chains_of

FARTHEST = 1e30
"""The largest local location of a bone; beyond it Blender's single precision overflows."""

MOST_CACHED = 250_000
"""Maximum number of bones in cached results, over all chains and frames: 50 to 120 MB."""


def solve_scene(snapshot: SceneSnapshot, frame: float | None) -> SolvedScene:
    """Solve all units of a snapshot's armatures, in the order of the plan.

    Each unit is read from the snapshot with the results of those before it.

    Args:
        snapshot: The snapshot, which is not changed.
        frame: The new frame; None if the frame did not change.
    """
    solved = SolvedScene(snapshot)
    for unit in snapshot.plan.units:
        if unit.rig.uid in snapshot.rigs:
            _solve_next(solved, unit, frame)
    return solved


def _solve_next(solved: SolvedScene, unit: Unit, frame: float | None) -> None:
    """Solve a unit, and add its result for the following ones."""
    result = _result(solved, unit, frame)
    if not result.bones:
        _forget(solved.plan, unit)
    else:
        unit.last = result
        if frame is not None:
            _cache(solved.plan, unit, frame, result)
    solved.add(unit, result)


def _result(solved: SolvedScene, unit: Unit, frame: float | None) -> SolveResult:
    """Return the result of a unit, with a report of the problem if it is invalid."""
    try:
        result = _solution(solved, unit, frame)
        if result is None:
            return _unposed(unit, Report("DISABLED"))
        if result.locations:
            _refuse_far(result.locations)
        return result
    except ProblemError as problem:
        return _unposed(unit, Report("INVALID", message=str(problem)))
    except ReferenceError:
        raise
    except Exception:
        report_once(f"could not pose {_label(unit)}")
        if isinstance(unit, PrePassBone):
            solved.failed = {*solved.failed, *unit.chains}
        return _unposed(unit, Report("INVALID", message=INTERNAL_ERROR))


def _solution(solved: SolvedScene, unit: Unit, frame: float | None) -> SolveResult | None:
    """Return the solution of a unit; None if it is off.

    Raises:
        ProblemError: If there is none.
    """
    if solved.failed and any(one in solved.failed for one in (unit.rig.uid, *chains_of(unit))):
        raise ProblemError(INTERNAL_ERROR)
    pose = solved.poses[unit.rig.uid]
    if isinstance(unit, ChainPlan):
        inputs = read_chain(solved, unit)
        return inputs and (_cached(unit, inputs, frame) or _solve_chain(unit, pose, inputs))
    if isinstance(unit, TreePlan):
        tree_input = read_tree(solved, unit)
        return _cached(unit, tree_input, frame) or solve_tree(unit, pose, tree_input)
    inputs = unit.read(solved)
    if inputs is None:
        return None
    return _cached(unit, inputs, frame) or unit.solve(solved, inputs)


def _unposed(unit: Unit, report: Report) -> SolveResult:
    """Return the result of a unit that poses nothing."""
    return SolveResult(None, (), (), (report,) * len(unit.items), NOTHING, NOTHING)


def _label(unit: Unit) -> str:
    return listed([chain.name for chain in chains_of(unit)] or [unit.rig.names[unit.bones[0]]])


def _refuse_far(locations: Mapping[int, Vec]) -> None:
    """Refuse locations that overflow in Blender.

    Raises:
        ProblemError: If there is one.
    """
    if any(max(map(abs, place)) > FARTHEST for place in locations.values()):
        raise ProblemError("A target is too far away (single precision overflows): move it closer")


def _cached(unit: Unit, inputs: object, frame: float | None) -> SolveResult | None:
    """Return the last result, or the cached one of the frame, if its inputs are equal."""
    result = unit.last
    if result is not None and result.inputs == inputs:
        return result
    result = unit.results.get(frame) if frame is not None else None
    return result if result is not None and result.inputs == inputs else None


def _solve_chain(chain: ChainPlan, pose: SolvedPose, inputs: SolveInput) -> SolveResult:
    posed = solve_chain(chain, pose, inputs)
    scales = posed.posture.scales
    sizes = dict(zip(chain.bones, scales, strict=True)) if scales else NOTHING
    locations = NOTHING if posed.location is None else {chain.bones[0]: posed.location}
    numbers = posed.posture.numbers
    return SolveResult(inputs, chain.bones, numbers, (posed.report,), sizes, locations)


def _cache(plan: Plan, unit: Unit, frame: float, result: SolveResult) -> None:
    """Cache the result of a unit at a frame."""
    if frame not in unit.results:
        if plan.cached >= MOST_CACHED:
            return
        plan.cached += len(unit.bones)
    unit.results[frame] = result


def _forget(plan: Plan, unit: Unit) -> None:
    """Clear the cached results of a unit that poses nothing now."""
    unit.last = None
    plan.cached -= len(unit.bones) * len(unit.results)
    unit.results.clear()


def solve_armatures(
    depsgraph: bpy.types.Depsgraph, armatures: Iterable[bpy.types.Object]
) -> SolvedScene:
    """Solve armatures as the last update of a depsgraph did, and write nothing.

    Args:
        depsgraph: The evaluated depsgraph.
        armatures: The armatures; all that are solved together with them are included.
    """
    plan = current()
    groups = [plan.groups.get(session_uid(armature), set[int]()) for armature in armatures]
    rigs = evaluated_copies(plan, depsgraph, set[int]().union(*groups))
    return solve_scene(SceneSnapshot(plan, depsgraph, rigs, rigs), None)


def solve_constraint(
    depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, index: int
) -> tuple[ChainInput, Posture, Frame]:
    """Solve a constraint as the last update of a depsgraph did, and write nothing.

    Returns:
        The chain under its FK pose, the solved one, and the armature's frame in world space.

    Raises:
        ProblemError: If the constraint is off or invalid.
    """
    plan = current()
    rigs = evaluated_copies(plan, depsgraph, plan.groups[session_uid(armature)])
    solved = SolvedScene(SceneSnapshot(plan, depsgraph, rigs, rigs))
    for unit in plan.units:
        if unit.rig.object == armature and index in unit.items:
            if isinstance(unit, TreePlan):
                return solve_member(solved, unit, index)
            chain = cast(ChainPlan, unit)  # A pre-pass bone has no constraint of its own.
            inputs = read_chain(solved, chain)
            if inputs is None:
                raise ProblemError(OFF)
            pose = solved.poses[chain.rig.uid]
            given = input_of(chain, pose, inputs)
            return given, solve_chain(chain, pose, inputs).posture, inputs.world
        if unit.rig.uid in rigs:
            _solve_next(solved, unit, None)
    raise ProblemError("“{armature}” has no such constraint", armature=armature.name)


def evaluated_copies(
    plan: Plan, depsgraph: bpy.types.Depsgraph, rigs: set[int]
) -> dict[int, bpy.types.Object]:
    """Return the evaluated copies of armatures, as far as they are in the depsgraph.

    Armatures in Edit Mode are left out: Blender evaluates no pose of them, and evaluating one with
    renamed bones would disable their drivers for good.
    """
    objects = {uid: plan.rigs[uid].object for uid in rigs}
    objects = {uid: ob for uid, ob in objects.items() if not is_edited(ob)}
    copies = {uid: ob.evaluated_get(depsgraph) for uid, ob in objects.items()}
    return {uid: copy for uid, copy in copies.items() if copy.is_evaluated}
