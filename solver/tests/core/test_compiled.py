"""The compiled modules, where there are any, against the source."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fabrik_solver

KIT = Path(__file__).parent / "kit"
SOURCE = Path(__file__).resolve().parents[2] / "src"
UNPACKED = Path(__file__).resolve().parents[3] / "build" / "compiled"
FOLDERS = ("core", "motion")
FILES = [
    file for folder in FOLDERS for file in sorted((SOURCE / "fabrik_solver" / folder).rglob("*.py"))
]

BEGIN = f"""
import sys
sys.path.append({str(KIT)!r})
import random
from fabrik_solver import COMPILED, core
from strategies import PARENT, SCALE_MODES, joints_of, random_case
from strategies import random_rig, random_target, random_turn, tip_of
rng = random.Random(11)
print(COMPILED)
"""

# These print their answers: floats are printed to the last bit.
SOLVER = """
from bodies import SHAPES, random_pose, tips_at
from fabrik_solver.core.constraint_kinds import ChannelRange, ChildOf, CopyLocation, CopyRotation
from fabrik_solver.core.constraint_kinds import CopyScale, Floor, LockedTrack, Pivot, TrackTo
from fabrik_solver.core.constraint_kinds import Transformation
from fabrik_solver.core.constraint_kinds import CopyTransforms, DampedTrack, LimitLocation
from fabrik_solver.core.constraint_kinds import LimitRotation, LimitScale, Range
from fabrik_solver.core.constraints import ConstraintSpaces
from fabrik_solver.core.holding import held_channels
from fabrik_solver.core.vectors import quat_matrix, scale_columns
def fields(s):
    return s.joints, s.state, s.in_reach, s.residual, s.iterations_used
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
    stretch = core.Stretch(2.0, i % 3 > 0) if i % 4 == 0 else None
    posture = core.pose_chain(given, core.Goal(target), tip=tip, stretch=stretch)
    print(posture.rotations, posture.tip, posture.state, fields(posture.solution),
        posture.orientation_error,
        posture.scales)
for i in range(60):
    tree = list(SHAPES.values())[i % 5]
    channels = [core.Local((0.0, 0.0, 0.0), random_turn(rng, 0.4)) for _ in tree.bones]
    limits = [rng.choice((None, core.Hinge((1.0, 0.0, 0.0), (-0.1, 1.5)),
        core.Cone((-0.5, 0.9), (-0.4, 0.4), (-0.3, 0.2)))) for _ in channels] if i % 3 == 0 else ()
    body = tree.body(channels, limits, frame=PARENT)
    targets = tips_at(body, random_pose(rng, body, rng.choice((0.5, 2.0))), channels[0].location)
    pulls = [rng.choice((None, core.Pull(core.Goal(target), rng.choice(("FABRIK", "CCD")),
        influence=rng.choice((0.4, 1.0)), weight=rng.choice((0.5, 1.0)),
        root_weight=rng.choice((0.0, 0.5))))) for target in targets]
    posture = core.pose_body(body, pulls)
    outcomes = [o and (o.state, o.iterations_used, o.tip) for o in posture.outcomes]
    print(posture.rotations, posture.location, outcomes)
def frame():
    turn, sizes = random_turn(rng, 2.0), [rng.choice((-1.0, 0.8, 1.2)) for _ in range(3)]
    return scale_columns(quat_matrix(turn), tuple(sizes)), tuple(rng.gauss(0.0, 1.0) for _ in "XYZ")
for i in range(200):
    bone, local = (column[0] for column in random_rig(rng, 1, SCALE_MODES[i % 6], i % 5 > 0,
        i % 7 > 0, 1.2))
    used, ones = tuple(rng.random() < 0.8 for _ in "XYZ"), (1.0, -1.0, 1.0)
    low, high = (-1.0, -0.5, 0.2), (0.5, 0.6, 1.0)
    order = rng.choice(((0, 1), (1, 2), (2, 1)))
    mix = ("REPLACE", "ADD", "BEFORE", "AFTER", "OFFSET")[i % 5]
    whole_mix = ("REPLACE", "BEFORE", "AFTER_FULL", "BEFORE_SPLIT")[i % 4]
    channels = rng.choices(("LOCATION", "ROTATION", "SCALE"), k=2)
    ends = ChannelRange(low, high), ChannelRange((-0.2, 0.3, 0.4), (1.5, 0.1, 2.0))
    split = ("EULER", "QUATERNION", "SWING_TWIST_X", "SWING_TWIST_Z")[i % 4]
    sign, axes = (0.0, 1.0, -1.0)[i % 3], (i % 3, (i + 1) % 3)
    anchor = ("TARGET", "OWNER", "ORIGIN")[i % 3]
    space, seen = rng.choices(("WORLD", "POSE", "LOCAL", "LOCAL_WITH_PARENT"), k=2)
    spaces, own = ConstraintSpaces(bone, frame(), frame(), frame()), frame()
    for con in (CopyLocation(used, ones, i % 2 > 0), CopyRotation(used, ones, mix, order),
            CopyScale(used, 1.5, i % 3 > 0, i % 2 > 0, i % 5 > 0),
            CopyTransforms(i % 2 > 0, whole_mix),
            ChildOf((used, used, used), frame(), (order, order)),
            Floor(axes[0], i % 2 > 0, 0.2, i % 5 > 0), LockedTrack(*axes, sign or 1.0),
            TrackTo(axes[0], sign or 1.0, axes[1], i % 2 > 0),
            Pivot((0.1, 0.2, 0.3), anchor, axes[0], sign, order),
            Transformation(tuple(channels), ends, (0, 2, 1), i % 2 > 0, mix, split, (order, order)),
            DampedTrack((0.0, 1.0, 0.0)), LimitLocation(Range(low, high)),
            LimitScale(Range(low, high)), LimitRotation(used, low, high, i % 2 > 0, order)):
        own = spaces.constrained(con, space, own, spaces.seen(frame(), seen))
        print(own)
    print(held_channels(bone, local, own, frame(), frame(), frame(), rng.choice((1.0, 0.3)),
                        rng.choice((core.WHOLE, frame()))))
for i in range(4):
    rig = random_rig(rng, 4, "FULL", True, True, 1.2)
    limits = [core.Cone((-0.5, 0.9), (-0.4, 0.4), (-0.3, 0.2)) for _ in rig[0]]
    given = core.ChainInput(*rig, tip_of(rig), PARENT, None, limits)
    ends = [random_target(rng, joints_of(rig, PARENT)) for _ in range(2)]
    way = [tuple(a + (b - a) * k / 9 for a, b in zip(*ends)) for k in range(10)]
    shot = core.solve_shot([core.ChainInstant(given, core.Goal(target)) for target in way])
    print([(one.rotations, one.missed, one.reaches) for one in shot])
"""

MOTIONS = """
from math import pi, sin
from fabrik_solver.core.vectors import dot, quat_about, quat_matrix, scaled, sub, unit
from fabrik_solver.motion.contacts import Contact, Part, Thresholds, Trajectory, contacts_of
from fabrik_solver.motion.damping import mean, moments
from fabrik_solver.motion.follow import Trail
from fabrik_solver.motion.foothold import GroundHit
from fabrik_solver.motion.footfall import STILL, foot_at
from fabrik_solver.motion.gait import WalkingLeg, WalkSettings, bob_at, lean_at
from fabrik_solver.motion.ground import CarriedLeg as Carried
from fabrik_solver.motion.ground import Pose, hip_lift, pitched, smoothed
from fabrik_solver.motion.look import Look, pose_look
from fabrik_solver.motion.packing import packed, unpacked
from fabrik_solver.motion.pattern import groups_of
from fabrik_solver.motion.planted import Planted
from fabrik_solver.motion.rope import hang, pose_rope
from fabrik_solver.motion.rope_collision import on_plane, on_surface
from fabrik_solver.motion.smoothest import Wish, cubic, smoothest
from fabrik_solver.motion.sole import Sole
from fabrik_solver.motion.solid import Solid
from fabrik_solver.motion.walking import StepPlanner
from fabrik_solver.motion.wave import Wave, pose_wave
def place():
    return tuple(rng.uniform(-1.0, 1.0) for _ in range(3))
def show(posture):
    print(posture.rotations, posture.tip, posture.state, posture.orientation_error)
DOWN, UP = (0.0, 0.0, -1.0), (0.0, 0.0, 1.0)
def hills(origin, direction, distance):
    height = 0.1 * sin(3.0 * origin[0]) - 0.2
    if direction[2] == 0.0 or not 0.0 <= (height - origin[2]) / direction[2] <= distance:
        return None
    return (origin[0], origin[1], height), UP
for i in range(60):
    rig = random_rig(rng, rng.randint(2, 12), SCALE_MODES[i % 6], i % 5 > 0, i % 7 > 0, 1.2)
    given = core.ChainInput(*rig, tip_of(rig), PARENT)
    target = random_target(rng, joints_of(rig, PARENT), high=1.1)
    up = rng.choice((None, (0.0, 1.0, 0.0)))
    look = Look(UP, up, None, rng.random(), rng.uniform(0.5, pi), 0.3)
    show(pose_look(given, target, look, rng.choice((1.0, 0.5))))
    show(pose_wave(given, Wave(rng.random(), 0.7, rng.random(), 0.4, 0.3, rng.random(), i)))
    show(pose_rope(given, target, DOWN))
    lengths = [rng.uniform(0.02, 0.05) for _ in range(40)]
    size = sum(lengths)
    end = (0.6 * size, 0.1, rng.uniform(-0.1, 0.1))
    joints = hang((0.0, 0.0, 0.0), end, lengths, DOWN, (0.0, 1.0, 0.0))
    print(on_plane(joints, lengths, end, ((0.0, 0.0, -0.1), UP), (0.0, 1.0, 0.0)))
    solid = Solid(hills, ((-1.0, -1.0, -0.3), (1.0, 1.0, 0.0)), PARENT if i % 2 else core.WHOLE)
    print(on_surface(joints, lengths, end, solid, DOWN, (0.0, 1.0, 0.0), 0.01))
    path = [place() for _ in range(20)]
    print(Trail(path[:6], path, i % 2 > 0).joints(rng.uniform(0.0, 25.0)))
    turns = [quat_about(UP, 0.1 * rng.random()) for _ in path]
    way = Trajectory(path, [p[2] for p in path])
    limits = Thresholds(50.0 * rng.random(), 2.0)
    print(contacts_of(way, way, turns, 24.0, 1.0, limits))
    poses = [Pose(*pair) for pair in zip(path, turns)]
    kinds = (Part("HEEL", 3, 4), Part("FLAT", 5, 8), Part("BALL", 9, 11))
    sole = Sole((0.0, 0.0, -0.1), (0.2, 0.0, -0.1))
    planted = Planted([Contact(kinds), Contact((Part("FLAT", 15, 17),))], lambda frame: frame != 6,
        lambda frame: poses[frame], 20, lambda frame: (0.1, 0.0, 0.9), 1.0, UP, sole, 24.0, 0.1)
    print([planted.at(time / 3.0, poses[time // 3]) for time in range(57)])
    print(mean([(place(), weight) for _, weight in moments(rng.random())]))
    legs = [Carried(UP, place(), place(), rng.uniform(1.0, 2.0), rng.random()) for _ in range(4)]
    print(hip_lift(legs, UP, 0.95, 1.0))
    found = {frame: rng.random() for frame in range(10, 30)}
    wishes = [Wish(target, rng.random(), rng.random(), 0.2, 0.6) for target in found.values()]
    print(smoothest(wishes, 9.0), cubic([*found.values()][:4], rng.random()))
    print(smoothed(lambda frame: (found[frame],) * 3, 20.3, 3, 1))
    print(pitched((place(), place()), (rng.random(), rng.random()), UP))
def cast(origin, direction, distance):
    hit = hills(origin, direction, distance)
    return hit and GroundHit(*hit, i % 2 or STILL)
def grounds(_):
    return core.WHOLE
for i in range(6):
    rests = [(x, y, -0.5) for x in (-0.7, 0.7) for y in (-0.6, 0.0, 0.6)]
    groups = groups_of(rests, ("ALTERNATING", "PAIRS", "WAVE")[i % 3])
    legs = [WalkingLeg(r, scaled(r, 0.2), 1.1, g) for r, g in zip(rests, groups, strict=True)]
    at = lambda frame: (quat_matrix(quat_about(UP, 0.01 * i * frame)), (0.03 * i * frame, 0.0, 0.4))
    settings = WalkSettings(climbs=i > 3, bob=0.02)
    walk = StepPlanner(legs, settings, 1, at(1), cast, grounds)
    for frame in range(2, 60):
        walk.step(settings, at(frame), cast, grounds)
    record, _ = unpacked(packed(walk.record(), ["A", "B"]))
    for time in (1.0, 20.3, 47.7):
        print(lean_at(record, time), bob_at(record, groups, time))
        print([foot_at(falls, time, grounds) for falls in record.falls])
"""


def run(program: str, source: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def run_compiled(program: str) -> list[str]:
    """Run a program that prints first whether what it uses is compiled."""
    # An installed wheel is found without a path.
    is_compiled, *lines = run(program, UNPACKED)
    if is_compiled != "True":
        pytest.skip("this source is not compiled for this Python: `make wheels` does it")
    return lines


@pytest.mark.long
@pytest.mark.parametrize(("program", "count"), [(SOLVER, 3784), (MOTIONS, 816)], ids=FOLDERS)
def test_compiled_modules_answer_the_same_to_the_last_bit(program: str, count: int) -> None:
    answers = run_compiled(BEGIN + program)
    is_compiled, *expected = run(BEGIN + program, SOURCE)
    assert is_compiled == "False"
    assert len(expected) == count
    assert not [line for line in expected if " object at " in line], "these say nothing"
    assert answers == expected


def test_a_wheel_that_was_built_compiled_runs_compiled() -> None:
    if os.environ.get("FABRIK_SOLVER_COMPILE") != "1":
        pytest.skip("no compiled wheel is tested: `make test-compiled` does it")
    assert fabrik_solver.COMPILED


def test_every_module_of_a_compiled_wheel_is_compiled() -> None:
    names = [".".join(file.relative_to(SOURCE).with_suffix("").parts) for file in FILES]
    program = f"""
import importlib
import fabrik_solver
print(fabrik_solver.COMPILED)
for name in {names}:
    print(importlib.import_module(name.removesuffix(".__init__")).__file__)
"""
    assert not [file for file in run_compiled(program) if file.endswith(".py")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_sums_up_a_generator(file: Path) -> None:
    """Compiled it is added up as it stands, and by Python with what rounding took from it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum":
            assert not isinstance(node.args[0], ast.GeneratorExp), f"line {node.lineno}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_unpacks_several_tuples_in_one_statement(file: Path) -> None:
    """Compiled they are made objects for it, which takes several times as long."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            (target,) = node.targets
            nested = [part for part in getattr(target, "elts", ()) if isinstance(part, ast.Tuple)]
            assert not nested, f"line {node.lineno}"
