"""Changing an armature's list of walks, with everything that goes with it."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...blender.errors import ProblemError
from ...blender.skeleton import Skeleton, skeleton_of
from ...editing import constraints as editing
from ...loop import plan
from ...loop.properties import free_name, settings
from ...loop.registry import MOTIONS
from .gait_plan import plans_of
from .settings import FabrikGait, gait_settings


def active_gait(armature: bpy.types.Object) -> FabrikGait | None:
    """Return the walk whose settings are shown, None if there is none."""
    fabrik = gait_settings(armature)
    if 0 <= fabrik.active_gait < len(fabrik.gaits):
        return fabrik.gaits[fabrik.active_gait]
    return None


def problem_of(armature: bpy.types.Object, index: int) -> str:
    """Return why a walk cannot work, as far as is known; empty if it can."""
    found = plans_of(armature)
    return found[index].problem if index < len(found) else ""


def add_gait(armature: bpy.types.Object, tips: Sequence[str]) -> tuple[FabrikGait, int]:
    """Let legs walk, and make the constraints of those that have none.

    The bone that carries them is the one that all of them hang on.

    Args:
        armature: The armature object.
        tips: The last bones of the legs.

    Returns:
        The walk, and how many constraints were made.

    Raises:
        ProblemError: If they cannot walk; then nothing has changed.
    """
    plan.discard_if_outdated()
    rig = skeleton_of(armature)
    if len(tips) < 2:
        raise ProblemError("Select the last bones of two legs or more")
    body = _common(rig, [rig.index[tip] for tip in tips])
    fabrik = settings(armature)
    before, shown = len(fabrik.constraints), fabrik.active_index
    made: list[bpy.types.Object] = []
    try:
        names = [_leg(armature, rig, tip, body, made) for tip in tips]
        title = free_name(armature, "Walk", "gaits")
        gait = gait_settings(armature).gaits.add()
        gait.name = title
        gait.body = rig.names[body] if body >= 0 else ""
        for name in names:
            _append(armature, gait, name)
        editing.changed(armature)
        plan.current()
        index = len(gait_settings(armature).gaits) - 1
        if problem := problem_of(armature, index):
            remove_gait(armature, index)
            raise ProblemError(problem)
    except ProblemError:
        while len(fabrik.constraints) > before:
            editing.remove(armature, len(fabrik.constraints) - 1)
        for ob in made:
            bpy.data.objects.remove(ob)
        fabrik.active_index = shown
        raise
    gait_settings(armature).active_gait = index
    return gait, len(made)


def _leg(
    armature: bpy.types.Object, rig: Skeleton, tip: str, body: int, made: list[bpy.types.Object]
) -> str:
    """Return the name of the constraint that reaches with a bone, made if there is none."""
    for item in settings(armature).constraints:
        if item.bone == tip and item.solver not in MOTIONS:
            return item.name
    up = rig.chain_up(rig.index[tip])
    count = len(up) - (up.index(body) + 1 if body >= 0 else 0)
    item = editing.add(armature, tip, chain_count=count)
    item.swing = 1.0
    assert item.target is not None
    made.append(item.target)
    return item.name


def _common(rig: Skeleton, tips: Sequence[int]) -> int:
    """Return the lowest bone above all of some, -1 if there is none."""
    ways = [rig.chain_up(tip)[:-1] for tip in tips]
    shared = [bone for bone in ways[0] if all(bone in way for way in ways)]
    return shared[-1] if shared else -1


def _append(armature: bpy.types.Object, gait: FabrikGait, name: str) -> None:
    leg = gait.legs.add()
    leg.constraint = name
    leg.key = settings(armature).constraints[name].key


def remove_gait(armature: bpy.types.Object, index: int) -> None:
    """Remove a walk with its animation; its legs reach for their targets again.

    Raises:
        ProblemError: If a library override has it from its library.
    """
    editing.remove_from(armature, "gaits", "active_gait", index)


def add_legs(armature: bpy.types.Object, gait: FabrikGait, names: Sequence[str]) -> None:
    """Let constraints be legs of a walk."""
    for name in names:
        _append(armature, gait, name)
    editing.changed(armature)


def remove_leg(armature: bpy.types.Object, gait: FabrikGait, index: int) -> str:
    """Take a leg out of a walk, and return its name."""
    name = gait.legs[index].constraint
    gait.legs.remove(index)
    gait.active_leg = max(0, min(gait.active_leg, len(gait.legs) - 1))
    editing.changed(armature)
    return name
