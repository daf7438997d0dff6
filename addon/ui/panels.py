"""The base of panels."""

from __future__ import annotations

import bpy


class OfArmature:
    """A panel for an active armature."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show the panel for armatures."""
        return context.object is not None and context.object.type == "ARMATURE"
