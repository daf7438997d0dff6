"""Blender's own data, for whoever reads or writes it: nothing here knows of constraints of ours."""
