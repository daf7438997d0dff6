"""Feet on the ground of motion as captures have it: a table of motions and terrains.

Each row says what is measured of a motion on a terrain, and the most that this may be.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import atan, floor, pi, radians, sin
from types import MappingProxyType
from typing import Any, NamedTuple

import bpy
import grounded
import pytest
from captures import CAPTURES
from grounded import bends, clip_of, give_targets, heads, plane, put_on
from inside import planned, walk_of
from made_captures import FRAMES, LEGS, REST, captured
from mathutils import Vector
from rigs import evaluated, go, update
from walkers import Height, flat, make_ground, messages, states

pytestmark = pytest.mark.newest


def bumps(x: float, _y: float) -> float:
    return 0.07 * sin(2.0 * pi * (x - 0.1) / 0.6)


def slope(rise: float) -> Height:
    return lambda x, _y: rise * x


def steps(start: float, tread: float = 0.6, rise: float = 0.16) -> Height:
    return lambda x, _y: rise * min(max(floor((x - start) / tread), 0), 5)


class Made(NamedTuple):
    """A row of a walk that is made.

    Attributes:
        most: The most of what is measured of it (see `grounded.MEASURES`).
        options: How it is made.
        ground: The height of the ground.
        start: The first frame.
        sole: How thick its soles are below the ball.
        legs: The joints of the legs that are measured.
        says: A part of what its legs report; empty for nothing.
    """

    most: dict[str, float]
    options: Mapping[str, Any] = MappingProxyType({})
    ground: Height = flat
    start: int = 1
    sole: float = 0.0
    legs: Sequence[tuple[str, ...]] = LEGS
    says: str = ""


LOCKED = {"hip moved": 5e-3, "hip m/s²": 0.5, "knees": 1.3, "slide": 0.25, "ball slide": 2e-3}
"""Feet don't slide, knees and hip don't pop, and nobody walks in a crouch."""

STANDING = {"ball off": 5e-3, "knees": 1.3, "hip m/s²": 2.5}
"""The balls stand on the ground. The hip goes from the height of one foot to that of the other."""

SWINGING = {"ankles": 2.0, "knees": 2.0, "toes below": 1e-3}
"""A foot rises in time, while it still rolls over its ball, and its toes touch nothing."""


def plateau(_x: float, _y: float) -> float:
    return 0.5


MADE: dict[str, Made] = {
    "in meters": Made(LOCKED),
    "in centimeters": Made(LOCKED, {"size": 100.0}),
    "of a scaled object": Made(LOCKED, {"size": 100.0, "scale": 0.01}),
    "of 24 m": Made(LOCKED, {"size": 24.0}),
    "that trembles": Made(LOCKED | {"knees": 1.5, "hip m/s²": 20.0}, {"tremble": 5e-4}),
    "after a T-pose": Made(LOCKED, {"t_pose": True}, start=2),
    "with straight knees": Made(LOCKED, {"hip_height": 0.895}),
    "from the origin": Made(STANDING, {}, plateau),
    "from above the origin": Made(STANDING, {"hover": 0.03}, plateau),
    "from below the origin": Made(STANDING, {"hover": -0.02}, plateau),
    "under a rest pose that hovers": Made(
        STANDING, {"hover": 0.043, "rest_height": REST + 0.108}, plateau
    ),
    "on thick soles": Made(
        STANDING, {"hover": -0.2, "rest_height": REST + 0.05}, plateau, sole=0.05
    ),
    "from a floor that drifts": Made(STANDING, {"drift": 0.03}, plateau),
    "from a floor that is not level": Made(STANDING, {"climb": 0.04, "hip_height": 0.85}, plateau),
    "from a floor that is higher for one foot, as markers are": Made(
        STANDING, {"apart": 0.025}, plateau
    ),
    "whose swings begin and end outside of the clip, over bumps": Made(
        SWINGING, {"creep": 0.0}, bumps, start=44
    ),
    "whose swings begin and end outside of the clip, over steps": Made(
        SWINGING, {"creep": 0.0}, steps(-0.3), start=44
    ),
    "15 cm before a step": Made(SWINGING, {"creep": 0.0}, steps(0.15)),
    "17 cm before a step": Made(SWINGING, {"creep": 0.0}, steps(0.17)),
    "20 cm before a step, right before its toes": Made(SWINGING, {"creep": 0.0}, steps(0.2)),
    # The left foot lands a few frames after the first one, on another height.
    "of which little of a swing is in the clip": Made(
        {"hip m/s²": 4.0}, {"creep": 0.0}, bumps, start=62
    ),
    "on a hill that is higher than a leg": Made({"toes below": 0.02}, {}, slope(0.9)),
    # The right one kicks all the time: it passes edges without a pop, and so does the hip.
    "whose feet never stand": Made(
        {"ankles": 2.0, "knees": 2.0, "hip m/s²": 11.0},
        {"kicks": True},
        steps(-0.3, 0.2, 0.12),
        legs=LEGS[1:],
        says="never stands",
    ),
}


@pytest.mark.rows("walk")
@pytest.mark.parametrize("walk", MADE)
def test_walk(walk: str) -> None:
    row = MADE[walk]
    rig = captured(**row.options)
    size = row.options.get("size", 1.0) * row.options.get("scale", 1.0)
    bpy.context.scene.frame_start = row.start
    before = played(rig, row.start)
    put_on(
        rig,
        plane(size=20.0 * size) if row.ground is flat else make_ground(row.ground),
        "Hips",
        **({"max_angle": radians(45)} if row.ground(1.0, 0.0) > 0.6 else {}),
    )
    after = played(rig, row.start, row.says)
    spans = [
        [slice(max(first - row.start, 0), last - row.start + 1) for first, last in walk.flats]
        for walk in grounded.walks(rig)
    ]
    seen = grounded.Seen(before, after, row.legs, "Hips", row.ground, spans, size, row.sole)
    grounded.check(seen, row.most)


def played(rig: bpy.types.Object, start: int = 1, says: str = "") -> grounded.Places:
    """Return where its joints are at all frames, in which all legs reach."""
    found: grounded.Places = {}
    for frame in range(start, FRAMES + 1):
        for bone, places in heads(rig, rig.pose.bones.keys(), [frame]).items():
            found.setdefault(bone, []).extend(places)
        assert states(rig) == {"REACHED"}
        assert says in "".join(messages(rig)) if says else messages(rig) == {""}
    return found


class Clip(NamedTuple):
    """A clip of somebody else.

    Attributes:
        file: The name of its file.
        hip: The bone that carries its legs.
        legs: The bones of its legs, from the hip joint down.
        action: The beginning of the name of an action that was animated on the spot.
        rate: At how many frames a second it is played; 0 for its own rate.
        is_backward: Whether it is played backward.
        is_set_up: Whether it is set up as a character; else its feet get targets.
        count: How many frames are looked at.
        says: A part of what all its legs report.
    """

    file: str
    hip: str
    legs: tuple[tuple[str, ...], ...]
    action: str = ""
    rate: int = 0
    is_backward: bool = False
    is_set_up: bool = False
    count: int = 300
    says: str = ""


def sides(left: str, right: str, *bones: str) -> tuple[tuple[str, ...], ...]:
    """Return the same bones of both sides."""
    return tuple(tuple(bone.replace("*", side) for bone in bones) for side in (left, right))


CMU = sides("Left", "Right", "*UpLeg", "*Leg", "*Foot")
GRF = sides("l", "r", "femur_*", "tibia_*", "foot_*")
SPRINT = Clip("mannequiny.glb", "pelvis", sides("l", "r", "thigh.*", "calf.*", "foot.*"), "run")
FOX = (
    ("b_LeftLeg01_015", "b_LeftLeg02_016", "b_LeftFoot01_017", "b_LeftFoot02_018"),
    ("b_RightLeg01_019", "b_RightLeg02_020", "b_RightFoot01_021", "b_RightFoot02_022"),
)
QUAD = sides("L", "R", "Back_Leg_Upper.*", "Back_Leg_Lower.*", "Back_Foot.*", "Back_Toes.*")
DOG = (
    *sides("left", "right", "*_upper_leg", "*_leg", "*_foot"),
    *sides("left", "right", "*_shoulder", "*_forearm", "*_hand"),
)
CRAWL = sides("left", "right", "*_hip", "*_knee", "*_ankle")
WOLF = *sides("L", "R", "IKBackLeg.*"), *sides("L", "R", "IKFrontLeg.*")
TREX = sides("L", "R", "BackFoot.*")

CLIPS: dict[str, Clip] = {
    # Its nearly straight knees pass behind the line from hip to ankle: ankles have millimeters
    # where knees have 18.
    "a neutral walk": Clip("xia_neutral_01_000.bvh", "Hips", CMU),
    "a neutral walk at 30": Clip("xia_neutral_01_000.bvh", "Hips", CMU, rate=30),
    "a sexy walk": Clip("xia_sexy_01_000.bvh", "Hips", CMU),
    # At heel strike its knees, over force plates, are 14° behind their line.
    "an overextended walk": Clip("grf_walk_floor.bvh", "pelvis", GRF, rate=60),
    "a walk backward": Clip("cmu_08_01.bvh", "Hips", CMU, rate=60, is_backward=True),
    "a sprint at 24": SPRINT._replace(rate=24),
    "a sprint at 120": SPRINT._replace(rate=120),
    # It rests on its knees, which are lower than its feet: the body doesn't sink to these.
    "a crawl": Clip("dm_crawl.bvh", "root", CRAWL, count=100, says="rests on its knee"),
    "a crawl at 60": Clip("dm_crawl.bvh", "root", CRAWL, rate=60, says="rests on its knee"),
    "a dog": Clip("dog_pace.bvh", "root", DOG, rate=60),
    "a fox": Clip("Fox.glb", "b_Hip_01", FOX, "Walk", 30, is_set_up=True),
    "a quadruped": Clip(
        "m2m_quad-creature-animations.glb", "Hips", QUAD, "Walk", 30, is_set_up=True
    ),
    # Their feet are the targets of their legs, and no part of these.
    "a dinosaur": Clip("q_Trex.glb", "Body", TREX, "Armature|TRex_Walk", 30, is_set_up=True),
    "a wolf": Clip("q_Wolf.glb", "Back", WOLF, "AnimalArmature|Walk", 30, is_set_up=True),
}

GROUNDS: dict[str, Height] = {
    "floor": flat,
    "uphill": slope(0.27),
    "downhill": slope(-0.27),
    "stairs": steps(0.5, 0.42),
}
STRAIGHT = {"knees": 2.5, "swivel": 1.5}
PLANE = {"hock turn": radians(5.0)}
"""Stifle and hock are on both sides of the line from hip to paw, and take turns."""

ROWS: list[tuple[str, str, dict[str, float]]] = [
    ("a neutral walk", "floor", STRAIGHT),
    ("a neutral walk", "uphill", STRAIGHT),
    ("a neutral walk", "downhill", STRAIGHT),
    ("a sexy walk", "floor", STRAIGHT),
    ("a sexy walk", "uphill", STRAIGHT),
    ("a sexy walk", "downhill", STRAIGHT),
    # A foot gives by half a millimeter there: its knee bends forward all the same.
    ("a neutral walk at 30", "floor", {"swivel": 1.5}),
    ("an overextended walk", "stairs", {"swivel": 1.5}),
    # Nearer to its hip than a knee flexes, a leg would swing round in a frame. Uphill it is lifted.
    # Downhill its hip comes down in front of it, and it is above that before it passes it.
    ("a sprint at 24", "uphill", {"knees": 2.0, "swivel": 1.6}),
    ("a sprint at 120", "uphill", {"knees": 2.0, "swivel": 1.6}),
    ("a sprint at 120", "downhill", {"knees": 1.5}),
    # The heel of a foot on its ball landed below the tread behind it, and jumped up in a frame.
    ("a walk backward", "stairs", {"knees": 2.0, "ankles": 2.0}),
    ("a crawl", "floor", {"all moved": 0.01}),
    # Its knee turned farther than captured, as it faced its mean bend only where the leg changed.
    ("a crawl at 60", "floor", {"knees": 1.1, "swivel": 1.1}),
    # Hind legs and forelegs stand at different heights: a level trunk would fold or pull them.
    ("a dog", "uphill", {"knees": 1.3, "pitch off": 0.1, "pitch wobble": radians(6.0)}),
    ("a fox", "uphill", PLANE),
    ("a fox", "downhill", PLANE),
    ("a quadruped", "uphill", PLANE),
    ("a quadruped", "downhill", PLANE),
    ("a dinosaur", "floor", {"hip moved": 0.01}),
    ("a wolf", "floor", {"hip moved": 0.01}),
]


@pytest.mark.parametrize(
    ("clip", "ground", "most"), [pytest.param(*row, id=", ".join(row[:2])) for row in ROWS]
)
def test_clip(clip: str, ground: str, most: dict[str, float]) -> None:
    of, height = CLIPS[clip], GROUNDS[ground]
    rig = clip_of(of.file, of.action, of.rate)
    if of.is_backward:
        grounded.play_backward(rig)
    frames = grounded.frames_of(rig)[: of.count]
    bones = [of.hip, *[bone for leg in of.legs for bone in leg]]
    if of.is_set_up:
        assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    before = heads(rig, bones, frames)
    ends = {leg[-1] for leg in of.legs}
    if not of.is_set_up:
        give_targets(rig, [leg[-1] for leg in of.legs])
    joints = [before[joint][0] for joint in of.legs[0]]
    size = sum((a - b).length for a, b in pairwise(joints)) / 0.85 or before[of.hip][0].z
    feet = [item for item in rig.fabrik.constraints if {item.bone, item.subtarget} & ends]
    assert len(feet) == len(of.legs)
    put_on(rig, grounded.along(before[of.hip], height, size), feet=feet)
    seen = grounded.Seen(before, heads(rig, bones, frames), of.legs, of.hip, height, (), size)
    grounded.check(seen, most)
    assert all(of.says in message for message in messages(rig))


def test_toes_of_a_thick_sole_stay_as_the_foot_rolls_off() -> None:
    """They bend at their joint, which is 5 cm above the floor."""
    rig = captured(rest_height=REST + 0.05, hover=0.05)
    put_on(rig, plane(), "Hips")
    after = played(rig)
    for side in "LR":
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
    put_on(rig, stairs, "Hips")
    after = played(rig)
    walk = walk_of(rig, "Leg.L")
    begin = walk.track.start + walk.contacts[-1].last
    assert begin < 110
    ankles = after["FootL"][begin - 1 : 128]
    rises = [b.z - a.z for a, b in pairwise(ankles)]
    hesitation = [min(max(rises[:i]), max(rises[i:])) - rises[i] for i in range(1, len(rises))]
    assert max(hesitation) < 8e-3


def test_floor_can_be_set() -> None:
    rig = captured(hover=0.03)
    put_on(rig, plane(), "Hips")
    go(20)
    found = evaluated(rig).pose.bones["FootL"].head.z
    for item in rig.fabrik.constraints:
        item.ground.use_floor, item.ground.floor = True, 0.01
    update()
    go(21)
    go(20)
    assert abs(evaluated(rig).pose.bones["FootL"].head.z - found - 0.02) < 2e-3


def test_longer_lock_time_moves_the_foot_for_longer() -> None:
    rig = captured(creep=0.04)
    before = played(rig)
    put_on(rig, plane(), "Hips")
    counts = []
    for lock_time in (0.05, 0.2):
        for item in rig.fabrik.constraints:
            item.ground.lock_time = lock_time
        after = played(rig)
        pairs = zip(after["FootL"], before["FootL"], strict=True)
        counts.append(sum((a - b).xy.length > 1e-3 for a, b in pairs))
    assert counts[1] > counts[0] + 10


@pytest.mark.parametrize(("first", "last"), [(1, 60), (1, 80), (1, 100), (40, 150), (70, 150)])
def test_scene_that_is_shorter_than_its_animation_shows_the_same_of_it(
    first: int, last: int
) -> None:
    """A foot that swings at its first or last frame goes to the foothold beyond it.

    The last contact isn't in the track of the shorter one, as the foot is held there. The hip sees
    another swing right after the last frame, and its knees move by millimeters.
    """
    rig = captured(creep=0.0)
    put_on(rig, make_ground(steps(-0.3)), "Hips")
    whole = played(rig)
    assert bpy.ops.fabrik.simulation_clear() == {"FINISHED"}
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = first, last
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    assert [(one.start, one.end) for one in histories(rig)] == [(first, last)] * 2
    for bone, places in heads(rig, rig.pose.bones.keys(), range(first, last + 1)).items():
        pairs = zip(places, whole[bone][first - 1 : last], strict=True)
        assert max((a - b).length for a, b in pairs) < 4e-3


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
    put_on(rig, make_ground(lambda x, _y: 0.25 * x), "Hips")
    for item in rig.fabrik.constraints:
        item.ground.max_angle = 0.3
    go(1)
    assert states(rig) == {"REACHED"} and messages(rig) == {""}
    posed = evaluated(rig)
    for name in ("LegL", "FootL", "ToeL", "LegR", "FootR", "ToeR"):
        found = posed.pose.bones[name].head - posed.pose.bones["Hips"].head
        assert (found - before[name]).length < 1e-3


def test_hip_shares_a_jolt_of_the_whole_capture_with_the_knees() -> None:
    """The feet that stand are kept from it."""
    rig = captured(creep=0.0, jolt=16)
    before = played(rig)
    put_on(rig, plane(), "Hips")
    after = played(rig)
    around = slice(10, 20)
    for bone in ("LegL", "LegR", "Hips"):
        assert max(bends(after[bone])[around]) < 1.02 * max(bends(before[bone])[around])
    assert max(bends(after["FootL"])[around]) < 0.2 * max(bends(before["FootL"])[around])


def test_knee_that_is_overextended_as_the_clip_ends_bends_as_in_the_strides_before() -> None:
    from addon.features.ground.settings import ground_settings
    from addon.features.ground.stances import ClipInput, FootClip
    from addon.settings.properties import settings
    from fabrik_solver import WHOLE
    from fabrik_solver.core.vectors import dot, scaled

    rig = captured()
    put_on(rig, plane(), "Hips")
    chain: Any = planned(rig)[0]
    ground = ground_settings(settings(rig).constraints[chain.item])
    contact_track, _ = chain.goal_source.contact_track(chain, ground, 1.0)
    inputs = ClipInput((0.0, 0.0, 1.0), 0.0, 0.0, 0.1, dict.fromkeys((-1, 0), WHOLE), has_toes=True)
    samples = contact_track.track.samples
    last = len(samples) - 1
    before = FootClip(contact_track, inputs).flexion(0.5 * last)
    for i in range(last - round(0.8 * contact_track.track.rate), last + 1):
        samples[i] = samples[i]._replace(flexion=scaled(before, -0.5))
    assert dot(FootClip(contact_track, inputs).flexion(last), before) > 0.0


def test_toes_pressed_into_the_floor_as_they_roll_off_do_not_lower_it() -> None:
    from addon.features.ground.goal import found_floor

    rig = captured(press=0.04, hip_height=0.83)
    put_on(rig, plane(), "Hips")
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
    assert walk.is_tilted == is_sitting
    assert walk.level == pytest.approx(-0.15 if is_sitting else -0.02, abs=1e-3)


@pytest.mark.parametrize("rate", [24, 30, 60])
def test_contacts_of_a_run_that_was_animated_on_the_spot(rate: int) -> None:
    """With root motion its feet stand for less than a tenth of a second."""
    rig = clip_of("kaykit_knight.glb", "Running_A", rate)
    give_targets(rig, ["foot.l", "foot.r"])
    put_on(rig, plane(), "hips")
    for walk in grounded.walks(rig):
        assert len(walk.contacts) == 1
        assert walk.contacts[0].last - walk.contacts[0].first < 0.2 * rate


@pytest.mark.parametrize("slope", [0.0, 0.27])
@pytest.mark.parametrize("name", ["Walking_A", "Walking_B"])
def test_soles_of_a_character_are_on_the_ground_while_they_are_flat(
    name: str, slope: float
) -> None:
    """The lowest point of a sole as it rests, while heel and ball are low and slow as animated.

    The floor of the animation is 12 mm above that of the rest pose, for a leg of 0.85 m.
    """
    rig = clip_of("kaykit_knight.glb", name, 60)
    toes = {"foot.l": "toes.l", "foot.r": "toes.r"}
    size = sum(rig.data.bones[bone].length for bone in ("upperleg.l", "lowerleg.l")) / 0.85
    tilted = plane()
    tilted.rotation_euler.x = atan(slope)
    soles: dict[str, list[Vector]] = {}
    for foot, toe in toes.items():
        joints = [rig.data.bones[bone].head_local for bone in (foot, toe)]
        inside = rig.data.bones[foot].matrix_local.inverted()
        soles[foot] = [inside @ Vector((*joint.xy, 0.0)) for joint in joints]
    give_targets(rig, list(toes))
    before = heads(rig, (*toes, *toes.values()), grounded.frames_of(rig))
    put_on(rig, tilted, "hips")
    for foot, toe in toes.items():
        paths = before[foot], before[toe]
        lows = [sorted(place.z for place in places)[len(places) // 20] for places in paths]
        most = 0.35 * size / 60.0
        found: list[float] = []
        for i, frame in enumerate(grounded.frames_of(rig)):
            around = range(max(0, i - 2), min(len(paths[0]), i + 3))
            is_slow = all(
                (places[around[-1]] - places[around[0]]).length < most * (len(around) - 1)
                and places[i].z - low < 0.04 * size
                for places, low in zip(paths, lows, strict=True)
            )
            if is_slow:
                go(frame)
                posed = evaluated(rig)
                matrix = posed.matrix_world @ posed.pose.bones[foot].matrix
                points = [matrix @ point for point in soles[foot]]
                found.append(min(point.z - slope * point.y for point in points) / size)
        assert len(found) > 5
        assert max(abs(height) for height in found) < 5e-3, foot


def test_toes_of_a_captured_dance_stay_until_they_leave() -> None:
    """They creep by more than a tenth of a leg in some contacts, most as the foot rolls off."""
    rig = clip_of("cmu_05_01.bvh")
    toes, frames = ("toe1-1.l", "toe1-1.r"), grounded.frames_of(rig)
    joints = [rig.data.bones[name].head_local for name in ("lhip", "lknee", "lfoot")]
    size = 0.85 / sum((a - b).length for a, b in pairwise(joints))
    before = heads(rig, toes, frames)
    give_targets(rig, ["lfoot", "rfoot"])
    put_on(rig, plane(), "hip")
    after = heads(rig, toes, frames)
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
                worst.append(
                    (grounded.spread(before[toe][first:i]), grounded.spread(after[toe][first:i]))
                )
            first = i + 1
        assert max(worst)[0] * size > 0.05
        assert all(new < 0.5 * old for old, new in worst if old * size > 0.05)


@pytest.mark.parametrize("clip", ["grf_walk_floor", "grf_walk_treadmill"])
def test_feet_are_on_the_ground_when_force_plates_feel_them(clip: str) -> None:
    """A foot beside all plates isn't felt: only what is near its contacts with them counts."""
    rig = clip_of(f"{clip}.bvh")
    truth = json.loads((CAPTURES / f"{clip}.json").read_text())
    if clip == "grf_walk_treadmill":
        assert bpy.ops.fabrik.root_motion_add() == {"FINISHED"}
    give_targets(rig, ["foot_l", "foot_r"])
    put_on(rig, plane(), "pelvis")
    rate, frames = truth["rate"], grounded.frames_of(rig)
    late: list[float] = []
    for side, walk in zip("LR", grounded.walks(rig), strict=True):
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


@pytest.mark.parametrize("name", ["Walk", "Run"])
def test_each_paw_of_a_cycle_stands_though_the_tails_of_its_bones_are_guessed(name: str) -> None:
    """Nothing is below a paw in its skeleton, so the importer lets its bone point up."""
    rig = clip_of("Fox.glb", name, 30)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    paws = [item for item in rig.fabrik.constraints if item.use_rotation]
    assert len(paws) == 4
    put_on(rig, plane(size=1e4), feet=paws)
    for item in paws:
        assert [part.kind for part in walk_of(rig, item.name).contacts[0].parts].count("FLAT") == 1
        assert not item.message
