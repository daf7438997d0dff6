"""Build the package; with `FABRIK_SOLVER_COMPILE=1` in the environment, compiled by mypyc."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PROCESSORS = os.cpu_count() or 1
IS_LINUX = sys.platform.startswith("linux")

IS_COMPILED = os.environ.get("FABRIK_SOLVER_COMPILE", "0") not in ("", "0")

PURE = {"build_number": "0", "python_tag": ".".join(f"py3{minor}" for minor in range(11, 17))}
"""The name of the wheel that isn't compiled, so that Blender unpacks it where no compiled one fits.

Of the wheels that fit, Blender takes the one with the last name, and a build number sorts before
the tag of a Python. Beside a wheel for one Python it ignores `py3`, so each is named: all that
distributions may build Blender 4.2 to 5.2 LTS with while these are supported.
"""


class BuildInParallel(build_ext):
    """Compiles the files of one extension at the same time; setuptools does so with extensions."""

    def build_extensions(self) -> None:
        """Build all extensions."""
        compiler: Any = self.compiler
        compile_some = compiler.compile

        def compile_all(sources: list[str], *args: Any, **options: Any) -> list[str]:
            with ThreadPoolExecutor(PROCESSORS) as pool:
                found = pool.map(lambda one: compile_some([one], *args, **options), sources)
                return [name for names in found for name in names]

        if IS_LINUX:
            compiler.compile = compile_all
        super().build_extensions()


def extensions() -> list[Extension]:
    """Return what to compile: one library of all modules, which call each other directly."""
    if not IS_COMPILED:
        return []
    from mypyc.build import mypycify

    # A fixed order of files makes builds reproducible.
    files = sorted(path.as_posix() for path in Path("src/fabrik_solver").glob("*/**/*.py"))
    # In one file gcc takes four times as long. In one for each module only the linker's
    # optimization inlines what modules call of each other, by which solving is a tenth faster.
    found = mypycify(
        files,
        opt_level="2",
        debug_level="0",
        group_name="fabrik_solver",
        multi_file=IS_LINUX,
    )
    for extension in found:
        if sys.platform != "win32":  # The compiler there fuses nothing unless it is asked to.
            # Fused multiply-add rounds once where the interpreter rounds twice, and results would
            # no longer be the same to the last bit.
            extension.extra_compile_args += ["-ffp-contract=off"]
        if IS_LINUX:
            extension.extra_compile_args += ["-fno-semantic-interposition"]
            extension.extra_link_args += ["-s"]
        if IS_LINUX and len(extension.sources) > 1:
            extension.extra_compile_args += ["-flto"]
            # These again, as it is the linker that translates.
            extension.extra_link_args += [*extension.extra_compile_args, "-flto=auto"]
    return found


setup(
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildInParallel},
    options={"build_ext": {"parallel": PROCESSORS}, "bdist_wheel": {} if IS_COMPILED else PURE},
)
