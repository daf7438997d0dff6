"""The benchmark runs, in a process of its own, so that it cannot rot between two uses."""

import math
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import bpy
import pytest

from benchmarks.joint_limits import (
    BLENDERS,
    CONES,
    KINDS,
    OURS,
    THREE,
    X,
    Y,
    Z,
    broken,
    draw,
    tip_of,
)
from fabrik_solver import Cone, Hinge
from fabrik_solver.core.vectors import Quat, Vec, quat_about, quat_product

pytestmark = pytest.mark.newest

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "benchmarks" / "run.py"
TITLES = (
    "Frame cost",
    "Fixed cost",
    "Skinned",
    "Idle",
    "Crowd",
    "Iterations",
    "Joint limits",
    "Hinges",
    "Continuous",
    "Long chains",
    "Baking",
    "Look-at",
    "Ropes and waves",
    "Springs",
    "Feet on the ground",
    "Walking",
    "Long shots",
    "Bodies",
    "Rigify",
    "Whole body",
    "Armatures",
    "Overlay",
    "Memory",
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN)]
    if bpy.app.binary_path:
        options = ["--background", "--factory-startup", "--python-exit-code", "1", "--python"]
        command = [bpy.app.binary_path, *options, str(RUN), "--"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300)


def test_every_section_of_the_benchmark_runs() -> None:
    done = run("--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [title for title in TITLES if f"{title}\n{'=' * len(title)}" not in done.stdout]
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not in this Python")
def test_the_page_shows_all_pictures_that_are_written(tmp_path: Path) -> None:
    done = run("--quick", "iterations", "--to", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    pictures = [path.name for path in tmp_path.glob("*.png")]
    assert len(pictures) == 2
    assert all(f"]({name})" in page for name in pictures)
    assert str(ROOT) not in page


def test_the_benchmark_sees_what_is_broken() -> None:
    knee = Hinge(X, (-0.3, 2.0))
    cone = Cone((-0.9, 0.9), (-0.4, 0.4), (-0.2, 0.2))
    expected: list[tuple[Hinge | Cone, Vec, float, float]] = [
        (knee, X, 1.9, 0.0),
        (knee, X, 2.1, 0.1),
        (knee, X, -0.5, 0.2),
        (knee, Z, 0.2, 0.2),
        (cone, X, 0.8, 0.0),
        (cone, X, -1.0, 0.1),
        (cone, Z, 0.6, 0.2),
        (cone, Y, 0.5, 0.3),
    ]
    for limit, axis, angle, much in expected:
        for system in CONES:
            assert broken(system, limit, quat_about(axis, angle)) == pytest.approx(much, abs=1e-12)


def test_a_slanting_swing_is_out_of_each_systems_own_cone() -> None:
    cone = Cone((-1.2, 1.2), (-0.4, 0.4), (-0.2, 0.2))
    size = math.hypot(1.2, 0.4)
    corner = quat_about((1.2 / size, 0.0, 0.4 / size), size)
    assert broken(OURS, cone, corner) == pytest.approx(size * (1.0 - math.sqrt(0.5)))
    edge = 1.0 / math.hypot(1.2 / math.sin(0.6), 0.4 / math.sin(0.2))
    assert broken(BLENDERS, cone, corner) == pytest.approx(size - 2.0 * math.asin(edge * size))
    x, z = quat_about(X, 1.2), quat_about(Z, 0.4)
    assert broken(THREE, cone, quat_product(x, z)) == pytest.approx(0.0, abs=1e-12)
    assert broken(THREE, cone, quat_product(x, quat_about(Z, 0.5))) == pytest.approx(0.1)


def test_the_benchmark_draws_the_same_chains_again() -> None:
    for kind in KINDS:
        cases = draw(kind, 4, 20, 1)
        assert [case.target for case in cases] == [case.target for case in draw(kind, 4, 20, 1)]
        at_rest: list[Quat] = [(1.0, 0.0, 0.0, 0.0)] * 4
        assert all(0.0 < math.hypot(*tip_of(case.rests, at_rest)) <= 1.0 for case in cases)
