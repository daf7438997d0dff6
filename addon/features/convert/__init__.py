"""Blender's IK constraints made ours, and ours Blender's."""
