"""Bodies that are dragged look like people: what turns, where the weight is, and out of reach."""

from __future__ import annotations

from itertools import pairwise
from math import atan2, cos, degrees, sin, tau
from pathlib import Path

import bpy
import pytest
from captures import imported
from dragged_bodies import angle_between, head_of, make_body
from mathutils import Matrix, Vector
from rigs import activate, channels_bits, update

from addon.features.whole_body.balancing import added, loads_of, support_of
from addon.features.whole_body.dragging import WholeBodyDrag
from addon.features.whole_body.pinning import standing_feet
from addon.features.whole_body.roles import roles_of

pytestmark = pytest.mark.newest

PEOPLE = ("rigify", "cmu", "kaykit", "human", "sample")


class Person:
    """A character that stands with pinned feet.

    Attributes:
        rig: The armature.
        roles: Its roles.
        support: What it stands on.
        leg: The length of a leg, in world space.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.rig = make_body(kind, folder)
        self.roles = roles_of(self.rig)
        for foot in self.roles.feet:
            assert bpy.ops.fabrik.pin(bone=foot, kind="BOTH") == {"FINISHED"}
        update()
        world = self.rig.matrix_world.to_3x3()
        self.up = (world @ Vector(self.roles.up)).normalized()
        self.front = (world @ Vector(self.roles.front)).normalized()
        self.left = self.up.cross(self.front)
        self.support = support_of(self.rig.pose.bones, self.roles.feet, self.roles)
        self.legs = [self._leg(foot) for foot in self.roles.feet]
        self.start = self.heads()
        self.axes = self.axes_now()
        self.leg = sum(self._lengths(self.legs[0]))
        self._drag: WholeBodyDrag | None = None

    def _leg(self, foot: str) -> tuple[str, str, str]:
        """Return the thigh, the shin and the foot of a leg."""
        parts = self.roles.parts
        shin = next(name for name in self.roles.hinges if parts[name] == parts[foot])
        thigh = self.rig.pose.bones[shin].parent
        while thigh.name in self.roles.rigid:
            thigh = thigh.parent
        return thigh.name, shin, foot

    def arm(self, hand: str) -> tuple[Vector, float]:
        """Return where the shoulder of a hand is, and the length of the arm, in world space."""
        parts = self.roles.parts
        shoulder, elbow = (
            next(self.start[name] for name in names if parts[name] == parts[hand])
            for names in (self.roles.arms, self.roles.hinges)
        )
        return shoulder, (elbow - shoulder).length + (self.start[hand] - elbow).length

    def _lengths(self, leg: tuple[str, str, str]) -> tuple[float, float]:
        thigh, shin, foot = (self.start[name] for name in leg)
        return (shin - thigh).length, (foot - shin).length

    def heads(self) -> dict[str, Vector]:
        """Return the shown heads of the bones, in world space."""
        return {bone.name: head_of(self.rig, bone.name) for bone in self.rig.pose.bones}

    def axes_now(self) -> dict[str, Matrix]:
        shown = self.rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        world = shown.matrix_world
        return {bone.name: (world @ bone.matrix).to_3x3() for bone in shown.pose.bones}

    def way(self, front: float, left: float, up: float) -> Vector:
        """Return a way in lengths of a leg, in world space."""
        return (self.front * front + self.left * left + self.up * up) * self.leg

    def drag(self, bone: str, way: Vector) -> None:
        self._drag = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), self.rig, bone)
        self._drag.move_by(tuple(way))
        update()

    def release(self) -> None:
        assert self._drag is not None
        self._drag.cancel()
        update()

    def turned(self, bone: str) -> float:
        """Return how far a bone has turned since it was dragged, in degrees."""
        return degrees(angle_between(self.axes_now()[bone], self.axes[bone]))

    def pitch(self, bone: str) -> float:
        """Return how far a bone leans forward since it was dragged, in degrees."""
        change = self.axes_now()[bone] @ self.axes[bone].inverted()
        up = change @ self.up
        return degrees(atan2(up.dot(self.front), up.dot(self.up)))

    def ahead(self, bone: str) -> float:
        """Return how far a bone is in front of the feet, in lengths of a leg."""
        now = self.heads()
        feet = [now[foot] for foot in self.roles.feet]
        middle = sum(feet, Vector()) / len(feet)
        return (now[bone] - middle).dot(self.front) / self.leg

    def knee(self, leg: tuple[str, str, str]) -> float:
        """Return how far a knee is in front of the line from hip to ankle, in lengths of a leg."""
        now = self.heads()
        hip, knee, ankle = (now[name] for name in leg)
        along = (ankle - hip).normalized()
        across = (knee - hip) - along * (knee - hip).dot(along)
        return across.dot(self.front) / self.leg

    def off_balance(self, *standing: str) -> float:
        """Return how far the center of mass is beside where feet stood, in lengths of a leg.

        Args:
            standing: The feet; all without any.
        """
        shown = self.rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        _, center = added(loads_of(self.rig, shown, self.roles).values())
        bones = self.rig.pose.bones
        support = support_of(bones, standing, self.roles) if standing else self.support
        out = Vector(support.outside(center))
        return (self.rig.matrix_world.to_3x3() @ out).length / self.leg

    def slip(self, dragged: str = "") -> float:
        """Return how far the feet that aren't dragged have moved, in lengths of a leg."""
        now = self.heads()
        feet = [foot for foot in self.roles.feet if foot != dragged]
        return max((now[foot] - self.start[foot]).length for foot in feet) / self.leg

    def nearest(self, way: Vector) -> float:
        """Return how near an upright pelvis comes to where it is dragged, in lengths of a leg.

        That is the nearest point of the balls around pins that straight legs reach (Dykstra's
        projections).
        """
        hips = self.start[self.roles.hips]
        balls = [
            (self.start[leg[2]] - self.start[leg[0]] + hips, sum(self._lengths(leg)))
            for leg in self.legs
        ]
        place, kept = hips + way, [Vector() for _ in balls]
        for _ in range(300):
            for i, (center, radius) in enumerate(balls):
                moved = place + kept[i]
                out = moved - center
                place = center + out * min(1.0, radius / out.length)
                kept[i] = moved - place
        return (place - hips - way).length / self.leg


@pytest.fixture(params=PEOPLE)
def person(request: pytest.FixtureRequest, empty_file: None, tmp_path: Path) -> Person:
    return Person(request.param, tmp_path)


HIPS = {
    "aside": (0.0, 0.2, 0.0),
    "across": (0.0, -0.2, 0.0),
    "forward": (0.25, 0.0, 0.0),
    "back": (-0.15, 0.0, 0.0),
    "up": (0.0, 0.0, 0.1),
    "down": (0.0, 0.0, -0.35),
    "far out": (0.3, 0.5, 0.2),
    "down aside": (0.0, 0.1, -0.2),
}
"""Ways of the hips, in lengths of a leg."""


def test_a_pelvis_stays_upright_and_stops_where_a_leg_is_straight(person: Person) -> None:
    roles = person.roles
    trunk = [name for name, part in roles.posture.items() if part.kind in ("SPINE", "NECK")]
    for name, way in HIPS.items():
        person.drag(roles.hips, person.way(*way))
        assert person.turned(roles.hips) < (25.0 if name == "down" else 15.0), name
        now, wanted = person.heads(), person.start[roles.hips] + person.way(*way)
        missed = (now[roles.hips] - wanted).length / person.leg
        assert missed < person.nearest(person.way(*way)) + 0.012, name
        assert person.slip() < 3e-4, name
        assert all(person.knee(leg) > -0.02 for leg in person.legs), name
        local = {bone: person.rig.pose.bones[bone].matrix_basis for bone in trunk}
        for bone, matrix in local.items():
            bent = degrees(angle_between(matrix, Matrix()))
            assert bent < (25.0 if name == "down" else 16.0), (name, bone)
        person.release()


def test_a_trunk_leans_forward_in_a_squat(person: Person) -> None:
    person.drag(person.roles.hips, person.way(0.0, 0.0, -0.35))
    assert person.pitch(person.roles.chest) > 15.0
    assert person.pitch(person.roles.hips) > -15.0


def test_a_body_is_pulled_as_strongly_in_a_squat(person: Person) -> None:
    """The price of a drag is that of a leg length, however far the legs are bent at its start."""

    def force() -> float:
        drag = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), person.rig, person.roles.head)
        return drag._dragged_to(drag._starts)[0].weight / drag._posed.size

    standing = force()
    person.drag(person.roles.hips, person.way(0.0, 0.0, -0.45))
    assert person._drag is not None
    person._drag.confirm()
    update()
    assert force() == pytest.approx(standing, rel=1e-5)


@pytest.mark.parametrize(
    ("clip", "standing", "end", "role", "most"),
    [
        ("cmu_02_06_lift.bvh", 392, 470, "hips", 150.0),
        ("cmu_02_06_lift.bvh", 392, 502, "hips", 150.0),
        ("mia_standToSit.bvh", 22, 47, "hips", 150.0),
        ("mia_standToSit.bvh", 22, 47, "head", 145.0),
        ("cmu_02_06_lift.bvh", 392, 502, "head", 150.0),
    ],
)
def test_a_body_poses_like_a_captured_person_who_scoops_something_up_or_sits_down(
    empty_file: None, clip: str, standing: int, end: int, role: str, most: float
) -> None:
    """The other joints are as near the person's as was wanted, in millimeters of about 500."""
    rig = imported(clip, global_scale=0.0564 if clip.startswith("cmu") else 0.01)
    activate(rig, "POSE")
    poses: list[dict[str, Matrix]] = []
    for frame in (end, standing):
        bpy.context.scene.frame_set(frame)
        poses.append({bone.name: bone.matrix_basis.copy() for bone in rig.pose.bones})
    rig.animation_data.action = None
    heads: list[dict[str, Vector]] = []
    for pose in poses:
        for bone in rig.pose.bones:
            bone.matrix_basis = pose[bone.name]
        update()
        heads.append({bone.name: head_of(rig, bone.name) for bone in rig.pose.bones})
    roles = roles_of(rig)
    for foot in roles.feet:
        assert bpy.ops.fabrik.pin(bone=foot, kind="BOTH") == {"FINISHED"}
    wanted, start = heads
    dragged = {"hips": roles.hips, "head": roles.head}[role]
    drag = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, dragged)
    drag.move_by(tuple(wanted[dragged] - start[dragged]))
    update()
    joints = {*roles.posture, *roles.hinges, *roles.hands, *roles.arms} - {dragged}
    off = [(head_of(rig, name) - wanted[name]).length for name in joints]
    leg = (start[roles.hips] - start[roles.feet[0]]).length
    assert sum(off) / len(off) < most / 850.0 * leg


def test_an_arm_that_reaches_by_itself_leaves_the_trunk_upright(person: Person) -> None:
    roles = person.roles
    hand = max(roles.hands, key=lambda name: person.start[name].dot(person.left))
    for front, left, up in ((0.1, 0.2, 0.8), (0.8, 0.0, -0.1)):
        shoulder, reach = person.arm(hand)
        way = (person.front * front + person.left * left + person.up * up) * reach
        person.drag(hand, shoulder + way - person.start[hand])
        assert person.turned(roles.chest) < 15.0
        person.release()


def test_a_body_bows_with_its_hips_behind_the_feet(person: Person) -> None:
    roles = person.roles
    person.drag(roles.head, person.way(0.3, 0.0, -0.3))
    assert person.ahead(roles.hips) < 0.0
    assert person.pitch(roles.chest) > 15.0
    assert person.pitch(roles.hips) > -10.0
    assert all(person.knee(leg) > -0.02 for leg in person.legs)
    assert person.off_balance() < 0.05


@pytest.mark.parametrize("way", [(-0.2, 0.0, -0.9), (-0.25, 0.0, -0.5)])
def test_a_body_squats_below_a_head_that_goes_down_and_back(
    person: Person, way: tuple[float, float, float]
) -> None:
    """It doesn't lean back over knees that are in front of the feet."""
    person.drag(person.roles.head, person.way(*way))
    assert person.ahead(person.roles.hips) < 0.1
    assert person.pitch(person.roles.chest) > -35.0


def test_a_hand_reaches_for_the_floor_over_bent_knees(person: Person) -> None:
    roles = person.roles
    hand = max(roles.hands, key=lambda name: person.start[name].dot(person.left))
    feet = sum((person.start[foot] for foot in roles.feet), Vector()) / len(roles.feet)
    goal = feet + person.way(0.35, 0.15, 0.05)
    person.drag(hand, goal - person.start[hand])
    assert person.ahead(roles.hips) < 0.0
    assert person.pitch(roles.chest) > 30.0
    assert all(person.knee(leg) > -0.02 for leg in person.legs)
    assert person.off_balance() < 0.05


def test_free_arms_hang_as_before_below_a_trunk_that_leans(person: Person) -> None:
    """That of a squat, of a bow, and of a body that reaches for the floor with the other hand."""
    roles = person.roles
    feet = sum((person.start[foot] for foot in roles.feet), Vector()) / len(roles.feet)
    hand = roles.hands[0]
    floor = feet + person.way(0.35, 0.0, 0.05) - person.start[hand]
    squat, bow = person.way(0.0, 0.0, -0.35), person.way(0.35, 0.0, -0.3)
    for bone, way in ((roles.hips, squat), (roles.head, bow), (hand, floor)):
        person.drag(bone, way)
        leaning = person.turned(roles.chest)
        assert leaning > 15.0
        for arm in roles.arms:
            if roles.parts[arm] != roles.parts[bone]:
                assert person.turned(arm) < 0.3 * leaning, (bone, arm)
        person.release()


def test_a_clavicle_turns_less_than_the_arm_that_reaches_up(person: Person) -> None:
    roles = person.roles
    if not roles.follows:
        pytest.skip("it has no clavicles")
    hand = roles.hands[0]
    person.drag(hand, person.start[roles.head] + person.way(0.1, 0.0, 0.9) - person.start[hand])
    for clavicle in roles.follows:
        turned = person.rig.pose.bones[clavicle].matrix_basis
        assert degrees(angle_between(turned, Matrix())) < 40.0


def test_a_lifted_foot_leaves_the_pelvis_upright_over_the_other_foot(person: Person) -> None:
    """The weight goes there as the foot is lifted, not all at once."""
    roles = person.roles
    lifted, standing = roles.feet
    heights = (0.01, 0.35)
    beside: list[float] = []
    for height in heights:
        person.drag(lifted, person.way(0.1, 0.0, height))
        assert abs(person.pitch(roles.hips)) < 15.0
        beside.append(person.off_balance(standing))
        person.release()
    stance = (person.start[lifted] - person.start[standing]).dot(person.left) / person.leg
    assert beside[0] > 0.2 * abs(stance)
    assert beside[1] < 0.3 * beside[0]


def test_a_foot_that_is_slid_back_leaves_the_chest_upright(person: Person) -> None:
    person.drag(person.roles.feet[0], person.way(-0.4, 0.0, 0.0))
    assert abs(person.pitch(person.roles.chest)) < 12.0


def test_a_foot_that_is_slid_still_bears(person: Person) -> None:
    foot = person.roles.feet[0]
    person.drag(foot, person.way(0.3, 0.0, 0.0))
    assert person.off_balance(person.roles.feet[1]) > 0.02


@pytest.mark.parametrize("kind", ("rigify", "human"))
def test_heels_rise_over_pinned_toes_in_a_deep_squat(
    empty_file: None, tmp_path: Path, kind: str
) -> None:
    """Pinned feet keep theirs on the ground, and the hips above."""
    person = Person(kind, tmp_path)
    roles, way = person.roles, person.way(0.0, 0.0, -0.65)
    person.drag(roles.hips, way)
    missed = (person.heads()[roles.hips] - person.start[roles.hips] - way).length
    assert missed > 0.02 * person.leg
    person.release()
    toes = {foot: roles.after[foot] for foot in roles.feet}
    for foot, toe in toes.items():
        assert bpy.ops.fabrik.pin(bone=foot, kind="NONE") == {"FINISHED"}
        assert bpy.ops.fabrik.pin(bone=toe, kind="BOTH") == {"FINISHED"}
    person.drag(roles.hips, way)
    now = person.heads()
    assert (now[roles.hips] - person.start[roles.hips] - way).length < 1e-3 * person.leg
    for foot, toe in toes.items():
        assert (now[foot] - person.start[foot]).dot(person.up) > 0.01 * person.leg
        assert (now[toe] - person.start[toe]).length < 3e-4 * person.leg


@pytest.mark.parametrize("kind", ("rigify", "cmu"))
def test_heels_of_feet_that_nobody_pinned_rise_where_ankles_flex_no_farther(
    empty_file: None, tmp_path: Path, kind: str
) -> None:
    person = Person(kind, tmp_path)
    roles = person.roles
    for foot in roles.feet:
        assert bpy.ops.fabrik.pin(bone=foot, kind="NONE") == {"FINISHED"}
    for down, least, most in ((0.2, 0.0, 4.0), (0.65, 8.0, 60.0)):
        person.drag(roles.hips, person.way(0.0, 0.0, -down))
        now = person.heads()
        for foot in roles.feet:
            assert least <= person.turned(foot) < most
            ball = roles.after[foot]
            assert (now[ball] - person.start[ball]).length < 3e-4 * person.leg
        person.release()


def test_feet_stand_whatever_tails_an_importer_gave_their_last_bones(
    empty_file: None, tmp_path: Path
) -> None:
    person = Person("cmu", tmp_path)
    bpy.ops.object.mode_set(mode="EDIT")
    toe = person.rig.data.edit_bones[person.roles.after[person.roles.feet[0]]]
    last = (*toe.children_recursive, toe)[0]
    last.tail -= Vector(person.roles.up) * 10.0 * last.length
    bpy.ops.object.mode_set(mode="POSE")
    assert len(standing_feet(person.rig, person.roles)) == 2


@pytest.mark.parametrize("role", ("hips", "hand", "head"))
def test_out_of_reach_a_pose_stays_where_it_is(person: Person, role: str) -> None:
    """Twice as far turns no joint by half as much again."""
    roles = person.roles
    bone = {"hips": roles.hips, "hand": roles.hands[0], "head": roles.head}[role]
    way = person.way(0.0, 0.0, 1.2)
    turns: list[dict[str, float]] = []
    for times in (1.0, 2.0):
        person.drag(bone, way * times)
        pose = person.rig.pose.bones
        turns.append(
            {
                name: degrees(angle_between(pose[name].matrix_basis, Matrix()))
                for name in roles.parts
            }
        )
        person.release()
    for name, turn in turns[1].items():
        assert turn < 1.5 * turns[0][name] + 10.0, name


@pytest.mark.parametrize(
    ("kind", "role", "aside", "moves"),
    [
        ("rigify", "head", (0.0, 0.0, 0.42), range(72, 80)),
        ("cmu", "head", (0.0, 0.0, 0.52), range(62, 70)),
        ("cmu", "hand", (0.0, 0.52, 0.0), range(62, 70)),
        ("rigify", "hips", (0.0, 0.0, 1.0), range(38, 46)),
        ("rigify", "hips", (0.0, 0.0, 0.8), range(40, 80)),
        ("rigify", "foot", (0.0, 0.0, 1.0), range(12, 22)),
    ],
)
def test_no_bone_leaps_while_the_mouse_goes_in_a_circle(
    empty_file: None,
    tmp_path: Path,
    kind: str,
    role: str,
    aside: tuple[float, float, float],
    moves: range,
) -> None:
    """Of 120 moves these are about one at which the pose of least motion leaps by 68° to 172°.

    Once the mouse rests, the pose is that of one move.
    """
    person = Person(kind, tmp_path)
    roles = person.roles
    bones = {
        "head": roles.head,
        "hand": roles.hands[0],
        "hips": roles.hips,
        "foot": roles.feet[0],
    }
    drag = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), person.rig, bones[role])
    shown: list[dict[str, Matrix]] = []
    way = Vector()
    for move in moves:
        angle = tau * move / 120
        back = cos(angle) - 1.0
        way = person.way(max(aside) * sin(angle), 0.0, 0.0) + person.way(*aside) * back
        drag.move_by(tuple(way))
        update()
        shown.append(person.axes_now())
        assert person.slip(bones[role]) < 3e-4
    for _ in range(30):
        drag.settle()
    rested = channels_bits(person.rig)
    drag.move_by((0.0, 0.0, 0.0))
    drag.move_by(tuple(way))
    assert channels_bits(person.rig) == rested
    for before, after in pairwise(shown):
        for bone in roles.parts:
            assert degrees(angle_between(before[bone], after[bone])) < 12.0, bone
