"""How many calls a function takes: a measure of work that no busy machine disturbs."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

import pytest

from fabrik_solver import COMPILED

T = TypeVar("T")


def calls_of(function: Callable[[], T]) -> tuple[int, T]:
    """The calls of Python functions, and what was returned; skips where nothing can be counted."""
    if COMPILED:
        pytest.skip("a compiled solver makes no calls that could be counted")
    count = 0

    def counted(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    profiler = sys.getprofile()
    sys.setprofile(counted)
    try:
        result = function()
    finally:
        sys.setprofile(profiler)
    return count, result
