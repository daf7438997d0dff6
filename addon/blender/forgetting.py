"""Caches of the file's data: each registers here how it is cleared, so that none is missed."""

from __future__ import annotations

from .listeners import Listeners

forgets = Listeners[[]]()
"""Called when a file is loaded, after undo and redo, and on unregister.

References to Blender's data are invalid by then.
"""
