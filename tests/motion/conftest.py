"""Puts the add-on on the path, of which only the parts without Blender are imported."""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

settings.register_profile("same every time", derandomize=True, deadline=None, database=None)
settings.register_profile("new each time", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("new each time" if os.environ.get("FABRIK_FUZZ") else "same every time")
