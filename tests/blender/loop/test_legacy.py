"""Files that version 0.1 has saved: the FK pose that lay beside the solution is brought over."""

from __future__ import annotations

import sys
from array import array
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import pytest
from rigs import (
    add_constraint,
    channels_bits,
    go,
    make_chain,
    make_empty,
    pose_bits,
    shown_bits,
    shown_bones,
    tip_error,
    update,
)

from addon.loop import legacy

pytestmark = pytest.mark.usefixtures("empty_file")

MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZYX")
NUMBERS = {"QUATERNION": 0, "AXIS_ANGLE": -1, "XYZ": 1, "ZYX": 6, "location": -2, "scale": -3}
NOTHING_KEPT = -100
CHANNELS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
KINDS = ("rotation", "location", "scale")

Bits = tuple[bytes, bytes, bytes]


@pytest.fixture(autouse=True)
def silent(empty_file: None, capfd: pytest.CaptureFixture[str]):
    """Whatever the record holds, nothing is raised."""
    yield
    printed = "".join(capfd.readouterr())
    assert "Traceback" not in printed
    assert "FABRIK" not in printed


def channel(bone: bpy.types.PoseBone, kind: str) -> str:
    return CHANNELS.get(bone.rotation_mode, "rotation_euler") if kind == "rotation" else kind


def number(bone: bpy.types.PoseBone, kind: str) -> int:
    return NUMBERS[bone.rotation_mode if kind == "rotation" else kind]


def look(rig: bpy.types.Object) -> Bits:
    return pose_bits(rig), channels_bits(rig), shown_bits(rig)


def its_rig() -> bpy.types.Object:
    return bpy.data.objects["Rig"]


def solved_rig(mode: str = "QUATERNION", **settings: object) -> tuple[bpy.types.Object, Bits]:
    """A chain whose second and third bone have a pose of their own, and that pose."""
    rig = make_chain(mode=mode)
    for name, angle in (("B1", 0.4), ("B2", -0.7)):
        rig.pose.bones[name].rotation_quaternion = (0.9, angle, 0.1, 0.2)
        rig.pose.bones[name].rotation_axis_angle = (angle, 0.2, 1.0, 0.0)
        rig.pose.bones[name].rotation_euler = (angle, 0.2, -0.1)
    rig.pose.bones["B0"].location = (0.1, 0.2, -0.3)
    rig.pose.bones["B1"].scale = (1.1, 0.9, 1.0)
    update()
    fk = look(rig)
    add_constraint(rig, "B2", make_empty(), **settings)
    update()
    assert channels_bits(rig) == fk[1] != shown_bits(rig)
    return rig, fk


def record_of(rig: bpy.types.Object, kinds: tuple[str, ...]) -> bytes:
    """Return modes, FK pose and solution as version 0.1 kept them, bone by bone for each kind."""
    modes, kept, written = array("i"), array("f"), array("f")
    for kind in kinds:
        for bone, shown in zip(rig.pose.bones, shown_bones(rig), strict=True):
            modes.append(number(bone, kind))
            for numbers, source in ((kept, bone), (written, shown)):
                values = list(getattr(source, channel(bone, kind)))
                numbers.extend(values + [0.0] * (4 - len(values)))
    count = len(rig.pose.bones).to_bytes(4, sys.byteorder) if len(kinds) > 1 else b""
    return modes.tobytes() + kept.tobytes() + written.tobytes() + count


def age(rig: bpy.types.Object, kinds: tuple[str, ...] = ("rotation",)) -> None:
    """Make an armature what version 0.1 has left: its channels hold the solution."""
    rig.fabrik.record = b2a_base64(record_of(rig, kinds), newline=False)
    solution = {
        (bone.name, name): list(getattr(bone, name))
        for kind in kinds
        for bone in shown_bones(rig)
        for name in [channel(bone, kind)]
    }
    for place, bone in enumerate(rig.pose.bones):
        bone.fabrik_place = place
    for (name, owner), numbers in solution.items():
        setattr(rig.pose.bones[name], owner, numbers)


def reopened(folder: Path) -> bpy.types.Object:
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "old.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(folder / "old.blend"))
    return its_rig()


def assert_brought_over(rig: bpy.types.Object) -> None:
    assert rig.fabrik.record == b""
    assert all(bone.fabrik_place == -1 for bone in rig.pose.bones)


def switch_off(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].enabled = False
    update()


@pytest.mark.parametrize("mode", MODES)
def test_rotations_are_the_fk_pose_again_and_the_same_is_shown(mode: str, tmp_path: Path) -> None:
    rig, fk = solved_rig(mode)
    solved = look(rig)
    age(rig)
    assert channels_bits(rig) != fk[1]
    rig = reopened(tmp_path)
    assert_brought_over(rig)
    assert look(rig) == solved
    go(5)
    assert look(rig) == solved
    switch_off(rig)
    assert look(rig) == fk


@pytest.mark.parametrize(
    ("owner", "settings"),
    [
        ("location", {"use_free_root": True}),
        ("scale", {"use_stretch": True, "stretch_max": 3.0, "use_volume": True}),
    ],
)
def test_locations_and_scales_are_the_fk_pose_again(
    owner: str, settings: dict[str, object], tmp_path: Path
) -> None:
    rig, fk = solved_rig(**settings)
    rig.fabrik.constraints[0].target.location = (4.0, 1.0, 4.0)
    update()
    solved, given = look(rig), getattr(rig.pose.bones["B0"], owner)
    assert (getattr(shown_bones(rig)["B0"], owner) - given).length > 0.1
    age(rig, KINDS)
    rig = reopened(tmp_path)
    assert_brought_over(rig)
    assert look(rig) == solved
    switch_off(rig)
    assert look(rig) == fk


def test_it_is_brought_over_once_and_then_as_any_file(tmp_path: Path) -> None:
    rig, fk = solved_rig()
    age(rig)
    rig = reopened(tmp_path)
    rig.pose.bones["B0"].rotation_quaternion = (0.6, 0.0, 0.8, 0.0)
    update()
    solved = look(rig)
    for _ in range(2):
        rig = reopened(tmp_path)
        assert_brought_over(rig)
        assert look(rig) == solved
    rig.pose.bones["B0"].rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    switch_off(rig)
    assert look(rig) == fk


def test_a_channel_that_was_changed_since_is_kept(tmp_path: Path) -> None:
    """As in a Blender without the extension: it is the new FK pose, and the others are the old."""
    rig, _ = solved_rig()
    given = rig.pose.bones["B2"].rotation_quaternion[:]
    age(rig)
    rig.pose.bones["B1"].rotation_quaternion = (0.8, 0.0, 0.6, 0.0)
    rig = reopened(tmp_path)
    assert_brought_over(rig)
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    switch_off(rig)
    for bones in (rig.pose.bones, shown_bones(rig)):
        assert bones["B0"].rotation_quaternion[:] == (1.0, 0.0, 0.0, 0.0)
        assert bones["B1"].rotation_quaternion[:] == pytest.approx((0.8, 0.0, 0.6, 0.0))
        assert bones["B2"].rotation_quaternion[:] == given


def test_a_bone_whose_mode_was_changed_since_keeps_what_it_holds(tmp_path: Path) -> None:
    rig, _ = solved_rig()
    age(rig)
    bone = rig.pose.bones["B1"]
    bone.rotation_mode = "XYZ"
    held = bone.rotation_euler[:]
    rig = reopened(tmp_path)
    switch_off(rig)
    assert rig.pose.bones["B1"].rotation_euler[:] == held
    assert rig.pose.bones["B0"].rotation_quaternion[:] == (1.0, 0.0, 0.0, 0.0)


def test_keyed_bones_are_what_their_keys_say(tmp_path: Path) -> None:
    rig, _ = solved_rig()
    for frame, turn in ((1, (1.0, 0.0, 0.0, 0.0)), (11, (0.8, 0.6, 0.0, 0.0))):
        rig.pose.bones["B1"].rotation_quaternion = turn
        rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=frame)
    go(6)
    solved = look(rig)
    switch_off(rig)
    fk = look(rig)
    rig.fabrik.constraints[0].enabled = True
    update()
    age(rig)
    rig = reopened(tmp_path)
    assert_brought_over(rig)
    for frame in (6, 11, 6):
        go(frame)
        assert (look(rig) == solved) == (frame == 6)
    switch_off(rig)
    go(6)
    assert look(rig) == fk


def test_bones_are_found_by_their_places(tmp_path: Path) -> None:
    """Bones that were renamed, and some that were made after it was written."""
    rig, _ = solved_rig()
    given = [bone.rotation_quaternion[:] for bone in rig.pose.bones]
    age(rig)
    rig.fabrik.constraints[0].enabled = False
    for bone in rig.data.bones:
        bone.name = f"Other {bone.name}"
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    first = rig.data.edit_bones.new("A")  # Sorted before the chain, being without a parent.
    first.head, first.tail = (5, 0, 0), (5, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    rig = reopened(tmp_path)
    assert_brought_over(rig)
    turns = {bone.name: bone.rotation_quaternion[:] for bone in rig.pose.bones}
    assert turns.pop("A") == (1.0, 0.0, 0.0, 0.0)
    assert turns == {f"Other B{i}": turn for i, turn in enumerate(given)}


def test_bones_of_which_nothing_was_kept_are_left_alone(tmp_path: Path) -> None:
    rig, fk = solved_rig()
    age(rig)
    stored = array("i", a2b_base64(rig.fabrik.record))
    stored[1] = NOTHING_KEPT
    rig.fabrik.record = b2a_base64(stored.tobytes(), newline=False)
    held = rig.pose.bones["B1"].rotation_quaternion[:]
    rig = reopened(tmp_path)
    switch_off(rig)
    assert rig.pose.bones["B1"].rotation_quaternion[:] == held
    rig.pose.bones["B1"].rotation_quaternion = (0.9, 0.4, 0.1, 0.2)
    update()
    assert look(rig) == fk


def nan_kept(stored: bytes) -> bytes:
    numbers = array("f", stored)
    numbers[3 : 3 + 12] = array("f", [float("nan")] * 12)
    return numbers.tobytes()


DAMAGES: tuple[Callable[[bytes], bytes], ...] = (
    lambda stored: stored[:-4] + b"\xff" * 4,
    lambda stored: stored[:-40],
    lambda stored: stored[:7],
    lambda stored: stored * 2,
    lambda stored: stored + b"\xff" * 4,
    lambda stored: b"\xff" * len(stored),
    nan_kept,
)


@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS], ids=["rotations", "all"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_loses_nothing(
    damage: Callable[[bytes], bytes], kinds: tuple[str, ...], tmp_path: Path
) -> None:
    """Each channel holds the FK pose that was kept, or else what it held."""
    rig, _ = solved_rig(use_stretch=True, stretch_max=3.0)
    given = channels_by_bone(rig)
    age(rig, kinds)
    held = channels_by_bone(rig)
    rig.fabrik.record = b2a_base64(damage(a2b_base64(rig.fabrik.record)), newline=False)
    rig = reopened(tmp_path)
    assert_brought_over(rig)
    for key, numbers in channels_by_bone(rig).items():
        assert numbers in (given[key], held[key])
    assert tip_error(rig, "B2", bpy.data.objects["Target"]) < 1e-3
    assert rig.fabrik.constraints[0].state == "REACHED"


def test_what_is_no_record_at_all_loses_nothing(tmp_path: Path) -> None:
    rig, fk = solved_rig()
    rig.fabrik.record = b"?"
    for bone in rig.pose.bones:
        bone.fabrik_place = 1000
    rig = reopened(tmp_path)
    assert_brought_over(rig)
    switch_off(rig)
    assert look(rig) == fk


def test_joints_are_brought_over_from_pose_bones(tmp_path: Path) -> None:
    rig, _ = solved_rig()
    solved = look(rig)
    bone = rig.pose.bones["B1"]
    stored = stored_by_extensions(bone)
    # A choice is stored as its number; what was never set is not.
    stored["fabrik_joint"] = {"limit_type": 2, "hinge_max": 0.25, "center": (0.5, 0.0, -0.5)}
    rig = reopened(tmp_path)
    for _ in range(2):
        joint = rig.pose.bones["B1"].fabrik_joint
        assert (joint.limit_type, joint.hinge_max) == ("HINGE", 0.25)
        assert tuple(joint.center) == (0.5, 0.0, -0.5)
        assert joint.hinge_axis == "X"
        assert rig.pose.bones["B2"].fabrik_joint.limit_type == "NONE"
        assert "fabrik_joint" not in stored_by_extensions(rig.pose.bones["B1"])
        assert look(rig) != solved
        rig = reopened(tmp_path)


@pytest.mark.parametrize("value", [99, -1, "?", 1.5])
def test_a_joint_that_is_forged_costs_nothing_else(
    value: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rig, _ = solved_rig()
    solved = look(rig)
    stored_by_extensions(rig.pose.bones["B1"])["fabrik_joint"] = {"limit_type": value}
    rig = reopened(tmp_path)
    assert look(rig) == solved
    assert rig.fabrik.constraints[0].state == "REACHED"
    assert rig.pose.bones["B1"].fabrik_joint.limit_type == "NONE"
    capfd.readouterr()


def test_joints_of_an_override_stay_where_they_are_while_armature_data_is_linked(
    tmp_path: Path,
) -> None:
    """Given to linked data they would be gone with the next file."""
    solved_rig()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    own = wanted.objects[0].override_create(remap_local_usages=True)
    bpy.context.scene.collection.objects.link(own)
    update()
    for _ in range(2):
        stored_by_extensions(own.pose.bones["B1"])["fabrik_joint"] = {"hinge_max": 0.25}
        legacy.convert()
        assert own.pose.bones["B1"].fabrik_joint.hinge_max == 0.25
        assert "fabrik_joint" in stored_by_extensions(own.pose.bones["B1"])
    own.data.override_create(remap_local_usages=True)
    legacy.convert()
    assert "fabrik_joint" not in stored_by_extensions(own.pose.bones["B1"])


def stored_by_extensions(bone: Any) -> Any:
    """Return what holds the properties that extensions have registered."""
    if bpy.app.version >= (5, 0):
        return bone.bl_system_properties_get(do_create=True)
    return bone


def channels_by_bone(rig: bpy.types.Object) -> dict[tuple[str, str], tuple[float, ...]]:
    names = ("rotation_quaternion", "rotation_euler", "rotation_axis_angle", "location", "scale")
    return {
        (bone.name, name): tuple(getattr(bone, name)) for bone in rig.pose.bones for name in names
    }
