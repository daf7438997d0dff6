"""Removing a constraint removes the controls added with it, if nothing else uses them."""

from collections.abc import Callable
from typing import Any

import bpy
import pytest
from humans import make_human
from kept_files import reopen
from operating import add_limbs, click_bones, enter_pose_mode
from rigs import activate, add_constraint, curves, evaluated, go, make_chain, make_empty, update

from addon.editing import constraints
from addon.editing.unused import remove_constraints


def clear(rig: Any, *names: str, **options: object) -> None:
    click_bones(rig, *names)
    assert bpy.ops.fabrik.ik_clear(**options) == {"FINISHED"}
    update()


def contents() -> tuple[Any, ...]:
    """All that adding and removing could leave behind."""
    rig = bpy.data.objects["Rig"]
    return (
        sorted(bpy.data.objects.keys()),
        sorted(rig.data.bones.keys()),
        sorted(one.name for one in rig.data.collections_all),
        sorted(bpy.data.armatures.keys()),
        sorted(bpy.data.actions.keys()),
    )


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
def test_nothing_is_left_and_adding_again_gives_the_same_names(controls: str) -> None:
    rig = make_human(False)
    before = contents()
    names = []
    for _ in range(3):
        add_limbs(rig, "hand.L", controls=controls)
        item = rig.fabrik.constraints[0]
        names.append((item.target.name, item.subtarget, item.pole_target.name, item.pole_subtarget))
        clear(rig, "hand.L")
        assert contents() == before
    assert names[0] == names[1] == names[2]
    assert names[0] == (
        ("Rig", "hand IK.L", "Rig", "hand Pole.L")
        if controls == "BONE"
        else ("hand.L Target", "", "hand.L Pole", "")
    )


def test_the_button_in_the_panel_does_the_same_from_the_control() -> None:
    rig = make_human(False)
    before = contents()
    add_limbs(rig, "hand.L", controls="BONE")
    assert [bone.name for bone in bpy.context.selected_pose_bones] == ["hand IK.L"]
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert contents() == before
    assert bpy.context.active_pose_bone.name == "hand.L", "it can be added again at once"
    assert [bone.name for bone in bpy.context.selected_pose_bones] == ["hand.L"]
    add_limbs(rig, "hand.L", controls="EMPTY")
    bpy.ops.object.mode_set(mode="OBJECT")
    activate(rig.fabrik.constraints[0].target)
    update()
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert contents() == before
    assert bpy.context.object == rig


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
def test_they_can_be_kept(controls: str) -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", controls=controls)
    before = contents()
    clear(rig, "hand.L", keep_controls=True)
    assert not rig.fabrik.constraints
    assert contents() == before
    properties = bpy.ops.fabrik.constraint_remove.get_rna_type().properties
    assert properties["keep_controls"].name == "Keep Controls"


def test_their_keys_go_and_those_of_other_bones_stay() -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", controls="BONE")
    for name in ("hand IK.L", "hand Pole.L", "spine"):
        rig.pose.bones[name].keyframe_insert("location", frame=3)
    clear(rig, "hand.L")
    assert {curve.data_path for curve in curves(rig)} == {'pose.bones["spine"].location'}
    add_limbs(rig, "hand.R", controls="EMPTY")
    rig.fabrik.constraints[0].target.keyframe_insert("location", frame=3)
    count = len(bpy.data.actions)
    clear(rig, "hand.R")
    assert len(bpy.data.actions) == count - 1


def test_the_fk_pose_comes_back_and_unkeyed_poses_stay() -> None:
    rig = make_human(False)
    rig.pose.bones["spine"].rotation_quaternion = (0.98, 0.1, 0.1, 0.0)
    rig.pose.bones["upper_arm.L"].rotation_quaternion = (0.9, 0.1, 0.2, 0.1)
    update()
    names = rig.pose.bones.keys()
    posed: Any = evaluated(rig)
    before = [posed.pose.bones[name].matrix.copy() for name in names]
    add_limbs(rig, "hand.L", controls="BONE")
    rig.pose.bones["hand IK.L"].location = (0.1, 0.1, -0.1)
    update()
    clear(rig, "hand.L")
    posed = evaluated(rig)
    for name, matrix in zip(names, before, strict=True):
        off = posed.pose.bones[name].matrix - matrix
        assert max(abs(x) for row in off for x in row) < 1e-6, name


def test_what_the_user_made_stays() -> None:
    rig = make_chain(3)
    target = make_empty()
    activate(rig)
    enter_pose_mode(rig)
    click_bones(rig, "B2")
    target.select_set(True)
    assert bpy.ops.fabrik.constraint_add() == {"FINISHED"}
    clear(rig, "B2")
    assert target.name in bpy.data.objects


def test_a_target_that_plus_added_goes() -> None:
    rig = make_chain(3)
    before = set(bpy.data.objects.keys())
    enter_pose_mode(rig)
    click_bones(rig, "B2")
    assert bpy.ops.fabrik.constraint_add() == {"FINISHED"}
    assert bpy.ops.fabrik.pole_add() == {"FINISHED"}
    clear(rig, "B2")
    assert set(bpy.data.objects.keys()) == before


# What uses a control, given the armature and what is its target: an object, and a bone if it is one


def constrain(owner: Any, kind: str, ob: Any, bone: str) -> None:
    con = owner.constraints.new(kind)
    if kind == "ARMATURE":
        con = con.targets.new()
    con.target, con.subtarget = ob, bone


def by_object_constraint(_rig: Any, ob: Any, bone: str) -> None:
    constrain(make_empty("User"), "COPY_LOCATION", ob, bone)


def by_armature_constraint(_rig: Any, ob: Any, bone: str) -> None:
    if bone:
        constrain(make_empty("User"), "ARMATURE", ob, bone)
    else:
        by_object_constraint(_rig, ob, bone)


def by_bone_constraint(rig: Any, ob: Any, bone: str) -> None:
    constrain(rig.pose.bones["head"], "DAMPED_TRACK", ob, bone)


def by_other_rig(_rig: Any, ob: Any, bone: str) -> None:
    constrain(make_chain(2, "Other").pose.bones["B1"], "COPY_ROTATION", ob, bone)


def by_another_chain(rig: Any, ob: Any, bone: str) -> None:
    item = rig.fabrik.constraints.add()
    item.bone, item.chain_count, item.target, item.subtarget = "head", 1, ob, bone


def by_pole(_rig: Any, ob: Any, bone: str) -> None:
    item = make_chain(2, "Other").fabrik.constraints.add()
    item.bone, item.target = "B1", make_empty()
    item.pole_target, item.pole_subtarget = ob, bone


def by_child(_rig: Any, ob: Any, bone: str) -> None:
    user = make_empty("User")
    user.parent = ob
    if bone:
        user.parent_type, user.parent_bone = "BONE", bone


def by_driver(_rig: Any, ob: Any, bone: str) -> None:
    variable = make_empty("User").driver_add("location", 0).driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].bone_target = ob, bone


def by_driver_path(rig: Any, ob: Any, bone: str) -> None:
    variable = rig.pose.bones["head"].driver_add("location", 0).driver.variables.new()
    variable.targets[0].id = ob
    variable.targets[0].data_path = f'pose.bones["{bone}"].location.x' if bone else "location.x"


def by_custom_property(rig: Any, ob: Any, bone: str) -> None:
    rig["Rig UI"] = bone or ob


def by_child_bone(rig: Any, _ob: Any, bone: str) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    child = rig.data.edit_bones.new("User")
    child.head, child.tail = (0, 0, 0), (0, 0, 1)
    child.parent = rig.data.edit_bones[bone]
    bpy.ops.object.mode_set(mode="POSE")


def by_shape_of_a_bone(rig: Any, _ob: Any, bone: str) -> None:
    rig.pose.bones["head"].custom_shape_transform = rig.pose.bones[bone]


def by_skin(rig: Any, _ob: Any, bone: str) -> None:
    rig.data.bones[bone].use_deform = True


def by_hook(_rig: Any, ob: Any, bone: str) -> None:
    mesh = bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh"))
    bpy.context.collection.objects.link(mesh)
    hook = mesh.modifiers.new("Hook", "HOOK")
    hook.object, hook.subtarget = ob, bone


def by_ground(rig: Any, ob: Any, bone: str) -> None:
    item = rig.fabrik.constraints.add()
    item.name, item.bone, item.target = "Own", bone, make_empty()
    item.chain_count = 1


USERS: tuple[Callable[..., None], ...] = (
    by_object_constraint,
    by_armature_constraint,
    by_bone_constraint,
    by_other_rig,
    by_another_chain,
    by_pole,
    by_child,
    by_driver,
    by_driver_path,
    by_custom_property,
    by_hook,
)
OF_BONES = (by_child_bone, by_shape_of_a_bone, by_skin, by_ground)


@pytest.mark.parametrize(
    ("user", "controls"),
    [(user, controls) for user in USERS for controls in ("BONE", "EMPTY")]
    + [(user, "BONE") for user in OF_BONES],
)
def test_what_is_used_is_kept(user: Callable[..., None], controls: str) -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", controls=controls)
    item = rig.fabrik.constraints[0]
    ob, bone = item.target, item.subtarget
    pole = item.pole_subtarget or item.pole_target.name
    user(rig, ob, bone)
    update()
    activate(rig)
    clear(rig, "hand.L")
    assert ob.name in bpy.data.objects
    assert not bone or bone in rig.data.bones
    assert pole not in rig.data.bones, "nothing uses it"
    assert pole not in bpy.data.objects


def test_controls_that_use_each_other_go_together() -> None:
    rig = make_human(False)
    before = contents()
    add_limbs(rig, "hand.L", controls="BONE")
    constrain(rig.pose.bones["hand Pole.L"], "COPY_ROTATION", rig, "hand IK.L")
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["hand Pole.L"].parent = rig.data.edit_bones["hand IK.L"]
    bpy.ops.object.mode_set(mode="POSE")
    clear(rig, "hand.L")
    assert contents() == before


def test_a_control_goes_with_its_holds_unless_it_holds_something() -> None:
    rig = make_human(False)
    before = contents()
    add_limbs(rig, "hand.L", "foot.L")
    foot = rig.fabrik.constraints["foot.L"].subtarget
    switch = bpy.ops.fabrik.hold_parent
    assert switch(constraint="hand.L", parent="HEAD") == {"FINISHED"}
    assert switch(constraint="foot.L", parent="HIPS") == {"FINISHED"}
    rig.data.bones.active = rig.data.bones[foot]
    assert switch(constraint="hand.L", use_pole=True, parent="ACTIVE") == {"FINISHED"}
    clear(rig, "foot.L")
    assert foot in rig.data.bones, "the pole of the hand follows it"
    assert [hold.bone for hold in rig.fabrik.holds] == ["hand IK.L", foot, "hand Pole.L"]
    clear(rig, "hand.L")
    assert [hold.bone for hold in rig.fabrik.holds] == [foot]
    add_limbs(rig, "hand.R")
    assert switch(constraint="hand.R", parent="HEAD") == {"FINISHED"}
    clear(rig, "hand.R")
    assert [hold.bone for hold in rig.fabrik.holds] == [foot]
    bpy.ops.fabrik.hold_remove(index=0)
    assert {*rig.data.bones.keys()} - {*before[1]} == {foot}


def test_an_armature_of_the_same_names_keeps_none() -> None:
    other = make_human(False)
    add_limbs(other, "hand.L", controls="BONE")
    constrain(make_empty("User"), "COPY_LOCATION", other, "hand IK.L")
    bpy.ops.object.mode_set(mode="OBJECT")
    other.name = "Other"
    rig = make_human(False)
    assert rig.name == "Rig"
    before = contents()
    add_limbs(rig, "hand.L", controls="BONE")
    clear(rig, "hand.L")
    assert contents() == before
    assert "hand IK.L" in other.data.bones


def test_armature_data_that_others_use_is_left_as_it_is() -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", controls="BONE")
    bpy.context.collection.objects.link(bpy.data.objects.new("Twin", rig.data))
    bones = rig.data.bones.keys()
    clear(rig, "hand.L")
    assert rig.data.bones.keys() == bones


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
def test_one_undo_step_gives_all_back(controls: str) -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", controls=controls)
    item = rig.fabrik.constraints[0]
    owner = rig.pose.bones[item.subtarget] if item.subtarget else item.target
    owner.keyframe_insert("location", frame=3)
    click_bones(rig, "hand.L")
    bpy.ops.ed.undo_push(message="before")
    before = contents()
    assert bpy.ops.fabrik.ik_clear("EXEC_DEFAULT", True) == {"FINISHED"}
    assert contents() != before
    bpy.ops.ed.undo()
    assert contents() == before
    rig = bpy.data.objects["Rig"]
    go(1)
    item = rig.fabrik.constraints[0]
    assert (item.bone, item.state) == ("hand.L", "REACHED")
    assert len(curves(rig if item.subtarget else item.target)) == 3


def test_controls_are_known_after_saving_and_edit_mode() -> None:
    rig = make_human(False)
    before = contents()
    add_limbs(rig, "hand.L", controls="BONE")
    add_limbs(rig, "foot.L", controls="EMPTY")
    for mode in ("EDIT", "POSE"):
        bpy.ops.object.mode_set(mode=mode)
    reopen()
    rig = bpy.data.objects["Rig"]
    clear(rig, "hand.L", "foot.L")
    assert contents() == before


# Characters


@pytest.mark.parametrize("controls", ["EMPTY", "BONE", "ARMATURE"])
def test_what_a_character_was_set_up_with_is_removed_limb_by_limb_too(controls: str) -> None:
    rig = make_human(False)
    before = contents()
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}
    update()
    clear(rig, *[item.bone for item in rig.fabrik.constraints])
    assert contents() == before
    assert all(bone.fabrik_joint.limit_type == "NONE" for bone in rig.pose.bones)
    activate(rig)
    assert not bpy.ops.fabrik.character_remove.poll(), "nothing is left of it"
    assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}


def test_controls_in_a_collection_that_is_excluded_go_too() -> None:
    rig = make_human(False)
    before = contents()
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(controls="ARMATURE") == {"FINISHED"}
    scene, layer = bpy.context.scene, bpy.context.view_layer
    [controls] = [ob for ob in layer.objects if ob.type == "ARMATURE" and ob != rig]
    away = bpy.data.collections.new("Away")
    scene.collection.children.link(away)
    away.objects.link(controls)
    scene.collection.objects.unlink(controls)
    layer.layer_collection.children["Away"].exclude = True
    update()
    bones = len(controls.data.bones)
    clear(rig, "hand.L")
    assert len(controls.data.bones) == bones - 2
    assert [*controls.users_collection] == [away] and controls.name not in layer.objects
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert contents() == before


def test_remove_set_up_keeps_what_is_used_and_all_if_asked() -> None:
    rig = make_human(False)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(controls="BONE") == {"FINISHED"}
    constrain(make_empty("User"), "COPY_LOCATION", rig, "hand IK.L")
    activate(rig)
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    added = [bone.name for bone in rig.data.bones if bone.fabrik_is_control]
    assert added == ["hand IK.L"]
    assert bpy.ops.fabrik.character_set_up(controls="EMPTY") == {"FINISHED"}
    count = len(bpy.data.objects)
    assert bpy.ops.fabrik.character_remove(keep_controls=True) == {"FINISHED"}
    assert (len(bpy.data.objects), len(rig.fabrik.constraints)) == (count, 0)


def test_the_redo_panel_is_offered_after_the_last_one_is_removed() -> None:
    """Blender shows it, and repeats the operator, only if that could run again."""
    from addon.ui.removing import Removing

    class Last:
        bl_idname = "FABRIK_OT_ik_clear"

    rig = make_human(False)
    add_limbs(rig, "hand.L", controls="BONE")
    clear(rig, "hand.L")
    operators = {cls.__name__: cls for cls in Removing.__subclasses__()}
    assert set(operators) == {
        "FABRIK_OT_constraint_remove",
        "FABRIK_OT_ik_clear",
        "FABRIK_OT_character_remove",
    }

    class Manager:
        operators = (Last(),)

    class Context:
        window_manager = Manager()

        def __getattr__(self, name: str) -> Any:
            return getattr(bpy.context, name)

    assert operators["FABRIK_OT_ik_clear"].poll(Context())
    Last.bl_idname = "POSE_OT_paste"
    assert not operators["FABRIK_OT_ik_clear"].poll(Context())


def test_removing_stores_nothing_on_a_target_that_is_not_ours() -> None:
    rig = make_chain(2)
    target = make_empty("Ball", (0.6, 0.5, 0.9))
    item: Any = rig.fabrik.constraints.add()
    item.bone, item.target = "B1", target
    click_bones(rig, "B1")
    assert bpy.ops.fabrik.ik_clear() == {"FINISHED"}
    assert not target.is_property_set("fabrik")


def test_a_constraint_whose_tip_bone_is_gone_is_removed() -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", controls="EMPTY")
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    bones.remove(bones["hand.L"])
    enter_pose_mode(rig)
    update()
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert not rig.fabrik.constraints


@pytest.mark.parametrize("remove", ["ik_clear", "constraint_remove"])
def test_hinges_go_with_the_constraint_they_were_found_for(remove: str) -> None:
    """Set up in another pose, the next one would be turned by those of the pose before."""
    rig = make_human(False)
    add_limbs(rig, "hand.L", controls="EMPTY")
    assert rig.pose.bones["forearm.L"].fabrik_joint.limit_type == "HINGE"
    click_bones(rig, "hand.L")
    assert getattr(bpy.ops.fabrik, remove)() == {"FINISHED"}
    rig.pose.bones["forearm.L"].rotation_mode = "XYZ"
    rig.pose.bones["forearm.L"].rotation_euler = (0.9, 0.8, 1.1)
    update()
    before = {bone.name: bone.matrix.copy() for bone in rig.pose.bones}
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    update()
    for name, matrix in before.items():
        for row, shown in zip(matrix, evaluated(rig).pose.bones[name].matrix, strict=True):
            assert tuple(shown) == pytest.approx(tuple(row), abs=1e-3)


def test_hinges_that_were_changed_or_that_another_one_needs_stay() -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", "hand.R", controls="EMPTY", use_both_sides=False)
    rig.pose.bones["forearm.L"].fabrik_joint.hinge_max -= 0.1
    item: Any = rig.fabrik.constraints.add()
    item.bone, item.chain_count, item.solver = "hand.R", 3, "FABRIK"
    click_bones(rig, "hand.L", "hand.R")
    for index in (1, 0):
        rig.fabrik.active_index = index
        assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    limits = {n: rig.pose.bones[f"forearm.{n}"].fabrik_joint.limit_type for n in "LR"}
    assert limits == {"L": "HINGE", "R": "HINGE"}
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert rig.pose.bones["forearm.R"].fabrik_joint.limit_type == "NONE"


def test_many_constraints_are_removed_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each removal read the bones of all that were left: 200 took a second."""
    rig = make_chain(3)
    for number in range(40):
        item = add_constraint(rig, "B2", make_empty(), name=f"C{number}")
        item.influence = number / 40
        item.keyframe_insert("influence", frame=1)
    rig.fabrik.active_index = 30
    counted: list[object] = []
    monkeypatch.setattr(constraints, "changed", counted.append)
    remove_constraints([(rig, i) for i in range(40) if i % 10], keep_controls=True)
    assert len(counted) == 1
    bpy.context.scene.frame_set(1)
    assert [item.name for item in rig.fabrik.constraints] == ["C0", "C10", "C20", "C30"]
    assert rig.fabrik.active_index == 3
    found = {curve.data_path: curve.evaluate(1) for curve in curves(rig)}
    expected = {f"fabrik.constraints[{i}].influence": i / 4 for i in range(4)}
    assert found == pytest.approx(expected)
