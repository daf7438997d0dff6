"""Quadrupeds with forelegs on the chest, hind legs on the hips, spine, tail and head; and mechs."""

from collections.abc import Sequence
from math import sqrt
from random import Random

import bpy
from rigs import activate, make_armature, update

HIGH = 1.0
"""The height of the roots of the legs, in meters."""

ANKLE = 0.06

SPINE = ("Hips", "Loin", "Back", "Chest")
FEET = ("Paw.F.L", "Paw.F.R", "Paw.H.L", "Paw.H.R")


def leg_joints(bones: int, extension: float) -> list[tuple[float, float]]:
    """Return the joints of a zigzag leg as Y and Z; its foot is below its root.

    Args:
        bones: The number of bones.
        extension: The distance between its ends, as a fraction of its length.
    """
    aside = (HIGH - ANKLE) / bones * sqrt(1.0 / extension**2 - 1.0)
    heights = [HIGH - (HIGH - ANKLE) * i / bones for i in range(bones + 1)]
    ways = [0.0, *((aside if i % 2 else 0.0) for i in range(1, bones)), 0.0]
    if bones % 2:  # The last joint is below the first one, with the same slope for all bones.
        ways = [aside * (i % 2 - i / bones) for i in range(bones + 1)]
    return list(zip(ways, heights, strict=True))


def make_quadruped(bones: int = 3, extension: float = 0.95) -> bpy.types.Object:
    """Make a quadruped that faces −Y.

    Args:
        bones: The number of bones of a leg, without its paw.
        extension: The extension of the legs at rest, as in `leg_joints`.
    """
    joints = leg_joints(bones, extension)
    built: dict[str, tuple[Sequence[float], Sequence[float], str]] = {
        "Root": ((0, 0, 0), (0, 0.3, 0), ""),
        "Hips": ((0, 0.55, 1.1), (0, 0.3, 1.1), "Root"),
        "Loin": ((0, 0.3, 1.1), (0, 0.0, 1.12), "Hips"),
        "Back": ((0, 0.0, 1.12), (0, -0.3, 1.12), "Loin"),
        "Chest": ((0, -0.3, 1.12), (0, -0.6, 1.15), "Back"),
        "Neck": ((0, -0.6, 1.15), (0, -0.8, 1.35), "Chest"),
        "Head": ((0, -0.8, 1.35), (0, -1.05, 1.35), "Neck"),
        "Tail 1": ((0, 0.6, 1.1), (0, 0.85, 1.0), "Hips"),
        "Tail 2": ((0, 0.85, 1.0), (0, 1.05, 0.85), "Tail 1"),
        "Tail 3": ((0, 1.05, 0.85), (0, 1.2, 0.65), "Tail 2"),
    }
    for row, along, carrier in (("F", -0.5, "Chest"), ("H", 0.5, "Hips")):
        for side, x in (("L", 0.16), ("R", -0.16)):
            parent, places = carrier, [(x, along + y, z) for y, z in joints]
            for i in range(bones):
                bone = f"Leg {i}.{row}.{side}"
                built[bone] = (places[i], places[i + 1], parent)
                parent = bone
            x, y, z = places[-1]
            built[f"Paw.{row}.{side}"] = ((x, y, z), (x, y - 0.1, 0.02), parent)
            built[f"Toe.{row}.{side}"] = (
                (x, y - 0.1, 0.02),
                (x, y - 0.16, 0.02),
                f"Paw.{row}.{side}",
            )
    return make_armature(built, "Creature")


def make_mech(
    seed: int,
    bones: int = 3,
    aside: float = 0.1,
    tails: str = "JOINTS",
    posed: float = 0.0,
    scale: Sequence[float] = (1.0, 1.0, 1.0),
) -> bpy.types.Object:
    """Make a figure on two zigzag legs, which are rolled anyhow.

    Args:
        seed: Legs of different seeds differ.
        bones: The number of bones of a leg, without its foot: 2 or 3.
        aside: How far its joints are out of a plane, in meters.
        tails: Where bones end: ``'JOINTS'``, ``'NEAR'`` them, or ``'ANYWHERE'``.
        posed: The largest angle about an axis by which the bones of the legs are turned.
        scale: That of the object.
    """
    random = Random(seed)
    built: dict[str, tuple[Sequence[float], Sequence[float], str]] = {
        "Root": ((0, 0, 0), (0, 0.3, 0), ""),
        "Hips": ((0, 0, 1.1), (0, 0, 1.4), "Root"),
        "Spine": ((0, 0, 1.4), (0, 0, 1.7), "Hips"),
        "Chest": ((0, 0, 1.7), (0, 0, 2.0), "Spine"),
        "Neck": ((0, 0, 2.0), (0, 0, 2.2), "Chest"),
        "Head": ((0, 0, 2.2), (0, -0.1, 2.5), "Neck"),
    }
    joints = [(0.2, 0.0, 1.1)]
    for i in range(1, bones + 1):
        is_last = i == bones
        share = (i + (0.0 if is_last else random.uniform(-0.2, 0.2))) / bones
        way = random.uniform(-0.1, 0.1) if is_last else random.uniform(0.08, 0.3)
        x = 0.2 + random.uniform(-aside, aside)
        joints.append((x, way if is_last or i % 2 else -way, 1.1 - share))
    for side, sign in (("L", 1), ("R", -1)):
        points = [(sign * x, y, z) for x, y, z in joints]
        parent = "Hips"
        for i, name in enumerate(("Thigh", "Shin", "Meta")[:bones]):
            start, end = (points[i + 1], 0.1) if tails == "NEAR" else (points[i], 0.2)
            tail = [a + random.uniform(-end, end) for a in start]
            bone = f"{name}.{side}"
            built[bone] = (points[i], points[i + 1] if tails == "JOINTS" else tail, parent)
            parent = bone
        x, y, z = points[-1]
        built[f"Foot.{side}"] = ((x, y, z), (x, y - 0.15, 0.02), parent)
        built[f"Toe.{side}"] = ((x, y - 0.15, 0.02), (x, y - 0.25, 0.02), f"Foot.{side}")
    rig = make_armature(built, "Mech")
    rig.scale = scale
    activate(rig, "EDIT")
    for bone in rig.data.edit_bones:
        bone.roll = random.uniform(-3.0, 3.0)
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in rig.pose.bones:
        if posed and bone.name[:-2] in ("Thigh", "Shin", "Meta", "Foot"):
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = [random.uniform(-posed, posed) for _ in range(3)]
    update()
    return rig
