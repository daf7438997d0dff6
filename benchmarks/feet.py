"""Feet on the ground and walks: their cost, sliding feet, crowds and long shots."""

from __future__ import annotations

import gc
import sys
from itertools import pairwise
from math import ceil, sin
from statistics import median
from time import perf_counter
from typing import Any

import bpy
from mathutils import Vector

from addon.blender import animation
from samples.opening import FOLDER

from .harness import Effort, clocked, enable, new_file, open_file, save_file, temporary_folder
from .idle import resident_megabytes
from .playing import play, warm_up
from .report import Bound, Section, Table, ms, percentile, small
from .rigs import BoneRest, armature, link, make_armature

# Feet on the ground: their cost, and their sliding.


GROUND_MEANING = """\
The biped of the sample `hills`: two legs of two bones and a hip, keyed for a flat floor, over a \
mesh of {vertices:,} vertices. Milliseconds of one `Scene.frame_set`, each frame for the first \
time and again, alternately with the ground on and off. The skinned body is shown or hidden; \
Blender doesn't evaluate it while it's hidden. “slide” is the largest distance of a foot from its \
position at the start of a contact, in millimeters. “simulate” is one pass over the frames, in \
milliseconds per frame."""

ROUNDS = 3

MOST = 0.2
"""The milliseconds that a foot may add to a frame."""

SKIN, NO_SKIN = "skin shown", "skin hidden"

WHY_NOT = """\
bones are read and rays cast from Python, and Blender evaluates the figure twice in {share:.0f} % \
of the frames that are first played"""

SIDES = ("L", "R")

SKATING = """\
The same figure, whose feet drift as they do in captures: by noise of up to {drift:g} cm on their \
keys. By the published measures a foot skates if it is lower than 5 cm in two consecutive frames, \
and faster than 0.5 m/s over 5. Viewers notice if a standing foot slides by 21 mm (Pražák 2011). \
“before” is the animation on its flat floor, “after” the figure on the hills. Heights are those \
of the ankle above where it stands."""

DRIFT = 0.08
"""The strength of the noise, in meters, half to each side."""

LOW, FAST, NOTICED = 0.05, 0.5, 0.021
"""In meters, meters per second, and meters."""


def ground(effort: Effort) -> Section:
    """Measure the sample with and without ground."""
    enable(True)
    scene = open_file(FOLDER / "hills.blend")
    rig: Any = bpy.data.objects["Rig"]
    frames = list(effort.of(range(1, scene.frame_end + 1), range(1, 13)))
    times, twice_share = _ground_played(rig, scene, frames, effort.of(ROUNDS, 1))
    slide = _slide(rig, scene, frames)
    begin = perf_counter()
    bpy.context.view_layer.objects.active = rig
    bpy.ops.fabrik.simulate()  # type: ignore[attr-defined]
    each = (perf_counter() - begin) / scene.frame_end
    rows = [
        [
            f"{'on' if is_on else 'off'}, {SKIN if has_skin else NO_SKIN}",
            f"{1e3 * median(first):.2f}",
            f"{1e3 * median(again):.2f}",
            f"{1e3 * slide:.4f}" if is_on and has_skin else "",
            f"{1e3 * each:.2f}" if is_on and has_skin else "",
        ]
        for (is_on, has_skin), (first, again) in times.items()
    ]
    skating = _skating(rig, scene, frames)
    ground: Any = bpy.data.objects["Hills"].data
    return Section(
        "Feet on the ground",
        [
            Table(
                GROUND_MEANING.format(vertices=len(ground.vertices)),
                ("ground", "first", "again", "slide", "simulate"),
                rows,
            ),
            Table(
                SKATING.format(drift=100.0 * 0.5 * DRIFT),
                ("", "skating frames", "slides of 21 mm", "contacts", "longest slide"),
                skating,
            ),
        ],
        goals=[
            *_goals(times, twice_share),
            Bound("slide of a foot over a contact, in millimeters", 1.0, 1e3 * slide),
        ],
    )


def _goals(times: Times, twice_share: float) -> list[Bound]:
    goals: list[Bound] = []
    for has_skin in (True, False):
        for when, name in enumerate(("first played", "played again")):
            on, off = (median(times[is_on, has_skin][when]) for is_on in (True, False))
            what = f"a foot on the ground, with half the hip, {SKIN if has_skin else NO_SKIN}"
            why_not = WHY_NOT.format(share=100.0 * twice_share)
            goals.append(
                Bound(f"{what}, {name}: milliseconds a frame", MOST, 1e3 * (on - off) / 2, why_not)
            )
    return goals


Times = dict[tuple[bool, bool], tuple[list[float], list[float]]]


def _ground_played(
    rig: Any, scene: bpy.types.Scene, frames: list[int], rounds: int
) -> tuple[Times, float]:
    """Time frames with the ground on and off, and with the skin shown and hidden.

    Returns:
        The seconds of frames played for the first time, and again, by whether the ground is on and
        whether the skin is shown; and the share of frames on the ground that are evaluated twice.
    """
    skins = [ob for ob in bpy.data.objects if ob.find_armature() == rig]
    assert skins
    cases = [(is_on, has_skin) for has_skin in (True, False) for is_on in (True, False)]
    times: Times = {case: ([], []) for case in cases}
    for _ in range(rounds):
        for is_on, has_skin in cases:
            for ob in skins:
                ob.hide_viewport = not has_skin
            _turn(rig, is_on)  # This discards caches.
            warm_up(scene, frames[0])
            for seconds in times[is_on, has_skin]:
                seconds += play(scene, frames)
    for ob in skins:
        ob.hide_viewport = False
    _turn(rig, True)
    with clocked() as clock:
        play(scene, frames)
    return times, len(clock.evaluations) / len(frames)


def _turn(rig: Any, is_on: bool) -> None:
    for item in rig.fabrik.constraints:
        item.ground.use = is_on


def _skating(rig: Any, scene: bpy.types.Scene, frames: list[int]) -> list[list[str]]:
    """Return rows on the skating of drifting feet, before and after putting them on the ground."""
    for side in SIDES:
        target: Any = bpy.data.objects[f"Foot target.{side}"]
        for axis, curve in animation.active_curves(target, "location").items():
            if axis < 2:
                noise: Any = curve.modifiers.new("NOISE")
                noise.strength, noise.scale, noise.phase = DRIFT, 9.0, 3.0 + axis
    bpy.ops.fabrik.simulate()  # type: ignore[attr-defined]
    spans = _spans(rig, frames[0])
    rows: list[list[str]] = []
    for name, is_on in (("before", False), ("after", True)):
        _turn(rig, is_on)
        tracks = _places(rig, scene, frames, is_on)
        skating = sum(_skates(track, scene.render.fps) for track in tracks.values())
        slides = [
            max((track[i][0] - track[first][0]).xy.length for i in range(first, last + 1))
            for side, track in tracks.items()
            for first, last in spans[side]
            if last < len(track)
        ]
        percent = 100.0 * skating / sum(map(len, tracks.values()))
        noticed = sum(slide > NOTICED for slide in slides)
        longest = 1e3 * max(slides, default=0.0)
        cells = [name, f"{percent:.1f} %", str(noticed), str(len(slides)), f"{longest:.1f} mm"]
        rows.append(cells)
    return rows


def _places(
    rig: Any, scene: bpy.types.Scene, frames: list[int], is_on: bool
) -> dict[str, list[tuple[Any, float]]]:
    """Return the ankles' positions at each frame, and their heights above stance, in meters."""
    tracks: dict[str, list[tuple[Any, float]]] = {side: [] for side in SIDES}
    ground = bpy.data.objects["Hills"]
    for frame in frames:
        scene.frame_set(frame)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for side, track in tracks.items():
            position = (posed.matrix_world @ posed.pose.bones[f"Foot.{side}"].head).copy()
            height = position.z
            if is_on:
                above = ground.matrix_world.inverted() @ (position + Vector((0.0, 0.0, 2.0)))
                _, hit, _, _ = ground.ray_cast(above, Vector((0.0, 0.0, -1.0)))
                height -= (ground.matrix_world @ hit).z
            track.append((position, height))
    low = {side: min(height for _, height in track) for side, track in tracks.items()}
    return {side: [(p, h - low[side]) for p, h in track] for side, track in tracks.items()}


def _skates(track: list[tuple[Any, float]], rate: float) -> int:
    """Return the number of frames at which a foot skates."""
    count = 0
    for i in range(2, len(track) - 2):
        speed = (
            sum((track[j + 1][0] - track[j][0]).xy.length for j in range(i - 2, i + 2)) * rate / 4.0
        )
        count += track[i][1] < LOW > track[i + 1][1] and speed > FAST
    return count


def _spans(rig: Any, frame: int) -> dict[str, list[tuple[int, int]]]:
    """Return the frame ranges in which the feet are flat, relative to a frame."""
    from addon.plan import planner

    spans: dict[str, list[tuple[int, int]]] = {}
    for chain in planner.current().chains:
        source: Any = chain.goal_source
        track = source.contact_track(chain, rig.fabrik.constraints[chain.item].ground, frame)[0]
        flats = [(a - frame, b - frame) for a, b in track.flats]
        spans[chain.name[-1]] = [(max(0, first), last) for first, last in flats if last > 0]
    return spans


def _slide(rig: Any, scene: bpy.types.Scene, frames: list[int]) -> float:
    """Return the largest distance of a flat foot from where it became flat, in meters."""
    spans = _spans(rig, 0)
    began: dict[tuple[str, int], Any] = {}
    most = 0.0
    for frame in frames:
        scene.frame_set(frame)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for name, contacts in spans.items():
            position = posed.matrix_world @ posed.pose.bones[f"Foot.{name}"].head
            for first in [first for first, last in contacts if first <= frame <= last]:
                start = began.setdefault((name, first), position)
                most = max(most, (position - start).length)
    return most


# Walking legs: the time to simulate their steps, and the cost of a frame.


WALKING_FRAMES = 1000
WALKING_LEGS = (2, 4, 8, 16)
SPEED = 0.035
"""Meters per frame."""

WALKING_MEANING = """\
A body with legs of three bones each that walks over a wavy floor, {frames} frames. “simulate” is \
the whole of `fabrik.simulate`, one pass over all frames; “of that steps” is the time to plan the \
steps. “frame” is one `Scene.frame_set` afterwards, with the chains solved, in milliseconds. \
“off” is the largest distance of a foot from its planned position. “slides” is the largest \
distance of a standing foot from where it landed. Both are fractions of the leg's length."""


def walking(effort: Effort) -> Section:
    """Measure walks with few and many legs."""
    frames = effort.of(WALKING_FRAMES, 40)
    rows: list[list[str]] = []
    goals: list[Bound] = []
    for legs in effort.of(list(WALKING_LEGS), [8]):
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
            goals += [
                Bound("8 walking legs: seconds to simulate 1,000 frames", 5.0, took),
                Bound(
                    "8 walking legs: the share of its leg that a standing foot slides", 1e-3, slides
                ),
            ]
    headings = ("legs", "simulate", "of that steps", "frame median", "p95", "off", "slides")
    return Section(
        "Walking", [Table(WALKING_MEANING.format(frames=frames), headings, rows)], goals=goals
    )


def _measured(legs: int, frames: int) -> tuple[float, float, list[float], float, float]:
    with temporary_folder() as folder:
        enable(True)
        build(legs, frames)
        with _Stopwatch() as steps:
            start = perf_counter()
            operators: Any = bpy.ops
            operators.fabrik.simulate()
            took = perf_counter() - start
        path = folder / "walk.blend"
        save_file(path)
        open_file(path)
        times, off, slides = _walking_played(frames)
    return took, steps.spent, times, off, slides


class _Stopwatch:
    """Adds up the time to plan steps, including rays."""

    def __enter__(self) -> _Stopwatch:
        from fabrik_solver.motion.walking import StepPlanner

        self.spent = 0.0
        self._step = StepPlanner.step

        def step(walk: Any, *arguments: Any) -> None:
            start = perf_counter()
            self._step(walk, *arguments)
            self.spent += perf_counter() - start

        setattr(StepPlanner, "step", step)  # noqa: B010 - not the same arguments
        return self

    def __exit__(self, *_: object) -> None:
        from fabrik_solver.motion.walking import StepPlanner

        setattr(StepPlanner, "step", self._step)  # noqa: B010


def _walking_played(frames: int) -> tuple[list[float], float, float]:
    """Return the time of each frame in seconds, and the largest miss and slide of a foot."""
    from addon.features.gait.sampling import stored_walk
    from addon.features.simulation import history

    scene: Any = bpy.context.scene
    rig: Any = armature()
    size = sum(bone.length for bone in rig.data.bones if bone.name.endswith(" 0"))
    stored = history.data(rig, "fabrik.gaits[0]")
    record = stored_walk(stored.blob) if stored else None
    assert record is not None
    times: list[float] = []
    off = slides = 0.0
    landings: dict[tuple[int, int], Any] = {}
    for frame in range(1, frames + 1):
        start = perf_counter()
        scene.frame_set(frame)
        times.append(perf_counter() - start)
        bones = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        for leg, falls in enumerate(record[0].falls):
            off = max(off, rig.fabrik.constraints[leg].error / size)
            fall_index = max(i for i, fall in enumerate(falls) if i == 0 or fall.lift <= frame)
            if falls[fall_index].land <= frame:
                tip = bones[f"Foot {leg}"].tail.copy()
                first = landings.setdefault((leg, fall_index), tip)
                slides = max(slides, (tip - first).length / size)
    return times, off, slides


def build(legs: int, frames: int) -> None:
    """Make a creature that walks over a wavy floor in a new file.

    Args:
        legs: The number of its legs, even.
        frames: The number of frames; it moves by `SPEED` in each.
    """
    scene = new_file()
    scene.frame_start, scene.frame_end = 1, frames
    _floor(ceil(frames * SPEED) + 5.0)
    bones: dict[str, BoneRest] = {
        "Root": ((0, 0, 0), (0, 0.2, 0), ""),
        "Body": ((0, 0.1, 0.5), (0, -0.2, 0.5), "Root"),
    }
    rows = legs // 2
    for leg in range(legs):
        side = 1.0 if leg % 2 else -1.0
        y = 0.7 - 1.4 * (leg // 2) / (rows - 1) if rows > 1 else 0.0
        joints = [(0.1 * side, 0.4 * y, 0.5), (0.4 * side, 0.8 * y, 0.8)]
        joints += [(0.75 * side, y, 0.45), (0.8 * side, 1.05 * y, 0.0)]
        parent = "Body"
        for part, ends in zip(("Hip", "Knee", "Foot"), pairwise(joints), strict=True):
            bones[f"{part} {leg}"] = (*ends, parent)
            parent = f"{part} {leg}"
    rig = make_armature(bones)
    gait = rig.fabrik.gaits.add()
    gait.body = "Body"
    for leg in range(legs):
        target = link(bpy.data.objects.new(f"Target {leg}", None))
        target.location = rig.data.bones[f"Foot {leg}"].tail_local
        item = rig.fabrik.constraints.add()
        item.name = item.bone = f"Foot {leg}"
        item.chain_count, item.target, item.swing = 3, target, 1.0
        gait.legs.add().constraint = item.name
    for frame, distance in ((1, 0.0), (frames, SPEED * frames)):
        rig.pose.bones["Root"].location = (0.0, -distance, 0.0)
        rig.pose.bones["Root"].keyframe_insert("location", frame=frame)


def _floor(length: float) -> None:
    """Make a mesh with waves, of a length in meters."""
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


# Crowds of walking creatures, and a walk of many frames.


LONG_SHOTS_LEGS = 8
CREATURES = 100
CROWD_FRAMES = 25
ROW = 10
"""The number of creatures side by side."""

LONG_SHOTS_FRAMES = 10_000
PART = 1_000

CROWD = """\
Creatures with {legs} walking legs each on the floor of the section “Walking”, {frames} frames. \
“simulate” is the simulation of all of them together; “frame” the median of one `Scene.frame_set` \
afterward. Both are in milliseconds, of a frame and of a frame for each creature."""

LONG = """\
One of them, {frames:,} frames: the same times, and the median of a frame among the first and the \
last {part:,}. The rest is resident memory in megabytes: before simulating, added by simulating, \
and added by playing all frames. It is measured on Linux only."""

FLAT = 1.1


def long_shots(effort: Effort) -> Section:
    """Measure a crowd, and a long walk."""
    frames, part = effort.of((LONG_SHOTS_FRAMES, PART), (20, 10))
    crowd_frames = effort.of(CROWD_FRAMES, 4)
    rows: list[list[str]] = []
    simulated, first, last, sizes = _long(frames, part)
    megabytes = [f"{size:.1f}" for size in sizes] or ["", "", ""]
    long_row = [f"{frames:,}", *map(ms, (simulated, first, last)), *megabytes]
    for count in (1, effort.of(CREATURES, 2)):
        simulated, played = _crowd(count, crowd_frames)
        cells = (simulated, simulated / count, played, played / count)
        rows.append([str(count), *map(ms, cells)])
    return Section(
        "Long shots",
        [
            Table(
                CROWD.format(legs=LONG_SHOTS_LEGS, frames=crowd_frames),
                ("creatures", "simulate", "for each", "frame", "for each"),
                rows,
            ),
            Table(
                LONG.format(frames=frames, part=part),
                ("frames", "simulate", "first", "last", "memory", "simulating", "playing"),
                [long_row],
            ),
        ],
        goals=[
            Bound(f"walk of {frames:,} frames: last {part:,} / first", FLAT, last / first),
        ],
    )


def _crowd(count: int, frames: int) -> tuple[float, float]:
    """Return the seconds per frame of simulation, and of playback afterwards."""
    enable(True)
    build(LONG_SHOTS_LEGS, max(frames, ceil(count / ROW) * 30))
    bpy.context.scene.frame_end = frames
    for number in range(1, count):
        _copy(number)
    rigs: list[Any] = [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
    assert len(rigs) == count
    simulated = _simulate(rigs) / frames
    return simulated, median(play(bpy.context.scene, range(1, frames + 1)))


def _copy(number: int) -> None:
    """Add a copy of the first creature with its own targets, at another position."""
    first: Any = armature()
    rig = link(first.copy())
    offset = (0.2 * (number % ROW), -1.0 * (number // ROW), 0.0)
    rig.location = offset
    for item in getattr(rig, "fabrik").constraints:  # noqa: B009 - no stub has it
        item.target = link(item.target.copy())
        for axis in range(3):
            item.target.location[axis] += offset[axis]


def _simulate(rigs: list[Any]) -> float:
    """Simulate armatures together, and return the seconds."""
    from addon.features.simulation.simulate import simulate

    layer: Any = bpy.context.view_layer
    layer.update()
    work = simulate(bpy.context.scene, layer, rigs)
    start = perf_counter()
    while True:
        try:
            next(work)
        except StopIteration as finished:
            seconds, result = perf_counter() - start, finished.value
            break
    assert result.armatures == len(rigs) and not result.refused
    return seconds


def _long(frames: int, part: int) -> tuple[float, float, float, list[float]]:
    """Return seconds per frame (simulated, first, last), and the growth of memory in megabytes."""
    enable(True)
    build(LONG_SHOTS_LEGS, frames)
    scene: Any = bpy.context.scene
    bpy.context.view_layer.objects.active = armature()
    sizes = [_size()]
    simulated = _simulate([armature()]) / frames
    sizes.append(_size())
    times = play(scene, range(1, frames + 1))
    sizes.append(_size())
    grown = [sizes[0], sizes[1] - sizes[0], sizes[2] - sizes[1]]
    has_sizes = sys.platform.startswith("linux")
    return (
        simulated,
        median(times[:part]),
        median(times[-part:]),
        grown if has_sizes else [],
    )


def _size() -> float:
    gc.collect()
    return resident_megabytes() if sys.platform.startswith("linux") else 0.0
