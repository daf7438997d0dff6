"""One pass over the frames, in which all histories of some armatures are made."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import bpy

from .. import plan
from ..access import session_uid, settings
from ..baking.recording import returning, staged
from ..chain_plan import ProblemError
from ..evaluate import snapshot
from . import history
from .history import History, Simulated


class Simulation(NamedTuple):
    """What was simulated.

    Attributes:
        armatures: How many armatures.
        frames: How many frames were played.
    """

    armatures: int
    frames: int


class _Run(NamedTuple):
    """One owner during a pass."""

    armature: bpy.types.Object
    one: Simulated
    frames: tuple[int, int]


def simulated(layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Return the armatures of a view layer of which anything can be simulated."""
    found = [ob for ob in layer.objects if ob.type == "ARMATURE" and ob.is_editable]
    return [ob for ob in found if history.owners(ob)]


def stale(layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Return those of which anything has to be simulated anew, or for the first time."""
    plan.current()
    return [ob for ob in simulated(layer) if history.state(ob) != history.FRESH]


def simulate(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, armatures: Sequence[bpy.types.Object]
) -> Generator[float, None, Simulation]:
    """Play the frames once and keep what comes of it.

    If it is closed before its end, or fails, nothing was kept. In any case the frame, the poses and
    what was not keyed are given back.

    Yields:
        The share that is done, after each frame.

    Raises:
        ProblemError: If there is nothing to simulate, or it cannot be.
    """
    runs = [_Run(ob, one, _frames(ob, scene)) for ob in armatures for one in history.owners(ob)]
    if not runs:
        raise ProblemError("Nothing of the armature has to be simulated")
    first = min(run.frames[0] for run in runs)
    last = max(run.frames[1] for run in runs)
    objects = list({run.armature: None for run in runs})
    needed = {ob for run in runs for ob in _objects(run.one)}
    with returning(scene, layer, in_any_case=True), staged(layer, objects, needed):
        with _running(objects):
            for frame in range(first, last + 1):
                scene.frame_set(frame)
                _step(layer, runs, objects, frame)
                yield (frame - first + 1) / (last - first + 1)
        blobs = [run.one.result() for run in runs]
        plan.current()
        for run, blob in zip(runs, blobs, strict=True):
            key = history.key_of(run.armature, run.one, run.frames)
            history.write(run.armature, run.one.owner, History(*run.frames, blob, key))
        for ob, (start, end) in {run.armature: run.frames for run in runs}.items():
            kept = settings(ob).simulation
            if (kept.frame_start, kept.frame_end) != (start, end):
                kept.frame_start, kept.frame_end = start, end
    return Simulation(len(objects), last - first + 1)


def clear(armature: bpy.types.Object) -> None:
    """Forget all that was simulated of an armature."""
    for one in history.owners(armature):
        history.write(armature, one.owner, None)
    plan.discard()
    armature.update_tag()


def _frames(armature: bpy.types.Object, scene: bpy.types.Scene) -> tuple[int, int]:
    start, end = history.range_of(armature, scene)
    if end < start:
        raise ProblemError(
            f"The simulation of “{armature.name}” ends at frame {end}, before it starts at "
            f"{start}: set Start and End"
        )
    return start, end


def _objects(one: Simulated) -> Iterator[bpy.types.Object]:
    for source in one.sources():
        yield source if isinstance(source, bpy.types.Object) else source.object


def _step(
    layer: bpy.types.ViewLayer, runs: list[_Run], objects: list[bpy.types.Object], frame: int
) -> None:
    depsgraph: Any = layer.depsgraph
    moment = snapshot(depsgraph, objects)
    for run in runs:
        start, end = run.frames
        if frame == start:
            run.one.start(moment)
        if start <= frame <= end:
            run.one.step(moment)


@contextmanager
def _running(armatures: Sequence[bpy.types.Object]) -> Iterator[None]:
    """Let nothing depend on the histories of armatures for a while."""
    uids = {session_uid(ob) for ob in armatures}
    history.start_running(uids)
    plan.discard()
    try:
        yield
    finally:
        history.end_running(uids)
        plan.discard()
