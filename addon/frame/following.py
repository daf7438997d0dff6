"""What Blender's own constraints make of a bone that follows something solved.

The functions do the same as Blender, step by step: it decomposes rotations into Euler angles, and
which of the equivalent angles it takes decides what is left if only some of them are copied or
limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cbrt, tau
from typing import Any, cast

from fabrik_solver import (
    Frame,
    euler_matrix,
    euler_pair,
    frame_in,
    in_local_space,
    inverse,
    out_of_local_space,
    squared,
)
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    any_perpendicular,
    mat_apply,
    mat_column_lengths,
    mat_determinant,
    mat_product,
    quat_between,
    quat_matrix,
    scale_columns,
    scaled,
    sub,
    unit,
)

from ..blender.access import rest_bone
from ..blender.axes import AXES
from ..blender.rotation import EULER_AXES, EULER_ORDERS
from ..blender.skeleton import Skeleton, matrix_frame

XYZ = ("x", "y", "z")


class BoneSpaces:
    """The spaces in which constraints see a bone (Blender's manual: Constraints, Space Types).

    The frames that are converted are of the bone, in armature space.

    Attributes:
        rig: The armature.
    """

    def __init__(self, rig: Skeleton, bone: int, parent: Frame, world: Frame) -> None:
        """Start with a bone.

        Args:
            rig: The armature.
            bone: The bone.
            parent: The frame of its parent, in armature space.
            world: The frame of the armature, in world space.
        """
        self.rig = rig
        self._bone, self._parent, self._world = bone, parent, world

    def seen(self, frame: Frame, space: str) -> Frame:
        """Return how a frame is seen in a space.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(self._world, frame)
        if space == "LOCAL":
            return in_local_space(self.rig.bone(self._bone), frame, self._parent)
        return frame if space == "POSE" else frame_in(inverse(self._rest()), frame)

    def placed(self, seen: Frame, space: str) -> Frame:
        """Return the frame that is seen like this in a space.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(inverse(self._world), seen)
        if space == "LOCAL":
            return out_of_local_space(self.rig.bone(self._bone), seen, self._parent)
        return seen if space == "POSE" else frame_in(self._rest(), seen)

    def _rest(self) -> Frame:
        rig = self.rig
        return matrix_frame(rest_bone(rig.object, rig.names[self._bone]).matrix_local)


def followed(con: Any, owner: Any, own: Frame, source: Frame) -> Frame:
    """Return the frame of a bone or object after a constraint that `is_predictable`.

    Args:
        con: The constraint.
        owner: The bone or object that has it.
        own: The frame of that before it, in the space of its owner.
        source: The frame of its target, in the space of that; not used if it has none.
    """
    axes, head = own
    kind = con.type
    if kind == "COPY_LOCATION":
        return axes, _copied_location(con, head, source[1])
    if kind == "COPY_ROTATION":
        return _copied_rotation(con, _order(con, owner), axes, source[0]), head
    if kind == "COPY_SCALE":
        return _copied_scale(con, axes, source[0]), head
    if kind == "DAMPED_TRACK":
        track = AXES[con.track_axis.removeprefix("TRACK_")]
        return _tracked(axes, track, sub(source[1], head)), head
    if kind == "LIMIT_LOCATION":
        return axes, _limited(con, head)
    if kind == "LIMIT_ROTATION":
        return _limited_rotation(con, _order(con, owner), axes), head
    if kind == "LIMIT_SCALE":
        sizes = mat_column_lengths(axes)
        return _resized(axes, sizes, _limited(con, sizes)), head
    return (squared(source[0], keep_scale=True), source[1]) if con.remove_target_shear else source


def _tracked(axes: Mat3, track: Vec, towards: Vec) -> Mat3:
    """Return axes turned on the shortest way so that one of them points somewhere."""
    ahead, wanted = unit(mat_apply(axes, track)), unit(towards)
    if ahead is None or wanted is None:
        return axes
    return mat_product(quat_matrix(quat_between(ahead, wanted, any_perpendicular(ahead))), axes)


def _copied_location(con: Any, own: Vec, source: Vec) -> Vec:
    offset = own if con.use_offset else ORIGIN
    signs = _signs(con)
    copied = [sign * there + more for sign, there, more in zip(signs, source, offset, strict=True)]
    return _where(_used(con), copied, own)


def _copied_rotation(con: Any, order: Order, axes: Mat3, source: Mat3) -> Mat3:
    """Return axes with the Euler angles of others, mixed with their own, and their own scale."""
    mix, used = con.mix_mode, _used(con)
    own = _nearest(euler_pair(axes, *order), ORIGIN)
    pairs = [_compatible(angles, own) for angles in euler_pair(squared(source), *order)]
    copied = _nearest((pairs[0], pairs[1]), own)
    copied = _where(used, copied, own if mix == "REPLACE" else ORIGIN)
    signs = [sign if is_used else 1.0 for sign, is_used in zip(_signs(con), used, strict=True)]
    x, y, z = (sign * angle for sign, angle in zip(signs, copied, strict=True))
    turn = euler_matrix(add((x, y, z), own) if mix == "ADD" else (x, y, z), *order)
    sizes, mirror = mat_column_lengths(axes), -1.0 if mat_determinant(axes) < 0.0 else 1.0
    if mix in ("BEFORE", "AFTER"):
        before = _resized(axes, sizes, (mirror, mirror, mirror))
        turn = mat_product(turn, before) if mix == "BEFORE" else mat_product(before, turn)
    return scale_columns(turn, scaled(sizes, mirror))


def _copied_scale(con: Any, axes: Mat3, source: Mat3) -> Mat3:
    """Return axes with the scale of others."""
    own, sizes, used = mat_column_lengths(axes), mat_column_lengths(source), _used(con)
    if con.use_make_uniform:
        volume = abs(mat_determinant(source))
        if not all(used):
            x, y, z = _where(used, sizes, (1.0, 1.0, 1.0))
            volume = x * y * z
        sizes, used = (cbrt(volume),) * 3, (True,) * 3
    copied = [size**con.power for size in sizes]
    if con.use_offset:
        together = zip(copied, own, strict=True)
        copied = [
            size + before - 1.0 if con.use_add else size * before for size, before in together
        ]
    return _resized(axes, own, _where(used, copied, own))


def _limited_rotation(con: Any, order: Order, axes: Mat3) -> Mat3:
    """Return axes without shear whose Euler angles are within limits."""
    axes = squared(axes, keep_scale=True)
    used = [getattr(con, f"use_limit_{axis}") for axis in XYZ]
    if not any(used):
        return axes
    limit = _clamped if con.use_legacy_behavior else _clamped_around
    angles = _nearest(euler_pair(axes, *order), ORIGIN)
    limited = [
        limit(angle, getattr(con, f"min_{axis}"), getattr(con, f"max_{axis}"))
        for axis, angle in zip(XYZ, angles, strict=True)
    ]
    turn = euler_matrix(_where(used, limited, angles), *order)
    return scale_columns(turn, mat_column_lengths(axes))


def _limited(con: Any, numbers: Vec) -> Vec:
    """Return a location or scale within limits; the upper ones come last."""
    found: list[float] = []
    for axis, number in zip(XYZ, numbers, strict=True):
        if getattr(con, f"use_min_{axis}"):
            number = max(number, getattr(con, f"min_{axis}"))
        if getattr(con, f"use_max_{axis}"):
            number = min(number, getattr(con, f"max_{axis}"))
        found.append(number)
    return _vec(found)


def _clamped(angle: float, least: float, most: float) -> float:
    return most if angle > most else max(angle, least)


def _clamped_around(angle: float, least: float, most: float) -> float:
    """Return an angle within a range on the circle."""
    if most - least >= tau:
        return angle
    if most <= least:
        return least
    ahead = (angle - least) % tau
    beyond = ahead - (most - least)
    if beyond <= 0.0:
        return angle
    return angle - beyond if beyond < tau - ahead else angle + (tau - ahead)


def _resized(axes: Mat3, sizes: Vec, wanted: Vec) -> Mat3:
    """Return axes of some lengths with other ones."""
    pairs = zip(wanted, sizes, strict=True)
    return scale_columns(axes, _vec([size / own if own else 1.0 for size, own in pairs]))


# Euler angles about X, Y and Z, in an order: the axes of the first two turns.


Order = tuple[int, int]


def _order(con: Any, owner: Any) -> Order:
    """Return the order of a constraint's Euler angles, for that of its owner if it has none."""
    name = owner.rotation_mode if con.euler_order == "AUTO" else con.euler_order
    return EULER_AXES[EULER_ORDERS.index(name) if name in EULER_ORDERS else 0]


def _nearest(pair: tuple[Vec, Vec], own: Vec) -> Vec:
    """Return which of two triples of angles is nearest to others, the first of equal ones."""
    (a, b, c), (d, e, f), (x, y, z) = *pair, own
    one = abs(a - x) + abs(b - y) + abs(c - z)
    two = abs(d - x) + abs(e - y) + abs(f - z)
    return pair[1] if one > two else pair[0]


def _compatible(angles: Vec, own: Vec) -> Vec:
    """Return angles shifted by whole turns to be nearest to others."""
    pairs = zip(angles, own, strict=True)
    return _vec([angle - tau * round((angle - near) / tau) for angle, near in pairs])


def _used(con: Any) -> Sequence[bool]:
    return con.use_x, con.use_y, con.use_z


def _signs(con: Any) -> Sequence[float]:
    return [-1.0 if getattr(con, f"invert_{axis}") else 1.0 for axis in XYZ]


def _where(used: Sequence[bool], numbers: Sequence[float], otherwise: Vec) -> Vec:
    """Return numbers where they are used, and others elsewhere."""
    together = zip(used, numbers, otherwise, strict=True)
    return _vec([number if is_used else other for is_used, number, other in together])


def _vec(numbers: Sequence[float]) -> Vec:
    return cast(Vec, tuple(numbers))
