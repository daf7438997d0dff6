"""The FK pose is the animator's: channels hold it to the last bit, whatever is solved over it."""

from math import radians

import bpy
import pytest
from mathutils import Quaternion
from rigs import (
    activate,
    add_constraint,
    as_strip,
    channels_bits,
    curves,
    elsewhere,
    evaluated,
    go,
    make_chain,
    make_empty,
    pose_bits,
    shown_bits,
    tip_error,
    update,
)
from ways_off import WAYS_OFF, disabled, influence_0, removed

MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
CHANNELS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
# Not normalised, as an animator or a script may leave them.
BY_HAND = {"rotation_quaternion": (0.9, 0.1, 0.3, 0), "rotation_axis_angle": (0.7, 0.2, 1, 0)}
NEARBY = {"rotation_quaternion": (0.8, 0.2, 0.1, 0.1), "rotation_axis_angle": (0.4, 1, 0, 0.2)}


def channel(mode):
    return CHANNELS.get(mode, "rotation_euler")


def by_hand(mode):
    return BY_HAND.get(channel(mode), (0.3, 0.2, -0.1))


def nearby(mode):
    return NEARBY.get(channel(mode), (-0.5, 0.1, 0.4))


def values(rig, bone):
    return tuple(getattr(rig.pose.bones[bone], channel(rig.pose.bones[bone].rotation_mode)))


def fk_values(rig, bone):
    """The numbers of a bone that no chain poses now: they are shown as they are given."""
    given = values(rig, bone)
    assert values(evaluated(rig), bone) == given
    return given


def turn(rig, bone, numbers):
    setattr(rig.pose.bones[bone], channel(rig.pose.bones[bone].rotation_mode), numbers)


def posed_rig(mode="QUATERNION"):
    """A chain turned by hand, and its pose before it had a constraint."""
    rig = make_chain(mode=mode)
    turn(rig, "B0", by_hand(mode))
    turn(rig, "B2", nearby(mode))
    update()
    return rig


def solved_rig(mode="QUATERNION", **settings):
    rig = posed_rig(mode)
    fk = look(rig)
    add_constraint(rig, "B2", make_empty(), **settings)
    update()
    assert channels_bits(rig) == fk[1]
    return rig, fk


def look(rig):
    """The bones as evaluated, and their channels in the file and as evaluated."""
    return pose_bits(rig), channels_bits(rig), shown_bits(rig)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("off", WAYS_OFF)
def test_off_gives_the_fk_pose_back(empty_file, mode, off):
    rig, fk = solved_rig(mode)
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    for frame in (2, 9, 1):
        go(frame)
        assert channels_bits(rig) == fk[1]
        assert shown_bits(rig) != fk[2]

    off(rig)
    update()

    assert look(rig) == fk


@pytest.mark.parametrize("remove", [lambda items: items.remove(0), lambda items: items.clear()])
def test_list_that_a_script_shortens_is_noticed_at_the_next_frame(empty_file, remove, capfd):
    """Removing an item calls nobody, so that the first to notice is the next evaluation."""
    rig, fk = solved_rig()
    target = bpy.data.objects["Target"]
    for frame in (1, 9):
        target.location.x = frame / 9
        target.keyframe_insert("location", frame=frame)
    add_constraint(rig, "B1", target, influence=0.0)
    go(3)
    capfd.readouterr()

    remove(rig.fabrik.constraints)
    go(4)

    assert look(rig) == fk
    assert capfd.readouterr().out == ""


def test_list_that_a_script_reorders_is_noticed_at_the_next_update(empty_file):
    rig, _ = solved_rig()
    add_constraint(rig, "B1", make_empty("Other", (0, 1, 1)), influence=0.0)
    update()
    solved = pose_bits(rig)

    rig.fabrik.constraints.move(0, 1)
    rig.update_tag()
    update()

    assert pose_bits(rig) == solved
    assert [item.state for item in rig.fabrik.constraints] == ["DISABLED", "REACHED"]


@pytest.mark.parametrize("off", [influence_0, disabled])
def test_on_again_is_the_same_as_before(empty_file, off):
    rig, _ = solved_rig()
    first = look(rig)

    off(rig)
    update()
    rig.fabrik.constraints[0].enabled = True
    rig.fabrik.constraints[0].influence = 1.0
    update()

    assert look(rig) == first


def test_shorter_chain_gives_the_freed_bone_its_fk_pose_back(empty_file):
    rig, _ = solved_rig()
    assert values(evaluated(rig), "B0") != pytest.approx(by_hand("QUATERNION"), abs=0.01)
    rig.fabrik.constraints[0].chain_count = 2
    update()

    assert fk_values(rig, "B0") == pytest.approx(by_hand("QUATERNION"))
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    rig.update_tag()
    update()
    other = posed_rig()
    add_constraint(other, "B2", bpy.data.objects["Target"], chain_count=2)
    update()
    assert pose_bits(rig) == pose_bits(other)


@pytest.mark.parametrize("mode", MODES)
def test_half_influence_lies_half_way(empty_file, mode):
    rig, _ = solved_rig(mode, influence=0.0)
    turns = {}
    for influence in (0.0, 0.5, 1.0):
        rig.fabrik.constraints[0].influence = influence
        update()
        turns[influence] = local_turns(rig)

    for fk, half, solved in zip(*turns.values(), strict=True):
        whole = fk.rotation_difference(solved).angle
        assert fk.rotation_difference(half).angle == pytest.approx(whole / 2, abs=2e-3)
        assert half.rotation_difference(solved).angle == pytest.approx(whole / 2, abs=2e-3)
    assert turns[0.0][2].rotation_difference(turns[1.0][2]).angle > 0.2


def local_turns(rig):
    return [bone.matrix_basis.to_quaternion() for bone in evaluated(rig).pose.bones]


def test_influence_is_smooth_near_0_and_1(empty_file):
    rig, _ = solved_rig()
    full = pose_bits(rig)
    ends = {}
    for influence in (1e-6, 1 - 1e-6):
        rig.fabrik.constraints[0].influence = influence
        update()
        ends[influence] = [x for row in evaluated(rig).pose.bones["B2"].matrix for x in row]
    rig.fabrik.constraints[0].influence = 1.0
    update()
    assert pose_bits(rig) == full
    now = [x for row in evaluated(rig).pose.bones["B2"].matrix for x in row]
    assert ends[1 - 1e-6] == pytest.approx(now, abs=1e-4)
    influence_0(rig)
    update()
    now = [x for row in evaluated(rig).pose.bones["B2"].matrix for x in row]
    assert ends[1e-6] == pytest.approx(now, abs=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_turn_by_hand_becomes_the_input(empty_file, mode, tmp_path):
    rig, _ = solved_rig(mode, influence=0.5)
    before = pose_bits(rig)

    turn(rig, "B1", nearby(mode))
    update()
    after = pose_bits(rig)
    assert after != before
    for frame in (5, 1):
        go(frame)
    assert pose_bits(rig) == after
    rig = reopened(tmp_path)
    assert pose_bits(rig) == after
    go(3)
    assert pose_bits(rig) == after

    influence_0(rig)
    update()
    assert fk_values(rig, "B0") == pytest.approx(by_hand(mode))
    assert fk_values(rig, "B1") == pytest.approx(nearby(mode))
    assert fk_values(rig, "B2") == pytest.approx(nearby(mode))


def reopened(folder, name="Rig"):
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "rig.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(folder / "rig.blend"))
    return bpy.data.objects[name]


@pytest.mark.parametrize("mode", MODES)
def test_turn_that_is_cancelled_leaves_the_input(empty_file, mode):
    """Escape gives back the numbers from before, which are the input and no solution."""
    rig, fk = solved_rig(mode, influence=0.5)
    pose, seen = pose_bits(rig), values(rig, "B1")
    for step in range(4):
        turn(rig, "B1", [x + 0.1 * step for x in nearby(mode)])
        update()
        assert pose_bits(rig) != pose

    turn(rig, "B1", seen)
    update()

    assert pose_bits(rig) == pose
    influence_0(rig)
    update()
    assert look(rig) == fk


def test_setting_the_matrix_of_a_bone_is_an_input_too(empty_file):
    rig, _ = solved_rig()
    wanted = Quaternion((0.6, 0, 0.8, 0))

    rig.pose.bones["B0"].matrix_basis = wanted.to_matrix().to_4x4()
    update()
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    disabled(rig)
    update()

    assert fk_values(rig, "B0") == pytest.approx(tuple(wanted), abs=1e-6)


def test_edit_while_the_influence_is_0_is_the_new_input(empty_file):
    rig, _ = solved_rig(influence=0.0)
    turn(rig, "B1", nearby("QUATERNION"))
    update()
    fk = look(rig)

    rig.fabrik.constraints[0].influence = 1.0
    update()
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    go(2)
    influence_0(rig)
    update()

    assert look(rig) == fk


@pytest.mark.parametrize("before", MODES)
@pytest.mark.parametrize("after", MODES)
def test_changing_the_rotation_mode_keeps_the_input(empty_file, before, after):
    """It ends as if the mode had been changed before there was a constraint."""
    rig, _ = solved_rig(before)
    plain = posed_rig(before)
    for bone in (*rig.pose.bones, *plain.pose.bones):
        bone.rotation_mode = after
    update()
    for frame in (3, 1):
        go(frame)
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3

    influence_0(rig)
    update()

    for ours, its in zip(local_turns(rig), local_turns(plain), strict=True):
        assert abs(ours.dot(its)) > 1 - 1e-6
    assert [bone.rotation_mode for bone in rig.pose.bones] == [after] * 3


def test_file_shows_its_fk_pose_without_the_add_on_and_comes_back_from_there(empty_file, tmp_path):
    rig, fk = solved_rig()
    solved = pose_bits(rig)
    blend = tmp_path / "rig.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))

    without, printed = elsewhere(
        blend,
        """
        first = pose_bits(bpy.data.objects["Rig"])
        bpy.data.objects["Rig"].location.x = 1
        bpy.context.scene.frame_set(5)
        bpy.ops.wm.save_mainfile()
        """,
        "hasattr(bpy.types.Object, 'fabrik'), first, pose_bits(bpy.data.objects['Rig'])",
        with_addon=False,
    )
    assert without == (False, fk[0], fk[0])
    assert "fabrik" not in printed.lower()  # Nor does Blender miss anything of ours.

    bpy.ops.wm.open_mainfile(filepath=str(blend))
    rig = bpy.data.objects["Rig"]
    assert rig.fabrik.constraints[0].state == "REACHED"
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    rig.location.x = 0
    update()
    assert pose_bits(rig) == solved
    disabled(rig)
    update()
    assert look(rig) == fk


def test_bone_turned_without_the_add_on_is_the_new_input(empty_file, tmp_path):
    solved_rig()
    blend = tmp_path / "rig.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    elsewhere(
        blend,
        """
        bpy.data.objects["Rig"].pose.bones["B1"].rotation_quaternion = (0.8, 0.6, 0, 0)
        bpy.ops.wm.save_mainfile()
        """,
        "None",
        with_addon=False,
    )

    bpy.ops.wm.open_mainfile(filepath=str(blend))
    rig = bpy.data.objects["Rig"]
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    disabled(rig)
    update()

    assert fk_values(rig, "B0") == pytest.approx(by_hand("QUATERNION"))
    assert fk_values(rig, "B1") == pytest.approx((0.8, 0.6, 0, 0))


@pytest.mark.parametrize("mode", MODES)
def test_keyed_input_is_what_the_keys_say(empty_file, mode):
    rig = make_chain(mode=mode)
    path = f'pose.bones["B1"].{channel(mode)}'
    expected = {}
    for frame, numbers in ((1, by_hand(mode)), (20, nearby(mode))):
        turn(rig, "B1", numbers)
        rig.keyframe_insert(path, frame=frame)
    for frame in (1, 7, 20):
        go(frame)
        expected[frame] = look(rig)
    add_constraint(rig, "B2", make_empty())
    for frame in (20, 1, 7):
        go(frame)
        assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3

    influence_0(rig)
    for frame in (7, 1, 20):
        go(frame)
        assert look(rig) == expected[frame]


@pytest.mark.parametrize("off", [influence_0, disabled, removed])
def test_keyed_input_is_back_at_once_without_a_frame_change(empty_file, off):
    rig = make_chain()
    for frame, numbers in ((1, by_hand("QUATERNION")), (20, nearby("QUATERNION"))):
        turn(rig, "B1", numbers)
        rig.keyframe_insert('pose.bones["B1"].rotation_quaternion', frame=frame)
    go(7)
    fk = look(rig)
    add_constraint(rig, "B2", make_empty())
    update()
    bpy.data.objects["Target"].location.x = -1
    update()

    off(rig)
    update()

    assert look(rig) == fk


def test_input_changes_by_keys_while_the_target_moves(empty_file):
    """Of two equal bones, half solved, the keyed one stands elsewhere at each frame."""
    rig, _ = solved_rig(influence=0.5)
    target = bpy.data.objects["Target"]
    for frame, x, numbers in ((1, 1, (1, 0, 0, 0)), (20, -1, (0.8, 0.6, 0, 0))):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
        turn(rig, "B0", numbers)
        rig.keyframe_insert('pose.bones["B0"].rotation_quaternion', frame=frame)
    poses = {}
    for frame in (1, 10, 20):
        go(frame)
        poses[frame] = pose_bits(rig)
    assert len(set(poses.values())) == 3

    curve = next(c for c in curves(rig) if c.array_index == 1)
    for point in curve.keyframe_points:
        point.co.y += 0.3
        point.handle_left.y += 0.3
        point.handle_right.y += 0.3
    curve.update()
    rig.animation_data.action.update_tag()
    for frame in (20, 1, 10):
        go(frame)
        assert pose_bits(rig) != poses[frame]


def test_muting_and_unmuting_a_curve_switches_between_hand_and_keys(empty_file):
    rig, _ = solved_rig()
    turn(rig, "B1", (0.8, 0.6, 0, 0))
    rig.keyframe_insert('pose.bones["B1"].rotation_quaternion', frame=1)
    go(2)
    for curve in curves(rig):
        curve.mute = True
    turn(rig, "B1", (0.6, 0, 0.8, 0))
    update()
    go(3)
    influence_0(rig)
    go(4)
    assert fk_values(rig, "B1") == pytest.approx((0.6, 0, 0.8, 0))
    rig.fabrik.constraints[0].influence = 1.0
    go(5)

    for curve in curves(rig):
        curve.mute = False
    go(6)
    influence_0(rig)
    go(7)

    assert fk_values(rig, "B1") == pytest.approx((0.8, 0.6, 0, 0))


def test_action_is_the_input_while_it_is_assigned(empty_file):
    rig, _ = solved_rig()
    rig.keyframe_insert('pose.bones["B1"].location', frame=1)
    for numbers, frame in (((0.8, 0.6, 0, 0), 1), ((0.6, 0.8, 0, 0), 10)):
        turn(rig, "B1", numbers)
        rig.keyframe_insert('pose.bones["B1"].rotation_quaternion', frame=frame)
    influence_0(rig)
    go(10)
    fk = look(rig)
    rig.fabrik.constraints[0].influence = 1.0
    go(3)
    action, slot = rig.animation_data.action, getattr(rig.animation_data, "action_slot", None)

    rig.animation_data.action = None
    go(4)
    rig.animation_data.action = action
    if slot is not None:
        rig.animation_data.action_slot = slot
    go(10)
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    influence_0(rig)
    go(10)

    assert look(rig) == fk


@pytest.mark.parametrize("is_tagged", [False, True])
@pytest.mark.parametrize("is_loaded", [False, True])
def test_keys_of_a_script_over_strips_give_the_fk_pose_as_without_constraints(
    empty_file, tmp_path, is_loaded, is_tagged
):
    """Blender itself plays them only after a tag, or in a file that is loaded afterwards."""
    names = ("Rig", "Plain")
    for name in names:
        rig = make_chain(3, name)
        rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=1)
        as_strip(rig)
    add_constraint(bpy.data.objects["Rig"], "B2", make_empty())
    go(1)
    if is_loaded:
        path = str(tmp_path / "strips.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
    seen = []
    for name in names:
        rig = bpy.data.objects[name]
        for frame, turn in ((1, (0.8, 0.6, 0.0, 0.0)), (9, (0.6, 0.0, 0.8, 0.0))):
            rig.pose.bones["B0"].rotation_quaternion = turn
            rig.pose.bones["B0"].keyframe_insert("rotation_quaternion", frame=frame)
        if is_tagged:
            rig.update_tag(refresh={"OBJECT", "DATA", "TIME"})
    for frame in (None, 3, 9, 1):
        update() if frame is None else go(frame)
        poses = [channels_bits(bpy.data.objects[name]) for name in names]
        assert poses[0] == poses[1], frame
        seen.append(poses[0])
    item = bpy.data.objects["Rig"].fabrik.constraints[0]
    assert item.state == "REACHED"
    assert len(set(seen)) > 1 or not is_tagged


def test_strip_of_the_nla_is_the_input(empty_file):
    rig, _ = solved_rig()
    for numbers, frame in (((0.8, 0.6, 0, 0), 1), ((0.6, 0.8, 0, 0), 10)):
        turn(rig, "B1", numbers)
        rig.keyframe_insert('pose.bones["B1"].rotation_quaternion', frame=frame)
    as_strip(rig)
    influence_0(rig)
    expected = {}
    for frame in (1, 4, 10):
        go(frame)
        expected[frame] = look(rig)
    assert len(set(expected.values())) == 3

    rig.fabrik.constraints[0].influence = 1.0
    solved = {}
    for frame in (1, 4, 10):
        go(frame)
        solved[frame] = look(rig)
        assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    for frame in (4, 10, 1):
        go(frame)
        assert look(rig) == solved[frame]
    influence_0(rig)
    for frame in (10, 1, 4):
        go(frame)
        assert look(rig) == expected[frame]


def test_driven_channel_follows_its_driver(empty_file):
    rig, _ = solved_rig("XYZ", influence=0.5)
    knob = make_empty("Knob", (0.2, 0, 0))
    driver = rig.driver_add('pose.bones["B1"].rotation_euler', 0).driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.targets[0].id = knob
    variable.targets[0].data_path = "location.x"
    update()
    poses = set()
    for x in (0.2, 0.6, -0.4):
        knob.location.x = x
        update()
        poses.add(pose_bits(rig))
        rig.fabrik.constraints[0].influence = 0.0
        update()
        assert evaluated(rig).pose.bones["B1"].rotation_euler[0] == pytest.approx(x)
        rig.fabrik.constraints[0].influence = 0.5
        update()
    assert len(poses) == 3

    rig.driver_remove('pose.bones["B1"].rotation_euler', 0)
    update()
    go(2)
    assert rig.fabrik.constraints[0].message == ""


def test_rest_position_and_back_is_the_same_pose(empty_file):
    rig, fk = solved_rig()
    solved = pose_bits(rig)

    rig.data.pose_position = "REST"
    update()
    rest = pose_bits(rig)
    for frame in (4, 1):
        go(frame)
    assert rest == pose_bits(rig) != solved
    rig.data.pose_position = "POSE"
    update()
    assert pose_bits(rig) == solved
    disabled(rig)
    update()

    assert look(rig) == fk


def test_edit_mode_round_trip_keeps_the_input(empty_file):
    rig, fk = solved_rig()
    solved = pose_bits(rig)
    activate(rig)

    for mode in ("EDIT", "POSE", "EDIT", "OBJECT"):
        bpy.ops.object.mode_set(mode=mode)
        go(5)
        update()
    assert pose_bits(rig) == solved
    disabled(rig)
    update()

    assert look(rig) == fk


def test_edited_rest_pose_is_solved_anew(empty_file):
    rig, _ = solved_rig()
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.tail *= 1.5
        if not bone.parent:
            bone.head *= 1.5
    bpy.ops.object.mode_set(mode="OBJECT")
    update()

    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    disabled(rig)
    update()
    assert fk_values(rig, "B0") == pytest.approx(by_hand("QUATERNION"))


@pytest.mark.parametrize("what", ["locked", "hidden", "collection", "bendy"])
def test_bones_are_posed_whatever_is_shown_or_locked(empty_file, what):
    rig, fk = solved_rig()
    solved = pose_bits(rig)

    if what == "collection":
        collection = rig.data.collections.new("Hidden")
        collection.is_visible = False
    for bone in rig.pose.bones:
        if what == "locked":
            bone.lock_rotation = (True, True, True)
            bone.lock_rotation_w = bone.lock_rotations_4d = True
        elif what == "hidden":
            bone.bone.hide = True
        elif what == "collection":
            collection.assign(bone)
        else:
            bone.bone.bbone_segments = 8
    update()
    go(2)
    assert pose_bits(rig) == solved
    disabled(rig)
    update()

    assert look(rig) == fk


def test_two_chains_on_the_same_bones_give_the_input_back(empty_file):
    rig = posed_rig()
    fk = look(rig)
    add_constraint(rig, "B2", make_empty("High", (0, 1, 2.5)), influence=0.5)
    add_constraint(rig, "B1", make_empty("Low", (1, 0, 1)), influence=0.7)
    update()
    both = look(rig)
    go(3)
    assert look(rig) == both

    rig.fabrik.constraints.remove(0)
    rig.update_tag()
    update()
    assert fk_values(rig, "B2") == pytest.approx(nearby("QUATERNION"))
    rig.fabrik.constraints.remove(0)
    rig.update_tag()
    update()

    assert look(rig) == fk


def test_many_cycles_of_on_and_off_lose_nothing(empty_file):
    rig, fk = solved_rig("XYZ")
    solved = look(rig)
    for i in range(20):
        rig.fabrik.constraints[0].influence = (0.0, 0.37, 1.0)[i % 3]
        update()
        go(i)
    disabled(rig)
    update()
    assert look(rig) == fk
    rig.fabrik.constraints[0].enabled = True
    rig.fabrik.constraints[0].influence = 1.0
    update()
    assert look(rig) == solved


def test_keys_of_the_rotation_mode_are_followed(empty_file):
    """The mode itself may be keyed; each mode has its own channel."""
    rig = make_chain(mode="QUATERNION")
    bone = rig.pose.bones["B1"]
    bone.rotation_quaternion = (0.8, 0.6, 0, 0)
    bone.keyframe_insert("rotation_mode", frame=1)
    bone.rotation_mode = "XYZ"
    bone.rotation_euler = (radians(30), 0, 0)
    bone.keyframe_insert("rotation_mode", frame=10)
    expected = {}
    for frame in (1, 10):
        go(frame)
        expected[frame] = local_turns(rig)[1]
    add_constraint(rig, "B2", make_empty())
    for frame in (10, 1, 10, 1):
        go(frame)
        assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    influence_0(rig)
    for frame in (10, 1):
        go(frame)
        assert abs(local_turns(rig)[1].dot(expected[frame])) > 1 - 1e-6


def keyed_rig():
    """B1 turns by keys, in a group of their own; half solved, so that the input shows."""
    rig = make_chain()
    for frame, numbers in ((1, (1, 0, 0, 0)), (20, (0.8, 0.6, 0, 0))):
        turn(rig, "B1", numbers)
        rig.keyframe_insert('pose.bones["B1"].rotation_quaternion', frame=frame, group="Keys")
    add_constraint(rig, "B2", make_empty(), influence=0.5)
    go(3)
    return rig


def mute_curves(rig):
    for curve in curves(rig):
        curve.mute = True


def mute_group(rig):
    for curve in curves(rig):
        curve.group.mute = True


def empty_curves(rig):
    for curve in curves(rig):
        while curve.keyframe_points:
            curve.keyframe_points.remove(curve.keyframe_points[0])


def mute_track(rig):
    as_strip(rig)
    rig.animation_data.nla_tracks[0].mute = True


def solo_another_track(rig):
    as_strip(rig)
    rig.animation_data.nla_tracks.new().is_solo = True


def switch_the_nla_off(rig):
    as_strip(rig)
    rig.animation_data.use_nla = False


def take_the_action_away(rig):
    rig.animation_data.action = None


SILENCERS = (
    mute_curves,
    mute_group,
    empty_curves,
    mute_track,
    solo_another_track,
    switch_the_nla_off,
    take_the_action_away,
)


@pytest.mark.parametrize("silence", SILENCERS)
def test_keys_that_do_not_act_are_no_input(empty_file, silence):
    """Else the solution would be taken for what the keys say, and the input be lost."""
    if silence is mute_group and hasattr(bpy.types, "ActionLayer"):
        pytest.skip("since 4.4 Blender evaluates the curves of a muted group all the same")
    rig = keyed_rig()
    silence(rig)
    update()
    go(4)
    turn(rig, "B1", (0.6, 0, 0.8, 0))
    update()
    pose = pose_bits(rig)
    for frame in (5, 17, 4):
        go(frame)
        assert pose_bits(rig) == pose

    influence_0(rig)
    go(6)
    assert fk_values(rig, "B1") == pytest.approx((0.6, 0, 0.8, 0))


def mute_strip(rig):
    as_strip(rig).mute = True


def end_strip(rig):
    strip = as_strip(rig)
    strip.frame_end, strip.extrapolation = 10, "NOTHING"


@pytest.mark.parametrize("silence", [mute_strip, end_strip])
def test_silent_strip_leaves_no_trace_of_the_solution(empty_file, silence):
    """Blender sets its channels to their defaults then."""
    rig = keyed_rig()
    silence(rig)
    poses = {}
    for frame in (20, 30, 12, 25):
        go(frame)
        poses[frame] = pose_bits(rig)
    for frame in (30, 12, 5, 20, 25, 12):
        go(frame)
        assert pose_bits(rig) == poses.get(frame, pose_bits(rig))
    influence_0(rig)
    go(21)

    assert fk_values(rig, "B1") == (1, 0, 0, 0)


def test_curves_exchanged_for_those_of_another_bone_are_noticed(empty_file):
    rig = keyed_rig()
    for frame in (1, 20):
        rig.keyframe_delete('pose.bones["B1"].rotation_quaternion', frame=frame)
    for frame, numbers in ((1, (1, 0, 0, 0)), (20, (0.8, 0.6, 0, 0))):
        turn(rig, "B0", numbers)
        rig.keyframe_insert('pose.bones["B0"].rotation_quaternion', frame=frame)
    go(5)
    pose = pose_bits(rig)
    for frame in (9, 5):
        go(frame)
    assert pose_bits(rig) == pose


def test_turn_by_hand_of_a_keyed_bone_holds_until_the_frame_changes(empty_file):
    rig = keyed_rig()
    pose = pose_bits(rig)
    target = bpy.data.objects["Target"]

    turn(rig, "B1", (0.6, 0, 0.8, 0))
    update()
    assert pose_bits(rig) != pose
    for step in (0.1, -0.1):
        target.location.x += step
        update()
    influence_0(rig)
    update()
    assert fk_values(rig, "B1") == pytest.approx((0.6, 0, 0.8, 0))

    target.location.x = 1
    rig.fabrik.constraints[0].influence = 0.5
    go(3)
    assert pose_bits(rig) == pose


def test_numbers_that_are_not_keyed_stay_the_animators_beside_keyed_ones(empty_file):
    rig, _ = solved_rig("XYZ")
    for frame, angle in ((1, 0.1), (20, 0.9)):
        rig.pose.bones["B1"].rotation_euler.x = angle
        rig.keyframe_insert('pose.bones["B1"].rotation_euler', index=0, frame=frame)
    go(5)
    rig.pose.bones["B1"].rotation_euler.z = 0.7
    update()
    for frame in (20, 8):
        go(frame)
    influence_0(rig)
    go(20)

    assert rig.pose.bones["B1"].rotation_euler.x == pytest.approx(0.9)
    assert rig.pose.bones["B1"].rotation_euler.z == pytest.approx(0.7)


def test_keyed_fk_pose_is_solved_as_before_at_once_and_after_the_next_frame(empty_file):
    rig, fk = solved_rig()
    pose = look(rig)
    for bone in rig.pose.bones:
        bone.keyframe_insert("rotation_quaternion", frame=1)
    update()
    assert look(rig) == pose
    for frame in (1, 5, 1):
        go(frame)
        assert look(rig) == pose
    disabled(rig)
    update()
    assert look(rig) == fk
