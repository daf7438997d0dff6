"""Chains, targets and rigs shared by the sections, with a file for each variant."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, cos, dist, hypot, pi, sin, sqrt
from pathlib import Path
from random import Random
from typing import Any

import bpy

from .harness import enable, new_file, open_file, save_file

# Chains and targets shared by the sections, without Blender.
#
# The root of a chain is the origin, and it extends along Z, in meters.


Point = tuple[float, float, float]

TURN = 0.5
"""The angle between the first and the last bone of a chain at rest, in radians."""


def arc(count: int, total: float, turn: float = TURN) -> tuple[Point, ...]:
    """Return the joints of a slightly bent chain of equal bones, ``total`` long."""
    size = total / count
    joints = [(0.0, 0.0, 0.0)]
    for i in range(count):
        angle = turn * ((i + 0.5) / count - 0.5)
        _, y, z = joints[-1]
        joints.append((0.0, y + size * sin(angle), z + size * cos(angle)))
    return tuple(joints)


def direction(random: Random) -> Point:
    """Return a random unit vector, uniformly distributed."""
    x, y, z = (random.gauss(0.0, 1.0) for _ in range(3))
    size = hypot(x, y, z)
    return (x / size, y / size, z / size)


def near_tip(tip: Point, away: float, reach: float, count: int, seed: int) -> list[Point]:
    """Return random targets at a distance from the tip and less than ``reach`` from the root."""
    random = Random(seed)
    targets: list[Point] = []
    while len(targets) < count:
        x, y, z = direction(random)
        target = (tip[0] + away * x, tip[1] + away * y, tip[2] + away * z)
        if dist((0.0, 0.0, 0.0), target) < reach:
            targets.append(target)
    return targets


def on_sphere(radius: float, count: int, seed: int) -> list[Point]:
    """Return random targets at a distance from the root."""
    random = Random(seed)
    units = [direction(random) for _ in range(count)]
    return [(radius * x, radius * y, radius * z) for x, y, z in units]


def in_cube(half: float, count: int, seed: int) -> list[Point]:
    """Return random targets, uniform between −half and half on each axis."""
    random = Random(seed)

    def coordinate() -> float:
        return random.uniform(-half, half)

    return [(coordinate(), coordinate(), coordinate()) for _ in range(count)]


# Rigs to measure, with a file for each variant and the same animated targets in all files.


OURS = "FABRIK IK"
BLENDERS = "Blender's IK"
FLOOR = "floor"

LENGTH = 1.0
"""The length of a chain, in meters."""

FRAMES = 250
KEY_EVERY = 10
SPACING = 0.2


@dataclass(frozen=True)
class Rig:
    """Chains of equal bones in one armature, each with its own target.

    Attributes:
        chains: The number of chains.
        bones: The number of bones of each chain.
        solver: The solver of our constraints; empty for the default.
        keyed: Whether the targets move along a path.
        key_every: The frames between their keys.
        length: The length of each chain, in meters.
        turn: The angle between the first and the last bone of a chain at rest, in radians.
        spacing: The distance between the roots, in meters.
    """

    chains: int
    bones: int
    solver: str = ""
    keyed: bool = True
    key_every: int = KEY_EVERY
    length: float = LENGTH
    turn: float = TURN
    spacing: float = SPACING

    @property
    def name(self) -> str:
        """Chains × bones."""
        return f"{self.chains} × {self.bones}"

    def root(self, chain: int) -> Point:
        """Return the root of a chain; the roots form a square grid about the origin.

        The grid is dense, so that positions in single precision are as precise as possible.
        """
        side = ceil(sqrt(self.chains))
        row, column = divmod(chain, side)
        return (self.spacing * (column - 0.5 * side), self.spacing * (row - 0.5 * side), 0.0)

    def bone(self, chain: int, number: int) -> str:
        """Return the name of a bone."""
        return f"Chain {chain} Bone {number}"

    def tip(self, chain: int) -> str:
        """Return the name of a chain's last bone."""
        return self.bone(chain, self.bones - 1)


def target_name(chain: int) -> str:
    """Return the name of a chain's target."""
    return f"Target {chain}"


def armature() -> Any:
    """Return the armature object of the open file; `Any`, as no stub has our ``fabrik``."""
    return bpy.data.objects["Rig"]


def link(ob: bpy.types.Object) -> bpy.types.Object:
    """Add an object to the scene."""
    bpy.context.scene.collection.objects.link(ob)
    return ob


BoneRest = tuple[Sequence[float], Sequence[float], str]
"""The head and the tail of a bone, and the name of its parent; empty without one."""


def make_armature(bones: Mapping[str, BoneRest]) -> Any:
    """Make and return the armature object; parents come first in the bones."""
    data: Any = bpy.data.armatures.new("Rig")
    ob = link(bpy.data.objects.new("Rig", data))
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (head, tail, parent) in bones.items():
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = head, tail
        if parent:
            bone.parent = data.edit_bones[parent]
            bone.use_connect = bones[parent][1] == head
    bpy.ops.object.mode_set(mode="OBJECT")
    return ob


def build(rig: Rig) -> None:
    """Make the armature and its targets in a new file, without IK."""
    scene = new_file()
    scene.frame_start, scene.frame_end = 1, FRAMES
    joints = arc(rig.bones, rig.length, rig.turn)
    bones: dict[str, BoneRest] = {}
    for chain in range(rig.chains):
        x, y, z = rig.root(chain)
        positions = [(x + a, y + b, z + c) for a, b, c in joints]
        for i in range(rig.bones):
            parent = rig.bone(chain, i - 1) if i else ""
            bones[rig.bone(chain, i)] = (positions[i], positions[i + 1], parent)
    make_armature(bones)
    for chain in range(rig.chains):
        _target(rig, chain)


def _target(rig: Rig, chain: int) -> None:
    empty = link(bpy.data.objects.new(target_name(chain), None))
    path = _path(rig.root(chain), rig.length, Random(chain))
    empty.location = path(0.0)
    if rig.keyed:
        # Beyond both ends, so that there are frames for the warm-up.
        for frame in range(1 - 2 * rig.key_every, FRAMES + 2 * rig.key_every, rig.key_every):
            empty.location = path(2.0 * pi * (frame - 1) / FRAMES)
            empty.keyframe_insert("location", frame=frame)


def _path(root: Point, length: float, random: Random) -> Callable[[float], Point]:
    """Return a closed smooth path around a root, at 0.35 to 0.85 of the reach."""
    first, second, third = (random.uniform(0.0, 2.0 * pi) for _ in range(3))

    def position(angle: float) -> Point:
        distance = length * (0.6 + 0.25 * sin(2.0 * angle + first))
        tilt = 0.9 + 0.5 * sin(3.0 * angle + second)
        side = distance * sin(tilt)
        return (
            root[0] + side * cos(angle + third),
            root[1] + side * sin(angle + third),
            root[2] + distance * cos(tilt),
        )

    return position


def save_variants(rig: Rig, folder: Path, more: Callable[[], None] | None = None) -> None:
    """Save three files that differ only in IK: none, Blender's and ours.

    Args:
        rig: The rig.
        folder: The folder of the files.
        more: Adds more to the scene.
    """
    enable(False)
    build(rig)
    if more is not None:
        more()
    save_file(folder / f"{FLOOR}.blend")
    ob = armature()
    for chain in range(rig.chains):
        con = ob.pose.bones[rig.tip(chain)].constraints.new("IK")
        con.target = bpy.data.objects[target_name(chain)]
    save_file(folder / f"{BLENDERS}.blend")
    enable(True)
    open_file(folder / f"{FLOOR}.blend")
    add_ours(rig)
    save_file(folder / f"{OURS}.blend")


def add_ours(rig: Rig) -> None:
    """Add our constraint to each chain of the open file, with default settings."""
    ob = armature()
    for chain in range(rig.chains):
        item = ob.fabrik.constraints.add()
        item.bone = rig.tip(chain)
        item.target = bpy.data.objects[target_name(chain)]
        if rig.solver:
            item.solver = rig.solver


@contextmanager
def opened(folder: Path, variant: str) -> Iterator[bpy.types.Scene]:
    """Open the file of a variant, with the extension registered only for ours."""
    enable(variant == OURS)
    scene = open_file(folder / f"{variant}.blend")
    if variant != FLOOR:
        yield scene
        return
    writer = _writer()
    bpy.app.handlers.frame_change_post.append(writer)
    try:
        yield scene
    finally:
        bpy.app.handlers.frame_change_post.remove(writer)


def _writer() -> Callable[..., None]:
    """Return a handler that only writes all rotations, with alternating values."""
    ob = armature()
    bones = ob.pose.bones
    poses = [array("f", [cos(turn), sin(turn), 0.0, 0.0] * len(bones)) for turn in (0.001, 0.002)]

    def write(_scene: bpy.types.Scene, _depsgraph: bpy.types.Depsgraph) -> None:
        bones.foreach_set("rotation_quaternion", poses[0])
        poses.reverse()
        ob.update_tag(refresh={"DATA"})

    return write
