"""An arm of two bones: exact, and easing a little into its full reach."""

import bpy

fabrik = bpy.context.object.fabrik
item = fabrik.constraints[fabrik.active_index]

item.solver = "TWO_BONE"
item.chain_count = 2
item.chain_bias = 0.0
item.use_free_root = False
item.root_weight = 1.0
item.weight = 1.0
item.use_rotation = False
item.rotation_weight = 1.0
item.twist_spread = 0.0
item.softness = 0.02
item.swing = 0.0
item.use_stretch = False
item.stretch_max = 1.5
item.use_volume = False
item.pole_weight = 1.0
item.use_continuous = False
item.iterations = 20
item.tolerance = 1e-4
