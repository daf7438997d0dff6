"""How far limbs bend off their hinge as the pole moves around, compared with Blender's IK."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import atan2, cos, degrees, pi, sin
from random import Random
from typing import Any

import bpy
from mathutils import Quaternion, Vector

from . import extension
from .effort import Effort
from .report import Goal, Section, Table
from .scenes import BLENDERS, OURS, link

LEGS = 6
PLACES = 5
AROUND = 24
KINDS = (("TWO_BONE", 2), ("FABRIK", 2), ("FABRIK", 3), ("FABRIK", 5), ("CCD", 3))

MEANING = """\
Limbs that lie in a plane, in any direction, with bones of random rolls and lengths: {legs} of \
each kind, {places} target positions within reach and beyond, {around} positions of the pole \
around the line to it. “off hinge” is the largest angle in degrees between the hinge of a joint, \
about which the rest pose bends, as given by the bones on both sides of it. “misses” is how far \
the tip is from a target within 0.9 of the reach, as a share of the length. Blender's IK has its \
pole angle set in the rest pose."""


def run(effort: Effort) -> Section:
    """Measure all kinds, and Blender's IK on the first of them and on a longer one."""
    rows: list[list[str]] = []
    found: list[Goal] = []
    legs, places = effort.of(LEGS, 1), effort.of(PLACES, 1)
    for solver, bones in effort.of(KINDS, KINDS[:1]):
        name = f"{OURS}, {solver}, {bones} bones"
        off, missed = _measured(solver, bones, legs, places)
        rows.append([name, f"{off:.1e}", f"{missed:.1e}"])
        found.append(Goal(f"{name}: joints off their hinge, in degrees", 0.1, off))
    for bones in effort.of((2, 3), (2,)):
        off, missed = _measured("", bones, legs, places)
        rows.append([f"{BLENDERS}, {bones} bones", f"{off:.1e}", f"{missed:.1e}"])
    meaning = MEANING.format(legs=legs, places=places, around=AROUND)
    return Section("Hinges", [Table(meaning, ("limb", "off hinge", "misses"), rows)], goals=found)


def _measured(solver: str, bones: int, legs: int, places: int) -> tuple[float, float]:
    """Return the largest angle off a hinge, and how far a target in reach is missed at most."""
    worst = missed = 0.0
    for number in range(legs):
        random = Random(number)
        rig, size = _leg(random, bones, bool(solver))
        target, pole = (link(bpy.data.objects.new(name, None)) for name in ("Target", "Pole"))
        _constrain(rig, bones, solver, target, pole)
        for _ in range(places):
            share = random.uniform(0.4, 1.1)
            goal = _direction(random) * size * share
            target.location = goal
            for place in _around(goal, size):
                pole.location = place
                bpy.context.view_layer.update()
                shown = rig.evaluated_get(bpy.context.view_layer.depsgraph).pose.bones
                worst = max(worst, _off_hinge(rig, shown))
                if share < 0.9:
                    missed = max(missed, (shown[-1].tail - goal).length / size)
    return worst, missed


def _leg(random: Random, count: int, is_ours: bool) -> tuple[Any, float]:
    """Make a leg in a new file; return it with its length."""
    extension.turn(is_ours)
    extension.new_file()
    turn = Quaternion([random.gauss(0, 1) for _ in range(4)]).normalized()
    joints, angle = [Vector()], 0.0
    for _ in range(count):
        way = Vector((0.0, sin(angle), cos(angle))) * random.uniform(0.6, 1.4)
        joints.append(joints[-1] + turn @ way)
        angle += random.uniform(0.3, 0.9)
    data: Any = bpy.data.armatures.new("Leg")
    rig = link(bpy.data.objects.new("Leg", data))
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for i, (head, tail) in enumerate(pairwise(joints)):
        bone = data.edit_bones.new(f"Bone {i}")
        bone.head, bone.tail, bone.roll = head, tail, random.uniform(-pi, pi)
        bone.parent, bone.use_connect = parent, parent is not None
        parent = bone
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
    # At this angle what the first bone turns to the pole is what points there at rest.
    root = rig.data.bones[0]
    end = rig.data.bones[tip].tail_local
    axis = end.normalized()
    knee = root.tail_local
    front = (knee - axis * knee.dot(axis)).normalized()
    own = root.matrix_local.to_3x3().inverted() @ front
    con.pole_angle = Vector((own.x, own.z)).angle_signed(Vector((1.0, 0.0)))


def _around(goal: Vector, size: float) -> Iterator[Vector]:
    axis = goal.normalized()
    side = axis.orthogonal().normalized()
    for step in range(AROUND):
        yield 0.5 * goal + Quaternion(axis, 2 * pi * step / AROUND) @ side * 3.0 * size


def _direction(random: Random) -> Vector:
    return Vector([random.gauss(0, 1) for _ in range(3)]).normalized()


def _off_hinge(rig: Any, shown: Any) -> float:
    """Return the angle in degrees by which any joint is off the axis that it has at rest."""
    rest = [bone.matrix_local.to_3x3() for bone in rig.data.bones]
    normal = rest[0].col[1].cross(rest[1].col[1]).normalized()
    now = [
        bone.matrix.to_3x3() @ (axes.inverted() @ normal)
        for bone, axes in zip(shown, rest, strict=True)
    ]
    # Vector.angle has no digits for so small ones.
    return max(degrees(atan2(a.cross(b).length, a.dot(b))) for a, b in pairwise(now))
