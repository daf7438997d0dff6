"""Feet parented to the root at the ends of legs, as in games with baked IK."""

import math
from typing import Any

import bpy
import pytest
from humans import JOINTS
from mathutils import Euler, Matrix, Quaternion, Vector
from operating import click_bones, refuses
from rigs import activate, add_constraint, curves, evaluated, go, make_armature, update

from addon.blender.clip import Clip
from addon.body.looking import body_of
from addon.body.loose import loose_ends
from addon.features.character.settings import character_settings

FRAMES = range(1, 26, 4)

ENDS_AT = {"thigh": "shin", "shin": "foot", "foot": "toe", "upper_arm": "forearm"}
"""The joints at the ends of bones that end there; other tails lie anywhere."""


def make_detached(
    *,
    has_tails: bool = False,
    has_leaves: bool = False,
    has_names: bool = True,
    is_keyed: bool = True,
) -> Any:
    """A human whose feet are children of the root, and follow the shins in its animation.

    Args:
        has_tails: Whether bones end at the next joint.
        has_leaves: Whether legs end with bones, as exporters add them, and have twist bones.
        has_names: Whether the names of bones mean anything.
        is_keyed: Whether it moves.
    """
    joints = {
        name: ("root" if name.startswith("foot") else parent, Vector(head))
        for name, parent, head in JOINTS
    }
    for side in (".L", ".R") if has_leaves else ():
        joints["shin_end" + side] = "shin" + side, joints["foot" + side][1].copy()
        joints["thigh_twist" + side] = (
            "thigh" + side,
            joints["shin" + side][1].lerp(joints["thigh" + side][1], 0.5),
        )
    number = {name: f"n{i:03}" for i, name in enumerate(joints)} if not has_names else {}

    def named(name: str) -> str:
        return number.get(name, name)

    bones: dict[str, Any] = {}
    for name, (parent, head) in joints.items():
        stem, dot, side = name.partition(".")
        after = ENDS_AT.get(stem) if has_tails else None
        tail = joints[after + dot + side][1] if after else head + Vector((0.02, 0.05, 0.03))
        bones[named(name)] = (tuple(head), tuple(tail), named(parent) if parent else "")
    rig: Any = make_armature(bones)
    rig.rotation_euler.z = 0.7
    update()
    for frame in range(1, 26) if is_keyed else ():  # Baked.
        _pose(rig, named, frame)
    go(1)
    return rig


def test_the_search_evaluates_each_frame_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = make_detached(has_names=False)
    looked_at: list[float] = []
    evaluated_at = Clip._evaluated
    monkeypatch.setattr(
        Clip,
        "_evaluated",
        lambda clip, frame: (looked_at.append(frame), evaluated_at(clip, frame))[1],
    )
    assert len(body_of(rig).loose) == 2
    assert len(looked_at) == len({*looked_at}) > 1


def test_what_is_small_or_no_body_is_no_detached_end() -> None:
    """Of a rig's hundreds of bones most are of its face, and of its mechanisms."""
    rig = make_detached(has_tails=True, is_keyed=False)
    activate(rig, "EDIT")
    bones = rig.data.edit_bones
    for k, (name, parent) in enumerate((("brow", "head"), ("lid", "brow"), ("lash", "root"))):
        bone = bones.new(name)
        bone.head, bone.tail = ((0.03, -0.1 - 0.03 * i, 1.65) for i in (k, k + 1))
        bone.parent = bones[parent]
    bpy.ops.object.mode_set(mode="OBJECT")
    names = {*rig.data.bones.keys()}
    assert {*loose_ends(rig, Clip(rig), names, names)} == {"foot.L", "foot.R"}
    assert {*loose_ends(rig, Clip(rig), names - {"shin.R"}, names - {"foot.L"})} == set()


def _pose(rig: Any, named: Any, frame: int) -> None:
    """Key a step: the legs swing and bend, and the feet move with them and rotate on their own."""
    phase = 2.0 * math.pi * (frame - 1) / 24
    turns = {"hips": Euler((0.05 * math.sin(phase), 0.1 * math.cos(phase), 0.0))}
    for side, sign in ((".L", 1), (".R", -1)):
        swing = sign * math.sin(phase)
        turns["thigh" + side] = Euler((0.4 * swing, 0.0, 0.0))
        turns["shin" + side] = Euler((0.0, 0.0, 0.0))
        turns["forearm" + side] = Euler((0.0, 0.0, sign * (0.3 + 0.2 * swing)))
    posed = rig.pose.bones
    for name, turn in turns.items():
        posed[named(name)].rotation_mode = "QUATERNION"
        posed[named(name)].rotation_quaternion = turn.to_quaternion()
    for side, sign in ((".L", 1), (".R", -1)):
        # The knee bends about the armature's X axis.
        shin = posed[named("shin" + side)]
        axis = shin.bone.matrix_local.to_3x3().inverted() @ Vector((1.0, 0.0, 0.0))
        bend = -0.5 - 0.4 * sign * math.cos(phase)
        shin.rotation_quaternion = Quaternion(axis, bend)
    update()
    for side in (".L", ".R"):
        foot, shin = posed[named("foot" + side)], posed[named("shin" + side)]
        rest = shin.bone.matrix_local.inverted() @ foot.bone.head_local
        turn = Matrix.Rotation(0.2 * math.sin(phase), 4, "X")
        foot.matrix = Matrix.Translation(shin.matrix @ rest) @ turn @ _axes(foot)
        foot.keyframe_insert("location", frame=frame)
        foot.rotation_mode = "QUATERNION"
        foot.keyframe_insert("rotation_quaternion", frame=frame)
    for name in turns:
        posed[named(name)].keyframe_insert("rotation_quaternion", frame=frame)


def _axes(bone: Any) -> Matrix:
    return bone.bone.matrix_local.to_3x3().to_4x4()


def limbs(rig: Any) -> dict[str, tuple[str, ...]]:
    """Return the bones of the recognized limbs that have hands or feet, by these."""
    return {limb.end.bone: limb.bones for limb in body_of(rig).limbs if not limb.end.at_tail}


def shown(rig: Any, frames: Any = FRAMES) -> dict[tuple[int, str], Matrix]:
    """Return where all bones are at the keyed frames, in the world."""
    found: dict[tuple[int, str], Matrix] = {}
    for frame in frames:
        go(frame)
        posed = evaluated(rig)
        for bone in posed.pose.bones:
            if bone.bone.fabrik_is_control and "IK End" not in bone.name:
                continue  # Bakes move them.
            found[frame, bone.name] = posed.matrix_world @ bone.matrix
    return found


def apart(before: Any, after: Any) -> float:
    """Return how far the heads of the bones of the first are apart, in meters."""
    return max((after[key].translation - one.translation).length for key, one in before.items())


LEGS = {f"foot.{side}": (f"thigh.{side}", f"shin.{side}") for side in "LR"}


@pytest.mark.parametrize(
    ("has_tails", "is_keyed"), [(False, True), (True, True), (True, False), (False, False)],
    ids=["clip", "both", "tails", "names"],
)  # fmt: skip
def test_a_foot_where_the_leg_ends_is_its_foot(*, has_tails: bool, is_keyed: bool) -> None:
    rig = make_detached(has_tails=has_tails, is_keyed=is_keyed)
    assert limbs(rig).items() >= LEGS.items()
    assert body_of(rig).anatomy.missing() == []


def test_names_are_not_needed() -> None:
    rig = make_detached(has_names=False)
    order = [bone.name for bone in make_detached().data.bones]
    known = {f"n{i:03}": name for i, name in enumerate(name for name, *_ in JOINTS)}
    found = {known[end]: tuple(known[i] for i in bones) for end, bones in limbs(rig).items()}
    assert set(order) == set(known.values())
    assert found.items() >= LEGS.items()


def test_a_foot_that_goes_its_own_way_is_none() -> None:
    rig = make_detached(has_tails=True)
    for name in ("foot.L", "foot.R"):
        for frame in FRAMES:
            rig.pose.bones[name].location = (0.1 * math.sin(frame), 0.1 * math.cos(frame), 0.0)
            rig.pose.bones[name].keyframe_insert("location", frame=frame)
    update()
    assert not LEGS.keys() & limbs(rig).keys()
    assert body_of(rig).anatomy.missing() == ["FEET"]


@pytest.mark.parametrize("clicked", ["foot.L", "toe.L", "shin.L", "thigh.L"])
@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
@pytest.mark.parametrize("end", ["guessed", "has_tails", "has_leaves"])
def test_ik_reaches_for_the_foot(clicked: str, controls: str, end: str) -> None:
    has_tails = end == "has_tails"
    rig = make_detached(**({} if end == "guessed" else {end: True}))
    names = [bone.name for bone in rig.data.bones]
    go(9)
    before = shown(rig, [9])
    click_bones(rig, clicked)
    assert bpy.ops.fabrik.limb_add(controls=controls) == {"FINISHED"}
    update()
    (item,) = rig.fabrik.constraints
    assert (item.target, item.subtarget, item.state) == (rig, "foot.L", "REACHED")
    assert item.use_tail == has_tails and item.pole_target is not None
    assert (item.bone in names) == (end != "guessed")  # No bone is added where there is one.
    assert apart(before, shown(rig, [9])) < 1e-4
    # The foot is moved, the leg follows, and no other bone does.
    foot = rig.pose.bones["foot.L"]
    start = foot.matrix.copy()
    foot.matrix = Matrix.Translation((0.02, -0.1, 0.12)) @ start
    update()
    posed = evaluated(rig).pose.bones
    ankle = posed[item.bone].tail if has_tails else posed[item.bone].head
    assert (ankle - posed["foot.L"].head).length < 1e-4 and item.state == "REACHED"
    back = rig.matrix_world.inverted()
    places = {name: back @ before[9, name].translation for name in names}
    moved = {name for name, place in places.items() if (posed[name].head - place).length > 1e-3}
    assert moved - {"shin_end.L", "thigh_twist.L"} == {"shin.L", "foot.L", "toe.L"}
    foot.matrix = start
    update()
    rig.fabrik.active_index = 0
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert [bone.name for bone in rig.data.bones] == names
    assert apart(before, shown(rig, [9])) < 1e-6


@pytest.mark.parametrize("controls", ["EMPTY", "BONE", "ARMATURE"])
def test_setting_up_keeps_the_clip_and_the_keys_of_the_feet(controls: str) -> None:
    rig = make_detached()
    before, names = shown(rig), [bone.name for bone in rig.data.bones]
    keys = _foot_keys(rig)
    activate(rig)
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    assert {part.bone for part in character_settings(rig).parts} >= LEGS.keys()
    assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}
    targets = {item.subtarget for item in rig.fabrik.constraints}
    assert targets >= LEGS.keys()
    assert all(item.state == "REACHED" for item in rig.fabrik.constraints)
    assert apart(before, shown(rig)) < 1e-3
    assert _foot_keys(rig) == keys
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert [bone.name for bone in rig.data.bones] == names
    assert [ob.name for ob in bpy.data.objects] == [rig.name]
    assert apart(before, shown(rig)) < 1e-6


def _foot_keys(rig: Any) -> list[tuple[str, int, list[tuple[float, float]]]]:
    return [
        (curve.data_path, curve.array_index, [tuple(key.co) for key in curve.keyframe_points])
        for curve in curves(rig)
        if '"foot.' in curve.data_path
    ]


@pytest.mark.parametrize(
    ("dragged", "moving", "way"),
    [
        ("hips", "hips", (0.0, -0.05, -0.1)),
        ("foot.R", "foot.R", (0.0, -0.05, 0.05)),
        ("toe.R", "foot.R", (0.0, -0.05, 0.05)),
    ],
)
def test_the_body_moves_with_a_foot_that_has_ik(
    dragged: str, moving: str, way: tuple[float, float, float]
) -> None:
    rig = make_detached()
    activate(rig)
    bpy.ops.fabrik.character_recognize()
    bpy.ops.fabrik.character_set_up()
    go(9)
    click_bones(rig, "foot.L")
    for bone in ("foot.L", "foot.R"):
        assert bpy.ops.fabrik.pin(bone=bone, kind="BOTH") == {"FINISHED"}
    before = shown(rig, [9])
    done = bpy.ops.fabrik.drag(bone=dragged, value=way, whole_body=True)
    assert done == {"FINISHED"}
    update()
    posed = evaluated(rig)
    moved = {
        bone.name: posed.matrix_world @ bone.head - before[9, bone.name].translation
        for bone in posed.pose.bones
        if (9, bone.name) in before
    }
    assert (moved[moving] - Vector(way)).length < 2e-3
    for bone in {"foot.L", "foot.R"} - {moving}:
        assert moved[bone].length < 1e-4
    assert moved["hips"].length > 1e-3  # The whole body moved.


@pytest.mark.parametrize(
    ("parent", "is_keyed"), [("root", True), ("root", False), ("hips", False), ("", False)]
)
def test_a_dragged_foot_that_has_ik_moves_alone(parent: str, *, is_keyed: bool) -> None:
    rig = make_detached(has_tails=True, is_keyed=is_keyed)
    activate(rig, "EDIT")
    for foot in ("foot.L", "foot.R"):
        rig.data.edit_bones[foot].parent = rig.data.edit_bones.get(parent)
    click_bones(rig, "foot.L")
    bpy.ops.fabrik.limb_add(controls="BONE")
    update()
    before, way = shown(rig, [1]), Vector((0.03, -0.1, 0.15))
    bpy.ops.fabrik.drag(bone="foot.L", value=way)
    update()
    after = evaluated(rig)
    for (_, name), start in before.items():
        change = after.matrix_world @ after.pose.bones[name].matrix - start
        if name in ("foot.L", "toe.L"):
            change.translation -= way
        if name not in LEGS["foot.L"]:
            assert max(abs(x) for row in change for x in row) < 1e-4, name


def test_a_joint_of_a_body_is_no_control_if_something_looks_at_it() -> None:
    """A drag would tear its head off, where joints aren't connected."""
    rig = make_detached()
    eye = make_armature({"eye": ((3.0, 0.0, 1.5), (3.0, 0.0, 1.6), "")}, "Eye")
    add_constraint(eye, "eye", rig, solver="LOOK_AT", subtarget="head")
    click_bones(rig, "head")
    length = _neck(rig)
    assert bpy.ops.fabrik.drag(bone="head", value=(0.0, -0.1, 0.0)) == {"FINISHED"}
    update()
    assert _neck(rig) == pytest.approx(length, abs=1e-5)
    assert rig.pose.bones["head"].location.length == 0.0


def _neck(rig: Any) -> float:
    posed = evaluated(rig).pose.bones
    return (posed["head"].head - posed["head"].parent.head).length


def test_it_is_said_where_a_foot_would_stay_behind() -> None:
    rig = make_detached()
    click_bones(rig, "foot.L")
    refuses(bpy.ops.fabrik.drag, "Add IK Limb", bone="foot.L", value=(0, 0, 0.1), whole_body=True)
    refuses(bpy.ops.fabrik.gait_add, "aren't parented to their legs would")
    bpy.ops.fabrik.limb_add()
    copy = rig.pose.bones["foot.L"].constraints.new("COPY_ROTATION")
    copy.target, copy.subtarget = rig, "foot.R"
    _stand_on(rig, 0.0)
    (item,) = rig.fabrik.constraints
    assert item.state == "INVALID" and "isn't parented to the leg" in item.message


def _stand_on(rig: Any, height: float) -> None:
    """Put the legs on a floor above that of the animation, and simulate."""
    mesh = bpy.data.meshes.new("Floor")
    corners = [(x, y, height) for x, y in ((-9, -9), (9, -9), (9, 9), (-9, 9))]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    floor = bpy.data.objects.new("Floor", mesh)
    bpy.context.scene.collection.objects.link(floor)
    for item in rig.fabrik.constraints:
        if item.subtarget in LEGS:
            item.ground.object, item.ground.use = floor, True
            item.ground.use_floor = True
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 25
    update()
    bpy.ops.fabrik.simulate()
    update()


def _gaps(rig: Any, frames: Any = FRAMES) -> list[float]:
    """Return how far each leg ends from its foot, in meters."""
    places = shown(rig, frames)
    ends = {item.subtarget: item.bone for item in rig.fabrik.constraints if item.subtarget in LEGS}
    assert ends
    return [
        (places[frame, end].translation - places[frame, foot].translation).length
        for frame in frames
        for foot, end in ends.items()
    ]


RISE = 0.1


@pytest.fixture
def raised() -> tuple[Any, dict[tuple[int, str], Matrix]]:
    """A figure set up on a floor higher than its own, and its animation before that."""
    rig = make_detached()
    before = shown(rig)
    activate(rig)
    bpy.ops.fabrik.character_recognize()
    bpy.ops.fabrik.character_set_up()
    _stand_on(rig, RISE)
    return rig, before


def test_a_foot_goes_to_the_ground_with_its_leg(raised: Any) -> None:
    rig, before = raised
    after, turn = shown(rig), rig.matrix_world.to_quaternion()
    for (frame, bone), place in before.items():
        if bone.startswith(("foot", "toe", "hips", "shin")):
            rise = after[frame, bone].translation - place.translation
            assert (rise - Vector((0.0, 0.0, RISE))).length < 2e-3, (frame, bone)
    assert max(_gaps(rig)) < 1e-5
    # It keeps its keys, and goes back.
    keys = _foot_keys(rig)
    for item in rig.fabrik.constraints:
        item.ground.use = False
    update()
    assert apart(before, shown(rig)) < 1e-3 and _foot_keys(rig) == keys and turn


@pytest.mark.parametrize("influence", [0.0, 0.5])
def test_a_foot_goes_as_far_as_its_leg_has_influence(raised: Any, influence: float) -> None:
    rig, before = raised
    for item in rig.fabrik.constraints:
        if item.subtarget in LEGS:
            item.influence = influence
    update()
    after = shown(rig, [9])
    for foot in LEGS:
        rise = after[9, foot].translation.z - before[9, foot].translation.z
        assert rise == pytest.approx(influence * RISE, abs=2e-3)


def test_feet_and_legs_are_baked_from_the_ground_alike(raised: Any) -> None:
    rig, _ = raised
    live = shown(rig)
    assert bpy.ops.fabrik.ground_bake(frame_start=1, frame_end=25) == {"FINISHED"}
    assert not any(item.ground.use for item in rig.fabrik.constraints)
    assert apart(live, shown(rig)) < 5e-3
    assert max(_gaps(rig)) < 1e-4


def test_a_walk_takes_feet_along_that_legs_reach_for() -> None:
    rig = make_detached(is_keyed=False, has_tails=True)
    for foot in LEGS:
        click_bones(rig, foot)
        assert bpy.ops.fabrik.limb_add() == {"FINISHED"}
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert {leg.constraint for leg in rig.fabrik.gaits[0].legs} == set(LEGS)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 61
    rig.keyframe_insert("location", frame=1)
    rig.location = rig.matrix_world.to_3x3() @ Vector((0.0, -2.0, 0.0))
    rig.keyframe_insert("location", frame=61)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    places = shown(rig, range(1, 62, 3))
    ends = {item.subtarget: item.bone for item in rig.fabrik.constraints}
    for foot, last in ends.items():
        heights = [places[frame, foot].translation.z for frame in range(1, 62, 3)]
        assert max(heights) - min(heights) > 0.03  # It steps.
        for frame in range(1, 62, 3):
            go(frame)
            posed = evaluated(rig).pose.bones
            assert (posed[last].tail - posed[foot].head).length < 1e-4


def test_a_foot_may_have_the_name_of_a_control() -> None:
    """Like the target of the IK before it was baked."""
    rig = make_detached()
    for side in "LR":
        rig.data.bones[f"foot.{side}"].name = f"IK foot.{side}"
    assert limbs(rig).items() >= {f"IK {foot}": leg for foot, leg in LEGS.items()}.items()


def test_a_foot_beyond_the_reach_of_its_leg_is_found_all_the_same() -> None:
    """Baked IK pointed straight at it there."""
    rig = make_detached()
    for frame in (7, 13, 19, 25):  # Of the nine that are looked at.
        go(frame)
        for side in "LR":
            shin, foot = rig.pose.bones[f"shin.{side}"], rig.pose.bones[f"foot.{side}"]
            foot.matrix = Matrix.Translation(0.4 * (foot.head - shin.head)) @ foot.matrix
            foot.keyframe_insert("location", frame=frame)
    assert limbs(rig).items() >= LEGS.items()


def test_a_foot_on_the_ground_is_where_it_is_whichever_way_a_frame_is_reached(raised: Any) -> None:
    rig, _ = raised
    played = shown(rig, range(1, 26))
    for before, frame in ((25, 9), (2, 9), (17, 18), (18, 17), (1, 25)):
        go(before)
        jumped = shown(rig, [frame])
        assert all(played[key] == place for key, place in jumped.items())


@pytest.mark.parametrize("last", [18, 20, 22])
def test_where_it_ends_is_measured_at_keys_and_not_between_them(last: int) -> None:
    """A capture is keyed at whole frames; between them its feet go straight and legs in arcs."""
    rig = make_detached()
    for curve in curves(rig):
        for key in reversed(curve.keyframe_points):
            key.interpolation = "LINEAR"
            if key.co[0] > last:
                curve.keyframe_points.remove(key)
    bones = rig.data.bones
    ends = body_of(rig).loose
    for side in "LR":
        shin, foot = bones[f"shin.{side}"], bones[f"foot.{side}"]
        rest = shin.matrix_local.inverted() @ foot.head_local
        assert (Vector(ends[foot.name].joint) - rest).length < 1e-6


def test_setting_up_says_which_bone_moved_and_where(capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_detached()
    for curve in curves(rig):
        if curve.data_path == 'pose.bones["foot.L"].location' and curve.array_index == 2:
            curve.keyframe_points[12].co.y += 0.04  # Frame 13.
            curve.update()
    activate(rig, "POSE")
    before = shown(rig, [13])
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    assert apart(before, shown(rig, [13])) > 0.01
    said = capfd.readouterr().out
    assert ".L” moved farthest, by " in said and "at frame 13: check the pose there" in said


@pytest.mark.parametrize("controls", ["BONE", "EMPTY", "ARMATURE"])
def test_the_spine_and_the_knees_move_with_the_armature(controls: str) -> None:
    rig = make_detached(is_keyed=False)
    activate(rig, "POSE")
    assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}
    chest, knee = (
        rig.matrix_world.inverted()
        @ evaluated(rig).matrix_world
        @ evaluated(rig).pose.bones[b].tail
        for b in ("chest", "thigh.L")
    )
    rig.location.x += 5.0
    update()
    bones = evaluated(rig).pose.bones
    assert (bones["chest"].tail - chest).length < 1e-4
    assert (bones["thigh.L"].tail - knee).length < 1e-4
