"""Prints what the tests measured, and whether they ran compiled."""

import os
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from once import pytest_collection_modifyitems as pytest_collection_modifyitems

from fabrik_solver import COMPILED

# It also draws numbers from the modules loaded so far, so examples would depend on earlier tests.
providers._get_local_constants = Constants

settings.register_profile("same every time", derandomize=True, deadline=None, database=None)
settings.register_profile("new each time", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("new each time" if os.environ.get("FABRIK_FUZZ") else "same every time")


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str, str], None]:
    """Call it with a name and a value to have them in the table at the end of the run."""
    return record_property


def pytest_report_header() -> str:
    return f"solver: {'compiled' if COMPILED else 'interpreted'}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # Reports are what comes back from the processes in which tests run, in any order.
    reports = [
        report
        for kind in ("passed", "failed")
        for report in terminalreporter.stats.get(kind, ())
        if report.when == "call"
    ]
    reports.sort(key=lambda report: report.location[:2])
    figures = [figure for report in reports for figure in report.user_properties]
    if not figures:
        return
    width = max(len(name) for name, _ in figures)
    terminalreporter.section("Figures")
    for name, value in figures:
        terminalreporter.line(f"{name:<{width}}  {value}")
