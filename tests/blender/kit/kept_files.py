"""Files that many tests begin with: what is slow to make is made once by a process, then opened."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path

import bpy

_kept: dict[Hashable, bytes] = {}


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
