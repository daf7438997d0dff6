"""Adding, removing and moving constraints, and adding poles, by the operators."""

from collections.abc import Iterator
from itertools import pairwise
from math import pi
from pathlib import Path

import bpy
import pytest
import rigs
from mathutils import Matrix, Quaternion, Vector
from operating import click_bone, enter_pose_mode, refuses, select_bone

ARM = ((0, 0, 4), (0.4, 0.1, 2.5), (0, 0, 1), (0, 0, 0.5))


def pose_arm() -> bpy.types.Object:
    """Make a posed arm of two bones B0 and B1 in Pose Mode, with B1 as the active bone."""
    rig = rigs.make_chain(2, "Arm", ARM)
    rig.pose.bones["B1"].matrix_basis = (
        rig.pose.bones["B1"].matrix_basis
        @ Vector((0.6, 0, 0.2)).to_track_quat().to_matrix().to_4x4()
    )
    enter_pose_mode(rig, click="B1")
    rigs.update()
    return rig


def undo_step() -> None:
    bpy.ops.ed.undo_push(message="step")


def only(rig: bpy.types.Object) -> bpy.types.PropertyGroup:
    (item,) = rig.fabrik.constraints
    return item


def place(rig: bpy.types.Object, kind: str) -> None:
    """Put an armature where arithmetic gets hard."""
    rig.location, rig.rotation_euler = {
        "plain": ((0, 0, 0), (0, 0, 0)),
    }.get(kind, ((3, -2, 1), (0.4, 1.0, -2.0)))
    rig.scale = {"uneven": (1.0, 2.0, 0.5), "mirrored": (-1.3, 1.3, 1.3)}.get(kind, (1, 1, 1))
    rigs.update()


PLACES = ("plain", "moved", "uneven", "mirrored")


# Adding


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("count", (1, 2, 3, 6))
def test_adding_without_a_target_makes_an_empty_at_the_tip_and_nothing_jumps(
    count: int, kind: str
) -> None:
    rig = rigs.make_chain(count)
    for i, bone in enumerate(rig.pose.bones):
        bone.rotation_quaternion = (1.0, 0.2 * i, 0.1, -0.15)
    place(rig, kind)
    enter_pose_mode(rig, click=f"B{count - 1}")
    tip, channels = rigs.tip_world(rig, f"B{count - 1}"), rigs.channels_bits(rig)
    size = (tip - rigs.world_location(rig)).length

    assert bpy.ops.fabrik.constraint_add() == {"FINISHED"}
    rigs.update()

    item = only(rig)
    assert item.target.type == "EMPTY"
    assert (rigs.world_location(item.target) - tip).length < 1e-5 * size
    assert item.state == "REACHED"
    assert (rigs.tip_world(rig, f"B{count - 1}") - tip).length < 1e-4 * size
    item.enabled = False
    rigs.update()
    assert rigs.channels_bits(rig) == channels == rigs.shown_bits(rig), "the FK pose has changed"


def test_the_new_empty_goes_into_the_collection_of_the_armature() -> None:
    rig = pose_arm()
    home = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(home)
    bpy.context.scene.collection.objects.unlink(rig)
    home.objects.link(rig)
    rigs.activate(rig, "POSE")
    bpy.ops.fabrik.constraint_add()
    assert only(rig).target.users_collection[:] == (home,)


def test_adding_takes_the_other_selected_object_as_target_and_leaves_it_where_it_is() -> None:
    target = rigs.make_empty(location=(1, 0.5, 2))
    rig = pose_arm()
    target.select_set(True)
    objects = len(bpy.data.objects)
    bpy.ops.fabrik.constraint_add()
    rigs.update()
    assert only(rig).target == target
    assert only(rig).subtarget == ""
    assert rigs.tip_error(rig, "B1", target) < 1e-3
    assert rigs.world_location(target) == Vector((1, 0.5, 2))
    assert len(bpy.data.objects) == objects


def test_adding_takes_the_other_selected_bone_as_target() -> None:
    rig = rigs.make_armature(
        {
            "Upper": ((0, 0, 4), (0.2, 0, 2), ""),
            "Lower": ((0.2, 0, 2), (0, 0, 0), "Upper"),
            "Control": ((1, 0, 1), (1, 0, 2), ""),
        }
    )
    enter_pose_mode(rig)
    select_bone(rig, "Control")
    click_bone(rig, "Lower")
    bpy.ops.fabrik.constraint_add()
    assert (only(rig).target, only(rig).subtarget) == (rig, "Control")
    rigs.update()
    assert only(rig).state == "REACHED"


def test_adding_takes_a_bone_of_another_armature_in_pose_mode() -> None:
    other = rigs.make_chain(1, "Other", ((1, 0, 2), (1, 0, 3)))
    rig = rigs.make_chain(2, "Arm", ARM)
    enter_pose_mode(rig, other)
    select_bone(other, "B0")
    click_bone(rig, "B1")
    bpy.ops.fabrik.constraint_add()
    assert (only(rig).target, only(rig).subtarget) == (other, "B0")
    assert len(other.fabrik.constraints) == 0


def test_an_object_whose_armature_is_not_in_pose_mode_is_a_target_as_a_whole() -> None:
    other = rigs.make_chain(1, "Other", ((0, 0, 0), (0, 0, 1)))
    other.location = (1, 0, 2)
    rig = pose_arm()
    other.select_set(True)
    bpy.ops.fabrik.constraint_add()
    assert (only(rig).target, only(rig).subtarget) == (other, "")


@pytest.mark.parametrize(
    ("bones", "chain_count", "solver"),
    (
        (2, 0, "TWO_BONE"),
        (3, 0, "FABRIK"),
        (3, 2, "TWO_BONE"),
        (2, 9, "TWO_BONE"),
        (1, 0, "FABRIK"),
    ),
)
def test_a_limb_of_two_bones_is_offered_two_bone(bones: int, chain_count: int, solver: str) -> None:
    rig = rigs.make_chain(bones)
    enter_pose_mode(rig, click=f"B{bones - 1}")
    bpy.ops.fabrik.constraint_add(chain_count=chain_count)
    rigs.update()
    assert only(rig).solver == solver
    assert only(rig).chain_count == min(chain_count, bones)
    assert only(rig).state == "REACHED"


def test_the_solver_can_be_chosen() -> None:
    rig = pose_arm()
    bpy.ops.fabrik.constraint_add(solver="CCD")
    assert only(rig).solver == "CCD"


def test_constraints_are_named_after_their_tip() -> None:
    rig = pose_arm()
    bpy.ops.fabrik.constraint_add()
    bpy.ops.fabrik.constraint_add()
    assert rig.fabrik.constraints.keys() == ["B1", "B1.001"]
    assert rig.fabrik.active_index == 1


@pytest.mark.parametrize("target", ("B0", "B1"))
def test_adding_refuses_a_target_that_hangs_on_the_chain_and_changes_nothing(target: str) -> None:
    rig = rigs.make_chain(3)
    enter_pose_mode(rig)
    select_bone(rig, target)
    click_bone(rig, "B2")
    before = len(bpy.data.objects)
    refuses(bpy.ops.fabrik.constraint_add, "depends on the chain itself", others="TARGET")
    assert len(rig.fabrik.constraints) == 0
    assert rig.animation_data is None or not rig.animation_data.drivers
    assert len(bpy.data.objects) == before


def test_adding_refuses_to_break_another_constraint() -> None:
    rig = rigs.make_armature(
        {
            "A": ((0, 0, 0), (0, 0.1, 1), ""),
            "B": ((2, 0, 0), (2, 0.1, 1), ""),
        }
    )
    rigs.add_constraint(rig, "A", rig, subtarget="B")
    rigs.update()
    assert only(rig).state != "INVALID"
    enter_pose_mode(rig, click="B")
    held = rigs.make_empty("Held")
    held.parent, held.parent_type, held.parent_bone = rig, "BONE", "A"
    held.select_set(True)
    rigs.update()
    refuses(bpy.ops.fabrik.constraint_add, "Dependency cycle")
    rigs.update()
    assert only(rig).state != "INVALID"


def test_adding_refuses_to_guess_between_two_targets() -> None:
    first, second = rigs.make_empty("First"), rigs.make_empty("Second")
    rig = pose_arm()
    first.select_set(True)
    second.select_set(True)
    refuses(
        bpy.ops.fabrik.constraint_add, "Select only one target in addition to the tip bone, not 2"
    )
    assert len(rig.fabrik.constraints) == 0


def test_after_undo_of_adding_everything_is_as_before() -> None:
    rig = pose_arm()
    before, channels = rigs.pose_bits(rig), rigs.channels_bits(rig)
    undo_step()
    bpy.ops.fabrik.constraint_add("EXEC_DEFAULT", True)
    rigs.update()
    bpy.ops.ed.undo()
    rig = bpy.data.objects["Arm"]
    rigs.update()
    assert len(rig.fabrik.constraints) == 0
    assert [ob.name for ob in bpy.data.objects] == ["Arm"]
    assert rigs.channels_bits(rig) == channels == rigs.shown_bits(rig)
    assert rigs.pose_bits(rig) == before
    bpy.ops.ed.redo()
    rig = bpy.data.objects["Arm"]
    rigs.update()
    assert only(rig).state == "REACHED"


# Removing and moving


def make_stack(count: int = 3) -> bpy.types.Object:
    """Make an armature with constraints “0”, “1” …, whose settings can be animated."""
    rig = rigs.make_chain(2, "Arm", ARM)
    target = rigs.make_empty(location=(0.5, 0, 1.5))
    for i in range(count):
        rigs.add_constraint(rig, "B1", target, name=str(i))
    enter_pose_mode(rig)
    return rig


def influence(i: int) -> str:
    return f"fabrik.constraints[{i}].influence"


def key(rig: bpy.types.Object, *indices: int) -> None:
    """Key the influence of items: 0.1 for the first, 0.2 for the second …"""
    for i in indices:
        rig.fabrik.constraints[i].influence = 0.1 * (i + 1)
        rig.keyframe_insert(influence(i), frame=1)


def drive(rig: bpy.types.Object, i: int, value: float) -> None:
    driver = rig.driver_add(influence(i)).driver
    driver.type = "SCRIPTED"
    driver.expression = str(value)


def by_name(rig: bpy.types.Object) -> dict[str, float]:
    """Return the influences after a frame change, by the names of the items."""
    rigs.go(2, 1)
    return {item.name: round(item.influence, 4) for item in rig.fabrik.constraints}


def curve_paths(rig: bpy.types.Object) -> list[str]:
    return sorted(curve.data_path for curve in curves_of(rig.animation_data.action))


def curves_of(action: bpy.types.Action) -> Iterator[bpy.types.FCurve]:
    if not hasattr(action, "layers"):
        yield from action.fcurves
        return
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:
                yield from bag.fcurves


def test_removing_moves_keys_and_drivers_along() -> None:
    rig = make_stack(4)
    key(rig, 0, 1, 2)
    drive(rig, 3, 0.75)
    rig.fabrik.active_index = 1
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert by_name(rig) == {"0": 0.1, "2": 0.3, "3": 0.75}
    assert curve_paths(rig) == [influence(0), influence(1)]
    paths = [curve.data_path for curve in rig.animation_data.drivers]
    assert sorted(paths) == ['["fabrik_dependency"]', influence(2)]
    assert rig.fabrik.active_index == 1


def test_removing_deletes_the_driver_and_leaves_other_animation_alone() -> None:
    rig = make_stack(1)
    drive(rig, 0, 0.5)
    rig.keyframe_insert("location", index=2, frame=1)
    rig["fabrik.constraints[0].influence"] = 1.0
    rig.keyframe_insert('["fabrik.constraints[0].influence"]', frame=1)
    bpy.ops.fabrik.constraint_remove()
    assert not rig.animation_data.drivers
    assert curve_paths(rig) == ['["fabrik.constraints[0].influence"]', "location"]
    assert rig.fabrik.active_index == 0


@pytest.mark.parametrize(("direction", "order"), (("UP", "1 0 2"), ("DOWN", "0 2 1")))
def test_moving_moves_keys_and_drivers_along(direction: str, order: str) -> None:
    rig = make_stack()
    key(rig, 0, 1)
    drive(rig, 2, 0.75)
    rig.fabrik.active_index = 1
    bpy.ops.fabrik.constraint_move(direction=direction)
    assert rig.fabrik.constraints.keys() == order.split()
    assert by_name(rig) == {"0": 0.1, "1": 0.2, "2": 0.75}
    assert rig.fabrik.constraints[rig.fabrik.active_index].name == "1"


def test_moving_stops_at_the_ends() -> None:
    rig = make_stack(2)
    assert bpy.ops.fabrik.constraint_move(direction="UP") == {"CANCELLED"}
    rig.fabrik.active_index = 1
    assert bpy.ops.fabrik.constraint_move(direction="DOWN") == {"CANCELLED"}
    assert rig.fabrik.constraints.keys() == ["0", "1"]


@pytest.mark.parametrize("meta", (False, True), ids=("strips", "meta strip"))
def test_removing_moves_the_keys_of_all_strips_along_once(meta: bool) -> None:
    rig = make_stack()
    key(rig, 0, 1, 2)
    data = rig.animation_data
    action, data.action = data.action, None
    for start in (1, 10):
        strip = data.nla_tracks.new().strips.new(f"at {start}", start, action)
        if hasattr(strip, "action_slot"):
            strip.action_slot = action.slots[0]
    if meta:
        make_meta_strips()
        strips = [strip for track in data.nla_tracks for strip in track.strips]
        assert {strip.type for strip in strips} == {"META"}
    rig.fabrik.active_index = 0
    bpy.ops.fabrik.constraint_remove()
    assert by_name(rig) == {"1": 0.2, "2": 0.3}
    assert sorted(curve.data_path for curve in curves_of(action)) == [influence(0), influence(1)]


def make_meta_strips() -> None:
    """Pack strips into meta strips, which only works in an NLA editor."""
    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    area.type = "NLA_EDITOR"
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        bpy.ops.nla.select_all(action="SELECT")
        assert bpy.ops.nla.meta_add() == {"FINISHED"}


def test_an_armature_that_shares_the_action_keeps_its_animation() -> None:
    rig = make_stack()
    key(rig, 0, 1, 2)
    bpy.ops.object.mode_set(mode="OBJECT")
    twin = rigs.link(rig.copy())
    twin.animation_data.action = rig.animation_data.action
    if hasattr(twin.animation_data, "action_slot"):
        twin.animation_data.action_slot = rig.animation_data.action_slot
    rigs.activate(rig)
    rig.fabrik.active_index = 0
    bpy.ops.fabrik.constraint_remove()
    assert by_name(rig) == {"1": 0.2, "2": 0.3}
    assert by_name(twin) == {"0": 0.1, "1": 0.2, "2": 0.3}
    rigs.activate(twin)
    bpy.ops.fabrik.constraint_remove()
    assert by_name(twin) == {"1": 0.2, "2": 0.3}


@pytest.mark.skipif(bpy.app.version < (4, 4, 0), reason="actions have slots since 4.4")
def test_another_slot_of_the_same_action_is_left_alone() -> None:
    rig = make_stack(2)
    key(rig, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    twin = rigs.link(rig.copy())
    action = rig.animation_data.action
    twin.animation_data.action = action
    twin.animation_data.action_slot = action.slots.new("OBJECT", "Twin")
    key(twin, 0, 1)
    rigs.activate(rig)
    bpy.ops.fabrik.constraint_remove()
    assert rig.animation_data.action == action, "nobody shares the slot: no copy is needed"
    assert by_name(rig) == {"1": 0.2}
    assert by_name(twin) == {"0": 0.1, "1": 0.2}


def test_removing_and_moving_wait_for_the_end_of_tweaking() -> None:
    rig = make_stack(2)
    key(rig, 0, 1)
    data = rig.animation_data
    action, data.action = data.action, None
    data.nla_tracks.new().strips.new("strip", 1, action)
    data.nla_tracks[0].select = True
    data.nla_tracks[0].strips[0].select = True
    data.use_tweak_mode = True
    if not data.use_tweak_mode:
        pytest.skip("this Blender enters tweak mode only from an NLA editor")
    refuses(bpy.ops.fabrik.constraint_remove, "tweak mode")
    refuses(bpy.ops.fabrik.constraint_move, "tweak mode", direction="DOWN")


# Poles


def joints_world(rig: bpy.types.Object) -> list[Vector]:
    posed = rigs.evaluated(rig)
    bones = posed.pose.bones
    return [posed.matrix_world @ point for point in (*[b.head for b in bones], bones[-1].tail)]


def length_of(joints: list[Vector]) -> float:
    return sum((b - a).length for a, b in pairwise(joints))


def add_pole(rig: bpy.types.Object) -> bpy.types.Object:
    rigs.activate(rig)
    rigs.update()
    assert bpy.ops.fabrik.pole_add() == {"FINISHED"}
    rigs.update()
    return rig.fabrik.constraints[rig.fabrik.active_index].pole_target


CHAINS = {
    "limb": (2, "TWO_BONE", ARM),
    "chain": (6, "FABRIK", None),
    "curl": (4, "CCD", ((0, 0, 0), (0.5, 0.5, 1), (1, -0.5, 1.5), (0.2, 0.4, 2.2), (0, 0, 3))),
    "spiral": (4, "FABRIK", ((0, 0, 0), (1, 0, 0.5), (1, 1, 1), (0, 1, 1.5), (0, 0, 2))),
    "straight limb": (2, "TWO_BONE", ((0, 0, 0), (0, 0, 1), (0, 0, 2))),
    "straight": (3, "FABRIK", ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3))),
}


def make_solved(shape: str, kind: str, goal: tuple[float, float, float]) -> bpy.types.Object:
    """Make a chain that is solved for a target given in lengths of the chain from its root."""
    count, solver, joints = CHAINS[shape]
    rig = rigs.make_chain(count, "Chain", *([joints] if joints else []))
    place(rig, kind)
    at_rest = joints_world(rig)
    target = rigs.make_empty(location=at_rest[0] + Vector(goal) * length_of(at_rest))
    # With a pole a chain always turns as a whole before it bends.
    rigs.add_constraint(rig, f"B{count - 1}", target, solver=solver, iterations=200, swing=1.0)
    rigs.update()
    return rig


@pytest.mark.parametrize("goal", ((0.4, 0.3, -0.4), (-0.3, 0.1, 0.2), (0.9, 1.2, 0.8)))
@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("shape", CHAINS)
def test_adding_a_pole_leaves_the_pose_unchanged(
    shape: str, kind: str, goal: tuple[float, float, float]
) -> None:
    rig = make_solved(shape, kind, goal)
    before = joints_world(rig)
    add_pole(rig)
    size = length_of(before)
    moved = [(a - b).length / size for a, b in zip(before, joints_world(rig), strict=True)]
    assert max(moved) < 1e-4


def test_a_new_pole_stands_before_a_stretched_knee_that_was_posed_a_little_backward() -> None:
    rig = rigs.make_chain(2, "Leg", ((0, 0, 0), (0, -0.2, 1), (0, 0, 2)))
    thigh, shin = (bone.matrix_local for bone in rig.data.bones)
    turn = Quaternion((1, 0, 0), shin.col[1].angle(thigh.col[1]) + 0.1)
    rest = shin.to_quaternion()
    rig.pose.bones["B1"].rotation_quaternion = rest.inverted() @ turn @ rest
    rigs.update()
    hip, knee, ankle = joints_world(rig)
    assert knee.y > hip.lerp(ankle, 0.5).y
    target = rigs.make_empty(location=(0, 1, 3))
    rigs.add_constraint(rig, "B1", target, solver="TWO_BONE")
    target.location = (0, 0.5, 1.6)
    rigs.update()
    before = joints_world(rig)
    target.location = (0, 1, 3)
    pole = rigs.world_location(add_pole(rig))
    assert pole.y < -0.5
    target.location = (0, 0.5, 1.6)
    rigs.update()
    moved = [(a - b).length for a, b in zip(before, joints_world(rig), strict=True)]
    assert max(moved) < 1e-4


@pytest.mark.parametrize("shape", CHAINS)
def test_a_new_pole_stands_about_a_chain_length_off_the_bend(shape: str) -> None:
    rig = make_solved(shape, "moved", (0.4, 0.3, -0.4))
    pole = rigs.world_location(add_pole(rig))
    joints = joints_world(rig)
    size = length_of(joints)
    nearest = min((pole - joint).length for joint in joints)
    assert 0.5 * size < nearest < 1.5 * size


def test_the_pole_of_a_limb_stands_in_the_plane_of_its_bend_on_the_side_of_the_elbow() -> None:
    rig = make_solved("limb", "moved", (0.4, 0.3, -0.4))
    pole = rigs.world_location(add_pole(rig))
    shoulder, elbow, wrist = joints_world(rig)
    normal = (elbow - shoulder).cross(wrist - shoulder).normalized()
    assert abs((pole - shoulder).dot(normal)) < 1e-4
    axis = (wrist - shoulder).normalized()
    side = elbow - shoulder - axis * (elbow - shoulder).dot(axis)
    assert (pole - elbow).normalized().dot(side.normalized()) > 1 - 1e-4


def test_a_chain_without_bend_will_bend_to_its_new_pole_as_without_it() -> None:
    """The target comes nearer: the bend that the pole asks for is the one there would have been."""
    bends = []
    for with_pole in (False, True):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        rig = make_solved("limb", "moved", (0.9, 1.2, 0.8))
        if with_pole:
            add_pole(rig)
        target = rig.fabrik.constraints[0].target
        target.location = joints_world(rig)[0].lerp(joints_world(rig)[2], 0.9)
        rigs.update()
        bends.append(joints_world(rig)[1])
    assert (bends[0] - bends[1]).length < 0.02 * 3.5


def test_a_new_pole_turns_the_bend_when_it_is_moved() -> None:
    rig = make_solved("limb", "plain", (0.2, 0.1, -0.5))
    pole = add_pole(rig)
    before = joints_world(rig)
    axis = (before[2] - before[0]).normalized()
    pole.location = before[0] + Matrix.Rotation(pi / 2, 3, axis) @ (pole.location - before[0])
    rigs.update()
    after = joints_world(rig)
    assert (after[2] - before[2]).length < 1e-4 * length_of(before)
    assert (after[1] - before[1]).length > 0.05 * length_of(before)


def test_adding_a_pole_says_why_it_cannot() -> None:
    rig = make_solved("limb", "plain", (0.4, 0.3, -0.4))
    item = only(rig)
    item.enabled = False
    rigs.update()
    refuses(bpy.ops.fabrik.pole_add, "enable it")
    item.enabled = True
    item.chain_count = 1
    item.solver = "FABRIK"
    rigs.update()
    refuses(bpy.ops.fabrik.pole_add, "single bone")
    item.target = None
    rigs.update()
    refuses(bpy.ops.fabrik.pole_add, "No target")
    assert item.pole_target is None
    item.pole_target = rigs.make_empty("Mine")
    refuses(bpy.ops.fabrik.pole_add, "already has the pole target “Mine”")
    item.pole_target, item.pole_subtarget = rig, item.bone
    refuses(bpy.ops.fabrik.pole_add, f"already has the pole target “{item.bone}”")
    item.pole_subtarget = ""
    item.pole_target, item.target = None, rigs.make_empty()
    rig.hide_viewport = True
    rigs.update()
    refuses(bpy.ops.fabrik.pole_add, "is hidden, so it isn't evaluated: show it")


# Of selected bones

OF_SELECTED_BONES = {
    "snap_to_fk": "SELECTED",
    "snap_to_ik": "SELECTED",
    "convert_to_blender": "SELECTED",
    "bake": "BONES",
}


@pytest.mark.parametrize("name", OF_SELECTED_BONES)
def test_selected_bones_mean_the_constraints_that_pose_them_or_end_at_one(name: str) -> None:
    rig = rigs.make_chain(4)
    item = rigs.add_constraint(rig, "B3", rigs.make_empty(location=(0.3, 0.0, 2.5)), chain_count=2)
    item.use_tail = False  # It poses B1 and B2, and ends at B3.
    rigs.update()
    enter_pose_mode(rig)
    operator, which = getattr(bpy.ops.fabrik, name), OF_SELECTED_BONES[name]
    select_bone(rig, "B0")
    refuses(operator, "No constraint belongs to the selection", which=which)
    for bone in ("B0", "B1", "B2", "B3"):
        select_bone(rig, bone, bone == "B3")
    assert operator(which=which) == {"FINISHED"}


# Gray buttons


def test_buttons_say_why_they_are_gray() -> None:
    operators = bpy.ops.fabrik
    everything = (
        operators.constraint_add,
        operators.constraint_remove,
        operators.constraint_move,
        operators.pole_add,
    )
    for operator in everything:
        refuses(operator, "Select an armature")
    rig = rigs.make_chain(2)
    refuses(operators.constraint_add, "Enter Pose Mode")
    for operator in everything[1:]:
        refuses(operator, "No constraint")
    enter_pose_mode(rig)
    rig.data.bones.active = None
    refuses(operators.constraint_add, "No active bone: click the tip bone")
    rigs.add_constraint(rig, "B1")
    refuses(operators.constraint_move, "only one constraint")


def link_from_library(folder: Path) -> bpy.types.Object:
    """Link an armature with two constraints from another file."""
    rigs.add_constraint(rigs.make_chain(2, "Linked"), "B1", rigs.make_empty(), name="0")
    rigs.add_constraint(bpy.data.objects["Linked"], "B1", bpy.data.objects["Target"], name="1")
    path = str(folder / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_there, here):
        here.objects = ["Linked"]
    return bpy.data.objects["Linked"]


def test_a_linked_armature_says_why_its_buttons_are_gray(tmp_path: Path) -> None:
    rigs.activate(rigs.link(link_from_library(tmp_path)))
    for operator in (bpy.ops.fabrik.constraint_add, bpy.ops.fabrik.pole_add):
        refuses(operator, "is linked")


def test_a_library_override_keeps_what_is_linked_and_may_add_and_remove_its_own(
    tmp_path: Path,
) -> None:
    rig = rigs.link(link_from_library(tmp_path).override_create(remap_local_usages=True))
    enter_pose_mode(rig, click="B1")
    bpy.ops.fabrik.constraint_add()
    assert rig.fabrik.constraints.keys() == ["0", "1", "B1"]
    refuses(bpy.ops.fabrik.constraint_move, "keep the linked file's order", direction="UP")
    bpy.ops.fabrik.constraint_remove()
    refuses(bpy.ops.fabrik.constraint_remove, "you can only disable it here")
    assert rig.fabrik.constraints.keys() == ["0", "1"]


def test_operators_say_what_they_did(capfd: pytest.CaptureFixture[str]) -> None:
    rig = pose_arm()
    target = rigs.make_empty("Goal", (0.5, 0, 1))
    target.select_set(True)
    said = []

    def press(name: str, **settings: object) -> None:
        capfd.readouterr()
        getattr(bpy.ops.fabrik, name)(**settings)
        said.append(capfd.readouterr().out.partition("Info: ")[2].strip())

    press("constraint_add")
    press("pole_add")
    press("offset_set")
    rigs.add_constraint(rig, "B0", target)
    press("constraint_move", direction="DOWN")
    press("constraint_remove")
    assert said == [
        "“B1” reaches for “Goal”",
        "Added the pole target “B1 Pole”",
        "“B1” keeps its tip at the current offset",
        "“FABRIK IK” is now before “B1”",
        "Removed “B1”: the bones return to their FK pose",
    ]


def test_a_bone_that_was_renamed_while_there_was_no_constraint_gets_one() -> None:
    rig = pose_arm()
    bpy.ops.fabrik.constraint_add()
    bpy.ops.fabrik.constraint_remove()
    rigs.update()
    rig.data.bones["B1"].name = "Tip"
    rigs.update()
    click_bone(rig, "Tip")
    assert bpy.ops.fabrik.constraint_add() == {"FINISHED"}
    assert rig.fabrik.constraints[0].bone == "Tip"
