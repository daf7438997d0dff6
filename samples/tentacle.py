"""A tentacle of 15 bones that chases a ball."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

from . import shapes
from .parts import add_constraint, armature, camera, keyed, material, stage, target

READ_ME = """\
With the FABRIK IK extension enabled, play: all 15 bones of the tentacle chase the orange Target.
Select the Rig and enter Pose Mode to see its constraint in the sidebar's tab FABRIK; Chain Length \
0 means all bones up to the root.
Its joints have some Stiffness, so that all of them share the bend, as in a muscle. Without it the \
bend gathers in a few joints near the tip.
Turn single bones by hand to give the tentacle another shape to start from: your pose is kept, and \
solved from.
"""

COUNT = 15
SIZE = 0.16
STIFFNESS = 0.5


def build() -> None:
    """Make the sample in the open file."""
    stage((0.30, 0.42, 0.66), READ_ME)
    names = [f"Tentacle.{i:02}" for i in range(COUNT)]
    joints = [(0.12 * sin(1.5 * pi * i / COUNT), 0.0, SIZE * i) for i in range(COUNT + 1)]
    rig = armature(
        "Rig",
        {
            name: (joints[i], joints[i + 1], names[i - 1] if i else "")
            for i, name in enumerate(names)
        },
    )
    for name in names:
        rig.pose.bones[name].fabrik_joint.stiffness = STIFFNESS
    skin = material("Skin", (0.45, 0.09, 0.42), roughness=0.3)
    pale = material("Suckers", (0.95, 0.62, 0.70))
    shapes.tube("Tentacle", rig, names, _radius, skin, blend=1.0, rings=3, sides=18)
    _suckers(rig, names, pale)
    rock = material("Rock", (0.20, 0.22, 0.28), roughness=0.9)
    mound = ((0.8, 0.0), (0.72, 0.07), (0.45, 0.14), (0.32, 0.12), (0.001, 0.08))
    shapes.turned("Rock", (0, 0, 0), (0, 0, 1), mound, rock, sides=11)
    goal = target("Target", (1.0, -0.3, 1.2), size=0.10)
    add_constraint(rig, "Tentacle", bone=names[-1], target=goal, iterations=60)
    keyed(
        goal,
        "location",
        lambda a: (1.35 * sin(a), -0.45 - 0.4 * cos(2.0 * a), 1.4 + 0.35 * cos(a + 0.6)),
    )
    camera((0.4, -5.2, 1.7), (0.0, 0.0, 0.98), lens=52.0)


def _radius(fraction: float) -> float:
    """Return the thickness of the tentacle at a fraction of its length, round at its tip."""
    taper = 0.025 + 0.185 * (1.0 - fraction) ** 1.2
    return taper * sqrt(max(0.0, 1.0 - max(0.0, fraction - 0.97) / 0.0301))


def _suckers(rig, names: list[str], look) -> None:
    """Add two rows of suckers on the side that faces the camera in the rest pose."""
    for i, name in enumerate(names[1:-1], start=1):
        bone = rig.data.bones[name]
        size = _radius((i + 0.5) / COUNT)
        middle = 0.5 * (bone.head_local + bone.tail_local)
        for side in (-1.0, 1.0):
            out = bone.matrix_local.to_3x3() @ _across(0.55 * side)
            cup = ((0.30, 0.9), (0.33, 1.04), (0.20, 1.06), (0.12, 0.98), (0.001, 0.97))
            profile = [(radius * size, height * size) for radius, height in cup]
            disc = shapes.turned(f"Sucker.{name[-2:]}", middle, middle + out, profile, look, 12)
            shapes.hang(disc, rig, name)


def _across(turn: float):
    from mathutils import Vector

    return Vector((sin(turn), 0.0, cos(turn)))
