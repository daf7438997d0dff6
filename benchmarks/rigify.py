"""The human of Rigify with its limbs converted, beside the same rig with Blender's IK."""

from __future__ import annotations

from collections.abc import Callable
from math import sin
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import bpy

from samples.opening import quiet

from . import extension
from .child import in_child
from .effort import Effort
from .playing import WARM_UP, play
from .report import Goal, Section, Table, ms, times
from .scenes import BLENDERS, OURS, opened

FRAMES = 80
BLOCK = 20
CONTROL = "hand_ik.L"
MOST = 0.5

MEANING = """\
The rig that Rigify generates from its {kind} meta-rig: {bones} bones, and {count} IK \
constraints, which our operator converts. Milliseconds of one `Scene.frame_set` with keys on the \
control of a hand (“frame”), and of an update after that control was moved (“pose”), the variants \
alternating every {block}. “our handlers” includes evaluations that they cause, which are “of \
that Blender's”; “own” is the rest."""

WITHOUT = "Rigify is not part of this Blender: not measured."

WHY_NOT = "{count} chains in {bones} bones are read, compared and written from Python"

Work = Callable[[bpy.types.Scene, range], list[float]]


def run(effort: Effort) -> Section:
    """Measure frames and posing."""
    kind = effort.of("human", "basic_human")
    with TemporaryDirectory() as name:
        folder = Path(name)
        generated = folder / "generated.blend"
        if not in_child(generate, kind, str(generated)):
            return Section("Rigify", [Table(WITHOUT, ("update",), [])])
        bones, count = _save_variants(generated, folder)
        rows: list[list[str]] = []
        found: list[Goal] = []
        for update, work in (("frame", play), ("pose", _pose)):
            ours, blenders, handlers, evaluations = _measured(folder, work, effort)
            own = handlers - evaluations
            cells = (ms(ours), ms(blenders), times(ours / blenders))
            rows.append([update, *cells, ms(handlers), ms(evaluations), ms(own)])
            what = f"Rigify's {kind}, {update}: milliseconds in our handlers beyond evaluations"
            found.append(Goal(what, MOST, 1e3 * own, WHY_NOT.format(count=count, bones=bones)))
    headings = ("update", "ours", "Blender's IK", "ratio", "our handlers", "of that Blender's")
    meaning = MEANING.format(kind=kind, bones=bones, count=count, block=BLOCK)
    return Section("Rigify", [Table(meaning, (*headings, "own"), rows)], goals=found)


def generate(kind: str, path: str) -> bool:
    """Generate a rig and save it; return False if there is no Rigify.

    In a process of its own: with Rigify loaded, wheels of Blender 4 crash or hang at their end.
    """
    import addon_utils  # type: ignore[import-not-found]

    operators: Any = bpy.ops
    if not addon_utils.enable("rigify", default_set=True):
        return False
    bpy.ops.wm.read_homefile(use_empty=True)
    getattr(operators.object, f"armature_{kind}_metarig_add")()
    operators.pose.rigify_generate()
    bpy.data.objects.remove(bpy.data.objects["metarig"])
    bpy.ops.wm.save_as_mainfile(filepath=path)
    return True


def _save_variants(generated: Path, folder: Path) -> tuple[int, int]:
    """Save the rig as it is, and converted; return the numbers of bones and constraints."""
    extension.turn(True)
    extension.open_file(generated)
    bones = len(_rig().pose.bones)
    count = sum(con.type == "IK" for bone in _rig().pose.bones for con in bone.constraints)
    bpy.context.view_layer.objects.active = _rig()
    operators: Any = bpy.ops
    with quiet():
        operators.fabrik.convert_from_blender(which="ALL")
    assert len(_rig().fabrik.constraints) == count
    _animate()
    extension.save_file(folder / f"{OURS}.blend")
    extension.turn(False)
    extension.open_file(generated)
    _animate()
    extension.save_file(folder / f"{BLENDERS}.blend")
    return bones, count


def _rig() -> Any:
    return bpy.data.objects["rig"]


def _animate() -> None:
    control = _rig().pose.bones[CONTROL]
    for frame in range(-WARM_UP, FRAMES + 10, 5):
        control.location = (
            0.05 * sin(frame),
            -0.1 + 0.1 * sin(0.3 * frame),
            0.1 * sin(0.7 * frame),
        )
        control.keyframe_insert("location", frame=frame)


def _measured(folder: Path, work: Work, effort: Effort) -> tuple[float, float, float, float]:
    """Return the medians in seconds: ours, Blender's, our handlers, their evaluations."""
    whole: dict[str, list[float]] = {OURS: [], BLENDERS: []}
    spent: list[tuple[float, float]] = []
    for start in effort.of(range(1, FRAMES, BLOCK), range(1, 2)):
        frames = effort.of(range(start, start + BLOCK), range(1, 4))
        for variant, seconds in whole.items():
            with opened(folder, variant) as scene:
                work(scene, range(start - WARM_UP, start))
                if variant == BLENDERS:
                    seconds += work(scene, frames)
                    continue
                with extension.clocked() as clock:
                    for frame in frames:
                        seconds += work(scene, range(frame, frame + 1))
                        spent.append(clock.take())
    handlers, evaluations = (median(column) for column in zip(*spent, strict=True))
    return median(whole[OURS]), median(whole[BLENDERS]), handlers, evaluations


def _pose(_scene: bpy.types.Scene, places: range) -> list[float]:
    """Move the control to places that differ, and return the time of each update."""
    control, layer = _rig().pose.bones[CONTROL], bpy.context.view_layer
    found: list[float] = []
    for place in places:
        control.location.x = 0.1 * sin(place)
        start = perf_counter()
        layer.update()
        found.append(perf_counter() - start)
    return found
