"""Symmetric linear equations between effectors, in 3 × 3 blocks."""

from collections.abc import Sequence
from typing import final

from .joint_system import JointSystem
from .vectors import (
    ORIGIN,
    ZEROS,
    Mat3,
    Vec,
    add,
    mat_apply,
    mat_columns,
    mat_product,
    mat_transposed,
    scale_columns,
    sub,
    symmetric_inverse,
)


@final
class Effector:
    """A point of a bone and its target, in armature space.

    Attributes:
        bone: The index of the bone.
        point: The point in the space of the posed bone.
        target: The target.
        pull: The square root of the weight.
        place: The position of the point.
        gap: The vector from that position to the target, times the pull.
        force: The effector's force from the equations, times the pull.
    """

    def __init__(self, bone: int, point: Vec, target: Vec, pull: float = 1.0) -> None:
        self.bone = bone
        self.point = point
        self.target = target
        self.pull = pull
        self.place = ORIGIN
        self.gap = ORIGIN
        self.force = ORIGIN


@final
class Lever:
    """An effector as moved by one of the bones that carry it.

    Attributes:
        number: The index of the effector.
        effector: The effector.
        last: The index of the highest bone with a fixed orientation between the bone and the
            effector; below 0 if there is none. Only the head of that bone moves.
        motion: The matrix from the bone's rotation vector to the effector's velocity, times the
            pull and the bone's compliance: three columns of J.
        motion_left: The same for the rotations that active constraints allow.
    """

    def __init__(self, number: int, effector: Effector, last: int = -1) -> None:
        self.number = number
        self.effector = effector
        self.last = last
        self.motion = ZEROS
        self.motion_left = ZEROS


@final
class Coupling:
    """The coupling of two effectors, a 3 × 3 matrix that can be changed in place."""

    def __init__(self) -> None:
        self.matrix = ZEROS

    def add(self, a: Mat3, b: Mat3) -> None:
        """Add the product a bᵀ."""
        m0, m1, m2, m3, m4, m5, m6, m7, m8 = self.matrix
        a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
        b0, b1, b2, b3, b4, b5, b6, b7, b8 = b
        self.matrix = (
            m0 + (a0 * b0 + a1 * b1 + a2 * b2),
            m1 + (a0 * b3 + a1 * b4 + a2 * b5),
            m2 + (a0 * b6 + a1 * b7 + a2 * b8),
            m3 + (a3 * b0 + a4 * b1 + a5 * b2),
            m4 + (a3 * b3 + a4 * b4 + a5 * b5),
            m5 + (a3 * b6 + a4 * b7 + a5 * b8),
            m6 + (a6 * b0 + a7 * b1 + a8 * b2),
            m7 + (a6 * b3 + a7 * b4 + a8 * b5),
            m8 + (a6 * b6 + a7 * b7 + a8 * b8),
        )

    def subtract_product(self, a: Mat3, b: Mat3) -> None:
        """Subtract the product a b."""
        m0, m1, m2, m3, m4, m5, m6, m7, m8 = self.matrix
        a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
        b0, b1, b2, b3, b4, b5, b6, b7, b8 = b
        self.matrix = (
            m0 - (a0 * b0 + a1 * b3 + a2 * b6),
            m1 - (a0 * b1 + a1 * b4 + a2 * b7),
            m2 - (a0 * b2 + a1 * b5 + a2 * b8),
            m3 - (a3 * b0 + a4 * b3 + a5 * b6),
            m4 - (a3 * b1 + a4 * b4 + a5 * b7),
            m5 - (a3 * b2 + a4 * b5 + a5 * b8),
            m6 - (a6 * b0 + a7 * b3 + a8 * b6),
            m7 - (a6 * b1 + a7 * b4 + a8 * b7),
            m8 - (a6 * b2 + a7 * b5 + a8 * b8),
        )

    def add_identity(self, factor: float) -> None:
        """Add a multiple of the identity."""
        m0, m1, m2, m3, m4, m5, m6, m7, m8 = self.matrix
        self.matrix = (m0 + factor, m1, m2, m3, m4 + factor, m5, m6, m7, m8 + factor)


class System:
    """The equations (J Jᵀ + damping) f = gaps, as a full matrix."""

    def __init__(self, effectors: list[Effector]) -> None:
        """Set the effectors; the equations are empty."""
        self._effectors = effectors
        # Each row starts at the diagonal, as the matrix is symmetric.
        count = len(effectors)
        self._rows: list[list[Coupling]] = [
            [Coupling() for _ in range(row, count)] for row in range(count)
        ]

    def reset(self, damping: float) -> None:
        """Clear the equations, leaving only the damping."""
        zeros = ZEROS
        for row in self._rows:
            for block in row:
                block.matrix = zeros
            row[0].add_identity(damping)

    def add_rotation(self, levers: list[Lever]) -> None:
        """Add the rotation of a bone, with all effectors that it moves, in order."""
        for i, lever in enumerate(levers):
            row = self._rows[lever.number]
            for j in range(i, len(levers)):
                other = levers[j]
                row[other.number - lever.number].add(lever.motion_left, other.motion_left)

    def add_translation(self, compliance: float, left: Mat3) -> None:
        """Add the translation of all bones; ``left`` projects onto the free directions."""
        moved = scale_columns(left, (compliance, compliance, compliance))
        for i, effector in enumerate(self._effectors):
            a = effector.pull
            for j, block in enumerate(self._rows[i]):
                weight = a * self._effectors[i + j].pull
                block.add(scale_columns(moved, (weight, weight, weight)), moved)

    def solve(self) -> None:
        """Compute the forces by block elimination, which overwrites the equations."""
        effectors, rows = self._effectors, self._rows
        for effector in effectors:
            effector.force = effector.gap
        for k, row in enumerate(rows):
            pivot = symmetric_inverse(row[0].matrix)
            row[0].matrix = pivot
            for i in range(1, len(row)):
                factor = mat_product(mat_transposed(row[i].matrix), pivot)
                other = effectors[k + i]
                other.force = sub(other.force, mat_apply(factor, effectors[k].force))
                for j in range(i, len(row)):
                    rows[k + i][j - i].subtract_product(factor, row[j].matrix)
        for k in range(len(rows) - 1, -1, -1):
            row = rows[k]
            force = effectors[k].force
            for i in range(1, len(row)):
                force = sub(force, mat_apply(row[i].matrix, effectors[k + i].force))
            effectors[k].force = mat_apply(row[0].matrix, force)


@final
class TreeSystem(System):
    """The same equations, faster for many effectors on few shared bones.

    Bones that move a single effector form its diagonal block; together these blocks are D. With the
    motions U of the shared bones, the equations are (D + U Uᵀ) f = gaps. By Woodbury's identity, f
    = D⁻¹ (gaps − U q), where (1 + Uᵀ D⁻¹ U) q = Uᵀ D⁻¹ gaps. The last system only couples bones
    with their ancestors.
    """

    def __init__(self, effectors: list[Effector]) -> None:
        """Set the effectors; the equations are empty."""
        self._effectors = effectors
        self._rows = []
        self._blocks: list[Coupling] = [Coupling() for _ in effectors]
        self._paths: list[list[tuple[int, Mat3]]] = []
        self._shared = JointSystem()

    def reset(self, damping: float) -> None:
        """Clear the equations, leaving only the damping."""
        self._shared = JointSystem()
        self._paths = [[] for _ in self._effectors]
        for block in self._blocks:
            block.matrix = ZEROS
            block.add_identity(damping)

    def add_rotation(self, levers: list[Lever]) -> None:
        """Add the rotation of a bone, after its ancestors."""
        if len(levers) > 1:
            self._share([(lever.number, lever.motion_left) for lever in levers])
        elif levers:
            motion = levers[0].motion_left
            self._blocks[levers[0].number].add(motion, motion)

    def add_translation(self, compliance: float, left: Mat3) -> None:
        """Add the translation of all bones, before any rotation."""
        motions: list[tuple[int, Mat3]] = []
        for number, effector in enumerate(self._effectors):
            factor = compliance * effector.pull
            motions.append((number, scale_columns(left, (factor, factor, factor))))
        self._share(motions)

    def _share(self, motions: list[tuple[int, Mat3]]) -> None:
        path = self._paths[motions[0][0]]
        parent = path[-1][0] if path else -1
        joint = self._shared.append(parent)
        for number, motion in motions:
            self._paths[number].append((joint, motion))

    def solve(self) -> None:
        """Compute the forces; this overwrites the equations."""
        shared = self._shared
        right = [ORIGIN for _ in shared.rows]
        for effector, block, path in zip(self._effectors, self._blocks, self._paths, strict=True):
            block.matrix = inverse = symmetric_inverse(block.matrix)
            force = mat_apply(inverse, effector.gap)
            for i, (joint, motion) in enumerate(path):
                right[joint] = add(right[joint], mat_apply(mat_transposed(motion), force))
                columns = mat_columns(mat_product(inverse, motion))
                for k in range(i, len(path)):
                    row = shared.rows[path[k][0]]
                    row[k - i].add_products(1.0, mat_columns(path[k][1]), columns)
        shared.factorize(1.0)
        turns = shared.solved(right)
        for effector, block, path in zip(self._effectors, self._blocks, self._paths, strict=True):
            gap = effector.gap
            for joint, motion in path:
                gap = sub(gap, mat_apply(motion, turns[joint]))
            effector.force = mat_apply(block.matrix, gap)


def system_of(
    effectors: list[Effector], levers: Sequence[Sequence[Lever]], is_free: bool
) -> System:
    """Return the equations in the form that needs fewer block products.

    Args:
        effectors: The effectors.
        levers: The levers of each bone, parents first.
        is_free: Whether the bones can also move as a whole.
    """
    depths = [int(is_free) for _ in effectors]
    full, tree = len(effectors) ** 3 // 3, int(is_free)
    for of_bone in levers:
        if len(of_bone) > 1:
            full += len(of_bone) ** 2
            for lever in of_bone:
                depths[lever.number] += 1
            tree += depths[of_bone[0].number] ** 2
    tree += sum([depth * depth for depth in depths])
    return TreeSystem(effectors) if tree < full else System(effectors)
