"""How thoroughly to measure."""

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """Whether to measure in full, or just enough to test the benchmark itself.

    Attributes:
        quick: Whether to measure little; the figures then mean nothing.
    """

    quick: bool = False

    def of(self, full: T, quick: T) -> T:
        """Return the amount for a full or a quick run."""
        return quick if self.quick else full
