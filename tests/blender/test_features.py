"""A feature is one folder and its name in the list of features: others work without it.

Only those that are listed as standing on it go with it.
"""

import re
import shutil
from pathlib import Path

import pytest
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
)
"""Not bake and simulation, which others stand on, and the constraint itself."""

PROGRAM = """
import sys
sys.path[:0] = {path!r}
import addon
addon.register()
from rigs import add_constraint, make_chain, make_empty, tip_error, update
rig, target = make_chain(), make_empty(location=(0.3, 0.4, 1.2))
item = add_constraint(rig, "B2", target)
update()
print("state", item.state)
addon.unregister()
print("left", [name for name in sys.modules if name.startswith("addon.features.{feature}")])
"""


@pytest.mark.parametrize("feature", OPTIONAL)
def test_a_feature_can_be_taken_out(feature: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "addon", tmp_path / "addon")
    app = tmp_path / "addon" / "app" / "__init__.py"
    source = app.read_text(encoding="utf-8")
    for gone in (feature, *(user for user, used in LISTED if used == feature)):
        shutil.rmtree(tmp_path / "addon" / "features" / gone)
        line = f"    {gone},\n"
        assert source.count(line) == 2  # It is imported, and listed.
        source = source.replace(line, "")
    app.write_text(source, encoding="utf-8")
    path = [str(tmp_path), *PATH]
    script = tmp_path / "without.py"
    script.write_text(PROGRAM.format(path=path, feature=feature))
    printed = run_elsewhere(script)
    assert "state REACHED" in printed
    assert "left []" in printed
    assert "Traceback" not in printed
