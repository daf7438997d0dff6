"""Motion paths of solved bones, and of what moves with them.

Blender calculates motion paths in a depsgraph of its own that calls no handlers, so that they
follow the FK pose.
"""

from ...plan.registry import Feature
from . import operators, renewing

FEATURE = Feature(on_update=renewing.note_update)

PARTS = (renewing, operators)
