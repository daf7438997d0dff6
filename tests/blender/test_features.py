"""A feature is one folder and its name in the list of features: others work without it.

Only those that are listed as standing on it go with it.
"""

import re
import shutil
from pathlib import Path

from rigs import PATH, run_elsewhere

ROOT = Path(__file__).resolve().parents[2]

LISTED = re.findall(
    r'"addon\.features\.(\w+)\.\* -> addon\.features\.(\w+)\.\*"',
    (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
)
"""The features that may import others, and those."""

OPTIONAL = (
    "character",
    "command",
    "continuous",
    "convert",
    "drag",
    "fk_ik",
    "free_chain",
    "gait",
    "ground",
    "joints",
    "learn",
    "look_at",
    "mirror",
    "overlay",
    "root_motion",
    "rope",
    "wave",
    "whole_body",
)
"""Not bake and simulation, which others stand on, and the constraint itself."""

PROGRAM = """
import os, sys, traceback
sys.path[:0] = {path!r}
import bpy
from rigs import add_constraint, make_chain, make_empty, tip_error, update

for feature, folder in {folders!r}:
    sys.path.insert(0, folder)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    try:
        import addon
        assert addon.__path__[0].startswith(folder)
        addon.register()
        rig, target = make_chain(), make_empty(location=(0.3, 0.4, 1.2))
        item = add_constraint(rig, "B2", target)
        update()
        print(feature, "state", item.state, tip_error(rig, "B2", target) < 1e-4)
        addon.unregister()
        gone = "addon.features." + feature
        print(feature, "left", [name for name in sys.modules if name.startswith(gone)])
    except BaseException:
        print(feature, traceback.format_exc())
    for name in [name for name in sys.modules if name.split(".")[0] == "addon"]:
        del sys.modules[name]
    sys.path.remove(folder)
sys.stdout.flush()
os._exit(0)  # Blender 4.2 may crash at its end with so many copies of each definition.
"""


def test_a_feature_can_be_taken_out(tmp_path: Path) -> None:
    """One after the other, each in a copy of its own of the extension."""
    for feature in OPTIONAL:
        _without(feature, tmp_path / feature)
    folders = [(feature, str(tmp_path / feature)) for feature in OPTIONAL]
    script = tmp_path / "without.py"
    script.write_text(
        PROGRAM.format(path=[path for path in PATH if path != str(ROOT)], folders=folders)
    )
    printed = run_elsewhere(script)
    for feature in OPTIONAL:
        assert f"{feature} state REACHED True" in printed, printed
        assert f"{feature} left []" in printed, printed
    assert "Traceback" not in printed


def _without(feature: str, folder: Path) -> None:
    """Copy the extension without a feature and those that stand on it."""
    shutil.copytree(ROOT / "addon", folder / "addon", ignore=shutil.ignore_patterns("__pycache__"))
    app = folder / "addon" / "app" / "__init__.py"
    source = app.read_text(encoding="utf-8")
    for gone in (feature, *(user for user, used in LISTED if used == feature)):
        shutil.rmtree(folder / "addon" / "features" / gone)
        line = f"    {gone},\n"
        assert source.count(line) == 2  # It is imported, and listed.
        source = source.replace(line, "")
    app.write_text(source, encoding="utf-8")
