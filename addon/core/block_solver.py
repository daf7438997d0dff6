"""Symmetric linear equations between effectors, in 3 × 3 blocks."""

from typing import final

from .vectors import ORIGIN, Mat3, Vec, mat_apply, mat_product, solve_symmetric, sub


@final
class Block:
    """The coupling of two effectors; a plain class of numbers, like `Joint`."""

    __slots__ = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")
    xx: float
    xy: float
    xz: float
    yx: float
    yy: float
    yz: float
    zx: float
    zy: float
    zz: float

    def __init__(self, diagonal: float) -> None:
        self.xx = self.yy = self.zz = diagonal
        self.xy = self.xz = self.yx = self.yz = self.zx = self.zy = 0.0

    def add(self, a: Vec, b: Vec) -> None:
        """Add the product a bᵀ."""
        ax, ay, az = a
        bx, by, bz = b
        self.xx += ax * bx
        self.xy += ax * by
        self.xz += ax * bz
        self.yx += ay * bx
        self.yy += ay * by
        self.yz += ay * bz
        self.zx += az * bx
        self.zy += az * by
        self.zz += az * bz

    def subtract(self, m: Mat3) -> None:
        """Subtract a matrix."""
        self.xx -= m[0]
        self.xy -= m[1]
        self.xz -= m[2]
        self.yx -= m[3]
        self.yy -= m[4]
        self.yz -= m[5]
        self.zx -= m[6]
        self.zy -= m[7]
        self.zz -= m[8]

    def matrix(self) -> Mat3:
        """Return it as a matrix."""
        return (
            *(self.xx, self.xy, self.xz),
            *(self.yx, self.yy, self.yz),
            *(self.zx, self.zy, self.zz),
        )

    def solve(self, right: Vec) -> Vec:
        """Solve for one right-hand side; the block must be symmetric."""
        diagonal, others = (self.xx, self.yy, self.zz), (self.xy, self.xz, self.yz)
        return solve_symmetric(diagonal, others, right)


@final
class System:
    """The equations (J Jᵀ + damping) f = gaps.

    Attributes:
        column: A column of J: the velocity of each effector. Set before `add`.
    """

    __slots__ = ("_blocks", "_count", "column")
    column: list[Vec]
    _blocks: list[Block]
    _count: int

    def __init__(self, count: int, damping: float) -> None:
        """Start with the damping alone."""
        self.column = [ORIGIN] * count
        self._count = count
        self._blocks = []
        for row in range(count):
            for column in range(count):
                self._blocks.append(Block(damping if row == column else 0.0))

    def add(self, moved: list[int]) -> None:
        """Add ``column``, which is zero for all effectors but these."""
        for row in moved:
            for column in moved:
                if row <= column:  # The other half is the same.
                    block = self._blocks[row * self._count + column]
                    block.add(self.column[row], self.column[column])

    def solve(self, gaps: list[Vec]) -> list[Vec]:
        """Return the forces by block elimination, which overwrites the equations."""
        count, blocks = self._count, self._blocks
        right = gaps[:]
        for k in range(count - 1):
            pivot = blocks[k * count + k]
            for row in range(k + 1, count):
                # blockᵀ · pivot⁻¹, row by row.
                share = _solve_rows(pivot, blocks[k * count + row])
                right[row] = sub(right[row], mat_apply(share, right[k]))
                for column in range(row, count):
                    product = mat_product(share, blocks[k * count + column].matrix())
                    blocks[row * count + column].subtract(product)
        forces = right
        for k in range(count - 1, -1, -1):
            for column in range(k + 1, count):
                known = mat_apply(blocks[k * count + column].matrix(), forces[column])
                forces[k] = sub(forces[k], known)
            forces[k] = blocks[k * count + k].solve(forces[k])
        return forces


def _solve_rows(pivot: Block, block: Block) -> Mat3:
    """Return the transposed block times the inverse of the pivot."""
    a = pivot.solve((block.xx, block.yx, block.zx))
    b = pivot.solve((block.xy, block.yy, block.zy))
    c = pivot.solve((block.xz, block.yz, block.zz))
    return (*a, *b, *c)
