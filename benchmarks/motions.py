"""Look-at, ropes and waves, compared with the same rig without constraints."""

from __future__ import annotations

from collections.abc import Callable
from math import asin, cos, pi, sin
from pathlib import Path
from statistics import median
from typing import Any

import bpy

from .harness import Effort, clocked, enable, new_file, open_file, save_file, temporary_folder
from .playing import Score, in_turns, judge, split, warm_up
from .report import Bound, Section, Table, ms, percentile, small, times
from .rigs import (
    BLENDERS,
    FLOOR,
    FRAMES,
    KEY_EVERY,
    OURS,
    BoneRest,
    Rig,
    add_ours,
    armature,
    build,
    link,
    make_armature,
    opened,
)

# Heads with two eyes each that look at targets, compared with Blender's Damped Track.


HEADS = 20
PARTS = ("Neck", "Head", "Eye.L", "Eye.R")

MEANING = """\
Milliseconds of one `Scene.frame_set` of {heads} heads that look at moving targets. Each shares \
its rotation with its neck, and has two eyes with separate constraints. Blender's variant has \
Damped Track on the four bones of each head, on the neck with an influence of 0.5. “damped” is \
ours with Damping on the heads. “floor” writes all rotations in a handler and nothing else. \
“each” is the median time in our handlers in microseconds, divided by the {count} constraints. \
“of that Blender's” is the part of evaluations caused by the handlers. “gaze” is the largest \
angle in radians by which an eye misses its target."""

LOOK_AT_MOST = {"plain": 15.0, "damped": 40.0}
"""The largest time of a constraint, in microseconds."""

LOOK_AT_WHY_NOT = (
    "{again:.0f} of them are a second evaluation by Blender; the rest is mostly Python"
)


def look_at(effort: Effort) -> Section:
    """Measure with and without damping."""
    heads = effort.of(HEADS, 2)
    rows: list[list[str]] = []
    goals: list[Bound] = []
    for name, damping in (("plain", 0.0), ("damped", 0.2)):
        scores, own_seconds, evaluations = _look_at_measured(heads, damping, effort)
        each, again = 1e6 * own_seconds / (3 * heads), 1e6 * evaluations / (3 * heads)
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
        goals.append(Bound(what, LOOK_AT_MOST[name], each, LOOK_AT_WHY_NOT.format(again=again)))
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
        goals=goals,
    )


def _look_at_measured(
    heads: int, damping: float, effort: Effort
) -> tuple[dict[str, Score], float, float]:
    """Return the scores, and the medians in our handlers and of their evaluations, in seconds."""
    with temporary_folder() as folder:
        _save_variants(heads, damping, folder)
        blocks = effort.of(split(FRAMES, 25), [range(1, 4)])
        scores = in_turns(folder, (OURS, BLENDERS, FLOOR), blocks)
        for variant in (OURS, BLENDERS):
            with opened(folder, variant) as scene:
                for frame in range(1, blocks[-1].stop, 10):
                    scene.frame_set(frame)
                    scores[variant].errors += _misses(heads)
        spent: list[tuple[float, float]] = []
        with opened(folder, OURS) as scene, clocked() as clock:
            warm_up(scene, 1)
            clock.take()
            for frame in range(1, blocks[-1].stop):
                scene.frame_set(frame)
                spent.append(clock.take())
        own_seconds, evaluations = (median(column) for column in zip(*spent, strict=True))
        return scores, own_seconds, evaluations


def _save_variants(heads: int, damping: float, folder: Path) -> None:
    """Save the same rig without constraints, with Blender's and with ours."""
    enable(False)
    _build(heads)
    save_file(folder / f"{FLOOR}.blend")
    bones = armature().pose.bones
    for head in range(heads):
        for part in PARTS:
            con = bones[f"{part} {head}"].constraints.new("DAMPED_TRACK")
            con.target = bpy.data.objects[f"Target {head}"]
            con.track_axis = "TRACK_Y" if part.startswith("Eye") else "TRACK_Z"
            con.influence = 0.5 if part == "Neck" else 1.0
    save_file(folder / f"{BLENDERS}.blend")
    enable(True)
    open_file(folder / f"{FLOOR}.blend")
    for head in range(heads):
        for part, count in (("Head", 2), ("Eye.L", 1), ("Eye.R", 1)):
            _add_ours(head, part, count, damping if part == "Head" else 0.0)
    save_file(folder / f"{OURS}.blend")


def _add_ours(head: int, part: str, count: int, damping: float) -> None:
    item = armature().fabrik.constraints.add()
    item.solver, item.bone, item.chain_count = "LOOK_AT", f"{part} {head}", count
    item.target = bpy.data.objects[f"Target {head}"]
    item.look.damping = damping
    if part != "Head":
        item.look.up_axis, item.look.axis = "Z", "Y"


def _build(heads: int) -> None:
    """Make the heads in a row, and a target that circles in front of each."""
    scene = new_file()
    scene.frame_start, scene.frame_end = 1, FRAMES
    bones: dict[str, BoneRest] = {}
    for head in range(heads):
        x = 0.5 * head
        ends = (
            ((x, 0.02, 0.0), (x, 0.0, 0.1), ""),
            ((x, 0.0, 0.1), (x, 0.0, 0.35), "Neck"),
            ((x + 0.04, -0.08, 0.2), (x + 0.04, -0.11, 0.2), "Head"),
            ((x - 0.04, -0.08, 0.2), (x - 0.04, -0.11, 0.2), "Head"),
        )
        for part, (start, end, parent) in zip(PARTS, ends, strict=True):
            bones[f"{part} {head}"] = (start, end, parent and f"{parent} {head}")
    make_armature(bones)
    for head in range(heads):
        empty = link(bpy.data.objects.new(f"Target {head}", None))
        for frame in range(1 - 2 * KEY_EVERY, FRAMES + 2 * KEY_EVERY, KEY_EVERY):
            angle = 2.0 * pi * (3 * (frame - 1) / FRAMES + head / heads)
            empty.location = (0.5 * head + 0.8 * cos(angle), -1.0, 0.2 + 0.5 * sin(angle))
            empty.keyframe_insert("location", frame=frame)


def _misses(heads: int) -> list[float]:
    """Return the angle by which each eye misses its target, in radians, as evaluated."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    ob = armature().evaluated_get(depsgraph)
    angles: list[float] = []
    for head in range(heads):
        target = bpy.data.objects[f"Target {head}"].evaluated_get(depsgraph)
        for part in PARTS[2:]:
            bone = ob.pose.bones[f"{part} {head}"]
            to_target = (target.matrix_world.translation - bone.head).normalized()
            gaze = (bone.tail - bone.head).normalized()
            angles.append(2.0 * asin(min(1.0, 0.5 * (to_target - gaze).length)))
    return angles


# Ropes and waves: the time they add to a frame of the same rig.


WITHOUT = "without"

ROPES_MOST = 1.0
"""The largest time that a rope of 100 bones may add to a frame, in milliseconds."""

ROPE = Rig(1, 100, solver="ROPE")
TENTACLES = Rig(8, 16)

TIMES = """\
Milliseconds that one `Scene.frame_set` takes, everything included, each frame played for the \
first time. “without” is the same rig with the same moving targets and no constraint; “added” is \
the cost of the constraints. “floor” is the time if a handler only writes all rotations. The \
plane and the mesh (a ball of {faces} faces) are placed so that a rope lies on them at most \
frames."""

Setting = Callable[[], None]


def _free() -> None:
    """Change nothing: the ropes hang freely."""


def _on_plane() -> None:
    _rest("PLANE", _ground("Plane", None))


def _on_mesh() -> None:
    _rest("MESH", _ground("Ball", _ball()))


def _waving() -> None:
    rig = armature()
    for item in list(rig.fabrik.constraints):
        wave = rig.fabrik.constraints.add()
        wave.bone, wave.solver = item.bone, "WAVE"
        wave.wave.noise = 0.5


CASES: dict[str, tuple[Rig, Setting]] = {
    "rope of 100": (ROPE, _free),
    "rope of 100 on a plane": (ROPE, _on_plane),
    "rope of 100 over a mesh": (ROPE, _on_mesh),
    "8 × 16, FABRIK and waves": (TENTACLES, _waving),
}


ROPES_WHY_NOT = "bones and meshes are read, and rays cast, from Python"


def ropes(effort: Effort) -> Section:
    """Measure all cases."""
    names = effort.of(list(CASES), ["rope of 100", "8 × 16, FABRIK and waves"])
    scores = {name: _ropes_measured(*CASES[name], effort) for name in names}
    return Section(
        "Ropes and waves",
        [
            Table(
                TIMES.format(faces=len(_ball().polygons)),
                ("", "ours median", "p95", WITHOUT, "added", FLOOR, "worst end / length"),
                [_row(name, score) for name, score in scores.items()],
            )
        ],
        [],
        [
            Bound(
                f"{name}: milliseconds added to a frame",
                ROPES_MOST,
                1e3 * _added(score),
                ROPES_WHY_NOT,
            )
            for name, score in scores.items()
            if name.startswith("rope")
        ],
    )


def _ropes_measured(rig: Rig, setting: Setting, effort: Effort) -> dict[str, Score]:
    with temporary_folder() as folder:
        enable(False)
        build(rig)
        for variant in (WITHOUT, FLOOR):
            save_file(folder / f"{variant}.blend")
        enable(True)
        open_file(folder / f"{WITHOUT}.blend")
        add_ours(rig)
        setting()
        save_file(folder / f"{OURS}.blend")
        blocks = effort.of(split(200, 25), [range(1, 4)])
        scores = in_turns(folder, (OURS, WITHOUT, FLOOR), blocks, passes=1)
        if setting is not _waving:  # Waves on top of chains move the tips off their targets.
            judge(folder, OURS, rig, range(1, blocks[-1].stop, 3), scores[OURS])
    return scores


def _rest(kind: str, ground: bpy.types.Object) -> None:
    for item in armature().fabrik.constraints:
        item.rope.collision, item.rope.collision_object = kind, ground


def _ground(name: str, mesh: bpy.types.Mesh | None) -> bpy.types.Object:
    ground = link(bpy.data.objects.new(name, mesh))
    ground.location = (0.0, 0.0, -0.1 if mesh is None else -0.25)
    return ground


def _ball() -> bpy.types.Mesh:
    import bmesh

    mesh = bpy.data.meshes.new("Ball")
    shape: Any = bmesh.new()
    bmesh.ops.create_uvsphere(shape, u_segments=64, v_segments=32, radius=0.25)
    shape.to_mesh(mesh)
    shape.free()
    return mesh


def _added(scores: dict[str, Score]) -> float:
    return scores[OURS].typical - scores[WITHOUT].typical


def _row(name: str, scores: dict[str, Score]) -> list[str]:
    ours = scores[OURS]
    return [
        name,
        ms(ours.typical),
        ms(percentile(ours.first, 0.95)),
        ms(scores[WITHOUT].typical),
        ms(_added(scores)),
        ms(scores[FLOOR].typical),
        small(max(ours.errors)) if ours.errors else "",
    ]
