"""Procedural motion on top of the solver: plain typed Python on tuples of floats.

Nothing in this package imports bpy, mathutils or numpy, so it can be run, tested and compiled
without Blender. Lengths are in meters.
"""
