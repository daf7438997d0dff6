"""Chains that move a mesh of 50,000 vertices, on a still and on an animated armature."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import bpy

from .chains import arc
from .effort import Effort
from .playing import Score, in_turns
from .report import Bars, Goal, Section, Table, ms, times
from .scenes import (
    BLENDERS,
    FLOOR,
    FRAMES,
    KEY_EVERY,
    LENGTH,
    OURS,
    Rig,
    armature,
    link,
    save_variants,
)

RIG = Rig(4, 3)
VERTICES = 50_000
SIDES = 50
RADIUS = 0.05

MEANING = """\
Milliseconds of one `Scene.frame_set` of 4 chains of 3 bones with default settings that move a \
mesh of {vertices} vertices. “still” moves only the targets; “animated” has keys on another bone \
of the armature and on the armature object as well, so that Blender evaluates the mesh in any \
case, and twice if a handler writes afterward, as that of the floor does; “keyed” has keys on the \
posed bones besides, which are their FK pose. “first” is the first pass over the frames after \
opening the file, “later” two more passes."""


OWN_TIME = "our own time, with code and data that the mesh has driven out of the caches"


def run(effort: Effort) -> Section:
    """Measure the armatures."""
    vertices = effort.of(VERTICES, 2_000)
    ways: dict[str, list[Callable[[], None]]] = {
        "still": [],
        "animated": [_animate],
        "keyed": [_animate, _key_posed],
    }
    scores = {name: _measured(more, vertices, effort) for name, more in ways.items()}
    heads = [f"{who} {when}" for who in ("ours", "Blender", "floor") for when in ("first", "later")]
    ratios = [(score[OURS], score[BLENDERS]) for score in scores.values()]
    return Section(
        "Skinned",
        [
            Table(
                MEANING.format(vertices=f"{vertices:,}"),
                ("armature", *heads, "ours / Blender first", "later"),
                [_row(name, score) for name, score in scores.items()],
            )
        ],
        [
            Bars(
                "skinned.png",
                f"Time of a frame with a mesh of {vertices:,} vertices",
                "median, Blender's IK = 1",
                [f"armature {name}" for name in scores],
                {
                    "FABRIK IK, first pass": [ours.ratio(other) for ours, other in ratios],
                    "FABRIK IK, later passes": [ours.ratio_again(other) for ours, other in ratios],
                },
                line=1.0,
            )
        ],
        [
            Goal(
                f"Mesh of {vertices:,} vertices, armature {name}, {passes}: frame / frame with "
                "Blender's IK",
                1.2,
                ratio,
                OWN_TIME,
            )
            for name, score in scores.items()
            for passes, ratio in (
                ("first pass", score[OURS].ratio(score[BLENDERS])),
                ("later passes", score[OURS].ratio_again(score[BLENDERS])),
            )
        ],
    )


def _measured(steps: list[Callable[[], None]], vertices: int, effort: Effort) -> dict[str, Score]:
    def more() -> None:
        add_mesh(vertices)
        for step in steps:
            step()

    with TemporaryDirectory() as name:
        folder = Path(name)
        save_variants(RIG, folder, more)
        blocks = effort.of([range(1, 101), range(101, 201), range(1, 101)], [range(1, 4)])
        return in_turns(folder, (OURS, BLENDERS, FLOOR), blocks, passes=3)


def _row(name: str, scores: dict[str, Score]) -> list[str]:
    ours, blenders, floor = (scores[variant] for variant in (OURS, BLENDERS, FLOOR))
    found = [
        ms(value)
        for score in (ours, blenders, floor)
        for value in (score.typical, median(score.again))
    ]
    return [name, *found, times(ours.ratio(blenders)), times(ours.ratio_again(blenders))]


def add_mesh(vertices: int) -> None:
    """Wrap each chain into a tube; all tubes are one mesh."""
    ob: Any = link(bpy.data.objects.new("Skin", bpy.data.meshes.new("Skin")))
    rings = vertices // RIG.chains // SIDES
    places: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int, int]] = []
    hold: list[tuple[str, list[int], float]] = []
    for chain in range(RIG.chains):
        for ring in range(rings):
            start = len(places)
            way = RIG.bones * ring / rings
            places += _ring(chain, way)
            hold += [
                (bone, list(range(start, start + SIDES)), weight)
                for bone, weight in _weights(chain, way)
            ]
            if ring:
                faces += [
                    (
                        start + i,
                        start + (i + 1) % SIDES,
                        start + (i + 1) % SIDES - SIDES,
                        start + i - SIDES,
                    )
                    for i in range(SIDES)
                ]
    ob.data.from_pydata(places, [], faces)
    for bone, indices, weight in hold:
        group = ob.vertex_groups.get(bone) or ob.vertex_groups.new(name=bone)
        group.add(indices, weight, "REPLACE")
    ob.parent = armature()
    modifier = ob.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature()


def _ring(chain: int, way: float) -> list[tuple[float, float, float]]:
    joints = arc(RIG.bones, LENGTH)
    bone = int(way)
    share = way - bone
    x, y, z = RIG.root(chain)
    _, b, c = (p + (q - p) * share for p, q in zip(joints[bone], joints[bone + 1], strict=True))
    turns = [2.0 * pi * i / SIDES for i in range(SIDES)]
    return [(x + RADIUS * cos(turn), y + b + RADIUS * sin(turn), z + c) for turn in turns]


def _weights(chain: int, way: float) -> list[tuple[str, float]]:
    """Return which bones hold a place along a chain, and how much: its own and the nearest."""
    bone = int(way)
    share = way - bone
    other = bone - 1 if share < 0.5 else bone + 1
    if not 0 <= other < RIG.bones:
        return [(RIG.bone(chain, bone), 1.0)]
    own = 0.5 + min(share, 1.0 - share)
    return [(RIG.bone(chain, bone), own), (RIG.bone(chain, other), 1.0 - own)]


def _animate() -> None:
    """Key another bone of the armature, and the armature object."""
    ob = armature()
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    bone = ob.data.edit_bones.new("Other")
    bone.head, bone.tail = (0.0, 0.0, -0.5), (0.0, 0.0, -0.2)
    bpy.ops.object.mode_set(mode="OBJECT")
    posed = ob.pose.bones["Other"]
    for frame, angle in _keys():
        _key_turn(posed, frame, 0.2 * sin(angle))
        ob.location = (0.03 * sin(angle), 0.03 * cos(angle), 0.0)
        ob.keyframe_insert("location", frame=frame)


def _key_posed() -> None:
    """Key the rotation of all posed bones."""
    bones = armature().pose.bones
    for chain in range(RIG.chains):
        for place in range(RIG.bones):
            for frame, angle in _keys():
                bone = bones[RIG.bone(chain, place)]
                _key_turn(bone, frame, 0.05 * sin(angle + chain + place))


def _keys() -> list[tuple[int, float]]:
    """Return the frames with keys, each with an angle that grows by a turn over all frames."""
    frames = range(1 - 2 * KEY_EVERY, FRAMES + 2 * KEY_EVERY, KEY_EVERY)
    return [(frame, 2.0 * pi * (frame - 1) / FRAMES) for frame in frames]


def _key_turn(bone: Any, frame: int, angle: float) -> None:
    bone.rotation_quaternion = (cos(angle), sin(angle), 0.0, 0.0)
    bone.keyframe_insert("rotation_quaternion", frame=frame)
