"""What the documents name is there: tests and modules."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FACTS = (ROOT / "docs" / "blender-facts.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(?:\w+::)?(\w+)`", FACTS)


def functions_of(path: str) -> set[str]:
    """Return the names of the tests in a file, in classes as well."""
    return set(re.findall(r"^ *def (test_\w+)\(", (ROOT / path).read_text("utf-8"), re.MULTILINE))


def test_every_test_that_pins_a_fact_exists() -> None:
    assert len(NAMED) == len(re.findall("`tests/[^`]*::", FACTS)) > 70
    known = {path: functions_of(path) for path, _ in NAMED}
    assert [f"{path}::{name}" for path, name in NAMED if name not in known[path]] == []


def test_every_test_of_facts_is_named() -> None:
    path = "tests/blender/test_facts.py"
    assert functions_of(path) - {name for named, name in NAMED if named == path} == set()


def test_every_module_that_relies_on_a_fact_exists() -> None:
    modules = re.findall(r"`((?:addon|tests)/[\w/.]+)`", FACTS)
    assert [path for path in modules if not (ROOT / path).is_file()] == []


def test_every_fact_has_its_versions_tests_and_modules() -> None:
    facts = re.findall(r"^- \*\*.*?(?=^- |^#|\Z)", FACTS, re.MULTILINE | re.DOTALL)
    assert len(facts) == len(re.findall("^- ", FACTS, re.MULTILINE)) > 70
    for fact in facts:
        assert re.search(r"\*Versions:\* .+ · \*Test:\* .+ · \*Used by:\* `(addon|tests)/", fact), (
            fact
        )
