"""A clip as a table: columns over frames, each a pure function of previous columns."""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Generic, TypeVar, cast

from ..core.vectors import Vec, mix
from .easing import smooth
from .smoothest import Wish, cubic, smoothest

SEEN = 5.0
"""Half the length of a curve's spans, which overlap by half, and how far before and after a span
wishes count. The unit is the time that the curve takes to follow."""

LOOKED = 1.0 / 60.0
"""The time between examined frames, in seconds."""

FINE = 0.25 * LOOKED
"""The same for curves that examine all frames, at usual frame rates."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Column(dict[Key, Value]):
    """A function's values at frames, each computed on first use."""

    def __init__(self, find: Callable[[Key], Value]) -> None:
        """Set the function, which may depend only on the frame and previous columns."""
        super().__init__()
        self._find = find

    def __missing__(self, frame: Key) -> Value:
        value = self[frame] = self._find(frame)
        return value


def between(at: Callable[[int], Vec], time: float) -> Vec:
    """Return a location at a time, interpolated linearly between frames."""
    frame = floor(time)
    here = at(frame)
    return here if time == frame else mix(here, at(frame + 1), time - frame)


class Latest(Generic[Value]):
    """A value that is cached while its inputs stay the same."""

    def __init__(self) -> None:
        self._key: object = None
        self._value: Value | None = None

    def of(self, key: object, find: Callable[[], Value]) -> Value:
        """Return the cached value, computed again if the key of its inputs has changed."""
        if self._key is None or self._key != key:
            self._value = find()
            self._key = key
        return cast(Value, self._value)


class SmoothColumn:
    """A smooth curve over time that stays close to the values that frames request.

    It also stays within their bounds. It is solved in overlapping spans, all nodes of a span at
    once, so that only nearby frames matter.
    """

    def __init__(self, ask: Callable[[int], Wish], rate: float, calm: float, looked: float) -> None:
        """Set up the curve.

        Args:
            ask: Returns what a frame requests.
            rate: Frames per second.
            calm: How long the curve takes to follow requests, in seconds.
            looked: The time between the curve's nodes, in seconds; at least a frame.
        """
        self.stride = max(1, round(rate * looked))
        rate /= self.stride
        self._half = max(2, round(SEEN * calm * rate))
        self._stiffness = (calm * rate) ** 4
        self.asked = Column(ask)
        self._spans: Column[int, list[float]] = Column(self._span)
        self.nodes = Column(self._node)

    def at(self, time: float) -> float:
        """Return the curve's value at a time."""
        number = floor(time / self.stride)
        nodes = [self.nodes[node] for node in range(number - 1, number + 3)]
        return cubic(nodes, time / self.stride - number)

    def _node(self, node: int) -> float:
        """Return the curve's value at a node, blended smoothly from one span to the next."""
        span, step = divmod(node, self._half)
        start, end = (self._spans[k][node - self._nodes(k)[0]] for k in (span, span + 1))
        return start + smooth(step / self._half) * (end - start)

    def _nodes(self, span: int) -> range:
        """Return the nodes that affect a span."""
        return range((span - 2) * self._half, (span + 2) * self._half + 1)

    def _span(self, span: int) -> list[float]:
        asked = [self.asked[self.stride * node] for node in self._nodes(span)]
        return smoothest(asked, self._stiffness)
