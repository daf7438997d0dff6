"""Motion paths of solved bones, of what moves with them, and of nothing else."""

from math import dist
from typing import Any

import bpy
import pytest
import rigs
from mathutils import Vector
from operating import click_bone, enter_pose_mode, refuses

FRAMES = range(1, 13)
SWING = {1: (0.2, 0.1, 0.5), 6: (0.6, 0.3, 0.3), 12: (-0.4, 0.2, 0.6)}


@pytest.fixture
def rig() -> bpy.types.Object:
    """A chain of three bones whose target is keyed, in Pose Mode."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    armature = rigs.make_chain(3)
    armature.location = (0.3, -1.0, 0.2)
    armature.rotation_euler = (0.2, 0.4, -0.7)
    target = rigs.make_empty("Target")
    rigs.key(target, "location", SWING)
    rigs.add_constraint(armature, "B2", target)
    enter_pose_mode(armature)
    return armature


def points(path: Any) -> list[Vector]:
    return [Vector(point.co) for point in path.points]


def shown(look: Any) -> list[Vector]:
    found = []
    for frame in FRAMES:
        rigs.go(frame)
        found.append(look())
    return found


def worst(path: Any, places: list[Vector]) -> float:
    return max(dist(a, b) for a, b in zip(points(path), places, strict=True))


@pytest.mark.parametrize("end", ["HEADS", "TAILS"])
def test_paths_of_solved_bones_lead_through_them(rig: bpy.types.Object, end: str) -> None:
    click_bone(rig, "B2")
    bpy.ops.fabrik.paths_calculate(range="SCENE", bake_location=end)
    bone = rig.pose.bones["B2"]

    def place() -> Vector:
        shown_rig = rigs.evaluated(rig)
        now = shown_rig.pose.bones["B2"]
        return shown_rig.matrix_world @ (now.head if end == "HEADS" else now.tail)

    assert worst(bone.motion_path, shown(place)) < 1e-6


@pytest.mark.skipif(bpy.app.version < (5, 0, 0), reason="handlers are called before Blender 5")
def test_blender_alone_leads_them_through_the_fk_pose(rig: bpy.types.Object) -> None:
    """What all of this is for; if it fails one day, the feature can go."""
    click_bone(rig, "B2")
    bpy.ops.pose.paths_calculate(range="SCENE", bake_location="TAILS")
    tips = shown(lambda: rigs.tip_world(rig, "B2"))
    assert worst(rig.pose.bones["B2"].motion_path, tips) > 0.3


def test_objects_that_move_with_a_solved_bone_get_their_paths_too(rig: bpy.types.Object) -> None:
    hat = rigs.make_empty("Hat")
    hat.parent, hat.parent_type, hat.parent_bone = rig, "BONE", "B2"
    copy = rigs.make_empty("Copy")
    copy.constraints.new("COPY_LOCATION").target = hat
    bpy.ops.object.mode_set(mode="OBJECT")
    for ob in bpy.context.view_layer.objects:
        ob.select_set(ob in (hat, copy))
    bpy.context.view_layer.objects.active = hat
    bpy.ops.fabrik.paths_calculate(range="SCENE")
    for ob in (hat, copy):
        assert worst(ob.motion_path, shown(lambda ob=ob: rigs.world_location(ob))) < 1e-6


def test_update_follows_what_was_edited_and_the_range(rig: bpy.types.Object) -> None:
    click_bone(rig, "B2")
    bpy.ops.fabrik.paths_calculate(range="SCENE", bake_location="TAILS")
    rigs.key(bpy.data.objects["Target"], "location", {6: (-0.5, -0.5, 0.3)})
    bpy.context.scene.frame_start = 3
    bpy.ops.fabrik.paths_update()
    path = rig.pose.bones["B2"].motion_path
    tips = shown(lambda: rigs.tip_world(rig, "B2"))
    assert list(range(path.frame_start, path.frame_start + path.length)) == list(FRAMES[2:])
    assert worst(path, tips[2:]) < 1e-6


def test_paths_in_camera_space_are_as_blender_has_them(rig: bpy.types.Object) -> None:
    """Blender's own path of a bone that nothing solves is the reference, from a moving camera."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    camera.rotation_euler = (1.2, 0.1, 0.3)
    rigs.key(camera, "location", {1: (1.0, -7.0, 3.0), 12: (3.0, -7.0, 5.0)})
    scene.render.resolution_x, scene.render.pixel_aspect_y = 500, 2.0
    other = rigs.make_chain(1, "Other")
    other.rotation_euler = (0.4, 0.2, 0.0)
    rigs.key(other, "location", SWING)
    enter_pose_mode(other)
    other.pose.animation_visualization.motion_path.use_camera_space_bake = True
    click_bone(other, "B0")
    bpy.ops.pose.paths_calculate(range="SCENE", bake_location="TAILS")
    expected = points(other.pose.bones["B0"].motion_path)
    bpy.ops.fabrik.paths_update()
    assert worst(other.pose.bones["B0"].motion_path, expected) < 1e-5


def test_the_frame_unkeyed_values_and_visibility_are_as_before(rig: bpy.types.Object) -> None:
    rigs.go(4)
    target = bpy.data.objects["Target"]
    target.location.x += 0.1
    rig.pose.bones["B0"].rotation_quaternion = (0.9, 0.1, 0.2, 0.3)
    rigs.update()
    before = (rigs.channels_bits(rig), tuple(target.location), bpy.context.scene.frame_current)
    click_bone(rig, "B2")
    bpy.ops.fabrik.paths_calculate(range="SCENE")
    assert (
        rigs.channels_bits(rig),
        tuple(target.location),
        bpy.context.scene.frame_current,
    ) == before
    assert not any(ob.hide_viewport for ob in bpy.data.objects)


def test_blenders_paths_are_noticed_and_corrected(
    rig: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after an edit with auto keying, for which Blender calculates some frames anew."""
    from addon.features.motion_paths import renewing

    noticed: list[int] = []
    monkeypatch.setattr(renewing, "_correct_soon", lambda: noticed.append(1))
    path_of = rig.pose.bones["B2"]
    click_bone(rig, "B2")
    rigs.update()
    noticed.clear()
    for _ in range(2):
        bpy.ops.pose.paths_calculate(range="SCENE", bake_location="TAILS")
        rigs.update()
        assert noticed
        assert renewing._correct() is None
        assert worst(path_of.motion_path, shown(lambda: rigs.tip_world(rig, "B2"))) < 1e-6
        noticed.clear()
        rigs.update()
        rigs.update(rig)
        assert not noticed


def test_only_frames_that_blender_calculated_are_played(
    rig: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.features.motion_paths import renewing

    click_bone(rig, "B2")
    bpy.ops.fabrik.paths_calculate(range="SCENE", bake_location="TAILS")
    path = rig.pose.bones["B2"].motion_path
    right = points(path)
    for frame in (5, 6, 7):
        path.points[frame - 1].co = (0.0, 0.0, 0.0)
    played: list[int] = []
    play = renewing.calculate

    def noting(scene: Any, layer: Any, wanted: Any) -> Any:
        played.extend(frame for frames in wanted.values() for frame in frames)
        return play(scene, layer, wanted)

    monkeypatch.setattr(renewing, "calculate", noting)
    renewing._correct()
    assert played == [5, 6, 7]
    assert points(path) == right


def test_paths_of_a_loaded_file_are_not_calculated_anew(
    rig: bpy.types.Object, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.features.motion_paths import renewing

    click_bone(rig, "B2")
    bpy.ops.fabrik.paths_calculate(range="SCENE", bake_location="TAILS")
    name = rig.name
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "paths.blend"))
    noticed: list[int] = []
    monkeypatch.setattr(renewing, "_correct_soon", lambda: noticed.append(1))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "paths.blend"))
    loaded = bpy.data.objects[name]
    rigs.update(loaded)
    assert not noticed


def test_a_path_that_misses_its_bone_is_told(rig: bpy.types.Object) -> None:
    from addon.features.motion_paths.operators import _missing
    from addon.features.motion_paths.paths import paths_of

    click_bone(rig, "B2")
    bpy.ops.fabrik.paths_calculate(range="SCENE", bake_location="TAILS")
    rig.pose.bones["B2"].motion_path.points[5].co.x += 0.01
    rigs.go(6)
    assert "is off by 1 cm" in _missing(bpy.context, list(paths_of(rig)))
    bpy.ops.fabrik.paths_update()
    for frame in FRAMES:
        rigs.go(frame)
        assert _missing(bpy.context, list(paths_of(rig))) == ""


def test_files_without_constraints_are_blenders_own(rig: bpy.types.Object) -> None:
    """There every path is right already, and nothing is played."""
    from addon.features.motion_paths.paths import affected_paths

    click_bone(rig, "B2")
    bpy.ops.fabrik.paths_calculate(range="SCENE")
    bpy.ops.fabrik.constraint_remove()
    rigs.update()
    assert affected_paths(bpy.context.view_layer) == []


def test_it_asks_for_a_path_to_update(rig: bpy.types.Object) -> None:
    refuses(bpy.ops.fabrik.paths_update, "No motion paths")


def test_a_range_that_blender_refuses_is_said(rig: bpy.types.Object) -> None:
    """Keys of a single frame make no path."""
    click_bone(rig, "B2")
    rig.pose.bones["B2"].keyframe_insert("rotation_quaternion", frame=5)
    with pytest.raises(
        RuntimeError, match=r"choose another Calculation Range.*single-frame"
    ) as info:
        bpy.ops.fabrik.paths_calculate(range="KEYS_ALL")
    assert "Traceback" not in str(info.value)
    assert rig.pose.bones["B2"].motion_path is None


def test_rounding_is_no_miss_wherever_and_however_large_the_rig_is(rig: bpy.types.Object) -> None:
    from addon.features.motion_paths.operators import _missing
    from addon.features.motion_paths.paths import paths_of

    for size, place in ((1.0, 0.0), (1e-4, 0.0), (1.0, 1e4)):
        rig.scale = (size, size, size)
        rig.location = (0.3 * size + place, -size, 0.2 * size)
        rigs.key(
            bpy.data.objects["Target"],
            "location",
            {i: (size * x + place, size * y, size * z) for i, (x, y, z) in SWING.items()},
        )
        click_bone(rig, "B2")
        bpy.ops.fabrik.paths_calculate(range="SCENE", bake_location="TAILS")
        path = rig.pose.bones["B2"].motion_path
        for frame in FRAMES:
            rigs.go(frame)
            assert _missing(bpy.context, list(paths_of(rig))) == "", (size, place)
        path.points[FRAMES[-1] - 1].co.y += 1e-3 * size
        if place == 0.0:
            assert "is off by" in _missing(bpy.context, list(paths_of(rig))), size


def test_a_point_that_is_no_number_is_calculated_once(rig: bpy.types.Object) -> None:
    from addon.features.motion_paths import renewing
    from addon.features.motion_paths.paths import paths_of

    click_bone(rig, "B2")
    bpy.ops.fabrik.paths_calculate(range="SCENE")
    (path,) = paths_of(rig)
    path.data.points[3].co = (float("nan"), 0.0, 0.0)
    renewing.note_calculated({path.key: path.points()})
    assert renewing._outdated(path) == []
