"""Pinned bones stay in place, whatever else poses the same body."""

from collections.abc import Callable
from typing import Any

import bpy
import pytest
from captured_bodies import make_body
from dragged_bodies import head_of
from mathutils import Vector
from operating import select_bones
from rigs import add_constraint, go, key, make_empty, tip_error, tip_world, update
from walkers import hills, make_ground

pytestmark = pytest.mark.newest

HAND, FEET = "Hand.L", ("Foot.L", "Foot.R")
FRAMES = (5, 6, 8)


def _moving(name: str, at: Vector, by: tuple[float, float, float]) -> bpy.types.Object:
    target = make_empty(name)
    key(target, "location", {4: tuple(at), 9: tuple(at + Vector(by))})
    return target


def _looks(rig: Any, bone: str, count: int, axis: str = "X") -> Any:
    target = _moving("Seen", head_of(rig, "Head") + Vector((1.0, 1.0, -0.3)), (1.0, -2.0, 1.0))
    item = add_constraint(rig, bone, target, solver="LOOK_AT", chain_count=count, name="Look")
    item.look.axis, item.look.up_axis = axis, "NONE"
    return item


def looks_with_the_head(rig: Any) -> None:
    _looks(rig, "Head", 2)


def looks_with_the_spine(rig: Any) -> None:
    _looks(rig, "Head", 4)


def looks_with_the_hips(rig: Any) -> None:
    _looks(rig, "Head", 0)


def looks_with_the_chest(rig: Any) -> None:
    _looks(rig, "Chest", 1)


def looks_with_the_arm(rig: Any) -> None:
    _looks(rig, "Forearm.L", 2, "Y")


def looks_with_the_other_arm(rig: Any) -> None:
    _looks(rig, "Hand.R", 3, "Y")


def looks_with_the_hand(rig: Any) -> None:
    _looks(rig, "Hand.L", 1, "Y")


def _reaches(rig: Any, bone: str, count: int, by: Any, **more: Any) -> Any:
    at = tip_world(rig, bone, use_tail=more.get("use_tail", False))
    target = _moving(f"For {bone}", at, by)
    more = {"use_tail": False, **more}
    return add_constraint(rig, bone, target, chain_count=count, name=f"IK {bone}", **more)


def reaches_with_the_hand(rig: Any) -> None:
    _reaches(rig, HAND, 3, (0.2, 0.1, 0.1))


def reaches_with_the_other_hand(rig: Any) -> None:
    _reaches(rig, "Hand.R", 3, (0.2, 0.1, 0.1))


def reaches_from_the_hips(rig: Any) -> None:
    _reaches(rig, "Hand.R", 0, (0.4, -0.2, -0.2))


def reaches_with_the_chest(rig: Any) -> None:
    _reaches(rig, "Chest", 2, (0.1, 0.1, -0.05), use_tail=True)


def moves_the_root(rig: Any) -> None:
    _reaches(rig, "Hand.R", 0, (0.9, -0.3, 0.2), use_free_root=True)


def is_a_tree(rig: Any) -> None:
    _reaches(rig, "Hand.R", 0, (0.9, -0.3, 0.2), use_free_root=True)
    _reaches(rig, "Head", 0, (0.2, 0.1, 0.0))


def steps(rig: Any) -> None:
    for foot in FEET:
        _reaches(rig, foot, 2, (0.15, 0.0, 0.1), solver="TWO_BONE")


def stands_on_ground(rig: Any) -> None:
    ground = make_ground(hills)
    for foot in FEET:
        item = _reaches(rig, foot, 2, (0.15, 0.0, 0.0), solver="TWO_BONE")
        item.ground.object, item.ground.use = ground, True


def walks(rig: Any) -> None:
    for foot in FEET:
        _reaches(rig, foot, 2, (0.15, 0.0, 0.0), solver="TWO_BONE")
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}


def waves(rig: Any) -> None:
    item = add_constraint(rig, "Chest", solver="WAVE", chain_count=3, name="Wave")
    item.wave.amplitude, item.wave.speed = 0.1, 1.0


def is_held_by_the_hips(rig: Any) -> None:
    horse = _moving("Horse", head_of(rig, "Hips"), (0.1, 0.05, -0.05))
    select_bones(rig, "Hips")
    rig.data.bones.active = rig.data.bones["Hips"]
    assert bpy.ops.fabrik.hold(object=horse.name) == {"FINISHED"}


OTHERS = (
    looks_with_the_head,
    looks_with_the_spine,
    looks_with_the_hips,
    looks_with_the_chest,
    looks_with_the_arm,
    looks_with_the_other_arm,
    looks_with_the_hand,
    reaches_with_the_hand,
    reaches_with_the_other_hand,
    reaches_from_the_hips,
    reaches_with_the_chest,
    moves_the_root,
    is_a_tree,
    steps,
    stands_on_ground,
    walks,
    waves,
    is_held_by_the_hips,
)


def made(other: Callable[[Any], None], is_first: bool, kind: str) -> Any:
    """Return a body with a pinned hand and something else that poses it, in this order or not."""
    rig = make_body()
    bpy.ops.object.mode_set(mode="POSE")
    go(5)

    def pin(_: Any) -> None:
        assert bpy.ops.fabrik.pin(bone=HAND, kind=kind, frames="PLACE") == {"FINISHED"}
        update()

    for act in (pin, other) if is_first else (other, pin):
        act(rig)
        go(5)
    return rig


def missed(rig: Any, place: Vector) -> float:
    """Return the hand's largest distance from its place, and check the messages meanwhile."""
    away = []
    for frame in FRAMES:
        go(frame)
        away.append((head_of(rig, HAND) - place).length)
        for item in rig.fabrik.constraints:
            assert item.state == "REACHED" or item.message
            if item.solver in ("FABRIK", "TWO_BONE") and not item.ground.use:
                error = tip_error(rig, item.bone, item.target, item.use_tail)
                assert item.error == pytest.approx(error, abs=1e-5) or len(rig.fabrik.gaits)
    return max(away)


@pytest.mark.parametrize("is_first", [True, False], ids=["pin first", "pin last"])
@pytest.mark.parametrize("other", OTHERS)
def test_what_is_pinned_stays(other: Callable[[Any], None], is_first: bool) -> None:
    rig = made(other, is_first, "LOCATION" if is_first else "BOTH")
    assert missed(rig, rig.fabrik.pins[HAND].location) < 1e-4


def test_a_pole_on_the_pinned_body_is_no_cycle() -> None:
    rig = made(steps, False, "LOCATION")
    pole = make_empty("Pole", (2.0, 0.0, 1.0))
    pole.parent, pole.parent_type, pole.parent_bone = rig, "BONE", "Hips"
    rig.fabrik.constraints[0].pole_target = pole
    rig.fabrik.pins[HAND].location.z += 0.3
    update()
    assert [item.state for item in rig.fabrik.constraints] == ["REACHED", "REACHED"]
    assert missed(rig, rig.fabrik.pins[HAND].location) < 1e-4


def test_baked_pins_have_what_was_solved_before_them() -> None:
    rig = made(looks_with_the_chest, False, "LOCATION")
    place = rig.fabrik.pins[HAND].location.copy()
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
    assert bpy.ops.fabrik.pin_bake() == {"FINISHED"}
    assert [item.enabled for item in rig.fabrik.constraints] == [False]
    for frame in FRAMES:
        go(frame)
        assert (head_of(rig, HAND) - place).length < 1e-4
