"""One toggle switches a limb between FK and IK, and selects what is animated from there on."""

from pathlib import Path
from typing import Any

import bpy
import pytest
from humans import make_human
from kept_files import new_file
from mathutils import Matrix
from operating import add_limbs, click_bones, refuses
from rigs import activate, add_constraint, curves, evaluated, go, make_chain, make_empty, update


@pytest.fixture
def human(empty_file: None) -> Any:
    """A human with IK on both arms, whose control bone of the left one is selected."""
    rig = make_human(False)
    add_limbs(rig, "hand.L", "hand.R", controls="BONE")
    click_bones(rig, "hand IK.L")
    go(10)
    return rig


def switch(**settings: object) -> None:
    assert bpy.ops.fabrik.switch(**settings) == {"FINISHED"}
    update()


def influences(rig: Any) -> list[float]:
    return [item.influence for item in rig.fabrik.constraints]


def selected() -> list[str]:
    return sorted(bone.name for bone in bpy.context.selected_pose_bones or ())


def active() -> str:
    return bpy.context.active_pose_bone.name


def pose(rig: Any) -> list[Matrix]:
    posed: Any = evaluated(rig)
    return [bone.matrix.copy() for bone in posed.pose.bones]


def apart(a: list[Matrix], b: list[Matrix]) -> float:
    return max(
        abs(x - y)
        for one, two in zip(a, b, strict=True)
        for row, other in zip(one, two, strict=True)
        for x, y in zip(row, other, strict=True)
    )


def bend(rig: Any, *names: str) -> None:
    for name in names:
        rig.pose.bones[name].rotation_mode = "XYZ"
        rig.pose.bones[name].rotation_euler = (0.3, 0.1, -0.2)
    update()


def test_there_and_back_it_selects_what_is_animated_and_the_pose_stays(human: Any) -> None:
    human.pose.bones["hand IK.L"].location = (0.05, -0.1, 0.1)
    update()
    before = pose(human)
    switch()
    assert influences(human) == [0.0, 1.0]
    assert (selected(), active()) == (["hand.L"], "hand.L")
    assert apart(pose(human), before) < 1e-5

    go(20)
    bend(human, "upper_arm.L")
    before = pose(human)[: len(human.pose.bones) - 4]  # Without the control bones.
    switch()
    assert influences(human) == [1.0, 1.0]
    assert (selected(), active()) == (["hand IK.L"], "hand IK.L")
    assert apart(pose(human)[: len(before)], before) < 1e-4


def test_it_keys_the_switch_and_earlier_frames_stay(human: Any) -> None:
    switch()
    assert {"fabrik.constraints[0].influence"} <= {c.data_path for c in curves(human)}
    for frame, wanted in ((8, 1.0), (9, 1.0), (10, 0.0), (30, 0.0)):
        go(frame)
        assert human.fabrik.constraints[0].influence == wanted, frame


def test_several_are_switched_to_where_the_active_one_is_not(human: Any) -> None:
    switch()
    assert influences(human) == [0.0, 1.0]
    click_bones(human, "hand.L", "hand IK.R")
    switch()
    assert influences(human) == [1.0, 1.0]
    assert (selected(), active()) == (["hand IK.L"], "hand IK.L"), "what was in IK stays as it is"
    click_bones(human, "hand.L", "hand.R")
    switch()
    assert influences(human) == [0.0, 0.0]
    assert (selected(), active()) == (["hand.L", "hand.R"], "hand.L")


def test_where_it_is_already_nothing_changes(human: Any) -> None:
    human.pose.bones["hand IK.L"].location = (0.05, -0.1, 0.1)
    update()
    before = pose(human)
    refuses(bpy.ops.fabrik.switch, saying="Already in IK at this frame: “hand.L”", to="IK")
    assert apart(pose(human), before) == 0.0
    assert not curves(human)
    switch(to="FK")
    refuses(bpy.ops.fabrik.switch, saying="Already in FK at this frame: “hand.L”", to="FK")


def test_a_bone_of_no_limb_switches_none(human: Any) -> None:
    click_bones(human, "head")
    refuses(bpy.ops.fabrik.switch, saying="No constraint belongs to the selection")
    assert influences(human) == [1.0, 1.0]


def test_what_cannot_be_switched_back_is_not_switched(human: Any) -> None:
    click_bones(human, "head")
    assert bpy.ops.fabrik.look_add() == {"FINISHED"}
    update()
    click_bones(human, "head")
    refuses(bpy.ops.fabrik.switch, saying="“head” doesn't reach for a target")
    click_bones(human, "hand IK.L", "head")
    switch()
    assert influences(human) == [0.0, 1.0, 1.0]


def test_a_bone_of_the_chain_and_the_pole_stand_for_the_limb(human: Any) -> None:
    for name, now in (("upper_arm.R", 0.0), ("hand Pole.R", 1.0)):
        click_bones(human, name)
        switch()
        assert influences(human) == [1.0, now]
        go(bpy.context.scene.frame_current + 5)


def test_an_empty_is_selected_in_object_mode_and_the_bone_in_pose_mode() -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", controls="EMPTY")
    click_bones(rig, "hand.L")
    switch()
    assert (rig.mode, active()) == ("POSE", "hand.L")
    go(5)
    switch()
    target = rig.fabrik.constraints[0].target
    assert (rig.mode, bpy.context.object) == ("OBJECT", target)
    assert bpy.context.selected_objects == [target]
    go(10)
    switch()
    assert (rig.mode, selected(), active()) == ("POSE", ["hand.L"], "hand.L")


def test_controls_of_another_armature_are_selected_in_pose_mode() -> None:
    rig = make_human(False)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(controls="ARMATURE") == {"FINISHED"}
    update()
    click_bones(rig, "hand.L")
    switch()
    go(10)
    switch()
    item = next(one for one in rig.fabrik.constraints if one.bone == "hand.L")
    assert (item.target.mode, bpy.context.object) == ("POSE", item.target)
    assert (selected(), active()) == ([item.subtarget], item.subtarget)


def test_an_override_that_is_not_for_editing_is_switched(tmp_path: Path) -> None:
    rig, target = make_chain(3), make_empty()
    add_constraint(rig, "B2", target).name = "Arm"
    home = bpy.data.collections.new("Home")
    home.objects.link(rig)
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {home})
    new_file()
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.collections = ["Home"]
    scene, layer = bpy.context.scene, bpy.context.view_layer
    scene.collection.children.link(wanted.collections[0])
    update()
    wanted.collections[0].override_hierarchy_create(scene, layer, do_fully_editable=False)
    rig = next(ob for ob in layer.objects if ob.override_library and ob.type == "ARMATURE")
    assert rig.override_library.is_system_override
    activate(rig)
    update()
    switch(which="ALL", to="FK")
    assert influences(rig) == [0.0]


def test_a_range_is_in_the_redo_panel(human: Any) -> None:
    switch(use_range=True, frame_start=10, frame_end=20)
    for frame, wanted in ((9, 1.0), (10, 0.0), (20, 0.0), (21, 1.0)):
        go(frame)
        assert human.fabrik.constraints[0].influence == wanted, frame


def test_it_is_found_by_its_name_and_its_tooltip_is_its_own() -> None:
    kinds = [getattr(bpy.ops.fabrik, name).get_rna_type() for name in dir(bpy.ops.fabrik)]
    assert [rna.name for rna in kinds if "switch" in rna.name.lower()] == [
        "Switch Parent",
        "Switch FK/IK",
    ]
    own = bpy.ops.fabrik.switch.get_rna_type().description
    assert own not in [rna.description for rna in kinds if rna.name != "Switch FK/IK"]


def test_a_toe_means_the_leg_that_it_hangs_on(human: Any) -> None:
    add_limbs(human, "foot.L", controls="BONE")
    click_bones(human, "toe.L")
    assert human.fabrik.active_index == 2, "the panel follows"
    switch()
    assert influences(human) == [1.0, 1.0, 0.0]
    assert (selected(), active()) == (["foot.L"], "foot.L")
    click_bones(human, "toe.L")
    assert bpy.ops.fabrik.ik_clear() == {"FINISHED"}
    assert [item.bone for item in human.fabrik.constraints] == ["hand.L", "hand.R"]


def test_a_limb_does_not_mean_the_trunk_that_carries_it(human: Any) -> None:
    click_bones(human, "chest")
    assert bpy.ops.fabrik.constraint_add(chain_count=2) == {"FINISHED"}
    add_limbs(human, "foot.L", "foot.R", controls="BONE", use_rotation=False)
    click_bones(human, "clavicle.L")
    refuses(bpy.ops.fabrik.switch, saying="No constraint belongs to the selection")
    click_bones(human, "toe.R")
    click_bones(human, "foot.L")
    assert human.fabrik.constraints[human.fabrik.active_index].bone == "shin.L"
    click_bones(human, "foot.L", "toe.R")
    switch()
    assert influences(human)[:3] == [1.0, 1.0, 1.0]
    assert influences(human)[3:] == [0.0, 0.0]
