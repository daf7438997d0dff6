"""A segment of a tail: a round cone with little twist."""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "CONE"
joint.swing_x = radians(30)
joint.swing_z = radians(30)
joint.twist_min = radians(-10)
joint.twist_max = radians(10)
