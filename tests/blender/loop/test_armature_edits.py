"""What riggers do to the bones of an armature that has constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import pytest
from rigs import activate, add_constraint, evaluated, make_armature, make_empty, tip_error, update

pytestmark = pytest.mark.usefixtures("silent")


def make_legs() -> Any:
    """Two legs of three bones, the left one of which has a constraint, and a pinned foot."""
    bones: dict[str, Any] = {"Root": ((0, 0, -1), (0, 0, 0), "")}
    for side, x in ((".L", 1), (".R", -1)):
        bones[f"B0{side}"] = (x, 0, 0), (x, 0.2, 1), "Root"
        bones[f"B1{side}"] = (x, 0.2, 1), (x, 0, 2), f"B0{side}"
        bones[f"B2{side}"] = (x, 0, 2), (x, -0.3, 2.2), f"B1{side}"
    rig = make_armature(bones)
    add_constraint(rig, "B1.L", make_empty("Target", (1, -0.5, 1.6)), chain_count=2)
    update()
    return rig


def edit(rig: Any, *names: str) -> Any:
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.select = bone.select_head = bone.select_tail = bone.name in names
    return rig.data.edit_bones


def leave() -> None:
    bpy.ops.object.mode_set(mode="OBJECT")
    update()


def rename(bones: Any) -> None:
    bones["B1.L"].name = "Other"
    bones["B1.R"].name = "B1.L"
    bones["Other"].name = "B1.R"


def in_edit_mode(rig: Any) -> None:
    rename(edit(rig))
    leave()


def by_script(rig: Any) -> None:
    rename(rig.data.bones)
    update()


def by_flipping(rig: Any) -> None:
    edit(rig, *[bone.name for bone in rig.data.bones if bone.name != "Root"])
    bpy.ops.armature.flip_names()
    leave()


@pytest.mark.parametrize("swap", [in_edit_mode, by_script, by_flipping])
@pytest.mark.parametrize("both", [False, True])
def test_swapped_names_are_followed(swap: Callable[[Any], None], both: bool) -> None:
    rig = make_legs()
    if both:
        add_constraint(rig, "B1.R", make_empty("Right", (-1, -0.5, 1.6)), chain_count=2)
    pin = rig.fabrik.pins.add()
    pin.name = pin.bone = "B1.L"
    update()
    swap(rig)
    items = rig.fabrik.constraints
    assert [item.bone for item in items] == ["B1.R", "B1.L"][: len(items)]
    assert all(tip_error(rig, item.bone, item.target) < 1e-4 for item in items)
    swap(rig)
    assert [item.bone for item in items] == ["B1.L", "B1.R"][: len(items)]


def test_a_bone_that_is_chosen_is_meant_whatever_another_one_was_called() -> None:
    rig = make_legs()
    rig.fabrik.constraints.clear()
    update()
    rig.data.bones["B1.L"].name = "Old"
    edit(rig)
    bone = rig.data.edit_bones.new("B1.L")
    bone.head, bone.tail, bone.parent = (1, 0, 3), (1, 0, 4), rig.data.edit_bones["Root"]
    leave()
    item = add_constraint(rig, "B1.L", bpy.data.objects["Target"], chain_count=1)
    update()
    assert item.bone == "B1.L"


@pytest.mark.parametrize("way", ["dissolve", "delete"])
@pytest.mark.parametrize("names", [("B0.L",), ("B1.L",), ("B0.L", "B1.L")])
def test_bones_that_go_in_edit_mode(way: str, names: tuple[str, ...]) -> None:
    """Blender frees their pose bones at once, while those of their children point to them."""
    rig = make_legs()
    edit(rig, *names)
    getattr(bpy.ops.armature, way)()
    update()
    leave()
    (item,) = rig.fabrik.constraints
    if "B1.L" not in rig.data.bones:
        assert item.state == "INVALID"
        assert "There is no bone “B1.L”" in item.message
    assert len(evaluated(rig).pose.bones) == len(rig.data.bones)
