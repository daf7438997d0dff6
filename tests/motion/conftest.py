"""Puts the add-on's parts without Blender on the path as the package `parts`."""

import sys
from pathlib import Path
from types import ModuleType

from hypothesis import settings

# Not as `addon.motion`: the package of the add-on imports bpy.
parts = ModuleType("parts")
parts.__path__ = [str(Path(__file__).resolve().parents[2] / "addon")]
sys.modules.setdefault("parts", parts)

settings.register_profile("same every time", derandomize=True, deadline=None, database=None)
settings.load_profile("same every time")
