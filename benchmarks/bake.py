"""Baking, compared with Blender's own bake of the same file."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import bpy

from samples.opening import FOLDER, quiet

from .crowds import add_mesh
from .harness import Effort, enable, open_file, temporary_folder
from .playing import play
from .report import Bound, Section, Table, times
from .rigs import FRAMES, OURS, Rig, armature, save_variants

RIGS = {
    "20 × 10": Rig(20, 10),
    "4 × 3 and a mesh of 50,000 vertices": Rig(4, 3),
    "humanoid (a sample)": None,
}
VERTICES = 50_000
ROUNDS = 3

MEANING = """\
Frames per second when baking all constraints of a file over {frames} frames, medians of {rounds} \
alternating runs, each in a newly opened file. Blender's is `bpy.ops.nla.bake` with visual keying \
of the same bones, rotations only. Both evaluate the same constraints of the same file. Ours is \
the operator: it plays the range, writes the keys, and compares them with the recording, bit for \
bit. If they differ, it plays the range again without the constraints. “without comparison” is \
the rate up to the comparison. “playback” only plays the same file. “difference” is the largest \
distance between the live and the baked motion, in meters."""

LEAST = 3.0
"""The least speed of our bake, relative to Blender's."""

PLAYED = "playback alone has {share:.1f} times the rate, and a bake with proof plays all frames"


def bake(effort: Effort) -> Section:
    """Measure all rigs."""
    names = effort.of(list(RIGS), ["20 × 10"])
    frames = effort.of(FRAMES, 4)
    results = {name: _measured(RIGS[name], name, frames, effort) for name in names}
    return Section(
        "Baking",
        [
            Table(
                MEANING.format(frames=frames, rounds=effort.of(ROUNDS, 1)),
                (
                    "rig",
                    "ours",
                    "without comparison",
                    "Blender",
                    "playback",
                    "ours / Blender",
                    "without comparison",
                    "difference",
                ),
                [_row(name, speeds) for name, speeds in results.items()],
            )
        ],
        goals=[
            Bound(
                f"{name}: rate of our bake, comparison included / Blender's bake",
                LEAST,
                speeds["ours"] / speeds["blender"],
                PLAYED.format(share=speeds["playback"] / speeds["blender"]),
                is_lower=True,
            )
            for name, speeds in results.items()
        ],
    )


def _row(name: str, speeds: dict[str, float]) -> list[str]:
    kinds = ("ours", "without comparison", "blender", "playback")
    return [
        name,
        *(f"{speeds[kind]:.0f}" for kind in kinds),
        times(speeds["ours"] / speeds["blender"]),
        times(speeds["without comparison"] / speeds["blender"]),
        f"{speeds['difference']:.1e}",
    ]


def _measured(rig: Rig | None, name: str, frames: int, effort: Effort) -> dict[str, float]:
    """Return the frames per second of each kind of bake, and the error of ours."""
    rates: dict[str, list[float]] = {}
    with temporary_folder() as folder:
        path = folder / f"{OURS}.blend"
        if rig is None:
            enable(True)
            path = FOLDER / "humanoid.blend"
        else:
            more = _skin(effort) if "mesh" in name else None
            save_variants(rig, folder, more)
        for _ in range(effort.of(ROUNDS, 1)):
            for run in (_play, _bake, _bake_as_blender):
                enable(True)
                scene = open_file(path)
                for kind, figure in run(scene, frames).items():
                    rates.setdefault(kind, []).append(figure)
    return {kind: median(figures) for kind, figures in rates.items()}


def _skin(effort: Effort) -> Callable[[], None]:
    return lambda: add_mesh(effort.of(VERTICES, 2_000))


def _play(scene: bpy.types.Scene, frames: int) -> dict[str, float]:
    scene.frame_set(frames)
    return {"playback": frames / sum(play(scene, range(1, frames + 1)))}


def _bake(scene: bpy.types.Scene, frames: int) -> dict[str, float]:
    from addon.features.bake import bake as baking
    from addon.features.bake import passes, selecting

    scene.frame_set(frames)
    layer: Any = bpy.context.view_layer
    start = perf_counter()
    written = 0.0
    picks, _ = selecting.select(selecting.all_constraints([armature()]))
    work = baking.bake(scene, layer, picks, baking.BakeOptions(1, frames))
    while True:
        try:
            done = next(work)
        except StopIteration as finished:
            apart = finished.value.verification.distance
            break
        if done > passes.RECORDED_PROGRESS and not written:
            written = perf_counter() - start
    proven = perf_counter() - start
    return {"ours": frames / proven, "without comparison": frames / written, "difference": apart}


def _bake_as_blender(scene: bpy.types.Scene, frames: int) -> dict[str, float]:
    from addon.features.bake import selecting

    ob = armature()
    picks, _ = selecting.select(selecting.all_constraints([ob]))
    posed = set(picks[0].names)
    layer: Any = bpy.context.view_layer
    for other in layer.objects:
        other.select_set(other == ob)
    layer.objects.active = ob
    bpy.ops.object.mode_set(mode="POSE")
    for bone in ob.pose.bones:
        (bone if hasattr(bone, "select") else bone.bone).select = bone.name in posed
    options: dict[str, Any] = {"bake_types": {"POSE"}, "channel_types": {"ROTATION"}}
    scene.frame_set(frames)
    start = perf_counter()
    with quiet():
        bpy.ops.nla.bake(
            frame_start=1, frame_end=frames, only_selected=True, visual_keying=True, **options
        )
    return {"blender": frames / (perf_counter() - start)}
