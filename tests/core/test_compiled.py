"""The compiled solver, where there is one, against the source."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Prints whether it ran compiled, and then the answers: floats are printed to the last bit.
ANSWERS = f"""
import sys
sys.path[:0] = [{str(ROOT / "addon")!r}, {str(ROOT / "tests" / "core")!r}]
import random
import core
from strategies import PARENT, SCALE_MODES, joints_of, random_case
from strategies import random_rig, random_target, tip_of
def fields(s):
    return s.joints, s.state, s.in_reach, s.residual, s.sweeps
print(core.COMPILED)
rng = random.Random(11)
for _ in range(400):
    chain, goal, solver = random_case(rng)
    print(fields(core.solve(chain, goal, solver)))
for i in range(200):
    rig = random_rig(rng, rng.randint(1, 12), SCALE_MODES[i % 6], i % 5 > 0, i % 7 > 0, 1.2)
    parent = PARENT if i % 2 else core.WHOLE
    given = core.ChainInput(*rig, tip_of(rig), parent)
    target = random_target(rng, joints_of(rig, parent), high=1.1)
    goal = core.Goal(target, (5.0, 1.0, 2.0) if i % 3 else None, 0.1, rng.choice((1.0, 0.4)),
        rng.choice((0.0, 0.2)))
    posture = core.pose_chain(given, goal, influence=rng.choice((1.0, 0.5)))
    print(posture.rotations, posture.tip, posture.state, fields(posture.solution))
for i in range(60):
    rig = random_rig(rng, rng.randint(2, 8), SCALE_MODES[i % 6], i % 5 > 0, i % 7 > 0, 1.2)
    limits = [rng.choice((None, core.Hinge((1.0, 0.0, 0.0), (-0.1, 1.5)),
        core.Cone((-0.5, 0.9), (-0.4, 0.4), (-0.3, 0.2)))) for _ in rig[0]]
    stiffness = [rng.choice((0.0, 0.5)) for _ in rig[0]]
    given = core.ChainInput(*rig, tip_of(rig), PARENT, None, limits, stiffness)
    target = random_target(rng, joints_of(rig, PARENT), high=1.1)
    posture = core.pose_chain(given, core.Goal(target))
    print(posture.rotations, posture.tip, posture.state, fields(posture.solution))
for i in range(60):
    rig = random_rig(rng, rng.randint(3, 8), SCALE_MODES[i % 6], i % 5 > 0, i % 7 > 0, 1.2)
    limits = [rng.choice((None, None, core.Cone((-0.5, 0.9), (-0.4, 0.4), (-0.3, 0.2))))
        for _ in rig[0]]
    end = tip_of(rig) if i % 2 else (0.0, 0.0, 0.0)
    given = core.ChainInput(*rig, end, PARENT, None, limits, has_hand=True)
    tip = core.Tip(tuple(rng.gauss(0.0, 1.0) for _ in range(9)), rng.choice((1.0, 0.4)), i % 3 / 2)
    target = random_target(rng, joints_of(rig, PARENT))
    posture = core.pose_chain(given, core.Goal(target), tip=tip)
    print(posture.rotations, posture.tip, posture.state, fields(posture.solution), posture.askew)
"""


def answers(interpreted: bool) -> list[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "build" / "compiled"),
        "FABRIK_IK_INTERPRETED": str(int(interpreted)),
    }
    command = [sys.executable, "-c", ANSWERS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_compiled_solver_answers_the_same_to_the_last_bit() -> None:
    compiled, *solutions = answers(interpreted=False)
    if compiled != "True":
        pytest.skip("this source is not compiled for this Python: `make wheels` does it")
    interpreted, *expected = answers(interpreted=True)
    assert interpreted == "False"
    assert len(expected) == 720
    assert not [line for line in expected if " object at " in line], "these say nothing"
    assert solutions == expected


def imports_from(package: str) -> dict[str, list[str]]:
    """What `core` imports from the modules of a package, by their names."""
    tree = ast.parse((ROOT / "addon" / "core" / "__init__.py").read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            if name.startswith(package):
                found[name.removeprefix(package)] = [alias.name for alias in node.names]
    return found


def test_core_takes_the_same_from_the_source_and_from_the_compiled_package() -> None:
    source = imports_from(".")
    assert source.pop("compiled") == ["COMPILED"]
    assert source == imports_from("fabrik_ik_core.")


@pytest.mark.parametrize("folder", ["binding", "ui"])
def test_only_functions_of_plain_tuples_are_taken_from_the_modules(folder: str) -> None:
    """The classes of the modules are not those of the compiled solver."""
    for file in (ROOT / "addon" / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("core."):
                assert node.module in ("core.bend", "core.vectors"), f"{file}: {node.module}"
