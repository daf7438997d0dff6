"""Build the sample .blend files: all of them, or those that are named.

python samples/build.py [arm tentacle …]

Made with the oldest Blender that is supported, so that all others can open them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import bpy

FOLDER = Path(__file__).resolve().parent
NAMES = ("arm", "leg", "tentacle", "robot_arm", "weapon_grip", "puppet", "hand", "humanoid")
"""What reaches."""

MOTIONS = ("look", "rope_bridge", "octopus", "hills", "stairs", "spider", "quadruped", "cup")
"""Those in which not all constraints reach, so that Blender's IK is nothing to compare with."""

ALL = (*NAMES, *MOTIONS)


def make(name: str) -> None:
    """Make a sample in the open file, which is emptied before; its first frame is shown."""
    import_module(f"samples.{name}").build()
    bpy.context.scene.frame_set(1)


def save(name: str) -> Path:
    """Write the open file as a sample."""
    path = FOLDER / f"{name}.blend"
    bpy.context.preferences.filepaths.save_version = 0  # No backup of the one before.
    # As a copy: otherwise the path that the sample was saved to would stand in the file.
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True, copy=True)
    return path


def main(names: list[str]) -> None:
    """Build samples with the extension registered, as it is while somebody makes a rig."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"build: there is no sample {', '.join(unknown)}; choose of {', '.join(ALL)}")
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
