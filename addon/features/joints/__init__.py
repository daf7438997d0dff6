"""Panels and presets of joint limits."""

from . import panel, presets

PARTS = (panel, presets)
