"""A sparse linear system over the joints of a tree, solved from the tips to the root.

Joints are only coupled with their ancestors, so elimination keeps zeros: R. Featherstone, “Rigid
Body Dynamics Algorithms”, 2008, §6.4 and §6.5. Blocks are 3 × 3, for the three axes of a joint.
"""

from typing import final

from .vectors import Vec

Three = tuple[Vec, Vec, Vec]


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

    def is_zero(self) -> bool:
        """Return whether all elements are 0."""
        if self.a != 0.0 or self.b != 0.0 or self.c != 0.0:
            return False
        if self.d != 0.0 or self.e != 0.0 or self.f != 0.0:
            return False
        return self.g == 0.0 and self.h == 0.0 and self.i == 0.0


@final
class Pivot:
    """A symmetric, positive definite block as L D Lᵀ."""

    def __init__(self, block: Block) -> None:
        self._p = p = block.a
        self._u = u = block.d / p
        self._v = v = block.g / p
        self._q = q = block.e - u * block.d
        below = block.h - v * block.d
        self._w = w = below / q
        self._r = block.i - v * block.g - w * below

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
    """A symmetric matrix over joints, three numbers to a joint; joints come after their ancestors.

    Attributes:
        chains: The joint and its ancestors, the joint first.
        rows: The blocks between it and each joint of its chain.
    """

    def __init__(self) -> None:
        self.chains: list[list[int]] = []
        self.rows: list[list[Block]] = []
        self._pivots: list[Pivot] = []

    def append(self, parent: int) -> int:
        """Add a joint; a parent of -1 means none.

        Returns:
            The index of the joint.
        """
        index = len(self.chains)
        chain = [index]
        if parent >= 0:
            chain.extend(self.chains[parent])
        self.chains.append(chain)
        self.rows.append([Block() for _ in chain])
        return index

    def factorize(self, damping: float) -> None:
        """Overwrite the matrix by its factors Lᵀ D L, with damping added to its diagonal.

        With the damping, it has to be positive definite.
        """
        rows, chains = self.rows, self.chains
        for index in range(len(rows) - 1, -1, -1):
            row, chain = rows[index], chains[index]
            row[0].add_diagonal((damping, damping, damping))
            pivot = Pivot(row[0])
            self._pivots.append(pivot)
            divided = [row[0], *[pivot.divided(block) for block in row[1:]]]
            for k in range(1, len(chain)):
                if not row[k].is_zero():
                    _subtract(rows[chain[k]], row[k], divided, k)
            rows[index] = divided
        self._pivots.reverse()

    def solved(self, right: list[Vec]) -> list[Vec]:
        """Solve the factorized system for a right-hand side."""
        rows, chains = self.rows, self.chains
        values = [_Entry(x, y, z) for x, y, z in right]
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
