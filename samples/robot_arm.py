"""A robot arm of five segments on a turntable, for comparing the solvers."""

from __future__ import annotations

from math import cos, sin
from typing import Any

from . import shapes
from .parts import add_constraint, armature, camera, keyed, material, stage, target

READ_ME = """\
With the FABRIK IK extension enabled, play: five segments bring the tool to the orange Target, \
while one of Blender's own constraints turns the table below them.
Select the Rig, enter Pose Mode and switch the Solver in the sidebar's tab FABRIK from FABRIK to \
CCD: both arrive, but CCD turns the outer joints first and curls the arm up.
The bones stand in one plane in the rest pose, so both solvers keep them in it, as if they were \
hinges.
"""

JOINTS = (
    (0.0, 0.0, 0.42),
    (-0.08, 0.0, 0.92),
    (0.30, 0.0, 1.36),
    (0.80, 0.0, 1.42),
    (1.14, 0.0, 1.16),
    (1.22, 0.0, 0.88),
)
THICK = (0.13, 0.115, 0.10, 0.085, 0.05)


def build() -> None:
    """Make the sample in the open file."""
    stage((0.80, 0.72, 0.58), READ_ME)
    names = [f"Segment.{i}" for i in range(1, 6)]
    bones: Any = {"Turntable": ((0.0, 0.0, 0.12), JOINTS[0], "")}
    for i, name in enumerate(names):
        bones[name] = (JOINTS[i], JOINTS[i + 1], names[i - 1] if i else "Turntable")
    rig = armature("Rig", bones)
    _machine(rig, names)
    goal = target("Target", (0.9, -0.5, 0.7), size=0.07)
    track = rig.pose.bones["Turntable"].constraints.new("LOCKED_TRACK")
    track.target, track.track_axis, track.lock_axis = goal, "TRACK_X", "LOCK_Y"
    add_constraint(rig, "Robot arm", bone=names[-1], chain_count=5, target=goal)

    def path(a: float) -> tuple[float, float, float]:
        out, turn = 1.05 + 0.3 * cos(2.0 * a), 1.05 * sin(a) - 0.75
        return out * cos(turn), out * sin(turn), 0.68 + 0.30 * sin(2.0 * a + 0.8)

    keyed(goal, "location", path)
    camera((0.75, -4.3, 2.0), (0.36, 0.0, 0.84), lens=54.0)


def _machine(rig: Any, names: list[str]) -> None:
    paint = material("Paint", (0.02, 0.40, 0.44), roughness=0.35)
    steel = material("Steel", (0.16, 0.17, 0.20), roughness=0.35)
    light = material("Light steel", (0.62, 0.65, 0.70), roughness=0.3)
    for i, name in enumerate(names):
        start, end = JOINTS[i], JOINTS[i + 1]
        size = (rig.data.bones[name].tail_local - rig.data.bones[name].head_local).length
        thick = THICK[i]
        profile = _arm_profile(thick, size) if i < 4 else _tool_profile(thick, size)
        look = paint if i < 4 else light
        parts = [shapes.turned(name, start, end, profile, look, sides=8 if i < 4 else 20)]
        parts.append(_hinge(f"Joint.{i + 1}", start, thick * 1.22, thick * 1.25, steel))
        parts.append(_hinge(f"Cap.{i + 1}", start, thick * 0.62, thick * 1.42, light))
        for part in parts:
            shapes.hang(part, rig, name)
    column = ((0.20, 0.0), (0.20, 0.12), (0.15, 0.16), (0.13, 0.30), (0.001, 0.30))
    shapes.hang(shapes.turned("Column", (0, 0, 0.12), (0, 0, 1), column, paint), rig, "Turntable")
    base = ((0.34, 0.0), (0.34, 0.08), (0.30, 0.12), (0.001, 0.12))
    shapes.turned("Base", (0, 0, 0), (0, 0, 1), base, steel, sides=32)


def _arm_profile(thick: float, size: float) -> shapes.Profile:
    return (
        (0.001, 0.0),
        (thick * 0.95, 0.0),
        (thick * 0.80, size * 0.3),
        (thick * 0.72, size * 0.98),
        (0.001, size * 0.98),
    )


def _tool_profile(thick: float, size: float) -> shapes.Profile:
    return (
        (0.001, 0.0),
        (thick, 0.0),
        (thick, size * 0.5),
        (thick * 0.45, size * 0.55),
        (thick * 0.35, size * 0.8),
        (0.002, size),
    )


def _hinge(name: str, center: shapes.Point, radius: float, half: float, look: Any) -> Any:
    x, y, z = center
    profile = ((0.001, 0.0), (radius, 0.0), (radius, 2.0 * half), (0.001, 2.0 * half))
    return shapes.turned(name, (x, y - half, z), (x, y + half, z), profile, look, sides=24)
