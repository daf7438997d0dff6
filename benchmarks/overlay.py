"""The overlay in the viewport: gathering what it shows, and drawing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import Any

import bpy

from . import extension
from .child import ChildError, in_child
from .effort import Effort
from .report import Goal, Section, Table, ms
from .scenes import Rig, add_ours, armature, build

RIG = Rig(20, 10, length=5.0, spacing=1.0)
"""So large that it fills the view of factory settings, which does not change without a window."""

SIZE = (1600, 900)
FRAMES = 100
GATHERED, DRAWN = 1.0, 5.0

MEANING = """\
Milliseconds for the overlay of {name} bones, all of them shown, at each of {frames} frames: \
“gathered” is what Python reads and computes, “drawn” its lines, joints and texts in a picture of \
{wide} × {high} pixels{renderer}, until the picture is finished."""

NO_CONTEXT = "not: this Blender has no graphics without a window ({why})"

READ = "chains, bones and targets are read from Python"
SOFTWARE = "lines and points are put together in Python, and drawn by {renderer}"


def run(effort: Effort) -> Section:
    """Measure both."""
    frames = effort.of(FRAMES, 3)
    gathered = median(_gathered(frames))
    row = [RIG.name, ms(gathered)]
    found = [Goal(f"overlay of {RIG.chains} chains gathered: ms", GATHERED, 1e3 * gathered, READ)]
    renderer = ""
    try:
        drawn, shown, renderer = in_child(draw, frames)
    except ChildError as failed:
        lines = str(failed).strip().splitlines()
        row.append(NO_CONTEXT.format(why=lines[-1] if lines else "it ended"))
    else:
        assert shown > 0.001, "nothing was drawn"
        row.append(ms(drawn))
        reason = SOFTWARE.format(renderer=renderer)
        found.append(Goal(f"overlay of {RIG.chains} chains drawn: ms", DRAWN, 1e3 * drawn, reason))
    meaning = MEANING.format(
        name=RIG.name,
        frames=frames,
        wide=SIZE[0],
        high=SIZE[1],
        renderer=f" by {renderer}" if renderer else "",
    )
    return Section("Overlay", [Table(meaning, ("chains", "gathered", "drawn"), [row])], goals=found)


@contextmanager
def _viewport() -> Iterator[bpy.types.Context]:
    """Open a new file with the chains, and have a 3D Viewport as the context."""
    extension.turn(True)
    build(RIG)
    add_ours(RIG)
    armature().select_set(True)
    bpy.context.view_layer.update()
    windows: Any = bpy.context.window_manager
    window = windows.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        yield bpy.context


def _gathered(frames: int) -> list[float]:
    """Return the seconds of each frame."""
    with _viewport() as context:
        return [seconds for seconds, _ in _frames(context, frames)]


def _frames(context: bpy.types.Context, frames: int) -> Iterator[tuple[float, Any]]:
    """Yield the time to gather the data of each frame, and the data."""
    from addon.features.overlay.overlay import overlay_data

    scene: Any = context.scene
    for frame in range(1, frames + 1):
        scene.frame_set(frame)
        start = perf_counter()
        data = overlay_data(context)
        seconds = perf_counter() - start
        assert data is not None and len(data.chains) == RIG.chains
        yield seconds, data


def draw(frames: int) -> tuple[float, float, str]:
    """Draw frames without a window, as Blender 5 can; to be called in a process of its own.

    Returns:
        The median time in seconds, the share of pixels in which the last picture shows something,
        and the name of what has drawn it.
    """
    import gpu

    from addon.features.overlay.overlay import draw_pixels, draw_world

    library: Any = gpu
    library.init()
    with _viewport() as context:
        view: Any = context.region_data
        picture = library.types.GPUOffScreen(*SIZE)
        times: list[float] = []
        with picture.bind():
            buffer = library.state.active_framebuffer_get()
            library.matrix.load_matrix(view.view_matrix)
            library.matrix.load_projection_matrix(view.window_matrix)
            for _, data in _frames(context, frames + 1):
                buffer.clear(color=(0.0, 0.0, 0.0, 0.0))
                buffer.read_color(0, 0, 1, 1, 4, 0, "UBYTE")  # Until it is cleared.
                start = perf_counter()
                draw_world(context, data)
                draw_pixels(context, data)
                buffer.read_color(0, 0, 1, 1, 4, 0, "UBYTE")
                times.append(perf_counter() - start)
            pixels = buffer.read_color(0, 0, *SIZE, 4, 0, "UBYTE")
        pixels.dimensions = 4 * SIZE[0] * SIZE[1]
        alphas = bytes(pixels)[3::4]
        shown = 1.0 - alphas.count(0) / len(alphas)
        # The first one compiles the shaders.
        return median(times[1:]), shown, library.platform.renderer_get()
