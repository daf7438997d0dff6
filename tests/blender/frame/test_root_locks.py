"""A root that may move keeps what is locked of its channels, and slides along the rest."""

import itertools
import math
import random
from typing import Any, NamedTuple

import bpy
import pytest
import rigs
from mathutils import Euler, Matrix, Quaternion, Vector
from rendering import rendered

AXES = ("x", "y", "z")
SUBSETS = [flags for flags in itertools.product((False, True), repeat=3)]
COUNTS = (2, 3, 7)
N = 3
MODES = ("XYZ", "QUATERNION", "ZXY", "AXIS_ANGLE", "YZX")


class Arm(NamedTuple):
    """An arm on a carriage, carried by a rotated and scaled parent."""

    rig: bpy.types.Object
    tip: str
    target: bpy.types.Object
    item: bpy.types.PropertyGroup

    @property
    def carriage(self) -> bpy.types.PoseBone:
        return self.rig.pose.bones["Carriage"]

    @property
    def shown(self) -> bpy.types.PoseBone:
        return rigs.shown_bones(self.rig)["Carriage"]

    def can_slide_there(self) -> bool:
        """Return whether the target is within the arm's shell from somewhere along the free axes.

        With the carriage turned as in the FK pose. The root is at its FK location when asked.
        """
        self.item.enabled = False
        rigs.update()
        bones = rigs.shown_bones(self.rig)
        world, carriage = self.rig.matrix_world, bones["Carriage"]
        names = [self.tip, *(b.name for b in bones[self.tip].parent_recursive)][::-1]
        names = names[names.index("Carriage") + 1 :]
        joints = [world @ bones[name].head for name in names] + [world @ bones[self.tip].tail]
        sizes = [(b - a).length for a, b in itertools.pairwise(joints)]
        inner, outer = max(0.0, 2.0 * max(sizes) - sum(sizes)), sum(sizes)
        above = world @ carriage.parent.matrix
        if carriage.bone.use_local_location:
            rest = carriage.parent.bone.matrix_local.inverted() @ carriage.bone.matrix_local
            above = above @ rest
        free = [above.to_3x3().col[i] for i in range(3) if not carriage.lock_location[i]]
        basis: list[Vector] = []
        for axis in free:
            left = axis - sum((b * b.dot(axis) for b in basis), Vector())
            basis.append(left.normalized())
        gap = self.target.matrix_world.translation - joints[0]
        aside = (gap - sum((b * b.dot(gap) for b in basis), Vector())).length
        self.item.enabled = True
        rigs.update()
        is_near = aside < 0.97 * outer if basis else True
        distance = aside if basis else gap.length
        return is_near and distance < 0.97 * outer and (bool(basis) or distance > 1.03 * inner)


def arm(seed: int, **fields: object) -> Arm:
    """Return an arm of a random shape in a random pose, with a target near it."""
    rng = random.Random(seed)
    count, mode = COUNTS[seed % 3], MODES[seed % 5]

    def point(size: float = 1.0) -> Vector:
        return Vector([rng.uniform(-size, size) for _ in range(3)])

    drawing = {"Base": ((0, 0, 0), point().normalized(), "")}
    head = point()
    drawing["Carriage"] = (head, head + 0.3 * point().normalized(), "Base")
    start, above = head + point(0.3), "Carriage"
    for i in range(count):
        end = start + rng.uniform(0.3, 0.6) * point().normalized()
        drawing[f"A{i}"] = (start, end, above)
        start, above = end, f"A{i}"
    rig = rigs.make_armature(drawing)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.roll = rng.uniform(-3.0, 3.0)
        bone.use_connect = False
    rig.data.edit_bones["Carriage"].use_local_location = seed % 2 == 0
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.matrix_world = Matrix.Translation(point(3.0)) @ Euler(point(2.0)).to_matrix().to_4x4()
    base, carriage = rig.pose.bones["Base"], rig.pose.bones["Carriage"]
    base.rotation_quaternion = Euler(point(1.0)).to_quaternion()
    base.scale = [rng.choice((0.7, 1.0, 1.6))] * 3
    carriage.location = point(0.5)
    carriage.rotation_quaternion = Euler(point(1.0)).to_quaternion()
    carriage.rotation_mode = mode
    if seed % 4 == 3 and mode not in ("QUATERNION", "AXIS_ANGLE"):
        carriage.rotation_euler = point(1.0)
    rigs.update()
    tip = rig.matrix_world @ rigs.shown_bones(rig)[above].tail
    target = rigs.make_empty("Target", tip + point(rng.choice((0.3, 1.0, 2.0))))
    item = rigs.add_constraint(
        rig, above, target, chain_count=count + 1, use_free_root=True, **fields
    )
    rigs.activate(rig)
    return Arm(rig, above, target, item)


def angle_off(shown: Quaternion, fk: Quaternion, order: str, locked: tuple[bool, ...]) -> float:
    """Return the least angle of a rotation from one with the locked Euler angles of the FK pose.

    Of the two triples of angles that give a rotation, either may have them.
    """
    a, b = shown.to_euler(order), fk.to_euler(order)
    i, j, k = ("XYZ".index(axis) for axis in order)
    other = a.copy()
    other[i], other[j], other[k] = a[i] + math.pi, math.pi - a[j], a[k] + math.pi

    def off(one: Euler) -> float:
        gaps = [(one[n] - b[n] + math.pi) % math.tau - math.pi for n in range(3) if locked[n]]
        return max(map(abs, gaps), default=0.0)

    return min(off(a), off(other))


def turned_off(one: Arm, locked: tuple[bool, ...]) -> float:
    """Return how far the shown carriage is from any rotation that its locks allow."""
    mode, fk, shown = one.carriage.rotation_mode, rotation_of(one.carriage), rotation_of(one.shown)
    if len(mode) == 3 or not one.carriage.lock_rotations_4d:
        return angle_off(shown, fk, mode if len(mode) == 3 else "XYZ", locked)
    if mode == "AXIS_ANGLE":
        return Vector(shown.rotation_difference(fk)[1:]).length
    shown.make_compatible(fk)
    return max(abs(shown[i + 1] - fk[i + 1]) for i in range(3) if locked[i])


def rotation_of(bone: bpy.types.PoseBone) -> Quaternion:
    return bone.matrix_basis.to_quaternion()


@pytest.mark.parametrize("location", SUBSETS[1:], ids=str)
def test_a_root_slides_along_its_free_axes_alone_and_the_target_is_reached(
    location: tuple[bool, ...],
) -> None:
    reached = 0
    for seed in range(N):
        one = arm(seed + 8 * SUBSETS.index(location))
        one.carriage.lock_location = location
        one.carriage.lock_rotation = (True, True, True)
        rigs.update(one.rig)
        fk, shown = one.carriage, one.shown
        for i in range(3):
            assert not location[i] or shown.location[i] == fk.location[i]
        turned = rotation_of(shown).rotation_difference(rotation_of(fk))
        assert Vector(turned[1:]).length < 1e-6
        if one.can_slide_there():
            reached += 1
            assert rigs.tip_error(one.rig, one.tip, one.target) < 1e-3, (seed, one.item.state)
            assert one.item.state == "REACHED"
    assert reached


@pytest.mark.parametrize("rotation", SUBSETS[1:], ids=str)
def test_a_root_turns_only_about_what_is_free(rotation: tuple[bool, ...]) -> None:
    for seed in range(N):
        one = arm(seed + 8 * SUBSETS.index(rotation))
        one.carriage.lock_rotation = rotation
        one.carriage.lock_rotations_4d = seed % 2 == 0  # As new bones have it.
        one.carriage.lock_location = (True, False, seed % 2 == 1)
        rigs.update(one.rig)
        assert turned_off(one, rotation) < 1e-4, seed
        if one.can_slide_there():
            assert rigs.tip_error(one.rig, one.tip, one.target) < 1e-3, (seed, one.item.state)


@pytest.mark.parametrize("space", ["LOCAL", "WORLD", "POSE", "LOCAL_WITH_PARENT"])
@pytest.mark.parametrize("moves", [False, True], ids=["slides", "is locked outside the limits"])
def test_a_root_slides_to_the_ends_that_limit_location_leaves_it(space: str, moves: bool) -> None:
    reached = 0
    for seed in range(4):
        one = arm(seed)
        one.carriage.lock_location = (moves, False, moves)
        con = one.carriage.constraints.new("LIMIT_LOCATION")
        con.owner_space, con.influence = space, 0.5 if moves and seed == 3 else 1.0
        for i, axis in enumerate(AXES):
            for end, offset in (("min", 0.1 if moves else -0.2), ("max", 0.3)):
                setattr(con, f"use_{end}_{axis}", True)
                setattr(con, f"{end}_{axis}", offset + seen_in(one, space)[i])
        rigs.update(one.rig)
        assert not one.item.message or one.item.state != "REACHED"
        error = rigs.tip_error(one.rig, one.tip, one.target)
        assert one.item.error == pytest.approx(error, abs=2e-5)
        reached += one.item.state == "REACHED"
        before = one.shown.matrix.translation.copy()
        con.mute = True
        rigs.update()
        con.mute = False
        rigs.update()
        assert (one.shown.matrix.translation - before).length < 1e-6, "no history"
    assert reached


def seen_in(one: Arm, space: str) -> Vector:
    """Return the location that the carriage has in the FK pose, in a space."""
    one.item.enabled = False
    rigs.update()
    shown, rest = one.shown, one.carriage.bone.matrix_local
    one.item.enabled = True
    if space == "LOCAL":
        return one.carriage.location.copy()
    seen = {"WORLD": one.rig.matrix_world @ shown.matrix, "POSE": shown.matrix}
    return seen.get(space, rest.inverted() @ shown.matrix).translation.copy()


@pytest.mark.parametrize("kind", ["LIMIT_ROTATION", "LIMIT_DISTANCE", "LIMIT_LOCATION"])
@pytest.mark.parametrize("is_free", [False, True])
def test_the_state_is_that_of_the_pose_that_blenders_constraints_leave(
    kind: str, is_free: bool
) -> None:
    one = arm(1)
    one.item.use_free_root = is_free
    one.target.location = tip_of(one) + Vector((0.3, 0.3, 0.3))
    con = one.rig.pose.bones["A0"].constraints.new(kind)
    if kind == "LIMIT_ROTATION":
        con.owner_space, con.use_limit_x, con.use_limit_z = "LOCAL", True, True
    elif kind == "LIMIT_DISTANCE":
        con.target, con.distance = rigs.make_empty("Far", (9.0, 9.0, 9.0)), 1.0
    else:
        con.use_min_x, con.min_x = True, 9.0
    rigs.update()
    error = rigs.tip_error(one.rig, one.tip, one.target)
    assert error > 0.01
    assert (one.item.state, one.item.error) == ("LIMITED", pytest.approx(error, abs=2e-5))
    assert f"“{con.name}”" in one.item.message
    con.mute = True
    rigs.update()
    rigs.update()
    assert one.item.error == pytest.approx(rigs.tip_error(one.rig, one.tip, one.target), abs=2e-5)
    assert not one.item.message or one.item.state != "REACHED"


def tip_of(one: Arm) -> Vector:
    return one.rig.matrix_world @ rigs.shown_bones(one.rig)[one.tip].tail


def test_changed_locks_count_in_the_next_update_and_chains_share_them() -> None:
    one = arm(0)
    other = rigs.make_empty("Other", one.target.location + Vector((0.2, 0.1, 0.0)))
    rigs.add_constraint(one.rig, "A0", other, chain_count=2, use_free_root=True)
    rigs.update()
    free = one.shown.location.copy()
    one.carriage.lock_location = (True, False, True)
    one.target.location.x += 1e-4
    rigs.update()
    assert free.x != one.carriage.location.x
    assert (one.shown.location.x, one.shown.location.z) == one.carriage.location.xz[:]
    one.carriage.lock_location = (False, False, False)
    one.target.location.x -= 1e-4
    rigs.update()
    assert (one.shown.location - free).length < 1e-6


def keyed_location(one: Arm) -> list[tuple[object, str, object, object]]:
    return [(one.carriage, "lock_location", (True, False, True), (False, True, False))]


def keyed_rotation(one: Arm) -> list[tuple[object, str, object, object]]:
    return [(one.carriage, "lock_rotation", (True, False, True), (False, False, False))]


def keyed_limit(one: Arm) -> list[tuple[object, str, object, object]]:
    con = one.carriage.constraints.new("LIMIT_LOCATION")
    con.owner_space, con.use_min_x, con.use_max_x, con.use_transform_limit = (
        "LOCAL",
        True,
        True,
        True,
    )
    least, most = one.carriage.location.x - 0.01, one.carriage.location.x + 0.01
    return [(con, "min_x", least, least + 0.2), (con, "max_x", most, most + 0.2)]


@pytest.mark.parametrize("keyed", [keyed_location, keyed_rotation, keyed_limit])
@pytest.mark.parametrize("seed", range(2))
def test_keyed_locks_count_at_their_frames_however_these_are_reached(keyed: Any, seed: int) -> None:
    one = arm(seed)
    for owner, name, first, then in keyed(one):
        for frame, value in ((1, first), (3, then), (5, first)):
            setattr(owner, name, value)
            owner.keyframe_insert(name, frame=frame)
    shown: dict[int, bytes] = {}
    for frame in (1, 3, 5):
        rigs.go(frame)
        shown[frame] = rigs.pose_bits(one.rig)
    assert shown[1] == shown[5] != shown[3]
    for frame in (3, 1, 5, 3):
        rigs.go(frame)
        assert rigs.pose_bits(one.rig) == shown[frame]
    rigs.go(1)
    assert rendered(1, 5, 2) == shown
    rigs.go(1)
    assert rigs.pose_bits(one.rig) == shown[1]
