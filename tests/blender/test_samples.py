"""The sample files: each plays, the same whichever way, and is what its script makes."""

import random
from array import array
from collections.abc import Iterator
from itertools import pairwise
from math import atan2, degrees
from pathlib import Path
from statistics import correlation, median
from typing import NamedTuple

import bpy
import pytest
from mathutils import Matrix, Quaternion, Vector
from rigs import KEYABLE, channels_bits, shown_bits

from samples import build, measure

BIGGEST = 600_000
SETTINGS = (
    *KEYABLE,
    *("name", "bone", "chain_count", "use_tail", "subtarget", "pole_subtarget", "use_rotation"),
    *("use_offset", "use_stretch", "use_free_root", "use_continuous"),
)
JOINT_SETTINGS = (
    *("limit_type", "hinge_axis", "hinge_min", "hinge_max"),
    *("swing_x", "swing_z", "twist_min", "twist_max", "stiffness"),
)


def path_of(name: str) -> Path:
    return build.FOLDER / f"{name}.blend"


@pytest.fixture(params=build.ALL)
def sample(request: pytest.FixtureRequest, empty_file: None) -> str:
    bpy.ops.wm.open_mainfile(filepath=str(path_of(request.param)))
    return request.param


ONCE = ("hills", "stairs", "spider", "quadruped", "cup", "ponytail")
"""Those that end elsewhere than they begin."""


@pytest.fixture(params=[name for name in build.ALL if name not in ONCE])
def loop(request: pytest.FixtureRequest, empty_file: None) -> str:
    bpy.ops.wm.open_mainfile(filepath=str(path_of(request.param)))
    return request.param


def rigs() -> Iterator[bpy.types.Object]:
    return (ob for ob in bpy.data.objects if ob.type == "ARMATURE")


def constraints() -> list[bpy.types.PropertyGroup]:
    return [item for rig in rigs() for item in rig.fabrik.constraints]


def pose() -> bytes:
    """Return all bones and all objects as evaluated, to the last bit."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    numbers = array("f")
    for ob in bpy.data.objects:
        evaluated = ob.evaluated_get(depsgraph)
        numbers.extend(value for row in evaluated.matrix_world for value in row)
        for bone in evaluated.pose.bones if ob.type == "ARMATURE" else ():
            numbers.extend(value for row in bone.matrix for value in row)
    return numbers.tobytes()


def frames() -> list[int]:
    scene = bpy.context.scene
    return list(range(scene.frame_start, scene.frame_end + 1))


def each_frame() -> Iterator[int]:
    """Go to each frame of the scene in turn."""
    for frame in frames():
        bpy.context.scene.frame_set(frame)
        yield frame


def played(order: list[int]) -> dict[int, bytes]:
    poses = {}
    for frame in order:
        bpy.context.scene.frame_set(frame)
        poses[frame] = pose()
    return poses


def tip_errors() -> list[float]:
    """Return how far each tip is from its target as evaluated, as a share of its chain."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    errors = []
    for rig in rigs():
        for item in rig.fabrik.constraints:
            if item.target is None:
                continue
            tip = measure.Tip(rig.name, item.bone, item.use_tail, item.target.name)
            errors.append(tip.error(depsgraph) / chain_length(rig, item))
    return errors


def chain_length(rig: bpy.types.Object, item: bpy.types.PropertyGroup) -> float:
    bone = rig.data.bones[item.bone]
    up = [bone, *bone.parent_recursive][0 if item.use_tail else 1 :]
    return sum(bone.length for bone in up[: item.chain_count or None])


def test_pose_is_the_same_whichever_way_a_frame_was_reached(sample: str) -> None:
    forwards = played(frames())
    assert len(set(forwards.values())) > 100  # It moves.
    third = len(frames()) // 3
    for order in (frames()[::-1][:third], random.Random(7).sample(frames(), third)):
        assert played(order) == {frame: forwards[frame] for frame in order}


@pytest.mark.parametrize("name", build.NAMES)
def test_every_tip_arrives_at_every_frame(name: str) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of(name)))
    for frame in each_frame():
        assert [(item.state, item.message) for item in constraints()] == [
            ("REACHED", "") for _ in constraints()
        ], frame
        # Blender's floats add a little to the tolerance.
        tolerance = max(item.tolerance for item in constraints())
        assert max(tip_errors()) <= tolerance + 2e-6, frame


def test_loop_has_no_seam(loop: str) -> None:
    scene = bpy.context.scene
    after = scene.frame_end + 1
    poses = {}
    for frame in (scene.frame_start, after):
        scene.frame_set(frame)
        poses[frame] = array("f", pose())
    assert list(poses[after]) == pytest.approx(list(poses[scene.frame_start]), abs=1e-5)


def test_saved_pose_is_the_evaluated_one(sample: str) -> None:
    loaded = pose()
    saved = {rig.name: channels_bits(rig) for rig in rigs()}
    reaching = [rig for rig in rigs() if rig.fabrik.constraints]
    assert all(shown_bits(rig) != saved[rig.name] for rig in reaching)
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    assert pose() == loaded
    assert saved == {rig.name: channels_bits(rig) for rig in rigs()}


def test_file_is_ready_to_be_opened(sample: str) -> None:
    scene = bpy.context.scene
    assert tuple(bpy.data.version)[:2] == (4, 2)
    assert path_of(sample).stat().st_size < BIGGEST
    last = 180 if sample == "cup" else 120
    assert (scene.frame_start, scene.frame_end, scene.render.fps) == (1, last, 24)
    assert scene.render.use_lock_interface
    assert scene.camera is not None
    assert len(bpy.data.texts["Read me"].lines) >= 3
    assert constraints()
    untargeted = {item.solver for item in constraints() if item.target is None}
    assert untargeted <= {"WAVE", "SPRING"}
    assert not [image for image in bpy.data.images if image.filepath]
    assert not bpy.data.libraries


def contents() -> dict[str, object]:
    """Return what a sample is made of."""
    return {
        "objects": {ob.name: (ob.type, ob.parent and ob.parent.name) for ob in bpy.data.objects},
        "meshes": {mesh.name: len(mesh.vertices) for mesh in bpy.data.meshes},
        "bones": {
            rig.name: [
                (bone.name, bone.parent and bone.parent.name, bone.use_connect)
                for bone in rig.data.bones
            ]
            for rig in rigs()
        },
        "joints": {
            (rig.name, bone.name): (
                *(getattr(bone.fabrik_joint, field) for field in JOINT_SETTINGS),
                *bone.fabrik_joint.hinge_vector,
                *bone.fabrik_joint.center,
            )
            for rig in rigs()
            for bone in rig.pose.bones
        },
        "constraints": [
            (
                *(getattr(item, field) for field in SETTINGS),
                item.target and item.target.name,
                item.pole_target and item.pole_target.name,
            )
            for item in constraints()
        ],
        "text": bpy.data.texts["Read me"].as_string(),
    }


def vertices() -> list[float]:
    return [x for mesh in bpy.data.meshes for vertex in mesh.vertices for x in vertex.co]


def test_script_makes_this_file_and_it_moves_so(sample: str) -> None:
    saved = contents()
    moved, corners = array("f", played([40])[40]), vertices()
    build.make(sample)
    assert contents() == saved
    made = array("f", played([40])[40])
    # Not to the last bit: another machine may take its sines from another library.
    assert list(made) == pytest.approx(list(moved), abs=1e-5)
    assert vertices() == pytest.approx(corners, abs=1e-5)


def test_no_pole_is_seen_in_a_render(sample: str) -> None:
    poles = {item.pole_target for item in constraints()} - {None}
    seen = [child.name for ob in poles for child in ob.children if not child.hide_render]
    assert not seen


def evaluated(rig: bpy.types.Object) -> bpy.types.Object:
    return rig.evaluated_get(bpy.context.evaluated_depsgraph_get())


def test_tentacle_bends_everywhere_and_kinks_nowhere() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("tentacle")))
    rig = bpy.data.objects["Rig"]
    before: list[float] = []
    for frame in each_frame():
        pairs = pairwise(evaluated(rig).pose.bones)
        bends = [degrees(lower.y_axis.angle(upper.y_axis)) for lower, upper in pairs]
        assert max(bends) < 32.0, frame
        changes = [abs(a - b) for a, b in zip(bends, before, strict=False)]
        assert max(changes, default=0.0) < 2.0, frame
        before = bends


def test_eyes_lead_a_head_that_turns_no_farther_than_that_of_a_person() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("look")))
    rig = bpy.data.objects["Rig"]

    def turns() -> dict[str, Quaternion]:
        posed = evaluated(rig).pose.bones
        return {b.name: (b.matrix @ b.bone.matrix_local.inverted()).to_quaternion() for b in posed}

    farthest = dict.fromkeys(("Chest", "Neck", "Head"), 0.0)
    for frame in each_frame():
        seen = turns()
        for name in farthest:
            farthest[name] = max(farthest[name], degrees(seen[name].angle))
        for eye in ("Eye.L", "Eye.R"):
            within = degrees(seen["Head"].rotation_difference(seen[eye]).angle)
            assert within < 31.0, (frame, eye)
    # Each carries a part of the turn on.
    assert 5.0 < farthest["Chest"] < farthest["Neck"] - 10.0 < farthest["Head"] - 20.0
    assert farthest["Head"] < 60.0


class Gait(NamedTuple):
    """A figure's motion, measured over its frames, in degrees; forward is positive.

    Attributes:
        knees: How far the left knee is bent.
        arms: How far the left upper arm is ahead of the chest's own way down.
        thighs: How far the left thigh is ahead.
    """

    knees: list[float]
    arms: list[float]
    thighs: list[float]


def gait_on_flat_floor(name: str) -> Gait:
    """Return how the figure of a sample goes while nothing keeps its feet on the ground."""
    bpy.ops.wm.open_mainfile(filepath=str(path_of(name)))
    rig = bpy.data.objects["Rig"]
    for item in constraints():
        item.ground.use = False
    gait = Gait([], [], [])
    for _frame in each_frame():
        posed = evaluated(rig).pose.bones
        thigh, shin, arm = (posed[f"{part}.L"].y_axis for part in ("Thigh", "Shin", "Upper arm"))
        gait.knees.append(degrees(thigh.angle(shin)))
        gait.thighs.append(degrees(atan2(thigh.x, -thigh.z)))
        gait.arms.append(degrees(atan2(arm.x, -arm.z)))
    return gait


def test_figure_walks_upright_with_arms_that_swing_against_its_legs() -> None:
    knees, arms, thighs = gait_on_flat_floor("hills")
    assert 0.0 <= min(knees) < 8.0  # The leg that stands is nearly straight …
    assert 55.0 < max(knees) < 70.0  # … and bends by about 60° as it swings.
    assert sum(knee < 25.0 for knee in knees) > 0.45 * len(knees)
    assert max(arms) - min(arms) > 40.0
    assert correlation(arms, thighs) < -0.7


def test_figure_runs_with_legs_that_push_and_knees_that_swing() -> None:
    knees, arms, thighs = gait_on_flat_floor("stairs")
    assert min(knees) < 15.0
    assert 90.0 < max(knees) < 120.0
    assert max(arms) - min(arms) > 60.0
    assert correlation(arms, thighs) < -0.8


def test_puppet_stays_in_its_plane() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("puppet")))
    rig = bpy.data.objects["Rig"]
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for frame in each_frame():
        evaluated = rig.evaluated_get(depsgraph)
        for bone in evaluated.pose.bones:
            # Blender's rest axes at right angles to the parent's are already 4e-8 off.
            assert abs((evaluated.matrix_world @ bone.head).y) < 1e-12, (frame, bone.name)
            assert abs((evaluated.matrix_world @ bone.tail).y) < 1e-12, (frame, bone.name)


def test_both_hands_hold_the_weapon_after_a_single_jump() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("weapon_grip")))
    rig = bpy.data.objects["Rig"]
    grip, sword = bpy.data.objects["Grip"], bpy.data.objects["Sword"]
    assert grip.parent == sword and sword.parent == rig and sword.parent_bone == "Hand.R"
    for frame in (77, 13, 118, 40):
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for bone, target in (("Hand.R", "Target"), ("Hand.L", "Grip")):
            tip = measure.Tip("Rig", bone, False, target)
            assert tip.error(depsgraph) < 1e-5, (frame, bone)


def test_robot_arm_reaches_with_every_solver_and_stays_in_its_plane() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("robot_arm")))
    rig = bpy.data.objects["Rig"]
    item = rig.fabrik.constraints[0]
    for solver in ("FABRIK", "CCD"):
        item.solver = solver
        for frame in frames()[::10]:
            bpy.context.scene.frame_set(frame)
            assert item.state == "REACHED", (solver, frame, item.message)
            turntable = rig.pose.bones["Turntable"]
            for bone in rig.pose.bones:
                across = (bone.tail - turntable.head).dot(turntable.z_axis)
                assert abs(across) < 1e-4, (solver, frame, bone.name)


def test_fingers_bend_like_fingers_about_a_palm_that_stays_rigid() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("hand")))
    rig = bpy.data.objects["Rig"]
    hinges = [bone.name for bone in rig.pose.bones if bone.fabrik_joint.limit_type == "HINGE"]
    knuckles = [bone.name for bone in rig.data.bones["Palm"].children]
    assert (len(hinges), len(knuckles)) == (10, 5)
    for frame in each_frame():
        evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for name in hinges:
            joint = rig.pose.bones[name].fabrik_joint
            turn = evaluated.pose.bones[name].matrix_basis.to_euler()
            assert joint.hinge_min - 1e-5 <= turn.x <= joint.hinge_max + 1e-5, (frame, name)
            assert max(abs(turn.y), abs(turn.z)) < 1e-5, (frame, name)
        palm = evaluated.pose.bones["Palm"].matrix.inverted()
        rest = rig.data.bones["Palm"].matrix_local.inverted()
        for name in knuckles:
            knuckle = palm @ evaluated.pose.bones[name].head
            assert (knuckle - rest @ rig.data.bones[name].head_local).length < 1e-5, (frame, name)


def test_feet_of_the_humanoid_stand_while_its_body_comes_along() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("humanoid")))
    rig = bpy.data.objects["Rig"]
    heights = []
    for frame in each_frame():
        evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        heights.append(evaluated.pose.bones["Pelvis"].head.z)
        for side in "LR":
            shin = f"Shin.{side}"
            ankle = rig.data.bones[shin].tail_local
            assert (evaluated.pose.bones[shin].tail - ankle).length < 1e-3, (frame, side)
    assert max(heights) - min(heights) > 0.1


def test_spider_crosses_rocks_and_climbs_as_it_was_simulated() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("spider")))
    rig = bpy.data.objects["Rig"]
    assert rig.fabrik.simulation.state == "FRESH"
    backs = []
    for frame in each_frame():
        for item in rig.fabrik.constraints:
            assert (item.state, item.message) == ("REACHED", ""), (frame, item.name)
        backs.append(rig.pose.bones["Body"].head.copy())
    assert backs[-1].z > 1.2
    for a, b, c in zip(backs, backs[1:], backs[2:], strict=False):
        assert (a - 2.0 * b + c).length < 0.02


HANDED = (
    ("Cup", "Hand.R", 32, 61),
    ("Cup", "Hand.L", 61, 126),
    ("Cup", "Tray", 126, 180),
    ("Tray", "Hand.R", 145, 168),
)
"""What is held in the sample `cup`, by which bone or object, and the first and last frame."""


def place_of(name: str) -> Matrix:
    """Return where an object or a bone of the sample `cup` is shown, in world space."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    if name in bpy.data.objects:
        return bpy.data.objects[name].evaluated_get(depsgraph).matrix_world.copy()
    rig = bpy.data.objects["Rig"].evaluated_get(depsgraph)
    return rig.matrix_world @ rig.pose.bones[name].matrix


def test_a_cup_is_handed_over_and_carried_without_a_pop(capfd: pytest.CaptureFixture[str]) -> None:
    """In the space of its holder each thing stays, up to and at the frame when that changes."""
    bpy.ops.wm.open_mainfile(filepath=str(path_of("cup")))
    assert "cycle" not in "".join(capfd.readouterr()).lower()
    (held,) = [ob for ob in bpy.data.objects if ob.type == "ARMATURE" and ob.fabrik.holds]
    assert [hold.message for hold in held.fabrik.holds] == ["", ""]
    shown: dict[int, dict[str, Matrix]] = {}
    for frame in each_frame():
        for item in constraints():
            assert (item.state, item.message) == ("REACHED", ""), (frame, item.name)
        shown[frame] = {name: place_of(name) for name in ("Cup", "Tray", "Hand.L", "Hand.R")}
    for name, holder, first, last in HANDED:
        within = [shown[f][holder].inverted() @ shown[f][name] for f in range(first, last + 1)]
        for one in within:
            rows = zip(one, within[0], strict=True)
            assert max((a - b).length for a, b in rows) < 1e-5, name
    tray = {frame: placed["Tray"].translation for frame, placed in shown.items()}
    assert (tray[32] - tray[1]).length < 1e-5 and (tray[180] - tray[168]).length < 1e-5
    assert shown[92]["Cup"].translation.z > 1.55, "it is drunk from"
    assert (tray[180] - tray[1]).length > 0.15


def test_nothing_pops(loop: str) -> None:
    """Between frames no bone's end changes its speed by more than the targets' keys ask for."""
    jumps = changes_of_speed([*frames(), *frames()[:2]])
    worst = max(jumps, key=lambda place: jumps[place])
    assert jumps[worst] < 0.02, worst


def changes_of_speed(played: list[int]) -> dict[tuple[str, int], float]:
    """Return by how much the end of each bone changes its speed at each frame, in meters."""
    ends: dict[str, list[Vector]] = {}
    for frame in played:
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for rig in rigs():
            posed = rig.evaluated_get(depsgraph)
            for bone in posed.pose.bones:
                place = posed.matrix_world @ bone.tail
                ends.setdefault(f"{rig.name}: {bone.name}", []).append(place)
    return {
        (name, i): (places[i + 1] - 2.0 * places[i] + places[i - 1]).length
        for name, places in ends.items()
        for i in range(1, len(places) - 1)
    }


def with_and_without_ground() -> list[dict[tuple[str, int], float]]:
    """Return `changes_of_speed` with all feet on the ground, reached, and on their flat floor."""
    on = changes_of_speed(frames())
    assert {item.state for item in constraints()} == {"REACHED"}
    for item in constraints():
        item.ground.use = False
    return [on, changes_of_speed(frames())]


def test_walk_over_hills_is_at_most_twice_as_sudden_as_on_a_flat_floor() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("hills")))
    on, off = with_and_without_ground()
    hip = max(change for (name, _), change in on.items() if name == "Rig: Pelvis")
    assert hip < 0.02
    assert max(on.values()) < 2.0 * max(off.values())


def test_run_over_stairs_is_at_most_twice_as_sudden_as_on_a_flat_floor() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("stairs")))
    on, off = with_and_without_ground()
    for bone in ("Pelvis", "Thigh", "Shin", "Foot"):
        most = [
            max(change for (name, _), change in found.items() if bone in name)
            for found in (on, off)
        ]
        assert most[0] < 2.0 * most[1], bone


@pytest.mark.newest
def test_legs_run_over_stairs_without_a_jump_between_two_frames() -> None:
    """None is several times as fast for a moment as from frame to frame there: motion blur shows.

    A jump takes a 16th of a frame, in which a bone is up to 16 times as fast.
    """
    bpy.ops.wm.open_mainfile(filepath=str(path_of("stairs")))
    rig, parts = bpy.data.objects["Rig"], 16
    seen: dict[str, list[Vector]] = {
        f"{part}.{side}": [] for part in ("Thigh", "Shin", "Foot") for side in "LR"
    }
    for i in range(parts * (len(frames()) - 1) + 1):
        bpy.context.scene.frame_set(frames()[0] + i // parts, subframe=i % parts / parts)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        for bone, places in seen.items():
            places.append(posed[bone].head.copy())
    for bone, places in seen.items():
        whole = [(b - a).length for a, b in pairwise(places[::parts])]
        for i, way in enumerate((b - a).length for a, b in pairwise(places)):
            near = max(whole[max(0, i // parts - 1) : i // parts + 2])
            assert parts * way < 3.0 * near, (bone, frames()[0] + i / parts)


def balls_of_feet() -> dict[str, list[Vector]]:
    """Return where both feet of a figure have their balls at each frame."""
    rig = bpy.data.objects["Rig"]
    seen: dict[str, list[Vector]] = {"Toe.L": [], "Toe.R": []}
    for _frame in each_frame():
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        for bone, places in seen.items():
            places.append(posed[bone].head.copy())
    return seen


def test_feet_that_run_over_stairs_stand_still_and_not_within_them() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("stairs")))
    over = balls_of_feet()
    for item in constraints():
        item.ground.use = False
    flat = balls_of_feet()
    for bone, places in over.items():
        ball = bpy.data.objects["Rig"].data.bones[bone].head_local.z
        for place in places:
            start = Vector((place.x, place.y, 5.0))
            _, under, _, _ = bpy.data.objects["Stairs"].ray_cast(start, Vector((0.0, 0.0, -1.0)))
            assert place.z - under.z > ball - 0.004
        low = min(place.z for place in flat[bone]) + 0.006
        down = [max(a.z, b.z) < low for a, b in pairwise(flat[bone])]
        ways = [b - a for (a, b), one in zip(pairwise(places), down, strict=True) if one]
        slides = [way.length for way in ways]
        assert len(slides) > 25
        # Some of these frames are beside the contacts, in which it moves as animated.
        assert min(slides) < 1e-5
        assert median(slides) < 0.006
        # As the heel rises, the foot rolls on its sole: the joint above it goes ahead a little.
        # Over an edge it comes down more steeply, which is no slide.
        assert max(way.xy.length for way in ways) < 0.0145


def test_body_of_the_quadruped_is_of_one_piece() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("quadruped")))
    body = bpy.data.objects["Body"]
    carried = {group.name for group in body.vertex_groups}
    assert carried >= {"Hips", "Loin", "Back", "Chest", "Neck", "Head"}
    beside: dict[int, list[int]] = {}
    for edge in body.data.edges:
        a, b = edge.vertices
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    seen, ahead = {0}, [0]
    while ahead:
        found = [other for other in beside[ahead.pop()] if other not in seen]
        seen.update(found)
        ahead += found
    assert len(seen) == len(body.data.vertices) > 1000


def test_quadruped_walks_over_bumps_as_it_was_simulated() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path_of("quadruped")))
    rig = bpy.data.objects["Rig"]
    assert rig.fabrik.simulation.state == "FRESH"
    assert {item.name for item in rig.fabrik.constraints} == {
        "Paw.F.L",
        "Paw.F.R",
        "Paw.H.L",
        "Paw.H.R",
    }
    twists = []
    for frame in each_frame():
        for item in rig.fabrik.constraints:
            assert (item.state, item.message) == ("REACHED", ""), (frame, item.name)
        shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        hips, chest = (shown[name].x_axis for name in ("Hips", "Chest"))
        twists.append(abs(hips.angle(chest)))
    assert max(twists) > 0.05
    jumps = changes_of_speed(frames())
    worst = max(jumps, key=lambda place: jumps[place])
    assert jumps[worst] < 0.15, worst


def test_heads_and_eyes_of_samples_turn_as_far_as_added_ones() -> None:
    from addon.body.looking import body_of
    from addon.features.look_at.adding import natural_limit

    bpy.ops.wm.open_mainfile(filepath=str(path_of("look")))
    (rig,) = rigs()
    for item in rig.fabrik.constraints:
        wanted = natural_limit(body_of(rig), item.bone)
        assert item.look.limit_angle == pytest.approx(wanted), item.bone
