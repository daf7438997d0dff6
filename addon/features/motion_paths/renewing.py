"""Calculating motion paths again after Blender has, as soon as it is not busy.

Blender calculates paths when asked to, and after edits while auto keying is on. Nothing tells of
it, but the points are then others than those set here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import bpy

from ...blender.errors import contained
from ...blender.listeners import on_load
from ...editing.playing import finish
from ...ui.stepping import is_busy
from .paths import Key, Path, Points, affected_paths, calculate, is_affected, paths_of

PAUSE = 0.1
"""Seconds until the next check whether Blender is still busy."""

_calculated: dict[Key, Points] = {}
"""The points of all paths as they should be."""

_is_loaded = True
"""Whether nothing has been updated since a file was loaded."""


def note_update(depsgraph: bpy.types.Depsgraph) -> None:
    """Look for paths that Blender has calculated, and correct them soon."""
    global _is_loaded
    if depsgraph.mode != "VIEWPORT":
        return
    if _is_loaded:
        _is_loaded = False
        paths = [path for ob in bpy.data.objects for path in paths_of(ob)]
        note_calculated({path.key: path.points() for path in paths})
    for update in depsgraph.updates:
        ob = update.id
        if isinstance(ob, bpy.types.Object) and _is_outdated(cast(bpy.types.Object, ob.original)):
            _correct_soon()
            return


def _is_outdated(ob: bpy.types.Object) -> bool:
    paths = list(paths_of(ob))
    return bool(paths) and is_affected(ob) and any(map(_outdated, paths))


def note_calculated(points: dict[Key, Points]) -> None:
    """Remember the points of paths as they should be."""
    _calculated.update(points)


@on_load
def _forget() -> None:
    """Take the paths of another file for right: it takes a pass over all frames to know better.

    Undo and redo keep what is known, as they may bring back paths as Blender calculated them.
    """
    global _is_loaded
    _is_loaded = True
    _calculated.clear()


def _outdated(path: Path) -> list[int]:
    """Return the frames at which a path has other points than it should have."""
    should = _calculated.get(path.key)
    points = path.points()
    if should is None or len(should) != len(points):
        return list(path.frames)
    # As bytes: what is no number is never equal.
    old, new = should.tobytes(), points.tobytes()
    if old == new:
        return []
    rows = [slice(12 * i, 12 * i + 12) for i in range(len(path.frames))]
    return [frame for frame, row in zip(path.frames, rows, strict=True) if old[row] != new[row]]


def _correct_soon() -> None:
    if bpy.app.background:
        return  # Without a window nothing runs timers.
    if not bpy.app.timers.is_registered(_correct):
        bpy.app.timers.register(_correct, first_interval=0.0)


def _correct() -> float | None:
    """Correct the outdated paths of all windows' view layers, unless Blender is busy."""
    if is_busy():
        return PAUSE
    windows: Iterable[Any] = cast(bpy.types.WindowManager, bpy.context.window_manager).windows
    for window in windows:
        with (
            contained("could not calculate motion paths"),
            bpy.context.temp_override(window=window),
        ):
            paths = affected_paths(window.view_layer)
            wanted = {path: frames for path in paths if (frames := _outdated(path))}
            if wanted:
                note_calculated(finish(calculate(window.scene, window.view_layer, wanted)))
    return None


def register() -> None:
    """Take the paths of the open file for right."""
    _forget()


def unregister() -> None:
    """Correct nothing any more."""
    _calculated.clear()
    if bpy.app.timers.is_registered(_correct):
        bpy.app.timers.unregister(_correct)
