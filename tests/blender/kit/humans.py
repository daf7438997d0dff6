"""A human whose bones end anywhere, as importers guess them."""

import math

import bpy
from mathutils import Vector
from rigs import key, make_armature, update

JOINTS: dict[str, tuple[str, tuple[float, float, float]]] = {
    "root": ("", (0, 0, 0)),
    "hips": ("root", (0, 0, 0.95)),
    "spine": ("hips", (0, 0.01, 1.05)),
    "chest": ("spine", (0, 0.02, 1.25)),
    "neck": ("chest", (0, 0.03, 1.5)),
    "head": ("neck", (0, 0, 1.58)),
}
SIDE: dict[str, tuple[str, tuple[float, float, float]]] = {
    "clavicle": ("chest", (0.02, 0, 1.45)),
    "upper_arm": ("clavicle", (0.18, 0.03, 1.44)),
    "forearm": ("upper_arm", (0.46, 0.06, 1.44)),
    "hand": ("forearm", (0.72, 0.03, 1.44)),
    "thigh": ("hips", (0.1, 0, 0.92)),
    "shin": ("thigh", (0.1, -0.03, 0.5)),
    "foot": ("shin", (0.1, 0.03, 0.09)),
    "toe": ("foot", (0.1, -0.11, 0.02)),
}


def make_human(keyed: bool, scale: float = 1.0) -> bpy.types.Object:
    """A human whose bones end anywhere, as importers guess them, and who may move."""
    joints = dict(JOINTS)
    for name, (parent, (x, y, z)) in SIDE.items():
        for side, sign in ((".L", 1), (".R", -1)):
            above = parent + side if parent in SIDE else parent
            joints[name + side] = above, (sign * x, y, z)
    rig = make_armature(
        {
            name: (
                tuple(scale * Vector(head)),
                tuple(scale * Vector(head) + scale * Vector((0.02, 0.1, 0.2))),
                parent,
            )
            for name, (parent, head) in joints.items()
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
