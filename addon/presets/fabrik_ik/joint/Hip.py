"""A hip: a cone that is wider to the front and back, where the knee bends, than to the sides.

X stands for the bend axis of the limb, which is determined when the preset is applied.
"""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "CONE"
joint.swing_x = radians(100)
joint.swing_z = radians(45)
joint.twist_min = radians(-45)
joint.twist_max = radians(45)
