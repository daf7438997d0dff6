"""Vectors, quaternions and 3×3 matrices as tuples of floats.

A vector is ``(x, y, z)``, a quaternion ``(w, x, y, z)`` of unit length, and a matrix nine numbers
in row-major order. Products apply from right to left. For so few numbers, plain tuples are the
fastest structure in CPython. They also compile best, to a struct. This requires writing out all
numbers, and holding the tuple in an attribute or variable, not in a list.
"""

from collections.abc import Iterable
from math import acos, asin, atan2, cos, hypot, sin, sqrt
from typing import Final

Vec = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Mat3 = tuple[float, float, float, float, float, float, float, float, float]

# Not `Final`: mypyc 2.4 treats the value of a final tuple of floats as missing. When compiled, each
# use costs a look-up and a conversion, unlike numbers written out.
ORIGIN: Vec = (0.0, 0.0, 0.0)
QUAT_IDENTITY: Quat = (1.0, 0.0, 0.0, 0.0)
IDENTITY: Mat3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ZEROS: Mat3 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


SMALL: Final = 1e-150
LARGE: Final = 1e150
"""Between these bounds a sum of squares can be squared again without overflow or underflow."""


def add(a: Vec, b: Vec) -> Vec:
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sum_of(vectors: Iterable[Vec]) -> Vec:
    """Return the sum of vectors, added in order."""
    total = ORIGIN
    for vector in vectors:
        total = add(total, vector)
    return total


def sub(a: Vec, b: Vec) -> Vec:
    """Return a − b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scaled(a: Vec, factor: float) -> Vec:
    """Return a · factor."""
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def times(a: Vec, b: Vec) -> Vec:
    """Return the component-wise product."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


def mix(a: Vec, b: Vec, factor: float) -> Vec:
    """Interpolate linearly, from ``a`` at a factor of 0 to ``b`` at 1."""
    keep = 1.0 - factor
    return (a[0] * keep + b[0] * factor, a[1] * keep + b[1] * factor, a[2] * keep + b[2] * factor)


def dot(a: Vec, b: Vec) -> float:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec, b: Vec) -> Vec:
    """Return the vector product."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def length(a: Vec) -> float:
    """Return the length, without overflow for huge or tiny vectors."""
    x, y, z = a
    square = x * x + y * y + z * z
    # A square root compiles to one instruction, unlike `hypot`.
    return sqrt(square) if SMALL < square < LARGE else hypot(x, y, z)


def unit(a: Vec) -> Vec | None:
    """Return the unit vector in the direction of ``a``; None if it has none."""
    x, y, z = a
    square = x * x + y * y + z * z
    # If interpreted, calling `length` would cost as much as computing it.
    size = sqrt(square) if SMALL < square < LARGE else hypot(x, y, z)
    return (x / size, y / size, z / size) if size >= 1e-300 else None


def unit_or(a: Vec, otherwise: Vec) -> Vec:
    """Return the unit vector in the direction of ``a``, or ``otherwise`` if it has none.

    For inner loops: when compiled, the result of `unit` is boxed because it may be None.
    """
    size = length(a)
    if size < 1e-300:
        return otherwise
    return (a[0] / size, a[1] / size, a[2] / size)


def across(a: Vec, axis: Vec) -> Vec:
    """Return the component of ``a`` perpendicular to the unit vector ``axis``."""
    along = dot(a, axis)
    return (a[0] - axis[0] * along, a[1] - axis[1] * along, a[2] - axis[2] * along)


def any_perpendicular(axis: Vec) -> Vec:
    """Return a unit vector perpendicular to the unit vector ``axis``.

    For an axis in the XY plane the result is in that plane, so flat chains stay flat.
    """
    if axis[2] * axis[2] < 0.5:
        size = hypot(axis[0], axis[1])
        return (-axis[1] / size, axis[0] / size, 0.0)
    size = hypot(axis[1], axis[2])
    return (0.0, -axis[2] / size, axis[1] / size)


def rotate_about(a: Vec, axis: Vec, cosine: float, sine: float) -> Vec:
    """Rotate ``a`` about a unit vector by an angle, from its cosine and sine (Rodrigues)."""
    along = dot(a, axis) * (1.0 - cosine)
    side = cross(axis, a)
    return (
        a[0] * cosine + side[0] * sine + axis[0] * along,
        a[1] * cosine + side[1] * sine + axis[1] * along,
        a[2] * cosine + side[2] * sine + axis[2] * along,
    )


def quat_product(a: Quat, b: Quat) -> Quat:
    """Return the product of rotations: ``b``, followed by ``a``."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def quat_inverse(q: Quat) -> Quat:
    """Return the inverse of a unit quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


def quat_unit(q: Quat) -> Quat:
    """Normalize a quaternion; zero becomes the identity."""
    w, x, y, z = q
    square = w * w + x * x + y * y + z * z
    size = sqrt(square) if SMALL < square < LARGE else hypot(w, x, y, z)
    if size < 1e-300:
        return QUAT_IDENTITY
    return (w / size, x / size, y / size, z / size)


def rotate(q: Quat, a: Vec) -> Vec:
    """Rotate a vector by a unit quaternion."""
    w, x, y, z = q
    tx = 2.0 * (y * a[2] - z * a[1])
    ty = 2.0 * (z * a[0] - x * a[2])
    tz = 2.0 * (x * a[1] - y * a[0])
    return (
        a[0] + w * tx + y * tz - z * ty,
        a[1] + w * ty + z * tx - x * tz,
        a[2] + w * tz + x * ty - y * tx,
    )


def quat_between(a: Vec, b: Vec, half_turn_axis: Vec) -> Quat:
    """Return the smallest rotation from the direction of ``a`` to the direction of ``b``.

    A zero vector gives the identity. Between opposite directions the smallest rotation isn't
    unique: its axis is then the component of ``half_turn_axis`` perpendicular to ``a``.
    """
    ax, ay, az = a
    bx, by, bz = b
    square = (ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz)
    if not SMALL < square < LARGE:
        start, end = unit(a), unit(b)
        return (
            QUAT_IDENTITY
            if start is None or end is None
            else quat_between(start, end, half_turn_axis)
        )
    size = sqrt(square)
    w = size + ax * bx + ay * by + az * bz
    if w > 1e-12 * size:
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        norm = sqrt(w * w + x * x + y * y + z * z)
        return (w / norm, x / norm, y / norm, z / norm)
    start = unit(a) or a
    axis = unit(across(half_turn_axis, start)) or any_perpendicular(start)
    return (0.0, axis[0], axis[1], axis[2])


def slerp(a: Quat, b: Quat, factor: float) -> Quat:
    """Interpolate rotations the short way, from ``a`` at a factor of 0 to ``b`` at 1."""
    cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    sign = -1.0 if cosine < 0.0 else 1.0
    cosine = min(1.0, abs(cosine))
    keep, take = 1.0 - factor, factor
    angle = acos(cosine)
    if angle > 1e-4:
        keep, take = sin(keep * angle) / sin(angle), sin(take * angle) / sin(angle)
    take *= sign
    return quat_unit(
        (
            a[0] * keep + b[0] * take,
            a[1] * keep + b[1] * take,
            a[2] * keep + b[2] * take,
            a[3] * keep + b[3] * take,
        )
    )


def quat_about(axis: Vec, angle: float) -> Quat:
    """Return the rotation about the unit vector ``axis`` by ``angle`` radians."""
    half = 0.5 * angle
    sine = sin(half)
    return (cos(half), axis[0] * sine, axis[1] * sine, axis[2] * sine)


def quat_exp(turn: Vec) -> Quat:
    """Return the rotation of a rotation vector: its direction is the axis, its length the angle."""
    angle = length(turn)
    half = 0.5 * angle
    factor = sin(half) / angle if angle > 1e-9 else 0.5
    return (cos(half), turn[0] * factor, turn[1] * factor, turn[2] * factor)


def quat_log(q: Quat) -> Vec:
    """Return the rotation vector of a unit quaternion, at most π long."""
    w, x, y, z = q
    sine = sqrt(x * x + y * y + z * z)
    if sine < 1e-12:
        factor = 2.0 if w >= 0.0 else -2.0
    elif w < 0.0:
        factor = -2.0 * atan2(sine, -w) / sine
    else:
        factor = 2.0 * atan2(sine, w) / sine
    return (x * factor, y * factor, z * factor)


def quat_of(m: Mat3) -> Quat:
    """Return the unit quaternion of a rotation matrix, computed from its largest component."""
    xx, yy, zz = m[0], m[4], m[8]
    x, y, z = m[7] - m[5], m[2] - m[6], m[3] - m[1]
    if xx + yy + zz >= 0.0:
        return quat_unit((1.0 + xx + yy + zz, x, y, z))
    if xx >= yy and xx >= zz:
        return quat_unit((x, 1.0 + xx - yy - zz, m[1] + m[3], m[2] + m[6]))
    if yy >= zz:
        return quat_unit((y, m[1] + m[3], 1.0 + yy - xx - zz, m[5] + m[7]))
    return quat_unit((z, m[2] + m[6], m[5] + m[7], 1.0 + zz - xx - yy))


def quat_compatible(q: Quat, other: Quat) -> Quat:
    """Return q or −q (the same rotation), whichever is closer to another quaternion."""
    w, x, y, z = q
    if w * other[0] + x * other[1] + y * other[2] + z * other[3] < 0.0:
        return (-w, -x, -y, -z)
    return q


def quat_angle(a: Quat, b: Quat) -> float:
    """Return the angle between two rotations, from 0 to π."""
    near = quat_compatible(b, a)
    aw, ax, ay, az = a
    chord = hypot(aw - near[0], ax - near[1], ay - near[2], az - near[3])
    # From the chord, because the cosine can't resolve angles below 1e-8.
    return 4.0 * asin(min(1.0, 0.5 * chord))


def quat_matrix(q: Quat) -> Mat3:
    """Return the matrix of the unit quaternion q."""
    w, x, y, z = q
    xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
    xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
    wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
    return (
        1.0 - yy - zz,
        xy - wz,
        xz + wy,
        xy + wz,
        1.0 - xx - zz,
        yz - wx,
        xz - wy,
        yz + wx,
        1.0 - xx - yy,
    )


def mat_product(a: Mat3, b: Mat3) -> Mat3:
    """Return the matrix product a · b."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
    b0, b1, b2, b3, b4, b5, b6, b7, b8 = b
    return (
        a0 * b0 + a1 * b3 + a2 * b6,
        a0 * b1 + a1 * b4 + a2 * b7,
        a0 * b2 + a1 * b5 + a2 * b8,
        a3 * b0 + a4 * b3 + a5 * b6,
        a3 * b1 + a4 * b4 + a5 * b7,
        a3 * b2 + a4 * b5 + a5 * b8,
        a6 * b0 + a7 * b3 + a8 * b6,
        a6 * b1 + a7 * b4 + a8 * b7,
        a6 * b2 + a7 * b5 + a8 * b8,
    )


def mat_apply(m: Mat3, a: Vec) -> Vec:
    """Return m · a."""
    m0, m1, m2, m3, m4, m5, m6, m7, m8 = m
    x, y, z = a
    return (m0 * x + m1 * y + m2 * z, m3 * x + m4 * y + m5 * z, m6 * x + m7 * y + m8 * z)


def add_product(m: Mat3, a: Vec, b: Vec) -> Mat3:
    """Return m + a bᵀ."""
    m0, m1, m2, m3, m4, m5, m6, m7, m8 = m
    ax, ay, az = a
    bx, by, bz = b
    return (
        m0 + ax * bx,
        m1 + ax * by,
        m2 + ax * bz,
        m3 + ay * bx,
        m4 + ay * by,
        m5 + ay * bz,
        m6 + az * bx,
        m7 + az * by,
        m8 + az * bz,
    )


def mat_columns(m: Mat3) -> tuple[Vec, Vec, Vec]:
    """Return the three columns."""
    return (m[0], m[3], m[6]), (m[1], m[4], m[7]), (m[2], m[5], m[8])


def mat_column_lengths(m: Mat3) -> Vec:
    """Return the lengths of the columns."""
    x, y, z = mat_columns(m)
    return (length(x), length(y), length(z))


def mat_from_columns(x: Vec, y: Vec, z: Vec) -> Mat3:
    """Return the matrix with these columns."""
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


def mat_transposed(m: Mat3) -> Mat3:
    """Return the transposed matrix."""
    m0, m1, m2, m3, m4, m5, m6, m7, m8 = m
    return (m0, m3, m6, m1, m4, m7, m2, m5, m8)


def scale_columns(m: Mat3, factors: Vec) -> Mat3:
    """Multiply the columns of m by three factors."""
    x, y, z = factors
    if x == 1.0 and y == 1.0 and z == 1.0:
        return m
    return (
        m[0] * x,
        m[1] * y,
        m[2] * z,
        m[3] * x,
        m[4] * y,
        m[5] * z,
        m[6] * x,
        m[7] * y,
        m[8] * z,
    )


def orthonormalize(m: Mat3) -> Mat3 | None:
    """Return a right-handed orthonormal basis that keeps Y, and Z as nearly as possible.

    None if Y and Z are parallel or not finite.
    """
    _, y, z = mat_columns(m)
    ahead, up = unit(y), unit(z)
    if ahead is None or up is None:
        return None
    up = across(up, ahead)
    # Anything smaller is rounding. Written so that NaN fails as well.
    if not length(up) > 1e-6:
        return None
    up = unit(across(unit(up) or up, ahead)) or up
    return mat_from_columns(cross(ahead, up), ahead, up)


def mat_determinant(m: Mat3) -> float:
    """Return the determinant."""
    return (
        m[0] * (m[4] * m[8] - m[5] * m[7])
        - m[1] * (m[3] * m[8] - m[5] * m[6])
        + m[2] * (m[3] * m[7] - m[4] * m[6])
    )


def inverse_direction(m: Mat3, a: Vec) -> Vec:
    """Return the direction that ``m`` maps to the direction of ``a``.

    This is the adjugate times ``a``, with the determinant's sign. Its length is arbitrary; it is
    zero if ``m`` is singular.
    """
    m0, m1, m2, m3, m4, m5, m6, m7, m8 = m
    x, y, z = a
    n0, n1, n2 = m4 * m8 - m5 * m7, m5 * m6 - m3 * m8, m3 * m7 - m4 * m6
    if m0 * n0 + m1 * n1 + m2 * n2 < 0.0:
        x, y, z = -x, -y, -z
    return (
        n0 * x + (m2 * m7 - m1 * m8) * y + (m1 * m5 - m2 * m4) * z,
        n1 * x + (m0 * m8 - m2 * m6) * y + (m2 * m3 - m0 * m5) * z,
        n2 * x + (m1 * m6 - m0 * m7) * y + (m0 * m4 - m1 * m3) * z,
    )


def quat_in_axes(m: Mat3, q: Quat) -> Quat:
    """Return the rotation q expressed in the axes m: the r for which q · m = m · r.

    For sheared axes no such rotation exists. Then r is about the direction that they map to the
    axis of q. Singular axes give the identity.
    """
    w, x, y, z = q
    axis = unit(inverse_direction(m, (x, y, z)))
    if axis is None:
        return QUAT_IDENTITY
    size = length((x, y, z))
    if mat_determinant(m) < 0.0:
        size = -size
    return (w, axis[0] * size, axis[1] * size, axis[2] * size)


def inverse_apply(m: Mat3, a: Vec) -> Vec:
    """Return m⁻¹ · a, or zeros if m is singular."""
    size = mat_determinant(m)
    if size == 0.0:
        return ORIGIN
    return scaled(inverse_direction(m, a), 1.0 / abs(size))


def mat_inverse(m: Mat3) -> Mat3:
    """Return m⁻¹, or zeros if m is singular."""
    m0, m1, m2, m3, m4, m5, m6, m7, m8 = m
    n0, n1, n2 = m4 * m8 - m5 * m7, m5 * m6 - m3 * m8, m3 * m7 - m4 * m6
    size = m0 * n0 + m1 * n1 + m2 * n2
    if size == 0.0:
        return ZEROS
    return (
        n0 / size,
        (m2 * m7 - m1 * m8) / size,
        (m1 * m5 - m2 * m4) / size,
        n1 / size,
        (m0 * m8 - m2 * m6) / size,
        (m2 * m3 - m0 * m5) / size,
        n2 / size,
        (m1 * m6 - m0 * m7) / size,
        (m0 * m4 - m1 * m3) / size,
    )


def symmetric_inverse(m: Mat3) -> Mat3:
    """Return m⁻¹ for a symmetric positive definite matrix m, or zeros if m is singular.

    Only the upper half of m is used.
    """
    xx, xy, xz, _, yy, yz, _, _, zz = m
    cxx, cxy, cxz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    size = xx * cxx + xy * cxy + xz * cxz
    if not size > 1e-300:
        return ZEROS
    cxx, cxy, cxz = cxx / size, cxy / size, cxz / size
    cyy, cyz, czz = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    cyy, cyz, czz = cyy / size, cyz / size, czz / size
    return (cxx, cxy, cxz, cxy, cyy, cyz, cxz, cyz, czz)


def solve_symmetric(diagonal: Vec, off_diagonal: Vec, a: Vec) -> Vec:
    """Return m⁻¹ · a for a symmetric positive definite matrix m, or zeros if m is singular.

    Args:
        diagonal: The elements xx, yy and zz of m.
        off_diagonal: The elements xy, xz and yz.
        a: The right-hand side.
    """
    xx, yy, zz = diagonal
    xy, xz, yz = off_diagonal
    x, y, z = a
    cxx, cxy, cxz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    determinant = xx * cxx + xy * cxy + xz * cxz
    if not determinant > 1e-300:
        return ORIGIN
    cyy, cyz, czz = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    return (
        (cxx * x + cxy * y + cxz * z) / determinant,
        (cxy * x + cyy * y + cyz * z) / determinant,
        (cxz * x + cyz * y + czz * z) / determinant,
    )
