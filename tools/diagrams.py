#!/usr/bin/env python3
"""Draw the Graphviz files in tools/diagrams as docs/images/….svg (make diagrams).

Each picture ends with the digest of its source, so that a test finds outdated pictures.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "diagrams"
IMAGES = FOLDER.parent.parent / "docs" / "images"

# Graphviz itself, compiled to WebAssembly.
DRAW = """\
import(require("url").pathToFileURL(process.argv[1])).then(async ({ Graphviz }) => {
  const text = require("fs").readFileSync(0, "utf8");
  process.stdout.write((await Graphviz.load()).dot(text, "svg"));
});
"""


def sources() -> list[Path]:
    """Return the Graphviz files."""
    return sorted(FOLDER.glob("*.dot"))


def source_of(name: str) -> str:
    """Return the source of a picture."""
    return (FOLDER / f"{name}.dot").read_text(encoding="utf-8")


def picture_of(source: Path) -> Path:
    """Return the path of the picture of a Graphviz file."""
    return IMAGES / f"{source.stem}.svg"


def mark_of(source: Path) -> str:
    """Return the last line of an up-to-date picture of a Graphviz file."""
    return f"<!-- {sha256(source.read_bytes()).hexdigest()[:12]} -->\n"


def main() -> None:
    """Draw all pictures."""
    from environment import SetupError, scripts

    try:
        package = scripts() / "node_modules" / "@hpcc-js" / "wasm-graphviz"
    except SetupError as error:
        sys.exit(f"diagrams: {error}")
    node = shutil.which("node") or "node"
    for source in sources():
        command = [node, "-e", DRAW, str(package / "dist" / "index.js")]
        text = source_of(source.stem)
        svg = subprocess.run(
            command, input=text, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        picture_of(source).write_text(svg + mark_of(source), encoding="utf-8")


if __name__ == "__main__":
    main()
