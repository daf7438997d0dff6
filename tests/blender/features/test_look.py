"""Looking at a target: exact, limited, damped, in the list with other solvers, and given back."""

import math
from collections.abc import Callable

import bpy
import pytest
import rigs
from inside import forget
from mathutils import Euler, Matrix, Vector
from operating import click_bone, click_bones, refuses

AXES = {"X": 0, "Y": 1, "Z": 2}


def make_head() -> bpy.types.Object:
    """A spine, neck and head that face −Y, and two eyes."""
    rig = rigs.make_armature(
        {
            "Spine": ((0, 0, 0), (0, 0.02, 0.4), ""),
            "Neck": ((0, 0.02, 0.4), (0, 0, 0.5), "Spine"),
            "Head": ((0, 0, 0.5), (0, 0, 0.75), "Neck"),
            "Eye.L": ((0.04, -0.08, 0.6), (0.04, -0.13, 0.6), "Head"),
            "Eye.R": ((-0.04, -0.08, 0.6), (-0.04, -0.13, 0.6), "Head"),
        }
    )
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return rig


def look(
    rig: bpy.types.Object,
    bone: str,
    target: bpy.types.Object | None,
    count: int = 1,
    **more: object,
) -> bpy.types.PropertyGroup:
    """Add a look-at; eyes look along Y with Z up, others along Z with Y up."""
    item = rigs.add_constraint(rig, bone, target, solver="LOOK_AT", chain_count=count)
    if bone.startswith("Eye"):
        item.look.axis, item.look.up_axis = "Y", "Z"
    for name, value in more.items():
        setattr(item.look, name, value)
    return item


def axis_world(rig: bpy.types.Object, bone: str, axis: str) -> Vector:
    """Where an axis of a bone points in world space, as evaluated."""
    posed = rigs.evaluated(rig)
    axes = (posed.matrix_world @ posed.pose.bones[bone].matrix).to_3x3()
    way = axes.col[AXES[axis[-1]]].normalized()
    return -way if axis.startswith("NEGATIVE") else way


def missed(rig: bpy.types.Object, bone: str, place: Vector, axis: str = "Z") -> float:
    """The angle from a bone's gaze to a place, in radians."""
    posed = rigs.evaluated(rig)
    head = posed.matrix_world @ posed.pose.bones[bone].head
    way, gaze = (place - head).normalized(), axis_world(rig, bone, axis)
    return 2.0 * math.asin(min(1.0, 0.5 * (way - gaze).length))


def key_path(ob: bpy.types.Object, path: Callable[[float], tuple[float, float, float]]) -> None:
    """Key an object's location on every frame from 1 to 60."""
    for frame in range(1, 61):
        rigs.key(ob, "location", {frame: path(frame)})


def around(frame: float) -> tuple[float, float, float]:
    """A way once around the head, in 60 frames, up and down meanwhile."""
    angle = 2.0 * math.pi * frame / 60.0
    return 2.0 * math.sin(angle), -2.0 * math.cos(angle), 0.6 + 0.4 * math.sin(3.0 * angle)


PRECISE = 1e-5
"""Of an angle: what single precision leaves of 1e-15; 5e-6 was measured, in axis and angle."""


@pytest.mark.parametrize("axis", ["X", "Y", "Z", "NEGATIVE_X", "NEGATIVE_Y", "NEGATIVE_Z"])
@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "AXIS_ANGLE"])
def test_the_gaze_is_on_the_target(axis: str, mode: str) -> None:
    rig, target = make_head(), rigs.make_empty(location=(1.2, -0.7, 1.4))
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    item = look(rig, "Head", target, 3, up_axis="NONE", axis=axis)
    rigs.update()
    assert missed(rig, "Head", target.location, axis) < PRECISE
    assert (item.state, item.message) == ("REACHED", "")
    assert item.error < 1e-5


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_gaze_is_on_the_target_under_any_transform(share: float) -> None:
    rig, target = make_head(), rigs.make_empty(location=(1.2, -1.7, 1.4))
    rig.matrix_world = Matrix.LocRotScale(
        Vector((0.3, 2.0, -1.0)), Euler((0.4, -0.7, 2.0)), Vector((1.5, 0.6, -0.9))
    )
    rig.pose.bones["Neck"].scale = (1.2, 0.7, 1.0)
    rig.pose.bones["Spine"].rotation_quaternion = (0.9, 0.2, -0.3, 0.1)
    item = look(rig, "Head", target, 3, share=share)
    rigs.update()
    assert missed(rig, "Head", target.location) < 1e-5
    assert item.state == "REACHED"


@pytest.mark.parametrize(("up", "way"), [("WORLD", (0, 0, 1)), ("ARMATURE", (0, 0, 1))])
def test_the_up_axis_stays_up(up: str, way: tuple[float, float, float]) -> None:
    rig, target = make_head(), rigs.make_empty(location=(1.0, -1.0, 1.2))
    rig.rotation_euler = (0.3, 0.5, 0.0)
    rig.pose.bones["Neck"].rotation_quaternion = (0.95, 0.1, 0.0, 0.3)
    look(rig, "Head", target, 1, up=up)
    rigs.update()
    wanted = Vector(way)
    if up == "ARMATURE":
        wanted = rigs.evaluated(rig).matrix_world.to_3x3() @ wanted
    gaze, side = axis_world(rig, "Head", "Z"), axis_world(rig, "Head", "X")
    assert missed(rig, "Head", target.location) < PRECISE
    assert side.dot(wanted) == pytest.approx(0.0, abs=1e-5)
    assert axis_world(rig, "Head", "Y").dot(wanted) > 0.0 and abs(gaze.dot(side)) < 1e-5


def test_a_limit_keeps_the_gaze_and_says_so() -> None:
    rig, target = make_head(), rigs.make_empty(location=(3.0, -0.3, 0.6))
    item = look(rig, "Head", target, 2, limit_angle=0.8, limit_softness=0.0)
    rigs.update()
    assert axis_world(rig, "Head", "Z").angle(Vector((0, -1, 0))) == pytest.approx(0.8, abs=1e-4)
    assert item.state == "LIMITED" and "Limit Angle" in item.message
    item.look.limit_softness = 0.4
    rigs.update()
    assert axis_world(rig, "Head", "Z").angle(Vector((0, -1, 0))) < 0.79


def test_joints_keep_their_limits() -> None:
    rig, target = make_head(), rigs.make_empty(location=(3.0, 1.0, 0.6))
    for name in ("Neck", "Head"):
        joint = rig.pose.bones[name].fabrik_joint
        joint.limit_type = "CONE"
        joint.swing_x = joint.swing_z = 0.3
        joint.twist_min, joint.twist_max = -0.4, 0.4
    item = look(rig, "Head", target, 2)
    rigs.update()
    for name in ("Neck", "Head"):
        w, _, y, _ = rigs.shown_bones(rig)[name].rotation_quaternion
        assert abs(2.0 * math.atan2(y, w)) <= 0.4 + 1e-5
        assert 2.0 * math.acos(min(1.0, math.hypot(w, y))) <= 0.3 + 1e-5
    assert item.state == "LIMITED" and "joints" in item.message


def test_eyes_on_a_solved_head_come_right_in_the_same_update() -> None:
    rig, target = make_head(), rigs.make_empty(location=(1, -1, 1))
    # The eyes stand before the head in the list: they wait for it all the same.
    for eye in ("Eye.L", "Eye.R"):
        look(rig, eye, target)
    look(rig, "Head", target, 3, limit_angle=0.5)
    for place in ((1, -1, 1), (-2, -1, 0), (0.3, -0.6, 1.5)):
        target.location = place
        rigs.update()
        assert missed(rig, "Head", target.location) > 0.02
        for eye in ("Eye.L", "Eye.R"):
            assert missed(rig, eye, target.location, "Y") < 1e-5


def test_a_solver_after_it_starts_from_where_it_looks() -> None:
    rig, target = rigs.make_chain(4), rigs.make_empty(location=(2, -1, 3))
    reach = rigs.make_empty("Reach", (1.0, 0.5, 2.5))
    look(rig, "B3", target, 4, share=1.0)
    rigs.update()
    looking = rigs.shown_bits(rig)
    item = rigs.add_constraint(rig, "B3", reach)
    rigs.update()
    assert rigs.tip_error(rig, "B3", reach) < 1e-4 and item.state == "REACHED"
    # The other way round the last word is the gaze's.
    rig.fabrik.active_index = 1
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.fabrik.constraint_move(direction="UP") == {"FINISHED"}
    rigs.update()
    assert missed(rig, "B3", target.location) < 1e-5
    assert rigs.shown_bits(rig) != looking


# Damping


def test_damping_lets_the_gaze_come_late_by_its_time() -> None:
    rig, target = make_head(), rigs.make_empty()
    key_path(target, lambda frame: (-1.5 + 0.05 * frame, -2.0, 0.7))
    item = look(rig, "Head", target, 2, damping=0.25)
    rigs.go(40)
    # 0.25 s are 6 frames at 24 a second.
    assert missed(rig, "Head", Vector((-1.5 + 0.05 * 34.0, -2.0, 0.7))) < 1e-5
    assert item.message == "" and item.state == "REACHED"
    bpy.context.scene.render.fps = 48
    rigs.go(40)
    assert missed(rig, "Head", Vector((-1.5 + 0.05 * 28.0, -2.0, 0.7))) < 1e-5


def test_damping_follows_parents_and_bones_of_other_armatures() -> None:
    carrier, target = rigs.make_empty("Carrier", (0, 0, 0)), rigs.make_empty("Target", (0, -2, 0.6))
    target.parent = carrier
    rigs.key(carrier, "rotation_euler", {1: -0.5, 61: 0.7}, 2)
    arm = rigs.make_chain(2, "Other")
    arm.location = (0, -3, 0)
    bone = arm.pose.bones["B0"]
    for frame, turn in ((1, 0.0), (61, 0.6)):
        rigs.key(
            bone, "rotation_quaternion", {frame: (math.cos(turn / 2), math.sin(turn / 2), 0, 0)}
        )
    rig = make_head()
    item = look(rig, "Head", target, 2, damping=0.2)

    def late(place: Callable[[], Vector]) -> tuple[float, float]:
        """How far the gaze is from where the target was two delays and no time ago."""
        places = {}
        for frame in range(20, 31):
            rigs.go(frame)
            places[frame] = place()
        return missed(rig, "Head", places[25]), missed(rig, "Head", places[30])

    then, now = late(lambda: rigs.world_location(target))
    assert then < 0.01 < 0.03 < now and item.message == ""
    hung = rigs.make_empty("Hung", (0, 0, 0.3))
    hung.parent, hung.parent_type, hung.parent_bone = arm, "BONE", "B0"
    item.target = hung
    then, now = late(lambda: rigs.world_location(hung))
    assert then < 0.01 and then < 0.3 * now and item.message == ""
    item.target, item.subtarget = arm, "B1"
    then, now = late(
        lambda: rigs.evaluated(arm).matrix_world @ rigs.evaluated(arm).pose.bones["B1"].head
    )
    assert then < 0.01 and then < 0.3 * now and item.message == ""


def test_damping_does_not_let_the_gaze_trail_behind_a_character_that_walks() -> None:
    rig, target = make_head(), rigs.make_empty(location=(0.4, -2, 0.6))
    target.parent = rig
    rigs.key(rig, "location", {1: 0.0, 61: -6.0}, 1)
    look(rig, "Head", target, 2, damping=0.5)
    rigs.go(30)
    assert missed(rig, "Head", rigs.world_location(target)) < 1e-5


def test_damping_says_when_the_target_does_not_move_by_keys() -> None:
    rig, target, leader = make_head(), rigs.make_empty(), rigs.make_empty("Leader", (1, -1, 1))
    key_path(leader, around)
    target.constraints.new("COPY_LOCATION").target = leader
    item = look(rig, "Head", target, 2, damping=0.3)
    rigs.go(20)
    assert missed(rig, "Head", rigs.world_location(target)) < 1e-5
    assert "Copy Location" in item.message and "bake" in item.message
    target.constraints.clear()
    driver = target.driver_add("location", 0).driver
    driver.expression = "frame * 0.01"
    rigs.go(21)
    assert "has a driver" in item.message
    target.driver_remove("location", 0)
    rigs.go(22)
    assert item.message == ""


# Bad input


def test_what_is_wrong_is_said() -> None:
    rig, target = make_head(), rigs.make_empty()
    item = look(rig, "Head", None)
    rigs.update()
    assert item.state == "INVALID" and "No target" in item.message
    item.target = target
    item.look.up_axis = "Z"
    rigs.update()
    assert item.state == "INVALID" and "choose another Up Axis" in item.message
    item.look.up_axis = "NEGATIVE_Y"
    item.use_tail = False
    rigs.update()
    assert item.state == "INVALID" and "Use Tail" in item.message
    item.use_tail = True
    item.target, item.subtarget = rig, "Eye.L"
    rigs.update()
    assert item.state == "INVALID" and "depends on the chain itself" in item.message
    item.target, item.subtarget = target, ""
    rig.pose.bones["Neck"].scale = (0, 0, 0)
    rigs.update()
    assert item.state == "OUT_OF_REACH" and "zero scale along an axis" in item.message
    rig.pose.bones["Neck"].scale = (1, 1, 1)
    target.location = (0, 0, 0.5)
    rigs.update()
    assert item.state in ("OUT_OF_REACH", "REACHED")
    assert all(
        math.isfinite(x) for row in rigs.evaluated(rig).pose.bones["Head"].matrix for x in row
    )


# The operator


def enter_pose_mode(rig: bpy.types.Object, bone: str) -> None:
    rigs.activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones[bone]


@pytest.mark.parametrize("bone", ["Head", "Eye.L"])
def test_adding_one_without_a_target_moves_nothing(bone: str) -> None:
    rig = make_head()
    rig.pose.bones["Head"].rotation_quaternion = (0.95, 0.1, 0.2, 0.05)
    rig.rotation_euler = (0.2, 0.1, 0.5)
    enter_pose_mode(rig, bone)
    rigs.update()
    before = [rigs.evaluated(rig).pose.bones[b.name].matrix.copy() for b in rig.pose.bones]
    assert bpy.ops.fabrik.look_add() == {"FINISHED"}
    rigs.update()
    item = rig.fabrik.constraints[0]
    assert (item.solver, item.bone, item.state) == ("LOOK_AT", bone, "REACHED")
    assert (item.look.axis, item.look.up_axis) == (("Z", "Y") if bone == "Head" else ("Y", "Z"))
    for old, posed in zip(before, rigs.evaluated(rig).pose.bones, strict=True):
        assert (
            max(
                abs(a - b)
                for r, s in zip(old, posed.matrix, strict=True)
                for a, b in zip(r, s, strict=True)
            )
            < 1e-5
        )


@pytest.mark.parametrize(
    ("bone", "degrees"), [("Head", 75.0), ("Neck", 75.0), ("Eye.L", 30.0), ("Gun", 180.0)]
)
def test_what_is_added_turns_as_far_as_it_does_by_nature(bone: str, degrees: float) -> None:
    rig, target = make_head(), rigs.make_empty(location=(0.0, -5.0, 0.6))
    rigs.activate(rig, "EDIT")
    gun = rig.data.edit_bones.new("Gun")
    gun.head, gun.tail, gun.parent = (1, 0, 0.3), (1, -0.3, 0.3), rig.data.edit_bones["Spine"]
    bpy.ops.object.mode_set(mode="OBJECT")
    target.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    click_bone(rig, bone)
    assert bpy.ops.fabrik.look_add() == {"FINISHED"}
    (item,) = rig.fabrik.constraints
    assert math.degrees(item.look.limit_angle) == pytest.approx(degrees)
    rigs.update()
    assert item.state == "REACHED"
    target.location = (10.0, 5.0, 0.6)
    rigs.update()
    assert item.state == ("REACHED" if bone == "Gun" else "LIMITED")
    turned = rigs.evaluated(rig).pose.bones[bone].matrix.to_quaternion()
    angle = turned.rotation_difference(rig.data.bones[bone].matrix_local.to_quaternion()).angle
    assert math.degrees(min(angle, math.tau - angle)) <= degrees + 0.1
    item.look.property_unset("limit_angle")
    assert item.look.limit_angle == pytest.approx(math.pi), "as in files of earlier versions"


def test_the_skin_of_a_face_means_the_head() -> None:
    rig = make_imported(0.0, (0, 1, 0), 0.0)
    bpy.ops.object.mode_set(mode="EDIT")
    for name, x in (("lid.T.L", 3), ("jaw", 0), ("ear.L", 8), ("eye.L", 3)):
        bone = rig.data.edit_bones.new(name)
        bone.head, bone.tail, bone.parent = (x, 168, 8), (x, 168, 11), rig.data.edit_bones["head"]
    bpy.ops.object.mode_set(mode="POSE")
    for bones, meant in (
        (("jaw", "lid.T.L"), "head"),
        (("ear.L",), "ear.L"),
        (("eye.L",), "eye.L"),
    ):
        click_bones(rig, *bones)
        assert bpy.ops.fabrik.look_add(others="EACH") == {"FINISHED"}
        assert [item.bone for item in rig.fabrik.constraints] == [meant]
        assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}


def make_imported(
    turn: float, direction: tuple[float, float, float], roll: float
) -> bpy.types.Object:
    """A figure in centimeters with Y up, as importers make it, turned about the vertical.

    The bone of its head points anywhere.
    """
    joints: dict[str, tuple[str, tuple[float, float, float]]] = {
        "hips": ("", (0, 95, 0)),
        "spine": ("hips", (0, 110, 0)),
        "neck": ("spine", (0, 150, 0)),
        "head": ("neck", (0, 160, 0)),
    }
    for name, side in (("left", 1), ("right", -1)):
        joints |= {
            f"{name}_thigh": ("hips", (10 * side, 92, 0)),
            f"{name}_shin": (f"{name}_thigh", (10 * side, 50, 2)),
            f"{name}_foot": (f"{name}_shin", (10 * side, 9, -3)),
            f"{name}_toe": (f"{name}_foot", (10 * side, 2, 11)),
        }
    ways = {"head": 200 * Vector(direction)}
    rig = rigs.make_armature(
        {
            name: (head, tuple(Vector(head) + ways.get(name, Vector((0, 10, 0)))), parent)
            for name, (parent, head) in joints.items()
        }
    )
    rig.scale = (0.01, 0.01, 0.01)
    rig.rotation_euler = (math.pi / 2, 0.0, turn)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["head"].roll = roll
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


@pytest.mark.parametrize("clicked", ["Carrier", "Aim"])
def test_the_control_of_an_eye_that_looks_already_is_refused(clicked: str) -> None:
    """As in generated rigs: the parent of the eye, and its target."""
    rig = rigs.make_armature(
        {
            "Head": ((0, 0, 1), (0, 0, 1.2), ""),
            "Carrier": ((0, -0.1, 1.1), (0, -0.2, 1.1), "Head"),
            "Eye": ((0, -0.1, 1.1), (0, -0.15, 1.1), "Carrier"),
            "Lid": ((0, -0.12, 1.12), (0, -0.15, 1.12), "Carrier"),
            "Aim": ((0, -0.5, 1.1), (0, -0.6, 1.1), ""),
        }
    )
    con = rig.pose.bones["Eye"].constraints.new("DAMPED_TRACK")
    con.target, con.subtarget = rig, "Aim"
    enter_pose_mode(rig, clicked)
    objects = len(bpy.data.objects)
    refuses(bpy.ops.fabrik.look_add, saying="“Eye” looks at “Aim” through .*“Damped Track”: move")
    assert not rig.fabrik.constraints and len(bpy.data.objects) == objects
    con.mute = True
    assert bpy.ops.fabrik.look_add() == {"FINISHED"}


@pytest.mark.parametrize("turn", [0.0, 2.0])
@pytest.mark.parametrize("roll", [0.0, 1.57, 3.1])
@pytest.mark.parametrize(
    "direction", [(0, 1, 0), (0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0)], ids=str
)
def test_the_target_of_an_imported_head_is_before_its_face(
    direction: tuple[float, float, float], roll: float, turn: float
) -> None:
    rig = make_imported(turn, direction, roll)
    enter_pose_mode(rig, "head")
    rigs.update()
    assert bpy.ops.fabrik.look_add() == {"FINISHED"}
    rigs.update()
    item = rig.fabrik.constraints[0]
    head = rig.matrix_world @ rig.pose.bones["head"].head
    way = item.target.matrix_world.translation - head
    front = Vector((math.sin(turn), -math.cos(turn), 0.0))
    assert way.normalized().dot(front) > 0.99
    assert way.length == pytest.approx(1.58, abs=0.01) and item.state == "REACHED"


def test_a_refused_one_leaves_nothing_behind() -> None:
    rig = make_head()
    objects = len(bpy.data.objects)
    enter_pose_mode(rig, "Head")
    rig.pose.bones["Head"].scale = (1, 1, 0)
    rigs.update()
    refuses(bpy.ops.fabrik.look_add, "zero scale along an axis")
    assert len(bpy.data.objects) == objects and not rig.fabrik.constraints


# Shown, rendered, baked, mirrored


def test_the_viewport_shows_how_far_the_gaze_is_off_and_no_reach() -> None:
    from addon.features.overlay.chains import shown_chains

    rig, target = make_head(), rigs.make_empty(location=(3.0, -0.3, 0.6))
    item = look(rig, "Head", target, 2, limit_angle=0.8)
    rigs.activate(rig)
    rigs.update()
    (shown,) = shown_chains(bpy.context.view_layer)
    assert shown.shell is None and shown.missed == pytest.approx(item.error) and item.error > 1.0
    item.look.limit_angle = math.pi
    rigs.update()
    (shown,) = shown_chains(bpy.context.view_layer)
    assert shown.missed == 0.0


def test_a_mirrored_look_turns_like_a_mirror_image() -> None:
    rig = make_head()
    left, right = rigs.make_empty("Aim.L", (1, -1, 1)), rigs.make_empty("Aim.R", (-1, -1, 1))
    look(rig, "Eye.L", left, axis="X", up_axis="NEGATIVE_Z")
    rigs.activate(rig)
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    rigs.update()
    other = rig.fabrik.constraints[1]
    assert (other.bone, other.target) == ("Eye.R", right)
    assert (other.look.axis, other.look.up_axis) == ("NEGATIVE_X", "NEGATIVE_Z")
    assert missed(rig, "Eye.R", right.location, "NEGATIVE_X") < PRECISE
    gaze, mirrored = axis_world(rig, "Eye.L", "Y"), axis_world(rig, "Eye.R", "Y")
    assert (Vector((-gaze.x, gaze.y, gaze.z)) - mirrored).length < 1e-5


def keyed(item: bpy.types.PropertyGroup) -> None:
    rigs.key(item.look, "share", {1: 0.0, 5: 1.0})


def driven(item: bpy.types.PropertyGroup) -> None:
    source = rigs.make_empty("Source")
    rigs.key(source, "location", {1: 0.0, 5: 1.0}, 0)
    rigs.drive(item.look.driver_add("share"), source)


@pytest.mark.parametrize("animate", (keyed, driven))
def test_its_settings_are_read_again_where_they_are_animated(
    animate: Callable[[bpy.types.PropertyGroup], None],
) -> None:
    rig, target = make_head(), rigs.make_empty("Target", (1.0, -1.0, 0.8))
    animate(look(rig, "Head", target, 2))
    rigs.update()
    seen: list[bytes] = []
    for frame in (1, 2, 3, 5):
        rigs.go(frame)
        seen.append(rigs.shown_bits(rig))
        forget()
        rigs.update(rig)
        assert rigs.shown_bits(rig) == seen[-1]
    assert len(set(seen)) == len(seen)
