"""Build the sample .blend files: all, or those named.

python samples/build.py [arm tentacle …]

Build them with the oldest supported Blender, so that all others can open them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import bpy

FOLDER = Path(__file__).resolve().parent
NAMES = ("arm", "leg", "tentacle", "robot_arm", "weapon_grip", "puppet", "hand", "humanoid")
"""Samples whose constraints all reach for targets."""

MOTIONS = (
    *("look", "rope_bridge", "octopus", "hills", "stairs", "spider", "quadruped", "cup"),
    "ponytail",
)
"""Samples whose constraints don't all reach, so they can't be compared with Blender's IK."""

ALL = (*NAMES, *MOTIONS)


def make(name: str) -> None:
    """Empty the open file, make a sample in it, and show its first frame."""
    import_module(f"samples.{name}").build()
    bpy.context.scene.frame_set(1)


def save(name: str) -> Path:
    """Write the open file as a sample."""
    path = FOLDER / f"{name}.blend"
    bpy.context.preferences.filepaths.save_version = 0  # No backup of the previous file.
    # As a copy, otherwise the file would contain the path that it was saved to.
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True, copy=True)
    return path


def main(names: list[str]) -> None:
    """Build samples with the extension registered, as when a user makes a rig."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"build: no such sample: {', '.join(unknown)}; choose from {', '.join(ALL)}")
    import addon

    addon.register()
    try:
        for name in names or ALL:
            make(name)
            path = save(name)
            print(f"{path.relative_to(FOLDER.parent)}: {path.stat().st_size / 1000:.0f} kB")
    finally:
        # The wheel for 4.2 crashes when it ends with a handler registered.
        addon.unregister()


if __name__ == "__main__":
    sys.path[0] = str(FOLDER.parent)
    main(sys.argv[1:])
