"""The machine on which the figures were measured."""

from __future__ import annotations

import os
import platform
from datetime import date
from pathlib import Path

import bpy

from fabrik_solver import COMPILED


def about() -> str:
    """Return machine, versions and date in one sentence, without identifying the computer."""
    way = "compiled" if COMPILED else "interpreted"
    return (
        f"Measured on {date.today().isoformat()} with Blender {bpy.app.version_string}, Python "
        f"{platform.python_version()}, on {_processor()}, {os.cpu_count()} cores, "
        f"{platform.system()}; solver and motions ran {way}."
    )


def load() -> str:
    """Return a warning if the machine is busy otherwise, or an empty string."""
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):
        return ""
    if busy < 0.5:
        return ""
    return (
        f"The machine is busy (load {busy:.1f}): Blender, which uses all cores, suffers more from "
        "that than the extension, which uses one, so the ratios flatter us."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
