"""Invalidation of caches: each cache of the file's data registers a function that clears it."""

from __future__ import annotations

from .listeners import Listeners

forgets = Listeners[[]]()
"""Called after loading a file, undo and redo, and on unregister.

By then all references to Blender's data are invalid.
"""
