"""Snap IK to FK in single precision: refused is what cannot be, and not what is rounded."""

import random
from math import dist, pi

import bpy
import pytest
from captures import imported
from mathutils import Euler, Quaternion, Vector
from rigs import activate, add_constraint, drive, go, make_armature, make_chain, make_empty, update

from addon.blender.errors import ProblemError
from addon.blender.precision import chain_rounding, rounding_of
from addon.blender.skeleton import Point
from addon.features.fk_ik.snap import ROUNDED, SnapResult
from addon.features.fk_ik.span import Span
from addon.features.fk_ik.to_fk import snap_to_fk

FAR = 1e4
SEEDS = range(8)
Rig = bpy.types.Object


def vector(rng: random.Random, size: float) -> Vector:
    return Vector([rng.uniform(-size, size) for _ in range(3)])


def leg(rng: random.Random, size: float = 1.0) -> Rig:
    """A leg in any pose, whose foot takes the orientation of an Empty."""
    joints = [Vector(p) * size for p in ((0, 0, 0), (0, -0.2, 1), (0, 0, 2), (0, -0.3, 2.2))]
    rig = make_chain(3, "Leg", joints)
    for bone in rig.pose.bones:
        bone.rotation_quaternion = Quaternion([1, *vector(rng, 0.3)]).normalized()
    target = make_empty()
    target.rotation_mode = rng.choice(("XYZ", "ZYX", "YXZ"))
    item = add_constraint(rig, "B2", target, use_rotation=True)
    item.pole_target = make_empty("Pole", vector(rng, 3.0 * size))
    return rig


def hung(rng: random.Random, target: Rig, far: float, scale: float = 1.0) -> Rig:
    """Give a target a parent anywhere, with or without it being undone."""
    parent = make_empty("Parent", vector(rng, far))
    parent.rotation_euler, parent.scale = vector(rng, pi), (scale,) * 3
    update()
    target.parent = parent
    if rng.random() < 0.5:
        target.matrix_parent_inverse = parent.matrix_world.inverted()
    return parent


def far_parent(rng: random.Random, rig: Rig, target: Rig) -> None:
    hung(rng, target, FAR)


def small_parent(rng: random.Random, rig: Rig, target: Rig) -> None:
    hung(rng, target, 10.0, 0.01)


def large_parent(rng: random.Random, rig: Rig, target: Rig) -> None:
    hung(rng, target, 10.0, 100.0)


def far_and_small(rng: random.Random, rig: Rig, target: Rig) -> None:
    hung(rng, target, FAR, 0.01)


def far_rig(rng: random.Random, rig: Rig, target: Rig) -> None:
    rig.location = vector(rng, FAR)
    rig.fabrik.constraints[0].pole_target.location += rig.location


def turned_often(rng: random.Random, rig: Rig, target: Rig) -> None:
    target.rotation_euler = vector(rng, 300.0)


def near_gimbal_lock(rng: random.Random, rig: Rig, target: Rig) -> None:
    """The foot points so that the middle angle is 90°, or nearly so."""
    target.rotation_mode = "XYZ"
    off = rng.choice((0.0, 1e-7, 1e-6, 2e-6, 1e-5, 1e-3))
    middle = rng.choice((1, -1)) * (pi / 2 - off)
    update()
    foot = rig.pose.bones["B2"]
    wanted = Euler((rng.uniform(-pi, pi), middle, rng.uniform(-pi, pi))).to_matrix().to_4x4()
    wanted.translation = foot.matrix.translation
    foot.matrix = wanted


def far_bone(rng: random.Random, rig: Rig, target: Rig) -> None:
    """A bone that is near, of an armature whose root bone and whose place undo each other."""
    bones = {"Root": ((0, 0, 0), (0, 0, 1), ""), "C": ((0, 0, 0), (0, 1, 0), "Root")}
    controls = make_armature(bones, "Controls")
    controls.rotation_euler = vector(rng, pi)
    controls.pose.bones["Root"].location = away = vector(rng, FAR)
    controls.location = -away
    controls.pose.bones["C"].rotation_mode = target.rotation_mode
    item = rig.fabrik.constraints[0]
    item.target, item.subtarget = controls, "C"


PLACES = (
    far_parent,
    small_parent,
    large_parent,
    far_and_small,
    far_rig,
    turned_often,
    near_gimbal_lock,
    far_bone,
)


def snapped(rig: Rig) -> SnapResult:
    update()
    return snap_to_fk(rig, [0], Span((1.0,)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("place", PLACES)
def test_a_target_is_put_where_it_can_be_wherever_its_numbers_come_from(place, seed) -> None:
    rng = random.Random(seed)
    rig = leg(rng)
    item = rig.fabrik.constraints[0]
    place(rng, rig, item.target)
    found = snapped(rig)
    assert found.problem == "" or found.problem.endswith(ROUNDED)
    is_far = place in (far_parent, far_and_small, far_rig, far_bone)
    assert found.difference < (3e-2 if is_far else 2e-4)
    if not is_far:
        assert found.problem == ""


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_what_is_rounded_is_in_measure_with_the_numbers(size) -> None:
    empty = make_empty(location=(3.0 * size, 4.0 * size, 0.0))
    update()
    found = rounding_of(bpy.context.evaluated_depsgraph_get(), Point(empty))
    assert 1e-8 * size < found.place < 2e-6 * size
    assert 1e-8 < found.turn < 1e-5


def test_a_hand_that_copies_a_rotation_adds_what_its_tip_is_off_by() -> None:
    empty = make_empty(location=(0.0, 0.3, 1.9))
    update()
    depsgraph, joints = bpy.context.evaluated_depsgraph_get(), ((0, 0, 0), (0, 0.2, 1), (0, 0, 2))
    plain, oriented = (
        chain_rounding(depsgraph, [Point(empty)], joints, has_hand) for has_hand in (False, True)
    )
    turn = rounding_of(depsgraph, Point(empty)).turn
    assert oriented - plain == pytest.approx(turn * dist(*joints[1:]))


def test_what_is_locked_may_be_off_by_the_rounding_of_what_it_hangs_on() -> None:
    """Target and chain move in a plane, across which the target is locked."""
    rig = make_chain(2, "Arm", ((0, 0, 0), (0, -0.2, 1), (0, 0, 2)))
    parent, target = (
        make_empty("Parent", (0.3, 0.7 * FAR, -0.4 * FAR)),
        make_empty(location=(0, 0, 2)),
    )
    add_constraint(rig, "B1", target)
    target.parent, target.lock_location = parent, (True, False, False)
    parent.rotation_euler = (0.7, 0.0, 0.4)
    update()
    rig.parent = parent
    rig.matrix_parent_inverse.identity()
    rig.rotation_euler = (0.0, 0.0, 0.0)
    for x in (-0.4, -0.2, 0.2, 0.4):
        rig.pose.bones["B1"].rotation_quaternion = Quaternion((1, 0, 0), x)
        assert snapped(rig).difference < 3e-2


def carried(rng: random.Random, rig: Rig, target: Rig) -> None:
    rig.parent = target


def carried_by_driver(rng: random.Random, rig: Rig, target: Rig) -> None:
    """The rig goes on by as much as its target does: it is never reached."""
    drive(rig.driver_add("location", 0), target, "location[0]")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("carry", [carried, carried_by_driver])
@pytest.mark.parametrize("place", [None, far_rig, turned_often])
def test_one_that_the_chain_moves_along_with_is_refused(carry, place, seed) -> None:
    rng = random.Random(seed)
    rig = leg(rng)
    target = rig.fabrik.constraints[0].target
    if place is not None:
        place(rng, rig, target)
    carry(rng, rig, target)
    with pytest.raises(ProblemError, match="the chain or another constraint depends on it"):
        snapped(rig)


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (FAR, -FAR, 3e3)])
@pytest.mark.parametrize("turned", [0.0, 60.0])
def test_a_captured_walk_is_put_onto_a_target_that_is_turned(place, turned) -> None:
    rig = imported("cmu_16_22.bvh", global_scale=0.0564, update_scene_fps=True)
    rig.location = place
    activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones["LeftFoot"]
    go(2)
    bpy.ops.fabrik.constraint_add(chain_count=3)
    item = rig.fabrik.constraints[0]
    item.use_rotation = True
    item.target.rotation_euler = (turned, turned, turned)
    update()
    found = snap_to_fk(rig, [0], Span(tuple(map(float, range(2, 60))), True, True))
    assert found.problem == "" or (any(place) and found.problem.endswith(ROUNDED))
