"""Animals in the manner of those for games, with proportions of our own: their joints."""

from __future__ import annotations

from fabrik_solver.core.vectors import Vec

Joint = tuple[str, str, Vec]


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


HUSKY: list[Joint] = [
    ("Root", "", (0.0, 0.0, 0.0)),
    *line("Root", "Body Torso Torso2", (0.0, 0.35, 0.62), (0.0, 0.0, 0.6), (0.0, -0.22, 0.6)),
    *line("Torso2", "Neck Head Snout", (0.0, -0.38, 0.68), (0.0, -0.5, 0.84), (0.0, -0.62, 0.82)),
    *line("Body", "Tail1 Tail2 Tail3", (0.0, 0.4, 0.64), (0.0, 0.52, 0.72), (0.0, 0.55, 0.84)),
    *both(
        [
            *line(
                "Head", "Ear Ear2 Ear3", (0.05, -0.48, 0.9), (0.07, -0.46, 0.98), (0.08, -0.45, 1)
            ),
            *line("Torso2", "FrontShoulder FrontLeg", (0.06, -0.26, 0.58), (0.09, -0.22, 0.4)),
            *line("FrontLeg", "FrontLowerLeg FrontFoot", (0.09, -0.2, 0.22), (0.09, -0.22, 0.05)),
            ("FrontToe", "FrontFoot", (0.09, -0.28, 0.01)),
            *line("Body", "BackShoulder BackLeg", (0.05, 0.34, 0.58), (0.09, 0.28, 0.4)),
            *line("BackLeg", "BackLowerLeg BackFoot", (0.09, 0.4, 0.24), (0.09, 0.37, 0.05)),
            ("BackToe", "BackFoot", (0.09, 0.31, 0.01)),
        ]
    ),
]

STAG: list[Joint] = [
    ("Root", "", (0.0, 0.0, 0.0)),
    *line("Root", "Hips Spine Chest", (0.0, 0.5, 1.2), (0.0, 0.1, 1.2), (0.0, -0.35, 1.2)),
    *line("Chest", "Neck Head Jaw", (0.0, -0.55, 1.45), (0.0, -0.7, 1.8), (0.0, -0.8, 1.74)),
    *line("Hips", "Tail1 Tail2", (0.0, 0.6, 1.2), (0.0, 0.7, 1.12)),
    *both(
        [
            *line("Head", "Antler Antler2", (0.06, -0.66, 1.9), (0.25, -0.55, 2.15)),
            *line("Antler2", "Antler3 Antler4", (0.4, -0.6, 2.45), (0.42, -0.7, 2.7)),
            *line(
                "Head", "Ear Ear2 Ear3", (0.08, -0.64, 1.86), (0.16, -0.62, 1.9), (0.22, -0.6, 1.9)
            ),
            *line("Chest", "Shoulder FrontUpperLeg", (0.1, -0.4, 1.1), (0.14, -0.36, 0.85)),
            *line(
                "FrontUpperLeg", "FrontLowerLeg FrontHoof", (0.14, -0.34, 0.45), (0.14, -0.36, 0.1)
            ),
            ("FrontHoofTip", "FrontHoof", (0.14, -0.42, 0.02)),
            *line(
                "Hips", "Thigh Shin Cannon", (0.1, 0.45, 1.1), (0.14, 0.35, 0.8), (0.14, 0.55, 0.5)
            ),
            *line("Cannon", "BackHoof BackHoofTip", (0.14, 0.5, 0.1), (0.14, 0.43, 0.02)),
        ]
    ),
]

RAPTOR: list[Joint] = [
    ("Root", "", (0.0, 0.0, 0.0)),
    *line("Root", "Hips Spine Chest", (0.0, 0.1, 1.1), (0.0, -0.2, 1.15), (0.0, -0.5, 1.25)),
    *line("Chest", "Neck Neck2 Head", (0.0, -0.7, 1.4), (0.0, -0.8, 1.6), (0.0, -0.9, 1.75)),
    *line("Hips", "Tail1 Tail2 Tail3", (0.0, 0.4, 1.15), (0.0, 0.8, 1.2), (0.0, 1.6, 1.3)),
    *both(
        [
            *line("Chest", "UpperArm LowerArm", (0.1, -0.52, 1.1), (0.16, -0.5, 0.95)),
            *line("LowerArm", "Hand Finger", (0.16, -0.66, 0.88), (0.16, -0.74, 0.82)),
            *line(
                "Hips",
                "Thigh Shin Cannon",
                (0.12, 0.1, 1.05),
                (0.16, -0.1, 0.65),
                (0.16, 0.2, 0.35),
            ),
            *line("Cannon", "Foot Toe", (0.16, 0.05, 0.05), (0.16, -0.15, 0.02)),
        ]
    ),
]

STEGOSAURUS: list[Joint] = [
    ("Root", "", (0.0, 0.0, 0.0)),
    *line("Root", "Hips Spine Chest", (0.0, 0.6, 1.6), (0.0, 0.1, 1.7), (0.0, -0.5, 1.3)),
    *line("Chest", "Neck Head", (0.0, -0.9, 1.0), (0.0, -1.3, 0.9)),
    *line("Hips", "Tail1 Tail2 Tail3", (0.0, 0.9, 1.5), (0.0, 1.5, 1.3), (0.0, 2.1, 1.2)),
    *both(
        [
            *line(
                "Spine", "Plate Plate2 Plate3", (0.1, 0.1, 1.9), (0.15, 0.1, 2.4), (0.18, 0.1, 2.7)
            ),
            *line(
                "Tail3", "Spike Spike2 Spike3", (0.1, 2.1, 1.25), (0.3, 2.2, 1.35), (0.5, 2.3, 1.4)
            ),
            *line("Chest", "FrontUpperLeg FrontLowerLeg", (0.3, -0.55, 1.1), (0.36, -0.45, 0.65)),
            *line("FrontLowerLeg", "FrontFoot FrontToe", (0.36, -0.55, 0.15), (0.36, -0.65, 0.02)),
            *line("Hips", "BackUpperLeg BackLowerLeg", (0.3, 0.6, 1.45), (0.38, 0.5, 0.8)),
            *line("BackLowerLeg", "BackFoot BackToe", (0.38, 0.65, 0.18), (0.38, 0.5, 0.02)),
        ]
    ),
]

ANIMALS: dict[str, tuple[list[Joint], dict[str, str]]] = {
    "husky": (HUSKY, {"FrontFoot": "LEG", "BackFoot": "LEG"}),
    "raptor": (RAPTOR, {"Hand": "ARM", "Foot": "LEG"}),
    "stag": (STAG, {"FrontHoof": "LEG", "BackHoof": "LEG"}),
    "stegosaurus": (STEGOSAURUS, {"FrontFoot": "LEG", "BackFoot": "LEG"}),
}
"""The joints of each, and the ends of its limbs with their kinds."""


def _row(trunk: str, name: str, *legs: tuple[float, float]) -> list[Joint]:
    """Return legs on one bone, each given by where it begins and how long its first bone is."""
    return [
        joint
        for k, (y, coxa) in enumerate(legs)
        for joint in line(
            trunk,
            " ".join(f"{name}{k}_{n}" for n in range(1, 5)),
            (0.06, y, 0.14),
            (0.06 + coxa, 1.3 * y, 0.2),
            (0.27, 1.8 * y, 0.14),
            (0.33, 2.0 * y, 0.0),
        )
    ]


SCORPION: list[Joint] = [
    ("root", "", (0.0, 0.0, 0.0)),
    *line("root", "thorax abdomen", (0.0, 0.0, 0.15), (0.0, 0.15, 0.15)),
    *line("abdomen", "tail1 tail2 tail3", (0.0, 0.3, 0.18), (0.0, 0.42, 0.3), (0.0, 0.45, 0.45)),
    *line("tail3", "tail4 stinger", (0.0, 0.38, 0.58), (0.0, 0.25, 0.6)),
    *both(
        [
            *_row("thorax", "leg", (-0.06, 0.09), (0.01, 0.11), (0.06, 0.09), (0.12, 0.09)),
            *line("thorax", "pincer1 pincer2", (0.05, -0.12, 0.15), (0.15, -0.22, 0.18)),
            *line("pincer2", "pincer3 claw", (0.17, -0.38, 0.18), (0.12, -0.48, 0.18)),
        ]
    ),
]
"""Its tail rises over its back, and the second pair of legs is built a little otherwise."""

INSECT: list[Joint] = [
    ("root", "", (0.0, 0.0, 0.0)),
    *line("root", "thorax head", (0.0, 0.0, 0.3), (0.0, -0.2, 0.32)),
    *line("root", "abdomen", (0.0, 0.3, 0.3)),
    *both(
        [
            joint
            for name, y, ahead in (
                ("front", -0.12, -0.25),
                ("middle", 0.0, 0.0),
                ("rear", 0.12, 0.28),
            )
            for joint in line(
                "thorax",
                " ".join(f"{part}_{name}" for part in ("coxa", "femur", "tibia", "tarsus")),
                (0.05, y, 0.28),
                (0.12, y + 0.1 * ahead, 0.28),
                (0.3, y + 0.5 * ahead, 0.45),
                (0.45, y + 0.9 * ahead, 0.02),
            )
        ]
    ),
]

CRAB: list[Joint] = [
    *line("", "root body", (0.0, 0.0, 0.0), (0.0, 0.0, 0.2)),
    *both(
        [
            joint
            for k, y in enumerate((-0.1, 0.0, 0.1, 0.2))
            for joint in line(
                "body",
                " ".join(f"leg{k}_{n}" for n in "abcd"),
                (0.15, y, 0.2),
                (0.3, 1.3 * y, 0.3),
                (0.5, 1.8 * y, 0.25),
                (0.6, 2.0 * y, 0.0),
            )
        ]
        + line("body", "claw_arm1 claw_arm2", (0.15, -0.18, 0.2), (0.3, -0.3, 0.25))
        + line("claw_arm2", "claw_arm3 pincer", (0.3, -0.45, 0.25), (0.2, -0.55, 0.25))
    ),
]

SNAKE: list[Joint] = [
    ("root", "", (0.0, 0.0, 0.0)),
    *line("root", " ".join("abcdefghijkl"), *((0.0, 0.1 * k, 0.05) for k in range(12))),
]

SHARK: list[Joint] = [
    ("root", "", (0.0, 0.0, 0.4)),
    *line("root", "tail1 tail2 tail3", (0.0, 0.3, 0.4), (0.0, 0.7, 0.43), (0.0, 1.1, 0.45)),
    *line("root", "back chest skull", (0.0, -0.3, 0.4), (0.0, -0.9, 0.4), (0.0, -1.5, 0.43)),
    *both(line("chest", "a b c", (0.07, -0.9, 0.38), (0.21, -0.9, 0.22), (0.52, -0.85, -0.1))),
]
