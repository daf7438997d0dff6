"""Chains with joint limits, solved from rest by our solver, Blender and three.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from math import dist
from pathlib import Path
from time import perf_counter
from typing import Any

import bpy
from mathutils import Quaternion, Vector

from fabrik_solver import WHOLE, Bone, ChainInput, Cone, Goal, Hinge, Local, pose_chain
from fabrik_solver.core.vectors import Quat, Vec, quat_matrix
from tools.environment import SetupError, scripts

from . import extension
from .jointed import THREE, Case, X, broken, tip_of
from .scenes import BLENDERS, OURS, link

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
    size = case.size
    bones = [
        Bone(quat_matrix(rest), (0.0, size if i else 0.0, 0.0), size)
        for i, rest in enumerate(case.rests)
    ]
    at_rest = [Local() for _ in bones]
    chain = ChainInput(bones, at_rest, (0.0, size, 0.0), WHOLE, None, case.limits)
    goal = Goal(case.target)
    begin = perf_counter()
    posture = pose_chain(chain, goal)
    seconds = perf_counter() - begin
    return _judged(OURS, case, posture.rotations, tip_of(case.rests, posture.rotations), seconds)


def blenders(cases: Sequence[Case]) -> list[Answer]:
    """Solve with Blender's IK constraint, at its defaults; all chains have equally many bones."""
    extension.turn(False)
    extension.new_file()
    data: Any = bpy.data.armatures.new("Rig")
    ob: Any = link(bpy.data.objects.new("Rig", data))
    target = link(bpy.data.objects.new("Target", None))
    bpy.context.view_layer.objects.active = ob
    names = [f"Bone {i}" for i in range(len(cases[0].rests))]
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for i, name in enumerate(names):
        bone = data.edit_bones.new(name)
        # Somewhere, so that it has a length: without one it would not stay.
        bone.head, bone.tail = (0.0, i, 0.0), (0.0, i + 1.0, 0.0)
        bone.parent, bone.use_connect = parent, parent is not None
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
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
        _limit(bone, limit)
    target.location = head
    bpy.context.view_layer.update()
    target.location = case.target
    begin = perf_counter()
    bpy.context.view_layer.update()
    seconds = perf_counter() - begin
    rotations = [_turn(bone) for bone in bones]
    x, y, z = bones[-1].tail
    return _judged(BLENDERS, case, rotations, (x, y, z), seconds)


def _limit(bone: Any, limit: Hinge | Cone) -> None:
    """Lock the axes of a bone that cannot rotate, and limit the others."""
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
        MissingError: If it cannot run.
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
    for case, found in zip(cases, json.loads(done.stdout), strict=True):
        rotations: list[Quat] = [(w, x, y, z) for w, x, y, z in found["rotations"]]
        tip = tip_of(case.rests, rotations)
        answers.append(_judged(THREE, case, rotations, tip, found["seconds"]))
    return answers


def _for_three(case: Case) -> list[dict[str, Any]]:
    return [
        {"rest": rest, **_angles(limit)}
        for rest, limit in zip(case.rests, case.limits, strict=True)
    ]


def _angles(limit: Hinge | Cone) -> dict[str, Any]:
    """Return a limit as Euler angles.

    The middle angle has a range of only half a turn. For a hinge that is Y, which does not rotate;
    for a cone it is Z, so that Y, the twist, comes first. The other angles of a hinge are 0, which
    keeps its axis; an additional `limitation` would make fewer tips reach their targets.
    """
    if isinstance(limit, Hinge):
        least, most = ([part * end for part in limit.axis] for end in limit.turn)
        return {"order": "XYZ", "least": least, "most": most}
    least, most = zip(limit.swing_x, limit.twist, limit.swing_z, strict=True)
    return {"order": "XZY", "least": least, "most": most}
