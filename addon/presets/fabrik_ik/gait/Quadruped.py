"""A trot: diagonal legs step together, and the body rises with each step."""

import bpy

fabrik = bpy.context.object.fabrik
gait = fabrik.gaits[fabrik.active_gait]

gait.pattern = "ALTERNATING"
gait.duration = 8.0
gait.overshoot = 0.8
gait.body_tilt = 0.7
gait.body_bob = 0.03
