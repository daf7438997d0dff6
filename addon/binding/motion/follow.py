"""The settings of a chain that is dragged by its head."""

import bpy


class FabrikFollow(bpy.types.PropertyGroup):
    """How a chain that is dragged by its head moves."""
