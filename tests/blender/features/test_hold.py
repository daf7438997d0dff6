"""Holds: nothing moves at an event, and in between, held things move with their holder."""

import random
from collections.abc import Callable
from math import atan2, sin
from pathlib import Path
from typing import Any

import bpy
import pytest
from captures import imported
from inside import count, forget
from mathutils import Euler, Matrix, Vector
from operating import click_bone, click_bones, enter_pose_mode, refuses
from rigs import (
    activate,
    as_strip,
    curves,
    evaluated,
    go,
    key,
    make_armature,
    make_chain,
    make_empty,
    pose_bits,
    tip_world,
    update,
    watch,
    world_bits,
)
from spiders import make_floor, make_spider, select, tips
from walkers import flat, stairs, walker_on

from addon.blender.skeleton import matrix_frame
from addon.features.hold import editing
from addon.features.hold.events import events_of
from addon.features.hold.listing import shown_holds
from addon.features.hold.panel import bars_of, lines_of, notes_of
from addon.features.hold.settings import holds_of
from addon.plan import planner
from addon.plan.chain_plan import wholly
from fabrik_solver.core.holding import rigid

LAST = 100


def make_arm(name: str = "Rig", x: float = 0.2, moves: float = 1.0, until: int = LAST) -> Any:
    """A two-bone arm whose hand reaches for a keyed control bone, and copies its rotation."""
    rig = make_armature(
        {
            "Root": ((x, 0, 1), (x, 0.1, 1), ""),
            "Upper": ((x, 0, 1.5), (x, 0.25, 1.15), "Root"),
            "Fore": ((x, 0.25, 1.15), (x, -0.3, 1.1), "Upper"),
            "Hand": ((x, -0.3, 1.1), (x, -0.4, 1.1), "Fore"),
            "IK": ((x, -0.3, 1.1), (x, -0.4, 1.1), "Root"),
        },
        name,
    )
    item = rig.fabrik.constraints.add()
    item.name, item.bone, item.chain_count, item.solver = "Hand", "Hand", 2, "TWO_BONE"
    item.target, item.subtarget, item.use_tail, item.use_rotation = rig, "IK", False, True
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    control = rig.pose.bones["IK"]
    for frame in range(1, until + 1, 9):
        at = 0.07 * frame + 9.0 * x
        control.location = moves * 0.1 * Vector((sin(at), sin(1.3 * at), sin(0.7 * at)))
        turn = Euler([moves * x for x in (0.4 * sin(at), 0.5 * sin(0.8 * at), 0.3 * sin(1.2 * at))])
        control.rotation_quaternion = turn.to_quaternion()
        control.keyframe_insert("location", frame=frame)
        control.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST
    activate(rig, "POSE")
    update()
    return rig


def make_cup(name: str = "Cup", at: tuple[float, float, float] = (0.0, -0.5, 1.1)) -> Any:
    cup = make_empty(name, location=at)
    cup.rotation_euler = (0.1, 0.2, 0.3)
    update()
    return cup


def make_keyed_cup() -> Any:
    """A cup with keys of its own, which have no effect while it is held."""
    cup = make_cup()
    chance = random.Random(2)
    for frame in range(1, LAST, 9):
        cup.location.x, cup.rotation_euler.y = chance.uniform(-0.3, 0.3), chance.uniform(-1.0, 1.0)
        cup.keyframe_insert("location", frame=frame)
        cup.keyframe_insert("rotation_euler", frame=frame)
    update()
    return cup


def world(ob: bpy.types.Object, bone: str = "") -> Matrix:
    """Return the evaluated transform of an object or bone in world space."""
    posed = evaluated(ob)
    return posed.matrix_world @ posed.pose.bones[bone].matrix if bone else posed.matrix_world.copy()


def apart(a: Matrix, b: Matrix) -> float:
    """Return how far the origins are apart, or the axes in radians, whatever is more."""
    turned = a.to_quaternion().rotation_difference(b.to_quaternion()).angle
    return max((a.translation - b.translation).length, min(turned, abs(6.283185307 - turned)))


def shown_at(frame: float, ob: bpy.types.Object) -> Matrix:
    """Return the evaluated transform of an object at a frame."""
    go(frame)
    return world(ob)


def hold(at: float | None = None, **arguments: object) -> None:
    """Hold at a frame, else at the current one."""
    if at is not None:
        go(at)
    assert bpy.ops.fabrik.hold(**arguments) == {"FINISHED"}
    update()


def release(at: float | None = None, **arguments: object) -> None:
    """Release at a frame, else at the current one."""
    if at is not None:
        go(at)
    assert bpy.ops.fabrik.release(**arguments) == {"FINISHED"}
    update()


IN_HAND = {"object": "Cup", "holder": "Rig", "bone": "Hand"}


def cup_in_hand(at: float) -> tuple[Any, Any]:
    """A cup that a hand holds from a frame on."""
    rig, cup = make_arm(), make_cup()
    hold(at, **IN_HAND)
    return rig, cup


def simulate() -> None:
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def within(rig: Any, bone: str, ob: Any) -> Matrix:
    """Return the transform of an object in the space of a bone."""
    return world(rig, bone).inverted() @ world(ob)


def assert_stays(there: Matrix, seen: Callable[[], Matrix], *frames: float, off: float) -> None:
    for frame in frames:
        go(frame)
        assert apart(there, seen()) < off, frame


def slide(ob: Any, x: float) -> None:
    """Key an object that moves along X over all frames."""
    ob.keyframe_insert("location", frame=1)
    ob.location.x += x
    ob.keyframe_insert("location", frame=LAST)


def hold_of(ob: Any) -> Any:
    """Return the hold of a prop."""
    return next(hold for hold in holds_of(ob.parent) if hold.prop == ob)


# Nothing moves


def test_a_hand_takes_a_cup_and_puts_it_down() -> None:
    rig, cup = make_arm(), make_cup()
    go(20)
    before = world(cup)
    hold(**IN_HAND)
    assert apart(before, world(cup)) < 1e-6
    in_hand = within(rig, "Hand", cup)
    assert_stays(in_hand, lambda: within(rig, "Hand", cup), 25, 40, 59, off=2e-6)
    go(60)
    before = world(cup)
    release(object="Cup")
    assert apart(before, world(cup)) < 1e-6
    assert_stays(before, lambda: world(cup), 61, 90, off=1e-6)
    go(19)
    assert (
        apart(Matrix.LocRotScale((0, -0.5, 1.1), Euler((0.1, 0.2, 0.3)), None), world(cup)) < 1e-6
    )
    assert hold_of(cup).message == ""


def random_transform(chance: random.Random, size: float = 0.4) -> Matrix:
    scale = [chance.uniform(0.6, 1.6) for _ in range(3)]
    turn = Euler([chance.uniform(-2, 2) for _ in range(3)])
    place = [chance.uniform(-size, size) for _ in range(3)]
    return Matrix.LocRotScale(place, turn, scale)


def animate(chance: random.Random, rigs: list[Any], empties: list[Any]) -> None:
    """Key all channels of objects and bones."""
    for ob in (*rigs, *empties):
        for frame in (1, 30, 60):
            ob.location = [x + chance.uniform(-0.2, 0.2) for x in ob.location]
            ob.rotation_euler = [x + chance.uniform(-0.5, 0.5) for x in ob.rotation_euler]
            ob.scale = [x * chance.uniform(0.8, 1.25) for x in ob.scale]
            for name in ("location", "rotation_euler", "scale"):
                ob.keyframe_insert(name, frame=frame)
    for rig in rigs:
        for bone in rig.pose.bones:
            for frame in (1, 25, 60):
                bone.location = [chance.uniform(-0.1, 0.1) for _ in range(3)]
                bone.matrix_basis = (
                    bone.matrix_basis
                    @ Euler([chance.uniform(-0.6, 0.6) for _ in range(3)]).to_matrix().to_4x4()
                )
                bone.scale = [chance.uniform(0.8, 1.2) for _ in range(3)]
                for name in ("location", "scale", "rotation_quaternion", "rotation_euler"):
                    bone.keyframe_insert(name, frame=frame)
                bone.keyframe_insert("rotation_axis_angle", frame=frame)


def make_random(chance: random.Random) -> tuple[Any, str, list[tuple[Any, str]]]:
    """Make an armature with a free bone, and what may hold it, all animated.

    Parents are scaled and sheared, and the armatures are parented to bones of others.

    Returns:
        The armature, the bone, and holders: objects with bones.
    """
    rigs: list[Any] = []
    for number in range(2):
        bones = {
            "Base": ((0, 0, 0), (0, 0, 0.3), ""),
            "Mid": ((0, 0.1, 0.3), (0.1, 0.1, 0.5), "Base"),
            "Free": ((0.2, 0.1, 0.4), (0.3, 0.2, 0.4), "Mid" if chance.random() < 0.7 else ""),
        }
        rig = make_armature(bones, f"Rig{number}")
        rig.matrix_basis = random_transform(chance)
        for bone in rig.pose.bones:
            bone.rotation_mode = chance.choice(("QUATERNION", "XYZ", "ZXY", "AXIS_ANGLE"))
            bone.bone.inherit_scale = chance.choice(("FULL", "FULL", "AVERAGE", "NONE", "ALIGNED"))
            bone.bone.use_local_location = chance.random() < 0.7
        rigs.append(rig)
    empties = [make_empty(f"Empty{i}") for i in range(3)]
    for ob in empties:
        ob.matrix_basis = random_transform(chance)
    empties[1].parent = empties[0]
    empties[2].parent, empties[2].parent_type = rigs[1], "BONE"
    empties[2].parent_bone = "Mid"
    if chance.random() < 0.5:
        rigs[0].parent = empties[0]
    elif chance.random() < 0.5:
        rigs[0].parent, rigs[0].parent_type, rigs[0].parent_bone = rigs[1], "BONE", "Mid"
    animate(chance, rigs, empties)
    update()
    holders = [(rigs[1], "Mid"), (rigs[1], "Free"), *((ob, "") for ob in empties), (rigs[1], "")]
    return rigs[0], "Free", holders


def placed(rig: Any, bone: str) -> tuple[Vector, Vector]:
    """Return the head of a bone, and where it points, in world space: what shear leaves alone."""
    matrix = world(rig, bone)
    return matrix.translation.copy(), matrix.to_3x3().col[1].normalized()


def moved(a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> tuple[float, float]:
    # Not `Vector.angle`, which is 0 below 3e-4.
    return (a[0] - b[0]).length, atan2(a[1].cross(b[1]).length, a[1].dot(b[1]))


@pytest.mark.parametrize("seed", range(20))
def test_nothing_moves_at_an_event(seed: int) -> None:
    chance, blend = random.Random(seed), 4.0 * (seed % 3)
    rig, bone, holders = make_random(chance)
    counts = random.Random(seed)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 60
    activate(rig, "POSE")
    frames = sorted(chance.sample(range(5, 56), 4))
    held = editing.Held(rig, bone)
    known: dict[int, tuple[Vector, Vector]] = {}
    last = None
    for frame in frames:
        go(frame)
        known[frame] = placed(rig, bone)
        holder = chance.choice([None, "release", *holders])
        if holder == "release" and last is not None:
            editing.release([held], frame, counts.choice((0, 0, 3)))
            last = None
        else:
            by = None if holder == "release" else holder
            if by == last and last is not None:
                continue
            if by is None and any(e.frame <= frame for e in _events(rig)) and last is None:
                by = holders[0]
            by_what = editing.Holder(*by) if by else editing.Holder()
            editing.hold([held], by_what, frame, counts.choice((True, False, None)))
            last = by
            if holds_of(rig)[0].blend != blend:
                holds_of(rig)[0].blend = blend
                simulate()
        update()
        far, turned = moved(known[frame], placed(rig, bone))
        assert far < 1e-5 and turned < 1e-4
    for frame in chance.sample(frames, len(frames)):
        go(frame)
        far, turned = moved(known[frame], placed(rig, bone))
        assert far < 1e-5 and turned < 1e-4


def _events(rig: Any) -> list[Any]:
    return events_of(rig, 0) if len(holds_of(rig)) else []


@pytest.mark.parametrize("controls", ["", "EMPTY", "BONE"])
def test_a_hand_on_a_keyed_prop_does_not_drift_over_1000_frames_of_a_capture(
    controls: str,
) -> None:
    """Without controls, and with those of Set Up Character, which have a key at each frame."""
    rig = imported("cmu_16_22.bvh", global_scale=0.0564, use_cyclic=True)
    if controls:
        activate(rig)
        assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}
        for ob in bpy.data.objects:
            for curve in curves(ob) if ob.animation_data else ():
                if not curve.modifiers:
                    curve.modifiers.new("CYCLES")
                    ob.animation_data.action.update_tag()
    prop = make_empty("Prop")
    prop.rotation_mode = "QUATERNION"
    shoulder, hand = "LeftShoulder", "LeftHand"

    def hand_in_shoulder(frame: int) -> Matrix:
        go(frame)
        return world(rig, shoulder).inverted() @ world(rig, hand)

    # Where the arm is bent most, so that it reaches the prop from there on.
    arm = rig.data.bones["LeftArm"].length
    start = min(
        range(1, 300, 5), key=lambda one: abs((hand_in_shoulder(one).translation).length - arm)
    )
    there = hand_in_shoulder(start)
    frames = range(start, start + 1001, 20 if controls else 1)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, frames[-1]
    for frame in frames:
        go(frame)
        sway = Euler((0.2 * sin(0.05 * frame), 0.3 * sin(0.03 * frame), 0.0)).to_matrix().to_4x4()
        prop.location, turn, _ = (world(rig, shoulder) @ there @ sway).decompose()
        prop.rotation_quaternion = turn
        prop.keyframe_insert("location", frame=frame)
        prop.keyframe_insert("rotation_quaternion", frame=frame)
    go(start)
    enter_pose_mode(rig, click=hand)
    prop.select_set(True)
    assert bpy.ops.fabrik.hold(by="SELECTED") == {"FINISHED"}
    item = next(item for item in rig.fabrik.constraints if item.bone in (hand, "LeftForeArm"))

    def tip_in_prop(frame: int) -> Vector:
        go(frame)
        assert item.state == "REACHED", (frame, item.message)
        return world(prop).inverted() @ tip_world(rig, item.bone, use_tail=item.use_tail)

    held = tip_in_prop(start)
    drift = max((tip_in_prop(frame) - held).length for frame in frames)
    assert drift < 1e-5 * (arm + rig.data.bones["LeftForeArm"].length)


# In an order that follows what holds what


def test_a_cup_goes_from_hand_to_hand_and_onto_a_tray_that_is_carried(
    capfd: pytest.CaptureFixture[str], evaluations: list[float]
) -> None:
    """Later a hand follows the cup: over the whole shot each depends on the other."""
    left, _ = make_arm("Left", 0.2, 0.5, until=64), make_arm("Right", -0.2, 0.5)
    cup, _ = make_cup(), make_cup("Tray", (0.1, -0.5, 1.0))
    activate(left, "POSE")
    steps = (
        (10, {"object": "Cup", "holder": "Left", "bone": "Hand"}),
        (30, {"object": "Cup", "holder": "Right", "bone": "Hand"}),
        (40, {"object": "Tray", "holder": "Left", "bone": "Hand"}),
        (50, {"object": "Cup", "holder": "Tray"}),
    )
    places: dict[int, Matrix] = {}
    for frame, arguments in steps:
        go(frame)
        places[frame] = world(cup)
        hold(**arguments)
        assert apart(places[frame], world(cup)) < 1e-6
    release(70, object="Cup")
    release(object="Tray")
    before = world(left, "Hand")
    hold(constraint="Hand", holder="Cup")
    assert apart(before, world(left, "Hand")) < 2e-6
    hold(object="Cup", holder="Right", bone="Hand")
    on_cup = world(cup).inverted() @ world(left, "Hand")
    for frame in (75, 95):
        go(frame)
        assert left.fabrik.constraints["Hand"].state == "REACHED"
        assert apart(on_cup, world(cup).inverted() @ world(left, "Hand")) < 1e-5
    for frame, place in places.items():
        go(frame)
        assert apart(place, world(cup)) < 1e-6
    assert "cycle" not in "".join(capfd.readouterr()).lower()


def test_what_follows_the_held_cannot_hold_it() -> None:
    rig, cup = cup_in_hand(20)
    before = events_of(cup.parent, 0)
    refuses(
        bpy.ops.fabrik.hold,
        saying="“Cup” follows “IK” at this frame",
        constraint="Hand",
        holder="Cup",
    )
    assert not len(holds_of(rig)) and events_of(cup.parent, 0) == before
    assert rig.fabrik.constraints["Hand"].state == "REACHED"


# Edits


@pytest.mark.parametrize("edit", ["earlier key", "event later", "event earlier"])
def test_after_an_edit_nothing_is_silently_off(edit: str) -> None:
    rig, cup = cup_in_hand(30)
    release(60, object="Cup")
    assert hold_of(cup).message == ""
    if edit == "earlier key":
        curve = next(c for c in curves(rig) if c.data_path.endswith('["IK"].location'))
        curve.keyframe_points[2].co.y += 0.3
        curve.update()
    else:
        (curve,) = curves(cup.parent)
        curve.keyframe_points[0].co.x += 10 if edit == "event later" else -10
        curve.update()
    rig.update_tag()
    update(cup.parent)
    assert "outdated" in hold_of(cup).message
    simulate()
    assert hold_of(cup).message == ""
    for frame in {event.frame for event in events_of(cup.parent, 0)}:
        # Up to there it goes on as it has come.
        two, one = (shown_at(frame - back, cup) for back in (2.0 / 64.0, 1.0 / 64.0))
        assert apart(one + (one - two), shown_at(frame, cup)) < 1e-5
    frame = events_of(cup.parent, 0)[0].frame
    go(frame)
    in_hand = within(rig, "Hand", cup)
    go(frame + 15)
    assert apart(in_hand, within(rig, "Hand", cup)) < 3e-6


def test_an_event_at_the_first_frame_keeps_nothing_of_an_earlier_simulation() -> None:
    rig, cup = make_arm(), make_cup()
    go(1)
    before = world(cup)
    hold(**IN_HAND)
    curve = next(c for c in curves(rig) if c.data_path.endswith('["IK"].location'))
    curve.keyframe_points[0].co.y += 0.2
    curve.update()
    update(rig)
    assert apart(before, world(cup)) > 0.01
    simulate()
    assert_stays(before, lambda: world(cup), 1, off=1e-6)


def test_what_is_held_is_moved_within_its_holder() -> None:
    rig, cup = make_arm(), make_cup()
    cup.keyframe_insert("location", frame=1)
    hold(20, **IN_HAND)
    go(40)
    was = within(rig, "Hand", cup)
    cup.location.z += 0.1
    cup.keyframe_insert("location", frame=40)
    go(40)
    now = within(rig, "Hand", cup)
    assert (now.translation - was.translation).length == pytest.approx(0.1, abs=1e-5)
    assert hold_of(cup).message == ""


@pytest.mark.parametrize("moves", [0.0, 1.0])
def test_keys_that_a_control_has_do_not_move_it_within_its_holder(
    moves: float, capfd: pytest.CaptureFixture[str]
) -> None:
    """On a capture, each frame is keyed: the hand would leave what holds it."""
    rig, _ = make_arm(moves=moves), make_cup()
    go(20)
    before = world(rig, "IK")
    hold(constraint="Hand", holder="Cup")
    said = capfd.readouterr().out
    assert ("are ignored" in said) == bool(moves)
    assert holds_of(rig)[0].holders[0].use_animation != bool(moves)
    for frame in (20, 33.5, 90, -5, 300, 60):
        go(frame)
        assert (apart(before, world(rig, "IK")) < 1e-6) == (frame >= 20 or not moves)


def test_a_keyed_control_is_reported_to_stay_in_the_world(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nobody knows an object called World that could hold it."""
    make_arm(moves=1.0)
    go(20)
    hold(constraint="Hand")
    assert (
        "“IK” stays in place from frame 20 on. Keys of “IK” are ignored: to use them, enable Own "
        "Animation"
    ) in capfd.readouterr().out


def test_whether_own_keys_count_is_chosen() -> None:
    rig, _ = make_arm(), make_cup()
    go(20)
    before = world(rig, "IK")
    hold(constraint="Hand", holder="Cup", use_animation=True)
    assert shown_holds(rig)[0].holder.use_animation
    go(60)
    assert apart(before, world(rig, "IK")) > 0.01
    # Handed over to the same, within which they do not count from there on.
    moved = world(rig, "IK")
    hold(constraint="Hand", holder="Cup", use_animation=False)
    assert_stays(moved, lambda: world(rig, "IK"), 60, 80, off=1e-6)
    (first, second) = shown_holds(rig)
    assert (first.holder.use_animation, second.holder.use_animation) == (True, False)
    second.holder.use_animation = True
    update()
    assert "outdated" in holds_of(rig)[0].message
    assert apart(moved, world(rig, "IK")) < 1e-6
    simulate()
    assert holds_of(rig)[0].message == ""
    assert apart(moved, world(rig, "IK")) > 0.01
    assert_stays(moved, lambda: world(rig, "IK"), 60, off=1e-6)


def test_own_keys_count_again_after_the_release_and_nothing_moves_at_it() -> None:
    rig, _ = make_arm(), make_cup()
    hold(20, constraint="Hand", holder="Cup")
    go(60)
    before = world(rig, "IK")
    release(constraint="Hand")
    assert apart(before, world(rig, "IK")) < 1e-6
    go(90)
    assert apart(before, world(rig, "IK")) > 0.01
    # Retimed, it is released where it is held there.
    (curve,) = (c for c in curves(rig) if c.data_path.endswith(".holder"))
    curve.keyframe_points[1].co.x = 50
    curve.update()
    update(rig)
    simulate()
    assert_stays(before, lambda: world(rig, "IK"), 50, 35, off=1e-6)
    assert bpy.ops.fabrik.hold_remove(armature="Rig", index=0) == {"FINISHED"}
    free = [shown_bone(frame, rig, "IK") for frame in (35, 90)]
    go(35)
    assert apart(free[0], rig.matrix_world @ rig.pose.bones["IK"].matrix) < 1e-6


@pytest.mark.parametrize("use_animation", [False, True])
def test_a_control_goes_back_to_its_own_place(use_animation: bool) -> None:
    """On a capture a control would go on for ever from where it was released."""
    rig, cup = make_arm(), make_cup()
    slide(cup, 0.3)
    own = {frame: shown_bone(frame, rig, "IK") for frame in (64, 65, 67, 70, 90, 300)}
    hold(20, constraint="Hand", holder="Cup", use_animation=use_animation)
    held = {frame: shown_bone(frame, rig, "IK") for frame in (60, 64, 67)}
    go(60)
    assert bpy.ops.fabrik.release(constraint="Hand", frames=10) == {"FINISHED"}
    assert apart(held[60], world(rig, "IK")) < 1e-6
    for frame in (64, 67):
        expected = blended(held[frame], own[frame], (frame - 60) / 10)
        assert apart(expected, shown_bone(frame, rig, "IK")) < 3e-6
    for frame in (70, 90, 300):
        assert apart(own[frame], shown_bone(frame, rig, "IK")) < 1e-7
    assert [(one.by, one.start, one.end) for one in shown_holds(rig)] == [
        ("Cup", 20, 60),
        ("Returned", 60, 70),
    ]
    assert holds_of(rig)[0].message == ""
    # Sooner, and taken again on the way.
    holds_of(rig)[0].holders[1].frames = 5
    update()
    assert "outdated" in holds_of(rig)[0].message
    simulate()
    assert apart(own[65], shown_bone(65, rig, "IK")) < 1e-7
    before = shown_bone(63, rig, "IK")
    hold(constraint="Hand", holder="Cup", use_animation=use_animation)
    assert apart(before, world(rig, "IK")) < 1e-6
    assert apart(own[90], shown_bone(90, rig, "IK")) > 0.01


@pytest.mark.parametrize("seed", range(6))
def test_the_way_back_to_the_own_place_ends_there(seed: int) -> None:
    """Also where parents are scaled and sheared, and for objects."""
    chance = random.Random(seed)
    rig, bone, holders = make_random(chance)
    ob = make_empty("Prop", (0.1, 0.2, 0.3))
    ob.parent, ob.parent_type, ob.parent_bone = rig, "BONE", "Mid"
    key(ob, "location", {1: 0.1, 60: 0.4}, 0)
    activate(rig, "POSE")
    own = [(shown_at(frame, ob), placed(rig, bone)) for frame in (39.998, 40, 55)]
    both = [editing.Held(rig, bone), editing.Held(ob, "")]
    go(10)
    editing.hold(both, editing.Holder(*chance.choice(holders[2:4])), 10)
    go(30)
    editing.release(both, 30, 10)
    # It slows down into its place.
    for frame, (there, posed) in zip((39.998, 40, 55), own, strict=True):
        assert apart(there, shown_at(frame, ob)) < 3e-6
        assert max(moved(posed, placed(rig, bone))) < 3e-6


def test_what_was_released_goes_back_later() -> None:
    rig, _ = make_arm(), make_cup()
    own = shown_bone(95, rig, "IK")
    refuses(bpy.ops.fabrik.release, saying="Nothing holds “IK”", constraint="Hand", frames=6)
    hold(20, constraint="Hand", holder="Cup")
    release(60, constraint="Hand")
    assert apart(own, shown_bone(95, rig, "IK")) > 0.01
    before = shown_bone(80, rig, "IK")
    assert bpy.ops.fabrik.release(constraint="Hand", frames=6) == {"FINISHED"}
    assert apart(before, world(rig, "IK")) < 1e-6
    assert apart(own, shown_bone(95, rig, "IK")) < 1e-7
    refuses(bpy.ops.fabrik.release, saying="Nothing holds “IK”", constraint="Hand", frames=8)
    go(80)
    refuses(bpy.ops.fabrik.release, saying="Nothing holds “IK”", constraint="Hand", frames=6)
    # Chosen anew in the frame of the event, it takes as long as was chosen last.
    assert bpy.ops.fabrik.release(constraint="Hand", frames=12) == {"FINISHED"}
    assert shown_holds(rig)[-1].end == 92
    go(60)
    assert bpy.ops.fabrik.release(constraint="Hand", frames=4) == {"FINISHED"}
    release(constraint="Hand")
    assert [event.frame for event in events_of(rig, 0) if event.holder == 0] == [60]


def shown_bone(frame: float, rig: Any, bone: str) -> Matrix:
    go(frame)
    return world(rig, bone)


def seen_by(holder: tuple[Any, str] | None, ob: Any) -> Vector:
    """Return where an object is for what holds it, whose scale and shear do not count."""
    if holder is None:
        return world(ob).translation
    (axes, place) = rigid(matrix_frame(world(*holder)))
    turn = Matrix((axes[:3], axes[3:6], axes[6:])).transposed()
    return turn @ (world(ob).translation - Vector(place))


@pytest.mark.parametrize("seed", range(8))
def test_an_object_with_keys_stays_in_what_holds_it(seed: int) -> None:
    """Whatever it is parented to, in scenes that remap time as well."""
    chance, blend = random.Random(seed), 2.0 * (seed in (1, 2))
    rig, _, holders = make_random(chance)
    ob = make_empty("Prop")
    ob.rotation_mode = chance.choice(("QUATERNION", "XYZ", "AXIS_ANGLE"))
    ob.delta_location, ob.delta_rotation_euler = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)
    ob.parent = (None, bpy.data.objects["Empty0"], rig)[seed % 3]
    if ob.parent == rig:
        ob.parent_type, ob.parent_bone = "BONE", "Mid"
    for frame in range(1, 120, 4):
        ob.scale = [chance.uniform(0.8, 1.2)] * 3
        for name in ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle"):
            setattr(ob, name, [chance.uniform(-1.0, 1.0) for _ in getattr(ob, name)])
            ob.keyframe_insert(name, frame=frame)
        ob.keyframe_insert("scale", frame=frame)
    if seed == 5:  # What Blender alone can compute is read after it has.
        ob.driver_add("location", 0).driver.expression = "0.01 * frame"
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 60
    if seed in (3, 6):
        scene.render.frame_map_old, scene.render.frame_map_new = 100, 50
    activate(rig, "POSE")
    update()
    # An object cannot be held by what carries it.
    by = [(holders[0][0], "Mid"), None, (holders[0][0], "Free")]
    frames = sorted(chance.sample(range(5, 50, 5), 3))
    for frame, holder in zip(frames, by, strict=True):
        go(frame)
        before = world(ob)
        time = scene.frame_current_final
        editing.hold([editing.Held(ob, "")], editing.Holder(*holder or ()), time)
        hold_of(ob).blend = blend
        update()
        assert (before.translation - world(ob).translation).length < 1e-6
    assert not any(one.use_animation for one in hold_of(ob).holders)
    activate(ob.parent)
    simulate()
    for frame, end, holder in zip(frames, [*frames[1:], 60], by, strict=True):
        go(frame + blend)
        there = seen_by(holder, ob)
        for between in (frame + blend + 0.5, 0.5 * (frame + blend + end), end - 0.1):
            go(between)
            assert (seen_by(holder, ob) - there).length < 3e-6


def test_a_keyed_prop_that_is_picked_up_stays_in_the_hand() -> None:
    rig, cup = make_arm(), make_keyed_cup()
    go(20)
    enter_pose_mode(rig, click="Hand")
    cup.select_set(True)
    assert bpy.ops.fabrik.pick_up() == {"FINISHED"}
    in_hand = within(rig, "Hand", cup)
    assert_stays(in_hand, lambda: within(rig, "Hand", cup), 21, 50, 79, off=2e-6)
    # Chosen anew, it stays as it was recorded until it is simulated.
    holder = hold_of(cup).holders[0]
    for use_animation in (True, False):
        holder.use_animation = use_animation
        update()
        assert "outdated" in hold_of(cup).message or not use_animation
        assert_stays(in_hand, lambda: within(rig, "Hand", cup), 21, 79, off=2e-6)
    # Out of sight its channels are not evaluated, and the children of the hand do not move.
    cup.hide_viewport = True
    update()
    for frame in (30, 60):
        go(frame)
        cup.hide_viewport = False
        update()
        assert apart(in_hand, within(rig, "Hand", cup)) < 2e-6
        cup.hide_viewport = True
        update()


def test_holds_of_what_is_keyed_are_baked_and_removed_without_a_trace() -> None:
    rig, cup = make_arm(), make_keyed_cup()
    free = [shown_at(frame, cup) for frame in (10, 40, 90)]
    hold(20, **IN_HAND)
    hold(constraint="Hand")
    release(60, object="Cup")
    armature = cup.parent.name
    assert bpy.ops.fabrik.hold_remove(armature=armature, index=0) == {"FINISHED"}
    assert cup.parent is None
    for frame, before in zip((10, 40, 90), free, strict=True):
        assert apart(before, shown_at(frame, cup)) < 1e-6
    hold(20, **IN_HAND)
    held = [shown_at(frame, cup) for frame in (10, 40, 90)]
    activate(rig)
    assert bpy.ops.fabrik.hold_bake() == {"FINISHED"}
    for frame, before in zip((10, 40, 90), held, strict=True):
        assert apart(before, shown_at(frame, cup)) < 3e-6


def test_holds_are_baked_where_the_scene_remaps_time() -> None:
    rig, cup = make_arm(until=40), make_cup()
    scene = bpy.context.scene
    scene.frame_end, scene.render.frame_map_old, scene.render.frame_map_new = 20, 100, 50
    go(5)
    before = world(cup)
    hold(**IN_HAND)
    assert apart(before, world(cup)) < 1e-6
    held = [shown_at(frame, cup) for frame in (3, 10, 19)]
    assert apart(held[0], held[2]) > 0.01
    activate(rig)
    assert bpy.ops.fabrik.hold_bake() == {"FINISHED"}
    for frame, there in zip((3, 10, 19), held, strict=True):
        assert apart(there, shown_at(frame, cup)) < 3e-6


def test_holding_again_by_the_same_is_refused_and_releasing_twice_as_well() -> None:
    _, cup = make_arm(), make_cup()
    go(20)
    refuses(bpy.ops.fabrik.release, saying="Nothing holds “Cup” at this frame", object="Cup")
    hold(**IN_HAND)
    refuses(
        bpy.ops.fabrik.hold,
        saying="already held by the same holder",
        object="Cup",
        holder="Rig",
        bone="Hand",
    )
    release(object="Cup")
    refuses(bpy.ops.fabrik.release, saying="Nothing holds “Cup”", object="Cup")
    assert cup.parent is not None


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        ({"object": "Nobody"}, "No object is named “Nobody”"),
        ({"object": "Cup", "holder": "Nobody"}, "No object is named “Nobody”"),
        ({"object": "Cup", "holder": "Rig", "bone": "Tail"}, "“Rig” has no bone “Tail”"),
        ({"object": "Cup", "holder": "Cup"}, "“Cup” can't hold itself"),
        ({"constraint": "Foot"}, "“Rig” has no constraint “Foot”"),
    ],
)
def test_what_cannot_be_held_is_refused_and_nothing_changes(
    arguments: dict[str, str], saying: str
) -> None:
    make_arm(), make_cup()
    objects = {*bpy.data.objects}
    refuses(bpy.ops.fabrik.hold, saying=saying, **arguments)
    assert {*bpy.data.objects} == objects


def test_removing_a_hold_gives_back_what_was_there() -> None:
    rig, cup = make_arm(), make_cup()
    tray = make_cup("Tray", (0.3, -0.2, 1.0))
    cup.parent = tray
    cup.matrix_parent_inverse = tray.matrix_world.inverted()
    update()
    go(50)
    before, inverse = world(cup), cup.matrix_parent_inverse.copy()
    hold(20, **IN_HAND)
    go(50)
    assert apart(before, world(cup)) > 1e-3
    tray.location.x += 0.2
    update()
    go(10)
    carried = world(cup)
    assert (carried.translation - before.translation - Vector((0.2, 0, 0))).length < 1e-6
    tray.location.x -= 0.2
    assert bpy.ops.fabrik.hold_remove(armature=cup.parent.name) == {"FINISHED"}
    go(50)
    assert cup.parent == tray and cup.matrix_parent_inverse == inverse
    assert apart(before, world(cup)) == 0.0
    assert [ob.name for ob in bpy.data.objects] == ["Cup", "Rig", "Tray"]
    assert rig.fabrik.constraints["Hand"].state == "REACHED"


# Undo


# By clicks


def test_a_hand_without_ik_gets_it_and_is_held() -> None:
    rig, cup = make_arm(), make_cup()
    rig.fabrik.constraints.clear()
    rig.animation_data_clear()
    update()
    click_bones(rig, "Hand")
    cup.select_set(True)
    before = world(rig, "Hand")
    assert bpy.ops.fabrik.hold(by="SELECTED") == {"FINISHED"}
    (item,) = rig.fabrik.constraints
    assert item.state == "REACHED" and apart(before, world(rig, "Hand")) < 1e-4
    cup.location.x += 0.05
    update()
    assert (world(rig, "Hand").translation - before.translation).x == pytest.approx(0.05, abs=1e-4)


def test_a_bone_that_can_have_no_ik_is_refused_in_a_sentence() -> None:
    rig = make_chain(1, "Stump")
    click_bones(rig, "B0")
    refuses(bpy.ops.fabrik.hold, saying="^Error: “B0” isn't part of a limb", by="WORLD")
    assert len(rig.fabrik.constraints) == 0


def test_a_hand_stays_in_the_world_while_its_body_goes() -> None:
    rig = make_arm(moves=0.0)
    click_bones(rig, "IK")
    go(30)
    assert bpy.ops.fabrik.hold(by="WORLD") == {"FINISHED"}
    before = world(rig, "IK")
    root = rig.pose.bones["Root"]
    key(root, "location", {30: 0.0, 60: 0.1}, 1)
    assert_stays(before, lambda: world(rig, "IK"), 60, off=1e-5)
    assert [event.frame for event in events_of(rig, 0)] == [30.0]


def test_a_hand_stays_in_its_body_however_that_goes() -> None:
    rig = make_arm(moves=0.0)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["IK"].parent = None
    bpy.ops.object.mode_set(mode="POSE")
    root = rig.pose.bones["Root"]
    for frame, x in ((1, 0.0), (30, 0.3), (60, -0.5)):
        root.location.x = x
        root.rotation_quaternion = Euler((x, 0.5 * x, 2.0 * x)).to_quaternion()
        root.keyframe_insert("location", frame=frame)
        root.keyframe_insert("rotation_quaternion", frame=frame)
    click_bones(rig, "IK")
    go(30)
    assert bpy.ops.fabrik.hold(by="BODY") == {"FINISHED"}

    def in_body() -> Matrix:
        return world(rig, "Root").inverted() @ world(rig, "IK")

    assert_stays(in_body(), in_body, 31, 45, 60, off=1e-5)


def test_a_pole_is_held_and_the_elbow_faces_it() -> None:
    rig, cup = make_arm(), make_cup("Cup", (0.6, 0.5, 1.3))
    bpy.ops.object.mode_set(mode="EDIT")
    pole = rig.data.edit_bones.new("Pole")
    pole.head, pole.tail, pole.use_deform = (0.2, 0.9, 1.2), (0.2, 1.0, 1.2), False
    bpy.ops.object.mode_set(mode="POSE")
    item = rig.fabrik.constraints["Hand"]
    item.pole_target, item.pole_subtarget = rig, "Pole"
    key(cup, "location", {30: 1.3, 60: 2.3}, 2)
    click_bones(rig, "Pole")
    cup.select_set(True)
    go(30)
    elbow = world(rig, "Fore").translation
    assert bpy.ops.fabrik.hold(by="SELECTED") == {"FINISHED"}
    assert (world(rig, "Fore").translation - elbow).length < 1e-5
    in_cup = world(cup).inverted() @ world(rig, "Pole")
    assert_stays(in_cup, lambda: world(cup).inverted() @ world(rig, "Pole"), 60, off=1e-5)
    shoulder, hand = world(rig, "Upper").translation, world(rig, "Hand").translation
    along = (hand - shoulder).normalized()
    sides = [
        (point - shoulder) - (point - shoulder).dot(along) * along
        for point in (world(rig, "Fore").translation, world(rig, "Pole").translation)
    ]
    assert sides[0].angle(sides[1]) < 1e-3


@pytest.mark.parametrize("hidden", ("Props", "Rig"))
@pytest.mark.parametrize("is_disabled", (False, True))
def test_objects_are_picked_up_though_an_armature_is_hidden(hidden: str, is_disabled: bool) -> None:
    rig, cup, plate = make_arm(), make_cup(), make_cup("Plate")
    click_bones(rig, "Hand")
    hold(**IN_HAND)
    ob: Any = bpy.data.objects[hidden]
    ob.hide_viewport = is_disabled
    ob.hide_set(not is_disabled)
    update()
    there, mode = world(plate), rig.mode
    hold(object="Plate", holder="Rig", bone="Hand")
    assert (ob.hide_viewport, ob.hide_get()) == (is_disabled, not is_disabled)
    assert (bpy.context.view_layer.objects.active, rig.mode) == (rig, mode)
    assert plate.parent == cup.parent and apart(there, world(plate)) < 1e-5


def test_what_is_held_joins_the_armature_of_props_in_an_excluded_collection() -> None:
    rig, cup, plate = make_arm(), make_cup(), make_cup("Plate")
    click_bones(rig, "Hand")
    hold(**IN_HAND)
    within = bpy.data.collections.new("Away")
    bpy.context.scene.collection.children.link(within)
    within.objects.link(cup.parent)
    bpy.context.scene.collection.objects.unlink(cup.parent)
    bpy.context.view_layer.layer_collection.children["Away"].exclude = True
    update()
    before = world(plate)
    hold(object="Plate", holder="Rig", bone="Hand")
    assert (plate.parent, rig.mode, len(cup.parent.data.bones)) == (cup.parent, "POSE", 2)
    assert [*cup.parent.users_collection] == [within]
    assert bpy.context.view_layer.layer_collection.children["Away"].exclude
    assert apart(world(plate), before) < 1e-5


def test_holds_are_baked_to_keys() -> None:
    left, _ = make_arm("Left", 0.2, 0.5), make_arm("Right", -0.2, 0.5)
    cup = make_cup()
    activate(left, "POSE")
    hold(10, object="Cup", holder="Left", bone="Hand")
    hold(40, object="Cup", holder="Right", bone="Hand")
    hold(constraint="Hand", holder="Right", bone="Root")
    frames = range(1, LAST, 7)
    before = [(go(f), world(cup), world(left, "Hand")) for f in frames]
    assert bpy.ops.fabrik.hold_bake() == {"FINISHED"}
    assert cup.parent is None and not len(holds_of(left)) and len(bpy.data.objects) == 3
    for frame, (_, there, hand) in zip(frames, before, strict=True):
        go(frame)
        assert apart(there, world(cup)) < 1e-5
        assert apart(hand, world(left, "Hand")) < 1e-4


def test_events_are_listed_and_removed() -> None:
    rig, cup = cup_in_hand(20)
    hold(40, object="Cup")
    shown = shown_holds(rig)
    assert [(one.what, one.by, one.start, one.end) for one in shown] == [
        ("Cup", "Hand", 20.0, 40.0),
        ("Cup", "World", 40.0, None),
    ]
    carrier = cup.parent.name
    assert bpy.ops.fabrik.hold_event_remove(armature=carrier, frame=40.0) == {"FINISHED"}
    assert [(one.by, one.end) for one in shown_holds(rig)] == [("Hand", None)]
    assert bpy.ops.fabrik.hold_event_remove(armature=carrier, frame=20.0) == {"FINISHED"}
    assert cup.parent is None and shown_holds(rig) == []


def test_what_is_held_is_drawn() -> None:
    """A line leads to what holds it now, and a bar shows how long."""
    rig, cup = cup_in_hand(20)
    release(60, object="Cup")
    activate(rig)
    go(30)
    ((held, by),) = lines_of(bpy.context)
    assert (held - world(cup).translation).length < 1e-6
    assert (by - world(rig, "Hand").translation).length < 1e-6
    assert [bar[:2] for bar in bars_of(bpy.context)] == [(20.0, 60.0)]
    for frame in (10, 70):
        go(frame)
        assert lines_of(bpy.context) == []


STAYS = "is fixed to its holder from frame 20 on: to move or key it, enable Own Animation"


def test_what_cannot_be_moved_while_it_is_held_says_so() -> None:
    """As its own keys do not count: by the Drag tool, and beside it where Blender drags it."""
    rig, cup = make_arm(), make_keyed_cup()
    hold(20, constraint="Hand", holder="Cup")
    hold(object="Cup", holder="Rig", bone="Root")
    enter_pose_mode(rig)
    for bone in ("Hand", "IK"):
        bits = pose_bits(rig)
        refuses(bpy.ops.fabrik.drag, saying=f"“IK” {STAYS}", bone=bone, value=(0.1, 0, 0))
        assert pose_bits(rig) == bits
    click_bone(rig, "IK")
    ((place, said),) = notes_of(bpy.context)
    assert (place - world(rig, "IK").translation).length < 1e-6
    assert said.startswith(f"“IK” {STAYS}")
    cup.select_set(True)
    assert len(notes_of(bpy.context)) == 2
    for one in shown_holds(rig):
        one.holder.use_animation = True
    assert notes_of(bpy.context) == []
    simulate()
    before = world(rig, "IK").translation
    assert bpy.ops.fabrik.drag(bone="Hand", value=(0.02, 0, 0)) == {"FINISHED"}
    assert (world(rig, "IK").translation - before).length > 0.01
    go(10)
    assert notes_of(bpy.context) == []


@pytest.mark.parametrize("seed", range(4))
def test_what_is_held_is_dragged_where_the_mouse_goes(seed: int) -> None:
    """However far what holds it has turned since it began."""
    chance = random.Random(seed)
    rig, cup = make_arm(moves=0.0), make_cup()
    for frame in (10, 40):
        key(cup, "rotation_euler", {frame: [chance.uniform(-2.0, 2.0) for _ in range(3)]})
    hold(10, constraint="Hand", holder="Cup")
    if seed > 1:
        release(35, constraint="Hand")
    go(40)
    before = world(rig, "IK").translation
    way = Vector([chance.uniform(-0.1, 0.1) for _ in range(3)])
    assert bpy.ops.fabrik.drag(bone="Hand", value=way) == {"FINISHED"}
    update()
    assert (world(rig, "IK").translation - before - way).length < 1e-5


def test_a_hand_goes_along_with_the_bone_that_is_selected_after_it() -> None:
    left, right = make_arm("Left", 0.2, 0.0), make_arm("Right", -0.2, 0.5)
    go(30)
    enter_pose_mode(right, left)
    click_bone(left, "Hand")
    click_bone(right, "Hand")
    assert bpy.ops.fabrik.hold(by="SELECTED") == {"FINISHED"}
    ((what, by),) = [(one.what, one.by) for one in shown_holds(left)]
    assert (what, by) == ("IK", "Hand")
    gap = world(right, "Hand").inverted() @ world(left, "Hand")
    assert_stays(gap, lambda: world(right, "Hand").inverted() @ world(left, "Hand"), 60, off=1e-5)


# What animators do with it


def test_the_fk_pose_stays_in_the_channels() -> None:
    rig = make_arm()
    control = rig.pose.bones["IK"]
    go(50)
    keyed = [*control.location, *control.rotation_quaternion]
    hold(20, constraint="Hand")
    go(50)
    assert [*control.location, *control.rotation_quaternion] == keyed
    assert apart(world(rig, "IK"), rig.matrix_world @ control.bone.matrix_local) > 1e-3


def test_a_rider_goes_along_with_a_horse_that_walks() -> None:
    horse = make_spider(4, name="Horse")
    make_floor()
    body = horse.pose.bones["Body"]
    for frame, y in ((1, 0.0), (60, 1.5)):
        key(body, "location", {frame: (0.0, y, 0.0)})
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 60
    select(horse, tips(horse))
    horse.data.bones.active = horse.data.bones[tips(horse)[0]]
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    update()
    rider = make_arm("Rider", 0.0, 0.2)
    rider.location.z += 0.3
    activate(horse, "POSE")
    go(5)
    before = world(rider)
    hold(object="Rider", holder="Horse", bone="Body")
    assert apart(before, world(rider)) < 1e-6
    seat = within(horse, "Body", rider)
    for frame in (20, 55):
        assert_stays(seat, lambda: within(horse, "Body", rider), frame, off=1e-5)
        assert (world(rider).translation - before.translation).length > 0.2
        assert rider.fabrik.constraints["Hand"].state == "REACHED"
    simulate()


def test_a_foot_that_is_held_is_not_locked_to_the_ground() -> None:
    rig = walker_on(flat)
    item = rig.fabrik.constraints[0]
    board = make_empty("Board", (0, 0, 0))
    key(board, "location", {10: 0.0, 40: 0.25}, 1)
    activate(rig, "POSE")

    def off(frame: int) -> float:
        go(frame)
        tip = tip_world(rig, item.bone, use_tail=item.use_tail)
        return (tip - world(item.target).translation).length

    hold(10, constraint=item.name, holder="Board", use_animation=True)
    simulate()
    assert max(map(off, range(12, 40, 4))) < 2e-3
    for chain in planner.current().chains:
        chain.placed_share = wholly
    rig.update_tag()
    assert max(map(off, range(12, 40, 4))) > 0.05, "it would be locked"


def test_a_foot_that_the_ground_places_beside_its_target_is_held_once_that_is_baked() -> None:
    rig = walker_on(stairs)
    item = rig.fabrik.constraints[0]
    activate(rig, "POSE")
    go(40)

    def tip() -> Vector:
        return tip_world(rig, item.bone, use_tail=item.use_tail)

    before = tip()
    assert (before - world(item.target).translation).length > 0.1
    parent, matrix = item.target.parent, world(item.target)
    refuses(bpy.ops.fabrik.hold, saying="choose Bake to Targets", constraint=item.name)
    assert (item.target.parent, world(item.target)) == (parent, matrix)
    assert "Props" not in bpy.data.objects
    assert bpy.ops.fabrik.ground_bake() == {"FINISHED"}
    go(40)
    before = tip()
    hold(constraint=item.name)
    assert (tip() - before).length < 1e-5
    held = world(item.target)
    assert_stays(held, lambda: world(item.target), 60, off=1e-5)


@pytest.mark.parametrize("use_lock", [True, False])
def test_the_hip_does_not_count_a_foot_that_is_held(use_lock: bool) -> None:
    """It would rise with ground that the foot does not stand on."""
    rig = walker_on(lambda x, y: 0.3)
    for item in rig.fabrik.constraints:
        item.ground.use_lock = use_lock
    update()
    activate(rig, "POSE")
    go(30)
    for item, height in zip(list(rig.fabrik.constraints), (1.14, 0.84), strict=True):
        assert world(rig, "Hip").translation.z == pytest.approx(1.14, abs=2e-3)
        item.ground.use = False  # It would jump to its target.
        hold(constraint=item.name)
        item.ground.use = True
        simulate()
        for frame in (70, 80, 90):
            go(frame)
            assert world(rig, "Hip").translation.z == pytest.approx(height, abs=2e-3)
        go(30)


@pytest.mark.parametrize("frame", [10, 60, 90])
def test_a_limb_whose_target_is_held_goes_from_fk_to_ik(frame: int) -> None:
    """Before, while and after something that turns holds it."""
    rig, cup = make_arm(), make_cup()
    key(cup, "rotation_euler", {1: 0.0, LAST: 0.6}, 2)
    hold(30, constraint="Hand", holder="Cup", use_animation=True)
    release(80, constraint="Hand")
    go(frame)
    upper = rig.pose.bones["Upper"]
    select(rig, ["Hand"])
    assert bpy.ops.fabrik.switch(which="ALL", to="FK") == {"FINISHED"}
    upper.rotation_quaternion.x += 0.1
    upper.keyframe_insert("rotation_quaternion")
    update()
    before = world(rig, "Hand")
    go(frame + 1, frame)
    assert apart(before, world(rig, "Hand")) < 1e-6
    assert bpy.ops.fabrik.switch(which="ALL", to="IK") == {"FINISHED"}
    update()
    assert rig.fabrik.constraints["Hand"].state == "REACHED"
    assert apart(before, world(rig, "Hand")) < 1e-5


def test_a_limb_whose_target_stays_as_it_was_says_so_from_fk_to_ik() -> None:
    rig = make_arm()
    make_cup()
    hold(30, constraint="Hand", holder="Cup", use_animation=False)
    go(60)
    select(rig, ["Hand"])
    assert bpy.ops.fabrik.switch(which="ALL", to="FK") == {"FINISHED"}
    said = "“IK” is fixed to its holder from frame 30 on: .* enable Own Animation"
    refuses(bpy.ops.fabrik.switch, saying=said, which="ALL", to="IK")


def test_strips_are_refused_and_nothing_changes() -> None:
    rig = make_arm()
    as_strip(rig)
    refuses(bpy.ops.fabrik.hold, saying="“Rig” has NLA strips", constraint="Hand")
    assert not len(holds_of(rig))


def test_a_library_override_holds_and_is_held(tmp_path: Path) -> None:
    rig = make_arm(moves=0.0)
    rig.animation_data_clear()
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {rig})
    bpy.data.objects.remove(rig)
    with bpy.data.libraries.load(path, link=True) as (source, wanted):
        wanted.objects = source.objects
    rig = wanted.objects[0].override_create()
    bpy.context.scene.collection.objects.link(rig)
    cup = make_cup()
    activate(rig, "POSE")
    go(10)
    before = world(cup)
    hold(object="Cup", holder=rig.name, bone="Hand")
    hold(constraint="Hand")
    assert apart(before, world(cup)) < 1e-6
    there = world(rig, "IK")
    rig.location.x += 0.02
    update()
    assert apart(there, world(rig, "IK")) < 1e-5
    blend = tmp_path / "held.blend"
    name, bits = rig.name, pose_bits(rig)
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    bpy.ops.wm.open_mainfile(filepath=str(blend))
    update()
    assert pose_bits(bpy.data.objects[name]) == bits


def test_what_is_appended_is_held_as_it_was(tmp_path: Path) -> None:
    rig, cup = cup_in_hand(20)
    release(50, object="Cup")
    expected = {f: (go(f), pose_bits(rig) + world_bits(cup))[1] for f in (10, 35, 70)}
    path = str(tmp_path / "held.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path) as (source, wanted):
        wanted.objects = source.objects
    for ob in wanted.objects:
        bpy.context.scene.collection.objects.link(ob)
    update()
    for frame, bits in expected.items():
        go(frame)
        rig, cup = bpy.data.objects["Rig"], bpy.data.objects["Cup"]
        assert pose_bits(rig) + world_bits(cup) == bits


@pytest.mark.parametrize("make", [make_cup, make_keyed_cup])
def test_a_frame_takes_two_evaluations_at_most(
    make: Callable[[], Any], evaluations: list[float]
) -> None:
    left, _ = make_arm("Left", 0.2, 0.5), make_arm("Right", -0.2, 0.5)
    make()
    activate(left, "POSE")
    for frame, by in ((10, "Left"), (40, "Right")):
        go(frame)
        hold(object="Cup", holder=by, bone="Hand")
    watch(left, "Hand")
    update()
    for frame in (5, 20, 45, 60, 20):
        evaluations.clear()
        go(frame)
        assert 1 <= len(evaluations) <= 2


def test_a_frame_played_again_takes_one_evaluation(evaluations: list[float]) -> None:
    """Also if the limb follows the held control through local constraints, as Rigify's feet do."""
    rig, _ = make_arm(), make_cup()
    root = rig.pose.bones["Root"]
    for frame, x in ((1, 0.0), (LAST, 0.1)):
        root.location.x, root.rotation_quaternion.x = x, x
        root.keyframe_insert("location", frame=frame)
        root.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    for name, parent in (("Lever", "IK"), ("Roll", "IK"), ("Goal", "Roll")):
        bone = bones.new(name)
        bone.head, bone.tail, bone.parent = (0.2, -0.3, 1.1), (0.2, -0.45, 1.15), bones[parent]
    bpy.ops.object.mode_set(mode="POSE")
    lever, roll = rig.pose.bones["Lever"], rig.pose.bones["Roll"]
    for frame, turn in ((1, -0.5), (LAST, 0.5)):
        lever.rotation_mode, lever.rotation_euler = "XYZ", (turn, 0.2, 0.1)
        lever.keyframe_insert("rotation_euler", frame=frame)
    copy, limit = (roll.constraints.new(kind) for kind in ("COPY_ROTATION", "LIMIT_ROTATION"))
    copy.target, copy.subtarget, copy.use_y, copy.use_z = rig, "Lever", False, False
    copy.owner_space = copy.target_space = limit.owner_space = "LOCAL"
    limit.use_limit_x, limit.max_x = True, 0.2
    rig.fabrik.constraints[0].subtarget = "Goal"
    hold(10, **IN_HAND)
    editing.hold([editing.Held(rig, "IK")], editing.Holder(), 10.0)
    watch(rig, "Hand")
    update()
    frames = (20, 45, 70)
    shown = {frame: (go(frame), pose_bits(rig))[1] for frame in frames}
    for frame in frames:
        evaluations.clear()
        go(frame)
        assert len(evaluations) == 1
        assert pose_bits(rig) == shown[frame]
        assert rig.fabrik.constraints[0].state == "REACHED"


def test_a_channel_that_is_set_unnoticed_stays_where_keyed_ones_are_held() -> None:
    """Blender doesn't report it, and the FK pose of a played frame is already known.

    What Blender alone can foresee turns the arm's root.
    """
    rig = make_arm()
    tracking: Any = rig.pose.bones["Root"].constraints.new("DAMPED_TRACK")
    tracking.target, tracking.influence = make_empty("Ahead", (0.3, 1.0, 1.2)), 0.3
    go(10)
    editing.hold([editing.Held(rig, "IK")], editing.Holder(), 10.0)
    go(20, 45, 20, 45, 20)
    upper, control = rig.pose.bones["Upper"], rig.pose.bones["IK"]
    upper.path_resolve("rotation_quaternion", False).foreach_set([0.6, 0.0, 0.8, 0.0])
    go(45)
    assert [*upper.rotation_quaternion] == pytest.approx([0.6, 0.0, 0.8, 0.0])
    keyed = [curve for curve in curves(rig) if curve.data_path.endswith('["IK"].location')]
    assert [*control.location] == pytest.approx([curve.evaluate(45) for curve in keyed])
    bits = pose_bits(rig)
    forget()
    update()
    go(44, 45)
    assert pose_bits(rig) == bits


def test_holds_of_an_armature_are_solved_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as none needs another: what a cup holds is solved after the cup."""
    rig = make_arm()
    cups = [make_cup(name, (0.1 * i, -0.5, 1.1)) for i, name in enumerate(("Spoon", "Cup", "Jug"))]
    go(10)
    spoon, cup, jug = cups
    editing.hold([editing.Held(cup, ""), editing.Held(jug, "")], editing.Holder(rig, "Hand"), 10.0)
    editing.hold([editing.Held(spoon, "")], editing.Holder(rig, "Hand"), 10.0)
    editing.hold([editing.Held(spoon, "")], editing.Holder(cup), 40.0)
    in_cup = shown_at(40, cup).inverted() @ world(spoon)
    in_hand = within(rig, "Hand", cup)
    units: list[str] = []
    count(monkeypatch, "solve", lambda _, unit, _frame: units.append(unit.label))
    for frame, expected in ((30, 2), (60, 3), (30, 2)):
        units.clear()
        go(frame)
        assert len({*units}) == expected, units
    assert apart(in_hand, within(rig, "Hand", cup)) < 1e-5
    assert apart(in_cup, shown_at(70, cup).inverted() @ world(spoon)) < 1e-6


@pytest.mark.parametrize("scale", [0.0, 1e-38], ids=["flat", "far"])
def test_one_that_cannot_be_held_hinders_no_other(scale: float) -> None:
    """Its parent has lost its size, so that it has no place there, or one beyond all numbers."""
    rig, cup = make_arm(), make_cup()
    go(10)
    editing.hold([editing.Held(cup, "")], editing.Holder(rig, "Hand"), 10.0)
    editing.hold([editing.Held(make_cup("Jug"), "")], editing.Holder(rig, "Hand"), 10.0)
    carriers = cup.parent
    bpy.context.view_layer.objects.active = carriers
    bpy.ops.object.mode_set(mode="EDIT")
    bones = carriers.data.edit_bones
    shelf = bones.new("Shelf")
    shelf.tail = (0.0, 0.0, 1.0)
    bones["Jug"].parent = shelf
    bpy.ops.object.mode_set(mode="OBJECT")
    carriers.pose.bones["Shelf"].scale = (scale, scale, scale)
    go(10)
    in_hand = within(rig, "Hand", cup)
    assert_stays(in_hand, lambda: within(rig, "Hand", cup), 30, 60, off=1e-5)


def test_a_holder_that_is_removed_is_said() -> None:
    rig, cup = make_arm(moves=0.0), make_cup()
    hold(10, constraint="Hand", holder="Cup")
    bpy.data.objects.remove(cup)
    update()
    go(20)
    assert "was removed" in holds_of(rig)[0].message
    assert rig.fabrik.constraints["Hand"].state == "REACHED"


@pytest.mark.parametrize("what", ["object", "armature", "bone"])
def test_a_holder_that_is_removed_leaves_the_others(what: str) -> None:
    rig, other = make_arm(), make_arm("Other", -0.2)
    make_cup()
    enter_pose_mode(rig)
    own = {frame: shown_bone(frame, rig, "IK") for frame in (30, 90)}
    hold(20, constraint="Hand", holder="Other", bone="" if what == "object" else "Hand")
    hold(50, constraint="Hand", holder="Cup")
    go(80)
    assert bpy.ops.fabrik.release(constraint="Hand", frames=5) == {"FINISHED"}
    if what == "bone":
        activate(other, "EDIT")
        other.data.edit_bones.remove(other.data.edit_bones["Hand"])
        bpy.ops.object.mode_set(mode="OBJECT")
        activate(rig)
    elif what == "armature":
        bpy.data.armatures.remove(other.data)
    else:
        bpy.data.objects.remove(other)
    update()
    assert "was removed: remove the hold's events" in holds_of(rig)[0].message
    simulate()
    assert apart(own[30], shown_bone(30, rig, "IK")) < 1e-7
    there = shown_bone(50, rig, "IK")
    assert apart(there, shown_bone(70, rig, "IK")) < 1e-6
    assert apart(own[90], shown_bone(90, rig, "IK")) < 1e-7
    go(50)
    assert bpy.ops.fabrik.hold_event_remove(armature="Rig", index=0, frame=20) == {"FINISHED"}
    assert holds_of(rig)[0].message == ""
    assert apart(there, shown_bone(70, rig, "IK")) < 1e-6


def test_events_that_are_deleted_in_the_dope_sheet_hold_nothing() -> None:
    rig, _ = make_arm(), make_cup()
    own = shown_bone(60, rig, "IK")
    hold(20, constraint="Hand", holder="Cup")
    (curve,) = (c for c in curves(rig) if c.data_path.endswith(".holder"))
    curve.keyframe_points.clear()
    update(rig.animation_data.action)
    assert shown_holds(rig) == []
    assert "outdated" in holds_of(rig)[0].message
    simulate()
    assert holds_of(rig)[0].message == ""
    assert apart(own, shown_bone(60, rig, "IK")) < 1e-7


def test_a_target_that_is_an_object_is_listed_with_its_limb() -> None:
    rig, _ = make_arm(moves=0.0), make_cup()
    goal = make_empty("Goal", world(rig, "IK").translation)
    rig.fabrik.constraints[0].target, rig.fabrik.constraints[0].subtarget = goal, ""
    update()
    hold(20, constraint="Hand", holder="Cup")
    assert [(one.what, one.by) for one in shown_holds(rig)] == [("Goal", "Cup")]
    assert len(lines_of(bpy.context)) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_holder_that_is_in_no_scene_holds_all_the_same(when: str) -> None:
    make_arm(moves=0.0)
    cup, holder = make_cup(), make_empty("Holder", (0.2, -0.3, 1.0))
    key(holder, "location", {1: 0.2, 50: 0.7}, 0)
    go(10)
    there = world(holder).inverted() @ world(cup)
    if when == "before":
        bpy.context.scene.collection.objects.unlink(holder)
        update()
    hold(object="Cup", holder="Holder")
    if when == "after":
        bpy.context.scene.collection.objects.unlink(holder)
        update()
    for frame in (30, 50, 20):
        assert_stays(there, lambda: world(holder).inverted() @ world(cup), frame, off=1e-6)
        assert holder.matrix_world.translation.x > 0.25
        assert "“Holder” holds “Cup” but isn't in any scene" in hold_of(cup).message
    bpy.context.scene.collection.objects.link(holder)
    update()
    assert hold_of(cup).message == ""


def blended(first: Matrix, second: Matrix, share: float) -> Matrix:
    """Return a transform on the screw from one to another, after a smooth step."""
    eased = share * share * (3.0 - 2.0 * share)
    motion = second @ first.inverted()
    axis, angle = motion.to_quaternion().to_axis_angle()
    if angle < 1e-5:
        return Matrix.Translation(eased * motion.translation) @ first
    turn = Matrix.Rotation(angle, 3, axis)
    slide = axis * motion.translation.dot(axis)
    # The point that stays on the axis: (1 - turn) · center = translation - slide.
    system = Matrix.Identity(3) - turn + Matrix([axis[i] * axis for i in range(3)])
    center = system.inverted() @ (motion.translation - slide)
    part = Matrix.Rotation(eased * angle, 4, axis)
    move = Matrix.Translation(eased * slide + center) @ part @ Matrix.Translation(-center)
    return move @ first


def test_an_event_blends_into_what_holds_from_there_on() -> None:
    rig, cup = cup_in_hand(20)
    release(60, object="Cup")
    stays, in_hand = {}, {}
    for frame in (15, 20, 60, 75):
        go(frame)
        stays[frame] = world(cup)
        in_hand[frame] = within(rig, "Hand", cup)
    hold_of(cup).blend = 10.0
    update()
    assert "outdated" in hold_of(cup).message
    simulate()
    assert hold_of(cup).message == ""
    for frame, expected in stays.items():  # Nothing moves at the events, as without a blend.
        go(frame)
        assert apart(expected, world(cup)) < 2e-6
    for frame in (21, 25, 29, 30, 31, 50):
        go(frame)
        held = world(rig, "Hand") @ in_hand[20]
        expected = blended(stays[20], held, min((frame - 20) / 10.0, 1.0))
        assert apart(expected, world(cup)) < 3e-6
    for frame in (61, 65, 69, 70, 90):
        go(frame)
        held = world(rig, "Hand") @ in_hand[20]
        expected = blended(held, stays[75], min((frame - 60) / 10.0, 1.0))
        assert apart(expected, world(cup)) < 3e-6
    go(65)
    bits = world_bits(cup)
    go(3, 25, 65)
    assert world_bits(cup) == bits


def test_an_event_within_a_blend_moves_nothing() -> None:
    left, right, cup = make_arm("Left"), make_arm("Right", -0.2), make_cup()
    activate(left, "POSE")
    hold(20, object="Cup", holder="Left", bone="Hand")
    in_left = within(left, "Hand", cup)
    hold_of(cup).blend = 10.0
    update()
    go(26)
    simulate()
    before = world(cup)
    assert apart(world(left, "Hand") @ in_left, before) > 1e-3  # It still goes over.
    hold(object="Cup", holder="Right", bone="Hand")
    assert apart(before, world(cup)) < 2e-6
    in_right = world(right, "Hand").inverted() @ before
    for frame in (36, 60):
        go(frame)
        assert apart(world(right, "Hand") @ in_right, world(cup)) < 3e-6
    assert_stays(before, lambda: world(cup), 26, off=2e-6)


def unscaled(matrix: Matrix) -> Matrix:
    return Matrix.LocRotScale(matrix.translation, matrix.to_quaternion(), None)


def test_what_holds_may_change_its_size() -> None:
    """Its location and rotation count: what it holds neither slides through it nor grows."""
    _, cup = make_arm(moves=0.0), make_cup()
    holder = make_empty("Holder", location=(0.2, -0.3, 1.0))
    holder.rotation_euler = (0.3, 0.5, 0.2)
    key(holder, "scale", {10: (1.0, 1.0, 1.0), 50: (0.5, 2.0, 1.5)})
    hold(10, object="Cup", holder="Holder")
    shown = world(cup)
    within = unscaled(world(holder)).inverted() @ shown
    for frame in (20, 50, 90):
        go(frame)
        there = unscaled(world(holder)) @ within
        assert apart(world(cup), there) < 2e-6
        assert (world(cup).to_scale() - shown.to_scale()).length < 1e-5


def test_whether_a_constraint_counts_may_be_driven() -> None:
    rig, cup = make_arm(moves=0.0), make_cup()
    slide(cup, 0.15)
    driver = rig.driver_add("fabrik.constraints[0].enabled").driver
    driver.expression = "frame < 40 or frame >= 60"
    go(30)
    before = world(rig, "Hand")
    hold(constraint="Hand", holder="Cup")
    assert apart(before, world(rig, "Hand")) < 2e-6
    in_cup = world(cup).inverted() @ world(rig, "IK")
    for frame in (35, 45, 70, 50, 65):
        go(frame)
        # Its control is held in any case, and the hand is there while the constraint counts.
        assert apart(in_cup, world(cup).inverted() @ world(rig, "IK")) < 2e-6
        is_there = apart(world(rig, "Hand"), world(rig, "IK")) < 1e-4
        assert is_there == (frame < 40 or frame >= 60)
        assert rig.fabrik.constraints[0].state == ("REACHED" if is_there else "DISABLED")


def test_several_things_are_held_or_none() -> None:
    rig = make_arm(moves=0.0)
    first, second = make_cup("First"), make_cup("Second", (0.1, -0.5, 1.0))
    second.parent_type = "OBJECT"
    mesh = bpy.data.meshes.new("Mesh")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [])
    above = bpy.data.objects.new("Above", mesh)
    bpy.context.scene.collection.objects.link(above)
    second.parent, second.parent_type = above, "VERTEX"
    update()
    go(10)
    for ob in (first, second):
        ob.select_set(True)
    rig.data.bones.active = rig.data.bones["Hand"]
    refuses(bpy.ops.fabrik.pick_up, "parented to vertices")
    assert first.parent is None
    assert "Props" not in bpy.data.objects
    assert not holds_of(rig)


def test_a_hold_is_not_pasted_to_the_other_side() -> None:
    """Mirrored poses set channels: what is held stays held, and moves within what holds it."""
    rig = make_armature(
        {
            "Root": ((0, 0, 0), (0, 0.2, 0), ""),
            "Hand.L": ((0.4, 0, 1), (0.4, -0.2, 1), "Root"),
            "Hand.R": ((-0.4, 0, 1), (-0.4, -0.2, 1), "Root"),
        },
        "Rig",
    )
    rig.data.bones["Hand.L"].use_deform = False
    activate(rig, "POSE")
    holder = make_empty("Holder", location=(0.1, 0.2, 0.3))
    key(holder, "location", {1: 0.0, 50: 0.6}, 0)
    go(10)
    editing.hold([editing.Held(rig, "Hand.L")], editing.Holder(holder), 10.0)
    update()
    go(30)
    held = world(rig, "Hand.L")
    right = rig.pose.bones["Hand.R"]
    right.location = (0.1, 0.2, 0.3)
    update()
    click_bones(rig, "Hand.R")
    bpy.ops.pose.copy()
    bpy.ops.pose.paste(flipped=True)
    update()
    left = rig.pose.bones["Hand.L"]
    assert left.location.x == pytest.approx(-0.1)
    assert (world(rig, "Hand.L").translation - held.translation).length == pytest.approx(
        Vector((0.1, 0.2, 0.3)).length, abs=1e-5
    )
    assert [event.holder for event in events_of(rig, 0)] == [1]


def test_what_is_held_by_an_armature_is_simulated_with_it_when_it_is_outdated() -> None:
    rig, _ = cup_in_hand(20)
    activate(rig)
    refuses(bpy.ops.fabrik.simulate, "Nothing is outdated")
    rig.pose.bones["IK"].keyframe_insert("location", frame=19)
    rig.pose.bones["IK"].location.x += 0.1
    rig.pose.bones["IK"].keyframe_insert("location", frame=21)
    update()
    simulate()


def test_a_holder_that_lags_behind_is_said() -> None:
    rig, cup = make_arm(), make_cup()
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones.new("Glove")
    bone.head, bone.tail = (0.2, -0.3, 1.1), (0.2, -0.5, 1.1)
    bpy.ops.object.mode_set(mode="POSE")
    follow = rig.pose.bones["Glove"].constraints.new("COPY_LOCATION")
    follow.target, follow.subtarget = rig, "Hand"
    hold(20, object="Cup", holder="Rig", bone="Glove")
    assert hold_of(cup).message == ""
    in_glove = within(rig, "Glove", cup)
    assert_stays(in_glove, lambda: within(rig, "Glove", cup), 50, off=3e-6)
    late = rig.pose.bones["Glove"].constraints.new("COPY_LOCATION")
    late.target, late.subtarget, late.use_bbone_shape = rig, "Hand", True
    update()
    simulate()
    assert "“Glove” follows a solved chain" in hold_of(cup).message
    rig.pose.bones["Glove"].constraints.remove(late)
    update()
    simulate()
    assert hold_of(cup).message == ""


def test_the_names_of_what_holds_may_change() -> None:
    rig, cup = cup_in_hand(20)
    in_hand = within(rig, "Hand", cup)
    rig.data.bones["Hand"].name = "Fist"
    rig.name, cup.name = "Robot", "Mug"
    update()
    assert_stays(in_hand, lambda: within(rig, "Fist", cup), 60, off=3e-6)
    assert hold_of(cup).message == ""


# Bad input


def test_what_is_left_of_a_removed_parent_does_not_matter() -> None:
    rig, cup = make_arm(), make_cup()
    cup.parent, cup.parent_type, cup.parent_bone = rig, "BONE", "Root"
    other = make_arm("Other", -0.3)
    bpy.data.objects.remove(rig)
    update()
    activate(other, "POSE")
    go(10)
    before = world(cup)
    hold(object="Cup", holder="Other", bone="Hand")
    assert apart(before, world(cup)) < 1e-6


def test_bones_that_carry_props_may_be_deleted_and_what_carries_is_not_held_itself() -> None:
    rig, cup = make_arm(), make_cup()
    make_cup("Tray", (0.1, -0.5, 1.0))
    hold(10, **IN_HAND)
    hold(object="Tray", holder="Rig", bone="Hand")
    props = cup.parent
    refuses(bpy.ops.fabrik.hold, saying="“Props” is an armature that held", object=props.name)
    activate(props, "EDIT")
    props.data.edit_bones.remove(props.data.edit_bones["Tray"])
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    activate(rig, "POSE")
    assert "has no bone “Tray”" in holds_of(props)[1].message
    assert bpy.ops.fabrik.hold_bake() == {"FINISHED"}
    assert cup.parent is None and "Props" not in bpy.data.objects


def test_a_hold_of_an_object_that_hangs_on_what_follows_it_is_left_out() -> None:
    """Blender itself allows such parents, as their objects don't form a circle."""
    rig, cup = make_arm(moves=0.0), make_cup()
    hold(10, constraint="Hand", holder="Cup")
    cup.parent, cup.parent_type, cup.parent_bone = rig, "BONE", "Hand"
    update()
    go(20)
    assert holds_of(rig)[0].message != ""


def test_without_pose_mode_it_is_said_what_to_select() -> None:
    make_arm(), make_cup()
    bpy.ops.object.mode_set(mode="OBJECT")
    refuses(bpy.ops.fabrik.hold, saying="Enter Pose Mode and select a hand", by="SELECTED")


def test_its_simulation_is_outdated_at_once_where_a_holder_is_removed() -> None:
    """Before the next update, as Blender reads it while it loads a library again."""
    from addon.features.simulation import history

    rig, cup = make_arm(), make_cup()
    other = make_arm("Other", x=0.4)
    hold(20, **IN_HAND)
    hold(40, object="Cup", holder="Other", bone="Hand")
    holder = cup.parent
    assert holder.fabrik.simulation.state == "FRESH"
    bpy.data.objects.remove(other)
    history.check_again()
    assert holder.fabrik.simulation.state == "STALE"
    assert holder.fabrik.simulation.message
    update()
    assert holder.fabrik.simulation.state == "STALE"
    assert rig.name == "Rig"
