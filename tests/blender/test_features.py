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
    "foot_roll",
    "free_chain",
    "gait",
    "ground",
    "joints",
    "layer",
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
import importlib, os, sys, traceback
from pathlib import Path
sys.path[:0] = {path!r}
import bpy
from rigs import add_constraint, make_chain, make_empty, tip_error, update

aside, features = Path({folder!r}, "aside"), Path({folder!r}, "addon", "features")
app = Path({folder!r}, "addon", "app", "__init__.py")
source = app.read_text(encoding="utf-8")
for number, (feature, gone) in enumerate({without!r}.items()):
    for name in gone:
        os.rename(features / name, aside / name)
    lines = [line for line in source.splitlines() if line.strip(" ,") not in gone]
    app.write_text("\\n".join(lines), encoding="utf-8")
    os.utime(app, (number, number))  # So that it is compiled again, alone.
    importlib.invalidate_caches()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    try:
        import addon
        assert addon.__path__[0].startswith({folder!r})
        addon.register()
        rig, target = make_chain(), make_empty(location=(0.3, 0.4, 1.2))
        item = add_constraint(rig, "B2", target)
        update()
        print(feature, "state", item.state, tip_error(rig, "B2", target) < 1e-4)
        addon.unregister()
        left = tuple("addon.features." + name for name in gone)
        print(feature, "left", [name for name in sys.modules if name.startswith(left)])
    except BaseException:
        print(feature, traceback.format_exc())
    for name in [name for name in sys.modules if name.split(".")[0] == "addon"]:
        del sys.modules[name]
    for name in gone:
        os.rename(aside / name, features / name)
sys.stdout.flush()
os._exit(0)  # Blender 4.2 may crash at its end with so many copies of each definition.
"""


def test_a_feature_can_be_taken_out(tmp_path: Path) -> None:
    """One after the other, with those that stand on it, from a copy of the extension."""
    shutil.copytree(
        ROOT / "addon", tmp_path / "addon", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "aside").mkdir()
    without = {
        feature: [feature, *(user for user, used in LISTED if used == feature)]
        for feature in OPTIONAL
    }
    source = (ROOT / "addon" / "app" / "__init__.py").read_text(encoding="utf-8")
    for name in {name for gone in without.values() for name in gone}:
        assert source.count(f"    {name},\n") == 2  # It is imported, and listed.
    path = [str(tmp_path), *(path for path in PATH if path != str(ROOT))]
    script = tmp_path / "without.py"
    script.write_text(PROGRAM.format(path=path, folder=str(tmp_path), without=without))
    printed = run_elsewhere(script)
    for feature in OPTIONAL:
        assert f"{feature} state REACHED True" in printed, printed
        assert f"{feature} left []" in printed, printed
    assert "Traceback" not in printed
