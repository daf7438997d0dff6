"""The kinds of constraints, as pure functions of the frames of their owner and target.

Each follows Blender's ``constraint.cc`` step by step; the docstring of ``apply`` names the
function. Rotations are decomposed into Euler angles. If only some angles are copied or limited, the
choice among equivalent angles determines the result.

Tuples are unpacked one at a time. When compiled, unpacking several in one statement boxes them,
which takes longer than everything else.
"""

from math import asin, atan, atan2, cbrt, cos, pi, sin, sqrt, tau
from typing import final

from .bones import squared
from .constraints import Constraint
from .euler import euler_matrix, euler_pair
from .frames import Frame, frame_in, inverse, point_in
from .vectors import (
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    across,
    add,
    any_perpendicular,
    cross,
    length,
    mat_apply,
    mat_column_lengths,
    mat_columns,
    mat_determinant,
    mat_from_columns,
    mat_inverse,
    mat_product,
    quat_between,
    quat_matrix,
    quat_product,
    quat_unit,
    scale_columns,
    scaled,
    sub,
    times,
    unit,
    unit_or,
)

Flags = tuple[bool, bool, bool]
"""Whether X, Y and Z are affected."""

Order = tuple[int, int]
"""The axes of the first two rotations of Euler angles."""

PLAIN: Vec = (1.0, 1.0, 1.0)
"""The scale of unscaled axes."""


@final
class CopyLocation(Constraint):
    """Copies the location of its target on certain axes."""

    def __init__(self, used: Flags, signs: Vec, use_offset: bool) -> None:
        """Set up the constraint.

        Args:
            used: The axes to copy.
            signs: -1 for inverted axes, otherwise 1.
            use_offset: Whether to add the target's location to the owner's.
        """
        self.used, self.signs, self.use_offset = used, signs, use_offset

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame."""
        axes, head = frame
        x, y, z = source[1]
        a, b, c = self.signs
        dx, dy, dz = head if self.use_offset else ORIGIN
        return axes, _where(self.used, (a * x + dx, b * y + dy, c * z + dz), head)


@final
class CopyRotation(Constraint):
    """Copies Euler angles of its target."""

    def __init__(self, used: Flags, signs: Vec, mix: str, order: Order) -> None:
        """Set up the constraint.

        Args:
            used: The angles to copy.
            signs: -1 for inverted angles, otherwise 1.
            mix: Blender's ``mix_mode``: ``'REPLACE'``, ``'ADD'``, ``'BEFORE'``, ``'AFTER'`` or
                ``'OFFSET'``.
            order: The order of the angles.
        """
        self.used, self.mix, self.order = used, mix, order
        self.signs = _where(used, signs, PLAIN)

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame, with its scale unchanged (``rotlike_evaluate``)."""
        axes, mix = frame[0], self.mix
        first, second = self.order
        angles = _angles_of(axes, first, second)
        angles_a, angles_b = euler_pair(squared(source[0]), first, second)
        copied = _nearest((_compatible(angles_a, angles), _compatible(angles_b, angles)), angles)
        if mix == "OFFSET":
            copied = self._offset(copied, angles)
        else:
            copied = _where(self.used, copied, angles if mix == "REPLACE" else ORIGIN)
            copied = times(copied, self.signs)
        turn = euler_matrix(add(copied, angles) if mix == "ADD" else copied, first, second)
        rotation, sizes = _split(axes)
        if mix == "BEFORE":
            turn = mat_product(turn, rotation)
        elif mix == "AFTER":
            turn = mat_product(rotation, turn)
        return scale_columns(turn, sizes), frame[1]

    def _offset(self, copied: Vec, angles: Vec) -> Vec:
        """Return copied angles with the owner's angles added, one axis after the other."""
        first, second = self.order
        for axis in range(3):
            is_axis = axis == 0, axis == 1, axis == 2
            if self.used[axis]:
                further = euler_matrix(_where(is_axis, angles, ORIGIN), first, second)
                turn = mat_product(euler_matrix(copied, first, second), further)
                copied = _angles_of(turn, first, second)
                copied = _where(is_axis, times(copied, self.signs), copied)
            else:
                copied = _where(is_axis, angles, copied)
        return copied


@final
class CopyScale(Constraint):
    """Copies the scale of its target on certain axes."""

    def __init__(
        self, used: Flags, power: float, is_uniform: bool, use_offset: bool, use_add: bool
    ) -> None:
        """Set up the constraint.

        Args:
            used: The axes to copy.
            power: The exponent of the scale.
            is_uniform: Whether all axes get the mean scale.
            use_offset: Whether to combine the target's scale with the owner's.
            use_add: Whether to combine by addition instead of multiplication.
        """
        self.used, self.power, self.is_uniform = used, power, is_uniform
        self.use_offset, self.use_add = use_offset, use_add

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame."""
        axes, used = frame[0], self.used
        used_x, used_y, used_z = used
        owner_sizes, sizes = mat_column_lengths(axes), mat_column_lengths(source[0])
        if self.is_uniform:
            volume = abs(mat_determinant(source[0]))
            if not (used_x and used_y and used_z):
                x, y, z = _where(used, sizes, (1.0, 1.0, 1.0))
                volume = x * y * z
            mean = cbrt(volume)
            sizes, used = (mean, mean, mean), (True, True, True)
        x, y, z = sizes
        x, y, z = x**self.power, y**self.power, z**self.power
        if self.use_offset:
            a, b, c = owner_sizes
            if self.use_add:
                x, y, z = x + a - 1.0, y + b - 1.0, z + c - 1.0
            else:
                x, y, z = x * a, y * b, z * c
        return _resized(axes, owner_sizes, _where(used, (x, y, z), owner_sizes)), frame[1]


@final
class CopyTransforms(Constraint):
    """Replaces the owner's frame with the target's, or combines both."""

    def __init__(self, remove_shear: bool, mix: str) -> None:
        """Set up the constraint.

        Args:
            remove_shear: Whether to remove the target's shear.
            mix: Blender's ``mix_mode``: ``'REPLACE'``, ``'BEFORE'`` or ``'AFTER'``. The latter two
                multiply scales along the axes; with ``'_FULL'`` they multiply matrices, and with
                ``'_SPLIT'`` they also add locations.
        """
        self.remove_shear, self.mix = remove_shear, mix

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (``translike_evaluate``)."""
        if self.remove_shear:
            source = squared(source[0], keep_scale=True), source[1]
        if self.mix == "REPLACE":
            return source
        outer, inner = (source, frame) if self.mix.startswith("BEFORE") else (frame, source)
        if self.mix.endswith("FULL"):
            return frame_in(outer, inner)
        outer_turn, outer_sizes = _split(outer[0])
        inner_turn, inner_sizes = _split(inner[0])
        turn = mat_product(outer_turn, inner_turn)
        is_split = self.mix.endswith("SPLIT")
        head = add(outer[1], inner[1]) if is_split else point_in(outer, inner[1])
        return scale_columns(turn, times(outer_sizes, inner_sizes)), head


@final
class ChildOf(Constraint):
    """Makes the owner move with its target like a child."""

    def __init__(
        self,
        parts: tuple[Flags, Flags, Flags],
        correction: Frame,
        orders: tuple[Order, Order],
    ) -> None:
        """Set up the constraint.

        Args:
            parts: The axes of location, rotation and scale that follow.
            correction: Blender's ``inverse_matrix``.
            orders: The orders of the owner's and the target's Euler angles.
        """
        self.parts, self.target_order = parts, orders[1]
        self.is_whole = all([axis for part in parts for axis in part])
        self.correction = self._filtered(correction, orders[0])

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (``childof_evaluate``)."""
        parent = self._filtered(source, self.target_order)
        axes, head = frame_in(parent, frame_in(self.correction, frame))
        return axes, _where(self.parts[0], head, frame[1])

    def result_space(self, space: str) -> str:
        """Return world space: Blender marks this constraint with ``CONSTRAINT_SPACEONCE``."""
        return "WORLD"

    def _filtered(self, frame: Frame, order: Order) -> Frame:
        if self.is_whole:
            return frame
        locations, rotations, scales = self.parts
        axes, head = frame
        first, second = order
        turn = euler_matrix(
            _where(rotations, _angles_of(axes, first, second), ORIGIN), first, second
        )
        sizes = _where(scales, mat_column_lengths(axes), PLAIN)
        return scale_columns(turn, sizes), _where(locations, head, ORIGIN)


@final
class Floor(Constraint):
    """Keeps the owner on one side of a plane of its target."""

    def __init__(self, axis: int, is_below: bool, offset: float, is_turned: bool) -> None:
        """Set up the constraint.

        Args:
            axis: The axis of the plane's normal.
            is_below: Whether the owner stays on the negative side of the plane.
            offset: The distance of the plane from the target.
            is_turned: Whether the plane turns with the target.
        """
        self.axis, self.is_below, self.offset, self.is_turned = axis, is_below, offset, is_turned

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (``minmax_evaluate``)."""
        inner = frame_in(inverse(source), frame) if self.is_turned else frame
        height = (0.0 if self.is_turned else source[1][self.axis]) + self.offset
        at = inner[1][self.axis]
        if at <= height if self.is_below else at >= height:
            return frame
        axis = self.axis
        head = _where((axis == 0, axis == 1, axis == 2), (height, height, height), inner[1])
        return frame_in(source, (inner[0], head)) if self.is_turned else (frame[0], head)


@final
class Pivot(Constraint):
    """Rotates the owner's location about a point by the owner's rotation."""

    def __init__(self, offset: Vec, anchor: str, axis: int, sign: float, order: Order) -> None:
        """Set up the constraint.

        Args:
            offset: The pivot point, relative to its anchor.
            anchor: ``'TARGET'``, ``'OWNER'`` or ``'ORIGIN'``.
            axis: The Euler angle that decides whether the constraint acts; unused if it always
                does.
            sign: The sign of that angle for which the constraint acts; 0 for always.
            order: The order of the angles.
        """
        self.offset, self.anchor, self.axis, self.sign = offset, anchor, axis, sign
        self.order = order

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (``pivotcon_evaluate``)."""
        axes, head = frame
        first, second = self.order
        if self.sign != 0.0 and _angles_of(axes, first, second)[self.axis] * self.sign < 0.0:
            return frame
        anchor = source[1] if self.anchor == "TARGET" else head
        to_pivot = sub(self.offset if self.anchor == "ORIGIN" else add(anchor, self.offset), head)
        turn = _resized(axes, mat_column_lengths(axes), PLAIN)
        _, x, y, z = _rotation_of(turn)
        axis = unit((x, y, z))
        if axis is not None:
            to_pivot = across(to_pivot, axis)
        return axes, sub(add(head, to_pivot), mat_apply(turn, to_pivot))


@final
class ChannelRange:
    """The range of a channel that is mapped to the range of another channel.

    Attributes:
        least: The minimum of each axis.
        most: The maximum of each axis.
    """

    def __init__(self, least: Vec, most: Vec) -> None:
        self.least, self.most = least, most

    def fractions(self, values: Vec, is_extrapolated: bool) -> list[float]:
        """Return each axis's position in its range: 0 at the minimum, 1 at the maximum.

        Args:
            values: A value for each axis.
            is_extrapolated: Whether values outside the range aren't clamped to it.
        """
        fractions: list[float] = []
        for axis in range(3):
            value, least, most = values[axis], self.least[axis], self.most[axis]
            if not is_extrapolated:  # The minimum takes priority.
                value = least if value < least else min(value, most)
            fractions.append((value - least) / (most - least) if most != least else 0.0)
        return fractions

    def at(self, fractions: list[float], sources: tuple[int, int, int]) -> Vec:
        """Return the value on each of the owner's axes, from the fraction on its source axis.

        Args:
            fractions: The fractions on the target's axes, from `fractions`.
            sources: For each axis of the owner, the axis of the target that it follows.
        """
        x, y, z = sources
        a, b, c = sub(self.most, self.least)
        return add(self.least, (a * fractions[x], b * fractions[y], c * fractions[z]))


@final
class Transformation(Constraint):
    """Maps a channel of its target to a channel of the owner."""

    def __init__(
        self,
        channels: tuple[str, str],
        ranges: tuple[ChannelRange, ChannelRange],
        sources: tuple[int, int, int],
        is_extrapolated: bool,
        mix: str,
        rotation_mode: str,
        orders: tuple[Order, Order],
    ) -> None:
        """Set up the constraint.

        Args:
            channels: Blender's ``map_from`` and ``map_to``: ``'LOCATION'``, ``'ROTATION'`` or
                ``'SCALE'``.
            ranges: The ranges of both channels.
            sources: For each axis of the owner, the axis of the target that it follows.
            is_extrapolated: Whether the ranges are extrapolated.
            mix: The mix mode of the owner's channel.
            rotation_mode: How the target's rotation is split into angles: ``'EULER'``,
                ``'QUATERNION'``, or ``'SWING_TWIST_X'`` and so on.
            orders: The orders of the target's and the owner's angles.
        """
        self.channels, self.ranges, self.sources = channels, ranges, sources
        self.is_extrapolated, self.mix = is_extrapolated, mix
        self.rotation_mode, self.orders = rotation_mode, orders

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (``transform_evaluate``)."""
        turn, sizes = _split(frame[0])
        head, channel, mix = frame[1], self.channels[1], self.mix
        fractions = self.ranges[0].fractions(self._read(source), self.is_extrapolated)
        numbers = self.ranges[1].at(fractions, self.sources)
        if channel == "LOCATION":
            head = numbers if mix == "REPLACE" else add(head, numbers)
        elif channel == "SCALE":
            sizes = numbers if mix == "REPLACE" else times(sizes, numbers)
        else:
            first, second = self.orders[1]
            if mix == "ADD":
                numbers = add(numbers, _angles_of(turn, first, second))
            mapped = euler_matrix(numbers, first, second)
            if mix == "BEFORE":
                mapped = mat_product(mapped, turn)
            turn = mat_product(turn, mapped) if mix == "AFTER" else mapped
        return scale_columns(turn, sizes), head

    def _read(self, source: Frame) -> Vec:
        """Return the mapped channel of the target."""
        axes, head = source
        channel, mode = self.channels[0], self.rotation_mode
        if channel == "LOCATION":
            return head
        if channel == "SCALE":
            sizes = mat_column_lengths(axes)
            return scaled(sizes, -1.0) if mat_determinant(axes) < 0.0 else sizes
        if mode == "EULER":
            first, second = self.orders[0]
            return _angles_of(axes, first, second)
        q = _rotation_of(_resized(axes, mat_column_lengths(axes), PLAIN))
        if mode == "QUATERNION":
            return _half_angles(q)
        about = (mode == "SWING_TWIST_X", mode == "SWING_TWIST_Y", mode == "SWING_TWIST_Z")
        w, x, y, z = q
        half = atan2(x if about[0] else y if about[1] else z, w)
        back = -sin(half)
        x, y, z = _where(about, (back, back, back), ORIGIN)
        swing = _half_angles(quat_product(q, (cos(half), x, y, z)))
        return _where(about, (2.0 * half, 2.0 * half, 2.0 * half), swing)


@final
class LockedTrack(Constraint):
    """Points an axis at its target by turning about another axis."""

    def __init__(self, locked: int, track: int, sign: float) -> None:
        """Set up the constraint.

        Args:
            locked: The axis to turn about.
            track: The axis that points at the target.
            sign: -1 to point its negative direction there, otherwise 1.
        """
        self.locked, self.track, self.sign = locked, track, sign

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (``lockedtrack_evaluate``)."""
        axes, head = frame
        turned = _resized(axes, mat_column_lengths(axes), PLAIN)
        locked = mat_columns(turned)[self.locked]
        ahead = unit(across(sub(source[1], head), locked))
        if ahead is None:
            return frame
        wanted = _axes_with(self.locked, locked, self.track, scaled(ahead, self.sign))
        return mat_product(mat_product(wanted, mat_inverse(turned)), axes), head


@final
class TrackTo(Constraint):
    """Points an axis at its target with another axis up, and removes shear."""

    def __init__(self, track: int, sign: float, up: int, uses_target: bool) -> None:
        """Set up the constraint.

        Args:
            track: The axis that points at the target.
            sign: -1 to point its negative direction there, otherwise 1.
            up: The axis that points up, other than ``track``.
            uses_target: Whether the target's Z is up, instead of the space's Z.
        """
        self.track, self.sign, self.up, self.uses_target = track, sign, up, uses_target

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (``trackto_evaluate``)."""
        axes, head = frame
        away = unit_or(sub(head, source[1]), (0.0, 0.0, 1.0))
        ahead = scaled(away, -self.sign)
        top = mat_columns(source[0])[2] if self.uses_target else (0.0, 0.0, 1.0)
        up = unit_or(across(top, ahead), (0.0, 1.0, 0.0))
        turn = _axes_with(self.track, ahead, self.up, up)
        return scale_columns(turn, mat_column_lengths(axes)), head


@final
class DampedTrack(Constraint):
    """Points an axis at its target by the smallest rotation."""

    def __init__(self, track: Vec) -> None:
        """Set up the constraint.

        Args:
            track: The axis, as a unit vector.
        """
        self.track = track

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame."""
        axes, head = frame
        ahead, wanted = unit(mat_apply(axes, self.track)), unit(sub(source[1], head))
        if ahead is None or wanted is None:
            return frame
        turn = quat_between(ahead, wanted, any_perpendicular(ahead))
        return mat_product(quat_matrix(turn), axes), head


@final
class LimitDistance(Constraint):
    """Keeps the owner inside, outside or on the surface of a sphere around its target."""

    def __init__(self, distance: float, is_kept_inside: bool, is_kept_outside: bool) -> None:
        """Set up the constraint.

        Args:
            distance: The radius of the sphere.
            is_kept_inside: Whether an owner outside the sphere moves to its surface.
            is_kept_outside: Whether an owner inside moves there.
        """
        self.distance = distance
        self.is_kept_inside, self.is_kept_outside = is_kept_inside, is_kept_outside

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (Blender's ``distlimit_evaluate``)."""
        axes, head = frame
        offset = sub(head, source[1])
        distance = length(offset)
        is_free = self.is_kept_inside if distance <= self.distance else self.is_kept_outside
        is_free = is_free and not (self.is_kept_inside and self.is_kept_outside)
        if is_free or distance == 0.0 or self.distance == 0.0:
            return frame
        return axes, add(source[1], scaled(offset, self.distance / distance))


@final
class Bulge:
    """The limits on how much a stretched bone grows thicker or thinner; -1 without a limit."""

    def __init__(self, least: float, most: float, smooth: float) -> None:
        """Set up the limits.

        Args:
            least: The minimum factor, from 0 to 1.
            most: The maximum factor, at least 1.
            smooth: How smoothly the limits are approached, from 0 to 1.
        """
        self.least, self.most, self.smooth = least, most, smooth

    def limited(self, bulge: float) -> float:
        """Return a factor within the limits."""
        limit = self.most if bulge > 1.0 else self.least
        if limit < 0.0:
            return bulge
        hard = min(bulge, limit) if bulge > 1.0 else max(bulge, limit)
        room = limit - 1.0
        soft = 1.0 + (room * atan((bulge - 1.0) / room) * 2.0 / pi if room else 0.0)
        return hard + (soft - hard) * self.smooth


@final
class StretchTo(Constraint):
    """Points Y at its target and stretches to it; the other axes scale to keep the volume."""

    def __init__(
        self, keep: str, rest_length: float, volume: str, bulge: float, limits: Bulge
    ) -> None:
        """Set up the constraint.

        Args:
            keep: Blender's ``keep_axis``: ``'PLANE_X'``, ``'PLANE_Z'`` or ``'SWING_Y'``.
            rest_length: The distance at which the scale is 1; 0 for the current distance.
            volume: Blender's ``volume``: ``'VOLUME_XZX'``, ``'VOLUME_X'``, ``'VOLUME_Z'`` or
                ``'NO_VOLUME'``.
            bulge: The exponent of the change of volume.
            limits: The limits of the change of volume.
        """
        self.keep, self.rest_length, self.volume = keep, rest_length, volume
        self.bulge, self.limits = bulge, limits

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame (Blender's ``stretchto_evaluate``)."""
        axes, head = frame
        offset = sub(source[1], head)
        ahead = unit(offset)
        if self.keep == "SWING_Y":
            axes = squared(axes, keep_scale=True)
        x, y, z = mat_column_lengths(axes)
        if ahead is None or y == 0.0:
            return axes, head
        distance = length(offset) / y
        rest_length = self.rest_length or distance
        bulge = self.limits.limited((rest_length / distance) ** self.bulge)
        if self.volume == "VOLUME_XZX":
            x, z = x * sqrt(bulge), z * sqrt(bulge)
        elif self.volume == "VOLUME_X":
            x *= bulge
        elif self.volume == "VOLUME_Z":
            z *= bulge
        return scale_columns(self._facing(axes, ahead), (x, y * distance / rest_length, z)), head

    def _facing(self, axes: Mat3, ahead: Vec) -> Mat3:
        """Return orthonormal axes whose Y points ahead."""
        right, behind, up = mat_columns(axes)
        if self.keep == "PLANE_X":
            z = unit(cross(right, ahead)) or ORIGIN
            return mat_from_columns(cross(ahead, z), ahead, z)
        if self.keep == "PLANE_Z":
            x = unit(cross(ahead, up)) or ORIGIN
            return mat_from_columns(x, ahead, cross(x, ahead))
        start = unit(behind) or ahead
        turn = quat_matrix(quat_between(start, ahead, any_perpendicular(start)))
        return mat_product(turn, _resized(axes, mat_column_lengths(axes), (1.0, 1.0, 1.0)))


class Range:
    """The minimum and maximum values on each axis; infinite if unlimited."""

    def __init__(self, least: Vec, most: Vec) -> None:
        self.least, self.most = least, most

    def limited(self, numbers: Vec) -> Vec:
        """Return numbers clamped to the range; the maximum takes priority."""
        x, y, z = numbers
        a, b, c = self.least
        d, e, f = self.most
        return min(max(x, a), d), min(max(y, b), e), min(max(z, c), f)


@final
class LimitLocation(Constraint):
    """Keeps the location within a range."""

    def __init__(self, limits: Range) -> None:
        self.limits = limits

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame."""
        return frame[0], self.limits.limited(frame[1])


@final
class LimitScale(Constraint):
    """Keeps the scale within a range."""

    def __init__(self, limits: Range) -> None:
        self.limits = limits

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame."""
        sizes = mat_column_lengths(frame[0])
        return _resized(frame[0], sizes, self.limits.limited(sizes)), frame[1]


@final
class LimitRotation(Constraint):
    """Keeps Euler angles within ranges, and removes shear."""

    def __init__(self, used: Flags, least: Vec, most: Vec, is_legacy: bool, order: Order) -> None:
        """Set up the constraint.

        Args:
            used: The angles to limit.
            least: The minimum angles.
            most: The maximum angles.
            is_legacy: Blender's ``use_legacy_behavior``, which doesn't clamp angles on a circle.
            order: The order of the angles.
        """
        self.used, self.least, self.most = used, least, most
        self.is_legacy, self.order = is_legacy, order

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame."""
        axes = squared(frame[0], keep_scale=True)
        used_x, used_y, used_z = self.used
        if not (used_x or used_y or used_z):
            return axes, frame[1]
        first, second = self.order
        x, y, z = _angles_of(axes, first, second)
        a, b, c = self.least
        d, e, f = self.most
        x = self._limit(x, a, d) if used_x else x
        y = self._limit(y, b, e) if used_y else y
        z = self._limit(z, c, f) if used_z else z
        turn = euler_matrix((x, y, z), first, second)
        return scale_columns(turn, mat_column_lengths(axes)), frame[1]

    def _limit(self, angle: float, least: float, most: float) -> float:
        if self.is_legacy:
            return most if angle > most else max(angle, least)
        return _clamped_around(angle, least, most)


def _clamped_around(angle: float, least: float, most: float) -> float:
    """Return an angle clamped to a range on the circle."""
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
    """Return axes with their lengths changed from ``sizes`` to ``wanted``."""
    x, y, z = sizes
    a, b, c = wanted
    return scale_columns(axes, (a / x if x else 1.0, b / y if y else 1.0, c / z if z else 1.0))


def _nearest(pair: tuple[Vec, Vec], reference: Vec) -> Vec:
    """Return the triple of angles closer to reference angles, or the first if equally close."""
    a, b, c = pair[0]
    d, e, f = pair[1]
    x, y, z = reference
    first_distance = abs(a - x) + abs(b - y) + abs(c - z)
    second_distance = abs(d - x) + abs(e - y) + abs(f - z)
    return pair[1] if first_distance > second_distance else pair[0]


def _compatible(angles: Vec, reference: Vec) -> Vec:
    """Return angles shifted by whole turns to be closest to reference angles."""
    x, y, z = angles
    a, b, c = reference
    return _shifted(x, a), _shifted(y, b), _shifted(z, c)


def _shifted(angle: float, near: float) -> float:
    turns = (angle - near) / tau
    # Usually skips rounding, which takes as long as everything else.
    return angle if -0.5 <= turns <= 0.5 else angle - tau * round(turns)


def _where(used: Flags, numbers: Vec, otherwise: Vec) -> Vec:
    """Return ``numbers`` on the used axes, and ``otherwise`` on the other axes."""
    use_x, use_y, use_z = used
    x, y, z = numbers
    a, b, c = otherwise
    return x if use_x else a, y if use_y else b, z if use_z else c


def _angles_of(axes: Mat3, first: int, second: int) -> Vec:
    """Return the smaller of the two triples of Euler angles of axes (``mat3_to_eulO``)."""
    return _nearest(euler_pair(axes, first, second), ORIGIN)


def _split(axes: Mat3) -> tuple[Mat3, Vec]:
    """Return unit axes that aren't mirrored, and their factors (``mat3_to_rot_size``)."""
    sizes, mirror = mat_column_lengths(axes), -1.0 if mat_determinant(axes) < 0.0 else 1.0
    return _resized(axes, sizes, (mirror, mirror, mirror)), scaled(sizes, mirror)


def _axes_with(i: int, a: Vec, j: int, b: Vec) -> Mat3:
    """Return right-handed axes; the axes with the indices i and j are a and b."""
    third = unit(cross(a, b) if (j - i) % 3 == 1 else cross(b, a)) or ORIGIN
    columns = [third, third, third]
    columns[i], columns[j] = a, b
    return mat_from_columns(columns[0], columns[1], columns[2])


def _rotation_of(axes: Mat3) -> Quat:
    """Return the rotation of unit axes (``mat3_normalized_to_quat``), even if sheared.

    The scalar part isn't negative.
    """
    if mat_determinant(axes) < 0.0:
        a, b, c, d, e, f, g, h, i = axes
        axes = (-a, -b, -c, -d, -e, -f, -g, -h, -i)
    xx, xy, xz, yx, yy, yz, zx, zy, zz = axes
    x, y, z = zy - yz, xz - zx, yx - xy
    if zz < 0.0 and xx > yy:
        q = x, 1.0 + xx - yy - zz, xy + yx, zx + xz
    elif zz < 0.0:
        q = y, xy + yx, 1.0 - xx + yy - zz, yz + zy
    elif xx < -yy:
        q = z, zx + xz, yz + zy, 1.0 - xx - yy + zz
    else:
        q = 1.0 + xx + yy + zz, x, y, z
    w, x, y, z = quat_unit(q)
    return (-w, -x, -y, -z) if w < 0.0 else (w, x, y, z)


def _half_angles(q: Quat) -> Vec:
    """Return the angles whose halves have the sines of a rotation (``quaternion_to_angles``)."""
    _, x, y, z = q
    return 2.0 * _arcsine(x), 2.0 * _arcsine(y), 2.0 * _arcsine(z)


def _arcsine(a: float) -> float:
    return asin(min(max(a, -1.0), 1.0))
