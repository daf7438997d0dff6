"""Corrects motion paths that Blender has recalculated, as soon as Blender isn't busy.

Blender calculates paths on request, and after edits while auto keying is on. It sends no
notification, but the points then differ from those set here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import bpy

from ...blender.errors import contained
from ...blender.listeners import on_load
from ...blender.updates import Updates
from ...editing.playing import finish
from ...ui.stepping import is_busy
from .paths import Key, Path, Points, affected_paths, calculate, is_affected, paths_of

PAUSE = 0.1
"""Seconds until the next check while Blender is busy."""

_calculated: dict[Key, Points] = {}
"""The correct points of all paths."""

_is_loaded = True
"""Whether nothing has been updated since a file was loaded."""


def note_update(updates: Updates) -> None:
    """Detect paths that Blender has recalculated, and schedule their correction."""
    if updates.depsgraph.mode != "VIEWPORT":
        return
    if _is_loaded:
        _trust_all()
    for block in updates.blocks:
        if isinstance(block, bpy.types.Object):
            pose: Any = block.pose
            # Asked at each edit, so paths are read only if there are any.
            has_paths = pose and pose.animation_visualization.motion_path.has_motion_paths
            if (has_paths or block.motion_path) and _is_outdated(block):
                _correct_soon()
                return


def _is_outdated(ob: bpy.types.Object) -> bool:
    return is_affected(ob) and any(map(_outdated, paths_of(ob)))


def _trust_all() -> None:
    global _is_loaded
    _is_loaded = False
    paths = [path for ob in bpy.data.objects for path in paths_of(ob)]
    note_calculated({path.key: path.points() for path in paths})


def note_calculated(points: dict[Key, Points]) -> None:
    """Remember the correct points of paths."""
    _calculated.update(points)


@on_load
def _forget() -> None:
    """Trust the paths of a loaded file, because verifying them takes a pass over all frames.

    Undo and redo keep the remembered points, because they may restore paths that Blender
    calculated.
    """
    global _is_loaded
    _is_loaded = True
    _calculated.clear()


def _outdated(path: Path) -> list[int]:
    """Return the frames at which a path's points differ from the correct ones."""
    correct = _calculated.get(path.key)
    points = path.points()
    if correct is None or len(correct) != len(points):
        return list(path.frames)
    # As bytes, because NaN is never equal to itself.
    old, new = correct.tobytes(), points.tobytes()
    if old == new:
        return []
    rows = [slice(12 * i, 12 * i + 12) for i in range(len(path.frames))]
    return [frame for frame, row in zip(path.frames, rows, strict=True) if old[row] != new[row]]


def _correct_soon() -> None:
    if bpy.app.background:
        return  # Timers don't run without a window.
    if not bpy.app.timers.is_registered(_correct):
        bpy.app.timers.register(_correct, first_interval=0.0)


def _correct() -> float | None:
    """Correct outdated paths in the view layers of all windows, unless Blender is busy.

    Returns:
        How many seconds to wait before trying again; None if it is done.
    """
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
    """Trust the paths of the open file."""
    _forget()


def unregister() -> None:
    """Stop correcting paths."""
    _calculated.clear()
    if bpy.app.timers.is_registered(_correct):
        bpy.app.timers.unregister(_correct)
