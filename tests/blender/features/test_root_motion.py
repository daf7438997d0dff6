"""Cycles in place travel so that their feet do not slide, and travel is extracted again."""

from collections.abc import Callable
from itertools import pairwise
from math import degrees, dist, hypot, pi, radians, sin
from typing import Any

import bpy
import pytest
from captures import imported
from mathutils import Matrix, Quaternion, Vector
from operating import enter_pose_mode, refuses
from rigs import activate, add_constraint, curves, evaluated, go, make_armature, make_empty

from addon.blender.animation import use_action
from addon.features.root_motion import root_motion as module
from addon.features.root_motion.body import traveler_of
from fabrik_solver.motion.planar import Planar
from fabrik_solver.motion.travel import Steps, travel_of

pytestmark = pytest.mark.newest

FIRST, LAST = 1, 25
CYCLE = LAST - FIRST
STANCE = 0.6
STRIDE = 0.9
"""Meters that the body would go in one cycle."""

ANKLE = 0.09
KNEE = (-0.02, 0.53)
HIPS = 0.94
TOE = -0.16
THIGH, SHIN = dist((0.0, HIPS), KNEE), dist(KNEE, (0.0, ANKLE))

BONES = {
    "root": ((0, 0, 0), ""),
    "hips": ((0, 0, 1.0), "root"),
    "spine": ((0, 0, 1.15), "hips"),
    "head": ((0, 0, 1.5), "spine"),
    **{
        f"{name}.{side}": ((x, *place), f"{parent}.{side}" if parent != "hips" else parent)
        for side, x in (("L", 0.1), ("R", -0.1))
        for name, place, parent in (
            ("thigh", (0.0, HIPS), "hips"),
            ("shin", KNEE, "thigh"),
            ("foot", (0.0, ANKLE), "shin"),
            ("toe", (TOE, 0.02), "foot"),
        )
    },
}
"""Joints, facing −Y with Z up; tails are where importers of glTF files put them: up, all alike."""

Place = Callable[[float], tuple[float, float, float]]
"""Where a foot is from its home at a share of its cycle: to the left, ahead and about Z."""


def ahead(u: float) -> tuple[float, float, float]:
    return (0.0, STRIDE * (0.5 * STANCE - u), 0.0)


def aside(u: float) -> tuple[float, float, float]:
    return (0.2 * ahead(u)[1], -0.3 * ahead(u)[1], 0.0)


def about(u: float) -> tuple[float, float, float]:
    """A turn by 60 degrees to the left in a cycle."""
    return (0.0, 0.0, radians(60.0) * (0.5 * STANCE - u))


def make_cycle(
    place: Place = ahead, size: float = 1.0, is_y_up: bool = False, root: str = "root"
) -> bpy.types.Object:
    """Make a biped that steps on the spot, keyed on each frame; the last is the first again."""
    turn = Quaternion((1, 0, 0), -pi / 2) if is_y_up else Quaternion()
    up = turn @ Vector((0, 0, 1))
    bones = {}
    for name, (head, parent) in BONES.items():
        if name == "root" and root != "root":
            continue
        at = turn @ Vector(head) * size
        bones[name] = (
            at,
            at + up * 0.1 * size,
            "" if parent != root and parent == "root" else parent,
        )
    rig = make_armature(bones, "Walker")
    if is_y_up:
        rig.rotation_euler.x = pi / 2
    for frame in range(FIRST, LAST + 1):
        pose = posed(place, (frame - FIRST) / CYCLE)
        whole: dict[str, Matrix] = {}
        for bone in rig.data.bones:
            change = pose.get(bone.name)
            parent = bone.parent
            if change is None:
                above = whole[parent.name] @ parent.matrix_local.inverted() if parent else Matrix()
                whole[bone.name] = above @ bone.matrix_local
                continue
            head, rotation = change
            rotation = turn @ rotation @ turn.inverted()
            matrix = (rotation.to_matrix() @ bone.matrix_local.to_3x3()).to_4x4()
            matrix.translation = turn @ head * size
            whole[bone.name] = matrix
            above = {}
            if parent:
                above = {
                    "parent_matrix": whole[parent.name],
                    "parent_matrix_local": parent.matrix_local,
                }
            own = rig.pose.bones[bone.name]
            own.matrix_basis = bone.convert_local_to_pose(
                matrix, bone.matrix_local, invert=True, **above
            )
            own.keyframe_insert("rotation_quaternion", frame=frame, group=bone.name)
            if bone.name == "hips":
                own.keyframe_insert("location", frame=frame, group=bone.name)
    return rig


def posed(place: Place, time: float) -> dict[str, tuple[Vector, Quaternion]]:
    """Return where bones begin, and how they are turned out of their rest, with Z up."""
    sway = Vector((0.03 * sin(2 * pi * time), 0.0, 0.01 * sin(4 * pi * time) - 0.05))
    found = {"hips": (Vector(BONES["hips"][0]) + sway, Quaternion())}
    for side, x, late in (("L", 0.1, 0.0), ("R", -0.1, 0.5)):
        u = (time - late) % 1.0
        lift = 0.0
        left, front, angle = place(u)
        if u > STANCE:
            s = (u - STANCE) / (1.0 - STANCE)
            share = s * s * (3.0 - 2.0 * s)
            a, b = place(STANCE), place(0.0)
            left, front, angle = (p + (q - p) * share for p, q in zip(a, b, strict=True))
            lift = 0.1 * sin(pi * s)
        turned = Quaternion((0, 0, 1), angle)
        ankle = turned @ Vector((x, 0, 0)) + Vector((left, -front, ANKLE + lift))
        hip = Vector(BONES[f"thigh.{side}"][0]) + sway
        way = ankle - hip
        assert way.length < THIGH + SHIN
        bend = Vector((0, -1, 0))
        bend = (bend - way.normalized() * bend.dot(way.normalized())).normalized()
        high = (THIGH**2 - SHIN**2 + way.length_squared) / (2 * way.length)
        knee = hip + way.normalized() * high + bend * (THIGH**2 - high**2) ** 0.5
        for name, start, end, after in (
            ("thigh", hip, knee, "shin"),
            ("shin", knee, ankle, "foot"),
        ):
            rest = Vector(BONES[f"{after}.{side}"][0]) - Vector(BONES[f"{name}.{side}"][0])
            found[f"{name}.{side}"] = (start, rest.rotation_difference(end - start))
        found[f"foot.{side}"] = (ankle, turned)
    return found


def played(rig: bpy.types.Object, frames: range, bone: str) -> list[Vector]:
    found = []
    for frame in frames:
        go(frame)
        shown = evaluated(rig)
        found.append((shown.matrix_world @ shown.pose.bones[bone].matrix).translation)
    return found


def slide(rig: bpy.types.Object, frames: range = range(FIRST, LAST + 1)) -> float:
    """How far a foot's toe joint slides while it stands, at most."""
    worst = 0.0
    for side, late in (("L", 0.0), ("R", 0.5)):
        stances: dict[float, list[Vector]] = {}
        for frame, place in zip(frames, played(rig, frames, f"toe.{side}"), strict=True):
            step, u = divmod((frame - FIRST) / CYCLE - late + 1e-9, 1.0)
            if u <= STANCE:
                stances.setdefault(step, []).append(place)
        worst = max(worst, *(dist(a, b) for one in stances.values() for a in one for b in one))
    return worst


def everything(rig: bpy.types.Object) -> dict[tuple[str, int], list[tuple[float, float]]]:
    return {
        (curve.data_path, curve.array_index): [tuple(key.co) for key in curve.keyframe_points]
        for curve in curves(rig)
    }


def add(rig: bpy.types.Object, **options: object) -> set[str]:
    activate(rig)
    return bpy.ops.fabrik.root_motion_add(**options)


def extract(rig: bpy.types.Object, **options: object) -> set[str]:
    activate(rig)
    return bpy.ops.fabrik.root_motion_extract(**options)


@pytest.mark.parametrize("onto", ["ROOT", "OBJECT"])
@pytest.mark.parametrize(
    ("place", "gone"), [(ahead, (0, -STRIDE, 0)), (aside, (0.2 * STRIDE, 0.3 * STRIDE, 0))]
)
def test_feet_stand_and_the_body_travels(onto: str, place: Place, gone: tuple[float, ...]) -> None:
    rig = make_cycle(place)
    assert slide(rig) > 0.1
    assert add(rig, onto=onto) == {"FINISHED"}
    start, end = (played(rig, range(f, f + 1), "hips")[0] for f in (FIRST, LAST))
    assert (end - start - Vector(gone)).length < 0.01
    assert slide(rig) < 0.005
    path = "location" if onto == "OBJECT" else 'pose.bones["root"].location'
    assert path in {curve.data_path for curve in curves(rig)}


def test_feet_without_toes_have_soles_on_the_floor_of_the_origin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without = {name: given for name, given in BONES.items() if not name.startswith("toe")}
    monkeypatch.setitem(globals(), "BONES", without)
    rig = make_cycle(ahead)
    for (bone, heel), (_, ball), _ in traveler_of(rig).feet:
        foot = rig.data.bones[bone].matrix_local
        assert abs((foot @ heel).z) < 1e-6
        assert abs((foot @ ball).z) < 1e-6
        assert (ball - heel).length > ANKLE


@pytest.mark.parametrize("size", [0.01, 100.0])
@pytest.mark.parametrize("scale", [0.01, 3.0])
def test_units_make_no_difference(size: float, scale: float) -> None:
    rig = make_cycle(size=size)
    rig.scale = (scale, scale, scale)
    add(rig)
    start, end = (played(rig, range(f, f + 1), "hips")[0] for f in (FIRST, LAST))
    assert (end - start).length == pytest.approx(STRIDE * size * scale, rel=0.01)
    assert slide(rig) < 0.005 * size * scale


@pytest.mark.parametrize("onto", ["ROOT", "OBJECT"])
def test_y_may_be_up_and_the_object_anywhere(onto: str) -> None:
    rig = make_cycle(is_y_up=True)
    parent = make_empty("Parent", (3, 2, 1))
    parent.rotation_euler = (0, 0, 1.0)
    rig.parent = parent
    add(rig, onto=onto)
    assert slide(rig) < 0.005
    go(FIRST)
    start = played(rig, range(FIRST, LAST + 1), "hips")
    way = Quaternion((0, 0, 1), 1.0) @ Vector((0, -STRIDE, 0))
    assert (start[-1] - start[0] - way).length < 0.01


def test_hips_may_be_the_root() -> None:
    rig = make_cycle(root="hips")
    add(rig)
    assert slide(rig) < 0.005


def test_loop_goes_on() -> None:
    rig = make_cycle()
    add(rig)
    frames = range(FIRST, FIRST + 3 * CYCLE + 1)
    assert slide(rig, frames) < 0.005
    hips = played(rig, frames, "hips")
    assert (hips[-1] - hips[0]).length == pytest.approx(3 * STRIDE, rel=0.01)
    ways = [dist(a, b) for a, b in pairwise(hips)]
    assert max(abs(b - a) for a, b in pairwise(ways)) < 0.02
    rig = make_cycle()
    add(rig, use_cycles=False)
    assert not any(len(curve.modifiers) for curve in curves(rig))


def test_curves_of_another_rhythm_keep_time_in_a_loop() -> None:
    """A channel with keys in the first half only would repeat after that."""
    rig = make_cycle()
    head = rig.pose.bones["head"]
    for frame, value in ((FIRST, 0.0), (7, 0.2), (FIRST + CYCLE // 2, 0.0)):
        head.location = (value, 0, 0)
        head.keyframe_insert("location", frame=frame)

    def nods(first: int) -> list[float]:
        found = []
        for frame in range(first, first + CYCLE):
            go(frame)
            found.append(rig.pose.bones["head"].location.x)
        return found

    before = nods(FIRST)
    add(rig)
    assert nods(FIRST) == pytest.approx(before, abs=1e-5)
    assert nods(FIRST + CYCLE) == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize("onto", ["ROOT", "OBJECT"])
def test_turn_in_place_turns_the_root(onto: str) -> None:
    rig = make_cycle(about)
    add(rig, onto=onto)
    assert slide(rig) < 0.008
    shown = []
    for frame in (FIRST, LAST):
        go(frame)
        rig_shown = evaluated(rig)
        shown.append((rig_shown.matrix_world @ rig_shown.pose.bones["hips"].matrix).to_quaternion())
    turned = shown[1] @ shown[0].inverted()
    assert degrees(turned.angle) == pytest.approx(60.0, abs=4.0)
    assert turned.axis.z > 0.99


def test_once_more_finds_nothing_to_add() -> None:
    rig = make_cycle()
    add(rig)
    before = everything(rig)
    refuses(bpy.ops.fabrik.root_motion_add, "don't slide")
    assert everything(rig) == before


@pytest.mark.parametrize("onto", ["ROOT", "OBJECT"])
@pytest.mark.parametrize("place", [ahead, about])
def test_taking_it_out_again_gives_the_cycle_back(onto: str, place: Place) -> None:
    rig = make_cycle(place)
    bones = ("hips", "toe.L", "toe.R", "head")
    before = {bone: played(rig, range(FIRST, LAST + 1), bone) for bone in bones}
    add(rig, onto=onto)
    extract(rig, onto="NONE")
    for bone in bones:
        after = played(rig, range(FIRST, LAST + 1), bone)
        assert max(map(dist, before[bone], after)) < 1e-4
    assert slide(rig) > 0.1


def make_traveling(root: str = "root") -> bpy.types.Object:
    """A walk whose hips travel, as that of a capture."""
    rig = make_cycle(root=root)
    frames = range(FIRST, LAST + 1)
    hips = rig.pose.bones["hips"]
    for frame in frames:
        go(frame)
        hips.location.z = hips.location.z  # As it is keyed.
        world = hips.matrix.copy()
        world.translation.y -= STRIDE * (frame - FIRST) / CYCLE
        hips.matrix = world
        hips.keyframe_insert("location", frame=frame)
    return rig


@pytest.mark.parametrize("onto", ["ROOT", "OBJECT"])
def test_travel_moves_from_the_hips_and_nothing_else_does(onto: str) -> None:
    rig = make_traveling()
    assert slide(rig) < 0.001
    frames = range(FIRST, LAST + 1)
    before = {bone: played(rig, frames, bone) for bone in ("hips", "toe.L", "head")}
    extract(rig, onto=onto)
    for bone, places in before.items():
        assert max(map(dist, places, played(rig, frames, bone))) < 1e-4
    root = played(rig, frames, "root")
    for i, place in enumerate(root):  # Evenly, whatever the sway.
        assert (place - Vector((0, -STRIDE * i / CYCLE, 0))).length < 1e-3
    assert slide(rig, range(FIRST, FIRST + 2 * CYCLE + 1)) < 0.001  # It loops on.


def test_a_pelvis_that_carries_nothing_but_legs_travels_with_the_body() -> None:
    rig = make_traveling(root="hips")
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    pelvis = bones.new("pelvis")
    pelvis.parent = bones["hips"]
    pelvis.head, pelvis.tail = pelvis.parent.head, pelvis.parent.tail
    for side in "LR":
        bones[f"thigh.{side}"].parent = pelvis
    bpy.ops.object.mode_set(mode="OBJECT")
    keyed = {path for path, _ in everything(rig)}
    with pytest.raises(RuntimeError, match="“hips” has no parent to key"):
        extract(rig, onto="ROOT")
    extract(rig, onto="NONE")
    assert {path for path, _ in everything(rig)} == keyed
    still = played(rig, range(FIRST, LAST + 1), "head")
    assert (still[-1] - still[0]).length < 1e-4


def test_on_the_spot_a_walk_stays_a_loop_and_its_feet_bring_the_travel_back() -> None:
    rig = make_traveling()
    before = played(rig, range(FIRST, LAST + 1), "hips")
    extract(rig, onto="NONE")
    still = played(rig, range(FIRST, LAST + 1), "hips")
    assert (still[-1] - still[0]).length < 1e-4
    assert max(place.x for place in still) - min(place.x for place in still) > 0.05  # The sway.
    add(rig)
    after = played(rig, range(FIRST, LAST + 1), "hips")
    assert max(map(dist, before, after)) < 0.01


def make_control_rig(has_fabrik: bool) -> bpy.types.Object:
    """The same cycle by controls of the feet without parents, as in rigs with IK."""
    source = make_cycle()
    bones = {}
    for name, (head, parent) in BONES.items():
        at = Vector(head)
        bones[name] = (at, at + Vector((0, 0, 0.1)), parent)
        if name.startswith("shin"):
            bones[name] = (at, Vector(BONES[name.replace("shin", "foot")][0]), parent)
        if name.startswith("thigh"):
            bones[name] = (at, Vector(BONES[name.replace("thigh", "shin")][0]), parent)
    for side in ("L", "R"):
        at = Vector(BONES[f"foot.{side}"][0])
        bones[f"ctrl.{side}"] = (at, at + Vector((0, 0, 0.2)), "")
    rig = make_armature(bones, "Control Rig")
    for side in ("L", "R"):
        control = rig.pose.bones[f"ctrl.{side}"]
        ankles = played(source, range(FIRST, LAST + 1), f"foot.{side}")
        for frame, place in zip(range(FIRST, LAST + 1), ankles, strict=True):
            control.location = control.bone.matrix_local.inverted() @ place
            control.keyframe_insert("location", frame=frame)
        foot = rig.pose.bones[f"foot.{side}"].constraints.new("COPY_ROTATION")
        foot.target, foot.subtarget = rig, control.name
        if has_fabrik:
            add_constraint(rig, f"shin.{side}", rig, subtarget=control.name, chain_count=2)
            continue
        con = rig.pose.bones[f"shin.{side}"].constraints.new("IK")
        con.target, con.subtarget, con.chain_count = rig, control.name, 2
    rig.pose.bones["hips"].location = (0, 0, 0)
    rig.pose.bones["hips"].location = rig.pose.bones[
        "hips"
    ].bone.matrix_local.to_3x3().inverted() @ Vector((0, 0, -0.12))
    rig.pose.bones["hips"].keyframe_insert("location", frame=FIRST)
    return rig


@pytest.mark.parametrize("has_fabrik", [False, True])
@pytest.mark.parametrize("onto", ["ROOT", "OBJECT"])
def test_controls_that_hang_on_nothing_go_along(onto: str, has_fabrik: bool) -> None:
    rig = make_control_rig(has_fabrik)
    before = played(rig, range(FIRST, LAST + 1), "toe.L")
    assert slide(rig) > 0.1
    add(rig, onto=onto)
    assert slide(rig) < 0.005
    extract(rig, onto="NONE")
    assert max(map(dist, before, played(rig, range(FIRST, LAST + 1), "toe.L"))) < 1e-3


def test_feet_held_by_empties_are_refused() -> None:
    rig = make_control_rig(False)
    for side in ("L", "R"):
        con = rig.pose.bones[f"shin.{side}"].constraints[0]
        empty = make_empty(f"Held.{side}")
        for frame, place in enumerate(played(rig, range(FIRST, LAST + 1), f"ctrl.{side}"), FIRST):
            empty.location = place
            empty.keyframe_insert("location", frame=frame)
        con.target, con.subtarget = empty, ""
    activate(rig)
    before = everything(rig)
    refuses(bpy.ops.fabrik.root_motion_add, "bake the constraints first")
    assert everything(rig) == before


def no_action(rig: Any) -> None:
    rig.animation_data_clear()


def strips(rig: Any) -> None:
    track = rig.animation_data.nla_tracks.new()
    track.strips.new("Walk", 1, rig.animation_data.action)


def driven_root(rig: Any) -> None:
    rig.pose.bones["root"].driver_add("location", 1)


def root_with_a_constraint(rig: Any) -> None:
    con = rig.pose.bones["root"].constraints.new("COPY_LOCATION")
    con.target = make_empty("Leader", (0, 0, 0))


def as_it_is(_rig: Any) -> None:
    """Change nothing."""


SHORT = {"use_range": True, "frame_start": 5, "frame_end": 5}


class TestRefusing:
    @pytest.mark.parametrize(
        ("spoil", "saying", "options"),
        [
            (no_action, "has no keys: assign the action", {}),
            (strips, "has NLA strips", {}),
            (driven_root, "is driven: remove the driver", {}),
            (root_with_a_constraint, "positioned by its constraint", {}),
            (as_it_is, "No frames between", SHORT),
        ],
    )
    def test_what_keeps_travel_from_being_added(
        self, spoil: Callable[[Any], None], saying: str, options: dict[str, Any]
    ) -> None:
        rig = make_cycle()
        spoil(rig)
        activate(rig)
        before = everything(rig)
        refuses(bpy.ops.fabrik.root_motion_add, saying, **options)
        assert everything(rig) == before

    @pytest.mark.parametrize(
        ("root", "onto", "saying"),
        [("root", "NONE", "doesn't travel"), ("hips", "ROOT", "add a root bone")],
    )
    def test_what_keeps_travel_from_being_extracted(
        self, root: str, onto: str, saying: str
    ) -> None:
        activate(make_cycle(root=root))
        refuses(bpy.ops.fabrik.root_motion_extract, saying, onto=onto)

    def test_no_legs(self) -> None:
        rig = make_armature({"A": ((0, 0, 0), (0, 0, 1), ""), "B": ((0, 0, 1), (0, 0, 2), "A")})
        rig.pose.bones["A"].keyframe_insert("location", frame=1)
        rig.pose.bones["A"].keyframe_insert("location", frame=9)
        activate(rig)
        refuses(bpy.ops.fabrik.root_motion_add, "No legs found")

    def test_travel_that_makes_nothing_better(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As found where feet contradict each other on the floor; here it goes the wrong way."""
        rig = make_cycle()
        activate(rig)
        before = everything(rig)

        def wrong(steps: Steps, is_loop: bool, may_turn: bool) -> list[Planar]:
            return [move.inverse() for move in travel_of(steps, is_loop, may_turn)]

        monkeypatch.setattr(module, "travel_of", wrong)
        refuses(bpy.ops.fabrik.root_motion_add, "Root motion can't reduce")
        assert everything(rig) == before

    def test_feet_that_something_else_holds_and_all_is_as_it_was(self) -> None:
        rig = make_cycle()
        held = rig.pose.bones["toe.L"].constraints.new("COPY_LOCATION")
        held.target = make_empty("Held", (0.1, -0.2, 0.02))
        activate(rig)
        go(5)
        before, action = everything(rig), rig.animation_data.action
        places = played(rig, range(5, 6), "hips")
        refuses(bpy.ops.fabrik.root_motion_add, "from following its root")
        assert everything(rig) == before
        assert rig.animation_data.action == action
        assert len(bpy.data.actions) == 1
        assert bpy.context.scene.frame_current == 5
        assert played(rig, range(5, 6), "hips") == places


def test_works_in_pose_mode_and_is_one_step_to_undo() -> None:
    rig = make_cycle()
    enter_pose_mode(rig)
    bpy.ops.ed.undo_push(message="before")
    before = everything(rig)
    assert bpy.ops.fabrik.root_motion_add("EXEC_DEFAULT", True) == {"FINISHED"}
    assert everything(rig) != before
    bpy.ops.ed.undo()
    assert everything(bpy.context.object) == before
    assert bpy.context.mode == "POSE"


def test_keys_outside_a_custom_range_stay() -> None:
    rig = make_cycle()
    root = rig.pose.bones["root"]
    root.keyframe_insert("location", frame=60)
    add(rig, use_range=True, frame_start=FIRST, frame_end=LAST)
    keys = [key for (path, _), found in everything(rig).items() if "root" in path for key in found]
    assert (60.0, 0.0) in keys


def test_cycles_of_a_downloaded_character() -> None:
    """Within 5 mm for legs of 0.85 m; its keys are between whole frames, and its runs fly."""
    rig = imported("kaykit_knight.glb")
    activate(rig)
    options = module.Options("ROOT", True, True, None)
    done = {}
    for action in bpy.data.actions:
        if action.name.startswith(("Walking", "Running")):
            slot = next((slot.handle for slot in getattr(action, "slots", ())), 0)
            use_action(rig, action, slot)
            rig.pose.bones["root"].location = (0, 0, 0)
            done[action.name] = module.add(bpy.context.scene, rig, options)
    assert len(done) == 8
    for name, outcome in done.items():
        assert outcome.after * 0.85 / outcome.leg < 0.005, name
        assert outcome.before * 0.85 / outcome.leg > 0.2, name
        assert outcome.loops, name


def test_a_capture_whose_rest_pose_is_none_travels_as_it_was_captured() -> None:
    """Its soles are those of the frames in which its feet stand."""
    rig, scene = imported("egg_walking.bvh", update_scene_duration=True), bpy.context.scene
    activate(rig)
    removed = module.extract(scene, rig, module.Options("NONE", True, False, None)).travel
    result = module.add(scene, rig, module.Options("ROOT", True, False, None))
    assert result.before > 15.0 * result.after
    assert hypot(result.travel.x, result.travel.y) == pytest.approx(
        hypot(removed.x, removed.y), rel=0.05
    )
