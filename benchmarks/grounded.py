"""Feet on the ground: their cost, and how far they slide."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

import bpy
from mathutils import Vector

from addon.blender import animation
from samples.opening import FOLDER

from . import extension
from .effort import Effort
from .playing import play, warm_up
from .report import Goal, Section, Table

MEANING = """\
The biped of the sample `hills`: two legs of two bones and a hip, keyed for a flat floor, over a \
mesh of {vertices:,} vertices. Milliseconds of one `Scene.frame_set`, each frame for the first \
time and again, alternately with the ground on and off, and with the skinned body shown and \
hidden: while it is hidden, Blender does not evaluate it, neither once nor twice. “slide” is the \
largest distance of a foot from its position at the start of a contact, in millimetres; \
“simulate” one pass over the frames, in milliseconds per frame."""

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
keys. By the published measures a foot skates in a frame if it is lower than 5 cm in that and the \
next one, and faster than 0.5 m/s over 5 frames; viewers notice a foot that slides by 21 mm while \
it stands (Pražák 2011). “before” is the animation on its flat floor, “after” the figure on the \
hills. Heights are those of the ankle above where it stands."""

DRIFT = 0.08
"""The strength of the noise, in metres; half of it to each side."""

LOW, FAST, NOTICED = 0.05, 0.5, 0.021
"""In metres, metres per second, and metres."""


def run(effort: Effort) -> Section:
    """Measure the sample with and without ground."""
    extension.turn(True)
    scene = extension.open_file(FOLDER / "hills.blend")
    rig: Any = bpy.data.objects["Rig"]
    frames = list(effort.of(range(1, scene.frame_end + 1), range(1, 13)))
    times, share = _played(rig, scene, frames, effort.of(ROUNDS, 1))
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
                MEANING.format(vertices=len(ground.vertices)),
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
            *_goals(times, share),
            Goal("slide of a foot over a contact, in millimetres", 1.0, 1e3 * slide),
        ],
    )


def _goals(times: Times, share: float) -> list[Goal]:
    found: list[Goal] = []
    for has_skin in (True, False):
        for when, name in enumerate(("first played", "played again")):
            on, off = (median(times[is_on, has_skin][when]) for is_on in (True, False))
            what = f"a foot on the ground, with half the hip, {SKIN if has_skin else NO_SKIN}"
            why_not = WHY_NOT.format(share=100.0 * share)
            found.append(
                Goal(f"{what}, {name}: milliseconds a frame", MOST, 1e3 * (on - off) / 2, why_not)
            )
    return found


Times = dict[tuple[bool, bool], tuple[list[float], list[float]]]


def _played(
    rig: Any, scene: bpy.types.Scene, frames: list[int], rounds: int
) -> tuple[Times, float]:
    """Time frames with the ground on and off, and with the skin shown and hidden.

    Returns:
        The seconds of frames played for the first time, and again, by whether the ground is on and
        whether the skin is shown; and the share of frames on the ground that are evaluated twice.
    """
    skins = [ob for ob in bpy.data.objects if ob.find_armature() == rig]
    assert skins
    ways = [(is_on, has_skin) for has_skin in (True, False) for is_on in (True, False)]
    times: Times = {way: ([], []) for way in ways}
    for _ in range(rounds):
        for is_on, has_skin in ways:
            for ob in skins:
                ob.hide_viewport = not has_skin
            _turn(rig, is_on)  # This discards caches.
            warm_up(scene, frames[0])
            for seconds in times[is_on, has_skin]:
                seconds += play(scene, frames)
    for ob in skins:
        ob.hide_viewport = False
    _turn(rig, True)
    with extension.clocked() as clock:
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
        places = _places(rig, scene, frames, is_on)
        skating = sum(_skates(way, scene.render.fps) for way in places.values())
        slides = [
            max((way[i][0] - way[first][0]).xy.length for i in range(first, last + 1))
            for side, way in places.items()
            for first, last in spans[side]
            if last < len(way)
        ]
        share = 100.0 * skating / sum(map(len, places.values()))
        noticed = sum(slide > NOTICED for slide in slides)
        longest = 1e3 * max(slides, default=0.0)
        cells = [name, f"{share:.1f} %", str(noticed), str(len(slides)), f"{longest:.1f} mm"]
        rows.append(cells)
    return rows


def _places(
    rig: Any, scene: bpy.types.Scene, frames: list[int], is_on: bool
) -> dict[str, list[tuple[Any, float]]]:
    """Return the positions of the ankles at each frame, and their heights above that in stance."""
    found: dict[str, list[tuple[Any, float]]] = {side: [] for side in SIDES}
    ground = bpy.data.objects["Hills"]
    for frame in frames:
        scene.frame_set(frame)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for side, way in found.items():
            place = (posed.matrix_world @ posed.pose.bones[f"Foot.{side}"].head).copy()
            height = place.z
            if is_on:
                above = ground.matrix_world.inverted() @ (place + Vector((0.0, 0.0, 2.0)))
                _, hit, _, _ = ground.ray_cast(above, Vector((0.0, 0.0, -1.0)))
                height -= (ground.matrix_world @ hit).z
            way.append((place, height))
    low = {side: min(height for _, height in way) for side, way in found.items()}
    return {side: [(p, h - low[side]) for p, h in way] for side, way in found.items()}


def _skates(way: list[tuple[Any, float]], rate: float) -> int:
    """Return the number of frames at which a foot skates."""
    count = 0
    for i in range(2, len(way) - 2):
        speed = sum((way[j + 1][0] - way[j][0]).xy.length for j in range(i - 2, i + 2)) * rate / 4.0
        count += way[i][1] < LOW > way[i + 1][1] and speed > FAST
    return count


def _spans(rig: Any, frame: int) -> dict[str, list[tuple[int, int]]]:
    """Return the frame ranges in which the feet are flat, relative to a frame."""
    from addon.plan import planner

    spans: dict[str, list[tuple[int, int]]] = {}
    for chain in planner.current().chains:
        source: Any = chain.goal_source
        walk = source.walk(chain, rig.fabrik.constraints[chain.item].ground, frame)[0]
        spans[chain.name[-1]] = [(a - frame, b - frame) for a, b in walk.flats]
    return spans


def _slide(rig: Any, scene: bpy.types.Scene, frames: list[int]) -> float:
    """Return the largest distance of a flat foot from where it became flat, in metres."""
    spans = _spans(rig, 0)
    began: dict[tuple[str, int], Any] = {}
    most = 0.0
    for frame in frames:
        scene.frame_set(frame)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for name, contacts in spans.items():
            place = posed.matrix_world @ posed.pose.bones[f"Foot.{name}"].head
            for first in [first for first, last in contacts if first <= frame <= last]:
                start = began.setdefault((name, first), place)
                most = max(most, (place - start).length)
    return most
