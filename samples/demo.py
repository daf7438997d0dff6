"""Play the samples, measure them beside Blender's own IK, and make pictures of them.

python samples/demo.py             prints a table, writes build/demo/
python samples/demo.py --pictures  also writes the manual's pictures of them into docs/images/
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import bpy

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "demo"
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from samples import pictures, sleeve  # noqa: E402
from samples.build import MOTIONS, NAMES  # noqa: E402
from samples.measure import ROUNDS, Row, measured  # noqa: E402
from samples.opening import open_sample, quiet  # noqa: E402
from samples.parts import FRAMES  # noqa: E402

STILLS = {
    "arm": 1,
    "leg": 20,
    "tentacle": 100,
    "robot_arm": 25,
    "weapon_grip": 30,
    "puppet": 31,
    "hand": 101,
    "humanoid": 91,
}
"""The most characteristic frame of each sample."""


FIRST = ("octopus", 50)
"""The sample of the first picture, and its frame."""

COMPILED_ONE = "The compiled solver runs, as in the extension that is installed."
SOURCE = (
    "The solver runs as Python source, and several times slower than the compiled one of the\n"
    "extension that is installed; errors are the same. `make wheels` compiles it for the next demo."
)


def main(arguments: list[str]) -> None:
    """Run the demo."""
    if set(arguments) - {"--pictures"}:
        sys.exit(f"demo: only --pictures is understood, not {' '.join(arguments)}")
    import addon
    from fabrik_solver import COMPILED

    begin = perf_counter()
    with quiet():
        addon.register()
    try:
        step(f"FABRIK IK on Blender {bpy.app.version_string}: a picture of a sample")
        draw_first()
        step("\nPlaying the samples that reach, with FABRIK IK and with Blender's own IK")
        step(COMPILED_ONE if COMPILED else SOURCE)
        rows = measured_rows()
        step("\nDrawing them all in motion")
        draw_gif(rows, FOLDER / "demo.gif", (240, 150), every=5, samples=4)
        if "--pictures" in arguments:
            step("\nDrawing the manual's pictures")
            draw_for_readme(rows)
    finally:
        # The wheels crash or hang if they exit with a handler registered.
        addon.unregister()
    step(f"Done in {perf_counter() - begin:.0f} s.")


HEADINGS = (
    ("", "", "", "FABRIK IK", "", "Blender's IK", ""),
    ("rig", "chains × bones", "frames", "error mm", "ms/frame", "error mm", "ms/frame"),
)
WIDTHS = (11, 20, 6, 9, 8, 12, 8)
EXPLANATION = f"""
error: largest distance from a tip to its target, in world space, over all frames
ms/frame: median of Scene.frame_set over {ROUNDS} times all frames, the two in turn, in the same
process; a frame of a film lasts 42 ms"""


def measured_rows() -> list[Row]:
    """Measure all samples that reach, and print the table line by line."""
    for heading in HEADINGS:
        step(line(heading))
    step("-" * len(line(HEADINGS[-1])))
    rows = []
    for name in NAMES:
        row = measured(name)
        scores = [
            text
            for score in (row.ours, row.blenders)
            for text in (f"{score.worst_mm:.3f}", f"{score.median_ms:.2f}")
        ]
        step(line((row.name, row.size, str(row.frames), *scores)))
        rows.append(row)
    step(EXPLANATION)
    return rows


def line(cells: Sequence[str]) -> str:
    """Return a line of the table as plain text."""
    first, *others = zip(cells, WIDTHS, strict=True)
    texts = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
    return "  ".join(texts).rstrip()


def draw_first() -> None:
    """Write a picture of a posed rig."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    name, frame = FIRST
    path = FOLDER / f"{name}.png"
    pictures.save_png(pictures.still(name, frame, (640, 360), 16), path)
    _say(path)


def draw_for_readme(rows: list[Row]) -> None:
    """Write the pictures in README and manual."""
    folder = ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in STILLS.items():
        path = folder / f"{name}.png"
        pictures.save_png(pictures.still(name, frame, (640, 360), 32), path)
        _say(path)
    draw_gif(rows, folder / "demo.gif", (300, 188), every=3, samples=16)
    pictures.save_png(sleeve.picture(), folder / "sleeve.png")
    _say(folder / "sleeve.png")
    for name in MOTIONS:
        draw_motion(name, folder / f"{name}.gif")
    draw_for_platform(folder)


def draw_for_platform(folder: Path) -> None:
    """Write the icon and the featured picture for extension platforms."""
    scene = open_sample("octopus")
    scene.frame_set(50)
    for ob in scene.objects:
        if ob.type == "MESH":  # At this size, round outlines would have corners.
            ob.modifiers.new("Smooth", "SUBSURF")
    square = pictures.picture_of(scene, (640, 640), 48)
    icon = square.crop((60, 110, 540, 590)).resize((256, 256))
    pictures.save_png(icon, folder / "icon.png")
    featured = pictures.picture_of(scene, (1920, 1080), 48)
    featured.save(folder / "featured.png", optimize=True)
    for name in ("icon", "featured"):
        _say(folder / f"{name}.png")


def draw_gif(rows: list[Row], path: Path, size: pictures.Size, every: int, samples: int) -> None:
    """Write a GIF in which all samples move beside a still table of their errors."""
    frames = list(range(1, FRAMES + 1, every))
    films = []
    for name in NAMES:
        shots = pictures.shots(name, frames, size, samples)
        films.append([pictures.labelled(shot, name.replace("_", " ")) for shot in shots])
    card = pictures.score_card(
        size,
        [
            (
                row.name.replace("_", " "),
                f"{row.ours.worst_mm:.2f} mm",
                f"{row.blenders.worst_mm:.2f} mm",
            )
            for row in rows
        ],
    )
    sheets = [pictures.sheet([*shots, card], columns=3) for shots in zip(*films, strict=True)]
    # The file's 24 frames a second, in the hundredths of a second that GIFs use.
    pictures.save_gif(sheets, path, milliseconds=round(every * 100 / 24) * 10)
    _say(path)


def draw_motion(name: str, path: Path) -> None:
    """Write a GIF of a sample that moves by itself; README's are larger."""
    every = 3
    size = (480, 300) if name in ("hills", "stairs") else (288, 180)
    shots = pictures.shots(name, list(range(1, FRAMES + 1, every)), size, 16)
    pictures.save_gif(shots, path, milliseconds=round(every * 100 / 24) * 10)
    _say(path)


def step(text: str) -> None:
    """Print a text at once."""
    print(text, flush=True)


def _say(path: Path) -> None:
    step(f"  {path.relative_to(ROOT)} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main(sys.argv[1:])
