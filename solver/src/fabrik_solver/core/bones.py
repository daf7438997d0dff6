"""Bones as Blender poses them: a bone's frame follows from its parent's frame and its channels."""

from dataclasses import dataclass
from math import acos, cos, pi, sin, sqrt
from typing import Final, final

from .bend import eased
from .frames import Frame, inverse, point_in
from .vectors import (
    IDENTITY,
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    across,
    add,
    cross,
    dot,
    inverse_apply,
    inverse_direction,
    length,
    mat_apply,
    mat_column_lengths,
    mat_columns,
    mat_determinant,
    mat_from_columns,
    mat_inverse,
    mat_product,
    mat_transposed,
    quat_between,
    quat_compatible,
    quat_in_axes,
    quat_matrix,
    quat_of,
    quat_product,
    rotate,
    scale_columns,
    scaled,
    slerp,
    sub,
    unit,
    unit_or,
)

X_AXIS: Vec = (1.0, 0.0, 0.0)
Y_AXIS: Vec = (0.0, 1.0, 0.0)
Z_AXIS: Vec = (0.0, 0.0, 1.0)

FOLDED: Final = 0.1
"""The cosine of half a swing's angle (168°) below which rounding would change its axis."""

IN_PLANE: Final = 1e-3
"""The sine of a swing's angle to a plane below which the swing is treated as lying in it."""

NO_STRETCH: Vec = (1.0, 1.0, 1.0)


@final
@dataclass(frozen=True, slots=True)
class Bone:
    """A bone as set up in Edit Mode.

    Attributes:
        rest: Rest axes in the space of the parent's rest bone; in armature space without a parent.
        head: Rest position of the head in the same space, whose origin is the parent's head.
        length: Rest length.
        parent_rest: Rest axes of the parent in armature space.
        inherit_scale: Blender's ``inherit_scale``: ``'FULL'``, ``'FIX_SHEAR'``, ``'ALIGNED'``,
            ``'AVERAGE'``, ``'NONE'`` or ``'NONE_LEGACY'``.
        inherit_rotation: Blender's ``use_inherit_rotation``.
        local_location: Blender's ``use_local_location``.
    """

    rest: Mat3
    head: Vec
    length: float
    parent_rest: Mat3 = IDENTITY
    inherit_scale: str = "FULL"
    inherit_rotation: bool = True
    local_location: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether the bone inherits its parent's axes unchanged, like nearly every bone."""
        return self.inherit_scale == "FULL" and self.inherit_rotation


@final
class Local:
    """The local channels of a posed bone: location, unit quaternion and scale.

    Immutable by convention. Each frame creates many, and creating a frozen dataclass takes three
    times as long, or five times when compiled.
    """

    def __init__(
        self, location: Vec = ORIGIN, rotation: Quat = QUAT_IDENTITY, scale: Vec = NO_STRETCH
    ) -> None:
        self.location = location
        self.rotation = rotation
        self.scale = scale

    def is_same(self, other: "Local") -> bool:
        """Return whether all channels are equal."""
        return (
            self.location == other.location
            and self.rotation == other.rotation
            and self.scale == other.scale
        )


def bone_frame(bone: Bone, local: Local, parent: Frame) -> Frame:
    """Return a bone's frame from its parent's frame, which is `WHOLE` without a parent.

    Equivalent to Blender's ``Bone.convert_local_to_pose``.
    """
    axes, post_scale = inherited_axes(bone, parent[0])
    if local.rotation != (1.0, 0.0, 0.0, 0.0):
        axes = mat_product(axes, quat_matrix(local.rotation))
    axes = scale_columns(scale_columns(axes, local.scale), post_scale)
    return axes, point_in(parent, head_in_parent(bone, local))


def in_local_space(bone: Bone, frame: Frame, parent: Frame) -> Frame:
    """Return the channels that produce a bone's frame, as a frame with possible shear.

    Blender's constraints call this the bone's Local Space.

    Args:
        bone: The bone.
        frame: The bone's frame.
        parent: The frame of its parent, in the same space.

    Raises:
        ValueError: If the parent has zero scale.
    """
    axes, (x, y, z) = inherited_axes(bone, parent[0])
    if mat_determinant(parent[0]) == 0.0 or x == 0.0 or y == 0.0 or z == 0.0:
        raise ValueError("a bone whose parent has zero scale has no local space")
    channels = mat_product(mat_inverse(axes), scale_columns(frame[0], (1.0 / x, 1.0 / y, 1.0 / z)))
    shift = sub(frame[1], point_in(parent, bone.head))
    return channels, inverse_apply(location_axes(bone, parent[0]), shift)


def out_of_local_space(bone: Bone, local: Frame, parent: Frame) -> Frame:
    """Return the bone's frame from the result of `in_local_space`."""
    axes, post_scale = inherited_axes(bone, parent[0])
    shift = mat_apply(location_axes(bone, parent[0]), local[1])
    posed_axes = scale_columns(mat_product(axes, local[0]), post_scale)
    return posed_axes, add(point_in(parent, bone.head), shift)


def head_in_parent(bone: Bone, local: Local) -> Vec:
    """Return the head in the space of the parent's posed bone."""
    if local.location == (0.0, 0.0, 0.0):
        return bone.head
    if bone.local_location:
        return add(bone.head, mat_apply(bone.rest, local.location))
    return add(bone.head, local.location)


def location_axes(bone: Bone, parent: Mat3) -> Mat3:
    """Return the axes of a bone's location channel from the axes of its posed parent."""
    return mat_product(parent, bone.rest) if bone.local_location else parent


def moved_location(bone: Bone, location: Vec, parent: Mat3, shift: Vec) -> Vec:
    """Return the location channel of a bone after its head has moved.

    Args:
        bone: The bone.
        location: The channel before the move.
        parent: The axes of the posed parent, in any space. If they are flat, the channel stays.
        shift: How far the head has moved, in the same space.
    """
    if shift == ORIGIN:
        return location
    return add(location, inverse_apply(location_axes(bone, parent), shift))


def turned_axes(inherited: Mat3, rotation: Quat, scale: Vec, post_scale: Vec) -> Mat3:
    """Return a posed bone's axes from the result of `inherited_axes` and the bone's channels."""
    turned = mat_product(inherited, quat_matrix(rotation))
    return scale_columns(scale_columns(turned, scale), post_scale)


def turned_to(axes: Mat3, aim: Vec, toward: Vec, normal: Vec, turn: Quat) -> Quat:
    """Return a rotation followed by the smallest rotation that points a vector in a direction.

    Args:
        axes: The axes of the aim and of the result.
        aim: The vector to point in the direction.
        toward: The direction, in the space outside the axes.
        normal: The rotation axis if the direction is (nearly) opposite, in the same space. Without
            it, rounding would choose the axis.
        turn: The rotation to apply first, in the same space.
    """
    ahead = inverse_direction(axes, toward)
    # Constants are written out, because each bone of each solution is turned (see `vectors`).
    is_turned, first_turn = turn != (1.0, 0.0, 0.0, 0.0), turn
    if is_turned:
        first_turn = quat_in_axes(axes, turn)
        aim = rotate(first_turn, aim)
    swing = quat_between(aim, ahead, (1.0, 0.0, 0.0))
    if swing[0] < FOLDED:
        swing = _folded(aim, ahead, inverse_direction(axes, normal))
    return quat_product(swing, first_turn) if is_turned else swing


def _folded(aim: Vec, ahead: Vec, normal: Vec) -> Quat:
    """Return the smallest rotation between nearly opposite directions.

    Args:
        aim: The vector to point in the direction.
        ahead: The direction.
        normal: The rotation axis if the direction is opposite, such as the normal of a flat chain's
            plane.
    """
    swing = quat_between(aim, ahead, normal)
    a, b, n = unit(aim), unit(ahead), unit(normal)
    if a is None or b is None or n is None:
        return swing
    smallest = eased(swing[0] / FOLDED)
    in_plane = 1.0 - eased((abs(dot(n, a)) + abs(dot(n, b))) / IN_PLANE)
    back = scaled(a, -1.0)
    about = quat_product(quat_between(back, b, n), quat_between(a, back, n))
    return slerp(swing, about, (1.0 - smallest) * in_plane)


def facing(axes: Mat3, axes_pair: tuple[Vec, Vec], directions: tuple[Vec, Vec]) -> Quat | None:
    """Return the rotation that points one axis in a direction, and a second nearly in another.

    In sheared axes a rotation can't do both, so it aligns the first axis exactly, and the second as
    far as rolling about the first allows.

    Args:
        axes: The axes that `inherited_axes` returns.
        axes_pair: Two perpendicular unit vectors, in the rotation's space.
        directions: Their directions outside the axes, of any length.

    Returns:
        The rotation, or None if the axes are singular.
    """
    ahead = unit(inverse_direction(axes, directions[0]))
    if ahead is None:
        return None
    up = unit(across(inverse_direction(axes, directions[1]), ahead))
    if up is None:
        return None
    target_frame = mat_from_columns(ahead, up, cross(ahead, up))
    local_frame = mat_from_columns(axes_pair[0], axes_pair[1], cross(axes_pair[0], axes_pair[1]))
    return quat_of(mat_product(target_frame, mat_transposed(local_frame)))


def rotation_to(bone: Bone, axes: Mat3, parent: Mat3, local: Local) -> Quat:
    """Return the local rotation that gives a bone certain axes.

    Args:
        bone: The bone.
        axes: The axes, in armature space; Y is matched first, then Z.
        parent: The axes of its parent, in armature space.
        local: Its channels; the result is compatible with their rotation.
    """
    inherited, _ = inherited_axes(bone, parent)
    _, y, z = mat_columns(axes)
    turn = facing(inherited, (Y_AXIS, Z_AXIS), (y, z)) or local.rotation
    return quat_compatible(turn, local.rotation)


def location_at(bone: Bone, head: Vec, parent: Frame) -> Vec:
    """Return the local location that puts a bone's head at a point.

    Args:
        bone: The bone.
        head: The point, in armature space.
        parent: The frame of its parent, in armature space.

    Raises:
        ValueError: If the parent has zero scale.
    """
    offset = sub(point_in(inverse(parent), head), bone.head)
    return inverse_apply(bone.rest, offset) if bone.local_location else offset


def inherited_axes(bone: Bone, parent: Mat3) -> tuple[Mat3, Vec]:
    """Return the axes in which the bone's rotation acts, and the scale applied to the result.

    These are Blender's rules for Inherit Scale and Inherit Rotation (manual: Bones, Relations),
    tested against ``Bone.convert_local_to_pose``.
    """
    mode = bone.inherit_scale
    if mode == "FULL" and bone.inherit_rotation:
        return mat_product(parent, bone.rest), (1.0, 1.0, 1.0)
    if bone.inherit_rotation:
        base, post_scale = _base_of_parent(mode, parent)
    else:
        base, post_scale = _base_of_rest(mode, parent, bone.parent_rest)
    if mode == "AVERAGE":
        size = abs(mat_determinant(parent)) ** (1.0 / 3.0)
        base = scale_columns(base, (size, size, size))
    axes = mat_product(base, bone.rest)
    return (squared(axes, keep_scale=True) if mode == "FIX_SHEAR" else axes), post_scale


def carried_turn(bone: Bone, parent: Mat3) -> Quat:
    """Return the local rotation that makes a bone follow its posed parent.

    Followed by the joint's rotation, to which limits apply, it gives the rotation channel. It is
    the identity for a bone that inherits rotation, or whose parent has zero scale. Blender's IK
    limits are also relative to the posed parent, whatever is inherited.
    """
    if bone.inherit_rotation:
        return QUAT_IDENTITY
    _, y, z = mat_columns(parent)
    turn = facing(mat_product(bone.parent_rest, bone.rest), (Y_AXIS, Z_AXIS), (y, z))
    if turn is None:
        return QUAT_IDENTITY
    return quat_product(turn, quat_of(bone.rest))


def _base_of_parent(mode: str, parent: Mat3) -> tuple[Mat3, Vec]:
    """Return `inherited_axes` without rest axes, for a bone that inherits rotation."""
    if mode in ("NONE", "AVERAGE"):
        return squared(parent), NO_STRETCH
    if mode == "NONE_LEGACY":
        return _unit_columns(parent), NO_STRETCH
    if mode == "ALIGNED":
        square = squared(parent, keep_scale=True)
        return _unit_columns(square), mat_column_lengths(square)
    return parent, NO_STRETCH


def _base_of_rest(mode: str, parent: Mat3, parent_rest: Mat3) -> tuple[Mat3, Vec]:
    """Return `inherited_axes` for a bone that doesn't inherit rotation."""
    if mode == "FULL":
        return scale_columns(parent_rest, mat_column_lengths(parent)), NO_STRETCH
    if mode == "FIX_SHEAR":
        return scale_columns(parent_rest, _column_lengths_of_volume(parent)), NO_STRETCH
    if mode == "ALIGNED":
        return parent_rest, _column_lengths_of_volume(parent)
    return parent_rest, NO_STRETCH


def _column_lengths_of_volume(m: Mat3) -> Vec:
    """Return the lengths of the columns, scaled so that their box has the sheared box's volume."""
    sizes = mat_column_lengths(m)
    box = sizes[0] * sizes[1] * sizes[2]
    if box == 0.0:
        return sizes
    return scaled(sizes, abs(mat_determinant(m) / box) ** (1.0 / 3.0))


def _unit_columns(m: Mat3) -> Mat3:
    x, y, z = mat_columns(m)
    return mat_from_columns(unit(x) or ORIGIN, unit(y) or ORIGIN, unit(z) or ORIGIN)


def squared(m: Mat3, keep_scale: bool = False) -> Mat3:
    """Orthogonalize axes: keep Y, move X and Z by equal angles, and normalize.

    With ``keep_scale``, keep the volume and the ratio of X to Z instead.
    """
    x, y, z = mat_columns(m)
    y_unit = unit(y)
    if y_unit is not None:
        x = sub(x, scaled(y_unit, dot(x, y_unit)))
        z = sub(z, scaled(y_unit, dot(z, y_unit)))
        if not keep_scale:
            y = y_unit
    x_size, z_size = length(x), length(z)
    x_unit, z_unit = unit_or(x, ORIGIN), unit_or(z, ORIGIN)
    cosine = dot(x_unit, z_unit)
    shrink = 1.0
    if 1e-4 < abs(cosine) < 1.0 - 1.1920929e-07:
        angle = acos(cosine)
        half_way = angle + 0.5 * (0.5 * pi - angle)
        upright = unit(sub(x_unit, scaled(z_unit, cosine))) or ORIGIN
        x_unit = add(scaled(upright, sin(half_way)), scaled(z_unit, cos(half_way)))
        z_unit = unit(cross(cross(x_unit, z_unit), x_unit)) or ORIGIN
        shrink = sqrt(sin(angle))
    if not keep_scale:
        return mat_from_columns(x_unit, y, z_unit)
    return mat_from_columns(scaled(x_unit, x_size * shrink), y, scaled(z_unit, z_size * shrink))
