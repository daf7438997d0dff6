"""Heads with two eyes each that look at targets, compared with Blender's Damped Track."""

from __future__ import annotations

from math import asin, cos, pi, sin
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import bpy

from . import extension
from .effort import Effort
from .playing import Score, in_turns, split, warm_up
from .report import Goal, Section, Table, ms, percentile, small, times
from .scenes import BLENDERS, FLOOR, FRAMES, KEY_EVERY, OURS, armature, link, opened

HEADS = 20
PARTS = ("Neck", "Head", "Eye.L", "Eye.R")

MEANING = """\
Milliseconds of one `Scene.frame_set` of {heads} heads, each with a neck that shares its rotation \
and two eyes with constraints of their own, which look at moving targets. Blender's variant has \
Damped Track on the four bones of each head, on the neck with an influence of 0.5. “damped” is \
ours with Damping on the heads. “floor” writes all rotations in a handler and nothing else. \
“each” is the median time in our handlers in microseconds, divided by the {count} constraints, \
and “of that Blender's” the evaluations that they cause. “gaze” is the largest angle in radians \
by which an eye misses its target."""

MOST = {"plain": 15.0, "damped": 40.0}
"""The microseconds that a constraint may take."""

WHY_NOT = "{again:.0f} of them are a second evaluation by Blender; the rest is mostly Python"


def run(effort: Effort) -> Section:
    """Measure with damping and without."""
    heads = effort.of(HEADS, 2)
    rows: list[list[str]] = []
    found: list[Goal] = []
    for name, damping in (("plain", 0.0), ("damped", 0.2)):
        scores, own, evaluations = _measured(heads, damping, effort)
        each, again = 1e6 * own / (3 * heads), 1e6 * evaluations / (3 * heads)
        ours, blenders, floor = (scores[variant] for variant in (OURS, BLENDERS, FLOOR))
        rows.append(
            [
                name,
                ms(ours.typical),
                ms(percentile(ours.first, 0.95)),
                ms(blenders.typical),
                ms(floor.typical),
                times(ours.ratio(blenders)),
                f"{each:.1f}",
                f"{again:.1f}",
                small(max(ours.errors)),
                small(max(blenders.errors)),
            ]
        )
        what = f"look-at, each of {3 * heads}, {name}: microseconds in our handlers"
        found.append(Goal(what, MOST[name], each, WHY_NOT.format(again=again)))
    headings = (
        "heads",
        "ours median",
        "p95",
        "Blender median",
        "floor median",
        "ours / Blender",
        "each",
        "of that Blender's",
    )
    return Section(
        "Look-at",
        [
            Table(
                MEANING.format(heads=heads, count=3 * heads),
                (*headings, "gaze ours", "gaze Blender"),
                rows,
            )
        ],
        goals=found,
    )


def _measured(heads: int, damping: float, effort: Effort) -> tuple[dict[str, Score], float, float]:
    """Return the scores, and the medians in our handlers and of their evaluations, in seconds."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _save_variants(heads, damping, folder)
        blocks = effort.of(split(FRAMES, 25), [range(1, 4)])
        scores = in_turns(folder, (OURS, BLENDERS, FLOOR), blocks)
        for variant in (OURS, BLENDERS):
            with opened(folder, variant) as scene:
                for frame in range(1, blocks[-1].stop, 10):
                    scene.frame_set(frame)
                    scores[variant].errors += _misses(heads)
        spent: list[tuple[float, float]] = []
        with opened(folder, OURS) as scene, extension.clocked() as clock:
            warm_up(scene, 1)
            clock.take()
            for frame in range(1, blocks[-1].stop):
                scene.frame_set(frame)
                spent.append(clock.take())
        own, evaluations = (median(column) for column in zip(*spent, strict=True))
        return scores, own, evaluations


def _save_variants(heads: int, damping: float, folder: Path) -> None:
    """Save the same rig without constraints, with Blender's and with ours."""
    extension.turn(False)
    _build(heads)
    extension.save_file(folder / f"{FLOOR}.blend")
    bones = armature().pose.bones
    for head in range(heads):
        for part in PARTS:
            con = bones[f"{part} {head}"].constraints.new("DAMPED_TRACK")
            con.target = bpy.data.objects[f"Target {head}"]
            con.track_axis = "TRACK_Y" if part.startswith("Eye") else "TRACK_Z"
            con.influence = 0.5 if part == "Neck" else 1.0
    extension.save_file(folder / f"{BLENDERS}.blend")
    extension.turn(True)
    extension.open_file(folder / f"{FLOOR}.blend")
    for head in range(heads):
        for part, count in (("Head", 2), ("Eye.L", 1), ("Eye.R", 1)):
            _add_ours(head, part, count, damping if part == "Head" else 0.0)
    extension.save_file(folder / f"{OURS}.blend")


def _add_ours(head: int, part: str, count: int, damping: float) -> None:
    item = armature().fabrik.constraints.add()
    item.solver, item.bone, item.chain_count = "LOOK_AT", f"{part} {head}", count
    item.target = bpy.data.objects[f"Target {head}"]
    item.look.damping = damping
    if part != "Head":
        item.look.up_axis, item.look.axis = "Z", "Y"


def _build(heads: int) -> None:
    """Make the heads in a row, and a target that circles in front of each."""
    scene = extension.new_file()
    scene.frame_start, scene.frame_end = 1, FRAMES
    data: Any = bpy.data.armatures.new("Rig")
    ob = link(bpy.data.objects.new("Rig", data))
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    for head in range(heads):
        x = 0.5 * head
        places = (
            ((x, 0.02, 0.0), (x, 0.0, 0.1), ""),
            ((x, 0.0, 0.1), (x, 0.0, 0.35), "Neck"),
            ((x + 0.04, -0.08, 0.2), (x + 0.04, -0.11, 0.2), "Head"),
            ((x - 0.04, -0.08, 0.2), (x - 0.04, -0.11, 0.2), "Head"),
        )
        for part, (start, end, parent) in zip(PARTS, places, strict=True):
            bone = data.edit_bones.new(f"{part} {head}")
            bone.head, bone.tail = start, end
            bone.parent = data.edit_bones[f"{parent} {head}"] if parent else None
    bpy.ops.object.mode_set(mode="OBJECT")
    for head in range(heads):
        empty = link(bpy.data.objects.new(f"Target {head}", None))
        for frame in range(1 - 2 * KEY_EVERY, FRAMES + 2 * KEY_EVERY, KEY_EVERY):
            angle = 2.0 * pi * (3 * (frame - 1) / FRAMES + head / heads)
            empty.location = (0.5 * head + 0.8 * cos(angle), -1.0, 0.2 + 0.5 * sin(angle))
            empty.keyframe_insert("location", frame=frame)


def _misses(heads: int) -> list[float]:
    """Return the angle by which each eye misses its target, as evaluated."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    ob = armature().evaluated_get(depsgraph)
    found: list[float] = []
    for head in range(heads):
        target = bpy.data.objects[f"Target {head}"].evaluated_get(depsgraph)
        for part in PARTS[2:]:
            bone = ob.pose.bones[f"{part} {head}"]
            way = (target.matrix_world.translation - bone.head).normalized()
            gaze = (bone.tail - bone.head).normalized()
            found.append(2.0 * asin(min(1.0, 0.5 * (way - gaze).length)))
    return found
