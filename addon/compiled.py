"""Selects the compiled copy of `core` and `motion` if it matches the source.

`make wheels` compiles both into a separate package, ``fabrik_ik_compiled``, which the extension
contains as a wheel. It is only used if it was built from exactly this source: the wheel of another
version may still be installed, or the source may have been edited since.

If it is used, importing a module of these folders gives the compiled one. Importers need no
changes, each class exists only once, and type checkers see the source.
"""

import sys
from collections.abc import Iterator
from hashlib import sha256
from os import environ
from pathlib import Path
from typing import cast

NAME = "fabrik_ik_compiled"
FOLDERS = ("core", "motion")


def files_in(addon: Path) -> Iterator[Path]:
    """Yield the Python files to compile, in a fixed order."""
    for folder in FOLDERS:
        yield from sorted((addon / folder).glob("*.py"))


def digest_of(addon: Path) -> str:
    """Return the SHA-256 digest of the source to compile."""
    digest = sha256()
    for file in files_in(addon):
        contents = file.read_bytes()
        digest.update(f"{file.parent.name}/{file.name} {len(contents)}\n".encode())
        digest.update(contents)
    return digest.hexdigest()


def _matches_source() -> bool:
    # The override serves tests and debugging.
    if environ.get("FABRIK_IK_INTERPRETED", "0") not in ("", "0"):
        return False
    try:
        # Only present where it was built, and untyped.
        from fabrik_ik_compiled import SOURCE  # pyright: ignore
    except ImportError:  # Not installed, or built for another Python or platform.
        return False
    return cast(str, SOURCE) == digest_of(Path(__file__).parent)


COMPILED = _matches_source()
"""Whether the compiled copy is used."""


def use_compiled(package: str) -> None:
    """Make imports of the compiled folders resolve to the compiled modules, if they match.

    Args:
        package: The name of the add-on's package, from which nothing may have been imported yet.
    """
    if not COMPILED:
        return
    for name, module in [*sys.modules.items()]:
        if name.startswith(f"{NAME}."):
            sys.modules[package + name.removeprefix(NAME)] = module
    for folder in FOLDERS:
        setattr(sys.modules[package], folder, sys.modules[f"{package}.{folder}"])
