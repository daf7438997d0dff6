"""How thoroughly to measure."""

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """Everything, or just enough to see that the benchmark itself works.

    Attributes:
        quick: Whether to do little; the figures then mean nothing.
    """

    quick: bool = False

    def of(self, full: T, quick: T) -> T:
        """Return one of two amounts."""
        return quick if self.quick else full
