"""Play the samples, measure them beside Blender's own IK, and make pictures of them.

python samples/demo.py             prints a table, writes build/demo/
python samples/demo.py --pictures  writes the manual's pictures of them into docs/images/ as well
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import bpy

ROOT = Path(__file__).resolve().parent.parent
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
"""The frame at which each sample shows best what it is about."""


FAST = "The compiled solver runs, as in the extension that is installed on Linux."
SLOW = (
    "The solver runs as Python source, several times slower than compiled: "
    "it could not be compiled here, or for this Python."
)


def main(arguments: list[str]) -> None:
    """Show what the extension does."""
    if set(arguments) - {"--pictures"}:
        sys.exit(f"demo: only --pictures is understood, not {' '.join(arguments)}")
    import addon
    from fabrik_solver import COMPILED

    begin = perf_counter()
    with quiet():
        addon.register()
    try:
        print(f"FABRIK IK on Blender {bpy.app.version_string}, {len(NAMES)} sample rigs")
        print(FAST if COMPILED else SLOW, "\n", sep="")
        rows = [measured(name) for name in NAMES]
        print(table(rows))
        print("\nDrawing pictures on the processor …", flush=True)
        draw_demo(rows)
        if "--pictures" in arguments:
            draw_for_readme(rows)
    finally:
        # The wheels crash, or hang, when they end with a handler registered.
        addon.unregister()
    print(f"Done in {perf_counter() - begin:.0f} s.")


HEADINGS = (
    ("", "", "", "FABRIK IK", "", "Blender's IK", ""),
    ("rig", "chains × bones", "frames", "error mm", "ms/frame", "error mm", "ms/frame"),
)


def table(rows: list[Row]) -> str:
    """Return the measurements as plain text."""
    cells = [
        *HEADINGS,
        *(
            (
                row.name,
                row.size,
                str(row.frames),
                f"{row.ours.worst_mm:.3f}",
                f"{row.ours.median_ms:.2f}",
                f"{row.blenders.worst_mm:.3f}",
                f"{row.blenders.median_ms:.2f}",
            )
            for row in rows
        ),
    ]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    lines = []
    for line in cells:
        texts = [line[0].ljust(widths[0])]
        texts += [text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)]
        lines.append("  ".join(texts).rstrip())
    lines.insert(len(HEADINGS), "-" * max(map(len, lines)))
    lines.append(
        "\nerror: largest distance from a tip to its target, in world space, over all frames"
        f"\nms/frame: median of Scene.frame_set over {ROUNDS} times all frames, the two in turn, "
        "in the same process"
    )
    return "\n".join(lines)


def draw_demo(rows: list[Row]) -> None:
    """Write a picture of one posed rig and a small GIF of all."""
    folder = ROOT / "build" / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    pictures.save_png(
        pictures.still("tentacle", STILLS["tentacle"], (640, 360), 16), folder / "tentacle.png"
    )
    _say(folder / "tentacle.png")
    draw_gif(rows, folder / "demo.gif", (240, 150), every=5, samples=8)


def draw_for_readme(rows: list[Row]) -> None:
    """Write the pictures that README and manual show."""
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
    """Write the icon and the featured picture that extension platforms ask for."""
    scene = open_sample("octopus")
    scene.frame_set(50)
    for ob in scene.objects:
        if ob.type == "MESH":  # So large, the outline of what is round would have corners.
            ob.modifiers.new("Smooth", "SUBSURF")
    square = pictures.picture_of(scene, (640, 640), 48)
    icon = square.crop((60, 110, 540, 590)).resize((256, 256))
    pictures.save_png(icon, folder / "icon.png")
    featured = pictures.picture_of(scene, (1920, 1080), 48)
    featured.save(folder / "featured.png", optimize=True)
    for name in ("icon", "featured"):
        _say(folder / f"{name}.png")


def draw_gif(rows: list[Row], path: Path, size: pictures.Size, every: int, samples: int) -> None:
    """Write a GIF in which all samples move, and the table of their errors stands."""
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
    # The speed of the file, 24 frames a second, in the hundredths of a second that GIFs count in.
    pictures.save_gif(sheets, path, milliseconds=round(every * 100 / 24) * 10)
    _say(path)


def draw_motion(name: str, path: Path) -> None:
    """Write a GIF of one sample that moves by itself; those of the README are larger."""
    every = 3
    size = (480, 300) if name in ("hills", "stairs") else (288, 180)
    shots = pictures.shots(name, list(range(1, FRAMES + 1, every)), size, 16)
    pictures.save_gif(shots, path, milliseconds=round(every * 100 / 24) * 10)
    _say(path)


def _say(path: Path) -> None:
    print(f"  {path.relative_to(ROOT)} ({path.stat().st_size / 1000:.0f} kB)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
