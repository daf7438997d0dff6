"""Springs swing the same at each frame, whichever way it was reached."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import rigs
from mathutils import Matrix, Vector

from addon.features.command import command


def make_tail(count=5, length=0.5, name="Rig", horizontal=False):
    """A head that carries a strand; both hang."""
    size = length / count
    way = Vector((0, 1, 0)) if horizontal else Vector((0, 0, -1))
    bones = {"Head": ((0, 0, 0), (0, 0, 0.3), "")}
    for i in range(count):
        bones[f"T{i}"] = (way * size * i, way * size * (i + 1), f"T{i - 1}" if i else "Head")
    return rigs.make_armature(bones, name)


def swing_head(rig, fps=24, seconds=2.0, bone="Head"):
    """Key a head that turns and moves, at times in seconds."""
    head = rig.pose.bones[bone]
    head.rotation_mode = "XYZ"
    keys = (
        (0.0, (0, 0, 0), 0.0),
        (0.5, (0.6, 0, 0.5), 0.2),
        (1.0, (-0.5, 0.3, -0.4), -0.1),
        (1.5, (0.2, -0.2, 0.6), 0.1),
        (2.0, (0, 0, 0), 0.0),
    )
    for time, turn, x in keys:
        head.rotation_euler, head.location = turn, (x, 0, 0)
        for path in ("rotation_euler", "location"):
            head.keyframe_insert(path, frame=1 + time * fps)
    scene = bpy.context.scene
    scene.render.fps = fps
    scene.frame_start, scene.frame_end = 1, 1 + round(seconds * fps)


def add_spring(rig, *bones, **values):
    rigs.activate(rig, "POSE")
    for bone in rig.pose.bones:
        on = bone.name in bones
        if bpy.app.version >= (5, 0):
            bone.select = on
        else:
            bone.bone.select = on
    rig.data.bones.active = rig.data.bones[bones[0]]
    assert bpy.ops.fabrik.spring_add() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    for item in rig.fabrik.constraints:
        for name, value in values.items():
            setattr(item.spring, name, value)
    rigs.update()


def simulate(rig):
    rigs.activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def joints(rig, prefix="T"):
    shown = rigs.evaluated(rig)
    bones = [bone for bone in shown.pose.bones if bone.name.startswith(prefix)]
    return [shown.matrix_world @ p for p in (*(b.head for b in bones), bones[-1].tail)]


def apart(a, b):
    return max((p - q).length for p, q in zip(a, b, strict=True))


def stored(rig, index=0):
    """The simulated rotations, as they are stored: bones in rows of quaternions, by frame."""
    from importlib import import_module

    root = type(rig.fabrik).__module__.split(".settings.")[0]
    recording = import_module(f"{root}.features.spring.recording")
    history = import_module(f"{root}.features.simulation.history")
    record = history.data(rig, f"fabrik.constraints[{index}].spring")
    strand = recording.StoredStrand.unpacked(record.blob)
    return np.array(strand.numbers).reshape(-1, strand.bones, 4)


def repeat(rig):
    """Simulate from what was recorded, without playing; return whether that was possible."""
    from importlib import import_module

    root = type(rig.fabrik).__module__.split(".settings.")[0]
    simulating = import_module(f"{root}.features.simulation.simulate")
    playing = import_module(f"{root}.editing.playing")
    return playing.finish(simulating.repeat(bpy.context.scene, [rig]))


def shown_at(rig, times, fps):
    shown = []
    for time in times:
        rigs.go(1 + time * fps)
        shown.append(joints(rig))
    return shown


def test_strands_reach_to_their_tips_with_all_branches():
    bones = {
        "Head": ((0, 0, 0), (0, 0, 1), ""),
        "A": ((0, 0, 1), (0, 0, 2), "Head"),
        "B": ((0, 0, 2), (0, 0, 3), "A"),
        "C": ((0, 0, 3), (0, 0, 4), "B"),
        "Side": ((0, 0, 2), (0, 1, 2), "A"),
        "Other": ((1, 0, 0), (1, 0, 1), "Head"),
    }
    rig = rigs.make_armature(bones)
    rigs.key(rig, "location", {1: (0, 0, 0), 10: (1, 0, 0), 24: (0, 0, 0)})
    bpy.context.scene.frame_end = 24
    add_spring(rig, "A", "B", "C", "Other")
    found = {(item.bone, item.chain_count) for item in rig.fabrik.constraints}
    assert found == {("C", 3), ("Side", 1), ("Other", 1)}
    simulate(rig)
    rigs.go(12)
    assert {item.state for item in rig.fabrik.constraints} == {"REACHED"}
    shown = rigs.evaluated(rig).pose.bones
    rests = {bone.name: bone.bone.matrix_local for bone in rig.pose.bones}
    for name in ("C", "Side", "Other"):
        assert shown[name].matrix != rests[name]


def test_strands_that_miss_a_bone_or_collide_with_themselves_say_so():
    rig = make_tail()
    add_spring(rig, "T0")
    ball = rig.fabrik.colliders.add()
    for bone, words in (
        ("None", "has no bone “None”: choose another bone"),
        ("T2", "on the strand itself"),
    ):
        ball.bone = bone
        rigs.update()
        assert rig.fabrik.constraints[0].state == "INVALID"
        assert words in rig.fabrik.constraints[0].message
    ball.group = "other"
    rig.fabrik.constraints[0].spring.groups = "mine, yours"
    rigs.update()
    assert "press Simulate" in rig.fabrik.constraints[0].message
    rig.fabrik.constraints[0].spring.center = rig
    rig.fabrik.constraints[0].spring.center_bone = "T0"
    rigs.update()
    assert "The center is on the strand itself" in rig.fabrik.constraints[0].message


def test_strands_collide_with_their_groups_only():
    rig = make_tail()
    swing_head(rig, seconds=1.0)
    places = {"front": Vector((0, -0.15, -0.15)), "back": Vector((0, 0.15, -0.45))}
    for group, place in places.items():
        ball = rig.fabrik.colliders.add()
        ball.object = rigs.make_empty(group, place)
        ball.group, ball.radius = group, 0.2
    add_spring(rig, "T0", stiffness=0.3)
    spring = rig.fabrik.constraints[0].spring
    depths = {}
    for groups in ("front", "back", "front, back", "", "neither"):
        spring.groups = groups
        rigs.update()
        simulate(rig)
        frames = shown_at(rig, [i / 24 for i in range(1, 25)], 24)
        shown = [joint for frame in frames for joint in frame]
        depths[groups] = [
            0.2 - min((joint - place).length for joint in shown) for place in places.values()
        ]
    is_free = {groups: [depth < 1e-5 for depth in found] for groups, found in depths.items()}
    assert is_free == {
        "front": [True, False],
        "back": [False, True],
        "front, back": [True, True],
        "": [True, True],
        "neither": [False, False],
    }, depths


def make_ball(rig, bone, radius=0.15):
    """A ball of mesh around the head of a bone, which it deforms."""
    bpy.ops.mesh.primitive_uv_sphere_add(radius=radius, location=rig.pose.bones[bone].head)
    ob = bpy.context.object
    group = ob.vertex_groups.new(name=bone)
    group.add(range(len(ob.data.vertices)), 1.0, "REPLACE")
    ob.modifiers.new("Armature", "ARMATURE").object = rig
    return ob


def test_colliders_fit_the_mesh_and_are_not_penetrated():
    rig = make_tail()
    swing_head(rig)
    rigs.activate(rig, "EDIT")
    side = rig.data.edit_bones.new("Side")
    side.head, side.tail = (0.1, 0.05, -0.3), (0.1, 0.05, -0.1)
    bpy.ops.object.mode_set(mode="OBJECT")
    make_ball(rig, "Side")
    rigs.activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones["Side"]
    assert bpy.ops.fabrik.collider_add(group="body") == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    collider = rig.fabrik.colliders[0]
    assert (collider.kind, collider.bone, collider.group) == ("SPHERE", "Side", "body")
    assert collider.radius == pytest.approx(0.15, abs=1e-3)
    center = rig.pose.bones["Side"].matrix @ Vector(collider.offset)
    assert (center - Vector((0.1, 0.05, -0.3))).length < 1e-3
    add_spring(rig, "T0", radius=0.02, groups="body", drag=0.2)
    simulate(rig)
    gaps = []
    for frame in range(1, 50):
        rigs.go(frame)
        gaps += [(joint - center).length - collider.radius - 0.02 for joint in joints(rig)[1:]]
    assert -1e-6 < min(gaps) < 1e-5
    assert bpy.ops.fabrik.collider_remove(index=0) == {"FINISHED"}
    assert rig.fabrik.simulation.state == "STALE"


def make_mesh_below(name="Ground", height=-0.3, side=2.0):
    """A hilly ground under the strand, of 24 × 24 faces."""
    steps = [side * (i / 24 - 0.5) for i in range(25)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(
        [(x, y, height + 0.08 * np.sin(7 * x) * np.cos(5 * y)) for x in steps for y in steps],
        [],
        [
            (25 * i + j, 25 * i + 25 + j, 25 * i + 26 + j, 25 * i + j + 1)
            for i in range(24)
            for j in range(24)
        ],
    )
    ground = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(ground)
    rigs.update()
    return ground


def add_ground(rig, ground):
    rigs.activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones[0]
    ground.select_set(True)
    assert bpy.ops.fabrik.collider_add() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    ground.select_set(False)
    return rig.fabrik.colliders[-1]


def depths(rig, ground, radius=0.0):
    """How deep the tails are below a ground, straight up, by Blender's rays."""
    local = rigs.evaluated(ground)
    back, found = local.matrix_world.inverted(), []
    for joint in joints(rig)[1:]:
        start = joint - Vector((0, 0, radius))
        up = (back.to_3x3() @ Vector((0, 0, 1))).normalized()
        hit, place, _, _ = local.ray_cast(back @ start, up)
        found.append((local.matrix_world @ place - start).z if hit else 0.0)
    return found


@pytest.mark.parametrize("change", ["", "moved", "mirrored", "bent"])
def test_strands_stay_above_a_mesh(change):
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", radius=0.02, drag=0.2, stiffness=0.3, gravity=9.81)
    simulate(rig)
    free, frames = stored(rig), range(1, 50)
    ground = make_mesh_below()
    if change == "moved":
        rigs.key(ground, "location", {1: (0, 0, 0), 49: (0.3, 0.2, 0.05)})
        rigs.key(ground, "rotation_euler", {1: (0, 0, 0), 49: (0.1, -0.1, 0.5)})
    elif change == "mirrored":
        ground.scale = (-1.2, 0.9, 1.0)
    elif change == "bent":
        ground.shape_key_add(name="Basis")
        for point in ground.shape_key_add(name="Bent").data:
            point.co.z += 0.1 * np.cos(9 * point.co.x)
        rigs.key(ground.data.shape_keys.key_blocks["Bent"], "value", {1: 0.0, 30: 1.0})
    rigs.update()
    simulate(rig)
    assert (stored(rig) == free).all()  # It isn't chosen.
    deep = []
    for frame in frames:
        rigs.go(frame)
        deep += depths(rig, ground, 0.02)
    assert max(deep) > 0.05
    collider = add_ground(rig, ground)
    assert (collider.kind, collider.object, collider.name) == ("MESH", ground, "Ground")
    assert rig.fabrik.simulation.state == "STALE"
    simulate(rig)
    deep = []
    for frame in frames:
        rigs.go(frame)
        deep += depths(rig, ground, 0.02)
    assert max(deep) < 1e-6  # Blender's poses and rays have single precision.
    assert sum(d > -1e-3 and d != 0.0 for d in deep) > 20
    rested = stored(rig)
    rig.fabrik.constraints[0].spring.drag = 0.3
    rigs.update()
    assert repeat(rig)
    tried = stored(rig)
    simulate(rig)
    assert (stored(rig) == tried).all() and not (tried == rested).all()


def test_a_flat_mesh_is_a_plane_and_strands_lie_still_on_hills():
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", radius=0.02, drag=0.2, stiffness=0.05, gravity=9.81)
    collider = rig.fabrik.colliders.add()
    collider.kind, collider.object = "PLANE", rigs.make_empty("Floor", (0, 0, -0.3))
    collider.offset, collider.tail = (0, 0, 0), (0, 0, 1)
    rigs.update()
    simulate(rig)
    on_plane = stored(rig)
    ground = make_mesh_below()
    for vertex in ground.data.vertices:
        vertex.co.z = -0.3
    collider.kind, collider.object = "MESH", ground
    rigs.update()
    simulate(rig)
    assert np.abs(stored(rig) - on_plane).max() < 1e-4
    collider.object = make_mesh_below("Hills")
    bpy.context.scene.frame_end = 200
    rigs.update()
    simulate(rig)
    places = []
    for frame in range(180, 201):
        rigs.go(frame)
        places.append(joints(rig))
    steps = [apart(a, b) for a, b in pairwise(places)]
    assert max(steps) < 3e-4  # Over an edge, where two faces push in turn.


def test_a_mesh_counts_where_it_is_hidden_and_is_refused_where_it_cannot():
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", gravity=9.81)
    ground = make_mesh_below()
    collider = add_ground(rig, ground)
    item = rig.fabrik.constraints[0]
    simulate(rig)
    ground.data.vertices[300].co.z += 0.01
    ground.data.update()
    rigs.update()
    assert rig.fabrik.simulation.state == "STALE"
    simulate(rig)
    before = stored(rig)
    ground.shape_key_add(name="Basis")
    for point in ground.shape_key_add(name="Raised").data:
        point.co.z += 0.05
    rigs.key(ground.data.shape_keys.key_blocks["Raised"], "value", {1: 0.0, 30: 1.0})
    simulate(rig)
    raised = stored(rig)
    assert np.abs(raised - before).max() > 0.01
    ground.hide_viewport = True  # It is shown while the frames are played.
    rigs.update()
    assert rig.fabrik.simulation.state == "FRESH"
    simulate(rig)
    assert (stored(rig) == raised).all() and ground.hide_viewport
    ground.shape_key_clear()
    ground.data.clear_geometry()
    rigs.update()
    with pytest.raises(RuntimeError, match="“Ground” has no faces to rest on"):
        bpy.ops.fabrik.simulate()
    assert (stored(rig) == raised).all()
    ground.hide_viewport, ground.parent = False, rig
    rigs.update()
    assert "“Ground” moves with the armature" in item.message
    collider.object = rigs.make_empty("Empty", (0, 0, 0))
    rigs.update()
    assert item.message == "The collider “Ground” has no mesh: choose a mesh object"
    collider.object = None
    rigs.update()
    assert (item.state, "has no mesh" in item.message) == ("INVALID", True)


SHAPES = {
    "scaled": Matrix.Scale(0.01, 4),
    "turned and large": Matrix.Rotation(1.0, 4, (1, 2, 3)) @ Matrix.Scale(10.0, 4),
    "mirrored": Matrix.Scale(-1.0, 4, (1, 0, 0)),
    "sheared": Matrix.Shear("XY", 4, (0.4, 0.3)) @ Matrix.Diagonal((1.0, 2.0, 0.5, 1.0)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_armatures_may_have_any_shape(shape):
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", gravity=3.0)
    parent = rigs.make_empty("Parent", (0, 0, 0))
    rig.parent = parent
    rig.matrix_parent_inverse = SHAPES[shape]
    rigs.update()
    simulate(rig)
    assert rig.fabrik.constraints[0].state == "REACHED"
    rigs.go(1)
    scale = abs(SHAPES[shape].determinant()) ** (1 / 3)
    shown = rigs.evaluated(rig)
    for frame in (5, 20, 49):
        rigs.go(frame)
        assert rigs.is_finite(rig)
        for bone in shown.pose.bones:
            assert bone.length == pytest.approx(bone.bone.length, rel=1e-4)
    assert scale > 0.0


def matrix_of(q):
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def from_to(a, b):
    """The smallest rotation between unit vectors, as a matrix."""
    v, c = np.cross(a, b), a @ b
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + cross + cross @ cross / (1.0 + c)


def as_written(rig, frames, fps, stiffness, drag, gravity, ball, radius):
    """VRMC_springBone 1.0 in numpy: where the tails are at each frame."""
    rests = [b.bone for b in rig.pose.bones if b.name.startswith("T")]
    locals_ = []
    for bone in rests:
        local = bone.parent.matrix_local.inverted() @ bone.matrix_local
        locals_.append(np.array(local.to_3x3(), dtype=float))
    axis, sizes = np.array([0.0, 1.0, 0.0]), [bone.length for bone in rests]
    current = previous = None
    shown = []
    for frame in frames:
        rigs.go(frame)
        head = rigs.evaluated(rig).pose.bones["Head"].matrix
        axes, at = np.array(head.to_3x3(), dtype=float), np.array(head.to_translation())
        offset = np.array(rests[0].parent.matrix_local.inverted() @ rests[0].head_local)
        at = at + axes @ offset
        tails, start = [], current is None
        for i, size in enumerate(sizes):
            axes = axes @ locals_[i]
            rest = axes @ axis
            if start:
                tail = at + size * rest
            else:
                tail = current[i] + (current[i] - previous[i]) * (1 - drag)
                tail = tail + rest * stiffness / fps + gravity / fps
                tail = at + size * (tail - at) / np.linalg.norm(tail - at)
                away = np.linalg.norm(tail - ball[0])
                if away < ball[1] + radius:
                    tail = ball[0] + (tail - ball[0]) / away * (ball[1] + radius)
                    tail = at + size * (tail - at) / np.linalg.norm(tail - at)
            axes = from_to(rest, (tail - at) / size) @ axes
            at = tail
            tails.append(tail)
        previous, current = (tails, tails) if start else (current, tails)
        shown.append(np.array(tails))
    return shown


@pytest.mark.parametrize("fps", [24, 60])
def test_vrm_is_the_written_text(fps):
    rig = make_tail()
    swing_head(rig, fps)
    ball = (np.array([0.15, 0.1, -0.3]), 0.12)
    collider = rig.fabrik.colliders.add()
    collider.object, collider.radius = rigs.make_empty("Ball", ball[0]), ball[1]
    values = {"mode": "VRM", "stiffness": 0.8, "drag": 0.3, "gravity": 0.2, "radius": 0.02}
    add_spring(rig, "T0", **values)
    simulate(rig)
    frames = range(1, 2 * fps + 2)
    down = np.array([0.0, 0.0, -rig.fabrik.constraints[0].spring.gravity])
    stiffness, drag, radius = [
        getattr(rig.fabrik.constraints[0].spring, name) for name in ("stiffness", "drag", "radius")
    ]
    size = rigs.evaluated(rig).fabrik.colliders[0].radius
    wanted = as_written(rig, frames, fps, stiffness, drag, down, (ball[0], size), radius)
    touched = 0
    for frame, tails in zip(frames, wanted, strict=True):
        rigs.go(frame)
        found = np.array(joints(rig)[1:])
        assert np.abs(found - tails).max() < 2e-6  # Blender's poses have single precision.
        touched += np.linalg.norm(found - ball[0], axis=1).min() < size + radius + 1e-6
    assert touched > 3


def test_a_pendulum_swings_with_its_period():
    rig = make_tail(1, horizontal=True)
    bpy.context.scene.frame_end = 500
    add_spring(rig, "T0", stiffness=0.0, drag=0.0, gravity=9.81)
    simulate(rig)
    ends = []
    for frame in range(1, 501):
        rigs.go(frame)
        ends.append(joints(rig)[-1])
    assert max(end.z for end in ends) < 1e-6
    passes = [i + a.y / (a.y - b.y) for i, (a, b) in enumerate(pairwise(ends)) if a.y < 0 <= b.y]
    period = (passes[-1] - passes[0]) / (len(passes) - 1) / 24.0
    # From a right angle: 2 K(sin 45°) √(L / g).
    assert period == pytest.approx(4.0 * 1.8540746773 * sqrt(0.5 / 9.81), rel=2e-3)


@pytest.mark.parametrize(("mode", "gravity"), [("VRM", 0.2), ("STEADY", 9.81)])
def test_each_number_counts(mode, gravity):
    """Which way, the solver's own tests show; a larger radius keeps the strand off the ball."""
    rig = make_tail()
    swing_head(rig)
    collider = rig.fabrik.colliders.add()
    collider.object, collider.radius = rigs.make_empty("Ball", (0.15, 0.1, -0.3)), 0.12
    add_spring(rig, "T0", mode=mode, stiffness=0.8, drag=0.3, gravity=gravity, radius=0.02)
    spring = rig.fabrik.constraints[0].spring
    simulate(rig)
    shown = [shown_at(rig, (1.0, 1.5), 24)]
    for name in ("stiffness", "drag", "gravity", "radius"):
        setattr(spring, name, 2.0 * getattr(spring, name))
        simulate(rig)
        shown.append(shown_at(rig, (1.0, 1.5), 24))
        assert max(map(apart, shown[-2], shown[-1])) > 1e-3, name


def test_what_the_simulation_depends_on():
    rig = make_tail()
    swing_head(rig)
    ball = rigs.make_empty("Ball", (1, 0, 0))
    collider = rig.fabrik.colliders.add()
    collider.object = ball
    rig.fabrik.colliders.add().bone = "Head"
    add_spring(rig, "T0")
    item = rig.fabrik.constraints[0]
    simulate(rig)

    def changes(edit):
        edit()
        rigs.update()
        was_stale = rig.fabrik.simulation.state == "STALE"
        simulate(rig)
        assert rig.fabrik.simulation.state == "FRESH"
        return was_stale

    def rename():
        rig.data.bones["T2"].name = "Renamed"
        rig.data.bones["Head"].name = "Skull"

    scene = bpy.context.scene
    assert not changes(lambda: setattr(item, "influence", 0.5))
    assert not changes(rename)
    assert rig.fabrik.colliders[1].bone == "Skull"
    assert changes(lambda: setattr(item.spring, "stiffness", 2.0))
    assert changes(lambda: setattr(item.spring, "gravity_direction", (1, 0, 0)))
    assert changes(lambda: setattr(item.spring, "use_loop", True))
    assert changes(lambda: setattr(collider, "radius", 0.3))
    assert changes(lambda: setattr(collider, "kind", "CAPSULE"))
    assert changes(lambda: setattr(ball, "location", (2, 0, 0)))
    assert changes(lambda: setattr(item.spring, "center", ball))
    assert changes(lambda: setattr(rig.pose.bones["Skull"], "scale", (2, 2, 2)))
    assert changes(lambda: setattr(scene.render, "fps", 30))


def test_a_center_carries_the_strand_with_it():
    rig = make_tail()
    train = rigs.make_empty("Train", (0, 0, 0))
    rig.parent = train
    rigs.key(train, "location", {1: (0, 0, 0), 24: (30, 0, 0), 49: (35, 5, 0)})
    rigs.key(train, "rotation_euler", {1: (0, 0, 0), 49: (0, 0, 2)})
    bpy.context.scene.frame_end = 49
    add_spring(rig, "T0", center=train, gravity=9.81)
    simulate(rig)
    for frame in (1, 12, 30, 49):
        rigs.go(frame)
        for bone in rigs.evaluated(rig).pose.bones:
            assert (
                bone.matrix.to_quaternion()
                .rotation_difference(bone.bone.matrix_local.to_quaternion())
                .angle
                < 1e-3
            )
    rig.fabrik.constraints[0].spring.center = None
    simulate(rig)
    rigs.go(20)
    assert (joints(rig)[-1] - rigs.evaluated(rig).matrix_world @ Vector((0, 0, -0.5))).length > 0.05


def test_loops_end_as_they_start_and_cuts_start_again():
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", use_loop=True, gravity=4.0, drag=0.2)
    simulate(rig)
    first, last = shown_at(rig, (0.0, 2.0), 24)
    assert apart(first, last) < 1e-4 * 0.5
    rig.fabrik.constraints[0].spring.use_loop = False
    rig.location.x = 0.0
    for frame, x in ((20, 0.0), (21, 50.0)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)
    rigs.make_linear(rig)
    simulate(rig)
    rigs.go(21)
    fresh = joints(rig)
    rest = rigs.evaluated(rig).pose.bones["Head"].matrix @ Matrix.Translation((0, 0, 0))
    assert rest is not None
    rig.fabrik.constraints[0].influence = 0.0
    rigs.update()
    assert apart(fresh, joints(rig)) < 1e-5


def test_a_key_on_reset_starts_again():
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", drag=0.1)
    spring = rig.fabrik.constraints[0].spring
    for frame, value in ((1, False), (30, True), (31, False)):
        spring.reset = value
        spring.keyframe_insert("reset", frame=frame)
    simulate(rig)
    shown = {}
    for influence in (1.0, 0.0):
        rig.fabrik.constraints[0].influence = influence
        rigs.go(29)
        before = joints(rig)
        rigs.go(30)
        shown[influence] = before, joints(rig)
    assert apart(shown[1.0][0], shown[0.0][0]) > 0.01
    assert apart(shown[1.0][1], shown[0.0][1]) < 1e-6


def limited_angles(rig):
    """Limit a bone that gravity pulls aside; return the simulated angles, by frame and bone."""
    joint = rig.pose.bones["T2"].fabrik_joint
    joint.limit_type = "CONE"
    joint.swing_x = joint.swing_z = 0.03
    joint.twist_min = joint.twist_max = 0.0
    add_spring(rig, "T0", gravity=20.0, gravity_direction=(1, 0, 0), stiffness=0.2)
    simulate(rig)
    rotations = stored(rig)
    return 2.0 * np.arcsin(np.linalg.norm(rotations[:, :, 1:], axis=2))


def test_joint_limits_hold():
    rig = make_tail()
    swing_head(rig)
    angles = limited_angles(rig)
    assert angles[:, 2].max() == pytest.approx(0.03, abs=1e-6)
    assert angles[:, 1].max() > 0.04


INHERITED = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")


@pytest.mark.parametrize("turns", [True, False], ids=["turns", "stays"])
@pytest.mark.parametrize("inherited", INHERITED)
def test_joint_limits_hold_whatever_a_bone_inherits(inherited, turns):
    """The limit is of the bone's own channels, as Blender shows them."""
    rig = make_tail()
    swing_head(rig)
    rig.pose.bones["T1"].scale = (1.0, 1.3, 0.8)
    bone = rig.data.bones["T2"]
    bone.inherit_scale, bone.use_inherit_rotation = inherited, turns
    angles = limited_angles(rig)
    assert angles[:, 1].max() > 0.04
    assert angles[:, 2].max() == pytest.approx(0.03, abs=1e-5)
    # A limit that is never reached makes no difference.
    shown, joint = [], rig.pose.bones["T2"].fabrik_joint
    for kind in ("CONE", "NONE"):
        joint.limit_type = kind
        joint.swing_x = joint.swing_z = joint.twist_max = np.pi
        joint.twist_min = -np.pi
        simulate(rig)
        rigs.go(20)
        shown.append(joints(rig))
    is_sheared = not turns and inherited in ("FULL", "FIX_SHEAR")
    assert apart(*shown) < (0.02 if is_sheared else 2e-3)  # Its length depends on its direction.


def test_a_strand_that_is_grabbed_blends_by_influence():
    rig = make_tail()
    swing_head(rig)
    target = rigs.make_empty("Hand", (0.2, 0.1, -0.25))
    rigs.add_constraint(rig, "T4", target, chain_count=5)
    add_spring(rig, "T0")
    swing = rig.fabrik.constraints[1]
    assert swing.solver == "SPRING"
    rigs.key(swing, "influence", {1: 0.0, 24: 0.0, 36: 1.0})
    simulate(rig)
    for frame in (1, 12, 24):
        rigs.go(frame)
        assert rigs.tip_error(rig, "T4", target) < 1e-4
    steps = []
    for frame in range(20, 49):
        rigs.go(frame)
        steps.append(joints(rig))
    assert max(apart(a, b) for a, b in pairwise(steps)) < 0.1


def test_animated_settings_count_at_their_frame():
    shown = []
    for values in ({1: 1.0}, {1: 1.0, 25: 1.0, 26: 0.0, 49: 0.0}):
        rig = make_tail(name=f"Rig{len(values)}")
        swing_head(rig)
        add_spring(rig, "T0")
        rigs.key(rig.fabrik.constraints[0].spring, "stiffness", values)
        simulate(rig)
        assert rig.fabrik.simulation.state == "FRESH"
        rigs.go(33)
        assert rig.fabrik.simulation.state == "FRESH"
        shown.append(shown_at(rig, (0.9, 1.9), 24))
    assert apart(shown[0][0], shown[1][0]) < 1e-6
    assert apart(shown[0][1], shown[1][1]) > 0.02


def test_the_direction_of_gravity_may_be_keyed(simulated_springs):
    rig = make_tail()
    add_spring(rig, "T0", gravity=6.0)
    spring = rig.fabrik.constraints[0].spring
    for frame, direction in ((1, (0, 0, -1)), (5, (1, 0, 0))):
        spring.gravity_direction = direction
        spring.keyframe_insert("gravity_direction", frame=frame)
    bpy.context.scene.frame_end = 5
    simulate(rig)
    first, _, middle, _, last, *_ = [springs[0].gravity for springs in simulated_springs]
    assert first == pytest.approx((0.0, 0.0, -0.1)) and last == pytest.approx((0.1, 0.0, 0.0))
    assert middle == pytest.approx((sqrt(0.005), 0.0, -sqrt(0.005)))


def test_values_blend_along_the_strand():
    ends = []
    for tip in (1.0, 0.1):
        rig = make_tail(name=f"Rig{tip}", horizontal=True)
        bpy.context.scene.frame_end = 40
        add_spring(rig, "T0", use_settle=True, gravity=9.81, stiffness_tip=tip)
        simulate(rig)
        rigs.go(1)
        ends.append(joints(rig))
    assert (ends[0][1] - ends[1][1]).length < 1e-6
    assert ends[1][-1].z < ends[0][-1].z - 0.05


@pytest.fixture
def simulated_springs(monkeypatch, addon):
    """What the last simulation got: the springs of all bones, by frame."""
    from importlib import import_module

    recording = import_module(f"{addon.__name__}.features.spring.recording")
    springs = []
    original = recording.simulating

    def noted(instants, rate, mode, beyond):
        springs[:] = [instant.springs for instant in instants]
        return original(instants, rate, mode, beyond)

    monkeypatch.setattr(recording, "simulating", noted)
    return springs


@pytest.mark.parametrize("name", ["stiffness", "drag", "gravity", "radius"])
def test_each_value_has_a_curve_along_the_strand(name, simulated_springs):
    """Its value at the root, halfway and at the tip, also where these are keyed."""

    def along(frame):
        found = [getattr(spring, name) for spring in simulated_springs[frame - 1]]
        return [-60.0 * value[2] for value in found] if name == "gravity" else found

    rig = make_tail()
    bpy.context.scene.frame_end = 20
    add_spring(rig, "T0")
    spring = rig.fabrik.constraints[0].spring
    setattr(spring, name, 0.8)
    simulate(rig)
    assert along(1) == pytest.approx([0.8] * 5)
    setattr(spring, f"{name}_tip", 0.25)
    simulate(rig)
    assert along(1) == pytest.approx([0.8, 0.65, 0.5, 0.35, 0.2])
    setattr(spring, f"{name}_middle", 0.9)
    simulate(rig)
    assert along(1)[2] == pytest.approx(0.8 + 0.9 * (0.2 - 0.8))
    assert along(1)[::4] == pytest.approx([0.8, 0.2])
    assert along(1)[1] < 0.4 < 0.6
    rigs.key(spring, f"{name}_middle", {1: 0.9, 20: 0.1})
    rigs.key(spring, f"{name}_tip", {1: 0.25, 20: 0.5})
    simulate(rig)
    assert along(1)[2] == pytest.approx(0.26)
    assert along(20)[2] == pytest.approx(0.8 + 0.1 * (0.4 - 0.8))


def test_all_strands_get_the_values_of_the_redo_panel():
    rig = rigs.make_armature(
        {
            "Head": ((0, 0, 0), (0, 0, 1), ""),
            "A": ((0, 0, 1), (0, 0, 2), "Head"),
            "B": ((1, 0, 1), (1, 0, 2), "Head"),
        }
    )
    rigs.activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones["Head"]
    values = {"stiffness": 2.0, "stiffness_tip": 0.5, "gravity_middle": 0.25, "radius": 0.125}
    assert bpy.ops.fabrik.spring_add(**values) == {"FINISHED"}
    springs = [item.spring for item in rig.fabrik.constraints]
    assert len(springs) == 2
    for spring in springs:
        assert {name: getattr(spring, name) for name in values} == values
        assert not spring.is_property_set("drag")


def test_the_mirror_image_of_a_strand_has_its_curves():
    rig = rigs.make_armature(
        {
            "Ear.L": ((1, 0, 0), (1, 0, 1), ""),
            "Ear.R": ((-1, 0, 0), (-1, 0, 1), ""),
        }
    )
    add_spring(rig, "Ear.L", stiffness_middle=0.25, gravity=3.0, gravity_tip=0.5)
    rigs.key(rig.fabrik.constraints[0].spring, "radius_middle", {1: 0.25, 9: 0.75})
    rigs.activate(rig, "POSE")
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    other = rig.fabrik.constraints[1]
    assert (other.bone, other.spring.stiffness_middle) == ("Ear.R", 0.25)
    assert (other.spring.gravity, other.spring.gravity_tip) == (3.0, 0.5)
    rigs.go(9)
    assert other.spring.radius_middle == 0.75


def test_bones_without_length_and_without_parent_swing():
    rig = rigs.make_armature(
        {"A": ((0, 0, 0), (0, 0, -0.2), ""), "B": ((0, 0, -0.2), (0, 0, -0.4), "A")}
    )
    rigs.key(rig, "location", {1: (0, 0, 0), 10: (1, 0, 0), 24: (0, 1, 0)})
    rig.pose.bones["A"].scale = (0.0, 0.0, 0.0)
    bpy.context.scene.frame_end = 24
    add_spring(rig, "A", gravity=5.0)
    simulate(rig)
    for frame in range(1, 25):
        rigs.go(frame)
        assert rigs.is_finite(rig)


def test_what_goes_wrong_is_said():
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", drag=0.0, stiffness=0.0, gravity=9.81, use_loop=True)
    item = rig.fabrik.constraints[0]
    simulate(rig)
    assert item.message == "The ends of the loop differ: increase Drag"
    item.spring.use_loop = False
    for z, side in ((-0.03, 1.0), (-0.3, -1.0)):
        wall = rig.fabrik.colliders.add()
        wall.object, wall.kind = rigs.make_empty(f"Wall{z}", (0, 0, z)), "PLANE"
        wall.offset, wall.tail = (0, 0, 0), (0, 0, side)
    rigs.update()
    simulate(rig)
    assert "m deep in colliders at frame" in item.message
    assert item.state == "REACHED"


def test_strands_that_share_bones_are_said(capfd):
    rig = make_tail()
    bpy.context.scene.frame_end = 5
    add_spring(rig, "T0")
    rigs.add_constraint(rig, "T2", chain_count=3, solver="SPRING", name="Half")
    rigs.update()
    simulate(rig)
    note = "“T4” and “Half” share bones, so the second swings on top of the first"
    assert note in capfd.readouterr().out
    half = rig.fabrik.constraints[1]
    half.enabled = False
    simulate(rig)
    half.enabled, half.bone, half.chain_count = True, "Head", 1
    rigs.update()
    simulate(rig)
    assert "share" not in capfd.readouterr().out


def damage(rig, kind):
    """Add an F-curve as damaged files have it."""
    if kind == "key":
        rig.pose.bones["Head"].keyframe_insert("location", frame=20)
    animation = rig.animation_data
    owner = animation.action
    if hasattr(owner, "layers"):
        owner = owner.layers[0].strips[0].channelbag(animation.action_slot)
    bag = owner.fcurves
    if kind == "key":
        curve = bag.find('pose.bones["Head"].location', index=0)
        curve.keyframe_points[1].co.y = float("nan")
        return
    path, index = {
        "index": ('pose.bones["Head"].location', 7),
        "index of a setting": ("fabrik.constraints[0].spring.gravity_direction", 9),
        "bone": ('pose.bones["Gone"].location', 0),
        "item": ("fabrik.constraints[5].spring.drag", 0),
        "group": ("fabrik.constraints[0].spring", 0),
        "nonsense": ("][", 0),
        "empty": ('pose.bones["T0"].location', 0),
    }[kind]
    curve = bag.new(path, index=index)
    if kind != "empty":
        curve.keyframe_points.insert(1.0, 0.5)
        curve.keyframe_points.insert(30.0, 1.5)


@pytest.mark.parametrize(
    "kind",
    ["index", "index of a setting", "bone", "item", "group", "nonsense", "empty", "key"],
)
def test_damaged_curves_do_not_stop_it(kind, capfd):
    """They count for nothing; a key that isn't a number leaves the simulation finite."""
    rig = make_tail()
    swing_head(rig)
    bpy.context.scene.frame_end = 30
    add_spring(rig, "T0", gravity=5.0)
    simulate(rig)
    sound = stored(rig)
    damage(rig, kind)
    rigs.update()
    capfd.readouterr()
    simulate(rig)
    assert (stored(rig) == sound).all() if kind != "key" else np.isfinite(stored(rig)).all()
    posed(rig, location=(0.1, 0.0, 0.0))
    rigs.go(10)
    assert "Traceback" not in "".join(capfd.readouterr())


def test_jumps_and_invalid_numbers_are_said(capfd):
    rig = make_tail()
    rigs.key(rig, "location", {1: (0, 0, 0), 20: (0, 0, 0), 21: (9, 0, 0), 40: (9, 0, 0)})
    rigs.make_linear(rig)
    bpy.context.scene.frame_end = 40
    add_spring(rig, "T0")
    simulate(rig)
    assert "“T4” starts again at the cuts: 21" in capfd.readouterr().out
    for frame, note in ((20, ""), (21, "The strand starts again at this cut"), (22, "")):
        rigs.go(frame)
        assert rig.fabrik.constraints[0].message == note
    rig.fabrik.constraints[0].spring.gravity = float("nan")
    rigs.update()
    with pytest.raises(RuntimeError, match="is invalid: enter a valid number for “Gravity”"):
        bpy.ops.fabrik.simulate()
    assert rig.fabrik.constraints[0].state == "REACHED"


def test_colliders_are_outlined(addon):
    from importlib import import_module

    drawing = import_module(f"{addon.__name__}.features.spring.drawing")
    rig = make_tail()
    add_spring(rig, "T0")
    for kind, count in (("SPHERE", 3), ("CAPSULE", 4), ("PLANE", 2)):
        ball = rig.fabrik.colliders.add()
        ball.kind, ball.bone, ball.radius = kind, "Head", 0.2
        ball.tail = (0.0, 0.5, 0.0)
        lines = drawing.outlines(bpy.context)
        assert len(lines) == count
        if kind == "SPHERE":
            assert {round(p.length, 5) for line in lines for p in line} == {0.2}
        elif kind == "CAPSULE":
            other = Vector((0, 0, 0.5))
            points = [point for line in lines for point in line]
            away = {round(min(p.length, (p - other).length), 5) for p in points}
            assert away == {0.2}
        rig.fabrik.colliders.clear()


VRM_SHAPES = ("Sphere", "Capsule", "Plane", "Torus")
"""The last one is made up: a later version of the add-on may have it."""


class VrmAddon:
    """The public properties of the VRM add-on that hold springs, registered while it is there."""

    def __init__(self):
        from bpy.props import (
            BoolProperty,
            CollectionProperty,
            EnumProperty,
            FloatProperty,
            FloatVectorProperty,
            PointerProperty,
            StringProperty,
        )

        self.classes = []

        def group(**props):
            name = f"VrmGroup{len(self.classes)}"
            cls = type(name, (bpy.types.PropertyGroup,), {"__annotations__": props})
            bpy.utils.register_class(cls)
            self.classes.append(cls)
            return cls

        def several(**props):
            return CollectionProperty(type=group(**props))

        def one(**props):
            return PointerProperty(type=group(**props))

        def numbers(names, **values):
            return {name: FloatProperty(**values) for name in names.split()}

        text, way = StringProperty(), FloatVectorProperty(size=3)
        node = group(bone_uuid=text)
        bone = PointerProperty(type=node)
        shown = PointerProperty(type=bpy.types.Object)
        shapes = [(name, name, "", i) for i, name in enumerate(VRM_SHAPES)]
        shape = EnumProperty(items=shapes)
        inside = one(inside=BoolProperty())
        extended = one(
            enabled=BoolProperty(), shape_type=shape, shape=one(sphere=inside, capsule=inside)
        )
        joint = numbers("hit_radius gravity_power") | numbers("stiffness", default=1.0)
        newer = one(
            springs=several(
                joints=several(
                    node=bone, gravity_dir=way, **joint, **numbers("drag_force", default=0.5)
                ),
                center=bone,
                collider_groups=several(collider_group_uuid=text),
            ),
            colliders=several(
                node=bone,
                shape_type=shape,
                uuid=text,
                bpy_object=shown,
                extensions=one(vrmc_spring_bone_extended_collider=extended),
            ),
            collider_groups=several(
                vrm_name=text, uuid=text, colliders=several(collider_uuid=text)
            ),
        )
        older = one(
            bone_groups=several(
                bones=CollectionProperty(type=node),
                center=bone,
                gravity_dir=way,
                collider_groups=several(value=text),
                **numbers("stiffiness drag_force hit_radius gravity_power"),
            ),
            collider_groups=several(node=bone, name=text, colliders=several(bpy_object=shown)),
        )
        extension = one(spring_bone1=newer, vrm0=one(secondary_animation=older))
        bpy.types.Armature.vrm_addon_extension = extension
        bpy.types.Bone.vrm_addon_extension = one(uuid=text)

    def name_bones(self, rig):
        for bone in rig.data.bones:
            bone.vrm_addon_extension.uuid = f"of {bone.name}"

    def remove(self):
        """Uninstall it; what is stored stays."""
        if self.classes:
            del bpy.types.Armature.vrm_addon_extension, bpy.types.Bone.vrm_addon_extension
        while self.classes:
            bpy.utils.unregister_class(self.classes.pop())


@pytest.fixture
def vrm():
    addon = VrmAddon()
    yield addon
    addon.remove()


def make_shown_ball(rig, bone, at, size, end=None):
    """The object that shows a collider of the VRM add-on, on a bone."""
    ball = rigs.make_empty("Ball", (0, 0, 0))
    ball.parent, ball.parent_type, ball.parent_bone = rig, "BONE", bone
    ball.empty_display_size = size
    rigs.update()
    ball.matrix_world = rig.matrix_world @ rig.pose.bones[bone].matrix @ Matrix.Translation(at)
    if end is not None:
        tail = rigs.make_empty("End", (0, 0, 0))
        tail.parent = ball
        tail.location = Vector(end) - Vector(at)
    rigs.update()
    return ball


@pytest.mark.parametrize("is_installed", [True, False])
def test_springs_of_the_vrm_addon_are_imported(vrm, is_installed, tmp_path, capfd):
    """From what stands in the file: the add-on may have been removed."""
    rig = make_tail()
    rig.location, rig.scale = (1.0, 0.0, 0.0), (2.0, 2.0, 2.0)
    rigs.activate(rig)
    vrm.name_bones(rig)
    with pytest.raises(RuntimeError, match="No VRM springs"):
        bpy.ops.fabrik.springs_import()
    stored = rig.data.vrm_addon_extension.spring_bone1
    spring = stored.springs.add()
    for i in range(4):
        joint = spring.joints.add()
        joint.node.bone_uuid = f"of T{i}"
        joint.gravity_power, joint.gravity_dir = (0.4, 0.3, 0.2)[min(i, 2)], (0, 1, 0)
        joint.hit_radius = 0.02
        if i > 0:  # The first one has the default, which isn't stored.
            joint.stiffness = (0, 0.875, 0.5, 0.25)[i]
    spring.center.bone_uuid = "of Head"
    spring.collider_groups.add().collider_group_uuid = "g"
    group = stored.collider_groups.add()
    group.vrm_name, group.uuid = "Skull", "g"
    for i, shape in enumerate(("Sphere", "Capsule", "Sphere", "Capsule", "Plane", "Torus")):
        ball = stored.colliders.add()
        ball.uuid, ball.node.bone_uuid = f"c{i}", "of Head"
        group.colliders.add().collider_uuid = f"c{i}"
        end = (0, 0.2, 0.1) if shape == "Capsule" else None
        ball.bpy_object = make_shown_ball(rig, "Head", (0, 0.1, 0.1 * i), 0.05, end)
        extended = ball.extensions.vrmc_spring_bone_extended_collider
        if i < 2:
            ball.shape_type = shape
        else:
            extended.enabled, extended.shape_type = True, shape
            extended.shape.sphere.inside = extended.shape.capsule.inside = i < 4
    second = stored.collider_groups.add()  # It counts once.
    second.vrm_name, second.uuid = "Jaw", "j"
    second.colliders.add().collider_uuid = "c5"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "vrm.blend"))
    if not is_installed:
        vrm.remove()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "vrm.blend"))
    rig = bpy.data.objects["Rig"]
    rigs.activate(rig)
    assert bpy.ops.fabrik.springs_import() == {"FINISHED"}
    assert "Imported 1 spring without 1 collider of unknown shape" in capfd.readouterr().out
    [item] = rig.fabrik.constraints
    found = item.spring
    assert (item.bone, item.use_tail, item.chain_count) == ("T3", False, 3)
    assert (found.mode, found.groups, found.use_colliders) == ("VRM", "Skull", True)
    assert (found.stiffness, found.stiffness_tip, found.stiffness_middle) == (1.0, 0.5, 0.25)
    assert (found.drag, found.drag_tip, found.drag_middle) == (0.5, 1.0, 0.5)
    assert (found.center, found.center_bone) == (rig, "Head")
    assert (found.gravity, found.gravity_tip) == pytest.approx((0.4, 0.5))
    assert tuple(found.gravity_direction) == (0, 1, 0) and found.radius == pytest.approx(0.02)
    colliders = [*rig.fabrik.colliders]
    kinds = ["SPHERE", "CAPSULE", "INSIDE_SPHERE", "INSIDE_CAPSULE", "PLANE"]
    assert [collider.kind for collider in colliders] == kinds
    for i, collider in enumerate(colliders):
        assert (collider.bone, collider.group) == ("Head", "Skull")
        assert tuple(collider.offset) == pytest.approx((0, 0.1, 0.1 * i), abs=1e-6)
        assert collider.radius == pytest.approx(0.05)
    assert tuple(colliders[1].tail) == pytest.approx((0, 0.2, 0.1), abs=1e-6)
    plane = colliders[4]
    assert (Vector(plane.tail) - Vector(plane.offset)).normalized().y == pytest.approx(1.0)
    swing_head(rig)
    simulate(rig)
    assert item.state == "REACHED"


@pytest.mark.parametrize("is_installed", [True, False])
def test_springs_of_an_older_vrm_are_imported(vrm, is_installed):
    """VRM 0.x lists the first bones of strands, with branches, and spheres on a bone."""
    bones = {
        "Head": ((0, 0, 0), (0, 0, 0.3), ""),
        "T0": ((0, 0, 0), (0, 0, -0.1), "Head"),
        "T1": ((0, 0, -0.1), (0, 0, -0.3), "T0"),
        "Side": ((0, 0, -0.1), (0, 0.1, -0.1), "T0"),
    }
    rig = rigs.make_armature(bones, "Rig")
    vrm.name_bones(rig)
    rigs.activate(rig)
    stored = rig.data.vrm_addon_extension.vrm0.secondary_animation
    group = stored.bone_groups.add()
    group.bones.add().bone_uuid = "of T0"
    group.bones.add().bone_uuid = "of a bone that was removed"
    group.stiffiness, group.drag_force, group.hit_radius = 0.7, 0.3, 0.04
    group.gravity_power, group.gravity_dir = 0.2, (0, 0, -1)
    group.center.bone_uuid = "of Head"
    group.collider_groups.add().value = "Head#5"
    for name in ("Head#5", "Side#6"):
        balls = stored.collider_groups.add()
        balls.name, balls.node.bone_uuid = name, "of Head"
        balls.colliders.add().bpy_object = make_shown_ball(rig, "Head", (0.1, 0.0, 0.2), 0.15)
    if not is_installed:
        vrm.remove()
    assert bpy.ops.fabrik.springs_import() == {"FINISHED"}
    items = [*rig.fabrik.constraints]
    assert [(one.bone, one.chain_count, one.use_tail) for one in items] == [
        ("T1", 2, True),
        ("Side", 1, True),
    ]
    for item in items:
        found = item.spring
        assert (found.mode, found.center_bone, found.groups) == ("VRM", "Head", "Head#5")
        values = (found.stiffness, found.drag, found.radius, found.gravity)
        assert values == pytest.approx((0.7, 0.3, 0.04, 0.2))
        assert (found.stiffness_tip, found.drag_tip) == (1.0, 1.0)
    assert [(one.kind, one.bone, one.group) for one in rig.fabrik.colliders] == [
        ("SPHERE", "Head", "Head#5"),
        ("SPHERE", "Head", "Side#6"),
    ]
    assert tuple(rig.fabrik.colliders[0].offset) == pytest.approx((0.1, 0.0, 0.2), abs=1e-6)
    assert rig.fabrik.colliders[0].radius == pytest.approx(0.15)
    simulate(rig)
    assert {item.state for item in items} == {"REACHED"}


def add_wind(kind="WIND", strength=9.81, turn=(np.pi, 0.0, 0.0), at=(0.0, 0.0, 0.0)):
    """Add a force field, facing down."""
    bpy.ops.object.effector_add(type=kind, location=at, rotation=turn)
    ob = bpy.context.object
    ob.field.strength = strength
    rigs.update()
    return ob


def test_wind_from_above_is_gravity():
    rig = make_tail(horizontal=True)
    swing_head(rig)
    add_spring(rig, "T0", stiffness=0.2, gravity=9.81)
    simulate(rig)
    heavy = stored(rig)
    rig.fabrik.constraints[0].spring.gravity = 0.0
    simulate(rig)
    calm = stored(rig)
    add_wind()
    simulate(rig)
    assert np.abs(stored(rig) - heavy).max() < 1e-6
    assert np.abs(calm - heavy).max() > 0.01
    rig.fabrik.constraints[0].spring.field_weight = 0.0
    simulate(rig)
    assert (stored(rig) == calm).all()


def test_each_frame_has_its_wind():
    """A keyed wind, rotated by a parent, blows from its place at each frame."""
    rig = make_tail()
    bpy.context.scene.frame_end = 40
    add_spring(rig, "T0", stiffness=0.2)
    carrier = bpy.data.objects.new("Carrier", None)
    bpy.context.collection.objects.link(carrier)
    wind = add_wind(turn=(0.0, np.pi / 2, 0.0))
    wind.parent = carrier
    for frame, strength, turn in ((1, 0.0, 0.0), (19, 0.0, 0.0), (20, 20.0, np.pi / 2)):
        wind.field.strength = strength
        wind.keyframe_insert("field.strength", frame=frame)
        carrier.rotation_euler.z = turn
        carrier.keyframe_insert("rotation_euler", frame=frame)
    rigs.update()
    simulate(rig)
    still, blown = shown_at(rig, (18, 39), 1)
    assert apart(still, joints_at_rest(rig)) < 1e-6
    shift = blown[-1] - still[-1]
    assert shift.y > 0.05 and abs(shift.x) < 0.1 * shift.y


def joints_at_rest(rig):
    bones = [bone for bone in rig.data.bones if bone.name.startswith("T")]
    return [*(b.head_local for b in bones), bones[-1].tail_local]


def test_a_simulation_knows_its_force_fields():
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0")
    simulate(rig)
    state = lambda: (rigs.update(), rig.fabrik.simulation.state)[1]  # noqa: E731
    assert state() == "FRESH"
    wind = add_wind()
    assert state() == "STALE"
    simulate(rig)
    assert state() == "FRESH"
    for path, value in (
        ("field.strength", 5.0),
        ("field.noise", 1.0),
        ("field.falloff_power", 1.0),
        ("location", (0.0, 0.0, 1.0)),
        ("hide_viewport", True),
    ):
        owner, _, name = path.rpartition(".")
        setattr(wind.path_resolve(owner) if owner else wind, name, value)
        assert state() == "STALE", path
        simulate(rig)
        assert state() == "FRESH", path
    bpy.data.objects.remove(wind)
    assert state() == "FRESH"  # It was hidden.


def in_collection(ob, name):
    """Move an object to a collection of its own."""
    collection = bpy.data.collections.new(name)
    bpy.context.scene.collection.children.link(collection)
    for other in ob.users_collection:
        other.objects.unlink(ob)
    collection.objects.link(ob)
    return collection


def test_the_active_view_layer_does_not_choose_the_force_fields():
    """A field counts that any view layer has: the motion is the same in each of them."""
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", stiffness=0.3)
    simulate(rig)
    calm = stored(rig)
    scene, window = bpy.context.scene, bpy.context.window
    first, second = window.view_layer, scene.view_layers.new("Second")
    for turn in (0.0, 1.0):  # Their order matters to the last bits.
        wind = add_wind(strength=5.0, turn=(np.pi / 2, turn, 0.0))
        rigs.key(wind, "location", {1: (0, 0, 0), 40: (0, 0, 1)})
        collection = in_collection(wind, f"Wind {turn}")
        wind.field.falloff_power = 1.0
    rigs.activate(rig)
    simulate(rig)
    blown = stored(rig)
    assert np.abs(blown - calm).max() > 0.01

    def exclude(layer, is_excluded=True):
        for child in layer.layer_collection.children:
            child.exclude = is_excluded and child.name.startswith("Wind")
        rigs.update()

    exclude(first)
    assert rig.fabrik.simulation.state == "FRESH"
    for layer in (first, second):
        window.view_layer = layer
        rigs.update()
        assert rig.fabrik.simulation.state == "FRESH"
        simulate(rig)
        assert (stored(rig) == blown).all(), layer.name
        rig.fabrik.constraints[0].spring.drag = 0.5  # Is tried from what was recorded.
        rigs.update()
        assert repeat(rig)
        rig.fabrik.constraints[0].spring.drag = 0.4
        rigs.update()
        assert repeat(rig)
        assert (stored(rig) == blown).all(), layer.name
    assert [ob.name for ob in scene.collection.objects if ob.field] == []
    exclude(second)
    assert rig.fabrik.simulation.state == "STALE"
    simulate(rig)
    assert (stored(rig) == calm).all()
    exclude(second, False)
    collection.hide_viewport = True
    simulate(rig)
    one = stored(rig)
    assert np.abs(one - calm).max() > 0.01 and np.abs(one - blown).max() > 0.01


@pytest.mark.parametrize("kind", ["WIND", "TURBULENCE"])
def test_gusts_depend_on_neither_range_nor_frame_rate(kind):
    shown = []
    for fps, start in ((24, 0), (60, 0), (24, -48)):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        rig = make_tail()
        bpy.context.scene.render.fps = fps
        simulation = rig.fabrik.simulation
        simulation.frame_start, simulation.frame_end = start, 6 * fps
        wind = add_wind(kind, 30.0, (0.0, 1.0, 0.0))
        wind.field.noise, wind.field.size, wind.field.seed = 15.0, 0.3, 7
        add_spring(rig, "T0")
        simulate(rig)
        rigs.go(6 * fps)
        shown.append(joints(rig))
    assert apart(shown[0], shown[1]) < 1e-3
    assert apart(shown[0], shown[2]) < 1e-4
    assert apart(shown[0], joints_at_rest(rig)) > 0.01


def particle_push(setup, at):
    """Blender's acceleration of a particle of 1 kg at a place, and that place.

    Particles take steps of 1/25 s at 25 frames a second.
    """
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.use_gravity, scene.render.fps = False, 25
    field = add_wind("FORCE", 1.0, (0.4, 0.7, -0.3), (0.3, -0.2, 0.1))
    field.field.flow = 0.0
    setup(field.field)
    mesh = bpy.data.meshes.new("Emitter")
    x, y, z = at
    mesh.from_pydata([(x - 1e-4, y, z), (x + 1e-4, y, z), (x, y + 1e-4, z)], [], [(0, 1, 2)])
    emitter = bpy.data.objects.new("Emitter", mesh)
    bpy.context.collection.objects.link(emitter)
    emitter.modifiers.new("Particles", "PARTICLE_SYSTEM")
    particles = emitter.particle_systems[0].settings
    particles.count = particles.frame_start = particles.frame_end = 1
    particles.normal_factor, particles.integrator, particles.emit_from = 0.0, "EULER", "VERT"
    speeds = []
    for frame in (1, 2, 3):
        rigs.go(frame)
        particle = rigs.evaluated(emitter).particle_systems[0].particles[0]
        speeds.append(particle.velocity.copy())
        if frame == 1:
            place = particle.location.copy()
    return field, (speeds[1] - speeds[0]) * 25.0, place


def test_force_fields_push_as_blender_pushes_particles():
    from importlib import import_module

    rng = np.random.default_rng(3)
    rig = make_tail()
    root = type(rig.fabrik).__module__.split(".settings.")[0]

    def some(*options):
        return options[rng.integers(len(options))]

    def setup(field):
        field.type = some("FORCE", "WIND", "VORTEX")
        field.shape = some(*(("POINT", "LINE", "PLANE") if field.type != "VORTEX" else ("POINT",)))
        field.strength = rng.uniform(-3.0, 3.0)
        field.falloff_type = some("SPHERE", "TUBE", "CONE")
        field.z_direction = some("BOTH", "BOTH", "POSITIVE", "NEGATIVE")
        field.falloff_power, field.radial_falloff = some(0.0, 0.5, 2.0), some(0.0, 1.0)
        field.distance_min, field.distance_max = rng.uniform(0, 1.5), rng.uniform(1, 3)
        far = 3.0 if field.falloff_type == "TUBE" else 150.0
        field.radial_min, field.radial_max = 0.5 * rng.uniform(0, far), rng.uniform(0.3, 1) * far
        for name in (
            "use_gravity_falloff",
            "use_min_distance",
            "use_max_distance",
            "use_radial_min",
            "use_radial_max",
        ):
            setattr(field, name, bool(rng.integers(2)))

    pushed = 0
    for _ in range(60):
        ob, expected, place = particle_push(setup, rng.uniform(-2.0, 2.0, 3))
        fields = import_module(f"{root}.features.spring.fields")
        axes = [x for row in ob.matrix_world.to_3x3() for x in row]
        field = fields.field_of(ob.field, (tuple(axes), tuple(ob.matrix_world.translation)), 0.0)
        found = Vector(field.acceleration(tuple(place)))
        assert (found - expected).length < 1e-3 * max(expected.length, 1e-2)
        pushed += expected.length > 1e-2
    assert pushed > 20


def test_settings_are_tried_without_playing():
    """What a slider changes is simulated from what was recorded, and is the same to the bit."""
    from importlib import import_module

    rig = make_tail()
    swing_head(rig)
    train = rigs.make_empty("Train", (0, 0, 0))
    collider = rig.fabrik.colliders.add()
    collider.object, collider.radius, collider.offset = train, 0.1, (0.1, 0.05, -0.4)
    wind = add_wind("TURBULENCE", 20.0)
    wind.field.seed = 1
    add_spring(rig, "T0")
    root = type(rig.fabrik).__module__.split(".settings.")[0]
    operators = import_module(f"{root}.features.simulation.operators")
    scene = bpy.context.scene
    spring = rig.fabrik.constraints[0].spring
    frames = []
    scene_handler = lambda *_: frames.append(scene.frame_current)  # noqa: E731
    simulate(rig)
    assert not is_repeated(operators)  # Nothing is outdated.
    bpy.app.handlers.frame_change_post.append(scene_handler)
    for name, value in (
        ("stiffness", 0.3),
        ("drag_tip", 0.5),
        ("gravity", 5.0),
        ("gravity_direction", (1.0, 0.0, 0.0)),
        ("field_weight", 0.5),
        ("radius", 0.05),
        ("mode", "VRM"),
        ("use_loop", True),
    ):
        setattr(spring, name, value)
        rigs.update()
        assert rig.fabrik.simulation.state == "STALE", name
        assert is_repeated(operators), name
        assert not frames
        rigs.update()
        assert rig.fabrik.simulation.state == "FRESH", name
        tried = stored(rig)
        simulate(rig)
        assert (stored(rig) == tried).all(), name
        frames.clear()
    for edit in (
        lambda: setattr(spring, "center", train),
        lambda: setattr(spring, "use_colliders", False),
        lambda: setattr(train, "location", (0.1, 0.0, 0.0)),
        lambda: setattr(spring, "field_weight", 0.0),
        lambda: rigs.key(rig.pose.bones["Head"], "location", {20: (0.3, 0.0, 0.0)}),
        lambda: spring.keyframe_insert("stiffness", frame=1),
        lambda: setattr(scene.render, "fps", 50),
        lambda: setattr(scene, "frame_end", 60),
    ):
        before = stored(rig)
        edit()
        rigs.update()
        assert not is_repeated(operators)
        assert (stored(rig) == before).all()
        simulate(rig)
    spring.drag = 0.2
    rig.fabrik.simulation.use_auto = False
    rigs.update()
    assert not is_repeated(operators)
    assert repeat(rig)
    bpy.app.handlers.frame_change_post.remove(scene_handler)


def test_shapes_of_colliders_are_tried_without_playing():
    rig = make_tail()
    swing_head(rig)
    carriers = [rigs.make_empty(f"Carrier{i}", (0.2 * i, 0.05, -0.4)) for i in range(2)]
    for i in (0, 0, 1):
        collider = rig.fabrik.colliders.add()
        collider.object, collider.radius, collider.group = carriers[i], 0.05, f"group{i}"
    first, second, third = rig.fabrik.colliders
    second.offset = (0, 0, 0.1)
    rigs.key(third, "radius", {1: 0.05, 40: 0.2})
    add_spring(rig, "T0", radius=0.01)
    simulate(rig)
    for name, value in (
        ("radius", 0.12),
        ("offset", (0.1, 0.0, 0.1)),
        ("kind", "CAPSULE"),
        ("tail", (0.0, 0.2, 0.3)),
        ("kind", "INSIDE_SPHERE"),
        ("kind", "PLANE"),
        ("radius", 0.3),
    ):
        before = stored(rig)
        setattr(first, name, value)
        rigs.update()
        assert rig.fabrik.simulation.state == "STALE", name
        assert repeat(rig), name
        tried = stored(rig)
        simulate(rig)
        assert (stored(rig) == tried).all(), name
        assert first.kind == "PLANE" or not (tried == before).all(), name
    # Another collider may have the same carrier; what moves it, or the mesh, has to be played.
    rig.fabrik.constraints[0].spring.groups = "group0"
    assert not repeat(rig)
    simulate(rig)
    first.group = "none"
    rigs.update()
    assert not repeat(rig)
    simulate(rig)
    for edit in (
        lambda: setattr(second, "object", carriers[1]),
        lambda: setattr(second, "bone", "Head"),
        lambda: setattr(second, "kind", "MESH"),
    ):
        second.object, second.bone, second.kind = carriers[0], "", "SPHERE"
        rigs.update()
        simulate(rig)
        edit()
        assert not repeat(rig)


def test_settings_are_tried_without_playing_after_undo():
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0")
    simulate(rig)
    bpy.ops.ed.undo_push(message="simulated")
    rig.fabrik.constraints[0].spring.stiffness = 0.3
    rigs.update()
    bpy.ops.ed.undo_push(message="stiffness")
    rigs.key(rig.pose.bones["Head"], "location", {20: (0.3, 0.0, 0.0)})
    rigs.update()
    bpy.ops.ed.undo_push(message="key")
    assert not repeat(rig)
    bpy.ops.ed.undo()
    rig = bpy.data.objects["Rig"]
    rigs.update()
    assert rig.fabrik.simulation.state == "STALE"
    assert repeat(rig)
    tried = stored(rig)
    simulate(rig)
    assert (stored(rig) == tried).all()


def test_what_is_played_in_no_time_does_not_wait(monkeypatch):
    """A bone that is posed moves its strand at once, if playing the frames took no longer."""
    from importlib import import_module

    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0")
    root = type(rig.fabrik).__module__.split(".settings.")[0]
    operators = import_module(f"{root}.features.simulation.operators")
    simulate(rig)
    assert operators._playing < 60.0

    def posed(x, seconds):
        """Pose the strand, and return what the timer does next, and the state."""
        rig.pose.bones["T1"].rotation_quaternion = (1.0, x, 0.0, 0.0)
        rigs.update()
        assert rig.fabrik.simulation.state == "STALE"
        monkeypatch.setattr(operators, "_playing", seconds)
        operators._note_edit()
        wait = operators._tick()
        rigs.update()
        return wait, rig.fabrik.simulation.state

    frame = bpy.context.scene.frame_current
    before = stored(rig)
    assert posed(0.3, 1.0) == (operators.QUIET, "STALE")
    assert (stored(rig) == before).all()
    assert posed(0.4, 0.01) == (None, "FRESH")
    assert (bpy.context.scene.frame_current, rig.pose.bones["T1"].rotation_quaternion[1]) == (
        frame,
        pytest.approx(0.4),
    )
    at_once = stored(rig)
    simulate(rig)
    assert (stored(rig) == at_once).all() and not (at_once == before).all()
    assert operators._playing > 0.01


def test_linked_and_overridden_strands_swing(tmp_path):
    """A linked strand shows what is stored; an overridden one is simulated, saved and opened."""
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", gravity=5.0)
    rig.fabrik.colliders.add().bone = "Head"
    rigs.update()
    simulate(rig)
    scene = bpy.context.scene
    end, kept = scene.frame_end, stored(rig)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "character.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.frame_end = end
    with bpy.data.libraries.load(str(tmp_path / "character.blend"), link=True) as (_, there):
        there.objects = ["Rig"]
    linked = bpy.data.objects["Rig"]
    rigs.link(linked)
    rigs.update()
    assert linked.fabrik.simulation.state == "FRESH"
    assert (stored(linked) == kept).all()
    override = linked.override_create(remap_local_usages=True)
    rigs.update()
    override.fabrik.constraints[0].spring.stiffness_middle = 0.25
    override.fabrik.constraints[0].spring.stiffness_tip = 0.1
    rigs.update()
    assert override.fabrik.simulation.state == "STALE"
    simulate(override)
    swung = stored(override)
    assert np.abs(swung - kept).max() > 0.01
    rigs.go(20)
    shown = joints(override)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    override = next(ob for ob in bpy.data.objects if ob.override_library)
    assert override.fabrik.simulation.state == "FRESH"
    assert (stored(override) == swung).all()
    rigs.go(20)
    assert apart(joints(override), shown) == 0.0


def resting(rig, frame):
    """The joints of what is stored at a frame, reached from another one."""
    rigs.go(frame + 1)
    rigs.go(frame)
    return joints(rig)


def is_repeated(operators):
    """Let Automatic go on until it is done; return whether recordings were enough."""
    scene, layer = bpy.context.scene, bpy.context.view_layer
    done = operators.repeated(scene, layer)
    while done is None:
        done = operators.repeated(scene, layer)
    return done


def posed(rig, **channels):
    """The joints after an edit of the head's channels, without a change of the frame."""
    head = rig.pose.bones["Head"]
    for name, value in channels.items():
        setattr(head, name, value)
    rig.update_tag()
    rigs.update()
    return joints(rig)


@pytest.mark.parametrize("kind", ["plain", "settle", "loop", "center", "layered", "VRM"])
def test_a_strand_hangs_from_a_bone_that_is_dragged(kind):
    """A pose that isn't simulated shows the strand as it will be; a frame shows what is stored."""
    rig = make_tail()
    rig.pose.bones["Head"].rotation_mode = "XYZ"
    bpy.context.scene.frame_end = 60
    if kind == "layered":
        target = rigs.make_empty("Hand", (0.2, 0.1, -0.25))
        rigs.add_constraint(rig, "T4", target, chain_count=5)
    add_spring(rig, "T0", gravity=0.2 if kind == "VRM" else 9.81, drag=0.2)
    collider = rig.fabrik.colliders.add()
    collider.bone, collider.radius, collider.offset = "Head", 0.1, (0.0, -0.3, 0.1)
    spring = rig.fabrik.constraints[-1].spring
    spring.use_settle, spring.use_loop = kind == "settle", kind == "loop"
    spring.mode = "VRM" if kind == "VRM" else "STEADY"
    if kind == "center":
        spring.center = rigs.make_empty("Train", (0, 0, 0))
    simulate(rig)
    stored_pose = resting(rig, 40)
    assert posed(rig) == stored_pose  # Nothing is moved yet.
    live = posed(rig, rotation_euler=(0.8, 0.0, 0.0))
    assert rig.fabrik.simulation.state == "STALE"
    assert apart(live, stored_pose) > 0.1
    # However the mouse gets there, and back.
    posed(rig, rotation_euler=(-0.8, 0.0, 2.0))
    assert posed(rig, rotation_euler=(0.8, 0.0, 0.0)) == live
    assert posed(rig, rotation_euler=(0.0, 0.0, 0.0)) == stored_pose
    posed(rig, rotation_euler=(0.8, 0.0, 0.0))
    rigid = resting(rig, 40)
    simulate(rig)
    simulated = resting(rig, 40)
    assert apart(live, simulated) < 2e-3 < 5e-3 < apart(rigid, simulated), apart(live, simulated)


@pytest.mark.parametrize("has_beneath", [False, True])
def test_a_strand_whose_parent_is_posed_on_top_of_it_is_shown_as_simulated(has_beneath):
    """What will move it isn't known when it is solved; any edit showed another pose."""
    rig = make_tail()
    bpy.context.scene.frame_end = 20
    target = rigs.make_empty("Hand", (0.2, 0.1, -0.25))
    if has_beneath:  # It has posed the parent, but hasn't the last word.
        rigs.add_constraint(rig, "T0", target, chain_count=2, solver="LOOK_AT")
    add_spring(rig, "T0")
    solver = "WAVE" if has_beneath else "FABRIK"
    rigs.add_constraint(rig, "T4", target, chain_count=0, solver=solver)
    simulate(rig)
    stored_pose = resting(rig, 10)
    assert posed(rig) == stored_pose
    assert {item.message for item in rig.fabrik.constraints[has_beneath:]} == {""}


@pytest.mark.parametrize("solver", ["FOLLOW", "SPRING", "continuous"])
def test_a_strand_on_top_of_a_simulated_chain_is_shown_as_simulated(solver):
    """It was recorded without what the chain does, and any edit showed it with that."""
    rig = make_tail()
    bpy.context.scene.frame_end = 20
    target = rigs.make_empty("Hand")
    rigs.key(target, "location", {1: (0.2, 0.1, -0.25), 20: (-0.2, 0.2, -0.2)})
    is_continuous = solver == "continuous"
    rigs.add_constraint(
        rig,
        "T3",
        target,
        chain_count=3,
        solver="FABRIK" if is_continuous else solver,
        use_continuous=is_continuous,
    )
    add_spring(rig, "T0")
    simulate(rig)
    stored_poses = {frame: resting(rig, frame) for frame in (1, 10, 20)}
    for frame, stored_pose in stored_poses.items():
        assert resting(rig, frame) == posed(rig) == stored_pose
        assert rig.fabrik.constraints[1].message == ""
    simulate(rig)  # What is beneath it doesn't follow what it did before.
    assert {frame: resting(rig, frame) for frame in stored_poses} == stored_poses


def test_a_preview_does_not_depend_on_the_speed_of_the_machine(monkeypatch, addon):
    """A second is simulated again, however many bones there are."""
    from importlib import import_module

    bones = {"Head": ((0, 0, 0), (0, 0, 0.3), "")}
    for i in range(200):
        above = f"S{i - 1}" if i % 10 else "Head"
        bones[f"S{i}"] = ((i // 10, 0, -0.05 * (i % 10)), (i // 10, 0, -0.05 * (i % 10 + 1)), above)
    rig = rigs.make_armature(bones, "Rig")
    rig.pose.bones["Head"].rotation_mode = "XYZ"
    bpy.context.scene.frame_end = 35
    add_spring(rig, *[f"S{i}" for i in range(0, 200, 10)], gravity=9.81)
    simulate(rig)
    rigs.go(30)
    live = import_module(f"{addon.__name__}.features.spring.live")
    spans, original = [], live.simulate_on

    def noted(instants, rate, mode, state, frames, starts):
        spans.append(frames[1] - frames[0])
        return original(instants, rate, mode, state, frames, starts)

    monkeypatch.setattr(live, "simulate_on", noted)
    rig.pose.bones["Head"].rotation_euler.x = 0.5
    rig.update_tag()
    rigs.update()
    assert len(spans) >= 20 and {*spans} == {24}


SETTINGS = (
    ("stiffness", 0.2),
    ("drag_tip", 0.2),
    ("gravity", 4.0),
    ("gravity_direction", (1.0, 0.0, 0.0)),
    ("radius", 0.1),
)


@pytest.mark.parametrize("frame", [12, 30])
@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_a_setting_that_is_dragged_shows_at_once(frame, name, value):
    """At the current frame, a strand shows what it will do, before anything is simulated."""
    rig = make_tail()
    swing_head(rig)
    collider = rig.fabrik.colliders.add()
    collider.bone, collider.radius, collider.offset = "Head", 0.05, (0.1, -0.5, 0.0)
    add_spring(rig, "T0", gravity=9.81, drag=0.3)
    simulate(rig)
    stored_pose = resting(rig, frame)
    spring = rig.fabrik.constraints[0].spring
    was = getattr(spring, name)
    was = was if isinstance(was, float) else tuple(was)
    setattr(spring, name, value)
    rigs.update()
    live = joints(rig)
    assert rig.fabrik.simulation.state == "STALE"
    assert apart(live, stored_pose) > 1e-4
    setattr(spring, name, was)
    rigs.update()
    assert joints(rig) == stored_pose and rig.fabrik.simulation.state == "FRESH"
    setattr(spring, name, value)
    simulate(rig)
    simulated = resting(rig, frame)
    off = apart(live, simulated) / apart(stored_pose, simulated)
    assert off < (1e-4 if frame == 12 else 0.1), off


def make_repeated_in_slices(monkeypatch):
    """A simulated tail, and the module that repeats simulations, frame by frame now."""
    from importlib import import_module

    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", gravity=9.81)
    root = type(rig.fabrik).__module__.split(".settings.")[0]
    operators = import_module(f"{root}.features.simulation.operators")
    monkeypatch.setattr(operators, "MIN_SLICE", 0.0)
    simulate(rig)
    return rig, operators


def test_automatic_goes_on_in_slices_while_a_slider_is_dragged(monkeypatch):
    """An edit gives up what isn't done, of which nothing is stored."""
    rig, operators = make_repeated_in_slices(monkeypatch)
    before, spring = stored(rig), rig.fabrik.constraints[0].spring
    scene, layer = bpy.context.scene, bpy.context.view_layer
    for stiffness in (0.3, 0.4):
        spring.stiffness = stiffness
        rigs.update()
        assert [operators.repeated(scene, layer) for _ in range(2)] == [None] * 2
        assert (stored(rig) == before).all() and rig.fabrik.simulation.state == "STALE"
    assert is_repeated(operators)
    tried = stored(rig)
    simulate(rig)
    assert (stored(rig) == tried).all() and not (tried == before).all()


def test_the_status_bar_is_left_to_others_unless_it_shows_progress(monkeypatch):
    rig, operators = make_repeated_in_slices(monkeypatch)
    set_to = []
    context = SimpleNamespace(workspace=SimpleNamespace(status_text_set=set_to.append))
    monkeypatch.setattr(operators, "bpy", SimpleNamespace(context=context, app=bpy.app))
    scene, layer = bpy.context.scene, bpy.context.view_layer
    assert operators.repeated(scene, layer) is False and set_to == []  # Nothing is outdated.
    rig.fabrik.constraints[0].spring.stiffness = 0.3
    rigs.update()
    assert operators.repeated(scene, layer) is None and set_to.pop().startswith("Simulating")
    assert is_repeated(operators) and set_to[-1] is None


@pytest.mark.parametrize(("frame", "most"), [(20, 0.4), (25, 0.3), (26, 1e-3), (40, 0.2)])
def test_a_strand_swings_with_a_keyed_bone_that_is_dragged(frame, most):
    """The pose comes in since the last key, as it will once it is keyed."""
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", gravity=9.81, drag=0.2)
    simulate(rig)
    stored_pose = resting(rig, frame)
    assert posed(rig) == stored_pose
    head = rig.pose.bones["Head"]
    turn, at = Vector(head.rotation_euler), Vector(head.location)
    x = Vector((1.0, 0.0, 0.0))
    live = posed(rig, rotation_euler=turn + 0.5 * x, location=at + 0.1 * x)
    constraint = rig.fabrik.constraints[0]
    assert (constraint.message, rig.fabrik.simulation.state) == (
        "Preview: this pose isn't simulated",
        "FRESH",
    )
    assert resting(rig, frame) == stored_pose and not constraint.message
    for path, value in (("rotation_euler", turn + 0.5 * x), ("location", at + 0.1 * x)):
        setattr(head, path, value)
        head.keyframe_insert(path, frame=frame)
    rigid = resting(rig, frame)
    simulate(rig)
    simulated = resting(rig, frame)
    assert apart(live, simulated) < most * apart(rigid, simulated)


@pytest.mark.parametrize("kind", ["SPHERE", "PLANE", "MESH", "keyed", "bone", "child"])
def test_a_strand_gives_way_to_a_collider_that_is_dragged(kind):
    """It needs no edit of the armature."""
    rig = make_tail()
    bpy.context.scene.frame_end = 60
    if kind == "MESH":
        ball = make_mesh_below("Floor", -0.6)
        collider = add_ground(rig, ball)
        to = (0.0, 0.0, 0.45)
    else:
        collider = rig.fabrik.colliders.add()
        ball = rigs.make_chain(1, "Other") if kind == "bone" else rigs.make_empty("Ball")
        collider.bone = "B0" if kind == "bone" else ""
        ball.location = (1.0, 0.0, -0.3)
        collider.object, collider.radius, to = ball, 0.15, (0.1, 0.02, -0.3)
        if kind == "PLANE":
            collider.kind, collider.tail, to = "PLANE", (-1.0, 0.0, 0.2), (-0.1, 0.0, -0.3)
        if kind == "child":
            collider.object = rigs.make_empty("Child", (0.0, 0.0, 0.0))
            collider.object.parent = ball
        if kind == "keyed":
            for frame in (1, 20, 60):
                ball.keyframe_insert("location", frame=frame)
    add_spring(rig, "T0", gravity=9.81, drag=0.2)
    simulate(rig)
    stored_pose = resting(rig, 40)

    def dragged(place):
        ball.location = place
        rigs.update()
        return joints(rig)

    before = tuple(ball.location)
    assert dragged(before) == stored_pose
    live = dragged(to)
    assert rig.fabrik.constraints[0].message == (
        "Preview: this pose isn't simulated"
        if kind == "keyed"
        else "Simulation is outdated: press Simulate"
    )
    assert apart(live, stored_pose) > 0.03
    dragged((0.0, 0.4, -0.2))
    assert dragged(to) == live
    assert dragged(before) == stored_pose
    dragged(to)
    if kind == "keyed":
        ball.keyframe_insert("location", frame=40)
    assert kind == "keyed" or resting(rig, 40) == stored_pose
    simulate(rig)
    simulated = resting(rig, 40)
    most = 0.2 if kind == "MESH" else 0.01  # Where it folds on hills depends on how it falls.
    assert apart(live, simulated) < most * apart(stored_pose, simulated)


def test_a_render_of_another_scene_has_its_force_fields():
    """Also its frame rate and range: what is outdated for that scene is simulated before."""
    from importlib import import_module

    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0", stiffness=0.3)
    first, window = bpy.context.scene, bpy.context.window
    second = bpy.data.scenes.new("Second")
    second.render.fps, second.frame_start, second.frame_end = 30, 1, 40
    second.collection.objects.link(rig)
    wind = add_wind(strength=5.0, turn=(np.pi / 2, 0.0, 0.0))
    first.collection.objects.unlink(wind)
    second.collection.objects.link(wind)
    rigs.update()
    simulate(rig)
    calm = stored(rig)
    root = type(rig.fabrik).__module__.split(".settings.")[0]
    rendering = import_module(f"{root}.features.simulation.rendering")
    rendering.before_render(first)
    assert (stored(rig) == calm).all() and rig.fabrik.simulation.state == "FRESH"
    rendering.before_render(second)
    rendered = stored(rig)
    assert bpy.context.scene == first and rig.fabrik.simulation.state == "STALE"
    rendering.before_render(first)
    assert (stored(rig) == calm).all() and rig.fabrik.simulation.state == "FRESH"
    window.scene = second
    rigs.update()
    simulate(rig)
    assert (stored(rig) == rendered).all() and np.abs(rendered[:40] - calm[:40]).max() > 0.01


def test_another_frame_range_shows_the_same():
    """Frames keep their bits, whether more are simulated or fewer asked for."""
    rig = make_tail()
    swing_head(rig)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 5, 30
    add_spring(rig, "T0", gravity=5.0)
    simulate(rig)
    first, constraint = stored(rig), rig.fabrik.constraints[0]
    shown = {frame: shown_from_head(rig, frame) for frame in (5, 20, 30)}
    # Outside of what is simulated, the strand stays as it is at the nearest frame.
    for frame, nearest, note in (
        (1, 5, "Simulated only from frame 5 on: decrease Start"),
        (40, 30, "Simulated only up to frame 30: increase End"),
    ):
        assert apart(shown_from_head(rig, frame), shown[nearest]) < 1e-6
        assert constraint.message == note
    scene.frame_start, scene.frame_end = 12, 20
    rigs.update()
    assert rig.fabrik.simulation.state == "FRESH"
    assert {frame: shown_from_head(rig, frame) for frame in (30, 5, 20)} == shown
    simulate(rig)
    assert (stored(rig) == first).all()
    scene.frame_end = 49
    simulate(rig)
    longer = stored(rig)
    assert longer.shape[0] == 45 and (longer[:26] == first).all()
    assert [shown_from_head(rig, frame) for frame in (20, 5)] == [shown[20], shown[5]]
    assert apart(shown_from_head(rig, 40), shown[30]) > 0.05
    # It starts at another frame, from the FK pose; then again at the one before.
    rig.fabrik.simulation.frame_start, rig.fabrik.simulation.frame_end = 12, 30
    simulate(rig)
    later = stored(rig)
    assert later.shape[0] == 19 and np.abs(later - longer[7:26]).max() > 0.01
    assert np.abs(later[0] - first[0]).max() < 1e-7
    rig.fabrik.simulation.frame_start, rig.fabrik.simulation.frame_end = 5, 49
    simulate(rig)
    assert (stored(rig) == longer).all()


@pytest.mark.parametrize("fps", [24, 25, 60])
@pytest.mark.parametrize("kind", ["cut", "reset", "VRM"])
def test_a_range_may_end_at_any_frame(kind, fps):
    """Also before, at and after a cut, each frame is the same bit for bit."""
    rig = make_tail()
    swing_head(rig, fps, 1.0)
    add_spring(rig, "T0", gravity=5.0, mode="VRM" if kind == "VRM" else "STEADY")
    spring = rig.fabrik.constraints[0].spring
    for frame in (1, 12, 13):
        if kind == "reset":
            spring.reset = frame == 12
            spring.keyframe_insert("reset", frame=frame)
        rig.location.x = 3.0 * (frame >= 12)
        rig.keyframe_insert("location", frame=frame)
    for curve in rigs.curves(rig):
        if curve.data_path == "location":
            for key in curve.keyframe_points:
                key.interpolation = "CONSTANT"
    bpy.context.scene.frame_end = 20
    simulate(rig)
    whole = stored(rig)
    simulation = rig.fabrik.simulation
    for end in (1, 2, 10, 11, 12, 13, 14):
        simulation.frame_start, simulation.frame_end = 1, end
        simulate(rig)
        assert stored(rig).tobytes() == whole[:end].tobytes(), end


def shown_from_head(rig, frame):
    """The joints at a frame, as the head sees them."""
    rigs.go(frame)
    to_head = (rig.matrix_world @ rigs.evaluated(rig).pose.bones["Head"].matrix).inverted()
    return [(to_head @ joint).freeze() for joint in joints(rig)]


def test_the_command_line_simulates_and_bakes_strands(tmp_path):
    """Whole or in parts, the keys are what the simulation shows."""
    rigs_made = [make_tail(name=name) for name in ("Rig", "Other")]
    for rig in rigs_made:
        swing_head(rig)
        add_spring(rig, "T0", gravity=5.0)
    swung = {}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    for rig in rigs_made:
        simulate(rig)
        swung[rig.name] = {frame: resting(rig, frame) for frame in (1, 20, 49)}
    file, *outputs = [str(tmp_path / name) for name in ("shot.blend", "one.blend", "merged.blend")]
    parts = [str(tmp_path / name) for name in ("first.part", "second.part")]
    assert command.run([file, "--output", outputs[0]]) == 0
    for part, start, end in ((parts[0], "1", "20"), (parts[1], "21", "49")):
        assert command.run([file, "--start", start, "--end", end, "--part", part]) == 0
    assert command.run([file, "--merge", *parts, "--output", outputs[1]]) == 0
    for output in outputs:
        bpy.ops.wm.open_mainfile(filepath=output)
        for name, shown in swung.items():
            rig = bpy.data.objects[name]
            assert not any(item.enabled for item in rig.fabrik.constraints)
            for frame, expected in shown.items():
                assert apart(resting(rig, frame), expected) < 1e-6
            assert apart(shown[1], shown[20]) > 0.1
