"""The constraint that panels show and buttons affect: the one of the selection."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest
from operating import click_bone, enter_pose_mode
from rigs import activate, add_constraint, make_chain, make_empty, update
from spiders import make_spider, tips


@pytest.fixture
def rig() -> bpy.types.Object:
    """Two limbs: B1 with a target and a pole, and B5 with a bone as its target."""
    armature = make_chain(6)
    first = add_constraint(armature, "B1", make_empty("Hand"), chain_count=2)
    first.pole_target = make_empty("Elbow")
    control = make_chain(1, "Control")
    second = add_constraint(armature, "B5", control, chain_count=3)
    second.subtarget = "B0"
    update()
    return armature


def index(rig: bpy.types.Object) -> int:
    update()
    return rig.fabrik.active_index


@pytest.mark.parametrize(("bone", "shown"), [("B1", 0), ("B0", 0), ("B5", 1), ("B4", 1), ("B3", 1)])
def test_the_active_bone_is_a_tip_or_a_member(rig: bpy.types.Object, bone: str, shown: int) -> None:
    enter_pose_mode(rig)
    rig.fabrik.active_index = 1 - shown
    update()
    click_bone(rig, bone)
    assert index(rig) == shown


def test_a_bone_of_no_chain_changes_nothing(rig: bpy.types.Object) -> None:
    enter_pose_mode(rig, click="B1")
    update()
    click_bone(rig, "B2")
    assert index(rig) == 0


@pytest.mark.parametrize("name", ["Hand", "Elbow"])
def test_targets_and_poles_stand_for_their_constraint(rig: bpy.types.Object, name: str) -> None:
    from addon.features.constraint.panels import FABRIK_PT_sidebar
    from addon.ui.refusing import active_armature, active_refusal

    rig.fabrik.active_index = 1
    update()
    activate(bpy.data.objects[name])
    assert index(rig) == 0
    assert FABRIK_PT_sidebar.poll(bpy.context)
    assert active_refusal(bpy.context) == ""
    assert active_armature(bpy.context) == rig


def test_control_bones_stand_for_the_constraint_of_another_armature(rig: bpy.types.Object) -> None:
    from addon.ui.refusing import active_armature

    rig.fabrik.active_index = 0
    update()
    control = bpy.data.objects["Control"]
    enter_pose_mode(control, click="B0")
    assert index(rig) == 1
    assert active_armature(bpy.context) == rig


def test_what_is_chosen_in_the_list_stays_until_the_selection_changes(
    rig: bpy.types.Object,
) -> None:
    enter_pose_mode(rig, click="B1")
    update()
    rig.fabrik.active_index = 1
    assert index(rig) == 1
    rig.location.x += 1.0
    assert index(rig) == 1
    click_bone(rig, "B0")
    assert index(rig) == 0


def test_what_a_script_chooses_after_selecting_stays(rig: bpy.types.Object) -> None:
    enter_pose_mode(rig, click="B5")
    update()
    click_bone(rig, "B4")
    rig.fabrik.active_index = 0
    assert index(rig) == 0


def test_of_several_constraints_with_a_tip_the_one_that_is_shown_stays(
    rig: bpy.types.Object,
) -> None:
    add_constraint(rig, "B1", make_empty("Other"), chain_count=1)
    enter_pose_mode(rig, click="B5")
    update()
    rig.fabrik.active_index = 2
    update()
    click_bone(rig, "B1")
    assert index(rig) == 2


def test_other_objects_show_nothing(rig: bpy.types.Object) -> None:
    from addon.features.constraint.panels import FABRIK_PT_sidebar

    activate(make_empty("Lamp"))
    update()
    assert not FABRIK_PT_sidebar.poll(bpy.context)


def test_buttons_act_on_the_limb_whose_target_is_selected(rig: bpy.types.Object) -> None:
    rig.fabrik.active_index = 1
    update()
    activate(bpy.data.objects["Hand"])
    update()
    bpy.ops.fabrik.snap_to_ik(switches=True)
    first, second = rig.fabrik.constraints
    assert (first.influence, second.influence) == (0.0, 1.0)


def test_the_selection_is_followed_after_undo(rig: bpy.types.Object) -> None:
    name = rig.name
    enter_pose_mode(rig, click="B5")
    update()
    bpy.ops.ed.undo_push(message="Select")
    click_bone(rig, "B1")
    update()
    bpy.ops.ed.undo_push(message="Select")
    bpy.ops.ed.undo()
    assert index(bpy.data.objects[name]) == 1


def test_a_constraint_added_elsewhere_is_not_shown_instead_of_that_of_the_active_bone(
    rig: bpy.types.Object,
) -> None:
    enter_pose_mode(rig, click="B1")
    assert index(rig) == 0
    add_constraint(rig, "B3", make_empty("Third"), chain_count=1)
    rig.fabrik.active_index = 2  # As what adds several constraints leaves it.
    assert index(rig) == 0


def test_the_active_bone_and_the_list_agree_after_removing(rig: bpy.types.Object) -> None:
    add_constraint(rig, "B3", make_empty("Third"), chain_count=1)
    enter_pose_mode(rig, click="B1")
    assert index(rig) == 0
    rig.fabrik.active_index = 1
    assert index(rig) == 1  # Chosen in the list.
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert rig.fabrik.constraints[index(rig)].bone == "B1"


def test_a_walk_shows_the_leg_of_the_active_bone() -> None:
    bpy.context.scene.frame_end = 2
    rig = make_spider()
    name, legs = rig.name, tips(rig)
    enter_pose_mode(rig, click=legs[0])
    for leg in legs[1:]:
        select_too(rig, leg)
    bpy.ops.ed.undo_push(message="Select")
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert rig.fabrik.constraints[index(rig)].bone == legs[0]
    bpy.ops.ed.undo_push(message="Add Walk")
    bpy.ops.ed.undo()
    bpy.ops.ed.redo()
    again = bpy.data.objects[name]
    assert again.fabrik.constraints[index(again)].bone == legs[0]


def test_a_file_is_shown_as_it_was_saved(rig: bpy.types.Object, tmp_path: Path) -> None:
    """What was chosen in the list is the user's, and a farm must not change it."""
    enter_pose_mode(rig, click="B1")
    update()
    rig.fabrik.active_index = 1
    update()
    name, path = rig.name, str(tmp_path / "chosen.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert index(bpy.data.objects[name]) == 1
    click_bone(bpy.data.objects[name], "B0")
    assert index(bpy.data.objects[name]) == 0


def test_a_render_shows_nothing_else(rig: bpy.types.Object) -> None:
    """It writes nothing, even if the selection has changed since the last update."""
    from addon.ui import following

    enter_pose_mode(rig, click="B1")
    update()
    click_bone(rig, "B5")
    following.follow(SimpleNamespace(depsgraph=SimpleNamespace(mode="RENDER")))
    assert rig.fabrik.active_index == 0
    following.follow(SimpleNamespace(depsgraph=SimpleNamespace(mode="VIEWPORT")))
    assert rig.fabrik.active_index == 1


def test_an_armature_in_object_mode_stands_for_itself(rig: bpy.types.Object) -> None:
    """Also if a constraint of another one has it as its target."""
    from addon.ui.refusing import active_armature

    other = make_chain(2, "Other")
    add_constraint(other, "B1", rig)
    update()
    activate(rig)
    update()
    assert active_armature(bpy.context) == rig


def test_what_was_just_removed_raises_nothing(rig: bpy.types.Object) -> None:
    from addon.ui.following import selected_entry

    activate(bpy.data.objects["Hand"])
    update()
    assert selected_entry(bpy.context) == (rig, 0)
    bpy.data.objects.remove(rig)
    assert selected_entry(bpy.context) is None


def test_several_selected_limbs_are_switched_by_one_button(rig: bpy.types.Object) -> None:
    from addon.ui.choosing import selected_in

    enter_pose_mode(rig, click="B4")
    assert index(rig) == 1
    assert selected_in(bpy.context, rig) == [1]
    select_too(rig, "B1")
    assert selected_in(bpy.context, rig) == [0, 1]
    drawn = drawn_operators(rig)
    assert drawn["FK (2)"] == {"to": "FK", "which": "SELECTED", "depress": False}
    assert drawn["IK (2)"] == {"to": "IK", "which": "SELECTED", "depress": True}
    rig.fabrik.active_index = 0
    assert bpy.ops.fabrik.switch(to="FK", which="SELECTED") == {"FINISHED"}
    assert [item.influence for item in rig.fabrik.constraints] == [0.0, 0.0]
    rig.fabrik.constraints[0].influence = 1.0
    drawn = drawn_operators(rig)
    assert not drawn["FK (2)"]["depress"], "they differ"
    assert not drawn["IK (2)"]["depress"]


def test_a_limb_chosen_in_the_list_is_switched_alone(rig: bpy.types.Object) -> None:
    add_constraint(rig, "B2", make_empty("Third"), chain_count=1).name = "Third"
    enter_pose_mode(rig, click="B4")
    select_too(rig, "B1")
    index(rig)
    rig.fabrik.active_index = 2
    assert drawn_operators(rig)["FK"] == {"to": "FK", "which": "ACTIVE", "depress": False}
    assert drawn_operators(rig)["IK"] == {"to": "IK", "which": "ACTIVE", "depress": True}
    rig.fabrik.constraints[2].influence = 0.0
    assert drawn_operators(rig)["FK"] == {"to": "FK", "which": "ACTIVE", "depress": True}


def test_selected_targets_stand_for_their_constraints(rig: bpy.types.Object) -> None:
    from addon.ui.choosing import selected_in

    activate(bpy.data.objects["Elbow"])
    assert selected_in(bpy.context, rig) == [0]
    activate(rig)
    enter_pose_mode(rig)
    bpy.data.objects["Elbow"].select_set(True)
    click_bone(rig, "B5")
    assert selected_in(bpy.context, rig) == [1]  # The Empty stays selected from before.


def select_too(rig: bpy.types.Object, name: str) -> None:
    bones = rig.pose.bones if bpy.app.version >= (5, 0, 0) else rig.data.bones
    bones[name].select = True
    update()


def drawn_operators(rig: bpy.types.Object) -> dict[str, dict[str, object]]:
    """Return the buttons that the section of FK and IK draws, with their properties."""
    from addon.features.fk_ik.switching import _draw

    drawn: dict[str, dict[str, object]] = {}

    class Recorder:
        def column(self, **_: object) -> Recorder:
            return self

        row = column

        def operator(self, name: str, text: str = "", **settings: object) -> object:
            found = drawn.setdefault(text or name, {})
            if "depress" in settings:
                found["depress"] = settings["depress"]

            class Properties:
                def __setattr__(self, key: str, value: object) -> None:
                    found[key] = value

            return Properties()

    _draw(Recorder(), rig, rig.fabrik.constraints[rig.fabrik.active_index])
    return drawn


def test_a_target_that_moved_since_a_row_was_clicked_is_followed(rig: bpy.types.Object) -> None:
    hand = bpy.data.objects["Hand"]
    activate(hand)
    assert index(rig) == 0
    rig.fabrik.active_index = 1
    hand.location.x += 0.2
    update()
    activate(bpy.data.objects["Elbow"])
    assert index(rig) == 0
