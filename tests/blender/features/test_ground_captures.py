"""Feet on the ground of motion as captures have it: in centimetres, with a T-pose, hovering."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import floor, pi, radians, sin
from typing import Any

import bpy
import pytest
from mathutils import Matrix, Quaternion, Vector
from rigs import activate, add_constraint, evaluated, go, link, make_armature, make_empty, update
from walkers import make_ground, messages, states

RATE, STEP, STRIDE = 60, 1.1, 1.2
"""Frames a second, how many seconds a step takes, and how far it goes for a leg of 0.85."""

STAND, FLAT, LAND = 0.62, 0.42, 0.08
"""Until when of a step a foot stands, is flat, and lands on its heel, in seconds."""

THIGH, SHIN, ANKLE, BALL = 0.43, 0.42, 0.09, 0.14
FRAMES = 150

SIDES = {"L": (0.1, 0.0), "R": (-0.1, 0.5)}


def eased(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


def pitch_at(t: float) -> float:
    if t < LAND:
        return -radians(15) * (1.0 - eased(t / LAND))
    down = eased((t - FLAT) / (STAND - FLAT)) * (1.0 - eased((t - STAND) / 0.25))
    return radians(30) * down - radians(15) * eased((t - STAND) / (STEP - STAND))


def standing(t: float, creep: float, press: float = 0.0) -> Vector:
    pitch = pitch_at(t)
    pivot = Vector((0.0, 0.0, -ANKLE)) if pitch <= 0.0 else Vector((BALL, 0.0, -ANKLE))
    back = pivot - Matrix.Rotation(pitch, 3, "Y") @ pivot
    sunk = press * eased((t - FLAT) / (STAND - FLAT))
    return Vector((creep * (min(t, FLAT) / FLAT - 0.5), 0.0, ANKLE - sunk)) + back


def ankle(seconds: float, late: float, creep: float, press: float = 0.0) -> tuple[Vector, float]:
    """Return where an ankle is, and the pitch of its foot."""
    cycle, t = divmod(seconds + late * STEP, STEP)
    place = standing(min(t, STAND), creep, press)
    share = eased((t - STAND) / (STEP - STAND))
    if t > STAND:
        landing = standing(0.0, creep) + Vector((STRIDE, 0.0, 0.0))
        place = place.lerp(landing, share) + Vector((0, 0, 0.24 * share * (1.0 - share)))
    return place + Vector((STRIDE * (cycle - late), 0.0, 0.0)), pitch_at(t)


def captured(
    size: float = 1.0,
    scale: float = 1.0,
    creep: float = 0.02,
    hover: float = 0.0,
    tremble: float = 0.0,
    t_pose: bool = False,
    hip_height: float = 0.88,
    jolt: int = 0,
    kicks: bool = False,
    press: float = 0.0,
) -> bpy.types.Object:
    """Make a figure whose motion is keyed on all frames, as an importer leaves it.

    Its bones' tails are where the joints are not, it rests with its hip at the origin of the
    armature, and Target.L and Target.R hold where the motion has its feet.

    Args:
        size: How large the bones are in the armature.
        scale: The scale of the armature object.
        creep: By how much a foot slides while it stands.
        hover: How high above the floor it walks.
        tremble: By how much each frame is off.
        t_pose: Whether the first frame is one at the origin, apart from the motion.
        hip_height: How high its hip walks.
        jolt: A frame at which all of it is off by 6 mm; 0 for none.
        kicks: Whether the right foot stays in the air, and the left one where it is.
        press: How far the balls of the feet are pressed into the floor as they roll off.
    """
    scene = bpy.context.scene
    scene.render.fps = RATE
    scene.frame_start, scene.frame_end = 1, FRAMES
    reach = THIGH + SHIN
    bones: dict[str, Any] = {"Hips": ((0, 0, 0), (0, 0, 24.0 * size), "")}
    for side, (y, _) in SIDES.items():
        names = f"UpLeg{side}", f"Leg{side}", f"Foot{side}", f"Toe{side}"
        joints = (0, 0), (0.02, -THIGH), (0, 0.001 - reach), (BALL, -reach - ANKLE)
        parent = "Hips"
        for name, (x, z) in zip(names, joints, strict=True):
            bones[name] = ((size * x, size * y, size * z), (size * (x + 24.0), y, z), parent)
            parent = name
    rig = make_armature(bones, "Captured")
    rig.scale = (scale,) * 3
    whole = size * scale  # Of what is in world space.
    rng = random.Random(3)
    hips = rig.pose.bones["Hips"]
    hips.rotation_mode = "QUATERNION"
    for side in SIDES:
        target = make_empty(f"Target.{side}")
        target.rotation_mode = "QUATERNION"
        item = add_constraint(
            rig, f"Foot{side}", target, chain_count=2, use_tail=False, use_rotation=True
        )
        item.name, item.solver = f"Leg.{side}", "TWO_BONE"
    update()
    rest = {side: rig.data.bones[f"Foot{side}"].matrix_local.to_quaternion() for side in SIDES}
    for frame in range(1, FRAMES + 1):
        is_rest = t_pose and frame == 1
        seconds = (frame - 1) / RATE
        off = Vector((0.0, 0.0, 6e-3)) if frame == jolt else Vector()
        noise = Vector([rng.gauss(0, tremble) for _ in range(3)]) + off
        at = Vector((STRIDE * (seconds / STEP - 0.2), 0.0, hip_height + hover)) + noise
        if kicks:
            at.x = 0.1 + 0.1 * sin(seconds)
        hips.location = rest_space(hips, Vector() if is_rest else at * size)
        hips.keyframe_insert("location", frame=frame)
        for side, (y, late) in SIDES.items():
            target = bpy.data.objects[f"Target.{side}"]
            place, pitch = ankle(seconds, late, creep, press)
            place += Vector((0.0, y, hover)) + off
            place += Vector([rng.gauss(0, tremble) for _ in range(3)])
            if kicks:
                swing = sin(2.0 * pi * seconds) if side == "R" else 0.0
                place, pitch = Vector((0.1 + 0.5 * swing, y, ANKLE + 0.3 * abs(swing))), 0.0
            if is_rest:
                place, pitch = Vector((0.0, y, -reach + 0.001)), 0.0
            target.location = place * whole
            target.rotation_quaternion = Quaternion((0, 1, 0), pitch) @ rest[side]
            target.keyframe_insert("location", frame=frame)
            target.keyframe_insert("rotation_quaternion", frame=frame)
    return rig


def rest_space(bone: bpy.types.PoseBone, place: Vector) -> Vector:
    return bone.bone.matrix_local.to_3x3().inverted() @ place


def put_on_ground(rig: bpy.types.Object, ground: bpy.types.Object) -> None:
    """With nothing set but what the ground is, and which bone the hip is."""
    for item in rig.fabrik.constraints:
        item.ground.object, item.ground.hip, item.ground.use = ground, "Hips", True
    activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def plane(height: float = 0.0, size: float = 1.0) -> bpy.types.Object:
    mesh = bpy.data.meshes.new("Plane")
    far = 9.0 * size
    corners = [(-far, -far, 0), (far, -far, 0), (far, far, 0), (-far, far, 0)]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    ob = link(bpy.data.objects.new("Plane", mesh))
    ob.location.z = height
    return ob


def played(rig: bpy.types.Object, start: int = 1) -> dict[str, list[Vector]]:
    found: dict[str, list[Vector]] = {}
    for frame in range(start, FRAMES + 1):
        go(frame)
        assert states(rig) == {"REACHED"} and messages(rig) == {""}
        posed = evaluated(rig)
        for bone in posed.pose.bones:
            place = posed.matrix_world @ bone.head
            if bone.name.startswith("Foot"):
                place = posed.matrix_world @ bone.head
            found.setdefault(bone.name, []).append(place)
    return found


def bends(places: list[Vector]) -> list[float]:
    threes = zip(places, places[1:], places[2:], strict=False)
    return [(a - 2.0 * b + c).length * RATE * RATE for a, b, c in threes]


def flats(rig: bpy.types.Object, side: str) -> list[tuple[int, int]]:
    from addon.loop import plan

    chain = next(c for c in plan.current().chains if c.name == f"Leg.{side}")
    walk, _ = chain.goal_source.walk(chain, rig.fabrik.constraints[chain.item].ground, 1)
    return walk.flats


CASES: dict[str, dict[str, Any]] = {
    "metres": {},
    "centimetres": {"size": 100.0},
    "scaled object": {"size": 100.0, "scale": 0.01},
    "24 m": {"size": 24.0},
    "trembling": {"tremble": 5e-4},
    "T-pose": {"t_pose": True},
    "straight knees": {"hip_height": 0.895},
}


@pytest.mark.parametrize("case", CASES)
def test_captured_walk_is_locked_where_it_stands_and_else_as_it_was(
    case: str, empty_file: None
) -> None:
    """Feet do not slide, knees and hip do not pop, and nobody walks in a crouch."""
    options = CASES[case]
    rig = captured(**options)
    size = options.get("size", 1.0) * options.get("scale", 1.0)
    start = 2 if "t_pose" in options else 1
    before = played(rig, start)
    put_on_ground(rig, plane(size=size))
    after = played(rig, start)
    most = max(abs((a - b).z) for a, b in zip(after["Hips"], before["Hips"], strict=True))
    assert most < 5e-3 * size
    for side in SIDES:
        spans = flats(rig, side)
        assert len(spans) >= 2
        for first, last in spans:
            places = after[f"Foot{side}"][max(first, start) - start : last - start + 1]
            given = before[f"Foot{side}"][max(first, start) - start : last - start + 1]
            slide = max((place - places[0]).xy.length for place in places)
            assert slide < 0.25 * max((place - given[0]).xy.length for place in given)
            balls = after[f"Toe{side}"][max(first, start) - start : last - start + 1]
            assert max((ball - balls[0]).xy.length for ball in balls) < 2e-3 * size
        knee = max(bends(after[f"Leg{side}"])) / max(bends(before[f"Leg{side}"]))
        assert knee < (1.5 if "tremble" in options else 1.3)
    assert max(bends(after["Hips"])) < 1.2 * max(bends(before["Hips"])) + 0.5 * size


@pytest.mark.parametrize("hover", [0.0, 0.03, -0.02])
def test_floor_of_the_clip_is_found(hover: float, empty_file: None) -> None:
    """The ball has no sole below it: it stands on the ground itself."""
    rig = captured(hover=hover)
    put_on_ground(rig, plane(0.5))
    after = played(rig)
    for side in SIDES:
        for first, last in flats(rig, side):
            for ball in after[f"Toe{side}"][first - 1 : last]:
                assert abs(ball.z - 0.5) < 4e-3


def test_floor_can_be_set(empty_file: None) -> None:
    rig = captured(hover=0.03)
    put_on_ground(rig, plane())
    go(20)
    found = evaluated(rig).pose.bones["FootL"].head.z
    for item in rig.fabrik.constraints:
        item.ground.use_floor, item.ground.floor = True, 0.01
    update()
    go(21)
    go(20)
    assert abs(evaluated(rig).pose.bones["FootL"].head.z - found - 0.02) < 2e-3


def test_hill_that_is_higher_than_a_leg_is_stood_on(empty_file: None) -> None:
    rig = captured()
    ground = make_ground(lambda x, _y: 0.9 * x)
    put_on_ground(rig, ground)
    for item in rig.fabrik.constraints:
        item.ground.max_angle = radians(45)
    after = played(rig)
    low = min((ball.z - 0.9 * ball.x) for side in SIDES for ball in after[f"Toe{side}"])
    assert low > -0.02 and max(ball.z for ball in after["ToeL"]) > 1.5


def test_longer_lock_time_moves_the_foot_for_longer(empty_file: None) -> None:
    rig = captured(creep=0.04)
    before = played(rig)
    put_on_ground(rig, plane())
    counts = []
    for lock_time in (0.05, 0.2):
        for item in rig.fabrik.constraints:
            item.ground.lock_time = lock_time
        after = played(rig)
        pairs = zip(after["FootL"], before["FootL"], strict=True)
        counts.append(sum((a - b).xy.length > 1e-3 for a, b in pairs))
    assert counts[1] > counts[0] + 10


def bumps(x: float, _y: float) -> float:
    return 0.07 * sin(2.0 * pi * (x - 0.1) / 0.6)


def steps_up(x: float, _y: float) -> float:
    return 0.16 * min(max(floor((x + 0.3) / 0.6), 0), 5)


@pytest.mark.parametrize("terrain", [bumps, steps_up])
def test_swing_that_begins_or_ends_outside_of_the_clip_goes_over_the_ground(
    terrain: Callable[[float, float], float], empty_file: None
) -> None:
    """The left foot swings in the first frame, and the right one in the last."""
    rig = captured(creep=0.0)
    start = bpy.context.scene.frame_start = 44
    before = played(rig, start)
    put_on_ground(rig, make_ground(terrain))
    after = played(rig, start)
    for side in SIDES:
        for bone in (f"Foot{side}", f"Leg{side}"):
            assert max(bends(after[bone])) < 2.0 * max(bends(before[bone]))
        assert min(ball.z - terrain(ball.x, 0.0) for ball in after[f"Toe{side}"]) > -1e-3


def test_hip_takes_its_time_where_little_of_a_swing_is_in_the_clip(empty_file: None) -> None:
    """The left foot lands a few frames after the first one, on another height."""
    rig = captured(creep=0.0)
    start = bpy.context.scene.frame_start = 62
    before = max(bends(played(rig, start)["Hips"]))
    put_on_ground(rig, make_ground(bumps))
    found = max(bends(played(rig, start)["Hips"]))
    assert found < before + 2.0


@pytest.mark.parametrize("edge", [0.15, 0.17, 0.2])
def test_foot_rises_in_time_over_a_step_right_before_its_toes(
    edge: float, empty_file: None
) -> None:
    """It begins to rise while it still rolls over its ball."""
    rig = captured(creep=0.0)
    before = played(rig)
    put_on_ground(rig, make_ground(lambda x, _y: 0.16 * min(max(floor((x - edge) / 0.6), 0), 5)))
    after = played(rig)
    for bone in ("FootL", "FootR", "LegL", "LegR"):
        assert max(bends(after[bone])) < 2.0 * max(bends(before[bone]))


def test_legs_keep_their_pose_before_a_cut(empty_file: None) -> None:
    """In the T-pose the hip is where it is in the next frame: legs are not bent to its ground."""
    rig = captured(t_pose=True)
    go(1)
    before = {
        bone.name: bone.head - rig.pose.bones["Hips"].head for bone in evaluated(rig).pose.bones
    }
    put_on_ground(rig, make_ground(lambda x, _y: 0.25 * x))
    for item in rig.fabrik.constraints:
        item.ground.max_angle = 0.3
    go(1)
    assert states(rig) == {"REACHED"} and messages(rig) == {""}
    posed = evaluated(rig)
    for name in ("LegL", "FootL", "ToeL", "LegR", "FootR", "ToeR"):
        found = posed.pose.bones[name].head - posed.pose.bones["Hips"].head
        assert (found - before[name]).length < 1e-3


def test_foot_that_never_stands_goes_over_steps_smoothly(empty_file: None) -> None:
    """The right foot kicks all the time: it passes edges without a pop, and so does the hip."""
    rig = captured(kicks=True)
    for item in rig.fabrik.constraints:
        item.ground.object = make_ground(
            lambda x, _y: 0.12 * min(max(floor((x + 0.3) / 0.2), 0), 5)
        )
        item.ground.hip, item.ground.use = "Hips", True
    before: dict[str, list[Vector]] = {}
    for item in rig.fabrik.constraints:
        item.ground.use = False
    before = played(rig)
    for item in rig.fabrik.constraints:
        item.ground.use = True
    activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    after: dict[str, list[Vector]] = {}
    for frame in range(1, FRAMES + 1):
        go(frame)
        for bone in evaluated(rig).pose.bones:
            after.setdefault(bone.name, []).append(rig.matrix_world @ bone.head)
    assert any("never stands" in message for message in messages(rig))
    for bone in ("FootR", "LegR"):
        assert max(bends(after[bone])) < 2.0 * max(bends(before[bone]))
    assert max(bends(after["Hips"])) < 10.0


def test_hip_shares_a_jolt_of_the_whole_capture_with_the_knees(empty_file: None) -> None:
    """The feet that stand are kept from it."""
    rig = captured(creep=0.0, jolt=16)
    before = played(rig)
    put_on_ground(rig, plane())
    after = played(rig)
    around = slice(10, 20)
    for bone in ("LegL", "LegR", "Hips"):
        assert max(bends(after[bone])[around]) < 1.02 * max(bends(before[bone])[around])
    assert max(bends(after["FootL"])[around]) < 0.1 * max(bends(before["FootL"])[around])


def test_toes_pressed_into_the_floor_as_they_roll_off_do_not_lower_it(empty_file: None) -> None:
    from addon.features.ground.goal import found_floor
    from addon.loop import plan

    rig = captured(press=0.04, hip_height=0.83)
    put_on_ground(rig, plane())
    assert abs(found_floor(plan.current().chains[0])) < 3e-3


@pytest.mark.parametrize("is_sitting", [False, True])
def test_foot_at_another_angle_than_at_rest_tells_less_of_the_floor(is_sitting: bool) -> None:
    """A hind foot that is upright at rest lies on the floor as the animal sits."""
    from addon.features.ground.leg import Foot
    from addon.features.ground.track import IN_WORLD, Sample, Track
    from addon.features.ground.walk import Walk
    from fabrik_solver.core.vectors import ORIGIN, QUAT_IDENTITY
    from fabrik_solver.motion.contacts import Thresholds

    up, height = ((0.0, 0.0, 1.0), -0.03) if is_sitting else ((0.0, -0.963, 0.27), 0.36)
    foot = Foot(ORIGIN, (0.0, 0.27, 0.0), 0.38, 0.12)
    root = (0.0, 0.0, 0.6)
    sample = Sample(IN_WORLD, ORIGIN, ORIGIN, height, root, QUAT_IDENTITY, ORIGIN, up)
    walk = Walk(Track(1, 24.0, 0.7, foot, (), [sample] * 30), Thresholds(), ())
    found, other = (walk.tilted, walk.standing) if is_sitting else (walk.standing, walk.tilted)
    assert len(found) == 30 and not other
    assert found[0] == pytest.approx(-0.15 if is_sitting else -0.02, abs=1e-3)
