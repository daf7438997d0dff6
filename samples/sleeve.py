"""A picture of an arm in a sleeve while its pole moves around it, with FABRIK IK and Blender's IK.

The dark seam is along the outside of the elbow, which has to bend about its own axis.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import bpy
from mathutils import Vector
from PIL import Image

from . import shapes
from .parts import add_constraint, armature, camera, material, pole, stage, target
from .pictures import labelled, picture_of, sheet

ANGLES = 6
SIZE = (300, 240)
ELBOW = (0.40, 0.10, 1.2)
WRIST = (0.80, 0.0, 1.2)


def build(is_ours: bool) -> bpy.types.Object:
    """Make the arm in an empty file; return its pole."""
    stage((0.60, 0.70, 0.76), "An arm in a sleeve.")
    bones = {"Upper": ((0, 0, 1.2), ELBOW, ""), "Fore": (ELBOW, WRIST, "Upper")}
    rig = armature("Rig", bones, {"Upper": (0, 1, 0), "Fore": (0, 1, 0)})
    cloth = material("Cloth", (0.80, 0.36, 0.22))
    seam = material("Seam", (0.10, 0.08, 0.10))
    sleeve = shapes.tube(
        "Sleeve", rig, list(bones), lambda fraction: 0.105 - 0.03 * fraction, cloth, 0.7, 12, 28
    )
    # The faces on the outside of the elbow, in the bend direction of the rest pose.
    mesh: Any = sleeve.data
    mesh.materials.append(seam)
    for face in mesh.polygons:
        bone = rig.data.bones["Upper" if face.center.x < ELBOW[0] else "Fore"]
        axis = bone.tail_local - bone.head_local
        from_head = face.center - bone.head_local
        off_axis = from_head - axis * (from_head.dot(axis) / axis.length_squared)
        outside = Vector((-axis.y, axis.x, 0.0)).normalized()
        is_end = 1.01 * abs(face.normal.dot(axis)) > axis.length
        face.material_index = int(not is_end and off_axis.dot(outside) > 0.96 * off_axis.length)
    goal = target("Wrist", (0.66, 0.0, 1.2), size=0.03)
    ahead = pole("Pole", (0, 0, 0), size=0.03, is_seen=True)
    if is_ours:
        add_constraint(
            rig,
            "Arm",
            solver="TWO_BONE",
            bone="Fore",
            chain_count=2,
            target=goal,
            pole_target=ahead,
        )
    else:
        con: Any = rig.pose.bones["Fore"].constraints.new("IK")
        con.target, con.pole_target, con.chain_count = goal, ahead, 2
        con.pole_angle = pi / 2
    camera((0.7, -2.7, 2.0), (0.36, 0.0, 1.2), lens=70.0)
    return ahead


def picture() -> Image.Image:
    """Return the arm while its pole moves around it: FABRIK IK above, Blender's IK below."""
    cells: list[Image.Image] = []
    for is_ours in (True, False):
        ahead = build(is_ours)
        for step in range(ANGLES):
            angle = 2 * pi * step / ANGLES
            ahead.location = (0.33, 0.42 * cos(angle), 1.2 + 0.42 * sin(angle))
            cell = picture_of(bpy.context.scene, SIZE, 16)
            title = "FABRIK IK" if is_ours else "Blender's IK, at 90°"
            cells.append(labelled(cell, title) if step == 0 else cell)
    return sheet(cells, ANGLES)
