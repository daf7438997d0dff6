"""A shoulder: a wide cone."""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "CONE"
joint.hinge_axis = "X"
joint.hinge_min = radians(0)
joint.hinge_max = radians(150)
joint.swing_x = radians(110)
joint.swing_z = radians(100)
joint.twist_min = radians(-90)
joint.twist_max = radians(90)
joint.hinge_vector = (1.0, 0.0, 0.0)
joint.center = (0.0, 0.0, 0.0)
joint.stiffness = 0.0
