"""Measure tip errors and the cost of a frame, with our constraints and with Blender's own IK.

Both play the same frames of the same file in the same process, in turn and repeatedly. A
temporarily busy machine then slows down both. `Scene.frame_set` is timed, which evaluates
everything, meshes included; the median is reported.
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
    """A chain's tip, a bone's tail or head, and the object whose origin it should reach."""

    rig: str
    bone: str
    use_tail: bool
    target: str

    def error(self, depsgraph: bpy.types.Depsgraph) -> float:
        """Return the distance in world space, in meters, as evaluated."""
        rig = bpy.data.objects[self.rig].evaluated_get(depsgraph)
        bone: Any = rig.pose.bones[self.bone]  # type: ignore[union-attr]
        tip = rig.matrix_world @ (bone.tail if self.use_tail else bone.head)
        target = bpy.data.objects[self.target].evaluated_get(depsgraph)
        return (tip - target.matrix_world.translation).length


@dataclass
class Score:
    """The measurements of playing.

    Attributes:
        errors: The distance of each tip to its target at each frame, in meters.
        times: The time of each frame, in seconds.
    """

    errors: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def worst_mm(self) -> float:
        """The largest tip error, in millimeters."""
        return 1000.0 * max(self.errors)

    @property
    def median_ms(self) -> float:
        """The median time of a frame, in milliseconds."""
        return 1000.0 * median(self.times)


@dataclass
class Row:
    """The measurements of a sample."""

    name: str
    chains: list[int]
    frames: int
    ours: Score = field(default_factory=Score)
    blenders: Score = field(default_factory=Score)

    @property
    def size(self) -> str:
        """The numbers of chains and of their bones."""
        kinds = sorted(set(self.chains))
        return ", ".join(f"{self.chains.count(bones)} × {bones}" for bones in kinds)


def measured(name: str) -> Row:
    """Play a sample with our constraints, and with Blender's in place of them."""
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
    scene.frame_set(scene.frame_end)  # Exclude one-time costs from the times of frames.
    for frame in range(scene.frame_start, scene.frame_end + 1):
        start = perf_counter()
        scene.frame_set(frame)
        score.times.append(perf_counter() - start)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        score.errors += [tip.error(depsgraph) for tip in tips]


def use_blenders_ik() -> None:
    """Replace our constraints in the open file by Blender's own IK, with default settings."""
    for rig, item in list(_constraints()):
        con = rig.pose.bones[item.bone].constraints.new("IK")
        con.chain_count, con.use_tail, con.target = item.chain_count, item.use_tail, item.target
        if item.pole_target:
            con.pole_target = item.pole_target
            con.pole_angle = _pole_angle(rig, item)
        item.enabled = False
    bpy.context.view_layer.update()  # Without our constraints, the bones return to their FK pose.
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
    """Return the angle at which the bend of Blender's IK faces the pole, in radians.

    It is the angle about the root bone from the bone's X axis to the pole, in the rest pose.
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
