"""Make the manual's pictures of adding a constraint, from a real Blender; see films.py for others.

python3 tests/ui/screenshots.py [STEP…]    (or: make pictures)

The pictures are written to docs/images: look at them before you commit them, for menus are opened
by clicks at fixed places of the screen.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from window import ROOT, SCREEN, Window, opened

IMAGES = ROOT / "docs" / "images"
LARGEST = 300_000


@dataclass(frozen=True)
class Step:
    """A picture: its file, and where the mouse clicks (or rests, if last) before it is taken."""

    file: str
    clicks: tuple[tuple[int, int], ...] = ()


STEPS = {
    "select": Step("step-1-select.png"),
    "menu": Step("step-2-add.png", ((356, 52), (440, 442), (760, 527))),
    "panel": Step("step-3-panel.png"),
    "properties": Step("step-4-properties.png"),
    "pole": Step("step-5-pole.png"),
    "overlay": Step("overlay.png"),
}


def picture(window: Window, name: str, step: Step) -> Path:
    """Bring Blender to a step, and save the screen."""
    window.ask("empty()")
    window.until("is_up()")
    # Each of these needs what the one before has drawn.
    window.ask(f"prepare({name!r})")
    window.settled()
    window.ask(f"arrange({name!r})")
    window.until("open_tab()")
    # A sidebar glides in. With software OpenGL, a step of that may take longer than a screen must
    # rest to count as settled.
    time.sleep(3.0)
    for place in step.clicks[:-1]:
        before = window.settled()
        window.click(place)
        window.drawn(before, SCREEN, 10_000)
    if step.clicks:
        before = window.settled()
        window.move(step.clicks[-1])
        window.drawn(before, SCREEN, 300)
    target = IMAGES / step.file
    window.save(window.settled(), target)
    return target


def main() -> None:
    """Make all pictures, or those named."""
    with opened() as window:
        for name in sys.argv[1:] or STEPS:
            target = picture(window, name, STEPS[name])
            size = target.stat().st_size
            print(f"{target.relative_to(ROOT)}: {size // 1000} kB", flush=True)
            assert size < LARGEST, f"{target} is larger than {LARGEST} bytes"


if __name__ == "__main__":
    main()
