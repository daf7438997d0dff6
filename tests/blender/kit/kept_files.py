"""Files that many tests begin with: what is slow to make is made once by a process, then opened."""

from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path

import bpy

_kept: dict[Hashable, bytes] = {}


def new_file() -> None:
    """Open a new, empty file with factory settings. What was in the open one is lost."""
    file = Path(bpy.app.tempdir) / "startup.blend"
    if not file.exists():
        file.write_bytes(_startup())
    bpy.ops.wm.read_homefile(filepath=str(file))


@cache
def _startup() -> bytes:
    """Return Blender's own empty file, with the workspace that it shows alone.

    With the other ten, reading it takes twice as long, and every test reads it.
    """
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    shown = bpy.context.window.workspace
    bpy.data.batch_remove([other for other in bpy.data.workspaces if other != shown])
    file = Path(bpy.app.tempdir) / "made.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file), copy=True)
    return file.read_bytes()


def open_kept(key: Hashable, make: Callable[[], object]) -> None:
    """Open the file that a function makes of an empty one. What was in the open one is lost."""
    file = Path(bpy.app.tempdir) / "kept.blend"
    if key not in _kept:
        make()
        bpy.ops.wm.save_as_mainfile(filepath=str(file), copy=True)
        _kept[key] = file.read_bytes()
    file.write_bytes(_kept[key])
    bpy.ops.wm.open_mainfile(filepath=str(file))
    file.unlink()


def reopen() -> None:
    """Save the open file, and open what was saved."""
    path = str(Path(bpy.app.tempdir) / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
