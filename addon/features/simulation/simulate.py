"""Simulate armatures: play the frames and store the histories."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from math import ceil, floor
from typing import Any, NamedTuple

import bpy

from ...blender.errors import ProblemError
from ...blender.refusals import rest_problem
from ...editing.playing import Needed, play, returning, staged
from ...frame.solving import solve_armatures
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...plan.plan import Plan
from ...settings.muting import muting
from ...settings.properties import settings
from . import history
from .digest import OWN, Digest
from .history import History, Simulated
from .settings import simulation_of


class Simulation(NamedTuple):
    """The result of a simulation.

    Attributes:
        armatures: How many armatures were simulated.
        frames: How many frames were played.
        refused: Why parts of them couldn't be simulated.
        notes: Notes on the result.
    """

    armatures: int
    frames: int
    refused: list[str]
    notes: list[str]


class _Run(NamedTuple):
    """A history's simulation during a pass.

    Attributes:
        armature: The armature.
        simulation: The simulation.
        frames: The first and last frame.
        refused: Why it can't be simulated; empty if it can.
    """

    armature: bpy.types.Object
    simulation: Simulated
    frames: tuple[int, int]
    refused: list[str]

    def seen(self) -> tuple[int, int]:
        """Return the first and last frame that the simulation visits."""
        return self.frames[0] - self.simulation.margin, self.frames[1] + self.simulation.margin

    def needed(self) -> Digest:
        """Return the constraints and other settings that the simulation depends on."""
        planner.current()
        return history.digest_of(self.armature, self.simulation, self.frames)

    def needed_first(self) -> Digest:
        """Return the part of `needed` to simulate first: all but the constraints on top."""
        later = _on_top(planner.current(), self.armature, self.simulation.owner)
        return history.digest_of(self.armature, self.simulation, self.frames, later)


def simulated(layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Return a view layer's armatures that can be simulated."""
    armatures = [ob for ob in layer.objects if ob.type == "ARMATURE" and ob.is_editable]
    return [ob for ob in armatures if history.owners(ob)]


def outdated_armatures(layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Return a view layer's armatures that are outdated or not yet simulated."""
    planner.current()
    history.check_again()  # Scripts may have changed inputs without an update.
    return [ob for ob in simulated(layer) if _is_outdated(ob)]


def simulate(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, armatures: Sequence[bpy.types.Object]
) -> Generator[float, None, Simulation]:
    """Play the frames and store the histories.

    Histories that can't be simulated stay unchanged. If the generator is closed early or fails,
    nothing is stored. The frame, poses and unkeyed values are always restored.

    Yields:
        The progress, from 0 to 1.

    Raises:
        ProblemError: If nothing can be simulated.
    """
    runs = _runs(scene, armatures)
    refused = [reason for ob in armatures for reason in history.refused(ob)]
    if not runs:
        raise ProblemError((*refused, "Nothing in this armature needs simulating")[0])
    objects = list({run.armature: None for run in runs})
    with returning(scene, layer, in_any_case=True), _staged(layer, runs, objects):
        originals = [history.stored(run.armature, run.simulation.owner) for run in runs]
        data = Needed()
        try:
            yield from _passes(scene, layer, runs)
            failed = [reason for run in runs for reason in run.refused]
            if len(failed) == len(runs):
                raise ProblemError(failed[0])
        except BaseException:
            for run, stored in zip(runs, originals, strict=True) if data.are_there() else ():
                history.store(run.armature, run.simulation.owner, stored)
            raise
    refused += failed
    planner.current()
    layer.update()
    notes = [note for ob in objects for note in history.notes(ob)]
    return Simulation(len(objects), len(_span([run.frames for run in runs])), refused, notes)


def _staged(
    layer: bpy.types.ViewLayer, runs: list[_Run], armatures: list[bpy.types.Object]
) -> AbstractContextManager[None]:
    """Evaluate only the armatures and the objects that their simulations need; see `staged`."""
    needed = {ob for run in runs for ob in _objects(run.simulation)}
    showing = [run.simulation for run in runs if isinstance(run.simulation, history.Showing)]
    shown = dict.fromkeys([*armatures, *(ob for shown in showing for ob in shown.shown())])
    return staged(layer, [*shown], needed)


def repeat(
    scene: bpy.types.Scene, armatures: Sequence[bpy.types.Object]
) -> Generator[float, None, bool]:
    """Repeat outdated simulations from their recordings, without playing any frame.

    Nothing is changed before everything is done, so the generator may be closed at any time.

    Yields:
        The progress, from 0 to 1.

    Returns:
        Whether that was possible. Otherwise nothing has changed.
    """
    planner.current()
    runs = [
        _Run(ob, simulation, _frames(ob, scene, simulation), [])
        for ob in armatures
        for simulation in history.outdated(ob)
    ]
    if not runs or not all([_is_recalled(run) for run in runs]):
        return False
    keys = [run.needed().key() for run in runs]
    yield from _computed(runs)
    for run, key in zip(runs, keys, strict=True):
        _keep(run, key)
    planner.discard()
    for ob in armatures:
        ob.update_tag()
    return True


def _is_recalled(run: _Run) -> bool:
    return isinstance(run.simulation, history.Repeatable) and run.simulation.recall(run.frames)


def set_range(armature: bpy.types.Object, start: int, end: int) -> None:
    """Set the frame range of an armature's simulation."""
    simulation = simulation_of(armature)
    if (simulation.frame_start, simulation.frame_end) != (start, end):
        simulation.frame_start, simulation.frame_end = start, end


def _passes(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, runs: list[_Run]
) -> Generator[float, None, None]:
    """Simulate level by level, dependencies first."""
    levels = _levels(runs)
    for i, level in enumerate(levels):
        needed = [run.needed() for run in level]
        unknown = level + _waiting(levels[i + 1 :], needed)
        owners = [(run.armature, run.simulation.owner) for run in unknown]
        with _others_muted(needed), history.running(owners):
            for done in _pass(scene, layer, level):
                yield (i + done) / len(levels)
        planner.current()
        played = [run for run in level if not run.refused]
        for _ in _computed(played):
            yield (i + 1) / len(levels)
        for run in played:
            _keep(run, run.needed().key())
        planner.discard()


def _waiting(levels: list[list[_Run]], needed: list[Digest]) -> list[_Run]:
    """Return the runs that the current level depends on although they are simulated later.

    Args:
        levels: The later levels.
        needed: What each run of the current level depends on.
    """
    runs = [run for level in levels for run in level]
    return [run for run in runs if any([_is_among(run, digest) for digest in needed])]


def _computed(runs: list[_Run]) -> Generator[float, None, None]:
    """Compute the results of recorded runs, and yield the progress."""
    computed = [run.simulation for run in runs if isinstance(run.simulation, history.Repeatable)]
    for i, simulation in enumerate(computed):
        for done in simulation.compute():
            yield (i + done) / len(computed)


def _keep(run: _Run, key: bytes) -> None:
    """Store the result of a run, and keep its recording if the run can be repeated."""
    history.write(
        run.armature, run.simulation.owner, History(*run.frames, run.simulation.result(), key)
    )
    if isinstance(run.simulation, history.Repeatable):
        run.simulation.remember(run.frames)


def _pass(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, runs: list[_Run]
) -> Generator[float, None, None]:
    """Play the frames once."""
    objects = list({run.armature: None for run in runs})
    frames = _visited(runs)
    yield from play(scene, frames, lambda frame: _step(layer, runs, objects, frame))


def _visited(runs: list[_Run]) -> Sequence[float]:
    """Return the frames that a pass plays."""
    span = _span([run.seen() for run in runs])
    frames: set[float] = {run.frames[0] for run in runs}
    for run in runs:
        if run.simulation.moments is None:
            return span
        frames.update([frame for frame in run.simulation.moments if span[0] <= frame <= span[-1]])
    return sorted(frames)


def _span(ranges: Sequence[tuple[int, int]]) -> range:
    """Return all frames from the first to the last of these ranges."""
    return range(min(first for first, _ in ranges), max(last for _, last in ranges) + 1)


def _in_a_cycle(level: list[_Run]) -> list[list[_Run]]:
    captured = [run for run in level if run.simulation.moments is not None]
    return [level, captured] if 0 < len(captured) < len(level) else [level]


def _levels(runs: list[_Run]) -> list[list[_Run]]:
    """Return runs in levels, each of which depends only on earlier levels."""
    needs: dict[int, set[int]] = {}
    for i, run in enumerate(runs):
        needed = run.needed_first()
        needs[i] = {j for j, other in enumerate(runs) if j != i and _is_among(other, needed)}
    levels: list[list[_Run]] = []
    while needs:
        # Runs that depend on each other are simulated together. Those that record events are then
        # simulated again, on the pose with the results of the others.
        independent = [i for i, dependencies in needs.items() if not dependencies & needs.keys()]
        level = [runs[i] for i in independent or needs]
        levels += [level] if independent else _in_a_cycle(level)
        for i in independent or [*needs]:
            del needs[i]
    return levels


@contextmanager
def _others_muted(needed: list[Digest]) -> Iterator[None]:
    """Mute all constraints that aren't needed, which saves most of the time."""
    with ExitStack() as stack:
        for rig in planner.current().rigs.values():
            needed_items = set[int]().union(*(d.items.get(rig.object, ()) for d in needed))
            other_items = set(range(len(settings(rig.object).constraints))) - needed_items
            stack.enter_context(muting(rig.object, other_items))
        yield


def _on_top(plan: Plan, armature: bpy.types.Object, owner: str) -> set[ChainPlan]:
    """Return the constraints solved on top of a simulated one.

    Args:
        plan: The plan.
        armature: The armature.
        owner: The path of the simulated constraint's settings.
    """
    units = plan.units_of.get(armature.session_uid, ())
    own = [u for u in units for c in u.members if owner.startswith(f"{OWN}{c.item}]")]
    return {c for unit in own for other in plan.on_top(unit, unit.bones) for c in other.members}


def _is_among(run: _Run, needed: Digest) -> bool:
    paths = [f"{OWN}{item}]" for item in needed.items.get(run.armature, ())]
    return run.simulation.owner.startswith((*paths, *needed.groups.get(run.armature, ())))


def _is_outdated(armature: bpy.types.Object) -> bool:
    return bool(history.owners(armature)) and history.is_due(armature)


def _runs(scene: bpy.types.Scene, armatures: Sequence[bpy.types.Object]) -> list[_Run]:
    """Return the runs of armatures, and of the outdated armatures that they depend on.

    Raises:
        ProblemError: If an armature can't be simulated.
    """
    runs: list[_Run] = []
    pending = list(armatures)
    planner.current()
    while pending:
        ob = pending.pop(0)
        if problem := rest_problem(ob):
            raise ProblemError(problem)
        armature_runs = [
            _Run(ob, simulation, _frames(ob, scene, simulation), [])
            for simulation in history.owners(ob)
        ]
        runs += armature_runs
        queued = {run.armature for run in runs} | set(pending)
        needed = {
            other: None
            for run in armature_runs
            for other in run.needed().items
            if other not in queued
        }
        pending += [other for other in needed if other.is_editable and _is_outdated(other)]
    return runs


def clear(armature: bpy.types.Object) -> None:
    """Remove all of an armature's histories."""
    for owner in history.owners(armature):
        history.store(armature, owner.owner, b"")
    planner.discard()
    armature.update_tag()


def _frames(
    armature: bpy.types.Object, scene: bpy.types.Scene, simulation: Simulated
) -> tuple[int, int]:
    start, end = history.range_of(armature, scene)
    if simulation.moments:
        start = min(start, floor(min(simulation.moments)))
        end = max(end, ceil(max(simulation.moments)))
    if end < start:
        raise ProblemError(
            "The simulation of “{armature}” has End ({end}) before Start ({start}): increase End",
            armature=armature.name,
            end=end,
            start=start,
        )
    return start, end


def _objects(simulation: Simulated) -> Iterator[bpy.types.Object]:
    for source in simulation.sources():
        yield source if isinstance(source, bpy.types.Object) else source.object


def _step(
    layer: bpy.types.ViewLayer, runs: list[_Run], objects: list[bpy.types.Object], frame: float
) -> None:
    depsgraph: Any = layer.depsgraph
    snapshot = solve_armatures(depsgraph, objects)
    for run in runs:
        start, end = run.seen()
        if frame == start:
            try:
                run.simulation.start(snapshot)
            except ProblemError as problem:
                run.refused.append(str(problem))
        if start <= frame <= end and not run.refused:
            run.simulation.step(snapshot)
