"""Skeletons as other programs name, parent and orient them, with the proportions of one human.

`people.toml` holds them and explains their form. The names and parents are those of the programs;
the joints are placed by us.
"""

import tomllib
from collections.abc import Callable
from math import cos, radians, sin
from pathlib import Path
from typing import Any, NamedTuple

from outline import bones_of

from fabrik_solver.core.vectors import Vec, add, length, mix, scaled, sub

TRUNK: dict[str, Vec] = {
    "ground": (0.0, 0.0, 0.0),
    "pelvis": (0.0, 0.0, 0.98),
    "spine": (0.0, -0.01, 1.08),
    "chest": (0.0, 0.0, 1.28),
    "neck": (0.0, 0.02, 1.50),
    "head": (0.0, 0.0, 1.60),
    "crown": (0.0, 0.0, 1.80),
}
SIDE: dict[str, Vec] = {
    "eye": (0.03, -0.08, 1.68),
    "breast": (0.08, -0.08, 1.33),
    "clavicle": (0.03, 0.0, 1.44),
    "arm": (0.17, 0.02, 1.44),
    "elbow": (0.45, 0.02, 1.44),
    "hand": (0.70, 0.02, 1.44),
    "thumb": (0.73, -0.02, 1.43),
    "index": (0.79, -0.01, 1.44),
    "middle": (0.79, 0.01, 1.44),
    "ring": (0.79, 0.03, 1.44),
    "pinky": (0.78, 0.05, 1.44),
    "thigh": (0.10, 0.0, 0.92),
    "shin": (0.10, 0.0, 0.50),
    "foot": (0.10, 0.0, 0.08),
    "toe": (0.10, -0.14, 0.02),
    "toe end": (0.10, -0.21, 0.02),
    "heel": (0.10, 0.05, 0.02),
}
"""The left side. The legs are exactly straight."""

ARM = ("clavicle", "arm", "elbow", "hand", "thumb", "index", "middle", "ring", "pinky")

WORDS = ("Left", "Right")
FBX = (100.0, True)
"""The armature is in centimeters with Y up; the object is scaled to 0.01 and rotated by 90° X."""

PLAIN = (1.0, False)


class Layout(NamedTuple):
    """The skeleton of a family.

    Attributes:
        text: Its bones.
        sides: The names of left and right.
        arm: How far its arms hang down at rest, in degrees.
        space: The armature's units per meter, and whether Y is up in it.
        parts: Kind, bone and the bones of the chain, root first, of each part to be recognized.
    """

    text: str
    sides: tuple[str, str]
    arm: float
    space: tuple[float, bool]
    parts: list[tuple[str, str, list[str]]]


def _sides(row: dict[str, Any]) -> tuple[str, str]:
    left, right = row.get("sides", ("L", "R"))
    return left, right


def _parts(row: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    spine, head = row["spine"].split(";"), row["head"].split(";")
    found = [("SPINE", spine[-1], spine)]
    for kind in ("ARM", "LEG"):
        for side, word in zip(_sides(row), WORDS, strict=True):
            *bones, end = row[kind.lower()].replace("*", side).replace("$", word).split(";")
            found.append((kind, end, bones))
    return [*found, ("HEAD", head[-1], head)]


def _layout(row: dict[str, Any]) -> Layout:
    space = FBX if row.get("is_fbx") else PLAIN
    return Layout(row["bones"], _sides(row), row.get("hang", 0.0), space, _parts(row))


_ROWS = tomllib.loads((Path(__file__).parent / "people.toml").read_text(encoding="utf-8"))

FAMILIES: dict[str, Layout] = {name: _layout(row) for name, row in _ROWS.items()}
LAYOUTS = {name: FAMILIES[name] for name, row in _ROWS.items() if row.get("in_blender")}
"""Those that tests in Blender take through everything for characters."""

Joints = Callable[[str, int], Vec]
"""Where a joint is, by its name and side, in meters with Z up; the figure faces −Y."""


class Joint(NamedTuple):
    """A bone of a family.

    Attributes:
        name: Its name.
        parent: That of its parent; empty for none.
        side: 1 for left, -1 for right, 0 for neither.
        head: Where it is.
    """

    name: str
    parent: str
    side: int
    head: Vec


def joints_of(layout: Layout, joints: Joints) -> list[Joint]:
    """Return the bones of a family, parents first, for a figure."""
    found: list[Joint] = []
    pairs: list[list[tuple[str, Vec]]] = []  # Of each bone, for left and right.
    for bone, above in bones_of(layout.text):
        name, _, where = bone.partition(" @")
        pair: list[tuple[str, Vec]] = []
        for i, sign in enumerate((1, -1)):
            side_name = name.replace("*", layout.sides[i]).replace("$", WORDS[i])
            parent, place = pairs[above][i] if above >= 0 else ("", (0.0, 0.0, 0.0))
            side = sign if side_name != name else 0
            if where:
                place = _place(where, side or 1, joints)
            else:
                place = add(place, _beyond(found, parent))
            pair.append((side_name, place))
            if i == 0 or side:
                found.append(Joint(side_name, parent, side, place))
        pairs.append(pair)
    return found


def _beyond(found: list[Joint], parent: str) -> Vec:
    """Return the way on for a finger or a toe: that of the bone before it, 2.5 centimeters long."""
    joints = {joint.name: joint for joint in found}
    way = sub(joints[parent].head, joints[joints[parent].parent].head)
    size = length(way)
    return scaled(way, 0.025 / size) if size > 1e-6 else (0.0, -0.025, 0.0)


def _place(where: str, side: int, joints: Joints) -> Vec:
    start, _, rest = where.partition("~")
    place = joints(start, side)
    if rest:
        end, _, share = rest.partition("*")
        place = mix(place, joints(end, side), float(share))
    return place


def about_x(point: Vec, angle: float) -> Vec:
    """Return a point turned about the X axis."""
    x, y, z = point
    return (x, cos(angle) * y - sin(angle) * z, sin(angle) * y + cos(angle) * z)


def _about_y(point: Vec, angle: float) -> Vec:
    x, y, z = point
    return (cos(angle) * x + sin(angle) * z, y, cos(angle) * z - sin(angle) * x)


def _about(center: Vec, turn: Callable[[Vec, float], Vec], point: Vec, angle: float) -> Vec:
    return add(center, turn(sub(point, center), angle))


def standing(arm: float) -> Joints:
    """Return a standing figure whose arms hang down by an angle, in degrees."""

    def place(name: str, side: int) -> Vec:
        if name in TRUNK:
            return TRUNK[name]
        place = SIDE[name]
        if name in ARM[2:]:
            place = _about(SIDE["arm"], _about_y, place, radians(arm))
        return (side * place[0], *place[1:])

    return place


def walking(phase: float, yaw: float = 0.0) -> Joints:
    """Return a figure at a phase of its walk, in radians; it faces −Y turned by an angle."""
    stand = standing(72.0)

    def place(name: str, side: int) -> Vec:
        point = stand(name, side)
        swing = sin(phase) * side
        if name in ("shin", "foot", "toe", "toe end", "heel"):
            hip, knee = stand("thigh", side), stand("shin", side)
            if name != "shin":
                bend = radians(8.0 + 50.0 * max(0.0, cos(phase) * side))
                point = _about(knee, about_x, point, bend)
            point = _about(hip, about_x, point, radians(-26.0 * swing))
        elif name in ARM[2:]:
            if name != "elbow":
                point = _about(stand("elbow", side), about_x, point, radians(-22.0))
            point = _about(stand("arm", side), about_x, point, radians(24.0 * swing))
        x, y, z = point
        y -= 0.2 * phase
        return (cos(yaw) * x - sin(yaw) * y, sin(yaw) * x + cos(yaw) * y, z)

    return place
