"""Any module can be imported first: none relies on another one having been imported before."""

from pathlib import Path

from rigs import run_elsewhere

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import importlib, os, sys
import bpy
sys.path.insert(0, {root!r})
for name in {names!r}:
    for known in [one for one in sys.modules if one == "addon" or one.startswith("addon.")]:
        del sys.modules[known]
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{{name}}: {{error}}")
sys.stdout.flush()
os._exit(0)  # Blender 4.2 may crash at its end with some hundred copies of each definition.
"""


def test_every_module_can_be_imported_first(tmp_path: Path) -> None:
    files = [file.relative_to(ROOT).with_suffix("") for file in (ROOT / "addon").rglob("*.py")]
    names = [".".join(file.parts) for file in files if file.parts[1] != "presets"]
    names = sorted(name.removesuffix(".__init__") for name in names)
    assert {"addon.core.solve", "addon.loop.plan", "addon.features.gait.body"} <= set(names)
    script = tmp_path / "imports.py"
    script.write_text(PROGRAM.format(root=str(ROOT), names=names))
    printed = run_elsewhere(script, timeout=300.0)
    assert [line for line in printed.splitlines() if line.startswith("addon")] == []
