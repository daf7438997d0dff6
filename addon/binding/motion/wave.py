"""The settings of a chain that waves."""

import bpy


class FabrikWave(bpy.types.PropertyGroup):
    """How a chain that waves moves."""
