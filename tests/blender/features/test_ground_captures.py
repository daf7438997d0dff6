"""Feet on the ground of motion as captures have it: in centimetres, with a T-pose, hovering."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from math import atan, atan2, ceil, floor, pi, radians, sin
from typing import Any

import bpy
import pytest
from captures import CAPTURES, imported
from inside import planned, walk_of
from kept_files import open_kept
from mathutils import Matrix, Quaternion, Vector
from rigs import activate, add_constraint, evaluated, go, link, make_armature, make_empty, update
from walkers import Height, make_ground, make_terrain, messages, states

pytestmark = pytest.mark.newest

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


def drifted(seconds: float, late: float) -> float:
    """Return the share of the drift: 0 and 1 in turn."""
    cycle, t = divmod(seconds + late * STEP, STEP)
    share = eased((t - STAND) / (STEP - STAND))
    return share if cycle % 2 == 0 else 1.0 - share


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
    rest_height: float = 0.0,
    drift: float = 0.0,
    climb: float = 0.0,
    apart: float = 0.0,
    last: int = FRAMES,
) -> bpy.types.Object:
    """Make a figure whose motion is keyed on all frames, as an importer leaves it.

    The tails of its bones aren't at the joints, and it rests with its hip at the armature's origin.
    Target.L and Target.R hold the feet where the motion has them.

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
        rest_height: How high above the origin of the armature its hip rests.
        drift: How much higher it stands in every other step.
        climb: How much higher its floor is after a metre.
        apart: How much higher its left foot is all the time than its right one.
        last: The last frame that has keys.
    """
    scene = bpy.context.scene
    scene.render.fps = RATE
    scene.frame_start, scene.frame_end = 1, FRAMES
    reach = THIGH + SHIN
    bones: dict[str, Any] = {"Hips": ((0, 0, rest_height * size), (0, 0, 24.0 * size), "")}
    for side, (y, _) in SIDES.items():
        names = f"UpLeg{side}", f"Leg{side}", f"Foot{side}", f"Toe{side}"
        joints = (0, 0), (0.02, -THIGH), (0, 0.001 - reach), (BALL, -reach - ANKLE)
        parent = "Hips"
        for name, (x, z) in zip(names, joints, strict=True):
            head = size * x, size * y, size * (z + rest_height)
            bones[name] = (head, (size * (x + 24.0), y, z + rest_height), parent)
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
    for frame in range(1, last + 1):
        is_rest = t_pose and frame == 1
        seconds = (frame - 1) / RATE
        off = Vector((0.0, 0.0, 6e-3)) if frame == jolt else Vector()
        noise = Vector([rng.gauss(0, tremble) for _ in range(3)]) + off
        at = (
            Vector((STRIDE * (seconds / STEP - 0.2), 0.0, hip_height + hover - rest_height)) + noise
        )
        if kicks:
            at.x = 0.1 + 0.1 * sin(seconds)
        at.z += climb * at.x
        hips.location = rest_space(hips, Vector() if is_rest else at * size)
        hips.keyframe_insert("location", frame=frame)
        for side, (y, late) in SIDES.items():
            target = bpy.data.objects[f"Target.{side}"]
            place, pitch = ankle(seconds, late, creep, press)
            place += Vector((0.0, y, hover + drift * drifted(seconds, late))) + off
            place.z += climb * place.x + (apart if side == "L" else 0.0)
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
    return walk_of(rig, f"Leg.{side}").flats


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
def test_captured_walk_is_locked_where_it_stands_and_else_as_it_was(case: str) -> None:
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


def balls_in_stance(rig: bpy.types.Object, after: dict[str, list[Vector]]) -> list[float]:
    """The heights of the balls of both feet while they are flat."""
    spans = [(side, *span) for side in SIDES for span in flats(rig, side)]
    assert len(spans) >= 4
    return [p.z for side, a, b in spans for p in after[f"Toe{side}"][a - 1 : b]]


REST = THIGH + SHIN + ANKLE
"""How high the hip of a figure rests that stands at the origin."""

FLOORS: dict[str, tuple[dict[str, float], float]] = {
    "at the origin": ({}, 0.0),
    "above the origin": ({"hover": 0.03}, 0.0),
    "below the origin": ({"hover": -0.02}, 0.0),
    "under a rest pose that hovers": ({"hover": 0.043, "rest_height": REST + 0.108}, 0.0),
    "under thick soles": ({"hover": -0.2, "rest_height": REST + 0.05}, 0.05),
    "that drifts": ({"drift": 0.03}, 0.0),
    "that is not level": ({"climb": 0.04, "hip_height": 0.85}, 0.0),
    "that is higher for one foot, as markers are": ({"apart": 0.025}, 0.0),
}
"""Floors of captures: how these are made, and how thick their soles are below the ball."""


@pytest.mark.rows("floor")
@pytest.mark.parametrize("floor", FLOORS)
def test_feet_are_on_the_ground_wherever_the_floor_of_the_capture_is(floor: str) -> None:
    """Their balls stand on it, and knees and hip move as before."""
    options, sole = FLOORS[floor]
    rig: Any = captured(**options)
    before = played(rig)
    put_on_ground(rig, plane(0.5))
    after = played(rig)
    heights = balls_in_stance(rig, after)
    assert max(abs(height - 0.5 - sole) for height in heights) < 5e-3
    for bone in ("LegL", "LegR"):
        assert max(bends(after[bone])) < 1.3 * max(bends(before[bone])) + 1.0
    # The hip goes from the height of one foot to that of the other in a step.
    assert max(bends(after["Hips"])) < 2.5


def test_toes_of_a_thick_sole_stay_as_the_foot_rolls_off() -> None:
    """They bend at their joint, which is 5 cm above the floor."""
    rig = captured(rest_height=THIGH + SHIN + ANKLE + 0.05, hover=0.05)
    put_on_ground(rig, plane())
    after = played(rig)
    for side in SIDES:
        for contact in walk_of(rig, f"Leg.{side}").contacts:
            first = next(part.first for part in contact.parts if part.kind != "HEEL")
            toes = after[f"Toe{side}"][first : contact.last + 1]
            assert max((toe - toes[0]).length for toe in toes) < 2e-3


@pytest.mark.parametrize(("tread", "start"), [(0.45, 0.15), (0.55, 0.3)])
def test_foot_with_which_the_clip_ends_in_the_air_does_not_hesitate_between_steps(
    tread: float, start: float
) -> None:
    """It rises in one arc over all of them, as in a swing that is known to its end."""
    rig = captured(last=128)
    stairs = make_ground(lambda x, _y: 0.16 * min(max(floor((x - start) / tread), 0), 9))
    put_on_ground(rig, stairs)
    after = played(rig)
    begin = walk_of(rig, "Leg.L").spans[-1][1]
    assert begin < 110
    ankles = after["FootL"][begin - 1 : 128]
    rises = [b.z - a.z for a, b in pairwise(ankles)]
    hesitation = [min(max(rises[:i]), max(rises[i:])) - rises[i] for i in range(1, len(rises))]
    assert max(hesitation) < 8e-3


def test_floor_can_be_set() -> None:
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


def test_hill_that_is_higher_than_a_leg_is_stood_on() -> None:
    rig = captured()
    ground = make_ground(lambda x, _y: 0.9 * x)
    put_on_ground(rig, ground)
    for item in rig.fabrik.constraints:
        item.ground.max_angle = radians(45)
    after = played(rig)
    low = min((ball.z - 0.9 * ball.x) for side in SIDES for ball in after[f"Toe{side}"])
    assert low > -0.02 and max(ball.z for ball in after["ToeL"]) > 1.5


def test_longer_lock_time_moves_the_foot_for_longer() -> None:
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


def step_at(edge: float) -> Height:
    return lambda x, _y: 0.16 * min(max(floor((x - edge) / 0.6), 0), 5)


SWINGS: dict[str, tuple[int, Height]] = {
    "bumps, of which its swings begin and end outside of the clip": (44, bumps),
    "steps, of which its swings begin and end outside of the clip": (44, steps_up),
    "a step 15 cm ahead": (1, step_at(0.15)),
    "a step 17 cm ahead": (1, step_at(0.17)),
    "a step 20 cm ahead, right before its toes": (1, step_at(0.2)),
}
"""What a captured foot swings over: the first frame that is shown, and the terrain."""


@pytest.mark.rows("over")
@pytest.mark.parametrize("over", SWINGS)
def test_foot_swings_calmly_over(over: str) -> None:
    """It rises in time, while it still rolls over its ball, and its toes touch nothing."""
    start, terrain = SWINGS[over]
    rig = captured(creep=0.0)
    bpy.context.scene.frame_start = start
    before = played(rig, start)
    put_on_ground(rig, make_ground(terrain))
    after = played(rig, start)
    for side in SIDES:
        for bone in (f"Foot{side}", f"Leg{side}"):
            assert max(bends(after[bone])) < 2.0 * max(bends(before[bone]))
        assert min(ball.z - terrain(ball.x, 0.0) for ball in after[f"Toe{side}"]) > -1e-3


def test_hip_takes_its_time_where_little_of_a_swing_is_in_the_clip() -> None:
    """The left foot lands a few frames after the first one, on another height."""
    rig = captured(creep=0.0)
    start = bpy.context.scene.frame_start = 62
    before = max(bends(played(rig, start)["Hips"]))
    put_on_ground(rig, make_ground(bumps))
    found = max(bends(played(rig, start)["Hips"]))
    assert found < before + 3.0


@pytest.mark.parametrize(("first", "last"), [(1, 60), (1, 80), (1, 100), (40, 150), (70, 150)])
def test_scene_that_is_shorter_than_its_animation_shows_the_same_of_it(
    first: int, last: int
) -> None:
    """A foot that swings at its first or last frame goes to the foothold beyond it.

    The last contact isn't in the track of the shorter one, as the foot is held there. The hip sees
    another swing right after the last frame, and its knees move by millimetres.
    """
    rig = captured(creep=0.0)
    put_on_ground(rig, make_ground(steps_up))
    whole = played(rig)
    assert bpy.ops.fabrik.simulation_clear() == {"FINISHED"}
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = first, last
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    assert [(one.start, one.end) for one in histories(rig)] == [(first, last)] * 2
    for frame in range(first, last + 1):
        go(frame)
        posed = evaluated(rig)
        for bone in posed.pose.bones:
            assert (posed.matrix_world @ bone.head - whole[bone.name][frame - 1]).length < 4e-3


def histories(rig: bpy.types.Object) -> list[Any]:
    from addon.features.simulation import history

    return [history.data(rig, one.owner) for one in history.owners(rig)]


def test_frames_beyond_a_cut_or_in_which_a_foot_is_held_count_in_the_range_only() -> None:
    from addon.features.ground.track import IN_WORLD, Sample, moving
    from fabrik_solver.core.vectors import ORIGIN, QUAT_IDENTITY

    up = (0.0, 0.0, 1.0)
    held = Sample(IN_WORLD, ORIGIN, ORIGIN, 0.1, up, QUAT_IDENTITY, ORIGIN, up)
    moved = held._replace(step=(0.1, 0.0, 0.0))
    # A step is that from the sample before.
    assert moving([held, held, held, moved, moved, moved, held, held], 3, 1e-6, 1.0) == (2, 5)
    assert moving([held, held, held, held, moved, held, held, held], 3, 1e-6, 1.0) == (3, 4)
    assert moving([held, moved, moved, moved, moved, moved, moved, moved], 3, 1e-6, 1.0) == (0, 7)
    assert moving([held] * 8, 3, 1e-6, 1.0) == (3, 4)
    cut = held._replace(step=(2.0, 0.0, 0.0))
    assert moving([held, moved, cut, moved, moved, moved, cut, moved], 3, 1e-6, 1.0) == (2, 5)


def test_legs_keep_their_pose_before_a_cut() -> None:
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


def test_foot_that_never_stands_goes_over_steps_smoothly() -> None:
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
    assert max(bends(after["Hips"])) < 11.0


def test_hip_shares_a_jolt_of_the_whole_capture_with_the_knees() -> None:
    """The feet that stand are kept from it."""
    rig = captured(creep=0.0, jolt=16)
    before = played(rig)
    put_on_ground(rig, plane())
    after = played(rig)
    around = slice(10, 20)
    for bone in ("LegL", "LegR", "Hips"):
        assert max(bends(after[bone])[around]) < 1.02 * max(bends(before[bone])[around])
    assert max(bends(after["FootL"])[around]) < 0.2 * max(bends(before["FootL"])[around])


def test_toes_pressed_into_the_floor_as_they_roll_off_do_not_lower_it() -> None:
    from addon.features.ground.goal import found_floor

    rig = captured(press=0.04, hip_height=0.83)
    put_on_ground(rig, plane())
    assert abs(found_floor(planned(rig)[0])) < 3e-3


@pytest.mark.parametrize("is_sitting", [False, True])
def test_foot_at_another_angle_than_at_rest_tells_less_of_the_floor(is_sitting: bool) -> None:
    """A hind foot that is upright at rest lies on the floor as the animal sits."""
    from addon.features.ground.contact_track import ContactTrack
    from addon.features.ground.track import IN_WORLD, Sample, Track
    from fabrik_solver.core.vectors import ORIGIN, QUAT_IDENTITY
    from fabrik_solver.motion.contacts import Thresholds
    from fabrik_solver.motion.sole import Sole

    up, height = ((0.0, 0.0, 1.0), -0.03) if is_sitting else ((0.0, -0.963, 0.27), 0.36)
    foot = Sole(ORIGIN, (0.0, 0.27, 0.0), heel_rest=0.38, ball_rest=0.12)
    root = (0.0, 0.0, 0.6)
    sample = Sample(IN_WORLD, ORIGIN, ORIGIN, height, root, QUAT_IDENTITY, ORIGIN, up)
    walk = ContactTrack(Track(1, 24.0, 0.7, foot, (), [sample] * 30), Thresholds(), ())
    found, other = (walk.tilted, walk.standing) if is_sitting else (walk.standing, walk.tilted)
    assert len(found) == 30 and not other
    assert found[0] == pytest.approx(-0.15 if is_sitting else -0.02, abs=1e-3)


def frames_of(rig: bpy.types.Object) -> range:
    """The frames of a clip that are looked at."""
    first, last = map(int, rig.animation_data.action.frame_range)
    return range(first + 2, min(last, first + 300) + 1)


def give_targets(rig: bpy.types.Object, feet: Iterable[str]) -> None:
    """Give the feet of a clip targets, keyed at each frame."""
    scene, frames = bpy.context.scene, frames_of(rig)
    scene.frame_start, scene.frame_end = frames[0], frames[-1]
    activate(rig)
    for foot in feet:
        target = make_empty(f"Target {foot}")
        target.rotation_mode = "QUATERNION"
        item = add_constraint(rig, foot, target, chain_count=2, use_tail=False, use_rotation=True)
        item.solver = "TWO_BONE"
    update()
    assert bpy.ops.fabrik.snap_to_fk(
        which="ALL", use_range=True, frame_start=frames[0], frame_end=frames[-1]
    ) == {"FINISHED"}


def put_feet_on(ground: bpy.types.Object, rig: bpy.types.Object, hip: str) -> None:
    for item in rig.fabrik.constraints:
        item.ground.object, item.ground.hip, item.ground.use = ground, hip, True
    activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def walks(rig: bpy.types.Object) -> list[Any]:
    return [walk_of(rig, item.name) for item in rig.fabrik.constraints]


@pytest.mark.parametrize("rate", [24, 30, 60])
def test_contacts_of_a_run_that_was_animated_on_the_spot(rate: int) -> None:
    """With root motion its feet stand for less than a tenth of a second."""
    rig = run_of("kaykit_knight.glb", "Running_A", rate)
    give_targets(rig, ["foot.l", "foot.r"])
    put_feet_on(plane(size=20.0), rig, "hips")
    for walk in walks(rig):
        assert len(walk.contacts) == 1
        assert walk.contacts[0].last - walk.contacts[0].first < 0.2 * rate


def run_of(file: str, name: str, rate: int) -> bpy.types.Object:
    """Return a character with an action that was animated on the spot, and its root motion."""
    rig = imported(file)
    for track in rig.animation_data.nla_tracks:
        track.mute = True
    # Before 4.4 the importer appends the name of the armature.
    action = next(a for a in bpy.data.actions if a.name.startswith(name))
    rig.animation_data.action = action
    if getattr(action, "slots", None) and rig.animation_data.action_slot is None:
        rig.animation_data.action_slot = action.slots[0]
    play_at(rig, rate)
    activate(rig)
    assert bpy.ops.fabrik.root_motion_add() == {"FINISHED"}
    return rig


def play_at(rig: bpy.types.Object, rate: int) -> None:
    """Let an animation take as long as it does, at another number of frames a second."""
    render = bpy.context.scene.render
    slower = rate * render.fps_base / render.fps
    render.fps, render.fps_base = rate, 1.0
    for curve in curves_of(rig.animation_data.action):
        for key in curve.keyframe_points:
            for place in (key.co, key.handle_left, key.handle_right):
                place.x *= slower


@pytest.mark.parametrize("slope", [0.0, 0.27])
@pytest.mark.parametrize("name", ["Walking_A", "Walking_B"])
def test_soles_of_a_character_are_on_the_ground_while_they_are_flat(
    name: str, slope: float
) -> None:
    """The lowest point of a sole as it rests, while heel and ball are low and slow as animated.

    The floor of the animation is 12 mm above that of the rest pose, for a leg of 0.85 m.
    """
    rig = run_of("kaykit_knight.glb", name, 60)
    toes = {"foot.l": "toes.l", "foot.r": "toes.r"}
    size = sum(rig.data.bones[bone].length for bone in ("upperleg.l", "lowerleg.l")) / 0.85
    tilted = plane(size=20.0)
    tilted.rotation_euler.x = atan(slope)
    soles: dict[str, list[Vector]] = {}
    for foot, toe in toes.items():
        heads = [rig.data.bones[bone].head_local for bone in (foot, toe)]
        inside = rig.data.bones[foot].matrix_local.inverted()
        soles[foot] = [inside @ Vector((*head.xy, 0.0)) for head in heads]
    give_targets(rig, list(toes))
    before = toes_at(rig, (*toes, *toes.values()), frames_of(rig))
    put_feet_on(tilted, rig, "hips")
    for foot, toe in toes.items():
        joints = before[foot], before[toe]
        lows = [sorted(place.z for place in places)[len(places) // 20] for places in joints]
        most = 0.35 * size / 60.0
        found: list[float] = []
        for i, frame in enumerate(frames_of(rig)):
            around = range(max(0, i - 2), min(len(joints[0]), i + 3))
            is_slow = all(
                (places[around[-1]] - places[around[0]]).length < most * (len(around) - 1)
                and places[i].z - low < 0.04 * size
                for places, low in zip(joints, lows, strict=True)
            )
            if is_slow:
                go(frame)
                posed = evaluated(rig)
                matrix = posed.matrix_world @ posed.pose.bones[foot].matrix
                points = [matrix @ point for point in soles[foot]]
                found.append(min(point.z - slope * point.y for point in points) / size)
        assert len(found) > 5
        assert max(abs(height) for height in found) < 5e-3, foot


@pytest.mark.parametrize("side", ["l", "r"])
@pytest.mark.parametrize(("slope", "rate"), [(0.27, 24), (0.27, 120), (-0.27, 120)])
def test_foot_of_a_sprinter_stays_away_from_its_hip_uphill_and_downhill(
    slope: float, rate: int, side: str
) -> None:
    """Nearer to it than a knee flexes, the leg would swing round in a frame.

    Uphill it is lifted. Downhill its hip comes down in front of it, and it is above that before it
    passes it.
    """
    rig = run_of("mannequiny.glb", "run", rate)
    first, last = rig.animation_data.action.frame_range
    frames = range(ceil(first) + 2, int(last) + 1)
    bones = ("pelvis", f"thigh.{side}", f"calf.{side}", f"foot.{side}")
    before = toes_at(rig, bones, frames)
    way = (before["pelvis"][-1] - before["pelvis"][0]).xy.to_3d()
    tilted = plane(size=40.0)
    tilted.location = before["pelvis"][0].xy.to_3d() + 0.5 * way.normalized()
    tilted.rotation_mode = "QUATERNION"
    tilted.rotation_quaternion = Vector((0, 0, 1)).rotation_difference(
        Vector((0, 0, 1)) - slope * way.normalized()
    )
    give_targets(rig, ["foot.l", "foot.r"])
    put_feet_on(tilted, rig, "pelvis")
    after = toes_at(rig, bones, frames)
    knee = f"calf.{side}"
    assert max(bends(after[knee])) < (2.0 if slope > 0.0 else 1.5) * max(bends(before[knee]))
    if slope > 0.0:
        assert max(swivel(after, bones[1:])) < 1.6 * max(swivel(before, bones[1:]))


def curves_of(action: bpy.types.Action) -> list[bpy.types.FCurve]:
    if hasattr(action, "fcurves"):
        return list(action.fcurves)
    bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
    return [curve for bag in bags for curve in bag.fcurves]


def test_toes_of_a_captured_dance_stay_until_they_leave() -> None:
    """They creep by more than a tenth of a leg in some contacts, most as the foot rolls off."""
    rig = capture("cmu_05_01.bvh")
    toes, frames = ("toe1-1.l", "toe1-1.r"), frames_of(rig)
    joints = [rig.data.bones[name].head_local for name in ("lhip", "lknee", "lfoot")]
    size = 0.85 / sum((a - b).length for a, b in pairwise(joints))
    before = toes_at(rig, toes, frames)
    give_targets(rig, ["lfoot", "rfoot"])
    put_feet_on(plane(size=20.0), rig, "hip")
    after = toes_at(rig, toes, frames)
    for toe in toes:
        given = [place * size for place in before[toe]]
        low = sorted(place.z for place in given)[len(given) // 20] + 0.04
        near = [(a - b).length * 25.0 / 2.0 < 0.3 for a, b in zip(given, given[2:], strict=False)]
        stands = [False, *near, False]
        worst: list[tuple[float, float]] = []
        first = 0
        for i, place in enumerate(given):
            if stands[i] and place.z < low:
                continue
            if i - first > 5:
                worst.append((spread(before[toe][first:i]), spread(after[toe][first:i])))
            first = i + 1
        assert max(worst)[0] * size > 0.05
        assert all(new < 0.5 * old for old, new in worst if old * size > 0.05)


def toes_at(rig: bpy.types.Object, toes: tuple[str, ...], frames: range) -> dict[str, list[Vector]]:
    found: dict[str, list[Vector]] = {toe: [] for toe in toes}
    for frame in frames:
        go(frame)
        posed = evaluated(rig)
        for toe in toes:
            found[toe].append(posed.matrix_world @ posed.pose.bones[toe].head)
    return found


def spread(places: list[Vector]) -> float:
    """How far points get from their mean on the floor."""
    middle = sum(places, Vector()) / len(places)
    return max((place - middle).xy.length for place in places)


LEGS = {"L": ("LeftUpLeg", "LeftLeg", "LeftFoot"), "R": ("RightUpLeg", "RightLeg", "RightFoot")}


@pytest.mark.parametrize("slope", [0.0, 0.27, -0.27])
@pytest.mark.parametrize("clip", ["xia_neutral_01_000.bvh", "xia_sexy_01_000.bvh"])
def test_knees_of_captured_legs_that_are_nearly_straight_do_not_jolt(
    clip: str, slope: float
) -> None:
    """They pass behind the line from hip to ankle. Ankles have millimetres where knees have 18."""
    before = captured_joints(clip)
    open_kept(
        ("captured feet with targets", clip),
        lambda: give_targets(capture(clip), [leg[2] for leg in LEGS.values()]),
    )
    rig, tilted = bpy.context.object, plane(size=20.0)
    tilted.rotation_euler.y = atan(slope)
    put_feet_on(tilted, rig, "Hips")
    after = joints_at(rig)
    for side, leg in LEGS.items():
        given, found = bends(before[leg[1]]), bends(after[leg[1]])
        assert max(found) < 2.5 * max(given), side
        assert max(swivel(after, leg)) < 1.5 * max(swivel(before, leg)), side


def test_knees_that_pass_behind_their_line_do_not_turn_on_a_floor_as_captured() -> None:
    """A foot gives by half a millimetre there: its knee bends forward all the same."""
    rig = capture("xia_neutral_01_000.bvh")
    play_at(rig, 30)
    before = joints_at(rig)
    give_targets(rig, [leg[2] for leg in LEGS.values()])
    put_feet_on(plane(size=20.0), rig, "Hips")
    after = joints_at(rig)
    for side, leg in LEGS.items():
        assert max(swivel(after, leg)) < 1.5 * max(swivel(before, leg)), side


def test_knees_that_a_capture_overextends_turn_no_farther_on_stairs() -> None:
    """At heel strike those of this one, over force plates, are 14° behind their line."""
    rig = imported("grf_walk_floor.bvh", global_scale=0.01, update_scene_fps=True)
    play_at(rig, 60)
    leg = ("femur_l", "tibia_l", "foot_l")
    before = toes_at(rig, leg, frames_of(rig))
    stairs = make_ground(lambda x, _y: 0.16 * min(max(floor((x - 0.5) / 0.42), 0), 5))
    start, end = before["femur_l"][0], before["femur_l"][-1]
    stairs.location = (start.x, start.y, 0.0)
    stairs.rotation_euler.z = atan2(end.y - start.y, end.x - start.x)
    give_targets(rig, ["foot_l", "foot_r"])
    put_feet_on(stairs, rig, "pelvis")
    after = toes_at(rig, leg, frames_of(rig))
    assert max(swivel(after, leg)) < 1.5 * max(swivel(before, leg))


@pytest.mark.parametrize("clip", ["grf_walk_floor", "grf_walk_treadmill"])
def test_feet_are_on_the_ground_when_force_plates_feel_them(clip: str) -> None:
    """A foot beside all plates isn't felt: only what is near its contacts with them counts."""
    rig = imported(f"{clip}.bvh", global_scale=0.01, update_scene_fps=True)
    truth = json.loads((CAPTURES / f"{clip}.json").read_text())
    if clip == "grf_walk_treadmill":
        activate(rig)
        assert bpy.ops.fabrik.root_motion_add() == {"FINISHED"}
    give_targets(rig, ["foot_l", "foot_r"])
    put_feet_on(plane(size=20.0), rig, "pelvis")
    rate, frames = truth["rate"], frames_of(rig)
    late: list[float] = []
    for side, walk in zip("LR", walks(rig), strict=True):
        stands = [bool(truth[side][min(frame, len(truth[side])) - 1]) for frame in frames]
        spans = [(a + walk.track.start, b + walk.track.start) for a, b in walk.extents]
        seen = [any(a <= frame <= b for a, b in spans) for frame in frames]
        far = round(0.2 * rate)
        near = [any(stands[max(0, i - far) : i + far + 1]) for i in range(len(stands))]
        hits = sum(a and b for a, b in zip(stands, seen, strict=True))
        assert hits > 0.95 * sum(a and b for a, b in zip(seen, near, strict=True))
        assert hits > (0.85 if clip == "grf_walk_floor" else 0.88) * sum(stands)
        turns = [i for i, (a, b) in enumerate(pairwise(stands)) if a != b]
        edges = [i for i, (a, b) in enumerate(pairwise(seen)) if a != b]
        late += [min(abs(i - j) for j in edges) / rate for i in turns if 4 < i < len(stands) - 4]
    assert len(late) >= 6 and max(late) < 0.05


def test_a_crawl_stays_on_its_knees() -> None:
    """They are lower than the feet: the body doesn't sink to these, and their setup says so."""
    rig = imported("dm_crawl.bvh", global_scale=0.01, update_scene_fps=True)
    bones = ("root", "left_knee", "right_knee")
    frames = range(20, 120)
    before = toes_at(rig, bones, frames)
    give_targets(rig, ["left_ankle", "right_ankle"])
    put_feet_on(plane(size=20.0), rig, "root")
    after = toes_at(rig, bones, frames)
    for bone in bones:
        pairs = zip(before[bone], after[bone], strict=True)
        assert max((a - b).length for a, b in pairs) < 5e-3, bone
    assert all("rests on its knee" in message for message in messages(rig))


def test_a_dog_is_pitched_with_the_slope_and_its_forelegs_stay_as_long_as_captured() -> None:
    """Hind legs and forelegs stand at different heights: a level trunk would fold or pull them."""
    rig = imported("dog_pace.bvh", update_scene_fps=True)
    play_at(rig, 60)
    feet = ["left_foot", "right_foot", "left_hand", "right_hand"]
    roots = tuple(rig.data.bones[foot].parent.parent.name for foot in feet)
    knees = tuple(rig.data.bones[foot].parent.name for foot in feet)
    frames = range(3, 200)  # The first frames are the rest pose.
    before = toes_at(rig, (*roots, *knees), frames)
    leg = sum(rig.data.bones[bone].length for bone in (roots[0], knees[0]))
    start, end = before[roots[0]][0], before[roots[0]][-1]
    slope = plane(size=100.0 * leg)
    turn = Matrix.Rotation(atan2(end.y - start.y, end.x - start.x), 4, "Z")
    slope.matrix_world = turn @ Matrix.Rotation(-atan(0.27), 4, "Y")
    give_targets(rig, feet)
    put_feet_on(slope, rig, "")
    after = toes_at(rig, (*roots, *knees), frames)

    def pitch(places: dict[str, list[Vector]], i: int) -> float:
        hind, front = ((places[a][i] + places[b][i]) / 2.0 for a, b in (roots[:2], roots[2:]))
        way = front - hind
        return atan2(way.z, way.xy.length)

    turned = [pitch(after, i) - pitch(before, i) for i in range(len(frames))]
    assert sum(turned) / len(turned) == pytest.approx(atan(0.27), rel=0.1)
    assert max(turned) - min(turned) < radians(6.0)
    for knee in knees:
        assert max(bends(after[knee])) < 1.3 * max(bends(before[knee])), knee


def joints_at(rig: bpy.types.Object) -> dict[str, list[Vector]]:
    return toes_at(rig, tuple(bone for leg in LEGS.values() for bone in leg), frames_of(rig))


def capture(clip: str) -> Any:
    return imported(clip, global_scale=0.0564, update_scene_fps=True)


@cache
def captured_joints(clip: str) -> dict[str, list[Vector]]:
    return joints_at(capture(clip))


def swivel(places: dict[str, list[Vector]], leg: tuple[str, ...]) -> list[float]:
    """By which angle a knee turns about the line from hip to ankle, where it is 20 mm off it."""
    found = [0.0]
    offs: list[Vector] = []
    for hip, knee, ankle in zip(*(places[bone] for bone in leg), strict=True):
        axis = (ankle - hip).normalized()
        off = (knee - hip) - axis * (knee - hip).dot(axis)
        least = 0.024 * (ankle - hip).length
        if offs and min(offs[-1].length, off.length) > least:
            found.append(offs[-1].angle(off))
        offs.append(off)
    return found


@pytest.mark.parametrize("name", ["Walk", "Run"])
def test_each_paw_of_a_cycle_stands_though_the_tails_of_its_bones_are_guessed(name: str) -> None:
    """Nothing is below a paw in its skeleton, so the importer lets its bone point up."""
    rig = run_of("Fox.glb", name, 30)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    paws = [item for item in rig.fabrik.constraints if item.use_rotation]
    assert len(paws) == 4
    floor = plane(size=1000.0)
    for item in paws:
        item.ground.object, item.ground.use = floor, True
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    for item in paws:
        assert [part.kind for part in walk_of(rig, item.name).contacts[0].parts].count("FLAT") == 1
        assert not item.message


@pytest.mark.parametrize(
    ("file", "name", "body"),
    [
        ("q_Trex.glb", "Armature|TRex_Walk", "Body"),
        ("q_Wolf.glb", "AnimalArmature|Walk", "Back"),
    ],
)
def test_an_animal_whose_feet_are_not_part_of_its_legs_does_not_sink_into_its_floor(
    file: str, name: str, body: str
) -> None:
    """They are the targets of its legs, and move with these."""
    rig = run_of(file, name, 30)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    before = toes_at(rig, (body,), frames_of(rig))[body]
    floor = plane(size=100.0)
    legs = [item for item in rig.fabrik.constraints if item.subtarget.startswith(("IK", "BackF"))]
    assert len(legs) in (2, 4)
    for item in legs:
        item.ground.object, item.ground.use = floor, True
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    after = toes_at(rig, (body,), frames_of(rig))[body]
    high = min(place.z for place in before)
    assert max(abs((old - new).z) for old, new in zip(before, after, strict=True)) < 0.01 * high


HIND_LEGS = {
    "Fox.glb": (
        "Walk",
        ("b_LeftLeg01_015", "b_LeftLeg02_016", "b_LeftFoot01_017", "b_LeftFoot02_018"),
        ("b_RightLeg01_019", "b_RightLeg02_020", "b_RightFoot01_021", "b_RightFoot02_022"),
    ),
    "m2m_quad-creature-animations.glb": (
        "Walk",
        ("Back_Leg_Upper.L", "Back_Leg_Lower.L", "Back_Foot.L", "Back_Toes.L"),
        ("Back_Leg_Upper.R", "Back_Leg_Lower.R", "Back_Foot.R", "Back_Toes.R"),
    ),
}


@pytest.mark.parametrize("slope", [0.27, -0.27])
@pytest.mark.parametrize("file", HIND_LEGS)
def test_hind_legs_of_animals_stay_in_the_plane_in_which_they_walk(file: str, slope: float) -> None:
    """Their stifle and hock are on both sides of the line from hip to paw, and take turns."""
    name, *legs = HIND_LEGS[file]
    rig = run_of(file, name, 30)
    joints = tuple(joint for leg in legs for joint in leg)
    frames = frames_of(rig)
    before = toes_at(rig, joints, frames)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    size = (before[legs[0][0]][0] - before[legs[0][-1]][0]).length
    tilted = plane(size=20.0 * size)
    tilted.rotation_euler.x = atan(slope)
    for item in rig.fabrik.constraints:
        if item.bone in {leg[-1] for leg in legs}:
            item.ground.object, item.ground.use = tilted, True
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    after = toes_at(rig, joints, frames)
    for leg in legs:
        assert max(normal_turns(before, after, leg)) < radians(5.0), leg


def normal_turns(
    before: dict[str, list[Vector]], after: dict[str, list[Vector]], leg: tuple[str, ...]
) -> list[float]:
    """Return by which angle the plane of a hock is another one, at each frame."""
    planes = [
        [
            (hock - knee).cross(paw - hock).normalized()
            for knee, hock, paw in zip(*(places[bone] for bone in leg[1:]), strict=True)
        ]
        for places in (before, after)
    ]
    return [old.angle(new) for old, new in zip(*planes, strict=True)]


def test_heel_of_a_foot_that_stands_on_its_ball_is_not_in_the_step_behind_it() -> None:
    """Backward up a stair, it landed below the tread behind it and jumped up within a frame."""
    rig = capture("cmu_08_01.bvh")
    for curve in curves_of(rig.animation_data.action):
        keys = curve.keyframe_points
        values = [key.co.y for key in keys]
        for key, value in zip(keys, reversed(values), strict=True):
            key.co.y, key.interpolation = value, "LINEAR"
        curve.update()
    play_at(rig, RATE)
    give_targets(rig, ["LeftFoot", "RightFoot"])
    names = ("Hips", "RightUpLeg", "RightLeg", "RightFoot")
    before = toes_at(rig, names, frames_of(rig))
    joints = [before[name][0] for name in names[1:]]
    size = sum((b - a).length for a, b in pairwise(joints)) / 0.85
    begin, end = before["Hips"][0], before["Hips"][-1]
    assert end.y - begin.y > 2.0 * abs(end.x - begin.x)
    edges = [begin.y + (0.5 + 0.42 * i) * size for i in range(6)]
    ys = sorted({begin.y - 3.0, end.y + 3.0, *edges, *[edge - 1e-4 for edge in edges]})

    def height(_x: float, y: float) -> float:
        return 0.16 * size * sum(y >= edge for edge in edges[1:])

    xs = [begin.x - 3.0, begin.x + 3.0]
    put_feet_on(make_terrain("Stairs", xs, ys, height), rig, "Hips")
    after = toes_at(rig, names, frames_of(rig))
    for name in ("RightLeg", "RightFoot"):
        assert max(bends(after[name])) < 2.0 * max(bends(before[name]))
