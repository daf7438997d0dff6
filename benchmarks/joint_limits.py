"""Joint limits: how often reachable targets are reached, and whether limits hold."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import asin, atan2, cos, dist, hypot, pi, sin
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import bpy
from mathutils import Quaternion, Vector

from fabrik_solver import WHOLE, Bone, ChainInput, Cone, Goal, Hinge, Local, pose_chain
from fabrik_solver.core.vectors import (
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    quat_about,
    quat_exp,
    quat_matrix,
    quat_product,
    rotate,
    scaled,
    unit,
)
from tools.environment import SetupError, scripts

from .harness import Effort, enable, new_file
from .report import Bars, Bound, Section, Table, small, us
from .rigs import BLENDERS, OURS, link, make_armature

# Chains with joint limits, targets within reach, and the violation of limits.
#
# Violations are measured independently of the solvers, by each system's own definition of limits.


THREE = "three.js"

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

KINDS = ("hinges", "cones", "mixed")


@dataclass(frozen=True)
class Case:
    """A chain of equal bones, 1 m in total, its limits, and a target within reach.

    Attributes:
        rests: The rest rotation of each bone, relative to its parent.
        limits: The limit of each bone; cones are symmetric about the rest pose.
        target: The target in armature space; the root is the origin.
    """

    rests: tuple[Quat, ...]
    limits: tuple[Hinge | Cone, ...]
    target: Vec

    @property
    def size(self) -> float:
        """The length of a bone."""
        return 1.0 / len(self.rests)

    def chain(self) -> ChainInput:
        """Return the chain at rest, for our solver."""
        size = self.size
        bones = [
            Bone(quat_matrix(rest), (0.0, size if i else 0.0, 0.0), size)
            for i, rest in enumerate(self.rests)
        ]
        at_rest = [Local() for _ in bones]
        return ChainInput(bones, at_rest, (0.0, size, 0.0), WHOLE, None, self.limits)


def draw(kind: str, bones: int, count: int, seed: int) -> list[Case]:
    """Return random cases, the same for the same seed."""
    random = Random(f"{seed} {kind} {bones}")
    return [_case(random, kind, bones) for _ in range(count)]


def _case(random: Random, kind: str, bones: int) -> Case:
    rests = tuple(_rest(random) for _ in range(bones))
    limits = tuple(_jointed_limit(random, kind) for _ in range(bones))
    pose = [_allowed(random, limit) for limit in limits]
    return Case(rests, limits, tip_of(rests, pose))


def _rest(random: Random) -> Quat:
    """Return a rest rotation: a random roll, and up to 0.4 rad off the parent's direction."""
    heading = random.uniform(0.0, 2.0 * pi)
    lean = quat_about((cos(heading), 0.0, sin(heading)), random.uniform(0.0, 0.4))
    return quat_product(quat_about(Y, random.uniform(-pi, pi)), lean)


def _jointed_limit(random: Random, kind: str) -> Hinge | Cone:
    if kind == "hinges" or (kind == "mixed" and random.random() < 0.5):
        back, forth = random.uniform(0.0, 0.8), random.uniform(0.5, 2.2)
        turn = (-back, forth) if random.random() < 0.5 else (-forth, back)
        return Hinge(random.choice((X, Z)), turn)
    x, z, twist = (random.uniform(*ends) for ends in ((0.2, 1.4), (0.2, 1.4), (0.1, 1.0)))
    return Cone((-x, x), (-z, z), (-twist, twist))


def _allowed(random: Random, limit: Hinge | Cone) -> Quat:
    """Return a rotation within the limit by the definitions of all systems."""
    if isinstance(limit, Hinge):
        return quat_about(limit.axis, random.uniform(*limit.turn))
    while True:
        heading, size = random.uniform(0.0, 2.0 * pi), random.random() ** 0.5
        swing = quat_exp(
            (size * cos(heading) * limit.swing_x[1], 0.0, size * sin(heading) * limit.swing_z[1])
        )
        rotation = quat_product(swing, quat_about(Y, random.uniform(*limit.twist)))
        if not any(measure(limit, rotation) for measure in CONES.values()):
            return rotation


def tip_of(rests: Sequence[Quat], pose: Sequence[Quat]) -> Vec:
    """Return the tip of a pose of rotations relative to rest."""
    axes: Quat = (1.0, 0.0, 0.0, 0.0)
    tip: Vec = (0.0, 0.0, 0.0)
    for rest, rotation in zip(rests, pose, strict=True):
        axes = quat_product(axes, quat_product(rest, rotation))
        tip = add(tip, scaled(rotate(axes, Y), 1.0 / len(rests)))
    return tip


# The violation of a joint's limit by its rotation relative to rest, in radians.


def _of_hinge(limit: Hinge, rotation: Quat) -> float:
    """Return the axis's tilt or the angle's excess over its range, if larger, in radians."""
    tilt = length(_least_turn(limit.axis, rotate(rotation, limit.axis)))
    # Y is at right angles to X and Z.
    image = rotate(rotation, Y)
    angle = atan2(dot(limit.axis, cross(Y, image)), dot(Y, image))
    return max(tilt, _outside(angle, limit.turn))


def _of_cone(limit: Cone, rotation: Quat, half: bool) -> float:
    """Return the swing's excess over its ellipse or the twist's over its range, in radians.

    Args:
        limit: The limit.
        rotation: The rotation of the bone.
        half: Whether the ellipse is of the sines of half the angles.
    """
    swing = _least_turn(Y, rotate(rotation, Y))
    angle = length(swing)
    a, b = limit.swing_x[1], limit.swing_z[1]
    x, z = (swing[0] / angle, swing[2] / angle) if angle > 0.0 else (1.0, 0.0)
    if half:
        edge = 2.0 * asin(1.0 / hypot(x / sin(0.5 * a), z / sin(0.5 * b)))
    else:
        edge = 1.0 / hypot(x / a, z / b)
    twist = quat_matrix(quat_product(quat_exp(scaled(swing, -1.0)), rotation))
    return max(angle - edge, _outside(atan2(twist[2], twist[0]), limit.twist), 0.0)


def _of_box(limit: Cone, rotation: Quat) -> float:
    """Return an Euler angle's excess over its range, in radians; the order is twist, Z, X."""
    m = quat_matrix(rotation)
    x, y, z = atan2(m[7], m[4]), atan2(m[2], m[0]), asin(max(-1.0, min(1.0, -m[1])))
    ranges = (limit.swing_x, limit.twist, limit.swing_z)
    return max(_outside(angle, ends) for angle, ends in zip((x, y, z), ranges, strict=True))


CONES: dict[str, Callable[[Cone, Quat], float]] = {
    OURS: lambda limit, rotation: _of_cone(limit, rotation, half=False),
    BLENDERS: lambda limit, rotation: _of_cone(limit, rotation, half=True),
    THREE: _of_box,
}
"""The violation of a cone by a rotation, as each system defines it, in radians."""


def broken(system: str, limit: Hinge | Cone, rotation: Quat) -> float:
    """Return a rotation's excess over a limit, in radians; all systems define hinges alike."""
    if isinstance(limit, Hinge):
        return _of_hinge(limit, rotation)
    return CONES[system](limit, rotation)


def _least_turn(start: Vec, end: Vec) -> Vec:
    """Return the rotation vector of the smallest rotation from one direction to another."""
    side = cross(start, end)
    axis = unit(side)
    return scaled(axis, atan2(length(side), dot(start, end))) if axis else (0.0, 0.0, 0.0)


def _outside(angle: float, ends: tuple[float, float]) -> float:
    """Return an angle's excess over a range, modulo whole turns, in radians."""
    return min(
        max(ends[0] - angle - turn, angle + turn - ends[1], 0.0)
        for turn in (-2.0 * pi, 0.0, 2.0 * pi)
    )


# Chains with joint limits, solved from rest by our solver, Blender and three.js.


ITERATIONS = 500
"""The maximum for three.js: the default of Blender's IK."""

SCRIPT = Path(__file__).with_name("three_ccd.mjs")


@dataclass(frozen=True)
class Answer:
    """The solution of a case.

    Attributes:
        away: The distance of the tip from the target.
        broken: The largest violation of a limit, in radians.
        seconds: The duration of the solve.
    """

    away: float
    broken: float
    seconds: float


def _judged(system: str, case: Case, rotations: Sequence[Quat], tip: Vec, seconds: float) -> Answer:
    pairs = zip(case.limits, rotations, strict=True)
    most = max(broken(system, limit, rotation) for limit, rotation in pairs)
    return Answer(dist(tip, case.target), most, seconds)


def ours(cases: Sequence[Case]) -> list[Answer]:
    """Solve with our solver alone, at its defaults."""
    return [_by_us(case) for case in cases]


def _by_us(case: Case) -> Answer:
    chain, goal = case.chain(), Goal(case.target)
    begin = perf_counter()
    posture = pose_chain(chain, goal)
    seconds = perf_counter() - begin
    return _judged(OURS, case, posture.rotations, tip_of(case.rests, posture.rotations), seconds)


def blenders(cases: Sequence[Case]) -> list[Answer]:
    """Solve with Blender's IK constraint, at its defaults; all chains have the same bone count."""
    enable(False)
    new_file()
    target = link(bpy.data.objects.new("Target", None))
    names = [f"Bone {i}" for i in range(len(cases[0].rests))]
    # Any positions: bones of zero length would be removed.
    ob = make_armature(
        {
            name: ((0.0, i, 0.0), (0.0, i + 1.0, 0.0), names[i - 1] if i else "")
            for i, name in enumerate(names)
        }
    )
    con: Any = ob.pose.bones[names[-1]].constraints.new("IK")
    con.target = target
    return [_in_blender(case, ob, target, names) for case in cases]


def _in_blender(case: Case, ob: Any, target: Any, names: Sequence[str]) -> Answer:
    bpy.ops.object.mode_set(mode="EDIT")
    head, axes = Vector(), Quaternion()
    for name, rest in zip(names, case.rests, strict=True):
        axes = axes @ Quaternion(rest)
        bone = ob.data.edit_bones[name]
        bone.head, bone.tail = head, head + axes @ Vector((0.0, case.size, 0.0))
        bone.align_roll(axes @ Vector((0.0, 0.0, 1.0)))
        head = bone.tail.copy()
    bpy.ops.object.mode_set(mode="OBJECT")
    bones = [ob.pose.bones[name] for name in names]
    for bone, limit in zip(bones, case.limits, strict=True):
        _limited_limit(bone, limit)
    target.location = head
    bpy.context.view_layer.update()
    target.location = case.target
    begin = perf_counter()
    bpy.context.view_layer.update()
    seconds = perf_counter() - begin
    rotations = [_turn(bone) for bone in bones]
    x, y, z = bones[-1].tail
    return _judged(BLENDERS, case, rotations, (x, y, z), seconds)


def _limited_limit(bone: Any, limit: Hinge | Cone) -> None:
    """Lock the fixed axes of a bone, and limit the others."""
    ranges = {"x": (0.0, 0.0), "y": (0.0, 0.0), "z": (0.0, 0.0)}
    if isinstance(limit, Hinge):
        ranges["x" if limit.axis == X else "z"] = limit.turn
    else:
        ranges = {"x": limit.swing_x, "y": limit.twist, "z": limit.swing_z}
    for axis, (least, most) in ranges.items():
        turns = least < most
        setattr(bone, f"lock_ik_{axis}", not turns)
        setattr(bone, f"use_ik_limit_{axis}", turns)
        setattr(bone, f"ik_min_{axis}", least)
        setattr(bone, f"ik_max_{axis}", most)


def _turn(bone: Any) -> Quat:
    """Return a posed bone's rotation relative to its rest, in its rest axes."""
    rest, pose = bone.bone.matrix_local, bone.matrix
    if bone.parent is not None:
        rest = bone.parent.bone.matrix_local.inverted() @ rest
        pose = bone.parent.matrix.inverted() @ pose
    w, x, y, z = (rest.inverted() @ pose).to_quaternion()
    return (w, x, y, z)


class MissingError(Exception):
    """three.js cannot run on this machine; the message says why."""


def by_three(cases: Sequence[Case]) -> list[Answer]:
    """Solve with CCDIKSolver of three.js in Node.

    Raises:
        MissingError: If Node or three.js is missing, or fails.
    """
    try:
        folder = scripts()
    except SetupError as error:
        raise MissingError(str(error)) from None
    task = {
        "iterations": ITERATIONS,
        "size": cases[0].size,
        "cases": [{"target": case.target, "bones": _for_three(case)} for case in cases],
    }
    done = subprocess.run(
        [str(shutil.which("node")), str(SCRIPT), str(folder)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise MissingError("Node is here, but could not run it.")
    answers: list[Answer] = []
    for case, solution in zip(cases, json.loads(done.stdout), strict=True):
        rotations: list[Quat] = [(w, x, y, z) for w, x, y, z in solution["rotations"]]
        tip = tip_of(case.rests, rotations)
        answers.append(_judged(THREE, case, rotations, tip, solution["seconds"]))
    return answers


def _for_three(case: Case) -> list[dict[str, Any]]:
    return [
        {"rest": rest, **_angles(limit)}
        for rest, limit in zip(case.rests, case.limits, strict=True)
    ]


def _angles(limit: Hinge | Cone) -> dict[str, Any]:
    """Return a limit as Euler angles.

    The middle angle has a range of only half a turn. For a hinge that is Y, as it doesn't rotate.
    For a cone it is Z, so that Y, the twist, comes first. The other angles of a hinge are 0, which
    keeps its axis; an additional `limitation` would make fewer tips reach their targets.
    """
    if isinstance(limit, Hinge):
        least, most = ([part * end for part in limit.axis] for end in limit.turn)
        return {"order": "XYZ", "least": least, "most": most}
    least, most = zip(limit.swing_x, limit.twist, limit.swing_z, strict=True)
    return {"order": "XZY", "least": least, "most": most}


# Joint limits: how often reachable targets are reached, and whether limits hold.


BONES = (3, 5, 10)
SEED = 2011
NEAR = 1e-3
BROKEN = 1e-4

MEANING = """\
{count} random chains per row, of equal bones, 1 m in total, with random rolls and up to 0.4 rad \
off their parent's direction. Each has a target within reach: the tip of a random pose within the \
limits. The seed is {seed}; all systems solve the same cases, each from rest. Hinges turn about \
the bone's X or Z axis, by 0 to 0.8 rad to one side and 0.5 to 2.2 to the other. Cones are \
centered on the rest pose and extend 0.2 to 1.4 rad to both sides about X and about Z. They allow \
a twist of 0.1 to 1 rad to both sides. “mixed” has either for each bone. “arrived” is the share \
of tips that came within {near:g} m of the target, “broken” the worst of all joints in radians. \
Both are measured from the posed bones, independently of what solvers report."""

REGIONS = """\
The three define cones differently, and each is checked by its own definition. Ours is an ellipse \
of the swing angles, Blender's one of the sines of half these angles. That of three.js is a range \
for each Euler angle (twist first, then Z, then X). The poses behind the targets are allowed by \
all three."""

SYSTEMS = """\
Ours is `pose_chain` at its defaults (20 iterations, tolerance 1e-4), timed per call. Blender's \
is its IK constraint at its defaults (500 iterations) with locked axes and limits, timed for the \
whole update after the target has moved. three.js is `CCDIKSolver` with up to {iterations} \
iterations and `rotationMin` and `rotationMax`, timed within Node; with an additional \
`limitation` it reaches fewer targets of hinges. An additional parent of each bone provides its \
rest rotation. All times are medians."""

LEFT_OUT = "three.js is left out: {}"

Row = tuple[str, int]
Found = dict[str, list[Answer]]


def limits(effort: Effort) -> Section:
    """Measure all chains in all systems."""
    count = effort.of(200, 3)
    systems = {OURS: ours, BLENDERS: blenders, THREE: by_three}
    missing = ""
    if effort.quick:
        del systems[THREE]
        missing = LEFT_OUT.format("this was a quick run.")
    results: dict[Row, Found] = {}
    for kind in KINDS:
        for bones in effort.of(BONES, BONES[:1]):
            cases = draw(kind, bones, count, SEED)
            answers = results[kind, bones] = {}
            for name in list(systems):
                try:
                    answers[name] = systems[name](cases)
                except MissingError as error:
                    missing = LEFT_OUT.format(error)
                    del systems[name]
    meaning = MEANING.format(count=count, seed=SEED, near=NEAR)
    parts = [meaning, REGIONS, SYSTEMS.format(iterations=ITERATIONS), missing]
    headings = ("chains", "system", "arrived", "median distance", "worst", "broken", "µs a solve")
    table = Table(" ".join(filter(None, parts)), headings, _rows(results))
    return Section("Joint limits", [table], [_plot(results, list(systems))], _goals(results))


def _name(row: Row) -> str:
    kind, bones = row
    return f"{kind}, {bones} bones"


def _arrived(answers: list[Answer]) -> float:
    return sum(answer.away <= NEAR for answer in answers) / len(answers)


def _worst(answers: list[Answer]) -> float:
    return max(answer.broken for answer in answers)


def _rows(results: dict[Row, Found]) -> list[list[str]]:
    return [
        [
            _name(row),
            system,
            f"{100.0 * _arrived(answers):.1f} %",
            small(median(answer.away for answer in answers)),
            small(max(answer.away for answer in answers)),
            small(_worst(answers)),
            us(median(answer.seconds for answer in answers)),
        ]
        for row, systems in results.items()
        for system, answers in systems.items()
    ]


def _plot(results: dict[Row, Found], systems: list[str]) -> Bars:
    return Bars(
        "limits.png",
        "Tips that arrive at targets within their joint limits",
        f"% within {NEAR:g} of the length",
        [f"{kind}, {bones}" for kind, bones in results],
        {name: [100.0 * _arrived(row[name]) for row in results.values()] for name in systems},
    )


def _goals(results: dict[Row, Found]) -> list[Bound]:
    missed = [
        Bound(
            f"{_name(row)}, limited: share of targets missed", 0.05, 1.0 - _arrived(systems[OURS])
        )
        for row, systems in results.items()
    ]
    worst = max(_worst(systems[OURS]) for systems in results.values())
    return [*missed, Bound("limits: broken at most, in radians", BROKEN, worst)]
