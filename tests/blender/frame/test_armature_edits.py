"""What riggers do to the bones of an armature that has constraints."""

from typing import Any

import bpy
import pytest
from rigs import activate, add_constraint, evaluated, make_armature, make_empty, update

from addon.blender import errors

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
    activate(rig, "EDIT")
    for bone in rig.data.edit_bones:
        bone.select = bone.select_head = bone.select_tail = bone.name in names
    return rig.data.edit_bones


def leave() -> None:
    bpy.ops.object.mode_set(mode="OBJECT")
    update()


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
        assert "has no bone “B1.L”" in item.message
    assert len(evaluated(rig).pose.bones) == len(rig.data.bones)


def test_an_added_bone_is_noticed_before_the_pose_is_read() -> None:
    """Bulk access fails where it expects another number of bones."""
    rig = make_legs()
    add_constraint(rig, "B1.R", make_empty("Other", (-1, -0.5, 1.6)), chain_count=2)
    update()
    errors.forget_reported()
    new = edit(rig).new("New")
    new.tail = 0, 0, 1
    leave()
    assert "New" in rig.pose.bones
    assert not errors._reported
