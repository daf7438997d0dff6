"""Limits of joints: kept after every solve, whatever they are set by."""

from collections.abc import Iterator
from math import inf, nan, radians, sqrt
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import bpy
import pytest
import rigs
from hinges import KEPT, PLACES, assert_in_hinge, hinge_angle, swing_and_twist, turn_of
from inside import forget, make_plan
from layouts import Layout, classes
from mathutils import Euler, Quaternion, Vector

STRAIGHT = tuple((0, 0, i) for i in range(6))


def assert_in_cone(rig: bpy.types.Object, name: str, center: Any = (0, 0, 0)) -> None:
    joint = rig.pose.bones[name].fabrik_joint
    back = Euler(center).to_quaternion().inverted()
    x, z, twist = swing_and_twist(back @ turn_of(rig, name))
    size = sqrt((x / joint.swing_x) ** 2 + (z / joint.swing_z) ** 2)
    assert size <= 1 + KEPT / min(joint.swing_x, joint.swing_z)
    assert joint.twist_min - KEPT <= twist <= joint.twist_max + KEPT


def limit(rig: bpy.types.Object, name: str, kind: str, **settings: object) -> Any:
    """Set the joint of a bone from Python, as a script would."""
    joint = rig.pose.bones[name].fabrik_joint
    joint.limit_type = kind
    for key, value in settings.items():
        setattr(joint, key, value)
    return joint


def each_place(target: bpy.types.Object) -> Iterator[Any]:
    """Move a target to each place in turn."""
    for place in PLACES:
        target.location = place
        rigs.update()
        yield place


def reaching(rig: bpy.types.Object, bone: str, **settings: object) -> tuple[Any, Any]:
    target = rigs.make_empty(location=PLACES[0])
    return rigs.add_constraint(rig, bone, target, **settings), target


# What a new joint is


def test_blenders_own_settings_that_limit_nothing_change_nothing() -> None:
    rig, other = rigs.make_chain(4), rigs.make_chain(4, "Other")
    for one in (rig, other):
        rigs.add_constraint(one, "B3", rigs.make_empty(location=(1.5, 0.4, 1)))
    for bone in other.pose.bones:
        bone.fabrik_joint.limit_type = "BLENDER"
    rigs.update()
    assert rigs.pose_bits(rig) == rigs.pose_bits(other)


def test_defaults_leave_the_rest_pose_allowed() -> None:
    for kind in ("BLENDER", "HINGE", "CONE"):
        rig = rigs.make_chain(3)
        for bone in rig.pose.bones:
            bone.fabrik_joint.limit_type = kind
        target = rigs.make_empty(location=rigs.tip_world(rig, "B2"))
        item = rigs.add_constraint(rig, "B2", target)
        rigs.update()
        assert item.state == "REACHED"
        assert rigs.tip_error(rig, "B2", target) < 1e-4
        assert all(turn_of(rig, bone.name).angle < 1e-3 for bone in rig.pose.bones)


# Hinges and cones


@pytest.mark.parametrize("axis", ["X", "Z", "FREE"])
def test_a_hinge_turns_about_its_axis(axis: str) -> None:
    rig = rigs.make_chain(3)
    vector = (0.3, 0.2, -0.7)
    limit(rig, "B1", "HINGE", hinge_axis=axis, hinge_vector=vector, hinge_min=-1, hinge_max=1)
    _, target = reaching(rig, "B2")
    about = {"X": (1, 0, 0), "Z": (0, 0, 1), "FREE": vector}[axis]
    angles = []
    for _place in each_place(target):
        angles.append(assert_in_hinge(rig, "B1", about, -1, 1))
    assert max(map(abs, angles)) > 0.1


def test_limits_hold_on_rolled_bones_of_a_scaled_turned_and_parented_armature() -> None:
    bones = {"Body": ((0, 0, 0), (0.1, 0.3, 1), "")}
    bones |= {"B0": ((0.3, 0, 1), (0.4, 0.2, 2), "Body")}
    bones |= {f"B{i}": ((0.4, 0.2, i + 1), (0.4, 0.2, i + 2), f"B{i - 1}") for i in (1, 2)}
    rig = rigs.make_armature(bones)
    rigs.activate(rig, "EDIT")
    for i, bone in enumerate(rig.data.edit_bones):
        bone.roll = 0.7 * i - 1
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.parent = rigs.make_empty("Parent", (0.3, 1, -1))
    rig.parent.rotation_euler = (0.4, 1, -0.3)
    rig.scale = (1.7,) * 3
    rig.pose.bones["Body"].rotation_quaternion = (0.8, 0.3, 0.4, -0.2)
    limit(rig, "B0", "CONE", swing_x=0.5, swing_z=0.9, center=(0.1, 0, 0.2))
    limit(rig, "B1", "HINGE", hinge_min=-0.2)
    limit(rig, "B2", "HINGE", hinge_axis="Z", hinge_min=-0.5, hinge_max=0.7)
    _, target = reaching(rig, "B2", chain_count=3)
    for _place in each_place(target):
        assert_in_cone(rig, "B0", (0.1, 0, 0.2))
        assert_in_hinge(rig, "B1", (1, 0, 0), -0.2, radians(150))
        assert_in_hinge(rig, "B2", (0, 0, 1), -0.5, 0.7)


@pytest.mark.parametrize("mode", ["XYZ", "ZYX", "AXIS_ANGLE"])
def test_limits_hold_in_every_rotation_mode(mode: str) -> None:
    rig = rigs.make_chain(3, mode=mode)
    limit(rig, "B0", "CONE")
    limit(rig, "B1", "HINGE", hinge_axis="Z", hinge_min=-0.4, hinge_max=0.6)
    _, target = reaching(rig, "B2")
    for _place in each_place(target):
        assert_in_cone(rig, "B0")
        assert_in_hinge(rig, "B1", (0, 0, 1), -0.4, 0.6)


# Blender's own settings


def native(rig: bpy.types.Object, name: str, **settings: object) -> Any:
    bone = rig.pose.bones[name]
    bone.fabrik_joint.limit_type = "BLENDER"
    for key, value in settings.items():
        setattr(bone, key, value)
    return bone


def swept(rig: bpy.types.Object, target: bpy.types.Object, name: str) -> list[Quaternion]:
    """Return the turns of a bone with the target in several places."""
    turns = []
    for _place in each_place(target):
        turns.append(turn_of(rig, name))
    return turns


@pytest.mark.parametrize("locked", ["xy", "xz", "yz"])
def test_all_axes_but_one_locked_make_a_hinge(locked: str) -> None:
    rig = rigs.make_chain(3)
    native(rig, "B1", **{f"lock_ik_{axis}": True for axis in locked})
    _, target = reaching(rig, "B2")
    axis = Vector([0.0 if name in locked else 1.0 for name in "xyz"])
    found = [hinge_angle(turn, axis) for turn in swept(rig, target, "B1")]
    assert max(aside for _, aside in found) < KEPT
    if axis.y == 0:
        assert max(abs(angle) for angle, _ in found) > 0.2


def test_the_only_axis_that_turns_has_its_limit() -> None:
    rig = rigs.make_chain(3)
    native(rig, "B1", lock_ik_y=True, lock_ik_z=True, ik_min_x=-0.1, ik_max_x=0.4)
    _, target = reaching(rig, "B2")
    free = [hinge_angle(turn, Vector((1, 0, 0)))[0] for turn in swept(rig, target, "B1")]
    assert max(free) > 0.5 or min(free) < -0.2, "the limit is not in use"
    rig.pose.bones["B1"].use_ik_limit_x = True
    for _place in each_place(target):
        assert_in_hinge(rig, "B1", (1, 0, 0), -0.1, 0.4)


def test_a_bone_with_all_axes_locked_stays() -> None:
    rig = rigs.make_chain(3)
    native(rig, "B1", lock_ik_x=True, lock_ik_y=True, lock_ik_z=True)
    _, target = reaching(rig, "B2")
    assert all(2 * sqrt(t.x**2 + t.y**2 + t.z**2) < KEPT for t in swept(rig, target, "B1"))


def test_ranges_make_a_cone_of_four_quarters_and_a_twist() -> None:
    rig = rigs.make_chain(3)
    ranges = {"x": (-0.2, 0.7), "y": (-0.1, 0.15), "z": (-0.6, 0.3)}
    settings: dict[str, object] = {}
    for axis, (low, high) in ranges.items():
        settings |= {f"use_ik_limit_{axis}": True, f"ik_min_{axis}": low, f"ik_max_{axis}": high}
    native(rig, "B0", **settings)
    _, target = reaching(rig, "B2", pole_target=rigs.make_empty("Pole", (2, -1, 0)))
    for turn in swept(rig, target, "B0"):
        x, z, twist = swing_and_twist(turn)
        a = ranges["x"][1] if x > 0 else -ranges["x"][0]
        b = ranges["z"][1] if z > 0 else -ranges["z"][0]
        assert sqrt((x / a) ** 2 + (z / b) ** 2) <= 1 + KEPT / min(a, b)
        assert -0.1 - KEPT <= twist <= 0.15 + KEPT


def test_one_locked_axis_lets_the_others_turn() -> None:
    rig = rigs.make_chain(3)
    native(rig, "B1", lock_ik_z=True, use_ik_limit_y=True, ik_min_y=0, ik_max_y=0)
    _, target = reaching(rig, "B2")
    turns = [swing_and_twist(turn) for turn in swept(rig, target, "B1")]
    assert max(abs(z) + abs(twist) for _, z, twist in turns) < KEPT
    assert max(abs(x) for x, _, _ in turns) > 0.2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ik_max_x", 0.2),
        ("ik_min_x", -0.005),
        ("lock_ik_x", True),
        ("use_ik_limit_x", False),
        ("ik_stiffness_x", 0.9),
    ],
)
def test_a_change_of_blenders_settings_counts_at_the_next_update(name: str, value: Any) -> None:
    armatures = [rigs.make_chain(3, f"Rig{i}") for i in range(2)]
    target = rigs.make_empty(location=(0.6, 1.5, 0.8))
    for rig in armatures:
        settings = {"lock_ik_y": True, "lock_ik_z": True, "use_ik_limit_x": True}
        native(rig, "B1", **settings, ik_min_x=-0.5, ik_max_x=0 if name == "ik_min_x" else 0.5)
        native(rig, "B2", lock_ik_y=True, lock_ik_z=True)
        rigs.add_constraint(rig, "B2", target)
    setattr(armatures[1].pose.bones["B1"], name, value)
    rigs.update()
    before, made = rigs.pose_bits(armatures[0]), make_plan()
    setattr(armatures[0].pose.bones["B1"], name, value)
    rigs.update()
    assert rigs.pose_bits(armatures[0]) == rigs.pose_bits(armatures[1]) != before
    assert make_plan() is made, "the plan holds no number of these"


def test_blenders_settings_can_be_animated() -> None:
    rig = rigs.make_chain(3)
    settings = {"lock_ik_y": True, "lock_ik_z": True, "use_ik_limit_x": True, "ik_min_x": 0}
    bone = native(rig, "B1", **settings)
    rigs.key(bone, "ik_max_x", {1: 0.1, 11: 0.6})
    rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0, 1.6, 0.6)))
    known = {}
    for frame in (1, 11, 6, 1, 6, 11):
        rigs.go(frame)
        assert_in_hinge(rig, "B1", (1, 0, 0), 0, rigs.evaluated(rig).pose.bones["B1"].ik_max_x)
        assert known.setdefault(frame, rigs.pose_bits(rig)) == rigs.pose_bits(rig)
    assert len(set(known.values())) == 3


def test_limits_have_the_sign_that_they_have_for_blenders_own_solver() -> None:
    """Both solvers, held to the same one-sided hinge, end on the same side."""
    for low, high in ((0.0, 1.2), (-1.2, 0.0)):
        armatures = [rigs.make_chain(2, f"Rig{low}{i}", joints=STRAIGHT) for i in range(2)]
        target = rigs.make_empty(location=(0, -0.9 if high else 0.9, 1.5))
        for rig in armatures:
            settings = {"lock_ik_y": True, "lock_ik_z": True, "use_ik_limit_x": True}
            bone = native(rig, "B1", **settings, ik_min_x=low, ik_max_x=high)
            # A straight chain is one that Blender does not bend.
            bone.rotation_quaternion = Euler((0.1 if high else -0.1, 0, 0)).to_quaternion()
        rigs.add_constraint(armatures[0], "B1", target)
        con: Any = armatures[1].pose.bones["B1"].constraints.new("IK")
        con.target = target
        rigs.update()
        ours, theirs = (hinge_angle(turn_of(rig, "B1"), Vector((1, 0, 0)))[0] for rig in armatures)
        assert low - KEPT <= ours <= high + KEPT
        assert low - 1e-3 <= theirs <= high + 1e-3
        assert ours == pytest.approx(theirs, abs=0.05)
        assert abs(ours) > 0.3


# What is said


def test_limited_is_said() -> None:
    rig = rigs.make_chain(3)
    for bone in rig.pose.bones:
        limit(rig, bone.name, "CONE", swing_x=0.1, swing_z=0.1)
    item, target = reaching(rig, "B2")
    rigs.update()
    assert item.state == "LIMITED"
    assert "Joint limits" in item.message
    assert item.error == pytest.approx(rigs.tip_error(rig, "B2", target), abs=1e-5)
    assert item.error > 0.5
    for bone in rig.pose.bones:
        bone.fabrik_joint.limit_type = "NONE"
    rigs.update()
    assert (item.state, item.message) == ("REACHED", "")


BAD = [
    ("HINGE", {"hinge_min": 1.0, "hinge_max": 0.5}, "Min above its Max"),
    ("CONE", {"twist_min": 1.0, "twist_max": 0.5}, "Twist Min above its Twist Max"),
    ("HINGE", {"hinge_axis": "FREE", "hinge_vector": (0, 0, 0)}, "no direction"),
    ("HINGE", {"hinge_axis": "FREE", "hinge_vector": (0, nan, 0)}, "is invalid"),
    ("HINGE", {"hinge_axis": "FREE", "hinge_vector": (0, inf, 0)}, None),
    ("HINGE", {"hinge_axis": "FREE", "hinge_vector": (3e38, 3e38, 3e38)}, None),
    ("HINGE", {"hinge_axis": "FREE", "hinge_vector": (1e-40, 0, 0)}, None),
    ("HINGE", {"hinge_max": nan}, "is invalid"),
    ("CONE", {"center": (0, 0, nan)}, "is invalid"),
    ("CONE", {"swing_x": nan}, "is invalid"),
    ("CONE", {"swing_x": 0.0, "swing_z": 0.0, "twist_min": 0.0, "twist_max": 0.0}, None),
    ("NONE", {"stiffness": nan}, "is invalid"),
]


@pytest.mark.parametrize(("kind", "settings", "wanted"), BAD)
def test_bad_settings_are_said_and_others_go_on(
    addon: ModuleType, kind: str, settings: dict[str, Any], wanted: str | None, capfd: Any
) -> None:
    good, rig = rigs.make_chain(3, "Good"), rigs.make_chain(3)
    fine = rigs.add_constraint(good, "B2", rigs.make_empty("Fine", (0, 1, 2)))
    item, _ = reaching(rig, "B2")
    rig.pose.bones["B0"].rotation_quaternion = (0.8, 0.6, 0, 0)
    rigs.update()
    limit(rig, "B1", kind, **settings)
    rigs.update()
    if wanted is None:
        assert item.state != "INVALID"
    else:
        assert item.state == "INVALID"
        assert "“B1”" in item.message
        assert wanted in item.message
        assert rigs.shown_bones(rig)["B0"].rotation_quaternion[:] == pytest.approx((0.8, 0.6, 0, 0))
        joint = rig.pose.bones["B1"].fabrik_joint
        joint.limit_type, joint.stiffness = "NONE", 0
        rigs.update()
        assert item.state == "REACHED"
    assert fine.state == "REACHED"
    assert not capfd.readouterr().out


def test_settings_that_do_not_matter_for_the_kind_are_not_complained_of() -> None:
    rig = rigs.make_chain(3)
    limit(rig, "B1", "CONE", hinge_min=2, hinge_max=1, hinge_axis="FREE", hinge_vector=(0, 0, 0))
    item, _ = reaching(rig, "B2")
    rigs.update()
    assert item.state != "INVALID"


# What stays true


@pytest.mark.parametrize("before", ["NONE", "HINGE", "CONE"])
def test_a_limit_that_a_script_sets_counts_at_the_next_update(before: str) -> None:

    rig = rigs.make_chain(3)
    reaching(rig, "B2")
    joint = limit(rig, "B1", before)
    rigs.update()
    changes = [
        ("limit_type", "CONE"),
        ("swing_x", 0.2),
        ("swing_z", 0.1),
        ("center", (0.3, 0.1, 0.2)),
        ("twist_min", -0.2),
        ("twist_max", 0.1),
        ("limit_type", "HINGE"),
        ("hinge_axis", "FREE"),
        ("hinge_vector", (0, 0.1, 1)),
        ("hinge_min", -0.1),
        ("hinge_max", 0.1),
        ("stiffness", 0.5),
        ("limit_type", "NONE"),
    ]
    seen = []
    for name, value in changes:
        setattr(joint, name, value)
        rigs.update()
        seen.append(rigs.pose_bits(rig))
        forget()
        rigs.update(rig)
        assert rigs.pose_bits(rig) == seen[-1], f"{name} was not looked at"
    assert len(set(seen)) > 6


SETTINGS = {
    "limit_type": "CONE",
    "hinge_axis": "FREE",
    "hinge_vector": (0.0, 0.5, 1.0),
    "hinge_min": -0.25,
    "hinge_max": 0.75,
    "swing_x": 0.5,
    "swing_z": 0.25,
    "center": (0.5, 0.0, -0.25),
    "twist_min": -0.125,
    "twist_max": 0.375,
    "stiffness": 0.5,
}


def test_settings_survive_in_a_library_override(tmp_path: Path) -> None:
    rig = rigs.make_chain(3)
    limit(rig, "B1", "HINGE", hinge_max=0.5)
    reaching(rig, "B2")
    library = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    linked = wanted.objects[0]
    own = linked.override_create(remap_local_usages=True)
    bpy.context.scene.collection.objects.link(own)
    own.name = "Rig"
    assert own.data.override_create(remap_local_usages=True) == own.data
    for name, value in SETTINGS.items():
        setattr(own.pose.bones["B1"].fabrik_joint, name, value)
    rigs.update()
    assert linked.pose.bones["B1"].fabrik_joint.limit_type == "HINGE"
    path = tmp_path / "user.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    expression = """[
        (name, value if isinstance(value, (str, float)) else tuple(value))
        for name in NAMES
        for value in [getattr(rig.pose.bones["B1"].fabrik_joint, name)]
    ]"""
    preparation = f"""
        rig = next(ob for ob in bpy.data.objects if ob.override_library)
        NAMES = {list(SETTINGS)!r}
    """
    found, _ = rigs.elsewhere(path, preparation, " ".join(expression.split()))
    assert dict(found) == SETTINGS


def test_joints_of_linked_armature_data_are_not_changed(tmp_path: Path) -> None:
    """An override of the object alone would lose them: a message asks for the other override."""
    rig = rigs.make_armature(
        {"a.L": ((0, 0, 0), (1, 0, 1), ""), "a.R": ((0, 0, 0), (-1, 0, 1), "")}
    )
    limit(rig, "a.L", "HINGE", hinge_max=0.5)
    library = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    own = wanted.objects[0].override_create(remap_local_usages=True)
    bpy.context.scene.collection.objects.link(own)
    rigs.activate(own, "POSE")
    own.data.bones.active = own.data.bones["a.L"]
    bpy.ops.pose.select_all(action="SELECT")
    for operator in (
        bpy.ops.fabrik.joint_copy,
        bpy.ops.fabrik.joint_mirror,
        bpy.ops.fabrik.joint_learn,
        bpy.ops.fabrik.joint_preset_apply,
    ):
        with pytest.raises(RuntimeError, match="stores the joints of"):
            operator()
    assert own.pose.bones["a.R"].fabrik_joint.limit_type == "NONE"
    assert own.data.override_create(remap_local_usages=True) == own.data
    bpy.ops.fabrik.joint_mirror()
    assert own.pose.bones["a.R"].fabrik_joint.limit_type == "HINGE"


@pytest.mark.parametrize("tool", ["symmetrize", "duplicate", "join"])
def test_joints_are_copied_with_their_bones(tool: str) -> None:
    rig = rigs.make_armature({"a.L": ((0, 0, 0), (1, 0, 1), "")})
    limit(rig, "a.L", "HINGE", hinge_max=0.5)
    copy = "a.R" if tool == "symmetrize" else "a.L.001"
    if tool == "join":
        other = rigs.make_armature({"a.L": ((0, 0, 0), (1, 0, 1), "")}, "Other")
        rigs.activate(other)
        rig.select_set(True)
        bpy.ops.object.join()
        rig = other
    else:
        rigs.activate(rig, "EDIT")
        bpy.ops.armature.select_all(action="SELECT")
        getattr(bpy.ops.armature, tool)()
        bpy.ops.object.mode_set(mode="OBJECT")
    joint = rig.pose.bones[copy].fabrik_joint
    assert (joint.limit_type, joint.hinge_max) == ("HINGE", 0.5)


# The panels


def shown(addon: ModuleType, rig: bpy.types.Object, bone: str, panel: str = "") -> list[str]:
    """Return what a panel shows for a bone."""
    rig.data.bones.active = rig.data.bones[bone]
    cls = classes(addon)[panel or "FABRIK_PT_joint"]
    layout = Layout()
    context = SimpleNamespace(
        object=rig,
        scene=bpy.context.scene,
        preferences=bpy.context.preferences,
        region=SimpleNamespace(width=4000),
    )
    assert cls.poll(context)
    cls.draw(SimpleNamespace(layout=layout), context)
    return layout.shown


JOINT_OPERATORS = {"fabrik.joint_learn", "fabrik.joint_copy", "fabrik.joint_mirror"}


@pytest.mark.parametrize("panel", ["FABRIK_PT_joint", "FABRIK_PT_joint_sidebar"])
def test_the_panel_shows_what_matters(addon: ModuleType, panel: str) -> None:
    rig = rigs.make_chain(2)
    wanted: dict[str, set[str]] = {
        "NONE": {"stiffness"},
        "HINGE": {"hinge_axis", "hinge_min", "hinge_max", "stiffness"},
        "CONE": {"swing_x", "swing_z", "center", "twist_min", "twist_max", "stiffness"},
        "BLENDER": {f"{name}_{axis}" for axis in "xyz" for name in ("lock_ik", "ik_stiffness")}
        | {f"use_ik_limit_{axis}" for axis in "xyz"},
    }
    for kind, names in wanted.items():
        limit(rig, "B1", kind)
        found = shown(addon, rig, "B1", panel)
        assert set(found) == names | {"limit_type", "fabrik_flexion", *JOINT_OPERATORS}
    rig.pose.bones["B1"].use_ik_limit_z = True
    assert {"ik_min_z", "ik_max_z"} <= set(shown(addon, rig, "B1", panel))
    rig.pose.bones["B1"].lock_ik_z = True
    assert not {"ik_min_z", "use_ik_limit_z"} & set(shown(addon, rig, "B1", panel))
    limit(rig, "B1", "HINGE", hinge_axis="FREE")
    assert "hinge_vector" in shown(addon, rig, "B1", panel)


def test_the_panel_says_what_is_wrong(addon: ModuleType) -> None:
    rig = rigs.make_chain(2)
    limit(rig, "B1", "HINGE", hinge_min=1, hinge_max=0)
    assert "The hinge of “B1” has a Min above its Max: decrease Min or increase Max" in shown(
        addon, rig, "B1"
    )
    assert not [text for text in shown(addon, rig, "B0") if "Max:" in text]


def test_the_panels_need_a_bone(addon: ModuleType) -> None:
    rig = rigs.make_chain(2)
    for panel in ("FABRIK_PT_joint", "FABRIK_PT_joint_sidebar"):
        poll = classes(addon)[panel].poll
        rig.data.bones.active = None
        for ob in (None, rigs.make_empty(), rig):
            assert not poll(SimpleNamespace(object=ob))
        rig.data.bones.active = rig.data.bones["B0"]
        assert poll(SimpleNamespace(object=rig))
    joint, sidebar = (classes(addon)[n] for n in ("FABRIK_PT_joint", "FABRIK_PT_joint_sidebar"))
    assert (joint.bl_space_type, joint.bl_context) == ("PROPERTIES", "bone")
    assert sidebar.bl_parent_id == "FABRIK_PT_sidebar"
