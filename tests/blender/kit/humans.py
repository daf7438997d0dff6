"""A human whose bones end anywhere, as importers guess them."""

import math

import bpy
from animals import joints_of
from mathutils import Vector
from rigs import key, make_armature, update

JOINTS, _ = joints_of(
    """
root 0 0 0 / hips 0 0 0.95
 spine 0 0.01 1.05 / chest 0 0.02 1.25
  neck 0 0.03 1.5 / head 0 0 1.58
  clavicle* 0.02 0 1.45 / upper_arm* 0.18 0.03 1.44 / forearm* 0.46 0.06 1.44 / hand* 0.72 0.03 1.44
 thigh* 0.1 0 0.92 / shin* 0.1 -0.03 0.5 / foot* 0.1 0.03 0.09 / toe* 0.1 -0.11 0.02
"""
)


def make_human(keyed: bool, scale: float = 1.0) -> bpy.types.Object:
    """A human whose bones end anywhere, as importers guess them, and who may move."""
    rig = make_armature(
        {
            name: (
                tuple(scale * Vector(head)),
                tuple(scale * Vector(head) + scale * Vector((0.02, 0.1, 0.2))),
                parent,
            )
            for name, parent, head in JOINTS
        }
    )
    rig.scale = (1 / scale,) * 3
    rig.rotation_euler.z = 0.7
    if keyed:
        for i, bone in enumerate(rig.pose.bones):
            bone.rotation_mode = "XYZ"
            for frame in range(1, 26, 4):
                phase = frame / 4 + i
                key(bone, "rotation_euler", {frame: [0.2 * math.sin(phase + k) for k in range(3)]})
    update()
    return rig
