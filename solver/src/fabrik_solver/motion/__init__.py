"""Procedural motion on top of the solver: plain typed Python on tuples of floats.

Nothing in this package imports bpy, mathutils or numpy, so it runs, is tested and can be compiled
without Blender. Lengths are in meters.
"""
