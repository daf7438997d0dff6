"""Mouse moves while dragging with the whole body."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import bpy
from mathutils import Vector

from samples.opening import FOLDER, quiet

from .characters import WITHOUT, generate
from .child import in_child
from .harness import Effort, enable, open_file, temporary_folder
from .report import Bound, Section, Table, ms

MEANING = """\
Milliseconds of processor time for a move of the mouse while a hand, the pelvis or the head is \
dragged, with both feet pinned. They include solving and Blender's update of the armature. “in \
reach” and “out of reach” are medians of {moves} moves along a line: a tenth of the character's \
height, and all of it. “largest” is the largest of all. “press” is the time before the first \
move. “rest” is the time to catch up once the mouse rests, the larger of both lines."""

SLOW = "its constraints carry the bones, and each try takes an evaluation of the whole rig"

MOVES = 12
WAY = Vector((0.3, -0.5, -0.4)).normalized()

SAMPLE = ("Hand.L", "Pelvis", "Head")
GENERATED = ("hand_ik.L", "torso", "head")


def whole_body(effort: Effort) -> Section:
    """Measure the sample's figure in FK, and a generated Rigify human."""
    kind = effort.of("human", "basic_human")
    rows: list[list[str]] = []
    goals: list[Bound] = []
    with temporary_folder() as folder:
        generated = folder / "generated.blend"
        is_there = in_child(generate, kind, str(generated))
        enable(True)
        open_file(FOLDER / "humanoid.blend")
        for item in _rig().fabrik.constraints:
            item.enabled = False
        rows += _measured("sample", SAMPLE, ("Foot.L", "Foot.R"), 8.0, effort, goals)
        if is_there:
            open_file(generated)
            feet = ("foot_ik.L", "foot_ik.R")
            rows += _measured(f"Rigify's {kind}", GENERATED, feet, 16.0, effort, goals)
    meaning = MEANING.format(moves=effort.of(MOVES, 2)) + ("" if is_there else f" {WITHOUT}")
    times = ("press", "in reach", "out of reach", "largest", "update", "rest")
    return Section("Whole body", [Table(meaning, ("dragged", "bones", *times), rows)], goals=goals)


def _measured(
    name: str,
    dragged: tuple[str, ...],
    feet: tuple[str, ...],
    most: float,
    effort: Effort,
    goals: list[Bound],
) -> list[list[str]]:
    """Return a row for each dragged bone, and add the bounds of those in reach."""
    from addon.features.whole_body.starting import begin

    rig, layer = _rig(), bpy.context.view_layer
    layer.objects.active = rig
    operators: Any = bpy.ops
    operators.object.mode_set(mode="POSE")
    with quiet():
        for foot in feet:
            operators.fabrik.pin(bone=foot, kind="BOTH")
    layer.update()
    height = max(bone.head_local.z for bone in rig.data.bones)
    rows: list[list[str]] = []
    for bone in effort.of(dragged, dragged[:1]):
        times: dict[float, list[float]] = {0.1: [], 1.0: []}
        updates: list[float] = []
        press = settling = 0.0
        for extent, seconds in times.items():
            start = process_time()
            drag = begin(rig, bone, True)
            press = process_time() - start
            assert drag is not None
            count = effort.of(MOVES, 2)
            for move in range(1, count + 1):
                offset = WAY * (extent * height * move / count)
                seconds.append(
                    _clocked(lambda offset=offset, drag=drag: drag.follow(tuple(offset)))
                )
                updates.append(_clocked(layer.update))
            settling = max(settling, _clocked(drag.settle))
            drag.cancel()
            layer.update()
        near, beyond = (median(seconds) for seconds in times.values())
        largest, update = max(map(max, times.values())), median(updates)
        cells = (press, near, beyond, largest, update, settling)
        rows.append([f"{name}, {bone}", str(len(rig.data.bones)), *map(ms, cells)])
        what = f"Whole body, {name}, {bone} in reach: milliseconds of a move and its update"
        goals.append(Bound(what, most, 1e3 * (near + update), SLOW))
    operators.object.mode_set(mode="OBJECT")
    return rows


def _clocked(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def _rig() -> Any:
    armatures: list[Any] = [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
    return max(armatures, key=lambda ob: len(ob.pose.bones))
