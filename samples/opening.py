"""Open a sample, without Blender's own output."""

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
    """Suppress what Blender itself writes to the terminal."""
    sys.stdout.flush()
    stdout = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)
        os.close(null)


def open_sample(name: str) -> bpy.types.Scene:
    """Open a sample and return its scene."""
    with quiet():
        bpy.ops.wm.open_mainfile(filepath=str(FOLDER / f"{name}.blend"))
    return bpy.context.scene
