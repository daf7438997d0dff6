"""A compiled copy of the folders without Blender, which stands in for them if it is the same.

`make wheels` compiles `core` and `motion` into a package of their own, ``fabrik_ik_compiled``, that
is a wheel in the extension. It is only used if it was built from exactly this source: a wheel of
another version may still be installed, or the source may have been edited since.

Where it is used, importing a module of these folders gives the compiled one. So nobody has to
choose, there is but one class of each name, and all types are those of the source.
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
    """Yield the Python files that are compiled, in a fixed order."""
    for folder in FOLDERS:
        yield from sorted((addon / folder).glob("*.py"))


def digest_of(addon: Path) -> str:
    """Return the digest of the compiled files' source."""
    digest = sha256()
    for file in files_in(addon):
        contents = file.read_bytes()
        digest.update(f"{file.parent.name}/{file.name} {len(contents)}\n".encode())
        digest.update(contents)
    return digest.hexdigest()


def _fits() -> bool:
    # For tests, and for debugging the source.
    if environ.get("FABRIK_IK_INTERPRETED", "0") not in ("", "0"):
        return False
    try:
        # Only present where it was built, and without types of its own.
        from fabrik_ik_compiled import SOURCE  # pyright: ignore
    except ImportError:  # not installed, or not for this Python or this machine
        return False
    return cast(str, SOURCE) == digest_of(Path(__file__).parent)


COMPILED = _fits()
"""Whether the compiled copy runs."""


def stand_in(package: str) -> None:
    """Import the compiled modules, if they fit, in place of the source.

    Args:
        package: The add-on's name; none of the folders may have been imported from it yet.
    """
    if not COMPILED:
        return
    for name, module in [*sys.modules.items()]:
        if name.startswith(f"{NAME}."):
            sys.modules[package + name.removeprefix(NAME)] = module
    for folder in FOLDERS:
        setattr(sys.modules[package], folder, sys.modules[f"{package}.{folder}"])
