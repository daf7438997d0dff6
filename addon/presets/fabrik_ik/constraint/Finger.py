"""A finger of three bones."""

import bpy

fabrik = bpy.context.object.fabrik
item = fabrik.constraints[fabrik.active_index]

item.solver = "FABRIK"
item.chain_count = 3
item.chain_bias = 0.0
item.use_free_root = False
item.root_weight = 1.0
item.weight = 1.0
item.use_rotation = False
item.rotation_weight = 1.0
item.twist_spread = 0.0
item.softness = 0.0
item.swing = 0.0
item.use_stretch = False
item.stretch_max = 1.5
item.use_volume = False
item.pole_weight = 1.0
item.use_continuous = False
item.iterations = 20
item.tolerance = 1e-4
