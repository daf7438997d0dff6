"""Presets of constraints and joints: those of the extension and those of users."""

from collections.abc import Iterator
from math import radians
from pathlib import Path

import bpy
import pytest
from operating import refuses, select_bones
from popovers import listed
from rigs import activate, add_constraint, make_chain, make_empty, tip_error, update

KINDS = ("constraint", "joint")
CONSTRAINTS = ("Arm", "Finger", "Leg", "Spider Leg", "Tail")
JOINTS = (
    "Elbow",
    "Finger",
    "Hip",
    "Knee",
    "Shoulder",
    "Spider Coxa",
    "Spider Femur",
    "Spider Tibia",
    "Tail Segment",
)


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let Blender keep the user's presets in a folder of the test."""
    monkeypatch.setenv("BLENDER_USER_SCRIPTS", str(tmp_path))
    yield tmp_path


def pose_chain(count: int) -> bpy.types.Object:
    rig = make_chain(count)
    activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones[f"B{count - 1}"]
    return rig


def apply(kind: str, name: str) -> None:
    operator = getattr(bpy.ops.fabrik, f"{kind}_preset_apply")
    assert operator(filepath=listed(kind)[name]) == {"FINISHED"}


@pytest.mark.parametrize(("kind", "names"), list(zip(KINDS, (CONSTRAINTS, JOINTS), strict=True)))
def test_the_presets_of_the_extension_are_in_the_popover(
    kind: str, names: tuple[str, ...], scripts: Path
) -> None:
    assert tuple(listed(kind)) == names
    assert not list(scripts.iterdir()), "they were copied into the user's folder"


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_constraint_preset_sets_its_constraint_up_and_leaves_its_ends(
    name: str, scripts: Path
) -> None:
    rig = pose_chain(5)
    target, pole = make_empty(location=(0.4, 0.6, 3.7)), make_empty("Pole", (0, 4, 3))
    item = add_constraint(rig, "B4", target, pole_target=pole, name="Mine", pole_angle=0.25)
    item.use_free_root, item.chain_bias, item.tolerance = True, -1.0, 0.5
    apply("constraint", name)
    count = {"Arm": 2, "Leg": 2, "Finger": 3, "Spider Leg": 3, "Tail": 0}[name]
    solver = "TWO_BONE" if count == 2 else "FABRIK"
    assert (item.chain_count, item.solver, item.use_free_root) == (count, solver, False)
    assert (item.name, item.bone, item.target, item.pole_target) == ("Mine", "B4", target, pole)
    assert item.pole_angle == 0.25
    assert item.tolerance == pytest.approx(1e-4)
    update()
    assert item.state in ("REACHED", "OUT_OF_REACH")
    if item.state == "REACHED":
        assert tip_error(rig, "B4", target) < 0.02
    assert all(bone.fabrik_joint.limit_type == "NONE" for bone in rig.pose.bones)


def test_a_preset_that_does_not_fit_the_chain_says_so_in_the_state(scripts: Path) -> None:
    rig = pose_chain(1)
    item = add_constraint(rig, "B0", make_empty())
    apply("constraint", "Leg")
    update()
    assert item.state == "INVALID"
    assert "Two Bone needs a chain of 2 bones, but this one has 1" in item.message


@pytest.mark.parametrize("name", JOINTS)
def test_a_joint_preset_limits_all_selected_bones(name: str, scripts: Path) -> None:
    from addon.settings.joint_limits import joint_problem

    rig = pose_chain(4)
    rig.pose.bones["B1"].fabrik_joint.stiffness = 0.5
    select_bones(rig, "B1", "B3")
    apply("joint", name)
    kinds = [bone.fabrik_joint.limit_type for bone in rig.pose.bones]
    cones = ("Hip", "Shoulder", "Tail Segment")
    wanted = "CONE" if name in cones else "HINGE"
    assert kinds == ["NONE", wanted, "NONE", wanted]
    assert rig.pose.bones["B1"].fabrik_joint.stiffness == 0.0
    assert not any(joint_problem(bone) for bone in rig.pose.bones)


@pytest.mark.parametrize("kind", KINDS)
def test_users_add_and_remove_their_own(kind: str, scripts: Path) -> None:
    rig = pose_chain(3)
    item = add_constraint(rig, "B2", make_empty(), solver="CCD", softness=0.25, iterations=50)
    joint = rig.pose.bones["B2"].fabrik_joint
    joint.limit_type, joint.hinge_max, joint.center = "HINGE", radians(30), (0.1, 0.2, 0.3)
    add = getattr(bpy.ops.fabrik, f"{kind}_preset_add")
    assert add(name="My own") == {"FINISHED"}
    assert (scripts / "presets" / "fabrik_ik" / kind / "My_own.py").exists()
    item.solver, item.softness, item.iterations = "FABRIK", 0.0, 20
    joint.limit_type, joint.hinge_max, joint.center = "NONE", 0.0, (0, 0, 0)
    apply(kind, "My own")
    if kind == "constraint":
        assert (item.solver, item.softness, item.iterations) == ("CCD", 0.25, 50)
        assert joint.limit_type == "NONE"
    else:
        assert (joint.limit_type, joint.hinge_max) == ("HINGE", pytest.approx(radians(30)))
        assert tuple(joint.center) == pytest.approx((0.1, 0.2, 0.3))
        assert item.solver == "FABRIK"
    assert add(name="My own", remove_name=True) == {"FINISHED"}
    assert "My own" not in listed(kind)


def test_a_preset_keeps_every_setting_but_what_the_constraint_is_for() -> None:
    from addon.editing.copying import values_of
    from addon.settings.values import preset_names

    rig = pose_chain(1)
    add_constraint(rig, "B0")
    own = {"bone", "target", "subtarget", "pole_target", "pole_subtarget", "use_tail", "pole_angle"}
    own |= {
        "show_overlay",
        "use_offset",
        "offset_location",
        "offset_rotation",
        "enabled",
        "influence",
    }
    own |= {f"roll.{name}" for name in ("use", "control", "toe", "toe_control")}
    own |= {"rope.collision_object", "ground.object", "ground.collection"}
    own |= {"spring.center", "spring.center_bone", "spring.reset"}
    item, joint = rig.fabrik.constraints[0], rig.pose.bones["B0"].fabrik_joint
    assert set(preset_names(item)) == values_of(item).keys() - own
    assert set(preset_names(joint)) == values_of(joint).keys()
    gait = "pattern threshold step_height duration overshoot ray_height"
    body = "body_height body_tilt body_bob climbs"
    assert set(preset_names(rig.fabrik.gaits.add())) == {*gait.split(), *body.split()}


def test_what_a_preset_does_not_mention_gets_its_default(scripts: Path) -> None:
    """But how a motion moves, which a preset of a limb says nothing of."""
    item = add_constraint(pose_chain(5), "B4", make_empty(), swing=0.5, iterations=7)
    item.wave.amplitude, item.use_continuous = 0.75, True
    apply("constraint", "Finger")
    assert (item.swing, item.iterations, item.use_continuous) == (0.0, 20, False)
    assert (item.chain_count, item.wave.amplitude) == (3, 0.75)


def test_a_preset_that_breaks_off_leaves_the_settings_as_they_were(scripts: Path) -> None:
    item = add_constraint(pose_chain(5), "B4", make_empty(), swing=0.5, iterations=7)
    broken = scripts / "Broken.py"
    lines = ("item = bpy.context.object.fabrik.constraints[0]", "item.softness = 0.2", "1 / 0")
    broken.write_text("import bpy\n" + "\n".join(lines), encoding="utf-8")
    refuses(bpy.ops.fabrik.constraint_preset_apply, "division by zero", filepath=str(broken))
    assert (item.swing, item.iterations, item.softness) == (0.5, 7, 0.0)


def test_a_broken_preset_is_said_and_what_is_gray_says_why(scripts: Path) -> None:
    broken = scripts / "Broken.py"
    broken.write_text("1 / 0\n", encoding="utf-8")
    refuses(bpy.ops.fabrik.constraint_preset_apply, "Select an armature", filepath=str(broken))
    refuses(bpy.ops.fabrik.joint_preset_apply, "click a bone", filepath=str(broken))
    rig = pose_chain(1)
    refuses(bpy.ops.fabrik.constraint_preset_add, "No constraint", name="Mine")
    add_constraint(rig, "B0")
    for kind in KINDS:
        with pytest.raises(RuntimeError, match="“Broken” can't be applied here: division by zero"):
            getattr(bpy.ops.fabrik, f"{kind}_preset_apply")(filepath=str(broken))
        with pytest.raises(RuntimeError, match="No preset chosen"):
            getattr(bpy.ops.fabrik, f"{kind}_preset_apply")()
