"""Solve a snapshot unit by unit, each on top of the previous ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import bpy

from fabrik_solver import ChainInput, Frame, Posture
from fabrik_solver.core.vectors import Vec

from ..blender.access import session_uid
from ..blender.errors import INTERNAL_ERROR, ProblemError, report_once
from ..blender.meshes import Meshes
from ..blender.rotation import ranges_of
from ..blender.session import part
from ..blender.updates import graphs_of
from ..plan.chain_plan import ChainPlan, Report, UnitPlan
from ..plan.plan import Plan
from ..plan.planner import Planner
from ..plan.results import SolveResult, is_far
from ..plan.tree_plan import TreePlan
from ..plan.unit import PrePassUnit, Unit
from .armature import FkPose, FkReader
from .chain import MovedChain, ReachingChain
from .following import Followers
from .read import EvaluatedSnapshot, Played, SceneSnapshot
from .solved_scene import SolvedPose, SolvedScene
from .tree import TreeUnit
from .write import Overwritten, PoseWriter, channels_of

MOST_CACHED = 250_000
"""Maximum number of bones in cached results, over all units and frames: 50 to 120 MB."""


class Runs:
    """The readers, writers and units of a plan, kept between updates.

    Attributes:
        planner: The planner.
        plan: The plan.
        readers: For each armature, its reader.
        writers: For each armature, its writer.
        units: All units.
        disturbed: The units with chains that Blender's evaluation of the solution may disturb.
        is_solved: Whether an update was solved with the plan.
        overwritten: The channels overwritten for an evaluation.
        meshes: The evaluated meshes from which data was derived.
        played: The playback cache.
        posed: For each armature, its bones that follow something solved, while only bones are
            posed.
        remembered: For each armature and constraints, designs and results from before an undo.
        outlived: For each armature, its `state_of` before an undo, if it was shown.
    """

    def __init__(self) -> None:
        """Start without a plan."""
        self.planner = part(Planner)
        self.plan = Plan()
        self.readers: dict[int, FkReader] = {}
        self.writers: dict[int, PoseWriter] = {}
        self.units: list[Unit] = []
        self.disturbed: list[Unit] = []
        self.is_solved = False
        self.overwritten = Overwritten()
        self.meshes = part(Meshes)
        self.played = Played()
        self.posed: dict[int, Followers] = {}
        self.remembered: dict[tuple[int, tuple[int, ...]], tuple[object, SolveResult]] = {}
        self.outlived: dict[int, object] = {}
        self._units: dict[UnitPlan, Unit] = {}
        self._cached = 0  # Number of bones in cached results.

    def follow(self) -> Plan:
        """Move to the current plan, keep the results that are still valid, and return the plan."""
        plan, old_plan = self.planner.plan or self.planner.current(), self.plan
        if plan is old_plan:
            return plan
        self.plan = plan
        self.played = Played()
        self.posed.clear()
        for uid in self.readers.keys() - self.planner.armatures.keys():
            del self.readers[uid], self.writers[uid]
        for uid, armature in self.planner.armatures.items():
            if uid not in self.writers or self.writers[uid].plan is not armature:
                rig, slots = armature.rig, armature.slots
                reader = self.readers[uid] = FkReader(
                    rig, slots, armature.native_joints, armature.tips, armature.driven
                )
                self.writers[uid] = PoseWriter(armature, reader.rows)
        if self.plan.units is not old_plan.units:
            old_units = self._units
            self._units = {unit: old_units.get(unit) or self._new(unit) for unit in plan.units}
            self.units = [*self._units.values()]
            self.disturbed = [
                unit
                for unit in self.units
                if any([chain.is_measured_late for chain in unit.plan.members])
            ]
            self._cached = sum([len(run.plan.bones) * len(run.results) for run in self.units])
            self.remembered = {}
            self.is_solved = False
        return plan

    def _new(self, plan: UnitPlan) -> Unit:
        """Return a unit of a new plan, with the last result from before an undo if it has one."""
        unit = _unit_of(plan)
        remembered = self.remembered.get((plan.rig.uid, plan.items)) if plan.bones else None
        if remembered is not None and remembered[0] == unit.design():
            unit.last = remembered[1]._replace(bones=plan.bones)
        return unit

    def before_undo(self) -> None:
        """Note the shown results, in case undo or redo doesn't change them."""
        graphs, plan = graphs_of(*bpy.data.scenes), self.plan
        self.outlived = {}
        if len(graphs) == 1 and plan is self.planner.plan:
            shown = evaluated_copies(plan, graphs[0], {*plan.rigs})
            self.outlived = {uid: self.state_of(uid) for uid in shown}

    def after_undo(self, replaced: Set[int]) -> None:
        """Discard the data that became invalid when undo or redo replaced data-blocks, by UID."""
        self.remembered = self.results()
        self.played = Played()
        self.posed.clear()
        self.meshes.tokens = None
        self.planner.outlive(replaced, self.outlived.keys())
        kept = self.planner.armatures.keys()
        self.outlived = {uid: state for uid, state in self.outlived.items() if uid in kept}

    def has_outlived(self, uid: int) -> bool:
        """Return whether undo or redo left an armature, its plan and its results as they were."""
        state = self.outlived.get(uid)
        return state is not None and state == self.state_of(uid)

    def state_of(self, uid: int) -> object | None:
        """Return the plan and notes that an armature's results depend on; None without results."""
        if not all([self._units[unit].last for unit in self.plan.units_of[uid]]):
            return None
        plan = self.writers[uid].plan
        chains = plan.chains
        notes = [(chain.problem, chain.note, chain.is_late, chain.is_layered) for chain in chains]
        return plan, notes

    def results(self) -> dict[tuple[int, tuple[int, ...]], tuple[object, SolveResult]]:
        """Return designs and last results by armature and constraints, of units that have both."""
        solved = [(unit.plan, unit.design(), unit.last) for unit in self.units if unit.last]
        return {(p.rig.uid, p.items): (d, last) for p, d, last in solved if d is not None}

    def forget_constraints(self, moved: Set[str]) -> None:
        """Forget the constraints of armatures that are tagged as moved, by name (see `Armatures`).

        In other armatures, only bones may have been posed.
        """
        constrained = self.plan.lookahead.constrained
        for uid in [uid for uid in self.posed if constrained[uid][0].object.name in moved]:
            del self.posed[uid]

    def played_copies(self, depsgraph: bpy.types.Depsgraph) -> dict[int, bpy.types.Object]:
        """Return the evaluated copies of all armatures; cached during playback."""
        played = self.played
        if played.depsgraph != depsgraph:
            played.copies = evaluated_copies(self.plan, depsgraph, {*self.plan.rigs})
            played.depsgraph = depsgraph
        return played.copies

    def unit(self, plan: UnitPlan) -> Unit:
        """Return a unit of the plan, or a batch of units."""
        unit = self._units.get(plan)
        if unit is None:
            unit = self._units[plan] = _unit_of(plan)
        return unit

    def solve(
        self, snapshot: SceneSnapshot, frame: float | None, is_edit: bool = False
    ) -> SolvedScene:
        """Solve all units of a snapshot's armatures, in the order of the plan.

        Each unit is read from the snapshot with the results of those before it.

        Args:
            snapshot: The snapshot, which isn't changed.
            frame: The new frame; None if the frame did not change.
            is_edit: Whether this is the viewport after an edit.
        """
        solved = SolvedScene(snapshot, is_edit)
        units = [unit for unit in self.units_at(solved.time) if unit.plan.rig.uid in snapshot.rigs]
        for unit in units:
            self.solve_next(solved, unit, frame)
        if any([unit.plan.is_layered for unit in units]):
            _measure_beneath(solved, units)
        return solved

    def units_at(self, time: float) -> list[Unit]:
        """Return the units that can be solved at a frame, in solving order."""
        if not self.plan.by_state:
            return self.units
        return [*map(self.unit, self.plan.sequences.at(time).units)]

    def solve_next(self, solved: SolvedScene, unit: Unit, frame: float | None) -> None:
        """Solve a unit, and add its result for the following units."""
        result = _result(solved, unit, frame)
        if not result.bones:
            unit.last = None
            self._cached -= len(unit.plan.bones) * len(unit.results)
            unit.results.clear()
        else:
            unit.last = result
            if frame is not None and (frame in unit.results or self._cached < MOST_CACHED):
                self._cached += 0 if frame in unit.results else len(unit.plan.bones)
                unit.results[frame] = result
        solved.add(unit.plan, result)


def present_runs() -> Runs:
    """Return the session's runs, moved to the current plan."""
    runs = part(Runs)
    runs.follow()
    return runs


def posed_before(solved: SolvedScene, unit: UnitPlan, fk: FkPose) -> SolvedPose:
    """Return the pose of a unit's armature before the unit is solved, from an FK pose."""
    uid = unit.rig.uid
    pose = SolvedPose(fk, solved.poses[uid].now)
    for other in present_runs().units:
        if other.plan is unit:
            break
        if other.plan.rig.uid == uid and other.last is not None:
            pose.add(other.last)
    return pose


def _unit_of(plan: UnitPlan) -> Unit:
    return UNITS.get(type(plan), PrePassUnit)(plan)


def _chain_unit(chain: ChainPlan) -> Unit:
    return ReachingChain(chain) if chain.kind.reaches else MovedChain(chain)


UNITS: dict[type, Callable[[Any], Unit]] = {ChainPlan: _chain_unit, TreePlan: TreeUnit}
"""The unit for a plan of each class. All other plans are pre-pass bones of features."""


def _result(solved: SolvedScene, unit: Unit, frame: float | None) -> SolveResult:
    """Return the result of a unit, with a report of the problem if it is invalid."""
    try:
        if solved.failed:
            _refuse_failed(solved, unit.plan)
        inputs = unit.read(solved)
        if inputs is None:
            return unit.unposed(Report("DISABLED"))
        # Equal inputs give an equal result: the last one, or the cached one of a frame.
        cached = unit.last
        if cached is None or cached.inputs != inputs:
            cached = unit.results.get(frame) if frame is not None else None
        if cached is not None and cached.inputs == inputs:
            return cached
        result = unit.solve(solved, inputs)
        if result.locations:
            _refuse_far(result.locations)
        if not result.bones:
            return result
        plan: UnitPlan = unit.plan
        ranges = plan.ranges if result.bones is plan.bones else ranges_of(result.bones)
        values, turns, rounding = channels_of(solved.poses[plan.rig.uid].fk, result, ranges)
        reports = unit.measured(inputs, result, turns, rounding)
        # Unlike `_replace`, this doesn't make a dictionary.
        _, bones, rotations, _, scales, locations, lift, _ = result
        return SolveResult(inputs, bones, rotations, reports, scales, locations, lift, values)
    except ProblemError as problem:
        return unit.unposed(Report("INVALID", message=str(problem)))
    except ReferenceError:
        raise
    except Exception:
        report_once(f"could not pose {unit.label}")
        solved.failed = {*solved.failed, *unit.dependent}
        return unit.unposed(Report("INVALID", message=INTERNAL_ERROR))


def _measure_beneath(solved: SolvedScene, units: Sequence[Unit]) -> None:
    """Measure constraints again, after layers have posed their bones too.

    Everything is solved by then, so the first layer above a constraint shows what all later ones
    do to it.
    """
    above: dict[tuple[int, int], tuple[int, Unit]] = {}
    for i, unit in reversed([*enumerate(units)]):
        pose = solved.poses[unit.plan.rig.uid]
        if pose.now.is_at_rest:
            continue
        bones = [(unit.plan.rig.uid, bone) for bone in unit.plan.bones]
        layers = [above[bone] for bone in bones if bone in above]
        reports = pose.reports.get(unit.plan.items)
        if layers and reports:
            pose.reports[unit.plan.items] = unit.beneath(solved, reports, min(layers)[1])
        if unit.plan.is_layered and unit.last is not None:
            above |= dict.fromkeys(bones, (i, unit))


def _refuse_failed(solved: SolvedScene, unit: UnitPlan) -> None:
    """Refuse a unit that failed, depends on a failed one, or whose armature couldn't be read.

    Raises:
        ProblemError: If the unit is refused.
    """
    if any(part in solved.failed for part in (unit.rig.uid, *unit.members)):
        raise ProblemError(INTERNAL_ERROR)


def _refuse_far(locations: Mapping[int, Vec]) -> None:
    """Refuse locations that overflow in Blender.

    Raises:
        ProblemError: If any location is too far.
    """
    if any(map(is_far, locations.values())):
        raise ProblemError("A target is too far away (single precision overflows): move it closer")


def solve_armatures(
    depsgraph: bpy.types.Depsgraph, armatures: Iterable[bpy.types.Object]
) -> SolvedScene:
    """Solve armatures as the last update of a depsgraph did, without writing.

    Args:
        depsgraph: The evaluated depsgraph.
        armatures: The armatures; all solved together with them are included.
    """
    runs = present_runs()
    return runs.solve(_snapshot(runs, depsgraph, armatures), None)


def solve_constraint(
    depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, index: int
) -> tuple[ChainInput, Posture, Frame]:
    """Solve a constraint as the last update of a depsgraph did, without writing.

    Returns:
        The chain in its FK pose, the solved chain, and the armature's frame in world space.

    Raises:
        ProblemError: If the constraint is off or invalid.
    """
    runs = present_runs()
    solved = SolvedScene(_snapshot(runs, depsgraph, [armature]))
    for unit in runs.units_at(solved.time):
        if unit.plan.rig.object == armature and index in unit.plan.items:
            return unit.constraint(solved, index)
        if unit.plan.rig.uid in solved.rigs:
            runs.solve_next(solved, unit, None)
    raise ProblemError("“{armature}” has no such constraint", armature=armature.name)


def _snapshot(
    runs: Runs, depsgraph: bpy.types.Depsgraph, armatures: Iterable[bpy.types.Object]
) -> EvaluatedSnapshot:
    """Read armatures, and all solved together with them."""
    plan = runs.plan
    groups = [plan.groups.get(session_uid(armature), ()) for armature in armatures]
    rigs = evaluated_copies(plan, depsgraph, {uid for group in groups for uid in group})
    return EvaluatedSnapshot(plan, runs.readers, depsgraph, rigs, rigs)


def evaluated_copies(
    plan: Plan, depsgraph: bpy.types.Depsgraph, rigs: set[int]
) -> dict[int, bpy.types.Object]:
    """Return the evaluated copies of the armatures that are in the depsgraph.

    Armatures in Edit Mode are left out: Blender doesn't evaluate their pose, and evaluating one
    with renamed bones would disable their drivers for good.
    """
    objects: dict[int, Any] = {uid: plan.rigs[uid].object for uid in rigs}
    objects = {uid: ob for uid, ob in objects.items() if not ob.data.is_editmode}
    copies = {uid: ob.evaluated_get(depsgraph) for uid, ob in objects.items()}
    return {uid: copy for uid, copy in copies.items() if copy.is_evaluated}
