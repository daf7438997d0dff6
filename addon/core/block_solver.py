"""Symmetric equations between effectors, in blocks of three by three."""

from typing import final

from .vectors import ORIGIN, Mat3, Vec, mat_apply, mat_product, mat_symmetric_solved, sub


@final
class Block:
    """What two effectors have to do with each other; a plain class of numbers, as `Joint` is."""

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

    def solved(self, right: Vec) -> Vec:
        """Return what this block, on the diagonal, takes to the right side."""
        diagonal, others = (self.xx, self.yy, self.zz), (self.xy, self.xz, self.yz)
        return mat_symmetric_solved(diagonal, others, right)


@final
class System:
    """The equations (J Jᵀ + damping) f = gaps.

    Attributes:
        column: A column of J: how far each effector moves. Set by the one who adds it.
    """

    __slots__ = ("_blocks", "_count", "column")
    column: list[Vec]
    _blocks: list[Block]
    _count: int

    def __init__(self, count: int, damping: float) -> None:
        """Start with the damping alone, for so many effectors."""
        self.column = [ORIGIN] * count
        self._count = count
        self._blocks = []
        for row in range(count):
            for column in range(count):
                self._blocks.append(Block(damping if row == column else 0.0))

    def add(self, moved: list[int]) -> None:
        """Add the column in ``column``, of which only these effectors take part."""
        for row in moved:
            for column in moved:
                if row <= column:  # The other half is the same.
                    block = self._blocks[row * self._count + column]
                    block.add(self.column[row], self.column[column])

    def solved(self, gaps: list[Vec]) -> list[Vec]:
        """Return the forces, by elimination; the equations are used up by it."""
        count, blocks = self._count, self._blocks
        right = gaps[:]
        for k in range(count - 1):
            pivot = blocks[k * count + k]
            for row in range(k + 1, count):
                # Row by row of the transposed block: blockᵀ · pivot⁻¹.
                share = _solved_rows(pivot, blocks[k * count + row])
                right[row] = sub(right[row], mat_apply(share, right[k]))
                for column in range(row, count):
                    product = mat_product(share, blocks[k * count + column].matrix())
                    blocks[row * count + column].subtract(product)
        forces = right
        for k in range(count - 1, -1, -1):
            for column in range(k + 1, count):
                known = mat_apply(blocks[k * count + column].matrix(), forces[column])
                forces[k] = sub(forces[k], known)
            forces[k] = blocks[k * count + k].solved(forces[k])
        return forces


def _solved_rows(pivot: Block, block: Block) -> Mat3:
    """Return the transposed block, times the inverse of the pivot."""
    a = pivot.solved((block.xx, block.yx, block.zx))
    b = pivot.solved((block.xy, block.yy, block.zy))
    c = pivot.solved((block.xz, block.yz, block.zz))
    return (*a, *b, *c)
