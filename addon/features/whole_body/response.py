"""Where a body's points are shown, compared with where the solver was asked to put them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabrik_solver.core.vectors import Vec

LEAST: Final = 0.5
"""The least fraction of the expected movement that points must show to determine the derivative.
A smaller fraction would ask for many times the desired movement."""


class Response:
    """How shown points follow requested points, learned from tried poses.

    Where constraints carry the bones, or scales shear them, the shown pose isn't the solved pose.
    Each try that missed improves the inverse of the shown points' derivative by Broyden's method.
    All points are in armature space. Source: "A class of methods for solving nonlinear simultaneous
    equations", 1965.
    """

    def __init__(self, points: Sequence[Vec]) -> None:
        """Expect all points to go where they are asked to, from where they are shown."""
        self._points = _numbers(points)
        self.forget()

    def forget(self) -> None:
        """Expect again that all points go where they are asked to."""
        self._asked = self._shown = self._points
        self._forget_derivative()

    def _forget_derivative(self) -> None:
        self._excess = [[0.0] * len(self._points) for _ in self._points]  # Beyond the identity.

    def asked(self, wanted: Sequence[Vec]) -> list[Vec]:
        """Return the positions to request so that points are shown where they should be."""
        there = _numbers(wanted)
        lag = _minus(there, self._shown)
        shift = _minus(self._asked, self._shown)
        numbers = [
            target + (moved + _dot(row, lag))
            for target, moved, row in zip(there, shift, self._excess, strict=True)
        ]
        return [(x, y, z) for x, y, z in zip(*[iter(numbers)] * 3, strict=True)]

    def learn(self, asked: Sequence[Vec], shown: Sequence[Vec], is_regular: bool) -> None:
        """Learn from the shown positions of points and the requested ones.

        Args:
            asked: The requested positions.
            shown: The shown positions.
            is_regular: Whether this determines the derivative. If not, each point next moves
                further by the distance it missed.
        """
        there, here = _numbers(asked), _numbers(shown)
        asked_step, seen = _minus(there, self._asked), _minus(here, self._shown)
        self._asked, self._shown = there, here
        excess = self._excess
        columns = zip(*excess, strict=True)
        back = [
            step + _dot(asked_step, column)
            for step, column in zip(asked_step, columns, strict=True)
        ]
        scale = _dot(back, seen)
        if not is_regular or scale <= LEAST * _dot(asked_step, asked_step):
            self._forget_derivative()
            return
        for row, step, other in zip(excess, asked_step, seen, strict=True):
            missing = (step - other - _dot(row, seen)) / scale
            row[:] = [value + missing * part for value, part in zip(row, back, strict=True)]


def _numbers(points: Sequence[Vec]) -> list[float]:
    return [number for point in points for number in point]


def _minus(values: Sequence[float], others: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(values, others, strict=True)]


def _dot(values: Sequence[float], others: Sequence[float]) -> float:
    return sum([a * b for a, b in zip(values, others, strict=True)])
