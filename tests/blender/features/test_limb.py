"""IK is added to a limb in one step, with target, pole and hinge, and the pose stays."""

import random
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import bpy
import pytest
from downloaded import LEFT as L
from downloaded import make_mixamo
from humans import make_human
from mathutils import Matrix, Vector
from operating import click_bones, refuses
from rigs import evaluated, make_armature, make_chain, make_empty, update
from spiders import make_spider


def add(rig: Any, *names: str, **options: object) -> Any:
    """Click bones and add IK to their limbs; return the constraints."""
    click_bones(rig, *names)
    assert bpy.ops.fabrik.limb_add(**{"use_both_sides": False, **options}) == {"FINISHED"}
    update()
    return rig.fabrik.constraints


def pose(rig: Any, count: int) -> list[Matrix]:
    """Return the matrices of the first bones in world space, as evaluated."""
    posed: Any = evaluated(rig)
    return [posed.matrix_world @ bone.matrix for bone in list(posed.pose.bones)[:count]]


def apart(a: Sequence[Matrix], b: Sequence[Matrix]) -> float:
    pairs = zip(a, b, strict=True)
    return max(
        abs(x - y)
        for m, n in pairs
        for r, s in zip(m, n, strict=True)
        for x, y in zip(r, s, strict=True)
    )


def bend(rig: Any, angle: float = 0.3) -> None:
    """Pose all bones."""
    for bone in rig.pose.bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = (angle, 0.4 * angle, -0.6 * angle)
    update()


@pytest.mark.parametrize(
    ("clicked", "tip", "is_oriented"),
    [
        (f"{L}Hand", f"{L}Hand", True),
        (f"{L}ForeArm", f"{L}ForeArm", False),
        (f"{L}Arm", f"{L}ForeArm", False),
        (f"{L}Shoulder", f"{L}ForeArm", False),
        (f"{L}Foot", f"{L}Foot", True),
        (f"{L}ToeBase", f"{L}Foot", True),
        (f"{L}Leg", f"{L}Leg", False),
        (f"{L}UpLeg", f"{L}Leg", False),
    ],
)
def test_each_bone_of_an_arm_or_leg_means_that_limb(
    clicked: str, tip: str, is_oriented: bool
) -> None:
    (item,) = add(make_mixamo(), clicked)
    assert (item.bone, item.use_rotation, item.use_tail) == (tip, is_oriented, not is_oriented)
    assert (item.chain_count, item.solver, item.state) == (2, "TWO_BONE", "REACHED")


def test_the_leg_of_a_spider_reaches_with_its_tip() -> None:
    spider: Any = make_spider()
    leg = next(bone for bone in spider.pose.bones if not bone.children)
    (item,) = add(spider, leg.parent.name)
    assert (item.bone, item.use_tail, item.state) == (leg.name, True, "REACHED")
    assert item.chain_count == 3


def test_the_leg_of_a_bird_is_what_is_recognized_of_it() -> None:
    """Its toes are one bone, not named like a foot."""
    built = {
        "body": ((0, 0.2, 1.2), (0, -0.1, 1.25), ""),
        "neck": ((0, -0.1, 1.25), (0, -0.4, 1.7), "body"),
        "head": ((0, -0.4, 1.7), (0, -0.6, 1.7), "neck"),
    }
    joints = [(0.14, 0.05, 1.15), (0.17, -0.15, 0.9), (0.16, 0.12, 0.5), (0.16, 0, 0.05)]
    joints.append((0.16, -0.15, 0.02))
    for side, x in ((".L", 1), (".R", -1)):
        parent = "body"
        for name, a, b in zip(
            ("femur", "tibia", "tarsus", "toes"), joints, joints[1:], strict=False
        ):
            built[name + side] = ((x * a[0], *a[1:]), (x * b[0], *b[1:]), parent)
            parent = name + side
    bird = make_armature(built)
    (item,) = add(bird, "toes.L")
    assert (item.bone, item.use_rotation, item.chain_count) == ("toes.L", True, 3)
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    parts = {part.bone: part.chain_count for part in bird.fabrik.character.parts}
    assert parts["toes.L"] == 3


@pytest.mark.parametrize("count", [2, 12])
def test_only_a_limb_with_an_elbow_or_knee_is_said_to_have_no_hinge(count: int, capfd: Any) -> None:
    """A tentacle needs none."""
    rig = make_chain(count, joints=[(0.0, 0.0, 0.3 * i) for i in range(count + 1)])
    add(rig, f"B{count - 1}")
    assert ("No hinge" in capfd.readouterr().out) == (count == 2)


def test_what_is_no_limb_is_refused() -> None:
    rig = make_mixamo()
    click_bones(rig, "mixamorig:Hips")
    refuses(bpy.ops.fabrik.limb_add, saying="“mixamorig:Hips” isn't part of a limb: click a hand")
    add(rig, f"{L}Hand")
    click_bones(rig, f"{L}ForeArm")
    refuses(bpy.ops.fabrik.limb_add, saying="“mixamorig:LeftHand” already has the constraint")
    click_bones(rig, "mixamorig:RightHand")
    native = rig.pose.bones["mixamorig:RightForeArm"].constraints.new("IK")
    native.target = make_empty()
    refuses(
        bpy.ops.fabrik.limb_add, saying="“mixamorig:RightForeArm” is posed by its constraint “IK”"
    )
    assert len(rig.fabrik.constraints) == 1


@pytest.mark.parametrize("is_posed", [False, True])
@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
@pytest.mark.parametrize("clicked", ["hand.L", "forearm.L", "foot.R"])
@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (-1, -1, -1)], ids=str)
def test_nothing_moves(
    scale: tuple[int, int, int], clicked: str, controls: str, is_posed: bool
) -> None:
    rig = make_human(False, 100.0)
    rig.scale = [a * b for a, b in zip(rig.scale, scale, strict=True)]
    update()
    if is_posed:
        bend(rig)
    count = len(rig.pose.bones)
    before = pose(rig, count)
    items = add(rig, clicked, controls=controls, use_both_sides=True)
    assert [item.state for item in items] == ["REACHED"] * 2
    assert all(item.target is not None and item.pole_target is not None for item in items)
    assert apart(before, pose(rig, count)) < 2e-5
    limited = [bone.name for bone in rig.pose.bones if bone.fabrik_joint.limit_type == "HINGE"]
    inner = {"h": "forearm", "f": "shin" if clicked == "foot.R" else "forearm"}[clicked[0]]
    assert limited == ([] if is_posed else [f"{inner}.L", f"{inner}.R"])


def test_control_bones_are_as_a_rigger_makes_them() -> None:
    rig = make_human(False)
    left, right = add(rig, "hand.L", use_both_sides=True)
    names = ["hand IK.L", "hand Pole.L", "hand IK.R", "hand Pole.R"]
    ends = [name for item in (left, right) for name in (item.subtarget, item.pole_subtarget)]
    assert ends == names
    assert [bpy.utils.flip_name(name) for name in names] == [*names[2:], *names[:2]]
    for name in names:
        bone = rig.data.bones[name]
        assert bone.parent == rig.data.bones["root"]
        assert not bone.use_deform
        assert rig.pose.bones[name].custom_shape is not None
        assert [one.name for one in bone.collections] == ["IK Controls"]
        red, _, blue = bone.color.custom.normal
        assert bone.color.palette == "CUSTOM"
        assert (blue > red) == name.endswith("L")
    assert {left.target, left.pole_target} == {rig}
    assert rig.mode == "POSE"
    assert rig.data.bones.active.name == "hand IK.L", "it can be moved at once"
    selected = [bone.name for bone in bpy.context.selected_pose_bones]
    assert selected == ["hand IK.L", "hand IK.R"]
    assert len(bpy.data.objects) == 3, "the Empties were replaced; two are shapes"


def test_the_pole_rotates_the_elbow() -> None:
    rig = make_human(False)
    (item,) = add(rig, "hand.L", use_hinges=False)
    bones: Any = evaluated(rig).pose.bones
    rest = bones["forearm.L"].head.copy()
    rig.pose.bones[item.pole_subtarget].matrix = Matrix.Translation((rest.x, rest.y, rest.z + 1.0))
    update()
    bones = evaluated(rig).pose.bones
    assert bones["forearm.L"].head.z > rest.z + 0.025, "of 0.03 that it is bent by"


def test_both_sides_of_names_that_blender_cannot_flip() -> None:
    rig = make_mixamo()
    assert [item.bone for item in add(rig, f"{L}Foot", use_both_sides=True)] == [
        f"{L}Foot",
        "mixamorig:RightFoot",
    ]


def test_all_selected_limbs_get_ik_and_each_only_once() -> None:
    rig = make_mixamo()
    items = add(rig, f"{L}Hand", "mixamorig:RightArm", f"{L}ForeArm", f"{L}HandIndex1")
    assert [item.bone for item in items] == [f"{L}Hand", "mixamorig:RightHand"]
    fingers = [f"{L}HandIndex1", f"{L}HandThumb2", f"{L}HandIndex2"]
    items = add(rig, *fingers, use_finger=True)
    assert [item.bone for item in items][2:] == [f"{L}HandIndex3", f"{L}HandThumb2"]
    assert [item.chain_count for item in items] == [2, 2, 3, 2]


def test_a_limb_without_another_side_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    items = add(make_chain(3), "B2", use_both_sides=True)
    assert [item.bone for item in items] == ["B2"]
    assert "“B2” has no opposite side" in capfd.readouterr().out


def test_the_options_are_in_the_redo_panel() -> None:
    rig = make_human(False)
    (item,) = add(
        rig, "hand.L", use_rotation=False, use_pole=False, chain_count=3, controls="EMPTY"
    )
    assert (item.bone, item.use_rotation, item.pole_target) == ("forearm.L", False, None)
    assert (item.chain_count, item.target.name) == (3, "forearm.L Target")
    add(rig, "foot.L", use_hinges=False, controls="EMPTY")
    assert rig.pose.bones["shin.L"].fabrik_joint.limit_type == "NONE"
    click_bones(rig, "foot.R")
    refuses(bpy.ops.fabrik.limb_add, saying="can be at most 4", chain_count=9)
    assert len(rig.fabrik.constraints) == 2
    operator = bpy.ops.fabrik.limb_add.get_rna_type()
    names = ("controls", "use_both_sides", "use_pole", "use_hinges", "use_rotation", "chain_count")
    assert set(names) <= set(operator.properties.keys())


def test_what_breaks_off_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.blender.errors import ProblemError
    from addon.editing import limb_adding

    def broken(*_arguments: object, **_options: object) -> None:
        raise ProblemError("broken here")

    rig = make_human(False)
    before = (rig.data.bones.keys(), bpy.data.objects.keys())
    monkeypatch.setattr(limb_adding, "use_bones", broken)
    click_bones(rig, "hand.L")
    refuses(bpy.ops.fabrik.limb_add, saying="broken here", use_both_sides=True)
    assert (rig.data.bones.keys(), bpy.data.objects.keys()) == before
    assert not rig.fabrik.constraints
    assert all(bone.fabrik_joint.limit_type == "NONE" for bone in rig.pose.bones)


def test_a_linked_skeleton_gets_empties(monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.features.constraint import limb

    monkeypatch.setattr(limb, "uneditable_problem", lambda _armature: "linked")
    (item,) = add(make_human(False), "hand.L")
    assert (item.target.name, item.subtarget) == ("hand.L Target", "")


# Removing


def test_remove_ik_means_every_ik_of_the_selected_bones() -> None:
    rig = make_human(False)
    add(rig, "hand.L", "foot.L", use_both_sides=True)
    native = rig.pose.bones["head"].constraints.new("IK")
    native.target = make_empty()
    rig.animation_data_create()
    rig.keyframe_insert("fabrik.constraints[3].influence", frame=1)
    kept = rig.fabrik.constraints[3].bone
    click_bones(rig, "hand.L", "thigh.L", "hand IK.R", "head")
    assert bpy.ops.fabrik.ik_clear() == {"FINISHED"}
    assert [item.bone for item in rig.fabrik.constraints] == [kept]
    assert not rig.pose.bones["head"].constraints
    click_bones(rig, "spine")
    refuses(bpy.ops.fabrik.ik_clear, saying="Select bones with FABRIK IK in Pose Mode")


def test_blenders_own_remove_ik_leaves_ours() -> None:
    rig = make_human(False)
    add(rig, "hand.L")
    click_bones(rig, "hand.L", "forearm.L")
    bpy.ops.pose.ik_clear()
    assert len(rig.fabrik.constraints) == 1


# Shortcuts


KEYMAPS = ("blender_default", "industry_compatible_data")


def keymap(name: str) -> dict[str, list[Any]]:
    """Return the items of one of Blender's keymaps by the names of its parts.

    The wheel doesn't load it, so this asks the script it comes from.
    """
    folders = [Path(folder) for folder in bpy.utils.preset_paths("keyconfig")]
    (file,) = [file for folder in folders for file in folder.glob(f"keymap_data/{name}.py")]
    spec: Any = spec_from_file_location(name, file)
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.generate_keymaps(module.Params())
    return {part: content["items"] for part, _, content in made}


MODIFIERS = ("ctrl", "shift", "alt", "oskey")
PARTS = ("Pose", "3D View", "3D View Generic", "Window", "Screen", "Frames", "Object Non-modal")


@pytest.mark.parametrize("name", KEYMAPS)
def test_the_shortcuts_are_no_one_elses(name: str) -> None:
    from addon.app.keymap import SHORTCUTS

    items = bpy.context.window_manager.keyconfigs.addon.keymaps["Pose"].keymap_items
    maps = keymap(name)
    theirs = {
        (one["type"], *(bool(one.get(key)) for key in MODIFIERS)): operator
        for part in PARTS
        for operator, one, _ in maps.get(part, ())
    }
    assert len(theirs) > 80
    found: dict[str, str | None] = {}
    for shortcut in SHORTCUTS:
        (item,) = [item for item in items if shortcut.is_in(item)]
        keys = (item.type, *(bool(getattr(item, key)) for key in MODIFIERS))
        found[shortcut.operator] = theirs.get(keys)
    # In its place Remove FABRIK IK does the same.
    assert found.pop("fabrik.ik_clear") in ("pose.ik_clear", None)
    # Where G and R do something else, these leave it to Blender.
    keys = {found.pop(f"fabrik.control_{word}") for word in ("move", "rotate")}
    moving = {"transform.translate", "transform.rotate"}
    assert keys == moving or (name != "blender_default" and keys.isdisjoint(moving))
    assert {*found.values()} == {None}
    assert {*found} == {"fabrik.limb_add", "fabrik.switch", "wm.call_menu_pie"}


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_a_straight_chain_that_was_extruded_is_free(count: int) -> None:
    """“Bone.001” after “Bone” isn't half of a bone split for twisting."""
    names = ["Bone", *(f"Bone.{i:03}" for i in range(1, count))]
    rig = make_armature(
        {
            name: ((0, 0, 0.4 * i), (0, 0, 0.4 * (i + 1)), names[i - 1] if i else "")
            for i, name in enumerate(names)
        }
    )
    (item,) = add(rig, names[-1], controls="EMPTY")
    chance = random.Random(count)
    for _ in range(20):
        way = Vector([chance.gauss(0.0, 1.0) for _ in range(3)]).normalized()
        item.target.location = way * chance.uniform(0.2, 0.95) * 0.4 * count
        update()
        assert item.state == "REACHED" and item.error < 1e-4
