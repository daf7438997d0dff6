"""How bones move deformed points, as in Blender's Armature constraint.

Adds up weighted matrices, or dual quaternions with a separate scale, which preserve volume.
Sources: Kavan et al., "Geometric skinning with approximate dual quaternion blending" (2008), and
Blender's additions (``armdef_evaluate`` in constraint.cc, ``mat4_to_dquat`` in math_rotation_c.cc).
"""

from math import sqrt
from typing import Final, final

from .bones import squared
from .constraints import Constraint
from .frames import WHOLE, Frame, frame_in, inverse, point_in
from .vectors import (
    ORIGIN,
    ZEROS,
    Mat3,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    mat_columns,
    mat_determinant,
    mat_from_columns,
    mat_transposed,
    quat_inverse,
    quat_matrix,
    quat_of,
    quat_product,
    scaled,
    sub,
    unit_or,
)


@final
class Envelope:
    """The region around a bone in which it acts, in the space of its armature. Immutable."""

    def __init__(self, head: Vec, tail: Vec, radii: tuple[float, float], falloff: float) -> None:
        """Set up the envelope.

        Args:
            head: The bone's head in the rest pose.
            tail: The bone's tail in the rest pose.
            radii: The radii at head and tail, within which it acts fully.
            falloff: The distance beyond the radii at which it stops acting.
        """
        self.head, self.tail, self.radii, self.falloff = head, tail, radii, falloff

    def share(self, point: Vec) -> float:
        """Return the bone's influence at a point, from 0 to 1 (``distfactor_to_bone``)."""
        along, out = sub(self.tail, self.head), sub(point, self.head)
        size = length(along)
        ahead = unit_or(along, ORIGIN)
        height = dot(ahead, out)
        near, far = self.radii
        fraction = 0.0 if height < 0.0 or size == 0.0 else min(height / size, 1.0)
        radius = near + fraction * (far - near)
        distance = length(sub(out, scaled(along, fraction)))
        beyond = distance - radius
        if beyond < 0.0:
            return 1.0
        if beyond >= self.falloff:
            return 0.0
        return 1.0 - (beyond * beyond) / (self.falloff * self.falloff)


@final
class DeformBone:
    """A deforming bone. Immutable.

    Attributes:
        weight: Its positive weight.
        rest: Its rest frame, in armature space.
        unrest: The inverse of the rest frame.
        envelope: Where it acts; None if it acts everywhere.
    """

    def __init__(self, weight: float, rest: Frame, envelope: Envelope | None) -> None:
        self.weight, self.rest, self.unrest = weight, rest, inverse(rest)
        self.envelope = envelope


@final
class PosedBone:
    """The frame of a posed bone. Immutable.

    Attributes:
        world: The frame of its armature in world space.
        frame: Its frame, in armature space.
    """

    def __init__(self, world: Frame, frame: Frame) -> None:
        self.world, self.frame = world, frame


@final
class Armature(Constraint):
    """Moves its owner as bones move the points that they deform."""

    def __init__(self, bones: list[DeformBone], keeps_volume: bool, bound_at: Vec | None) -> None:
        """Set up the constraint.

        Args:
            bones: The bones.
            keeps_volume: Whether to blend dual quaternions instead of matrices.
            bound_at: The owner's rest head in armature space, if it determines the envelope
                weights; None to use its current location.
        """
        self.bones, self.keeps_volume, self.bound_at = bones, keeps_volume, bound_at

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame; ``source`` is the motion of the bones."""
        return frame_in(source, frame)

    def motion_of(self, posed: list[PosedBone], at: Vec, world: Frame) -> Frame:
        """Return the world-space transform by which the target bones move another bone.

        Args:
            posed: The posed bones.
            at: The location of the moved bone, in world space.
            world: The frame of its armature in world space.

        Raises:
            ValueError: If an armature has zero scale.
        """
        return self.motion(posed, at if self.bound_at is None else point_in(world, self.bound_at))

    def motion(self, posed: list[PosedBone], point: Vec) -> Frame:
        """Return the world-space transform by which the target bones move a point.

        Args:
            posed: The posed bones.
            point: The point, in world space.

        Raises:
            ValueError: If an armature has zero scale.
        """
        total = 0.0
        blend = _Blend(self.keeps_volume, point)
        for i in range(len(self.bones)):
            bone, posed_bone = self.bones[i], posed[i]
            back = inverse(posed_bone.world)
            weight = bone.weight
            if bone.envelope is not None:
                weight *= bone.envelope.share(point_in(back, point))
            if weight > 0.0:
                total += weight
                moved = frame_in(posed_bone.world, frame_in(posed_bone.frame, bone.unrest))
                blend.add(frame_in(moved, back), frame_in(posed_bone.world, bone.rest), weight)
        return blend.result(total) if total > 0.0 else WHOLE


@final
class _Blend:
    """The weighted sum of transforms."""

    def __init__(self, keeps_volume: bool, pivot: Vec) -> None:
        self.keeps_volume, self.pivot = keeps_volume, pivot
        self.axes: Mat3 = ZEROS
        self.offset: Vec = ORIGIN
        self.turn: Quat = (0.0, 0.0, 0.0, 0.0)
        self.dual: Quat = (0.0, 0.0, 0.0, 0.0)

    def add(self, motion: Frame, rest: Frame, weight: float) -> None:
        """Add the transform of a bone with this rest frame, both in world space."""
        if not self.keeps_volume:
            self._add_matrix(motion, weight)
            return
        rigid, scale = _split(motion, (squared(rest[0]), rest[1]))
        axes = rigid[0]
        if mat_determinant(axes) < 0.0:
            a, b, c, d, e, f, g, h, i = axes
            axes = (-a, -b, -c, -d, -e, -f, -g, -h, -i)
        turn = quat_of(axes)
        # The scale's effect on the pivot becomes part of the translation.
        shift = sub(point_in(scale, self.pivot), self.pivot)
        dual = _sum(quat_product(_half(rigid[1]), turn), quat_product(turn, _half(shift)))
        self._add_matrix((scale[0], sub(scale[1], shift)), weight)
        signed = -weight if _quat_dot(turn, self.turn) < 0.0 else weight
        self.turn = _sum(self.turn, turn, signed)
        self.dual = _sum(self.dual, dual, signed)

    def _add_matrix(self, motion: Frame, weight: float) -> None:
        a, b, c, d, e, f, g, h, i = self.axes
        j, k, m, n, o, p, q, r, s = motion[0]
        self.axes = (
            a + weight * j,
            b + weight * k,
            c + weight * m,
            d + weight * n,
            e + weight * o,
            f + weight * p,
            g + weight * q,
            h + weight * r,
            i + weight * s,
        )
        self.offset = add(self.offset, scaled(motion[1], weight))

    def result(self, total: float) -> Frame:
        """Return the mean; ``total`` is the sum of the weights."""
        a, b, c, d, e, f, g, h, i = self.axes
        part = 1.0 / total
        x, y, z = scaled((a, b, c), part), scaled((d, e, f), part), scaled((g, h, i), part)
        blended = mat_transposed(mat_from_columns(x, y, z)), scaled(self.offset, part)
        size = sqrt(_quat_dot(self.turn, self.turn))
        if size == 0.0:  # Only matrices were added.
            return blended
        turn = _sum((0.0, 0.0, 0.0, 0.0), self.turn, 1.0 / size)
        _, a, b, c = quat_product(self.dual, quat_inverse(turn))
        return frame_in((quat_matrix(turn), scaled((a, b, c), 2.0 / size)), blended)


def _split(motion: Frame, base: Frame) -> tuple[Frame, Frame]:
    """Return the rotation and translation of a transform, and the scale that precedes them.

    Args:
        motion: The transform.
        base: The rest frame of the moved bone, whose axes are scaled.
    """
    if _is_rotation(motion[0]):
        return motion, WHOLE
    posed = frame_in(motion, base)
    turned = quat_matrix(quat_of(_proper(posed[0]))), posed[1]
    back = inverse(base)
    scale = frame_in(frame_in(base, frame_in(inverse(turned), posed)), back)
    return frame_in(turned, back), scale


ORTHONORMAL: Final = 1e-5
"""Maximum deviation from an orthonormal matrix for which Blender treats it as a rotation."""


def _is_rotation(axes: Mat3) -> bool:
    x, y, z = mat_columns(axes)
    skew = max(abs(dot(x, y)), abs(dot(y, z)), abs(dot(z, x)))
    size = max(abs(dot(x, x) - 1.0), abs(dot(y, y) - 1.0), abs(dot(z, z) - 1.0))
    return max(skew, size) <= ORTHONORMAL and mat_determinant(axes) > 0.0


def _proper(axes: Mat3) -> Mat3:
    """Return the axes without scale and shear, keeping Y (``orthogonalize_m4``)."""
    x, y, z = mat_columns(axes)
    y = unit_or(y, ORIGIN)
    if dot(y, x) < 1.0:
        z = unit_or(cross(x, y), ORIGIN)
        return mat_from_columns(cross(y, z), y, z)
    x = unit_or(cross(y, z), ORIGIN)
    return mat_from_columns(x, y, cross(x, y))


def _half(a: Vec) -> Quat:
    """Return half a vector as a pure quaternion."""
    x, y, z = a
    return (0.0, 0.5 * x, 0.5 * y, 0.5 * z)


def _sum(a: Quat, b: Quat, factor: float = 1.0) -> Quat:
    w, x, y, z = a
    p, q, r, s = b
    return (w + factor * p, x + factor * q, y + factor * r, z + factor * s)


def _quat_dot(a: Quat, b: Quat) -> float:
    w, x, y, z = a
    p, q, r, s = b
    return w * p + x * q + y * r + z * s
