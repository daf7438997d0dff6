"""The settings of a chain that looks at its target."""

import bpy


class FabrikLook(bpy.types.PropertyGroup):
    """How a chain that looks at its target moves."""
