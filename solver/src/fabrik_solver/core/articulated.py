"""The linear system of an articulated body on springs, solved in linear time.

Eliminating a bone's rotation leaves a stiffness of the bone that carries it: R. Featherstone,
“Rigid Body Dynamics Algorithms”, 2008, §7.3. Everything is in the axes, and about the origin, of
one space.
"""

from math import sqrt
from typing import final

from .joint_system import Block, Three
from .vectors import ORIGIN, Vec, add, cross, dot, length, scaled, sub

NO_AXES: Three = (ORIGIN, ORIGIN, ORIGIN)


@final
class Stiffness:
    """The resistance of springs to the motion of a bone about the origin: a symmetric 6 × 6 matrix.

    Its elements are attributes instead of a list, which is several times as fast when compiled:
    ``s`` for the force against translation, ``c`` for the force against rotation, ``t`` for the
    torque against rotation.
    """

    def __init__(self) -> None:
        """Start with zeros."""
        self.sxx = self.sxy = self.sxz = self.syy = self.syz = self.szz = 0.0
        self.cxx = self.cxy = self.cxz = 0.0
        self.cyx = self.cyy = self.cyz = 0.0
        self.czx = self.czy = self.czz = 0.0
        self.txx = self.txy = self.txz = self.tyy = self.tyz = self.tzz = 0.0

    def add(self, other: "Stiffness") -> None:
        """Add another stiffness."""
        self.sxx += other.sxx
        self.sxy += other.sxy
        self.sxz += other.sxz
        self.syy += other.syy
        self.syz += other.syz
        self.szz += other.szz
        self.cxx += other.cxx
        self.cxy += other.cxy
        self.cxz += other.cxz
        self.cyx += other.cyx
        self.cyy += other.cyy
        self.cyz += other.cyz
        self.czx += other.czx
        self.czy += other.czy
        self.czz += other.czz
        self.txx += other.txx
        self.txy += other.txy
        self.txz += other.txz
        self.tyy += other.tyy
        self.tyz += other.tyz
        self.tzz += other.tzz

    def add_product(self, force: Vec, torque: Vec, factor: float) -> None:
        """Add the scaled product of a force and torque with themselves."""
        x, y, z = force
        u, v, w = torque
        a, b, c = factor * x, factor * y, factor * z
        self.sxx += a * x
        self.sxy += a * y
        self.sxz += a * z
        self.syy += b * y
        self.syz += b * z
        self.szz += c * z
        self.cxx += a * u
        self.cxy += a * v
        self.cxz += a * w
        self.cyx += b * u
        self.cyy += b * v
        self.cyz += b * w
        self.czx += c * u
        self.czy += c * v
        self.czz += c * w
        a, b = factor * u, factor * v
        self.txx += a * u
        self.txy += a * v
        self.txz += a * w
        self.tyy += b * v
        self.tyz += b * w
        self.tzz += factor * w * w

    def add_carried(self, other: "Stiffness", head: Vec) -> None:
        """Add the stiffness of a bone that moves, but doesn't rotate, with this one."""
        x, y, z = head
        a = other.force(ORIGIN, (0.0, -z, y))
        b = other.force(ORIGIN, (z, 0.0, -x))
        c = other.force(ORIGIN, (-y, x, 0.0))
        self.sxx += other.sxx
        self.sxy += other.sxy
        self.sxz += other.sxz
        self.syy += other.syy
        self.syz += other.syz
        self.szz += other.szz
        self.cxx += a[0]
        self.cyx += a[1]
        self.czx += a[2]
        self.cxy += b[0]
        self.cyy += b[1]
        self.czy += b[2]
        self.cxz += c[0]
        self.cyz += c[1]
        self.czz += c[2]
        self.txx += y * a[2] - z * a[1]
        self.txy += y * b[2] - z * b[1]
        self.txz += y * c[2] - z * c[1]
        self.tyy += z * b[0] - x * b[2]
        self.tyz += z * c[0] - x * c[2]
        self.tzz += x * c[1] - y * c[0]

    def add_point(self, weights: Vec, point: Vec) -> None:
        """Add the resistance of a point to moving.

        A motion moves the point by slide + spin × place = slide − [place] spin.
        """
        u, v, w = weights
        x, y, z = point
        self.sxx += u
        self.syy += v
        self.szz += w
        self.cxy += u * z
        self.cxz -= u * y
        self.cyx -= v * z
        self.cyz += v * x
        self.czx += w * y
        self.czy -= w * x
        self.txx += v * z * z + w * y * y
        self.txy -= w * x * y
        self.txz -= v * x * z
        self.tyy += u * z * z + w * x * x
        self.tyz -= u * y * z
        self.tzz += u * y * y + v * x * x

    def add_turn(self, weights: Vec) -> None:
        """Add the resistance of a bone to rotating."""
        self.txx += weights[0]
        self.tyy += weights[1]
        self.tzz += weights[2]

    def add_tension(self, force: Vec, arm: Vec) -> None:
        """Add the second derivative of the energy of a force that pulls at the far end of a bone.

        Unless the force is along the bone, the derivative is negative for some rotations. Only its
        positive part is added, which is an upper bound.

        Args:
            force: The force.
            arm: The vector from the bone's head to its far end.
        """
        size = length(arm)
        if size == 0.0:
            return
        along = scaled(arm, 1.0 / size)
        tension = dot(force, arm)
        across = sub(force, scaled(along, tension / size))
        couple = 0.5 * size * length(across)
        if couple == 0.0:
            if tension > 0.0:
                self.add_product(ORIGIN, along, -tension)
                self.add_turn((tension, tension, tension))
            return
        aside = scaled(across, 0.5 * size / couple)
        # Of the 2 × 2 matrix along and aside, 0 and the tension, which the couple connects.
        largest = 0.5 * (tension + sqrt(tension * tension + 4.0 * couple * couple))
        if tension > 0.0:
            self.add_turn((tension, tension, tension))
            self.add_product(ORIGIN, along, -tension)
            self.add_product(ORIGIN, aside, -tension)
        norm = sqrt(couple * couple + largest * largest)
        axis = sub(scaled(aside, largest / norm), scaled(along, couple / norm))
        self.add_product(ORIGIN, axis, largest)

    def force(self, spin: Vec, slide: Vec) -> Vec:
        """Return the force that resists a motion."""
        x, y, z = spin
        u, v, w = slide
        return (
            self.sxx * u + self.sxy * v + self.sxz * w + self.cxx * x + self.cxy * y + self.cxz * z,
            self.sxy * u + self.syy * v + self.syz * w + self.cyx * x + self.cyy * y + self.cyz * z,
            self.sxz * u + self.syz * v + self.szz * w + self.czx * x + self.czy * y + self.czz * z,
        )

    def torque(self, spin: Vec, slide: Vec) -> Vec:
        """Return the torque about the origin that resists a motion."""
        x, y, z = spin
        u, v, w = slide
        return (
            self.cxx * u + self.cyx * v + self.czx * w + self.txx * x + self.txy * y + self.txz * z,
            self.cxy * u + self.cyy * v + self.czy * w + self.txy * x + self.tyy * y + self.tyz * z,
            self.cxz * u + self.cyz * v + self.czz * w + self.txz * x + self.tyz * y + self.tzz * z,
        )


@final
class Part:
    """A bone, with the springs that pull it.

    Attributes:
        carrier: The bone that carries it; None for a root.
        inherits: Whether it rotates with that bone; otherwise it only moves with it.
        head: Its pivot.
        stiffness: The resistance of its springs.
        total: The same with all bones that it carries, whose rotations are eliminated.
        force: The force on it and all bones that it carries.
        torque: Their torque about the origin.
        spin: Its angular velocity.
        slide: The velocity of its motion at the origin.
        freedoms: What it can do relative to its carrier, in order.
    """

    def __init__(self, carrier: "Part | None", inherits: bool, head: Vec) -> None:
        self.carrier = carrier
        self.inherits = inherits
        self.head = head
        self.stiffness = Stiffness()
        self.total = self.stiffness
        self.force = self.torque = self.spin = self.slide = ORIGIN
        self.freedoms: list[Freedom] = []

    def load(self) -> None:
        """Add the force and torque to those of the carrier."""
        carrier = self.carrier
        if carrier is not None:
            carrier.force = add(carrier.force, self.force)
            torque = self.torque if self.inherits else cross(self.head, self.force)
            carrier.torque = add(carrier.torque, torque)

    def follow(self) -> None:
        """Move as the carrier does."""
        carrier = self.carrier
        if carrier is None:
            self.spin = self.slide = ORIGIN
        elif self.inherits:
            self.spin, self.slide = carrier.spin, carrier.slide
        else:
            self.spin, self.slide = ORIGIN, add(carrier.slide, cross(carrier.spin, self.head))


@final
class Freedom:
    """Up to three axes about which a bone rotates, or along which a root moves.

    A wall is the boundary of a limit, where it stops a joint.

    Attributes:
        owner: The index of the bone.
        axes: The rotation axes, in the bone's local axes; zero for the root's motion.
        spins: The angular velocities of unit rotations about these axes, in the space.
        slides: The velocities of the same motions at the origin of the space.
        walls: The number of axes, from the first, about which the joint is at a wall and can't
            rotate forward.
        kept: 1 for each axis about which the joint rotates, otherwise 0.
        is_rotation: Whether it rotates.
        grown: How its rotation vector changes when rotating about each axis.
        own: Its own symmetric matrix.
        coupling: The matrix between it and its leader: its axes, then those of the leader.
        leader: The freedom of an ancestor that it is coupled with, itself or through a descendant.
    """

    def __init__(
        self, owner: int, axes: Three, spins: Three, slides: Three, count: int = 3, walls: int = 0
    ) -> None:
        self.owner = owner
        self.axes = axes
        self.spins = spins
        self.slides = slides
        self.walls = walls
        self.kept = (1.0, float(count > 1), float(count > 2))
        self.is_rotation = axes[0] != ORIGIN
        self.grown = NO_AXES
        self.own = Block()
        self.coupling: Block | None = None
        self.leader: Freedom | None = None
        # Of the pivot L D Lᵀ, and the divided force, torque and coupling of its motion.
        self._pivots = self._lower = ORIGIN
        self._forces = self._torques = self._back = NO_AXES
        # What followers take from its matrix, and their coupling with the motion of carriers.
        self._taken = Block()
        self._waiting_forces = self._waiting_torques = NO_AXES
        self._is_followed = False
        self._pulled = self._solved = ORIGIN

    def couple(self, leader: "Freedom") -> None:
        """Set the leader."""
        self.leader = leader
        leader._is_followed = True

    def hold(self, motion: Vec, least: float) -> bool:
        """Lock the axes that move past a wall by more than ``least``; True if any."""
        x, y, z = motion
        u, v, w = self.kept
        is_any = False
        if x > least and u > 0.0:
            u, is_any = 0.0, True
        if self.walls > 1 and y > least and v > 0.0:
            v, is_any = 0.0, True
        if self.walls > 2 and z > least and w > 0.0:
            w, is_any = 0.0, True
        self.kept = (u, v, w)
        return is_any

    def pulled(self, force: Vec, torque: Vec) -> Vec:
        """Return the forces about its axes of a force and torque on the bone."""
        return along_both(self.slides, force, self.spins, torque)

    def reset(self) -> None:
        """Forget the followers, before they are eliminated."""
        if self._is_followed:
            self._taken = Block()
            self._waiting_forces = self._waiting_torques = NO_AXES

    def eliminate(self, total: Stiffness, damping: float) -> bool:
        """Eliminate the freedom from the stiffness of its bone, with a damping on its diagonal.

        Returns:
            Whether its matrix is positive definite; otherwise it can't be eliminated.
        """
        r0, r1, r2 = self.spins
        s0, s1, s2 = self.slides
        f0 = total.force(r0, s0)
        f1 = total.force(r1, s1)
        f2 = total.force(r2, s2)
        t0 = total.torque(r0, s0)
        t1 = total.torque(r1, s1)
        t2 = total.torque(r2, s2)
        own = self.own
        a, d, g = self.pulled(f0, t0)
        _, e, h = self.pulled(f1, t1)
        i = dot(r2, t2) + dot(s2, f2)
        a, d, e = a + own.a, d + own.d, e + own.e
        g, h, i = g + own.g, h + own.h, i + own.i
        if self._is_followed:
            taken = self._taken
            g0, g1, g2 = self._waiting_forces
            u0, u1, u2 = self._waiting_torques
            x0, x1, x2 = self.pulled(g0, u0)
            y0, y1, y2 = self.pulled(g1, u1)
            z0, z1, z2 = self.pulled(g2, u2)
            a, d, e = a + x0 + x0 - taken.a, d + x1 + y0 - taken.d, e + y1 + y1 - taken.e
            g, h, i = g + x2 + z0 - taken.g, h + y2 + z1 - taken.h, i + z2 + z2 - taken.i
            f0 = add(f0, g0)
            f1 = add(f1, g1)
            f2 = add(f2, g2)
            t0 = add(t0, u0)
            t1 = add(t1, u1)
            t2 = add(t2, u2)
        u, v, w = self.kept
        if u + v + w < 3.0:
            a, e, i = u * a + 1.0 - u, v * e + 1.0 - v, w * i + 1.0 - w
            d, g, h = u * v * d, u * w * g, v * w * h
            f0 = scaled(f0, u)
            f1 = scaled(f1, v)
            f2 = scaled(f2, w)
            t0 = scaled(t0, u)
            t1 = scaled(t1, v)
            t2 = scaled(t2, w)
        a, e, i = a + damping, e + damping, i + damping
        if not a > 0.0:
            return False
        k, m = d / a, g / a
        e -= k * d
        if not e > 0.0:
            return False
        h -= m * d
        n = h / e
        i -= m * g + n * h
        if not i > 0.0:
            return False
        f1 = sub(f1, scaled(f0, k))
        t1 = sub(t1, scaled(t0, k))
        f2 = sub(sub(f2, scaled(f0, m)), scaled(f1, n))
        t2 = sub(sub(t2, scaled(t0, m)), scaled(t1, n))
        self._pivots = (a, e, i)
        self._lower = (k, m, n)
        self._forces = (f0, f1, f2)
        self._torques = (t0, t1, t2)
        total.add_product(f0, t0, -1.0 / a)
        if v > 0.0:
            total.add_product(f1, t1, -1.0 / e)
        if w > 0.0:
            total.add_product(f2, t2, -1.0 / i)
        leader = self.leader
        if leader is not None:
            self._eliminate_coupling(leader)
        return True

    def _eliminate_coupling(self, leader: "Freedom") -> None:
        """Take the freedom out of the leader's matrix, and couple its carriers with the leader."""
        block = self.coupling or Block()
        u, v, w = self.kept
        k, m, n = self._lower
        a, e, i = self._pivots
        r0, r1, r2 = self.spins
        s0, s1, s2 = self.slides
        forces, torques = leader._waiting_forces, leader._waiting_torques
        b0 = add((block.a, block.b, block.c), along_both(forces, s0, torques, r0))
        b1 = add((block.d, block.e, block.f), along_both(forces, s1, torques, r1))
        b2 = add((block.g, block.h, block.i), along_both(forces, s2, torques, r2))
        b0 = scaled(b0, u)
        b1 = sub(scaled(b1, v), scaled(b0, k))
        b2 = sub(sub(scaled(b2, w), scaled(b0, m)), scaled(b1, n))
        self._back = (b0, b1, b2)
        rows = transposed(self._back)
        columns = transposed((scaled(b0, 1.0 / a), scaled(b1, 1.0 / e), scaled(b2, 1.0 / i)))
        leader._taken.add_products(1.0, rows, columns)
        x, y, z = columns
        leader._waiting_forces = (
            sub(forces[0], combined(self._forces, x)),
            sub(forces[1], combined(self._forces, y)),
            sub(forces[2], combined(self._forces, z)),
        )
        leader._waiting_torques = (
            sub(torques[0], combined(self._torques, x)),
            sub(torques[1], combined(self._torques, y)),
            sub(torques[2], combined(self._torques, z)),
        )

    def push(self, part: Part, right: Vec) -> None:
        """Eliminate the freedom from the forces on its bone; ``right`` is its right-hand side."""
        force, torque = part.force, part.torque
        u, v, w = self.kept
        x, y, z = sub(right, along_both(self.slides, force, self.spins, torque))
        if self._is_followed:
            x, y, z = sub((x, y, z), self._pulled)
            self._pulled = ORIGIN
        k, m, n = self._lower
        a, e, i = self._pivots
        x *= u
        y = v * y - k * x
        z = w * z - m * x - n * y
        solved = (x / a, y / e, z / i)
        self._solved = solved
        part.force = plus_combined(force, self._forces, solved)
        part.torque = plus_combined(torque, self._torques, solved)
        leader = self.leader
        if leader is not None:
            leader._pulled = plus_combined(leader._pulled, self._back, solved)

    def move(self, part: Part) -> Vec:
        """Return its motion when its bone is carried; the bone then also moves by it."""
        resisted = along_both(self._forces, part.slide, self._torques, part.spin)
        leader = self.leader
        if leader is not None:
            resisted = add(resisted, along(self._back, leader._solved))
        k, m, n = self._lower
        a, e, i = self._pivots
        x, y, z = self._solved
        z -= resisted[2] / i
        y -= resisted[1] / e + n * z
        x -= resisted[0] / a + k * y + m * z
        solved = (x, y, z)
        self._solved = solved
        part.spin = plus_combined(part.spin, self.spins, solved)
        part.slide = plus_combined(part.slide, self.slides, solved)
        return solved


@final
class ArticulatedSystem:
    """The degrees of freedom of a pose, three to each freedom, and a symmetric matrix over them.

    Attributes:
        parts: The bones that move, after those that carry them.
        freedoms: Their freedoms, in the same order.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.freedoms: list[Freedom] = []

    def factorize(self, damping: float) -> bool:
        """Factorize the matrix, with damping added to its diagonal.

        Returns:
            Whether the matrix is positive definite; otherwise the factors don't exist.
        """
        for part in self.parts:
            part.total = Stiffness()
            part.total.add(part.stiffness)
            for freedom in part.freedoms:
                freedom.reset()
        for part in reversed(self.parts):
            for freedom in reversed(part.freedoms):
                if not freedom.eliminate(part.total, damping):
                    return False
            carrier = part.carrier
            if carrier is None:
                continue
            if part.inherits:
                carrier.total.add(part.total)
            else:
                carrier.total.add_carried(part.total, part.head)
        return True

    def solved(self, right: list[Vec]) -> list[Vec]:
        """Solve the factorized system for a right-hand side."""
        at = len(right)
        for part in self.parts:
            part.force = part.torque = ORIGIN
        for part in reversed(self.parts):
            for freedom in reversed(part.freedoms):
                at -= 1
                freedom.push(part, right[at])
            part.load()
        solution: list[Vec] = []
        for part in self.parts:
            part.follow()
            solution.extend([freedom.move(part) for freedom in part.freedoms])
        return solution

    def loaded(self) -> list[Vec]:
        """Return the forces about the axes of all freedoms from those on their bones.

        These are then those on each bone and all that it carries.
        """
        for part in reversed(self.parts):
            part.load()
        return [
            freedom.pulled(part.force, part.torque)
            for part in self.parts
            for freedom in part.freedoms
        ]

    def moved(self, step: list[Vec]) -> None:
        """Compute the motions of all bones in a step."""
        at = 0
        for part in self.parts:
            part.follow()
            for freedom in part.freedoms:
                motion = step[at]
                at += 1
                part.spin = plus_combined(part.spin, freedom.spins, motion)
                part.slide = plus_combined(part.slide, freedom.slides, motion)


def along(axes: Three, vector: Vec) -> Vec:
    """Return the components of a vector along three axes."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = axes
    x, y, z = vector
    return ux * x + uy * y + uz * z, vx * x + vy * y + vz * z, wx * x + wy * y + wz * z


def along_both(axes: Three, vector: Vec, others: Three, other: Vec) -> Vec:
    """Return the components of a vector along three axes, plus those of another along others."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = axes
    x, y, z = vector
    (ox, oy, oz), (px, py, pz), (qx, qy, qz) = others
    a, b, c = other
    return (
        ux * x + uy * y + uz * z + ox * a + oy * b + oz * c,
        vx * x + vy * y + vz * z + px * a + py * b + pz * c,
        wx * x + wy * y + wz * z + qx * a + qy * b + qz * c,
    )


def combined(axes: Three, shares: Vec) -> Vec:
    """Return the sum of three axes times their factors."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = axes
    x, y, z = shares
    return x * ux + y * vx + z * wx, x * uy + y * vy + z * wy, x * uz + y * vz + z * wz


def plus_combined(vector: Vec, axes: Three, shares: Vec) -> Vec:
    """Return a vector plus the sum of three axes times their factors."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = axes
    x, y, z = shares
    a, b, c = vector
    return (
        a + x * ux + y * vx + z * wx,
        b + x * uy + y * vy + z * wy,
        c + x * uz + y * vz + z * wz,
    )


def transposed(axes: Three) -> Three:
    """Return the transpose of a matrix of three rows."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = axes
    return (ux, vx, wx), (uy, vy, wy), (uz, vz, wz)
