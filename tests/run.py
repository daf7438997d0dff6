"""Run the Blender suite inside a real Blender, and leave with pytest's exit code.

blender --background --factory-startup --python-exit-code 1 --python tests/run.py -- tests/blender
"""

import os
import sys
from pathlib import Path

import bpy

ROOT = Path(__file__).resolve().parent.parent
# Where `tools/real_blender.py packages` puts pytest for this Python.
PACKAGES = ROOT / ".venv" / "packages-{}.{}".format(*sys.version_info)


def main() -> int:
    """Hand what stands after `--` to pytest."""
    sys.path[:0] = [str(ROOT), str(ROOT / "solver" / "src"), str(PACKAGES)]
    os.chdir(ROOT)
    import pytest

    print(f"Blender {bpy.app.version_string}, Python {sys.version.split()[0]}", flush=True)
    return int(pytest.main(sys.argv[sys.argv.index("--") + 1 :]))


if __name__ == "__main__":
    code = main()
    # Blender ends without emptying Python's buffers, and the last lines are the ones that matter.
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)
