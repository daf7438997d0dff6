"""Walking legs: how long their steps take to be simulated, and what a frame of them costs."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, sin
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import bpy

from . import extension
from .effort import Effort
from .report import Goal, Section, Table, ms, percentile, small
from .scenes import armature, link

FRAMES = 1000
LEGS = (2, 4, 8, 16)
SPEED = 0.035
"""Metres per frame."""

MEANING = """\
A body with legs of three bones each that walks over a wavy floor, {frames} frames. “simulate” is \
the whole of `fabrik.simulate`, which plays all frames once; “of that steps” is the time to plan \
the steps. “frame” is one `Scene.frame_set` afterwards, with the chains solved, in milliseconds. \
“off” is the largest distance of a foot from its planned position, and “slides” that of a foot in \
stance from where it landed, both as a share of the leg's length."""


def run(effort: Effort) -> Section:
    """Measure walks of few and many legs."""
    frames = effort.of(FRAMES, 40)
    rows: list[list[str]] = []
    found: list[Goal] = []
    for legs in effort.of(list(LEGS), [8]):
        took, steps, times, off, slides = _measured(legs, frames)
        rows.append(
            [
                str(legs),
                f"{took:.2f} s",
                f"{steps:.2f} s",
                ms(median(times)),
                ms(percentile(times, 0.95)),
                small(off),
                small(slides),
            ]
        )
        if legs == 8:
            found += [
                Goal("8 walking legs: seconds to simulate 1,000 frames", 5.0, took),
                Goal(
                    "8 walking legs: the share of its leg that a standing foot slides", 1e-3, slides
                ),
            ]
    headings = ("legs", "simulate", "of that steps", "frame median", "p95", "off", "slides")
    return Section("Walking", [Table(MEANING.format(frames=frames), headings, rows)], goals=found)


def _measured(legs: int, frames: int) -> tuple[float, float, list[float], float, float]:
    with TemporaryDirectory() as name:
        extension.turn(True)
        build(legs, frames)
        with _Stopwatch() as steps:
            start = perf_counter()
            operators: Any = bpy.ops
            operators.fabrik.simulate()
            took = perf_counter() - start
        path = Path(name) / "walk.blend"
        extension.save_file(path)
        extension.open_file(path)
        times, off, slides = _played(frames)
    return took, steps.spent, times, off, slides


class _Stopwatch:
    """Adds up the time in which steps are found, rays and all."""

    def __enter__(self) -> _Stopwatch:
        from fabrik_solver.motion.walking import StepPlanner

        self.spent = 0.0
        self._step = StepPlanner.step

        def step(walk: Any, *rest: Any) -> None:
            start = perf_counter()
            self._step(walk, *rest)
            self.spent += perf_counter() - start

        setattr(StepPlanner, "step", step)  # noqa: B010 - not the same arguments
        return self

    def __exit__(self, *_: object) -> None:
        from fabrik_solver.motion.walking import StepPlanner

        setattr(StepPlanner, "step", self._step)  # noqa: B010


def _played(frames: int) -> tuple[list[float], float, float]:
    """Return the time of each frame, and by how much feet miss and slide at most."""
    from addon.features.gait.sampling import stored_walk
    from addon.features.simulation import history

    scene: Any = bpy.context.scene
    rig: Any = armature()
    size = sum(bone.length for bone in rig.data.bones if bone.name.endswith(" 0"))
    kept = history.data(rig, "fabrik.gaits[0]")
    record = stored_walk(kept.blob) if kept else None
    assert record is not None
    times: list[float] = []
    off = slides = 0.0
    stood: dict[tuple[int, int], Any] = {}
    for frame in range(1, frames + 1):
        start = perf_counter()
        scene.frame_set(frame)
        times.append(perf_counter() - start)
        bones = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        for leg, falls in enumerate(record[0].falls):
            off = max(off, rig.fabrik.constraints[leg].error / size)
            at = max(i for i, fall in enumerate(falls) if i == 0 or fall.lift <= frame)
            if falls[at].land <= frame:
                tip = bones[f"Foot {leg}"].tail.copy()
                first = stood.setdefault((leg, at), tip)
                slides = max(slides, (tip - first).length / size)
    return times, off, slides


def build(legs: int, frames: int) -> None:
    """Make a creature that walks over a wavy floor in a new file.

    Args:
        legs: The number of its legs, even.
        frames: The number of frames, in each of which it moves on by `SPEED`.
    """
    scene = extension.new_file()
    scene.frame_start, scene.frame_end = 1, frames
    _floor(ceil(frames * SPEED) + 5.0)
    data: Any = bpy.data.armatures.new("Rig")
    rig: Any = link(bpy.data.objects.new("Rig", data))
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    root = data.edit_bones.new("Root")
    root.head, root.tail = (0, 0, 0), (0, 0.2, 0)
    body = data.edit_bones.new("Body")
    body.head, body.tail, body.parent = (0, 0.1, 0.5), (0, -0.2, 0.5), root
    rows = legs // 2
    for leg in range(legs):
        side = 1.0 if leg % 2 else -1.0
        y = 0.7 - 1.4 * (leg // 2) / (rows - 1) if rows > 1 else 0.0
        joints = [(0.1 * side, 0.4 * y, 0.5), (0.4 * side, 0.8 * y, 0.8)]
        joints += [(0.75 * side, y, 0.45), (0.8 * side, 1.05 * y, 0.0)]
        parent = body
        for part, (head, tail) in zip(("Hip", "Knee", "Foot"), pairwise(joints), strict=True):
            bone = data.edit_bones.new(f"{part} {leg}")
            bone.head, bone.tail, bone.parent = head, tail, parent
            parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    gait = rig.fabrik.gaits.add()
    gait.body = "Body"
    for leg in range(legs):
        target = link(bpy.data.objects.new(f"Target {leg}", None))
        target.location = data.bones[f"Foot {leg}"].tail_local
        item = rig.fabrik.constraints.add()
        item.name = item.bone = f"Foot {leg}"
        item.chain_count, item.target, item.swing = 3, target, 1.0
        gait.legs.add().constraint = item.name
    for frame, way in ((1, 0.0), (frames, SPEED * frames)):
        rig.pose.bones["Root"].location = (0.0, -way, 0.0)
        rig.pose.bones["Root"].keyframe_insert("location", frame=frame)


def _floor(length: float) -> None:
    """Make a mesh with waves along the way, of a length in metres."""
    wide, step = 16, 0.1
    long = round(length / step)
    points = [
        (0.25 * (x - 8), 1.5 - step * y, 0.05 * sin(0.3 * y) + 0.04 * sin(1.1 * x + 0.2 * y))
        for y in range(long)
        for x in range(wide + 1)
    ]
    row = wide + 1
    faces = [
        (y * row + x, y * row + x + 1, (y + 1) * row + x + 1, (y + 1) * row + x)
        for y in range(long - 1)
        for x in range(wide)
    ]
    mesh = bpy.data.meshes.new("Floor")
    mesh.from_pydata(points, [], faces)
    link(bpy.data.objects.new("Floor", mesh))
