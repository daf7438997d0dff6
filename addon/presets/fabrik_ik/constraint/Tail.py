"""A tail, with all bones up to its root, whose tip curls more than the rest."""

import bpy

fabrik = bpy.context.object.fabrik
item = fabrik.constraints[fabrik.active_index]

item.chain_bias = 0.3
item.iterations = 50
