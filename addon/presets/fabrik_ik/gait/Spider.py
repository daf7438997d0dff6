"""A spider: two groups of four legs, quick short steps, up walls and over edges."""

import bpy

fabrik = bpy.context.object.fabrik
gait = fabrik.gaits[fabrik.active_gait]

gait.pattern = "ALTERNATING"
gait.threshold = 0.2
gait.duration = 5.0
gait.overshoot = 0.6
gait.body_bob = 0.02
gait.climbs = True
