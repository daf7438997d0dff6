"""The constraint list and the active constraint's settings."""

from ...plan.registry import Feature
from ...ui.following import follow
from . import controls, draw, limb, operators, panels, presets, sentences

FEATURE = Feature(on_update=follow)

PARTS = (operators, controls, limb, draw, presets, panels, sentences)
