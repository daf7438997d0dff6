"""Motion paths of solved bones, and of objects that move with them.

Blender calculates motion paths in a separate depsgraph without handlers, so its paths follow the FK
pose.
"""

from ...plan.registry import Feature
from . import operators, renewing

FEATURE = Feature(on_update=renewing.note_update)

PARTS = (renewing, operators)
