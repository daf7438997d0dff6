"""A limb bends about its own hinge, as Blender's IK has it, wherever its pole goes."""

from collections.abc import Iterator
from itertools import pairwise
from math import atan2, cos, degrees, pi, radians, sin
from random import Random

import bpy
import pytest
from mathutils import Matrix, Quaternion, Vector
from rigs import activate, add_constraint, evaluated, make_chain, make_empty, update

OWN = 0.1
"""How far, in degrees, a joint may turn off its own axis."""

AS_BLENDER = 1.0
"""How far, in degrees, bones may be from where Blender's IK has them."""

RIGS = range(6)


def planar_leg(
    random: Random, count: int = 2, name: str = "Leg", bend: float = 1.0, is_zigzag: bool = False
) -> bpy.types.Object:
    """Make a leg that lies in a plane in any direction, its bones rolled as they come."""
    turn = Quaternion([random.gauss(0, 1) for _ in range(4)]).normalized()
    joints, angle = [Vector()], 0.0
    for i in range(count):
        way = Vector((0.0, sin(angle), cos(angle))) * random.uniform(0.6, 1.4)
        joints.append(joints[-1] + way)
        angle += bend * random.uniform(0.3, 0.9) * (-1.0 if is_zigzag and i % 2 else 1.0)
    rig = make_chain(count, name, [turn @ joint for joint in joints])
    activate(rig, "EDIT")
    for bone in rig.data.edit_bones:
        bone.roll = random.uniform(-pi, pi)
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def frames(rig: bpy.types.Object) -> list[Matrix]:
    """The axes of the bones in armature space, as shown."""
    return [bone.matrix.copy() for bone in evaluated(rig).pose.bones]


def off_hinge(rig: bpy.types.Object) -> float:
    """The angle in degrees between any joint's axis and its axis at rest."""
    rest = [bone.matrix_local for bone in rig.data.bones]
    normal = rest[0].col[1].to_3d().cross(rest[1].col[1].to_3d()).normalized()
    own = [frame.to_3x3().inverted() @ normal for frame in rest]
    shown = [frame.to_3x3() @ axis for frame, axis in zip(frames(rig), own, strict=True)]
    # `Vector.angle` is 0 below a twentieth of a degree.
    return max(degrees(atan2(a.cross(b).length, a.dot(b))) for a, b in pairwise(shown))


def length(rig: bpy.types.Object) -> float:
    return sum(bone.length for bone in rig.data.bones)


def around(rig: bpy.types.Object, target: Vector) -> Iterator[Vector]:
    """Places of a pole that goes once round a leg."""
    axis = target.normalized()
    side = axis.orthogonal().normalized()
    for step in range(24):
        yield 0.5 * target + Quaternion(axis, 2 * pi * step / 24) @ side * 3.0 * length(rig)


def places(rig: bpy.types.Object, random: Random, count: int) -> Iterator[Vector]:
    """Places that the target is moved to, in reach and beyond."""
    for _ in range(count):
        way = Vector([random.gauss(0, 1) for _ in range(3)]).normalized()
        yield way * length(rig) * random.uniform(0.4, 1.1)


@pytest.mark.parametrize("rig_number", RIGS)
@pytest.mark.parametrize(
    ("solver", "count"), [("TWO_BONE", 2), *[("FABRIK", n) for n in (2, 3, 5)], ("CCD", 3)]
)
def test_joints_bend_about_their_own_axis_wherever_the_pole_is(
    solver: str, count: int, rig_number: int
) -> None:
    random = Random(rig_number)
    rig = planar_leg(random, count)
    target, pole = make_empty("Target"), make_empty("Pole")
    add_constraint(rig, f"B{count - 1}", target, solver=solver, pole_target=pole)
    for goal in places(rig, random, 3):
        target.location = goal
        for place in around(rig, goal):
            pole.location = place
            update()
            assert off_hinge(rig) <= OWN


@pytest.mark.parametrize("rig_number", RIGS)
def test_bones_roll_as_with_blenders_ik_once_its_pole_angle_is_set(rig_number: int) -> None:
    ours, theirs = (planar_leg(Random(rig_number), name=name) for name in ("Ours", "Theirs"))
    random = Random(rig_number + 100)
    target, pole = make_empty("Target"), make_empty("Pole")
    add_constraint(ours, "B1", target, solver="TWO_BONE", pole_target=pole)
    con = theirs.pose.bones["B1"].constraints.new("IK")
    con.target, con.pole_target, con.iterations = target, pole, 500
    # The angle is set in the rest pose: where the pole is ahead it leaves that alone.
    joints = [Vector(), *(bone.tail_local for bone in ours.data.bones)]
    target.location = joints[-1]
    axis = joints[-1].normalized()
    ahead = (joints[1] - axis * joints[1].dot(axis)).normalized()
    pole.location = joints[1] + ahead * 3.0
    con.pole_angle = fitted_angle(theirs, con)
    worst = 0.0
    for goal in (way * 0.8 * length(ours) for way in (axis, *unit_ways(random, 3))):
        target.location = goal
        for place in around(ours, goal):
            pole.location = place
            update()
            assert off_hinge(theirs) <= 0.3, "or the comparison says nothing"
            pairs = zip(frames(ours), frames(theirs), strict=True)
            turned = [a.to_quaternion().rotation_difference(b.to_quaternion()) for a, b in pairs]
            worst = max(worst, *(degrees(min(q.angle, 2 * pi - q.angle)) for q in turned))
    print(f"leg {rig_number}, pole once round: at most {worst:.3f}° from Blender's IK")
    assert worst <= AS_BLENDER


def unit_ways(random: Random, count: int) -> Iterator[Vector]:
    for _ in range(count):
        yield Vector([random.gauss(0, 1) for _ in range(3)]).normalized()


def fitted_angle(rig: bpy.types.Object, con: bpy.types.KinematicConstraint) -> float:
    """The pole angle at which Blender's IK leaves the rest pose alone, by trying."""
    rest = rig.data.bones["B0"].matrix_local.to_quaternion()

    def off(angle: float) -> float:
        con.pole_angle = angle
        update()
        turned = frames(rig)[0].to_quaternion().rotation_difference(rest).angle
        return min(turned, 2 * pi - turned)

    step = radians(5)
    best = min((step * i - pi for i in range(72)), key=off)
    while step > 1e-6:
        step *= 0.5
        best = min((best - step, best, best + step), key=off)
    return best
