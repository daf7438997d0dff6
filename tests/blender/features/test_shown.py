"""What is captured at an event is captured from what is shown, whatever moves it."""

from collections.abc import Callable
from math import sin
from typing import Any

import bpy
import pytest
from captured_bodies import make_body
from mathutils import Matrix, Vector
from operating import click_bone, enter_pose_mode
from rigs import activate, add_constraint, evaluated, go, key, make_armature, make_empty, update
from spiders import key_body, make_spider, terrain, walk
from walkers import LAST, make_ground, make_walker, stairs, stand

END = 55
MOST = 1e-5
"""How far something of a human's size may move at an event, in meters."""


def with_arm(rig: Any, body: str = "Hip", at: tuple[float, float, float] = (0, 0, 1.04)) -> Any:
    """Give a body an arm whose bones are keyed."""
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    joints = [(0, 0, 0), (0, 0.2, 0.31), (-0.05, 0.2, 0.06), (0.1, 0.2, -0.14), (0.2, 0.2, -0.14)]
    places = [Vector(at) + Vector(joint) for joint in joints]
    above = body
    for i, name in enumerate(("Chest", "Upper", "Fore", "Hand")):
        bone = rig.data.edit_bones.new(name)
        bone.head, bone.tail, bone.parent = *places[i : i + 2], rig.data.edit_bones[above]
        above = name
    bpy.ops.object.mode_set(mode="OBJECT")
    for name in ("Chest", "Upper", "Fore"):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame in range(1, END + 9, 9):
            bone.rotation_euler = (0.3 * sin(frame / 11), 0.1 * sin(frame / 5), 0.0)
            bone.keyframe_insert("rotation_euler", frame=frame)
    return rig


def walker(**settings: object) -> Any:
    rig = with_arm(make_walker())
    stand(rig, **{"ray_above": 3.0, "ray_below": 3.0, **settings})
    return rig


def on(height: Callable[[float, float], float]) -> Callable[[], tuple[Any, str]]:
    def made() -> tuple[Any, str]:
        return walker(object=make_ground(height)), "Hand"

    return made


def scaled() -> tuple[Any, str]:
    rig = walker(object=make_ground(stairs))
    rig.delta_scale = (1.3, 1.3, 1.3)
    rig.delta_location = (0.3, -0.2, 0.2)
    return rig, "Hand"


def walking() -> tuple[Any, str]:
    """A walk that lifts and leans its body over a terrain."""
    terrain()
    rig = with_arm(make_spider(4), "Body", (0, 0, 0.5))
    key_body(rig, {1: (0, 0, 0), END: (0, -3, 0)})
    walk(rig, END)
    return rig, "Hand"


def pinned() -> tuple[Any, str]:
    """A whole body whose other hand is pinned out of reach."""
    rig = make_body()
    go(9)
    assert bpy.ops.fabrik.pin(bone="Hand.L", kind="LOCATION", frames="PLACE") == {"FINISHED"}
    rig.fabrik.pins[0].location = Vector(rig.fabrik.pins[0].location) + Vector((0.4, 0.3, -0.3))
    return rig, "Hand.R"


def add(rig: Any, bone: str, solver: str, **settings: object) -> Any:
    target = make_empty("Aim", (1.5, 0.5, 1.0))
    for frame in range(1, END, 7):
        target.location = (1.5 + 0.03 * frame, 0.5 + 0.3 * sin(frame), 1.0 + 0.2 * sin(2 * frame))
        target.keyframe_insert("location", frame=frame)
    item = add_constraint(rig, bone, target, **settings)
    item.solver = solver
    return item


def layered(solver: str, **settings: object) -> Callable[[], tuple[Any, str]]:
    """A layer above a body on the ground, whose hand holds."""

    def made() -> tuple[Any, str]:
        rig = walker(object=make_ground(stairs))
        add(rig, "Hand" if solver != "LOOK_AT" else "Chest", solver, **settings)
        return rig, "Hand"

    return made


def stretched() -> tuple[Any, str]:
    rig = walker(object=make_ground(stairs))
    item = add(rig, "Fore", "FABRIK", chain_count=2)
    item.use_stretch = True
    return rig, "Hand"


def second() -> tuple[Any, str]:
    """An armature parented to the hip of another one on the ground."""
    rig = walker(object=make_ground(stairs))
    pack = make_armature({"Arm": ((0, 0, 0), (0.3, 0, 0), "")}, "Pack")
    pack.parent, pack.parent_type, pack.parent_bone = rig, "BONE", "Chest"
    return pack, "Arm"


MOVERS: dict[str, Callable[[], tuple[Any, str]]] = {
    "raised": on(lambda _x, _y: 0.1),
    "stairs": on(stairs),
    "slope": on(lambda x, _y: 0.2 * x),
    "scaled": scaled,
    "walk": walking,
    "pins": pinned,
    "look-at": layered("LOOK_AT", chain_count=1),
    "rope": layered("ROPE", chain_count=3),
    "free chain": layered("FOLLOW", chain_count=3),
    "stretch": stretched,
    "second armature": second,
}


def world(ob: Any, bone: str = "") -> Matrix:
    posed = evaluated(ob)
    return posed.matrix_world @ posed.pose.bones[bone].matrix if bone else posed.matrix_world.copy()


def at(frame: float, ob: Any, bone: str = "") -> Vector:
    go(frame)
    return world(ob, bone).translation


def jump(ob: Any, frame: float, bone: str = "") -> float:
    """Return how far something jumps at a frame, from where it goes before and comes from after."""
    step = 2.0**-7
    before = 2.0 * at(frame - step, ob, bone) - at(frame - 2.0 * step, ob, bone)
    after = 2.0 * at(frame + step, ob, bone) - at(frame + 2.0 * step, ob, bone)
    there = at(frame, ob, bone)
    return max((there - before).length, (after - there).length)


def grab(rig: Any, hand: str, ob: Any) -> None:
    enter_pose_mode(rig)
    click_bone(rig, hand)
    ob.select_set(True)
    assert bpy.ops.fabrik.pick_up() == {"FINISHED"}


def hold(**arguments: object) -> None:
    assert bpy.ops.fabrik.hold(object="Cup", **arguments) == {"FINISHED"}


def release() -> None:
    assert bpy.ops.fabrik.release(object="Cup") == {"FINISHED"}


@pytest.mark.parametrize(
    ("mover", "is_simulated"),
    [*((mover, False) for mover in MOVERS), ("raised", True), ("stairs", True), ("walk", True)],
)
def test_what_is_picked_up_handed_over_and_put_down_does_not_jump(
    mover: str, is_simulated: bool
) -> None:
    rig, hand = MOVERS[mover]()
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, END
    if is_simulated:
        activate(rig)
        assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    cup = make_empty("Cup", (0.6, 0.3, 1.0))
    make_empty("Tray", (0.5, 0.5, 1.1))
    events = {
        20: lambda: grab(rig, hand, cup),
        30: lambda: hold(holder="Tray"),
        35: lambda: hold(holder=rig.name, bone=hand),
        40: release,
    }
    for frame, event in events.items():
        before = at(frame, cup)
        event()
        assert (at(frame, cup) - before).length < MOST
    assert max(jump(cup, frame) for frame in events) < MOST
    assert (at(35, rig, hand) - at(20, rig, hand)).length > 0.02, "the hand moves"


def test_what_holds_on_the_ground_is_outdated_with_it() -> None:
    ground = make_ground(lambda _x, _y: 0.1)
    rig, cup = walker(object=ground), make_empty("Cup", (0.6, 0.3, 1.0))
    bpy.context.scene.frame_end = END
    go(20)
    grab(rig, "Hand", cup)
    props = cup.parent
    assert props.fabrik.holds[0].message == ""
    ground.location.z = 0.1
    update()
    assert "press Simulate" in props.fabrik.holds[0].message
    activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    assert props.fabrik.holds[0].message == ""
    assert (at(20, cup) - Vector((0.6, 0.3, 1.0))).length < MOST


def test_a_foot_is_held_and_the_hand_holds_while_the_other_foot_stands() -> None:
    """The cup is parented to the hip, which follows the feet; one of these is held like the cup."""
    rig = walker(object=make_ground(lambda _x, _y: 0.0))
    cup, board = make_empty("Cup", (0.6, 0.3, 1.0)), make_empty("Board")
    key(board, "location", {10: 0.0, 50: 0.25}, 1)
    bpy.context.scene.frame_end = LAST
    activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    go(30)
    grab(rig, "Hand", cup)
    go(10)
    held = bpy.ops.fabrik.hold(constraint="Leg.L", holder="Board", use_animation=True)
    assert held == {"FINISHED"}
    assert (at(30, cup) - Vector((0.6, 0.3, 1.0))).length < MOST
    before = [at(frame, cup) for frame in range(30, 60, 5)]
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    assert [at(frame, cup) for frame in range(30, 60, 5)] == before
