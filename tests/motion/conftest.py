"""Puts the add-on on the path, of which only the parts without Blender are imported."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

settings.register_profile("same every time", derandomize=True, deadline=None, database=None)
settings.load_profile("same every time")
