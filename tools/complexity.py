#!/usr/bin/env python3
"""Check how many decisions the functions of the extension and of the solver make.

Ruff's own rule counts statements, so a decision within ``any(…)``, ``next(…)``, a conditional
expression or a comprehension costs nothing there. Radon counts all of them alike.

    python tools/complexity.py      fails if more functions than allowed are complex
    python tools/complexity.py 15   lists the functions above 15, the worst first
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("addon", "solver/src")

ALLOWED = {10: 270, 15: 36, 20: 4}
"""How many functions may be above a complexity. Lower a number when fewer are; never raise it."""


class Function(NamedTuple):
    """A function or method, and the number of ways through it."""

    complexity: int
    where: str


def functions_in(source: str, path: str) -> Iterator[Function]:
    """Yield the functions and methods of a module, each with those defined within it."""
    from radon.complexity import cc_visit  # Only the environment of the tools has it.

    for block in cc_visit(source, no_assert=True):
        if block.letter != "C":  # Its methods are listed by themselves.
            yield Function(block.complexity, f"{path}:{block.lineno} {block.fullname}")


def all_functions() -> list[Function]:
    """Return the functions of the extension and of the solver, the most complex first."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return sorted(
        (
            function
            for path in paths
            for function in functions_in(path.read_text(encoding="utf-8"), _name(path))
        ),
        reverse=True,
    )


def problems(functions: Iterable[Function], allowed: dict[int, int]) -> Iterator[str]:
    """Yield a message for each complexity that too many functions exceed, with these functions."""
    counted = [*functions]
    for bar, most in allowed.items():
        above = [function for function in counted if function.complexity > bar]
        if len(above) > most:
            listed = "".join(f"\n  {number} {where}" for number, where in above)
            yield f"{len(above)} functions are above {bar}, {most} may be:{listed}"


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    if sys.argv[1:]:
        for number, where in all_functions():
            if number > int(sys.argv[1]):
                print(number, where)
    else:
        sys.exit("\n".join(problems(all_functions(), ALLOWED)) or None)
