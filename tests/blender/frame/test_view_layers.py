"""What one view layer shows does not depend on another being evaluated."""

from collections.abc import Callable

import bpy
import pytest
import rigs
from inside import unseen
from operating import select_bone


def known_ahead() -> bpy.types.Object:
    rig = rigs.make_chain(3)
    rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.4, 0.9, 1.5)))
    return rig


def found_afterwards() -> bpy.types.Object:
    """Its target follows another, as a constraint of Blender's says: that is not solved ahead."""
    rig = rigs.make_chain(3)
    target = rigs.make_empty()
    target.constraints.new("COPY_LOCATION").target = rigs.make_empty("Other", (0.4, 0.9, 1.5))
    rigs.add_constraint(rig, "B2", target)
    return rig


def keyed() -> bpy.types.Object:
    rig = known_ahead()
    for frame, angle in ((1, 0.2), (20, 0.6)):
        rigs.key(rig.pose.bones["B1"], "rotation_quaternion", {frame: (1.0, angle, 0.0, 0.0)})
    rigs.go(7)
    return rig


RIGS = [known_ahead, found_afterwards, keyed]


def select_in_object_mode(rig: bpy.types.Object) -> None:
    select_bone(rig, "B1")


def select_in_pose_mode(rig: bpy.types.Object) -> None:
    rigs.activate(rig, "POSE")
    select_bone(rig, "B2", on=False)


def select_all(rig: bpy.types.Object) -> None:
    rigs.activate(rig, "POSE")
    bpy.ops.pose.select_all(action="INVERT")


def toggle_pose_mode(rig: bpy.types.Object) -> None:
    rigs.activate(rig)
    bpy.ops.object.posemode_toggle()


def hide_bone(rig: bpy.types.Object) -> None:
    owner = rig.pose if bpy.app.version >= (5, 0) else rig.data
    owner.bones["B1"].hide = not owner.bones["B1"].hide


def toggle_weight_paint(rig: bpy.types.Object) -> None:
    """Of a mesh that the armature deforms, with the armature selected in Pose Mode."""
    mesh = bpy.data.objects.get("Skin") or skinned_by(rig)
    if mesh.mode == "OBJECT":
        rigs.activate(rig, "POSE")
        bpy.context.view_layer.objects.active = mesh
    bpy.ops.paint.weight_paint_toggle()


def skinned_by(rig: bpy.types.Object) -> bpy.types.Object:
    data = bpy.data.meshes.new("Skin")
    data.from_pydata([(0, 0, z / 2) for z in range(7)], [], [])
    mesh = bpy.data.objects.new("Skin", data)
    bpy.context.scene.collection.objects.link(mesh)
    mesh.modifiers.new("Armature", "ARMATURE").object = rig
    for bone in rig.data.bones:
        mesh.vertex_groups.new(name=bone.name).add(range(7), 0.3, "ADD")
    return mesh


CLICKS = [
    select_in_object_mode,
    select_in_pose_mode,
    select_all,
    toggle_pose_mode,
    hide_bone,
    toggle_weight_paint,
]


def second_view_layer(_rig: bpy.types.Object) -> bpy.types.ViewLayer:
    return bpy.context.scene.view_layers.new("Second")


def another_scene(_rig: bpy.types.Object) -> bpy.types.ViewLayer:
    """Another scene that contains the same objects."""
    scene = bpy.data.scenes.new("Other")
    for ob in bpy.context.scene.objects:
        scene.collection.objects.link(ob)
    scene.frame_current = bpy.context.scene.frame_current
    return scene.view_layers[0]


@pytest.mark.parametrize("make", RIGS)
@pytest.mark.parametrize("click", CLICKS)
@pytest.mark.parametrize("elsewhere", [second_view_layer, another_scene])
def test_a_click_shows_the_solution_whatever_another_view_layer_has_shown(
    make: Callable[[], bpy.types.Object],
    click: Callable[[bpy.types.Object], object],
    elsewhere: Callable[[bpy.types.Object], bpy.types.ViewLayer],
) -> None:
    """Blender copies the pose of the layer evaluated last, the first time without our handlers."""
    rig = make()
    rigs.update()
    solved, given = rigs.pose_bits(rig), rigs.channels_bits(rig)
    other = elsewhere(rig)
    other.update()
    assert rigs.pose_bits(rig, depsgraph=other.depsgraph) != solved
    for _ in range(2):
        click(rig)
        rigs.update()
        assert rigs.pose_bits(rig) == solved
        assert rigs.tip_error(rig, "B2", rig.fabrik.constraints[0].target) < 1e-3
        assert rigs.channels_bits(rig) == given
        other.update()
        assert rigs.pose_bits(rig, depsgraph=other.depsgraph) == solved


def test_a_view_layer_is_solved_that_has_the_name_of_a_removed_one() -> None:
    """Windows ask for what a view layer has not shown yet."""
    rig = known_ahead()
    rigs.update()
    scene = bpy.context.scene
    for _ in range(2):
        layer = scene.view_layers.new("Second")
        layer.update()
        assert unseen(scene, layer) == {rig.session_uid}
        rig.update_tag()
        layer.update()
        assert not unseen(scene, layer)
        assert rigs.pose_bits(rig, depsgraph=layer.depsgraph) == rigs.pose_bits(rig)
        scene.view_layers.remove(layer)
        rigs.update()
