"""Chains that hang between their root and their target."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import bmesh
import bpy
import pytest
import rigs
from mathutils import Euler, Matrix, Vector
from operating import click_bone, enter_pose_mode
from shapes import make_ball

from addon.blender import surface

END = 1e-5
"""The most by which a rope may miss its ends, as a share of its length."""

DEPTH = 1e-4
"""How deep a joint may be in what the rope rests on, as a share of its length."""


def make_rope(count: int = 20) -> bpy.types.Object:
    """Make a straight chain along X, whose bones are not all as long."""
    weights = [1.0 + 0.5 * (i % 3) for i in range(count)]
    joints = [(2.0 * sum(weights[:i]) / sum(weights), 0.0, 0.0) for i in range(count + 1)]
    return rigs.make_chain(count, "Rope", joints)


def hang(
    rig: bpy.types.Object, target: bpy.types.Object, **settings: object
) -> bpy.types.PropertyGroup:
    item = rigs.add_constraint(rig, rig.data.bones[-1].name, target, solver="ROPE", **settings)
    rigs.update()
    return item


def joints(rig: bpy.types.Object) -> list[Vector]:
    """The joints in world space, as evaluated."""
    shown = rigs.evaluated(rig)
    bones = shown.pose.bones
    return [shown.matrix_world @ place for place in (*[b.head for b in bones], bones[-1].tail)]


def energy(places: Sequence[Vector]) -> float:
    """The potential energy of bones that are as heavy as they are long."""
    return sum((b - a).length * 0.5 * (a.z + b.z) for a, b in pairwise(places))


def make_box(size: float, location: Sequence[float], name: str = "Box") -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    shape = bmesh.new()
    bmesh.ops.create_cube(shape, size=size)
    shape.to_mesh(mesh)
    shape.free()
    box = rigs.link(bpy.data.objects.new(name, mesh))
    box.location = location
    return box


@pytest.mark.parametrize("place", [(1.2, 0.3, 0.1), (0, 0, 0.5), (0, 0, 0), (0.2, 0, -1.9)])
def test_both_ends_and_all_lengths_are_kept(place: Sequence[float]) -> None:
    rig, target = make_rope(), rigs.make_empty("Target", place)
    before = [(b - a).length for a, b in pairwise(joints(rig))]
    item = hang(rig, target)
    after = joints(rig)
    assert after[0].length < END * 2.0
    assert rigs.tip_error(rig, "B19", target) < END * 2.0
    assert [(b - a).length for a, b in pairwise(after)] == pytest.approx(before, abs=END * 2.0)
    assert item.state == "REACHED"
    assert item.message == ""


@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 1, 0.5), (-1, 1, 1)])
def test_it_hangs_downwards_in_the_world_however_its_armature_stands(
    scale: Sequence[float],
) -> None:
    rig = make_rope(6)
    rig.location, rig.rotation_euler, rig.scale = (1, 2, 3), (0.7, -0.4, 2.0), scale
    rigs.update()
    world = rig.matrix_world
    target = rigs.make_empty("Target", world @ Vector((1.3, 0.2, 0.2)))
    item = hang(rig, target)
    assert item.state == "REACHED", item.message
    assert rigs.tip_error(rig, "B5", target) < END * 4.0
    # Turned about the line from end to end, all its joints would come to lie higher.
    places = joints(rig)
    axis = places[-1] - places[0]
    if scale == (1, 1, 1):
        for angle in (-0.05, 0.05):
            turn = Matrix.Rotation(angle, 4, axis)
            turned = [places[0] + turn @ (place - places[0]) for place in places]
            assert energy(turned) > energy(places)
    assert sum(place.z for place in places[1:-1]) / 5 < 0.5 * (places[0].z + places[-1].z)


def test_it_hangs_where_the_gravity_of_the_scene_points() -> None:
    rig, target = make_rope(), rigs.make_empty("Target", (1.2, 0, 0))
    item = hang(rig, target)
    item.rope.use_scene_gravity = True
    bpy.context.scene.gravity = (0, 5, 0)
    rigs.update()
    assert max(place.y for place in joints(rig)) > 0.4
    assert min(place.z for place in joints(rig)) > -1e-5
    bpy.context.scene.use_gravity = False
    rigs.update()
    assert min(place.z for place in joints(rig)) < -0.4


@pytest.mark.parametrize("others", [0, 1])
def test_an_animated_gravity_is_followed(others: int) -> None:
    """Also beside animated armatures, for which only woken ones are solved."""
    scene = bpy.context.scene
    for _ in range(others):
        other = rigs.make_chain(3, "Other")
        rigs.add_constraint(other, "B2", rigs.make_empty("Aim"))
        other.pose.bones["B0"].keyframe_insert("location", frame=1)
    rig = make_rope()
    item = hang(rig, rigs.make_empty("Target", (1.2, 0, 0)))
    item.rope.use_scene_gravity = True
    rigs.key(scene, "gravity", {1: (0, 0, -9.81), 10: (0, 9.81, 0)})
    rigs.go(10)
    assert max(place.y for place in joints(rig)) > 0.4
    rigs.go(1)
    assert max(place.y for place in joints(rig)) < 1e-5


def test_beyond_its_length_it_is_straight_and_says_so() -> None:
    rig, target = make_rope(), rigs.make_empty("Target", (3, 0, 4))
    item = hang(rig, target)
    assert item.state == "OUT_OF_REACH"
    assert item.error == pytest.approx(3.0, abs=1e-5)
    assert item.message == "The target is beyond the reach of the chain"
    assert (joints(rig)[-1] - Vector((1.2, 0, 1.6))).length < END * 2.0


def test_one_bone_cannot_hang_and_points_to_its_target() -> None:
    rig = make_rope(1)
    item = hang(rig, rigs.make_empty("Target", (0, 1, 1)))
    start, end = joints(rig)
    assert (end - start).normalized().dot(Vector((0, 1, 1)).normalized()) > 1 - 1e-6
    assert item.state == "OUT_OF_REACH" and item.message


def test_it_may_stretch() -> None:
    rig, target = make_rope(), rigs.make_empty("Target", (3, 0, 4))
    item = hang(rig, target, use_stretch=True, stretch_max=4.0)
    assert item.state == "REACHED", item.message
    assert rigs.tip_error(rig, "B19", target) < 1e-4
    target.location = (1, 0, 0)
    rigs.update()
    lengths = [(b - a).length for a, b in pairwise(joints(rig))]
    assert sum(lengths) == pytest.approx(2.0, abs=1e-4)


def test_limits_of_joints_do_not_hold_a_rope() -> None:
    rig, target = make_rope(), rigs.make_empty("Target", (0.5, 0, 0))
    for bone in rig.pose.bones:
        bone.fabrik_joint.limit_type = "CONE"
        bone.fabrik_joint.swing_x = bone.fabrik_joint.swing_z = 0.01
    item = hang(rig, target)
    assert item.state == "REACHED"
    assert rigs.tip_error(rig, "B19", target) < END * 2.0


@pytest.mark.parametrize("turn", [(0, 0, 0), (0.3, 0.2, 1.0)])
def test_it_rests_on_the_plane_of_an_object(turn: Sequence[float]) -> None:
    rig, target = make_rope(40), rigs.make_empty("Target", (1.0, 0.1, 0.0))
    plane = rigs.make_empty("Plane", (0.2, 0, -0.4))
    plane.rotation_euler = turn
    item = hang(rig, target)
    free = joints(rig)
    item.rope.collision, item.rope.collision_object = "PLANE", plane
    rigs.update()
    normal = Euler(turn).to_matrix().col[2]
    rested = joints(rig)
    heights = [(place - plane.location).dot(normal) for place in rested]
    assert min((place - plane.location).dot(normal) for place in free) < -0.1
    assert min(heights) > -DEPTH * 2.0
    assert sum(abs(height) < DEPTH * 2.0 for height in heights) > 4
    assert rigs.tip_error(rig, "B39", target) < END * 2.0
    assert rested[0].length < END * 2.0
    item.rope.thickness = 0.05
    rigs.update()
    heights = [(place - plane.location).dot(normal) for place in joints(rig)]
    assert min(heights) > 0.05 - DEPTH * 2.0


def test_it_lies_over_a_mesh() -> None:
    rig, target = make_rope(40), rigs.make_empty("Target", (1.2, 0, 0))
    ball = make_ball(0.5, (0.6, 0.1, -0.8))
    item = hang(rig, target)
    inside = min((place - ball.location).length for place in joints(rig))
    assert inside < 0.3
    item.rope.collision, item.rope.collision_object = "MESH", ball
    rigs.update()
    assert item.state == "REACHED", item.message
    assert rigs.tip_error(rig, "B39", target) < END * 2.0
    to_ball = ball.matrix_world.inverted()
    for place in joints(rig):
        found, at, normal, _ = ball.closest_point_on_mesh(to_ball @ place)
        assert found
        assert (to_ball @ place - at).dot(normal) > -5e-3  # Facets are flat, and bones straight.


def test_it_follows_a_mesh_that_moves_or_is_deformed() -> None:
    rig, target = make_rope(20), rigs.make_empty("Target", (1.2, 0, 0))
    box = make_box(1.0, (0.6, 0, -1.2))
    item = hang(rig, target)
    item.rope.collision, item.rope.collision_object = "MESH", box
    item.rope.thickness = 0.01
    rigs.update()
    assert lowest_on(rig) == pytest.approx(-0.7, abs=0.011)
    box.location.z = -1.0
    rigs.update()
    assert lowest_on(rig) == pytest.approx(-0.5, abs=0.011)
    box.shape_key_add(name="Basis")
    grown = box.shape_key_add(name="Grown")
    for point in grown.data:
        point.co.z += 0.1
    grown.value = 1.0
    rigs.update()
    assert lowest_on(rig) == pytest.approx(-0.4, abs=0.011)
    grown.value = 0.5  # The driver does not notice, as the box stays in place.
    rigs.update()
    assert lowest_on(rig) == pytest.approx(-0.45, abs=0.011)


@pytest.mark.parametrize("shares", [False, True], ids=["own", "shared"])
def test_it_lies_over_a_mesh_that_is_edited(shares: bool) -> None:
    rig, target = make_rope(20), rigs.make_empty("Target", (1.2, 0, 0))
    box = make_box(1.0, (0.6, 0, -1.2))
    item = hang(rig, target)
    item.rope.collision, item.rope.collision_object = "MESH", box
    item.rope.thickness = 0.01
    edited = rigs.link(bpy.data.objects.new("Edited", box.data)) if shares else box
    rigs.activate(edited, "EDIT")
    rigs.update()
    assert item.state == "REACHED", item.message
    assert lowest_on(rig) == pytest.approx(-0.7, abs=0.011)
    for vertex in bmesh.from_edit_mesh(edited.data).verts:
        vertex.co.z += 0.1
    bmesh.update_edit_mesh(edited.data)
    rigs.update()
    assert lowest_on(rig) == pytest.approx(-0.6, abs=0.011)
    bpy.ops.object.mode_set(mode="OBJECT")
    rigs.update()
    assert lowest_on(rig) == pytest.approx(-0.6, abs=0.011)


def test_a_mesh_is_read_again_only_if_it_may_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    rig, target = make_rope(20), rigs.make_empty("Target", (1.2, 0, 0))
    rigs.key(target, "location", {1: (1.2, 0, 0), 60: (1.25, 0, 0)})
    box = make_box(1.0, (0.6, 0, -1.2))
    item = hang(rig, target)
    item.rope.collision, item.rope.collision_object = "MESH", box
    item.rope.thickness = 0.01
    read: list[str] = []
    values = surface._values

    def noting(mesh: bpy.types.Mesh, name: str, *args: Any) -> Any:
        read.append(name)
        return values(mesh, name, *args)

    monkeypatch.setattr(surface, "_values", noting)
    rigs.go(1)
    rigs.go(2)  # The first frame in which nothing was edited.
    assert len(read) == 8
    read.clear()
    for frame in (3, 1, 2):
        rigs.go(frame)
        assert lowest_on(rig) == pytest.approx(-0.7, abs=0.011)
    assert not read
    for vertex in box.data.vertices:
        vertex.co.z += 0.1
    rigs.go(2)
    assert lowest_on(rig) == pytest.approx(-0.6, abs=0.011)
    box.shape_key_add(name="Basis")
    grown = box.shape_key_add(name="Grown")
    for point in grown.data:
        point.co.z += 0.1
    for frame, grown.value in ((10, 0.0), (20, 1.0)):
        grown.keyframe_insert("value", frame=frame)
    for frame, height in ((10, -0.6), (20, -0.5), (15, -0.55), (10, -0.6)):
        rigs.go(frame)
        assert lowest_on(rig) == pytest.approx(height, abs=0.011)


def lowest_on(rig: bpy.types.Object) -> float:
    """How high the lowest joint above the middle of the box is."""
    return min(place.z for place in joints(rig) if 0.3 < place.x < 0.9)


def test_a_rope_on_a_bone_that_another_chain_poses_is_right_at_once() -> None:
    """Root and hook are both carried by solved chains, and so is the plane."""
    bones = {"Arm0": ((0, 0, 0), (0, 0.1, 1), ""), "Arm1": ((0, 0.1, 1), (0, 0, 2), "Arm0")}
    for i in range(10):
        head, tail = (0.2 * i, 0, 2), (0.2 * i + 0.2, 0, 2)
        bones[f"R{i}"] = (head, tail, f"R{i - 1}" if i else "Arm1")
    rig = rigs.make_armature(bones)
    hand, other = rigs.make_empty("Hand", (0.5, 0.2, 1.2)), rigs.make_empty("Other", (1, 1, 1))
    carrier = rigs.make_chain(2, "Carrier")
    carrier.location = (2, 0, 0)
    for chain, tip, target in ((rig, "Arm1", hand), (carrier, "B1", other)):
        rigs.add_constraint(chain, tip, target)
    hook, plane = rigs.make_empty("Hook", (0, 0, 0)), rigs.make_empty("Plane", (0, 0, -1))
    for ob in (hook, plane):
        ob.parent, ob.parent_type, ob.parent_bone = carrier, "BONE", "B1"
    item = rigs.add_constraint(rig, "R9", hook, chain_count=10, solver="ROPE")
    item.rope.collision, item.rope.collision_object = "PLANE", plane
    rigs.update()
    for place in ((1, 1, 1), (1.5, 0.2, 1.4), (1.2, -0.3, 0.8)):
        other.location = place
        hand.location.x += 0.1
        rigs.update()
        shown = rigs.pose_bits(rig)
        assert rigs.tip_error(rig, "R9", hook) < END * 2.0
        rigs.update(rig)
        assert rigs.pose_bits(rig) == shown


@pytest.mark.parametrize(
    ("breaking", "sentence"),
    [
        (
            lambda item: setattr(item.rope, "collision", "PLANE"),
            "No collision object: choose an Object, or set Collision to None",
        ),
        (
            lambda item: rest(item, "MESH", rigs.make_empty("Nothing")),
            "“Nothing” isn't a mesh: choose a mesh object, or set Collision to Plane",
        ),
        (
            lambda item: rest(item, "PLANE", item.id_data),
            "“Rope” can't collide with itself: choose another Object for the collision",
        ),
        (
            lambda item: rest(item, "MESH", rigs.link(bpy.data.objects.new("Bare", bare_mesh()))),
            "“Bare” has no faces to rest on, or is excluded from the view layer: "
            "choose another Object for the collision",
        ),
        (
            lambda item: setattr(rest(item, "PLANE", rigs.make_empty("Flat")), "scale", (0, 0, 0)),
            "“Flat” has zero scale, so it has no plane: change its scale",
        ),
        (
            lambda item: setattr(rest(item, "MESH", make_box(1, (0, 0, 0))), "scale", (1, 0, 1)),
            "“Box” has zero scale: change its scale",
        ),
        (
            lambda item: setattr(item, "target", None),
            "No target: choose an object or a bone",
        ),
    ],
)
def test_bad_input_is_said_in_place(breaking: Callable[..., object], sentence: str) -> None:
    rig = make_rope()
    item = hang(rig, rigs.make_empty("Target", (1, 0, 0)))
    before = rigs.shown_bits(rig)
    breaking(item)
    rigs.update()
    assert (item.state, item.message) == ("INVALID", sentence)
    assert rigs.shown_bits(rig) != before  # Its FK pose is back.
    item.rope.collision = "NONE"
    item.target = item.target or bpy.data.objects["Target"]
    rigs.update()
    assert item.state == "REACHED"


def rest(item: bpy.types.PropertyGroup, kind: str, ob: bpy.types.Object) -> bpy.types.Object:
    item.rope.collision, item.rope.collision_object = kind, ob
    return ob


def bare_mesh() -> bpy.types.Mesh:
    return bpy.data.meshes.new("Bare")


def test_the_overlay_shows_what_hangs() -> None:
    from addon.features.overlay.chains import shown_chains

    rig = make_rope()
    hang(rig, rigs.make_empty("Target", (1.2, 0, 0)))
    rigs.add_constraint(rig, "B19", solver="WAVE")
    rigs.activate(rig)
    rigs.update()
    shown = shown_chains(bpy.context.view_layer)
    assert [len(chain.joints) for chain in shown] == [21, 21]


def test_the_button_hangs_the_whole_chain_on_the_selected_object() -> None:
    rig, target = make_rope(), rigs.make_empty("Hook", (1, 0, 0))
    enter_pose_mode(rig)
    target.select_set(True)
    click_bone(rig, "B19")
    assert bpy.ops.fabrik.rope_add() == {"FINISHED"}
    (item,) = rig.fabrik.constraints
    assert (item.solver, item.bone, item.chain_count) == ("ROPE", "B19", 0)
    assert item.target == target
    rigs.update()
    assert rigs.tip_error(rig, "B19", target) < END * 2.0


def test_without_a_selected_object_it_hangs_where_its_tip_is() -> None:
    rig = make_rope()
    enter_pose_mode(rig, click="B19")
    before = joints(rig)
    assert bpy.ops.fabrik.rope_add() == {"FINISHED"}
    rigs.update()
    assert max((a - b).length for a, b in zip(before, joints(rig), strict=True)) < 2e-3
    assert rig.fabrik.constraints[0].target.name == "B19 Target"


def test_the_button_needs_a_bone() -> None:
    make_rope()
    assert not bpy.ops.fabrik.rope_add.poll()
    assert not bpy.ops.fabrik.wave_add.poll()


def test_a_rope_that_is_scaled_to_zero_says_so():
    rig = rigs.make_chain(3)
    rigs.add_constraint(rig, "B2", rigs.make_empty(), solver="ROPE")
    for bone in rig.pose.bones:
        bone.scale = (0.0, 0.0, 0.0)
    rigs.update()
    assert "zero scale" in rig.fabrik.constraints[0].message
