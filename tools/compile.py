"""Compile the modules of a package; run by the Python that they are compiled for.

    python tools/compile.py PACKAGE

Puts the compiled modules into the folder PACKAGE and next to it; its own `__init__.py` is not
compiled. `tools/wheel.py` calls this script, with mypyc on the path.
"""

import os
import sys
from pathlib import Path

from mypyc.build import mypycify  # pyright: ignore[reportMissingImports]
from setuptools import setup


def main(package: Path) -> None:
    """Compile all modules into one library, so that they call each other directly."""
    # The output of mypyc contains the paths that it is given, so these are relative.
    os.chdir(package.parent)
    # A fixed order of files makes builds reproducible.
    files = sorted(package.glob("*/*.py"))
    modules = [file.relative_to(package.parent).as_posix() for file in files]
    extensions = mypycify(modules, opt_level="2", debug_level="0", group_name=package.name)
    for extension in extensions:
        # Fused multiply-add rounds once where the interpreter rounds twice, and results would no
        # longer be the same to the last bit.
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
