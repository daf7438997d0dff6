"""A shoulder: a wide cone."""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "CONE"
joint.swing_x = radians(110)
joint.swing_z = radians(100)
joint.twist_min = radians(-90)
joint.twist_max = radians(90)
