"""What is shown over the 3D views: the numbers, when they are shown, and that showing is all."""

import math
from collections.abc import Iterator
from math import dist, radians
from time import perf_counter
from types import ModuleType, SimpleNamespace
from typing import Any

import bpy
import pytest
import rigs
from inside import forget, plan_made, renew, replaced, solver_calls
from kept_files import reopen
from mathutils import Matrix, Quaternion, Vector
from rigs import add_constraint, evaluated, make_armature, make_empty, tip_world, update
from spiders import END, key_body, make_floor, make_spider, walk

STRAIGHT = ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3))
NEAR = 1e-5


@pytest.fixture
def shown(addon: ModuleType, empty_file: None) -> Any:
    """Return what is shown of all constraints, or of the only one."""
    from addon.features.overlay.chains import shown_chains

    def ask(viewport: Any = None) -> list[Any]:
        return shown_chains(bpy.context.view_layer, viewport, with_reach=True)

    return ask


@pytest.fixture
def only(shown: Any) -> Any:
    def ask() -> Any:
        chains = shown()
        assert len(chains) == 1
        return chains[0]

    return ask


def make_chain(*given: Any, **settings: Any) -> bpy.types.Object:
    """Make a chain that is selected."""
    rig = rigs.make_chain(*given, **settings)
    rigs.activate(rig)
    return rig


def heads(rig: bpy.types.Object, *bones: str) -> list[Vector]:
    copy = evaluated(rig)
    return [copy.matrix_world @ copy.pose.bones[bone].head for bone in bones]


def close(a: Any, b: Any) -> bool:
    return dist(a, b) < NEAR


# The numbers


def test_joints_and_target_stand_where_blender_shows_them(only: Any) -> None:
    rig, target = make_chain(3), make_empty(location=(0.7, 0.4, 1.9))
    rig.matrix_world = Matrix.LocRotScale((1, 2, 3), Quaternion((1, 0, 1), 0.7), (2, 1, 0.5))
    target.location = (2.0, 2.4, 4.0)
    add_constraint(rig, "B2", target, name="Arm")
    update()
    chain = only()
    assert (chain.name, chain.state) == ("Arm", "REACHED")
    assert all(map(close, chain.joints, heads(rig, "B0", "B1", "B2")))
    assert len(chain.joints) == 4
    assert close(chain.joints[-1], tip_world(rig, "B2"))
    assert close(chain.target, target.location)
    assert chain.missed == 0.0
    assert chain.at_end == ()
    assert chain.pole is None


def test_what_is_missing_to_the_target_is_a_length_in_world_space(only: Any) -> None:
    rig, target = make_chain(2, joints=STRAIGHT), make_empty(location=(0, 0, 7))
    rig.scale = (2, 2, 2)
    item = add_constraint(rig, "B1", target)
    update()
    assert only().state == "OUT_OF_REACH"
    assert only().missed == pytest.approx(3.0, abs=NEAR) == pytest.approx(item.error)


def test_a_chain_that_ends_with_a_head_shows_that_as_its_tip(only: Any) -> None:
    rig, target = make_chain(3), make_empty(location=(0.3, 0.6, 1.2))
    add_constraint(rig, "B2", target, use_tail=False)
    update()
    assert all(map(close, only().joints, heads(rig, "B0", "B1", "B2")))
    assert len(only().joints) == 3
    assert only().shell.outer == pytest.approx(2 * math.hypot(1, 0.2), abs=NEAR)


def test_a_gaze_goes_from_the_eye_as_far_as_its_target(only: Any) -> None:
    rig, target = make_chain(2), make_empty(location=(0.5, -2.0, 2.0))
    item = add_constraint(rig, "B1", target, solver="LOOK_AT", chain_count=1)
    item.look.axis, item.look.up_axis = "Z", "Y"
    update()
    assert dist(only().tip, target.location) < 1e-4
    item.look.limit_angle, item.look.limit_softness = 0.2, 0.0
    update()
    chain, eye = only(), Vector(only().joints[-2])
    assert chain.state == "LIMITED"
    assert dist(chain.tip, eye) == pytest.approx(dist(target.location, eye), rel=1e-5)
    assert dist(chain.tip, target.location) == pytest.approx(chain.missed, rel=1e-4)


def test_a_wave_is_shown_without_a_target(only: Any) -> None:
    add_constraint(make_chain(3), "B2", solver="WAVE")
    update()
    assert only().target is None


def test_the_offset_puts_the_target_beside_its_object(only: Any) -> None:
    rig, target = make_chain(3), make_empty(location=(0.7, 0.4, 1.9))
    target.rotation_euler = (0, 0, math.pi / 2)
    add_constraint(rig, "B2", target, use_offset=True, offset_location=(0.1, 0.0, 0.0))
    update()
    assert close(only().target, (0.7, 0.5, 1.9))
    assert only().missed == 0.0


def test_a_bone_is_a_target_where_it_is_posed(only: Any) -> None:
    rig = make_chain(3)
    other = make_armature({"Aim": ((0, 0, 0), (0, 0, 1), "")}, "Other")
    other.location = (0.5, 0.4, 1.0)
    other.pose.bones["Aim"].location = (0.0, 0.3, 0.0)
    add_constraint(rig, "B2", other, subtarget="Aim", pole_target=other)
    rigs.activate(rig)
    update()
    assert close(only().target, (0.5, 0.4, 1.3))
    assert close(only().pole, other.location)


def test_the_pole_is_joined_to_the_joint_that_stands_out(only: Any) -> None:
    rig, pole = make_chain(3), make_empty("Pole", (0, 3, 1))
    target = make_empty(location=(0, 0, 1.5))
    add_constraint(rig, "B2", target, pole_target=pole)
    update()
    chain = only()
    assert close(chain.pole, pole.location)
    off = [math.hypot(*joint[:2]) for joint in chain.joints]
    assert chain.elbow == chain.joints[off.index(max(off))]
    target.location = (0, 0, 30)
    update()
    assert only().elbow == only().joints[2], "of a straight chain the middle"


def test_a_chain_of_one_bone_has_no_elbow(only: Any) -> None:
    add_constraint(make_chain(1), "B0", make_empty(), pole_target=make_empty("Pole"))
    update()
    assert only().elbow is None


def test_the_shell_has_an_inner_radius_if_one_bone_is_longer_than_the_rest(only: Any) -> None:
    rig = make_chain(2, joints=((0, 0, 0), (0, 0, 2), (0, 0, 2.5)))
    rig.location = (1, 2, 3)
    add_constraint(rig, "B1", make_empty())
    update()
    shell = only().shell
    assert (shell.outer, shell.inner) == (pytest.approx(2.5), pytest.approx(1.5))
    assert close(shell.frame[1], (1, 2, 3))


SHELLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "head": {"use_tail": False},
    "oriented": {"use_rotation": True},
    "oriented head": {"use_tail": False, "use_rotation": True},
    "half oriented": {"use_rotation": True, "rotation_weight": 0.5},
    "not oriented": {"use_rotation": True, "rotation_weight": 0.0},
    "stretched": {"use_stretch": True, "stretch_max": 1.3},
    "stretched and oriented": {"use_stretch": True, "stretch_max": 1.3, "use_rotation": True},
    "stretched head": {"use_stretch": True, "stretch_max": 1.3, "use_tail": False},
}


@pytest.mark.parametrize("scale", [(1, 1, 1), (1.4, 0.8, -1.1)], ids=("even", "uneven"))
@pytest.mark.parametrize("name", SHELLS)
def test_targets_are_reached_within_the_shell_and_missed_outside(
    only: Any, name: str, scale: Any
) -> None:
    joints = ((0, 0, 0), (0, 0.1, 2.0), (0, 0, 2.6), (0, 0.1, 3.0))
    rig, target = make_chain(3, joints=joints), make_empty()
    rig.matrix_world = Matrix.LocRotScale((1, 2, 3), Quaternion((1, 1, 0), 0.7), scale)
    target.rotation_euler = (1.0, 0.3, 0.2)
    target.location = (2.0, 2.0, 4.0)
    item = add_constraint(rig, "B2", target, **SHELLS[name])
    if name == "half oriented":
        # The hand then turns with the chain: its share is not known before.
        update()
        assert only().shell.outer == pytest.approx(sum(map(dist, joints, joints[1:3])), abs=NEAR)
        return
    update()
    direction = Vector((0.6, -0.3, 0.5)).normalized()
    states = []
    for share in (0.98, 1.02):
        shell = only().shell
        assert shell.inner > 0.0
        axes = Matrix([shell.frame[0][i : i + 3] for i in (0, 3, 6)])
        for radius in (shell.outer, shell.inner):
            target.location = Vector(shell.frame[1]) + axes @ (direction * radius * share)
            update()
            assert shell.outer == pytest.approx(only().shell.outer, abs=NEAR)
            states.append(item.state)
    assert states == ["REACHED", "OUT_OF_REACH", "OUT_OF_REACH", "REACHED"]


def test_bones_that_have_grown_are_shown_as_they_are(only: Any) -> None:
    rig, target = make_chain(3, joints=STRAIGHT), make_empty(location=(0, 0, 3.6))
    rig.pose.bones["B1"].scale = (1.5, 1.5, 1.5)
    add_constraint(rig, "B2", target, use_stretch=True, stretch_max=2.0)
    update()
    before = only().shell.outer
    target.location = (0, 0, 6.3)
    update()
    assert close(only().joints[-1], (0, 0, 6.3))
    assert only().joints[-1][2] > 4.5, "it has grown"
    assert all(map(close, only().joints, heads(rig, "B0", "B1", "B2")))
    assert only().shell.outer == pytest.approx(before, abs=NEAR)


def test_of_a_body_each_chain_is_shown_by_itself(shown: Any) -> None:
    rig = make_armature(
        {
            "Spine": ((0, 0, 0), (0, 0.1, 1), ""),
            "Arm.L": ((0.2, 0.1, 1), (1, 0.2, 1), "Spine"),
            "Hand.L": ((1, 0.2, 1), (1.6, 0, 1), "Arm.L"),
            "Arm.R": ((-0.2, 0.1, 1), (-1, 0.2, 1), "Spine"),
        }
    )
    places = {"L": (1.0, 0.3, 1.4), "R": (-9.0, 0.0, 1.0)}
    targets = {side: make_empty(side, place) for side, place in places.items()}
    left = add_constraint(rig, "Hand.L", targets["L"], name="L")
    add_constraint(rig, "Arm.R", targets["R"], name="R")
    rigs.activate(rig)
    update()
    chains = {chain.name: chain for chain in shown()}
    assert all(map(close, chains["L"].joints, heads(rig, "Spine", "Arm.L", "Hand.L")))
    assert all(map(close, chains["R"].joints, heads(rig, "Spine", "Arm.R")))
    assert chains["R"].missed > 5.0
    size = sum(map(dist, chains["L"].joints, chains["L"].joints[1:]))
    assert chains["L"].shell.outer == pytest.approx(size, abs=NEAR)
    assert chains["R"].shell is None, "only the active one shows how far it reaches"
    left.use_free_root = True
    update()
    assert [chain.shell for chain in shown()] == [None, None], "the pelvis goes wherever it must"
    left.root_weight = 0.0
    update()
    assert [chain.name for chain in shown() if chain.shell] == ["L"]


def test_the_reach_is_shown_out_of_reach_or_where_it_is_asked_for(addon: ModuleType) -> None:
    from addon.features.overlay.chains import shown_chains

    rig, target = make_chain(3, joints=STRAIGHT), make_empty(location=(0, 1.0, 2.0))
    add_constraint(rig, "B2", target)
    update()

    def has_shell(**options: bool) -> bool:
        (chain,) = shown_chains(bpy.context.view_layer, **options)
        return chain.shell is not None

    assert not has_shell()
    assert has_shell(with_reach=True)
    rigs.activate(target)
    assert has_shell(with_reach=True)  # As while it is dragged.
    target.location = (0, 5.0, 2.0)
    update()
    assert has_shell()


def test_the_feet_of_a_walk_have_no_target(shown: Any) -> None:
    rig = make_spider()
    make_floor()
    key_body(rig, {1: (0, 0, 0), END: (0.5, -2.4, 0)})
    gait = walk(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    rigs.go(END)
    assert [chain.target is None for chain in shown()] == [True] * 8
    assert sum(chain.shell is not None for chain in shown()) == 1
    gait.enabled = False
    update()
    rigs.go(END)
    assert [chain.target is None for chain in shown()] == [False] * 8


def test_joints_at_the_end_of_their_limit_are_told(only: Any) -> None:
    rig, target = make_chain(3, joints=STRAIGHT), make_empty(location=(0, 5, 0))
    add_constraint(rig, "B2", target)
    joint = rig.pose.bones["B1"].fabrik_joint
    joint.limit_type, joint.hinge_min, joint.hinge_max = "HINGE", radians(-10), radians(10)
    bone = rig.pose.bones["B2"]
    bone.fabrik_joint.limit_type = "BLENDER"
    bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, radians(-20), radians(20)
    target.location = (0, 0.4, 0.4)
    update()
    assert set(only().at_end) == {1, 2}
    target.location = (0, 1.0, 2.81)
    update()
    assert only().state == "REACHED"
    assert only().at_end == ()
    bone.ik_max_x = rigs.shown_bones(rig)["B2"].rotation_quaternion.angle + radians(0.2)
    bone.ik_min_x = -bone.ik_max_x
    update(rig)
    assert only().at_end == (2,), "a fifth of a degree counts as there"


# When it is shown


@pytest.fixture
def rig(shown: Any) -> bpy.types.Object:
    """A chain that reaches its target, with a pole."""
    rig = make_chain(2)
    add_constraint(rig, "B1", make_empty(), pole_target=make_empty("Pole", (0, 5, 0)))
    update()
    assert len(shown()) == 1
    return rig


def off(rig: Any) -> None:
    rig.fabrik.constraints[0].show_overlay = False


def disabled(rig: Any) -> None:
    rig.fabrik.constraints[0].enabled = False


def without_influence(rig: Any) -> None:
    rig.fabrik.constraints[0].influence = 0.0


def invalid(rig: Any) -> None:
    rig.fabrik.constraints[0].bone = "nothing"


def targetless(_rig: Any) -> None:
    bpy.data.objects.remove(bpy.data.objects["Target"])


def removed(rig: Any) -> None:
    bpy.data.objects.remove(rig)


def hidden(rig: Any) -> None:
    rig.hide_set(True)


def excluded(rig: Any) -> None:
    home = bpy.data.collections.new("Home")
    bpy.context.scene.collection.children.link(home)
    home.objects.link(rig)
    bpy.context.scene.collection.objects.unlink(rig)
    bpy.context.view_layer.layer_collection.children["Home"].exclude = True


def unselected(rig: Any) -> None:
    rig.select_set(False)


def edited(_rig: Any) -> None:
    bpy.ops.object.mode_set(mode="EDIT")


def resting(rig: Any) -> None:
    rig.data.pose_position = "REST"


@pytest.mark.parametrize(
    "change",
    [
        off,
        disabled,
        without_influence,
        invalid,
        targetless,
        removed,
        hidden,
        excluded,
        unselected,
        edited,
        resting,
    ],
    ids=lambda change: change.__name__,
)
def test_nothing_is_shown_of_what_is(shown: Any, rig: Any, change: Any) -> None:
    change(rig)
    update()
    assert shown() == []


@pytest.mark.parametrize("aim", ["Target", "Pole"])
def test_a_chain_is_shown_while_its_target_or_pole_is_selected(
    shown: Any, rig: Any, aim: str
) -> None:
    rigs.activate(bpy.data.objects[aim])
    assert len(shown()) == 1
    assert shown()[0].is_active  # As in the panel.


def test_a_chain_in_pose_mode_is_shown(shown: Any, rig: Any) -> None:
    bpy.ops.object.mode_set(mode="POSE")
    rig.select_set(False)
    assert len(shown()) == 1


def test_the_active_constraint_comes_first(shown: Any, rig: Any) -> None:
    add_constraint(rig, "B0", make_empty("Other", (0.3, 0, 1)), name="Second")
    update()
    for index in (0, 1):
        rig.fabrik.active_index = index
        chains = shown()
        assert [chain.is_active for chain in chains] == [True, False]
        assert chains[0].name == rig.fabrik.constraints[index].name


def test_a_view_shows_what_is_visible_in_it(shown: Any, rig: Any) -> None:
    screens = [screen for screen in bpy.data.screens for _ in screen.areas]
    spaces = [area.spaces.active for screen in screens for area in screen.areas]
    view = next(space for space in spaces if space.type == "VIEW_3D")
    assert len(shown(view)) == 1
    view.show_object_viewport_armature = False
    assert shown(view) == []
    assert len(shown()) == 1


def test_it_is_there_again_after_undo_and_after_loading(shown: Any, rig: Any) -> None:
    bpy.ops.ed.undo_push(message="before")
    bpy.data.objects["Target"].location.x = 0.4
    update()
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    update()
    assert close(shown()[0].target, (1, 0, 2))
    reopen()
    assert close(shown()[0].target, (1, 0, 2))


@pytest.mark.parametrize("stretch", [False, True])
def test_it_stays_when_a_plan_is_made_and_nothing_solved(
    shown: Any, rig: Any, stretch: bool
) -> None:

    rig.fabrik.constraints[0].use_stretch = stretch
    rig.pose.bones["B0"].scale = (1.1, 1.1, 1.1)
    bpy.data.objects["Target"].location = (0, 0, 2.6)
    update()
    before, known = shown(), plan_made()
    assert before[0].shell.outer > 2.2
    forget()
    bpy.context.scene.fabrik.show_overlay = False  # Which updates the scene, and no armature.
    update()
    assert plan_made() not in (None, known)
    assert shown() == before


# Showing is all


def test_showing_makes_no_plan(shown: Any, rig: Any) -> None:

    forget()
    assert shown() == []
    assert plan_made() is None


def test_showing_writes_nothing_and_has_nothing_evaluated(
    addon: ModuleType, shown: Any, rig: Any
) -> None:
    from addon.features.overlay.joint import shown_joint

    bpy.ops.object.mode_set(mode="POSE")
    rig.data.bones.active = rig.data.bones["B1"]
    rig.pose.bones["B1"].fabrik_joint.limit_type = "CONE"
    # A copy of a bone keeps its name for constraints until somebody looks who may write.
    rig.pose.bones["B0"].fabrik_name = "B1"
    update()
    updates: list[Any] = []
    before = file_bits(rig)
    bpy.app.handlers.depsgraph_update_post.append(updates.append)
    try:
        assert len(shown()) == 1
        assert shown_joint(bpy.context.view_layer) is not None
        update()
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(updates.append)
    assert updates == []
    assert file_bits(rig) == before


def file_bits(rig: Any) -> list[Any]:
    """Return what the file holds of an armature, its bones and its constraints."""
    bones = [(bone.fabrik_name, str(bone.matrix)) for bone in rig.pose.bones]
    names = [prop.identifier for prop in rig.fabrik.constraints[0].bl_rna.properties]
    items = [[str(getattr(item, name)) for name in names] for item in rig.fabrik.constraints]
    return [rigs.channels_bits(rig), rigs.pose_bits(rig), rigs.shown_bits(rig), bones, items]


def test_turning_it_on_and_off_solves_nothing(shown: Any, rig: Any) -> None:

    update()
    known = plan_made()
    with solver_calls() as solved:
        for is_on in (False, True):
            rig.fabrik.constraints[0].show_overlay = is_on
            update()
            assert len(shown()) == is_on
    assert not solved
    assert plan_made() is known


def test_the_switches_are_on_at_first_and_cannot_be_keyed(rig: Any) -> None:
    scene = bpy.context.scene
    for owner, data, path in (
        (scene, scene.fabrik, "fabrik.show_overlay"),
        (rig, rig.fabrik.constraints[0], "fabrik.constraints[0].show_overlay"),
    ):
        assert data.show_overlay
        with pytest.raises((TypeError, RuntimeError)):
            owner.keyframe_insert(path, frame=1)


# The shell as it looks


@pytest.mark.parametrize("is_far", [False, True], ids=("perspective", "orthographic"))
def test_the_outline_is_where_sight_grazes_the_shell(addon: ModuleType, is_far: bool) -> None:
    from addon.features.overlay.shell import Shell

    shell = Shell(((1.5, 0.2, 0, 0, 0.8, 0, 0, 0, -1.1), (1, 2, 3)), 2.0, 0.5)
    eye = (4.0, -6.0, 5.0)
    undone = Matrix([shell.frame[0][i : i + 3] for i in (0, 3, 6)]).inverted()
    seen = undone @ (Vector(eye) if is_far else Vector(eye) - Vector(shell.frame[1]))
    for radius in (shell.outer, shell.inner):
        outline = shell.outline(radius, eye, is_far)
        assert close(outline[0], outline[-1])
        for place in outline:
            point = undone @ (Vector(place) - Vector(shell.frame[1]))
            assert point.length == pytest.approx(radius, abs=NEAR)
            sight = seen if is_far else seen - point
            assert point.dot(sight) == pytest.approx(0.0, abs=1e-4), "it grazes"


def test_the_outline_is_not_there_from_inside_or_if_it_has_no_size(addon: ModuleType) -> None:
    from addon.features.overlay.shell import Shell

    shell = Shell(((1, 0, 0, 0, 1, 0, 0, 0, 1), (0, 0, 0)), 2.0, 0.0)
    assert shell.outline(2.0, (0.1, 0.5, 0.0), False) == []
    assert shell.outline(0.0, (9, 0, 0), False) == []
    flat = Shell(((1, 0, 0, 0, 1, 0, 0, 0, 0), (0, 0, 0)), 2.0, 0.0)
    assert flat.outline(2.0, (0, 0, 9), False) == []
    assert flat.outline(2.0, (0, 0, 9), True) == []
    assert len(shell.great_circles()) == 3
    assert all(
        math.hypot(*place) == pytest.approx(2.0)
        for circle in shell.great_circles()
        for place in circle
    )


# Joints


KINDS: dict[str, dict[str, Any]] = {
    "hinge": {"limit_type": "HINGE", "hinge_axis": "Z", "hinge_min": -0.4, "hinge_max": 1.2},
    "cone": {"limit_type": "CONE", "swing_x": 0.9, "swing_z": 0.4, "center": (0.2, 0.1, 0.3)},
    "blender": {"limit_type": "BLENDER"},
}


@pytest.fixture
def joint(addon: ModuleType, empty_file: None) -> Any:
    from addon.features.overlay.joint import shown_joint

    return lambda: shown_joint(bpy.context.view_layer)


@pytest.fixture
def posed(joint: Any) -> bpy.types.Object:
    """An armature in Pose Mode whose second bone is active and stands off a turned parent."""
    rig = make_armature(
        {"Root": ((0, 0, 0), (0, 0.3, 1), ""), "Bone": ((0.2, 0.1, 1.3), (0.5, 0.2, 2.0), "Root")}
    )
    rig.matrix_world = Matrix.LocRotScale((1, 2, 3), Quaternion((1, 1, 0), 0.7), (1.2, 0.9, 1.1))
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    rig.pose.bones["Root"].rotation_quaternion = Quaternion((1, 0, 2), 0.8)
    rig.pose.bones["Root"].scale = (1.3, 0.8, 1.1)
    rig.pose.bones["Bone"].location = (0.1, 0.2, 0.0)
    bpy.ops.object.mode_set(mode="POSE")
    rig.data.bones.active = rig.data.bones["Bone"]
    return rig


def limit_of(bone: Any) -> Any:
    from addon.settings.joint_limits import ik_settings, joints_of

    joints = joints_of([bone.fabrik_joint], [1])
    return joints.now([ik_settings(bone) for _ in joints.native])[0][0]


@pytest.mark.parametrize("inherit", ["FULL", "ALIGNED", "AVERAGE", "NONE", "FIX_SHEAR"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_is_drawn_where_blender_puts_the_bone_at_the_edge_of_its_limit(
    joint: Any, posed: Any, kind: str, inherit: str
) -> None:
    bone = posed.pose.bones["Bone"]
    bone.bone.inherit_scale = inherit
    for name, value in KINDS[kind].items():
        setattr(bone.fabrik_joint, name, value)
    bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, -0.3, 0.8
    bone.use_ik_limit_y, bone.ik_min_y, bone.ik_max_y = True, -0.2, 0.5
    bone.lock_ik_z = kind == "blender"
    update()
    outline = limit_of(bone).outline()
    drawn = joint()
    for place in range(0, len(outline), 6):
        bone.rotation_quaternion = outline[place]
        update()
        copy = evaluated(posed)
        head, tail = (
            copy.matrix_world @ end
            for end in (copy.pose.bones["Bone"].head, copy.pose.bones["Bone"].tail)
        )
        assert close(drawn.head, head)
        assert close(drawn.edge[place], head.lerp(tail, 0.75))
        assert close(joint().edge[place], drawn.edge[place]), "it does not turn with the bone"


def test_the_twist_of_a_joint_is_drawn_beside_the_bone_as_it_points(joint: Any, posed: Any) -> None:
    bone = posed.pose.bones["Bone"]
    bone.fabrik_joint.limit_type = "CONE"
    bone.rotation_quaternion = Quaternion((1, 0, 1), 0.3)
    update()
    drawn, twists = joint(), limit_of(bone).twists(tuple(bone.rotation_quaternion))
    assert len(drawn.twist) == len(twists)
    copy = evaluated(posed)
    matrix = copy.matrix_world @ copy.pose.bones["Bone"].matrix
    size = bone.bone.length
    assert close(drawn.twisted[0], matrix @ Vector((0, 0.4 * size, 0)))
    assert close(drawn.twisted[1], matrix @ Vector((0.2 * size, 0.4 * size, 0)))
    bone.rotation_quaternion = twists[-1]
    update()
    assert close(joint().twisted[1], drawn.twist[-1])


@pytest.mark.parametrize(("degrees", "is_at_end"), [(0, False), (29, False), (30, True)])
def test_a_limit_is_red_only_where_the_joint_is_at_it(
    joint: Any, posed: Any, degrees: float, is_at_end: bool
) -> None:
    bone = posed.pose.bones["Bone"]
    limit = bone.fabrik_joint
    limit.limit_type, limit.hinge_axis = "HINGE", "X"
    limit.hinge_min, limit.hinge_max = radians(-10), radians(30)
    bone.rotation_quaternion = Quaternion((1, 0, 0), radians(degrees))
    update()
    assert joint().is_at_end == is_at_end


def test_a_bone_whose_joint_is_free_or_wrong_shows_nothing(joint: Any, posed: Any) -> None:
    settings = posed.pose.bones["Bone"].fabrik_joint
    assert joint() is None
    settings.limit_type = "BLENDER"
    update()
    assert joint() is None, "its limits are all off"
    settings.limit_type = "HINGE"
    update()
    assert joint() is not None
    settings.hinge_min = settings.hinge_max + 1.0
    update()
    assert joint() is None, "the panel says what is wrong"
    settings.hinge_min = 0.0
    update()
    posed.data.pose_position = "REST"
    update()
    assert joint() is None
    posed.data.pose_position = "POSE"
    bpy.ops.object.mode_set(mode="OBJECT")
    assert joint() is None


# Blender's calls


@pytest.fixture
def overlay(addon: ModuleType) -> Any:
    from addon.features.overlay import overlay

    return overlay


def context_of(**overlays: bool) -> SimpleNamespace:
    """Return what Blender would draw a region in, as far as it is asked for."""
    shows = {"show_overlays": True, "show_bones": True, **overlays}
    area = SimpleNamespace(overlay=SimpleNamespace(**shows))
    return SimpleNamespace(
        scene=bpy.context.scene, view_layer=bpy.context.view_layer, space_data=area
    )


@pytest.mark.parametrize("switch", ["show_overlays", "show_bones", "scene"])
def test_off_it_looks_at_nothing(overlay: Any, rig: Any, monkeypatch: Any, switch: str) -> None:
    asked: list[str] = []
    monkeypatch.setattr(overlay, "shown_chains", lambda *_: asked.append("chains") or [])
    monkeypatch.setattr(overlay, "shown_joint", lambda *_: asked.append("joint"))
    assert overlay.overlay_data(context_of()) is None
    assert asked == ["chains", "joint"]
    bpy.context.scene.fabrik.show_overlay = switch != "scene"
    assert overlay.overlay_data(context_of(**{switch: False})) is None
    assert asked == ["chains", "joint"], "and no more"


def test_dots_are_where_blender_projects_points_and_not_behind_the_viewer(
    addon: ModuleType, monkeypatch: Any
) -> None:
    from bpy_extras.view3d_utils import location_3d_to_region_2d

    from addon.ui import paint

    drawn: list[Any] = []
    shader = SimpleNamespace(from_builtin=lambda name: name)
    monkeypatch.setattr(paint, "gpu", SimpleNamespace(shader=shader))
    monkeypatch.setattr(paint, "_draw", lambda _shader, _kind, content: drawn.append(content))
    lens = Matrix(((1.5, 0, 0, 0), (0, 2.0, 0, 0), (0, 0, -1.0, -0.02), (0, 0, -1, 0)))
    view: Any = SimpleNamespace(
        perspective_matrix=lens @ Matrix.Translation((0.1, 0.2, -3.0)) @ Matrix.Rotation(1, 4, "X")
    )
    region: Any = SimpleNamespace(width=900, height=700)
    places = [(0.0, 0.0, 0.0), (0.3, -0.4, 0.5), (0.0, 0.0, 9.0), (1.0, 1.0, -1.0)]
    dots = [paint.Dot(p, 2.0 + i, (0.1 * i, 0.0, 0.0, 1.0)) for i, p in enumerate(places)]
    paint.draw_dots(region, view, dots)
    corners = drawn[0]["pos"].reshape(-1, len(paint.DOT), 3)
    seen = [location_3d_to_region_2d(region, view, place) for place in places]
    assert seen[2] is None
    shown = [(dot, there) for dot, there in zip(dots, seen, strict=True) if there is not None]
    for triangles, (dot, middle) in zip(corners, shown, strict=True):
        for x, y, z in triangles:
            assert z == 0.0
            off = Vector((float(x), float(y))) - middle
            assert off.length == pytest.approx(dot.radius, rel=1e-4)
    colors = drawn[0]["color"][:: len(paint.DOT)]
    assert colors[:, 0] == pytest.approx([dot.color[0] for dot, _ in shown])


def test_an_error_is_said_once_and_never_raised(
    overlay: Any, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_context: object) -> None:
        raise RuntimeError("out of paint")

    monkeypatch.setattr(overlay, "overlay_data", fail)
    for _ in range(3):
        overlay.on_world()
        overlay.on_pixels()
    printed = capsys.readouterr().out
    assert printed.count("RuntimeError: out of paint") == 1
    assert printed.count("could not draw its overlay") == 1


def test_it_comes_and_goes_with_the_extension(overlay: Any, addon: ModuleType) -> None:
    from addon.ui.registering import handles

    draws = bpy.types.VIEW3D_PT_overlay_object.draw._draw_funcs
    assert len(handles[overlay.__name__]) == 2
    assert overlay.draw_switch in draws
    addon.unregister()
    try:
        assert overlay.__name__ not in handles
        assert overlay.draw_switch not in draws
        assert not hasattr(bpy.types.Scene, "fabrik")
    finally:
        addon.register()
    assert len(handles[overlay.__name__]) == 2


def test_the_corner_tells_how_the_chains_do(overlay: Any, shown: Any) -> None:
    rig = make_chain(2, joints=STRAIGHT)
    for i in range(8):
        add_constraint(rig, "B1", make_empty(location=(0, 0, 5)), name=f"IK {i}")
    rig.fabrik.active_index = 7
    renew()
    update()
    view = SimpleNamespace(overlay=SimpleNamespace(show_stats=True))
    context = SimpleNamespace(scene=bpy.context.scene, space_data=view, object=rig)
    chains = shown()
    lines = overlay.report(context, chains)
    assert lines[0] == "IK 7: Out of Reach, error 3 m"
    assert lines[-1] == f"and {len(chains) - 6} more"
    update(rig)
    assert overlay.report(context, chains)[-1].startswith("FABRIK IK: ")
    view.overlay.show_stats = False
    assert not overlay.report(context, chains)[-1].startswith("FABRIK IK: ")
    assert overlay.report(context, []) == []


def test_the_corner_names_what_cannot_be_computed_ahead(overlay: Any, shown: Any) -> None:
    rig = make_chain(3, joints=[(0, 0, 0), (0, 0.1, 1), (0, 0, 2), (0, 0.1, 3)])
    add_constraint(rig, "B2", make_empty(location=(0, 1, 2.5)), chain_count=1)
    view = SimpleNamespace(overlay=SimpleNamespace(show_stats=True))
    context = SimpleNamespace(scene=bpy.context.scene, space_data=view, object=rig)
    why = "Evaluated twice: the transform of “B1” is only known after the first evaluation"

    def lines() -> list[str]:
        renew()
        update()
        overlay.report(context, shown())
        rig.update_tag()
        update()
        return overlay.report(context, shown())

    assert why not in lines()
    native = rig.pose.bones["B1"].constraints.new("IK")
    native.target, native.chain_count = make_empty(location=(0, 1, 1.5)), 1
    assert lines()[-1] == why
    context.object = native.target
    assert why not in lines()


def test_time_is_taken_only_of_updates_that_were_asked_for(overlay: Any, rig: Any) -> None:
    times: Iterator[float] = iter((10.0, 12.5))
    clock = lambda: next(times)  # noqa: E731
    renew()
    timing = overlay.timing
    with replaced(perf_counter, clock):
        rig.update_tag()
        update()  # It would take a time that nobody asked for.
        assert timing.last() is None
        update(rig)
        rig.update_tag()
        update()  # Nobody has asked again.
        assert timing.last() == 2.5
