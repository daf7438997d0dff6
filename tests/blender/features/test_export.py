"""A rig, exported by Blender's own exporters and read back, moves as it did live."""

import json
import random
import subprocess
import sys

import bpy
import pytest
import rigs
from humans import make_human
from operating import click_bones

from addon.features.bake import bake as baking
from addon.features.bake import selecting
from addon.features.bake.options import REMOVE

FRAMES = range(1, 25)
BONES = ("B0", "B1", "B2", "Hand", "Finger")
LENGTH = 3.0
NEAR = 1e-4 * LENGTH


def joints():
    """Return where the heads of the bones are in world space, at each frame."""
    rig = next(ob for ob in bpy.data.objects if ob.type == "ARMATURE")
    found = []
    for frame in FRAMES:
        rigs.go(frame)
        posed = rigs.evaluated(rig)
        found.append([posed.matrix_world @ posed.pose.bones[name].head for name in BONES])
    return found


@pytest.fixture
def moving(empty_file):
    """A rig in an otherwise empty file, and where its joints are."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    rig = rigs.make_armature(
        {
            "B0": ((0, 0, 0), (0, 0.2, 1), ""),
            "B1": ((0, 0.2, 1), (0, 0, 2), "B0"),
            "B2": ((0, 0, 2), (0, 0.1, 3), "B1"),
            "Hand": ((0, 0.1, 3), (0, 0.1, 3.3), "B2"),
            "Finger": ((0.2, 0.2, 3.2), (0.2, 0.3, 3.4), "Hand"),
        }
    )
    rig.location = (0.5, -0.2, 0.3)
    rig.pose.bones["B1"].rotation_mode = "XYZ"
    target = rigs.make_empty()
    dice = random.Random(3)
    for frame in (1, 9, 17, 25):
        target.location = (dice.uniform(-2, 2), dice.uniform(-2, 2), dice.uniform(0, 2))
        target.keyframe_insert("location", frame=frame)
    for frame, turn in ((1, 0.0), (24, 0.5)):
        rig.pose.bones["B0"].rotation_quaternion = (0.9, turn, 0.1, 0)
        rig.pose.bones["B0"].keyframe_insert("rotation_quaternion", frame=frame)
    rigs.add_constraint(rig, "B2", target)
    return joints()


@pytest.fixture
def live(moving):
    """The same, baked, and where its joints were before that."""
    bake()
    return moving


def bake():
    """Bake the rig, leave nothing else to export, and return how files differ from it."""
    rig = bpy.data.objects["Rig"]
    picks, _ = selecting.select(selecting.all_constraints([rig]))
    options = baking.BakeOptions(FRAMES[0], FRAMES[-1], afterwards=REMOVE)
    work = baking.bake(bpy.context.scene, bpy.context.view_layer, picks, options)
    with pytest.raises(StopIteration) as done:
        while True:
            next(work)
    bpy.data.objects.remove(bpy.data.objects["Target"])
    for action in {*bpy.data.actions} - {rig.animation_data.action}:
        bpy.data.actions.remove(action)  # They would be exported as well.
    return done.value.value.verification.loss


ROUND_TRIP = """
import os, sys
sys.path[:0] = {folders!r}
import bpy
import addon
from rigs import channels_bits, curves
import addon_utils  # Which only bpy makes known.
problems = []
addon_utils.enable({module!r}, handle_error=problems.append)
if problems:
    with open({reason!r}, "w", encoding="utf-8") as file:
        file.write(str(problems[0]))
else:
    addon.register()
    bpy.ops.wm.open_mainfile(filepath={baked!r})
    rig = bpy.data.objects["Rig"]

    def state():
        keys = [[tuple(point.co) for point in one.keyframe_points] for one in curves(rig)]
        return channels_bits(rig), keys, bpy.data.actions.keys(), rig.animation_data.action

    before = state()
    bpy.ops.export_scene.{kind}(filepath={path!r}, **{writing!r})
    assert state() == before
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.import_scene.{kind}(filepath={path!r}, **{reading!r})
    bpy.ops.wm.save_as_mainfile(filepath={back!r})
sys.stdout.flush()
os._exit(0)  # After an export to glTF the wheel of Blender 4.2 crashes at its end.
"""


def read_back(folder, kind, module, writing, reading):
    """Export the file and import it into an empty one; return where the joints are then."""
    baked, back, reason = (folder / name for name in ("baked.blend", "back.blend", "reason.txt"))
    bpy.ops.wm.save_as_mainfile(filepath=str(baked))
    script = folder / "round_trip.py"
    names = {"baked": str(baked), "back": str(back), "reason": str(reason)}
    path = str(folder / f"rig.{'glb' if kind == 'gltf' else kind}")
    text = ROUND_TRIP.format(
        module=module,
        kind=kind,
        path=path,
        writing=writing,
        reading=reading,
        folders=rigs.PATH,
        **names,
    )
    script.write_text(text, encoding="utf-8")
    options = ["--background", "--factory-startup", "--python"]
    start = [bpy.app.binary_path, *options] if bpy.app.binary_path else [sys.executable]
    done = subprocess.run([*start, str(script)], capture_output=True, text=True, timeout=300)
    if reason.exists():
        pytest.skip(f"{module} cannot run in this Blender: {reason.read_text(encoding='utf-8')}")
    assert back.exists(), done.stdout + done.stderr
    bpy.ops.wm.open_mainfile(filepath=str(back))
    return joints()


def apart(a, b):
    """Return the largest distance of joints."""
    return max((x - y).length for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True))


def check(name, live, found):
    """The joints are where they were, and they moved."""
    off = apart(live, found)
    print(f"{name}: joints are {off:.2e} m off, {off / LENGTH:.1e} of the length")
    assert apart(live[:1] * len(live), live) > 1.0
    assert off < NEAR


FBX = {
    "object_types": {"ARMATURE"},
    "add_leaf_bones": False,
    "bake_anim_simplify_factor": 0.0,
    "bake_anim_use_nla_strips": False,
    "bake_anim_use_all_actions": False,
}
# The importer would move all keys by a frame: it expects the first one at time 0.
FROM_FBX = {"anim_offset": 0.0}


def test_gltf_holds_the_motion(live, tmp_path):
    writing = {"export_animations": True}
    check("glTF", live, read_back(tmp_path, "gltf", "io_scene_gltf2", writing, {}))


def test_fbx_holds_the_motion(live, tmp_path):
    check("FBX", live, read_back(tmp_path, "fbx", "io_scene_fbx", FBX, FROM_FBX))


@pytest.mark.parametrize("mode", ("ACTIONS", "ACTIVE_ACTIONS", "NLA_TRACKS", "SCENE", "BROADCAST"))
def test_gltf_holds_what_was_not_baked(moving, tmp_path, mode):
    """The exporter samples the frames, and gives the action back as it was."""
    if mode == "NLA_TRACKS":
        rigs.as_strip(bpy.data.objects["Rig"])
    writing = {"export_animations": True, "export_animation_mode": mode}
    check(mode, moving, read_back(tmp_path, "gltf", "io_scene_gltf2", writing, {}))


def test_fbx_holds_what_was_not_baked(moving, tmp_path):
    check("FBX", moving, read_back(tmp_path, "fbx", "io_scene_fbx", FBX, FROM_FBX))


WRITTEN = """
import os, sys
sys.path[:0] = {folders!r}
import bpy
import addon
import addon_utils
addon_utils.enable("io_scene_gltf2")
addon.register()
bpy.ops.wm.open_mainfile(filepath={baked!r})
bpy.ops.export_scene.gltf(filepath={path!r})
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("afterwards", ("DISABLE", "EXPORT"))
def test_a_file_has_only_what_was_baked(empty_file, tmp_path, afterwards):
    """By the exporter's default settings: no controls among the joints, and a single animation."""
    rig = make_human(True)
    rig.animation_data.action.name = "Captured"
    rigs.activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="POSE")
    live = [bone.head.copy() for bone in rigs.evaluated(rig).pose.bones if bone.bone.use_deform]
    controls = {bone.name for bone in rig.data.bones if bone.fabrik_is_control}
    assert len(controls) > 10
    assert bpy.ops.fabrik.bake(frame_start=1, frame_end=25, afterwards=afterwards) == {"FINISHED"}
    posed = [bone for bone in rigs.evaluated(rig).pose.bones if bone.bone.use_deform]
    assert max((bone.head - head).length for bone, head in zip(posed, live, strict=True)) < 1e-4
    bpy.ops.object.mode_set(mode="OBJECT")
    baked, path = str(tmp_path / "baked.blend"), tmp_path / "file.glb"
    bpy.ops.wm.save_as_mainfile(filepath=baked)
    script = tmp_path / "write.py"
    script.write_text(WRITTEN.format(folders=rigs.PATH, baked=baked, path=str(path)), "utf-8")
    options = ["--background", "--factory-startup", "--python"]
    start = [bpy.app.binary_path, *options] if bpy.app.binary_path else [sys.executable]
    done = subprocess.run([*start, str(script)], capture_output=True, text=True, timeout=300)
    assert path.exists(), done.stdout + done.stderr
    data = path.read_bytes()
    size = int.from_bytes(data[12:16], "little")
    told = json.loads(data[20 : 20 + size])
    names = [animation["name"] for animation in told["animations"]]
    nodes = {node["name"] for node in told["nodes"]}
    if afterwards == "EXPORT":
        assert names == ["Captured Baked"]
        assert nodes.isdisjoint(controls)
        assert not rig.fabrik.constraints
    else:
        assert "Captured" in names and "Captured Baked" in names
        assert controls <= nodes


def test_layers_and_switched_parents_leave_nothing_for_a_file(empty_file):
    rig = make_human(True)
    rigs.activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="POSE")
    rigs.go(10)
    assert bpy.ops.fabrik.hold_parent(constraint="hand.L IK", parent="HEAD") == {"FINISHED"}
    click_bones(rig, "foot IK.L")
    assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
    assert bpy.ops.fabrik.bake(
        which="ARMATURE", frame_start=1, frame_end=25, afterwards="EXPORT"
    ) == {"FINISHED"}
    assert [bone.name for bone in rig.data.bones if bone.fabrik_is_control] == []
    assert [action.name for action in bpy.data.actions] == [rig.animation_data.action.name]
    assert (len(rig.animation_data.nla_tracks), len(rig.fabrik.holds)) == (0, 0)
    assert [*bpy.data.objects] == [rig]


def stretched(inherited):
    """Let the chain stretch with a turned hand; return where the joints are then."""
    rig = bpy.data.objects["Rig"]
    for bone in rig.data.bones:
        bone.inherit_scale = inherited
    rig.pose.bones["Hand"].rotation_quaternion = (0.8, 0.4, 0.3, 0.2)
    item = rig.fabrik.constraints[0]
    item.use_stretch, item.stretch_max, rig.scale = True, 2.0, (0.8, 0.8, 0.8)
    rig.location.z -= 1.5
    return joints()


@pytest.mark.parametrize("inherited", ("FULL", "ALIGNED"))
def test_gltf_holds_a_stretched_arm_and_its_hand(moving, tmp_path, inherited):
    live = stretched(inherited)
    found = read_back(tmp_path, "gltf", "io_scene_gltf2", {"export_animations": True}, {})
    check(f"glTF {inherited}", live, found)


def test_what_files_cannot_hold_is_measured(moving, tmp_path):
    """A hand on a bone that was scaled unevenly by hand."""
    rig = bpy.data.objects["Rig"]
    rig.pose.bones["B2"].scale = (1.0, 1.5, 1.0)
    live = stretched("NONE")
    loss = bake()
    found = read_back(tmp_path, "gltf", "io_scene_gltf2", {"export_animations": True}, {})
    assert NEAR < 0.2 * loss < apart(live, found) < loss


def plain(_rig):
    """Leave the keys in the action of the armature."""


def in_nla(rig):
    """Play the keys by an NLA strip."""
    rigs.as_strip(rig)


def with_settings(rig):
    """Key what isn't a channel of a bone: a setting, and the armature itself."""
    item = rig.fabrik.constraints[0]
    for frame, influence in ((1, 0.3), (13, 1.0)):
        item.influence, rig.location.x = influence, influence
        item.keyframe_insert("influence", frame=frame)
        rig.keyframe_insert("location", index=0, frame=frame)


def driven(rig):
    """Drive a bone that the chain poses."""
    curve = rig.driver_add('pose.bones["B1"].rotation_quaternion', 1)
    curve.driver.expression = "frame * 0.02"


@pytest.fixture
def skinned(empty_file):
    """An armature whose chain has keyed bones, and a mesh with a vertex at each joint."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    rig, target = rigs.make_chain(), rigs.make_empty()
    for frame, place, turn in ((1, (1, 0, 2), 0.0), (9, (-1.5, 0.7, 1), 0.5), (24, (0, 1, 2), 0.2)):
        target.location = place
        target.keyframe_insert("location", frame=frame)
        for bone in rig.pose.bones[:2]:
            bone.rotation_quaternion = (0.8, turn, 0.1, 0.3 * turn)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    rigs.add_constraint(rig, "B2", target)
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata(rigs.BENT[1:4], [], [(0, 1, 2)])
    skin = rigs.link(bpy.data.objects.new("Skin", mesh))
    for i, bone in enumerate(rig.pose.bones):
        skin.vertex_groups.new(name=bone.name).add([i], 1.0, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = rig
    rigs.update()
    return rig, skin


def corners(skin):
    """Return where the vertices of a mesh are in world space, at each frame."""
    found = []
    for frame in FRAMES:
        rigs.go(frame)
        shown = rigs.evaluated(skin)
        found.append([shown.matrix_world @ vertex.co for vertex in shown.data.vertices])
    return found


EXPORTS = {
    "alembic": {"as_background_job": False, "start": FRAMES[0], "end": FRAMES[-1]},
    "usd": {"export_animation": True, "export_armatures": False},
}
IMPORTS = {
    "alembic": {"as_background_job": False, "set_frame_range": False},
    "usd": {"set_frame_range": False},
}


@pytest.mark.parametrize("mode", ("VIEWPORT", "RENDER"))
@pytest.mark.parametrize("kind", EXPORTS)
@pytest.mark.parametrize("change", (plain, in_nla, with_settings, driven))
def test_exported_meshes_move_as_in_the_viewport(skinned, tmp_path, kind, mode, change):
    """The exporter's depsgraph is its own, and its animation is not flushed to the file's data."""
    if not getattr(bpy.app.build_options, kind):
        pytest.skip("this Blender was built without it")
    rig, skin = skinned
    change(rig)
    rigs.update()
    live = corners(skin)
    rigs.go(5)
    rig.pose.bones["B2"].rotation_quaternion = (0.9, 0.1, 0.2, 0.3)
    rigs.update()
    rig.pose.bones["B2"].rotation_quaternion = (1, 0, 0, 0)
    rigs.update()
    before = rigs.channels_bits(rig), rigs.pose_bits(rig), list(rig.location)
    settings = rig.fabrik.constraints[0].influence
    path = str(tmp_path / ("skin.abc" if kind == "alembic" else "skin.usdc"))
    files = bpy.ops.wm
    getattr(files, f"{kind}_export")(filepath=path, evaluation_mode=mode, **EXPORTS[kind])
    assert (rigs.channels_bits(rig), list(rig.location)) == (before[0], before[2])
    assert rig.fabrik.constraints[0].influence == settings
    rigs.update()
    assert (rigs.channels_bits(rig), rigs.pose_bits(rig), list(rig.location)) == before
    others = {*bpy.data.objects}
    getattr(files, f"{kind}_import")(filepath=path, **IMPORTS[kind])
    read = [ob for ob in bpy.data.objects if ob not in others and ob.type == "MESH"]
    check(f"{kind} {mode}", live, corners(read[0]))
