"""Build the package; with `FABRIK_SOLVER_COMPILE=1` in the environment, compiled by mypyc."""

import os
import sys
from pathlib import Path

from setuptools import setup


def extensions() -> list[object]:
    """Return what to compile: one library of all modules, which call each other directly."""
    if os.environ.get("FABRIK_SOLVER_COMPILE", "0") in ("", "0"):
        return []
    from mypyc.build import mypycify

    # A fixed order of files makes builds reproducible.
    files = sorted(path.as_posix() for path in Path("src/fabrik_solver").glob("*/*.py"))
    found = mypycify(files, opt_level="2", debug_level="0", group_name="fabrik_solver")
    for extension in found:
        if sys.platform != "win32":  # The compiler there fuses nothing unless it is asked to.
            # Fused multiply-add rounds once where the interpreter rounds twice, and results would
            # no longer be the same to the last bit.
            extension.extra_compile_args += ["-ffp-contract=off"]
        if sys.platform.startswith("linux"):
            extension.extra_compile_args += ["-fno-semantic-interposition"]
            extension.extra_link_args += ["-s"]
    return found


setup(ext_modules=extensions())
