"""Editing the constraints of an armature, for operators and scripts."""
