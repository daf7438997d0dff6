"""The sparse linear system of an articulated body, solved from the tips to the root.

Joints are only coupled with their ancestors, so elimination keeps zeros: R. Featherstone, “Rigid
Body Dynamics Algorithms”, 2008, §6.4 and §6.5. Blocks are 3 × 3, for the three axes of a joint.
"""

from typing import final

from .vectors import ORIGIN, Vec

Three = tuple[Vec, Vec, Vec]

NO_AXES: Three = (ORIGIN, ORIGIN, ORIGIN)


@final
class Block:
    """A 3 × 3 matrix; its rows are the axes of a joint, its columns those of an ancestor.

    Its elements are attributes instead of a list, which is several times as fast when compiled.
    """

    def __init__(self) -> None:
        self.a = self.b = self.c = 0.0
        self.d = self.e = self.f = 0.0
        self.g = self.h = self.i = 0.0

    def add_products(self, factor: float, rows: Three, columns: Three) -> None:
        """Add the dot products of three vectors with three others, times a factor."""
        (px, py, pz), (qx, qy, qz), (rx, ry, rz) = rows
        (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = columns
        self.a += factor * (px * ux + py * uy + pz * uz)
        self.b += factor * (px * vx + py * vy + pz * vz)
        self.c += factor * (px * wx + py * wy + pz * wz)
        self.d += factor * (qx * ux + qy * uy + qz * uz)
        self.e += factor * (qx * vx + qy * vy + qz * vz)
        self.f += factor * (qx * wx + qy * wy + qz * wz)
        self.g += factor * (rx * ux + ry * uy + rz * uz)
        self.h += factor * (rx * vx + ry * vy + rz * vz)
        self.i += factor * (rx * wx + ry * wy + rz * wz)

    def add_diagonal(self, values: Vec) -> None:
        """Add values to the diagonal."""
        self.a += values[0]
        self.e += values[1]
        self.i += values[2]

    def masked(self, rows: Vec, columns: Vec) -> "Block":
        """Return a copy of the block with its rows and columns scaled."""
        x, y, z = rows
        u, v, w = columns
        other = Block()
        other.a, other.b, other.c = x * u * self.a, x * v * self.b, x * w * self.c
        other.d, other.e, other.f = y * u * self.d, y * v * self.e, y * w * self.f
        other.g, other.h, other.i = z * u * self.g, z * v * self.h, z * w * self.i
        return other

    def is_zero(self) -> bool:
        """Return whether all elements are 0."""
        if self.a != 0.0 or self.b != 0.0 or self.c != 0.0:
            return False
        if self.d != 0.0 or self.e != 0.0 or self.f != 0.0:
            return False
        return self.g == 0.0 and self.h == 0.0 and self.i == 0.0


@final
class Pivot:
    """A symmetric block as L D Lᵀ.

    Attributes:
        is_positive: Whether it is positive definite; otherwise it can't be used.
    """

    def __init__(self, block: Block) -> None:
        self._p = p = block.a
        self._q = self._r = self._u = self._v = self._w = 0.0
        self.is_positive = False
        if not p > 0.0:
            return
        self._u = u = block.d / p
        self._v = v = block.g / p
        self._q = q = block.e - u * block.d
        if not q > 0.0:
            return
        below = block.h - v * block.d
        self._w = w = below / q
        self._r = r = block.i - v * block.g - w * below
        self.is_positive = r > 0.0

    def solved(self, x: float, y: float, z: float) -> Vec:
        """Return the solution for a right-hand side."""
        y -= self._u * x
        z -= self._v * x + self._w * y
        z /= self._r
        y = y / self._q - self._w * z
        x = x / self._p - self._u * y - self._v * z
        return (x, y, z)

    def divided(self, block: Block) -> Block:
        """Return the solution for each column of a block."""
        other = Block()
        other.a, other.d, other.g = self.solved(block.a, block.d, block.g)
        other.b, other.e, other.h = self.solved(block.b, block.e, block.h)
        other.c, other.f, other.i = self.solved(block.c, block.f, block.i)
        return other


@final
class JointSystem:
    """The degrees of freedom of a pose, three to a joint, and a symmetric matrix over them.

    Joints come after their ancestors. A free root has two entries: its motion, then its rotation. A
    wall is the boundary of a limit, where it stops a joint.

    Attributes:
        owners: The bone of each joint.
        axes: The three rotation axes, in the bone's local axes; zero for the root's motion.
        spins: The angular velocities of unit rotations about these axes, in the space.
        slides: The velocities of the same motions at the origin of the space.
        chains: The joint and its ancestors, the joint first.
        rows: The blocks between it and each joint of its chain.
        walls: The number of axes, from the first, about which the joint is at a wall and can't
            rotate forward.
        kept: 1 for each axis about which the joint rotates, otherwise 0.
    """

    def __init__(self) -> None:
        self.owners: list[int] = []
        self.axes: list[Three] = []
        self.spins: list[Three] = []
        self.slides: list[Three] = []
        self.chains: list[list[int]] = []
        self.rows: list[list[Block]] = []
        self.walls: list[int] = []
        self.kept: list[Vec] = []
        self._factors: list[list[Block]] = []
        self._pivots: list[Pivot] = []
        self._rotations: list[bool] = []

    def append(
        self,
        owner: int,
        axes: Three,
        spins: Three,
        slides: Three,
        parent: int,
        count: int = 3,
        walls: int = 0,
    ) -> int:
        """Add a joint.

        Args:
            owner: Its bone.
            axes: See `JointSystem`.
            spins: See `JointSystem`.
            slides: See `JointSystem`.
            parent: The index of the joint above it; -1 means none.
            count: The number of axes about which it rotates, from the first.
            walls: See `JointSystem`.

        Returns:
            The index of the joint.
        """
        index = len(self.owners)
        chain = [index]
        if parent >= 0:
            chain.extend(self.chains[parent])
        self.owners.append(owner)
        self.axes.append(axes)
        self.spins.append(spins)
        self.slides.append(slides)
        self.chains.append(chain)
        self.rows.append([Block() for _ in chain])
        self.walls.append(walls)
        self._rotations.append(axes[0] != ORIGIN)
        self.kept.append((1.0, float(count > 1), float(count > 2)))
        return index

    def is_rotation(self, index: int) -> bool:
        """Return whether a joint rotates."""
        return self._rotations[index]

    def hold(self, step: list[Vec], least: float) -> bool:
        """Lock each axis that a step moves past a wall by more than ``least``.

        Returns:
            Whether any axis was locked.
        """
        is_any = False
        for index, walls in enumerate(self.walls):
            if walls == 0:
                continue
            x, y, z = step[index]
            u, v, w = self.kept[index]
            if x > least and u > 0.0:
                u, is_any = 0.0, True
            if walls > 1 and y > least and v > 0.0:
                v, is_any = 0.0, True
            if walls > 2 and z > least and w > 0.0:
                w, is_any = 0.0, True
            self.kept[index] = (u, v, w)
        return is_any

    def factorize(self, damping: float) -> bool:
        """Factorize the matrix, with damping added to its diagonal, into Lᵀ D L.

        Returns:
            Whether the matrix is positive definite; otherwise the factors don't exist.
        """
        chains, kept = self.chains, self.kept
        factors: list[list[Block]] = []
        pivots: list[Pivot] = []
        for index, row in enumerate(self.rows):
            free, chain = kept[index], chains[index]
            u, v, w = free
            masked = [
                block.masked(free, kept[other]) for block, other in zip(row, chain, strict=True)
            ]
            masked[0].add_diagonal((1.0 - u + damping, 1.0 - v + damping, 1.0 - w + damping))
            factors.append(masked)
        for index in range(len(factors) - 1, -1, -1):
            row, chain = factors[index], chains[index]
            pivot = Pivot(row[0])
            if not pivot.is_positive:
                return False
            pivots.append(pivot)
            divided = [row[0], *[pivot.divided(block) for block in row[1:]]]
            for k in range(1, len(chain)):
                if not row[k].is_zero():
                    _subtract(factors[chain[k]], row[k], divided, k)
            factors[index] = divided
        pivots.reverse()
        self._factors = factors
        self._pivots = pivots
        return True

    def solved(self, right: list[Vec]) -> list[Vec]:
        """Solve the factorized system for a right-hand side."""
        rows, chains = self._factors, self.chains
        values: list[_Entry] = []
        for (x, y, z), (u, v, w) in zip(right, self.kept, strict=True):
            values.append(_Entry(u * x, v * y, w * z))
        for index in range(len(rows) - 1, -1, -1):
            row, chain = rows[index], chains[index]
            entry = values[index]
            x, y, z = entry.x, entry.y, entry.z
            for k in range(1, len(chain)):
                block, other = row[k], values[chain[k]]
                other.x -= block.a * x + block.d * y + block.g * z
                other.y -= block.b * x + block.e * y + block.h * z
                other.z -= block.c * x + block.f * y + block.i * z
        solution: list[Vec] = []
        for index, row in enumerate(rows):
            chain, entry = chains[index], values[index]
            x, y, z = self._pivots[index].solved(entry.x, entry.y, entry.z)
            for k in range(1, len(chain)):
                block, other = row[k], values[chain[k]]
                u, v, w = other.x, other.y, other.z
                x -= block.a * u + block.b * v + block.c * w
                y -= block.d * u + block.e * v + block.f * w
                z -= block.g * u + block.h * v + block.i * w
            entry.x, entry.y, entry.z = x, y, z
            solution.append((x, y, z))
        return solution


@final
class _Entry:
    """The entries of a vector for a joint, as attributes like in `Block`."""

    def __init__(self, x: float, y: float, z: float) -> None:
        self.x = x
        self.y = y
        self.z = z


def _subtract(blocks: list[Block], p: Block, others: list[Block], first: int) -> None:
    """Subtract from each block the transpose of ``p`` times one of ``others[first:]``."""
    a, b, c, d, e, f, g, h, i = p.a, p.b, p.c, p.d, p.e, p.f, p.g, p.h, p.i
    at = first
    for block in blocks:
        q = others[at]
        at += 1
        r, s, t, u, v, w, x, y, z = q.a, q.b, q.c, q.d, q.e, q.f, q.g, q.h, q.i
        block.a -= a * r + d * u + g * x
        block.b -= a * s + d * v + g * y
        block.c -= a * t + d * w + g * z
        block.d -= b * r + e * u + h * x
        block.e -= b * s + e * v + h * y
        block.f -= b * t + e * w + h * z
        block.g -= c * r + f * u + i * x
        block.h -= c * s + f * v + i * y
        block.i -= c * t + f * w + i * z
