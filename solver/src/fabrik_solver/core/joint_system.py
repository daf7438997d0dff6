"""The linear system of an articulated body, solved from the ends to the root without filling up.

Only degrees of freedom of which one is an ancestor of the other are coupled: R. Featherstone,
“Rigid Body Dynamics Algorithms”, 2008, §6.4 and §6.5.
"""

from typing import final

from .vectors import ORIGIN, Vec


@final
class JointSystem:
    """The degrees of freedom of a pose, parents first, and a symmetric matrix over them.

    Attributes:
        owners: The bone of each.
        axes: The axis that it rotates about, in the bone's own axes; zero where the root moves.
        spins: Its angular velocity in the space.
        slides: Its velocity at the origin of the space.
        chains: It and its ancestors, from itself.
        rows: The matrix between it and each of its chain.
        walls: Whether it must not increase, as its joint is at the end of its limit.
        held: Whether it stays, so that it counts for nothing.
    """

    __slots__ = (
        "_factors",
        "axes",
        "chains",
        "held",
        "owners",
        "rows",
        "slides",
        "spins",
        "walls",
    )
    owners: list[int]
    axes: list[Vec]
    spins: list[Vec]
    slides: list[Vec]
    chains: list[list[int]]
    rows: list[list[float]]
    walls: list[bool]
    held: list[bool]
    _factors: list[list[float]]

    def __init__(self) -> None:
        """Begin without any."""
        self.owners = []
        self.axes = []
        self.spins = []
        self.slides = []
        self.chains = []
        self.rows = []
        self.walls = []
        self.held = []
        self._factors = []

    def append(
        self, owner: int, axis: Vec, spin: Vec, slide: Vec, parent: int, is_wall: bool = False
    ) -> int:
        """Add a degree of freedom below another one, -1 for none; return its index."""
        index = len(self.owners)
        chain = [index]
        if parent >= 0:
            chain.extend(self.chains[parent])
        self.owners.append(owner)
        self.axes.append(axis)
        self.spins.append(spin)
        self.slides.append(slide)
        self.chains.append(chain)
        self.rows.append([0.0] * len(chain))
        self.walls.append(is_wall)
        self.held.append(False)
        return index

    def is_rotation(self, index: int) -> bool:
        """Return whether a degree of freedom rotates."""
        return self.axes[index] != ORIGIN

    def hold(self, step: list[float], least: float) -> bool:
        """Hold what a step takes into its wall by more than ``least``; return whether any was."""
        found = False
        for index, value in enumerate(step):
            if value > least and self.walls[index] and not self.held[index]:
                self.held[index] = found = True
        return found

    def factorize(self, damping: float) -> bool:
        """Factorize the matrix, with a damping added to its diagonal, into Lᵀ D L.

        Returns:
            Whether it is positive definite; if not, there are no factors.
        """
        chains = self.chains
        factors = [list(row) for row in self.rows]
        for index, row in enumerate(factors):
            row[0] += damping
            if True in self.held:
                for k, other in enumerate(chains[index]):
                    if self.held[index] or self.held[other]:
                        row[k] = 0.0 if k else 1.0
        for index in range(len(factors) - 1, -1, -1):
            row, chain = factors[index], chains[index]
            size, pivot = len(chain), row[0]
            if not pivot > 0.0:
                return False
            for k in range(1, size):
                share = row[k] / pivot
                if share != 0.0:
                    above = factors[chain[k]]
                    for m in range(k, size):
                        above[m - k] -= share * row[m]
            for k in range(1, size):
                row[k] /= pivot
        self._factors = factors
        return True

    def solved(self, right: list[float]) -> list[float]:
        """Return what the factorized matrix takes to the right-hand side."""
        rows, chains = self._factors, self.chains
        values = [0.0 if held else value for value, held in zip(right, self.held, strict=True)]
        for index in range(len(rows) - 1, -1, -1):
            row, chain, value = rows[index], chains[index], values[index]
            for k in range(1, len(chain)):
                values[chain[k]] -= row[k] * value
        for index, row in enumerate(rows):
            chain = chains[index]
            value = values[index] / row[0]
            for k in range(1, len(chain)):
                value -= row[k] * values[chain[k]]
            values[index] = value
        return values
