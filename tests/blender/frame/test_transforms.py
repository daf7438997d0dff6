"""The tip is on the target under every transform, and nothing else is touched.

Targets are tips of another pose of the same chain, so they can be reached. What a chain does is
read from the pose as Blender evaluates it, never from our own report.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import bpy
import numpy as np
import pytest
import rigs
from kept_files import new_file
from mathutils import Matrix, Quaternion, Vector

MODES = ("QUATERNION", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE")
SCALES = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")
INHERIT = tuple(product(SCALES, (True, False), (True, False)))
"""All of `inherit_scale`, `use_inherit_rotation` and `use_local_location`."""

SWEEPS = {"FABRIK": 500, "TWO_BONE": 1, "CCD": 2000}
"""CCD slows down a lot when a chain is nearly stretched."""

REACH = 0.95
TOLERANCE = 1e-4
ROUNDING = 3e-6
"""What single precision blurs of a chain's length, in Blender's pose of up to 50 bones in a row."""


def random_vector(rng: random.Random, size: float = 1.0) -> Vector:
    return Vector([rng.uniform(-size, size) for _ in range(3)])


def random_turn(rng: random.Random) -> Matrix:
    return Quaternion([rng.gauss(0, 1) for _ in range(4)]).normalized().to_matrix().to_4x4()


def stretch(rng: random.Random, low: float, high: float, *signs: int) -> Matrix:
    factors = [rng.uniform(low, high) * sign for sign in signs]
    return Matrix.Diagonal((*factors, 1.0))


def placed(rng: random.Random, ob: bpy.types.Object, world: str) -> None:
    """Give the armature object one of the transforms that a rig may have."""
    move = Matrix.Translation(random_vector(rng, 3)) @ random_turn(rng)
    if world == "uneven":
        move @= stretch(rng, 0.3, 3, 1, 1, 1)
    elif world == "mirrored":
        move @= stretch(rng, 0.3, 3, -1, 1, 1)
    elif world == "turned inside out":
        move @= stretch(rng, 0.3, 3, -1, -1, -1)
    elif world == "sheared by its parent":
        parent = rigs.link(bpy.data.objects.new("Parent", None))
        signs = [rng.choice((1, 1, -1)) for _ in range(3)]
        parent.matrix_basis = random_turn(rng) @ stretch(rng, 0.4, 2.5, *signs)
        ob.parent = parent
        move @= stretch(rng, 0.4, 2.5, 1, 1, 1)
    elif world in ("0.001", "1000"):
        move @= Matrix.Scale(float(world), 4)
    elif world == "far":
        move = Matrix.Translation((1e4, -1e4, 1e4)) @ move
    if world != "as it is":
        ob.matrix_basis = move


WORLDS = (
    "as it is",
    "moved",
    "uneven",
    "mirrored",
    "turned inside out",
    "sheared by its parent",
    "0.001",
    "1000",
    "far",
)


@dataclass
class Case:
    """A rig: a bone above, the chain, and a bone below it, all in a row.

    Attributes:
        count: Bones of the chain.
        use_tail: Whether the tail of its last bone is the tip, or the head of the bone below.
    """

    rng: random.Random
    rig: bpy.types.Object
    target: bpy.types.Object
    count: int
    use_tail: bool

    @property
    def below(self) -> str:
        return f"b{self.count + 1}"

    def ends_at_tail(self) -> bool:
        """Whether the tail of the last bone is the tip: not if the next bone is far from there."""
        from addon.blender.skeleton import skeleton_of
        from addon.body.chains import next_joint

        rig = skeleton_of(self.rig)
        return self.use_tail and next_joint(rig, rig.index[f"b{self.count}"]) < 0

    @property
    def names(self) -> list[str]:
        return [f"b{i}" for i in range(1, self.count + 1)]

    def joints(self) -> np.ndarray:
        """Return the joints in armature space, as Blender evaluated them."""
        bones = rigs.evaluated(self.rig).pose.bones
        last = bones[f"b{self.count}"].tail if self.ends_at_tail() else bones[self.below].head
        return np.array([*[bones[name].head for name in self.names], last], dtype=float)

    def length(self) -> float:
        return float(np.linalg.norm(np.diff(self.joints(), axis=0), axis=1).sum())

    def miss(self) -> float:
        """Return the distance of tip and target in armature space, by the chain's length.

        There the numbers are small, however far away or large the armature is.
        """
        world = np.array(rigs.evaluated(self.rig).matrix_world, dtype=float)
        place = np.array([*rigs.evaluated(self.target).matrix_world.translation, 1.0], dtype=float)
        goal = np.linalg.solve(world, place)[:3]
        return float(np.linalg.norm(self.joints()[-1] - goal)) / self.length()

    def pose_at_random(self) -> None:
        """Turn the chain and the bone below it."""
        for bone in self.rig.pose.bones[1:]:
            turn(bone, Quaternion(random_vector(self.rng), self.rng.gauss(0, 0.8)))
        rigs.update()

    def aim(self) -> None:
        """Put the target where a random pose has its tip, and take another random pose."""
        for _ in range(200):
            self.pose_at_random()
            joints = self.joints()
            if np.linalg.norm(joints[-1] - joints[0]) <= REACH * self.length():
                break
        else:
            raise AssertionError("no pose within reach")
        self.target.location = self.rig.matrix_world @ Vector(joints[-1])
        self.pose_at_random()

    def constrain(self, solver: str = "FABRIK", **settings: object) -> bpy.types.PropertyGroup:
        item = rigs.add_constraint(
            self.rig,
            f"b{self.count if self.use_tail else self.count + 1}",
            self.target,
            chain_count=self.count,
            use_tail=self.use_tail,
            solver=solver,
            **{"iterations": SWEEPS[solver], **settings},
        )
        rigs.update()
        return item


def turn(bone: bpy.types.PoseBone, rotation: Quaternion) -> None:
    if bone.rotation_mode == "QUATERNION":
        bone.rotation_quaternion = rotation
    elif bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = rotation.to_axis_angle()
        bone.rotation_axis_angle = (angle, *axis)
    else:
        bone.rotation_euler = rotation.to_euler(bone.rotation_mode)


def make_case(
    seed: int,
    count: int,
    world: str = "as it is",
    scale: str = "none",
    inherit: Sequence[tuple[str, bool, bool]] = INHERIT,
    modes: Sequence[str] = MODES,
    connected: float = 0.5,
    origin: Sequence[float] = (0, 0, 0),
) -> Case:
    """Make a random rig; what may differ from bone to bone is chosen for each bone."""
    new_file()
    rng = random.Random(seed)
    rig = rigs.link(bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig")))
    rigs.activate(rig, "EDIT")
    at, way = Vector(origin) + random_vector(rng), random_vector(rng).normalized()
    above = None
    for i in range(count + 2):
        bone = rig.data.edit_bones.new(f"b{i}")
        way = (way + random_vector(rng, 0.6)).normalized()
        bone.head, bone.tail = at, at + way * rng.uniform(0.5, 1.5)
        bone.roll = rng.uniform(-3, 3)
        bone.parent = above
        bone.inherit_scale, bone.use_inherit_rotation, bone.use_local_location = rng.choice(inherit)
        at = bone.tail.copy()
        if rng.random() < connected:
            bone.use_connect = above is not None and bone.head == above.tail
        else:
            at += random_vector(rng, 0.3)
        above = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    placed(rng, rig, world)
    for bone in rig.pose.bones:
        bone.rotation_mode = rng.choice(modes)
        bone.location = random_vector(rng, 0.2)
        if scale == "even":
            bone.scale = [rng.uniform(0.5, 2)] * 3
        elif scale == "mirrored":
            bone.scale = [rng.uniform(0.5, 2) * rng.choice((1, -1))] * 3
        elif scale == "uneven":
            bone.scale = [rng.uniform(0.5, 2) for _ in range(3)]
    turn(rig.pose.bones[0], Quaternion(random_vector(rng), rng.gauss(0, 0.8)))
    case = Case(rng, rig, rigs.make_empty(), count, use_tail=bool(seed % 2))
    case.aim()
    return case


def assert_on_target(case: Case, item: bpy.types.PropertyGroup) -> None:
    miss = case.miss()
    assert item.state == "REACHED", f"{item.message} (missed by {miss:.1e})"
    rounding = ROUNDING * max(1.0, case.count / 50)
    assert miss <= TOLERANCE + rounding
    # What the constraint reports, in world space, is what Blender's pose has.
    rig, target = rigs.evaluated(case.rig), rigs.evaluated(case.target)
    tip = rig.matrix_world @ Vector(case.joints()[-1])
    place = target.matrix_world.translation
    scale = max(map(abs, rig.matrix_world.to_scale()))
    size = max(1.0, place.length, tip.length, scale * case.length())
    assert item.error == pytest.approx((tip - place).length, abs=rounding * size)


CHAINS = (
    ("FABRIK", (2, 3, 5, 9)),
    ("TWO_BONE", (2,)),
    ("CCD", (2, 4, 10)),
)


def cases(solver: str, seeds: int) -> Iterator[tuple[int, int]]:
    for count in dict(CHAINS)[solver]:
        for seed in range(seeds):
            yield 100 * seed + count + seed % 2, count


@pytest.mark.parametrize("scale", ["none", "even", "mirrored"])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("solver", ["FABRIK", "TWO_BONE", "CCD"])
def test_the_tip_is_on_the_target(solver: str, world: str, scale: str) -> None:
    for seed, count in cases(solver, 4):
        case = make_case(seed, count, world, scale)
        assert_on_target(case, case.constrain(solver))


@pytest.mark.parametrize("scale_name, rotation, location", INHERIT)
def test_the_tip_is_on_the_target_whatever_bones_inherit(
    scale_name: str, rotation: bool, location: bool
) -> None:
    for seed, scale in product(range(4), ("none", "even")):
        inherit = [(scale_name, rotation, location)]
        case = make_case(seed, 2 + seed, "uneven", scale, inherit)
        assert_on_target(case, case.constrain())


@pytest.mark.parametrize("mode", MODES)
def test_the_tip_is_on_the_target_in_every_rotation_mode(mode: str) -> None:
    for seed in range(6):
        case = make_case(seed, 2 + seed, modes=[mode])
        assert_on_target(case, case.constrain())


@pytest.mark.parametrize("count", [20, 50, 200])
def test_long_chains_reach(count: int) -> None:
    for seed, scale in ((1, "none"), (2, "even")):
        # Scales that multiply along 200 bones are a size that no number can hold.
        inherit = INHERIT if count <= 50 else [("NONE", True, True)]
        case = make_case(seed, count, "sheared by its parent", scale, inherit)
        assert_on_target(case, case.constrain(iterations=20))


@pytest.mark.parametrize("count, seed", [(2, 1), (3, 3), (5, 4), (10, 5), (20, 6), (50, 7)])
@pytest.mark.parametrize("world", ["as it is", "sheared by its parent"])
def test_bones_under_uneven_scale_reach(count: int, seed: int, world: str) -> None:
    case = make_case(seed, count, world, "uneven")
    assert_on_target(case, case.constrain())


@pytest.mark.parametrize("count", [2, 3, 6])
def test_under_uneven_scale_the_report_is_true_whether_the_target_is_reached_or_not(
    count: int,
) -> None:
    reached = 0
    for seed in range(30):
        case = make_case(seed, count, "moved", "uneven")
        item = case.constrain()
        assert (item.state == "REACHED") == (case.miss() <= TOLERANCE + ROUNDING)
        assert item.error / case.length() == pytest.approx(case.miss(), abs=1e-5)
        reached += item.state == "REACHED"
    assert reached >= 25


@pytest.mark.parametrize("world", ["as it is", "sheared by its parent"])
def test_bones_far_from_the_armatures_origin_reach_as_near_as_their_numbers_can_say(
    world: str,
) -> None:
    for seed in range(4):
        case = make_case(seed, 3, world, origin=(1000, -1000, 1000))
        case.constrain()
        assert case.miss() * case.length() <= TOLERANCE * case.length() + 10 * np.spacing(
            np.float32(1000)
        )


def test_the_location_of_connected_bones_counts_for_nothing() -> None:
    for seed in range(4):
        case = make_case(seed, 4, connected=1.0)
        before = case.joints()
        for bone in case.rig.pose.bones[1:]:
            bone.location = random_vector(case.rng, 5)
        rigs.update()
        assert np.array_equal(case.joints(), before)
        assert_on_target(case, case.constrain())


@pytest.mark.parametrize("world", ["as it is", "uneven"])
@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
def test_nothing_but_rotations_of_the_chain_is_touched(solver: str, world: str) -> None:
    for seed in range(4):
        case = make_case(seed, 4, world, "even")
        rest = [bone.matrix_local.copy() for bone in case.rig.data.bones]
        given = rigs.channels_bits(case.rig)
        outside = [bone.name for bone in case.rig.pose.bones if bone.name not in case.names]
        channels = [channels_of(rigs.shown_bones(case.rig)[name]) for name in outside]
        others = [(bone.location[:], bone.scale[:]) for bone in rigs.shown_bones(case.rig)]
        above = rigs.evaluated(case.rig).pose.bones[0].matrix.copy()
        case.constrain(solver)
        assert [bone.matrix_local for bone in case.rig.data.bones] == rest
        assert rigs.channels_bits(case.rig) == given != rigs.shown_bits(case.rig)
        assert [channels_of(rigs.shown_bones(case.rig)[name]) for name in outside] == channels
        assert [(bone.location[:], bone.scale[:]) for bone in rigs.shown_bones(case.rig)] == others
        assert rigs.evaluated(case.rig).pose.bones[0].matrix == above


def channels_of(bone: bpy.types.PoseBone) -> list[tuple[float, ...]]:
    names = ("location", "scale", "rotation_quaternion", "rotation_euler", "rotation_axis_angle")
    return [tuple(getattr(bone, name)) for name in names]


@pytest.mark.parametrize("scale", [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
@pytest.mark.parametrize("flat", ["bone", "armature"])
def test_a_scale_of_zero_gives_a_defined_pose_and_is_left_again(
    flat: str, scale: tuple[float, float, float]
) -> None:
    rig = rigs.make_chain(4)
    target = rigs.make_empty(location=(1, 0, 2))
    item = rigs.add_constraint(rig, "B3", target)
    rigs.update()
    solved = [list(bone.rotation_quaternion) for bone in rigs.shown_bones(rig)]
    flattened = rig if flat == "armature" else rig.pose.bones["B1"]
    flattened.scale = scale
    rigs.update()
    assert np.isfinite([list(bone.rotation_quaternion) for bone in rigs.shown_bones(rig)]).all()
    assert item.state == ("INVALID" if flat == "armature" else "OUT_OF_REACH")
    flattened.scale = (1, 1, 1)
    rigs.update()
    assert [list(bone.rotation_quaternion) for bone in rigs.shown_bones(rig)] == solved
