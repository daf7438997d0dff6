"""Joint limits: a bone's allowed rotations, relative to its rest pose and in its rest axes.

A limit projects any rotation to an allowed rotation near it. Blender's bones point along Y.
Rotation about Y is twist; rotation about an axis in the XZ plane is swing. Any rotation is a twist
followed by a swing.
"""

from math import atan2, cos, pi, sin, sqrt
from typing import Final, final

from .vectors import (
    QUAT_IDENTITY,
    ZEROS,
    Quat,
    Vec,
    add_product,
    length,
    quat_about,
    quat_inverse,
    quat_product,
    rotate,
    scaled,
)

Range = tuple[float, float]
"""The minimum and the maximum angle, in radians."""

FREE: Final = 2.0 * pi - 1e-9
"""A range of angles at least this wide allows everything."""

AT_END: Final = 1e-7
"""Maximum distance from the end of a range for an angle to count as at the end, in radians."""

ANYWHERE: Final = pi - 1e-6
"""Semi-axes above this let a bone swing in any direction."""

STEPS: Final = 48
"""Number of segments of an outline: a multiple of 4, for the quadrants of a cone."""

ALONG: Final = 0.999
"""The cosine between axis and bone above which a hinge only twists the bone."""


class Limit:
    """The rotations that a joint allows."""

    def nearest(self, rotation: Quat) -> Quat:
        """Return the allowed rotation nearest to a unit quaternion, or one close to it."""
        return rotation

    def normals(self, rotation: Quat) -> list[Vec]:
        """Return the outward normals of the limit at a rotation on its boundary.

        Each is the normalized gradient of an angle at the end of its range. A further rotation
        vector, in the rotation's axes, leaves the limit if its component along it is positive.
        """
        return []

    def inside(self, unit_point: Vec) -> Quat:
        """Map a point of the unit cube to an allowed rotation."""
        return QUAT_IDENTITY

    def outline(self) -> list[Quat]:
        """Return allowed rotations that move the bone along the boundary of its directions.

        For a hinge they run from its minimum to its maximum angle, for a cone once around its
        ellipse. Empty if the bone may point anywhere, or only in a single direction.
        """
        return []

    def twists(self, rotation: Quat) -> list[Quat]:
        """Return allowed rotations that twist the bone from end to end of its range.

        Empty if its twist is free, locked, or depends on its direction.

        Args:
            rotation: An allowed rotation, whose direction the bone keeps.
        """
        return []

    def is_at_end(self, rotation: Quat, margin: float) -> bool:
        """Return whether a rotation is at an end of its limit. A locked joint never is.

        Args:
            rotation: An allowed rotation.
            margin: Maximum distance from the end for a rotation to count as at the end, in radians.
        """
        return False


@final
class Hinge(Limit):
    """A joint with one axis.

    Attributes:
        axis: The axis, a unit vector.
        turn: The allowed angles about it.
        along: The projection onto the axis.
    """

    def __init__(self, axis: Vec, turn: Range) -> None:
        """Set the axis and the allowed angles.

        Raises:
            ValueError: If the minimum angle exceeds the maximum.
        """
        _refuse_empty(turn)
        self.axis = axis
        self.turn = turn
        self.along = add_product(ZEROS, axis, axis)

    def nearest(self, rotation: Quat) -> Quat:
        """Return the rotation's twist about the axis, clamped."""
        return quat_about(self.axis, _within(self._angle(rotation), self.turn))

    def normals(self, rotation: Quat) -> list[Vec]:
        """Return the hinge axis at the maximum angle, its opposite at the minimum, else nothing."""
        return [scaled(self.axis, end) for end in _ends(self._angle(rotation), self.turn)]

    def _angle(self, rotation: Quat) -> float:
        w, x, y, z = rotation
        ax, ay, az = self.axis
        return 2.0 * atan2(x * ax + y * ay + z * az, w)

    def inside(self, unit_point: Vec) -> Quat:
        """Return a rotation about the axis; uses the first coordinate only."""
        low, high = self.turn
        return quat_about(self.axis, low + unit_point[0] * (high - low))

    def outline(self) -> list[Quat]:
        """Return the rotations from minimum to maximum; empty if they only twist the bone."""
        return [] if abs(self.axis[1]) > ALONG else self._turns()

    def twists(self, rotation: Quat) -> list[Quat]:
        """Return the rotations from minimum to maximum; empty unless they only twist the bone."""
        return self._turns() if abs(self.axis[1]) > ALONG else []

    def _turns(self) -> list[Quat]:
        low, high = self.turn
        return [quat_about(self.axis, angle) for angle in _steps(low, min(high, low + 2.0 * pi))]

    def is_at_end(self, rotation: Quat, margin: float) -> bool:
        """Return whether the angle is at an end of its range."""
        return _is_near_end(self._angle(rotation), self.turn, margin)


@final
class Cone(Limit):
    """A joint that swings within an elliptical cone and twists within a range.

    Swing is a rotation vector in the XZ plane, with a separate ellipse for each quadrant. Semi-axes
    of π leave swing free.

    Attributes:
        center: The rotation from which swing and twist are measured.
        swing_x: The allowed swing angles about X; they include 0.
        swing_z: The allowed swing angles about Z; they include 0.
        twist: The allowed twist angles.
    """

    def __init__(
        self, swing_x: Range, swing_z: Range, twist: Range, center: Quat = QUAT_IDENTITY
    ) -> None:
        """Set the allowed angles.

        Raises:
            ValueError: If a minimum angle exceeds the maximum, or swing excludes the center.
        """
        for angles in (swing_x, swing_z, twist):
            _refuse_empty(angles)
        if max(swing_x[0], swing_z[0]) > 0.0 or min(swing_x[1], swing_z[1]) < 0.0:
            raise ValueError("the angles of swing must include 0")
        self.swing_x = swing_x
        self.swing_z = swing_z
        self.twist = twist
        self.center = center
        self.back = quat_inverse(center)

    def nearest(self, rotation: Quat) -> Quat:
        """Return the rotation with swing and twist clamped."""
        x, z, angle, twist = self._parts(rotation)
        swing_x, swing_z = _in_ellipses(x * angle, z * angle, self.swing_x, self.swing_z)
        return self._turn(swing_x, swing_z, _within(twist, self.twist))

    def normals(self, rotation: Quat) -> list[Vec]:
        """Return the normals of swing on its ellipse, and of twist at the ends of its range.

        A rotation ω moves the bone's direction d by ω × d. It increases the twist about d by ω · (Y
        + d) / (1 + Y · d). The swing about an axis a by an angle increases by a (ω · a), and by
        angle / sin(angle) (ω · (d × a)) perpendicular to it.
        """
        x, z, angle, twist = self._parts(rotation)
        ends = _ends(twist, self.twist)
        outward = _outward(x * angle, z * angle, self.swing_x, self.swing_z)
        planes: list[Vec] = []
        if not ends and not outward:
            return planes
        sine, cosine = sin(angle), cos(angle)
        for end in ends:
            swing_part = end / max(1.0 + cosine, 1e-9)
            planes.append((-z * sine * swing_part, end, x * sine * swing_part))
        widening = angle / sine if sine > 1e-9 else 1.0
        for gx, gz in outward:
            along = gx * x + gz * z
            aside = (gx * z - gz * x) * widening
            # d × a, with a = (x, 0, z) and d = (−z sin, cos, x sin).
            planes.append(
                (along * x + aside * cosine * z, aside * sine, along * z - aside * cosine * x)
            )
        return [scaled(rotate(self.center, n), 1.0 / length(n)) for n in planes]

    def _parts(self, rotation: Quat) -> tuple[float, float, float, float]:
        """Return the swing axis as x and z, the swing angle from 0 to π, and the twist angle."""
        w, x, y, z = quat_product(self.back, rotation)
        turned = sqrt(w * w + y * y)
        # At a swing of π twist is undefined: use 0.
        tw, ty = (w / turned, y / turned) if turned > 1e-9 else (1.0, 0.0)
        # Swing = rotation · twist⁻¹; its Y is 0 and its w isn't below 0.
        sx, sz = x * tw + z * ty, z * tw - x * ty
        size = sqrt(sx * sx + sz * sz)
        twist = 2.0 * atan2(ty, tw)
        if size < 1e-12:
            return 1.0, 0.0, 0.0, twist
        return sx / size, sz / size, 2.0 * atan2(size, turned), twist

    def inside(self, unit_point: Vec) -> Quat:
        """Return an allowed rotation from the swing's direction and size, and the twist."""
        heading, radius = 2.0 * pi * unit_point[0], sqrt(unit_point[1])
        x, z = cos(heading) * radius, sin(heading) * radius
        low, high = self.twist
        return self._turn(
            x * (self.swing_x[1] if x > 0.0 else -self.swing_x[0]),
            z * (self.swing_z[1] if z > 0.0 else -self.swing_z[0]),
            low + unit_point[2] * (high - low),
        )

    def outline(self) -> list[Quat]:
        """Return the swings once around the ellipse, with an allowed twist."""
        if min(-self.swing_x[0], self.swing_x[1], -self.swing_z[0], self.swing_z[1]) > ANYWHERE:
            return []
        twist = _within(0.0, self.twist)
        swings: list[Quat] = []
        for step in range(STEPS + 1):
            x, z = cos(2.0 * pi * step / STEPS), sin(2.0 * pi * step / STEPS)
            half_x = self.swing_x[1] if x > 0.0 else -self.swing_x[0]
            half_z = self.swing_z[1] if z > 0.0 else -self.swing_z[0]
            swings.append(self._turn(x * half_x, z * half_z, twist))
        return swings

    def twists(self, rotation: Quat) -> list[Quat]:
        """Return the twists from minimum to maximum, at the rotation's swing."""
        low, high = self.twist
        if high - low >= FREE or high == low:
            return []
        x, z, angle, _ = self._parts(rotation)
        return [self._turn(x * angle, z * angle, twist) for twist in _steps(low, high)]

    def is_at_end(self, rotation: Quat, margin: float) -> bool:
        """Return whether swing is on its ellipse, or twist at an end of its range."""
        x, z, angle, twist = self._parts(rotation)
        return _is_near_end(twist, self.twist, margin) or _is_near_edge(
            x * angle, z * angle, self.swing_x, self.swing_z, margin
        )

    def _turn(self, swing_x: float, swing_z: float, twist: float) -> Quat:
        size = sqrt(swing_x * swing_x + swing_z * swing_z)
        swing = QUAT_IDENTITY
        if size > 0.0:
            swing = quat_about((swing_x / size, 0.0, swing_z / size), size)
        half = 0.5 * twist
        turn = quat_product(swing, (cos(half), 0.0, sin(half), 0.0))
        return quat_product(self.center, turn)


def _refuse_empty(angles: Range) -> None:
    low, high = angles
    if not low <= high:
        raise ValueError("the least angle is more than the greatest")


def _within(angle: float, angles: Range) -> float:
    """Clamp the angle to the nearer end of the range, the short way around."""
    low, high = angles
    if high - low >= FREE:
        return angle
    middle = 0.5 * (low + high)
    # Python's remainder has the sign of the divisor.
    from_middle = (angle - middle + pi) % (2.0 * pi) - pi
    return min(high, max(low, middle + from_middle))


def _ends(angle: float, angles: Range) -> list[float]:
    """Return 1.0 at the maximum angle of the range, -1.0 at the minimum."""
    low, high = angles
    if high - low >= FREE:
        return []
    ends: list[float] = []
    from_low = (angle - low + pi) % (2.0 * pi) - pi
    from_high = (angle - high + pi) % (2.0 * pi) - pi
    if abs(from_high) < AT_END:
        ends.append(1.0)
    if abs(from_low) < AT_END:
        ends.append(-1.0)
    return ends


def _steps(low: float, high: float) -> list[float]:
    return [low + (high - low) * step / STEPS for step in range(STEPS + 1)]


def _is_near_end(angle: float, angles: Range, margin: float) -> bool:
    low, high = angles
    if high - low >= FREE or high - low <= 2.0 * margin:
        return False
    from_low = (angle - low + pi) % (2.0 * pi) - pi
    from_high = (angle - high + pi) % (2.0 * pi) - pi
    return min(abs(from_low), abs(from_high)) <= margin


def _is_near_edge(x: float, z: float, range_x: Range, range_z: Range, margin: float) -> bool:
    """Return whether a point is near its quadrant's ellipse, or a straight edge next to it."""
    for at, (low, high) in ((x, range_x), (z, range_z)):
        # On that side the ellipse has no width.
        if (high > margin >= -low and at <= margin) or (-low > margin >= high and at >= -margin):
            return True
    a = -range_x[0] if x < 0.0 else range_x[1]
    b = -range_z[0] if z < 0.0 else range_z[1]
    if a <= margin:
        return _is_near_end(z, range_z, margin)
    if b <= margin:
        return _is_near_end(x, range_x, margin)
    px, pz = x / a, z / b
    # The distance to where the quadric is 1, to first order.
    slope = 2.0 * sqrt(px * px / (a * a) + pz * pz / (b * b))
    return 1.0 - px * px - pz * pz <= margin * slope


def _outward(x: float, z: float, range_x: Range, range_z: Range) -> list[tuple[float, float]]:
    """Return the outward normals of a quadrant's ellipse, at a point on it."""
    a = -range_x[0] if x < 0.0 else range_x[1]
    b = -range_z[0] if z < 0.0 else range_z[1]
    if a > 0.0 and b > 0.0:
        if (x / a) * (x / a) + (z / b) * (z / b) < 1.0 - AT_END:
            return []
        gx, gz = x / (a * a), z / (b * b)
        size = sqrt(gx * gx + gz * gz)
        return [(gx / size, gz / size)]
    # Without width, only the other axis remains, with two ends.
    slopes: list[tuple[float, float]] = []
    for end in _ends(x, range_x):
        slopes.append((end, 0.0))
    for end in _ends(z, range_z):
        slopes.append((0.0, end))
    return slopes


def _in_ellipses(x: float, z: float, range_x: Range, range_z: Range) -> tuple[float, float]:
    """Project a point into the ellipse of its quadrant."""
    sign_x = -1.0 if x < 0.0 else 1.0
    sign_z = -1.0 if z < 0.0 else 1.0
    near_x, near_z = _in_ellipse(
        abs(x),
        abs(z),
        -range_x[0] if x < 0.0 else range_x[1],
        -range_z[0] if z < 0.0 else range_z[1],
    )
    return sign_x * near_x, sign_z * near_z


def _in_ellipse(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """Return the point nearest to (x, y) ≥ 0 in the ellipse with semi-axes a and b.

    On the ellipse it is (a² x / (t + a²), b² y / (t + b²)). Newton's method finds t from below,
    because the remaining error is convex in t (D. Eberly, “Distance from a Point to an Ellipse”,
    2013).
    """
    if a <= 0.0:
        return 0.0, min(y, max(b, 0.0))
    if b <= 0.0:
        return min(x, a), 0.0
    if (x / a) * (x / a) + (y / b) * (y / b) <= 1.0:
        return x, y
    ax, by = a * x, b * y
    t = max(ax - a * a, by - b * b)
    for _ in range(50):
        p, q = ax / (t + a * a), by / (t + b * b)
        over = p * p + q * q - 1.0
        slope = 2.0 * (p * p / (t + a * a) + q * q / (t + b * b))
        step = over / slope
        t += step
        if step <= 1e-14 * (t + a * a):
            break
    p, q = ax / (t + a * a), by / (t + b * b)
    size = sqrt(p * p + q * q)
    return a * p / size, b * q / size
