"""Measurements of the extension beside Blender's own IK; `python benchmarks/run.py` runs them."""
