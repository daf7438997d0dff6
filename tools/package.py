"""Build the extension's zips with Blender's own tool, which validates them before and after.

The tool is in the `bpy` wheel of the Python that runs this script; Blender itself is not started.
Each platform with compiled wheels of the solver in `build/wheels` gets a zip with these and the
wheel for any Python. Blender unpacks the latter where none of them fits. All others get a zip with
that wheel alone. The wheels are bundled unchanged. Prints the paths of the zips.
"""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGE = ROOT / "build" / "fabrik_ik"
WHEELS = ROOT / "build" / "wheels"
MANUAL = ROOT / "build" / "manual"
DIST = ROOT / "dist"

PLATFORMS = {
    "linux-x64": r"linux.*_x86_64\.whl$",
    "linux-arm64": r"linux.*_aarch64\.whl$",
    "macos-arm64": r"macosx.*_arm64\.whl$",
    "macos-x64": r"macosx.*_x86_64\.whl$",
    "windows-arm64": r"win_arm64\.whl$",
    "windows-x64": r"win_amd64\.whl$",
}
"""Blender's names of platforms, and patterns of their wheels' names."""


def blender_ext(*arguments: str | Path) -> None:
    """Run Blender's extension tool; its messages go to standard error."""
    bpy = find_spec("bpy")
    if bpy is None or bpy.origin is None:
        sys.exit("package: this Python has no bpy, which contains Blender's extension tool")
    pattern = "*/scripts/addons_core/bl_pkg/cli/blender_ext.py"
    tool = next(Path(bpy.origin).parent.glob(pattern))
    command = [sys.executable, str(tool), *map(str, arguments)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def stage(wheels: list[Path], platforms: Sequence[str]) -> None:
    """Lay out the package: the tool expects `__init__.py` next to the manifest.

    Args:
        wheels: The wheels of the solver to bundle.
        platforms: Blender's names of their platforms; empty for all.
    """
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(
        ROOT / "addon", STAGE, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "*.pot")
    )
    shutil.copytree(MANUAL, STAGE / "manual")
    shutil.copy(ROOT / "LICENSE", STAGE)
    (STAGE / "wheels").mkdir()
    for wheel in wheels:
        shutil.copy(wheel, STAGE / "wheels")
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    listed = "".join(f'  "./wheels/{wheel.name}",\n' for wheel in wheels)
    manifest += f"\nwheels = [\n{listed}]\n"
    if platforms:
        manifest += f"platforms = {json.dumps(platforms)}\n"
    (STAGE / "blender_manifest.toml").write_text(manifest, encoding="utf-8")


def make_reproducible(package: Path) -> None:
    """Rewrite the zip, sorted and with a fixed date: the same inputs give the same zip."""
    with zipfile.ZipFile(package) as archive:
        files = {name: archive.read(name) for name in sorted(archive.namelist())}
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # The default date is the earliest, in 1980.
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, compress_type=zipfile.ZIP_DEFLATED)


def build(wheels: list[Path], platforms: Sequence[str]) -> None:
    """Build and validate the zips of a package, one for each of its platforms."""
    stage(wheels, platforms)
    blender_ext("validate", STAGE)
    existing = {*DIST.glob("*.zip")}
    split = ["--split-platforms"] if platforms else []
    blender_ext("build", "--source-dir", STAGE, "--output-dir", DIST, *split)
    for package in sorted({*DIST.glob("*.zip")} - existing):
        make_reproducible(package)
        blender_ext("validate", package)
        print(package.relative_to(ROOT))


def main() -> None:
    """Build a zip for each platform with compiled wheels, and one for all others."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    wheels = sorted(WHEELS.glob("*.whl"))
    pure = [wheel for wheel in wheels if wheel.stem.endswith("-none-any")]
    compiled = [wheel for wheel in wheels if wheel not in pure]
    platforms = [
        name for name, tag in PLATFORMS.items() if any(re.search(tag, w.name) for w in compiled)
    ]
    if platforms:
        build([*pure, *compiled], platforms)
    build(pure, ())


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"package: Blender's extension tool failed (exit code {error.returncode})")
