"""Reports of chains with bones or targets that Blender moves after the solve.

Only Blender's evaluation then has the final locations of tip and target.
"""

from __future__ import annotations

from collections.abc import Collection
from math import dist
from typing import Any, cast

import bpy

from fabrik_solver import ROUNDED, is_on_target
from fabrik_solver.core.vectors import Vec

from ..blender.access import pose_bones
from ..blender.moving import place_of
from ..blender.skeleton import vector
from ..plan.chain_plan import ChainPlan, Report
from ..plan.unit import Unit
from ..settings.properties import AnimatedSettings
from .chain import SolveInput
from .solving import Runs


def measure_shown(runs: Runs, depsgraph: bpy.types.Depsgraph, rigs: Collection[int]) -> None:
    """Measure reports again, on the pose that Blender shows, if Blender has moved bones or targets.

    Args:
        runs: The session's runs.
        depsgraph: The depsgraph, which shows the solutions.
        rigs: The armatures that were updated.
    """
    for unit in runs.disturbed:
        plan, result = unit.plan, unit.last
        writer = runs.writers[plan.rig.uid]
        if plan.rig.uid not in rigs or result is None or plan.items not in writer.reports:
            continue
        shown = writer.reports[plan.items]
        reports = zip(plan.members, inputs_of(unit), result.reports, shown, strict=True)
        measured = tuple([_measured(depsgraph, *of_chain) for of_chain in reports])
        writer.reports = {**writer.reports, plan.items: measured}


def inputs_of(unit: Unit) -> Collection[SolveInput | None]:
    """Return the last inputs of a unit's chains; None for a chain that isn't solved."""
    inputs: Any = None if unit.last is None else unit.last.inputs
    return [inputs] if isinstance(inputs, SolveInput) else inputs.chains


def _measured(
    depsgraph: bpy.types.Depsgraph,
    chain: ChainPlan,
    inputs: SolveInput | None,
    report: Report,
    shown: Report,
) -> Report:
    """Return a chain's report, measured on the pose that Blender shows.

    Args:
        depsgraph: The depsgraph.
        chain: The chain.
        inputs: Its inputs; None if it isn't solved.
        report: Its report without the layers on top of it.
        shown: Its report with them, returned if Blender doesn't move its bones.
    """
    if inputs is None or not chain.is_measured_late:
        return shown
    armature = chain.rig.object.evaluated_get(depsgraph)
    bones, settings = pose_bones(armature), cast(AnimatedSettings, inputs.settings)
    ends = [*[bones[bone].head for bone in chain.bones], chain.posed_tip(bones)]
    joints = [vector(armature.matrix_world @ end) for end in ends]
    target = _shown_target(depsgraph, chain) or inputs.target
    is_on = is_on_target(joints, target, settings.tolerance, ROUNDED)
    # With partial influence, the state is that of the pose at full influence.
    is_missed = settings.influence == 1.0 and not is_on
    state = "LIMITED" if is_missed and report.state == "REACHED" else report.state
    return report._replace(state=state, error=round(dist(joints[-1], target), 6))


def _shown_target(depsgraph: bpy.types.Depsgraph, chain: ChainPlan) -> Vec | None:
    """Return the evaluated location of a late chain's target, if its goal is the target itself."""
    point = chain.target
    is_moved = chain.limb.foot >= 0 or chain.offset or chain.target_tie or chain.goal_source
    if point is None or is_moved or not chain.is_late:
        return None
    return place_of(depsgraph, point)[1]
