"""A leg of two bones: exact, and easing into its full reach, so that the knee does not snap."""

import bpy

fabrik = bpy.context.object.fabrik
item = fabrik.constraints[fabrik.active_index]

item.solver = "TWO_BONE"
item.chain_count = 2
item.softness = 0.05
