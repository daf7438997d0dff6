"""Prints what the tests measured, and whether they ran compiled."""

import os
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from fabrik_solver import COMPILED

# It also draws numbers that stand in the modules loaded so far, and examples would depend on which
# tests ran before.
providers._get_local_constants = Constants

settings.register_profile("same every time", derandomize=True, deadline=None, database=None)
settings.register_profile("new each time", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("new each time" if os.environ.get("FABRIK_FUZZ") else "same every time")

FIGURES = pytest.StashKey[list[tuple[str, str]]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Call it with a name and a value to have them in the table at the end of the run."""
    figures = request.config.stash.setdefault(FIGURES, [])
    return lambda name, value: figures.append((name, value))


def pytest_report_header() -> str:
    return f"solver: {'compiled' if COMPILED else 'interpreted'}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    figures = config.stash.get(FIGURES, [])
    if not figures:
        return
    width = max(len(name) for name, _ in figures)
    terminalreporter.section("Figures")
    for name, value in figures:
        terminalreporter.line(f"{name:<{width}}  {value}")
