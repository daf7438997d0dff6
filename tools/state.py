#!/usr/bin/env python3
"""Tell one state of the solver's source from another, also by how it is compiled.

    python3 tools/state.py    prints the folder of the compiled solver, if it is of this source

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
    """Yield the files of which wheels are made, in a fixed order."""
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        yield SOLVER / name
    yield PACKAGE / "py.typed"
    yield from sorted(PACKAGE.glob("**/*.py"))


def digest() -> str:
    """Return a digest of the files of which wheels are made, with the compiler's flags."""
    found = sha256()
    for path in sources():
        contents = path.read_bytes()
        name = path.relative_to(SOLVER).as_posix()
        found.update(f"{name} {len(contents)}\n".encode() + contents)
    return found.hexdigest()[:12]


def marked(version: str, state: str) -> str:
    """Return the text of the module with the version, with the state added to it."""
    return re.sub(r'^(__version__ = "[^"]+)"$', rf'\1+{state}"', version, flags=re.MULTILINE)


def compiled() -> Path | None:
    """Return the folder of the compiled solver, None if there is none of this source."""
    here, there = PACKAGE / "__init__.py", COMPILED / "fabrik_solver" / "__init__.py"
    expected = marked(here.read_text(encoding="utf-8"), digest())
    found = there.is_file() and there.read_text(encoding="utf-8") == expected
    return COMPILED if found else None


if __name__ == "__main__":
    print(compiled() or "")
