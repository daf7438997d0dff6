"""A click on any bone at or near a hand or foot means the arm or leg that it ends."""

from collections.abc import Sequence
from itertools import pairwise
from math import radians
from pathlib import Path
from typing import Any

import bpy
import generated
import pytest
from captures import imported
from downloaded import LEFT as L
from downloaded import make_mixamo
from generated import generated_rig
from humans import make_human
from mathutils import Matrix, Vector
from operating import click_bones, refuses
from rigs import activate, evaluated, make_armature, update


def still(rig: Any) -> None:
    """Take a rig's animation away, and show its rest pose."""
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis = Matrix()
    update()


def add(rig: Any, *names: str, **options: object) -> Any:
    """Click bones and add IK to their limbs; return the constraints."""
    click_bones(rig, *names)
    assert bpy.ops.fabrik.limb_add(**options) == {"FINISHED"}
    update()
    return rig.fabrik.constraints


def chain(rig: Any, item: Any) -> list[str]:
    """Return the bones that bend, root first, and the rotated bone, if any."""
    last = rig.pose.bones[item.bone] if item.use_tail else rig.pose.bones[item.bone].parent
    bones = [last, *last.parent_recursive][: item.chain_count][::-1]
    return [bone.name for bone in bones] + ([] if item.use_tail else [item.bone])


def meant(rig: Any, name: str) -> list[str]:
    """Return what `chain` does for the limb of a bone, and remove its IK again.

    Its controls are Empties: what a click means does not depend on them, and Edit Mode takes long.
    """
    (item,) = add(rig, name, controls="EMPTY")
    found = chain(rig, item)
    assert item.state == "REACHED"
    bpy.ops.fabrik.constraint_remove()
    return found


def shown(rig: Any, names: Sequence[str] = ()) -> dict[str, Matrix]:
    """Return the matrices of bones in armature space, as evaluated."""
    bones = evaluated(rig).pose.bones
    return {name: bones[name].matrix.copy() for name in names or bones.keys()}


def apart(a: dict[str, Matrix], b: dict[str, Matrix]) -> float:
    return max(
        abs(x - y)
        for name in a
        for r, s in zip(a[name], b[name], strict=True)
        for x, y in zip(r, s, strict=True)
    )


def pull(rig: Any, item: Any, way: Sequence[float]) -> None:
    """Move the control bone of a constraint in armature space."""
    control = rig.pose.bones[item.subtarget]
    control.matrix = Matrix.Translation(way) @ control.matrix
    update()


# Below wrists and ankles


@pytest.mark.parametrize("finger", ["HandIndex1", "HandIndex2", "HandIndex3", "HandThumb2"])
def test_a_finger_means_its_arm(finger: str) -> None:
    assert meant(make_mixamo(), L + finger) == [f"{L}Arm", f"{L}ForeArm", f"{L}Hand"]


def test_a_finger_itself_is_one_click_in_the_redo_panel() -> None:
    (item,) = add(make_mixamo(), f"{L}HandIndex2", use_finger=True)
    assert (item.bone, item.chain_count, item.use_rotation) == (f"{L}HandIndex3", 3, False)


def test_a_finger_of_a_hand_without_an_arm_means_itself() -> None:
    bones: dict[str, Any] = {
        "arm": ((0.3, 0.0, 1.4), (0.55, 0.0, 1.4), ""),
        "hand": ((0.55, 0.0, 1.4), (0.64, 0.0, 1.4), "arm"),
    }
    for k, name in enumerate(("index", "middle", "ring")):
        joints = [(x, 0.02 * k, 1.4 - 0.1 * (x - 0.64) ** 2) for x in (0.64, 0.68, 0.71, 0.73)]
        for i, (head, tail) in enumerate(pairwise(joints)):
            bones[f"{name}_{i}"] = (head, tail, f"{name}_{i - 1}" if i else "hand")
    rig = make_armature(bones, "Hand")
    assert meant(rig, "index_1") == ["index_0", "index_1", "index_2"]
    assert meant(rig, "ring_2") == ["ring_0", "ring_1", "ring_2"]
    click_bones(rig, "hand")
    refuses(bpy.ops.fabrik.limb_add, saying="“hand” isn't part of a limb")


def dress(rig: Any, **bones: tuple[str, Sequence[float]]) -> None:
    """Add bones with parent and head to a rig; underscores before L and R are points."""
    activate(rig, "EDIT")
    for key, (parent, head) in bones.items():
        bone = rig.data.edit_bones.new(key.replace("_L", ".L").replace("__", " "))
        bone.head, bone.tail = head, Vector(head) + Vector((0, 0, 0.08))
        bone.parent = rig.data.edit_bones.get(parent)
    bpy.ops.object.mode_set(mode="OBJECT")
    update()


ARM = ["upper_arm.L", "forearm.L", "hand.L"]
LEG = ["thigh.L", "shin.L", "foot.L"]


def test_palms_slots_and_helpers_mean_their_limb_and_a_twist_does_not_turn_the_hand() -> None:
    rig = make_human(False)
    dress(
        rig,
        palm_L=("hand.L", (0.78, 0.03, 1.44)),
        slot_L=("palm.L", (0.8, 0.03, 1.4)),
        prop_L=("slot.L", (0.8, 0.03, 1.3)),
        twist_L=("forearm.L", (0.6, 0.05, 1.44)),
        heel_L=("foot.L", (0.1, 0.1, 0.0)),
    )
    for name in ("palm.L", "slot.L", "prop.L"):
        assert meant(rig, name) == ARM
    assert meant(rig, "twist.L") == ARM[:2]
    assert meant(rig, "heel.L") == LEG


def test_twist_and_muscle_bones_mean_their_limb_also_in_a_row_and_a_sleeve_itself() -> None:
    rig = make_human(False)
    dress(
        rig,
        foretwist1_L=("forearm.L", (0.52, 0.05, 1.44)),
        foretwist2_L=("foretwist1.L", (0.62, 0.04, 1.44)),
        muscleRoot_L=("thigh.L", (0.1, 0.0, 0.92)),
        muscleBack_L=("muscleRoot.L", (0.1, 0.06, 0.7)),
        muscleFront_L=("muscleRoot.L", (0.1, -0.06, 0.7)),
        drape1_L=("forearm.L", (0.6, 0.05, 1.4)),
        drape2_L=("drape1.L", (0.6, 0.05, 1.3)),
        drape3_L=("drape2.L", (0.6, 0.07, 1.2)),
    )
    for name in ("foretwist1.L", "foretwist2.L"):
        assert meant(rig, name) == ARM[:2]
    for name in ("muscleRoot.L", "muscleBack.L", "muscleFront.L"):
        assert meant(rig, name) == LEG[:2]
    assert meant(rig, "drape2.L") == ["drape1.L", "drape2.L", "drape3.L"]


@pytest.mark.parametrize(
    "names",
    [
        "upper_arm upper_arm_twist forearm hand_twist hand finger",
        "Arm ArmTwist Elbow WristTwist Wrist Middle1",
        "arm arm_tw forearm hand_tw hand finger",
        "upper_arm upper_arm_twist forearm hand_rot hand finger",
        "upper_arm upper_arm_twist forearm lowerarm_helper hand finger",
        "upper_arm upperarm_bend forearm forearm_bend hand finger",
        "thigh thigh_twist shin twist_foot foot toe",
    ],
)
@pytest.mark.parametrize("clicked", [0, 2, 3, 4, 5])
def test_a_limb_alone_ends_with_what_comes_after_its_twist_bones(names: str, clicked: int) -> None:
    bones = names.split()
    joints = [(0.1 * k, 0.01 * min(k, 4 - k), 0.0) for k in range(5)] + [(0.45, 0, 0), (0.5, 0, 0)]
    rig = make_armature(
        {
            bone: (a, b, parent)
            for bone, parent, (a, b) in zip(bones, ["", *bones], pairwise(joints), strict=False)
        }
    )
    assert meant(rig, bones[clicked]) == bones[: 4 + (clicked > 3)]
    item = add(rig, bones[clicked], controls="EMPTY")[0]
    item.target.location += Vector((-0.1, -0.05, 0.1))
    update()
    assert item.state == "REACHED"
    ways = [bone.tail - bone.head for bone in evaluated(rig).pose.bones]
    assert max(ways[k].angle(ways[k + 1]) for k in (0, 2)) < radians(0.1)  # Twists don't bend.
    assert ways[1].angle(ways[2]) > radians(30.0)


@pytest.mark.parametrize(
    ("names", "limb"),
    [
        ("base arm forearm wrist hand finger", slice(1, 4)),
        ("base upper_arm forearm wrist tool", slice(1, 4)),
        ("Base Arm1 Arm2 Arm3 Wrist Claw", slice(1, 5)),
        ("waist shoulder upperarm elbow forearm wrist_pitch wrist_roll hand", slice(2, 6)),
    ],
)
def test_the_arm_of_a_robot_ends_with_its_wrist_where_names_tell(names: str, limb: slice) -> None:
    bones = names.split()
    joints = [(0, 0, 0), (0, 0, 0.3), (0, 0.05, 0.5), (0.05, 0.1, 1.0), (0.5, 0.1, 1.2)]
    joints += [(0.7 + 0.1 * k, 0.1, 1.2) for k in range(4)]
    rig = make_armature(
        {
            bone: (a, b, parent)
            for bone, parent, (a, b) in zip(bones, ["", *bones], pairwise(joints), strict=False)
        }
    )
    arm = bones[limb]
    assert meant(rig, bones[-1]) == meant(rig, arm[-1]) == arm
    assert meant(rig, arm[0]) == arm[:-1]


@pytest.mark.parametrize("pole", ["Pole", "PoleRoot Pole", "Pole PoleTip"])
def test_the_pole_of_ik_that_blender_has_on_any_chain_means_that(pole: str) -> None:
    rig = make_armature(
        {
            "base": ((0, 0, 1.2), (0, 0, 1), ""),
            "link1": ((0, 0, 1), (0, -0.05, 0.5), "base"),
            "link2": ((0, -0.05, 0.5), (0, 0, 0.1), "link1"),
            "Target": ((0, 0, 0.1), (0, 0.1, 0.1), ""),
        }
    )
    bones = pole.split()
    dress(
        rig, **{name: (up, (0, -0.5, 0.5)) for name, up in zip(bones, ["", *bones], strict=False)}
    )
    for name in ("Target", *bones):
        rig.data.bones[name].use_deform = False
    con: Any = rig.pose.bones["link2"].constraints.new("IK")
    con.target = con.pole_target = rig
    con.subtarget, con.pole_subtarget, con.chain_count = "Target", "Pole", 2
    for name in ("Target", *bones):
        click_bones(rig, name)
        refuses(bpy.ops.fabrik.limb_add, saying="“link2” is posed by its constraint “IK”: move")


def skin(rig: Any, *names: str) -> None:
    """Bind a mesh to bones."""
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata([tuple(rig.data.bones[name].head_local) for name in names], [], [])
    ob = bpy.data.objects.new("Skin", mesh)
    bpy.context.collection.objects.link(ob)
    for i, name in enumerate(names):
        ob.vertex_groups.new(name=name).add([i], 1.0, "REPLACE")
    ob.modifiers.new("Armature", "ARMATURE").object = rig
    ob.parent = rig


@pytest.mark.parametrize("is_skinned", [True, False])
def test_what_deforms_nothing_beside_a_limb_means_that(is_skinned: bool) -> None:
    rig = make_human(False)
    body = rig.data.bones.keys()
    dress(
        rig,
        socketIK_L=("", (0.72, 0.03, 1.44)),
        kneeIK_L=("root", (0.1, -0.4, 0.5)),
        rollIK_L=("", (0.1, -0.2, 0.0)),
        roll2IK_L=("rollIK.L", (0.1, 0.03, 0.05)),
        roll3IK_L=("roll2IK.L", (0.1, 0.03, 0.09)),
    )
    if is_skinned:
        skin(rig, *body)
    assert meant(rig, "socketIK.L")[:2] == ARM[:2]
    for name in ("kneeIK.L", "rollIK.L", "roll2IK.L", "roll3IK.L"):
        assert meant(rig, name)[:2] == LEG[:2]


def test_what_a_skin_follows_is_no_helper() -> None:
    rig = make_human(False)
    dress(
        rig,
        rope=("", (0.72, 0.1, 1.44)),
        rope2=("rope", (0.72, 0.15, 1.1)),
        rope3=("rope2", (0.72, 0.1, 0.8)),
    )
    skin(rig, *rig.data.bones.keys())
    assert meant(rig, "rope3") == ["rope", "rope2", "rope3"]


def test_a_control_means_what_it_controls_wherever_it_lies() -> None:
    rig = make_human(False)
    body = rig.data.bones.keys()
    dress(rig, grip=("", (0.1, -0.3, 0.5)), look=("", (0.75, 0.0, 1.4)))
    skin(rig, *body)
    for name, bone in (("grip", "hand.L"), ("look", "head")):
        con: Any = rig.pose.bones[bone].constraints.new("COPY_SCALE")
        con.target, con.subtarget = rig, name
    assert meant(rig, "grip") == ARM
    click_bones(rig, "look")
    refuses(bpy.ops.fabrik.limb_add, saying="“look” isn't part of a limb: click a hand")


def test_without_names_two_long_bones_and_what_is_short_after_them_are_a_limb() -> None:
    joints = [(0, 0, 0), (0.3, 0.03, 0), (0.58, 0, 0), (0.66, 0, 0), (0.7, 0, 0), (0.73, 0, 0)]
    bones: dict[str, Any] = {
        f"x{i}": (joints[i], joints[i + 1], f"x{i - 1}" if i else "") for i in range(5)
    }
    bones["y3"] = ((0.66, 0.02, 0), (0.7, 0.03, 0), "x2")
    bones["y4"] = ((0.7, 0.03, 0), (0.73, 0.03, 0), "y3")
    rig = make_armature(bones)
    for name in ("x2", "x3", "x4", "y4"):
        assert meant(rig, name) == ["x0", "x1", "x2"]
    assert meant(rig, "x0") == ["x0", "x1"]
    (item,) = add(rig, "x4", use_finger=True)
    assert chain(rig, item) == ["x3", "x4"]


# Rigs as they are made


HELD = ["upperarm.r", "lowerarm.r", "wrist.r"]
WALKED = ["upperleg.l", "lowerleg.l", "foot.l"]


def test_the_bones_of_a_knight() -> None:
    rig = imported("kaykit_knight.glb")
    still(rig)
    for name in ("wrist.r", "hand.r", "handslot.r"):
        assert meant(rig, name) == HELD
    for name in ("foot.l", "toes.l"):
        assert meant(rig, name) == WALKED
    for name in ("handIK.r", "elbowIK.r"):
        assert meant(rig, name)[:2] == HELD[:2]
    for name in ("heelIK.l", "IK-foot.l", "IK-toe.l", "kneeIK.l", "control-toe-roll.l"):
        assert meant(rig, name)[:2] == WALKED[:2]
    (item,) = add(rig, "hand.r", use_finger=True)
    assert chain(rig, item) == ["hand.r", "handslot.r"]


def with_all_bones_shown(rig: Any) -> Any:
    for collection in rig.data.collections_all:
        collection.is_visible = True
    return rig


@pytest.fixture
def rigify(empty_file: None, tmp_path: Path) -> Any:
    """A human that Rigify has generated, without a face."""
    return with_all_bones_shown(generated_rig("human", tmp_path))


@pytest.fixture
def rigify_with_face(empty_file: None, tmp_path: Path) -> Any:
    """A human that Rigify has generated."""
    return with_all_bones_shown(generated_rig("human", tmp_path, has_face=True))


@pytest.fixture
def metarig(empty_file: None, tmp_path: Path) -> Any:
    """Rigify's human before it is generated, as plain bones."""
    plain = generated.metarig("human", tmp_path)
    activate(plain)
    return plain


def test_the_visible_hand_of_a_metarig(metarig: Any) -> None:
    for name in ("hand.L", "palm.02.L", "f_middle.01.L", "f_pinky.03.L", "thumb.02.L"):
        assert meant(metarig, name) == ARM
    for name in ("foot.L", "toe.L", "heel.02.L"):
        assert meant(metarig, name) == LEG
    for name in ("forehead.L", "eye.L", "breast.L", "spine"):
        click_bones(metarig, name)
        refuses(bpy.ops.fabrik.limb_add, saying=f"“{name}” isn't part of a limb: click a hand")
    (item,) = add(metarig, "f_middle.02.L", use_finger=True)
    assert item.bone == "f_middle.03.L"


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_a_finger_with_hinges_bends_to_its_pole(metarig: Any, share: float) -> None:
    """Its knuckle is free, and turned over lets hinges bend to the wrong side."""
    (item,) = add(metarig, "f_index.02.L", use_finger=True)
    pull(metarig, item, share * Vector((-0.024, -0.003, 0.035)))
    assert item.state == "REACHED"
    now = shown(metarig, ["f_index.01.L", "f_index.02.L", item.subtarget, item.pole_subtarget])
    root, joint, tip, pole = (matrix.translation for matrix in now.values())
    axis = (tip - root).normalized()
    bend, to_pole = ((end - root) - axis * (end - root).dot(axis) for end in (joint, pole))
    assert bend.angle(to_pole) < 0.1


FK_ARM = ["upper_arm_fk.L", "forearm_fk.L", "MCH-hand_fk.L"]
FK_LEG = ["thigh_fk.L", "shin_fk.L", "MCH-foot_fk.L"]


def test_every_bone_of_a_generated_limb_means_its_controls(rigify: Any) -> None:
    arm = ("hand_ik.L", "hand_fk.L", "MCH-hand_fk.L", "ORG-hand.L", "DEF-hand.L")
    for name in (*arm, "palm.L", "f_index.01_master.L", "f_middle.02.L", "DEF-f_ring.03.L"):
        assert meant(rigify, name) == FK_ARM
    above = ("upper_arm_fk.L", "forearm_fk.L", "DEF-forearm.L.001", "upper_arm_ik_target.L")
    for name in (*above, "upper_arm_parent.L", "MCH-forearm_ik.L", "shoulder.L"):
        assert meant(rigify, name) == FK_ARM[:2]
    for name in ("foot_ik.L", "foot_fk.L", "foot_heel_ik.L", "toe_fk.L", "DEF-toe.L"):
        assert meant(rigify, name) == FK_LEG


@pytest.mark.parametrize("clicked", ["eyes", "lip.B", "spine_fk.001", "tongue.002", "torso"])
def test_controls_of_no_limb_of_a_generated_rig_are_named_as_they_were_clicked(
    rigify_with_face: Any, clicked: str
) -> None:
    """And not the bones of the mechanism between them, which nobody sees."""
    click_bones(rigify_with_face, clicked)
    refuses(bpy.ops.fabrik.limb_add, saying=f"“{clicked}” isn't part of a limb: click a hand")


@pytest.mark.parametrize("clicked", ["hand_ik.L", "foot_ik.R", "upper_arm_fk.R"])
def test_what_is_seen_of_a_generated_rig_stays_and_then_follows(rigify: Any, clicked: str) -> None:
    """Blender's IK stretches bones a little within reach, which FK controls then do as well."""
    side = clicked[-2:]
    for name, place in (("hand_ik", (0.05, -0.2, 0.1)), ("foot_ik", (0.0, 0.15, 0.1))):
        rigify.pose.bones[name + side].location = place
    update()
    seen = [bone.name for bone in rigify.data.bones if bone.name.startswith("DEF-")]
    before = shown(rigify, seen)

    (item,) = add(rigify, clicked)

    assert item.state == "REACHED"
    assert apart(before, shown(rigify, seen)) < 2e-3
    end, root = ("foot", "thigh") if clicked[0] == "f" else ("hand", "upper_arm")
    start = shown(rigify, seen)[f"DEF-{end}{side}"].translation.copy()
    way = 0.2 * (shown(rigify, seen)[f"DEF-{root}{side}"].translation - start)
    pull(rigify, item, way)
    assert item.state == "REACHED"
    moved = shown(rigify, seen)[f"DEF-{end}{side}"].translation - start
    assert (moved - way).length < 1e-3


@pytest.mark.parametrize(
    ("clicked", "way"), [("hand_ik.L", (0.6, 0.0, 0.0)), ("foot_ik.R", (0.0, -0.2, -0.5))]
)
def test_a_generated_limb_that_is_stretched_stays(
    rigify: Any, clicked: str, way: Sequence[float]
) -> None:
    rigify.pose.bones[clicked].location = way
    update()
    seen = [bone.name for bone in rigify.data.bones if bone.name.startswith("DEF-")]
    before = shown(rigify, seen)
    (item,) = add(rigify, clicked)
    assert item.state == "REACHED"
    assert apart(before, shown(rigify, seen)) < 2e-3


@pytest.mark.parametrize(
    ("clicked", "way"), [("hind_foot_ik.R", (0.0, 0.0, 0.1)), ("forefoot_ik.L", (0.1, 0.0, 0.05))]
)
def test_a_leg_of_an_animal_that_is_posed_in_ik_stays(
    tmp_path: Path, clicked: str, way: Sequence[float]
) -> None:
    """Constraints give the scale of what carries the foot, whatever is posed there."""
    horse = with_all_bones_shown(generated_rig("horse", tmp_path))
    toe = horse.pose.bones["r_toe_ik.R" if clicked[0] == "h" else "f_toe_ik.L"]
    foot = horse.pose.bones[clicked]
    toe.rotation_mode = foot.rotation_mode = "XYZ"
    toe.rotation_euler, foot.rotation_euler, foot.location = (0.3, 0.0, 0.0), (0.2, 0.4, 0.3), way
    update()
    seen = [bone.name for bone in horse.data.bones if bone.name.startswith("DEF-")]
    before = shown(horse, seen)
    (item,) = add(horse, clicked)
    assert item.state == "REACHED"
    assert apart(before, shown(horse, seen)) < 2e-3


FINGER = ["f_index.01.L", "MCH-f_index.02_drv.L", "f_index.02.L", "MCH-f_index.03_drv.L"]


@pytest.mark.parametrize("curl", [1.0, 0.8])
@pytest.mark.parametrize("clicked", ["f_index.01_master.L", "DEF-f_index.02.L", "f_index.01.L.001"])
def test_a_finger_of_a_generated_rig_keeps_its_curl_and_reaches(
    rigify: Any, clicked: str, curl: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its master control curls, by drivers, stays; the controls after that do the rest."""
    from addon.features.constraint import limb

    told: list[str] = []
    monkeypatch.setattr(limb, "store", told.append)
    rigify.pose.bones["f_index.01_master.L"].scale.y = curl
    update()
    before = shown(rigify)
    (item,) = add(rigify, clicked, use_finger=True)
    assert "f_index.02.L" in told[0] and "MCH-" not in told[0]
    assert chain(rigify, item) == [*FINGER, "f_index.03.L"]
    assert (item.state, item.message) == ("REACHED", "")
    assert apart(before, {name: shown(rigify)[name] for name in before}) < 1e-4
    hinged = [b.name for b in rigify.pose.bones if b.fabrik_joint.limit_type == "HINGE"]
    assert hinged == ["f_index.02.L", "f_index.03.L"]
    for way in ((0.0, 0.0, 0.02), (-0.01, 0.0, 0.01)):
        pull(rigify, item, way)
        assert item.state == "REACHED"
        now = shown(rigify)
        tip = now["DEF-f_index.03.L"] @ Vector((0, rigify.data.bones["f_index.03.L"].length, 0))
        assert (tip - now[item.subtarget].translation).length < 1e-5
        for above, name in ((FINGER[0], FINGER[1]), (FINGER[2], FINGER[3])):
            turns = [one[above].inverted() @ one[name] for one in (before, now)]
            assert apart(*({name: turn.to_3x3()} for turn in turns)) < 1e-4


def test_a_finger_of_a_generated_rig_is_switched_and_baked_without_moving(rigify: Any) -> None:
    (item,) = add(rigify, "f_index.02.L", use_finger=True)
    pull(rigify, item, (0.0, 0.0, 0.02))
    seen = [bone.name for bone in rigify.data.bones if bone.name.startswith("DEF-")]
    before = shown(rigify, seen)
    for influence in (0.0, 1.0):
        assert bpy.ops.fabrik.switch() == {"FINISHED"}
        update()
        assert item.influence == influence
        assert apart(before, shown(rigify, seen)) < 1e-4
    assert bpy.ops.fabrik.bake(which="ARMATURE", frame_start=1, frame_end=2) == {"FINISHED"}
    update()
    assert not item.enabled and apart(before, shown(rigify, seen)) < 1e-4


def test_controls_are_named_as_an_animator_calls_the_limb(rigify: Any) -> None:
    (item,) = add(rigify, "hand_ik.L")
    assert (item.name, item.subtarget, item.pole_subtarget) == (
        "hand.L",
        "hand IK.L",
        "hand Pole.L",
    )
    left, right = add(rigify, "foot_fk.L", use_both_sides=True)[1:]
    assert [left.subtarget, right.subtarget] == ["foot IK.L", "foot IK.R"]
    assert rigify.data.bones.active.name == "foot IK.L"


@pytest.mark.parametrize(
    ("clicked", "control"), [("hand_ik.L", "hand_fk.L"), ("toe_fk.R", "foot_fk.R")]
)
def test_in_fk_the_control_that_is_seen_is_selected(
    rigify: Any, clicked: str, control: str, capfd: pytest.CaptureFixture[str]
) -> None:
    rigify.data.collections_all["MCH"].is_visible = False
    (item,) = add(rigify, clicked)
    assert item.bone.startswith("MCH-")
    assert bpy.ops.fabrik.switch() == {"FINISHED"}
    assert f"Switched to FK: “{item.name}”, with keys" in capfd.readouterr().out
    assert [bone.name for bone in bpy.context.selected_pose_bones] == [control]
    assert rigify.data.bones.active.name == control
    update()
    assert bpy.ops.fabrik.switch() == {"FINISHED"}
    assert rigify.data.bones.active.name == item.subtarget
    click_bones(rigify, control)
    assert bpy.ops.fabrik.ik_clear() == {"FINISHED"}
    assert not rigify.fabrik.constraints


def test_a_generated_limb_whose_switch_is_animated_is_refused_and_left(rigify: Any) -> None:
    parents = [rigify.pose.bones[f"upper_arm_parent.{side}"] for side in "LR"]
    parents[1].keyframe_insert('["IK_FK"]', frame=1)
    bones = rigify.data.bones.keys()
    click_bones(rigify, "hand_ik.L", "hand_ik.R")
    refuses(bpy.ops.fabrik.limb_add, saying="“IK_FK” of “upper_arm_parent.R” is animated")
    assert [parent["IK_FK"] for parent in parents] == [0.0, 0.0]
    assert not rigify.fabrik.constraints and rigify.data.bones.keys() == bones


def test_undo_gives_a_generated_rig_its_switch_back(rigify: Any) -> None:
    click_bones(rigify, "hand_ik.L")
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.fabrik.limb_add("EXEC_DEFAULT", True)
    parent = "upper_arm_parent.L"
    assert rigify.pose.bones[parent]["IK_FK"] == 1.0
    bpy.ops.ed.undo()
    assert bpy.data.objects["rig"].pose.bones[parent]["IK_FK"] == 0.0


def test_a_human_with_ik_of_its_own_says_what_to_move() -> None:
    if bpy.app.version < (5, 0):
        pytest.skip("m2m_human.blend was saved by a later Blender")
    rig = imported("m2m_human.blend")
    activate(rig)
    for collection in rig.data.collections_all:
        collection.is_visible = True
    for name in ("hand_l", "index_03_l", "CTRL_Arm_L", "POLEARM_L", "DRV_forearm_L", "upperarm_l"):
        click_bones(rig, name)
        refuses(
            bpy.ops.fabrik.limb_add,
            saying="“DRV_forearm_L” is posed by its constraint “IK”: move its target “CTRL_Arm_L”",
        )
    click_bones(rig, "ball_leaf_r")
    refuses(bpy.ops.fabrik.limb_add, saying="“DRV_shin_R” is posed by .* “CTRL_ILLEG_R”")
    assert not rig.fabrik.constraints


def test_prefixes_and_suffixes_of_rigs_are_not_in_names() -> None:
    rig = make_human(False)
    rig.data.bones["hand.L"].name = "DEF-hand.L"
    rig.data.bones["foot.R"].name = "ORG-foot_fk.R"
    left, right = add(rig, "DEF-hand.L", "ORG-foot_fk.R", controls="EMPTY")
    assert [left.name, right.name] == ["hand.L", "foot.R"]
    assert [left.target.name, right.pole_target.name] == ["hand.L Target", "foot.R Pole"]


def test_bones_that_follow_controls_mean_these_controls() -> None:
    """As where each deforming bone copies a bone of a second skeleton."""
    rig = make_human(False)
    plain = {b.name: (b.head_local.copy(), b.parent and b.parent.name) for b in rig.data.bones}
    activate(rig, "EDIT")
    for name, (head, parent) in plain.items():
        bone = rig.data.edit_bones.new(f"CTRL-{name}")
        bone.head, bone.tail = head, rig.data.edit_bones[name].tail
        bone.parent = rig.data.edit_bones.get(f"CTRL-{parent}")
        bone.use_deform = False
    bpy.ops.object.mode_set(mode="OBJECT")
    for name in plain:
        con: Any = rig.pose.bones[name].constraints.new("COPY_TRANSFORMS")
        con.target, con.subtarget = rig, f"CTRL-{name}"
    update()
    for name in ("hand.L", "CTRL-hand.L"):
        assert meant(rig, name) == [f"CTRL-{bone}" for bone in ARM]
    (item,) = add(rig, "hand.L")
    before = shown(rig, ["hand.L"])["hand.L"].translation.copy()
    pull(rig, item, (0.0, -0.05, 0.0))
    moved = shown(rig, ["hand.L"])["hand.L"].translation - before
    assert (moved - Vector((0.0, -0.05, 0.0))).length < 1e-3


def test_a_chain_that_nothing_follows_is_refused() -> None:
    rig = make_human(False)
    dress(
        rig,
        ghost=("chest", (0.0, 0.3, 1.3)),
        ghost2=("ghost", (0.0, 0.5, 1.3)),
        ghost3=("ghost2", (0.0, 0.7, 1.25)),
    )
    for name in ("ghost", "ghost2", "ghost3"):
        rig.data.bones[name].use_deform = False
    click_bones(rig, "ghost3")
    refuses(bpy.ops.fabrik.limb_add, saying="Nothing visible follows “ghost3”")
    assert not rig.fabrik.constraints


# Limbs of one bone, and hands alone


def blocks(*more: tuple[str, str, Sequence[float], Sequence[float]]) -> Any:
    """Make a figure of blocks: each of its limbs is one bone."""
    bones: dict[str, Any] = {
        "body": ((0.0, 0.0, 0.75), (0.0, 0.0, 1.5), ""),
        "head": ((0.0, 0.0, 1.5), (0.0, 0.0, 2.0), "body"),
    }
    for side, sign in (("L", 1.0), ("R", -1.0)):
        bones[f"arm.{side}"] = ((0.3 * sign, 0.0, 1.4), (0.3 * sign, 0.0, 0.75), "body")
        bones[f"leg.{side}"] = ((0.12 * sign, 0.0, 0.75), (0.12 * sign, 0.0, 0.0), "body")
    return make_armature({**bones, **{name: (a, b, parent) for name, parent, a, b in more}})


@pytest.mark.parametrize("clicked", ["leg.L", "arm.R", "item.R"])
@pytest.mark.parametrize("use_finger", [False, True])
def test_a_limb_of_one_bone_is_refused_with_what_to_do(clicked: str, use_finger: bool) -> None:
    """And does not bend the body, on which it hangs."""
    rig = blocks(("item.R", "arm.R", (-0.3, 0.0, 0.75), (-0.3, -0.4, 0.75)))
    click_bones(rig, clicked)
    limb = clicked.replace("item", "arm")
    told = f"“{limb}” is the limb's only bone and can't bend: subdivide it in Edit Mode"
    refuses(bpy.ops.fabrik.limb_add, saying=told, use_finger=use_finger)
    assert not rig.fabrik.constraints


def test_a_figure_of_blocks_is_told_what_to_do_and_does_so(capfd: Any) -> None:
    rig = blocks()
    activate(rig)
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    listed = "“arm.L”, “leg.L”, “arm.R” and “leg.R”"
    sentence = f"Limbs of a single bone can't bend: subdivide {listed} in Edit Mode"
    told = capfd.readouterr().out
    assert sentence in told and "Not found" not in told
    refuses(bpy.ops.fabrik.gait_add, saying=sentence)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.select = bone.select_head = bone.select_tail = bone.name[:3] in ("arm", "leg")
    bpy.ops.armature.subdivide()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert len(rig.fabrik.gaits[0].legs) == 2
    capfd.readouterr()
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    told = capfd.readouterr().out
    assert "Limbs of one bone" not in told and "Use Add IK Limb on “arm.L.001”" in told


def test_limbs_of_two_bones_without_names_do_not_bend_the_trunk() -> None:
    bones: dict[str, Any] = {
        "a": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.2), ""),
        "b": ((0.0, 0.0, 0.75), (0.0, 0.0, 1.4), "a"),
        "c": ((0.0, 0.0, 1.5), (0.0, 0.0, 2.0), "b"),
    }
    for side, x in (("p", 0.3), ("q", -0.3)):
        bones[f"x1{side}"] = ((x, 0.0, 1.4), (x, 0.02, 1.1), "b")
        bones[f"x2{side}"] = ((x, 0.02, 1.1), (x, 0.0, 0.75), f"x1{side}")
    rig = make_armature(bones)
    for name in ("x1p", "x2p"):
        assert meant(rig, name) == ["x1p", "x2p"]


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("is_named", [False, True])
def test_the_fingers_of_a_hand_alone_are_its_limbs(is_named: bool, is_held: bool) -> None:
    """Whether it ends a sleeve of one bone or not, as hands that are seen in the first person."""
    bones: dict[str, Any] = {
        "sleeve": ((0.0, 0.4, 0.0), (0.0, 0.1, 0.0), ""),
        "hand" if is_named else "b": ((0.0, 0.1, 0.0), (0.0, 0.0, 0.0), "sleeve" * is_held),
    }
    fingers = [[f"{name}{i}" for i in range(3)] for name in ("thumb", "index", "middle", "pinky")]
    if not is_named:
        fingers = [[f"b{3 * k + i}" for i in range(3)] for k in range(len(fingers))]
    for k, names in enumerate(fingers):
        x, y, size = 0.02 * k - 0.03, 0.0 if k else 0.06, 0.025 if k in (0, 3) else 0.035
        for i, name in enumerate(names):
            head, tail = ((x, y - size * j, -0.003 * j * j) for j in (i, i + 1))
            parent = names[i - 1] if i else "hand" if is_named else "b"
            bones[name] = (head, tail, parent)
    if not is_held:
        del bones["sleeve"]
    rig = make_armature(bones)
    for names in fingers:
        for name in names:
            assert meant(rig, name) == names
    activate(rig)
    nothing = "No limb pairs or head"
    for operator in (bpy.ops.fabrik.character_recognize, bpy.ops.fabrik.character_set_up):
        refuses(operator, saying=nothing)
    refuses(bpy.ops.fabrik.gait_add, saying="No legs found")
