"""The wall between the solver and Blender."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "src" / "fabrik_solver" / "core"
ADDON = Path(__file__).resolve().parents[3] / "addon"
FILES = sorted(FOLDER.rglob("*.py"))
CORE = "fabrik_solver.core."


def imported(file: Path) -> set[str]:
    """The packages that a file imports, wherever in it; '..' for what lies outside of core."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.level > 1:
            names.add("..")
    return names


def test_there_is_a_solver_to_look_at() -> None:
    assert {"solve.py", "fabrik.py", "bones.py"} <= {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_file_of_the_solver_imports_blender_or_numpy(file: Path) -> None:
    assert not imported(file) & {"bpy", "bmesh", "mathutils", "gpu", "numpy", "importlib", ".."}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_solver_imports_the_standard_library_only(file: Path) -> None:
    assert imported(file) <= sys.stdlib_module_names


def test_the_solver_starts_in_a_bare_python() -> None:
    program = f"""
import sys
sys.path.insert(0, {str(FOLDER.parent)!r})
import core
core.solve(core.Chain(((0, 0), (1, 0), (1, 1))), core.Goal((0.5, 0.5)))
assert not {{"bpy", "mathutils", "numpy"}} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)


@pytest.mark.parametrize(
    "folder", ["app", "blender", "body", "editing", "features", "frame", "plan", "settings", "ui"]
)
def test_the_rest_takes_the_solver_by_its_doors(folder: str) -> None:
    for file in (ADDON / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(CORE):
                names = ("bend", "chain", "constrained_pose", "constraint_kinds", "constraints")
                more = ("deformation", "holding", "vectors", "whole_body")
                doors = [f"{CORE}{name}" for name in (*names, *more)]
                assert node.module in doors, f"{file}: {node.module}"
