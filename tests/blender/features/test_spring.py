"""Springs swing the same at each frame, whichever way it was reached."""

from __future__ import annotations

from itertools import pairwise
from math import pi

import bpy
import pytest
import rigs
from mathutils import Matrix, Vector

END = 48


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


def test_explore():
    rig = make_tail()
    swing_head(rig)
    add_spring(rig, "T0")
    print([(i.name, i.bone, i.chain_count, i.state, i.message) for i in rig.fabrik.constraints])
    simulate(rig)
    print(
        [(i.name, i.bone, i.chain_count, i.state, i.message) for i in rig.fabrik.constraints],
        rig.fabrik.simulation.state,
    )
    for f in (1, 5, 10, 20, 30, 49):
        rigs.go(f)
        print(f, [tuple(round(x, 3) for x in p) for p in joints(rig)])
