"""The wall between motions and Blender: they stand on the solver and on nothing else."""

import ast
import sys
from pathlib import Path

import pytest

MOTION = Path(__file__).resolve().parents[2] / "src" / "fabrik_solver" / "motion"
FILES = sorted(MOTION.rglob("*.py"))
DOORS = {"core", "core.vectors"}
"""What motions may take of the solver."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_motion_imports_anything_but_the_solver(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert (node.module or "").split(".")[0] in sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom) and node.level > (
            depth := len(file.relative_to(MOTION).parts)
        ):
            assert node.level == depth + 1 and node.module in DOORS
