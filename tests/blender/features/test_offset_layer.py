"""Captured motion is touched up by offsets above it, and nothing else changes."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import pytest
from humans import make_human
from kept_files import new_file, open_kept, reopen
from mathutils import Quaternion, Vector
from operating import refuses
from rendering import rendered
from rigs import (
    activate,
    add_constraint,
    channels_bits,
    enable,
    evaluated,
    everything_bits,
    go,
    key,
    make_empty,
    pose_bits,
    shown_bits,
    update,
    world_location,
)

from addon.blender import animation
from addon.blender.offset_layers import edited_layer, layer_of

LAST = 60
AT, BEFORE, AFTER = 30, 15, 45
HAND = "hand.L"
TENTH = 0.1


def _walk(controls: str) -> None:
    rig = make_human(keyed=False)
    rig.name = "Walker"
    swinging = {"thigh": 0.4, "shin": 0.3, "foot": 0.1, "upper_arm": 0.4, "forearm": 0.3}
    for bone in rig.pose.bones:
        name, _, side = bone.name.partition(".")
        bone.rotation_mode = "XYZ" if name in ("thigh", "hand") else "QUATERNION"
        phase, swing = (0.0, math.pi)[side == "R"], swinging.get(name, 0.05)
        for frame in range(1, LAST + 1):
            angle = swing * math.sin(2 * math.pi * frame / 30 + phase)
            if bone.rotation_mode == "XYZ":
                key(bone, "rotation_euler", {frame: (angle, 0.1 * angle, 0.0)})
            else:
                key(bone, "rotation_quaternion", {frame: Quaternion((1, 0.1, 0), angle)})
    for frame in range(1, LAST + 1):
        rig.pose.bones["root"].location = (0.0, 0.0, 0.0)
        key(rig.pose.bones["root"], "location", {frame: (0.0, 0.03 * frame, 0.0)})
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}


def captured(controls: str = "BONE") -> Any:
    """Return a human whose walk of 60 frames was captured, set up as a character."""
    open_kept(("captured walk", controls), lambda: _walk(controls))
    rig: Any = bpy.data.objects["Walker"]
    activate(rig, "POSE" if controls == "BONE" else "")
    return rig


def hand_control(rig: Any) -> Any:
    """Return the bone or Empty that the left hand follows."""
    item = next(item for item in rig.fabrik.constraints if item.bone == HAND)
    return item.target.pose.bones[item.subtarget] if item.subtarget else item.target


def item_of(rig: Any, bone: str = HAND) -> Any:
    return next(item for item in rig.fabrik.constraints if item.bone == bone)


def played(frames: Sequence[float] = range(1, LAST + 1)) -> dict[float, bytes]:
    bits = {}
    for frame in frames:
        go(frame)
        bits[frame] = everything_bits()
    return bits


def tip(rig: Any, bone: str = HAND) -> Vector:
    posed = evaluated(rig)
    return (posed.matrix_world @ posed.pose.bones[bone].matrix).translation


def joints(rig: Any) -> dict[str, Vector]:
    posed = evaluated(rig)
    bones = [bone for bone in posed.pose.bones if not bone.bone.fabrik_is_control]
    return {bone.name: posed.matrix_world @ bone.head for bone in bones}


def inward(rig: Any, control: Any, by: float = TENTH) -> Vector:
    """Return a distance toward the shoulder in the space of a control's location."""
    posed = evaluated(rig)
    shoulder = posed.matrix_world @ posed.pose.bones["upper_arm.L"].head
    is_bone = isinstance(control, bpy.types.PoseBone)
    shown = rig.matrix_world @ control.matrix if is_bone else control.matrix_world
    space = (shown @ control.matrix_basis.inverted()).to_3x3()
    return by * (space.inverted() @ (shoulder - tip(rig))).normalized()


def offset_hand(rig: Any, control: Any) -> None:
    """Key zero 15 frames before and after, and an offset in the middle, as an animator does."""
    for frame in (BEFORE, AFTER):
        go(frame)
        control.keyframe_insert("location")
        update()
    go(AT)
    control.location = control.location + inward(rig, control)
    control.keyframe_insert("location")
    update()
    go(AT)


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
def test_a_key_eases_in_and_out_and_nothing_else_changes(controls: str) -> None:
    rig = captured(controls)
    control, frames = hand_control(rig), range(1, LAST + 1)
    before = played()
    stand = []
    for frame in frames:
        go(frame)
        stand.append((tip(rig), {**joints(rig)}))
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    assert played() == before
    offset_hand(rig, control)
    after = played()
    assert [f for f in frames if after[f] != before[f]] == [*range(BEFORE + 1, AFTER)]
    lifts = []
    arm = {"upper_arm.L", "forearm.L", "hand.L"}
    for frame in frames:
        go(frame)
        lifts.append((tip(rig) - stand[frame - 1][0]).length)
        moved = {name for name, head in joints(rig).items() if head != stand[frame - 1][1][name]}
        assert moved <= arm
        assert item_of(rig).state == "REACHED"
    assert lifts[AT - 1] == pytest.approx(TENTH, rel=1e-3)
    rising, falling = lifts[BEFORE - 1 : AT], lifts[AT - 1 : AFTER]
    assert rising == sorted(rising) and falling == sorted(falling, reverse=True)
    steps = [b - a for a, b in pairwise(lifts)]
    assert max(map(abs, steps)) < 2 * TENTH / (AT - BEFORE)


def touched_up(controls: str = "BONE") -> tuple[Any, Any]:
    """Return a captured human with an offset layer that moves a hand, and the hand's control."""
    rig = captured(controls)
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    control = hand_control(rig)
    offset_hand(rig, control)
    return rig, control


def places(frames: Sequence[float] = range(1, LAST + 1)) -> list[dict[str, Vector]]:
    rig = bpy.data.objects["Walker"]
    found = []
    for frame in frames:
        go(frame)
        found.append(joints(rig))
    return found


def apart(a: Sequence[dict[str, Vector]], b: Sequence[dict[str, Vector]]) -> float:
    return max(
        (one[name] - two[name]).length for one, two in zip(a, b, strict=True) for name in one
    )


def turned(control: Any) -> None:
    """Key a turn and a scale of a control as well, between zero offsets."""
    channel = "rotation_quaternion" if control.rotation_mode == "QUATERNION" else "rotation_euler"
    for frame in (BEFORE, AFTER):
        go(frame)
        control.keyframe_insert(channel)
        control.keyframe_insert("scale")
    go(AT)
    turn = Quaternion((0.3, 0.2, 1.0), 0.7)
    if channel == "rotation_quaternion":
        control.rotation_quaternion = control.rotation_quaternion @ turn
    else:
        euler = control.rotation_euler
        control.rotation_euler = (euler.to_quaternion() @ turn).to_euler("XYZ", euler)
    control.scale = (1.2, 0.9, 1.1)
    control.keyframe_insert(channel)
    control.keyframe_insert("scale")


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
def test_off_and_removed_are_as_before_and_merged_is_as_shown(controls: str) -> None:
    rig = captured(controls)
    before = played()
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    control = hand_control(rig)
    offset_hand(rig, control)
    turned(control)
    shown, above = played(), places()
    assert bpy.ops.fabrik.offset_layer_toggle() == {"FINISHED"}
    assert played() == before
    assert bpy.ops.fabrik.offset_layer_toggle() == {"FINISHED"}
    assert played() == shown
    bpy.ops.ed.undo_push(message="layered")
    assert bpy.ops.fabrik.offset_layer_merge() == {"FINISHED"}
    rig = bpy.data.objects["Walker"]
    assert all(layer_of(ob) is None for ob in bpy.data.objects)
    assert apart(places(), above) < 1e-5 * rig.dimensions.length
    merged = played()
    outside = [*range(1, BEFORE + 1), *range(AFTER, LAST + 1)]
    assert [frame for frame in outside if merged[frame] != before[frame]] == []


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "AXIS_ANGLE"])
@pytest.mark.parametrize("influence", [1.0, 0.4])
def test_what_is_merged_is_what_blender_evaluates(mode: str, influence: float) -> None:
    rig = captured()
    control = hand_control(rig)
    go(1)
    control.rotation_mode = mode
    channel = {"XYZ": "rotation_euler"}.get(mode, f"rotation_{mode.lower()}")
    for frame in range(1, LAST + 1, 3):
        values = [0.3 * math.sin(frame + k) for k in range(4 if mode != "XYZ" else 3)]
        key(control, channel, {frame: values})
    rig["dial"] = 0.5
    rig.id_properties_ui("dial").update(default=0.25)
    rig.keyframe_insert('["dial"]', frame=10)
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    for frame, size in ((10, 0.0), (30, 0.5), (40, 0.2)):
        go(frame)
        for i in range(3):
            control.location[i] += size * 0.1
            getattr(control, channel)[i] += size
        control.scale = (1 + size, 1 - size, 1)
        rig["dial"] = 0.5 + size
        for name in ("location", channel, "scale"):
            control.keyframe_insert(name)
        rig.keyframe_insert('["dial"]')
    layer_of(rig).strip.influence = influence
    update(rig)

    def values() -> list[list[float]]:
        found = []
        for frame in range(1, LAST + 1):
            go(frame)
            posed = evaluated(rig)
            bone = posed.pose.bones[control.name]
            turn = getattr(bone, channel)
            # Blender normalizes quaternions above a layer, which turns nothing.
            turn = turn.normalized() if mode == "QUATERNION" else turn
            row = [*bone.location, *turn, *bone.scale, posed["dial"]]
            found.append(row + [x for row in bone.matrix for x in row])
        return found

    shown = values()
    assert bpy.ops.fabrik.offset_layer_merge() == {"FINISHED"}
    rows = zip(shown, values(), strict=True)
    off = [[round(abs(a - b), 5) for a, b in zip(one, two, strict=True)] for one, two in rows]
    assert off == [[0.0] * len(row) for row in off]


def test_influence_is_keyed_and_at_zero_shows_what_is_below() -> None:
    rig = captured()
    before = played()
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    offset_hand(rig, hand_control(rig))
    full = played()
    strip = layer_of(rig).strip
    for value in (0.0, 0.5):
        strip.influence = value
        update(rig)
        go(AT)
        assert (everything_bits() == before[AT]) == (value == 0.0)
    strip.influence = 1.0
    strip.keyframe_insert("influence", frame=AT)
    strip.influence = 0.0
    strip.keyframe_insert("influence", frame=AT + 5)
    faded = played()
    assert faded[AT] == full[AT] and faded[AT + 2] not in (full[AT + 2], before[AT + 2])
    assert all(faded[frame] == before[frame] for frame in range(AT + 5, LAST + 1))


@pytest.mark.parametrize("frames", [range(LAST, 0, -1), range(1, LAST + 1, 7)])
def test_frames_are_the_same_in_any_order(frames: Sequence[int]) -> None:
    rig, _ = touched_up()
    forwards = played()
    assert played(frames) == {frame: forwards[frame] for frame in frames}
    for frame in (AT + 0.5, AT + 1 / 3):
        go(frame)
        bits = everything_bits()
        go(1, frame)
        assert everything_bits() == bits
    assert edited_layer(rig) is not None


def test_frames_outside_of_the_clip_and_between_frames_stay() -> None:
    rig = captured()
    frames = (-20, -0.5, 0, 0.25, 30.125, 59.75, 60.5, 200)
    for path in ("location", "rotation_quaternion"):
        for curve in animation.active_curves(rig, f'pose.bones["root"].{path}').values():
            curve.modifiers.new("CYCLES")
    update(rig)
    before = played(frames)
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    after = played(frames)
    assert [frame for frame in frames if after[frame] != before[frame]] == []


def test_solved_bones_keep_their_fk_pose_in_the_channels() -> None:
    rig, _ = touched_up()
    enable(rig, False)
    fk = []
    for frame in (20, AT, 50):
        go(frame)
        fk.append(channels_bits(rig))
    enable(rig)
    for frame, channels in zip((20, AT, 50), fk, strict=True):
        go(frame)
        assert channels_bits(rig) == channels != shown_bits(rig)


def test_renders_show_it_as_the_viewport_does() -> None:
    rig, _ = touched_up()
    frames = (20, AT, 50)
    shown = {}
    for frame in frames:
        go(frame)
        shown[frame] = pose_bits(rig)
    images = rendered(20, 50, 10)
    assert {frame: images[frame] for frame in frames} == shown


def test_undo_and_redo_are_one_step_each() -> None:
    captured()
    before = played(range(1, LAST + 1, 5))
    bpy.ops.ed.undo_push(message="captured")
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    offset_hand(bpy.data.objects["Walker"], hand_control(bpy.data.objects["Walker"]))
    bpy.ops.ed.undo_push(message="layered")
    shown = played(range(1, LAST + 1, 5))
    assert bpy.ops.fabrik.offset_layer_merge() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="merged")
    bpy.ops.ed.undo()
    assert edited_layer(bpy.data.objects["Walker"]) is not None
    assert played(range(1, LAST + 1, 5)) == shown
    bpy.ops.ed.undo()
    assert layer_of(bpy.data.objects["Walker"]) is None
    assert played(range(1, LAST + 1, 5)) == before


def test_the_layer_is_saved_with_the_file() -> None:
    touched_up()
    shown = played(range(1, LAST + 1, 5))
    reopen()
    assert edited_layer(bpy.data.objects["Walker"]) is not None
    assert played(range(1, LAST + 1, 5)) == shown


@pytest.mark.parametrize("into", ["NEW", "CURRENT"])
def test_bake_keys_what_is_shown_and_cancelling_it_leaves_the_layer(into: str) -> None:
    rig, _ = touched_up()
    above = places()
    options = {"frame_start": 1, "frame_end": LAST, "into": into}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("addon.features.bake.bake._PoseBake._compare", None)
        with pytest.raises(Exception, match="callable"):
            bpy.ops.fabrik.bake(**options)
    assert edited_layer(rig) is not None and apart(places(), above) == 0.0
    assert bpy.ops.fabrik.bake(**options) == {"FINISHED"}
    assert not [item for item in rig.fabrik.constraints if item.state == "REACHED"]
    # Exporters read the action alone: it has what was not baked as well.
    assert all(track.mute for track in rig.animation_data.nla_tracks)
    assert animation.active_curves(rig, 'pose.bones["root"].location')
    assert apart(places(), above) < 1e-5 * rig.dimensions.length


def test_snapping_a_range_of_controls_keys_below_the_layer() -> None:
    rig, _ = touched_up()
    index = next(i for i, item in enumerate(rig.fabrik.constraints) if item.bone == HAND)
    rig.fabrik.active_index = index
    enable(rig, False)
    fk = places()
    enable(rig)
    go(1)
    options = {"which": "ALL", "use_range": True, "frame_start": 1, "frame_end": LAST}
    assert bpy.ops.fabrik.snap_to_fk(**options) == {"FINISHED"}
    assert apart(places(), fk) < 1e-4
    assert edited_layer(rig) is not None
    bpy.ops.fabrik.offset_layer_toggle()
    assert apart(places(), fk) > 0.1 * TENTH


def test_holds_and_their_keys_go_on() -> None:
    rig = captured()
    cup = make_empty("Cup", location=(0.3, -0.3, 1.2))
    bpy.context.view_layer.objects.active = rig
    hold = {"object": "Cup", "holder": "Walker", "bone": HAND}
    go(10)
    assert bpy.ops.fabrik.hold(**hold) == {"FINISHED"}
    before = played()
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    assert played() == before
    offset_hand(rig, hand_control(rig))
    go(AT)
    grip = tip(rig).lerp(world_location(cup), 1.0) - tip(rig)
    assert grip.length == pytest.approx(_grip(rig, cup, 12), abs=1e-5)
    go(50)
    assert bpy.ops.fabrik.release(object="Cup") == {"FINISHED"}
    go(55)
    released = world_location(cup)
    go(59)
    assert (world_location(cup) - released).length < 1e-6


def _grip(rig: Any, cup: Any, frame: float) -> float:
    current = bpy.context.scene.frame_current
    go(frame)
    length = (tip(rig) - world_location(cup)).length
    go(current)
    return length


def test_pins_stay_where_they_are_put() -> None:
    rig, _ = touched_up()
    go(10)
    assert bpy.ops.fabrik.pin(bone="foot.R", kind="LOCATION", frames="PLACE") == {"FINISHED"}
    update()
    stand = tip(rig, "foot.R")
    for frame in (11, 12, AT):
        go(frame)
        if frame < 13:
            assert (tip(rig, "foot.R") - stand).length < 1e-4


def test_a_simulation_is_outdated_by_keys_in_the_layer_and_fresh_without() -> None:
    rig = captured("EMPTY")
    control = hand_control(rig)
    add_constraint(rig, "toe.L", control, solver="FOLLOW", chain_count=1)
    update(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}

    def state() -> str:
        update(rig, control)
        go(AT)
        return rig.fabrik.simulation.state

    assert state() == "FRESH"
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    assert state() == "FRESH"
    offset_hand(rig, control)
    assert state() == "STALE"
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    assert state() == "FRESH"
    layer_of(control).strip.influence = 0.5
    assert state() == "STALE"
    assert bpy.ops.fabrik.offset_layer_remove() == {"FINISHED"}
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    assert state() == "FRESH"


@pytest.mark.parametrize("operator", ["add", "merge", "remove", "toggle"])
def test_nothing_is_lost_if_it_fails(operator: str) -> None:
    rig = captured()
    if operator != "add":
        assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
        offset_hand(rig, hand_control(rig))
    shown, edited = played(range(1, LAST + 1, 5)), edited_layer(rig) is not None

    def fail(*_arguments: object, **_names: object) -> None:
        raise RuntimeError("The test does not want this")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("addon.features.layer.operators.counted", fail)
        patch.setattr("addon.features.layer.operators.msg", fail)
        with pytest.raises(RuntimeError, match="does not want"):
            getattr(bpy.ops.fabrik, f"offset_layer_{operator}")()
    rig = bpy.data.objects["Walker"]
    assert (edited_layer(rig) is not None) == edited
    assert played(range(1, LAST + 1, 5)) == shown


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("still", "no action"),
        ("twice", "already has an offset layer"),
        ("solo", "solo"),
        ("blending", "blends with the NLA"),
        ("tweaked", "tweak mode"),
    ],
)
def test_refused_with_the_reason_and_nothing_changes(case: str, message: str) -> None:
    rig = captured()
    data = rig.animation_data
    if case == "still":
        data.action = None
    elif case == "twice":
        bpy.ops.fabrik.offset_layer_add()
    elif case == "blending":
        data.action_blend_type = "ADD"
    else:
        other = data.nla_tracks.new()
        strip = other.strips.new("Other", 1, bpy.data.actions.new("Other"))
        if hasattr(strip, "action_slot"):
            strip.action_slot = strip.action.slots.new("OBJECT", "Walker")
        other.is_solo = case == "solo"
        if case == "tweaked":
            data.nla_tracks.active, strip.select = other, True
            data.use_tweak_mode = True
    tracks = len(data.nla_tracks)
    state = data.action, data.use_tweak_mode, len(bpy.data.actions)
    refuses(bpy.ops.fabrik.offset_layer_add, message)
    assert (data.action, data.use_tweak_mode, len(bpy.data.actions)) == state
    assert len(data.nla_tracks) == tracks


def test_an_action_that_others_use_is_copied_before_it_is_merged() -> None:
    rig = captured()
    action, slot = rig.animation_data.action, getattr(rig.animation_data, "action_slot_handle", 0)
    other = bpy.data.objects.new("Twin", rig.data)
    bpy.context.scene.collection.objects.link(other)
    other.animation_data_create()
    animation.use_action(other, action, slot)
    keys = [len(curve.keyframe_points) for curve in animation.all_active_curves(other)]
    values = [curve.evaluate(AT) for curve in animation.all_active_curves(other)]
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    offset_hand(rig, hand_control(rig))
    assert bpy.ops.fabrik.offset_layer_merge() == {"FINISHED"}
    assert rig.animation_data.action != other.animation_data.action == action
    assert [len(c.keyframe_points) for c in animation.all_active_curves(other)] == keys
    assert [c.evaluate(AT) for c in animation.all_active_curves(other)] == values


def test_strips_that_exist_stay_below() -> None:
    """They are evaluated by Blender alone, with or without the layer: 1e-5 of the height apart."""
    height = 1.8
    rig = captured()
    data = rig.animation_data
    other = bpy.data.actions.new("Below")
    strip = data.nla_tracks.new().strips.new("Below", 1, other)
    if hasattr(strip, "action_slot"):
        strip.action_slot = other.slots.new("OBJECT", "Walker")
    update(rig)
    before = places()
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    assert apart(places(), before) < 1e-5 * height
    offset_hand(rig, hand_control(rig))
    assert bpy.ops.fabrik.offset_layer_remove() == {"FINISHED"}
    assert len(data.nla_tracks) == 1 and data.action is not None
    assert apart(places(), before) < 1e-5 * height


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
def test_the_character_is_removed_with_the_layer_on(controls: str) -> None:
    rig = captured(controls)
    enable(rig, False)
    fk = places()
    enable(rig)
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    offset_hand(rig, hand_control(rig))
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert not rig.fabrik.constraints
    assert apart(places(), fk) < 1e-5


def test_an_override_of_a_linked_character_gets_a_layer(tmp_path: Path) -> None:
    captured()
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    new_file()
    with bpy.data.libraries.load(path, link=True) as (_, into):
        into.objects = ["Walker"]
    bpy.context.scene.collection.objects.link(into.objects[0])
    rig = into.objects[0].override_create(remap_local_usages=True)
    activate(rig)
    refuses(bpy.ops.fabrik.offset_layer_remove, "No offset layer")
    action = rig.animation_data.action
    assert not action.is_editable
    before = places()
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    offset_hand(rig, hand_control(rig))
    assert apart(places(), before) > 0.5 * TENTH
    shown = places()
    assert bpy.ops.fabrik.offset_layer_merge() == {"FINISHED"}
    assert apart(places(), shown) < 1e-5
    assert rig.animation_data.action != action
