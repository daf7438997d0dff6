"""Make the README's pictures of the window, from a real Blender.

python3 tests/ui/screenshots.py [STEP…]

It needs ../shared/tools/real-blender, which puts Blender on a virtual screen (Debian, as root);
another place of it is taken from REAL_BLENDER. The pictures are written to docs/images: look at
them before you commit them, for menus are opened by clicks at fixed places of the screen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
STARTER = os.environ.get("REAL_BLENDER", str(ROOT.parent / "shared" / "tools" / "real-blender"))
DISPLAY_NR = os.environ.get("DISPLAY_NR", "83")
SECONDS = 16
"""Software OpenGL is slow: until then the window is up and the stage is set."""

LARGEST = 300_000


@dataclass(frozen=True)
class Step:
    """A picture: its file, and where the mouse clicks (or rests, if last) before it is taken."""

    file: str
    clicks: tuple[tuple[int, int], ...] = ()


STEPS = {
    "select": Step("step-1-select.png"),
    "menu": Step("step-2-add.png", ((356, 52), (440, 442), (760, 496))),
    "panel": Step("step-3-panel.png"),
    "properties": Step("step-4-properties.png"),
    "pole": Step("step-5-pole.png"),
    "overlay": Step("overlay.png"),
}


def picture(name: str, step: Step) -> Path:
    """Start Blender, bring it to a step, and save the screen."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "screen.png"
        stage = ["--factory-startup", "--python", str(ROOT / "tests/ui/stage.py"), "--", name]
        started = subprocess.run(
            [STARTER, "gui", str(raw), str(SECONDS), *stage],
            env={**os.environ, "KEEP": "1", "DISPLAY_NR": DISPLAY_NR},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
        facts = dict(re.findall(r"(\w+)=(\S+)", started))
        try:
            mouse(facts, step.clicks)
            screen = inside(facts, "import", "-window", "root", "png:-")
        finally:
            for pid in ("PID", "SCREEN_PID"):
                subprocess.run(["kill", facts[pid]], check=False)
        IMAGES.mkdir(parents=True, exist_ok=True)
        target = IMAGES / step.file
        # 256 colours are enough for an interface and make the file small.
        target.write_bytes(
            inside(facts, "convert", "png:-", "-colors", "256", "png8:-", given=screen)
        )
    return target


def mouse(facts: dict[str, str], places: tuple[tuple[int, int], ...]) -> None:
    """Click at each place; at the last one only rest."""
    for number, (x, y) in enumerate(places, 1):
        inside(facts, "xdotool", "mousemove", str(x), str(y))
        time.sleep(1.0)
        if number < len(places):
            inside(facts, "xdotool", "click", "1")
            time.sleep(2.0)


def inside(facts: dict[str, str], *command: str, given: bytes | None = None) -> bytes:
    """Run a program where Blender is, on its screen."""
    whole = ["chroot", facts["ROOT"], "env", f"DISPLAY={facts['DISPLAY']}", *command]
    return subprocess.run(whole, input=given, stdout=subprocess.PIPE, check=True).stdout


def main() -> None:
    """Make all pictures, or those named."""
    for name in sys.argv[1:] or STEPS:
        target = picture(name, STEPS[name])
        size = target.stat().st_size
        print(f"{target.relative_to(ROOT)}: {size // 1000} kB", flush=True)
        assert size < LARGEST, f"{target} is larger than {LARGEST} bytes"


if __name__ == "__main__":
    main()
