"""Joint limits that allow a bone's rotations in actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import atan2, ceil, cos, floor, pi, radians, sin, sqrt
from typing import Any, NamedTuple

import bpy
from mathutils import Matrix, Quaternion, Vector

from fabrik_solver import WHOLE, Bone, Local, bone_frame, carried_turn
from fabrik_solver.core.vectors import ORIGIN, quat_inverse, quat_product

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.rotation import channel_of, mode_of, quaternion
from ...blender.skeleton import skeleton_of

HINGE_SHARE = 0.99
"""Minimum fraction of the total rotation about one axis for a hinge joint."""

MIN_GAP = radians(30.0)
"""Minimum gap in a hinge's range, in radians; with smaller gaps it rotates freely."""

MAX_FRAMES = 20_000
"""Maximum number of frames sampled per action; longer actions are sampled in larger steps."""


class LearnedLimit(NamedTuple):
    """A limit that allows all sampled rotations.

    Attributes:
        kind: ``'HINGE'`` or ``'CONE'``.
        settings: The values of the joint's settings, by name.
    """

    kind: str
    settings: dict[str, Any]


def rotations_of(bone: bpy.types.PoseBone, everywhere: bool) -> list[Quaternion]:
    """Return the rotations of a bone's joint from its rest pose, in its armature's actions.

    They are sampled at each key, and at each frame from the first to the last key.

    Args:
        bone: The pose bone.
        everywhere: Whether to use all actions in the file that rotate a bone with this name.
    """
    armature: Any = bone.id_data
    rig, posed = skeleton_of(armature), pose_bones(armature)
    index = rig.index[bone.name]
    # Limits apply relative to the posed parent, whatever is inherited.
    line = [index] if rig.bone(index).inherit_rotation else rig.chain_up(index)
    rotations: list[Quaternion] = []
    for clip in animation.clips_of(armature, everywhere):
        tracks = [_Track(clip, posed[rig.names[i]], rig.bone(i)) for i in line]
        for frame in _frames([curve for track in tracks for curve in track.curves]):
            parent = WHOLE
            for track in tracks[:-1]:
                parent = bone_frame(track.bone, track.local(frame), parent)
            carried = carried_turn(tracks[-1].bone, parent[0])
            turn = tracks[-1].local(frame).rotation
            rotations.append(Quaternion(quat_product(quat_inverse(carried), turn)))
    return rotations


class _Track:
    """The rotation and scale of a bone in an action."""

    def __init__(self, clip: Any, posed: bpy.types.PoseBone, bone: Bone) -> None:
        self.bone, self._mode = bone, mode_of(posed)
        channel, self._size = channel_of(self._mode)
        self._turns = animation.channel_of_clip(clip, posed.path_from_id(channel), self._size)
        self._scales = animation.channel_of_clip(clip, posed.path_from_id("scale"), 3)
        self.curves = [*self._turns.values()]

    def local(self, frame: float) -> Local:
        """Return the bone's channels at a frame; components without keys have their rest values."""
        mode = self._mode
        rest = (1.0, 0.0, 0.0, 0.0) if mode == 0 else (0.0, 0.0, 1.0, 0.0) if mode < 0 else ORIGIN
        turn = [_at(self._turns, i, frame, rest[i]) for i in range(self._size)]
        x, y, z = [_at(self._scales, i, frame, 1.0) for i in range(3)]
        return Local(ORIGIN, quaternion(mode, turn), (x, y, z))


def _at(curves: Mapping[int, Any], index: int, frame: float, rest: float) -> float:
    return curves[index].evaluate(frame) if index in curves else rest


def _frames(curves: Any) -> list[float]:
    keys = {key.co[0] for curve in curves for key in curve.keyframe_points}
    if not keys:
        return []
    first, last = floor(min(keys)), ceil(max(keys))
    step = 1 + (last - first) // MAX_FRAMES
    between = {float(f) for f in range(first, last + 1, step) if min(keys) <= f <= max(keys)}
    return sorted(keys | between)


def limit_of(rotations: Sequence[Quaternion], kind: str, margin: float) -> LearnedLimit:
    """Return the limit that allows all rotations, plus a margin.

    Args:
        rotations: The rotations, at least one.
        kind: ``'HINGE'``, ``'CONE'``, or ``'AUTO'`` for a hinge if almost all rotation is about a
            single axis.
        margin: The margin in radians.
    """
    if kind != "CONE":
        axis, axis_share = _axis(rotations)
        if kind == "HINGE" or axis_share >= HINGE_SHARE:
            return _hinge(rotations, axis, margin)
    return _cone(rotations, margin)


def _axis(rotations: Sequence[Quaternion]) -> tuple[Vector, float]:
    """Return the principal axis of rotations, and its fraction of the total rotation."""
    total = Matrix.Diagonal((0.0, 0.0, 0.0))
    for rotation in rotations:
        x, y, z = rotation.x, rotation.y, rotation.z
        total += Matrix(((x * x, x * y, x * z), (y * x, y * y, y * z), (z * x, z * y, z * z)))
    amount = total[0][0] + total[1][1] + total[2][2]
    if amount < 1e-9 * len(rotations):
        return Vector((1.0, 0.0, 0.0)), 0.0
    for axis in (Vector((1.0, 0.0, 0.0)), Vector((0.0, 0.0, 1.0))):  # Prefer the bone's axes.
        axis_share = axis.dot(total @ axis) / amount
        if axis_share >= HINGE_SHARE:
            return axis, axis_share
    columns = [total @ Vector(axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    axis = max(columns, key=lambda column: column.length)
    for _ in range(100):
        axis = (total @ axis).normalized()
    return axis, axis.dot(total @ axis) / amount


def _hinge(rotations: Sequence[Quaternion], axis: Vector, margin: float) -> LearnedLimit:
    low, high = _circular_range([_turn_about(turn, axis) for turn in rotations], margin)
    names = {"X": Vector((1.0, 0.0, 0.0)), "Z": Vector((0.0, 0.0, 1.0))}
    name = next((name for name, bone_axis in names.items() if axis == bone_axis), "FREE")
    settings: dict[str, Any] = {"hinge_axis": name, "hinge_min": low, "hinge_max": high}
    if name == "FREE":
        settings["hinge_vector"] = axis.to_tuple()
    return LearnedLimit("HINGE", settings)


def _turn_about(turn: Quaternion, axis: Vector) -> float:
    angle = 2.0 * atan2(axis.dot((turn.x, turn.y, turn.z)), turn.w)
    return (angle + pi) % (2.0 * pi) - pi


def _circular_range(angles: Sequence[float], margin: float) -> tuple[float, float]:
    """Return the complement of the largest gap between angles on the circle, plus a margin.

    It can extend beyond ±180°. Without a gap larger than `MIN_GAP`, it is the full circle.
    """
    ordered = sorted(angles)
    gaps = [b - a for a, b in pairwise([*ordered, ordered[0] + 2.0 * pi])]
    last = max(range(len(gaps)), key=lambda i: gaps[i])
    high = ordered[last] + margin
    low = high - (2.0 * pi - gaps[last]) - 2.0 * margin
    if gaps[last] <= max(MIN_GAP, 2.0 * margin):
        return -pi, pi
    turns = floor(0.5 * (low + high) / (2.0 * pi) + 0.5)  # Center it within ±180°.
    return low - 2.0 * pi * turns, high - 2.0 * pi * turns


def _range(angles: Sequence[float], margin: float) -> tuple[float, float]:
    return max(-pi, min(angles) - margin), min(pi, max(angles) + margin)


def _cone(rotations: Sequence[Quaternion], margin: float) -> LearnedLimit:
    center = _middle(rotations)
    swings, twists = _swings_and_twists(rotations, center)
    a = max(abs(x) for x, _ in swings)
    b = max(abs(z) for _, z in swings)
    # Scale the ellipse of this shape to contain all swings.
    size = max((sqrt((x / (a or 1.0)) ** 2 + (z / (b or 1.0)) ** 2) for x, z in swings))
    low, high = _range(twists, margin)
    return LearnedLimit(
        "CONE",
        {
            "center": center.to_euler("XYZ")[:],
            "swing_x": min(pi, a * size + margin),
            "swing_z": min(pi, b * size + margin),
            "twist_min": low,
            "twist_max": high,
        },
    )


def _middle(rotations: Sequence[Quaternion]) -> Quaternion:
    """Return the central rotation: the mean, moved to the middle of the swings."""
    total = Vector((0.0, 0.0, 0.0, 0.0))
    for rotation in rotations:
        quat = Vector(rotation[:])
        total += quat if quat.dot(total if total.length else quat) >= 0.0 else -quat
    center = Quaternion(total.normalized()) if total.length > 1e-6 else Quaternion()
    swings, _ = _swings_and_twists(rotations, center)
    x = 0.5 * (min(s[0] for s in swings) + max(s[0] for s in swings))
    z = 0.5 * (min(s[1] for s in swings) + max(s[1] for s in swings))
    angle = sqrt(x * x + z * z)
    if angle == 0.0:
        return center
    axis_scale = sin(0.5 * angle) / angle
    return center @ Quaternion((cos(0.5 * angle), x * axis_scale, 0.0, z * axis_scale))


def _swings_and_twists(
    rotations: Sequence[Quaternion], center: Quaternion
) -> tuple[list[tuple[float, float]], list[float]]:
    """Return the swings about X and Z, and the twists, relative to a center rotation."""
    swings: list[tuple[float, float]] = []
    twists: list[float] = []
    back = center.inverted()
    for rotation in rotations:
        relative = back @ rotation
        twist = _turn_about(relative, Vector((0.0, 1.0, 0.0)))
        swing = relative @ Quaternion((cos(0.5 * twist), 0.0, -sin(0.5 * twist), 0.0))
        sign = -1.0 if swing.w < 0.0 else 1.0
        size = sqrt(swing.x * swing.x + swing.z * swing.z)
        angle = 2.0 * atan2(size, sign * swing.w)
        axis_scale = sign * angle / size if size > 1e-9 else 0.0
        swings.append((swing.x * axis_scale, swing.z * axis_scale))
        twists.append(twist)
    return swings, twists


def learn(bone: Any, kind: str, margin: float, everywhere: bool) -> str:
    """Limit a pose bone's joint to the rotations in its actions.

    Returns:
        The limit type; empty if no action rotates the bone.
    """
    rotations = rotations_of(bone, everywhere)
    if not rotations:
        return ""
    limit = limit_of(rotations, kind, margin)
    for name, value in limit.settings.items():
        setattr(bone.fabrik_joint, name, value)
    bone.fabrik_joint.limit_type = limit.kind
    return limit.kind
