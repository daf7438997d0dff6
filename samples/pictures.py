"""Pictures of the samples, rendered by Cycles on the processor, and a GIF of all of them.

Cycles needs neither a screen nor a graphics card. The poses come from the extension's handlers,
which run in each render as they do in the viewport.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bpy
from PIL import Image, ImageDraw, ImageFont

from .opening import open_sample, quiet

Size = tuple[int, int]

INK = (38, 42, 52)
PAPER = (244, 244, 240)
ACCENT = (226, 104, 20)


def still(name: str, frame: int, size: Size, samples: int) -> Image.Image:
    """Return a picture of a sample at a frame."""
    return shots(name, [frame], size, samples)[0]


def shots(name: str, frames: list[int], size: Size, samples: int) -> list[Image.Image]:
    """Return pictures of a sample at some frames, with a number of samples per pixel."""
    scene = open_sample(name)
    pictures = []
    for frame in frames:
        scene.frame_set(frame)
        pictures.append(picture_of(scene, size, samples))
    return pictures


def picture_of(scene: bpy.types.Scene, size: Size, samples: int) -> Image.Image:
    """Return a picture of a scene at its current frame, with a number of samples per pixel."""
    _use_cycles(scene, size, samples)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        scene.render.filepath = str(path)
        with quiet():
            bpy.ops.render.render(write_still=True)
        with Image.open(path) as picture:
            return picture.convert("RGB")


def _use_cycles(scene: bpy.types.Scene, size: Size, samples: int) -> None:
    render: Any = scene.render
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y = size
    render.resolution_percentage = 100
    render.image_settings.file_format = "PNG"
    cycles: Any = scene.cycles  # type: ignore[attr-defined]
    cycles.device = "CPU"
    cycles.samples = samples
    cycles.max_bounces = 2
    # The same noise in every frame keeps unmoving parts still, and the GIF small.
    cycles.seed, cycles.use_animated_seed = 0, False
    cycles.use_denoising = True
    cycles.denoising_input_passes, cycles.denoising_prefilter = "RGB", "NONE"


def sheet(cells: list[Image.Image], columns: int) -> Image.Image:
    """Return pictures of one size side by side."""
    width, height = cells[0].size
    rows = -(-len(cells) // columns)
    whole = Image.new("RGB", (columns * width, rows * height), PAPER)
    for i, cell in enumerate(cells):
        whole.paste(cell, (i % columns * width, i // columns * height))
    return whole


def labelled(picture: Image.Image, text: str) -> Image.Image:
    """Write a title into a picture's corner."""
    font = _font(picture.height * 0.085)
    corner = (picture.height * 0.05, picture.height * 0.96)
    ImageDraw.Draw(picture).text(corner, text, font=font, fill=INK, anchor="ls")
    return picture


def score_card(size: Size, lines: list[tuple[str, str, str]]) -> Image.Image:
    """Draw the table of the largest tip errors: the rig, ours, Blender's."""
    card = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(card)
    width, height = size
    left, middle, right = 0.06 * width, 0.66 * width, 0.95 * width
    draw.text((left, 0.07 * height), "Largest tip error", font=_font(0.1 * height), fill=INK)
    rows = [("", "FABRIK IK", "Blender's"), *lines]
    step = 0.68 * height / (len(rows) - 1)
    font = _font(0.85 * step)
    for i, (rig, ours, blenders) in enumerate(rows):
        y = 0.27 * height + i * step
        draw.text((left, y), rig, font=font, fill=INK, anchor="ls")
        draw.text((middle, y), ours, font=font, fill=ACCENT, anchor="rs")
        draw.text((right, y), blenders, font=font, fill=INK, anchor="rs")
    return card


def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=round(size))


def save_gif(pictures: list[Image.Image], path: Path, milliseconds: int) -> None:
    """Write an endless GIF with one palette for all pictures, so that no color flickers."""
    palette = _palette(pictures[:: max(1, len(pictures) // 8)])
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    frames[0].save(
        path,
        save_all=True,
        append_images=frames[1:],
        duration=milliseconds,
        loop=0,
        optimize=False,
    )


def _palette(pictures: list[Image.Image]) -> Image.Image:
    """Return a picture with 256 colors, half of them by area.

    These are the walls and their soft shades. The other half is by distinct colors, without which
    the small but bright targets would be gray.
    """
    tall = sheet([picture.reduce(2) for picture in pictures], 1)
    coarse = tall.point([value & 0xF8 for value in range(256)] * 3)
    color_counts = coarse.getcolors(tall.width * tall.height) or []
    row = Image.new("RGB", (len(color_counts), 1))
    row.putdata(sorted(color for _, color in color_counts))  # type: ignore[type-var]
    palette = Image.new("P", (1, 1))
    halves = [image.quantize(128).getpalette() or [] for image in (tall, row)]
    palette.putpalette(halves[0][: 3 * 128] + halves[1][: 3 * 128])
    return palette


def save_png(picture: Image.Image, path: Path) -> None:
    """Write a picture with its own palette, which takes a third of the bytes."""
    small = picture.quantize(palette=_palette([picture]), dither=Image.Dither.FLOYDSTEINBERG)
    small.save(path, optimize=True)
