"""Presets of constraints, joints and walks."""
