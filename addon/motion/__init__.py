"""Motion that makes itself, on top of the solver: plain typed Python on tuples of floats.

Nothing in this package imports bpy, mathutils or numpy, so it runs, is tested and can be compiled
without Blender.
Like the solver it says of every number in which space it is; lengths are in metres.
"""
