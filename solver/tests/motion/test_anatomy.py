"""The kind of a skeleton is recognized whatever its names, units and direction are."""

from collections.abc import Callable, Sequence
from itertools import chain
from math import cos, sin
from typing import Any

import pytest
from animals import ANIMALS, CREATURES, THINGS, Joint, both, line

from fabrik_solver import COMPILED
from fabrik_solver.core.vectors import Vec, add, dot, scaled, sub
from fabrik_solver.motion.anatomy import (
    UP,
    Limb,
    Names,
    RestBone,
    floor_below,
    part_of,
    recognize,
    side_of,
    words_of,
)
from fabrik_solver.motion.anatomy import chain as chains

CRAB, HUMAN, INSECT, LIZARD, QUADRUPED, SCORPION, SHARK, SNAKE, STAG, TREX, WOLF = (
    CREATURES[name].joints
    for name in (
        *("crab", "human", "insect", "lizard", "quadruped"),
        *("scorpion", "shark", "snake", "stag", "trex", "wolf"),
    )
)
HUMAN_LIMBS, QUADRUPED_LIMBS = (CREATURES[name].limbs for name in ("human", "quadruped"))


def bones_of(
    joints: list[Joint], yaw: float = 0.0, scale: float = 1.0, nameless: bool = False
) -> list[RestBone]:
    """Return the bones of joints, turned about the vertical and scaled."""
    places = {name: i for i, (name, _, _) in enumerate(joints)}
    found: list[RestBone] = []
    for name, parent, (x, y, z) in joints:
        head = (
            scale * (x * cos(yaw) - y * sin(yaw)),
            scale * (x * sin(yaw) + y * cos(yaw)),
            scale * z,
        )
        tail = (head[0], head[1] + 24.0, head[2])  # As importers guess it.
        known = "" if nameless else name
        found.append(RestBone(known, places.get(parent, -1), head, tail))
    return found


def told(
    joints: list[Joint], limbs: tuple[Limb, ...]
) -> set[tuple[str, int, tuple[str, ...], str]]:
    """Return kind, side, the bones' names and the end of each limb."""
    names = [name for name, _, _ in joints]
    return {
        (limb.kind, limb.side, tuple(names[i] for i in limb.bones), names[limb.end])
        for limb in limbs
    }


@pytest.mark.parametrize("scale", [1.0, 100.0, 0.01])
@pytest.mark.parametrize("yaw", [0.0, 1.0, 3.0])
@pytest.mark.parametrize(
    ("joints", "limbs"), [(HUMAN, HUMAN_LIMBS), (QUADRUPED, QUADRUPED_LIMBS)], ids=["human", "quad"]
)
def test_limbs_and_front_are_found_by_names_of_sides(
    joints: list[Joint], limbs: object, yaw: float, scale: float
) -> None:
    anatomy = recognize(bones_of(joints, yaw, scale))
    names = [name for name, _, _ in joints]
    assert told(joints, anatomy.limbs) == limbs
    assert anatomy.evidence and dot(anatomy.front, (sin(yaw), -cos(yaw), 0.0)) > 0.999
    assert (names[anatomy.hips], names[anatomy.head]) == ("hips", "head")
    assert names[anatomy.spine[-1]] == "neck" and len(anatomy.spine) == 3
    assert anatomy.height == pytest.approx(scale * max(head[2] for _, _, head in joints))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("joints", "limbs"), [(HUMAN, HUMAN_LIMBS), (QUADRUPED, QUADRUPED_LIMBS)], ids=["human", "quad"]
)
def test_without_names_symmetry_and_feet_tell(
    joints: list[Joint], limbs: object, backward: bool
) -> None:
    anatomy = recognize(bones_of(joints, 3.141592653589793 if backward else 0.0, nameless=True))
    assert told(joints, anatomy.limbs) == limbs
    assert anatomy.front[1] == pytest.approx(1.0 if backward else -1.0)
    assert joints[anatomy.head][0] == "head" and joints[anatomy.hips][0] == "hips"


def viewed(joints: list[Joint]) -> list[Joint]:
    """Return joints whose names have the sides of a viewer in front of the figure."""
    other = {".L": ".R", ".R": ".L"}

    def name_of(name: str) -> str:
        return name[:-2] + other.get(name[-2:], name[-2:])

    return [(name_of(name), name_of(parent), head) for name, parent, head in joints]


def without(joints: list[Joint], *words: str) -> list[Joint]:
    return [joint for joint in joints if not joint[0].startswith(words)]


@pytest.mark.parametrize(
    "joints",
    [HUMAN, QUADRUPED, without(QUADRUPED, "hoof", "claw")],
    ids=["human", "quad", "quad without toes"],
)
@pytest.mark.parametrize("yaw", [0.0, 2.0])
def test_the_sides_of_a_viewer_are_exchanged_where_feet_or_head_point_ahead(
    joints: list[Joint], yaw: float
) -> None:
    named = recognize(bones_of(joints, yaw))
    anatomy = recognize(bones_of(viewed(joints), yaw))
    assert anatomy.evidence == named.evidence == "NAMES"
    assert dot(anatomy.front, (sin(yaw), -cos(yaw), 0.0)) > 0.99
    assert anatomy.limbs == named.limbs and anatomy.sureness == named.sureness


def test_names_of_sides_count_where_nothing_points_ahead() -> None:
    joints = viewed(without(HUMAN, "toe"))
    assert recognize(bones_of(joints)).front[1] == pytest.approx(1.0)
    # A foot that points ahead is enough to trust them.
    turned: list[Joint] = [
        (name, parent, (x, 0.17 if name == "toe.L" else y, z)) for name, parent, (x, y, z) in HUMAN
    ]
    assert recognize(bones_of(turned)).front[1] == pytest.approx(-1.0)


def test_neither_an_odd_leg_nor_a_sensor_is_the_head() -> None:
    legs = both(
        line(
            "hub",
            "hip leg1 leg2 leg3",
            (0.2, -0.1, 1.1),
            (0.5, -0.3, 1.3),
            (0.9, -0.5, 0.6),
            (0.8, -0.4, 0.0),
        )
    )
    hub: Joint = ("hub", "", (0.0, 0.0, 1.2))
    third = line("hub", "leg1 leg2 leg3", (0.0, 0.2, 1.3), (0.0, 0.6, 0.6), (0.0, 0.5, 0.0))
    sensor: Joint = ("imu", "hub", (0.0, 0.0, 1.2))
    for beside in (third, [sensor], [*third, sensor]):
        anatomy = recognize(bones_of([hub, *legs, *beside]))
        assert len(anatomy.limbs) == 2 and anatomy.head == -1
        assert "HEAD" in anatomy.missing()


def test_a_bone_that_leads_aside_to_the_leg_is_no_thigh_whatever_its_name() -> None:
    joints: list[Joint] = []
    for name, parent, head in QUADRUPED:
        above = parent
        if name.startswith("thigh"):
            above = f"femur{name[-2:]}"
            joints.append((above, parent, (0.0, 0.48, 0.9)))
        joints.append((name, above, head))
    assert told(joints, recognize(bones_of(joints)).limbs) == QUADRUPED_LIMBS


def test_forelegs_begin_ahead_of_other_legs() -> None:
    for joints, fore in ((QUADRUPED, {"humerus.L", "humerus.R"}), (HUMAN, set()), (INSECT, set())):
        limbs = recognize(bones_of(joints)).limbs
        assert {joints[limb.bones[0]][0] for limb in limbs if limb.is_foreleg} == fore


def test_bones_for_control_and_clothes_are_no_limbs() -> None:
    extra: list[Joint] = both(
        [
            ("IK-foot", "root", (0.1, 0.03, 0.09)),
            ("roll", "root", (0.1, -0.25, 0.03)),
            ("roll2", "roll", (0.1, 0.12, 0.03)),
            ("roll3", "roll2", (0.1, -0.1, 0.03)),
            ("roll4", "roll3", (0.1, 0.03, 0.1)),
            ("ear", "head", (0.08, 0.0, 1.7)),
            ("ear2", "ear", (0.1, 0.0, 1.8)),
            ("ear3", "ear2", (0.1, 0.0, 1.95)),
        ]
    )
    joints = HUMAN + extra
    assert told(joints, recognize(bones_of(joints)).limbs) == HUMAN_LIMBS


@pytest.mark.parametrize("loose", ["thigh", "upper_arm", "spine"])
def test_what_has_no_parent_is_part_of_the_body_if_it_has_the_limbs_that_the_rest_lacks(
    loose: str,
) -> None:
    parentless = [
        (name, "" if name.startswith(loose) else parent, head) for name, parent, head in HUMAN
    ]
    # A doll in the hand has limbs as well, and a root of its own.
    doll = [
        (f"doll_{name}", parent and f"doll_{parent}", (0.1 * x + 0.8, 0.1 * y, 0.1 * z + 1.4))
        for name, parent, (x, y, z) in HUMAN
        if name not in ("root", "hips", "spine", "chest", "neck", "head")
    ]
    for joints in (parentless, parentless + [joint for joint in doll if "thumb" not in joint[0]]):
        anatomy = recognize(bones_of(joints, 0.7))
        assert told(joints, anatomy.limbs) == HUMAN_LIMBS
        assert joints[anatomy.head][0] == "head"
        assert dot(anatomy.front, (sin(0.7), -cos(0.7), 0.0)) > 0.99
        hips = joints[anatomy.hips][0] if anatomy.hips >= 0 else ""
        assert hips == ("" if loose == "thigh" else "hips")


@pytest.mark.parametrize("first", ["upper_arm", "forearm", "hand"])
def test_fingers_of_a_hand_that_is_all_there_is_are_no_limbs(first: str) -> None:
    arm = ["upper_arm", "forearm", "hand"]
    heads = [(0.18, 0.0, 1.44), (0.46, 0.03, 1.44), (0.72, 0.0, 1.44)]
    joints = line("", " ".join(arm[arm.index(first) :]), *heads[arm.index(first) :])
    for k, name in enumerate(("index", "middle", "ring", "pinky")):
        knuckles = [(0.82 + 0.04 * i, 0.02 * k, 1.44 - 0.004 * i) for i in range(3)]
        joints += line("hand", " ".join(f"{name}_{i}" for i in range(3)), *knuckles)
    joints += line("hand", "thumb_0 thumb_1", (0.74, -0.03, 1.43), (0.77, -0.06, 1.42))
    anatomy = recognize(bones_of(joints))
    assert (anatomy.limbs, anatomy.head) == ((), -1)


def hand_of(turn: Callable[[Vec], Vec], sizes: Sequence[float]) -> list[RestBone]:
    """Return a hand alone without names, turned; each finger has three bones of a length."""
    bones = [RestBone("Bone", -1, turn((0.0, -0.1, 0.0)), turn((0.0, 0.0, 0.0)))]
    for k, size in enumerate(sizes):
        x, y = 0.02 * k - 0.04, 0.0 if k else -0.06
        for i in range(3):
            head = turn((x - (0.0 if k else 0.3 * size * i), y + size * i, -0.004 * i * i))
            parent = 0 if i == 0 else len(bones) - 1
            bones.append(RestBone(f"Bone.{len(bones):03}", parent, head, add(head, (0, 0, 0.02))))
    return bones


@pytest.mark.parametrize("sizes", [(0.025, 0.033, 0.037, 0.033, 0.025), (0.03, 0.035, 0.035, 0.03)])
@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("way", ["ahead", "up", "down", "aside"])
def test_a_hand_alone_without_names_is_no_figure(
    way: str, is_held: bool, sizes: Sequence[float]
) -> None:
    """Fingers that point down end as the feet of a table do, but in a row."""
    turns: dict[str, Callable[[Vec], Vec]] = {
        "ahead": lambda p: (-p[0], -p[1], p[2]),
        "up": lambda p: (p[0], -p[2], p[1]),
        "down": lambda p: (p[0], p[2], -p[1]),
        "aside": lambda p: (p[1], -p[0], p[2]),
    }
    bones = hand_of(turns[way], sizes)
    if is_held:  # By one bone.
        arm = RestBone("Arm", -1, turns[way]((0.0, -0.4, 0.0)), bones[0].head)
        bones = [arm, *(bone._replace(parent=bone.parent + 1) for bone in bones)]
    found = recognize(bones)
    assert found.limbs == () and found.head == -1
    assert found.hands == (int(is_held),)


def test_two_hands_that_one_bone_carries_each_are_no_figure() -> None:
    one = hand_of(lambda p: (p[0] + 0.3, -p[1], p[2] + 1.0), (0.025, 0.033, 0.037, 0.033, 0.025))
    bones = [RestBone("root", -1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.1))]
    for side, sign in (("L", 1), ("R", -1)):
        start = len(bones)
        bones.append(RestBone(f"arm.{side}", 0, (0.3 * sign, 0.4, 1.0), (0.3 * sign, 0.1, 1.0)))
        for name, parent, (x, y, z), *_ in one:
            head = (sign * x, y, z)
            bones.append(RestBone(f"{name}.{side}", start + parent + 1, head, add(head, UP)))
    found = recognize(bones)
    assert found.limbs == () and len(found.hands) == 2
    assert [(limb.kind, bones[limb.bones[0]].name) for limb in found.stiff] == [
        ("ARM", "arm.L"),
        ("ARM", "arm.R"),
    ]


def figure_of_blocks(is_named: bool) -> list[RestBone]:
    """Return a figure each of whose limbs is one bone, of the upper body."""
    parts: list[tuple[str, Vec, Vec]] = [("head", (0.0, 0.0, 1.5), (0.0, 0.0, 2.0))]
    for side, sign in (("L", 1.0), ("R", -1.0)):
        parts.append((f"arm.{side}", (0.3 * sign, 0.0, 1.4), (0.3 * sign, 0.0, 0.75)))
        parts.append((f"leg.{side}", (0.12 * sign, 0.0, 0.75), (0.12 * sign, 0.0, 0.0)))
    return [
        RestBone("body", -1, (0.0, 0.0, 0.75), (0.0, 0.0, 1.5)),
        *(
            RestBone(name if is_named else f"b{i}", 0, head, tail)
            for i, (name, head, tail) in enumerate(parts)
        ),
    ]


def test_limbs_of_one_bone_are_told() -> None:
    found = recognize(figure_of_blocks(True))
    stiff = [(limb.kind, limb.side, limb.bones) for limb in found.stiff]
    assert stiff == [("ARM", 1, (2,)), ("LEG", 1, (3,)), ("ARM", -1, (4,)), ("LEG", -1, (5,))]
    assert found.limbs == () and found.missing() == []
    assert recognize(figure_of_blocks(False)).missing() == ["LEGS", "ARMS", "HEAD"]


def test_a_foot_or_hand_after_one_bone_makes_no_limb_that_bends() -> None:
    bones = figure_of_blocks(True)
    for i, end in ((2, "hand.L"), (4, "hand.R")):
        tail = bones[i].tail
        bones.append(RestBone(end, i, tail, add(tail, (0.0, 0.0, -0.1))))
        bones.append(RestBone(f"tool{end[-2:]}", len(bones) - 1, tail, add(tail, UP)))
    found = recognize(bones)
    assert found.limbs == ()
    assert [limb.end for limb in found.stiff if limb.kind == "ARM"] == [6, 8]


def test_what_a_face_carries_is_no_arm_and_no_trunk() -> None:
    """As in Rigify's human, whose head is the last bone of its spine."""
    face: list[Joint] = [
        ("face", "head", (0.0, -0.05, 1.6)),
        ("tongue", "face", (0.0, -0.1, 1.6)),
        ("tongue2", "tongue", (0.0, -0.08, 1.6)),
        *both(
            [
                ("forehead", "face", (0.02, -0.1, 1.75)),
                ("temple", "forehead", (0.08, 0.0, 1.75)),
                ("temple2", "temple", (0.08, 0.0, 1.65)),
                ("lower", "temple2", (0.05, -0.05, 1.58)),
            ]
        ),
    ]
    joints = [
        ("spine6" if name == "head" else name, "spine6" if above == "head" else above, head)
        for name, above, head in HUMAN + face
    ]
    anatomy = recognize(bones_of(joints))
    assert told(joints, anatomy.limbs) == HUMAN_LIMBS
    assert joints[anatomy.head][0] == "spine6"


def short(bones: list[RestBone]) -> list[RestBone]:
    """Return bones with short tails, as an importer leaves them that does not guess them."""
    return [bone._replace(tail=(bone.head[0], bone.head[1], bone.head[2] + 0.01)) for bone in bones]


def test_animals_without_feet_have_legs_and_that_is_said() -> None:
    wolf = recognize(short(bones_of(WOLF)))
    assert told(WOLF, wolf.limbs) == {
        ("LEG", side, tuple(f"{name}.{letter}" for name in bones), f"{end}.{letter}")
        for side, letter in ((1, "L"), (-1, "R"))
        for *bones, end in (
            ("FrontShoulder", "FrontUpperLeg", "FrontLowerLeg"),
            ("BackLeg", "BackUpperLeg", "BackLowerLeg"),
        )
    }
    assert wolf.missing() == ["FEET"] and WOLF[wolf.head][0] == "Head"
    whole = recognize(bones_of(WOLF))  # With tails where the paws are, they reach with these.
    assert {WOLF[limb.bones[-1]][0][:-2] for limb in whole.limbs} == {
        "FrontLowerLeg",
        "BackLowerLeg",
    }


def test_feet_that_are_off_the_ground_are_hands() -> None:
    trex = recognize(short(bones_of(TREX)))
    kinds = {TREX[limb.end][0][:-2]: limb.kind for limb in trex.limbs}
    assert kinds == {"FrontFoot": "ARM", "BackLowLeg": "LEG"}
    assert trex.missing() == ["FEET"]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Bip001 L UpArmTwist", "UPPER_ARM"),
        ("lShldrBend", "GIRDLE"),
        ("LUArm", "UPPER_ARM"),
        ("Skeleton_RFArm", "FOREARM"),
        ("rknee", "SHIN"),
        ("左足首", "FOOT"),
        ("左手捩", "FOREARM"),
        ("lforearmtwist", "FOREARM"),
        ("twistcalf_r", "SHIN"),
        ("mixamorig:LeftHandIndex1", "FINGER"),
        ("CATRigLArmCollarbone", "GIRDLE"),
        ("Back_Leg_Upper.L", "THIGH"),
        ("LeftUpLeg", "THIGH"),
        ("ForeLeg_L", "LEG"),
        ("frontupleg_l", "THIGH"),
        ("hindpaw.L", "FOOT"),
        ("rlowerarmtwist", "FOREARM"),
        ("forehead", ""),
        ("LeftForeArm", "FOREARM"),
        ("Ear1.L", "OTHER"),
        ("Armor", ""),
        ("foot_rope_L", "OTHER"),
        ("MiddleLeg2_L", "LEG"),
        ("tibia_middle.L", "SHIN"),
        ("HandMiddle1.L", "FINGER"),
        ("claw_arm.L", "ARM"),
        ("side_fins.L", "OTHER"),
        ("upleg.L", "THIGH"),
        ("loleg.L", "SHIN"),
        ("LoArm_R", "FOREARM"),
        ("shank_l", "SHIN"),
    ],
)
def test_names_tell_a_part(name: str, part: str) -> None:
    assert part_of(words_of(name)) == part


@pytest.mark.parametrize(
    ("first", "second", "is_split"),
    [
        ("upperarm01.L", "upperarm02.L", True),
        ("lShldrBend", "lShldrTwist", True),
        ("forearm.L", "lowerarm_helper.L", True),
        ("Bone.001", "Bone.002", False),
        ("upper_arm.L", "forearm.L", False),
        ("elbow_pitch.L", "elbow_yaw.L", False),
        ("leg_coxa.L", "leg_femur.L", False),
    ],
)
def test_a_bone_in_line_is_split_if_its_parts_are_the_same_bone_of_a_limb(
    first: str, second: str, is_split: bool
) -> None:
    line = [(0.0, 0.0, 1.0), (0.0, 0.0, 0.5), (0.0, 0.0, 0.0)]
    bones = [RestBone(name, i - 1, *line[i : i + 2]) for i, name in enumerate((first, second))]
    assert Names(bones).is_split(0, 1, line) == is_split


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("mixamorig:LeftUpLeg", 1),
        ("thigh.R.001", -1),
        ("upperarm_l", 1),
        ("J_Bip_R_UpperArm", -1),
        ("Bip01 L Thigh", 1),
        ("LHipJoint", 1),
        ("rThighBend", -1),
        ("LFArm", 1),
        ("rt_arm_jnt", -1),
        ("lt_arm_jnt", 1),
        ("j_hip_le", 1),
        ("muslo_izq", 1),
        ("Oberarm_rechts", -1),
        ("rknee", -1),
        ("右ひざ", -1),
        ("b_RightLeg01_019", -1),
        ("Left", 1),
        ("left_r_leg_top", 1),
        ("right_l_thigh", -1),
        ("left:Spine", 0),
        ("Roll", 0),
        ("control_lr_l_r", 0),
    ],
)
def test_names_tell_a_side(name: str, side: int) -> None:
    assert side_of(name) == side


@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_is_no_figure_has_no_limbs(count: int) -> None:
    bones = [RestBone("bone", i - 1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)) for i in range(count)]
    anatomy = recognize(bones)
    assert (anatomy.limbs, anatomy.hips, anatomy.evidence) == ((), -1, "")
    assert anatomy.front == (0.0, -1.0, 0.0)


WORN = {**THINGS, "all": [*chain.from_iterable(THINGS.values())], "nothing": []}
"""What the human wears or bears."""


@pytest.mark.parametrize("known", ["nothing", "number", "side"])
@pytest.mark.parametrize("has_fingers", [True, False])
@pytest.mark.parametrize("thing", WORN)
def test_what_a_figure_wears_is_neither_limb_nor_head_whatever_its_name(
    thing: str, has_fingers: bool, known: str
) -> None:
    fingers = () if has_fingers else ("finger", "thumb")
    joints = [one for one in HUMAN if not one[0].startswith(fingers or "-")] + WORN[thing]
    bones = [
        bone._replace(
            name=""
            if known == "nothing"
            else f"Bone.{i:03}"
            if known == "number" or joints[i][0][-2:] not in (".L", ".R")
            else f"Bone{'abcdefghijkmnopqstuvwxyz'[sum(map(ord, joints[i][0][:-2])) % 24]}"
            + joints[i][0][-2:]
        )
        for i, bone in enumerate(bones_of(joints))
    ]
    anatomy = recognize(bones)
    assert told(joints, anatomy.limbs) == HUMAN_LIMBS
    assert joints[anatomy.head][0] == "head"


@pytest.mark.parametrize("bone", ["chest", "head", "hips"])
def test_forty_pairs_of_tassels_are_neither_limbs_nor_take_long(bone: str) -> None:
    """A search through all labels took seconds for sixteen."""
    _, y, z = next(head for name, _, head in HUMAN if name == bone)
    tassels = [
        joint
        for i in range(40)
        for joint in line(
            bone,
            " ".join(f"tassel{i}_{k}" for k in range(4)),
            *[(0.05 + 0.1 * k, y + 0.05 + 0.004 * i, z - 0.12 * k * (i % 2)) for k in range(4)],
        )
    ]
    anatomy = recognize(bones_of(HUMAN + both(tassels), nameless=True))
    assert told(HUMAN, anatomy.limbs) == HUMAN_LIMBS


@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("name", ANIMALS)
def test_limbs_of_animals_are_told_from_ears_antlers_plates_and_spikes(
    name: str, nameless: bool
) -> None:
    joints, ends = ANIMALS[name]
    anatomy = recognize(bones_of(joints, nameless=nameless))
    assert {joints[limb.end][0][:-2]: limb.kind for limb in anatomy.limbs} == ends
    assert len(anatomy.limbs) == 4 and joints[anatomy.head][0] == "Head"
    assert anatomy.sureness > 0.8 and not anatomy.missing() and not anatomy.standing


def test_legs_of_a_nameless_animal_whose_paws_are_elsewhere_are_legs_without_feet() -> None:
    wolf = recognize(short(bones_of(WOLF, nameless=True)))
    assert {WOLF[limb.end][0][:-2]: limb.kind for limb in wolf.limbs} == {
        "FrontLowerLeg": "LEG",
        "BackLowerLeg": "LEG",
    }
    assert wolf.missing() == ["FEET"]
    trex = recognize(short(bones_of(TREX, nameless=True)))
    assert {TREX[limb.bones[0]][0][:-2]: limb.kind for limb in trex.limbs} == {
        "FrontLeg": "ARM",
        "BackLeg": "LEG",
    }


def test_what_stands_beside_the_legs_is_told() -> None:
    """Such as forelegs, one with a bone missing."""
    joints = [joint for joint in STAG if not joint[0].startswith(("FrontHoof", "FrontLowerLeg.R"))]
    joints.append(("FrontLowerLeg.L2", "FrontLowerLeg.L", (0.14, -0.36, 0.02)))
    anatomy = recognize(bones_of(joints, nameless=True))
    assert {joints[limb.end][0][:-2] for limb in anatomy.limbs} == {"BackHoof"}
    assert [joints[i][0] for i in anatomy.standing] == ["FrontLowerLeg.L2"]


def renamed(joints: list[Joint], **names: str) -> list[Joint]:
    """Return joints with other names, whose sides stay."""

    def other(name: str) -> str:
        stem, dot_, side = name.partition(".")
        return names.get(stem, stem) + dot_ + side

    return [(other(name), other(parent), head) for name, parent, head in joints]


def test_the_bones_of_an_arm_may_only_be_numbered() -> None:
    """The first of three is the clavicle by its length, although the arm is straight."""
    joints = [
        (name, parent, (x, 0.03, z) if name.startswith(("forearm", "upper_arm")) else (x, y, z))
        for name, parent, (x, y, z) in HUMAN
    ]
    joints = renamed(joints, clavicle="arm1", upper_arm="arm2", forearm="arm3")
    assert told(joints, recognize(bones_of(joints)).limbs) == {
        ("ARM", 1, ("arm2.L", "arm3.L"), "hand.L"),
        ("ARM", -1, ("arm2.R", "arm3.R"), "hand.R"),
        *(limb for limb in HUMAN_LIMBS if limb[0] == "LEG"),
    }


@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("offset", [0.0, 0.001, 0.12])
def test_the_arm_of_a_robot_is_an_upper_arm_and_a_forearm(offset: float, nameless: bool) -> None:
    """A roll joint after a pitch joint doesn't twist it."""
    arm = ("ShoulderPitch", "ShoulderRoll", "ElbowPitch", "Gripper", "Jaw")
    ways = ((0.18 - offset, 0.03), (0.18, 0.03 + offset / 12.0), (0.46, 0.05), (0.72, 0.03))
    heads = [(x, y, 1.44) for x, y in (*ways, (0.82, 0.03))]
    arms = ("clavicle", "upper_arm", "forearm", "hand", "finger", "finger2", "thumb")
    joints = [joint for joint in HUMAN if joint[0][:-2] not in arms]
    joints += both(line("chest", " ".join(arm), *heads))
    anatomy = recognize(bones_of(joints, nameless=nameless))
    assert told(joints, anatomy.limbs) - HUMAN_LIMBS == {
        ("ARM", side, (f"ShoulderRoll.{letter}", f"ElbowPitch.{letter}"), f"Gripper.{letter}")
        for side, letter in ((1, "L"), (-1, "R"))
    }


@pytest.mark.parametrize(
    ("names", "shares", "count"),
    [
        ("upper_arm arm_twist forearm wrist_twist wrist", (0.5, 1.0), 4),
        ("Arm ArmRoll ForeArm HandRoll Hand", (0.5, 1.0), 4),
        ("upperarm twist_arm lowerarm twist_hand hand", (0.5, 1.0), 4),
        ("upper_arm upper_twist forearm hand_twist_1 hand_twist_2 hand", (0.3, 0.6, 1.0), 5),
        ("upperarm upperarmtwist forearm handtwist hand", (0.5, 1.0), 4),
        ("arm elbow_twist elbow wrist_twist wrist", (0.5, 1.0), 4),
        ("arm1 arm1_twist arm2 hand_twist hand", (0.5, 1.0), 4),
        ("arm1 arm1_twist arm2 forearm_twist hand", (0.5, 1.0), 4),
        ("upper_arm arm_twist forearm hand_tw hand", (0.5, 1.0), 4),
        ("upper_arm arm_twist forearm hand_rot_1 hand_rot_2 hand", (0.3, 0.6, 1.0), 5),
        ("thigh thigh_twist shin foot_rot foot", (0.5, 1.0), 4),
        ("upper_arm arm_twist forearm hand_roll", (1.0,), 3),
        ("upper_arm arm_twist forearm hand_roll hand", (1.0, 1.0), 3),
        ("thigh thigh_twist shin foot_twist foot", (0.5, 1.0), 4),
        ("thigh thigh_twist shin foot_twist foot", (0.9, 1.0), 4),
        ("thigh thightwist calf foottwist foot", (0.5, 1.0), 4),
        ("thigh thigh_twist shin foot_roll", (1.0,), 3),
        ("thigh thigh_twist shin foot_roll pivot foot", (1.0, 1.0, 1.0), 3),
    ],
)
def test_what_twists_before_a_hand_or_foot_is_none(
    names: str, shares: Sequence[float], count: int
) -> None:
    """What rolls it at its own joint is, as is what no other bone comes after.

    Args:
        names: The bones of the limb, with hand or foot.
        shares: Where those after the lower bone begin, as fractions of it.
        count: The number of bones that lead to the hand or foot.
    """
    *bones, end = names.split()[: count + 1]
    is_leg = "foot" in names
    old = ("thigh", "shin", "foot", "toe") if is_leg else ("upper_arm", "forearm", "hand", "finger")
    places = {name: head for name, _, head in HUMAN}
    hip, knee, ankle, toe = (places[f"{name}.L"] for name in old)

    def between(a: Vec, b: Vec, share: float) -> Vec:
        return add(a, scaled(sub(b, a), share))

    heads = [hip, between(hip, knee, 0.5), knee, *(between(knee, ankle, x) for x in shares), toe]
    gone = (*old, "finger2", "thumb")
    joints = [(n, p, h) for n, p, h in HUMAN if p[:-2] not in gone and n[:-2] not in gone]
    limb = line("", f"{names} {old[3]}", *heads)
    for suffix, mirror in ((".L", 1.0), (".R", -1.0)):
        parent = "hips" if is_leg else "clavicle" + suffix
        joints += [
            (n + suffix, p + suffix if p else parent, (mirror * x, y, z))
            for n, p, (x, y, z) in limb
        ]
    kind = "LEG" if is_leg else "ARM"
    assert {one for one in told(joints, recognize(bones_of(joints)).limbs) if one[0] == kind} == {
        (kind, side, tuple(bone + suffix for bone in bones), end + suffix)
        for side, suffix in ((1, ".L"), (-1, ".R"))
    }


def test_two_hips_are_those_of_the_legs_whatever_their_sides_are_called() -> None:
    joints = renamed(HUMAN, thigh="hip", shin="knee", foot="ankle")
    sides = {".L": "_venstre", ".R": "_hoeyre"}
    bones = [
        bone._replace(name=bone.name[:-2] + sides.get(bone.name[-2:], bone.name[-2:]))
        for bone in bones_of(joints)
    ]
    anatomy = recognize(bones)
    assert anatomy.evidence == "AXIS" and not anatomy.missing()
    legs = {limb for limb in told(joints, anatomy.limbs) if limb[0] == "LEG"}
    assert legs == {
        ("LEG", side, (f"hip.{letter}", f"knee.{letter}"), f"ankle.{letter}")
        for side, letter in ((1, "L"), (-1, "R"))
    }


def test_a_twist_bone_in_a_leg_is_no_ankle() -> None:
    joints = [
        (name, "CannonTwist" + parent[-2:] if name.startswith("Foot") else parent, head)
        for name, parent, head in ANIMALS["raptor"][0]
    ]
    at = next(k for k, joint in enumerate(joints) if joint[0] == "Foot.L")
    joints[at:at] = both([("CannonTwist", "Cannon", (0.16, 0.125, 0.2))])
    joints = [(n, p + n[-2:] if n.startswith("CannonT") else p, h) for n, p, h in joints]
    found = recognize(parents_first(joints))
    names = [bone.name for bone in parents_first(joints)]
    assert [names[leg.end] for leg in found.limbs if leg.kind == "LEG"] == ["Foot.L", "Foot.R"]


def parents_first(joints: list[Joint]) -> list[RestBone]:
    """Return the bones of joints in any order."""
    known = {name: parent for name, parent, _ in joints}

    def depth(name: str) -> int:
        return 1 + depth(known[name]) if name else 0

    return bones_of(sorted(joints, key=lambda joint: depth(joint[0])))


def test_what_is_worn_leads_to_no_head() -> None:
    cape = line("thorax", "cape1 cape2 cape3", (0.0, 0.0, 0.2), (0.0, 0.1, 0.22), (0.0, 0.2, 0.24))
    assert recognize(bones_of([*SCORPION, *cape])).head == recognize(bones_of(SCORPION)).head


@pytest.mark.parametrize("hangs", [False, True])
def test_the_only_arm_of_a_nameless_figure_does_not_lead_to_its_head(hangs: bool) -> None:
    arm = ("clavicle", "upper_arm", "forearm", "hand", "finger", "thumb")
    joints = [joint for joint in HUMAN if not (joint[0][-2:] == ".R" and joint[0].startswith(arm))]
    if hangs:
        joints = [
            (n, p, (0.18, y, 1.44 - (x - 0.18)) if n.startswith(arm[1:]) else (x, y, z))
            for n, p, (x, y, z) in joints
        ]
    anatomy = recognize(bones_of(joints, nameless=True))
    assert joints[anatomy.head][0] == "head" and anatomy.missing() == ["ARMS"]


def test_level_thighs_of_legs_that_sprawl_are_no_hips() -> None:
    anatomy = recognize(bones_of(LIZARD, nameless=True))
    assert told(LIZARD, anatomy.limbs) == {
        ("LEG", side, (f"{upper}.{letter}", f"{lower}.{letter}"), f"{end}.{letter}")
        for side, letter in ((1, "L"), (-1, "R"))
        for upper, lower, end in (("femur", "crus", "pes"), ("stylopod", "zeugopod", "manus"))
    }


FRONT, HIND = ("humerus", "radius", "cannon", "hoof"), ("thigh", "shin", "hock", "paw", "claw")


def numbered(name: str, side: str) -> str:
    """Name the bones of a leg by numbers."""
    leg, place = ("Fore", FRONT) if name in FRONT else ("Hind", HIND)
    return f"{leg}Leg_{side}_{place.index(name) + 1:02}"


def cornered(name: str, side: str) -> str:
    """Name the bones of a leg by the corner at which it is, as those of robots."""
    corner, place = ("f", FRONT) if name in FRONT else ("r", HIND)
    part = ("upper", "lower", "foot", "toe", "toe2")[place.index(name)]
    return f"{side.lower()}{corner}_leg_{part}"


@pytest.mark.parametrize("named", [numbered, cornered, "{}.{}".format])
@pytest.mark.parametrize("longer", ["chest", "hips"])
def test_an_animal_may_be_in_two_pieces(named: Callable[[str, str], str], longer: str) -> None:
    """Chest and hips have no parent, or one that carries nothing else."""

    def known(name: str) -> str:
        return named(*name.split(".")) if "." in name else name.replace("head", "muzzle")

    above = {"chest": "", "hips": "", longer: "root"}
    joints = [
        (known(name), above.get(name, known(parent)), head) for name, parent, head in QUADRUPED
    ]
    anatomy = recognize(bones_of(joints, 0.7))
    names = [name for name, _, _ in joints]
    assert told(joints, anatomy.limbs) == {
        (kind, side, tuple(map(known, bones)), known(end))
        for kind, side, bones, end in QUADRUPED_LIMBS
    }
    assert (names[anatomy.hips], names[anatomy.head]) == ("hips", "muzzle")
    assert dot(anatomy.front, (sin(0.7), -cos(0.7), 0.0)) > 0.99


@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("name", ["insect", "scorpion", "crab"])
def test_legs_of_a_row_are_alike(name: str, nameless: bool) -> None:
    joints, limbs, *_ = CREATURES[name]
    anatomy = recognize(bones_of(joints, nameless=nameless))
    found = told(joints, anatomy.limbs)
    arms = {limb for limb in limbs if limb[0] == "ARM"}
    assert found - arms == limbs - arms
    assert found >= arms or (nameless and not found & arms)
    assert anatomy.sureness > 0.7  # Legs that sprawl do not lie down.


@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("name", ["spider", "robot dog"])
def test_legs_without_feet_stand_on_the_tails_of_their_last_bones(
    name: str, nameless: bool
) -> None:
    """Of an insect and a robot."""
    joints, limbs, _, tails = CREATURES[name]
    bones = [
        bone._replace(tail=tails.get(joint[0], bone.tail))
        for bone, joint in zip(bones_of(joints, nameless=nameless), joints, strict=True)
    ]
    anatomy = recognize(bones)
    assert {limb[:3] for limb in told(joints, anatomy.limbs)} == {limb[:3] for limb in limbs}
    assert {(limb.end, limb.is_bare) for limb in anatomy.limbs} == {(-1, False)}
    assert len(anatomy.limbs) == len(limbs) and "FEET" not in anatomy.missing()
    assert anatomy.sureness > 0.7


def test_paws_whose_tails_are_guessed_to_point_down_are_feet() -> None:
    bones = [bone._replace(tail=add(bone.head, (0.0, 0.0, -0.08))) for bone in bones_of(QUADRUPED)]
    assert told(QUADRUPED, recognize(bones).limbs) == QUADRUPED_LIMBS
    nameless = [bone._replace(name="") for bone in bones]
    assert told(QUADRUPED, recognize(nameless).limbs) == QUADRUPED_LIMBS


def test_a_tail_by_its_name_does_not_lead_to_the_head() -> None:
    assert recognize(bones_of(SCORPION)).missing() == ["HEAD"]


def test_wings_may_be_all_the_arms_that_a_bird_has() -> None:
    raptor, _ = ANIMALS["raptor"]
    arms = {"UpperArm": "Wing1", "LowerArm": "Wing2", "Hand": "Wing3", "Finger": "Wing4"}
    assert not recognize(bones_of(renamed(raptor, **arms))).missing()
    bare = [joint for joint in raptor if joint[0][:-2] not in arms]
    assert recognize(bones_of(bare)).missing() == ["ARMS"]


def test_a_line_of_bones_is_no_figure_that_faces_aside() -> None:
    assert recognize(bones_of(SNAKE, nameless=True)).evidence == ""


def test_fins_are_no_legs() -> None:
    assert not recognize(bones_of(SHARK, nameless=True)).limbs
    named = renamed(SHARK, a="Flipper1", b="Flipper2", c="Flipper3")
    assert not recognize(bones_of(named)).limbs


@pytest.mark.parametrize("face", [("nose",), ("nose", "eye.L", "eye.R", "ear.L", "ear.R")], ids=len)
def test_markers_of_a_face_stand_for_a_head(face: tuple[str, ...]) -> None:
    """Skeletons of trackers have joints at nose, eyes and ears, and none of the head."""
    joints = [joint for joint in HUMAN if joint[0] not in ("neck", "head")]
    joints.append(("nose", "chest", (0.0, -0.1, 1.62)))
    places = {"eye": (0.03, -0.08, 1.66), "ear": (0.08, 0.0, 1.64)}
    for name in face[1:]:
        x, y, z = places[name[:3]]
        joints.append((name, "nose", (x if name[-1] == "L" else -x, y, z)))
    anatomy = recognize(bones_of(joints))
    assert joints[anatomy.head][0] == "nose" and not anatomy.missing()


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(
    ("joints", "ends", "floor"),
    [
        ([0.09, 0.02], [-0.01], 0.0),  # Ends are guessed where the origin is a floor.
        ([0.25], [0.1], 0.0),  # A thick shoe.
        ([-0.91, -0.98], [-1.0], -1.0),  # The origin is at the hips.
        ([-0.91, -0.98], [], -0.98),
        ([2.09, 2.02], [2.0], 2.0),  # It is far below the feet.
    ],
)
def test_the_floor_is_at_the_origin_where_feet_are_right_above_it(
    joints: list[float], ends: list[float], floor: float, size: float
) -> None:
    given = ([size * high for high in heights] for heights in (joints, ends))
    assert floor_below(*given, leg=0.9 * size) == size * floor


@pytest.mark.skipif(COMPILED, reason="what calls within a compiled module cannot be counted")
def test_whether_a_face_is_a_hand_is_found_once_and_not_for_each_of_its_joints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Faces for captures have hundreds of joints, each with an end where FBX files add them."""
    rows = 0

    def counted(*args: Any) -> bool:
        nonlocal rows
        rows += 1
        return is_row(*args)

    is_row = chains._is_row
    monkeypatch.setattr(chains, "_is_row", counted)
    counts: list[int] = []
    for count in (10, 20):
        joints = [*HUMAN, ("face", "head", (0.0, -0.05, 1.6))]
        for i in range(count):
            turn = 0.5 * i
            place = (0.06 + 0.02 * sin(turn), -0.08, 1.65 + 0.05 * cos(turn))
            end = (place[0], -0.1, place[2])
            joints += both([(f"j{i}", "face", place), (f"j{i}_end", f"j{i}", end)])
        rows = 0
        anatomy = recognize(bones_of(joints))
        assert joints[anatomy.head][0] == "head" and not anatomy.missing()
        counts.append(rows)
    assert 0 < counts[1] <= 3 * counts[0]  # Once is twice as much, for each it is four times.
