"""Draw the pictures and the film that are uploaded with the extension: `make listing`.

The stills are written to `listing/`, beside the text that they go with, and the film too. The icon
and the featured picture are those of `demo.py --pictures`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bpy

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "listing"
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from samples import pictures  # noqa: E402
from samples.opening import quiet  # noqa: E402
from samples.parts import FRAMES  # noqa: E402

STILLS = {"stairs": 44, "cup": 61, "spider": 88, "look": 43, "rope_bridge": 100}
"""Samples of five features, each at a frame that shows its feature."""

STILL_SIZE = (1920, 1080)

FILM = ("stairs",)
"""The samples in the film, in order."""

FILM_SIZE = (640, 360)

EVERY = 3
"""One of so many frames is drawn, and shown for as long, so that the film keeps its pace."""


def main() -> None:
    """Write the stills, then the film."""
    import addon

    with quiet():
        addon.register()
    try:
        for name, frame in STILLS.items():
            path = FOLDER / f"{name}.png"
            pictures.save_png(pictures.still(name, frame, STILL_SIZE, 24), path)
            _say(path)
        with TemporaryDirectory() as folder:
            _say(write_film(_draw_film(Path(folder)), FOLDER / "film.mp4"))
    finally:
        # The wheels crash or hang if they exit with a handler registered.
        addon.unregister()


def _draw_film(folder: Path) -> list[Path]:
    """Draw the film's frames into a folder, and return their paths in order."""
    paths: list[Path] = []
    for name in FILM:
        for shot in pictures.shots(name, list(range(1, FRAMES + 1, EVERY)), FILM_SIZE, 4):
            paths.append(folder / f"{len(paths):04}.png")
            shot.save(paths[-1])
    return paths


def write_film(frames: list[Path], path: Path) -> Path:
    """Write pictures as an MP4 with Blender's sequencer, and return its path."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    editor: Any = scene.sequence_editor_create()
    strips = editor.strips if hasattr(editor, "strips") else editor.sequences  # 5.0 renamed them.
    strip = strips.new_image("Film", str(frames[0]), 1, 1)
    for frame in frames[1:]:
        strip.elements.append(frame.name)
    scene.frame_start, scene.frame_end = 1, len(frames)
    render: Any = scene.render
    render.resolution_x, render.resolution_y = FILM_SIZE
    render.fps = 24 // EVERY
    scene.view_settings.view_transform = "Standard"  # The frames have theirs already.
    if hasattr(render.image_settings, "media_type"):
        render.image_settings.media_type = "VIDEO"
    render.image_settings.file_format = "FFMPEG"
    render.ffmpeg.format, render.ffmpeg.codec = "MPEG4", "H264"
    render.ffmpeg.constant_rate_factor = "HIGH"
    render.use_file_extension = False
    render.filepath = str(path)
    with quiet():
        bpy.ops.render.render(animation=True)
    return path


def _say(path: Path) -> None:
    print(f"  {path.relative_to(ROOT)} ({path.stat().st_size / 1000:.0f} kB)", flush=True)


if __name__ == "__main__":
    main()
