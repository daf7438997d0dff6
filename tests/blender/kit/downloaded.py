"""A character as downloaded ones are: names that Blender cannot flip, centimeters, no controls."""

from __future__ import annotations

from typing import Any

from mathutils import Vector
from rigs import make_armature, update

LEFT = "mixamorig:Left"
"""How the names of its left bones begin."""

TRUNK: dict[str, tuple[str, tuple[float, float, float]]] = {
    "Hips": ("", (0, 0, 100)),
    "Spine": ("Hips", (0, 1, 110)),
    "Spine2": ("Spine", (0, 2, 130)),
    "Neck": ("Spine2", (0, 2, 148)),
    "Head": ("Neck", (0, 0, 156)),
}
SIDE: dict[str, tuple[str, tuple[float, float, float]]] = {
    "Shoulder": ("Spine2", (5, 2, 144)),
    "Arm": ("Shoulder", (18, 3, 144)),
    "ForeArm": ("Arm", (46, 5, 144)),
    "Hand": ("ForeArm", (72, 3, 144)),
    "HandIndex1": ("Hand", (82, 1, 144)),
    "HandIndex2": ("HandIndex1", (86, 1, 143)),
    "HandIndex3": ("HandIndex2", (89, 1, 142)),
    "HandThumb1": ("Hand", (75, -2, 143)),
    "HandThumb2": ("HandThumb1", (78, -4, 142)),
    "UpLeg": ("Hips", (9, 0, 94)),
    "Leg": ("UpLeg", (9, -2, 52)),
    "Foot": ("Leg", (9, 3, 9)),
    "ToeBase": ("Foot", (9, -10, 2)),
}


def make_mixamo() -> Any:
    """A downloaded character: bones end at their child, the object is scaled and turned."""
    joints = {
        f"mixamorig:{name}": (f"mixamorig:{up}" * bool(up), at) for name, (up, at) in TRUNK.items()
    }
    for name, (up, (x, y, z)) in SIDE.items():
        for side, sign in (("Left", 1), ("Right", -1)):
            above = f"mixamorig:{side}{up}" if up in SIDE else f"mixamorig:{up}"
            joints[f"mixamorig:{side}{name}"] = above, (sign * x, y, z)
    bones: dict[str, Any] = {}
    for name, (up, at) in joints.items():
        head = Vector(at)
        children = [Vector(below) for above, below in joints.values() if above == name]
        # Importers let the last bone go on as its parent does.
        tail = children[0] if children else head + 0.5 * (head - Vector(joints[up][1]))
        bones[name] = (at, tuple(tail), up)
    rig = make_armature(bones, "Downloaded")
    rig.scale = (0.01,) * 3
    rig.rotation_euler.z = 0.5
    update()
    return rig
