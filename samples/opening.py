"""Opening a sample, without what Blender has to say about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

FOLDER = Path(__file__).resolve().parent


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what Blender itself writes to the terminal from being seen."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def open_sample(name: str) -> bpy.types.Scene:
    """Open a sample and return its scene."""
    with quiet():
        bpy.ops.wm.open_mainfile(filepath=str(FOLDER / f"{name}.blend"))
    return bpy.context.scene
