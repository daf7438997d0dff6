"""A render shows what the viewport shows, and leaves the file as it was.

During a render Blender flushes nothing to the file's data. A handler that writes to it can silently
take the F-curves away from the whole armature object.
"""

import ast
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import bpy
import pytest
import rigs
from inside import PLACES, leave_solved
from rendering import witnessed

BONES = {
    "Root": ((0, -1, 0), (0, 0, 0), ""),
    "B0": ((0, 0, 0), (0, 0.2, 1), "Root"),
    "B1": ((0, 0.2, 1), (0, 0, 2), "B0"),
    "B2": ((0, 0, 2), (0, 0.1, 3), "B1"),
    "Side": ((1, 0, 0), (1, 0, 1), "Root"),
    "Hand": ((0, 0.1, 3), (0, 0.5, 3.2), "B2"),
}


def seen(depsgraph: bpy.types.Depsgraph, rig: bpy.types.Object) -> dict[str, object]:
    """Return what a depsgraph shows of the animated armature."""
    shown = rig.evaluated_get(depsgraph)
    bones = shown.pose.bones
    armatures = sorted(ob.name for ob in depsgraph.objects if ob.type == "ARMATURE")
    return {
        "poses": [
            [list(row) for bone in depsgraph.objects[name].pose.bones for row in bone.matrix]
            for name in armatures
        ],
        "object": [list(row) for row in shown.matrix_world],
        "custom": shown["custom"],
        "custom array": list(shown["array"]),
        "custom number": shown["number"],
        "custom of a bone": bones["Side"]["custom"],
        "influence of another constraint": bones["Side"].constraints[0].influence,
        "our influence": shown.fabrik.constraints[0].influence,
        "our iterations": shown.fabrik.constraints[0].iterations,
        "our solver": shown.fabrik.constraints[0].solver,
        "driven": shown["driven"],
    }


Records = dict[tuple[int, str], dict[str, object]]
"""What was given to be rendered, by frame and view layer."""


@pytest.fixture
def records(empty_file: None) -> Iterator[Records]:
    """What is rendered of the armature while this is there."""
    found: Records = {}

    def note(depsgraph: bpy.types.Depsgraph) -> None:
        key = (depsgraph.scene.frame_current, depsgraph.view_layer.name)
        found[key] = seen(depsgraph, bpy.data.objects["Rig"])

    with witnessed(note):
        yield found


def key(owner: bpy.types.bpy_struct, path: str, values: dict[int, object], index: int = -1) -> None:
    for frame, value in values.items():
        if path.startswith("["):
            owner[path[2:-2]] = value
        else:
            setattr(owner, path, value)
        owner.keyframe_insert(path, index=index, frame=frame)


@pytest.fixture
def rig(records: Records) -> bpy.types.Object:
    """An armature with everything animated that can be."""
    rig = rigs.make_armature(BONES)
    target = rigs.make_empty("Target", (1, 0, 2))
    key(target, "location", {1: (1, 0.2, 2), 10: (-1, 0.5, 1.5)})
    bones = rig.pose.bones
    bones["B1"].rotation_mode = "XZY"  # B0 is keyed, B1 in part, B2 and Hand not at all.
    key(bones["B0"], "rotation_quaternion", {1: (1, 0, 0, 0), 10: (0.8, 0.1, 0.5, 0.2)})
    key(bones["B1"], "rotation_euler", {1: (0, 0, 0), 10: (0.5, 0.4, -0.3)}, index=1)
    bones["B2"].rotation_quaternion = (0.9, 0.1, 0, 0.3)
    key(bones["B2"], "location", {1: (0, 0, 0), 10: (0.2, 0.1, 0)})
    key(bones["Root"], "rotation_quaternion", {1: (1, 0, 0, 0), 10: (0.9, 0, 0.3, 0.1)})
    key(bones["Side"], "location", {1: (0, 0, 0), 10: (0, 1, 0)})
    key(bones["Side"], '["custom"]', {1: 0.0, 10: 9.0})
    controller = rigs.make_empty("Controller", (3, 3, 3))
    controller.rotation_euler = (0.3, 0.4, 0.5)
    bones["Side"].constraints.new("COPY_ROTATION").target = controller
    key(bones["Side"].constraints[0], "influence", {1: 0.0, 10: 1.0})
    key(rig, "location", {1: (0, 0, 0), 10: (0.5, 0.1, 0.2)})
    key(rig, '["custom"]', {1: 0.0, 10: 90.0})
    key(rig, '["array"]', {1: [0.0, 1.0], 10: [9.0, 2.0]})
    key(rig, '["number"]', {1: 0, 10: 90})
    rig["driven"] = 0.0
    driver = rig.driver_add('["driven"]').driver
    driver.expression = "frame * 2"
    constraint = rigs.add_constraint(rig, "B2", target, chain_count=3)
    key(constraint, "influence", {1: 0.5, 10: 1.0})
    key(constraint, "iterations", {1: 10, 10: 100})
    key(constraint, "solver", {1: "FABRIK", 5: "CCD"})
    rigs.go(3)
    return rig


def viewport(rig: bpy.types.Object, frame: float) -> dict[str, object]:
    rigs.go(frame)
    return seen(bpy.context.view_layer.depsgraph, rig)


def render_range(first: int, last: int, step: int = 1) -> None:
    """Render a range of frames, wherever the viewport stands."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.frame_step = first, last, step
    bpy.ops.render.render(animation=True)


def in_nla(rig: bpy.types.Object) -> None:
    """Push the armature's action down, as two strips that overlap."""
    data = rig.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    for name, start, influence in (("Low", 1, 1.0), ("High", 4, 0.5)):
        strip = data.nla_tracks.new().strips.new(name, start, action)
        if slot is not None:
            strip.action_slot = slot
        strip.influence = influence


def plain(rig: bpy.types.Object) -> None:
    """Leave the action as it is."""


def limited(rig: bpy.types.Object) -> None:
    """Give each bone of the chain a joint of another kind, one of them animated."""
    hip, knee, last = (rig.pose.bones[name] for name in ("B0", "B1", "B2"))
    hip.fabrik_joint.limit_type = "CONE"
    hip.fabrik_joint.swing_x = hip.fabrik_joint.swing_z = 0.4
    knee.fabrik_joint.limit_type, knee.fabrik_joint.hinge_max = "HINGE", 0.8
    last.fabrik_joint.limit_type, last.use_ik_limit_x = "BLENDER", True
    key(last, "ik_max_x", {1: 0.1, 10: 0.5})
    rigs.update()


def oriented(rig: bpy.types.Object) -> None:
    """Let the hand, which is not animated, take the turning target's orientation in part."""
    constraint, target = rig.fabrik.constraints[0], bpy.data.objects["Target"]
    constraint.bone, constraint.use_tail = "Hand", False
    constraint.use_rotation, constraint.twist_spread = True, 0.5
    key(target, "rotation_euler", {1: (0, 0, 0), 10: (0.5, -0.8, 1.2)})
    key(constraint, "rotation_weight", {1: 0.2, 10: 1.0})
    rigs.update()


def in_body(rig: bpy.types.Object) -> None:
    """Let two chains share bones, with a free root whose location is keyed in part."""
    other = rigs.make_empty("Other", (0.4, 0.6, 1.2))
    rigs.add_constraint(rig, "B1", other, use_free_root=True, weight=0.5)
    rig.fabrik.constraints[0].chain_count = 0
    rig.fabrik.constraints[0].use_stretch = True
    key(rig.pose.bones["Root"], "location", {1: (0, 0, 0), 10: (0.3, 0.1, 0)}, index=0)
    rigs.update()


@pytest.mark.parametrize("animation", [plain, in_nla, limited, in_body])
def test_a_render_sees_what_the_viewport_shows_and_every_curve_at_its_value(
    rig: bpy.types.Object, records: Records, animation
) -> None:
    animation(rig)
    expected = viewport(rig, 6)
    assert rigs.tip_error(rig, "B2", bpy.data.objects["Target"]) == pytest.approx(
        rig.fabrik.constraints[0].error, abs=1e-5
    )
    rigs.go(3)
    render_range(6, 6)
    assert records[(6, "ViewLayer")] == expected


@pytest.mark.parametrize("animation", [plain, limited, oriented, in_body])
def test_a_rendered_range_does_not_depend_on_where_the_viewport_stands(
    rig: bpy.types.Object, records: Records, animation
) -> None:
    animation(rig)
    expected = {frame: viewport(rig, frame) for frame in (4, 6, 8, 10)}
    for stands_at in (1, 12):
        records.clear()
        rigs.go(stands_at)
        render_range(4, 10, 2)
        assert {frame: shown for (frame, _), shown in records.items()} == expected


def test_every_view_layer_is_rendered_alike(rig: bpy.types.Object, records: Records) -> None:
    bpy.context.scene.view_layers.new("Second")
    bpy.context.scene.view_layers.new("Third")
    expected = viewport(rig, 7)
    bpy.ops.render.render()
    assert {layer for _, layer in records} == {"ViewLayer", "Second", "Third"}
    for shown in records.values():
        assert shown == expected


@pytest.mark.parametrize("hidden", ["hide_render", "hide_viewport", "not in the scene"])
def test_a_target_that_is_not_rendered_is_reached_all_the_same(
    rig: bpy.types.Object, records: Records, hidden: str
) -> None:
    target = bpy.data.objects["Target"]
    expected = viewport(rig, 6)
    rigs.go(2)
    if hidden == "not in the scene":
        bpy.context.scene.collection.objects.unlink(target)
    else:
        setattr(target, hidden, True)
    assert viewport(rig, 6) == expected
    rigs.go(3)
    render_range(6, 6)
    assert records[(6, "ViewLayer")] == expected


def test_a_render_leaves_the_viewport_and_the_fk_pose_as_they_were(
    rig: bpy.types.Object, records: Records
) -> None:
    rigs.go(3)
    before = (
        rigs.pose_bits(rig),
        rigs.channels_bits(rig),
        rigs.shown_bits(rig),
        rigs.world_bits(rig),
    )
    in_viewport = viewport(rig, 3)
    render_range(5, 7)
    rigs.update()
    after = (
        rigs.pose_bits(rig),
        rigs.channels_bits(rig),
        rigs.shown_bits(rig),
        rigs.world_bits(rig),
    )
    assert bpy.context.scene.frame_current == 3
    assert after == before
    assert seen(bpy.context.view_layer.depsgraph, rig) == in_viewport
    rig.fabrik.constraints[0].enabled = False
    rigs.update()
    for bones in (rig.pose.bones, rigs.shown_bones(rig)):
        assert list(bones["B2"].rotation_quaternion) == pytest.approx([0.9, 0.1, 0, 0.3])


def test_saving_undo_and_redo_during_a_render_leave_the_fk_pose(tmp_path: Path) -> None:
    """As the render has a thread of its own. Undo keeps the armature, which has not changed."""
    path = str(tmp_path / "saved.blend")
    rig = rigs.make_armature(BONES)
    rigs.add_constraint(rig, "B2", rigs.make_empty("Target", (1, 0.2, 2)), chain_count=3)
    for size in (2.0, 3.0, 4.0):
        bpy.data.objects["Target"].empty_display_size = size
        rigs.update()
        bpy.ops.ed.undo_push(message=f"{size}")
    given, kept = rigs.channels_bits(rig), rig.as_pointer()
    save = partial(bpy.ops.wm.save_as_mainfile, filepath=path, copy=True)
    for step in (save, bpy.ops.ed.undo, bpy.ops.ed.redo):
        leave_solved()
        assert rigs.channels_bits(bpy.data.objects["Rig"]) != given
        step()
        rig = bpy.data.objects["Rig"]
        assert rig.as_pointer() == kept, "otherwise Blender reads the pose from its memory"
        assert rigs.channels_bits(rig) == given
    with bpy.data.libraries.load(path) as (_, into):
        into.objects = ["Rig"]
    assert rigs.channels_bits(into.objects[0]) == given


def test_panels_are_redrawn_for_reports_of_the_viewport_and_not_of_renders(
    rig: bpy.types.Object, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A render may run in a thread of its own, in which windows must not be looked at."""
    told: list[int] = []
    monkeypatch.setattr(*PLACES["notify of reports"], lambda: told.append(len(records)))
    item = rig.fabrik.constraints[0]
    viewport(rig, 9)
    assert item.state != "DISABLED" and told == [], "Blender redraws them at another frame"
    for is_enabled in (False, True):
        item.enabled = is_enabled
        rigs.update()
    assert told == [0, 0]
    render_range(10, 14)
    assert {*told[2:]} <= {5}, "afterwards the viewport is updated"


def test_a_still_armature_is_posed_for_a_target_that_moves(records: Records) -> None:
    rig = rigs.make_armature(BONES)
    rig["custom"] = rig["driven"] = rig["number"] = rig.pose.bones["Side"]["custom"] = 0.0
    rig["array"] = [0.0]
    rig.pose.bones["Side"].constraints.new("COPY_ROTATION")
    target = rigs.make_empty()
    key(target, "location", {1: (1, 0.2, 2), 10: (-1, 0.5, 1.5)})
    rigs.add_constraint(rig, "B2", target, chain_count=3)
    expected = viewport(rig, 6)
    rigs.go(1)
    render_range(6, 6)
    assert records[(6, "ViewLayer")] == expected


def test_another_scene_than_the_shown_one_is_rendered_right(
    rig: bpy.types.Object, records: Records
) -> None:
    expected = viewport(rig, 6)
    scene = bpy.context.scene
    rigs.go(3)
    bpy.ops.scene.new(type="EMPTY")
    scene.frame_start = scene.frame_end = 6
    bpy.ops.render.render(animation=True, scene=scene.name)
    assert records[(6, "ViewLayer")] == expected


@pytest.mark.parametrize("stands_at", [3, 9])
def test_a_scene_strip_shows_each_frame_as_its_scene_does(
    rig: bpy.types.Object, records: Records, stands_at: int
) -> None:
    """Its frames are others than those of the scene that is rendered."""
    expected = {frame: viewport(rig, frame) for frame in (4, 6, 8)}
    shot = bpy.context.scene
    rigs.go(stands_at)
    given = rigs.channels_bits(rig)
    bpy.ops.scene.new(type="EMPTY")
    edit = bpy.context.scene
    edit.render.engine = shot.render.engine
    edit.render.filepath = shot.render.filepath
    edit.render.resolution_x = edit.render.resolution_y = 4
    editor = edit.sequence_editor_create()
    strips = editor.strips if hasattr(editor, "strips") else editor.sequences
    strips.new_scene("Shot", shot, channel=1, frame_start=21)  # Its frame 1 is shown at 21.
    edit.frame_start, edit.frame_end, edit.frame_step = 24, 28, 2
    bpy.ops.render.render(animation=True)
    assert {frame: records[(frame, "ViewLayer")] for frame in (4, 6, 8)} == expected
    bpy.context.window.scene = shot
    rigs.go(stands_at)
    assert rigs.channels_bits(rig) == given


FARM = """
import sys
sys.path[:0] = {path!r}
import bpy, addon
from rendering import Witness
addon.register()
bpy.ops.wm.open_mainfile(filepath={blend!r})  # Which was opened before.

def look(depsgraph):
    bones = depsgraph.objects["Rig"].pose.bones
    with open({seen!r}, "a") as file:
        poses = [list(row) for bone in bones for row in bone.matrix]
        print(repr((depsgraph.scene.frame_current, depsgraph.mode, poses)), file=file)

Witness.look = look
bpy.utils.register_class(Witness)
"""


@pytest.mark.skipif(not bpy.app.binary_path, reason="the wheels have no command line")
@pytest.mark.parametrize("threads", [1, 2])
def test_the_command_line_of_a_farm_renders_what_the_viewport_shows(
    rig: bpy.types.Object, tmp_path: Path, threads: int
) -> None:
    blend, script, seen_there = (tmp_path / name for name in ("shot.blend", "farm.py", "seen.txt"))
    frames = range(1, 8, 2)
    expected = {frame: viewport(rig, frame)["poses"] for frame in frames}
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.frame_step = frames[0], frames[-1], frames.step
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    text = FARM.format(path=rigs.PATH, blend=str(blend), seen=str(seen_there))
    script.write_text(text, encoding="utf-8")
    farm = [bpy.app.binary_path, "--background", "--factory-startup", "--threads", str(threads)]
    begin = ["--python-exit-code", "1", "--python", str(script), "--render-anim"]
    done = subprocess.run([*farm, *begin], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = seen_there.read_text(encoding="utf-8").splitlines()
    rendered = [ast.literal_eval(line) for line in lines]
    assert {mode for _, mode, _ in rendered} == {"RENDER"}
    assert {frame: [poses] for frame, _, poses in rendered} == expected


@pytest.fixture
def cycles(rig: bpy.types.Object) -> bpy.types.Scene:
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = 1
    scene.cycles.use_denoising = False
    scene.render.threads_mode, scene.render.threads = "FIXED", 1
    return scene


def test_motion_blur_poses_each_sub_frame_as_the_viewport_does(
    rig: bpy.types.Object, cycles: bpy.types.Scene
) -> None:
    cycles.render.use_motion_blur = True
    cycles.render.motion_blur_shutter = 0.5
    rendered: dict[float, tuple[bytes, bytes]] = {}
    present: list[tuple[float, bpy.types.Depsgraph]] = []

    def note_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
        if depsgraph.mode == "RENDER":
            present[:] = [(scene.frame_current_final, depsgraph)]

    def note_pose(_scene: bpy.types.Scene, _unused: object) -> None:
        """Look at the frame before as another begins: no more is done to it."""
        for frame, depsgraph in present:
            rendered[frame] = (
                rigs.pose_bits(rig, depsgraph=depsgraph),
                rigs.shown_bits(rig, depsgraph),
            )
        present.clear()

    def forget(_scene: bpy.types.Scene, _unused: object) -> None:
        present.clear()

    handlers = bpy.app.handlers
    notes = (
        (handlers.frame_change_post, note_frame),
        (handlers.frame_change_pre, note_pose),
        (handlers.render_post, forget),
    )
    rigs.go(6)
    given = rigs.channels_bits(rig)
    for called, note in notes:
        called.append(note)
    try:
        bpy.ops.render.render()
    finally:
        for called, note in notes:
            called.remove(note)
    assert rigs.channels_bits(rig) == given
    assert len(rendered) >= 3
    assert {frame % 1 for frame in rendered} > {0.0}
    for frame, shown in rendered.items():
        rigs.go(frame)
        assert (rigs.pose_bits(rig), rigs.shown_bits(rig)) == shown, frame


def test_cycles_draws_the_solved_pose(
    rig: bpy.types.Object, cycles: bpy.types.Scene, tmp_path: Path
) -> None:
    """A lamp on the tip of the chain is seen where the target is, and nowhere else."""
    target = bpy.data.objects["Target"]
    mesh = bpy.data.meshes.new("Lamp")
    size = 0.15
    corners = [(x, y, z) for x in (-size, size) for y in (-size, size) for z in (-size, size)]
    faces = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    mesh.from_pydata(corners, [], faces)
    material = bpy.data.materials.new("Glow")
    if bpy.app.version < (5, 0):
        material.use_nodes = True
    nodes = material.node_tree.nodes
    nodes.clear()
    output, glow = nodes.new("ShaderNodeOutputMaterial"), nodes.new("ShaderNodeEmission")
    glow.inputs["Strength"].default_value = 5.0
    material.node_tree.links.new(glow.outputs[0], output.inputs[0])
    mesh.materials.append(material)
    lamp = bpy.data.objects.new("Lamp", mesh)
    bpy.context.scene.collection.objects.link(lamp)
    lamp.parent, lamp.parent_type, lamp.parent_bone = rig, "BONE", "B2"

    rig.fabrik.constraints[0].keyframe_delete("influence", frame=1)
    rig.fabrik.constraints[0].keyframe_delete("influence", frame=10)
    rig.fabrik.constraints[0].influence = 1.0
    rigs.go(6)
    assert rig.fabrik.constraints[0].state == "REACHED"
    camera = cycles.camera
    camera.data.type, camera.data.ortho_scale = "ORTHO", 4.0
    camera.location = target.matrix_world.translation
    camera.location.y -= 10.0
    camera.rotation_euler = (1.5707963, 0.0, 0.0)
    cycles.render.resolution_x = cycles.render.resolution_y = 32
    cycles.render.filepath = str(tmp_path / "picture")
    rigs.go(1)
    render_range(6, 6)
    picture = bpy.data.images.load(str(tmp_path / "picture0006.png"))
    pixels = list(picture.pixels)
    bright = {(i % 32, i // 32) for i in range(32 * 32) if pixels[4 * i] > 0.5}
    assert bright
    assert all(abs(x - 15.5) < 4 and abs(y - 15.5) < 4 for x, y in bright)


REMOVED = """
import os, sys
sys.path[:0] = {path!r}
import bpy
import addon
from rendering import rendered
from rigs import add_constraint, make_chain, make_empty
addon.register()
for name in ("Rig", "Other"):
    target = make_empty(f"Target {{name}}", (0.5, 1.0, 1.5))
    for frame, x in ((1, 0.0), (6, 1.0)):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
    add_constraint(make_chain(3, name), "B2", target)
def remove(scene, _graph=None):
    if scene.frame_current == 4 and "Target Rig" in bpy.data.objects:
        bpy.data.objects.remove(bpy.data.objects["Target Rig"])
bpy.app.handlers.frame_change_post.append(remove)
print("rendered", len(rendered(1, 6)), bpy.data.objects["Rig"].fabrik.constraints[0].message)
sys.stdout.flush()
os._exit(0)
"""


def test_what_a_handler_removed_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The depsgraph still lists it, and glibc is asked to overwrite what was freed."""
    monkeypatch.setenv("MALLOC_PERTURB_", "165")
    script = tmp_path / "removed.py"
    script.write_text(REMOVED.format(path=rigs.PATH), encoding="utf-8")
    assert "rendered 6 No target" in rigs.run_elsewhere(script)
