"""Lists of constraints of any kinds over the same bones, made at random from a seed."""

import random
from math import isfinite

import bpy
import pytest
import rigs
from kept_files import reopen
from mathutils import Quaternion, Vector
from rendering import rendered

KINDS = ("FABRIK", "TWO_BONE", "CCD", "LOOK_AT", "LOOK_AT", "ROPE", "WAVE", "WAVE")
MODES = ("QUATERNION", "QUATERNION", "QUATERNION", "XYZ", "ZYX", "AXIS_ANGLE")
FRAMES = range(1, 7)


def some(chance: random.Random, low: float, high: float, count: int = 3) -> list[float]:
    return [chance.uniform(low, high) for _ in range(count)]


def random_rig(chance: random.Random) -> bpy.types.Object:
    """Make a chain with a branch, posed in FK and partly keyed, somewhere in space."""
    bones: dict[str, tuple[Vector, Vector, str]] = {}
    count, fork = chance.randint(3, 7), chance.randint(0, 2)
    for stem, length, parent in (("B", count, ""), ("C", chance.randint(1, 3), f"B{fork}")):
        head = bones[parent][1] if parent else Vector()
        for i in range(length):
            tail = head + Vector((*some(chance, -0.4, 0.4, 2), chance.uniform(0.4, 1.0)))
            bones[f"{stem}{i}"] = (head, tail, f"{stem}{i - 1}" if i else parent)
            head = tail
    rig = rigs.make_armature(bones)
    for bone in rig.pose.bones:
        bone.matrix_basis = Quaternion(some(chance, -0.2, 0.2)).to_matrix().to_4x4()
        bone.rotation_mode = chance.choice(MODES)
    if chance.random() < 0.5:
        bone = chance.choice(rig.pose.bones)
        bone.rotation_mode = "XYZ"
        for frame in (1, 6):
            rigs.key(bone, "rotation_euler", {frame: some(chance, -0.5, 0.5)})
    if chance.random() < 0.5:
        rig.location, rig.rotation_euler = some(chance, -1, 1), some(chance, -2, 2)
        rig.scale = some(chance, 0.5, 2.0)
    return rig


def random_targets(chance: random.Random, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Make targets that stand still, move by keys, or follow a bone."""
    targets = [rigs.make_empty(f"Target {i}", some(chance, -2, 2)) for i in range(3)]
    for frame in (1, 6):
        rigs.key(targets[1], "location", {frame: some(chance, -2, 2)})
    if chance.random() < 0.5:
        targets[2].parent, targets[2].parent_type = rig, "BONE"
        targets[2].parent_bone = chance.choice(rig.pose.bones).name
    return targets


def add_random(
    chance: random.Random, rig: bpy.types.Object, targets: list[bpy.types.Object]
) -> None:
    tip = chance.choice(rig.pose.bones)
    solver = chance.choice(KINDS)
    count = chance.randint(0, len(tip.parent_recursive) + 1)
    target = None if solver == "WAVE" else chance.choice(targets)
    item = rigs.add_constraint(rig, tip.name, target, solver=solver, chain_count=count)
    item.influence = chance.choice((1.0, 1.0, 0.4))
    item.use_stretch = chance.random() < 0.2
    item.stretch_max = 1.5
    item.wave.amplitude, item.wave.speed = chance.uniform(0, 0.6), chance.choice((0.0, 1.0, -2.3))
    item.wave.noise, item.wave.falloff = chance.choice((0.0, 0.5)), chance.uniform(-1, 1)
    item.look.axis, item.look.up_axis = chance.choice("XY"), chance.choice(("NONE", "Z"))
    item.look.limit_angle = chance.choice((3.2, 1.0))
    item.look.damping = chance.choice((0.0, 0.2))
    if chance.random() < 0.5:
        item.rope.collision, item.rope.collision_object = "PLANE", targets[0]
    if chance.random() < 0.3:
        for frame in (1, 6):
            item.wave.amplitude = chance.uniform(0, 0.6)
            index = len(rig.fabrik.constraints) - 1
            rig.keyframe_insert(f"fabrik.constraints[{index}].wave.amplitude", frame=frame)


def shown(rig: bpy.types.Object) -> tuple[bytes, list[tuple[str, str]]]:
    return rigs.pose_bits(rig), [(item.state, item.message) for item in rig.fabrik.constraints]


@pytest.mark.parametrize("seed", range(16))
def test_it_keeps_what_is_promised(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Playing, jumping, a render and another reading of the file show the same; FK comes back."""
    chance = random.Random(seed)
    rig = random_rig(chance)
    targets = random_targets(chance, rig)
    given = {}
    for frame in FRAMES:
        rigs.go(frame)
        given[frame] = rigs.channels_bits(rig)
        assert rigs.shown_bits(rig) == given[frame]
    for _ in range(chance.randint(1, 5)):
        add_random(chance, rig, targets)
    rigs.update()
    played = {}
    for frame in FRAMES:
        rigs.go(frame)
        played[frame] = shown(rig)
        assert rigs.channels_bits(rig) == given[frame]
        bones = rigs.evaluated(rig).pose.bones
        assert all(isfinite(x) for bone in bones for row in bone.matrix for x in row)
    for frame in (5, 2.5, 3, 6, 1):
        rigs.go(frame)
        assert played.get(frame, shown(rig)) == shown(rig)
    assert rendered(4, 5) == {frame: played[frame][0] for frame in (4, 5)}
    reopen()
    rig = bpy.data.objects["Rig"]
    for frame in (3, 2):
        rigs.go(frame)
        assert shown(rig) == played[frame]
    rigs.enable(rig, False)
    rigs.update()
    assert rigs.channels_bits(rig) == given[2] == rigs.shown_bits(rig)
    rigs.go(5)
    assert rigs.channels_bits(rig) == given[5] == rigs.shown_bits(rig)
    assert "Traceback" not in "".join(capfd.readouterr())
