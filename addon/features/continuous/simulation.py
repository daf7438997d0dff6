"""Simulating a shot: the inputs of all frames are collected, then solved together."""

from __future__ import annotations

import bpy

from fabrik_solver import BodyInstant, ChainInstant, Instant, seen_from, solve_shot

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.skeleton import Point
from ...frame.chain import ChainUnit, goal_of, orientation_of, stretch_of
from ...frame.root_locks import root_locks
from ...frame.solved_scene import SolvedScene
from ...frame.solving import posed_before, present_runs
from ...frame.tree import TreeUnit
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...plan.plan import Plan
from ...plan.registry import SOLVER_NAMES, kind_of
from ...plan.tree_plan import TreePlan
from ...settings.joint_limits import ik_settings
from ...settings.properties import settings
from ...settings.values import values_of
from ..simulation import history
from ..simulation.digest import Source
from .shot import StoredPose, is_continuous, packed

ShotUnit = ChainPlan | TreePlan
"""A unit of the plan that can be solved as a shot."""


class ShotSimulation(history.SimulatedConstraint):
    """The simulation of a shot."""

    counts_wholly = True

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Set the armature, and the index of a constraint: the first continuous one of a body."""
        super().__init__(armature, index, "shot")
        self._bones = 0
        self._instants: list[Instant | None] = []

    def inputs(self) -> object:
        """Return the joint settings of the bones; the constraint's settings are always inputs."""
        unit = self._unit(planner.current())
        values: list[object] = []
        if unit is None:
            return values
        bones = pose_bones(self._armature)
        for posed in [bones[unit.rig.names[bone]] for bone in unit.bones]:
            values.append(values_of(posed.fabrik_joint))
            if posed.fabrik_joint.limit_type == "BLENDER":
                values.append(tuple(ik_settings(posed)))
        for chain in unit.members:
            if chain.is_root_free:
                root = bones[unit.rig.names[chain.bones[0]]]
                values.append(tuple(root_locks(root, chain.root_limits)))
        return values

    def sources(self) -> list[Source]:
        """Return the bones; their constraints and dependencies are included with them."""
        unit = self._unit(planner.current())
        if unit is None:
            return [self._armature]
        return [Point(unit.rig.object, unit.rig, bone) for bone in unit.bones]

    def start(self, snapshot: SolvedScene) -> None:
        """Check the constraint at the first frame.

        Raises:
            ProblemError: If the constraint is invalid.
        """
        unit = self._unit(snapshot.plan)
        if unit is None:
            raise ProblemError(
                "“{constraint}” can't be solved at any frame: see its message",
                constraint=self._item.name,
            )
        self._bones = len(unit.bones)

    def step(self, snapshot: SolvedScene) -> None:
        """Collect the input of a frame, or None if the constraint can't be solved there."""
        unit = self._unit(snapshot.plan)
        instant = None
        if unit is not None and len(unit.bones) == self._bones:
            instant = _instant(_before(snapshot, unit), unit)
        self._instants.append(instant)

    def result(self) -> bytes:
        """Solve the shot, and return its poses as bytes."""
        poses: list[StoredPose | None] = []
        run: list[Instant] = []
        for instant in [*self._instants, None]:
            if instant is not None:
                run.append(instant)
                continue
            poses += [StoredPose(tuple(pose.rotations), pose.location) for pose in solve_shot(run)]
            poses.append(None)
            run = []
        return packed(_filled(poses[:-1], self._bones))

    def _unit(self, plan: Plan) -> ShotUnit | None:
        """Return the unit of the constraint; None if it is invalid."""
        for unit in plan.units:
            is_of_constraint = unit.rig.object == self._armature and self._index in unit.items
            if is_of_constraint and isinstance(unit, ChainPlan):
                return None if unit.problem else unit
            if is_of_constraint and isinstance(unit, TreePlan):
                return unit
        return None


def _filled(poses: list[StoredPose | None], bones: int) -> list[StoredPose]:
    """Return poses with missing ones replaced by the previous pose, or at the start by the next.

    Args:
        poses: The pose of each frame; None if it is missing.
        bones: The number of bones, for the rest pose if all are missing.
    """
    last = next((pose for pose in poses if pose is not None), None)
    if last is None:
        last = StoredPose(((1.0, 0.0, 0.0, 0.0),) * bones, (0.0, 0.0, 0.0))
    filled: list[StoredPose] = []
    for pose in poses:
        last = pose or last
        filled.append(last)
    return filled


def _before(solved: SolvedScene, unit: ShotUnit) -> SolvedScene:
    """Return the scene before a unit is solved, with its shots at full influence."""
    uid = unit.rig.uid
    fk = solved.poses[uid].fk
    settings = [
        chain_settings._replace(enabled=True, influence=1.0)
        if i in unit.items and _is_continuous(unit, i)
        else chain_settings
        for i, chain_settings in enumerate(fk.settings)
    ]
    return solved.with_pose(posed_before(solved, unit, fk._replace(settings=settings)))


def _is_continuous(unit: ShotUnit, item: int) -> bool:
    return any(chain.item == item and chain.start_source is not None for chain in unit.members)


def _instant(solved: SolvedScene, unit: ShotUnit) -> Instant | None:
    """Return the solve input of a frame; None if the constraints can't be solved there."""
    pose, run = solved.poses[unit.rig.uid], present_runs().unit(unit)
    try:
        if isinstance(run, TreeUnit):
            fk_state, pulls = run.fk_input(pose, run.read(solved))
            return BodyInstant(fk_state, pulls) if any(pulls) else None
        if not isinstance(run, ChainUnit):
            return None
        task = run.read(solved)
        if task is None:
            return None
        from_world = unit.rig.from_world(task.world)
        orientation = (
            None if task.axes is None else orientation_of(task, task.axes).seen_from(from_world[0])
        )
        return ChainInstant(
            run.fk_input(pose, task),
            seen_from(from_world, goal_of(task)),
            SOLVER_NAMES[task.settings.solver],
            task.settings.iterations,
            task.settings.tolerance,
            orientation,
            stretch_of(run.plan, task.settings) if run.plan.stretches else None,
        )
    except (ProblemError, ValueError, ArithmeticError):
        return None


def shots(armature: bpy.types.Object) -> list[ShotSimulation]:
    """Return the simulations of an armature's shots, one for each body."""
    items = settings(armature).constraints
    continuous = [
        i for i, item in enumerate(items) if is_continuous(item) and kind_of(item.solver).reaches
    ]
    plan = planner.known()
    for unit in plan.units if plan and continuous else ():
        if unit.rig.object != armature:
            continue
        if isinstance(unit, TreePlan):
            continuous_items = [i for i in continuous if i in unit.items]
            continuous = [i for i in continuous if i not in continuous_items[1:]]
        elif isinstance(unit, ChainPlan) and unit.problem:
            continuous = [i for i in continuous if i != unit.item]
    return [ShotSimulation(armature, i) for i in continuous]
