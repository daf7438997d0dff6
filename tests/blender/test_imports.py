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
from importlib.machinery import FileFinder, SourceFileLoader
import bpy
gc.disable()  # What it would find of each of the copies takes a fifth of the time.
sys.path[:0] = {path!r}
folders, names = {folders!r}, {names!r}
complete, tried = [], set()

class NotingLoader(SourceFileLoader):
    def exec_module(self, module):
        super().exec_module(module)
        complete.append(module.__name__)

def find_in(folder):
    if not folder.startswith(folders):
        raise ImportError
    return FileFinder(folder, (NotingLoader, [".py"]))

def attempt(name):
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{{name}}: {{error}}")

def forget_all():
    for known in set(sys.modules).intersection(names):
        del sys.modules[known]

sys.path_hooks.insert(0, find_in)
for name in names:
    attempt(name)
forget_all()
# What those before have not imported is as good as first: whoever waits for it imports it as well,
# and fails when itself first. Hardly any is imported by others before its turn in the order in
# which they were complete. The packages of a module come first whatever is imported of them.
when = {{name: i for i, name in enumerate(complete)}}
def packages(name):
    return [name[:i] for i, sign in enumerate(name + ".") if sign == "."]
for name in sorted(names, key=lambda name: max(when.get(one, 0) for one in packages(name))):
    first = next((one for one in packages(name) if one not in sys.modules), None)
    if first is not None:
        attempt(name)
        tried |= {{one for one in (name, *sys.modules) if (one + ".").startswith(first + ".")}}
for name in set(names) - tried:
    forget_all()
    attempt(name)
sys.stdout.flush()
os._exit(0)  # Blender 4.2 may crash at its end with many copies of each definition.
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
    folders = tuple(str(folder / package) for package, folder in PACKAGES.items())
    script.write_text(PROGRAM.format(path=PATH, folders=folders, names=names))
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
