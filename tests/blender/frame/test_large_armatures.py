"""A few bones of a large armature are read one by one: what comes of it is the same to the bit."""

from collections.abc import Callable, Sequence
from typing import Any

import bpy
import pytest
import rigs
from inside import forget, replaced
from rendering import rendered

from addon.blender.rotation import floats

pytestmark = pytest.mark.usefixtures("silent")

MANY = 60

ARM = ((0, 0, 0), (0, 0.2, 1), (0, 0, 2), (0, 0.1, 3), (0, 0, 4))


def make(name: str = "Rig", mode: str = "QUATERNION") -> Any:
    """A chain Arm 0, 1 … on a bone Root, between bones with which nothing is done."""
    bones: dict[str, tuple[Sequence[float], Sequence[float], str]] = {}
    for i in range(MANY):
        bones[f"Before {i}"] = ((i, 5, 0), (i, 5, 1), "")
    bones["Root"] = ((0, 0, -1), (0, 0, 0), "")
    for i in range(4):
        bones[f"Arm {i}"] = (ARM[i], ARM[i + 1], f"Arm {i - 1}" if i else "Root")
    bones["Held"] = ((0, 0, 4), (0, 0, 5), "Arm 3")
    for i in range(MANY):
        bones[f"After {i}"] = ((i, 7, 0), (i, 7, 1), "")
    rig = rigs.make_armature(bones, name)
    for i, bone in enumerate(rig.pose.bones):
        bone.rotation_mode = mode
        a = 0.01 * (i % 17)
        bone.rotation_quaternion = (1 - a * a, a, -0.2 * a, 0.1)
        bone.rotation_euler = (a, 0.1 - a, 0.3 * a)
        bone.rotation_axis_angle = (a, 1, 0.2, -a)
        bone.location, bone.scale = (0.02 * a, -0.03, 0.01 * a), (1, 1 + a, 1)
    return rig


def plain(rig: Any) -> None:
    rigs.add_constraint(rig, "Arm 3", rigs.make_empty(location=(1, 0, 3)), chain_count=4)


def stretched(rig: Any) -> None:
    rigs.add_constraint(
        rig,
        "Arm 3",
        rigs.make_empty(location=(1, 0, 6)),
        chain_count=3,
        use_stretch=True,
        use_free_root=True,
    )


def by_its_head(rig: Any) -> None:
    rigs.add_constraint(
        rig, "Arm 2", rigs.make_empty(location=(1, 0, 2)), chain_count=2, use_tail=False
    )


def after_a_bone(rig: Any) -> None:
    """The target is a bone of the same armature, and the pole one of another that is as large."""
    other = make("Other")
    rigs.add_constraint(
        rig,
        "Arm 3",
        rig,
        subtarget="Before 3",
        chain_count=3,
        pole_target=other,
        pole_subtarget="Held",
    )
    rigs.add_constraint(other, "Arm 3", rig, subtarget="Held", chain_count=4)


def after_blender(rig: Any) -> None:
    """The chain is parented to a bone rotated by one of Blender's constraints."""
    con = rig.pose.bones["Root"].constraints.new("COPY_ROTATION")
    con.target, con.subtarget = rig, "Before 5"
    plain(rig)


def keyed(rig: Any) -> None:
    plain(rig)
    for frame in (1, 10):
        rig.pose.bones["Arm 1"].location.x = 0.01 * frame
        rig.pose.bones["Root"].location.x = 0.01 * frame
        for name in ("Arm 1", "Root", "After 2"):
            rig.pose.bones[name].keyframe_insert("location", frame=frame)


def joints(rig: Any) -> None:
    for name in ("Arm 1", "Arm 2"):
        bone = rig.pose.bones[name]
        bone.fabrik_joint.limit_type = "BLENDER"
        bone.lock_ik_x, bone.ik_stiffness_z = True, 0.3
    plain(rig)


def below_many(rig: Any) -> None:
    """Most bones are parents of the chain, and are read at once although they are not posed."""
    rigs.activate(rig, "EDIT")
    for i in range(1, MANY):
        rig.data.edit_bones[f"After {i}"].parent = rig.data.edit_bones[f"After {i - 1}"]
    rigs.activate(rig, "OBJECT")
    target = rigs.make_empty(location=(1, 0, 3))
    rigs.add_constraint(rig, f"After {MANY - 1}", target, chain_count=2)


KINDS = (plain, stretched, by_its_head, after_a_bone, after_blender, keyed, joints, below_many)


def worked_with(kind: Callable[[Any], None], mode: str) -> list[object]:
    """Work with a new rig; return what is shown, and what is in the channels, after each step."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    rig = make(mode=mode)
    kind(rig)
    found: list[object] = []

    def look() -> None:
        armatures = [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
        found.extend([rigs.pose_bits(*armatures), *map(rigs.channels_bits, armatures)])

    rigs.update()
    look()
    for target in [ob for ob in bpy.data.objects if ob.type == "EMPTY"]:
        for frame in (1, 10):
            target.location.x += 0.3
            target.keyframe_insert("location", frame=frame)
    rigs.update()
    look()
    for name in ("Root", "Before 3", "Before 5", "Arm 1"):
        rig.pose.bones[name].location.z += 0.1
        rig.pose.bones[name].rotation_quaternion.x += 0.1
    rigs.update()
    look()
    for frame in (3, 7, 3):
        rigs.go(frame)
        look()
    rig.fabrik.constraints[0].influence = 0.5
    rigs.update()
    look()
    found.extend(rendered(4, 5).values())
    look()
    return found


@pytest.mark.parametrize("mode", ("QUATERNION", "XYZ", "AXIS_ANGLE"))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_few_bones_are_posed_as_all_are(kind, mode, monkeypatch):
    found = []
    for few in (0, 8, 10**6):
        monkeypatch.setattr("addon.blender.rotation.SPARSE", few)
        monkeypatch.setattr("addon.blender.skeleton.SPARSE", few)
        monkeypatch.setattr("addon.frame.solved_scene.SPARSE", few)
        found.append(worked_with(kind, mode))

    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) > 3, "nothing happened"


def state(rig: Any) -> tuple[str, str]:
    return rig.fabrik.constraints[0].state, rig.fabrik.constraints[0].message


def test_frames_of_keyed_bones_among_many_are_evaluated_once_the_second_time(
    evaluations: list[float],
) -> None:
    """Other bones have other rotation modes, which do not count whichever way they are read."""
    rig = make()
    plain(rig)
    rig.pose.bones["Before 3"].rotation_mode = "XYZ"
    target, leader = rig.fabrik.constraints[0].target, rigs.make_empty("Leader", (1, 0, 3))
    follow = target.constraints.new("COPY_LOCATION")
    follow.target, follow.owner_space = leader, "LOCAL"  # Only Blender can evaluate it.
    arm = rig.pose.bones["Arm 1"]
    for frame, x in ((1, 0.0), (9, 0.3)):
        arm.rotation_quaternion.x = leader.location.y = x
        arm.keyframe_insert("rotation_quaternion", frame=frame)
        leader.keyframe_insert("location", frame=frame)
    rigs.watch(rig, "Arm 3")
    rigs.update()
    for count in (2, 1, 1):
        evaluations.clear()
        rigs.go(*range(2, 9))
        assert len(evaluations) == count * 7


def test_names_that_settings_use_are_followed_in_the_middle_of_posing():
    rig = make()
    rigs.add_constraint(rig, "Arm 3", rig, subtarget="Before 3", chain_count=3)
    rigs.update()
    rig.pose.bones["Before 3"].name = "Goal"
    rig.pose.bones["Arm 3"].name = "Hand"
    rig.pose.bones["Goal"].location.z += 0.2
    rigs.update()

    assert state(rig)[0] != "INVALID"
    assert (rig.fabrik.constraints[0].bone, rig.fabrik.constraints[0].subtarget) == ("Hand", "Goal")


@pytest.mark.parametrize("one", ("Arm 2", "Arm 3", "Root", "Before 3"))
def test_names_that_two_bones_exchange_mean_those_that_have_them(one):
    rig = make()
    rigs.add_constraint(rig, "Arm 3", rig, subtarget="Before 3", chain_count=3)
    rigs.update()
    bones = rig.pose.bones
    bones[one].name, bones["Before 4"].name = "For Now", one
    bones["For Now"].name = "Before 4"
    rig.pose.bones["Root"].location.x += 0.1
    rigs.update()
    shown = rigs.pose_bits(rig), state(rig)

    forget()
    rigs.update(rig)

    assert (rigs.pose_bits(rig), state(rig)) == shown


def test_a_bone_that_gets_a_missing_name_is_found():
    rig = make()
    rigs.add_constraint(rig, "Arm 3", rig, subtarget="Goal", chain_count=3)
    rigs.update()
    assert state(rig)[0] == "INVALID"
    rig.pose.bones["After 9"].name = "Goal"
    rigs.update()

    assert state(rig)[0] != "INVALID"


@pytest.mark.parametrize("name", ("Arm 0", "Arm 2"))
def test_a_rest_that_changes_is_noticed(name):
    rig, twin = make(), make("Twin")
    for one in (rig, twin):
        one.pose.bones["Root"].rotation_quaternion = (0.8, 0.6, 0, 0)
        rigs.add_constraint(
            one, "Arm 3", bpy.data.objects.get("Target") or rigs.make_empty(), chain_count=3
        )
    twin.data.bones[name].use_inherit_rotation = False
    rigs.update()
    assert rigs.pose_bits(rig) != rigs.pose_bits(twin)
    rig.data.bones[name].use_inherit_rotation = False
    rigs.update()

    assert rigs.pose_bits(rig) == rigs.pose_bits(twin)


def test_columns_are_read_once_while_frames_are_played_but_not_the_fk_pose():
    """All that frames change of them is in F-curves. A script may set the FK pose unnoticed."""
    rig, read = make(), []
    keyed(rig)
    rigs.update()

    def noting(bones, name, size):
        if not bones.id_data.is_evaluated:
            read.append(name)
        return floats(bones, name, size)

    with replaced(floats, noting):
        rigs.go(1, 2)
        assert "location" in read
        read.clear()
        rigs.go(3, 4)
        assert not read
        turn = rig.pose.bones["Arm 2"].path_resolve("rotation_quaternion", False)
        turn.foreach_set((0.8, 0.6, 0.0, 0.0))
        rigs.go(5)
    shown = rigs.pose_bits(rig)
    forget()
    rigs.go(5)
    assert rigs.pose_bits(rig) == shown


@pytest.mark.parametrize("by", ["mute", "influence", "driver", "custom property"])
def test_a_constraint_of_blender_is_noticed_as_it_is_turned_on_and_off(by):
    rig = make()
    con = rig.pose.bones["Arm 2"].constraints.new("LIMIT_SCALE")
    switch = rig.pose.bones["After 1"].location
    if by == "driver":
        rigs.drive(con.driver_add("influence"), rig, 'pose.bones["After 1"].location[0]')
    if by == "custom property":
        rig["amount"] = 0.0
        rigs.drive(con.driver_add("influence"), rig, '["amount"]')
    plain(rig)
    for value in (0.0, 1.0, 0.0, 0.5):
        if by == "mute":
            con.mute = not value
        elif by == "influence":
            con.influence = value
        switch.x = rig["amount"] = value
        rigs.update()
        assert (con.name in state(rig)[1]) == bool(value)


def test_removing_other_bones_meanwhile_leaves_fk():
    rig = make()
    plain(rig)
    rigs.update()
    bones = ("Root", "Arm 0", "Arm 1", "Arm 2", "Arm 3")
    before = [tuple(rig.pose.bones[name].rotation_quaternion) for name in bones]
    for gone in ("Before 0", "After 3", "Held"):
        bpy.context.view_layer.objects.active = rig
        bpy.ops.object.mode_set(mode="EDIT")
        rig.data.edit_bones.remove(rig.data.edit_bones[gone])
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.data.objects["Target"].location.x += 0.1
        rigs.update()
        assert state(rig)[0] == "REACHED"
        assert before == [tuple(rig.pose.bones[name].rotation_quaternion) for name in bones]


def test_a_bone_with_a_new_name_gets_a_copy_of_a_constraint():
    from addon.editing import copying

    rig = make()
    plain(rig)
    rigs.update()
    rig.pose.bones["After 5"].name = "Other Hand"
    rigs.update()

    made, notes = copying.copy_constraint(rig, 0, [rig.pose.bones["Other Hand"]])
    assert (made, notes) == (["Other Hand"], [])


def test_bones_that_are_renamed_in_edit_mode_are_followed():
    rig = make()
    plain(rig)
    for i in range(4):
        bpy.ops.object.mode_set(mode="EDIT")
        rig.data.edit_bones[f"Arm {i}"].name = f"Renamed {i}"
        rigs.update()
        bpy.ops.object.mode_set(mode="OBJECT")
        rigs.update()

        assert state(rig)[0] == "REACHED"
    assert rig.fabrik.constraints[0].bone == "Renamed 3"
