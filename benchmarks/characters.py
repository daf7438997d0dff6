"""Limbs, bodies and Rigify's human."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import atan2, cos, degrees, pi, sin
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, cast

import bpy
from mathutils import Quaternion, Vector

from samples.opening import FOLDER, quiet

from .child import in_child
from .harness import Effort, clocked, enable, new_file, open_file, save_file, temporary_folder
from .playing import WARM_UP, Score, play, warm_up
from .report import Bound, Section, Table, ms, times
from .rigs import BLENDERS, OURS, link, make_armature, opened

# The angle by which limbs bend off their hinge as the pole moves, compared with Blender's IK.


LEGS = 6
PLACES = 5
AROUND = 24
KINDS = (("TWO_BONE", 2), ("FABRIK", 2), ("FABRIK", 3), ("FABRIK", 5), ("CCD", 3))

HINGES_MEANING = """\
Limbs that lie in a plane, in any direction, with bones of random rolls and lengths. There are \
{legs} of each kind, {places} target positions within reach and beyond, and {around} positions of \
the pole around the line to the target. The hinge of a joint is the axis about which the rest \
pose bends. “off hinge” is the largest angle in degrees between the hinges of the bones on both \
sides. “misses” is how far the tip is from a target within 0.9 of the reach, as a share of the \
length. Blender's IK has its pole angle set in the rest pose."""


def hinges(effort: Effort) -> Section:
    """Measure all kinds, and Blender's IK with two and three bones."""
    rows: list[list[str]] = []
    goals: list[Bound] = []
    legs, places = effort.of(LEGS, 1), effort.of(PLACES, 1)
    for solver, bones in effort.of(KINDS, KINDS[:1]):
        name = f"{OURS}, {solver}, {bones} bones"
        off, missed = _hinges_measured(solver, bones, legs, places)
        rows.append([name, f"{off:.1e}", f"{missed:.1e}"])
        goals.append(Bound(f"{name}: joints off their hinge, in degrees", 0.1, off))
    for bones in effort.of((2, 3), (2,)):
        off, missed = _hinges_measured("", bones, legs, places)
        rows.append([f"{BLENDERS}, {bones} bones", f"{off:.1e}", f"{missed:.1e}"])
    meaning = HINGES_MEANING.format(legs=legs, places=places, around=AROUND)
    return Section("Hinges", [Table(meaning, ("limb", "off hinge", "misses"), rows)], goals=goals)


def _hinges_measured(solver: str, bones: int, legs: int, places: int) -> tuple[float, float]:
    """Return the largest angle off a hinge in degrees, and the largest miss within reach."""
    worst = missed = 0.0
    for number in range(legs):
        random = Random(number)
        rig, size = _leg(random, bones, bool(solver))
        target, pole = (link(bpy.data.objects.new(name, None)) for name in ("Target", "Pole"))
        _constrain(rig, bones, solver, target, pole)
        for _ in range(places):
            reach_share = random.uniform(0.4, 1.1)
            goal = _direction(random) * size * reach_share
            target.location = goal
            for pole_location in _around(goal, size):
                pole.location = pole_location
                bpy.context.view_layer.update()
                shown = rig.evaluated_get(bpy.context.view_layer.depsgraph).pose.bones
                worst = max(worst, _off_hinge(rig, shown))
                if reach_share < 0.9:
                    missed = max(missed, (shown[-1].tail - goal).length / size)
    return worst, missed


def _leg(random: Random, count: int, is_ours: bool) -> tuple[Any, float]:
    """Make a leg in a new file; return it with its length in meters."""
    enable(is_ours)
    new_file()
    turn = Quaternion([random.gauss(0, 1) for _ in range(4)]).normalized()
    joints, angle = [Vector()], 0.0
    for _ in range(count):
        offset = Vector((0.0, sin(angle), cos(angle))) * random.uniform(0.6, 1.4)
        joints.append(joints[-1] + turn @ offset)
        angle += random.uniform(0.3, 0.9)
    rig = make_armature(
        {
            f"Bone {i}": (head.to_tuple(), tail.to_tuple(), f"Bone {i - 1}" if i else "")
            for i, (head, tail) in enumerate(pairwise(joints))
        }
    )
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.roll = random.uniform(-pi, pi)
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig, sum((b - a).length for a, b in pairwise(joints))


def _constrain(rig: Any, bones: int, solver: str, target: Any, pole: Any) -> None:
    tip = f"Bone {bones - 1}"
    if solver:
        item = rig.fabrik.constraints.add()
        item.bone, item.solver, item.target, item.pole_target = tip, solver, target, pole
        return
    con = rig.pose.bones[tip].constraints.new("IK")
    con.target, con.pole_target = target, pole
    # At this angle the first bone turns the side to the pole that faces it at rest.
    root = rig.data.bones[0]
    end = rig.data.bones[tip].tail_local
    axis = end.normalized()
    knee = root.tail_local
    front = (knee - axis * knee.dot(axis)).normalized()
    front_local = root.matrix_local.to_3x3().inverted() @ front
    con.pole_angle = Vector((front_local.x, front_local.z)).angle_signed(Vector((1.0, 0.0)))


def _around(goal: Vector, size: float) -> Iterator[Vector]:
    axis = goal.normalized()
    side = axis.orthogonal().normalized()
    for step in range(AROUND):
        yield 0.5 * goal + Quaternion(axis, 2 * pi * step / AROUND) @ side * 3.0 * size


def _direction(random: Random) -> Vector:
    return Vector([random.gauss(0, 1) for _ in range(3)]).normalized()


def _off_hinge(rig: Any, shown: Any) -> float:
    """Return the largest angle in degrees between the hinge axes of neighboring bones."""
    rest = [bone.matrix_local.to_3x3() for bone in rig.data.bones]
    normal = rest[0].col[1].cross(rest[1].col[1]).normalized()
    hinge_axes = [
        bone.matrix.to_3x3() @ (axes.inverted() @ normal)
        for bone, axes in zip(shown, rest, strict=True)
    ]
    # Vector.angle is too imprecise for such small angles.
    return max(degrees(atan2(a.cross(b).length, a.dot(b))) for a, b in pairwise(hinge_axes))


# Whole bodies of the samples: the time that solving adds to a frame.


BODIES = {"humanoid": 0.8, "hand": 1.0}
"""The samples whose constraints share bones, and the milliseconds they may add."""

FK = "FK"
BLOCKS = 4

BODIES_MEANING = """\
Milliseconds of one `Scene.frame_set` of samples in which several constraints share bones and \
joints have limits, with all of it and with the constraints disabled. “passes” are how often all \
frames were played, by turns."""

REST = "the solver takes about a third; the rest is reading, writing and evaluating again"


def bodies(effort: Effort) -> Section:
    """Measure each sample with its constraints and without."""
    rows: list[list[str]] = []
    goals: list[Bound] = []
    for name, most in list(BODIES.items())[: effort.of(None, 1)]:
        times = _bodies_measured(name, effort)
        with_ours, without = (median(times[variant]) for variant in (OURS, FK))
        added = with_ours - without
        rows.append([name, ms(with_ours), ms(without), ms(added), f"{effort.of(BLOCKS, 1)}"])
        what = f"{name} (a sample): milliseconds that its constraints add to a frame"
        goals.append(Bound(what, most, 1e3 * added, REST))
    headings = ("sample", "frame", "disabled", "added", "passes")
    return Section("Bodies", [Table(BODIES_MEANING, headings, rows)], goals=goals)


def _bodies_measured(name: str, effort: Effort) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {OURS: [], FK: []}
    with temporary_folder() as folder:
        files = {variant: folder / f"{variant}.blend" for variant in times}
        enable(True)
        for variant, file in files.items():
            open_file(FOLDER / f"{name}.blend")
            if variant == FK:
                for ob in bpy.data.objects:
                    for item in getattr(ob, "fabrik").constraints:  # noqa: B009 - no stub has it
                        item.enabled = False
            save_file(file)
        for _ in range(effort.of(BLOCKS, 1)):
            for variant, file in files.items():
                scene = open_file(file)
                frames = range(scene.frame_start, effort.of(scene.frame_end, 4) + 1)
                warm_up(scene, scene.frame_start)
                times[variant] += play(scene, frames)
    return times


# Rigify's human with converted limbs, compared with the same rig with Blender's IK.


FRAMES = 80
BLOCK = 20
MOST = 0.5

RIGIFY_MEANING = """\
The rig that Rigify generates from its {kind} meta-rig: {bones} bones, and {count} IK constraints \
converted by our operator. Milliseconds of one `Scene.frame_set` with keys on the control of an \
arm or a front leg (“frame”), and of an update after moving it (“pose”). The variants alternate \
every {block}. “our handlers” includes the evaluations they cause (“of that Blender's”); “own” \
is the rest."""

WITHOUT = "Rigify is not part of this Blender: not measured."

WHY_NOT = "{count} chains in {bones} bones are read, compared and written from Python"

Work = Callable[[bpy.types.Scene, range], list[float]]


def rigify(effort: Effort) -> Section:
    """Measure playback and posing."""
    kind = effort.of("human", "basic_human")
    with temporary_folder() as folder:
        generated = folder / "generated.blend"
        if not in_child(generate, kind, str(generated)):
            return Section("Rigify", [Table(WITHOUT, ("update",), [])])
        bones, count = _save_variants(generated, folder)
        rows: list[list[str]] = []
        goals: list[Bound] = []
        for update, work in (("frame", play), ("pose", _pose)):
            ours, blenders, handlers, evaluations = _rigify_measured(folder, work, effort)
            own_seconds = handlers - evaluations
            cells = (ms(ours), ms(blenders), times(ours / blenders))
            rows.append([update, *cells, ms(handlers), ms(evaluations), ms(own_seconds)])
            what = f"Rigify's {kind}, {update}: milliseconds in our handlers beyond evaluations"
            goals.append(
                Bound(what, MOST, 1e3 * own_seconds, WHY_NOT.format(count=count, bones=bones))
            )
    headings = ("update", "ours", "Blender's IK", "ratio", "our handlers", "of that Blender's")
    meaning = RIGIFY_MEANING.format(kind=kind, bones=bones, count=count, block=BLOCK)
    return Section("Rigify", [Table(meaning, (*headings, "own"), rows)], goals=goals)


def generate(kind: str, path: str) -> bool:
    """Generate a rig and save it; return False without Rigify.

    Call it in its own process: with Rigify loaded, wheels of Blender 4 crash or hang on exit.
    """
    import addon_utils  # type: ignore[import-not-found]

    operators: Any = bpy.ops
    if not addon_utils.enable("rigify", default_set=True):
        return False
    bpy.ops.wm.read_homefile(use_empty=True)
    getattr(operators.object, f"armature_{kind}_metarig_add")()
    operators.pose.rigify_generate()
    bpy.data.objects.remove(bpy.data.objects["metarig"])
    _rig()["control"] = _last_control().name
    bpy.ops.wm.save_as_mainfile(filepath=path)
    return True


def _save_variants(generated: Path, folder: Path) -> tuple[int, int]:
    """Save the rig as generated and converted; return the numbers of bones and constraints."""
    enable(True)
    open_file(generated)
    bones = len(_rig().pose.bones)
    bpy.context.view_layer.objects.active = _rig()
    operators: Any = bpy.ops
    with quiet():
        operators.fabrik.convert_from_blender(which="ALL")
    # What hangs on itself isn't converted, as in the hind legs of quadrupeds.
    count = len(_rig().fabrik.constraints)
    assert count
    _animate()
    save_file(folder / f"{OURS}.blend")
    enable(False)
    open_file(generated)
    _animate()
    save_file(folder / f"{BLENDERS}.blend")
    return bones, count


def _rig() -> Any:
    return bpy.data.objects["rig"]


def _last_control() -> Any:
    """Return the control that the last limb hangs on: that of an arm or a front leg."""
    bones = _rig().pose.bones
    constraints = [con for bone in bones for con in bone.constraints if con.type == "IK"]
    control = bones[[con.subtarget for con in constraints if con.subtarget][-1]]
    while control.custom_shape is None:
        control = control.parent
    return control


def _control() -> Any:
    return _rig().pose.bones[_rig()["control"]]


def _animate() -> None:
    control = _control()
    for frame in range(-WARM_UP, FRAMES + 10, 5):
        control.location = (
            0.05 * sin(frame),
            -0.1 + 0.1 * sin(0.3 * frame),
            0.1 * sin(0.7 * frame),
        )
        control.keyframe_insert("location", frame=frame)


def _rigify_measured(folder: Path, work: Work, effort: Effort) -> tuple[float, float, float, float]:
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
                with clocked() as clock:
                    for frame in frames:
                        seconds += work(scene, range(frame, frame + 1))
                        spent.append(clock.take())
    handlers, evaluations = (median(column) for column in zip(*spent, strict=True))
    return median(whole[OURS]), median(whole[BLENDERS]), handlers, evaluations


def _pose(_scene: bpy.types.Scene, steps: range) -> list[float]:
    """Move the control to changing positions, and return the time of each update in seconds."""
    control, layer = _control(), bpy.context.view_layer
    seconds: list[float] = []
    for step in steps:
        control.location.x = 0.1 * sin(step)
        start = perf_counter()
        layer.update()
        seconds.append(perf_counter() - start)
    return seconds


# Holds of the same human, compared with none and with Blender's Child Of.


HELD, FREE, CHILD_OF = "held", "without holds", "Child Of"
CONTROLS = ("hand_ik.L", "hand_ik.R", "foot_ik.L", "foot_ik.R")
PROPS = 16
HELD_FROM = -WARM_UP

HOLDS_MEANING = """\
The rig that Rigify generates from its {kind} meta-rig, its limbs converted, its controls keyed. \
The controls of hands and feet move with its torso, and {props} objects with these: by {count} \
holds, and by Blender's Child Of. Without holds none of them does. Milliseconds of one \
`Scene.frame_set`, the variants alternating every {block} frames; “again” are the same frames, \
played a second time."""

HOLDS_MOST = 1.1

PRE_PASS = "each hold is read from Python, and Blender's constraints after it are computed"

FOLLOWED = "the same, and the channels that holds pose are read, written and put back"


def holds(effort: Effort) -> Section:
    """Measure frames with and without holds."""
    kind = effort.of("human", "basic_human")
    headings = ("variant", "frame", "again", "ratio", "again, ratio")
    with temporary_folder() as folder:
        generated = folder / "generated.blend"
        if not in_child(generate, kind, str(generated)):
            return Section("Holds", [Table(WITHOUT, headings, [])])
        enable(True)
        props, last = effort.of((PROPS, FRAMES + 10), (2, 5))
        for variant in (FREE, HELD, CHILD_OF):
            _save_held(generated, folder / f"{variant}.blend", variant, props, last)
        scores = {variant: Score() for variant in (FREE, HELD, CHILD_OF)}
        for start in effort.of(range(1, FRAMES, BLOCK), range(1, 2)):
            frames = effort.of(range(start, start + BLOCK), range(1, 4))
            for variant in [*scores] if start // BLOCK % 2 == 0 else [*reversed(scores)]:
                score = scores[variant]
                scene = open_file(folder / f"{variant}.blend")
                warm_up(scene, start)
                score.first += play(scene, frames)
                score.again += play(scene, frames)
    free, held = scores[FREE], scores[HELD]
    rows = [
        [
            variant,
            ms(score.typical),
            ms(median(score.again)),
            times(score.ratio(free)),
            times(score.ratio_again(free)),
        ]
        for variant, score in scores.items()
    ]
    count = props + len(CONTROLS)
    meaning = HOLDS_MEANING.format(kind=kind, props=props, count=count, block=BLOCK)
    what = f"Rigify's {kind} with {count} holds: times as long as without"
    goals = [
        Bound(what, HOLDS_MOST, held.ratio(free), PRE_PASS),
        Bound(f"{what}, again", HOLDS_MOST, held.ratio_again(free), FOLLOWED),
    ]
    return Section("Holds", [Table(meaning, headings, rows)], goals=goals)


def _save_held(generated: Path, file: Path, variant: str, count: int, last: int) -> None:
    """Save the rig with converted limbs, controls that are keyed up to a frame, and props."""
    scene = open_file(generated)
    rig, operators = _rig(), cast(Any, bpy.ops)
    bpy.context.view_layer.objects.active = rig
    with quiet():
        operators.fabrik.convert_from_blender(which="ALL")
    for index, name in enumerate(("torso", *CONTROLS)):
        control = rig.pose.bones[name]
        for frame in range(-WARM_UP, last, 5):
            control.location = (
                0.05 * sin(frame + index),
                0.1 * sin(0.3 * frame + index) - 0.1,
                0.05 * sin(0.7 * frame),
            )
            control.keyframe_insert("location", frame=frame)
    props = [link(bpy.data.objects.new(f"Prop {i}", None)) for i in range(count)]
    for i, prop in enumerate(props):
        prop.location = (0.3 * sin(i), -0.4, 1.0 + 0.02 * i)
    scene.frame_start = HELD_FROM
    scene.frame_set(HELD_FROM)
    pairs = [(CONTROLS[i % len(CONTROLS)], prop, "") for i, prop in enumerate(props)]
    pairs += [("torso", rig, name) for name in CONTROLS]
    if variant == HELD:
        from addon.features.hold import editing

        for holder, ob, bone in pairs:
            by = editing.Holder(rig, holder)
            editing.hold([editing.Held(ob, bone)], by, float(HELD_FROM))
    elif variant == CHILD_OF:
        for holder, ob, bone in pairs:
            owner: Any = cast(Any, ob).pose.bones[bone] if bone else ob
            con: Any = owner.constraints.new("CHILD_OF")
            con.target, con.subtarget = rig, holder
            con.inverse_matrix = (rig.matrix_world @ rig.pose.bones[holder].matrix).inverted()
    save_file(file)
