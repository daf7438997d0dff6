"""A knee: a hinge about the bone's X axis that bends one way."""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "HINGE"
joint.hinge_axis = "X"
joint.hinge_min = radians(0)
joint.hinge_max = radians(155)
joint.swing_x = radians(45)
joint.swing_z = radians(45)
joint.twist_min = radians(-45)
joint.twist_max = radians(45)
joint.hinge_vector = (1.0, 0.0, 0.0)
joint.center = (0.0, 0.0, 0.0)
joint.stiffness = 0.0
