"""Where a body is carried: its pelvis and its root, which all features ask for alike."""

from typing import Any

import bpy
import pytest
from captured_bodies import make_body
from mathutils import Vector
from rigs import activate, evaluated, update

from addon.blender.skeleton import skeleton_of
from addon.body.body import Body
from addon.body.carriers import Carriers
from addon.body.looking import body_of
from addon.body.root import root_above
from addon.editing.control_parents import part_bone
from addon.features.root_motion.body import traveler_of
from addon.features.whole_body.body import root_of
from addon.features.whole_body.roles import roles_of

pytestmark = pytest.mark.newest

FLOOR, HIP, PELVIS = Vector((0.0, 0.0, 0.0)), Vector((0.0, 0.0, 0.86)), Vector((-0.03, 0.0, 0.8))

Above = dict[str, tuple[str, Vector]]

KINDS: dict[str, tuple[Above, str, str]] = {
    "alone": ({}, "Hips", ""),
    "a root": ({"Master": ("", FLOOR)}, "Hips", "Master"),
    "Biped": ({"Pelvis": ("", PELVIS)}, "Pelvis", ""),
    "Biped with a root": (
        {"Master": ("", FLOOR), "Pelvis": ("Master", PELVIS)},
        "Pelvis",
        "Master",
    ),
    "Biped with a tail": (
        {"Pelvis": ("", PELVIS), "Tail": ("Pelvis", PELVIS + Vector((-0.1, 0.0, 0.0)))},
        "Pelvis",
        "",
    ),
    "a root by its name": ({"Master": ("", HIP)}, "Hips", "Master"),
    "a root that is high up, and carries controls": (
        {"All": ("", HIP), "Aim": ("All", Vector((0.3, 0.1, 0.1)))},
        "Hips",
        "All",
    ),
}
"""Bones above the hips by their parents and heads, with the pelvis and the root."""


def put_above(rig: Any, above: Above) -> None:
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    for name, (parent, head) in above.items():
        bone = bones.new(name)
        bone.head, bone.tail = head, head + Vector((0.0, 0.0, 0.1))
        bone.parent = bones[parent] if parent else None
    if above:
        bones["Hips"].parent = bones["Pelvis" if "Pelvis" in above else next(iter(above))]
    bpy.ops.object.mode_set(mode="POSE")
    update()


def moved_by_a_drag(rig: Any, body: Body) -> str:
    roles, skeleton = roles_of(rig), skeleton_of(rig)
    ends = [skeleton.index[name] for name in roles.ends]
    return skeleton.names[root_of(Carriers(skeleton, evaluated(rig)), roles, ends)]


@pytest.mark.parametrize("kind", KINDS)
def test_all_features_move_the_pelvis(kind: str) -> None:
    above, pelvis, root = KINDS[kind]
    rig: Any = make_body()
    put_above(rig, above)
    body = body_of(rig)
    assert body.names[body.pelvis] == pelvis
    traveler = traveler_of(rig)
    assert (traveler.hips, traveler.root) == (pelvis, root or pelvis)
    assert moved_by_a_drag(rig, body) == pelvis
    assert root_above(rig, "Foot.L") == root
    assert part_bone(rig, "HIPS", "Foot.L") == pelvis
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert rig.fabrik.gaits[0].body == pelvis
