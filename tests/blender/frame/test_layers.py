"""Constraints on the bones of one another: the list's order is that of solving."""

from math import pi

import bpy
import pytest
import rigs
from mathutils import Quaternion, Vector

STRAIGHT = [(0.0, 0.0, 0.5 * i) for i in range(9)]
NEAR = 4e-4


def keyed_target(name: str = "Target") -> bpy.types.Object:
    target = rigs.make_empty(name)
    rigs.key(target, "location", {1: (1.0, 0.5, 2.5), 12: (-1.0, 1.0, 2.0)})
    return target


def wave(
    rig: bpy.types.Object, bone: str, count: int = 0, **settings: float
) -> bpy.types.PropertyGroup:
    item = rigs.add_constraint(rig, bone, solver="WAVE", chain_count=count, name=f"Wave {bone}")
    for name, value in {"amplitude": 0.3, "speed": 1.0, **settings}.items():
        setattr(item.wave, name, value)
    return item


def look_at(
    rig: bpy.types.Object, bone: str, target: bpy.types.Object, count: int = 1
) -> bpy.types.PropertyGroup:
    item = rigs.add_constraint(rig, bone, target, solver="LOOK_AT", chain_count=count, name="Look")
    item.look.axis, item.look.up_axis = "Y", "NONE"
    return item


def missed_gaze(rig: bpy.types.Object, bone: str, target: bpy.types.Object) -> float:
    """Return the angle between a bone and the way from its head to a target."""
    head, tail = rigs.tip_world(rig, bone, use_tail=False), rigs.tip_world(rig, bone)
    return (tail - head).angle(rigs.evaluated(target).matrix_world.translation - head)


def swap(rig: bpy.types.Object, index: int) -> None:
    """Let a constraint and the one after it change places by the button."""
    rigs.activate(rig)
    rig.fabrik.active_index = index
    assert bpy.ops.fabrik.constraint_move(direction="DOWN") == {"FINISHED"}
    rigs.update()


def played(rig: bpy.types.Object) -> dict[int, bytes]:
    shown = {}
    for frame in range(1, 9):
        rigs.go(frame)
        shown[frame] = rigs.pose_bits(rig)
    return shown


def assert_no_history(rig: bpy.types.Object) -> None:
    """Check that frames are the same backwards, and everything is still where it was put."""
    shown = played(rig)
    for frame in (5, 4, 2.5, 8, 1):
        rigs.go(frame)
        assert shown.get(frame, rigs.pose_bits(rig)) == rigs.pose_bits(rig)
        bits = rigs.everything_bits()
        rigs.update(rig)
        assert rigs.everything_bits() == bits, "a second update shows something else"


def test_a_chain_that_reaches_arrives_only_after_a_wave() -> None:
    rig, target = rigs.make_chain(8, joints=STRAIGHT), keyed_target()
    wave(rig, "B7")
    rigs.add_constraint(rig, "B7", target)
    for frame in (1, 4, 9):
        rigs.go(frame)
        assert rigs.tip_error(rig, "B7", target) < NEAR
    swap(rig, 0)
    for frame in (1, 4, 9):
        rigs.go(frame)
        assert rigs.tip_error(rig, "B7", target) > 0.05
    assert_no_history(rig)


def test_a_gaze_stays_on_its_target_only_after_a_chain_that_reaches() -> None:
    rig, target, fly = rigs.make_chain(4), keyed_target(), rigs.make_empty("Fly", (2, -3, 1))
    rigs.add_constraint(rig, "B3", target)
    look_at(rig, "B3", fly)
    for frame in (1, 5, 9):
        rigs.go(frame)
        assert missed_gaze(rig, "B3", fly) < 1e-3
        # What the chain made of the other bones stays.
        assert rigs.tip_world(rig, "B2") != rig.matrix_world @ rig.data.bones["B2"].tail_local
    swap(rig, 0)
    for frame in (1, 5, 9):
        rigs.go(frame)
        assert missed_gaze(rig, "B3", fly) > 0.1
        assert rigs.tip_error(rig, "B3", target) < NEAR
    assert_no_history(rig)


def test_each_of_three_layers_begins_where_the_one_before_ends() -> None:
    rig, target, fly = rigs.make_chain(6), keyed_target(), rigs.make_empty("Fly", (2, -3, 1))
    wave(rig, "B5")
    rigs.add_constraint(rig, "B4", target)
    look_at(rig, "B5", fly)
    for frame in (1, 5, 9):
        rigs.go(frame)
        assert rigs.tip_error(rig, "B4", target) < NEAR
        assert missed_gaze(rig, "B5", fly) < 1e-3
    assert_no_history(rig)
    shown = rigs.pose_bits(rig)
    rig.fabrik.constraints[0].enabled = False
    rigs.update()
    assert rigs.pose_bits(rig) != shown, "the wave below has done nothing"


def test_two_waves_on_two_pairs_of_bones_add_up_in_either_order() -> None:
    """With all waves about one axis the shared bone turns by both."""
    rig = rigs.make_chain(3, joints=STRAIGHT)
    flat = {"speed": 0.0, "phase": 0.4, "wavelength": 1.0}
    wave(rig, "B1", 2, amplitude=0.2, **flat)
    wave(rig, "B2", 2, amplitude=0.1, **flat)
    rigs.update()
    turns = [bone.rotation_quaternion.copy() for bone in rigs.shown_bones(rig)]
    swap(rig, 0)
    for bone, turn in zip(rigs.shown_bones(rig), turns, strict=True):
        assert bone.rotation_quaternion.rotation_difference(turn).angle < 1e-3
    rig.fabrik.constraints[0].enabled = False
    rigs.update()
    other = rigs.shown_bones(rig)["B1"].rotation_quaternion
    assert other.rotation_difference(turns[1]).angle > 0.01


def body(name: str = "Rig") -> bpy.types.Object:
    """Make a spine of two bones, and two arms of two."""
    return rigs.make_armature(
        {
            "S0": ((0, 0, 0), (0, 0.1, 1), ""),
            "S1": ((0, 0.1, 1), (0, 0, 2), "S0"),
            "L0": ((0, 0, 2), (1, 0.1, 2), "S1"),
            "L1": ((1, 0.1, 2), (2, 0, 2), "L0"),
            "R0": ((0, 0, 2), (-1, 0.1, 2), "S1"),
            "R1": ((-1, 0.1, 2), (-2, 0, 2), "R0"),
        },
        name,
    )


def test_a_body_of_two_chains_arrives_after_a_wave_on_the_bones_they_share() -> None:
    rig = body()
    left, right = (
        rigs.make_empty("Left", (1.2, 0.6, 2.3)),
        rigs.make_empty("Right", (-1.3, -0.5, 2.2)),
    )
    wave(rig, "S1")
    rigs.add_constraint(rig, "L1", left, name="Left")
    rigs.add_constraint(rig, "R1", right, name="Right")
    shown = set()
    for frame in (1, 4, 9):
        rigs.go(frame)
        assert rigs.tip_error(rig, "L1", left) < 2e-3
        assert rigs.tip_error(rig, "R1", right) < 2e-3
        shown.add(rigs.pose_bits(rig))
    assert len(shown) == 3
    assert_no_history(rig)


def test_a_layer_on_a_chain_is_named_though_blender_moves_another_of_its_body() -> None:
    rig = body()
    for name, bone, place in (("Right", "R1", (-1.3, -0.5, 2.2)), ("Left", "L1", (1.2, 0.6, 2.3))):
        rigs.add_constraint(rig, bone, rigs.make_empty(name, place), name=name)
    wave(rig, "R1", 1)
    item = rig.fabrik.constraints["Right"]
    for kind in ("", "LIMIT_ROTATION"):
        if kind:
            rig.pose.bones["L1"].constraints.new(kind)
        rigs.go(4)
        assert item.error == pytest.approx(
            rigs.tip_error(rig, "R1", bpy.data.objects["Right"]), abs=5e-6
        )
        assert (item.state, item.message) == (
            "OUT_OF_REACH",
            "“Wave R1” moves the tip afterward: move this constraint below it in the list",
        )


def test_a_layer_between_the_chains_of_a_body_is_named() -> None:
    """They are solved together where the first of them stands."""
    rig = body()
    rigs.add_constraint(rig, "L1", rigs.make_empty("Left", (1.2, 0.6, 2.3)), name="Left")
    wave(rig, "S1")
    rigs.add_constraint(rig, "R1", rigs.make_empty("Right", (-1.3, -0.5, 2.2)), name="Right")
    rigs.go(4)
    assert [item.message for item in rig.fabrik.constraints] == [
        "“Wave S1” moves the tip afterward: move this constraint below it in the list",
        "",
        "It's solved together with “Left”, before “Wave S1”: move “Wave S1” above or below both "
        "in the list",
    ]
    swap(rig, 0)
    assert [item.message for item in rig.fabrik.constraints] == ["", "", ""]


def test_a_layer_may_stand_before_a_chain_whose_bones_carry_it() -> None:
    rig, target = rigs.make_chain(6), keyed_target()
    wave(rig, "B5", 2)
    rigs.add_constraint(rig, "B5", target)
    rigs.go(3)
    assert rigs.tip_error(rig, "B5", target) < NEAR
    assert [item.state for item in rig.fabrik.constraints] == ["REACHED", "REACHED"]
    assert_no_history(rig)


def test_a_layer_may_stand_before_what_carries_it_by_way_of_another_layer() -> None:
    """The first shares bones with the second alone, and the second with the third."""
    rig, target = rigs.make_chain(4), rigs.make_empty("Target", (0.5, 0.5, 1.4))
    wave(rig, "B3", 2)
    wave(rig, "B2", 2)
    rigs.add_constraint(rig, "B1", target)
    rigs.go(3)
    assert [item.message for item in rig.fabrik.constraints] == ["", "", ""]
    assert rigs.tip_error(rig, "B1", target) < NEAR
    assert_no_history(rig)


def test_what_hangs_on_the_top_layer_does_not_lag() -> None:
    """Another armature's target is parented to a bone that three layers pose."""
    rig, fly = rigs.make_chain(4), rigs.make_empty("Fly", (2, -3, 1))
    wave(rig, "B3")
    rigs.add_constraint(rig, "B3", keyed_target())
    look_at(rig, "B3", fly)
    held = rigs.make_empty("Held", (0, 0.2, 0))
    held.parent, held.parent_type, held.parent_bone = rig, "BONE", "B3"
    other = rigs.make_chain(6, "Other")
    other.location = (0.5, 0, 0)
    rigs.add_constraint(other, "B5", held)
    for frame in (2, 7, 3):
        rigs.go(frame)
        assert rigs.tip_error(other, "B5", held) < 6e-4
    assert_no_history(rig)
    assert_no_history(other)


@pytest.mark.parametrize("afterwards", ["DISABLE", "REMOVE"])
def test_baking_one_bakes_all_that_share_its_bones(afterwards: str) -> None:
    rig, fly = rigs.make_chain(5), rigs.make_empty("Fly", (2, -3, 1))
    wave(rig, "B2")
    rigs.add_constraint(rig, "B4", keyed_target(), name="Reach", chain_count=3)
    look_at(rig, "B4", fly)
    live = {}
    for frame in range(1, 9):
        rigs.go(frame)
        live[frame] = [rigs.tip_world(rig, bone.name) for bone in rig.pose.bones]
    rigs.activate(rig)
    rig.fabrik.active_index = 1
    result = bpy.ops.fabrik.bake(
        which="ACTIVE", frame_start=1, frame_end=8, error=0.0, afterwards=afterwards
    )
    assert result == {"FINISHED"}
    assert not any(item.enabled for item in rig.fabrik.constraints)
    assert len(rig.fabrik.constraints) == (3 if afterwards == "DISABLE" else 0)
    keyed = {curve.data_path for curve in rigs.curves(rig)}
    assert {f'pose.bones["B{i}"].rotation_quaternion' for i in range(5)} <= keyed
    for frame, tips in live.items():
        rigs.go(frame)
        for bone, tip in zip(rig.pose.bones, tips, strict=True):
            assert (rigs.tip_world(rig, bone.name) - tip).length < 1e-4


def test_a_layer_that_waits_for_what_stands_on_it_is_told_so() -> None:
    """Its target is parented to a bone posed by a later one, which still works."""
    rig, target = rigs.make_chain(4), rigs.make_empty("Target", (1, 0.5, 2))
    held = rigs.make_empty("Held", (0, 1, 0))
    held.parent, held.parent_type, held.parent_bone = rig, "BONE", "B3"
    look_at(rig, "B2", held)
    rigs.add_constraint(rig, "B3", target, name="Reach")
    rigs.update()
    item, reach = rig.fabrik.constraints
    assert item.state == "INVALID"
    assert "depends on the chain itself" in item.message
    assert "“Look”" in item.message
    assert reach.state == "REACHED"
    assert rigs.tip_error(rig, "B3", target) < NEAR


def test_keys_of_a_nested_setting_go_with_their_constraint_up_and_down_the_list() -> None:
    rig, target = rigs.make_chain(4), keyed_target()
    wave(rig, "B3", speed=0.0, phase=0.3)
    rigs.add_constraint(rig, "B3", target)
    for frame, amplitude in ((1, 0.0), (9, 0.6)):
        rig.fabrik.constraints[0].wave.amplitude = amplitude
        rig.keyframe_insert("fabrik.constraints[0].wave.amplitude", frame=frame)
    rigs.go(9)
    assert rig.fabrik.constraints[0].wave.amplitude == pytest.approx(0.6)
    shown = played(rig)
    swap(rig, 0)
    assert [c.data_path for c in rigs.curves(rig)] == ["fabrik.constraints[1].wave.amplitude"]
    rigs.go(5)
    assert rig.fabrik.constraints[1].wave.amplitude == pytest.approx(0.3, abs=0.02)
    assert rigs.tip_error(rig, "B3", target) > 0.01
    swap(rig, 0)
    assert played(rig) == shown


def test_turning_by_hand_beneath_layers_makes_the_new_input() -> None:
    rig, target = rigs.make_chain(4), rigs.make_empty("Target", (1, 0.5, 2))
    wave(rig, "B3", speed=0.0, phase=0.2)
    rigs.add_constraint(rig, "B3", target)
    rigs.update()
    turn = Quaternion((0, 1, 0), pi / 3)
    rig.pose.bones["B1"].rotation_quaternion = turn
    rigs.update()
    assert rigs.tip_error(rig, "B3", target) < NEAR
    rigs.enable(rig, False)
    rigs.update()
    for bones in (rig.pose.bones, rigs.shown_bones(rig)):
        assert Vector(bones["B1"].rotation_quaternion) == Vector(turn)


def test_a_weight_of_nothing_is_no_matter_of_what_does_not_pull() -> None:
    """It is not among the settings that a wave shows, and may be left from another solver."""
    rig = rigs.make_chain(4)
    shown = rigs.pose_bits(rig)
    wave(rig, "B3")
    rig.fabrik.constraints[0].weight = 0.0
    rigs.go(3)
    assert (rig.fabrik.constraints[0].state, rig.fabrik.constraints[0].message) == ("REACHED", "")
    assert rigs.pose_bits(rig) != shown


@pytest.mark.parametrize("operator", ["snap_to_fk", "snap_to_ik"])
@pytest.mark.parametrize("kind", ["WAVE", "LOOK_AT"])
def test_nothing_jumps_where_fk_and_ik_take_over_beneath_a_layer(operator: str, kind: str) -> None:
    """The layer makes of the one pose what it makes of the other."""
    rig, target = rigs.make_chain(5), rigs.make_empty("Target", (1, 0.5, 2))
    for bone in rig.pose.bones:
        bone.rotation_quaternion = (1, 0.2, -0.1, 0.1)
    rigs.add_constraint(rig, "B3", target)
    if kind == "WAVE":
        wave(rig, "B4")
    else:
        look_at(rig, "B4", rigs.make_empty("Fly", (2, -3, 1)), 2)
    rigs.activate(rig)
    rigs.go(4)
    reach, is_taken = rig.fabrik.constraints[0], operator == "snap_to_ik"
    reach.enabled = is_taken
    rigs.update()
    wanted = [rigs.tip_world(rig, bone.name) for bone in rig.pose.bones]
    reach.enabled = not is_taken
    rigs.update()
    assert rigs.tip_world(rig, "B4") != wanted[4]
    reach.enabled = True
    rigs.update()
    assert getattr(bpy.ops.fabrik, operator)() == {"FINISHED"}
    reach.enabled = not is_taken
    rigs.update()
    for bone, tip in zip(rig.pose.bones, wanted, strict=True):
        assert (rigs.tip_world(rig, bone.name) - tip).length < 1e-4


def test_a_pose_that_what_is_beneath_the_snapped_one_undoes_is_named() -> None:
    """No FK pose of a bone counts that looks at something."""
    from addon.features.fk_ik.span import Span
    from addon.features.fk_ik.to_ik import snap_to_ik

    rig = rigs.make_chain(4)
    look_at(rig, "B3", rigs.make_empty("Fly", (2, 0, 0)))
    rigs.add_constraint(rig, "B3", rigs.make_empty("Target", (1, 0.5, 2)), name="Reach")
    rigs.go(4)
    done = snap_to_ik(rig, [1], Span((4.0,)))
    assert "Other constraints on its bones" in done.problem and "“Look”" in done.problem


def test_keys_of_a_switch_beneath_a_layer_keep_the_fk_pose_before_it() -> None:
    rig = rigs.make_chain(4)
    wave(rig, "B3")
    rigs.add_constraint(rig, "B3", rigs.make_empty("Target", (1, 0.5, 2)), name="Reach")
    rigs.activate(rig)
    rigs.go(4)
    rig.fabrik.active_index = 1
    bpy.ops.fabrik.snap_to_ik(switches=True)
    rigs.enable(rig, False)
    rigs.go(2)
    for bone in rig.pose.bones:
        assert tuple(bone.rotation_quaternion) == pytest.approx((1, 0, 0, 0), abs=1e-6)


@pytest.mark.parametrize("is_first", [True, False])
def test_dragging_a_bone_moves_the_target_of_what_reaches_and_not_the_wave(is_first: bool) -> None:
    rig, target = rigs.make_chain(4), rigs.make_empty("Target", (1, 0.5, 2))
    if is_first:
        wave(rig, "B3")
    rigs.add_constraint(rig, "B3", target)
    if not is_first:
        wave(rig, "B3")
    rig.fabrik.active_index = 0 if is_first else 1
    rigs.activate(rig, "POSE")
    assert bpy.ops.fabrik.drag(armature="Rig", bone="B2", value=(0.2, 0, 0)) == {"FINISHED"}
    assert tuple(target.location) == pytest.approx((1.2, 0.5, 2))
