"""Build the extension's zip with Blender's own tool, which validates it before and after.

The tool is in the `bpy` wheel of the Python that runs this script; Blender itself is not started.
The zip contains the wheel that `make wheels` has built, if there is one. Prints the path of the
zip.
"""

import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGE = ROOT / "build" / "fabrik_ik"
WHEELS = ROOT / "build" / "wheels"
DIST = ROOT / "dist"


def blender_ext(*arguments: str | Path) -> None:
    """Run Blender's extension tool; its messages go to standard error."""
    bpy = find_spec("bpy")
    if bpy is None or bpy.origin is None:
        sys.exit("package: this Python has no bpy, which contains Blender's extension tool")
    pattern = "*/scripts/addons_core/bl_pkg/cli/blender_ext.py"
    tool = next(Path(bpy.origin).parent.glob(pattern))
    command = [sys.executable, str(tool), *map(str, arguments)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def stage() -> None:
    """Lay out the package: the tool expects `__init__.py` next to the manifest."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(
        ROOT / "addon", STAGE, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "*.pot")
    )
    shutil.copy(ROOT / "LICENSE", STAGE)
    wheels = sorted(WHEELS.glob("*.whl"))
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    if wheels:
        # Without `platforms`, Blender skips wheels that do not fit, and installs the rest.
        listed = "".join(f'  "./wheels/{wheel.name}",\n' for wheel in wheels)
        manifest += f"\nwheels = [\n{listed}]\n"
        (STAGE / "wheels").mkdir()
    for wheel in wheels:
        shutil.copy(wheel, STAGE / "wheels")
    (STAGE / "blender_manifest.toml").write_text(manifest, encoding="utf-8")


def make_reproducible(package: Path) -> None:
    """Rewrite the zip, sorted and with a fixed date: the same inputs give the same zip."""
    with zipfile.ZipFile(package) as archive:
        files = {name: archive.read(name) for name in sorted(archive.namelist())}
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # The default date is the earliest one, in 1980.
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, compress_type=zipfile.ZIP_DEFLATED)


def main() -> None:
    """Stage, validate and build the package, and validate the zip."""
    stage()
    blender_ext("validate", STAGE)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    blender_ext("build", "--source-dir", STAGE, "--output-dir", DIST)
    (package,) = DIST.glob("*.zip")
    make_reproducible(package)
    blender_ext("validate", package)
    print(package.relative_to(ROOT))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"package: Blender's extension tool failed (exit code {error.returncode})")
