"""Skeletons of creatures: `creatures.toml` has their joints, and what is to be recognized."""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from outline import bones_of

from fabrik_solver.core.vectors import Vec

Joint = tuple[str, str, Vec]
"""A bone: its name, that of its parent, and where its head is."""

LETTERS = (("L", 1), ("R", -1))


class Creature(NamedTuple):
    """A skeleton.

    Attributes:
        joints: Its bones, parents first.
        limbs: Kind, side, bones and hand or foot of each limb to be recognized.
        head: The bone to be recognized as the head; empty for none.
        tails: Where bones end that stand on their tails.
    """

    joints: list[Joint]
    limbs: set[tuple[str, int, tuple[str, ...], str]]
    head: str
    tails: dict[str, Vec]


def both(joints: list[Joint]) -> list[Joint]:
    """Return joints of the left and those of the right; names of the trunk stay."""
    left = [
        (f"{n}.L", f"{p}.L" if any(p == q for q, _, _ in joints) else p, h) for n, p, h in joints
    ]
    right = [
        (n[:-1] + "R", p[:-1] + "R" if p[-2:] == ".L" else p, (-x, y, z))
        for n, p, (x, y, z) in left
    ]
    return left + right


def line(parent: str, names: str, *heads: Vec) -> list[Joint]:
    """Return a chain of joints below a parent."""
    known = names.split()
    return list(zip(known, [parent, *known], heads, strict=False))


def joints_of(text: str) -> tuple[list[Joint], dict[str, Vec]]:
    """Return the bones of a text, parents first, and where bones end that stand on their tails."""
    joints: list[Joint] = []
    tails: dict[str, Vec] = {}
    names: list[str] = []
    for bone, above in bones_of(text):
        head, _, tail = bone.partition(" > ")
        name, *place = head.split()
        parent = names[above] if above >= 0 else ""
        names.append(name)
        if not place:
            continue  # The bone of the human on which a thing is.
        for letter, sign in LETTERS if "*" in parent + name else (("", 1),):
            full = [one.replace("*", f".{letter}") for one in (name, parent)]
            joints.append((full[0], full[1], _placed(place, sign)))
            if tail:
                tails[full[0]] = _placed(tail.split(), sign)
    return joints, tails


def _placed(place: list[str], sign: int) -> Vec:
    x, y, z = map(float, place)
    return (sign * x, y, z)


def _limbs(rows: list[str]) -> set[tuple[str, int, tuple[str, ...], str]]:
    limbs = set[tuple[str, int, tuple[str, ...], str]]()
    for letter, sign in LETTERS:
        for row in rows:
            bones, _, end = row.replace("*", f".{letter}").partition(">")
            kind, *names = bones.split()
            limbs.add((kind, sign, tuple(names), end.strip()))
    return limbs


def _creature(row: dict[str, Any]) -> Creature:
    joints, tails = joints_of(row["bones"])
    return Creature(joints, _limbs(row["limbs"]), row["head"], tails)


_ROWS = tomllib.loads((Path(__file__).parent / "creatures.toml").read_text(encoding="utf-8"))

THINGS: dict[str, list[Joint]] = {
    name: joints_of(text)[0] for name, text in _ROWS.pop("things").items()
}
"""What the human wears or bears that is neither trunk nor limb. The sword is in one hand."""

CREATURES: dict[str, Creature] = {name: _creature(row) for name, row in _ROWS.items()}

ANIMALS: dict[str, tuple[list[Joint], dict[str, str]]] = {
    name: (
        CREATURES[name].joints,
        {end.removesuffix(".L"): kind for kind, side, _, end in CREATURES[name].limbs if side > 0},
    )
    for name in ("husky", "raptor", "stag", "stegosaurus")
}
"""Animals in the manner of those for games: their joints, the ends of their limbs and the kinds."""
