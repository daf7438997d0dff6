"""What is kept of a file beside it: each cache says here how it forgets, so that none is missed."""

from __future__ import annotations

from .listeners import Listeners

forgets = Listeners[[]]()
"""Is told when a file is loaded, after undo and redo, and at the end.

References to Blender's data are dead by then.
"""
