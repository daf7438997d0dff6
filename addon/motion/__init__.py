"""Motion that makes itself: where a chain's joints are, worked out from what moves it.

Like `core`, on which it stands, nothing in this package imports bpy, mathutils or numpy.
"""
