"""Whatever fails costs only the constraint, body or walk in which it does, and is printed once."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import bpy
import pytest
from inside import PLACES, forget, make_plan
from rigs import (
    activate,
    add_constraint,
    channels_bits,
    evaluated,
    go,
    key,
    make_armature,
    make_chain,
    make_empty,
    pose_bits,
    tip_error,
    update,
)

from addon.blender import errors as faults

ARMS = {
    "Root": ((0, 0, 0), (0, 0, 1), ""),
    "Upper.L": ((0, 0, 1), (1, 0.1, 1), "Root"),
    "Lower.L": ((1, 0.1, 1), (2, 0, 1), "Upper.L"),
    "Upper.R": ((0, 0, 1), (-1, 0.1, 1), "Root"),
    "Lower.R": ((-1, 0.1, 1), (-2, 0, 1), "Upper.R"),
}


@pytest.fixture
def rigs(addon: ModuleType) -> list[Any]:
    """Two armatures with two arms each, of which the first one's right arm is to fail."""
    faults.forget_reported()
    made: list[Any] = []
    for i, name in enumerate(("Rig", "Other")):
        rig = make_armature(ARMS, name)
        rig.location.y = 3.0 * i
        for side, x in (("L", 1.2), ("R", -1.2)):
            target = make_empty(f"{name} {side}", (x, 3.0 * i + 0.4, 1.8))
            add_constraint(rig, f"Lower.{side}", target, chain_count=2, name=f"{name} {side}")
        rig.pose.bones["Upper.R"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
        made.append(rig)
    update()
    assert states() == {name: "REACHED" for name in ("Rig L", "Rig R", "Other L", "Other R")}
    return made


def states() -> dict[str, str]:
    return {
        item.name: item.state
        for rig in bpy.data.objects
        if rig.type == "ARMATURE"
        for item in rig.fabrik.constraints
    }


def failing(original: Callable[..., Any], fails: Callable[..., bool]) -> Callable[..., Any]:
    def one(*arguments: Any, **more: Any) -> Any:
        if fails(*arguments):
            raise RuntimeError("made to fail")
        return original(*arguments, **more)

    return one


def break_at(patch: pytest.MonkeyPatch, place: str, fails: Callable[..., bool]) -> None:
    owner, name = PLACES[place]
    patch.setattr(owner, name, failing(getattr(owner, name), fails))


def is_right(given: Any) -> bool:
    """Return whether something is the right chain's plan, or its unit."""
    return getattr(getattr(given, "plan", given), "name", "") == "Rig R"


@pytest.mark.parametrize("place", ("resolve", "order", "read a chain", "solve a chain"))
def test_a_chain_that_fails_costs_no_other(
    rigs: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    place: str,
) -> None:
    forget()
    with monkeypatch.context() as patch:
        break_at(patch, place, lambda *given: any(map(is_right, given)))
        move_all()
        go(2, 3, 4)
        assert states() == {
            "Rig L": "REACHED",
            "Rig R": "INVALID",
            "Other L": "REACHED",
            "Other R": "REACHED",
        }
        item = rigs[0].fabrik.constraints[1]
        assert item.message == faults.INTERNAL_ERROR
        assert tuple(evaluated(rigs[0]).pose.bones["Upper.R"].rotation_quaternion) == tuple(
            rigs[0].pose.bones["Upper.R"].rotation_quaternion
        )
        for rig in rigs:
            assert tip_error(rig, "Lower.L", bpy.data.objects[f"{rig.name} L"]) < 1e-3
    printed = "".join(capfd.readouterr())
    assert printed.count("RuntimeError: made to fail") == printed.count("Traceback") == 1
    forget()
    move_all()
    assert set(states().values()) == {"REACHED"}


def move_all() -> None:
    for target in bpy.data.objects:
        if target.type == "EMPTY":
            target.location.x *= 0.95
            target.update_tag()
    update()


@pytest.mark.parametrize("place", ("read an armature", "read an armature ahead"))
def test_an_armature_that_cannot_be_read_costs_no_other(
    rigs: list[Any], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place == "read an armature":  # Only what Blender evaluates is read then.
        rigs[0].pose.bones["Root"].constraints.new("SHRINKWRAP")
        rigs[1].pose.bones["Root"].constraints.new("SHRINKWRAP")
        update()
    fk = channels_bits(rigs[0])
    with monkeypatch.context() as patch:
        break_at(patch, place, lambda _, uid, reader, *__: reader.rig.object == rigs[0])
        move_all()
        assert states() == {
            "Rig L": "INVALID",
            "Rig R": "INVALID",
            "Other L": "REACHED",
            "Other R": "REACHED",
        }
        assert rigs[0].fabrik.constraints[0].message == faults.INTERNAL_ERROR
        assert channels_bits(rigs[0]) == fk
    move_all()
    assert set(states().values()) == {"REACHED"}


def test_a_body_that_fails_is_invalid_whole(
    rigs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for item in rigs[0].fabrik.constraints:
        item.chain_count = 3
    update()
    with monkeypatch.context() as patch:
        break_at(patch, "solve a body", lambda *_: True)
        move_all()
        assert list(states().values()) == ["REACHED", "REACHED", "INVALID", "INVALID"]
    move_all()
    assert "INVALID" not in states().values()


@pytest.mark.parametrize("number", (-1, 1000, 2**31 - 1, -(2**31)))
@pytest.mark.parametrize("is_driven", (False, True))
def test_a_solver_animated_to_no_solver_is_said(
    rigs: list[Any], number: int, is_driven: bool
) -> None:
    rig = rigs[0]
    fk = channels_bits(rig)
    path = "fabrik.constraints[1].solver"
    if is_driven:
        rig.driver_add(path).driver.expression = str(number)
    else:
        rig.keyframe_insert(path, frame=1)
        curve = next(iter(all_curves(rig)))
        curve.keyframe_points[0].co.y = number
        curve.update()
    update()
    go(2)
    item = rig.fabrik.constraints[1]
    assert states()["Rig R"] == "INVALID"
    assert "Solver has the invalid number" in item.message
    assert [states()[name] for name in ("Rig L", "Other L", "Other R")] == ["REACHED"] * 3
    assert channels_bits(rig) == fk


def all_curves(ob: Any) -> Any:
    from addon.blender import animation

    return animation.all_active_curves(ob)


def test_a_rope_whose_parent_is_renamed_in_edit_mode_goes_on() -> None:
    rig = make_chain(5)
    add_constraint(rig, "B4", make_empty("End", (0.5, 0.5, 3)), solver="ROPE", chain_count=3)
    update()
    activate(rig, "EDIT")
    rig.data.edit_bones["B1"].name = "Renamed"
    update()
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    assert rig.fabrik.constraints[0].state != "INVALID", rig.fabrik.constraints[0].message


@pytest.mark.parametrize("renamed", ("B0", "B2", "B3"))
@pytest.mark.parametrize("frames", ("POSING", "PLACE", "ANIMATION"))
@pytest.mark.usefixtures("silent")
def test_a_body_with_a_pin_is_renamed_in_edit_mode(renamed: str, frames: str) -> None:
    """It is recognized by its clip, whose bones have the new names first."""
    rig = make_chain(4)
    for frame, turn in ((1, 0.1), (10, 0.4)):
        for bone in rig.pose.bones:
            key(bone, "rotation_quaternion", {frame: (1, turn, 0, turn / 2)})
    go(3)
    activate(rig, "POSE")
    assert bpy.ops.fabrik.pin(bone="B3", kind="LOCATION", frames=frames) == {"FINISHED"}
    go(7)
    expected = pose_bits(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones[renamed].name = "Renamed"
    update()
    go(5)
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    go(7)
    assert pose_bits(rig) == expected
    # Others are looked up by the name that the bone knows.
    is_planned = renamed == "B3" and frames == "PLACE"
    assert [pin.bone for pin in rig.fabrik.pins] == ["Renamed" if is_planned else "B3"]


@pytest.mark.parametrize("is_edit", (True, False), ids=("Edit Mode", "Object Mode"))
@pytest.mark.parametrize("frames", ("POSING", "PLACE", "ANIMATION"))
def test_a_pin_of_a_bone_that_a_constraint_names_too_follows_its_renames(
    frames: str, is_edit: bool
) -> None:
    rig = make_chain(4)
    activate(rig, "POSE")
    assert bpy.ops.fabrik.pin(bone="B3", kind="LOCATION", frames=frames) == {"FINISHED"}
    add_constraint(rig, "B3", make_empty("End", (0.5, 0.5, 3)))
    update()
    for before, name in (("B3", "Palm"), ("Palm", "Hand")):
        bpy.ops.object.mode_set(mode="EDIT" if is_edit else "OBJECT")
        (rig.data.edit_bones if is_edit else rig.data.bones)[before].name = name
        update()
        bpy.ops.object.mode_set(mode="OBJECT")
        update()
        assert [item.bone for item in rig.fabrik.constraints] == [name]
        assert [pin.bone for pin in rig.fabrik.pins] == [name]


def hide(ob: bpy.types.Object) -> None:
    ob.hide_viewport = True
    update()


def exclude(ob: bpy.types.Object) -> None:
    for collection in list(ob.users_collection):
        collection.objects.unlink(ob)
    update()


def nothing(_ob: bpy.types.Object) -> None:
    pass


@pytest.mark.parametrize("before", (hide, exclude, nothing))
@pytest.mark.parametrize("what", ("Rig", "Rig R"))
@pytest.mark.parametrize("is_frame", (False, True), ids=("edit", "frame"))
def test_what_is_removed_costs_no_other(
    rigs: list[Any],
    capfd: pytest.CaptureFixture[str],
    before: Callable[[Any], None],
    what: str,
    is_frame: bool,
) -> None:
    other = rigs[1]
    before(bpy.data.objects[what])
    bpy.data.objects.remove(bpy.data.objects[what])
    target = bpy.data.objects["Other L"]
    target.location.x -= 0.2
    if is_frame:
        go(7)
    else:
        update()
    assert tip_error(other, "Lower.L", target) < 1e-3
    assert [item.state for item in other.fabrik.constraints] == ["REACHED", "REACHED"]
    target.location.x += 0.1
    update()
    assert tip_error(other, "Lower.L", target) < 1e-3
    assert "Traceback" not in "".join(capfd.readouterr())


def test_what_cannot_be_foreseen_for_a_fault_is_solved_after(
    rigs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_at(monkeypatch, "foresee", lambda *_: True)
    forget()
    for rig in rigs:
        rig.update_tag()
    update()
    assert set(states().values()) == {"REACHED"}
    assert tip_error(rigs[0], "Lower.L", bpy.data.objects["Rig L"]) < 1e-3


def test_state_is_asked_for_while_references_are_dead() -> None:
    """As interfaces do before the handler that is called after loading."""
    rig = make_chain(3)
    add_constraint(rig, "B2", make_empty())
    update()
    rig.fabrik.constraints[0].chain_count = 2  # A plan has to be made again.
    bpy.data.objects.remove(rig)
    assert make_plan().chains == []
