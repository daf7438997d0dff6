"""How near the tips come and what a frame costs, and the same for Blender's own IK.

Both play the same frames of the same file in the same process, one right after the other, over and
over: a machine that is busy for a while slows down both. What is timed is `Scene.frame_set`, which
evaluates everything, meshes included; the median is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import bpy
from mathutils import Vector

from .opening import open_sample

ROUNDS = 3


@dataclass(frozen=True)
class Tip:
    """Where a chain should arrive: a bone's tail, or head, at an object's origin."""

    rig: str
    bone: str
    use_tail: bool
    target: str

    def error(self, depsgraph: bpy.types.Depsgraph) -> float:
        """Return the distance in world space, in metres, as evaluated."""
        rig = bpy.data.objects[self.rig].evaluated_get(depsgraph)
        bone: Any = rig.pose.bones[self.bone]  # type: ignore[union-attr]
        tip = rig.matrix_world @ (bone.tail if self.use_tail else bone.head)
        target = bpy.data.objects[self.target].evaluated_get(depsgraph)
        return (tip - target.matrix_world.translation).length


@dataclass
class Score:
    """What playing came to.

    Attributes:
        errors: Distance of a tip to its target, in metres, for each frame and tip.
        times: What a frame took, in seconds.
    """

    errors: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def worst_mm(self) -> float:
        """The largest tip error, in millimetres."""
        return 1000.0 * max(self.errors)

    @property
    def median_ms(self) -> float:
        """The time of a frame, in milliseconds."""
        return 1000.0 * median(self.times)


@dataclass
class Row:
    """One sample, measured."""

    name: str
    chains: list[int]
    frames: int
    ours: Score = field(default_factory=Score)
    blenders: Score = field(default_factory=Score)

    @property
    def size(self) -> str:
        """How many chains of how many bones."""
        kinds = sorted(set(self.chains))
        return ", ".join(f"{self.chains.count(bones)} × {bones}" for bones in kinds)


def measured(name: str) -> Row:
    """Play a sample with our constraints and with Blender's in their place."""
    scene = open_sample(name)
    lengths = [_length(rig, item) for rig, item in _constraints()]
    row = Row(name, lengths, scene.frame_end - scene.frame_start + 1)
    for _ in range(ROUNDS):
        open_sample(name)
        tips = [
            Tip(rig.name, item.bone, item.use_tail, item.target.name)
            for rig, item in _constraints()
        ]
        _play(tips, row.ours)
        use_blenders_ik()
        _play(tips, row.blenders)
    return row


def _play(tips: list[Tip], score: Score) -> None:
    scene = bpy.context.scene
    scene.frame_set(scene.frame_end)  # What is made once is not what a frame costs.
    for frame in range(scene.frame_start, scene.frame_end + 1):
        start = perf_counter()
        scene.frame_set(frame)
        score.times.append(perf_counter() - start)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        score.errors += [tip.error(depsgraph) for tip in tips]


def use_blenders_ik() -> None:
    """Give the open file Blender's own IK in the place of our constraints, at its defaults."""
    for rig, item in list(_constraints()):
        con = rig.pose.bones[item.bone].constraints.new("IK")
        con.chain_count, con.use_tail, con.target = item.chain_count, item.use_tail, item.target
        if item.pole_target:
            con.pole_target = item.pole_target
            con.pole_angle = _pole_angle(rig, item)
        item.enabled = False
    bpy.context.view_layer.update()  # With all of ours off, the bones have their FK pose back.
    for rig in {rig for rig, _ in _constraints()}:
        rig.fabrik.constraints.clear()
        rig.driver_remove('["fabrik_dependency"]')
        rig.data.update_tag()
    bpy.context.view_layer.update()


def _constraints() -> Iterator[tuple[Any, Any]]:
    for ob in bpy.data.objects:
        settings: Any = ob
        for item in settings.fabrik.constraints:
            yield settings, item


def _length(rig: Any, item: Any) -> int:
    bone = rig.data.bones[item.bone]
    return item.chain_count or len(bone.parent_recursive) + item.use_tail


def _pole_angle(rig: Any, item: Any) -> float:
    """Return the angle at which the bend of Blender's IK faces the pole.

    It is the angle about the root bone, in the rest pose, from the bone's X axis to the pole.
    """
    last = rig.data.bones[item.bone]
    up = [last, *last.parent_recursive][0 if item.use_tail else 1 :]
    root = up[_length(rig, item) - 1]
    tip = last.tail_local if item.use_tail else last.head_local
    depsgraph = bpy.context.evaluated_depsgraph_get()
    pole = item.pole_target.evaluated_get(depsgraph).matrix_world.translation
    to_pole = rig.matrix_world.inverted() @ pole - root.head_local
    along: Vector = root.tail_local - root.head_local
    across = (tip - root.head_local).cross(to_pole).cross(along)
    side: Any = root.matrix_local.to_3x3().col[0]
    angle = side.angle(across)
    return -angle if side.cross(across).dot(along) < 0.0 else angle
