"""A character as downloaded ones are: names that Blender cannot flip, centimeters, no controls."""

from typing import Any

from animals import joints_of
from mathutils import Vector
from rigs import make_armature, update

LEFT = "mixamorig:Left"
"""How the names of its left bones begin."""

SIDES = {"L": "Left", "R": "Right"}

JOINTS, _ = joints_of(
    """
Hips 0 0 100
 Spine 0 1 110 / Spine2 0 2 130
  Neck 0 2 148 / Head 0 0 156
  Shoulder* 5 2 144 / Arm* 18 3 144 / ForeArm* 46 5 144 / Hand* 72 3 144
   HandIndex1* 82 1 144 / HandIndex2* 86 1 143 / HandIndex3* 89 1 142
   HandThumb1* 75 -2 143 / HandThumb2* 78 -4 142
 UpLeg* 9 0 94 / Leg* 9 -2 52 / Foot* 9 3 9 / ToeBase* 9 -10 2
"""
)


def named(name: str) -> str:
    """Return a name of a joint as Mixamo has it."""
    stem, _, side = name.partition(".")
    return f"mixamorig:{SIDES.get(side, '')}{stem}" if name else ""


def make_mixamo() -> Any:
    """A downloaded character: bones end at their child, the object is scaled and turned."""
    joints = {named(name): (named(up), at) for name, up, at in JOINTS}
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
