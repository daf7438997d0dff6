"""A baked rig, exported by Blender's own exporters and read back, moves as it did live."""

import random

import addon_utils
import bpy
import pytest
from rigs import add_constraint, evaluated, go, make_armature, make_empty

from addon.binding.baking import bake as baking
from addon.binding.baking import picking
from addon.binding.baking.wishes import REMOVE

FRAMES = range(1, 25)
BONES = ("B0", "B1", "B2", "Hand")
LENGTH = 3.0
NEAR = 1e-4 * LENGTH


def joints():
    """Return where the heads of the bones are in world space, at each frame."""
    rig = next(ob for ob in bpy.data.objects if ob.type == "ARMATURE")
    found = []
    for frame in FRAMES:
        go(frame)
        posed = evaluated(rig)
        found.append([posed.matrix_world @ posed.pose.bones[name].head for name in BONES])
    return found


@pytest.fixture
def live(empty_file):
    """A baked rig in an otherwise empty file, and where its joints were before it was baked."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    rig = make_armature(
        {
            "B0": ((0, 0, 0), (0, 0.2, 1), ""),
            "B1": ((0, 0.2, 1), (0, 0, 2), "B0"),
            "B2": ((0, 0, 2), (0, 0.1, 3), "B1"),
            "Hand": ((0, 0.1, 3), (0, 0.1, 3.3), "B2"),
        }
    )
    rig.location = (0.5, -0.2, 0.3)
    rig.pose.bones["B1"].rotation_mode = "XYZ"
    target = make_empty()
    dice = random.Random(3)
    for frame in (1, 9, 17, 25):
        target.location = (dice.uniform(-2, 2), dice.uniform(-2, 2), dice.uniform(0, 2))
        target.keyframe_insert("location", frame=frame)
    add_constraint(rig, "B2", target)
    before = joints()
    picks, _ = picking.pick(picking.places([rig]))
    wishes = baking.Wishes(FRAMES[0], FRAMES[-1], afterwards=REMOVE)
    work = baking.bake(scene, bpy.context.view_layer, picks, wishes)
    with pytest.raises(StopIteration):
        while True:
            next(work)
    bpy.data.objects.remove(target)
    return before


def enabled(module):
    """Enable an exporter, or skip with the reason why it cannot run here."""
    problems = []
    addon_utils.enable(module, handle_error=problems.append)
    if problems:
        pytest.skip(f"{module} cannot run in this Blender: {problems[0]}")


def apart(a, b):
    """Return the largest distance of joints."""
    return max((x - y).length for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True))


def read_back(path, reader):
    """Import a file into an empty one, and return where the joints are."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    reader(path)
    return joints()


def check(name, live, found):
    """The joints are where they were, and they moved."""
    off = apart(live, found)
    print(f"{name}: joints are {off:.2e} m off, {off / LENGTH:.1e} of the length")
    assert apart(live[:1] * len(live), live) > 1.0
    assert off < NEAR


def test_gltf_holds_the_motion(live, tmp_path):
    enabled("io_scene_gltf2")
    path = str(tmp_path / "rig.glb")
    bpy.ops.export_scene.gltf(filepath=path, export_animations=True)
    check("glTF", live, read_back(path, lambda p: bpy.ops.import_scene.gltf(filepath=p)))


def test_fbx_holds_the_motion(live, tmp_path):
    enabled("io_scene_fbx")
    path = str(tmp_path / "rig.fbx")
    bpy.ops.export_scene.fbx(
        filepath=path,
        object_types={"ARMATURE"},
        add_leaf_bones=False,
        bake_anim_simplify_factor=0.0,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=False,
    )
    # The importer would move all keys by a frame: it expects the first one at time 0.
    reader = bpy.ops.import_scene.fbx
    check("FBX", live, read_back(path, lambda p: reader(filepath=p, anim_offset=0.0)))
