"""Constraints, applied to the frame of a bone or object as Blender applies its own.

Each follows Blender step by step. Rotations are decomposed into Euler angles, and the choice among
equivalent angles decides the result if only some of them are copied or limited.

Tuples are unpacked one at a time: when compiled, unpacking several in one statement boxes them,
which takes longer than all the rest.
"""

from collections.abc import Callable
from math import atan, cbrt, pi, sqrt, tau
from typing import final

from .bones import Bone, Local, bone_frame, in_local_space, out_of_local_space, squared
from .euler import euler_matrix, euler_pair
from .frames import WHOLE, Frame, frame_in, inverse, mixed, point_in
from .vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    any_perpendicular,
    cross,
    length,
    mat_apply,
    mat_column_lengths,
    mat_columns,
    mat_determinant,
    mat_from_columns,
    mat_product,
    quat_between,
    quat_matrix,
    scale_columns,
    scaled,
    sub,
    unit,
)

Flags = tuple[bool, bool, bool]
"""Whether X, Y and Z are affected."""

Order = tuple[int, int]
"""The axes of the first two rotations of Euler angles."""


class Constraint:
    """A constraint, with its settings at a frame. Immutable."""

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame.

        Args:
            frame: The owner's frame before the constraint, in its owner space.
            source: The frame of its target, in its target space; unused without a target.
        """
        raise NotImplementedError


@final
class CopyLocation(Constraint):
    """Copies the location of its target on some axes."""

    def __init__(self, used: Flags, signs: Vec, use_offset: bool) -> None:
        """Set up the constraint.

        Args:
            used: The axes to copy.
            signs: -1 for inverted axes, else 1.
            use_offset: Whether it is added to the location.
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
            signs: -1 for inverted angles, else 1.
            mix: Blender's ``mix_mode``: ``'REPLACE'``, ``'ADD'``, ``'BEFORE'`` or ``'AFTER'``.
            order: The order of the angles.
        """
        x, y, z = signs
        used_x, used_y, used_z = used
        self.used, self.mix, self.order = used, mix, order
        self.signs = (x if used_x else 1.0, y if used_y else 1.0, z if used_z else 1.0)

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame, with its scale unchanged."""
        axes, mix = frame[0], self.mix
        first, second = self.order
        angles = _nearest(euler_pair(axes, first, second), ORIGIN)
        angles_a, angles_b = euler_pair(squared(source[0]), first, second)
        copied = _nearest((_compatible(angles_a, angles), _compatible(angles_b, angles)), angles)
        copied = _where(self.used, copied, angles if mix == "REPLACE" else ORIGIN)
        a, b, c = self.signs
        x, y, z = copied
        copied = (a * x, b * y, c * z)
        turn = euler_matrix(add(copied, angles) if mix == "ADD" else copied, first, second)
        sizes, mirror = mat_column_lengths(axes), -1.0 if mat_determinant(axes) < 0.0 else 1.0
        if mix in ("BEFORE", "AFTER"):
            rotation = _resized(axes, sizes, (mirror, mirror, mirror))
            turn = mat_product(turn, rotation) if mix == "BEFORE" else mat_product(rotation, turn)
        return scale_columns(turn, scaled(sizes, mirror)), frame[1]


@final
class CopyScale(Constraint):
    """Copies the scale of its target on some axes."""

    def __init__(
        self, used: Flags, power: float, is_uniform: bool, use_offset: bool, use_add: bool
    ) -> None:
        """Set up the constraint.

        Args:
            used: The axes to copy.
            power: The exponent of the scale.
            is_uniform: Whether all axes get the mean scale.
            use_offset: Whether it is combined with the owner's scale.
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
    """Replaces the frame with the target's."""

    def __init__(self, remove_shear: bool) -> None:
        """Set up the constraint.

        Args:
            remove_shear: Whether to remove the target's shear.
        """
        self.remove_shear = remove_shear

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame."""
        return (squared(source[0], keep_scale=True), source[1]) if self.remove_shear else source


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
    """Keeps the distance to its target, inside a sphere, outside it or on its surface."""

    def __init__(self, distance: float, is_kept_inside: bool, is_kept_outside: bool) -> None:
        """Set up the constraint.

        Args:
            distance: The radius of the sphere.
            is_kept_inside: Whether what is outside of the sphere moves to its surface.
            is_kept_outside: Whether what is inside moves there.
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
    """The limits of how far a stretched bone grows thicker or thinner; -1 without a limit."""

    def __init__(self, least: float, most: float, smooth: float) -> None:
        """Set up the limits.

        Args:
            least: The minimum factor, from 0 to 1.
            most: The maximum factor, at least 1.
            smooth: How smoothly they are approached, from 0 to 1.
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
    """Points Y at its target and stretches as far as that, with the volume kept on the others."""

    def __init__(
        self, keep: str, rest_length: float, volume: str, bulge: float, limits: Bulge
    ) -> None:
        """Set up the constraint.

        Args:
            keep: Blender's ``keep_axis``: ``'PLANE_X'``, ``'PLANE_Z'`` or ``'SWING_Y'``.
            rest_length: The distance at which the scale is 1; 0 for the one it has.
            volume: Blender's ``volume``: ``'VOLUME_XZX'``, ``'VOLUME_X'``, ``'VOLUME_Z'`` or
                ``'NO_VOLUME'``.
            bulge: The exponent of the change of volume.
            limits: The limits of that change.
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
        """Set up the range."""
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
        """Set up the constraint."""
        self.limits = limits

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame."""
        return frame[0], self.limits.limited(frame[1])


@final
class LimitScale(Constraint):
    """Keeps the scale within a range."""

    def __init__(self, limits: Range) -> None:
        """Set up the constraint."""
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
            is_legacy: Blender's ``use_legacy_behavior``: angles aren't clamped on a circle.
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
        angles = _nearest(euler_pair(axes, first, second), ORIGIN)
        x, y, z = angles
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


@final
class ConstraintSpaces:
    """The owner and target spaces of a bone (Blender's manual: Constraints, Space Types).

    All converted frames are frames of the bone, in armature space.
    """

    def __init__(
        self, bone: Bone, rest: Frame, parent: Frame, world: Frame, custom: Frame = WHOLE
    ) -> None:
        """Set up the spaces of a bone.

        Args:
            bone: The bone.
            rest: Its rest frame in armature space.
            parent: The frame of its parent, in armature space.
            world: The frame of the armature, in world space.
            custom: The frame of the object or bone of a custom space, in world space.
        """
        self.bone, self.rest, self.parent, self.world = bone, rest, parent, world
        self.custom = custom

    def seen(self, frame: Frame, space: str) -> Frame:
        """Return a frame converted to a space.

        Args:
            frame: The frame.
            space: ``'WORLD'``, ``'POSE'``, ``'LOCAL'``, ``'LOCAL_WITH_PARENT'`` or
                ``'CUSTOM'``.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(self.world, frame)
        if space == "LOCAL":
            return in_local_space(self.bone, frame, self.parent)
        if space == "CUSTOM":
            return frame_in(inverse(self.custom), frame_in(self.world, frame))
        return frame if space == "POSE" else frame_in(inverse(self.rest), frame)

    def placed(self, seen: Frame, space: str) -> Frame:
        """Return a frame converted from a space; the inverse of `seen`.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(inverse(self.world), seen)
        if space == "LOCAL":
            return out_of_local_space(self.bone, seen, self.parent)
        if space == "CUSTOM":
            return frame_in(inverse(self.world), frame_in(self.custom, seen))
        return seen if space == "POSE" else frame_in(self.rest, seen)

    def constrained(
        self, con: Constraint, space: str, frame: Frame, source: Frame, influence: float = 1.0
    ) -> Frame:
        """Return the bone's constrained frame, or the same frame if anything has zero scale.

        Args:
            con: The constraint.
            space: Its owner space.
            frame: The bone's frame before the constraint.
            source: The target's frame, in the constraint's target space.
            influence: The constraint's influence, blended in world space.
        """
        try:
            result = self.placed(con.apply(self.seen(frame, space), source), space)
            if influence == 1.0:
                return result
            free, result = frame_in(self.world, frame), frame_in(self.world, result)
            return frame_in(inverse(self.world), influenced(free, result, influence))
        except ValueError:
            return frame


@final
class BoneOf:
    """A bone of an armature. Immutable.

    Attributes:
        index: Its index.
        bone: The bone.
        rest: Its rest frame in armature space.
        parent: The index of its parent; -1 without a parent.
    """

    def __init__(self, index: int, bone: Bone, rest: Frame, parent: int) -> None:
        """Set up the bone."""
        self.index, self.bone, self.rest, self.parent = index, bone, rest, parent


@final
class BoneConstraint:
    """A constraint of a bone, with a target bone in the same armature. Immutable.

    Attributes:
        constraint: The constraint.
        space: Its owner space.
        target: Its target, or None.
        target_space: Its target space.
        influence: Its influence.
        along: How far along its target it aims, from the head at 0 to the tail at 1.
    """

    def __init__(
        self,
        constraint: Constraint,
        space: str,
        target: BoneOf | None,
        target_space: str,
        influence: float = 1.0,
        along: float = 0.0,
    ) -> None:
        """Set up the constraint."""
        self.constraint, self.space, self.influence = constraint, space, influence
        self.target, self.target_space, self.along = target, target_space, along


@final
class FollowingBone:
    """A bone, with everything its frame depends on except other bones. Immutable.

    Attributes:
        own: The bone.
        local: Its channels.
        constraints: Its constraints, in order.
    """

    def __init__(self, bone: BoneOf, local: Local, constraints: list[BoneConstraint]) -> None:
        """Set up the bone."""
        self.own, self.local, self.constraints = bone, local, constraints


@final
class ConstrainedFrame:
    """The frame of a bone, with everything it was computed from. Immutable.

    Attributes:
        bone: The bone.
        sources: The frames of its parent, of the armature, and of what its constraints follow.
        frame: Its frame in armature space.
    """

    def __init__(self, bone: FollowingBone, sources: list[Frame], frame: Frame) -> None:
        """Set up the frame."""
        self.bone, self.sources, self.frame = bone, sources, frame


@final
class ConstrainedPose:
    """The frames of an armature's bones, as far as they follow from other bones.

    Attributes:
        bones: The bones whose frames are computed, by index.
        frames: Known frames in armature space, by index; computed frames are added.
        world: The frame of the armature in world space.
        other: Returns the frame of any other bone.
        last: By index, frames of bones with constraints computed before. They are taken where all
            they were computed from is equal; others are added.
    """

    def __init__(
        self,
        bones: dict[int, FollowingBone],
        frames: dict[int, Frame],
        world: Frame,
        other: Callable[[int], Frame],
        last: dict[int, ConstrainedFrame],
    ) -> None:
        """Set up the pose."""
        self.bones, self.frames, self.world, self.other = bones, frames, world, other
        self.last = last

    def frame(self, index: int) -> Frame:
        """Return a bone's frame in armature space; -1 stands for the parent of root bones."""
        # A chain may have more bones than the recursion limit.
        path: list[FollowingBone] = []
        while index >= 0 and index in self.bones and index not in self.frames:
            path.append(self.bones[index])
            index = path[-1].own.parent
        frame = WHOLE
        if index >= 0:
            cached_frame = self.frames.get(index)
            frame = self.other(index) if cached_frame is None else cached_frame
        for bone in reversed(path):
            frame = self._constrained(bone, frame)
            self.frames[bone.own.index] = frame
        return frame

    def _constrained(self, bone: FollowingBone, parent: Frame) -> Frame:
        if not bone.constraints:
            return bone_frame(bone.own.bone, bone.local, parent)
        index = bone.own.index
        sources = [parent, self.world]
        for con in bone.constraints:
            if con.target is not None:
                sources.append(self.frame(con.target.index))
                sources.append(
                    WHOLE if con.target_space == "WORLD" else self.frame(con.target.parent)
                )
        last = self.last.get(index)
        if last is None or last.bone is not bone or last.sources != sources:
            last = ConstrainedFrame(bone, sources, _constrained(bone, sources))
            self.last[index] = last
        return last.frame


def _constrained(bone: FollowingBone, sources: list[Frame]) -> Frame:
    """Return the frame of a bone with constraints.

    Args:
        bone: The bone.
        sources: The frames of its parent and of the armature, and for each target in turn its frame
            and that of its parent.
    """
    parent, world = sources[0], sources[1]
    frame = bone_frame(bone.own.bone, bone.local, parent)
    spaces = ConstraintSpaces(bone.own.bone, bone.own.rest, parent, world)
    position = 2
    for con in bone.constraints:
        source = WHOLE
        if con.target is not None:
            position += 2
            try:
                source = _seen(con, con.target, sources[position - 2], sources[position - 1], world)
            except ValueError:  # The target has zero scale.
                continue
        frame = spaces.constrained(con.constraint, con.space, frame, source, con.influence)
    return frame


def _seen(con: BoneConstraint, target: BoneOf, frame: Frame, parent: Frame, world: Frame) -> Frame:
    """Return the frame of a target bone converted to a constraint's target space.

    Raises:
        ValueError: If the space has zero scale.
    """
    if con.along != 0.0:
        frame = along_bone(frame, target.bone.length * con.along)
    if con.target_space == "WORLD":
        return frame_in(world, frame)
    return ConstraintSpaces(target.bone, target.rest, parent, world).seen(frame, con.target_space)


def along_bone(frame: Frame, distance: float) -> Frame:
    """Return a bone's frame with its origin moved along the bone."""
    return frame[0], point_in(frame, (0.0, distance, 0.0))


def influenced(free: Frame, result: Frame, influence: float) -> Frame:
    """Blend a constraint's effect by its influence, in world space.

    Raises:
        ValueError: If a frame has zero scale.
    """
    return result if influence == 1.0 else mixed(free, result, influence)


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
    """Return axes with their lengths changed to the wanted lengths."""
    x, y, z = sizes
    a, b, c = wanted
    return scale_columns(axes, (a / x if x else 1.0, b / y if y else 1.0, c / z if z else 1.0))


def _nearest(pair: tuple[Vec, Vec], reference: Vec) -> Vec:
    """Return the triple of angles nearer to reference angles, the first if equally near."""
    a, b, c = pair[0]
    d, e, f = pair[1]
    x, y, z = reference
    first_distance = abs(a - x) + abs(b - y) + abs(c - z)
    second_distance = abs(d - x) + abs(e - y) + abs(f - z)
    return pair[1] if first_distance > second_distance else pair[0]


def _compatible(angles: Vec, reference: Vec) -> Vec:
    """Return angles shifted by whole turns to be nearest to reference angles."""
    x, y, z = angles
    a, b, c = reference
    return _shifted(x, a), _shifted(y, b), _shifted(z, c)


def _shifted(angle: float, near: float) -> float:
    turns = (angle - near) / tau
    # Usually skips rounding, which takes as long as all the rest.
    return angle if -0.5 <= turns <= 0.5 else angle - tau * round(turns)


def _where(used: Flags, numbers: Vec, otherwise: Vec) -> Vec:
    """Return numbers where they are used, and the other numbers elsewhere."""
    use_x, use_y, use_z = used
    x, y, z = numbers
    a, b, c = otherwise
    return x if use_x else a, y if use_y else b, z if use_z else c
