"""Where bones end and which of them make a limb, found by joints; tails may lie anywhere."""

from typing import Any

import bpy
import pytest
from mathutils import Vector
from rigs import activate, add_constraint, evaluated, make_armature, make_chain, make_empty, update

HUMAN = {
    "Hips": ((0, 0, 1.0), (0, 0, 1.1), ""),
    "Spine": ((0, 0, 1.1), (0, 0, 1.3), "Hips"),
    "Chest": ((0, 0, 1.3), (0, 0, 1.5), "Spine"),
    "Neck": ((0, 0, 1.5), (0, 0, 1.6), "Chest"),
    "Head": ((0, 0, 1.6), (0, 0, 1.8), "Neck"),
    "Clavicle": ((0.03, 0, 1.48), (0.2, 0, 1.45), "Chest"),
    "Upper": ((0.2, 0, 1.45), (0.48, 0.02, 1.45), "Clavicle"),
    "Fore": ((0.48, 0.02, 1.45), (0.74, 0, 1.45), "Upper"),
    "Hand": ((0.74, 0, 1.45), (0.84, 0, 1.45), "Fore"),
    "Finger.1": ((0.84, 0, 1.45), (0.88, 0, 1.45), "Hand"),
    "Finger.2": ((0.88, 0, 1.45), (0.9, 0, 1.45), "Finger.1"),
    "Twist": ((0.6, 0.01, 1.45), (0.65, 0.01, 1.45), "Fore"),
    "Thigh": ((0.1, 0, 1.0), (0.12, -0.03, 0.55), "Hips"),
    "Shin": ((0.12, -0.03, 0.55), (0.13, 0.02, 0.1), "Thigh"),
    "Foot": ((0.13, 0.02, 0.1), (0.14, -0.12, 0.02), "Shin"),
    "Toe": ((0.14, -0.12, 0.02), (0.14, -0.18, 0.02), "Foot"),
}
"""A side of a figure in T-pose, as captures and games have it."""

HIND_LEG = {
    "Body": ((0, 0, 1), (0, -0.5, 1), ""),
    "Tail.1": ((0, 0, 1), (0, 0.2, 1), "Body"),
    "Tail.2": ((0, 0.2, 1), (0, 0.4, 1), "Tail.1"),
    "Femur": ((0.1, 0, 0.95), (0.1, -0.15, 0.65), "Body"),
    "Tibia": ((0.1, -0.15, 0.65), (0.1, 0.12, 0.38), "Femur"),
    "Cannon": ((0.1, 0.12, 0.38), (0.1, 0.08, 0.1), "Tibia"),
    "Paw": ((0.1, 0.08, 0.1), (0.1, -0.05, 0.03), "Cannon"),
}


def add_to(rig: bpy.types.Object, bone: str, **settings: Any) -> Any:
    """Add a constraint as a user does, with a bone clicked in Pose Mode."""
    activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    rig.data.bones.active = rig.data.bones[bone]
    bpy.ops.fabrik.constraint_add(**settings)
    update()
    return rig.fabrik.constraints[-1]


@pytest.mark.parametrize(
    ("bones", "tip", "count", "solver"),
    [
        (HUMAN, "Fore", 2, "TWO_BONE"),
        (HUMAN, "Shin", 2, "TWO_BONE"),
        (HUMAN, "Head", 2, "TWO_BONE"),
        (HIND_LEG, "Tibia", 2, "TWO_BONE"),
        (HIND_LEG, "Cannon", 3, "FABRIK"),
        (HIND_LEG, "Tail.2", 2, "TWO_BONE"),
    ],
)
def test_a_limb_is_found_and_bends_about_its_hinge(
    bones: dict[str, Any], tip: str, count: int, solver: str
) -> None:
    item = add_to(make_armature(bones), tip)
    assert (item.chain_count, item.solver, item.swing) == (count, solver, 1.0)
    assert item.state == "REACHED"


def test_zero_takes_all_bones_and_another_number_so_many() -> None:
    assert add_to(make_armature(HUMAN), "Fore", chain_count=0).chain_count == 0
    assert add_to(make_armature(HUMAN), "Shin", chain_count=1).chain_count == 1
    item = add_to(make_armature(HUMAN), "Fore")
    assert item.chain_count == 2, "what was chosen for one limb is not for all"


def test_what_is_longer_than_a_limb_drags_its_bones_along() -> None:
    joints = [(0, 0, 0.3 * i) for i in range(9)]
    item = add_to(make_chain(8, joints=joints), "B7")
    assert (item.chain_count, item.solver, item.swing) == (8, "FABRIK", 0.0)


def test_more_bones_than_there_are_means_all() -> None:
    rig = make_chain(3)
    item = add_constraint(rig, "B2", make_empty(), chain_count=9)
    other = make_chain(3, "Other")
    add_constraint(other, "B2", bpy.data.objects["Target"], chain_count=0)
    update()
    assert item.state == "REACHED"
    for a, b in zip(evaluated(rig).pose.bones, evaluated(other).pose.bones, strict=True):
        assert a.matrix == b.matrix


def test_bones_whose_tails_lie_anywhere_end_where_the_next_one_begins() -> None:
    """As an importer leaves them that knows nothing but joints."""
    rig = make_armature(
        {
            "Thigh": ((0, 0, 1), (0, 0, 31), ""),
            "Shin": ((0, -0.05, 0.55), (0, -24, 0.55), "Thigh"),
            "Foot": ((0, 0, 0.1), (5, 0, 0.1), "Shin"),
            "Toe": ((0, -0.1, 0), (5, -0.1, 0), "Foot"),
        }
    )
    item = add_to(rig, "Shin")
    assert tuple(item.target.location) == pytest.approx((0, 0, 0.1), abs=1e-6)
    assert (item.chain_count, item.state) == (2, "REACHED")
    item.target.location = (0.1, -0.2, 0.3)
    update()
    assert item.state == "REACHED"
    foot = evaluated(rig).pose.bones["Foot"].head
    assert (foot - Vector((0.1, -0.2, 0.3))).length < 1e-5
    item.use_offset = True
    update()
    assert tuple(item.offset_location) == pytest.approx((0, 0, 0), abs=1e-5)


def test_gaps_that_riggers_leave_are_no_such_thing() -> None:
    rig = make_armature(
        {
            "Upper": ((0, 0, 0), (0, 0.1, 1), ""),
            "Lower": ((0, 0.1, 1), (0, 0, 2), "Upper"),
            "Hand": ((0, 0.1, 2.2), (0, 0.1, 2.5), "Lower"),
        }
    )
    item = add_to(rig, "Lower")
    assert tuple(item.target.location) == pytest.approx((0, 0, 2), abs=1e-6)
