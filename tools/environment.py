#!/usr/bin/env python3
"""Find or make the Python environments that this project's commands run in.

Blender's wheels are tied to one Python each (`bpy` 4.x to 3.11, 5.2 to 3.13), so no single
environment can hold all that the tests need. Each lives in a folder of its own under `.venv/`, is
made at its first use and again when its requirements below change.

    python3 tools/environment.py bpy-5.2           prints the path of that environment's python
    python3 tools/environment.py newest            prints the newest wheel that a Python is here for
    python3 tools/environment.py packages BLENDER  puts pytest where tests/run.py looks for it
    python3 tools/environment.py node              prints where the scripts that Node runs are

It needs nothing but Python 3.8 and its standard library: it is what starts a fresh machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

try:
    import fcntl
except ImportError:  # There is none on Windows.
    fcntl = None

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv"

# The one place where the versions of all tools are pinned.
TESTS = ("pytest==9.2.0", "hypothesis==6.170.15")
PICTURES = ("Pillow==13.0.0",)
BENCH = ("matplotlib==3.11.2",)
STUBS = ("fake-bpy-module==20261026", "numpy==2.2.6")
CHECKS = ("ruff==0.17.5", "pyright[nodejs]==1.1.414", "import-linter==2.16")
COMPILER = ("mypy[mypyc]==2.4.1", "setuptools==84.2.1")
UV = ("uv==0.13.8",)
SCRIPTS = ("three@0.187.0",)


class Environment(NamedTuple):
    """What an environment is made of.

    Attributes:
        pythons: The versions that will do, the best one first; empty for the running one.
        requirements: What pip installs into it.
    """

    pythons: tuple[str, ...]
    requirements: tuple[str, ...]


ANY = ("3.13", "3.11", "3.12", "3.14")
ENVIRONMENTS = {
    "core": Environment(ANY, TESTS),
    "tools": Environment(ANY, CHECKS + STUBS + PICTURES + BENCH),
    "bpy-4.2": Environment(("3.11",), ("bpy==4.2.*", *TESTS, *PICTURES)),
    "bpy-4.5": Environment(("3.11",), ("bpy==4.5.*", *TESTS, *PICTURES, *BENCH)),
    "bpy-5.2": Environment(("3.13",), ("bpy==5.2.*", *TESTS, *PICTURES, *BENCH)),
    "uv": Environment((), UV),
}
NEWEST_FIRST = ("5.2", "4.5")


class SetupError(Exception):
    """Something is missing that this script cannot provide; the message says what to do."""


def note(text: str) -> None:
    """Say something to the user; standard output is kept for the answer."""
    print(f"environment: {text}", file=sys.stderr, flush=True)


def run(*command: str | Path) -> str:
    """Return what a command prints; what it has to say besides reaches the user."""
    return subprocess.run(
        [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def is_python(command: str | Path, version: str, needs: str) -> bool:
    """Tell whether a command is a Python of this version in which the statements ``needs`` work.

    Asking is the only sure way: a name on the PATH may be a shim of a version manager that leads
    nowhere, and some systems split parts of Python off into packages of their own.
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
    """Return a Python of this version that is on the machine, if there is one.

    Args:
        version: Such as ``3.13``.
        needs: Python statements that raise an error if something is missing there.
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
    """Let uv download a Python of this version and return its path.

    Raises:
        SetupError: It could not be fetched.
    """
    note(f"no Python {version} here; asking uv for one")
    try:
        uv = shutil.which("uv") or python_of("uv").with_name("uv")
        run(uv, "python", "install", version)
        # --system: without it uv may answer with an environment that happens to be active.
        return run(uv, "python", "find", "--system", version).strip()
    except (OSError, subprocess.CalledProcessError):
        raise SetupError(
            f"Python {version} is needed, was not found on this machine and could not be "
            f"downloaded with uv: please install Python {version} (with venv)."
        ) from None


def python_for(versions: tuple[str, ...]) -> str:
    """Return a Python of one of these versions, the first that is here, else a downloaded one."""
    if not versions:
        return sys.executable
    here = (find_python(version) for version in versions)
    return next((path for path in here if path), None) or fetch_python(versions[0])


def make_once(folder: Path, contents: str, fill: Callable[[], None]) -> None:
    """Fill a folder unless that was done before with the same contents.

    The stamp is written last: a folder whose making was interrupted has none, and is made anew.
    """
    stamp = folder / "made-of.txt"
    with alone(folder):
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == contents:
            return
        shutil.rmtree(folder, ignore_errors=True)
        note(f"making {folder.relative_to(ROOT)} ({contents})")
        fill()
        stamp.write_text(contents, encoding="utf-8")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until nobody else makes a folder: `make -j` may ask for one twice at a time."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f"{folder.name}.lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def python_path(name: str) -> Path:
    """Return where the python of an environment is, or will be."""
    return FOLDER / name / "bin" / "python"


def python_of(name: str) -> Path:
    """Return the python of an environment, made if need be.

    Raises:
        SetupError: There is no fitting Python, or pip could not install what belongs in it.
    """
    pythons, requirements = ENVIRONMENTS[name]
    python = python_path(name)

    def fill() -> None:
        base = python_for(pythons)
        try:
            run(base, "-m", "venv", python.parent.parent)
            run(python, "-m", "pip", "install", "--quiet", *requirements)
        except subprocess.CalledProcessError as error:
            raise SetupError(f"could not make the environment {name}: {error}") from None

    with alone(FOLDER / name):
        if not python.exists():  # e.g. the Python it was made with is gone: the link leads nowhere
            shutil.rmtree(FOLDER / name, ignore_errors=True)
    make_once(FOLDER / name, " ".join(requirements), fill)
    return python


def newest_wheel() -> str:
    """Return the newest version of the wheel that a Python of this machine can run.

    Where there is none, it is the newest of all, and making its environment tries to fetch one.
    """
    for version in NEWEST_FIRST:
        name = f"bpy-{version}"
        if python_path(name).exists() or find_python(ENVIRONMENTS[name].pythons[0]):
            return version
    return NEWEST_FIRST[0]


def packages_for(blender: str) -> Path:
    """Install the test tools for the Python that a real Blender brings along.

    They are installed from outside, for its version: that Python may have no pip, and may see the
    machine's files under other paths.
    """
    question = "import sys; print('its Python is %d.%d.' % sys.version_info[:2])"
    try:
        answer = run(blender, "--background", "--factory-startup", "--python-expr", question)
        version = re.findall(r"its Python is (\d+\.\d+)\.", answer)[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        raise SetupError(f"{blender} could not be started as Blender.") from None
    return packages("packages", version, TESTS)


def packages(name: str, version: str, requirements: tuple[str, ...]) -> Path:
    """Return a folder of packages for a Python of this version, filled if need be.

    Raises:
        SetupError: pip could not install them.
    """
    folder = FOLDER / f"{name}-{version}"

    def fill() -> None:
        pip = (python_of("core"), "-m", "pip", "install", "--quiet")
        kind = ("--python-version", version, "--only-binary=:all:")
        try:
            run(*pip, *kind, "--target", folder, *requirements)
        except subprocess.CalledProcessError as error:
            what = " ".join(requirements)
            raise SetupError(f"could not install {what} for Python {version}: {error}") from None

    make_once(folder, " ".join(requirements), fill)
    return folder


def scripts() -> Path:
    """Return a folder with the packages for Node that the benchmark compares with.

    Raises:
        SetupError: There is no Node or npm, or npm could not install them.
    """
    folder = FOLDER / "node"
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        raise SetupError("Node and npm are needed and were not found on this machine.")

    def fill() -> None:
        folder.mkdir(parents=True)
        quiet = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts")
        try:
            run(npm, "install", *quiet, "--prefix", folder, *SCRIPTS)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SetupError(f"npm could not install {' '.join(SCRIPTS)}: {error}") from None

    make_once(folder, " ".join(SCRIPTS), fill)
    return folder


def answer_to(arguments: list[str]) -> str:
    """Do what the command line asks for and return what to print.

    Raises:
        SetupError: The question is not understood, or cannot be answered.
    """
    if arguments == ["newest"]:
        return newest_wheel()
    if arguments == ["node"]:
        return str(scripts())
    if len(arguments) == 2 and arguments[0] == "packages":
        return str(packages_for(arguments[1]))
    if len(arguments) == 1 and arguments[0] in ENVIRONMENTS:
        return str(python_of(arguments[0]))
    names = ", ".join(ENVIRONMENTS)
    raise SetupError(f"give one of: {names}; or: newest; or: packages BLENDER; or: node")


if __name__ == "__main__":
    try:
        print(answer_to(sys.argv[1:]))
    except SetupError as error:
        sys.exit(f"environment: {error}")
