"""What several test modules use is in a kit, and no test module imports another one."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [file for top in ("tests", "solver/tests") for file in sorted((ROOT / top).rglob("*.py"))]


def imported(file: Path) -> set[str]:
    """The modules that a file imports, wherever in it, without their packages."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[-1] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update((node.module or "").split(".")[-1:])
            names.update(alias.name for alias in node.names)
    return names


def test_no_file_imports_a_test_module() -> None:
    modules = {other.stem for other in FILES if other.stem.startswith("test_")} | {"conftest"}
    assert len(modules) > 50
    found = {str(file.relative_to(ROOT)): imported(file) & modules for file in FILES}
    assert {name: these for name, these in found.items() if these} == {}


def test_kits_have_names_of_their_own() -> None:
    """All are on the path together, and before the standard library."""
    kits = [file.stem for file in FILES if file.parent.name == "kit"]
    assert len({*kits}) == len(kits)
    assert not {*kits} & sys.stdlib_module_names


@pytest.mark.parametrize("name", ["make_walker", "make_ground"])
def test_there_is_one_of_what_all_of_them_make(name: str) -> None:
    made = [file for file in FILES if f"\ndef {name}(" in file.read_text(encoding="utf-8")]
    assert len(made) == 1
