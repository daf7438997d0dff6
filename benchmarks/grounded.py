"""Feet on the ground: what they cost, and how far they slide."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import bpy

from samples.opening import FOLDER

from . import extension
from .effort import Effort
from .playing import play
from .report import Goal, Section, Table, percentile

MEANING = """\
The biped of the sample `hills`: two legs of two bones and a hip, keyed for a flat floor, over a \
mesh of {vertices:,} vertices. Milliseconds of one `Scene.frame_set`, each frame for the first \
time and again, with the ground on and off in turn. “slide” is the farthest that a foot goes from \
where it is at the beginning of a contact, in millimetres; “simulate” one pass over the frames, in \
milliseconds a frame."""

ROUNDS = 5


def run(effort: Effort) -> Section:
    """Measure the sample with and without ground."""
    extension.turn(True)
    scene = extension.open_file(FOLDER / "hills.blend")
    rig: Any = bpy.data.objects["Rig"]
    frames = list(effort.of(range(1, scene.frame_end + 1), range(1, 13)))
    first: dict[bool, list[float]] = {True: [], False: []}
    again: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(effort.of(ROUNDS, 1)):
        for is_on in (True, False):
            _turn(rig, is_on)  # All that was remembered is forgotten.
            first[is_on] += play(scene, frames)
            again[is_on] += play(scene, frames)
    _turn(rig, True)
    slide = _slide(rig, scene, frames)
    begin = perf_counter()
    bpy.context.view_layer.objects.active = rig
    bpy.ops.fabrik.simulate()  # type: ignore[attr-defined]
    each = (perf_counter() - begin) / scene.frame_end
    rows = [
        [
            "on" if is_on else "off",
            f"{1e3 * percentile(first[is_on], 0.5):.2f}",
            f"{1e3 * percentile(again[is_on], 0.5):.2f}",
            f"{1e3 * slide:.4f}" if is_on else "",
            f"{1e3 * each:.2f}" if is_on else "",
        ]
        for is_on in (True, False)
    ]
    cost = (percentile(first[True], 0.5) - percentile(first[False], 0.5)) / 2
    ground: Any = bpy.data.objects["Hills"].data
    return Section(
        "Feet on the ground",
        [
            Table(
                MEANING.format(vertices=len(ground.vertices)),
                ("ground", "first", "again", "slide", "simulate"),
                rows,
            )
        ],
        goals=[
            Goal(
                "a foot on the ground, with half the hip: milliseconds a frame",
                1.0,
                1e3 * cost,
                "bones and settings are read, and rays cast, from Python",
            ),
            Goal("slide of a foot over a contact, in millimetres", 1.0, 1e3 * slide),
        ],
    )


def _turn(rig: Any, is_on: bool) -> None:
    for item in rig.fabrik.constraints:
        item.ground.use = is_on


def _slide(rig: Any, scene: bpy.types.Scene, frames: list[int]) -> float:
    """Return how far a foot is at most from where it was when its contact began, in metres."""
    from addon.loop import plan

    spans: dict[str, Any] = {}
    for chain in plan.current().chains:
        given = rig.fabrik.constraints[chain.item].ground
        source: Any = chain.goal_source
        spans[f"Foot.{chain.name[-1]}"] = source.walk(chain, given, frames[0])[0].spans
    began: dict[tuple[str, int], Any] = {}
    most = 0.0
    for frame in frames:
        scene.frame_set(frame)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for name, contacts in spans.items():
            place = posed.matrix_world @ posed.pose.bones[name].head
            for first in [first for first, last in contacts if first <= frame <= last]:
                start = began.setdefault((name, first), place)
                most = max(most, (place - start).length)
    return most
