"""The settings of a chain that hangs between its root and its target."""

import bpy


class FabrikRope(bpy.types.PropertyGroup):
    """How a chain that hangs between its root and its target moves."""
