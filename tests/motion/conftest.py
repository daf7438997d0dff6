"""Prints what the tests measured."""

from collections.abc import Callable

import pytest
from hypothesis import settings

settings.register_profile("same every time", derandomize=True, deadline=None, database=None)
settings.load_profile("same every time")

FIGURES = pytest.StashKey[list[tuple[str, str]]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    figures = request.config.stash.setdefault(FIGURES, [])
    return lambda name, value: figures.append((name, value))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for name, value in config.stash.get(FIGURES, []):
        terminalreporter.line(f"{name}  {value}")
