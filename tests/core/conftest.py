"""Puts the solver on the path as `core`, and prints what the tests measured."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Not as `addon.core`: the package of the add-on imports bpy.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "addon"))

settings.register_profile("same every time", derandomize=True, deadline=None, database=None)
settings.load_profile("same every time")

import core  # noqa: E402 - it is found through the line above

FIGURES = pytest.StashKey[list[tuple[str, str]]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Call it with a name and a value to have them in the table at the end of the run."""
    figures = request.config.stash.setdefault(FIGURES, [])
    return lambda name, value: figures.append((name, value))


def pytest_report_header() -> str:
    return f"solver: {'compiled' if core.COMPILED else 'interpreted'}"


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
