"""The cost of the extension besides solving: at rest, in memory, and in its overlay."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice, pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import bpy

from .child import ChildError, in_child
from .harness import Effort, clocked, enable, handlers_replaced, open_file, temporary_folder
from .playing import play, split, warm_up
from .report import Bound, Section, Table, ms, percentile, us
from .rigs import (
    BLENDERS,
    FLOOR,
    FRAMES,
    OURS,
    Rig,
    add_ours,
    armature,
    build,
    link,
    opened,
    save_variants,
)

# The cost of the extension at rest.


Work = Callable[[], list[float]]

UPDATES = """\
Microseconds of an update that affects no rig: an Empty without dependents is moved. The file's \
armature has 100 chains of 3 bones, with a constraint of ours on none or on each. “our handlers” \
is the time spent in our handler functions. The whole update is measured alternately with the \
extension's handlers registered and removed."""

PLAYBACK = """\
Microseconds of one `Scene.frame_set` in files without any of our constraints, in which the \
targets move, alternately with the extension's handlers and without."""


BUSY = "the machine was busy or its clock slow: compare the time of the whole update"


def idle(effort: Effort) -> Section:
    """Measure updates and playback."""
    updates: list[list[str]] = []
    goals: list[Bound] = []
    playback: list[list[str]] = []
    rig = Rig(effort.of(100, 3), 3, keyed=False)
    with _files(rig) as folder:
        for name, count in ((FLOOR, 0), (OURS, rig.chains)):
            _open(folder, name)
            figures = _update(effort)
            updates.append([f"{count} constraints", *map(us, figures)])
            what = f"Microseconds of our handlers in an update of no rig, {count} constraints"
            goals.append(Bound(what, 30.0 if count else 3.0, 1e6 * figures[0], BUSY))
    for rig in effort.of((Rig(1, 10), Rig(8, 3), Rig(100, 3)), (Rig(1, 10),)):
        with _files(rig) as folder:
            _open(folder, FLOOR)
            playback.append([rig.name, *map(us, _playback(effort))])
    return Section(
        "Idle",
        [
            Table(
                UPDATES,
                ("file", "our handlers", "p95", "whole update with", "without", "difference"),
                updates,
            ),
            Table(PLAYBACK, ("chains × bones", "with", "without", "difference"), playback),
        ],
        goals=goals,
    )


@contextmanager
def _files(rig: Rig) -> Iterator[Path]:
    with temporary_folder() as folder:
        save_variants(rig, folder)
        yield folder


def _open(folder: Path, name: str) -> None:
    """Open a file with the extension on."""
    enable(True)
    open_file(folder / f"{name}.blend")
    bpy.context.view_layer.update()


def _update(effort: Effort) -> list[float]:
    bystander = link(bpy.data.objects.new("Bystander", None))
    layer = bpy.context.view_layer
    rounds, count = effort.of((100, 20), (1, 5))

    def updates() -> list[float]:
        seconds: list[float] = []
        for i in range(count):
            bystander.location.x = i % 2
            start = perf_counter()
            layer.update()
            seconds.append(perf_counter() - start)
        return seconds

    updates()
    ours: list[float] = []
    for _ in range(rounds):
        ours += inside_our_handlers(updates)
    return [median(ours), percentile(ours, 0.95), *_with_and_without([updates] * rounds)]


def inside_our_handlers(updates: Work) -> list[float]:
    """Return the total time of our handlers in each update."""
    with clocked() as clock:
        count = len(updates())
    spent = clock.handlers
    calls = len(spent) // count
    return [sum(spent[i * calls : (i + 1) * calls]) for i in range(count)]


def _playback(effort: Effort) -> list[float]:
    scene = bpy.context.scene

    def block(frames: range) -> Work:
        return lambda: play(scene, frames)

    warm_up(scene, 1)

    return _with_and_without(
        [block(frames) for frames in effort.of(split(FRAMES, 5), [range(1, 4)])]
    )


def _with_and_without(works: list[Work]) -> list[float]:
    """Return the medians with our handlers and without, and the difference, in seconds."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    gc.collect()
    for number, work in enumerate(works):
        for present in (True, False) if number % 2 == 0 else (False, True):
            if present:
                seconds[True] += work()
            else:
                with handlers_replaced(lambda _handler: None):
                    seconds[False] += work()
    with_them, without = (median(seconds[present]) for present in (True, False))
    return [with_them, without, with_them - without]


# Growth of memory during playback.


MEMORY_RIG = Rig(8, 3)

MEMORY_MEANING = """\
Megabytes of resident memory, on 8 chains of 3 bones, playing the {loop} frames of the file over \
and over. The columns are the memory after {warm_up} frames of warm-up, then the growth over the \
next {half} frames, and over another {half}."""


def memory(effort: Effort) -> Section:
    """Play the same frames with our constraints, with Blender's, and without IK."""
    if not sys.platform.startswith("linux"):
        return Section("Memory", [Table("Only measured on Linux.", ("variant",), [])])
    warm_up, half = effort.of((1000, 5000), (5, 5))
    with temporary_folder() as folder:
        save_variants(MEMORY_RIG, folder)
        sizes = {v: _sizes(folder, v, warm_up, half) for v in (OURS, BLENDERS, FLOOR)}
    headings = ("variant", "after warm-up", f"next {half:,} frames", f"{half:,} after those")
    meaning = MEMORY_MEANING.format(loop=FRAMES, warm_up=warm_up, half=f"{half:,}")
    rows = [_row(variant, megabytes) for variant, megabytes in sizes.items()]
    growth = sizes[OURS][-1] - sizes[OURS][-2]
    goal = Bound(f"Megabytes added by the last {half:,} frames", 0.1, growth)
    return Section("Memory", [Table(meaning, headings, rows)], goals=[goal])


def _sizes(folder: Path, variant: str, warm_up: int, half: int) -> list[float]:
    with opened(folder, variant) as scene:
        frames = cycle(range(1, FRAMES + 1))
        sizes: list[float] = []
        for count in (warm_up, half, half):
            play(scene, islice(frames, count))
            gc.collect()
            sizes.append(resident_megabytes())
    return sizes


def _row(variant: str, sizes: list[float]) -> list[str]:
    growth = [f"{later - earlier:+.2f}" for earlier, later in pairwise(sizes)]
    return [variant, f"{sizes[0]:.1f}", *growth]


def resident_megabytes() -> float:
    """Return the resident memory of this process in megabytes; on Linux only."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# The overlay in the viewport: gathering its data, and drawing.


OVERLAY_RIG = Rig(20, 10, length=5.0, spacing=1.0)
"""Large enough to fill the view of factory settings, which is fixed without a window."""

SIZE = (1600, 900)
OVERLAY_FRAMES = 100
GATHERED, DRAWN = 1.0, 5.0

OVERLAY_MEANING = """\
Milliseconds for the overlay of {name} bones, all of them shown, at each of {frames} frames. \
“gathered” is the time Python takes to read and compute. “drawn” is the time to finish a picture \
of its lines, joints and texts, {wide} × {high} pixels{renderer}."""

NO_CONTEXT = "not: this Blender has no graphics without a window ({why})"

READ = "chains, bones and targets are read from Python"
SOFTWARE = "lines and points are put together in Python, and drawn by {renderer}"


def overlay(effort: Effort) -> Section:
    """Measure gathering and drawing."""
    frames = effort.of(OVERLAY_FRAMES, 3)
    gathered = median(_gathered(frames))
    row = [OVERLAY_RIG.name, ms(gathered)]
    goals = [
        Bound(
            f"overlay of {OVERLAY_RIG.chains} chains gathered: ms", GATHERED, 1e3 * gathered, READ
        )
    ]
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
        goals.append(
            Bound(f"overlay of {OVERLAY_RIG.chains} chains drawn: ms", DRAWN, 1e3 * drawn, reason)
        )
    meaning = OVERLAY_MEANING.format(
        name=OVERLAY_RIG.name,
        frames=frames,
        wide=SIZE[0],
        high=SIZE[1],
        renderer=f" by {renderer}" if renderer else "",
    )
    return Section("Overlay", [Table(meaning, ("chains", "gathered", "drawn"), [row])], goals=goals)


@contextmanager
def _viewport() -> Iterator[bpy.types.Context]:
    """Make the chains in a new file, with a 3D Viewport as the context."""
    enable(True)
    build(OVERLAY_RIG)
    add_ours(OVERLAY_RIG)
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
        assert data is not None and len(data.chains) == OVERLAY_RIG.chains
        yield seconds, data


def draw(frames: int) -> tuple[float, float, str]:
    """Draw frames without a window, as Blender 5 can; to be called in its own process.

    Returns:
        The median time in seconds, the share of pixels that are drawn in the last picture, and the
        name of the renderer.
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
                buffer.read_color(0, 0, 1, 1, 4, 0, "UBYTE")  # Wait until it is cleared.
                start = perf_counter()
                draw_world(context, data)
                draw_pixels(context, data)
                buffer.read_color(0, 0, 1, 1, 4, 0, "UBYTE")
                times.append(perf_counter() - start)
            pixels = buffer.read_color(0, 0, *SIZE, 4, 0, "UBYTE")
        pixels.dimensions = 4 * SIZE[0] * SIZE[1]
        alphas = bytes(pixels)[3::4]
        shown = 1.0 - alphas.count(0) / len(alphas)
        # The first frame compiles the shaders.
        return median(times[1:]), shown, library.platform.renderer_get()
