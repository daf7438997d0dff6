"""A rope bridge to a raft on the waves, and the rope that moors the raft."""

from __future__ import annotations

from math import cos, radians, sin
from typing import Any

import bpy
from mathutils import Vector

from . import shapes
from .parts import Bones, add_constraint, armature, camera, keyed, material, stage
from .shapes import link

READ_ME = """\
With the FABRIK IK extension enabled, play: four ropes hang between the rock and the raft, as long \
as they are, however near the raft comes; the planks and posts are skinned to their bones.
The fifth rope holds the raft at the bollard. Where it is slack it rests on the floor: its \
constraint has Collision set to Plane, and the Empty “Floor” for its Object.
Nothing is baked and nothing remembers the frame before: go to any frame. Select the Rig to see \
the constraints, or move the Raft.
"""

COUNT = 24
START, SPAN, LENGTH = -1.75, 3.5, 3.85
DECK, RAIL = 1.15, 1.75
WIDE = 0.42
SIDES = {"L": WIDE, "R": -WIDE}
MOORING = 30
BOLLARD = (-0.35, -1.35, 0.34)
CLEAT = (1.85, -0.75, 0.75)


def build() -> None:
    """Make the sample in the open file."""
    stage((0.26, 0.50, 0.60), READ_ME)
    hemp = material("Hemp", (0.62, 0.45, 0.22), roughness=0.9)
    wood = material("Wood", (0.42, 0.20, 0.08), roughness=0.7)
    stone = material("Stone", (0.23, 0.25, 0.28), roughness=0.9)
    rig = armature("Rig", {**_ropes(), **_mooring()})
    raft = _raft(wood)
    _rock(stone, wood)
    for name, (y, z) in _lines().items():
        names = [f"{name}.{i:02}" for i in range(COUNT)]
        shapes.tube(name, rig, names, lambda _: 0.028, hemp, blend=1.0, rings=2, sides=8)
        hook = _hook(f"{name} Hook", (START + SPAN, y, z), raft)
        add_constraint(rig, name, bone=names[-1], target=hook, solver="ROPE")
    for i in range(COUNT):
        _plank(rig, i, wood)
    for i in range(2, COUNT, 3):
        for side in SIDES:
            _post(rig, side, i, hemp)
    _moor(rig, raft, hemp, stone)
    keyed(
        raft,
        "location",
        lambda a: (0.13 * cos(a) - 0.04 * sin(2.0 * a), 0.0, 0.13 * sin(2.0 * a)),
        every=5,
    )
    keyed(
        raft,
        "rotation_euler",
        lambda a: (radians(4.0) * sin(2.0 * a + 0.8), radians(3.0) * cos(2.0 * a), 0.0),
        every=5,
    )
    camera((-0.5, -7.6, 2.7), (0.15, 0.0, 0.72), lens=50.0)


def _lines() -> dict[str, tuple[float, float]]:
    """Return the Y and Z of the ropes of the bridge."""
    return {
        f"{kind}{side}": (y, z)
        for kind, z in (("Deck", DECK), ("Rail", RAIL))
        for side, y in SIDES.items()
    }


def _ropes() -> Bones:
    """Return the bones of the bridge's ropes, straight at rest."""
    bones: Bones = {}
    for name, (y, z) in _lines().items():
        for i in range(COUNT):
            ends = [(START + LENGTH * j / COUNT, y, z) for j in (i, i + 1)]
            bones[f"{name}.{i:02}"] = (ends[0], ends[1], f"{name}.{i - 1:02}" if i else "")
    return bones


def _mooring() -> Bones:
    """Return the bones of the rope at the bollard, a fifth longer than its distance to the raft."""
    start = Vector(BOLLARD)
    step = (Vector(CLEAT) - start) * (1.2 / MOORING)
    bones: Bones = {}
    for i in range(MOORING):
        ends = [(start + step * j).to_tuple() for j in (i, i + 1)]
        bones[f"Mooring.{i:02}"] = (ends[0], ends[1], f"Mooring.{i - 1:02}" if i else "")
    return bones


def _raft(wood: bpy.types.Material) -> bpy.types.Object:
    """Make the raft at the far end of the bridge: an Empty with logs and two posts."""
    raft = link(bpy.data.objects.new("Raft", None))
    raft.empty_display_size = 0.5
    x = START + SPAN
    parts = []
    for i in range(5):
        y = 0.42 * (i - 2)
        parts.append(
            shapes.capsule(f"Log.{i}", (x - 0.1, y, 0.55), (x + 1.5, y, 0.55), (0.2, 0.2), wood)
        )
    for side, y in SIDES.items():
        parts.append(
            shapes.capsule(f"Raft Post.{side}", (x, y, 0.6), (x, y, RAIL + 0.1), (0.07, 0.06), wood)
        )
    parts.append(shapes.capsule("Cleat", CLEAT, (1.85, -0.75, 0.95), (0.06, 0.05), wood))
    for part in parts:
        part.parent = raft
        part.hide_select = True
    return raft


def _rock(stone: bpy.types.Material, wood: bpy.types.Material) -> None:
    """Make the rock at the near end of the bridge."""
    profile = ((1.0, 0.0), (0.92, 0.35), (0.80, 0.8), (0.72, DECK - 0.03), (0.001, DECK - 0.02))
    shapes.turned("Rock", (START - 0.66, 0, 0), (START - 0.66, 0, 1), profile, stone, sides=9)
    for side, y in SIDES.items():
        shapes.capsule(f"Post.{side}", (START, y, 0.9), (START, y, RAIL + 0.1), (0.07, 0.06), wood)


def _hook(name: str, location: tuple[float, float, float], raft: bpy.types.Object) -> Any:
    """Make an Empty on the raft for the end of a rope."""
    hook = link(bpy.data.objects.new(name, None))
    hook.empty_display_size = 0.08
    hook.location = location
    hook.parent = raft
    return hook


def _plank(rig: Any, i: int, wood: bpy.types.Material) -> None:
    """Lay a plank across a bone of each deck rope."""
    x = START + LENGTH * (i + 0.5) / COUNT
    size = (0.72 * LENGTH / COUNT, 2.0 * WIDE + 0.1, 0.035)
    plank = shapes.box(f"Plank.{i:02}", (x, 0.0, DECK + 0.035), size, wood)
    _skin(rig, plank, lambda at: f"Deck{'L' if at.y > 0.0 else 'R'}.{i:02}")


def _post(rig: Any, side: str, i: int, hemp: bpy.types.Material) -> None:
    """Tie a rail to the deck."""
    x, y = START + LENGTH * i / COUNT, SIDES[side]
    tie = shapes.capsule(f"Tie.{side}{i:02}", (x, y, DECK), (x, y, RAIL), (0.014, 0.014), hemp)
    middle = 0.5 * (DECK + RAIL)
    _skin(rig, tie, lambda at: f"{'Rail' if at.z > middle else 'Deck'}{side}.{i:02}")


def _skin(rig: Any, ob: bpy.types.Object, bone_at: Any) -> None:
    """Skin a mesh to bones, each vertex to the bone at its position."""
    data: Any = ob.data
    for vertex in data.vertices:
        name = bone_at(ob.matrix_basis @ vertex.co)
        group = ob.vertex_groups.get(name) or ob.vertex_groups.new(name=name)
        group.add([vertex.index], 1.0, "REPLACE")
    ob.parent = rig
    modifier: Any = ob.modifiers.new("Armature", "ARMATURE")
    modifier.object = rig


def _moor(rig: Any, raft: Any, hemp: bpy.types.Material, stone: bpy.types.Material) -> None:
    """Hang the mooring from its bollard to the raft, resting on the floor."""
    names = [f"Mooring.{i:02}" for i in range(MOORING)]
    shapes.tube("Mooring", rig, names, lambda _: 0.035, hemp, blend=1.0, rings=2, sides=8)
    x, y, z = BOLLARD
    profile = ((0.2, 0.0), (0.12, 0.05), (0.1, 0.3), (0.15, 0.36), (0.001, 0.4))
    shapes.turned("Bollard", (x, y, 0.0), (x, y, z), profile, stone, sides=16)
    floor = link(bpy.data.objects.new("Floor", None))
    floor.empty_display_type = "SINGLE_ARROW"
    floor.location = (0.6, -1.6, 0.0)
    item = add_constraint(
        rig, "Mooring", bone=names[-1], target=_hook("Mooring Hook", CLEAT, raft), solver="ROPE"
    )
    item.rope.collision, item.rope.collision_object = "PLANE", floor
    item.rope.thickness = 0.035
