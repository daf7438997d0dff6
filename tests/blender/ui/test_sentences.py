"""What the panel of a constraint says, and of whom."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from operating import enter_pose_mode
from rigs import add_constraint, key, make_chain, make_empty, update


@pytest.fixture
def rig(empty_file: None) -> bpy.types.Object:
    """Two chains that share a bone; the first has a pole."""
    armature = make_chain(6)
    first = add_constraint(armature, "B3", make_empty("Hand", (0.4, 0.3, 3.2)), chain_count=4)
    first.pole_target = make_empty("Elbow", (3, 0, 2))
    first.name = "Spine"
    add_constraint(armature, "B5", make_empty("Tip", (0.5, 0, 5)), chain_count=3).name = "Tail"
    update()
    return armature


def said(rig: Any, index: int = 0) -> str:
    from addon.features.constraint.sentences import sentence_of

    update()
    return sentence_of(rig, index)


def owner(rig: Any, bone: str, index: int = 0) -> str:
    from addon.features.constraint.sentences import owner_of

    return owner_of(rig, rig.fabrik.constraints[index], bone)


@pytest.mark.parametrize("off", ["enabled", "influence"])
def test_shared_bones_are_said_while_the_other_one_is_on(rig: Any, off: str) -> None:
    assert said(rig).startswith("Shares bones with “Tail”. They are solved together")
    setattr(rig.fabrik.constraints[1], off, 0)
    assert said(rig) == ""
    assert "hares bones" not in said(rig, 1)
    setattr(rig.fabrik.constraints[1], off, 1)
    assert "“Tail”" in said(rig)


def test_an_influence_that_is_keyed_counts_at_each_frame(rig: Any) -> None:
    other = rig.fabrik.constraints[1]
    key(other, "influence", {1: 1.0, 20: 0.0})
    for frame, is_on in ((1, True), (20, False), (10, True)):
        bpy.context.scene.frame_set(frame)
        assert ("hares bones" in said(rig)) == is_on


def test_a_pole_on_the_axis_is_said(rig: Any) -> None:
    rig.fabrik.constraints[1].enabled = False
    assert said(rig) == ""
    pole, target = bpy.data.objects["Elbow"], bpy.data.objects["Hand"]
    for share in (0.5, -1.0, 3.0, 0.0):
        pole.location = share * target.location
        assert said(rig).startswith("The pole is on the line from root to target")
    rig.fabrik.constraints[0].pole_weight = 0.0
    assert said(rig) == ""


@pytest.mark.parametrize("how", ["EDIT", "REST"])
def test_the_rest_position_is_said(rig: Any, how: str) -> None:
    from addon.features.constraint import draw

    if how == "EDIT":
        bpy.context.view_layer.objects.active = rig
        bpy.ops.object.mode_set(mode="EDIT")
    else:
        rig.data.pose_position = "REST"
    assert "is in rest position" in said(rig)
    assert labels(draw._draw_report, rig) == ["Showing the rest position"]
    if how == "EDIT":
        bpy.ops.object.mode_set(mode="OBJECT")
    else:
        rig.data.pose_position = "POSE"
    assert "is in rest position" not in said(rig)
    assert labels(draw._draw_report, rig)[0].startswith("Reached")


def labels(draw: Any, rig: Any) -> list[str]:
    """Return the texts that the report of the first constraint draws."""
    drawn: list[str] = []

    class Recorder:
        def row(self) -> Recorder:
            return self

        def label(self, text: str, **_: object) -> None:
            drawn.append(text)

    draw(Recorder(), bpy.context, rig.fabrik.constraints[0])
    return drawn


def test_the_panel_says_whose_settings_it_shows(rig: Any) -> None:
    assert owner(rig, "") == "Settings of “Spine”"
    assert owner(rig, "B3") == "Settings of “Spine”"
    assert owner(rig, "B1") == "Settings of “Spine”, which poses “B1”"
    assert owner(rig, "B5") == "Settings of “Spine”, not of “B5”"
    control = add_constraint(rig, "B0", rig, chain_count=1)
    control.subtarget, control.name = "B5", "Root"
    update()
    assert owner(rig, "B5", 2) == "Settings of “Root”"


def test_the_panel_of_a_bone_within_a_chain_names_what_poses_it(rig: Any) -> None:
    from addon.features.constraint.sentences import posed_by

    assert posed_by(rig, "B1") == "“B1” is posed by “Spine”. See the sidebar for settings"
    make_chain(1, "Other")
    update()
    enter_pose_mode(rig, click="B1")
    rig.fabrik.constraints[0].chain_count = 2
    update()
    assert posed_by(rig, "B1") == ""
