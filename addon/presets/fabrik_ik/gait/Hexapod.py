"""An insect: a tripod stands while the other one steps."""

import bpy

fabrik = bpy.context.object.fabrik
gait = fabrik.gaits[fabrik.active_gait]

gait.pattern = "ALTERNATING"
gait.threshold = 0.2
gait.step_height = 0.2
gait.overshoot = 0.6
gait.body_tilt = 0.8
gait.body_bob = 0.02
gait.climbs = True
