"""Controls are parented to the root of the character, or to the bone that is chosen."""

from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import bpy
import pytest
from captures import imported, skip_without
from creatures import make_quadruped
from downloaded import make_mixamo
from generated import generated_rig, metarig
from humans import make_human
from mathutils import Euler, Matrix, Vector
from operating import (
    add_limbs,
    click_bone,
    click_bones,
    enter_pose_mode,
    refuses,
    select_bone,
    select_bones,
)
from rigs import (
    activate,
    add_constraint,
    evaluated,
    go,
    key,
    make_armature,
    make_chain,
    make_empty,
    update,
)
from spiders import make_spider

from addon.blender.access import hiding
from addon.body.looking import body_of
from addon.features.hold.listing import shown_holds
from addon.features.hold.parenting import _draw


def heads(rig: Any) -> dict[str, Vector]:
    posed = evaluated(rig)
    return {bone.name: posed.matrix_world @ bone.head for bone in posed.pose.bones}


def furthest(before: dict[str, Vector], after: dict[str, Vector], shift: Any = (0, 0, 0)) -> float:
    return max((after[name] - before[name] - Vector(shift)).length for name in before)


def pose(rig: Any, count: int) -> list[Matrix]:
    """Return the matrices of the first bones in world space, as evaluated."""
    return matrices(rig, rig.pose.bones.keys()[:count])


def matrices(rig: Any, names: list[str]) -> list[Matrix]:
    posed = evaluated(rig)
    return [posed.matrix_world @ posed.pose.bones[name].matrix for name in names]


def move(rig: Any, bone: str, change: Matrix) -> None:
    """Move a bone in world space."""
    posed, world = rig.pose.bones[bone], rig.matrix_world
    posed.matrix = world.inverted() @ change @ world @ posed.matrix


def apart(a: list[Matrix], b: list[Matrix]) -> float:
    differences = (m - n for m, n in zip(a, b, strict=True))
    return max(abs(value) for matrix in differences for row in matrix for value in row)


def parents(rig: Any) -> set[str]:
    """Return the parents of all targets and poles; what rolls a foot is a child of its target."""
    bones = [bone for bone in rig.data.bones if bone.fabrik_is_control]
    assert bones
    above = [bone.parent for bone in bones]
    return {bone.name if bone else "" for bone in above if not bone or not bone.fabrik_is_control}


def with_root(rig: Any, below: str, head: Any = (0, 0, 0)) -> Any:
    """Add a root bone above a bone."""
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    root = bones.new("root")
    root.head, root.tail = head, Vector(head) + Vector((0, 0.3, 0))
    bones[below].parent = root
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    return rig


def rooted_metarig(folder: Path) -> Any:
    return with_root(metarig("human", folder), "spine")


RIGS: dict[str, Any] = {
    "human": (lambda _: make_human(False), "hand.L", "root"),
    "scaled human": (lambda _: make_human(False, 100.0), "foot.R", "root"),
    "metarig": (lambda folder: metarig("human", folder), "foot.L", ""),
    "metarig with a root": (rooted_metarig, "foot.L", "root"),
    "rigify": (lambda folder: generated_rig("human", folder), "foot_ik.L", "root"),
    "mixamo": (lambda _: make_mixamo(), "mixamorig:LeftFoot", ""),
    "chain": (lambda _: make_chain(4), "B3", ""),
    "spider": (lambda _: make_spider(), "", ""),
}


@pytest.mark.parametrize("kind", RIGS)
def test_controls_are_parented_to_the_root(kind: str, tmp_path: Path) -> None:
    make, end, root = RIGS[kind]
    rig = make(tmp_path)
    end = end or next(bone.name for bone in rig.pose.bones if not bone.children)
    add_limbs(rig, end)
    assert parents(rig) == {root}
    if not root:
        return
    bone = rig.pose.bones[root]
    before, shift = heads(rig), Vector((2.0, 0.4, -0.3))
    rest = bone.bone.matrix_local.to_3x3()
    bone.location = rest.inverted() @ (rig.matrix_world.to_3x3().inverted() @ shift)
    update()
    assert furthest(before, heads(rig), shift) < 1e-5
    assert {item.state for item in rig.fabrik.constraints} == {"REACHED"}


def center(_: Path) -> Any:
    """A body whose topmost bone is at its hips, as the center of MMD is."""
    return with_root(make_mixamo(), "mixamorig:Hips", (0, 0, 97))


@pytest.mark.parametrize(
    ("name", "head", "parent"),
    [
        ("root", (0, 0, 0), "root"),
        ("root", (0, 0, 97), "root"),
        ("Reference", (0, 0, 0), "Reference"),
        ("全ての親", (0, 0, 0), "全ての親"),
        ("センター", (0, 0, 80), ""),
        ("COG", (0, 0, 100), ""),
    ],
)
def test_a_root_is_what_is_on_the_ground_or_is_named_so(
    name: str, head: tuple[int, int, int], parent: str
) -> None:
    rig = with_root(make_mixamo(), "mixamorig:Hips", head)
    rig.data.bones["root"].name = name
    update()
    add_limbs(rig, "mixamorig:LeftFoot")
    assert parents(rig) == {parent}


@pytest.mark.parametrize(
    ("name", "is_deforming", "parent"),
    [("master", True, "master"), ("Base", False, "Base"), ("Base", True, "")],
)
def test_the_root_of_a_tentacle(name: str, is_deforming: bool, parent: str) -> None:
    """Nothing of it is recognized: it is identified by its name, or by deforming nothing."""
    built = {name: ((0, 0, 0), (0, 0.2, 0), "")}
    above = name
    for i in range(6):
        built[f"T{i}"] = ((0, 0, 0.2 * i), (0.01 * i, 0, 0.2 * i + 0.2), above)
        above = f"T{i}"
    rig = make_armature(built)
    rig.data.bones[name].use_deform = is_deforming
    click_bones(rig, "T5")
    assert bpy.ops.fabrik.constraint_add(controls="BONE", chain_count=4) == {"FINISHED"}
    assert parents(rig) == {parent}


POSES: dict[str, dict[str, Any]] = {
    "moved": {"location": (0.3, -0.2, 0.5), "rotation_euler": Euler((0.4, 0.2, -0.9))},
    "scaled": {"scale": (2.0, 2.0, 2.0), "rotation_euler": Euler((0.4, 0.2, -0.9))},
    "sheared": {"scale": (1.0, 2.0, 0.7), "rotation_euler": Euler((0.0, 0.5, 0.2))},
}


@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize("parent", ["ROOT", "WORLD", "HIPS", "CHEST", "HEAD", "BONE"])
def test_nothing_moves_whatever_is_chosen(parent: str, pose: str) -> None:
    rig = make_human(False)
    for name in ("root", "chest"):
        rig.pose.bones[name].rotation_mode = "XYZ"
        for channel, value in POSES[pose].items():
            setattr(rig.pose.bones[name], channel, value)
    update()
    before = heads(rig)
    add_limbs(rig, "hand.L", "foot.L", parent=parent, parent_bone="neck")
    chosen = {"WORLD": "", "BONE": "neck"}.get(parent, parent.lower())
    assert parents(rig) == {chosen}
    assert furthest(before, heads(rig)) < 1e-5


def test_what_the_chain_moves_is_refused() -> None:
    rig = make_human(False)
    click_bones(rig, "hand.L")
    for bone in ("hand.L", "forearm.L"):
        refuses(
            bpy.ops.fabrik.limb_add,
            f"“{bone}” moves with the chain",
            parent="BONE",
            parent_bone=bone,
        )
    refuses(bpy.ops.fabrik.limb_add, "no bone for this Parent", parent="BONE", parent_bone="tail")
    assert not rig.fabrik.constraints
    assert not [bone for bone in rig.data.bones if bone.fabrik_is_control]


def test_a_walk_does_not_move_its_controls() -> None:
    rig = make_human(False)
    click_bones(rig, "root")
    assert bpy.ops.fabrik.gait_add(controls="BONE") == {"FINISHED"}
    assert rig.fabrik.gaits[0].body == "hips"
    assert parents(rig) == {"root"}


@pytest.mark.parametrize("use_pole", [False, True])
@pytest.mark.parametrize("blend", [0.0, 10.0])
def test_the_parent_is_switched_without_a_pop(use_pole: bool, blend: float) -> None:
    """From the world to the hips at frame 20, and back to the control's own parent at frame 40."""
    rig = make_human(False)
    hips = rig.pose.bones["hips"]
    hips.rotation_mode = "XYZ"
    for frame in range(1, 61, 10):
        key(hips, "location", {frame: [0.002 * frame, -0.001 * frame, 0.0]})
        key(hips, "rotation_euler", {frame: [0.0, 0.01 * frame, 0.004 * frame]})
    go(1)
    add_limbs(rig, "hand.L", "foot.L")
    constraint = rig.fabrik.constraints["hand.L"]
    control = constraint.pole_subtarget if use_pole else constraint.subtarget

    def switch(frame: int, parent: str) -> None:
        go(frame)
        before = pose(rig, len(rig.pose.bones))
        assert bpy.ops.fabrik.hold_parent(
            constraint="hand.L", use_pole=use_pole, parent=parent
        ) == {"FINISHED"}
        rig.fabrik.holds[0].blend = blend
        update()
        assert apart(before, pose(rig, len(rig.pose.bones))) < 1e-5

    def place(frame: int, parent: str = "") -> Matrix:
        """Where the control is, as its parent has it."""
        go(frame)
        bones = evaluated(rig).pose.bones
        matrix = rig.matrix_world @ bones[control].matrix
        return (rig.matrix_world @ bones[parent].matrix).inverted() @ matrix if parent else matrix

    switch(5, "WORLD")
    switch(20, "HIPS")
    switch(40, "RELEASE")
    assert apart([place(5)], [place(19)]) < 1e-5
    assert apart([place(20 + int(blend), "hips")], [place(39, "hips")]) < 1e-5
    assert apart([place(40 + int(blend), "root")], [place(55, "root")]) < 1e-5
    assert [event.by for event in shown_holds(rig)] == ["World", "hips"]


def test_only_controls_of_the_active_character_are_switched(empty_file: None) -> None:
    bones = {
        "Root": ((0, 0, 0), (0, 0.3, 0), ""),
        "Arm": ((0, 0, 1), (0.1, 0, 2), ""),
        "Control": ((0, 1, 2), (0, 1.2, 2), "Root"),
    }
    pair = [make_armature(bones, name) for name in ("First", "Second")]
    for armature in pair:
        add_constraint(armature, "Arm", armature, chain_count=1).subtarget = "Control"
    update()
    for armature in pair:
        armature.select_set(True)
    bpy.context.view_layer.objects.active = pair[1]
    bpy.ops.object.mode_set(mode="POSE")
    for armature in pair:
        select_bones(armature, "Control")
    pair[1].data.bones.active = pair[1].data.bones["Control"]
    assert bpy.ops.fabrik.hold_parent(parent="ROOT") == {"FINISHED"}
    assert [[hold.bone for hold in one.fabrik.holds] for one in pair] == [[], ["Control"]]


def test_all_selected_controls_are_switched_at_once() -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", "hand.R", "foot.L")
    before, count = pose(rig, len(rig.pose.bones)), len(rig.pose.bones)
    switched = ["hand IK.L", "hand IK.R", "hand Pole.R"]
    switch = bpy.ops.fabrik.hold_parent

    def holders() -> dict[str, list[str]]:
        return {hold.bone: [one.bone for one in hold.holders] for hold in rig.fabrik.holds}

    def drawn(constraint: str) -> str:
        """The constraint whose control the menu of a panel switches; empty for the selection."""
        layout = MagicMock()
        _draw(layout, rig.fabrik.constraints[constraint], False)
        return layout.row().split().operator_menu_enum().constraint

    click_bones(rig, *switched)
    assert (drawn("hand.L"), drawn("foot.L")) == ("", "foot.L")
    assert switch(parent="HIPS") == {"FINISHED"}
    assert holders() == {name: ["hips"] for name in switched}
    assert apart(before, pose(rig, count)) < 1e-5
    assert switch(constraint="foot.L", parent="CHEST") == {"FINISHED"}
    assert holders() == {name: ["hips"] for name in switched} | {"foot IK.L": ["chest"]}
    go(10)
    click_bones(rig, "hand IK.R", "hand IK.L")
    assert switch(parent="ACTIVE") == {"FINISHED"}
    assert holders()["hand IK.L"] == ["hips", "hand IK.R"]
    click_bones(rig, "hand IK.R")
    assert drawn("hand.R") == "hand.R"
    click_bones(rig, *switched[1:])
    assert switch(parent="RELEASE") == {"FINISHED"}
    assert apart(before, pose(rig, count)) < 1e-5
    assert {event.what: event.end for event in shown_holds(rig) if event.by == "hips"} == {
        "hand IK.L": 10,
        "hand IK.R": 10,
        "hand Pole.R": 10,
    }


def test_what_ik_poses_says_which_control_to_move() -> None:
    from addon.features.constraint.sentences import notes_of

    rig = make_human(False)
    add_limbs(rig, "hand.L")

    def notes(bone: str) -> list[str]:
        click_bones(rig, bone)
        return [str(note) for _, note in notes_of(bpy.context)]

    for bone in ("hand.L", "forearm.L", "upper_arm.L"):
        assert notes(bone) == [f"“{bone}” is posed by IK: move its control “hand IK.L”"]
    for bone in ("hand IK.L", "hand Pole.L", "hand.R", "clavicle.L", "root"):
        assert notes(bone) == []
    rig.fabrik.constraints[0].influence = 0.0
    assert notes("hand.L") == []


def test_controls_are_selected_and_hidden() -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", "foot.L")

    def selected() -> set[str]:
        return {bone.name for bone in bpy.context.selected_pose_bones}

    def shown() -> set[str]:
        names = [bone.name for bone in rig.data.bones if bone.fabrik_is_control]
        owners = rig.pose.bones if hasattr(rig.pose.bones[0], "hide") else rig.data.bones
        return {name for name in names if not owners[name].hide}

    every = {"hand IK.L", "hand Pole.L", "foot IK.L", "foot Pole.L", "foot IK Roll.L", "toe IK.L"}
    click_bones(rig, "hand.L")
    assert bpy.ops.fabrik.controls_select() == {"FINISHED"}
    assert selected() == {"hand IK.L", "hand Pole.L"}
    click_bones(rig, "head")
    assert bpy.ops.fabrik.controls_select() == {"FINISHED"}
    assert selected() == every == shown()
    assert bpy.ops.fabrik.controls_hide() == {"FINISHED"}
    assert shown() == set()
    refuses(bpy.ops.fabrik.controls_select, "choose Hide Controls to show them")
    assert bpy.ops.fabrik.controls_hide() == {"FINISHED"}
    assert shown() == every


def test_a_control_outside_of_the_view_layer_is_left_out() -> None:
    """Blender refuses to hide and to select it."""
    rig = make_human(False)
    add_limbs(rig, "hand.L")
    target = bpy.data.objects.new("Elsewhere", None)
    rig.fabrik.constraints[0].target, rig.fabrik.constraints[0].subtarget = target, ""
    assert bpy.ops.fabrik.controls_select() == {"FINISHED"}
    assert {bone.name for bone in bpy.context.selected_pose_bones} == {"hand Pole.L"}
    assert bpy.ops.fabrik.controls_hide() == {"FINISHED"}


def test_feet_are_put_on_the_ground_of_the_scene() -> None:
    rig = make_human(False)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.mesh.primitive_plane_add(size=10.0, location=(0.0, 0.0, 0.2))
    activate(rig)
    assert bpy.ops.fabrik.ground_add() == {"FINISHED"}
    update()
    items = rig.fabrik.constraints
    assert {item.bone for item in items if item.ground.use} == {"foot.L", "foot.R"}
    assert {item.state for item in items if item.ground.use} == {"REACHED"}
    foot = evaluated(rig).pose.bones["foot.L"]
    assert (rig.matrix_world @ foot.head).z == pytest.approx(0.29, abs=0.02)


def test_controls_are_drawn_and_picked_at_what_the_ground_lifts() -> None:
    rig = make_human(True)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")

    def drawn() -> dict[str, str]:
        update()
        update()  # Planning writes in the next update.
        shapes = [(bone.name, bone.custom_shape_transform) for bone in rig.pose.bones]
        always = ("toe", "foot IK Roll")  # These show where the foot is in any case.
        return {name: at.name for name, at in shapes if at and not name.startswith(always)}

    assert drawn() == {}
    bpy.ops.mesh.primitive_plane_add(size=20.0, location=(0.0, 0.0, 0.5))
    activate(rig)
    assert bpy.ops.fabrik.ground_add() == {"FINISHED"}
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    hands = {f"{part} IK.{side}": f"{part}.{side}" for part in ("hand", "foot") for side in "LR"}
    bent = {"hand": "forearm", "foot": "shin"}
    poles = {f"{end} Pole.{side}": f"{bent[end]}.{side}" for end in bent for side in "LR"}
    assert drawn() == hands | poles  # The chest's control is parented to the hips.
    go(12)
    bones = evaluated(rig).pose.bones
    assert (bones["hand IK.L"].head - bones["hand.L"].head).length > 0.3
    elbow = bones["forearm.L"].head.copy()
    rig.pose.bones["hand Pole.L"].location.x += 0.3  # Dragged there, it turns what it's drawn at.
    update()
    assert (evaluated(rig).pose.bones["forearm.L"].head - elbow).length > 0.01
    for item in rig.fabrik.constraints:
        item.ground.use = False
    assert drawn() == {}


def test_disabling_the_extension_shows_the_fk_pose_at_once(addon: ModuleType) -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L")
    before = heads(rig)
    rig.pose.bones["hand IK.L"].location = (0.1, 0.1, 0.1)
    update()
    assert furthest(before, heads(rig)) > 0.05
    addon.unregister()
    try:
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        hand = posed.matrix_world @ posed.pose.bones["hand.L"].head
        assert (hand - before["hand.L"]).length < 1e-6
    finally:
        addon.register()


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
@pytest.mark.parametrize("kind", ["human", "mixamo"])
def test_a_limb_is_mirrored_with_its_controls(kind: str, controls: str) -> None:
    """Sides may be anywhere in names; what the left limb reaches for moves with it alone."""
    rig = make_human(False) if kind == "human" else make_mixamo()
    left, right = (
        ("hand.L", "hand.R") if kind == "human" else ("mixamorig:LeftHand", "mixamorig:RightHand")
    )
    add_limbs(rig, left, controls=controls)
    item = rig.fabrik.constraints[0]
    moved = rig.pose.bones[item.subtarget] if controls == "BONE" else item.target
    moved.location += Vector((0.02, -0.05, 0.03)) * (
        100.0 if controls == "BONE" and kind == "mixamo" else 1.0
    )
    update()
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    update()
    one, other = rig.fabrik.constraints
    assert (other.bone, other.state) == (right, one.state)
    assert (one.target, one.subtarget) != (other.target, other.subtarget)
    posed = evaluated(rig).pose.bones
    heads = [posed[name].head for name in (left, right)]
    mirrored = heads[0] * Vector((-1, 1, 1))
    size = 100.0 if kind == "mixamo" else 1.0
    assert (mirrored - heads[1]).length < 1e-4 * size
    forearms = [
        posed[name.replace("hand", "forearm").replace("Hand", "ForeArm")].head
        for name in (left, right)
    ]
    assert (forearms[0] * Vector((-1, 1, 1)) - forearms[1]).length < 1e-4 * size
    if controls == "BONE":
        assert parents(rig) == {"root" if kind == "human" else ""}
        assert len([bone for bone in rig.data.bones if bone.fabrik_is_control]) == 4


def test_a_pose_of_controls_is_pasted_flipped(tmp_path: Path) -> None:
    rig = metarig("human", tmp_path)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    for name in ("hand IK.L", "hand Pole.L", "foot IK.L", "foot Pole.L"):
        rig.pose.bones[name].location = (0.03, -0.02, 0.05)
    rig.pose.bones["foot IK Roll.L"].rotation_euler.x = 0.4
    click_bones(rig, *(bone.name for bone in rig.data.bones if bone.name.endswith(".L")))
    assert bpy.ops.pose.copy() == {"FINISHED"}
    assert bpy.ops.pose.paste(flipped=True) == {"FINISHED"}
    update()
    joints = heads(rig)
    for name in ("forearm", "hand", "shin", "foot", "toe"):
        left, right = joints[f"{name}.L"], joints[f"{name}.R"]
        assert (left - Vector((-right.x, right.y, right.z))).length < 1e-4


def test_limbs_of_all_armatures_in_pose_mode_get_ik() -> None:
    rigs = [make_human(False), make_chain(3, "Arm")]
    enter_pose_mode(*rigs)
    select_bone(rigs[1], "B2")
    click_bone(rigs[0], "hand.L")
    assert bpy.ops.fabrik.limb_add() == {"FINISHED"}
    update()
    for rig, bone, count in zip(rigs, ("hand.L", "B2"), (2, 3), strict=True):
        (item,) = rig.fabrik.constraints
        assert (item.bone, item.target, item.chain_count) == (bone, rig, count)
        assert item.state == "REACHED"
    selected = {bone.name for bone in bpy.context.selected_pose_bones}
    assert selected == {item.subtarget for rig in rigs for item in rig.fabrik.constraints}


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
def test_a_limb_reaches_for_the_selected_object(controls: str) -> None:
    rig = make_human(False)
    empty = make_empty(location=(0.4, -0.1, 1.3))
    click_bones(rig, "hand.L")
    empty.select_set(True)
    assert bpy.ops.fabrik.limb_add(controls=controls) == {"FINISHED"}
    update()
    (item,) = rig.fabrik.constraints
    assert (item.target, item.state) == (empty, "REACHED")
    assert (heads(rig)["hand.L"] - empty.location).length < 1e-4
    assert item.pole_target not in (None, empty)
    assert rig.pose.bones["forearm.L"].fabrik_joint.limit_type == "HINGE"
    click_bones(rig, "forearm.L")
    bpy.ops.fabrik.ik_clear()
    assert empty.name in bpy.data.objects


def test_the_selected_object_may_be_ignored() -> None:
    rig = make_human(False)
    empty = make_empty(location=(0.4, -0.1, 1.3))
    click_bones(rig, "hand.L")
    empty.select_set(True)
    before = heads(rig)
    assert bpy.ops.fabrik.limb_add(use_selected=False) == {"FINISHED"}
    update()
    assert rig.fabrik.constraints[0].target == rig and furthest(before, heads(rig)) < 1e-5


def test_a_limb_of_rigify_is_in_ik_again_once_ours_is_removed(tmp_path: Path) -> None:
    rig = generated_rig("basic_human", tmp_path)
    before = heads(rig)
    add_limbs(rig, "hand_fk.L", "foot_fk.R")
    switches = {name: rig.pose.bones[name] for name in ("upper_arm_parent.L", "thigh_parent.R")}
    assert [bone["IK_FK"] for bone in switches.values()] == [1.0, 1.0]
    for bone, values in (("hand_fk.L", [0.0, 1.0]), ("foot_fk.R", [0.0, 0.0])):
        click_bones(rig, bone)
        assert bpy.ops.fabrik.ik_clear() == {"FINISHED"}
        assert [bone["IK_FK"] for bone in switches.values()] == values
    update()
    assert furthest(before, heads(rig)) < 1e-5
    rig.pose.bones["hand_ik.L"].location.z += 0.1
    update()
    assert (heads(rig)["DEF-hand.L"] - before["DEF-hand.L"]).length > 0.05


@pytest.mark.parametrize("added", ["CHARACTER", "LIMBS", "WALK"])
def test_controls_of_rigify_that_move_nothing_are_hidden_until_ours_are_removed(
    added: str, tmp_path: Path
) -> None:
    rig = generated_rig("basic_human", tmp_path)
    hidden_before = rig.pose.bones["foot_heel_ik.L"]
    hiding(rig, hidden_before.name).hide = True

    def hidden() -> set[str]:
        return {bone.name for bone in rig.pose.bones if hiding(rig, bone.name).hide}

    before = hidden()
    activate(rig)
    if added == "CHARACTER":
        assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    elif added == "LIMBS":
        add_limbs(rig, "hand_fk.L", "foot_fk.L")
    else:
        assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    now = hidden()
    assert {"foot_ik.L", "thigh_ik.L", "toe_ik.L"} <= now
    assert ({"hand_ik.L", "upper_arm_ik_target.L"} <= now) == (added != "WALK")
    assert (("hand_ik.R" in now), ("foot_ik.R" in now)) == (
        added == "CHARACTER",
        added != "LIMBS",
    )
    assert not any("_fk" in name or "tweak" in name for name in now - before)
    switch = rig.pose.bones["thigh_parent.L"]
    assert switch["IK_FK"] == 1.0
    bones = rig.data.bones
    bones["thigh_parent.L"].name, bones["foot_ik.L"].name = "Switch", "Foot"
    if added == "CHARACTER":
        assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    else:
        click_bones(rig, *(("hand_fk.L",) if added == "LIMBS" else ("foot_fk.R",)), "foot_fk.L")
        assert bpy.ops.fabrik.ik_clear() == {"FINISHED"}
    assert hidden() == before
    assert switch["IK_FK"] == 0.0


def moving_root(rig: Any) -> None:
    """Key the root of a character: it travels, rises and turns."""
    root = rig.pose.bones["root"]
    root.rotation_mode = "XYZ"
    for frame in range(1, 61, 10):
        at = 0.02 * frame
        key(root, "location", {frame: [at, 0.3 * at * at, 0.2 * at]})
        key(root, "rotation_euler", {frame: [0.05 * at, 0.3 * at, 0.1 * at]})
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 51
    go(1)


def feet(rig: Any) -> list[dict[str, Vector]]:
    poses = []
    for frame in range(1, 52, 5):
        go(frame)
        poses.append({name: heads(rig)[name] for name in ("foot.L", "foot.R", "hand.L", "hips")})
    return poses


def most_apart(a: list[dict[str, Vector]], b: list[dict[str, Vector]]) -> float:
    return max(furthest(one, other) for one, other in zip(a, b, strict=True))


@pytest.mark.parametrize("parent", ["ROOT", "WORLD", "CHEST"])
def test_a_character_is_set_up_and_baked_whatever_moves_its_controls(parent: str) -> None:
    rig = make_human(True)
    moving_root(rig)
    before = feet(rig)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(parent=parent) == {"FINISHED"}
    assert most_apart(before, feet(rig)) < 1e-4
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.fabrik.bake(which="ARMATURE", frame_start=1, frame_end=51, afterwards="DISABLE")
    assert not any(item.enabled for item in rig.fabrik.constraints)
    assert most_apart(before, feet(rig)) < 1e-4


def test_a_walk_steps_as_before_and_its_steps_are_baked_below_a_moving_root() -> None:
    """Its controls are children of the root, which carries the body."""
    rig = make_human(False)
    moving_root(rig)
    click_bones(rig, "root")
    assert bpy.ops.fabrik.gait_add(controls="BONE") == {"FINISHED"}
    live = feet(rig)
    assert bpy.ops.fabrik.gait_bake() == {"FINISHED"}
    assert parents(rig) == {"root"}
    assert most_apart(live, feet(rig)) < 2e-3


def test_feet_on_the_ground_are_baked_below_a_moving_root() -> None:
    rig = make_human(False)
    moving_root(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.mesh.primitive_plane_add(size=20.0, location=(0.0, 0.0, 0.05))
    activate(rig)
    assert bpy.ops.fabrik.ground_add() == {"FINISHED"}
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    live = feet(rig)
    assert bpy.ops.fabrik.ground_bake(frame_start=1, frame_end=51) == {"FINISHED"}
    assert most_apart(live, feet(rig)) < 2e-3


@pytest.mark.parametrize("parent", ["ROOT", "HIPS", "WORLD"])
def test_limbs_are_snapped_and_switched_whatever_moves_their_controls(parent: str) -> None:
    rig = make_human(True)
    moving_root(rig)
    add_limbs(rig, "hand.L", parent=parent)
    go(23)
    for name in ("snap_to_fk", "snap_to_ik", "switch"):
        click_bones(rig, "hand.L")
        rig.fabrik.active_index = 0
        # In IK, the target is snapped to what is shown in FK.
        rig.fabrik.constraints[0].enabled = name != "snap_to_fk"
        update()
        before = heads(rig)
        assert getattr(bpy.ops.fabrik, name)() == {"FINISHED"}
        rig.fabrik.constraints[0].enabled = True
        update()
        after = heads(rig)
        assert max((after[bone] - before[bone]).length for bone in ("hand.L", "forearm.L")) < 1e-4


def test_what_ik_poses_is_moved_by_its_control() -> None:
    """What G and R select before Blender moves it; other bones stay selected."""
    rig = make_human(False)
    add_limbs(rig, "hand.L", "foot.R")
    take = bpy.ops.fabrik.controls_take

    def taken(*bones: str) -> tuple[str, set[str]]:
        click_bones(rig, *bones)
        assert take() == {"FINISHED"}
        return bpy.context.active_pose_bone.name, {
            bone.name for bone in bpy.context.selected_pose_bones
        }

    assert taken("hand.L") == ("hand IK.L", {"hand IK.L"})
    assert taken("head", "foot.R", "forearm.L") == ("head", {"head", "foot IK.R", "hand IK.L"})
    assert taken("forearm.L", "hand.L") == ("hand IK.L", {"hand IK.L"})
    for bone in ("head", "hand IK.L", "hand Pole.L"):
        click_bones(rig, bone)
        assert not take.poll()
    click_bones(rig, "hand.L")
    assert bpy.ops.fabrik.controls_hide() == {"FINISHED"}
    assert not take.poll()
    assert bpy.ops.fabrik.controls_hide() == {"FINISHED"}
    rig.fabrik.constraints[0].influence = 0.5
    update()
    assert not take.poll()


def notes(turns: bool = False) -> list[str]:
    from addon.features.constraint.sentences import notes_of

    return [str(note) for _, note in notes_of(bpy.context, turns)]


def test_a_hand_that_is_only_placed_is_moved_by_its_control_and_rotated_in_fk() -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L", use_rotation=False)
    control = rig.fabrik.constraints[0].subtarget
    click_bones(rig, "hand.L")
    assert notes() == [f"“hand.L” is posed by IK: move its control “{control}”"]
    assert notes(turns=True) == []
    assert not bpy.ops.fabrik.controls_turn.poll()
    assert bpy.ops.fabrik.controls_take() == {"FINISHED"}
    assert bpy.context.active_pose_bone.name == control


def test_what_a_control_does_not_turn_says_so_and_stays_selected() -> None:
    """A chest and a head follow their controls' locations, but don't copy their rotations."""
    rig = make_human(False)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    move, turn = bpy.ops.fabrik.controls_take, bpy.ops.fabrik.controls_turn
    for bone in ("head", "chest"):
        click_bones(rig, bone)
        assert move.poll() and not turn.poll()
        assert notes() == [f"“{bone}” is posed by IK: move its control “{bone} IK”"]
    for bone in ("hand.L", "toe.L"):
        click_bones(rig, bone)
        assert move.poll() and turn.poll()
    click_bones(rig, "hand.L", "head")
    assert turn() == {"FINISHED"}
    assert {bone.name for bone in bpy.context.selected_pose_bones} == {"hand IK.L", "head"}
    assert notes(turns=True) == ["“head” is posed by IK: move its control “head IK”"]


def test_what_a_walk_moves_says_so_and_is_not_dragged() -> None:
    rig = make_human(False)
    click_bones(rig, "root")
    assert bpy.ops.fabrik.gait_add(controls="BONE") == {"FINISHED"}
    go(10)
    control = rig.pose.bones["foot IK.L"]
    for bone in ("foot.L", "shin.L", "foot IK.L"):
        click_bones(rig, bone)
        assert len(notes()) == 1 and "steps in a walk" in notes()[0]
        assert not bpy.ops.fabrik.controls_take.poll()
        refuses(bpy.ops.fabrik.drag, "steps in a walk", bone=bone, value=(0.1, 0.0, 0.1))
        assert not any(control.location)
    rig.fabrik.gaits[0].enabled = False
    update()
    click_bones(rig, "foot.L")
    assert bpy.ops.fabrik.drag(bone="foot.L", value=(0.1, 0.0, 0.1)) == {"FINISHED"}
    assert bpy.ops.fabrik.controls_take() == {"FINISHED"}
    assert bpy.context.active_pose_bone.name == "foot IK.L"


CARRIED: dict[str, Any] = {
    "human": (lambda _: make_human(False), "root"),
    "mixamo": (lambda _: make_mixamo(), ""),
    "metarig": (lambda folder: metarig("human", folder), ""),
    "metarig with a root": (rooted_metarig, "root"),
    "basic human": (lambda folder: generated_rig("basic_human", folder), "root"),
    "quadruped": (lambda _: make_quadruped(), "Root"),
    "spider": (lambda _: make_spider(), ""),
    "wolf": (lambda _: imported(skip_without("q_Wolf.glb")), "Body"),
    "fox": (lambda _: imported(skip_without("Fox.glb")), "_rootJoint"),
    "robot": (lambda _: imported(skip_without("RobotExpressive.glb")), "Bone"),
    "biped": (lambda _: imported(skip_without("pab_walk.fbx")), ""),
}


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
@pytest.mark.parametrize("kind", CARRIED)
def test_what_a_walk_says_to_animate_carries_the_whole_character(
    kind: str, controls: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make, mover = CARRIED[kind]
    rig = make(tmp_path)
    rig.animation_data_clear()
    activate(rig)
    update()
    body = body_of(rig)
    arms = [limb.bones for limb in body.anatomy.limbs if limb.kind == "ARM"]
    parts = [*body.anatomy.spine, body.pelvis, body.anatomy.head, *sum(arms, ())]
    assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}
    capfd.readouterr()
    assert bpy.ops.fabrik.gait_add(controls=controls) == {"FINISHED"}
    said = f"animate “{mover}”" if mover else "animate the armature object"
    assert said in capfd.readouterr().out
    names = [rig.fabrik.gaits[0].body, *[body.names[i] for i in parts if i >= 0]]
    size = body.size * rig.matrix_world.median_scale
    shift = Matrix.Translation((size, 0.5 * size, 0.2 * size))
    before = matrices(rig, names)
    if mover:
        move(rig, mover, shift)
    else:
        rig.matrix_world = shift @ rig.matrix_world
    update()
    assert apart([shift @ matrix for matrix in before], matrices(rig, names)) < 1e-4 * size


def test_a_setup_after_a_walk_keeps_its_legs(capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_human(False)
    click_bones(rig, "head")
    assert bpy.ops.fabrik.gait_add(controls="BONE") == {"FINISHED"}
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    assert "Set up 2 arms, 1 spine and 1 head" in capfd.readouterr().out
    items = rig.fabrik.constraints
    assert [item.bone for item in items].count("foot.L") == 1
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert {item.bone for item in items} == {"foot.L", "foot.R"}
    for part in rig.fabrik.character.parts:
        part.use = part.kind == "LEG"
    refuses(bpy.ops.fabrik.character_set_up, "All enabled parts already have IK")


def test_the_trunk_moves_with_the_hips() -> None:
    rig = make_human(False)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    assert rig.data.bones["chest IK"].parent.name == "hips"
    assert rig.data.bones["head IK"].parent.name == "root"
    trunk = ["hips", "spine", "chest", "neck"]
    before, shift = matrices(rig, trunk), Matrix.Translation((0.05, 0.1, -0.2))
    move(rig, "hips", shift)
    update()
    after = matrices(rig, trunk)
    assert apart([shift @ matrix for matrix in before[:3]], after[:3]) < 1e-5
    assert (after[3].translation - shift @ before[3].translation).length < 1e-5
    assert rig.fabrik.constraints["chest IK"].state == "REACHED"
