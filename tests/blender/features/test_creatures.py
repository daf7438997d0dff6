"""Walks of ordinary creatures: legs found by themselves, however straight they rest."""

import math
from itertools import pairwise

import bpy
import pytest
import rigs
from characters import ANIMALS, make_animal
from creatures import FEET, make_quadruped
from mathutils import Matrix, Vector
from operating import refuses
from shapes import make_terrain
from spiders import key_body, make_floor, make_spider, select

pytestmark = pytest.mark.newest


def on_floor(*bones: int, **settings: float) -> bpy.types.Object:
    rig = make_quadruped(*bones, **settings)
    make_floor()
    return rig


def walk(rig: bpy.types.Object, speed: float, frames: int = 60) -> bpy.types.PropertyGroup:
    """Let it walk straight ahead, by so many meters a frame, with one click on Add Walk."""
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, frames
    key_body(rig, {1: (0, 0, 0), frames: (0, -speed * (frames - 1), 0)})
    rigs.make_linear(rig)
    rigs.activate(rig)
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    return rig.fabrik.gaits[0]


def simulate() -> None:
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def falls_of(rig: bpy.types.Object):
    from addon.features.gait.sampling import stored_walk
    from addon.features.simulation import history

    return stored_walk(history.data(rig, "fabrik.gaits[0]").blob)[0].falls


def said(rig: bpy.types.Object) -> str:
    from addon.features.gait.message import status_message

    rigs.update()
    return status_message(rig, 0)


def joints_of(rig: bpy.types.Object, bones: int, foot: str) -> list[Vector]:
    legs = [f"Leg {i}{foot[3:]}" for i in range(bones)]
    return [rigs.tip_world(rig, name, use_tail=False) for name in (*legs, foot)]


def bends(joints: list[Vector]) -> list[float]:
    return [
        (a - b).angle(c - b, math.pi)
        for a, b, c in zip(joints, joints[1:], joints[2:], strict=False)
    ]


def test_one_click_finds_the_legs_of_a_quadruped() -> None:
    rig = on_floor()
    gait = walk(rig, 0.04)
    assert gait.body == "Hips"
    assert {leg.constraint for leg in gait.legs} == set(FEET)
    for item in rig.fabrik.constraints:
        assert (item.bone, item.chain_count, item.use_tail) == (item.name, 3, False)
        assert item.use_rotation
        assert item.error < 1e-5
    assert [leg.height for leg in gait.legs] == pytest.approx([0.06] * 4)
    simulate()
    assert said(rig) == ""


@pytest.mark.parametrize("bones", [2, 3, 4, 5])
@pytest.mark.parametrize("extension", [0.8, 0.95, 0.999])
def test_feet_lift_and_stand_and_knees_do_not_pop(extension: float, bones: int) -> None:
    rig = on_floor(bones, extension)
    frames, speed = 50, 0.05
    walk(rig, speed, frames)
    simulate()
    falls = dict(
        zip([leg.constraint for leg in rig.fabrik.gaits[0].legs], falls_of(rig), strict=True)
    )
    size = sum(rig.data.bones[f"Leg {i}.F.L"].length for i in range(bones))
    paths: dict[str, list[Vector]] = {name: [] for name in FEET}
    knees: dict[str, list[list[float]]] = {name: [] for name in FEET}
    for frame in range(1, frames + 1):
        rigs.go(frame)
        for name in FEET:
            joints = joints_of(rig, bones, name)
            paths[name].append(joints[-1])
            knees[name].append(bends(joints))
    for name in FEET:
        assert len(falls[name]) >= 4
        for before, fall in pairwise(falls[name]):
            stood = paths[name][max(0, math.ceil(before.land) - 1) : math.floor(fall.lift)]
            assert max((place - stood[0]).length for place in stood) <= 1e-4 * size
            assert stood[0].z == pytest.approx(0.06, abs=1e-4)
            swung = paths[name][math.ceil(fall.lift) - 1 : math.floor(min(fall.land, frames))]
            if fall.land <= frames:
                assert max(place.z for place in swung) - 0.06 >= 0.9 * 0.15 * size
        for a, b, c in zip(knees[name], knees[name][1:], knees[name][2:], strict=False):
            for i in range(bones - 1):
                assert abs(a[i] - 2 * b[i] + c[i]) <= math.radians(60.0)


def test_tail_and_head_stay_alive() -> None:
    """They are carried along, keep their own animation, and can be led by other constraints."""
    rig = on_floor(extension=0.99)
    for name in ("Tail 2", "Head"):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        rigs.key(bone, "rotation_euler", {1: -0.4, 20: 0.4, 40: -0.4}, 0)
    walk(rig, 0.03, 40)
    simulate()
    sunk = 1.1 - rigs.tip_world(rig, "Hips", use_tail=False).z
    assert sunk > 0.03
    for frame in (1, 20):
        rigs.go(frame)
        shown = rigs.shown_bones(rig)
        assert shown["Head"].rotation_euler.x == pytest.approx(0.4 if frame == 20 else -0.4)
        tail, hips = shown["Tail 1"], shown["Hips"]
        assert (tail.head - hips.head).length == pytest.approx(0.05, abs=1e-5)
    item = rig.fabrik.constraints.add()
    item.name, item.bone, item.chain_count, item.solver = "Tail", "Tail 3", 3, "FOLLOW"
    item.target = rigs.link(bpy.data.objects.new("Carrot", None))
    simulate()
    assert said(rig) == ""
    played = {}
    for frame in range(1, 41):
        rigs.go(frame)
        played[frame] = rigs.pose_bits(rig)
    for frame in (30, 4, 17):
        rigs.go(frame)
        assert rigs.pose_bits(rig) == played[frame]
    assert item.state != "INVALID"


def test_bones_that_are_selected_are_legs_up_to_where_they_branch() -> None:
    rig = on_floor()
    select(rig, [f"Leg 2{foot[3:]}" for foot in FEET])
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert rig.fabrik.gaits[0].body == "Hips"
    assert {item.chain_count for item in rig.fabrik.constraints} == {3}


def warnings(capfd: pytest.CaptureFixture[str], call) -> str:
    capfd.readouterr()
    assert call() == {"FINISHED"}
    return capfd.readouterr().out


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("name", ANIMALS)
def test_animals_walk_on_all_their_legs(capfd, name: str, is_named: bool) -> None:
    rig = make_animal(name, is_named)
    joints, ends = ANIMALS[name]
    make_floor()
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    said = capfd.readouterr().out
    assert "Only" not in said and "no hand or foot" not in said
    legs = [rig.fabrik.constraints[leg.constraint].bone for leg in rig.fabrik.gaits[0].legs]
    names = [joint for joint, *_ in joints]
    if not is_named:
        legs = [names[int(leg[5:])] for leg in legs]
    assert {leg[:-2] for leg in legs} == {end for end, kind in ends.items() if kind == "LEG"}
    assert len(legs) == 2 * [*ends.values()].count("LEG")


def test_what_stands_beside_recognized_legs_is_said(capfd) -> None:
    """Forelegs without names; one has lost most of its bones."""
    rig = make_quadruped()
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    for name in ("Toe.F.R", "Paw.F.R", "Leg 2.F.R", "Leg 1.F.R"):
        bones.remove(bones[name])
    for name in ("Leg 0.F.L", "Leg 1.F.L", "Leg 2.F.L", "Paw.F.L", "Toe.F.L", "Leg 0.F.R"):
        bones[name].name = name.replace(".", "")
    bpy.ops.object.mode_set(mode="OBJECT")
    make_floor()
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert {leg.constraint for leg in rig.fabrik.gaits[0].legs} == {"Paw.H.L", "Paw.H.R"}
    assert "Legs that walk: 2. Also on the ground: “ToeFL”" in capfd.readouterr().out


def test_what_keeps_legs_from_walking_is_said_at_once(capfd) -> None:
    rig = on_floor()
    copy = rig.pose.bones["Leg 0.F.L"].constraints.new("COPY_ROTATION")
    copy.target, copy.subtarget = rig, "Head"
    rigs.activate(rig)
    assert "of “Leg 0.F.L” applies after the solver" in warnings(capfd, bpy.ops.fabrik.gait_add)
    assert "of “Leg 0.F.L” applies after the solver" in warnings(capfd, bpy.ops.fabrik.simulate)


def lead(rig: bpy.types.Object) -> bpy.types.Constraint:
    """Let another bone pose one in the middle of a leg."""
    con = rig.pose.bones["Leg 1.F.L"].constraints.new("COPY_TRANSFORMS")
    con.target, con.subtarget = rig, "Leg 1.H.R"
    rigs.update()
    return con


def test_legs_that_something_else_poses_are_refused() -> None:
    rig = on_floor()
    con = lead(rig)
    rigs.activate(rig)
    refuses(bpy.ops.fabrik.gait_add, f"“Leg 1.F.L” is posed by its constraint “{con.name}”")
    assert not rig.fabrik.constraints and not rig.fabrik.gaits
    con.mute = True
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}


def test_a_leg_that_something_else_poses_later_is_invalid() -> None:
    rig = on_floor()
    walk(rig, 0.03, 10)
    item = rig.fabrik.constraints["Paw.F.L"]
    con = lead(rig)
    assert item.state == "INVALID"
    assert f"constraint “{con.name}”" in item.message
    assert "“Leg 1.F.L” is posed by its constraint" in said(rig)
    con.influence = 0.5
    rigs.update()
    assert item.state != "INVALID" and "applies after the solver" in item.message
    rigs.key(con, "influence", {1: 1.0})
    rigs.update()
    assert item.state != "INVALID" and "applies after the solver" in item.message
    con.driver_remove("influence")
    rig.animation_data_clear()
    rigs.update()
    assert item.state == "INVALID"
    con.mute = True
    rigs.update()
    assert item.state != "INVALID" and "constraint" not in item.message


def test_simulate_says_which_constraints_are_invalid(capfd) -> None:
    rig = on_floor()
    walk(rig, 0.03, 10)
    item = rig.fabrik.constraints.add()
    item.name, item.bone = "Nothing", "Tail 3"
    out = warnings(capfd, bpy.ops.fabrik.simulate)
    assert "“Nothing”: No target" in out


def test_legs_without_reach_to_step_with_are_named(capfd) -> None:
    rig = on_floor(extension=0.99)
    gait = walk(rig, 0.03, 20)
    gait.body = ""
    out = warnings(capfd, bpy.ops.fabrik.simulate)
    assert "Fully stretched in the rest pose, so no step is within reach" in out
    assert "Fully stretched in the rest pose" in said(rig)
    gait.body = "Hips"
    assert "stretched" not in warnings(capfd, bpy.ops.fabrik.simulate)


def test_a_body_too_fast_for_its_legs_is_said(capfd) -> None:
    rig = on_floor()
    gait = walk(rig, 0.4, 20)
    gait.pattern = "WAVE"
    assert "Steps of less than two frames" in warnings(capfd, bpy.ops.fabrik.simulate)
    assert "Slow the body down" in said(rig)


def test_legs_that_are_no_animals_have_to_be_selected() -> None:
    """Two pairs that arch sideways may be anything, unless they're called legs."""
    rig = make_spider(4)
    names = [bone.name for bone in rig.data.bones]
    for i, name in enumerate(names):
        rig.data.bones[name].name = f"Bone.{i:03}"
    rigs.activate(rig)
    refuses(bpy.ops.fabrik.gait_add, "select the last bones of at least two legs")
    for i, name in enumerate(names):
        rig.data.bones[f"Bone.{i:03}"].name = name
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    bones = {(item.bone, item.use_tail, item.chain_count) for item in rig.fabrik.constraints}
    assert bones == {(f"Leg2.{row}.{side}", True, 3) for row in (0, 1) for side in "LR"}


def test_evaluated_body_sinks_no_more_than_the_legs_ask_for() -> None:
    rig = on_floor(extension=0.999)
    walk(rig, 0.02, 20)
    simulate()
    rigs.go(15)
    hips = rigs.evaluated(rig).pose.bones["Hips"].head.z
    assert 0.9 < hips < 1.06


TO_X = Matrix.Rotation(0.5 * math.pi, 4, "Z")
"""Turns what faces −Y so that it faces +X."""

TO_Y_UP = Matrix.Rotation(-0.5 * math.pi, 4, "X")
"""Turns what has Z up so that it has Y up, as importers leave it; then −Y is where Z was."""


@pytest.mark.parametrize(
    ("rest", "placed", "front", "up"),
    [
        (Matrix(), Matrix(), "NEGATIVE_Y", "Z"),
        (TO_X, Matrix(), "X", "Z"),
        (Matrix(), TO_X, "NEGATIVE_Y", "Z"),
        (TO_X, TO_X, "X", "Z"),
        (TO_Y_UP, TO_Y_UP.inverted(), "Z", "Y"),
        (TO_Y_UP @ TO_X, TO_X @ TO_Y_UP.inverted(), "X", "Y"),
    ],
    ids=["as_blender", "to_x", "turned_object", "both", "y_up", "y_up_to_x"],
)
@pytest.mark.parametrize("is_selected", [False, True], ids=["found", "selected"])
def test_legs_step_from_back_to_front_wherever_it_faces(
    rest: Matrix, placed: Matrix, front: str, up: str, is_selected: bool
) -> None:
    from addon.features.gait.gait_plan import plans_of

    rig = make_quadruped()
    rig.data.transform(rest)
    rig.matrix_world = placed
    make_floor()
    rigs.update()
    if is_selected:
        select(rig, list(FEET))
    else:
        rigs.activate(rig)
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    gait = rig.fabrik.gaits[0]
    assert (gait.front_axis, gait.up_axis) == (front, up)
    gait.pattern = "WAVE"
    rigs.update()
    groups = dict(zip([leg.constraint for leg in gait.legs], plans_of(rig)[0].groups, strict=True))
    assert sorted(FEET, key=lambda foot: groups[foot]) == [
        "Paw.H.L",
        "Paw.F.L",
        "Paw.H.R",
        "Paw.F.R",
    ]


def test_a_front_that_is_up_is_said() -> None:
    rig = on_floor()
    gait = walk(rig, 0.03, 10)
    gait.front_axis = "NEGATIVE_Z"
    assert "choose another Front" in said(rig)
    gait.front_axis = "X"
    assert "Front" not in said(rig)


def add_strip(ob: bpy.types.Object) -> None:
    action = bpy.data.actions.new("Strip")
    data = ob.animation_data_create()
    data.nla_tracks.new().strips.new("Strip", 1, action)


@pytest.mark.parametrize("of", ["target", "body"])
def test_a_bake_under_nla_strips_is_refused_and_changes_nothing(of: str) -> None:
    rig = on_floor()
    walk(rig, 0.03, 20)
    simulate()
    ob = rig if of == "body" else rig.fabrik.constraints["Paw.F.L"].target
    add_strip(ob)
    simulate()
    rigs.go(7)
    before = rigs.pose_bits(rig)
    refuses(bpy.ops.fabrik.gait_bake, f"“{ob.name}” has NLA strips")
    rigs.go(7)
    assert rigs.pose_bits(rig) == before
    assert rig.fabrik.gaits[0].enabled
    ob.animation_data.nla_tracks[0].mute = True
    simulate()
    assert bpy.ops.fabrik.gait_bake() == {"FINISHED"}


def twisted_ground() -> bpy.types.Object:
    """Ground that slopes to the one side before its middle, and to the other behind it."""
    xs, ys = [0.1 * i for i in range(-10, 11)], [0.1 * j for j in range(-30, 31)]
    return make_terrain("Twisted", xs, ys, lambda x, y: 0.4 * x * max(-1.0, min(1.0, y)))


RIGHT, AHEAD = Vector((-1, 0, 0)), Vector((0, -1, 0))


def risen(rig: bpy.types.Object, way: Vector) -> dict[str, float]:
    """By which angle bones of the spine raise what points right or ahead at rest, in degrees."""
    found = {}
    for name in ("Hips", "Loin", "Back", "Chest"):
        turned = rigs.shown_bones(rig)[name].matrix.to_3x3()
        raised = turned @ rig.data.bones[name].matrix_local.to_3x3().inverted() @ way
        found[name] = math.degrees(math.asin(raised.z))
    return found


def twisting(rig: bpy.types.Object, ground: bpy.types.Object) -> None:
    """Let a quadruped walk slowly over twisted ground."""
    gait = walk(rig, 0.008, 40)
    gait.source, gait.ground = "OBJECT", ground
    simulate()
    assert said(rig) == ""


def test_hips_and_chest_lie_on_their_own_feet_with_the_spine_between() -> None:
    rig = make_quadruped()
    twisting(rig, twisted_ground())
    rigs.go(1)
    rolled = risen(rig, RIGHT)
    # The front is at −Y, and the right side at −X: before the middle it is the higher one.
    assert rolled["Chest"] > 3.0
    assert rolled["Hips"] < -3.0
    lengths = {name: rig.data.bones[name].length for name in rolled}
    twist = rolled["Chest"] - rolled["Hips"]
    share = 0.0
    for name in ("Loin", "Back", "Chest"):
        share += lengths[name] / sum(lengths[n] for n in ("Loin", "Back", "Chest"))
        assert rolled[name] - rolled["Hips"] == pytest.approx(share * twist, abs=0.4)
    for frame in range(1, 41):
        rigs.go(frame)
        assert {item.state for item in rig.fabrik.constraints} == {"REACHED"}, frame


def curved_ground(bend: float, slope: float) -> bpy.types.Object:
    """Ground that is a crest (a negative bend) or a hollow across the way, on a slope."""
    xs, ys = [0.5 * i for i in range(-4, 5)], [0.05 * j for j in range(-60, 61)]
    return make_terrain("Curved", xs, ys, lambda _, y: 0.5 * bend * y * y - slope * y)


@pytest.mark.parametrize("slope", [0.0, 0.2])
@pytest.mark.parametrize("bend", [-0.3, 0.3])
def test_hips_and_chest_pitch_with_their_own_ground_and_the_spine_bends_between(
    bend: float, slope: float
) -> None:
    rig = make_quadruped()
    gait = walk(rig, 0.008, 40)
    gait.source, gait.ground = "OBJECT", curved_ground(bend, slope)
    simulate()
    rigs.go(1)
    pitched = risen(rig, AHEAD)
    # The feet are half a meter before and behind the middle, and the front is at −Y.
    for name, y in (("Hips", 0.5), ("Chest", -0.5)):
        ground = math.degrees(math.atan(slope - bend * y))
        assert pitched[name] == pytest.approx(ground, abs=5.0)
    bent = pitched["Chest"] - pitched["Hips"]
    assert abs(bent) > 12.0
    share, lengths = 0.0, {name: rig.data.bones[name].length for name in pitched}
    for name in ("Loin", "Back", "Chest"):
        share += lengths[name] / sum(lengths[n] for n in ("Loin", "Back", "Chest"))
        assert pitched[name] - pitched["Hips"] == pytest.approx(share * bent, abs=0.6)
    # Both girdles are as high above their feet as at rest.
    feet = {row: rigs.tip_world(rig, f"Paw.{row}.L", use_tail=False) for row in "FH"}
    shown = rigs.shown_bones(rig)
    for row, name in (("F", "Leg 0.F.L"), ("H", "Leg 0.H.L")):
        assert shown[name].head.z - feet[row].z == pytest.approx(1.0 - 0.06, abs=0.08)
    before: dict[str, float] = {}
    for frame in range(1, 41):
        rigs.go(frame)
        assert {item.state for item in rig.fabrik.constraints} == {"REACHED"}, frame
        now = risen(rig, AHEAD)
        assert all(abs(now[name] - angle) < 1.0 for name, angle in before.items()), frame
        before = now


def test_a_spine_on_even_ground_is_as_it_was_animated() -> None:
    rig = on_floor()
    walk(rig, 0.03, 20)
    simulate()
    for frame in (1, 7, 13, 20):
        rigs.go(frame)
        for name in ("Loin", "Back", "Chest"):
            matrix = rigs.shown_bones(rig)[name].matrix_basis
            assert max(abs(x) for row in matrix - Matrix() for x in row) < 1e-5


def test_a_spine_that_branches_does_not_bend() -> None:
    rig = make_quadruped()
    rigs.activate(rig, "EDIT")
    rig.data.edit_bones["Chest"].parent = rig.data.edit_bones["Hips"]
    chest = rig.data.edit_bones["Chest"]
    front = rig.data.edit_bones.new("Other")
    front.head, front.tail, front.parent = chest.head, chest.tail, rig.data.edit_bones["Hips"]
    for name in ("Leg 0.H.L", "Leg 0.H.R"):
        rig.data.edit_bones[name].parent = front
    bpy.ops.object.mode_set(mode="OBJECT")
    from addon.features.gait.gait_plan import plans_of

    make_floor()
    walk(rig, 0.03, 20)
    assert plans_of(rig)[0].spine == {}
    assert {leg.spine for leg in plans_of(rig)[0].legs} == {0.0}


def test_bake_keys_the_spine_too() -> None:
    rig = make_quadruped()
    twisting(rig, twisted_ground())
    seen = {}
    for frame in (1, 20, 40):
        rigs.go(frame)
        seen[frame] = risen(rig, RIGHT)
    assert bpy.ops.fabrik.gait_bake() == {"FINISHED"}
    for frame, rolled in seen.items():
        rigs.go(frame)
        assert risen(rig, RIGHT) == pytest.approx(rolled, abs=0.2)


def bumpy_ground() -> bpy.types.Object:
    """Ground with bumps as high as a tenth of a leg."""

    def height(x: float, y: float) -> float:
        return 0.05 * math.sin(2.1 * y + x) + 0.03 * math.sin(3.3 * y - 1.9 * x)

    xs, ys = [0.1 * i for i in range(-15, 16)], [0.1 * j for j in range(-60, 31)]
    return make_terrain("Bumps", xs, ys, height)


@pytest.mark.parametrize("speed", [0.015, 0.03])
@pytest.mark.parametrize("extension", [0.8, 0.95, 0.999])
def test_steps_over_bumps_take_their_time(extension: float, speed: float) -> None:
    """A body that has yet to sink hurries no step, and every foot finds ground."""
    rig = make_quadruped(extension=extension)
    gait = walk(rig, speed, 100)
    gait.source, gait.ground = "OBJECT", bumpy_ground()
    simulate()
    assert said(rig) == ""
    for falls in falls_of(rig):
        assert len(falls) >= 4
        for fall in falls[1:]:
            assert fall.has_ground
            assert fall.land - fall.lift >= 0.9 * gait.duration


def test_constraints_without_a_name_are_legs() -> None:
    """A script may leave out the names, by which legs find their constraints."""
    rig = on_floor()
    targets = [
        rigs.make_empty("Target", rigs.tip_world(rig, foot, use_tail=False)) for foot in FEET
    ]
    for foot, target in zip(FEET, targets, strict=True):
        rigs.add_constraint(rig, foot, target, chain_count=3, use_tail=False)
    rigs.activate(rig)
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    items, legs = rig.fabrik.constraints, rig.fabrik.gaits[0].legs
    assert sorted(items[leg.constraint].bone for leg in legs) == sorted(FEET)
    assert len(items) == 4
    bpy.context.scene.frame_end = 20
    key_body(rig, {1: (0, 0, 0), 20: (0, -1, 0)})
    rigs.go(1)
    simulate()
    assert said(rig) == ""


@pytest.mark.parametrize("ways", [(4.2, 0, 0), (-2.2, -2.2, 0)], ids=str)
def test_legs_do_not_cross_to_the_side(ways: tuple[float, float, float]) -> None:
    """A body that its animation does not turn along its way steps to the side."""
    rig = on_floor()
    bpy.context.scene.frame_end = 90
    key_body(rig, {1: (0, 0, 0), 90: ways})
    rigs.make_linear(rig)
    rigs.activate(rig)
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    simulate()
    gaps: list[float] = []
    for frame in range(1, 91):
        rigs.go(frame)
        assert {item.state for item in rig.fabrik.constraints} == {"REACHED"}
        seen = rig.matrix_world.inverted()
        x = {foot: (seen @ rigs.tip_world(rig, foot, use_tail=False)).x for foot in FEET}
        gaps += [x[f"Paw.{row}.L"] - x[f"Paw.{row}.R"] for row in "FH"]
    assert min(gaps) > 0.2 * 0.32
