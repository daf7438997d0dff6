"""Whether a compiled copy of this solver is installed that may stand in for it.

`make wheels` compiles the modules of this folder into a package of its own, ``fabrik_ik_core``,
that the extension brings along as a wheel. It is only used if it was made from exactly this source:
a wheel of another version may still be installed, or the source may have been edited since.
"""

from hashlib import sha256
from os import environ
from pathlib import Path
from typing import cast


def digest_of(folder: Path) -> str:
    """Return what tells the Python files of a folder from any others."""
    digest = sha256()
    for file in sorted(folder.glob("*.py")):
        contents = file.read_bytes()
        digest.update(f"{file.name} {len(contents)}\n".encode())
        digest.update(contents)
    return digest.hexdigest()


def _fits() -> bool:
    # For tests, and for whoever wants to step through the solver.
    if environ.get("FABRIK_IK_INTERPRETED", "0") not in ("", "0"):
        return False
    try:
        # It is there only where it was built, and has no types of its own.
        from fabrik_ik_core import SOURCE  # pyright: ignore
    except ImportError:  # not installed, or not for this Python or this machine
        return False
    return cast(str, SOURCE) == digest_of(Path(__file__).parent)


COMPILED = _fits()
"""Whether the compiled copy runs."""
