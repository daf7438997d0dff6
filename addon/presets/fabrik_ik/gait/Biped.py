"""Two legs: one after the other, with long steps, and a body that stays upright."""

import bpy

fabrik = bpy.context.object.fabrik
gait = fabrik.gaits[fabrik.active_gait]

gait.pattern = "ALTERNATING"
gait.threshold = 0.3
gait.step_height = 0.12
gait.duration = 10.0
gait.overshoot = 1.0
gait.body_tilt = 0.0
gait.body_bob = 0.03
