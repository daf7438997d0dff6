"""Any module can be imported first: none relies on another one having been imported before."""

from pathlib import Path

import pytest
from rigs import PATH, run_elsewhere

import addon
import fabrik_solver

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"addon": ROOT, "fabrik_solver": ROOT / "solver" / "src"}
"""Where each package lies."""

PROGRAM = """
import gc, importlib, os, sys
import bpy
gc.disable()  # What it would find of each of the copies takes a fifth of the time.
sys.path[:0] = {path!r}
for name in {names!r}:
    # The solver imports nothing of the extension, so that it may stay for those modules.
    package = name.split(".")[0]
    for known in [one for one in sys.modules if one.split(".")[0] == package]:
        del sys.modules[known]
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{{name}}: {{error}}")
sys.stdout.flush()
os._exit(0)  # Blender 4.2 may crash at its end with some hundred copies of each definition.
"""


def test_every_module_can_be_imported_first(tmp_path: Path) -> None:
    files = [
        file.relative_to(folder).with_suffix("")
        for package, folder in PACKAGES.items()
        for file in (folder / package).rglob("*.py")
    ]
    names = [".".join(file.parts) for file in files if file.parts[1] != "presets"]
    names = sorted(name.removesuffix(".__init__") for name in names)
    assert {"fabrik_solver.core.solve", "addon.plan.plan", "addon.features.gait.body"} <= set(names)
    script = tmp_path / "imports.py"
    script.write_text(PROGRAM.format(path=PATH, names=names))
    printed = run_elsewhere(script)
    assert [line for line in printed.splitlines() if line.startswith((*PACKAGES,))] == []


def test_the_solver_of_another_version_in_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after an update: what is compiled cannot be imported again."""
    assert fabrik_solver.__version__.partition("+")[0] == addon.SOLVER
    monkeypatch.setattr(fabrik_solver, "__version__", "0.0.9")
    with pytest.raises(ImportError, match="restart Blender"):
        addon.register()


WITHOUT_NUMPY = """
import os, sys
sys.path[:0] = {path!r}
import bpy
sys.modules["numpy"] = None  # Importing it is an error.
import addon
addon.register()
print("registered")
sys.stdout.flush()
os._exit(0)
"""


def test_starting_does_not_import_numpy(tmp_path: Path) -> None:
    """Blender starts without it."""
    script = tmp_path / "start.py"
    script.write_text(WITHOUT_NUMPY.format(path=PATH))
    assert "registered" in run_elsewhere(script).splitlines()
