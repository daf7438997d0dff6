"""Learning the limits of a joint from the turns that the bone makes in its actions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import atan2, ceil, cos, floor, pi, radians, sin, sqrt
from typing import Any, NamedTuple

import bpy
from mathutils import Matrix, Quaternion, Vector

from ...blender import animation
from ...blender.rotation import channel_of, mode_of, quaternion

EXPLAINED = 0.99
"""The share of all turning that is about one axis if the joint is a hinge."""

GAP = radians(30.0)
"""A hinge that turns all round but for less than this is free."""

MOST_FRAMES = 20_000
"""Frames looked at in one action at most; a longer one is looked at in larger steps."""


class Learned(NamedTuple):
    """Limits that hold all the turns that were seen.

    Attributes:
        kind: ``'HINGE'`` or ``'CONE'``.
        settings: What to set, by the names of the joint's settings.
    """

    kind: str
    settings: dict[str, Any]


def turns_of(bone: bpy.types.PoseBone, everywhere: bool) -> list[Quaternion]:
    """Return the turns out of the rest pose that a bone makes in the actions of its armature.

    At each key and each frame between the first key and the last. Numbers of the channel that are
    not keyed count as in the rest pose.

    Args:
        bone: The pose bone.
        everywhere: Whether to look at all actions of the file that move a bone of this name.
    """
    armature: Any = bone.id_data
    mode = mode_of(bone)
    channel, size = channel_of(mode)
    path = bone.path_from_id(channel)
    rest = [1.0, 0.0, 0.0, 0.0] if mode == 0 else [0.0, 0.0, 1.0, 0.0] if mode < 0 else [0.0] * 3
    turns: list[Quaternion] = []
    for curves in animation.curves_of(armature, path, everywhere):
        for frame in _frames(curves.values()):
            values = [curves[i].evaluate(frame) if i in curves else rest[i] for i in range(size)]
            turns.append(Quaternion(quaternion(mode, values)))
    return turns


def _frames(curves: Any) -> list[float]:
    keys = {key.co[0] for curve in curves for key in curve.keyframe_points}
    if not keys:
        return []
    first, last = floor(min(keys)), ceil(max(keys))
    step = 1 + (last - first) // MOST_FRAMES
    between = {float(f) for f in range(first, last + 1, step) if min(keys) <= f <= max(keys)}
    return sorted(keys | between)


def learned(turns: Sequence[Quaternion], kind: str, margin: float) -> Learned:
    """Return limits that hold all turns, with a margin.

    Args:
        turns: The turns, at least one.
        kind: ``'HINGE'``, ``'CONE'``, or ``'AUTO'`` for a hinge if one axis explains the turns.
        margin: In radians.
    """
    if kind != "CONE":
        axis, share = _axis(turns)
        if kind == "HINGE" or share >= EXPLAINED:
            return _hinge(turns, axis, margin)
    return _cone(turns, margin)


def _axis(turns: Sequence[Quaternion]) -> tuple[Vector, float]:
    """Return the axis about which there is most turning, and what share of all that is."""
    total = Matrix.Diagonal((0.0, 0.0, 0.0))
    for turn in turns:
        x, y, z = turn.x, turn.y, turn.z
        total += Matrix(((x * x, x * y, x * z), (y * x, y * y, y * z), (z * x, z * y, z * z)))
    amount = total[0][0] + total[1][1] + total[2][2]
    if amount < 1e-9 * len(turns):
        return Vector((1.0, 0.0, 0.0)), 0.0
    for axis in (Vector((1.0, 0.0, 0.0)), Vector((0.0, 0.0, 1.0))):  # Those that have a name.
        share = axis.dot(total @ axis) / amount
        if share >= EXPLAINED:
            return axis, share
    columns = [total @ Vector(axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    axis = max(columns, key=lambda column: column.length)
    for _ in range(100):
        axis = (total @ axis).normalized()
    return axis, axis.dot(total @ axis) / amount


def _hinge(turns: Sequence[Quaternion], axis: Vector, margin: float) -> Learned:
    low, high = _round_range([_turn_about(turn, axis) for turn in turns], margin)
    names = {"X": Vector((1.0, 0.0, 0.0)), "Z": Vector((0.0, 0.0, 1.0))}
    name = next((name for name, known in names.items() if axis == known), "FREE")
    settings: dict[str, Any] = {"hinge_axis": name, "hinge_min": low, "hinge_max": high}
    if name == "FREE":
        settings["hinge_vector"] = axis.to_tuple()
    return Learned("HINGE", settings)


def _turn_about(turn: Quaternion, axis: Vector) -> float:
    angle = 2.0 * atan2(axis.dot((turn.x, turn.y, turn.z)), turn.w)
    return (angle + pi) % (2.0 * pi) - pi


def _round_range(angles: Sequence[float], margin: float) -> tuple[float, float]:
    """Return the range around the largest gap that the angles leave on the circle, with a margin.

    It may reach over half a turn, and is that of a free hinge if no gap is worth the name.
    """
    ordered = sorted(angles)
    gaps = [b - a for a, b in pairwise([*ordered, ordered[0] + 2.0 * pi])]
    last = max(range(len(gaps)), key=lambda i: gaps[i])
    high = ordered[last] + margin
    low = high - (2.0 * pi - gaps[last]) - 2.0 * margin
    if gaps[last] <= max(GAP, 2.0 * margin):
        return -pi, pi
    turns = floor(0.5 * (low + high) / (2.0 * pi) + 0.5)  # Its middle within half a turn.
    return low - 2.0 * pi * turns, high - 2.0 * pi * turns


def _range(angles: Sequence[float], margin: float) -> tuple[float, float]:
    return max(-pi, min(angles) - margin), min(pi, max(angles) + margin)


def _cone(turns: Sequence[Quaternion], margin: float) -> Learned:
    center = _middle(turns)
    swings, twists = _measured(turns, center)
    a = max(abs(x) for x, _ in swings)
    b = max(abs(z) for _, z in swings)
    # The ellipse of this shape that holds them all.
    size = max((sqrt((x / (a or 1.0)) ** 2 + (z / (b or 1.0)) ** 2) for x, z in swings))
    low, high = _range(twists, margin)
    return Learned(
        "CONE",
        {
            "center": center.to_euler("XYZ")[:],
            "swing_x": min(pi, a * size + margin),
            "swing_z": min(pi, b * size + margin),
            "twist_min": low,
            "twist_max": high,
        },
    )


def _middle(turns: Sequence[Quaternion]) -> Quaternion:
    """Return the turn in the middle of all: their mean, brought to the middle of their swings."""
    total = Vector((0.0, 0.0, 0.0, 0.0))
    for turn in turns:
        four = Vector(turn[:])
        total += four if four.dot(total if total.length else four) >= 0.0 else -four
    center = Quaternion(total.normalized()) if total.length > 1e-6 else Quaternion()
    swings, _ = _measured(turns, center)
    x = 0.5 * (min(s[0] for s in swings) + max(s[0] for s in swings))
    z = 0.5 * (min(s[1] for s in swings) + max(s[1] for s in swings))
    angle = sqrt(x * x + z * z)
    if angle == 0.0:
        return center
    share = sin(0.5 * angle) / angle
    return center @ Quaternion((cos(0.5 * angle), x * share, 0.0, z * share))


def _measured(
    turns: Sequence[Quaternion], center: Quaternion
) -> tuple[list[tuple[float, float]], list[float]]:
    """Return the swings about X and Z and the twists, seen from a center."""
    swings: list[tuple[float, float]] = []
    twists: list[float] = []
    back = center.inverted()
    for turn in turns:
        seen = back @ turn
        twist = _turn_about(seen, Vector((0.0, 1.0, 0.0)))
        swing = seen @ Quaternion((cos(0.5 * twist), 0.0, -sin(0.5 * twist), 0.0))
        sign = -1.0 if swing.w < 0.0 else 1.0
        size = sqrt(swing.x * swing.x + swing.z * swing.z)
        angle = 2.0 * atan2(size, sign * swing.w)
        share = sign * angle / size if size > 1e-9 else 0.0
        swings.append((swing.x * share, swing.z * share))
        twists.append(twist)
    return swings, twists


def learn(bone: Any, kind: str, margin: float, everywhere: bool) -> str:
    """Set the joint of a pose bone to what its actions use.

    Returns:
        The kind of limit it got; empty if there is nothing to learn from.
    """
    turns = turns_of(bone, everywhere)
    if not turns:
        return ""
    found = learned(turns, kind, margin)
    for name, value in found.settings.items():
        setattr(bone.fabrik_joint, name, value)
    bone.fabrik_joint.limit_type = found.kind
    return found.kind
