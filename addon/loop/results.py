"""What comes of solving a constraint: what is written, and what is shown of how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.vectors import Vec


class Report(NamedTuple):
    """How a constraint did.

    Attributes:
        state: One of the constraint's states.
        error: Distance from tip to target in world space, in metres.
        iterations_used: Sweeps that the solver took.
        message: What is wrong and what to do about it, empty if nothing is.
    """

    state: str
    error: float = 0.0
    iterations_used: int = 0
    message: str = ""


class Answer(NamedTuple):
    """A solution, and all that it is a function of.

    Attributes:
        task: What went in.
        bones: The bones that were solved.
        rotations: The local rotations of the bones, four numbers a bone.
        reports: How the constraints that were solved did.
        scales: The local scales that were solved, by bone.
        locations: The local locations that were solved, by bone.
    """

    task: object
    bones: Sequence[int]
    rotations: Sequence[float]
    reports: tuple[Report, ...]
    scales: Mapping[int, Vec]
    locations: Mapping[int, Vec]


NOTHING: Mapping[int, Vec] = {}
"""What was solved of locations or scales where there is nothing of the kind."""

OFF = "The constraint is disabled, or its influence is 0: enable it, and increase Influence"
