"""Bodies with many legs, and terrain."""

import math
from itertools import pairwise

import bpy
from operating import enter_pose_mode, select_bones
from rigs import key, link, make_armature

END = 60


def make_spider(count: int = 8, bones: int = 3, name: str = "Spider") -> bpy.types.Object:
    """Make an armature with a body that faces −Y, and pairs of legs."""
    built = {"Body": ((0, 0.2, 0.5), (0, -0.3, 0.5), "")}
    rows = count // 2
    for row in range(rows):
        y = 0.0 if rows == 1 else -0.65 + 1.3 * row / (rows - 1)
        for x, side in ((1, "L"), (-1, "R")):
            joints = [(x * 0.15, y * 0.5, 0.5), (x * 0.4, y * 0.8, 0.85)]
            joints += [(x * 0.75, y, 0.5)] * (bones == 3) + [(x * 0.85, y * 1.1, 0.0)]
            parent = "Body"
            for i, (head, tail) in enumerate(pairwise(joints)):
                built[f"Leg{i}.{row}.{side}"] = (head, tail, parent)
                parent = f"Leg{i}.{row}.{side}"
    return make_armature(built, name)


def make_floor(name: str = "Floor", *boxes: tuple[tuple[float, ...], tuple[float, ...]]):
    """Make a mesh of boxes, each given by two corners; by default a wide floor."""
    vertices, faces = [], []
    for low, high in boxes or (((-50, -50, -1), (50, 50, 0)),):
        at = len(vertices)
        for i in range(8):
            vertices.append([(low, high)[i >> axis & 1][axis] for axis in range(3)])
        quads = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
        faces += [[at + i for i in quad] for quad in quads]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    return link(bpy.data.objects.new(name, mesh))


def select(rig: bpy.types.Object, names: list[str]) -> None:
    enter_pose_mode(rig)
    select_bones(rig, *names)


def tips(rig: bpy.types.Object) -> list[str]:
    last = max(bone.name[:4] for bone in rig.pose.bones if bone.name.startswith("Leg"))
    return [bone.name for bone in rig.pose.bones if bone.name.startswith(last)]


def key_body(rig: bpy.types.Object, ways: dict[float, tuple[float, float, float]]) -> None:
    """Key the location of the armature object."""
    key(rig, "location", ways)


def walk(rig: bpy.types.Object, end: int = END, **settings: object):
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, end
    select(rig, tips(rig))
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    gait = rig.fabrik.gaits[0]
    for name, value in settings.items():
        setattr(gait, name, value)
    return gait


def terrain():
    mesh = bpy.data.meshes.new("Terrain")
    side = 60
    place = [((x - 30) * 0.2, (y - 40) * 0.2) for y in range(side) for x in range(side)]
    heights = [0.12 * math.sin(1.9 * x) + 0.1 * math.cos(1.3 * y + x) for x, y in place]
    at = [(x, y, z) for (x, y), z in zip(place, heights, strict=True)]
    quads = [
        (i, i + 1, i + side + 1, i + side)
        for row in range(side - 1)
        for i in range(row * side, row * side + side - 1)
    ]
    mesh.from_pydata(at, [], quads)
    return link(bpy.data.objects.new("Terrain", mesh))
