"""An arm of two bones: exact, and easing a little into its full reach."""

import bpy

fabrik = bpy.context.object.fabrik
item = fabrik.constraints[fabrik.active_index]

item.solver = "TWO_BONE"
item.chain_count = 2
item.softness = 0.02
