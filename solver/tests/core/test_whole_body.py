"""Whole bodies: goals by rank, least motion, limits, balance, and that only the press counts."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import cos, degrees, hypot, inf, nan, pi, radians, sin
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fabrik_solver
from fabrik_solver.core import articulation
from fabrik_solver.core.articulation import Articulation, Placement
from fabrik_solver.core.least_motion import Search
from fabrik_solver.core.limits import Cone, Hinge, Limit
from fabrik_solver.core.springs import Spring
from fabrik_solver.core.support import Support
from fabrik_solver.core.vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    length,
    quat_about,
    quat_angle,
    quat_log,
    quat_product,
    rotate,
    scaled,
    sub,
    unit_or,
)
from fabrik_solver.core.whole_body import (
    DRAGGED,
    PINNED,
    SOFT,
    TARGET,
    Link,
    Resistance,
    WholeBody,
    WholeBodyGoal,
    WholeBodyJoint,
    WholeBodyPose,
)

Figure = Callable[[str, str], None]

UP: Vec = (0.0, 0.0, 1.0)

TRUNK: list[tuple[str, Vec, Vec, str, float]] = [
    ("Pelvis", (0.0, 0.0, 0.98), (0.0, 0.0, 1.10), "", 0.0),
    ("Spine", (0.0, 0.0, 1.10), (0.0, 0.02, 1.28), "Pelvis", 25.0),
    ("Chest", (0.0, 0.02, 1.28), (0.0, 0.0, 1.54), "Spine", 25.0),
    ("Head", (0.0, 0.0, 1.54), (0.0, -0.04, 1.83), "Chest", 45.0),
]
"""Name, head, tail, parent, and how far it turns about each axis; 0: freely. In meters, degrees."""

LIMBS: list[tuple[str, str, Vec, Vec, Vec, str, tuple[float, float]]] = [
    (
        "Upper arm",
        "Forearm",
        (0.2, 0.0, 1.47),
        (0.37, 0.05, 1.24),
        (0.46, -0.04, 1.01),
        "Chest",
        (-5.0, 140.0),
    ),
    (
        "Thigh",
        "Shin",
        (0.1, 0.0, 0.96),
        (0.19, -0.07, 0.54),
        (0.21, 0.02, 0.10),
        "Pelvis",
        (-15.0, 140.0),
    ),
]

BEST: list[tuple[str, Vec, float]] = [
    ("Shin.L", (-0.4288, 0.2422, -0.2198), 0.7732),
    ("Forearm.R", (-0.0197, -0.1611, -0.1729), 0.1162),
    ("Forearm.R", (0.2154, -0.4750, -0.1242), 0.1758),
    ("Pelvis", (0.2017, 0.4338, -0.2248), 1.3129),
    ("Forearm.L", (-0.2339, -0.4040, -0.1729), 0.1728),
    ("Chest", (-0.2311, 0.1130, -0.2795), 0.9060),
    ("Forearm.R", (-0.3274, -0.1371, -0.4131), 0.8791),
    ("Chest", (-0.1406, 0.0043, -0.1993), 0.6386),
    ("Shin.L", (-0.5430, 0.2910, 0.2720), 0.4855),
    ("Shin.L", (0.1990, 0.0918, -0.0954), 0.0605),
    ("Pelvis", (0.5795, -0.1637, -0.5204), 2.9081),
    ("Shin.L", (-0.1023, 0.4632, -0.0502), 0.1472),
    ("Forearm.R", (-0.0522, -0.2506, -0.2098), 0.1843),
    ("Head", (0.0740, 0.0782, -0.2238), 0.4646),
    ("Shin.L", (0.2388, -0.1225, 0.0871), 0.0614),
    ("Shin.L", (0.3382, -0.3886, -0.5180), 0.5293),
    ("Forearm.R", (0.2066, 0.1568, 0.2185), 0.3214),
    ("Forearm.R", (0.2821, 0.0214, 0.0504), 0.2515),
    ("Pelvis", (0.2810, -0.3432, -0.1671), 0.4898),
    ("Pelvis", (-0.3539, 0.0771, -0.2487), 1.9731),
    ("Forearm.L", (-0.3194, 0.0372, 0.3350), 0.4933),
    ("Forearm.L", (0.1987, -0.0130, 0.0205), 0.1118),
    ("Forearm.R", (-0.3140, -0.0736, -0.0381), 0.3055),
    ("Shin.L", (-0.1274, 0.2310, 0.3119), 0.4373),
]
"""What is dragged, by how far, and the least effort of that in radians².

Found by a solver that shares nothing with this one: `scipy.optimize.least_squares` from ten starts
for each, with hard springs for goals. Its root is as stiff as the one here. The figure is the one
of these tests.
"""


class Figurine:
    """A human figure, in meters; it faces −Y."""

    def __init__(self, with_feet: bool = False) -> None:
        self.joints: list[WholeBodyJoint] = []
        self.names: list[str] = []
        self.tails: dict[str, Vec] = {}
        for name, head, tail, parent, cone in TRUNK:
            angle = radians(cone)
            limit = Cone((-angle, angle), (-angle, angle), (-angle, angle)) if cone else None
            self.add(name, head, tail, parent, limit)
        for side, sign in (("L", 1.0), ("R", -1.0)):
            for upper, lower, *points, parent, (low, high) in LIMBS:
                a, b, c = ((sign * x, y, z) for x, y, z in points)
                axis = unit_or(cross(sub(b, a), sub(c, b)), ORIGIN)
                self.add(f"{upper}.{side}", a, b, parent, None)
                hinge = Hinge(axis, (radians(low), radians(high)))
                self.add(f"{lower}.{side}", b, c, f"{upper}.{side}", hinge)
            if with_feet:
                foot = self.tails[f"Shin.{side}"]
                self.add(f"Foot.{side}", foot, add(foot, (0.0, -0.2, -0.1)), f"Shin.{side}", None)

    def add(self, name: str, head: Vec, tail: Vec, parent: str, limit: Limit | None) -> None:
        at = self.names.index(parent) if parent else -1
        joint = WholeBodyJoint(
            at,
            head,
            QUAT_IDENTITY,
            is_free=at < 0,
            limit=limit,
            mass=length(sub(tail, head)),
            center=scaled(add(head, tail), 0.5),
        )
        self.joints.append(joint)
        self.names.append(name)
        self.tails[name] = tail

    def index(self, name: str) -> int:
        return self.names.index(name)

    def goal(self, name: str, rank: int, way: Vec = ORIGIN) -> WholeBodyGoal:
        tail = self.tails[name]
        return WholeBodyGoal(self.index(name), tail, rank, location=add(tail, way))

    def drag(self, name: str, way: Vec) -> list[WholeBodyGoal]:
        """Return that the feet are pinned and a bone's tail is dragged."""
        pins = [self.goal(f"Shin.{s}", PINNED) for s in "LR" if name != f"Shin.{s}"]
        return [*pins, self.goal(name, DRAGGED, way)]

    def solve(
        self, goals: Sequence[WholeBodyGoal], support: Support | None = None
    ) -> WholeBodyPose:
        return WholeBody(self.joints).solve(goals, support)


def way_of(random: Random, least: float, most: float) -> Vec:
    way = unit_or((random.gauss(0, 1), random.gauss(0, 1), random.gauss(0, 1)), UP)
    return scaled(way, random.uniform(least, most))


def differences(a: WholeBodyPose, b: WholeBodyPose) -> tuple[float, float]:
    """Return the largest distance between pivots, and angle between joints, of two poses."""
    return (
        max(length(sub(p, q)) for p, q in zip(a.heads, b.heads, strict=True)),
        max(quat_angle(p, q) for p, q in zip(a.turns, b.turns, strict=True)),
    )


def test_no_pose_that_meets_the_goals_moves_less(figure: Figure) -> None:
    body = Figurine()
    ratios: list[float] = []
    for name, way, effort in BEST:
        pose = body.solve(body.drag(name, way))
        assert max(pose.misses) < 1e-5
        ratios.append(pose.effort / effort)
    figure("effort of whole bodies ÷ the least of ten starts", f"at most {max(ratios):.3f}")
    assert max(ratios) < 1.02


def test_pins_stay_however_far_something_is_dragged(figure: Figure) -> None:
    body, random = Figurine(with_feet=True), Random(1)
    slips: list[float] = []
    turns: list[float] = []
    for _ in range(40):
        goals = [
            WholeBodyGoal(
                body.index(f"Foot.{side}"),
                body.tails[f"Shin.{side}"],
                PINNED,
                location=body.tails[f"Shin.{side}"],
                rotation=QUAT_IDENTITY,
            )
            for side in "LR"
        ]
        name = random.choice(["Forearm.L", "Head", "Chest", "Pelvis"])
        goals.append(body.goal(name, DRAGGED, way_of(random, 0.2, 1.5)))
        pose = body.solve(goals)
        slips.extend(pose.misses[:2])
        turns.extend(quat_angle(pose.axes[goal.joint], QUAT_IDENTITY) for goal in goals[:2])
    figure("pins of whole bodies", f"{1e6 * max(slips):.1f} µm, {max(turns):.1e} rad")
    assert max(slips) < 1e-4
    assert max(turns) < 1e-4


def test_what_is_dragged_is_reached_within_reach_whatever_the_targets_want() -> None:
    body = Figurine()
    goals = [*body.drag("Forearm.L", (0.3, 0.0, 0.1)), body.goal("Head", TARGET, (-3.0, 0.0, 0.0))]
    pose = body.solve(goals)
    assert max(pose.misses[:3]) < 1e-4
    assert pose.misses[3] > 1.0


def test_a_lower_rank_costs_a_higher_one_nothing_out_of_reach(figure: Figure) -> None:
    body, random = Figurine(), Random(5)
    costs: list[float] = []
    for _ in range(12):
        goals = body.drag("Forearm.L", way_of(random, 0.9, 1.5))
        alone = body.solve(goals)
        goals.append(body.goal("Head", TARGET, way_of(random, 0.1, 0.6)))
        goals.append(WholeBodyGoal(3, body.joints[3].head, SOFT, rotation=QUAT_IDENTITY))
        costs.append(body.solve(goals).misses[2] - alone.misses[2])
    figure("what targets cost a dragged hand that is out of reach", f"{1e3 * max(costs):.2f} mm")
    assert max(costs) < 1e-4


@pytest.mark.parametrize("seed", [3, 5])
def test_what_is_soft_costs_targets_hardly_anything_that_cannot_all_be_met(
    seed: int, figure: Figure
) -> None:
    body, random = Figurine(), Random(seed)
    head = WholeBodyGoal(3, body.joints[3].head, SOFT, rotation=QUAT_IDENTITY)
    costs: list[float] = []
    turned: list[float] = []
    for _ in range(8):
        goals = body.drag("Forearm.L", way_of(random, 0.2, 0.4))
        for name in ("Forearm.R", "Head"):
            goals.append(body.goal(name, TARGET, way_of(random, 0.6, 0.9)))
        alone, full = body.solve(goals), body.solve([*goals, head])
        costs.append(sum(full.misses[3:]) - sum(alone.misses[3:]))
        turned.append(differences(alone, full)[1])
        assert full.misses[2] - alone.misses[2] < 1e-4
    figure("what is soft costs targets that conflict", f"{1e3 * max(costs):.2f} mm")
    assert max(costs) < 1e-4
    assert max(turned) > 1e-3


def test_targets_are_met_where_what_is_dragged_leaves_them_room() -> None:
    body = Figurine()
    pose = body.solve([*body.drag("Forearm.L", (0.1, -0.2, 0.1)), body.goal("Forearm.R", TARGET)])
    assert max(pose.misses) < 1e-4


def test_nothing_moves_if_everything_is_where_it_is_wanted() -> None:
    body = Figurine()
    pose = body.solve(body.drag("Forearm.L", ORIGIN))
    assert pose.effort < 1e-12
    assert max(length(moved) for moved in pose.moved) < 1e-6


def test_small_moves_give_what_one_gives_and_back_is_back() -> None:
    body = Figurine()
    whole = WholeBody(body.joints)
    way = (0.5, -0.3, -0.2)
    jump = whole.solve(body.drag("Forearm.L", way))
    for step in [*range(1, 21), *range(19, -1, -1)]:
        pose = whole.solve(body.drag("Forearm.L", scaled(way, step / 20)))
        if step == 20:
            assert differences(pose, jump) == (0.0, 0.0)
    assert max(differences(pose, whole.solve(body.drag("Forearm.L", ORIGIN)))) < 1e-9


def test_between_two_poses_pins_stay_and_what_is_dragged_is_there() -> None:
    """Until the last pose is the one of least motion."""
    body = Figurine()
    whole = WholeBody(body.joints)
    turned = quat_about(UP, 1.0)
    chest = WholeBodyGoal(body.index("Chest"), ORIGIN, SOFT, rotation=turned, weight=100.0)
    shown = whole.solve([*body.drag("Forearm.L", (0.0, -0.3, 0.1)), chest])
    for move in range(1, 30):
        goals = body.drag("Forearm.L", (0.005 * move, -0.3, 0.1))
        least = whole.solve(goals)
        last, shown = shown, whole.toward(least, shown, 0.03, goals)
        assert max(shown.misses) < 1e-4
        assert differences(shown, last)[1] < 0.2
        if shown is least:
            break
    assert 5 < move < 29
    assert whole.toward(least, last, inf, goals) is least


def test_what_comes_back_into_reach_catches_up_no_faster_than_bones_may_turn() -> None:
    """It lags behind the mouse already: only pins require more."""
    body = Figurine()
    whole = WholeBody(body.joints)
    shown = whole.solve(body.drag("Forearm.L", (0.0, 3.0, 0.0)))
    goals = body.drag("Forearm.L", (0.0, -0.3, 0.1))
    least = whole.solve(goals)
    assert max(shown.misses) > 0.1
    assert max(least.misses) < 1e-4
    missed = inf
    for _ in range(30):
        last, shown = shown, whole.toward(least, shown, 0.05, goals)
        assert differences(shown, last)[1] < 0.3
        assert max(shown.misses[:-1]) < 1e-4
        assert shown.misses[-1] < missed
        if shown is least:
            break
        missed = shown.misses[-1]
    assert shown is least


def test_goals_of_a_pose_may_come_and_go_on_the_way_to_the_next_one() -> None:
    """As for the sole of a foot that is lifted and put down: the others aren't mixed up."""
    body = Figurine()
    whole = WholeBody(body.joints)
    hands = [body.goal("Forearm.R", TARGET), body.goal("Head", TARGET)]
    goals = [*body.drag("Forearm.L", (0.0, 3.0, 0.0)), *hands]
    last = whole.solve([*body.drag("Forearm.L", (0.0, -1.0, 2.0)), *hands])
    mixed = whole.solve([*hands, *body.drag("Forearm.L", (0.0, -1.0, 2.0))])
    least = whole.solve(goals)
    assert max(differences(last, mixed)) < 1e-3
    shown, other = (whole.toward(least, pose, 0.1, goals) for pose in (last, mixed))
    assert max(differences(shown, other)) < 1e-3


def test_how_far_a_pinned_point_is_from_its_bone_does_not_matter_if_it_cannot_turn() -> None:
    """Importers guess the tails of last bones, such as toes."""
    body = Figurine(with_feet=True)
    poses: list[WholeBodyPose] = []
    for far in (0.0, 60.0):
        goals = [body.goal("Pelvis", DRAGGED, (0.0, 0.0, -0.2))._replace(weight=1e-3)]
        for side in "LR":
            tail = add(body.tails[f"Foot.{side}"], (0.0, -far, 0.0))
            index = body.index(f"Foot.{side}")
            goals.append(WholeBodyGoal(index, tail, PINNED, location=tail, rotation=QUAT_IDENTITY))
        poses.append(body.solve(goals))
    assert max(differences(*poses)) < 5e-3


def test_poses_go_with_the_mouse_within_reach(figure: Figure) -> None:
    """Not everywhere: a leg that becomes straight turns ever faster."""
    body = Figurine()
    worst = 0.0
    for way in ((0.5, 0.0, 0.0), (0.0, -0.4, 0.1), (-0.3, -0.3, 0.0)):
        last: WholeBodyPose | None = None
        for step in range(1, 41):
            pose = body.solve(body.drag("Forearm.L", scaled(way, step / 40)))
            if last is not None:
                worst = max(worst, differences(pose, last)[1] / (length(way) / 40))
            last = pose
    figure("largest change of a joint while a hand is dragged", f"{worst:.1f} rad a meter")
    assert worst < 5.0 / 0.9


def test_nothing_trembles_while_a_bone_is_dragged_out_of_reach(
    figure: Figure,
) -> None:
    body, random = Figurine(), Random(5)
    worst = 0.0
    for case in range(12):
        name, way = ("Head", "Chest", "Forearm.L")[case % 3], way_of(random, 0.6, 1.2)
        goals = [body.drag(name, scaled(way, 1.0 + 5e-4 * step)) for step in range(16)]
        for last, pose in pairwise(map(body.solve, goals)):
            worst = max(worst, differences(pose, last)[1])
    figure("largest change of a joint while a bone is dragged by half a millimeter", f"{worst:.3f}")
    assert worst < 0.02


def sample_limits(body: Figurine) -> None:
    """Give the trunk and the thighs limits whose walls are curved, and that a squat comes to."""
    for name, x, z, twist in (
        ("Spine", 25.0, 18.0, 15.0),
        ("Chest", 25.0, 18.0, 20.0),
        ("Thigh.L", 65.0, 35.0, 20.0),
        ("Thigh.R", 65.0, 35.0, 20.0),
    ):
        swing_x, swing_z, twists = ((-radians(a), radians(a)) for a in (x, z, twist))
        body.joints[body.index(name)].limit = Cone(swing_x, swing_z, twists)


def pinned_soles(body: Figurine) -> list[WholeBodyGoal]:
    """Return goals that keep the feet where they are, with their orientation."""
    return [
        WholeBodyGoal(
            body.index(name),
            body.joints[body.index(name)].head,
            PINNED,
            location=body.joints[body.index(name)].head,
            rotation=QUAT_IDENTITY,
        )
        for name in ("Foot.L", "Foot.R")
    ]


def test_nothing_trembles_above_bones_that_do_not_inherit_rotation(figure: Figure) -> None:
    """As the feet of rigs whose soles stay level; the tension of the legs is felt above them."""
    body, worst = Figurine(with_feet=True), 0.0
    for name in ("Foot.L", "Foot.R"):
        body.joints[body.index(name)].inherits = False
    pins = pinned_soles(body)
    for way in ((0.04, 0.06, 0.7), (-0.1, -0.3, 0.6), (0.3, 0.0, 0.5)):
        goals = [
            [*pins, body.goal("Chest", DRAGGED, scaled(way, 1.0 + 5e-4 * step))]
            for step in range(12)
        ]
        for last, pose in pairwise(map(body.solve, goals)):
            worst = max(worst, differences(pose, last)[1])
    figure("the same above feet that do not inherit rotation", f"{worst:.3f}")
    assert worst < 0.02


def test_nothing_trembles_at_curved_limits(figure: Figure) -> None:
    body, random, worst = Figurine(with_feet=True), Random(3), 0.0
    sample_limits(body)
    pins = pinned_soles(body)
    for case in range(15):
        name, way = ("Head", "Chest", "Pelvis")[case % 3], way_of(random, 0.3, 0.9)
        goals = [
            [*pins, body.goal(name, DRAGGED, scaled(way, 1.0 + 5e-4 * step))] for step in range(12)
        ]
        for last, pose in pairwise(map(body.solve, goals)):
            worst = max(worst, differences(pose, last)[1])
    figure("the same at limits of swing and twist", f"{worst:.3f}")
    assert worst < 0.1


def test_a_head_goes_down_as_far_as_the_body_can_squat() -> None:
    """Whether the back bends first or the knees, limits do not stop it on the way."""
    body = Figurine(with_feet=True)
    sample_limits(body)
    for name in ("Shin.L", "Shin.R"):
        shin = body.joints[body.index(name)]
        assert isinstance(shin.limit, Hinge)
        shin.preferred = shin.limit.axis
    pins, head = pinned_soles(body), body.index("Head")
    neck = body.joints[head].head
    gaze = WholeBodyGoal(head, neck, SOFT, rotation=QUAT_IDENTITY, weight=0.5)
    for step in range(8):
        there = add(neck, (0.0, -0.15 * (step % 2), -0.5 - 0.05 * step))
        pose = body.solve([WholeBodyGoal(head, neck, DRAGGED, location=there), *pins, gaze])
        assert max(pose.misses) < 1e-4
        assert pose.steps < 30


def test_limits_hold_even_if_all_pulls_at_them() -> None:
    body, random = Figurine(), Random(2)
    for _ in range(20):
        name = random.choice(["Forearm.L", "Head", "Chest", "Shin.R"])
        pose = body.solve(body.drag(name, way_of(random, 0.3, 1.5)))
        for joint, turn in zip(body.joints, pose.turns, strict=True):
            rotation = quat_product(joint.rotation, turn)
            if joint.limit is not None:
                assert quat_angle(joint.limit.nearest(rotation), rotation) < 1e-6


def test_a_straight_leg_bends_to_its_preferred_side_when_it_is_compressed() -> None:
    for sign in (1.0, -1.0):
        joints = [
            WholeBodyJoint(-1, (0.0, 0.0, 1.0), QUAT_IDENTITY, is_free=True),
            WholeBodyJoint(0, (0.0, 0.0, 1.0), QUAT_IDENTITY),
            WholeBodyJoint(1, (0.0, 0.0, 0.5), QUAT_IDENTITY, preferred=(sign, 0.0, 0.0)),
        ]
        goals = [
            WholeBodyGoal(2, ORIGIN, PINNED, location=ORIGIN),
            WholeBodyGoal(0, (0.0, 0.0, 1.0), DRAGGED, location=(0.0, 0.0, 0.7)),
        ]
        pose = WholeBody(joints).solve(goals)
        assert max(pose.misses) < 1e-5
        assert sign * pose.heads[2][1] < -0.2


def arm(share: float, way: Vec) -> tuple[list[WholeBodyJoint], WholeBodyPose]:
    """Return a clavicle and an arm along −Z, and the pose in which its hand is dragged."""
    down = quat_about((1.0, 0.0, 0.0), -0.5 * pi)  # Bones point along their own Y.
    aside = quat_about((0.0, 0.0, 1.0), -0.5 * pi)
    joints = [
        WholeBodyJoint(-1, (0.0, 0.0, 1.4), QUAT_IDENTITY),
        WholeBodyJoint(0, (0.02, 0.0, 1.4), aside, follows=2, share=share),
        WholeBodyJoint(1, (0.18, 0.0, 1.4), down),
        WholeBodyJoint(2, (0.18, 0.0, 1.1), down, limit=Hinge((1.0, 0.0, 0.0), (0.0, 2.4))),
    ]
    hand = (0.18, 0.0, 0.85)
    goals = [
        WholeBodyGoal(0, joints[0].head, PINNED, location=joints[0].head, rotation=QUAT_IDENTITY),
        WholeBodyGoal(3, hand, DRAGGED, location=add(hand, way)),
    ]
    return joints, WholeBody(joints).solve(goals)


@pytest.mark.parametrize("share", [0.0, 0.11, 0.3, 0.5])
def test_a_clavicle_takes_its_share_of_a_raised_arm(share: float) -> None:
    # A hand that is raised to the side, on a circle about where the shoulder will be.
    clavicle = 0.5 * pi * share
    shoulder = add((0.02, 0.0, 1.4), (0.16 * cos(clavicle), 0.0, 0.16 * sin(clavicle)))
    hand = add(shoulder, (0.55, 0.0, 0.0))
    _, pose = arm(share, sub(hand, (0.18, 0.0, 0.85)))
    turned = degrees(quat_angle(pose.turns[1], QUAT_IDENTITY))
    assert turned == pytest.approx(90.0 * share, abs=2.0)


def test_a_clavicle_stays_while_an_arm_bends_at_the_elbow_only() -> None:
    _, pose = arm(0.3, ORIGIN)
    assert quat_angle(pose.turns[1], QUAT_IDENTITY) < 1e-6


def with_fingers() -> Figurine:
    """Return a figure with ten bones in a row below its left forearm, without goals."""
    figure = Figurine()
    parent = "Forearm.L"
    for k in range(10):
        head = figure.tails[parent]
        figure.add(f"Finger {k}", head, add(head, (0.01, 0.0, -0.03)), parent, None)
        parent = f"Finger {k}"
    return figure


def test_bones_below_all_goals_go_with_those_above() -> None:
    figure = with_fingers()
    pose = figure.solve(figure.drag("Forearm.L", (0.1, -0.3, 0.2)))
    hand, last = figure.index("Forearm.L"), len(figure.joints) - 1
    way = sub(figure.joints[last].head, figure.joints[hand].head)
    expected = add(pose.heads[hand], rotate(pose.axes[hand], way))
    assert length(sub(pose.heads[hand], figure.joints[hand].head)) > 0.01
    assert length(sub(pose.heads[last], expected)) < 1e-12
    assert quat_angle(pose.axes[last], pose.axes[hand]) < 1e-7


def test_bones_below_all_goals_are_placed_once_and_not_at_each_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if fabrik_solver.COMPILED:
        pytest.skip("compiled functions cannot be replaced by ones that count")
    calls: list[int] = []

    def counted(a: Quat, b: Quat) -> Quat:
        calls.append(1)
        return quat_product(a, b)

    monkeypatch.setattr(articulation, "quat_product", counted)
    counts: list[int] = []
    for figure in (Figurine(), with_fingers()):
        calls.clear()
        figure.solve(figure.drag("Forearm.L", (0.1, -0.3, 0.2)))
        counts.append(len(calls))
    assert counts[1] - counts[0] == 10, "one product for each bone more"


def test_no_share_of_a_step_is_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    if fabrik_solver.COMPILED:
        pytest.skip("compiled methods cannot be replaced by ones that count")
    tried: list[tuple[int, float]] = []
    ahead = Search._ahead

    def counted(
        self: Search, pose: Placement, step: list[Vec], share: float, start: float
    ) -> tuple[Placement, float]:
        tried.append((self.steps, share))
        return ahead(self, pose, step, share, start)

    monkeypatch.setattr(Search, "_ahead", counted)
    body, random = Figurine(), Random(3)
    for _ in range(12):
        tried.clear()
        body.solve(body.drag(random.choice(["Head", "Pelvis"]), way_of(random, 0.6, 1.2)))
        assert len(tried) == len(set(tried))


def test_a_bone_that_does_not_inherit_rotation_keeps_its_own() -> None:
    body = Figurine()
    foot = body.tails["Shin.L"]
    joint = WholeBodyJoint(body.index("Shin.L"), foot, QUAT_IDENTITY, inherits=False)
    toe = add(foot, (0.0, -0.2, -0.1))
    joints = [*body.joints, joint]
    goals = [
        WholeBodyGoal(len(joints) - 1, toe, PINNED, location=toe, rotation=QUAT_IDENTITY),
        body.goal("Shin.R", PINNED),
        body.goal("Pelvis", DRAGGED, (0.0, -0.1, -0.25)),
    ]
    pose = WholeBody(joints).solve(goals)
    assert max(pose.misses) < 1e-5
    assert quat_angle(pose.axes[-1], QUAT_IDENTITY) < 1e-5
    assert quat_angle(pose.turns[-1], QUAT_IDENTITY) < 1e-5
    assert quat_angle(pose.axes[body.index("Shin.L")], QUAT_IDENTITY) > 0.2


def test_weights_along_the_axes_let_a_foot_slide_that_may_not_sink() -> None:
    body = Figurine()
    pinned = body.goal("Shin.R", PINNED)._replace(location_weights=(1.0, 0.0, 1.0))
    pose = body.solve(
        [body.goal("Shin.L", PINNED), pinned, body.goal("Pelvis", DRAGGED, (0, 0.5, 0))]
    )
    joint = body.index("Shin.R")
    foot = add(
        pose.heads[joint], rotate(pose.axes[joint], sub(pinned.point, body.joints[joint].head))
    )
    x, y, z = sub(foot, pinned.point)
    assert hypot(x, z) < 1e-5
    assert y > 0.02


def test_weights_about_the_axes_let_a_hand_turn_about_one() -> None:
    joints = [
        WholeBodyJoint(-1, ORIGIN, QUAT_IDENTITY),
        WholeBodyJoint(0, (0.0, 1.0, 0.0), QUAT_IDENTITY),
    ]
    wanted = quat_product(quat_about((0.0, 0.0, 1.0), 0.4), quat_about((0.0, 1.0, 0.0), 0.3))
    goals = [WholeBodyGoal(1, joints[1].head, PINNED, rotation=wanted)]
    full = WholeBody(joints).solve(goals)
    assert quat_angle(full.axes[1], wanted) < 1e-5
    aside = [goal._replace(rotation_weights=(1.0, 0.0, 1.0)) for goal in goals]
    assert WholeBody(joints).solve(aside).effort < 0.8 * full.effort


def test_the_center_of_mass_stays_above_the_feet_if_that_is_asked(figure: Figure) -> None:
    body = Figurine()
    corners = [(x, y, 0.0) for x in (-0.26, 0.26) for y in (-0.15, 0.1)]
    support = Support(corners, UP)
    left: list[float] = []
    for way in ((0.6, 0.0, 0.0), (0.0, -0.6, -0.2), (0.2, -0.4, -0.3)):
        goals = body.drag("Forearm.L", way)
        free, held = body.solve(goals), body.solve(goals, support)
        assert free.center is not None
        assert held.center is not None
        assert length(support.outside(free.center)) > 0.02
        left.append(length(support.outside(held.center)))
        assert max(held.misses) < 1e-4
    figure("center of mass beside its support", f"{1e3 * max(left):.2f} mm")
    assert max(left) < 2e-3


@pytest.mark.parametrize("way", [(0.0, -0.6, -0.2), (0.2, -0.4, -0.3)])
def test_a_center_of_mass_beside_a_corner_costs_few_steps(way: Vec) -> None:
    """There the support resists in both directions: without that it takes 52 and 75."""
    body = Figurine()
    pose = body.solve(body.drag("Forearm.L", way), Support([(0.0, -0.05, 0.0)], UP))
    assert max(pose.misses) < 1e-4
    assert pose.steps < 20


@pytest.mark.parametrize(
    ("place", "way"),
    [
        ((0.5, 0.5, 3.0), (0.0, 0.0, 0.0)),
        ((2.0, 0.5, 1.0), (1.0, 0.0, 0.0)),
        ((2.0, -1.0, 0.0), (1.0, -1.0, 0.0)),
    ],
)
def test_the_way_from_the_support(place: Vec, way: Vec) -> None:
    square = [(0.0, 0.0, 0.0), (1.0, 1.0, 5.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 0.0)]
    assert length(sub(Support(square, UP).outside(place), way)) < 1e-12


def test_a_support_may_be_one_point_or_a_line() -> None:
    assert Support([ORIGIN], UP).outside((3.0, 4.0, 1.0)) == pytest.approx((3.0, 4.0, 0.0))
    line = [ORIGIN, (0.0, 2.0, 0.0), (0.0, 1.0, 0.0)]
    assert Support(line, UP).outside((1.0, 1.5, 0.0)) == pytest.approx((1.0, 0.0, 0.0))
    assert Support([], UP).outside((1.0, 1.5, 0.0)) == ORIGIN


def test_a_center_of_mass_may_stay_as_far_out_of_balance_as_it_was() -> None:
    foot, lifted = [(0.0, -0.1, 0.0), (0.0, 0.1, 0.0)], [(1.0, -0.1, 0.0), (1.0, 0.1, 0.0)]
    balanced, falling = (0.5, 0.0, 1.0), (1.3, 0.0, 1.0)
    for center, most in ((balanced, 0.5), (falling, 1.3)):
        assert Support(foot, UP).including(center).outside(center) == pytest.approx(ORIGIN)
        area = Support(foot, UP, lifted=lifted).including(center)
        assert length(area.outside(center)) == pytest.approx(min(most, 1.0))


def test_a_support_is_seen_on_its_lowest_level() -> None:
    square = [(0.0, 0.0, 2.0), (1.0, 1.0, 5.0), (1.0, 0.0, 3.0), (0.0, 1.0, 2.0), (0.5, 0.5, 9.0)]
    support = Support(square, UP)
    assert sorted(support.area()) == [(x, y, 2.0) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    assert support.below((3.0, 4.0, 7.0)) == (3.0, 4.0, 2.0)
    assert Support([], UP).area() == []


angles = st.floats(-pi, pi)
ways = st.tuples(*[st.floats(-2.0, 2.0)] * 3)


@given(ways, st.sampled_from(["Forearm.L", "Head", "Pelvis", "Shin.R"]))
def test_every_answer_is_finite_and_keeps_the_pins(way: Vec, name: str) -> None:
    body = Figurine()
    pose = body.solve(body.drag(name, way))
    for head in pose.heads:
        assert all(abs(number) < 10.0 for number in head)
    assert max(pose.misses[:-1]) < 5e-4


@given(angles, angles, st.floats(0.01, 100.0))
def test_turning_and_scaling_the_world_does_the_same_to_the_answer(
    a: float, b: float, scale: float
) -> None:
    body = Figurine()
    turn = quat_product(quat_about((0.0, 0.0, 1.0), a), quat_about((1.0, 0.0, 0.0), b))

    def there(point: Vec) -> Vec:
        return scaled(rotate(turn, point), scale)

    goals = body.drag("Forearm.L", (0.3, -0.2, 0.1))
    pose = body.solve(goals)
    joints = [
        WholeBodyJoint(
            joint.parent,
            there(joint.head),
            quat_product(turn, joint.axes),
            is_free=joint.is_free,
            limit=joint.limit,
        )
        for joint in body.joints
    ]
    moved = [
        WholeBodyGoal(goal.joint, there(goal.point), goal.rank, location=there(goal.location))
        for goal in goals
        if goal.location is not None
    ]
    other = WholeBody(joints).solve(moved)
    for one, two in zip(pose.turns, other.turns, strict=True):
        assert quat_angle(one, two) < 1e-4


@pytest.mark.parametrize("number", [inf, -inf, nan, 1.79e308])
def test_a_goal_that_is_no_place_is_refused(number: float) -> None:
    body = Figurine()
    goals = body.drag("Forearm.L", ORIGIN)
    goals[-1] = goals[-1]._replace(location=(0.0, number, 0.0))
    with pytest.raises(OverflowError, match="not finite"):
        body.solve(goals)


def test_a_body_is_refused_that_is_none() -> None:
    with pytest.raises(ValueError, match="needs a bone"):
        WholeBody([])
    with pytest.raises(ValueError, match="must come before"):
        WholeBody([WholeBodyJoint(0, ORIGIN, QUAT_IDENTITY)])
    with pytest.raises(ValueError, match="needs a size"):
        WholeBody([WholeBodyJoint(-1, ORIGIN, QUAT_IDENTITY)]).solve(
            [WholeBodyGoal(0, ORIGIN, DRAGGED, location=UP)]
        )


# What people resist beside: in one direction, over joints, with their weight, and for a price


def finger(
    resistances: Sequence[Resistance] = (), links: Sequence[Link] = (), count: int = 4
) -> WholeBody:
    """Return bones of length 1 along X that all rotate; the first resists more."""
    joints = [
        WholeBodyJoint(
            i - 1,
            (float(i), 0.0, 0.0),
            QUAT_IDENTITY,
            resistances=resistances if i == 0 else (),
            mass=1.0,
            center=(i + 0.5, 0.0, 0.0),
        )
        for i in range(count)
    ]
    return WholeBody(joints, links)


def tip_to(body: WholeBody, way: Vec, weight: float = 1.0) -> list[WholeBodyGoal]:
    count = len(body.joints)
    tip = (float(count), 0.0, 0.0)
    return [WholeBodyGoal(count - 1, tip, DRAGGED, location=add(tip, way), weight=weight)]


REFERENCES: dict[str, tuple[WholeBody, Vec, float, tuple[float, ...]]] = {
    "nothing more": (finger(), (-3.0, 3.6, 0.0), 1.0, (0.7252, 0.5075, 0.3070, 0.1425)),
    "the side that resists less": (
        finger([Resistance(UP, [(0.0, 10.0)], [])]),
        (-3.0, 3.6, 0.0),
        1.0,
        (0.7252, 0.5075, 0.3070, 0.1425),
    ),
    "the side that resists more": (
        finger([Resistance(UP, [(0.0, 10.0)], [])]),
        (-3.0, -3.6, 0.0),
        1.0,
        (-0.6553, -0.7922, -0.0774, -0.0075),
    ),
    "a range with a soft end": (
        finger([Resistance(UP, [], [(0.5, 100.0)])]),
        (-3.0, 3.6, 0.0),
        1.0,
        (0.6530, 0.8235, 0.0377, 0.0020),
    ),
    "two joints that are linked": (
        finger(links=[Link([0, 3], [UP, scaled(UP, -1.0)], 0.0, 0.0, 100.0)]),
        (-3.0, 3.6, 0.0),
        1.0,
        (0.9335, 0.4609, -0.3695, 0.8397),
    ),
    "a price that is paid": (finger(), (-3.0, 3.6, 0.0), 5e-4, (0.7252, 0.5075, 0.3070, 0.1425)),
    "a price out of reach": (finger(), (-6.0, 7.2, 0.0), 5e-4, (1.4605, 0.3516, 0.0823, 0.0183)),
    "a tenth of it": (finger(), (-6.0, 7.2, 0.0), 5e-5, (0.7551, 0.5056, 0.2956, 0.1343)),
}
"""A body, a drag with its weight, and the angles about Z that SciPy found with the same energy."""


@pytest.mark.parametrize("case", REFERENCES)
def test_the_pose_costs_least_with_all_that_resists(case: str) -> None:
    body, way, weight, expected = REFERENCES[case]
    pose = body.solve(tip_to(body, way, weight))
    angles = [quat_log(turn)[2] for turn in pose.turns]
    assert angles == pytest.approx(expected, abs=2e-3)


def test_weight_moves_less_where_something_holds_it() -> None:
    body = Figurine()
    goals = body.drag("Head", (0.0, -0.3, -0.3))
    support = Support([body.tails[f"Shin.{side}"] for side in "LR"], UP, 1e5)
    free, held = body.solve(goals), body.solve(goals, support)
    mass = sum(joint.mass for joint in body.joints)
    start = sum(joint.mass * joint.center[1] for joint in body.joints) / mass
    assert free.center is not None
    assert held.center is not None
    assert abs(held.center[1] - start) < 0.5 * abs(free.center[1] - start)
    assert max(held.misses) < 1e-4


def test_the_gradient_is_that_of_the_energy() -> None:
    """With resistances, links and weight, against differences."""
    resistances = [
        Resistance((1.0, 0.0, 0.0), [(0.0, 3.0), (0.1, 20.0)], [(0.05, 7.0)]),
        Resistance(UP, [(0.0, 2.0)], [(0.0, 5.0)]),
    ]
    links = [
        Link([0, 1], [UP, (0.0, 0.5, 0.0)], -inf, 0.1, 4.0),
        Link([0, 2], [UP, scaled(UP, -1.0)], 0.0, 0.0, 4.0),
    ]
    whole = finger(resistances, links, 3)
    body = Articulation(whole.joints, [2], ORIGIN, 1.0, is_balanced=True)
    springs = [Spring(goal, body, None) for goal in tip_to(whole, (-0.5, 1.0, 0.3), 1e-3)]
    support = Support([(1.0, 0.1, 0.0), (1.2, -0.1, 0.0), (1.1, 0.3, 0.0)], UP, 30.0)
    search = Search(body, springs, support, links)
    for spring in springs:
        spring.stretch(1.0)
    random = Random(3)

    def turned(axis: Vec, angle: float, pose: Placement, joint: int) -> Placement:
        turns = list(pose.turns)
        turns[joint] = quat_product(turns[joint], quat_about(axis, angle))
        after = Placement(list(pose.moved), turns)
        body.place(after)
        return after

    for _ in range(5):
        turns = [quat_about(way_of(random, 1.0, 1.0), random.uniform(0.1, 0.8)) for _ in range(3)]
        pose = Placement([ORIGIN] * 3, turns)
        body.place(pose)
        downhill = search._linearize(pose)
        for joint in range(3):
            for k, axis in enumerate(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), UP)):
                up, down = (
                    search._energy(turned(axis, step, pose, joint)) for step in (1e-5, -1e-5)
                )
                assert -downhill[joint][k] == pytest.approx((up - down) / 2e-5, rel=1e-3, abs=1e-3)
