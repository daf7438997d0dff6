"""Measurements of the extension and Blender's own IK; `python benchmarks/run.py` runs them."""
