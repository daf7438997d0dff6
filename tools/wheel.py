"""Build the solver's wheels that this machine can build, by `solver/pyproject.toml`.

    python tools/wheel.py         for all of Blender's Pythons
    python tools/wheel.py test    for all of them, and test each in its own environment

The output is

    build/wheels     a wheel for any Python, and the compiled wheels
    build/compiled   the compiled wheels, unpacked, for PYTHONPATH

The commands come from [tool.cibuildwheel], with which a release builds and tests the wheels on all
platforms. A Python without an interpreter, headers or a C compiler is skipped with a message.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from environment import (
    PIP,
    ROOT,
    SetupError,
    find_python,
    log_of,
    make_once,
    packages,
    python_of,
    run_logged,
)
from state import COMPILED, PACKAGE, SOLVER, digest, marked, sources

BUILD = ROOT / "build"
WHEELS = BUILD / "wheels"

with (SOLVER / "pyproject.toml").open("rb") as file:
    PROJECT: dict[str, Any] = tomllib.load(file)
CONFIGURATION: dict[str, Any] = PROJECT["tool"]["cibuildwheel"]

PYTHONS = [f"{name[2]}.{name[3:].removesuffix('-*')}" for name in CONFIGURATION["build"]]
TOOLS = tuple(shlex.split(CONFIGURATION["before-build"])[2:])
"""The arguments of `pip install` before the build."""

HEADERS_AND_COMPILER = """import os, shlex, shutil, sysconfig
os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))
compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
os.stat(shutil.which(shlex.split(compiler)[0]) or "")"""

BUILD_WHEEL = """import logging, sys, setuptools.build_meta as backend
logging.disable(logging.INFO)  # Every file is listed.
backend.build_wheel(sys.argv[1])"""
"""The same as `pip wheel --no-build-isolation`; some systems have Pythons without pip."""


def say(text: str) -> None:
    """Print a message to standard error; standard output is reserved for the result."""
    print(f"wheel: {text}", file=sys.stderr, flush=True)


def with_path(folder: Path) -> dict[str, str]:
    """Return the environment variables with a folder first on the PATH."""
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def build_in(folder: Path, log: Path, python: str | Path, tools: Path, **environment: str) -> Path:
    """Build a wheel in a folder, and return its path.

    The build uses a copy of the source, as two builds at once would share its temporary files. The
    copy's version gets the state, since Blender does not unpack the same version again.
    """
    copy = folder / "source"
    for path in sources():
        destination = copy / path.relative_to(SOLVER)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, destination)
    version = copy / PACKAGE.relative_to(SOLVER) / "__init__.py"
    text = version.read_text(encoding="utf-8")
    version.write_text(marked(text, digest()), encoding="utf-8")
    # The date in the wheel, so that the same source gives the same wheel.
    fixed_variables = {"PYTHONPATH": str(tools), "SOURCE_DATE_EPOCH": "315532800"}
    variables = {**os.environ, **fixed_variables, **environment}
    run_logged(log, python, "-c", BUILD_WHEEL, folder, cwd=copy, env=variables)
    (wheel,) = folder.glob("*.whl")
    return wheel


def compiled_wheel(version: str) -> Path | None:
    """Return the folder with the wheel for a Python, None if it cannot be built here.

    Raises:
        SetupError: If mypyc cannot be installed, or the source does not compile.
    """
    python = find_python(version, HEADERS_AND_COMPILER)
    if python is None:
        say(f"no Python {version} with headers and a C compiler found: it gets no compiled wheel.")
        return None
    folder = BUILD / f"wheel-{version}"
    tools = packages("build", version, TOOLS)

    log = log_of(folder)

    def fill() -> None:
        raw = folder / "raw"
        wheel = build_in(raw, log, python, tools, **CONFIGURATION["environment"])
        if sys.platform == "linux":
            # cibuildwheel's default command for Linux. It needs patchelf beside it.
            auditwheel = python_of("wheels").parent
            repair = (auditwheel / "auditwheel", "repair", "-w", folder, wheel)
            run_logged(log, *repair, env=with_path(auditwheel))
        else:
            shutil.copy(wheel, folder)
        shutil.rmtree(raw)

    make_once(folder, f"{digest()} {python}", fill)
    return folder


def pure_wheel() -> Path:
    """Return the folder with the wheel for any Python."""
    folder = BUILD / "wheel-pure"
    python = python_of("core")
    # The compiler is not needed; any Python can import the rest.
    tools = packages("build", "3.13", TOOLS)

    def fill() -> None:
        build_in(folder, log_of(folder), python, tools)
        shutil.rmtree(folder / "source")

    make_once(folder, digest(), fill)
    return folder


def build() -> None:
    """Build the wheel for any Python, and the compiled wheels.

    Raises:
        SetupError: If the source does not compile.
    """
    # In sequence: each keeps all processors busy.
    folders = [compiled_wheel(version) for version in PYTHONS]
    for folder in (WHEELS, COMPILED):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for folder in [pure_wheel(), *filter(None, folders)]:
        (wheel,) = folder.glob("*.whl")
        shutil.copy(wheel, WHEELS)
        print((WHEELS / wheel.name).relative_to(ROOT))
        if "-none-any" not in wheel.name:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(COMPILED)


def test() -> None:
    """Test each compiled wheel in its own environment, as cibuildwheel does.

    Raises:
        SetupError: If a test fails.
    """
    for version in PYTHONS:
        tag = f"-cp{version.replace('.', '')}-"
        wheel = next((path for path in WHEELS.glob("*.whl") if tag in path.name), None)
        python = find_python(version)
        if wheel is None or python is None:
            say(f"no wheel for Python {version}, or no Python {version} with venv: not tested.")
            continue
        folder = BUILD / f"test-{version}"
        shutil.rmtree(folder, ignore_errors=True)
        log = log_of(folder)
        log.unlink(missing_ok=True)
        inside = folder / "bin" / "python"
        run_logged(log, python, "-m", "venv", folder)
        run_logged(log, inside, *PIP, wheel, *CONFIGURATION["test-requires"])
        command = shlex.split(CONFIGURATION["test-command"].format(package=SOLVER))
        variables = {**with_path(inside.parent), **CONFIGURATION["test-environment"]}
        # Run elsewhere, as the source would be imported instead.
        if subprocess.run(command, cwd=folder, env=variables, check=False).returncode != 0:
            raise SetupError(f"the tests failed on the wheel for Python {version}")


if __name__ == "__main__":
    try:
        build()
        if sys.argv[1:] == ["test"]:
            test()
    except SetupError as error:
        sys.exit(f"wheel: {error}")
