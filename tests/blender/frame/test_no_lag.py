"""Whatever follows a solved chain is right in the same update, however it follows.

Blender calls us once an update. What follows a chain is still in its old place when we are called.
So each tip error here is read from the pose as Blender evaluates it afterwards.
"""

from collections.abc import Callable, Sequence

import bpy
import pytest
import rigs
from mathutils import Matrix, Vector

from addon.editing import constraints as editing

INHERIT_SCALE = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")

Rig = bpy.types.Object
Goal = tuple[Rig, str, bpy.types.Object]
"""An armature, the tip bone of a chain and the target of its constraint."""


def zigzag(x: float) -> list[tuple[float, float, float]]:
    return [(x, 0.1 * (i % 2), i) for i in range(5)]


def hang(child: bpy.types.Object, parent: bpy.types.Object, bone: str = "") -> bpy.types.Object:
    child.parent = parent
    if bone:
        child.parent_type, child.parent_bone = "BONE", bone
    return child


def lead(name: str = "Right") -> tuple[Rig, bpy.types.Object]:
    """Make the chain that is dragged, with a hand and its target; it is the last to be listed."""
    rig = rigs.make_armature(
        {
            "B0": ((0, 0, 0), (0, 0.1, 1), ""),
            "B1": ((0, 0.1, 1), (0, 0, 2), "B0"),
            "B2": ((0, 0, 2), (0, 0.1, 3), "B1"),
            "Hand": ((0, 0.2, 3.1), (0, 0.5, 3.3), "B2"),
            "Finger": ((0.1, 0.5, 3.3), (0.1, 0.6, 3.5), "Hand"),
        },
        name,
    )
    target = rigs.make_empty(f"{name} target", (1, 0, 2))
    rigs.add_constraint(rig, "B2", target)
    return rig, target


def follower(target: bpy.types.Object, name: str = "Left", **settings: object) -> Goal:
    """Make a chain that reaches for something near the other one's tip."""
    rig = rigs.make_chain(4, name, zigzag(1.0))
    rigs.add_constraint(rig, "B3", target, iterations=200, **settings)
    return rig, "B3", target


def assert_in_step(moved: bpy.types.Object, goals: Sequence[Goal]) -> None:
    """All tips are where they should be after one drag, and after one frame."""
    armatures = [rig for rig, _, _ in goals]
    places = [(0.5 + 0.15 * k, 0.3 - 0.1 * k, 1.4 + 0.15 * (k % 3)) for k in range(4)]
    for place in places:
        moved.location = place
        rigs.update()
        assert_there(goals)
        _assert_settled(armatures)
    for frame, place in enumerate(places):
        moved.location = place
        moved.keyframe_insert("location", frame=10 * frame)
    for frame in (30, 3, 17, 10, 11):
        rigs.go(frame)
        assert_there(goals)
        pose = rigs.pose_bits(*armatures)
        rigs.go(frame)
        assert rigs.pose_bits(*armatures) == pose


def assert_there(goals: Sequence[Goal]) -> None:
    for rig, bone, target in goals:
        item = next(item for item in rig.fabrik.constraints if item.bone == bone)
        error = rigs.tip_error(rig, bone, target)
        assert item.state == "REACHED", f"{rig.name}: {item.message}"
        assert error == pytest.approx(item.error, abs=5e-6)
        assert error <= 1e-4 * 6.0
        assert not item.message


def _assert_settled(armatures: Sequence[Rig]) -> None:
    """Blender's evaluation agrees with what was assumed, to the last bit."""
    before = _all_bits(armatures)
    for rig in armatures:
        rig.update_tag()
    rigs.update()
    assert _all_bits(armatures) == before


def _all_bits(armatures: Sequence[Rig]) -> object:
    channels = [(rigs.channels_bits(rig), rigs.shown_bits(rig)) for rig in armatures]
    return rigs.pose_bits(*armatures), channels, rigs.world_bits(*armatures)


def test_a_weapon_in_the_right_hand_leads_the_left_hand() -> None:
    rig, moved = lead()
    weapon = hang(rigs.make_empty("Weapon", (0.1, 0.2, 0.1)), rig, "B2")
    weapon.rotation_euler, weapon.scale = (0.3, 0.4, 0.5), (1, 2, 0.5)
    grip = hang(rigs.make_empty("Grip", (0.1, -0.1, 0.2)), weapon)
    assert_in_step(moved, [(rig, "B2", moved), follower(grip)])


def weapon_with_parent_inverse(weapon: bpy.types.Object, rig: Rig) -> None:
    weapon.matrix_parent_inverse = Matrix.Translation((0.1, 0.2, 0.3)) @ Matrix.Rotation(1, 4, "X")


def weapon_with_deltas(weapon: bpy.types.Object, rig: Rig) -> None:
    weapon.delta_location, weapon.delta_scale = (0.1, 0.1, 0), (1, 0.5, 1.2)
    weapon.delta_rotation_euler = (0.2, 0.4, 1)


def weapon_with_unnormalized_quaternion(weapon: bpy.types.Object, rig: Rig) -> None:
    weapon.rotation_mode, weapon.rotation_quaternion = "QUATERNION", (0.5, 0.2, 0.6, 0.1)


def weapon_in_relative_parenting(weapon: bpy.types.Object, rig: Rig) -> None:
    rig.data.bones["B2"].use_relative_parent = True
    weapon.location = (0, 0, 2.5)


def weapon_hidden(weapon: bpy.types.Object, rig: Rig) -> None:
    for ob in bpy.data.objects:
        ob.hide_viewport = ob.hide_render = ob.type != "ARMATURE"


def weapon_on_bendy_bone(weapon: bpy.types.Object, rig: Rig) -> None:
    rig.data.bones["B2"].bbone_segments = 8
    rig.pose.bones["B2"].bbone_curveinx = 0.3


def weapon_of_scaled_bones(weapon: bpy.types.Object, rig: Rig) -> None:
    rig.scale = (1.2, 0.9, 1.1)
    rig.pose.bones["B1"].scale = (1.3, 1.1, 0.8)


@pytest.mark.parametrize(
    "change",
    [
        weapon_with_parent_inverse,
        weapon_with_deltas,
        weapon_with_unnormalized_quaternion,
        weapon_in_relative_parenting,
        weapon_hidden,
        weapon_on_bendy_bone,
        weapon_of_scaled_bones,
    ],
)
def test_however_the_weapon_is_held(change: Callable[[bpy.types.Object, Rig], None]) -> None:
    rig, moved = lead()
    weapon = hang(rigs.make_empty("Weapon", (0.1, 0.2, 0.1)), rig, "B2")
    grip = hang(rigs.make_empty("Grip", (0.1, -0.1, 0.2)), weapon)
    change(weapon, rig)
    assert_in_step(moved, [(rig, "B2", moved), follower(grip)])


def test_a_target_that_is_a_bone_of_a_solved_chain_in_another_armature() -> None:
    rig, moved = lead()
    left, _, _ = follower(rig, subtarget="Hand")
    probe = hang(
        rigs.make_empty("Probe"), rig, "Hand"
    )  # At the tail of its parent: back to the head.
    probe.location = (0, -rig.data.bones["Hand"].length, 0)
    assert_in_step(moved, [(rig, "B2", moved), (left, "B3", probe)])


def test_a_target_bone_that_shows_its_rest_pose_is_reached_there() -> None:
    rig, moved = lead()
    left, _, _ = follower(rig, subtarget="B2")
    rig.data.pose_position = "REST"
    rigs.update()
    assert rigs.tip_world(rig, "B2", use_tail=False) == Vector((0, 0, 2))
    assert (rigs.tip_world(left, "B3") - Vector((0, 0, 2))).length < 1e-3
    rig.data.pose_position = "POSE"
    rigs.update()
    assert rigs.tip_error(rig, "B2", moved) < 1e-3
    assert (rigs.tip_world(left, "B3") - rigs.tip_world(rig, "B2", use_tail=False)).length < 1e-3


@pytest.mark.parametrize("kind", ["CHILD_OF", "COPY_LOCATION", "COPY_TRANSFORMS"])
def test_a_target_that_blenders_constraint_puts_on_a_solved_bone(kind: str) -> None:
    rig, moved = lead()
    grip = rigs.make_empty("Grip", (0.3, -0.2, 0.2))
    constraint = grip.constraints.new(kind)
    constraint.target, constraint.subtarget = rig, "Hand"
    if kind == "CHILD_OF":
        constraint.inverse_matrix = Matrix.Rotation(0.4, 4, "Z")
    assert_in_step(moved, [(rig, "B2", moved), follower(grip)])


def two_arms() -> tuple[Rig, bpy.types.Object]:
    """Make an armature with two chains; the second reaches for a bone that follows the first."""
    rig = rigs.make_armature(
        {
            "B0": ((0, 0, 0), (0, 0.1, 1), ""),
            "B1": ((0, 0.1, 1), (0, 0, 2), "B0"),
            "B2": ((0, 0, 2), (0, 0.1, 3), "B1"),
            "Hand": ((0, 0.2, 3.1), (0, 0.5, 3.3), "B2"),
            "Thumb": ((0.1, 0.2, 3.2), (0.3, 0.2, 3.2), "Hand"),
            "Swing": ((1, 0, 0), (1, 0.3, 0), ""),
            "L0": ((1, 0, 0), (1, 0.1, 1), "Swing"),
            "L1": ((1, 0.1, 1), (1, 0, 2), "L0"),
            "L2": ((1, 0, 2), (1, 0.1, 3), "L1"),
            "Grip": ((1, 0.5, 2), (1, 0.7, 2), ""),
        },
        "Two",
    )
    moved = rigs.make_empty("Moved", (1, 0, 2))
    rigs.add_constraint(rig, "L2", rig, subtarget="Grip", iterations=200, chain_count=3)
    rigs.add_constraint(rig, "B2", moved)
    return rig, moved


def assert_grip_is_reached(rig: Rig, moved: bpy.types.Object) -> None:
    for k in range(4):
        moved.location = (0.5 + 0.15 * k, 0.3 - 0.1 * k, 1.4 + 0.15 * (k % 3))
        rigs.update()
        goal = rigs.tip_world(rig, "Grip", use_tail=False)
        assert (rigs.tip_world(rig, "L2") - goal).length < 1e-4
        assert not rig.fabrik.constraints[0].message


@pytest.mark.parametrize("kind", ["COPY_LOCATION", "COPY_TRANSFORMS"])
def test_a_target_bone_that_blenders_constraint_puts_on_a_solved_bone(kind: str) -> None:
    rig, moved = two_arms()
    rig.location, rig.rotation_euler, rig.scale = (0.3, 0.2, 0.1), (0.2, 0.4, 0.3), (1.2, 0.9, 1.1)
    constraint = rig.pose.bones["Grip"].constraints.new(kind)
    constraint.target, constraint.subtarget = rig, "Hand"
    assert_grip_is_reached(rig, moved)


def test_a_target_bone_with_limits_of_its_own_below_a_solved_bone() -> None:
    rig, moved = two_arms()
    rig.fabrik.constraints[0].subtarget = "Thumb"
    thumb = rig.pose.bones["Thumb"]
    thumb.rotation_mode, thumb.rotation_euler = "XYZ", (0.9, 0.5, 0.0)
    constraint = thumb.constraints.new("LIMIT_ROTATION")
    constraint.use_limit_x, constraint.max_x, constraint.owner_space = True, 0.4, "LOCAL"
    constraint = rig.pose.bones["Grip"].constraints.new("COPY_LOCATION")
    constraint.target, constraint.subtarget = rig, "Thumb"
    assert_grip_is_reached(rig, moved)


def test_a_constraint_that_cannot_be_foreseen_is_named() -> None:
    rig, _moved = lead()
    grip = rigs.make_empty("Grip", (0.3, -0.2, 0.2))
    constraint = grip.constraints.new("COPY_LOCATION")
    constraint.target, constraint.subtarget, constraint.use_bbone_shape = rig, "Hand", True
    left, _, _ = follower(grip)
    rigs.update()
    assert "“Grip”" in left.fabrik.constraints[0].message
    assert "“Copy Location”" in left.fabrik.constraints[0].message
    assert "one update late" in left.fabrik.constraints[0].message


def test_a_setting_that_is_driven_by_what_hangs_on_a_solved_chain_is_named() -> None:
    """Nothing else looks at its children: it isn't a target."""
    led, leading = rigs.make_chain(3, "Led"), rigs.make_chain(3, "Leading")
    for rig in (led, leading):
        rigs.add_constraint(rig, "B2", rigs.make_empty(f"{rig.name} Target", (0.5, 1.0, 1.5)))
    read = rigs.make_empty("Read")
    read.parent, read.parent_type, read.parent_bone = leading, "BONE", "B2"
    variable = led.driver_add("fabrik.constraints[0].influence").driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id = read
    rigs.update()
    assert (
        "“Led” is one update late, because a solved chain drives it"
        in led.fabrik.constraints[0].message
    )
    assert not leading.fabrik.constraints[0].message
    read.parent = None
    rigs.update()
    assert not led.fabrik.constraints[0].message


@pytest.mark.parametrize("local_location", [True, False])
@pytest.mark.parametrize("inherit_rotation", [True, False])
@pytest.mark.parametrize("inherit_scale", INHERIT_SCALE)
def test_bones_in_between_with_all_inherit_settings(
    inherit_scale: str, inherit_rotation: bool, local_location: bool
) -> None:
    rig, moved = lead()
    rig.rotation_euler, rig.scale = (0.2, 0.1, 0.3), (1, 1.2, 0.9)
    for name in ("Hand", "Finger"):
        bone = rig.data.bones[name]
        bone.inherit_scale = inherit_scale
        bone.use_inherit_rotation, bone.use_local_location = inherit_rotation, local_location
    rig.pose.bones["B1"].scale = (1, 1.2, 1.1)
    rig.pose.bones["Hand"].location = (0.1, 0.2, 0.1)
    rig.pose.bones["Hand"].scale = (0.7, 1.2, 1.4)
    rig.pose.bones["Hand"].rotation_quaternion = (0.8, 0.3, 0.2, 0.1)
    left, _, _ = follower(rig, subtarget="Finger")
    for place in ((0.6, 0.2, 1.8), (0.8, 0.1, 1.6)):
        moved.location = place
        rigs.update()
        error = (rigs.tip_world(left, "B3") - rigs.tip_world(rig, "Finger", use_tail=False)).length
        assert error == pytest.approx(left.fabrik.constraints[0].error, abs=5e-6)
        assert rigs.tip_error(rig, "B2", moved) < 1e-3
        _assert_settled([rig, left])


@pytest.mark.parametrize("source", ["controller", "solved chain"])
def test_a_hand_that_copies_a_rotation(source: str) -> None:
    rig, moved = lead()
    rig.pose.bones["B0"].scale = (0.9, 1.1, 1.2)
    rig.rotation_euler, rig.scale = (0.1, 0.2, 0.3), (1.1, 0.9, 1)
    constraint = rig.pose.bones["Hand"].constraints.new("COPY_ROTATION")
    goals = [(rig, "B2", moved)]
    if source == "controller":
        constraint.target = rigs.make_empty("Controller", (3, 3, 3))
        constraint.target.rotation_euler = (0.4, 0.5, 0.6)
    else:
        other = rigs.make_chain(3, "Other", zigzag(3.0))
        target = hang(rigs.make_empty("Other target", (2.0, 0.5, 0.4)), moved)
        rigs.add_constraint(other, "B2", target)
        goals.append((other, "B2", target))
        constraint.target, constraint.subtarget = other, "B1"
    grip = hang(rigs.make_empty("Grip", (0.1, 0.1, 0.1)), rig, "Finger")
    assert_in_step(moved, [*goals, follower(grip)])


def test_a_copy_of_a_rotation_that_cannot_be_foreseen_is_named() -> None:
    rig, _moved = lead()
    constraint = rig.pose.bones["Hand"].constraints.new("COPY_ROTATION")
    constraint.target = rigs.make_empty("Controller", (3, 3, 3))
    constraint.owner_space = constraint.target_space = "LOCAL"
    grip = hang(rigs.make_empty("Grip"), rig, "Hand")
    left, _, _ = follower(grip)
    rigs.update()
    assert "“Copy Rotation”" in left.fabrik.constraints[0].message


@pytest.mark.rows("by")
@pytest.mark.parametrize("by", ["the user", "a handler"])
def test_a_constraint_that_moves_a_bone_of_the_chain_itself_is_named_until_it_is_muted(
    by: str,
) -> None:
    """By whomever: also by a handler of another add-on, after the evaluation."""
    rig, moved = lead()
    constraint = rig.pose.bones["B1"].constraints.new("LIMIT_ROTATION")
    constraint.use_limit_x = constraint.use_limit_y = constraint.use_limit_z = True
    rigs.update()
    assert rigs.tip_error(rig, "B2", moved) > 0.1
    assert "“Limit Rotation”" in rig.fabrik.constraints[0].message
    if by == "the user":
        constraint.mute = True
    else:
        bpy.app.handlers.depsgraph_update_post.append(lambda *_: setattr(constraint, "mute", True))
        moved.location.x += 0.01
    rigs.update()
    assert by == "a handler" or rigs.tip_error(rig, "B2", moved) < 1e-3
    assert rig.fabrik.constraints[0].message == ""


def test_a_bone_that_acts_in_world_space_in_a_carried_armature_is_named() -> None:
    rig, _moved = lead()
    glove = hang(rigs.make_armature({"Glove": ((0, 0, 0), (0, 0, 1), "")}, "Glove"), rig, "Hand")
    constraint = glove.pose.bones["Glove"].constraints.new("COPY_ROTATION")
    constraint.target = rigs.make_empty("Controller", (3, 3, 3))
    left, _, _ = follower(hang(rigs.make_empty("Grip"), glove, "Glove"))
    rigs.update()
    assert "“Copy Rotation”" in left.fabrik.constraints[0].message


def test_a_spine_an_arm_and_a_hand_whose_list_order_is_the_opposite() -> None:
    rig = rigs.make_armature(
        {
            "S0": ((0, 0, 0), (0, 0.1, 1), ""),
            "S1": ((0, 0.1, 1), (0, 0, 2), "S0"),
            "Clavicle": ((0, 0, 2), (0.3, 0, 2), "S1"),
            "A0": ((0.3, 0, 2.1), (1.3, 0.2, 2), "Clavicle"),
            "A1": ((1.3, 0.2, 2), (2.3, 0, 2), "A0"),
            "H0": ((2.3, 0, 2), (2.9, 0.1, 2.2), "A1"),
            "H1": ((2.9, 0.1, 2.2), (3.4, 0, 2.6), "H0"),
        }
    )
    rig.pose.bones["Clavicle"].scale = (1.1, 0.9, 1)
    moved = rigs.make_empty("Spine target", (0.6, 0.3, 1.6))
    arm = hang(rigs.make_empty("Arm target", (1.1, 0.1, 0.5)), moved)
    hand = hang(rigs.make_empty("Hand target", (1.4, 0.5, 0.9)), moved)
    rigs.add_constraint(rig, "H1", hand, chain_count=2, iterations=500)
    rigs.add_constraint(rig, "A1", arm, chain_count=2, iterations=500)
    rigs.add_constraint(rig, "S1", moved, chain_count=2, iterations=500)
    assert_in_step(moved, [(rig, "S1", moved), (rig, "A1", arm), (rig, "H1", hand)])


def test_an_armature_that_hangs_on_a_solved_bone_of_another() -> None:
    rig, moved = lead()
    left = hang(rigs.make_chain(4, "Left", zigzag(0.0)), rig, "B2")
    left.rotation_euler, left.scale = (0.3, 0.2, 0.1), (1, 0.8, 1.2)
    target = hang(rigs.make_empty("Left target", (0.5, 0.4, 1.0)), moved)
    rigs.add_constraint(left, "B3", target, iterations=200)
    assert_in_step(moved, [(rig, "B2", moved), (left, "B3", target)])


def test_three_armatures_in_a_row() -> None:
    third = rigs.make_chain(4, "A third", zigzag(1.5))
    second = rigs.make_chain(4, "B second", zigzag(0.8))
    rig, moved = lead("C first")
    one = hang(rigs.make_empty("One", (0.05, 0.1, 0)), rig, "Hand")
    two = hang(rigs.make_empty("Two", (0.05, 0.1, 0)), second, "B3")
    rigs.add_constraint(third, "B3", two)
    rigs.add_constraint(second, "B3", one)
    assert_in_step(moved, [(rig, "B2", moved), (second, "B3", one), (third, "B3", two)])


def test_the_second_armature_keeps_step_when_only_the_first_has_been_changed() -> None:
    rig, moved = lead()
    grip = hang(rigs.make_empty("Grip", (0.1, -0.1, 0.2)), rig, "B2")
    goals = [(rig, "B2", moved), follower(grip)]
    rigs.update()
    for name, value in (("pole_angle", 1.0), ("influence", 0.5), ("enabled", False)):
        setattr(rig.fabrik.constraints[0], name, value)
        rigs.update()
        assert_there(goals[1:])
    rig.pose.bones["B1"].rotation_quaternion = (0.9, 0.1, 0.1, 0)
    rigs.update()
    assert_there(goals[1:])


def test_a_cycle_is_named_and_the_other_chains_work_on() -> None:
    rig, moved = lead()
    right = rigs.make_chain(4, "East", zigzag(1.0))
    left = rigs.make_chain(4, "West", zigzag(2.0))
    rigs.add_constraint(right, "B3", left, subtarget="B3", name="East chain")
    rigs.add_constraint(left, "B3", right, subtarget="B3", name="West chain")
    own = rigs.make_chain(3, "Self", zigzag(4.0))
    rigs.add_constraint(own, "B2", hang(rigs.make_empty("Own tip"), own, "B2"), name="Self chain")
    rigs.update()
    states = [r.fabrik.constraints[0].state for r in (right, left)]
    assert "INVALID" in states
    broken = (right, left)[states.index("INVALID")].fabrik.constraints[0]
    assert "“East chain”" in broken.message
    assert "“West chain”" in broken.message
    assert own.fabrik.constraints[0].state == "INVALID"
    assert "“Self chain”" in own.fabrik.constraints[0].message
    assert_in_step(moved, [(rig, "B2", moved)])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("channel", ["location", "rotation_quaternion", "scale"])
def test_a_bone_with_no_finite_place_stops_its_own_chain_only(channel: str, value: float) -> None:
    bad = rigs.make_chain(3, "Bad", zigzag(3.0))
    rigs.add_constraint(bad, "B2", rigs.make_empty("Bad target", (3.5, 0, 2)))
    rig, moved = lead()
    rigs.update()
    setattr(bad.pose.bones["B0"], channel, (value, *getattr(bad.pose.bones["B0"], channel)[1:]))
    assert_in_step(moved, [(rig, "B2", moved)])


def test_a_chain_without_any_length_stops_nothing() -> None:
    dot = rigs.make_armature(
        {
            "A": ((0, 0, 0), (0, 0, 1), ""),
            "B": ((0, 0, 0), (0, 0.3, 1), "A"),
            "C": ((0, 0, 0), (0, 0, 2), "B"),
        },
        "Dot",
    )
    item = rigs.add_constraint(dot, "C", rigs.make_empty("Dot target"), use_tail=False)
    rig, moved = lead()
    assert_in_step(moved, [(rig, "B2", moved)])
    assert item.state == "OUT_OF_REACH"


class TestWhatCannotBeForeseen:
    """What a solved chain moves in ways that we don't see is reported."""

    def late_target(self) -> tuple[bpy.types.Object, bpy.types.PropertyGroup, bpy.types.Object]:
        leader = rigs.make_chain(3, "Leader")
        rigs.add_constraint(leader, "B2", rigs.make_empty("Lead", (0.5, 0.8, 1.6)))
        late = rigs.make_empty("Late", (3.2, 0.4, 1.5))
        follower = rigs.make_chain(3, "Follower")
        follower.location.x = 3
        return leader, rigs.add_constraint(follower, "B2", late), late

    def test_a_driver_on_something_else_is_no_reason_to_worry(self):
        _leader, item, late = self.late_target()
        rigs.drive(late.driver_add("location", 0), rigs.make_empty("Free", (3, 0, 1)))
        bpy.context.view_layer.update()
        assert item.message == ""

    def test_it_is_forgotten_of_a_chain_that_has_a_note_of_its_own(self):
        leader, item, late = self.late_target()
        item.id_data.pose.bones["B1"].constraints.new("LIMIT_ROTATION")
        late.parent = rigs.make_empty("Carrier", (0, 0, 0))
        constraint = late.parent.constraints.new("COPY_LOCATION")
        constraint.target, constraint.subtarget, constraint.use_bbone_shape = leader, "B2", True
        rigs.update()
        key = item.id_data.session_uid, 0
        assert "one update late" in editing.problems(with_lag=True)[key]
        rigs.activate(late.parent)
        bpy.ops.constraint.delete(constraint=constraint.name, owner="OBJECT")
        rigs.update()
        assert "“Limit Rotation”" in item.message
        assert key not in editing.problems(with_lag=True)


def test_a_pose_that_blender_does_not_tag_counts_when_a_target_moves(empty_file: None) -> None:
    rig, target = rigs.make_chain(3), rigs.make_empty("Target", (1.0, 0.0, 1.5))
    rigs.add_constraint(rig, "B2", target)
    for _ in range(3):
        rigs.update()
        target.location.x += 0.1
    rig.pose.bones["B0"].path_resolve("rotation_quaternion", False).foreach_set((1.0, 0.9, 0, 0))
    rigs.update()
    shown = rigs.pose_bits(rig)
    rig.update_tag()
    rigs.update()
    assert rigs.pose_bits(rig) == shown
