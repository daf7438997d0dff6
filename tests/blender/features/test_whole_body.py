"""Dragging with the whole body: pinned bones stay, the dragged one follows, the rest bends."""

from __future__ import annotations

from itertools import pairwise, product
from math import atan2, nan, pi, radians, sin, tau
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import bpy
import pytest
import rigs
from characters import make_animal, make_character
from dragged_bodies import BODIES, head_of, make_body, tail_of, turn_between
from layouts import Layout, classes
from mathutils import Matrix, Quaternion, Vector

from addon.body.body import Joint
from addon.body.looking import body_of
from addon.features.whole_body.balancing import added, loads_of, support_of
from addon.features.whole_body.dragging import WholeBodyDrag
from addon.features.whole_body.panel import shown_balance, shown_pins
from addon.features.whole_body.roles import Roles, roles_of
from addon.features.whole_body.settings import pin_kind, pins_of
from addon.settings.joint_limits import limit_of
from fabrik_solver.core.vectors import quat_angle
from fabrik_solver.core.whole_body import WholeBodyPose

pytestmark = pytest.mark.newest

AXES = [Vector(sign * (i == axis) for i in range(3)) for axis in range(3) for sign in (1, -1)]


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest, empty_file: None, tmp_path: Path) -> Any:
    return make_body(request.param, tmp_path)


@pytest.fixture
def sample(empty_file: None, tmp_path: Path) -> Any:
    return make_body("sample", tmp_path)


def pin_feet(rig: Any) -> Roles:
    roles = roles_of(rig)
    assert len(roles.feet) in (2, 4)
    for foot in roles.feet:
        assert bpy.ops.fabrik.pin(bone=foot, kind="BOTH") == {"FINISHED"}
    return roles


def drag(rig: Any, bone: str, way: Vector, **options: object) -> None:
    assert bpy.ops.fabrik.drag(bone=bone, value=way, **options) == {"FINISHED"}
    rigs.update()


def start_of(rig: Any, bone: str) -> WholeBodyDrag:
    return WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, bone)


def test_pins_stay_and_what_is_dragged_is_there(body: Any) -> None:
    roles = pin_feet(body)
    pulled = [*roles.hands[:1], roles.head, roles.feet[0]]
    before = [bone.matrix_basis.copy() for bone in body.pose.bones]
    start = {name: head_of(body, name) for name in roles.ends}
    turned = {name: body.pose.bones[name].matrix.copy() for name in roles.feet}
    reached = 0
    for bone, way in product(pulled, AXES):
        for posed, matrix in zip(body.pose.bones, before, strict=True):
            posed.matrix_basis = matrix
        rigs.update()
        drag(body, bone, way * 0.1 * roles.size)
        for foot in roles.feet:
            if foot != bone:
                assert (head_of(body, foot) - start[foot]).length < 1e-4
                assert turn_between(body, foot, turned[foot]) < 1e-3
        missed = (head_of(body, bone) - start[bone] - way * 0.1 * roles.size).length
        reached += missed < 1e-3
    assert reached >= 0.6 * len(pulled) * len(AXES)  # Heads cannot go up, for instance.


def test_many_steps_are_one_jump_and_back_is_back(body: Any) -> None:
    roles = pin_feet(body)
    before = rigs.channels_bits(body)
    dragged = start_of(body, (roles.hands or [roles.head])[0])
    way = Vector((0.15, -0.1, 0.1)) * roles.size
    dragged.move_by(tuple(way))
    once = rigs.channels_bits(body)
    dragged.cancel()
    assert rigs.channels_bits(body) == before
    for step in range(1, 20):
        dragged.move_by(tuple(way * step / 20))
    dragged.move_by(tuple(way))
    for _ in range(30):
        dragged.settle()
    assert rigs.channels_bits(body) == once
    dragged.move_by((0.0, 0.0, 0.0))
    assert rigs.channels_bits(body) == before


def flexion_now(rig: Any, bone: str, flexion: Joint) -> float:
    """Return the angle of a shown elbow or knee, negative if it bends backward."""
    posed = rig.pose.bones[bone]
    upper = posed.parent
    # In the space of the upper bone: the joint turns about the axis that it has at rest.
    to_upper = upper.bone.matrix_local.to_3x3().inverted() @ posed.bone.matrix_local.to_3x3()
    axis = upper.matrix.to_3x3().normalized() @ (to_upper @ flexion.axis)
    before = posed.head - upper.head
    children = [child for child in posed.children if child.children] or posed.children
    after = (children[0].head if len(children) == 1 else posed.tail) - posed.head
    a, b = (way - axis * axis.dot(way) for way in (before, after))
    return atan2(axis.dot(a.cross(b)), a.dot(b))


def test_elbows_and_knees_do_not_bend_backward(body: Any) -> None:
    roles = pin_feet(body)
    joints = [body_of(body, name).joint(name) for name in roles.hinges]
    flexions = {joint.bone: joint for joint in joints if joint.source}
    assert len(flexions) >= len(roles.feet)
    start = {name: flexion_now(body, name, one) for name, one in flexions.items()}
    most = dict(start)
    for bone, way in product((*roles.hands[:1], roles.hips), AXES):
        dragged = start_of(body, bone)
        dragged.move_by(tuple(way * 0.2 * roles.size))
        rigs.update()
        for name, flexion in flexions.items():
            now = flexion_now(body, name, flexion)
            assert now > min(0.0, start[name]) - 1e-4
            most[name] = max(most[name], now)
        dragged.cancel()
    assert max(most[name] - start[name] for name in flexions) > 0.5


@pytest.mark.parametrize("share", (0.0, 0.11, 0.3))
@pytest.mark.parametrize("kind", ("rigify", "cmu"))
def test_a_clavicle_takes_its_share_of_a_raised_arm(
    tmp_path: Path, kind: str, share: float
) -> None:
    rig = make_body(kind, tmp_path)
    roles = pin_feet(rig)
    bpy.ops.fabrik.pin(bone=roles.chest, kind="BOTH")
    rig.fabrik.whole_body.clavicle = share
    hand = roles.hands[0]
    above = [bone.name for bone in rig.pose.bones[hand].parent_recursive]
    clavicle = next(name for name in roles.follows if name in above)
    arm = roles.follows[clavicle]
    shoulder, start = head_of(rig, arm), head_of(rig, hand)
    quarter = Matrix.Rotation(radians(-90.0 if start.x > 0.0 else 90.0), 3, "Y")
    drag(rig, hand, shoulder + quarter @ (start - shoulder) - start)
    angles = [rig.pose.bones[name].matrix_basis.to_quaternion().angle for name in (clavicle, arm)]
    assert sum(angles) > radians(60.0)
    assert angles[0] / sum(angles) == pytest.approx(share, abs=3.5 / 90.0)


def test_a_pin_of_location_lets_the_foot_turn_and_slide_where_it_may(sample: Any) -> None:
    roles = roles_of(sample)
    for foot in roles.feet:
        bpy.ops.fabrik.pin(bone=foot, kind="LOCATION")
    pins_of(sample)[0].location_weights = (1.0, 0.0, 1.0)
    start = {foot: head_of(sample, foot) for foot in roles.feet}
    drag(sample, roles.hips, Vector((0.0, -0.25, -0.2)))
    slid = head_of(sample, roles.feet[0]) - start[roles.feet[0]]
    assert abs(slid.x) < 1e-4 and abs(slid.z) < 1e-4 and abs(slid.y) > 1e-3
    assert (head_of(sample, roles.feet[1]) - start[roles.feet[1]]).length < 1e-4


def test_an_arm_moves_before_the_trunk(body: Any) -> None:
    roles = pin_feet(body)
    if not roles.hands:
        pytest.skip("a quadruped stands on all of its limbs")
    hand = roles.hands[0]
    above = [bone.name for bone in body.pose.bones[hand].parent_recursive]
    arm = next((upper for upper in roles.follows.values() if upper in above), above[1])
    before = [body.pose.bones[name].matrix.copy() for name in (roles.chest, arm)]
    way = head_of(body, hand) - head_of(body, arm)
    drag(body, hand, Matrix.Rotation(radians(60.0), 3, "Y") @ way - way)
    turns = [turn_between(body, *pair) for pair in zip((roles.chest, arm), before, strict=True)]
    assert turns[1] > 0.6
    assert turns[0] < 0.25 * turns[1]


def solved(drag: WholeBodyDrag, way: Vector) -> WholeBodyPose:
    """Return the solver's pose of a drag by a way in the space of the armature."""
    there = drag._dragged_to([tuple(Vector(drag._starts[0]) + way)])
    joint_of = drag._posed.joint_of
    goals = [goal._replace(joint=joint_of(goal.joint)) for goal in (*there, *drag._held)]
    return drag._body.solve(goals)


@pytest.mark.parametrize("kind", ("cmu", "kaykit"))
def test_legs_do_not_fold_to_and_fro_while_hips_are_dragged_out_of_reach(
    tmp_path: Path, kind: str
) -> None:
    """But where the goal comes to the other side of a body that is the same on both."""
    rig = make_body(kind, tmp_path)
    roles = pin_feet(rig)
    dragged, up = start_of(rig, roles.hips), Vector(roles.up)
    aside = up.orthogonal().normalized()
    ways = [
        (Matrix.Rotation(tau * step / 30, 3, up) @ aside - 0.2 * up) * 0.8 * roles.size
        for step in range(30)
    ]
    poses = [solved(dragged, way) for way in ways]
    changes = sorted(
        max(quat_angle(a, b) for a, b in zip(last.turns, pose.turns, strict=True))
        for last, pose in pairwise(poses)
    )
    assert min(pose.misses[0] for pose in poses) > 0.1 * roles.size
    assert changes[-3] < radians(80.0)


def test_limits_do_not_stop_the_search(sample: Any) -> None:
    roles = pin_feet(sample)
    dragged = start_of(sample, roles.head)
    for way in ((0.172, 0.006, -0.64), (-0.278, 0.037, -0.551), (0.0, 0.0, -0.7)):
        pose = solved(dragged, Vector(way))
        assert pose.misses[0] < 0.1 * roles.size
        assert pose.steps < 60


def test_the_head_keeps_its_gaze(sample: Any) -> None:
    roles = pin_feet(sample)
    head, chest = (sample.pose.bones[name].matrix.copy() for name in (roles.head, roles.chest))
    drag(sample, "Hand.L", Vector((0.2, -0.5, -0.4)))
    assert turn_between(sample, roles.chest, chest) > 0.1
    assert turn_between(sample, roles.head, head) < 0.7 * turn_between(sample, roles.chest, chest)


@pytest.mark.parametrize("hand", [1.0, 10.0])
@pytest.mark.parametrize("masses", ["PERSON", "VOLUME"])
def test_balance_keeps_the_center_of_mass_above_the_feet(
    masses: str, hand: float, sample: Any
) -> None:
    """The mass of a hand's fingers, where they have one, moves with the hand."""
    roles = pin_feet(sample)
    sample.fabrik.whole_body.masses = masses
    sample.data.bones["Hand.L"].fabrik_mass = hand
    way = Vector((0.0, -0.5, -0.3))

    def off_balance() -> float:
        rigs.update()
        _, center = added(loads_of(sample, sample, roles).values())
        support = support_of(sample.pose.bones, roles.feet, roles)
        return Vector(support.outside(center)).length

    before = off_balance()
    sample.fabrik.whole_body.use_balance = False
    dragged = start_of(sample, "Hand.L")
    dragged.move_by(tuple(way))
    assert off_balance() > before + 0.05
    dragged.cancel()
    rigs.update()
    sample.fabrik.whole_body.use_balance = True
    dragged = start_of(sample, "Hand.L")
    dragged.move_by(tuple(way))
    assert off_balance() < before + 1e-3
    once = rigs.channels_bits(sample)
    for step in (0.3, 0.7, 1.2, 1.0):
        dragged.move_by(tuple(way * step))
    dragged.settle()  # A long move is finished once the mouse rests.
    assert rigs.channels_bits(sample) == once


def test_masses_are_those_of_a_person_or_of_envelopes_times_what_is_set(sample: Any) -> None:
    """Bones outside the parts of a person weigh nothing; nor do non-deforming envelopes."""
    roles, bones = roles_of(sample), sample.data.bones
    bones["Hand.L"].fabrik_mass = 3.0
    loads = loads_of(sample, sample, roles)
    assert loads["Hand.L"][0] == pytest.approx(3.0 * loads["Hand.R"][0])
    assert sum(mass for mass, _ in loads.values()) == pytest.approx(1.0 + 2.0 * 0.006, abs=2e-3)

    sample.fabrik.whole_body.masses = "VOLUME"
    bones["Hand.R"].head_radius = bones["Hand.R"].tail_radius = 0.05
    bones["Head"].use_deform = False
    loads = loads_of(sample, sample, roles)
    cylinder = pi * 0.05**2 * bones["Hand.R"].length
    assert loads["Hand.R"][0] == pytest.approx(cylinder)
    assert "Head" not in loads


def test_a_body_that_is_not_recognized_has_the_masses_of_its_envelopes() -> None:
    rig = rigs.make_chain(6)
    rigs.activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    loads = loads_of(rig, rig, roles_of(rig))
    assert loads.keys() == {bone.name for bone in rig.data.bones}
    assert all(mass > 0.0 for mass, _ in loads.values())


def test_without_pins_the_feet_that_stand_are_pinned_if_it_is_asked_for(sample: Any) -> None:
    roles = roles_of(sample)
    start = {foot: head_of(sample, foot) for foot in roles.feet}
    drag(sample, roles.hips, Vector((0.0, 0.0, -0.2)), whole_body=True)
    for foot in roles.feet:
        assert (head_of(sample, foot) - start[foot]).length < 1e-4
    assert len(pins_of(sample)) == 0


def test_a_pin_of_the_dragged_bone_alone_leaves_the_body_on_its_feet(sample: Any) -> None:
    roles = roles_of(sample)
    bpy.ops.fabrik.pin(bone=roles.hands[0], kind="BOTH")
    start = {name: head_of(sample, name) for name in roles.ends}
    turned = sample.pose.bones[roles.hands[0]].matrix.copy()
    drag(sample, roles.hands[0], Vector((0.1, -0.2, -0.3)))
    for foot in roles.feet:
        assert (head_of(sample, foot) - start[foot]).length < 1e-4
    moved = head_of(sample, roles.hands[0]) - start[roles.hands[0]]
    assert (moved - Vector((0.1, -0.2, -0.3))).length < 1e-3
    assert turn_between(sample, roles.hands[0], turned) < 1e-3


def test_any_other_bone_is_dragged_at_its_tail(sample: Any) -> None:
    roles = pin_feet(sample)
    start = tail_of(sample, roles.chest)
    drag(sample, roles.chest, Vector((0.05, -0.1, -0.1)))
    assert (tail_of(sample, roles.chest) - start - Vector((0.05, -0.1, -0.1))).length < 1e-3


def test_a_chest_is_dragged_at_the_neck_wherever_its_tail_is(empty_file: None) -> None:
    """Importers leave the tails of forks along an axis, here a meter beside the body."""
    rig = make_character("smpl")
    rigs.activate(rig, "POSE")
    roles = pin_feet(rig)
    assert (tail_of(rig, roles.chest) - head_of(rig, roles.chest)).length > 0.9
    start, way = head_of(rig, "Neck"), Vector((0.0, -0.15, -0.04))
    drag(rig, roles.chest, way)
    assert (head_of(rig, "Neck") - start - way).length < 1e-3


@pytest.mark.parametrize("factor", [-3.0, 0.05, 60.0])
@pytest.mark.parametrize(("bone", "joint"), [("Spine", "Chest"), ("Upper arm.L", "Forearm.L")])
def test_a_bone_whose_tail_an_importer_guessed_is_dragged_at_its_next_joint(
    sample: Any, bone: str, joint: str, factor: float
) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    for edited in sample.data.edit_bones:
        edited.use_connect = False
    guessed = sample.data.edit_bones[bone]
    guessed.tail = guessed.head + factor * (guessed.tail - guessed.head)
    bpy.ops.object.mode_set(mode="POSE")
    pin_feet(sample)
    start, way = head_of(sample, joint), Vector((0.01, -0.02, -0.03))
    drag(sample, bone, way)
    assert (head_of(sample, joint) - start - way).length < 3e-3


def test_it_is_the_same_in_a_turned_scaled_and_mirrored_object(sample: Any) -> None:
    roles = pin_feet(sample)
    sample.location, sample.rotation_euler, sample.scale = (3, -2, 1), (0.4, 1.0, -2.0), (2, 2, -2)
    rigs.update()
    start = {name: head_of(sample, name) for name in roles.ends}
    drag(sample, roles.hands[0], Vector((0.1, 0.2, -0.1)))
    moved = head_of(sample, roles.hands[0]) - start[roles.hands[0]]
    assert (moved - Vector((0.1, 0.2, -0.1))).length < 1e-3
    for foot in roles.feet:
        assert (head_of(sample, foot) - start[foot]).length < 1e-4


def test_pins_are_exact_where_scales_shear_the_bones(sample: Any) -> None:
    roles = pin_feet(sample)
    sample.pose.bones[roles.hips].scale = (1.2, 0.9, 1.0)
    sample.pose.bones[roles.chest].scale = (1.1, 1.0, 0.8)
    rigs.update()
    start = {name: head_of(sample, name) for name in roles.ends}
    drag(sample, roles.hands[0], Vector((0.1, -0.3, -0.2)))
    for foot in roles.feet:
        assert (head_of(sample, foot) - start[foot]).length < 1e-4
    moved = head_of(sample, roles.hands[0]) - start[roles.hands[0]]
    assert (moved - Vector((0.1, -0.3, -0.2))).length < 1e-3


def test_limits_and_locked_rotations_are_kept(sample: Any) -> None:
    roles = pin_feet(sample)
    elbow, chest, arm = (sample.pose.bones[n] for n in ("Forearm.L", "Chest", "Upper arm.L"))
    elbow.fabrik_joint.limit_type, elbow.fabrik_joint.hinge_axis = "HINGE", "X"
    elbow.fabrik_joint.hinge_min, elbow.fabrik_joint.hinge_max = radians(-20.0), radians(30.0)
    arm.fabrik_joint.limit_type = "CONE"
    arm.fabrik_joint.swing_x = arm.fabrik_joint.swing_z = radians(25.0)
    chest.lock_rotation, chest.lock_rotation_w = (True, True, True), True
    limits = {bone.name: limit_of(bone) for bone in (elbow, arm)}
    before = chest.rotation_quaternion.copy()
    for way in AXES:
        dragged = start_of(sample, roles.hands[0])
        dragged.move_by(tuple(0.5 * way))
        assert chest.rotation_quaternion == before
        for bone in (elbow, arm):
            limit, turn = limits[bone.name], bone.matrix_basis.to_quaternion()
            assert limit is not None
            nearest = Quaternion(limit.nearest(tuple(turn)))
            # In single precision, as Blender stores it.
            assert nearest.rotation_difference(turn).to_axis_angle()[1] % tau < 2e-3
        dragged.cancel()


def joint_of(rig: Any, name: str) -> Quaternion:
    """Return the rotation of a bone relative to its posed parent, since rest."""
    bone = rigs.evaluated(rig).pose.bones[name]
    rest = bone.parent.bone.matrix_local.inverted() @ bone.bone.matrix_local
    return (rest.inverted() @ bone.parent.matrix.inverted() @ bone.matrix).to_quaternion()


@pytest.mark.parametrize("mirror", [1.0, -1.0])
@pytest.mark.parametrize("name", ["Forearm.L", "Upper arm.L", "Chest", "Shin.L"])
def test_limits_of_bones_that_do_not_inherit_rotation_are_relative_to_their_parents(
    sample: Any, name: str, mirror: float
) -> None:
    roles = pin_feet(sample)
    sample.scale.x *= mirror
    bone = sample.pose.bones[name]
    before = bone.matrix.copy()
    bone.bone.use_inherit_rotation = False
    rigs.update()
    bone.matrix = before
    rigs.update()
    bone.fabrik_joint.limit_type = "CONE"
    bone.fabrik_joint.center = joint_of(sample, name).to_euler()
    bone.fabrik_joint.swing_x = bone.fabrik_joint.swing_z = radians(25.0)
    bone.fabrik_joint.twist_min, bone.fabrik_joint.twist_max = -0.1, 0.1
    limit = limit_of(bone)
    assert limit is not None
    held = roles.feet[0] if name.startswith("Shin") else roles.hands[0]
    for dragged in (held, "Pelvis"):
        for way in AXES:
            moved = start_of(sample, dragged)
            moved.move_by(tuple(0.4 * way))
            rigs.update()
            turn = joint_of(sample, name)
            nearest = Quaternion(limit.nearest(tuple(turn)))
            assert nearest.rotation_difference(turn).to_axis_angle()[1] % tau < 4e-3
            moved.cancel()


def constrain(rig: Any, bone: str, kind: str) -> None:
    """Let a constraint of Blender hold a bone where it is now."""
    empty = bpy.data.objects.new("Held", None)
    bpy.context.collection.objects.link(empty)
    empty.matrix_world = rig.matrix_world @ rig.pose.bones[bone].matrix
    rig.pose.bones[bone].constraints.new(kind).target = empty
    rigs.update()


@pytest.mark.parametrize("bone", ["Chest", "Upper arm.L", "Thigh.L", "Pelvis"])
@pytest.mark.parametrize("dragged", ["Hand.L", "Pelvis"])
def test_pins_stay_where_a_constraint_turns_a_bone_of_the_body(
    sample: Any, bone: str, dragged: str
) -> None:
    roles = pin_feet(sample)
    constrain(sample, bone, "COPY_ROTATION")
    start = {name: head_of(sample, name) for name in roles.ends}
    way = Vector((0.05, -0.05, -0.05))
    drag(sample, dragged, way)
    for foot in roles.feet:
        assert (head_of(sample, foot) - start[foot]).length < 1e-4
    if (bone, dragged) != ("Thigh.L", "Pelvis"):  # Above a thigh that does not turn it cannot go.
        assert (head_of(sample, dragged) - start[dragged] - way).length < 1e-3


def test_a_body_that_a_constraint_places_is_refused_with_its_name(sample: Any) -> None:
    pin_feet(sample)
    constrain(sample, "Pelvis", "COPY_LOCATION")
    before = rigs.channels_bits(sample)
    with pytest.raises(
        RuntimeError, match="“Pelvis” is held in place by its constraint “Copy Location”"
    ):
        bpy.ops.fabrik.drag(bone="Pelvis", value=(0.0, 0.0, -0.1))
    assert rigs.channels_bits(sample) == before
    drag(sample, "Hand.L", Vector((0.0, -0.1, -0.1)))


def test_locked_and_connected_roots_stay(sample: Any) -> None:
    roles = pin_feet(sample)
    sample.pose.bones[roles.hips].lock_location = (True, True, True)
    start = head_of(sample, roles.hips)
    drag(sample, roles.hands[0], Vector((0.0, -0.4, -0.3)))
    assert (head_of(sample, roles.hips) - start).length < 1e-6


def test_a_skeleton_without_a_character_is_dragged_as_its_tree_is() -> None:
    bones: dict[str, Any] = {"Root": ((0, 0, 0), (0, 0, 0.5), "")}
    for side, x in (("A", 1), ("B", -1)):
        above = "Root"
        for i in range(4):
            at = (x * i * 0.5, 0.02 * i * i, 0.5 + 0.1 * i)
            to = (x * (i + 1) * 0.5, 0.02 * (i + 1) ** 2, 0.6 + 0.1 * i)
            bones[f"{side}{i}"] = (at, to, above)
            above = f"{side}{i}"
    rig: Any = rigs.make_armature(bones)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.fabrik.pin(bone="B3", kind="LOCATION")
    pinned, start = tail_of(rig, "B3"), tail_of(rig, "A3")
    drag(rig, "A3", Vector((-0.6, 0.3, 0.5)))
    assert (tail_of(rig, "B3") - pinned).length < 1e-4
    assert (tail_of(rig, "A3") - start - Vector((-0.6, 0.3, 0.5))).length < 1e-3


@pytest.mark.parametrize("name", ["Root", "Child"])
def test_a_body_of_one_joint_is_dragged(name: str) -> None:
    """All its joints are in one place, even with a bone on top of it."""
    ends = (0, 0, 0), (0, 0, 0.5)
    rig: Any = rigs.make_armature({"Root": (*ends, ""), "Child": (*ends, "Root")})
    rigs.activate(rig, "POSE")
    start, way = tail_of(rig, name), Vector((0.3, 0.0, -0.1))
    drag(rig, name, way, whole_body=True)
    assert (tail_of(rig, name) - start - way).length < 1e-4


# Pins


def test_pins_go_from_location_to_both_to_free(sample: Any) -> None:
    kinds = []
    for _ in range(4):
        bpy.ops.fabrik.pin(bone="Foot.L", kind="NEXT")
        kinds.append(pin_kind(sample, "Foot.L"))
    assert kinds == ["LOCATION", "BOTH", "NONE", "LOCATION"]
    assert [pin.bone for pin in pins_of(sample)] == ["Foot.L"]
    with pytest.raises(RuntimeError, match="has no bone"):
        bpy.ops.fabrik.pin(bone="Tail")


def test_the_active_armature_is_pinned_if_the_named_object_has_no_bones(sample: Any) -> None:
    empty = rigs.make_empty()
    rigs.activate(sample)
    assert bpy.ops.fabrik.pin(armature=empty.name, bone="Foot.L") == {"FINISHED"}
    assert pin_kind(sample, "Foot.L") == "LOCATION"


def test_a_pin_follows_its_renamed_bone(sample: Any) -> None:
    pin_feet(sample)
    start = head_of(sample, "Foot.L")
    sample.pose.bones["Foot.L"].name = "Paw"
    drag(sample, "Hand.L", Vector((0.1, -0.2, -0.3)))
    assert (head_of(sample, "Paw") - start).length < 1e-4
    assert bpy.ops.fabrik.pin(bone="Paw", kind="NONE") == {"FINISHED"}
    assert [pin.bone for pin in pins_of(sample)] == ["Foot.R"]


def test_a_pin_of_a_removed_bone_harms_nothing(sample: Any) -> None:
    pin_feet(sample)
    pins_of(sample)[0].bone = "Gone"
    drag(sample, "Hand.L", Vector((0.1, 0.0, -0.1)))
    bpy.ops.fabrik.pin(bone="Gone", kind="NONE")
    assert [pin.bone for pin in pins_of(sample)] == ["Foot.R"]


# What is shown


def test_pins_and_balance_are_shown_where_they_are(sample: Any) -> None:
    assert shown_pins(bpy.context) == [] and shown_balance(bpy.context) is None
    roles = pin_feet(sample)
    bpy.ops.fabrik.pin(bone=roles.chest, kind="LOCATION")
    sample.location = (3.0, -2.0, 1.0)
    rigs.update()
    places = [head_of(sample, foot) for foot in roles.feet] + [tail_of(sample, roles.chest)]
    shown = shown_pins(bpy.context)
    assert [is_oriented for _, is_oriented in shown] == [True, True, False]
    for (place, _), expected in zip(shown, places, strict=True):
        assert (Vector(place) - expected).length < 1e-6
    sample.fabrik.whole_body.use_balance = False
    assert shown_balance(bpy.context) is None
    sample.fabrik.whole_body.use_balance = True
    bpy.ops.fabrik.pin(bone=roles.chest, kind="NONE")
    found = shown_balance(bpy.context)
    assert found is not None
    center, below, area = found
    assert 0.4 * roles.size < center[2] - below[2] < 0.8 * roles.size
    assert (center[0], center[1]) == pytest.approx((below[0], below[1]))
    assert len(area) > 2 and all(corner[2] == pytest.approx(below[2]) for corner in area)


def test_the_panel_lists_pins_and_the_weights_of_the_active_bone(
    sample: Any, addon: ModuleType
) -> None:
    def shown() -> list[str]:
        layout = Layout()
        panel = SimpleNamespace(layout=layout)
        classes(addon)["FABRIK_PT_whole_body"].draw(panel, bpy.context)
        return layout.shown

    options = ["clavicle", "keying", "use_balance"]
    weighed = [*options, "masses", "fabrik_mass"]
    roles = pin_feet(sample)
    sample.fabrik.whole_body.use_balance = False
    assert shown()[-3:] == options and "location_weights" not in shown()
    sample.data.bones.active = sample.data.bones[roles.feet[0]]
    assert shown().count("kind") == 2
    assert shown()[-5:] == ["location_weights", "rotation_weights", *options]
    sample.fabrik.whole_body.use_balance = True
    assert shown()[-5:] == weighed


# Keys, undo and other processes


@pytest.mark.parametrize("keying", ("FULL_BODY", "BODY_PART", "BONE"))
def test_auto_keying_keys_the_body_the_part_or_the_bone(sample: Any, keying: str) -> None:
    roles = pin_feet(sample)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    sample.fabrik.whole_body.keying = keying
    drag(sample, roles.hands[0], Vector((0.1, -0.3, -0.2)))
    keyed = {curve.data_path.split('"')[1] for curve in rigs.curves(sample)}
    arm = {"Upper arm.L", "Forearm.L", "Hand.L"}
    if keying == "FULL_BODY":
        assert arm | {roles.hips, roles.chest, "Shin.R"} <= keyed
        assert rigs.is_keyed(sample, f'pose.bones["{roles.hips}"].location')
    else:
        assert keyed == (arm if keying == "BODY_PART" else {"Hand.L"})


def test_a_finger_that_is_dragged_keys_its_arm(tmp_path: Path) -> None:
    rig = make_body("rigify", tmp_path)
    pin_feet(rig)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    rig.fabrik.whole_body.keying = "BODY_PART"
    drag(rig, "f_index.03.L", Vector((0.1, -0.3, -0.2)))
    keyed = {curve.data_path.split('"')[1] for curve in rigs.curves(rig)}
    assert {"upper_arm.L", "forearm.L", "hand.L", "f_index.03.L"} <= keyed
    assert not {"spine", "spine.003", "shin.R", "upper_arm.R"} & keyed


def test_a_drag_by_what_is_no_number_is_refused(sample: Any) -> None:
    pin_feet(sample)
    before = rigs.channels_bits(sample)
    with pytest.raises(RuntimeError, match="drag a shorter distance"):
        bpy.ops.fabrik.drag(bone="Hand.L", value=(nan, 0.0, 0.0))
    assert rigs.channels_bits(sample) == before


def test_a_hand_and_its_control_that_copy_each_other_hang_on_the_arm(sample: Any) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    hand, control = sample.data.edit_bones["Hand.L"], sample.data.edit_bones.new("Control")
    control.head, control.tail, control.roll = hand.head, hand.tail, hand.roll
    bpy.ops.object.mode_set(mode="POSE")
    for bone, kind, other in (
        ("Control", "COPY_LOCATION", "Hand.L"),
        ("Hand.L", "COPY_TRANSFORMS", "Control"),
    ):
        copying = sample.pose.bones[bone].constraints.new(kind)
        copying.target, copying.subtarget = sample, other
    rigs.update()
    pin_feet(sample)
    start, way = head_of(sample, "Hand.L"), Vector((0.1, -0.2, 0.2))
    drag(sample, "Hand.L", way)
    assert (head_of(sample, "Hand.L") - start - way).length < 1e-3


def test_a_head_that_hangs_on_nothing_is_left_where_it_is(
    sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    ball = sample.data.edit_bones.new("Ball")
    ball.head, ball.tail = (1.0, 0.0, 0.0), (1.0, 0.0, 0.2)
    bpy.ops.object.mode_set(mode="POSE")
    rigs.update()
    pin_feet(sample)
    roles = roles_of(sample)
    roles.head = roles.chest = "Ball"
    monkeypatch.setattr("addon.features.whole_body.dragging.roles_of", lambda *_, **__: roles)
    start = head_of(sample, roles.hips)
    drag(sample, roles.hips, Vector((0.0, 0.05, -0.1)))
    assert (head_of(sample, roles.hips) - start - Vector((0.0, 0.05, -0.1))).length < 1e-4


def test_two_processes_give_the_same_pose_bit_for_bit(sample: Any, tmp_path: Path) -> None:
    pin_feet(sample)
    blend = tmp_path / "pinned.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    act = 'bpy.ops.fabrik.drag(bone="Hand.L", value=(0.1, -0.3, -0.2))'
    drag(sample, "Hand.L", Vector((0.1, -0.3, -0.2)))
    there, _ = rigs.elsewhere(blend, act, 'channels_bits(bpy.data.objects["Rig"])')
    assert there == rigs.channels_bits(sample)


@pytest.mark.parametrize("bone", ["Head", "Hips"])
def test_pins_of_either_piece_of_a_body_stay(bone: str) -> None:
    rig = make_animal("stag")
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["Chest"].parent = None
    bpy.ops.object.mode_set(mode="POSE")
    rigs.update()
    feet = pin_feet(rig).feet
    before = {foot: head_of(rig, foot) for foot in (*feet, bone)}
    way = Vector((0.05, 0.1, -0.1))
    drag(rig, bone, way)
    assert (head_of(rig, bone) - before[bone] - way).length < 1e-3
    assert max((head_of(rig, foot) - before[foot]).length for foot in feet) < 1e-4


@pytest.mark.parametrize("scale", [(1.4, 1.4, -1.4), (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0)])
@pytest.mark.parametrize("bone", ["Thigh.R", "Shoulder.R"])
def test_pins_of_mirrored_limbs_stay(bone: str, scale: tuple[float, float, float]) -> None:
    rig = make_animal("stag")
    bpy.ops.object.mode_set(mode="POSE")
    rig.pose.bones[bone].scale = scale
    rigs.update()
    feet = pin_feet(rig).feet
    before = {foot: rig.pose.bones[foot].matrix.copy() for foot in feet}
    drag(rig, "Head", Vector((0.05, 0.1, -0.1)))
    for foot in feet:
        assert (head_of(rig, foot) - before[foot].translation).length < 1e-4
        assert abs(sin(0.5 * turn_between(rig, foot, before[foot]))) < 1e-3
