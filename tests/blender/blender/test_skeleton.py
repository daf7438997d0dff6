"""Rest poses, which armatures with the same bones share."""

from collections.abc import Callable
from typing import Any

import bpy
import pytest
from rigs import activate, link, make_armature, make_chain

from addon.blender.skeleton import Skeleton, rest_of


def pair_of_rigs() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Make two armatures with the same bones, the last of which isn't connected."""
    rig = make_chain(3)
    edit(rig, lambda bones: setattr(bones["B2"], "use_connect", False))
    copy = link(rig.copy())
    copy.data = rig.data.copy()
    return rig, copy


def edit(rig: bpy.types.Object, change: Callable[[Any], object]) -> None:
    activate(rig, "EDIT")
    change(rig.data.edit_bones)
    activate(rig, "OBJECT")


def known(skeleton: Skeleton) -> object:
    bones = [skeleton.bone(i) for i in range(len(skeleton.names))]
    return skeleton.names, skeleton.parents, skeleton.connected, bones


def present(rig: bpy.types.Object) -> object:
    """Return what Blender has of an armature, as `known`."""
    bones, names = rig.pose.bones, rig.pose.bones.keys()
    parents = [names.index(bone.parent.name) if bone.parent else -1 for bone in bones]
    connected = {i for i, bone in enumerate(bones) if bone.bone.use_connect}
    return names, parents, connected, [rest_of(bone.bone) for bone in bones]


CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda bones: None,
    "tail": lambda bones: setattr(bones["B2"], "tail", (1.0, 2.0, 3.0)),
    "roll": lambda bones: setattr(bones["B1"], "roll", 0.3),
    "parent": lambda bones: setattr(bones["B2"], "parent", bones["B0"]),
    "no parent": lambda bones: setattr(bones["B2"], "parent", None),
    "connected": lambda bones: setattr(bones["B1"], "use_connect", False),
    "inherited scale": lambda bones: setattr(bones["B1"], "inherit_scale", "ALIGNED"),
    "inherited rotation": lambda bones: setattr(bones["B1"], "use_inherit_rotation", False),
    "local location": lambda bones: setattr(bones["B1"], "use_local_location", False),
    "name": lambda bones: setattr(bones["B1"], "name", "Other"),
    "removed": lambda bones: bones.remove(bones["B0"]),
    "new": lambda bones: setattr(bones.new("New"), "tail", (1.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_armatures_share_is_right_for_each(change: str) -> None:
    rigs = pair_of_rigs()
    edit(rigs[1], CHANGES[change])
    skeletons = [Skeleton(rig) for rig in rigs]
    assert [known(skeleton) for skeleton in skeletons] == [present(rig) for rig in rigs]
    assert (skeletons[0].bone(0) is skeletons[1].bone(0)) == (change == "nothing")


def test_an_edited_armature_does_not_change_what_others_share() -> None:
    """Its skeleton is asked before anything has noticed the edit."""
    rig, edited = pair_of_rigs()
    skeletons = [Skeleton(rig), Skeleton(edited)]
    edit(edited, CHANGES["tail"])
    known(skeletons[1])
    assert known(skeletons[0]) == present(rig)


def test_bones_in_the_same_place_may_have_other_parents() -> None:
    places = {"A": ((0, 0, 0), (0, 0, 1)), "B": ((0, 1, 0), (0, 1, 1))}
    rigs = [make_armature({"A": (*places["A"], ""), "B": (*places["B"], b)}) for b in ("A", "")]
    skeletons = [*map(Skeleton, rigs)]
    assert [skeleton.parents for skeleton in skeletons] == [[-1, 0], [-1, -1]]
    assert [*map(known, skeletons)] == [*map(present, rigs)]
