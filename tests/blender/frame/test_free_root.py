"""The first bone of a chain leaves its place, so that the body comes along."""

import bpy
import pytest
import rigs

BONES = {
    "Hips": ((0, 0, 1), (0, 0, 1.2), ""),
    "Spine": ((0, 0, 1.2), (0, 0, 1.6), "Hips"),
    "Upper": ((0.2, 0, 1.6), (0.5, 0.02, 1.6), "Spine"),
    "Lower": ((0.5, 0.02, 1.6), (0.8, 0, 1.6), "Upper"),
    "Thigh": ((0.1, 0, 1), (0.1, -0.03, 0.55), "Hips"),
    "Shin": ((0.1, -0.03, 0.55), (0.1, 0, 0.1), "Thigh"),
}
HAND, FOOT = (0.8, 0.0, 1.6), (0.1, 0.0, 0.1)


def figure(**fields: object) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """Return a figure, the target of its hand, and the heavier target of its foot."""
    rig = rigs.make_armature(BONES)
    hand, foot = rigs.make_empty("Hand", HAND), rigs.make_empty("Foot", FOOT)
    rigs.add_constraint(rig, "Lower", hand, use_free_root=True, **fields)
    rigs.add_constraint(rig, "Shin", foot, use_free_root=True, weight=10.0, **fields)
    rigs.update()
    return rig, hand, foot


def place(rig: bpy.types.Object) -> tuple[float, ...]:
    return tuple(rigs.shown_bones(rig)["Hips"].location)


def test_the_body_comes_along_and_the_foot_stays() -> None:
    rig, hand, foot = figure()
    assert place(rig) == pytest.approx((0, 0, 0), abs=1e-6)
    hand.location.x += 0.7
    rigs.update()
    assert rigs.tip_error(rig, "Lower", hand) < 1e-5
    assert rigs.tip_error(rig, "Shin", foot) < 1e-5
    assert max(map(abs, place(rig))) > 0.1


def test_a_root_without_weight_stays() -> None:
    rig, hand, _ = figure(root_weight=0.0)
    hand.location.x += 0.7
    rigs.update()
    assert place(rig) == (0, 0, 0)
    assert rig.fabrik.constraints[0].state == "OUT_OF_REACH"


def test_where_not_all_can_be_reached_the_heavier_one_is_nearer_and_the_message_names_it() -> None:
    rig, hand, _ = figure()
    hand.location.x += 5.0
    rigs.update()
    lighter, heavier = rig.fabrik.constraints
    assert lighter.error > 5.0 * heavier.error > 0.0
    assert f"“{heavier.name}”" in lighter.message


def test_a_target_on_the_moved_root_has_no_lag() -> None:
    """The child of a root that moved is in its place in the same update."""
    rig, hand, _ = figure()
    grip = rigs.make_empty("Grip", (0.0, 0.2, 0.3))
    grip.parent, grip.parent_type, grip.parent_bone = rig, "BONE", "Hips"
    arm = rigs.make_armature(
        {"A": ((0.3, 0.5, 1), (0.4, 0.6, 1.5), ""), "B": ((0.4, 0.6, 1.5), (0, 0.3, 2), "A")}
    )
    rigs.add_constraint(arm, "B", grip)
    hand.location.x += 0.7
    rigs.update()
    assert rigs.tip_error(arm, "B", grip) < 1e-5


def test_a_connected_root_is_refused_in_place() -> None:
    rig = rigs.make_armature({**BONES, "Tail": ((0, 0, 1.2), (0, 0.3, 1.2), "Hips")})
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["Spine"].use_connect = True
    bpy.ops.object.mode_set(mode="OBJECT")
    item = rigs.add_constraint(rig, "Lower", rigs.make_empty(), chain_count=3, use_free_root=True)
    rigs.update()
    assert item.state == "INVALID"
    assert "“Spine” is connected" in item.message
    item.use_free_root = False
    rigs.update()
    assert item.state != "INVALID"


def test_a_free_root_inside_another_chain_says_that_it_does_nothing() -> None:
    rig = rigs.make_armature(BONES)
    rigs.add_constraint(rig, "Upper", rigs.make_empty("Hand", HAND))
    item = rigs.add_constraint(
        rig, "Lower", rigs.make_empty("Elbow", (0.4, 0.2, 1.7)), chain_count=2, use_free_root=True
    )
    rigs.update()
    assert "begins at “Hips”" in item.message
    assert place(rig) == (0, 0, 0)


def test_an_orientation_of_a_shared_bone_says_that_it_does_nothing() -> None:
    rig = rigs.make_armature(BONES)
    rigs.add_constraint(rig, "Lower", rigs.make_empty("Hand", HAND))
    chest = rigs.make_empty("Chest", (0.1, 0.1, 1.6))
    item = rigs.add_constraint(rig, "Spine", chest, use_rotation=True)
    rigs.update()
    assert "“Spine” can't copy the target's rotation" in item.message
