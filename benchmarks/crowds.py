"""Frames of heavy scenes: a skinned mesh, thousands of objects, hundreds of armatures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import cos, pi, sin
from pathlib import Path
from statistics import median
from typing import Any

import bpy

from .harness import Effort, enable, open_file, save_file, temporary_folder
from .idle import inside_our_handlers
from .playing import Score, in_turns, play, split, warm_up
from .report import Bars, Bound, Section, Table, ms, times
from .rigs import (
    BLENDERS,
    FLOOR,
    FRAMES,
    KEY_EVERY,
    LENGTH,
    OURS,
    Rig,
    arc,
    armature,
    build,
    link,
    opened,
    save_variants,
    target_name,
)

# Chains that move a mesh of 50,000 vertices, on a still and on an animated armature.


SKINNED_RIG = Rig(4, 3)
VERTICES = 50_000
SIDES = 50
RADIUS = 0.05

SKINNED_MEANING = """\
Milliseconds of one `Scene.frame_set` of 4 chains of 3 bones with default settings that move a \
mesh of {vertices} vertices. “still” moves only the targets. “animated” has keys on another bone \
of the armature and on the armature object as well, so Blender always evaluates the mesh. It \
evaluates it twice if a handler writes afterward, as that of the floor does. “keyed” also has \
keys on the posed bones, as their FK pose. “first” is the first pass over the frames after \
opening the file, “later” two more passes."""


OWN_TIME = "our own time, with code and data that the mesh has driven out of the caches"


def skinned(effort: Effort) -> Section:
    """Measure each way to animate the armature."""
    vertices = effort.of(VERTICES, 2_000)
    setups: dict[str, list[Callable[[], None]]] = {
        "still": [],
        "animated": [_animate],
        "keyed": [_animate, _key_posed],
    }
    scores = {name: _skinned_measured(more, vertices, effort) for name, more in setups.items()}
    heads = [f"{who} {when}" for who in ("ours", "Blender", "floor") for when in ("first", "later")]
    ratios = [(score[OURS], score[BLENDERS]) for score in scores.values()]
    return Section(
        "Skinned",
        [
            Table(
                SKINNED_MEANING.format(vertices=f"{vertices:,}"),
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
            Bound(
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


def _skinned_measured(
    steps: list[Callable[[], None]], vertices: int, effort: Effort
) -> dict[str, Score]:
    def more() -> None:
        add_mesh(vertices)
        for step in steps:
            step()

    with temporary_folder() as folder:
        save_variants(SKINNED_RIG, folder, more)
        blocks = effort.of([range(1, 101), range(101, 201), range(1, 101)], [range(1, 4)])
        return in_turns(folder, (OURS, BLENDERS, FLOOR), blocks, passes=3)


def _row(name: str, scores: dict[str, Score]) -> list[str]:
    ours, blenders, floor = (scores[variant] for variant in (OURS, BLENDERS, FLOOR))
    cells = [
        ms(value)
        for score in (ours, blenders, floor)
        for value in (score.typical, median(score.again))
    ]
    return [name, *cells, times(ours.ratio(blenders)), times(ours.ratio_again(blenders))]


def add_mesh(vertices: int) -> None:
    """Wrap each chain into a tube; all tubes are one mesh."""
    ob: Any = link(bpy.data.objects.new("Skin", bpy.data.meshes.new("Skin")))
    rings = vertices // SKINNED_RIG.chains // SIDES
    points: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int, int]] = []
    weights: list[tuple[str, list[int], float]] = []
    for chain in range(SKINNED_RIG.chains):
        for ring in range(rings):
            start = len(points)
            position = SKINNED_RIG.bones * ring / rings
            points += _ring(chain, position)
            weights += [
                (bone, list(range(start, start + SIDES)), weight)
                for bone, weight in _weights(chain, position)
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
    ob.data.from_pydata(points, [], faces)
    for bone, indices, weight in weights:
        group = ob.vertex_groups.get(bone) or ob.vertex_groups.new(name=bone)
        group.add(indices, weight, "REPLACE")
    ob.parent = armature()
    modifier = ob.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature()


def _ring(chain: int, position: float) -> list[tuple[float, float, float]]:
    joints = arc(SKINNED_RIG.bones, LENGTH)
    bone = int(position)
    fraction = position - bone
    x, y, z = SKINNED_RIG.root(chain)
    _, b, c = (p + (q - p) * fraction for p, q in zip(joints[bone], joints[bone + 1], strict=True))
    turns = [2.0 * pi * i / SIDES for i in range(SIDES)]
    return [(x + RADIUS * cos(turn), y + b + RADIUS * sin(turn), z + c) for turn in turns]


def _weights(chain: int, position: float) -> list[tuple[str, float]]:
    """Return the weights at a position along a chain, of its bone and of the nearest neighbor."""
    bone = int(position)
    fraction = position - bone
    other = bone - 1 if fraction < 0.5 else bone + 1
    if not 0 <= other < SKINNED_RIG.bones:
        return [(SKINNED_RIG.bone(chain, bone), 1.0)]
    weight = 0.5 + min(fraction, 1.0 - fraction)
    return [(SKINNED_RIG.bone(chain, bone), weight), (SKINNED_RIG.bone(chain, other), 1.0 - weight)]


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
    for chain in range(SKINNED_RIG.chains):
        for index in range(SKINNED_RIG.bones):
            for frame, angle in _keys():
                bone = bones[SKINNED_RIG.bone(chain, index)]
                _key_turn(bone, frame, 0.05 * sin(angle + chain + index))


def _keys() -> list[tuple[int, float]]:
    """Return the frames with keys, each with an angle that makes one turn over all frames."""
    frames = range(1 - 2 * KEY_EVERY, FRAMES + 2 * KEY_EVERY, KEY_EVERY)
    return [(frame, 2.0 * pi * (frame - 1) / FRAMES) for frame in frames]


def _key_turn(bone: Any, frame: int, angle: float) -> None:
    bone.rotation_quaternion = (cos(angle), sin(angle), 0.0, 0.0)
    bone.keyframe_insert("rotation_quaternion", frame=frame)


# One armature among thousands of moving objects.


OBJECTS = 5_000
CROWD_RIG = Rig(1, 3)
FRAMES_TIMED = 60
SIDE = 70
"""The number of objects in a row."""

CROWD_MEANING = """\
Milliseconds of one `Scene.frame_set` of one chain of 3 bones among {count} other objects moved \
by an action, and the part spent in our handlers. This part includes the evaluations that they \
cause. “still” also moves the chain's target, “animated” the armature object as well."""

COLD = (
    "our own time, with code and data that Blender's work on all objects has driven out of caches"
)


def crowd(effort: Effort) -> Section:
    """Measure with the armature still and animated."""
    count = effort.of(OBJECTS, 20)
    rows: list[list[str]] = []
    goals: list[Bound] = []
    for name in ("still", "animated"):
        whole, own_seconds = _crowd_measured(partial(_crowd, count, name == "animated"), effort)
        rows.append([name, ms(whole), ms(own_seconds)])
        what = f"One armature, {name}, among {count:,} moving objects: milliseconds in our handlers"
        goals.append(Bound(what, 1.0, 1e3 * own_seconds, COLD))
    headings = ("armature", "frame", "our handlers")
    return Section(
        "Crowd", [Table(CROWD_MEANING.format(count=f"{count:,}"), headings, rows)], goals=goals
    )


def _crowd(count: int, is_animated: bool) -> None:
    """Add moving objects, and optionally keys on the armature object."""
    first = link(bpy.data.objects.new("Bystander", None))
    _move(first)
    for i in range(1, count):
        other: Any = first.copy()
        link(other).location = (i % SIDE, i // SIDE, 0.0)
    if is_animated:
        _move(armature())


def _move(ob: bpy.types.Object) -> None:
    for frame, z in ((1, 0.0), (FRAMES, 1.0)):
        ob.location.z = z
        ob.keyframe_insert("location", index=2, frame=frame)


def _crowd_measured(more: Callable[[], None], effort: Effort) -> tuple[float, float]:
    """Return the medians of a frame and of the time in our handlers, in seconds."""
    with temporary_folder() as folder:
        save_variants(CROWD_RIG, folder, more)
        with opened(folder, OURS) as scene:
            frames = range(1, effort.of(FRAMES_TIMED, 3) + 1)
            warm_up(scene, 1)
            whole: list[float] = []

            def play_all() -> list[float]:
                whole.extend(play(scene, frames))
                return whole

            own_seconds = inside_our_handlers(play_all)
    return median(whole), median(own_seconds)


# Many armatures: the cost of each as their number grows.


COUNTS = (10, 100, 500)
ARMATURES_RIG = Rig(8, 3)

PLAIN = "no IK"

ARMATURES_MEANING = """\
Milliseconds of one `Scene.frame_set` divided by the number of armatures, each of {name} with \
moving targets. “ours alone” is without the frame of the same file without IK; “growth” compares \
that with the first row. In the row “{count}, caches emptied” {megabytes} MB are read before each \
frame. The processor then has to fetch everything from memory, as with many armatures."""

MEGABYTES = 64

ALSO = (
    "with Blender's IK {growth:.2f}; ours with the fewest armatures takes {emptied:.2f} times as "
    "long if the processor's caches are emptied before each frame"
)


def armatures(effort: Effort) -> Section:
    """Measure files with increasing numbers of armatures."""
    rows: list[list[str]] = []
    goals: list[Bound] = []
    least, *more = effort.of(COUNTS, (1, 2))
    cases = [(f"{least}", least, int), (f"{least}, caches emptied", least, _emptying())]
    cases += [(f"{count}", count, int) for count in more]
    alone: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for name, count, empty_caches in cases:
        scores = _armatures_measured(count, effort, empty_caches)
        ours, theirs[name], plain = (
            scores[variant].typical / count for variant in (OURS, BLENDERS, PLAIN)
        )
        alone[name] = ours - plain
        growth = times(alone[name] / alone[f"{least}"])
        rows.append([name, *map(ms, (ours, theirs[name], plain, alone[name])), growth])
    first, emptied, *others = alone
    for name in others if more == list(COUNTS[1:]) else ():
        what = f"{name} armatures: our own time for each / the same of {first}"
        also = ALSO.format(
            growth=theirs[name] / theirs[first], emptied=alone[emptied] / alone[first]
        )
        goals.append(Bound(what, 1.1, alone[name] / alone[first], also))
    headings = ("armatures", "ours", "Blender's IK", PLAIN, "ours alone", "growth")
    meaning = ARMATURES_MEANING.format(
        name=f"{ARMATURES_RIG.name} bones", count=least, megabytes=MEGABYTES
    )
    return Section("Armatures", [Table(meaning, headings, rows)], goals=goals)


def _emptying() -> Callable[[], object]:
    """Return a function that reads more than a processor's caches hold."""
    elsewhere = b"x" * (MEGABYTES << 20)  # Zeros would all share a page of memory.
    return lambda: elsewhere.count(b"y")


def _armatures_measured(
    count: int, effort: Effort, empty_caches: Callable[[], object]
) -> dict[str, Score]:
    with temporary_folder() as folder:
        _save_variants(count, folder)
        frames = effort.of(max(FRAMES // (count // 10 or 1), 24), 4)
        blocks = split(frames, max(frames // 2, 1))
        return in_turns(folder, (OURS, BLENDERS, PLAIN), blocks, passes=1, before=empty_caches)


def _save_variants(count: int, folder: Path) -> None:
    """Save the armatures without IK, with Blender's and with ours."""
    enable(False)
    build(ARMATURES_RIG)
    targets = [bpy.data.objects[target_name(chain)] for chain in range(ARMATURES_RIG.chains)]
    for _ in range(1, count):
        link(armature().copy())
    save_file(folder / f"{PLAIN}.blend")
    for ob in _armatures():
        for chain, target in enumerate(targets):
            con = ob.pose.bones[ARMATURES_RIG.tip(chain)].constraints.new("IK")
            con.target = target
    save_file(folder / f"{BLENDERS}.blend")
    enable(True)
    open_file(folder / f"{PLAIN}.blend")
    for ob in _armatures():
        for chain in range(ARMATURES_RIG.chains):
            item = ob.fabrik.constraints.add()
            item.bone = ARMATURES_RIG.tip(chain)
            item.target = bpy.data.objects[target_name(chain)]
    save_file(folder / f"{OURS}.blend")


def _armatures() -> list[Any]:
    return [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
