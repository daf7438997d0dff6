"""What constraints make of the frame of a bone or object, as Blender's own do.

Each does the same as Blender, step by step: it decomposes rotations into Euler angles, and which of
the equivalent angles it takes decides what is left if only some of them are copied or limited.

Tuples are unpacked one by one: compiled, several in one statement are made objects, which takes
longer than all the rest.
"""

from collections.abc import Callable
from math import cbrt, tau
from typing import final

from .bones import Bone, Local, bone_frame, in_local_space, out_of_local_space, squared
from .euler import euler_matrix, euler_pair
from .frames import WHOLE, Frame, frame_in, inverse, mixed
from .vectors import (
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

Flags = tuple[bool, bool, bool]
"""Whether something concerns X, Y and Z."""

Order = tuple[int, int]
"""The axes of the first two turns of Euler angles."""


class Constraint:
    """A constraint, with its settings at a frame. Immutable."""

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it.

        Args:
            own: The frame before it, in the space in which it sees its owner.
            source: The frame of its target, in the space in which it sees that; not used if it has
                none.
        """
        raise NotImplementedError


@final
class CopyLocation(Constraint):
    """Copies the location of its target on some axes."""

    def __init__(self, used: Flags, signs: Vec, use_offset: bool) -> None:
        """Set it up.

        Args:
            used: The axes that are copied.
            signs: -1 for axes that are inverted, else 1.
            use_offset: Whether it is added to the location.
        """
        self.used, self.signs, self.use_offset = used, signs, use_offset

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it."""
        axes, head = own
        x, y, z = source[1]
        a, b, c = self.signs
        dx, dy, dz = head if self.use_offset else ORIGIN
        return axes, _where(self.used, (a * x + dx, b * y + dy, c * z + dz), head)


@final
class CopyRotation(Constraint):
    """Copies Euler angles of its target."""

    def __init__(self, used: Flags, signs: Vec, mix: str, order: Order) -> None:
        """Set it up.

        Args:
            used: The angles that are copied.
            signs: -1 for angles that are inverted, else 1.
            mix: Blender's ``mix_mode``: ``'REPLACE'``, ``'ADD'``, ``'BEFORE'`` or ``'AFTER'``.
            order: The order of the angles.
        """
        x, y, z = signs
        used_x, used_y, used_z = used
        self.used, self.mix, self.order = used, mix, order
        self.signs = (x if used_x else 1.0, y if used_y else 1.0, z if used_z else 1.0)

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it, which keeps its own scale."""
        axes, mix = own[0], self.mix
        first, second = self.order
        angles = _nearest(euler_pair(axes, first, second), ORIGIN)
        one, two = euler_pair(squared(source[0]), first, second)
        copied = _nearest((_compatible(one, angles), _compatible(two, angles)), angles)
        copied = _where(self.used, copied, angles if mix == "REPLACE" else ORIGIN)
        a, b, c = self.signs
        x, y, z = copied
        copied = (a * x, b * y, c * z)
        turn = euler_matrix(add(copied, angles) if mix == "ADD" else copied, first, second)
        sizes, mirror = mat_column_lengths(axes), -1.0 if mat_determinant(axes) < 0.0 else 1.0
        if mix in ("BEFORE", "AFTER"):
            before = _resized(axes, sizes, (mirror, mirror, mirror))
            turn = mat_product(turn, before) if mix == "BEFORE" else mat_product(before, turn)
        return scale_columns(turn, scaled(sizes, mirror)), own[1]


@final
class CopyScale(Constraint):
    """Copies the scale of its target on some axes."""

    def __init__(
        self, used: Flags, power: float, is_uniform: bool, use_offset: bool, use_add: bool
    ) -> None:
        """Set it up.

        Args:
            used: The axes that are copied.
            power: The power to which the scale is raised.
            is_uniform: Whether all axes get the mean of the scale.
            use_offset: Whether it is combined with the owner's scale.
            use_add: Whether that is by addition, not by multiplication.
        """
        self.used, self.power, self.is_uniform = used, power, is_uniform
        self.use_offset, self.use_add = use_offset, use_add

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it."""
        axes, used = own[0], self.used
        used_x, used_y, used_z = used
        before, sizes = mat_column_lengths(axes), mat_column_lengths(source[0])
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
            a, b, c = before
            if self.use_add:
                x, y, z = x + a - 1.0, y + b - 1.0, z + c - 1.0
            else:
                x, y, z = x * a, y * b, z * c
        return _resized(axes, before, _where(used, (x, y, z), before)), own[1]


@final
class CopyTransforms(Constraint):
    """Replaces the frame by that of its target."""

    def __init__(self, remove_shear: bool) -> None:
        """Set it up.

        Args:
            remove_shear: Whether the shear of the target is left out.
        """
        self.remove_shear = remove_shear

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it."""
        return (squared(source[0], keep_scale=True), source[1]) if self.remove_shear else source


@final
class DampedTrack(Constraint):
    """Turns one axis on the shortest way to its target."""

    def __init__(self, track: Vec) -> None:
        """Set it up.

        Args:
            track: The axis, as a unit vector.
        """
        self.track = track

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it."""
        axes, head = own
        ahead, wanted = unit(mat_apply(axes, self.track)), unit(sub(source[1], head))
        if ahead is None or wanted is None:
            return own
        turn = quat_between(ahead, wanted, any_perpendicular(ahead))
        return mat_product(quat_matrix(turn), axes), head


class Range:
    """The least and the largest values on each axis; infinite if there is none."""

    def __init__(self, least: Vec, most: Vec) -> None:
        """Set it up."""
        self.least, self.most = least, most

    def limited(self, numbers: Vec) -> Vec:
        """Return numbers within it; the upper ends come last."""
        x, y, z = numbers
        a, b, c = self.least
        d, e, f = self.most
        return min(max(x, a), d), min(max(y, b), e), min(max(z, c), f)


@final
class LimitLocation(Constraint):
    """Keeps the location within a range."""

    def __init__(self, limits: Range) -> None:
        """Set it up."""
        self.limits = limits

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it."""
        return own[0], self.limits.limited(own[1])


@final
class LimitScale(Constraint):
    """Keeps the scale within a range."""

    def __init__(self, limits: Range) -> None:
        """Set it up."""
        self.limits = limits

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it."""
        sizes = mat_column_lengths(own[0])
        return _resized(own[0], sizes, self.limits.limited(sizes)), own[1]


@final
class LimitRotation(Constraint):
    """Keeps Euler angles within ranges, and removes shear."""

    def __init__(self, used: Flags, least: Vec, most: Vec, is_legacy: bool, order: Order) -> None:
        """Set it up.

        Args:
            used: The angles that are limited.
            least: The least angles.
            most: The largest angles.
            is_legacy: Blender's ``use_legacy_behavior``: angles are no places on a circle.
            order: The order of the angles.
        """
        self.used, self.least, self.most = used, least, most
        self.is_legacy, self.order = is_legacy, order

    def apply(self, own: Frame, source: Frame) -> Frame:
        """Return the frame of its owner after it."""
        axes = squared(own[0], keep_scale=True)
        used_x, used_y, used_z = self.used
        if not (used_x or used_y or used_z):
            return axes, own[1]
        first, second = self.order
        angles = _nearest(euler_pair(axes, first, second), ORIGIN)
        x, y, z = angles
        a, b, c = self.least
        d, e, f = self.most
        x = self._limit(x, a, d) if used_x else x
        y = self._limit(y, b, e) if used_y else y
        z = self._limit(z, c, f) if used_z else z
        turn = euler_matrix((x, y, z), first, second)
        return scale_columns(turn, mat_column_lengths(axes)), own[1]

    def _limit(self, angle: float, least: float, most: float) -> float:
        if self.is_legacy:
            return most if angle > most else max(angle, least)
        return _clamped_around(angle, least, most)


@final
class ConstraintSpaces:
    """The spaces in which constraints see a bone (Blender's manual: Constraints, Space Types).

    The frames that are converted are of the bone, in armature space.
    """

    def __init__(self, bone: Bone, rest: Frame, parent: Frame, world: Frame) -> None:
        """Start with a bone.

        Args:
            bone: The bone.
            rest: Its rest frame in armature space.
            parent: The frame of its parent, in armature space.
            world: The frame of the armature, in world space.
        """
        self.bone, self.rest, self.parent, self.world = bone, rest, parent, world

    def seen(self, frame: Frame, space: str) -> Frame:
        """Return how a frame is seen in a space.

        Args:
            frame: The frame.
            space: ``'WORLD'``, ``'POSE'``, ``'LOCAL'`` or ``'LOCAL_WITH_PARENT'``.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(self.world, frame)
        if space == "LOCAL":
            return in_local_space(self.bone, frame, self.parent)
        return frame if space == "POSE" else frame_in(inverse(self.rest), frame)

    def placed(self, seen: Frame, space: str) -> Frame:
        """Return the frame that is seen like this in a space.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(inverse(self.world), seen)
        if space == "LOCAL":
            return out_of_local_space(self.bone, seen, self.parent)
        return seen if space == "POSE" else frame_in(self.rest, seen)

    def constrained(
        self, con: Constraint, space: str, frame: Frame, source: Frame, influence: float = 1.0
    ) -> Frame:
        """Return the frame of the bone after a constraint; the same if something has zero scale.

        Args:
            con: The constraint.
            space: The space in which it sees the bone.
            frame: The frame before it.
            source: The frame of its target, in the space in which it sees that.
            influence: The share of its effect, which is mixed in world space.
        """
        try:
            after = self.placed(con.apply(self.seen(frame, space), source), space)
            if influence == 1.0:
                return after
            before, after = frame_in(self.world, frame), frame_in(self.world, after)
            return frame_in(inverse(self.world), influenced(before, after, influence))
        except ValueError:
            return frame


@final
class BoneOf:
    """A bone of an armature. Immutable.

    Attributes:
        index: Its index.
        bone: The bone.
        rest: Its rest frame in armature space.
        parent: The index of its parent; -1 if it has none.
    """

    def __init__(self, index: int, bone: Bone, rest: Frame, parent: int) -> None:
        """Set it up."""
        self.index, self.bone, self.rest, self.parent = index, bone, rest, parent


@final
class BoneConstraint:
    """A constraint of a bone, whose target is a bone of the same armature. Immutable.

    Attributes:
        constraint: The constraint.
        space: The space in which it sees the bone.
        target: Its target; None if it has none.
        target_space: The space in which it sees that.
        influence: The share of its effect.
    """

    def __init__(
        self,
        constraint: Constraint,
        space: str,
        target: BoneOf | None,
        target_space: str,
        influence: float = 1.0,
    ) -> None:
        """Set it up."""
        self.constraint, self.space, self.influence = constraint, space, influence
        self.target, self.target_space = target, target_space


@final
class FollowingBone:
    """A bone, with all that its frame depends on besides other bones. Immutable.

    Attributes:
        own: The bone.
        local: Its channels.
        constraints: Its constraints, in their order.
    """

    def __init__(self, own: BoneOf, local: Local, constraints: list[BoneConstraint]) -> None:
        """Set it up."""
        self.own, self.local, self.constraints = own, local, constraints


@final
class ConstrainedPose:
    """The frames of an armature's bones, as far as they follow from those of others.

    Attributes:
        bones: Bones whose frames do, by index.
        frames: Known frames in armature space, by index; others are added.
        world: The frame of the armature in world space.
        other: Returns the frame of any other bone.
    """

    def __init__(
        self,
        bones: dict[int, FollowingBone],
        frames: dict[int, Frame],
        world: Frame,
        other: Callable[[int], Frame],
    ) -> None:
        """Set it up."""
        self.bones, self.frames, self.world, self.other = bones, frames, world, other

    def frame(self, index: int) -> Frame:
        """Return the frame of a bone in armature space; -1 stands for the parent of root bones."""
        # A chain may have more bones than the recursion limit.
        path: list[FollowingBone] = []
        while index >= 0 and index in self.bones and index not in self.frames:
            path.append(self.bones[index])
            index = path[-1].own.parent
        frame = WHOLE
        if index >= 0:
            known = self.frames.get(index)
            frame = self.other(index) if known is None else known
        for one in reversed(path):
            frame = self._constrained(one, frame)
            self.frames[one.own.index] = frame
        return frame

    def _constrained(self, one: FollowingBone, parent: Frame) -> Frame:
        frame = bone_frame(one.own.bone, one.local, parent)
        if not one.constraints:
            return frame
        spaces = ConstraintSpaces(one.own.bone, one.own.rest, parent, self.world)
        for con in one.constraints:
            try:
                source = WHOLE if con.target is None else self._seen(con.target, con.target_space)
            except ValueError:  # It has zero scale.
                continue
            frame = spaces.constrained(con.constraint, con.space, frame, source, con.influence)
        return frame

    def _seen(self, target: BoneOf, space: str) -> Frame:
        """Return how the frame of a bone is seen in a space.

        Raises:
            ValueError: If the space has zero scale.
        """
        frame = self.frame(target.index)
        if space == "WORLD":
            return frame_in(self.world, frame)
        parent = self.frame(target.parent)
        return ConstraintSpaces(target.bone, target.rest, parent, self.world).seen(frame, space)


def influenced(before: Frame, after: Frame, influence: float) -> Frame:
    """Return what is left of the effect of a constraint at an influence, in world space.

    Raises:
        ValueError: If a frame has zero scale.
    """
    return after if influence == 1.0 else mixed(before, after, influence)


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
    x, y, z = sizes
    a, b, c = wanted
    return scale_columns(axes, (a / x if x else 1.0, b / y if y else 1.0, c / z if z else 1.0))


def _nearest(pair: tuple[Vec, Vec], own: Vec) -> Vec:
    """Return which of two triples of angles is nearest to others, the first of equal ones."""
    a, b, c = pair[0]
    d, e, f = pair[1]
    x, y, z = own
    one = abs(a - x) + abs(b - y) + abs(c - z)
    two = abs(d - x) + abs(e - y) + abs(f - z)
    return pair[1] if one > two else pair[0]


def _compatible(angles: Vec, own: Vec) -> Vec:
    """Return angles shifted by whole turns to be nearest to others."""
    x, y, z = angles
    a, b, c = own
    return _shifted(x, a), _shifted(y, b), _shifted(z, c)


def _shifted(angle: float, near: float) -> float:
    turns = (angle - near) / tau
    # Mostly nothing is to be rounded, which takes as long as all the rest.
    return angle if -0.5 <= turns <= 0.5 else angle - tau * round(turns)


def _where(used: Flags, numbers: Vec, otherwise: Vec) -> Vec:
    """Return numbers where they are used, and others elsewhere."""
    use_x, use_y, use_z = used
    x, y, z = numbers
    a, b, c = otherwise
    return x if use_x else a, y if use_y else b, z if use_z else c
