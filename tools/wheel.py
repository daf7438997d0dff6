"""Compile `core` and `motion` into one wheel, for each of Blender's Pythons on this machine.

    python tools/wheel.py           for all of them
    python tools/wheel.py newest    for that of the newest Blender alone, which is faster

The output is

    build/wheels/fabrik_ik_compiled-….whl   the wheel for the extension
    build/compiled                          its unpacked contents, for PYTHONPATH

A version of Python without an interpreter, headers or a C compiler here is skipped with a message;
it runs the source.

The wheel contains the libraries for all Pythons, distinguished by their file names, and is tagged
for any Python 3: Blender refuses an extension if all of its wheels are for other Pythons. Where no
library fits, importing the package fails, and the source runs.
"""

import base64
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from environment import (
    COMPILER,
    ENVIRONMENTS,
    ROOT,
    SetupError,
    find_python,
    make_once,
    newest_wheel,
    packages,
)

ADDON = ROOT / "addon"
CHOOSER = runpy.run_path(str(ADDON / "compiled.py"))
NAME: str = CHOOSER["NAME"]

PYTHONS = ("3.11", "3.13", "3.14")
"""The Pythons of Blender 4.2 to 5.0, of Blender 5.1 and 5.2, and of Debian's Blender 5.2."""

BUILD = ROOT / "build"
UNPACKED = BUILD / "compiled"
WHEELS = BUILD / "wheels"

HEADERS_AND_COMPILER = """import os, shlex, shutil, sysconfig
os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))
compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
os.stat(shutil.which(shlex.split(compiler)[0]) or "")"""


def say(text: str) -> None:
    """Print a message to standard error; standard output is reserved for the result."""
    print(f"wheel: {text}", file=sys.stderr, flush=True)


def read_sources() -> tuple[str, dict[str, str]]:
    """Return the digest of the source, and the modules of the package by their paths in it."""
    digest: str = CHOOSER["digest_of"](ADDON)
    files: list[Path] = [*CHOOSER["files_in"](ADDON)]
    modules = {file.relative_to(ADDON).as_posix(): file.read_text("utf-8") for file in files}
    # Importing all modules at once ensures that the package is complete.
    lines = [f"from .{file.parent.name} import {file.stem}" for file in files]
    lines = [line for line in lines if not line.endswith("__")]
    modules["__init__.py"] = "\n".join([*lines, "", f'SOURCE = "{digest}"', ""])
    return digest, modules


def compile_for(version: str, digest: str, modules: dict[str, str]) -> Path | None:
    """Return a folder with the package compiled for this Python, None if that is impossible.

    Raises:
        SetupError: If mypyc cannot be installed, or the source does not compile.
    """
    python = find_python(version, HEADERS_AND_COMPILER)
    if python is None:
        say(
            f"no Python {version} with headers and a C compiler found: "
            "it will run the Python source of solver and motions."
        )
        return None
    folder = BUILD / f"compiled-{version}"
    tools = packages("build", version, COMPILER)

    def fill() -> None:
        package = folder / NAME
        for name, text in modules.items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(text, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(tools)}
        command = [python, str(ROOT / "tools" / "compile.py"), str(package)]
        try:
            subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=sys.stderr)
        except subprocess.CalledProcessError:
            raise SetupError(f"the source could not be compiled for Python {version}") from None

    recipe = sha256((ROOT / "tools" / "compile.py").read_bytes() + python.encode()).hexdigest()
    make_once(folder, f"{digest[:12]} {recipe[:12]} {' '.join(COMPILER)}", fill)
    return folder


def libraries_in(folder: Path) -> dict[str, bytes]:
    """Return the compiled modules by their paths in the wheel."""
    files = (*folder.glob("*.so"), *folder.glob("*.pyd"))
    files += (*folder.glob(f"{NAME}/*/*.so"), *folder.glob(f"{NAME}/*/*.pyd"))
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def write_wheel(version: str, files: dict[str, bytes]) -> Path:
    """Write a wheel with these files; the same files give the same wheel."""
    tag = "py3-none-" + re.sub(r"\W", "_", sysconfig.get_platform())
    info = f"{NAME}-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\nLicense: GPL-3.0-or-later\n"
        ).encode(),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: fabrik_ik\nRoot-Is-Purelib: false\nTag: {tag}\n"
        ).encode(),
    }
    record = [f"{name},{record_hash(data)},{len(data)}" for name, data in sorted(files.items())]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    wheel = WHEELS / f"{NAME}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name)  # The default date is the earliest one, in 1980.
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, compress_type=zipfile.ZIP_DEFLATED)
    return wheel


def record_hash(data: bytes) -> str:
    """Return a hash in the format of a wheel's RECORD."""
    digest = base64.urlsafe_b64encode(sha256(data).digest()).decode().rstrip("=")
    return f"sha256={digest}"


def main(pythons: Sequence[str]) -> None:
    """Compile for each of these Pythons, and put the libraries into one wheel.

    Raises:
        SetupError: If the source does not compile.
    """
    digest, modules = read_sources()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        made = pool.map(lambda python: compile_for(python, digest, modules), pythons)
        folders = [folder for folder in made if folder is not None]
    for folder in (WHEELS, UNPACKED):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    if not folders:
        say("nothing was compiled; the extension will run its Python source.")
        return
    files = {name: data for folder in folders for name, data in libraries_in(folder).items()}
    files[f"{NAME}/__init__.py"] = modules["__init__.py"].encode()
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "(.+)"$', manifest, re.MULTILINE)
    # The digest is part of the version, since Blender does not unpack the same wheel again.
    wheel = write_wheel(f"{version}+{digest[:12]}", files)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(UNPACKED)
    print(wheel.relative_to(ROOT))


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["newest"]:
            main(ENVIRONMENTS[f"bpy-{newest_wheel()}"].pythons[:1])
        else:
            main(PYTHONS)
    except SetupError as error:
        sys.exit(f"wheel: {error}")
