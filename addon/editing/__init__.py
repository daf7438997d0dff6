"""Changing the constraints of an armature, with everything that goes with it."""
