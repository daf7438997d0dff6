#!/usr/bin/env python3
"""Find a real Blender, with its window, for the tests that the wheel `bpy` cannot run.

    python3 tools/real_blender.py            prints its path, after fetching it if needed
    python3 tools/real_blender.py packages   also installs pytest where tests/run.py looks for it

`BLENDER` may name a Blender of any version. Otherwise one of the newest version is taken from the
PATH or the folders of its installers. Otherwise Debian's is unpacked into its own folder under
`.venv/`, with the programs that show and use a window; nothing else is changed.

It needs only Python 3.8 and its standard library, so that it runs on a fresh machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from environment import (
    FOLDER,
    PICTURES,
    TESTS,
    SetupError,
    log_of,
    make_once,
    packages,
    run,
    run_logged,
)

WANTED = "5.2"
SUITE = "sid"
"""The Debian suite that has this version."""

PROGRAMS = ("Xvfb", "xdotool", "import", "convert", "ffmpeg")
"""Programs that show and use a window, and make pictures and films of it."""

CONTENTS = (
    *("blender", "python3-numpy", "python3-requests", "python3-zstandard", "python3-cattr"),
    *("xvfb", "xdotool", "imagemagick", "ffmpeg", "fonts-dejavu-core"),
    *("libgl1-mesa-dri", "libglx-mesa0", "libegl1"),
)

PLACES = (
    "/opt/blender*/blender",
    "/snap/bin/blender",
    "/usr/local/blender*/blender",
    "/Applications/Blender*.app/Contents/MacOS/Blender",
    "~/Applications/Blender*.app/Contents/MacOS/Blender",
    "~/blender*/blender",
    "C:/Program Files/Blender Foundation/Blender */blender.exe",
)

COMMAND = """\
#!/bin/sh
# Runs the program that has this file's name in the folder beside, as if that were the machine's
# root. Its other folders are mounted there for this program alone, so that nothing is left of it.
here=$(cd "$(dirname "$0")/.." && pwd -P)
[ "$(id -u)" = 0 ] || as_root=--map-root-user
exec unshare --mount $as_root sh -c '
root=$0 place=$1
shift
cd /
for folder in *; do
  case $folder in bin | boot | etc | lib* | lost+found | sbin | usr | var) continue ;; esac
  [ -d "$folder" ] && mkdir -p "$root/$folder" && mount --rbind "/$folder" "$root/$folder"
done
exec chroot "$root" env -C "$place" LIBGL_ALWAYS_SOFTWARE=1 XDG_RUNTIME_DIR=/tmp "$@"
' "$here/root" "$PWD" "$(basename "$0")" "$@"
"""


def version_of(blender: str | Path) -> str | None:
    """Return the version of a Blender, such as ``5.2``; None if it does not start."""
    try:
        output = subprocess.run(
            [str(blender), "--version"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        ).stdout
    except OSError:
        return None
    match = re.search(r"^Blender (\d+\.\d+)", output, re.MULTILINE)
    return match and match[1]


def installed() -> Iterator[str]:
    """Yield the paths of possible Blenders on this machine."""
    on_path = shutil.which("blender")
    if on_path:
        yield on_path
    for pattern in PLACES:
        path = Path(os.path.expanduser(pattern))
        top = Path(path.anchor)
        yield from map(str, sorted(top.glob(str(path.relative_to(top))), reverse=True))


def real_blender() -> str:
    """Return the path of a real Blender, fetched if needed.

    Raises:
        SetupError: If none is installed and none can be fetched.
    """
    chosen = os.environ.get("BLENDER")
    if chosen:
        if version_of(chosen) is None:
            raise SetupError(f"{chosen}, which BLENDER names, could not be started as Blender.")
        return chosen
    rejected = []
    for path in installed():
        version = version_of(path)
        if version == WANTED:
            return path
        rejected.append(f"{path} is {version}" if version else f"{path} does not start")
    try:
        return str(fetched())
    except SetupError as error:
        reasons = f" ({', '.join(rejected)})" if rejected else ""
        raise SetupError(
            f"no Blender {WANTED} here{reasons}; {error} BLENDER=… names one."
        ) from None


def fetched() -> Path:
    """Return the command of Debian's Blender, fetched if needed.

    Raises:
        SetupError: If this is not Debian, a step fails, or its Blender has another version.
    """
    folder = FOLDER / f"blender-{WANTED}"
    command = folder / "bin" / "blender"

    mirror, keys = debian()

    def fill() -> None:
        folder.mkdir(parents=True)
        options = (
            "--variant=apt",
            f"--include={','.join(CONTENTS)}",
            f"--keyring={keys}",
            '--aptopt=APT::Install-Recommends "false"',
            # An outdated mirror will do.
            '--aptopt=Acquire::Check-Valid-Until "false"',
            # Mount points of the machine's folders; later the folder may belong to another user.
            '--customize-hook=cd / && for folder in */; do mkdir -p "$1/$folder"; done',
        )
        run_logged(log_of(folder), mmdebstrap(folder), *options, SUITE, folder / "root", mirror)
        command.parent.mkdir()
        command.write_text(COMMAND, encoding="utf-8")
        command.chmod(0o755)
        for program in PROGRAMS:
            command.with_name(program).symlink_to(command.name)
        version = version_of(command)
        if version != WANTED:
            raise SetupError(f"Debian's is {version or 'one that does not start here'}.")

    make_once(folder, f"Debian {SUITE} {' '.join(CONTENTS)}", fill)
    return command


def debian() -> tuple[str, Path]:
    """Return this machine's Debian mirror, and the path of the keys that sign its packages.

    Raises:
        SetupError: If this is not Debian, or its package lists are missing.
    """
    keys = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    if not shutil.which("apt-get") or not shutil.which("unshare") or not keys.exists():
        raise SetupError("only on Debian it is fetched.")
    question = ("apt-get", "indextargets", "--format", "$(REPO_URI)")
    main = ("ORIGIN: Debian", "LABEL: Debian")
    mirrors = run(*question, *main).split()
    if not mirrors and os.geteuid() == 0:
        run_logged(FOLDER / "apt.log", "apt-get", "update")
        mirrors = run(*question, *main).split()
    if not mirrors:
        raise SetupError("“apt-get update” has to run first to fetch it.")
    return mirrors[0], keys


def mmdebstrap(folder: Path) -> Path:
    """Return the path of the program that unpacks a Debian; it needs only perl and apt."""
    present = shutil.which("mmdebstrap")
    if present:
        return Path(present)
    tool = folder / "tool"
    tool.mkdir()
    run_logged(log_of(folder), "apt-get", "download", "mmdebstrap", cwd=tool)
    (package,) = tool.glob("*.deb")
    run_logged(log_of(folder), "dpkg-deb", "--extract", package, tool)
    return tool / "usr" / "bin" / "mmdebstrap"


def packages_for(blender: str) -> Path:
    """Install the test tools for the Python of a real Blender.

    That Python may lack pip, and may see files under other paths. So another Python installs them
    for its version.

    Raises:
        SetupError: If Blender cannot be started, or pip fails.
    """
    question = "import sys; print('its Python is %d.%d.' % sys.version_info[:2])"
    try:
        answer = run(blender, "--background", "--factory-startup", "--python-expr", question)
        version = re.findall(r"its Python is (\d+\.\d+)\.", answer)[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        raise SetupError(f"{blender} could not be started as Blender.") from None
    return packages("packages", version, TESTS + PICTURES)


if __name__ == "__main__":
    try:
        blender = real_blender()
        if sys.argv[1:] == ["packages"]:
            packages_for(blender)
        print(blender)
    except SetupError as error:
        sys.exit(f"real_blender: {error}")
