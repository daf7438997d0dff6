#!/usr/bin/env python3
"""Identify a state of the solver's source, including how it is compiled.

    python3 tools/state.py    prints the folder of the compiled solver, if it is up to date

It needs only Python 3.8 and its standard library, so that it runs on a fresh machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOLVER = ROOT / "solver"
PACKAGE = SOLVER / "src" / "fabrik_solver"
COMPILED = ROOT / "build" / "compiled"


def sources() -> Iterator[Path]:
    """Yield the files in wheels, in a fixed order."""
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        yield SOLVER / name
    yield PACKAGE / "py.typed"
    yield from sorted(PACKAGE.glob("**/*.py"))


def digest() -> str:
    """Return a digest of the files in wheels and of the compiler's flags."""
    state = sha256()
    for path in sources():
        contents = path.read_bytes()
        name = path.relative_to(SOLVER).as_posix()
        state.update(f"{name} {len(contents)}\n".encode() + contents)
    return state.hexdigest()[:12]


def marked(version: str, state: str) -> str:
    """Return the text of the module with the version, with the state appended to the version."""
    return re.sub(r'^(__version__ = "[^"]+)"$', rf'\1+{state}"', version, flags=re.MULTILINE)


def compiled() -> Path | None:
    """Return the folder of the compiled solver, None if it is missing or outdated."""
    source_init, compiled_init = PACKAGE / "__init__.py", COMPILED / "fabrik_solver" / "__init__.py"
    expected = marked(source_init.read_text(encoding="utf-8"), digest())
    is_current = compiled_init.is_file() and compiled_init.read_text(encoding="utf-8") == expected
    return COMPILED if is_current else None


if __name__ == "__main__":
    print(compiled() or "")
