"""Compile the packages in the folder PACKAGE; run by the Python that they are compiled for.

    python tools/compile.py PACKAGE

Leaves the compiled modules in and beside the folder, whose own `__init__.py` stays as it is.
`tools/wheel.py` calls it, with mypyc on the path.
"""

import os
import sys
from pathlib import Path

from mypyc.build import mypycify  # pyright: ignore[reportMissingImports]
from setuptools import setup


def main(package: Path) -> None:
    """Compile all modules into one library, so that they call each other without Python."""
    # From the parent folder: what mypyc writes holds the paths that it is given.
    os.chdir(package.parent)
    # Names of files in a fixed order give the same library each time.
    files = sorted(package.glob("*/*.py"))
    modules = [file.relative_to(package.parent).as_posix() for file in files]
    extensions = mypycify(modules, opt_level="2", debug_level="0", group_name=package.name)
    for extension in extensions:
        # A multiplication and an addition in one would round once where the interpreter rounds
        # twice: the answers would no longer be the same to the last bit.
        extension.extra_compile_args += ["-ffp-contract=off", "-fno-semantic-interposition"]
        extension.extra_link_args += ["-s"] if sys.platform.startswith("linux") else []
    setup(
        name=package.name,
        packages=[package.name],
        ext_modules=extensions,
        script_args=["--quiet", "build_ext", "--inplace"],
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
