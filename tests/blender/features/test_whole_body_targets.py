"""Dragging the whole body of a rig with constraints: their targets and poles move along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import pytest
import rigs
from dragged_bodies import head_of, make_body, turn_between
from kept_files import open_kept
from mathutils import Vector

from addon.features.whole_body.dragging import WholeBodyDrag
from addon.features.whole_body.roles import Roles, roles_of

pytestmark = pytest.mark.newest

WAYS = [Vector(way) for way in ((0.3, 0, 0), (0, -0.3, -0.3), (-0.2, 0, 0.1))]


@pytest.fixture(params=(False, True))
def sample(request: pytest.FixtureRequest, empty_file: None, tmp_path: Path) -> Any:
    """A body whose constraints share the spine, or that was set up with targets of its own."""
    rig = make_body("sample", tmp_path)
    if request.param:
        rig.fabrik.constraints.clear()
        assert bpy.ops.fabrik.character_set_up(controls="BONE") == {"FINISHED"}
    for item in rig.fabrik.constraints:
        item.enabled = True
    rigs.update()
    return rig


@pytest.fixture(params=("EMPTY", "BONE"))
def knight(request: pytest.FixtureRequest, empty_file: None, tmp_path: Path) -> Any:
    def make() -> None:
        make_body("kaykit", tmp_path)
        assert bpy.ops.fabrik.character_set_up(controls=request.param) == {"FINISHED"}
        rigs.update()

    open_kept(("knight that was set up", request.param), make)
    return next(
        ob for ob in bpy.context.scene.objects if ob.type == "ARMATURE" and ob.fabrik.constraints
    )


def pin_feet(rig: Any) -> Roles:
    roles = roles_of(rig)
    for foot in roles.feet:
        bpy.ops.fabrik.pin(bone=foot, kind="BOTH")
    return roles


def shown_matrix(rig: Any, bone: str) -> Any:
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return shown.pose.bones[bone].matrix.copy()


def check(rig: Any, roles: Roles, bone: str, way: Vector) -> None:
    """Drag a bone, look, and drag it back."""
    start = {name: head_of(rig, name) for name in roles.ends}
    turned = {name: shown_matrix(rig, name) for name in roles.feet}
    dragged = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, bone)
    dragged.move_by(tuple(way))
    rigs.update()
    assert (head_of(rig, bone) - start[bone] - way).length < 1e-3
    for foot in roles.feet:
        assert (head_of(rig, foot) - start[foot]).length < 1e-4
        assert turn_between(rig, foot, turned[foot]) < 2e-3
    dragged.cancel()
    rigs.update()


def test_targets_move_so_that_pins_stay_and_the_hand_is_there(sample: Any) -> None:
    roles = pin_feet(sample)
    for way in WAYS:
        check(sample, roles, roles.hands[0], way)
    check(sample, roles, roles.hips, Vector((0.05, 0.0, -0.15)))


def test_it_does_on_a_character_that_was_set_up(knight: Any) -> None:
    roles = pin_feet(knight)
    for way in WAYS:
        check(knight, roles, roles.hands[0], way * 0.4)
    check(knight, roles, roles.hips, Vector((0.05, 0.0, -0.05)))


def test_cancelling_restores_targets_and_channels(knight: Any) -> None:
    roles = pin_feet(knight)
    before = rigs.everything_bits(), rigs.channels_bits(knight), rigs.shown_bits(knight)
    places = [rigs.world_location(ob) for ob in bpy.data.objects]
    dragged = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), knight, roles.hands[0])
    dragged.move_by((0.1, -0.3, -0.2))
    rigs.update()
    assert rigs.shown_bits(knight) != before[2]
    dragged.cancel()
    rigs.update()
    assert (rigs.everything_bits(), rigs.channels_bits(knight), rigs.shown_bits(knight)) == before
    assert [rigs.world_location(ob) for ob in bpy.data.objects] == places


def test_the_fk_pose_of_a_limb_with_a_pole_is_kept(knight: Any) -> None:
    roles = pin_feet(knight)
    arm = [knight.pose.bones[name] for name in ("upperarm.l", "lowerarm.l")]
    before = [bone.matrix_basis.copy() for bone in arm]
    bpy.ops.fabrik.drag(bone=roles.hands[0], value=(0.1, -0.2, 0.1))
    rigs.update()
    assert [bone.matrix_basis for bone in arm] == before


def test_other_targets_stay_where_they_are_also_out_of_reach(knight: Any) -> None:
    roles = pin_feet(knight)
    other = next(item for item in knight.fabrik.constraints if item.bone == roles.hands[1])
    before = place_of_target(other)
    bpy.ops.fabrik.drag(bone=roles.hands[0], value=(0.0, -0.3, -0.2))
    rigs.update()
    assert (place_of_target(other) - before).length < 1e-4
    assert other.state == "OUT_OF_REACH"  # The knight stands with straight arms.


def place_of_target(item: Any) -> Vector:
    if item.subtarget:
        return head_of(item.target, item.subtarget)
    return rigs.world_location(item.target)


def test_targets_are_keyed_instead_of_limbs(tmp_path: Path) -> None:
    rig = make_body("kaykit", tmp_path)
    bpy.ops.fabrik.character_set_up(controls="BONE")
    roles = pin_feet(rig)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    bpy.ops.fabrik.drag(bone=roles.hands[0], value=(0.1, -0.2, 0.1))
    item = next(one for one in rig.fabrik.constraints if one.bone == roles.hands[0])
    assert rigs.is_keyed(rig, f'pose.bones["{item.subtarget}"].location')
    assert not rigs.is_keyed(rig, 'pose.bones["upperarm.l"].rotation_quaternion')


def test_targets_of_blenders_own_ik_move_too(tmp_path: Path) -> None:
    rig = make_body("sample", tmp_path)
    rig.fabrik.constraints.clear()
    roles = roles_of(rig)
    for bone, end in (("Forearm.L", "Hand.L"), ("Shin.L", "Foot.L"), ("Shin.R", "Foot.R")):
        # A little bent, as Blender's solver needs it.
        rig.pose.bones[bone].rotation_mode = "XYZ"
        target, pole = rigs.make_empty(f"{bone} target"), rigs.make_empty(f"{bone} pole")
        target.location = head_of(rig, end)
        way = -0.5 if bone.startswith("Shin") else 0.5
        pole.location = head_of(rig, bone) + Vector((0.0, way, 0.0))
        con = rig.pose.bones[bone].constraints.new("IK")
        con.target, con.pole_target, con.chain_count, con.iterations = target, pole, 2, 500
        con.pole_angle = pole_angle_of(rig, bone, pole)
    rigs.update()
    for foot in roles.feet:
        bpy.ops.fabrik.pin(bone=foot, kind="LOCATION")
    start = {name: head_of(rig, name) for name in roles.ends}
    assert bpy.ops.fabrik.drag(bone="Hand.L", value=(0.1, -0.4, -0.2)) == {"FINISHED"}
    rigs.update()
    moved = head_of(rig, "Hand.L") - start["Hand.L"]
    assert (moved - Vector((0.1, -0.4, -0.2))).length < 2e-3  # Blender's solver is not exact.
    for foot in roles.feet:
        assert (head_of(rig, foot) - start[foot]).length < 2e-3
    assert (rigs.world_location(bpy.data.objects["Shin.L target"]) - start["Foot.L"]).length < 2e-3
    assert (head_of(rig, roles.hips) - start[roles.hips]).length > 0.02


def test_a_limb_that_begins_above_the_body_keeps_its_pole(tmp_path: Path) -> None:
    rig = make_body("sample", tmp_path)
    rig.fabrik.constraints.clear()
    roles = roles_of(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    top, hips = rig.data.edit_bones.new("Top"), rig.data.edit_bones[roles.hips]
    top.head, top.tail, hips.parent = (0.0, 0.0, 0.0), (0.0, 0.5, 0.0), top
    bpy.ops.object.mode_set(mode="POSE")
    hand, other = roles.hands
    forearm = rig.pose.bones[other].parent
    item = rigs.add_constraint(rig, forearm.name, rigs.make_empty("Target", head_of(rig, other)))
    item.chain_count = 1 + len(forearm.parent_recursive)  # From the top: hips move the body.
    item.pole_target = pole = rigs.make_empty("Pole", (0.0, 2.0, 1.0))
    rigs.update()
    way = Vector((0.05, -0.1, 0.1))
    there = head_of(rig, hand) + way
    assert bpy.ops.fabrik.drag(bone=hand, value=way, whole_body=True) == {"FINISHED"}
    rigs.update()
    # The constraint decides how the trunk bends, so that the hand only gets nearer.
    assert (head_of(rig, hand) - there).length < 0.7 * way.length
    assert pole.location[:] == (0.0, 2.0, 1.0)


def pole_angle_of(rig: Any, bone: str, pole: Any) -> float:
    """Return the pole angle at which Blender's IK bends a limb as it is at rest."""
    upper = rig.pose.bones[bone].parent
    axis = (rig.pose.bones[bone].tail - upper.head).normalized()
    across = [way - axis * axis.dot(way) for way in (pole.location - upper.head, upper.x_axis)]
    angle = across[1].angle(across[0])
    return angle if axis.dot(across[1].cross(across[0])) > 0.0 else -angle
