"""FK and IK take each other's pose, and nothing jumps where one takes over from the other."""

import random
from itertools import pairwise
from math import dist, pi

import bpy
import pytest
from mathutils import Euler, Matrix, Quaternion
from operating import select_bone
from rigs import (
    activate,
    add_constraint,
    as_strip,
    channels_bits,
    curves,
    evaluated,
    go,
    link,
    make_armature,
    make_chain,
    make_empty,
    pose_bits,
    shown_bits,
    update,
    world_bits,
)

from addon.features.fk_ik.snap import farthest

NEAR = 1e-4
MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY", "YZX")
TURNS = ((1, 0.3, 0.1, -0.2), (1, -0.5, 0.2, 0.1), (1, 0.1, -0.3, 0.25), (1, 0.2, 0.2, 0.2))
ARM = ((0, 0, 0), (0, 0.3, 2), (0, 0, 4))


def turn(owner, rotation) -> None:
    """Set a rotation in the owner's own rotation mode."""
    rotation = Quaternion(rotation).normalized()
    if owner.rotation_mode == "QUATERNION":
        owner.rotation_quaternion = rotation
    elif owner.rotation_mode == "AXIS_ANGLE":
        axis, angle = rotation.to_axis_angle()
        owner.rotation_axis_angle = (angle, *axis)
    else:
        owner.rotation_euler = rotation.to_euler(owner.rotation_mode)


def bend(rig: bpy.types.Object, turns=TURNS) -> None:
    """Give the bones an FK pose."""
    for i, bone in enumerate(rig.pose.bones):
        turn(bone, turns[i % len(turns)])
    update()


def points(rig: bpy.types.Object) -> list[tuple[float, ...]]:
    """Heads, tails and points beside the heads of all bones in world space, as evaluated."""
    shown = evaluated(rig)
    found = []
    for bone in shown.pose.bones:
        matrix = shown.matrix_world @ bone.matrix
        for at in ((0, 0, 0), (0, bone.bone.length, 0), (bone.bone.length, 0, 0)):
            found.append(tuple(matrix @ Matrix.Translation(at).translation))
    return found


def length(rig: bpy.types.Object) -> float:
    places = points(rig)
    return sum(dist(places[i], places[i + 1]) for i in range(0, len(places), 3))


def fk_points(rig: bpy.types.Object) -> list[tuple[float, ...]]:
    """The same with all constraints turned off by hand, which are then as they were."""
    before = [item.enabled for item in rig.fabrik.constraints]
    for item in rig.fabrik.constraints:
        item.enabled = False
    update()
    found = points(rig)
    for item, is_on in zip(rig.fabrik.constraints, before, strict=True):
        item.enabled = is_on
    update()
    return found


def apart(rig: bpy.types.Object, wanted) -> float:
    """How far the shown pose is from another one, as a share of the armature's length."""
    update()
    return farthest(points(rig), wanted) / length(rig)


def snap_to_fk(**settings) -> None:
    assert bpy.ops.fabrik.snap_to_fk(**settings) == {"FINISHED"}


def snap_to_ik(**settings) -> None:
    assert bpy.ops.fabrik.snap_to_ik(**settings) == {"FINISHED"}


def assert_takes_fk_pose(rig: bpy.types.Object) -> None:
    wanted = fk_points(rig)
    assert apart(rig, wanted) > 0.01, "it stood there before"
    snap_to_fk()
    assert apart(rig, wanted) <= NEAR
    assert farthest(fk_points(rig), wanted) == 0.0, "the FK pose has changed"


@pytest.fixture
def arm(empty_file: None) -> bpy.types.Object:
    """A limb with target and pole, in an FK pose that is not the solved one."""
    rig = make_chain(2, "Arm", ARM)
    bend(rig)
    pole = make_empty("Pole", (3, -2, 1))
    add_constraint(rig, "B1", make_empty(location=(1, 1, 2)), solver="TWO_BONE", pole_target=pole)
    activate(rig)
    update()
    return rig


def state(*objects: bpy.types.Object) -> object:
    """All that a snap could have changed."""
    keys = [
        (
            c.data_path,
            c.array_index,
            [(*k.co, *k.handle_left, k.interpolation) for k in c.keyframe_points],
        )
        for ob in objects
        for c in curves(ob)
    ]
    channels = [
        (*ob.location, *ob.rotation_euler, *ob.rotation_quaternion, *ob.rotation_axis_angle)
        for ob in objects
    ]
    influences = [
        (item.influence, item.enabled) for ob in objects for item in ob.fabrik.constraints
    ]
    rigs = [ob for ob in objects if ob.type == "ARMATURE"]
    bones = [(channels_bits(rig), shown_bits(rig)) for rig in rigs]
    bits = bones, pose_bits(*rigs), world_bits(*objects)
    frame = bpy.context.scene.frame_current_final
    return keys, channels, influences, bits, frame, len(bpy.data.actions)


def assert_refuses(operator, saying: str, *objects: bpy.types.Object, **settings) -> None:
    update()
    before = state(*objects)
    with pytest.raises(RuntimeError, match=saying):
        operator(**settings)
    update()
    assert state(*objects) == before


# FK to IK


def random_rig(seed: int) -> bpy.types.Object:
    """Make any rig whose FK pose a snap can match."""
    r = random.Random(seed)
    count = r.choice((2, 2, 3, 4, 6, 10))
    joints = [(0.0, 0.0, 0.0)]
    for _ in range(count):
        x, y, z = joints[-1]
        joints.append((x + r.uniform(-0.3, 0.3), y + r.uniform(-0.3, 0.3), z + r.uniform(0.5, 1.5)))
    rig = make_chain(count, "Rig", joints)
    for bone in rig.pose.bones:
        bone.rotation_mode = r.choice(MODES)
        turn(bone, (1, r.gauss(0, 0.35), r.gauss(0, 0.35), r.gauss(0, 0.35)))
    rig.location, rig.rotation_euler = (r.uniform(-3, 3), 1, 2), (r.uniform(-3, 3), 0.4, 1)
    rig.scale = r.choice(((1, 1, 1), (0.3, 0.3, 0.3), (-1.2, 1.2, 1.2), (1, 1.6, 0.7)))
    target = make_empty(location=(r.uniform(-1, 1), r.uniform(-1, 1), 2))
    target.rotation_mode = r.choice(MODES)
    if r.random() < 0.4:
        target.parent = make_empty("Parent", (1, 2, 3))
        target.parent.rotation_euler = (1, 0.5, 2)
        target.parent.scale = r.choice(((1, 1, 1), (2, 1, 0.5)))
    pole = make_empty("Pole", (r.uniform(-4, 4), r.uniform(-4, 4), 2)) if r.random() < 0.6 else None
    is_limb = count == 2 and r.random() < 0.7
    item = add_constraint(
        rig,
        f"B{count - 1}",
        target,
        solver="TWO_BONE" if is_limb else r.choice(("FABRIK", "CCD", "TEXTBOOK")),
        use_tail=count == 2 or r.random() < 0.6,
        use_rotation=count > 2 and r.random() < 0.4,
        rotation_weight=r.choice((1, 0)) if pole else r.choice((1, 0.5)),
        twist_spread=r.choice((0, 0.7)),
        chain_bias=r.choice((0, 0, 0, 0.7, -0.5)),
        pole_target=pole,
        pole_angle=r.choice((0, 0.7)),
        pole_weight=r.choice((1, 0.6)),
    )
    if r.random() < 0.3:
        item.softness = 0.1
    elif r.random() < 0.3:
        item.use_stretch = True
    update()
    if r.random() < 0.3:
        item.use_offset = True
        item.offset_location = (0.2, 0.1, -0.1)
        item.offset_rotation = Quaternion((1, 0.2, 0.3, 0.1)).normalized()
    activate(rig)
    update()
    return rig


@pytest.mark.parametrize("seed", range(24))
def test_the_solved_pose_becomes_the_fk_pose_on_any_rig(seed: int) -> None:
    """On 400 of them the largest difference was 2e-6 of the length, the median 1e-7."""
    rig = random_rig(seed)
    wanted = fk_points(rig)
    snap_to_fk()
    assert apart(rig, wanted) <= 1e-5


def test_a_chain_that_curls_both_ways_takes_its_fk_pose_in_spite_of_its_pole() -> None:
    joints = ((0, 0, 0), (0.1, 1, 1), (0.05, 0, 2), (-0.1, -0.93, 3), (0, 0, 4))
    rig = make_chain(4, "S", joints)
    rig.rotation_euler = (0.4, 0.3, 0.2)
    add_constraint(rig, "B3", make_empty(), pole_target=make_empty("Pole", (3, 1, 1)))
    activate(rig)
    update()
    assert_takes_fk_pose(rig)


@pytest.mark.parametrize("use_tail", (True, False))
@pytest.mark.parametrize("parent", ("none", "bone"))
@pytest.mark.parametrize("mode", MODES)
def test_a_bone_of_the_armature_is_moved_and_turned(use_tail, parent, mode) -> None:
    bones = {
        f"B{i}": ((0, 0.2 * (i % 2), i), (0, 0.2 * (1 - i % 2), i + 1), f"B{i - 1}" if i else "")
        for i in range(4)
    }
    rig = make_armature(
        {
            **bones,
            "Root": ((3, 0, 0), (3, 1, 0.5), ""),
            "Hand IK": ((2, 0, 3), (2.5, 0.5, 3), "Root" if parent == "bone" else ""),
        }
    )
    rig.scale = (-1, 1, 1)
    bend(rig)
    rig.pose.bones["Root"].scale = (1.5, 0.8, 1)
    rig.pose.bones["Hand IK"].rotation_mode = mode
    rig.data.bones["Hand IK"].use_local_location = parent == "none"
    add_constraint(rig, "B3", rig, subtarget="Hand IK", use_tail=use_tail, use_rotation=True)
    update()
    wanted = [fk_points(rig)[i] for i in range(12)]
    snap_to_fk()
    assert farthest(points(rig)[:12], wanted) <= NEAR


@pytest.mark.parametrize("is_bone", (True, False))
@pytest.mark.parametrize("mode", ("XYZ", "ZXY", "YZX"))
def test_a_target_next_to_gimbal_lock_is_turned_exactly(mode, is_bone) -> None:
    """Where Blender's own conversion to Euler angles is wrong by half a degree."""
    rig = make_armature(
        {
            "B0": ((0, 0, 0), (0, 0.3, 2), ""),
            "B1": ((0, 0.3, 2), (0, 0, 4), "B0"),
            "Hand": ((0, 0, 4), (0, 0, 5), "B1"),
            "Hand IK": ((0, 0, 4), (0, 0, 5), ""),
        }
    )
    target = rig.pose.bones["Hand IK"] if is_bone else make_empty("Hand IK", (1, 1, 2))
    item = add_constraint(rig, "Hand", rig if is_bone else target, use_rotation=True)
    item.subtarget = "Hand IK" if is_bone else ""
    item.chain_count, item.use_tail = 3, False
    activate(rig)
    target.rotation_mode = mode
    bend(rig)
    parent = rig.pose.bones["B1"].matrix
    for near in (1e-2, 1e-3, 1e-4, 3e-5, 1e-5, 1e-6, 0.0):
        angles = [0.7, 0.7, 0.7]
        angles["XYZ".index(mode[1])] = pi / 2 - near
        wanted = Euler(angles, mode).to_matrix()
        if is_bone:
            wanted = rig.data.bones["Hand IK"].matrix_local.to_3x3() @ wanted
        rest = rig.data.bones["B1"].matrix_local.inverted() @ rig.data.bones["Hand"].matrix_local
        local = (parent @ rest).to_3x3().inverted() @ wanted
        rig.pose.bones["Hand"].rotation_quaternion = local.to_quaternion()
        update()
        fk = fk_points(rig)[:9]
        snap_to_fk()
        assert farthest(points(rig)[:9], fk) <= 1e-5


@pytest.mark.parametrize("scale", [(-1, 1, 1), (-1, -1, -1)], ids=str)
@pytest.mark.parametrize("mirrored", ["rig", "target", "both"])
def test_a_mirrored_target_with_an_offset_is_moved_and_turned(mirrored, scale) -> None:
    rig, target = make_chain(4), make_empty()
    bend(rig)
    for name, ob in (("rig", rig), ("target", target)):
        if mirrored in (name, "both"):
            ob.scale = scale
    item = add_constraint(rig, "B3", target, use_rotation=True)
    update()
    item.use_offset, item.offset_location = True, (0.2, 0.1, -0.1)
    item.offset_rotation = Quaternion((1, 0.2, 0.3, 0.1)).normalized()
    activate(rig)
    update()
    assert_takes_fk_pose(rig)


def test_a_target_with_deltas_on_the_bone_of_another_chains_tip_is_moved() -> None:
    carrier = make_chain(2, "Carrier", ((2, 0, 0), (2, 0.3, 1), (2, 0, 2)))
    add_constraint(carrier, "B1", make_empty("Other", (2.5, 1, 1)))
    target = make_empty(location=(0, 0, 0))
    target.parent, target.parent_type, target.parent_bone = carrier, "BONE", "B1"
    target.delta_location, target.delta_rotation_euler = (0.2, 0.1, 0.3), (0.3, 0.1, 0.4)
    target.delta_scale = (1, 2, -1)
    rig = make_chain(3)
    bend(rig)
    add_constraint(rig, "B2", target, use_rotation=True)
    activate(rig)
    update()
    assert_takes_fk_pose(rig)


def test_a_pole_that_hangs_on_the_target_is_in_place_as_well(arm: bpy.types.Object) -> None:
    item = arm.fabrik.constraints[0]
    item.pole_target.parent = item.target
    update()
    assert_takes_fk_pose(arm)


@pytest.mark.parametrize("angle", (0.0, 0.4, 0.8, 1.2, 1.6, 2.0))
def test_a_straight_chain_stays_straight_with_its_pole_where_it_would_bend(angle) -> None:
    straight = make_chain(2, "Straight", ((0, 0, 0), (0, 0, 2), (0, 0, 4)))
    straight.location, straight.rotation_euler = (0.1, 0.7, 0.3), (angle, 0.2, 0.7)
    pole = make_empty("Side", (3, 0, 1))
    add_constraint(
        straight, "B1", make_empty(location=(1, 1, 2)), solver="TWO_BONE", pole_target=pole
    )
    activate(straight)
    update()
    assert_takes_fk_pose(straight)
    root = straight.matrix_world @ straight.pose.bones["B0"].matrix
    aside, _, ahead = root.inverted() @ pole.matrix_world.translation
    assert aside == pytest.approx(0.0, abs=1e-4), "it bends about its X axis"
    assert ahead > 1.0


def test_softness_is_made_up_for_by_a_target_that_is_farther_away() -> None:
    rig = make_chain(2, "Leg", ((0, 0, 0), (0, 0.35, 2), (0, 0, 4)))
    target = make_empty(location=(1, 1, 2))
    add_constraint(rig, "B1", target, solver="TWO_BONE", softness=0.3)
    activate(rig)
    update()
    assert_takes_fk_pose(rig)
    assert target.location.length > 4.1


def warning(operator, **settings) -> str:
    """Run an operator and return what it warns of."""
    from addon.features.fk_ik import operators as snap
    from addon.features.fk_ik import switching

    said = []
    cls = getattr(snap, operator, None) or getattr(switching, operator)
    before = cls._report_text
    cls._report_text = lambda self, scene, span, done, names: (
        said.append((self.severity, done.problem)) or "Done"
    )
    try:
        getattr(bpy.ops.fabrik, cls.bl_idname.partition(".")[2])(**settings)
    finally:
        cls._report_text = before
    ((kind, problem),) = said
    assert kind == ("WARNING" if problem else "INFO")
    return problem


def test_what_softness_keeps_from_being_straight_is_said() -> None:
    rig = make_chain(2, "Leg", ((0, 0, 0), (0, 0, 2), (0, 0, 4)))
    add_constraint(rig, "B1", make_empty(location=(1, 1, 2)), solver="TWO_BONE", softness=0.1)
    activate(rig)
    update()
    assert "Softness" in warning("FABRIK_OT_snap_to_fk")


def test_limits_that_the_fk_pose_exceeds_are_said(arm: bpy.types.Object) -> None:
    joint = arm.pose.bones["B1"].fabrik_joint
    joint.limit_type, joint.hinge_axis, joint.hinge_min, joint.hinge_max = "HINGE", "X", 0.0, 0.2
    update()
    assert "exceeds its joint limits" in warning("FABRIK_OT_snap_to_fk")


def test_nothing_is_said_where_the_poses_are_the_same(arm: bpy.types.Object) -> None:
    assert warning("FABRIK_OT_snap_to_fk") == ""
    assert warning("FABRIK_OT_snap_to_ik") == ""


def make_body() -> bpy.types.Object:
    """Make a spine of three bones with two arms of two, a constraint for each arm."""
    rig = make_armature(
        {
            "S0": ((0, 0, 0), (0, 0.1, 1), ""),
            "S1": ((0, 0.1, 1), (0, 0, 2), "S0"),
            "S2": ((0, 0, 2), (0, 0.1, 3), "S1"),
            "L0": ((1, 0, 3), (2, 0.2, 3), "S2"),
            "L1": ((2, 0.2, 3), (3, 0, 3), "L0"),
            "R0": ((-1, 0, 3), (-2, 0.2, 3), "S2"),
            "R1": ((-2, 0.2, 3), (-3, 0, 3), "R0"),
        }
    )
    bend(rig, ((1, 0.1, 0.05, -0.1), (1, -0.15, 0.1, 0.1), (1, 0.1, 0.2, 0.1)))
    for side, x in (("L", 2), ("R", -2)):
        add_constraint(
            rig,
            f"{side}1",
            make_empty(f"Target {side}", (x, 1, 2)),
            pole_target=make_empty(f"Pole {side}", (x, -3, 1)),
        )
    update()
    return rig


def test_chains_that_share_bones_keep_their_fk_pose_together() -> None:
    rig = make_body()
    wanted = fk_points(rig)
    snap_to_fk(which="ALL")
    assert apart(rig, wanted) <= NEAR


@pytest.mark.parametrize("frame", [3, 8])
def test_one_of_chains_that_share_bones_is_switched_and_the_others_stay(frame: int) -> None:
    """They are solved from the FK pose, which has to be what is shown then."""
    rig = make_body()
    activate(rig)
    for item in rig.fabrik.constraints:
        item.pole_target = None
    for side in "LR":
        target = bpy.data.objects[f"Target {side}"]
        for at, x in ((1, target.location.x), (20, 0.5 * target.location.x)):
            target.location.x = x
            target.keyframe_insert("location", index=0, frame=at)
    go(frame - 1)
    before = points(rig)
    go(frame)
    shown, fk = points(rig), fk_points(rig)
    assert max(dist(a, b) for a, b in zip(shown, fk, strict=True)) > 0.1
    rig.fabrik.active_index = 0
    for to in ("FK", "IK"):
        assert bpy.ops.fabrik.switch(which="ACTIVE", to=to) == {"FINISHED"}
        for at, wanted in ((frame - 1, before), (frame, shown)):
            go(at)
            assert max(dist(a, b) for a, b in zip(points(rig), wanted, strict=True)) <= NEAR


def test_a_pole_that_turns_shared_bones_once_its_limb_is_alone_is_said() -> None:
    rig = make_body()
    activate(rig)
    for to in ("FK", "IK"):
        assert "snap them together" in warning("FABRIK_OT_switch", which="ACTIVE", to=to)


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "AXIS_ANGLE"])
@pytest.mark.parametrize("ranged", [False, True])
def test_what_waves_beneath_goes_on_and_the_pose_stays(mode, ranged) -> None:
    rig = make_chain(6, "Tentacle")
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    add_constraint(rig, "B5", solver="WAVE")
    add_constraint(rig, "B5", make_empty(location=(2, 1, 3)))
    activate(rig)
    shown = {}
    for frame in range(9, 14):
        go(frame)
        shown[frame] = points(rig)
    go(10)
    rig.fabrik.active_index = 1
    frames = {"use_range": True, "frame_start": 10, "frame_end": 12} if ranged else {}
    assert bpy.ops.fabrik.switch(which="ACTIVE", to="FK", **frames) == {"FINISHED"}
    for frame in (9, 10, *((11, 12, 13) if ranged else ())):
        go(frame)
        moved = max(dist(a, b) for a, b in zip(points(rig), shown[frame], strict=True))
        assert moved <= NEAR * length(rig)
        assert rig.fabrik.constraints[0].influence == 1.0


def test_the_constraints_of_the_selected_bones_are_snapped(arm: bpy.types.Object) -> None:
    tail = make_chain(2, "Other", ARM)
    bend(tail)
    for count in (1, 2):
        add_constraint(tail, "B1", make_empty(f"T{count}", (1, 0, 2)), chain_count=count)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    tail.fabrik.constraints[0].influence = 0.0
    select_bone(tail, "B0")
    update()
    snap_to_fk(which="SELECTED")
    assert tuple(bpy.data.objects["T1"].location) == (1, 0, 2)
    assert tuple(bpy.data.objects["T2"].location) != (1, 0, 2)


def test_a_constraint_that_is_off_has_its_target_moved_too(arm: bpy.types.Object) -> None:
    item = arm.fabrik.constraints[0]
    item.influence = 0.0
    update()
    wanted = points(arm)
    snap_to_fk()
    assert (item.influence, apart(arm, wanted)) == (0.0, 0.0)
    item.influence = 1.0
    assert apart(arm, wanted) <= NEAR


def test_without_auto_keying_nothing_is_keyed(arm: bpy.types.Object) -> None:
    snap_to_fk()
    snap_to_ik()
    item = arm.fabrik.constraints[0]
    assert not [c for ob in (arm, item.target, item.pole_target) for c in curves(ob)]


def test_auto_keying_keys_what_is_written(arm: bpy.types.Object) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    item = arm.fabrik.constraints[0]
    snap_to_fk()
    assert {c.data_path for c in curves(item.target)} == {"location"}
    assert {c.data_path for c in curves(item.pole_target)} == {"location"}
    snap_to_ik()
    assert {c.data_path.rpartition(".")[2] for c in curves(arm)} == {"rotation_quaternion"}


# IK to FK


@pytest.mark.parametrize("seed", range(100, 116))
def test_the_fk_pose_becomes_the_solved_pose_on_any_rig(seed: int) -> None:
    """It is the same to the last bit: the bones keep the numbers that they were solved with."""
    rig = random_rig(seed)
    wanted = points(rig)
    assert farthest(fk_points(rig), wanted) > 0.01 * length(rig)
    snap_to_ik()
    assert farthest(fk_points(rig), wanted) <= 1e-6 * length(rig)


def test_stretched_scale_and_a_free_root_become_fk_too() -> None:
    rig = make_chain(3, joints=((0, 0, 1), (0, 0.2, 2), (0, 0, 3), (0, 0.1, 4)))
    item = add_constraint(rig, "B2", make_empty(location=(0, 0, 5)), use_stretch=True)
    activate(rig)
    update()
    stretched = points(rig)
    snap_to_ik()
    assert farthest(fk_points(rig), stretched) <= 1e-6
    assert rig.pose.bones["B0"].scale.y > 1.1

    item.use_stretch, item.use_free_root, item.target.location = False, True, (1, 1, 6)
    update()
    moved = points(rig)
    assert dist(moved[0], stretched[0]) > 0.1
    snap_to_ik()
    assert farthest(fk_points(rig), moved) <= 1e-6


def test_a_body_takes_its_solved_pose() -> None:
    rig = make_body()
    wanted = points(rig)
    snap_to_ik(which="ALL")
    assert farthest(fk_points(rig), wanted) <= 1e-6 * length(rig)
    assert apart(rig, wanted) <= NEAR


def test_a_constraint_that_is_off_gives_its_pose_all_the_same(arm: bpy.types.Object) -> None:
    wanted = points(arm)
    arm.fabrik.constraints[0].influence = 0.0
    update()
    snap_to_ik()
    assert apart(arm, wanted) <= 1e-6


# Switching


FRAMES = (1, 4.5, 8, 8.5, 9, 9.75, 10, 10.25, 11, 15, 20)


def played(rig: bpy.types.Object, frames=FRAMES) -> dict[float, list[tuple[float, ...]]]:
    shown = {}
    for frame in frames:
        go(frame)
        shown[frame] = points(rig)
    return shown


def key_fk(rig: bpy.types.Object) -> None:
    """Key the FK pose at three frames."""
    for frame, swing in ((1, 0.1), (12, -0.4), (20, 0.5)):
        for bone in rig.pose.bones:
            turn(bone, (1, 0.3 + swing, 0.1, -swing))
            names = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
            bone.keyframe_insert(names.get(bone.rotation_mode, "rotation_euler"), frame=frame)


def key_target(ob: bpy.types.Object) -> None:
    for frame, place in ((1, (1, 1, 2)), (12, (-1, 1.5, 1)), (20, (0, -1, 2.5))):
        ob.location = place
        ob.keyframe_insert("location", frame=frame)


def keyed_arm(rig: bpy.types.Object, fk: bool = True, ik: bool = True) -> bpy.types.Object:
    if fk:
        key_fk(rig)
    if ik:
        key_target(rig.fabrik.constraints[0].target)
    go(10)
    return rig


def difference(a, b) -> float:
    return farthest(a, b) / 4.0  # The arm's length


@pytest.mark.parametrize("fk", (True, False))
@pytest.mark.parametrize("ik", (True, False))
@pytest.mark.parametrize("mode", ("QUATERNION", "XYZ"))
def test_switching_to_fk_changes_no_frame_before_and_not_that_one(arm, fk, ik, mode) -> None:
    for bone in arm.pose.bones:
        bone.rotation_mode = mode
    keyed_arm(arm, fk, ik)
    before = played(arm)
    go(10)
    snap_to_ik(switches=True)
    assert bpy.context.scene.frame_current == 10
    assert difference(points(arm), before[10]) <= NEAR
    after = played(arm)
    for frame in FRAMES:
        if frame <= 10:
            # From 9 to 10 the FK pose holds, from which the solved pose is only turned.
            limit = 0.1 if fk and frame == 9.75 else NEAR
            assert difference(after[frame], before[frame]) <= limit, frame
    go(10)
    item = arm.fabrik.constraints[0]
    assert item.influence == 0.0
    item.target.location = (3, 3, 3)
    assert difference(points(arm), before[10]) <= NEAR
    # From here on it follows its FK keys.
    if fk:
        go(20)
        assert turned_like(arm.pose.bones["B0"], (1, 0.8, 0.1, -0.5))
    assert difference(played(arm, [10.05])[10.05], before[10]) < 0.02, "it jumps after the switch"


def turned_like(bone, rotation) -> bool:
    return bone.matrix_basis.to_quaternion().rotation_difference(Quaternion(rotation)).angle < 1e-3


@pytest.mark.parametrize("fk", (True, False))
@pytest.mark.parametrize("ik", (True, False))
def test_switching_to_ik_goes_on_from_the_fk_pose(arm, fk, ik) -> None:
    keyed_arm(arm, fk, ik)
    item = arm.fabrik.constraints[0]
    item.enabled = False
    before = played(arm)
    go(10)
    snap_to_fk(switches=True)
    assert item.enabled
    assert difference(points(arm), before[10]) <= NEAR
    after = played(arm)
    for frame in FRAMES:
        if frame <= 10:
            assert difference(after[frame], before[frame]) <= NEAR, frame
    go(10)
    assert item.influence == 1.0
    go(9)
    assert item.influence == 0.0
    go(10)
    item.target.location.x += 0.3
    assert difference_now(arm, before[10]) > 0.01


def difference_now(rig, wanted) -> float:
    update()
    return difference(points(rig), wanted)


@pytest.mark.parametrize("operator", ("snap_to_ik", "snap_to_fk"))
def test_a_range_switches_for_its_frames_only(arm, operator) -> None:
    keyed_arm(arm)
    item = arm.fabrik.constraints[0]
    item.influence = 1.0 if operator == "snap_to_ik" else 0.0
    frames = (1, 5, 6.5, 7, 8, 9, 10, 11, 12, 13, 13.5, 14, 17, 20)
    before = played(arm, frames)
    go(3)
    settings = {"use_range": True, "frame_start": 8, "frame_end": 12, "switches": True}
    getattr(bpy.ops.fabrik, operator)(**settings)
    assert bpy.context.scene.frame_current == 3
    influences = {}
    after = {}
    for frame in frames:
        go(frame)
        after[frame] = points(arm)
        influences[frame] = item.influence
        assert difference(after[frame], before[frame]) <= NEAR, frame
    inside = 0.0 if operator == "snap_to_ik" else 1.0
    assert {influences[f] for f in (8, 9, 10, 11, 12)} == {inside}
    assert {influences[f] for f in frames if not 8 <= f < 13} == {1.0 - inside}


def test_a_range_is_snapped_at_every_frame_and_at_keys_only(arm) -> None:
    keyed_arm(arm, ik=False)
    item = arm.fabrik.constraints[0]
    item.influence = 0.0
    wanted = played(arm, range(1, 21))
    go(1)
    snap_to_fk(use_range=True, frame_start=1, frame_end=20, only_keys=True)
    (xs,) = [c for c in curves(item.target) if c.array_index == 0]
    assert [key.co[0] for key in xs.keyframe_points] == [1, 12, 20]
    snap_to_fk(use_range=True, frame_start=1, frame_end=20)
    assert len(xs.keyframe_points) == 20
    item.influence = 1.0
    shown = played(arm, range(1, 21))
    assert max(difference(shown[f], wanted[f]) for f in wanted) <= NEAR


@pytest.mark.parametrize("mode", MODES)
def test_a_range_of_keys_makes_no_detour_between_them(mode) -> None:
    """The hand turns round one and a half times."""
    rig = make_chain(3, mode=mode)
    target = make_empty(location=(0.5, 1, 2))
    target.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (31, 9.4)):
        target.rotation_euler = (0.4, angle, 0.2)
        target.keyframe_insert("rotation_euler", frame=frame)
    for curve in curves(target):
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"
    item = add_constraint(rig, "B2", target, use_rotation=True)
    activate(rig)
    wanted = played(rig, range(1, 32))
    snap_to_ik(use_range=True, frame_start=1, frame_end=31)
    item.influence = 0.0
    for frame, shown in played(rig, [0.5 * half for half in range(2, 62)]).items():
        step = 0.0 if frame % 1 == 0 else 0.7
        assert farthest(shown, wanted[int(frame)]) <= NEAR * 3 + step, frame


def test_a_target_that_turns_round_makes_no_detour_between_its_keys() -> None:
    rig = make_chain(3, mode="XYZ")
    bend(rig)
    for frame, angle in ((1, 0.0), (31, 9.4)):
        rig.pose.bones["B2"].rotation_euler = (0.2, angle, 0.1)
        rig.pose.bones["B2"].keyframe_insert("rotation_euler", frame=frame)
    target = make_empty(location=(0.5, 1, 2))
    target.keyframe_insert("rotation_euler", frame=1)
    add_constraint(rig, "B2", target, use_rotation=True)
    activate(rig)
    update()
    snap_to_fk(use_range=True, frame_start=1, frame_end=31)
    for curve in curves(target):
        values = [key.co[1] for key in curve.keyframe_points]
        assert max(abs(a - b) for a, b in pairwise(values)) < 1.5


# Refusals


def test_a_linked_target_cannot_be_moved(arm, tmp_path) -> None:
    library = tmp_path / "library.blend"
    bpy.data.libraries.write(str(library), {make_empty("Linked", (1, 0, 2))}, fake_user=True)
    bpy.data.objects.remove(bpy.data.objects["Linked"])
    with bpy.data.libraries.load(str(library), link=True) as (_, to):
        to.objects = ["Linked"]
    linked = link(to.objects[0])
    arm.fabrik.constraints[0].target = linked
    assert_refuses(bpy.ops.fabrik.snap_to_fk, "“Linked” is linked", arm, linked)


def constrain(arm, target) -> None:
    con = target.constraints.new("COPY_LOCATION")
    con.target = make_empty("Leader", (1, 1, 2))


def drive(arm, target) -> None:
    target.driver_add("location", 1).driver.expression = "1.0"


def lock(arm, target) -> None:
    target.lock_location[2] = True


def carry(arm, target) -> None:
    arm.parent = target


def share(arm, target) -> None:
    other = make_chain(2, "Other", ARM)
    add_constraint(other, "B1", target, name="Theirs")
    activate(arm)


def spoil(arm, target) -> None:
    arm.fabrik.constraints[0].bone = "Gone"


def lead_by(arm, is_solved):
    """Lead the arm by a bone that is connected or posed by a constraint."""
    other = make_chain(2, "Other", ((2, 0, 0), (2, 0.3, 1), (2, 0, 2)))
    if is_solved:
        add_constraint(other, "B1", make_empty("Its Own", (2.5, 1, 1)))
    item = arm.fabrik.constraints[0]
    item.target, item.subtarget = other, "B1"
    activate(arm)


def flatten(arm, target) -> None:
    target.parent = make_empty("Flat")
    target.parent.scale = (1, 1, 0)


def collapse(arm, target) -> None:
    arm.scale = (1, 0, 1)


@pytest.mark.parametrize(
    ("trouble", "saying"),
    (
        (constrain, "its constraint “Copy Location”"),
        (drive, "The location of “Target” is driven"),
        (lock, "The location of “Target” is locked"),
        (carry, "the chain or another constraint depends on it"),
        (share, "is also the target of “Theirs”"),
        (spoil, "can't be solved: .*“Gone”"),
        (flatten, "zero scale"),
        (collapse, "“Arm” has zero scale"),
        (lambda arm, _: lead_by(arm, True), "is posed by a constraint"),
        (lambda arm, _: lead_by(arm, False), "is connected to its parent"),
    ),
)
def test_a_target_that_cannot_go_there_is_refused(arm, trouble, saying) -> None:
    target = arm.fabrik.constraints[0].target
    trouble(arm, target)
    refused = arm, target, bpy.data.objects["Pole"]
    assert_refuses(bpy.ops.fabrik.snap_to_fk, saying, *refused)
    go(1)
    keys = {"use_range": True, "frame_start": 3, "frame_end": 5}
    assert_refuses(bpy.ops.fabrik.snap_to_fk, saying, *refused, **keys)


@pytest.mark.parametrize("operator", ("snap_to_fk", "snap_to_ik"))
def test_an_influence_that_no_key_can_switch_is_refused(arm, operator) -> None:
    item = arm.fabrik.constraints[0]
    item.keyframe_insert("enabled", frame=1)
    objects = arm, item.target, item.pole_target
    call = getattr(bpy.ops.fabrik, operator)
    assert_refuses(call, "has an animated Enabled", *objects, switches=True)
    item.driver_add("influence").driver.expression = "1.0"
    assert_refuses(call, "influence of .* is driven", *objects, switches=True)


@pytest.mark.parametrize("operator", ("snap_to_fk", "snap_to_ik"))
def test_strips_of_the_nla_are_not_covered_by_keys(arm, operator) -> None:
    item = arm.fabrik.constraints[0]
    for ob in (arm, item.target):
        ob.keyframe_insert("location", frame=1)
        as_strip(ob)
    objects = arm, item.target, item.pole_target
    call = getattr(bpy.ops.fabrik, operator)
    assert_refuses(call, "has NLA strips", *objects, switches=True)
    assert call() == {"FINISHED"}  # Without keys there is nothing to cover.


def test_two_constraints_for_one_target_are_told_apart(arm) -> None:
    item = arm.fabrik.constraints[0]
    add_constraint(arm, "B0", item.target)
    assert_refuses(bpy.ops.fabrik.snap_to_fk, "give “FABRIK IK” its own target", arm)
    assert "is also another constraint's target" in warning("FABRIK_OT_snap_to_fk", which="ALL")


def test_bones_that_drivers_set_are_refused(arm) -> None:
    arm.fabrik.constraints[0].use_stretch = True
    arm.pose.bones["B0"].driver_add("scale", 1).driver.expression = "1.2"
    assert_refuses(bpy.ops.fabrik.snap_to_ik, "The scale of “B0” is driven", arm)


@pytest.mark.parametrize("operator", ("snap_to_fk", "snap_to_ik"))
def test_a_range_without_frames_is_refused(arm, operator) -> None:
    call = getattr(bpy.ops.fabrik, operator)
    empty = {"use_range": True, "frame_start": 5, "frame_end": 4}
    assert_refuses(call, r"End \(4\) is before Start \(5\)", arm, **empty)
    keyless = {"use_range": True, "frame_start": 30, "frame_end": 40, "only_keys": True}
    assert_refuses(call, "No keys from frame 30 to 40", arm, **keyless)


def test_a_pole_that_serves_others_stays_and_is_named(arm) -> None:
    other = make_chain(2, "Other", ARM)
    pole = arm.fabrik.constraints[0].pole_target
    add_constraint(other, "B1", make_empty("T", (1, 1, 2)), pole_target=pole, name="Theirs")
    activate(arm)
    update()
    before = pole.location.copy()
    assert "“Pole” is also used by “Theirs”" in warning("FABRIK_OT_snap_to_fk")
    assert pole.location == before


def test_the_buttons_say_why_they_are_gray(arm) -> None:
    from addon.features.fk_ik.operators import FABRIK_OT_snap_to_fk as operator

    assert operator.refusal(bpy.context) == ""
    arm.fabrik.constraints.remove(0)
    assert "No constraint" in operator.refusal(bpy.context)


# Undo


@pytest.mark.parametrize("operator", ("snap_to_fk", "snap_to_ik"))
@pytest.mark.parametrize("switches", (True, False))
def test_undo_gives_everything_back(arm, operator, switches) -> None:
    if switches:
        keyed_arm(arm)
    names = "Arm", "Target", "Pole"

    def now() -> object:
        go(10)
        return state(*map(bpy.data.objects.get, names))

    before = now()
    bpy.ops.ed.undo_push(message="before")
    getattr(bpy.ops.fabrik, operator)("EXEC_DEFAULT", True, switches=switches)
    assert now() != before
    bpy.ops.ed.undo()
    assert now() == before


# What is set and not keyed


@pytest.mark.parametrize("snap", ["snap_to_fk", "snap_to_ik"])
def test_a_switch_keeps_what_is_posed_and_not_keyed(arm: bpy.types.Object, snap: str) -> None:
    base, tip = arm.pose.bones
    base.rotation_mode = "XYZ"
    target = arm.fabrik.constraints[0].target
    for owner, channel in (
        (tip, "location"),
        (base, "rotation_euler"),
        (target, "location"),
        (target, "scale"),
    ):
        owner.keyframe_insert(channel, frame=1)
    go(10)
    tip.location = (0.0, 0.2, 0.1)
    target.location = (1.5, 0.5, 2.2)
    target.scale = (2.0, 1.0, 1.0)
    arm.fabrik.constraints[0].enabled = False
    update()
    base.rotation_euler = (0.4, 0.3, -0.2)
    update()
    arm.fabrik.constraints[0].enabled = snap == "snap_to_ik"
    update()
    wanted = points(arm)
    assert getattr(bpy.ops.fabrik, snap)(switches=True) == {"FINISHED"}
    assert apart(arm, wanted) <= NEAR
    assert tuple(tip.location) == pytest.approx((0.0, 0.2, 0.1))
    assert tuple(target.scale) == pytest.approx((2.0, 1.0, 1.0))


@pytest.mark.parametrize("mode", ["EDIT", "REST"])
@pytest.mark.parametrize("name", ["snap_to_fk", "snap_to_ik", "convert_to_blender", "offset_set"])
def test_a_rest_pose_is_refused(arm: bpy.types.Object, name: str, mode: str) -> None:
    operator = getattr(bpy.ops.fabrik, name)
    assert operator.poll()
    if mode == "EDIT":
        bpy.ops.object.mode_set(mode="EDIT")
    else:
        arm.data.pose_position = "REST"
    with pytest.raises(RuntimeError, match="is in rest position: leave Edit Mode"):
        operator()


# What cannot be snapped


def reported(**settings) -> tuple[str, str]:
    """Snap IK to FK, and return the type and the text of the report."""
    from addon.features.fk_ik.operators import FABRIK_OT_snap_to_fk as operator

    said = []
    before = operator._report_text

    def text(self, *given) -> str:
        said.append((self.severity, str(before(self, *given))))
        return said[-1][1]

    operator._report_text = text
    try:
        snap_to_fk(**settings)
    finally:
        operator._report_text = before
    return said[0]


def with_others(trouble) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Make two arms, of which the first cannot be snapped, and return them and its target."""
    rig = make_armature(
        {
            "Root": ((0, 0, 0), (0, 0, 0.5), ""),
            "A0": ((1, 0, 0), (1, 0.3, 2), "Root"),
            "A1": ((1, 0.3, 2), (1, 0, 4), "A0"),
            "B0": ((-1, 0, 0), (-1, 0.3, 2), "Root"),
            "B1": ((-1, 0.3, 2), (-1, 0, 4), "B0"),
        },
        "Two",
    )
    bend(rig)
    good = make_empty("Good", (1.5, 1, 2))
    bad = make_empty("Bad", (-1.5, 1, 2))
    add_constraint(rig, "B1", bad, name="Bad Arm", solver="TWO_BONE", chain_count=2)
    add_constraint(rig, "A1", good, name="Good Arm", solver="TWO_BONE", chain_count=2)
    activate(rig)
    update()
    trouble(rig, bad)
    update()
    return rig, bad


def look(rig, target) -> None:
    rig.fabrik.constraints["Bad Arm"].solver = "LOOK_AT"


def empty_tip(rig, target) -> None:
    rig.fabrik.constraints["Bad Arm"].bone = "Gone"


def key_enabled(rig, target) -> None:
    rig.fabrik.constraints["Bad Arm"].keyframe_insert("enabled", frame=1)


def carry_bone(rig, target) -> None:
    """Let the target carry the root of its own chain only, so that it can never be at the tip."""
    rig.pose.bones["B0"].constraints.new("COPY_LOCATION").target = target


UNSNAPPABLE = (
    (look, "doesn't reach for a target"),
    (empty_tip, "can't be solved"),
    (drive, "The location of “Bad” is driven"),
    (lock, "The location of “Bad” is locked"),
    (key_enabled, "has an animated Enabled"),
    (carry_bone, "the chain or another constraint depends on it"),
)


@pytest.mark.parametrize(("trouble", "saying"), UNSNAPPABLE)
@pytest.mark.parametrize("ranged", [False, True])
def test_what_cannot_be_snapped_is_left_out_and_named(trouble, saying, ranged) -> None:
    rig, bad = with_others(trouble)
    frames = {"use_range": True, "frame_start": 3, "frame_end": 5} if ranged else {}
    frames["switches"] = True
    wanted = fk_points(rig)[3:9]
    before = list(bad.location)
    kind, said = reported(which="ALL", **frames)
    assert kind == "WARNING"
    assert "Snapped “Good Arm” to the FK pose" in said and ". Skipped “Bad Arm”. " in said
    assert saying in said
    if ranged:
        go(4)
    assert farthest(points(rig)[3:9], wanted) <= NEAR * 4
    assert list(bad.location) == before and not curves(bad)
    rig.fabrik.active_index = 0
    assert_refuses(bpy.ops.fabrik.snap_to_fk, saying, rig, bad, **frames)


@pytest.mark.parametrize("operator", ["snap_to_fk", "snap_to_ik"])
def test_if_nothing_can_be_snapped_all_is_refused(operator) -> None:
    rig, bad = with_others(empty_tip)
    rig.fabrik.constraints["Good Arm"].bone = "Gone"
    call = getattr(bpy.ops.fabrik, operator)
    assert_refuses(call, "can't be solved", rig, bad, which="ALL")


def test_bones_that_drivers_set_are_left_out() -> None:
    rig, _ = with_others(lambda *_: None)
    rig.pose.bones["B0"].driver_add("rotation_quaternion", 1).driver.expression = "0.2"
    update()
    wanted = points(rig)[3:9]
    snap_to_ik(which="ALL")
    assert farthest(fk_points(rig)[3:9], wanted) <= NEAR * 4
    assert rig.fabrik.constraints["Good Arm"].state == "REACHED"
