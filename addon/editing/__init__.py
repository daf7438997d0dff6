"""Editing an armature's constraints, for operators and scripts."""
