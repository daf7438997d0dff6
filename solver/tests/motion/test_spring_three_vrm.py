"""Springs in the mode of VRM beside three-vrm, an implementation of the specification.

It takes a bone's length from the place where its child was in the update before. With that rule, it
agrees with `vrm_step`. Its packages come with `tools/environment.py node`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from math import dist, sin
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fabrik_solver import Frame, frame_in, inverse, point_in
from fabrik_solver.core.vectors import (
    Mat3,
    Vec,
    add,
    mat_apply,
    mat_columns,
    mat_product,
    quat_about,
    quat_between,
    quat_matrix,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion.spring import Spring, vrm_step
from fabrik_solver.motion.spring_collision import Collider

SCRIPT = Path(__file__).parent / "kit" / "three_vrm.mjs"
ROOT = Path(__file__).resolve().parents[3]
PACKAGES = Path(os.environ.get("FABRIK_NODE", ROOT / ".venv" / "node"))

Scene = dict[str, Any]


def lack() -> str:
    """Return why the tests can't run; empty if they can."""
    if shutil.which("node") is None:
        return "Node isn't installed"
    if not (PACKAGES / "node_modules" / "@pixiv" / "three-vrm-springbone").is_dir():
        return f"@pixiv/three-vrm-springbone isn't in {PACKAGES}: run tools/environment.py node"
    return ""


def head_at(t: float) -> Frame:
    turn = mat_product(
        quat_matrix(quat_about((0.0, 0.0, 1.0), 1.0 + 0.8 * sin(4.4 * t))),
        quat_matrix(quat_about((0.0, 1.0, 0.0), 0.6 * sin(6.3 * t))),
    )
    return turn, (0.15 * sin(8.2 * t), 0.1 * sin(5.7 * t), 0.05 * sin(12.6 * t))


def scene(rate: float, seconds: float = 3.0, **values: Any) -> Scene:
    frames = [head_at(i / rate) for i in range(round(seconds * rate))]
    return {
        "frames": [
            [*x[:3], p[0], *x[3:6], p[1], *x[6:], p[2], 0.0, 0.0, 0.0, 1.0] for x, p in frames
        ],
        "dt": 1.0 / rate,
        "lengths": [0.1] * 5,
        "stiffness": 1.0,
        "drag": 0.4,
        "gravity": (0.0, 0.0, 0.0),
        "radius": 0.02,
        "colliders": [],
        "center": False,
        **values,
    }


def ours(it: Scene) -> list[list[Vec]]:
    """Play a scene with `vrm_step`, and with the lengths of three-vrm."""
    heads: list[Frame] = [
        ((m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]), (m[3], m[7], m[11]))
        for m in it["frames"]
    ]
    spring = Spring(it["stiffness"], it["drag"], it["gravity"], it["radius"])
    colliders = [Collider(c["start"], c["end"] or c["start"], c["radius"]) for c in it["colliders"]]
    sizes: list[float] = it["lengths"]
    axes, place = heads[0]
    current: list[Vec] = []
    for size in sizes:
        place = add(place, mat_apply(axes, (0.0, size, 0.0)))
        current.append(place)
    previous, children = [*current], [*current]
    shown: list[list[Vec]] = []
    for before, frame in pairwise(heads):
        if it["center"]:
            moved = frame_in(frame, inverse(before))
            current = [point_in(moved, tail) for tail in current]
            previous = [point_in(moved, tail) for tail in previous]
        axes, place = frame
        for i, size in enumerate(sizes):
            rest = mat_columns(axes)[1]
            late = dist(place, children[i])
            tail = vrm_step(
                place, (current[i], previous[i]), rest, late, spring, it["dt"], colliders
            )
            previous[i], current[i] = current[i], tail
            along = unit(sub(tail, place)) or rest
            turn: Mat3 = quat_matrix(quat_between(rest, along, (1.0, 0.0, 0.0)))
            axes = mat_product(turn, axes)
            place = children[i] = add(place, scaled(along, size))
        shown.append([*current])
    return shown


def theirs(scenes: list[Scene]) -> list[list[list[Vec]]]:
    command = ["node", str(SCRIPT), str(PACKAGES)]
    done = subprocess.run(
        command, input=json.dumps(scenes), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


BALL = {"start": (0.1, 0.2, 0.1), "end": None, "radius": 0.12}
ROD = {"start": (-0.2, 0.25, 0.0), "end": (0.3, 0.2, 0.1), "radius": 0.08}
SCENES = [
    *[scene(rate) for rate in (24.0, 30.0, 60.0, 120.0)],
    scene(60.0, gravity=(0.1, 0.0, -0.5)),
    scene(24.0, gravity=(0.1, 0.0, -0.5)),
    scene(60.0, colliders=[BALL]),
    scene(60.0, colliders=[ROD]),
    scene(60.0, center=True),
]


def random_scenes() -> list[Scene]:
    random = Random(1)

    def some(low: float, high: float) -> float:
        return random.uniform(low, high)

    return [
        scene(
            some(20.0, 130.0),
            0.8,
            lengths=[some(0.02, 0.2) for _ in range(random.randrange(1, 7))],
            stiffness=some(0.0, 3.0),
            drag=some(0.0, 1.0),
            gravity=(some(-1.0, 1.0), some(-1.0, 1.0), some(-1.0, 1.0)),
            colliders=random.choice([[], [BALL], [ROD], [BALL, ROD]]),
            center=random.random() < 0.3,
        )
        for _ in range(200)
    ]


@pytest.mark.skipif(bool(lack()), reason=lack())
@pytest.mark.parametrize(("name", "scenes"), [("nine", SCENES), ("random", random_scenes())])
def test_it_is_what_three_vrm_shows(
    name: str, scenes: list[Scene], figure: Callable[[str, str], None]
) -> None:
    worst = 0.0
    for it, shown in zip(scenes, theirs(scenes), strict=True):
        for a, b in zip(ours(it), shown, strict=True):
            worst = max(worst, *[dist(p, q) for p, q in zip(a, b, strict=True)])
    figure(f"springs beside three-vrm, {name} scenes", f"{worst:.1e} m apart")
    assert worst < 1e-9
