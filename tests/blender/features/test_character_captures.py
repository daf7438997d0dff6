"""Captures without a usable rest pose are recognized from their animation, and set up."""

import statistics
from itertools import pairwise
from math import cos, radians, sin

import bpy
import pytest
from captures import imported
from characters import FAMILIES, make_capture
from grounded import heads, plane
from mathutils import Matrix, Vector
from operating import click_bones, refuses
from rigs import activate, as_strip, curves, evaluated, go

from addon.blender.clip import Clip
from addon.body.body import Body
from addon.body.clicked import find_limbs
from addon.body.looking import body_of
from addon.features.whole_body.roles import roles_of

pytestmark = pytest.mark.newest

YAW = 0.7


def check(name: str, character: Body, front: Vector) -> None:
    """Compare the recognized arms, legs and head with those of a family."""
    names, anatomy = character.names, character.anatomy
    limbs = {(limb.kind, limb.hand, *limb.bones) for limb in character.limbs}
    parts = FAMILIES[name].parts
    assert limbs == {(kind, end, *line) for kind, end, line in parts if kind in ("ARM", "LEG")}
    assert ("HEAD", names[anatomy.head]) in [part[:2] for part in parts]
    assert character.front.dot(front) > 0.98
    assert character.frame is not None and 1.4 < character.size < 1.9
    assert not anatomy.standing


@pytest.mark.parametrize("name", FAMILIES)
def test_captures_are_recognized_and_limbs_found_from_hand_and_foot(name: str) -> None:
    rig = make_capture(name, YAW)
    check(name, body_of(rig), Vector((sin(YAW), -cos(YAW), 0.0)))
    for kind, end, line in FAMILIES[name].parts:
        if kind in ("ARM", "LEG"):
            (limb, is_end), *_ = find_limbs(rig, [end or line[-1]])
            assert (limb.kind, limb.hand, limb.bones) == (kind, end, tuple(line))
            assert is_end == bool(end)


@pytest.mark.parametrize("name", ["genesis 8", "lafan", "mmd", "smpl", "unreal 5"])
def test_limbs_are_found_from_hand_and_foot_without_names(name: str) -> None:
    rig = make_capture(name, YAW)
    other = {bone.name: f"Bone.{i:03}" for i, bone in enumerate(rig.data.bones)}
    for before, after in other.items():
        rig.data.bones[before].name = after
    bpy.context.view_layer.update()
    for kind, end, line in FAMILIES[name].parts:
        if kind in ("ARM", "LEG"):
            [(limb, is_end)] = find_limbs(rig, [other[end]])
            assert (*limb.bones, limb.hand) == (*[other[bone] for bone in line], other[end])
            assert limb.kind == kind and is_end


@pytest.mark.parametrize("up", ["Y", "lying", "strip"])
def test_up_is_told_by_the_animation(up: str) -> None:
    """As with an importer that leaves Y up, or a lying object; and from an NLA strip."""
    rig = make_capture("lafan", YAW)
    front = Vector((sin(YAW), -cos(YAW), 0.0))
    if up == "strip":
        as_strip(rig)
    elif up == "lying":
        rig.rotation_euler.x = radians(-90.0)
    else:
        turn = Matrix.Rotation(radians(-90.0), 4, "X")
        rig.data.transform(turn)
        front = turn @ front
    bpy.context.view_layer.update()
    check("lafan", body_of(rig), front)


@pytest.mark.parametrize("name", ["genesis 8", "lafan", "mmd", "makehuman"])
def test_captures_are_set_up_without_moving(name: str) -> None:
    rig = make_capture(name, YAW)
    activate(rig)
    before = heads(rig, rig.data.bones.keys(), range(1, 10))
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    assert {item.bone for item in rig.fabrik.constraints} == {
        end for _, end, _ in FAMILIES[name].parts
    }
    after = heads(rig, before, range(1, 10))
    pairs = [pair for bone in before for pair in zip(before[bone], after[bone], strict=True)]
    assert max((a - b).length for a, b in pairs) < 1e-3


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "XYZ", "ZYX"])
def test_a_clip_has_the_poses_that_blender_evaluates(mode: str) -> None:
    rig = make_capture("smpl", YAW)
    rig.animation_data_clear()
    names = [bone.name for bone in rig.pose.bones]
    for k, bone in enumerate(rig.pose.bones):
        bone.rotation_mode = mode
        path = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
            mode, "rotation_euler"
        )
        bone.bone.use_inherit_rotation = k % 5 != 3
        bone.bone.inherit_scale = ("FULL", "NONE", "ALIGNED")[k % 3]
        for frame in (1, 20):
            count = len(getattr(bone, path))
            setattr(bone, path, [sin(frame + k + i) for i in range(count)])
            bone.location = (0.1 * sin(k + frame), 0.0, 0.05)
            bone.scale = (1.0, 1.0 + 0.2 * sin(k * frame), 1.1)
            for channel in (path, "location", "scale"):
                bone.keyframe_insert(channel, frame=frame)
    clip = Clip(rig)
    assert (clip.frames[0], clip.frames[-1]) == (1.0, 20.0)
    for frame in clip.frames:
        found = clip.matrices(frame)
        bpy.context.scene.frame_set(int(frame), subframe=frame % 1.0)
        posed = evaluated(rig).pose.bones
        for name in names:
            assert max(
                abs(a - b) for p, q in zip(found[name], posed[name].matrix, strict=True)
                for a, b in zip(p, q, strict=True)
            ) < 2e-5  # fmt: skip


def test_what_is_missing_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_capture("quaternius", YAW)
    activate(rig)
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    assert (
        "Recognized 2 arms, 1 spine and 1 head, at frame" in (text := capfd.readouterr().out)
        and "No hand or foot is parented to “LowerLeg.L” and “LowerLeg.R”" in text
    )
    refuses(bpy.ops.fabrik.gait_add, "“quaternius” doesn't stand in its rest pose")


def slow_down(rig: bpy.types.Object, times: int) -> None:
    """Let the clip of a capture last longer."""
    for curve in curves(rig):
        for key in curve.keyframe_points:
            key.co.x = 1.0 + times * (key.co.x - 1.0)
            key.interpolation = "LINEAR"
        curve.update()


@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("name", ["bandai namco", "cmu", "lafan", "mmd", "smpl"])
def test_captures_walk(name: str, nameless: bool, capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_capture(name, YAW)
    ends = {line[1]: "" for line in FAMILIES[name].parts if line[0] == "LEG"}
    for i, bone in enumerate(rig.data.bones):
        before = bone.name
        if nameless:
            bone.name = f"Bone.{i:03}"
        if before in ends:
            ends[before] = bone.name
    slow_down(rig, 6)
    bpy.context.scene.frame_end = last = 49
    plane()
    activate(rig)
    shown = []
    for walks in (False, True):
        if walks:
            assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
        shown.append([])
        for frame in range(1, last + 1):
            go(frame)
            posed = evaluated(rig).pose.bones
            shown[-1].append({bone.name: bone.matrix.copy() for bone in posed})
    assert "Warning" not in capfd.readouterr().out
    gait = rig.fabrik.gaits[0]
    assert {leg.constraint for leg in gait.legs} == {*ends.values()}
    before, after = shown
    up = Vector((0.0, 0.0, 1.0))
    for a, b in zip(before, after, strict=True):
        body, walked = a[gait.body], b[gait.body]
        sunk = body.translation - walked.translation
        assert sunk.xy.length < 1e-4 and -0.01 < sunk.z < 0.1
        assert max((r - s).length for r, s in zip(body.col, walked.col, strict=True)) < 0.1
    ahead = Vector((sin(YAW), -cos(YAW), 0.0))
    for foot in ends.values():
        tracks = [[pose[foot].translation for pose in poses] for poses in shown]
        lows = [min(place.z for place in track) for track in tracks]
        assert lows == pytest.approx([0.082, 0.082], abs=0.012)
        aside = [statistics.mean([p.cross(ahead).z for p in track[::6]]) for track in tracks]
        assert aside[1] == pytest.approx(aside[0], abs=0.02)
        along = [statistics.mean([p.dot(ahead) for p in track[::6]]) for track in tracks]
        assert along[1] == pytest.approx(along[0], abs=0.25)
        ways = [(b - a).length for a, b in pairwise(tracks[1])]
        still = [k for k, way in enumerate(ways) if way < 1e-5]
        assert len(still) > 0.4 * len(ways)
        # Flat on the floor, as where the capture has it lowest.
        low = min(before, key=lambda pose: pose[foot].translation.z)[foot]
        flat = [after[k][foot].to_3x3().inverted() @ up for k in still]
        assert max((one - low.to_3x3().inverted() @ up).length for one in flat) < 0.1


def test_a_capture_that_walks_follows_its_bones_when_they_are_renamed() -> None:
    rig = make_capture("lafan", YAW)
    plane()
    activate(rig)
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    feet = []
    for name in ("LeftFoot", "Renamed"):
        rig.data.bones["LeftFoot" if name == "Renamed" else name].name = name
        go(5)
        feet.append(evaluated(rig).pose.bones[name].matrix.copy())
    assert feet[0] == feet[1]
    assert "Renamed" in [bone.name for bone in rig.fabrik.gaits[0].stand]


ARMS_AND_LEGS = ["ARM", "ARM", "LEG", "LEG"]
FOUR_LEGS = ["LEG"] * 4
OTHERS: dict[str, tuple[list[str], set[str], list[str]]] = {
    "Fox.glb": (FOUR_LEGS, {"b_LeftUpperArm_09", "b_LeftLeg01_015"}, []),
    "bn1_dash_normal_001.bvh": (ARMS_AND_LEGS, {"UpperArm_L", "UpperLeg_L"}, []),
    "cmu_02_03.bvh": (ARMS_AND_LEGS, {"LeftArm", "LeftUpLeg"}, []),
    "cmu_05_01.bvh": (ARMS_AND_LEGS, {"lshoulder", "lhip"}, []),
    "cmu_49_04.bvh": (ARMS_AND_LEGS, {"LeftArm", "LeftUpLeg"}, []),
    "egg_walking.bvh": (ARMS_AND_LEGS, {"LeftArm", "LeftUpLeg"}, []),
    "kaykit_knight.glb": (ARMS_AND_LEGS, {"upperarm.l", "upperleg.l"}, []),
    "m2m_dragon.blend": (FOUR_LEGS, {"FrontUpperLeg_L", "BackUpperLeg_L"}, []),
    "m2m_human-addon-animations.glb": (
        ARMS_AND_LEGS,
        {"DEF-upper_arm.L", "DEF-thigh.L"},
        [],
    ),
    "m2m_human.blend": (ARMS_AND_LEGS, {"upperarm_l", "thigh_l"}, []),
    "m2m_kaiju.blend": (ARMS_AND_LEGS, {"Front_Leg_Upper_L", "Back_Leg_Upper_L"}, []),
    "m2m_quad-creature-animations.glb": (
        FOUR_LEGS,
        {"Front_Leg_Upper.L", "Back_Leg_Upper.L"},
        [],
    ),
    "mannequiny.glb": (ARMS_AND_LEGS, {"upperarm.l", "thigh.l"}, []),
    "pab_walk.fbx": (ARMS_AND_LEGS, {"LeftArm", "LeftUpLeg"}, []),
    "q17_Frog.fbx": (FOUR_LEGS, {"FrontUpLeg.L", "BackUpLeg.L"}, []),
    "q17_Spider.fbx": (
        ["LEG"] * 8,
        {"FrontLeg.L", "MidFrontLeg.L", "MidBackLeg.L", "BackLeg.L"},
        [],
    ),
    "q_Trex.glb": (ARMS_AND_LEGS, {"FrontUpLeg.L", "BackUpLeg.L"}, []),
    "q_Wolf.glb": (FOUR_LEGS, {"FrontUpperLeg.L", "BackUpperLeg.L"}, []),
    "seedsan.fbx": (ARMS_AND_LEGS, {"upper_arm.L", "thigh.L"}, []),
    "xia_neutral_01_000.bvh": (ARMS_AND_LEGS, {"LeftArm", "LeftUpLeg"}, []),
}
"""Kinds of limbs, the first bones of those on the left, and what is missing."""


@pytest.mark.parametrize("action", ["Dance", "Walking"])
def test_a_robot_has_arms_whatever_it_does(action: str) -> None:
    """A bone of its trunk is where one leg ends, in one action: no limb goes on from there."""
    rig = imported("RobotExpressive.glb")
    # Importers of earlier versions add the object's name.
    names = (action, f"{action}_{rig.name}")
    (rig.animation_data.action,) = [one for one in bpy.data.actions if one.name in names]
    character = body_of(rig)
    assert {(limb.kind, *limb.bones) for limb in character.limbs} == {
        (kind, *(f"{bone}.{side}" for bone in bones))
        for kind, *bones in (("ARM", "UpperArm", "LowerArm"), ("LEG", "UpperLeg", "LowerLeg"))
        for side in "LR"
    }
    assert character.anatomy.missing() == [] and character.loose.keys() == {"Foot.L", "Foot.R"}


@pytest.mark.parametrize(
    ("name", "loose"),
    [
        ("q_Wolf.glb", {"IKFrontLeg.L", "IKFrontLeg.R", "IKBackLeg.L", "IKBackLeg.R"}),
        ("q_Trex.glb", {"BackFoot.L", "BackFoot.R"}),
        ("RobotExpressive.glb", {"Foot.L", "Foot.R"}),
    ],
)
def test_loose_feet_have_names_where_nothing_moves(name: str, loose: set[str]) -> None:
    rig = imported(name)
    rig.animation_data_clear()
    character = body_of(rig)
    assert character.anatomy.missing() == [] and character.loose.keys() == loose


@pytest.mark.parametrize(
    ("name", "is_person"),
    [("q_Trex.glb", False), ("m2m_kaiju.blend", False), ("Soldier.glb", True)],
)
def test_only_upright_bodies_with_legs_of_two_bones_are_posed_as_people(
    name: str, *, is_person: bool
) -> None:
    assert bool(roles_of(imported(name)).posture) == is_person


def test_both_feet_of_a_capture_are_ankles_though_one_is_lifted() -> None:
    character = body_of(imported("pab_walk.fbx"))
    assert {leg.end.bone for leg in character.legs} == {"LeftFoot", "RightFoot"}


def test_a_wolf_walks_with_paws_that_are_no_children_of_its_legs() -> None:
    rig = imported("q_Wolf.glb")
    activate(rig)
    refuses(bpy.ops.fabrik.gait_add, "aren't parented to their legs would")
    paws = [f"IK{end}Leg.{side}" for end in ("Front", "Back") for side in "LR"]
    for paw in paws:
        click_bones(rig, paw)
        assert bpy.ops.fabrik.limb_add() == {"FINISHED"}
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    legs = {leg.constraint: leg.height for leg in rig.fabrik.gaits[0].legs}
    assert legs.keys() == set(paws)
    size = body_of(rig).size
    assert all(0.0 < height < 0.1 * size for height in legs.values())


@pytest.mark.parametrize("name", OTHERS)
def test_characters_of_others_are_recognized(name: str) -> None:
    character = body_of(imported(name))
    anatomy = character.anatomy
    kinds, lefts, missing = OTHERS[name]
    assert sorted(limb.kind for limb in anatomy.limbs) == kinds
    found = {character.names[limb.bones[0]] for limb in anatomy.limbs if limb.side > 0}
    assert (found, anatomy.missing(), anatomy.standing) == (lefts, missing, ())
    assert "head" in character.names[anatomy.head].lower()
