"""The settings of a foot on the ground."""

import bpy


class FabrikGround(bpy.types.PropertyGroup):
    """How a foot on the ground moves."""
