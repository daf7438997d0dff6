"""Run a function of the benchmark in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOLVER = ROOT / "solver" / "src"
MOST_SECONDS = 180.0


class ChildError(Exception):
    """The process failed; the message contains the end of its output."""


def in_child(function: Callable[..., Any], *arguments: Any, interpreted: bool = False) -> Any:
    """Run a function in its own process, and return its result.

    Args:
        function: A function of a module of this package.
        arguments: Its arguments. They and its result are passed as JSON.
        interpreted: Whether the solver runs from source, even if it is compiled in this process.

    Raises:
        ChildError: If the process fails or takes too long.
    """
    import bpy

    with TemporaryDirectory() as name:
        result = Path(name, "result.json")
        task = {
            "module": function.__module__,
            "function": function.__name__,
            "arguments": arguments,
            "interpreted": interpreted,
            "result": str(result),
        }
        command = [sys.executable, __file__, "--"]
        if bpy.app.binary_path:
            options = ["--background", "--factory-startup", "--python-exit-code", "1", "--python"]
            command = [bpy.app.binary_path, *options, __file__, "--"]
        try:
            done = subprocess.run(
                [*command, json.dumps(task)], capture_output=True, text=True, timeout=MOST_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ChildError(f"no result after {MOST_SECONDS:.0f} s") from None
        if done.returncode or not result.exists():
            raise ChildError((done.stdout + done.stderr)[-2000:])
        return json.loads(result.read_text(encoding="utf-8"))


def main(task: dict[str, Any]) -> None:
    """Run the function of a task, and write its result."""
    folder = str(Path(__file__).resolve().parent)
    # Python adds this folder, and the Rigify add-on has the same name as a module in it.
    sys.path[:] = [str(ROOT), *(path for path in sys.path if path != folder)]
    if task["interpreted"]:
        sys.path.insert(0, str(SOLVER))  # Before the compiled solver on PYTHONPATH.
    else:
        sys.path.append(str(SOLVER))
    import bpy  # noqa: F401 - makes the wheel's other modules importable

    from benchmarks import harness
    from fabrik_solver import COMPILED

    assert not (task["interpreted"] and COMPILED)
    function = getattr(import_module(task["module"]), task["function"])
    try:
        outcome = function(*task["arguments"])
    finally:
        harness.enable(False)
    Path(task["result"]).write_text(json.dumps(outcome), encoding="utf-8")


if __name__ == "__main__":
    main(json.loads(sys.argv[sys.argv.index("--") + 1]))
    # Blender's wheels may crash on exit, depending on the order of unloading modules.
    sys.stdout.flush()
    os._exit(0)
