"""The quick suite: each test once, in turn with another of its cases."""

import pytest

SLOW = ("newest", "long")
"""The marks of long measurements, which the quick suite leaves out."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark one case of each test as `quick`, and of each row of a test marked `rows`.

    The first test of a module gets its first case, the second its second, and so on. Tests that
    share a table of kinds then touch all of its kinds between them.
    """
    modules: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        if not any(item.get_closest_marker(name) for name in SLOW):
            module, _, name = item.nodeid.partition("::")
            cases = modules.setdefault(module, {}).setdefault(_test_of(item, name), [])
            cases.append(item)
    for tests in modules.values():
        for number, cases in enumerate(tests.values()):
            cases[number % len(cases)].add_marker("quick")


def _test_of(item: pytest.Item, name: str) -> str:
    """Return a test without its cases, but with its row if each row promises something else."""
    rows = item.get_closest_marker("rows")
    test = name.partition("[")[0]
    return f"{test}[{item.callspec.params[rows.args[0]]}]" if rows else test
