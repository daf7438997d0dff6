"""The list of constraints, and the settings of the active one."""

from . import draw, operators, panels, presets

PARTS = (operators, draw, presets, panels)
