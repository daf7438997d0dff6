"""What the documents name is there: tests and modules."""

import re
import runpy
from pathlib import Path

import bpy
import pytest

from tools import diagrams, messages, speed

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
    modules = re.findall(r"`((?:addon|solver|tests|tools)/[\w/.]+)`", FACTS)
    assert [path for path in modules if not (ROOT / path).is_file()] == []


def test_every_fact_has_its_versions_tests_and_modules() -> None:
    facts = re.findall(r"^- \*\*.*?(?=^- |^#|\Z)", FACTS, re.MULTILINE | re.DOTALL)
    assert len(facts) == len(re.findall("^- ", FACTS, re.MULTILINE)) > 70
    for fact in facts:
        assert re.search(
            r"\*Versions:\* .+ · \*Test:\* .+ · \*Used by:\* `(addon|solver|tests|tools)/", fact
        ), fact


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_module_of_the_architecture_exists() -> None:
    """Written from the package's folder, or within the folder that was named last."""
    packages = (ROOT / "addon", ROOT / "solver" / "src" / "fabrik_solver")
    folders = {folder for top in packages for folder in (top, *top.rglob("*")) if folder.is_dir()}
    found = re.findall(r"`([\w/]+\.py)`", ARCHITECTURE)
    assert len(found) > 40
    for path in found:
        assert any((folder / path).is_file() for folder in (ROOT, *folders)), path


@pytest.mark.parametrize("folder", ["frame", "plan"])
def test_the_architecture_has_every_module_of_a_frame(folder: str) -> None:
    modules = {path.name for path in (ROOT / "addon" / folder).glob("*.py")} - {"__init__.py"}
    assert {name for name in modules if f"{folder}/{name}`" not in ARCHITECTURE} == set()


def test_the_picture_of_the_layers_names_all_features() -> None:
    picture = set(re.findall(r"[\w/]+", re.sub(r"\\n", " ", diagrams.source_of("layers"))))
    folders = {path.parent.name for path in (ROOT / "addon" / "features").glob("*/__init__.py")}
    assert folders - picture == set()
    layers = {f"{path.parent.name}/" for path in (ROOT / "addon").glob("*/__init__.py")}
    assert layers - picture == set()


def test_the_diagrams_are_drawn_from_their_sources() -> None:
    """If this fails, run make diagrams."""
    for source in diagrams.sources():
        assert diagrams.picture_of(source).read_text("utf-8").endswith(diagrams.mark_of(source))


@pytest.mark.parametrize("path", speed.TABLES, ids=lambda path: path.name)
def test_the_tables_of_speed_are_of_the_same_runs(path: Path) -> None:
    """If this fails, run tools/speed.py."""
    page = path.read_text(encoding="utf-8")
    assert page == speed.with_table(page, speed.TABLES[path])


def test_the_runs_have_that_of_the_benchmarks() -> None:
    """If this fails, run tools/speed.py add."""
    run = speed.run_of(speed.PAGE.read_text(encoding="utf-8"))
    assert len(run) > 5
    lines = speed.runs()
    last = [{**line, "run": run[0]["run"]} for line in lines if line["run"] == lines[-1]["run"]]
    assert lines[-1]["run"].startswith(run[0]["run"])
    assert last == run


REFERENCE = runpy.run_path(str(ROOT / "tools" / "reference.py"))


@pytest.mark.parametrize("kind", ["properties", "operators"])
def test_the_reference_is_up_to_date(kind: str) -> None:
    """In each version of Blender; if this fails, run tools/reference.py."""
    text = REFERENCE[f"{kind}_page"]()
    assert text == (REFERENCE["FOLDER"] / f"{kind}.md").read_text(encoding="utf-8")


def test_the_reference_lists_properties_outside_groups() -> None:
    text = (REFERENCE["FOLDER"] / "properties.md").read_text(encoding="utf-8")
    for owner in REFERENCE["OWNERS"]:
        names = [
            prop.identifier
            for prop in getattr(bpy.types, owner).bl_rna.properties
            if prop.identifier.startswith("fabrik") and not prop.is_hidden
        ]
        # A group has a section, another property a row.
        unlisted = [n for n in names if f"## {owner}.{n}" not in text and f"| `{n}` |" not in text]
        assert unlisted == []


def test_the_page_of_messages_is_up_to_date() -> None:
    """If this fails, run tools/reference.py."""
    assert messages.messages_page() == messages.PAGE.read_text(encoding="utf-8")


def test_advice_is_for_messages_of_its_section() -> None:
    """If this fails, correct tools/advice.toml: the message was changed, or has moved."""
    listed = messages.sections()
    for section, shown in zip(listed, messages.messages_of(listed), strict=True):
        assert sorted(set(section["advice"]) - set(shown)) == []
