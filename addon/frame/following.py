"""What Blender's own constraints make of a bone that follows something solved.

The functions do the same as Blender, step by step: it decomposes rotations into Euler angles, and
which of the equivalent angles it takes decides what is left if only some of them are copied or
limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cbrt, hypot, tau
from typing import Any, cast

from fabrik_solver import Frame, Local, bone_frame, frame_in, inverse
from fabrik_solver.core.bones import inherited_axes, location_axes, squared
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    any_perpendicular,
    inverse_apply,
    mat_apply,
    mat_column_lengths,
    mat_columns,
    mat_determinant,
    mat_from_columns,
    mat_inverse,
    mat_product,
    quat_about,
    quat_between,
    quat_matrix,
    quat_product,
    scale_columns,
    scaled,
    sub,
    unit,
)

from ..blender.access import rest_bone
from ..blender.axes import AXES
from ..blender.rotation import EULER_ORDERS
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
            return self._in_local(frame)
        return frame if space == "POSE" else frame_in(inverse(self._rest()), frame)

    def placed(self, seen: Frame, space: str) -> Frame:
        """Return the frame that is seen like this in a space.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(inverse(self._world), seen)
        if space == "LOCAL":
            return self._out_of_local(seen)
        return seen if space == "POSE" else frame_in(self._rest(), seen)

    def _rest(self) -> Frame:
        rig = self.rig
        return matrix_frame(rest_bone(rig.object, rig.names[self._bone]).matrix_local)

    def _in_local(self, frame: Frame) -> Frame:
        """Return the channels that give a bone a frame, as a frame: they may be sheared."""
        bone, parent = self.rig.bone(self._bone), self._parent
        inherited, (x, y, z) = inherited_axes(bone, parent[0])
        if mat_determinant(parent[0]) == 0.0 or 0.0 in (x, y, z):
            raise ValueError("a bone below one with zero scale has no local space")
        axes = scale_columns(frame[0], (1.0 / x, 1.0 / y, 1.0 / z))
        _, head = bone_frame(bone, Local(), parent)
        moved = inverse_apply(location_axes(bone, parent[0]), sub(frame[1], head))
        return mat_product(mat_inverse(inherited), axes), moved

    def _out_of_local(self, seen: Frame) -> Frame:
        bone, parent = self.rig.bone(self._bone), self._parent
        inherited, post_scale = inherited_axes(bone, parent[0])
        _, head = bone_frame(bone, Local(), parent)
        moved = mat_apply(location_axes(bone, parent[0]), seen[1])
        return scale_columns(mat_product(inherited, seen[0]), post_scale), add(head, moved)


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


def _copied_rotation(con: Any, order: str, axes: Mat3, source: Mat3) -> Mat3:
    """Return axes with the Euler angles of others, mixed with their own, and their own scale."""
    mix, used = con.mix_mode, _used(con)
    own = _nearest(_angles(axes, order), ORIGIN)
    pairs = [_compatible(angles, own) for angles in _angles(squared(source), order)]
    copied = _nearest((pairs[0], pairs[1]), own)
    copied = _where(used, copied, own if mix == "REPLACE" else ORIGIN)
    signs = [sign if is_used else 1.0 for sign, is_used in zip(_signs(con), used, strict=True)]
    x, y, z = (sign * angle for sign, angle in zip(signs, copied, strict=True))
    turn = _turned(add((x, y, z), own) if mix == "ADD" else (x, y, z), order)
    mirror = -1.0 if mat_determinant(axes) < 0.0 else 1.0
    if mix in ("BEFORE", "AFTER"):
        before = scale_columns(_normalized(axes), (mirror, mirror, mirror))
        turn = mat_product(turn, before) if mix == "BEFORE" else mat_product(before, turn)
    return scale_columns(turn, scaled(mat_column_lengths(axes), mirror))


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


def _limited_rotation(con: Any, order: str, axes: Mat3) -> Mat3:
    """Return axes without shear whose Euler angles are within limits."""
    axes = squared(axes, keep_scale=True)
    used = [getattr(con, f"use_limit_{axis}") for axis in XYZ]
    if not any(used):
        return axes
    limit = _clamped if con.use_legacy_behavior else _clamped_around
    angles = _nearest(_angles(axes, order), ORIGIN)
    limited = [
        limit(angle, getattr(con, f"min_{axis}"), getattr(con, f"max_{axis}"))
        for axis, angle in zip(XYZ, angles, strict=True)
    ]
    return scale_columns(_turned(_where(used, limited, angles), order), mat_column_lengths(axes))


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


# Euler angles about X, Y and Z in an order, in which those of the parent's axes come first.


LOCKED = 16.0 * 2.0**-23
"""The cosine of the middle angle below which Blender leaves the last one out: gimbal lock."""


def _order(con: Any, owner: Any) -> str:
    """Return the order of a constraint's Euler angles, for that of its owner if it has none."""
    order = owner.rotation_mode if con.euler_order == "AUTO" else con.euler_order
    return order if order in EULER_ORDERS else "XYZ"


def _angles(axes: Mat3, order: str) -> tuple[Vec, Vec]:
    """Return both triples of Euler angles of axes, of which scale and shear are left out."""
    m = _normalized(axes)
    i, j, k = ("XYZ".index(axis) for axis in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    cosine = hypot(m[4 * i], m[3 * j + i])
    one, two = [0.0] * 3, [0.0] * 3
    one[j] = two[j] = sign * atan2(-m[3 * k + i], cosine)
    if cosine > LOCKED:
        one[i] = sign * atan2(m[3 * k + j], m[4 * k])
        one[k] = sign * atan2(m[3 * j + i], m[4 * i])
        two[i] = sign * atan2(-m[3 * k + j], -m[4 * k])
        two[j] = sign * atan2(-m[3 * k + i], -cosine)
        two[k] = sign * atan2(-m[3 * j + i], -m[4 * i])
    else:
        one[i] = two[i] = sign * atan2(-m[3 * j + k], m[4 * j])
    return _vec(one), _vec(two)


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


def _turned(angles: Vec, order: str) -> Mat3:
    """Return the rotation of Euler angles."""
    i, j, k = ("XYZ".index(axis) for axis in order)
    first, second, third = (quat_about(AXES["XYZ"[axis]], angles[axis]) for axis in (i, j, k))
    return quat_matrix(quat_product(third, quat_product(second, first)))


def _normalized(axes: Mat3) -> Mat3:
    x, y, z = (unit(column) or ORIGIN for column in mat_columns(axes))
    return mat_from_columns(x, y, z)


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
