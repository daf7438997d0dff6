"""A spider's leg of three bones: coxa, femur and tibia."""

import bpy

fabrik = bpy.context.object.fabrik
item = fabrik.constraints[fabrik.active_index]

item.chain_count = 3
item.softness = 0.05
item.swing = 1.0
