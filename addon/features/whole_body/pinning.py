"""The bones pinned during a drag, and the bones that targets stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import bpy

from fabrik_solver.core.vectors import Vec, dot

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.skeleton import vector
from ...body.carriers import Carriers
from .roles import STANDING_HEIGHT, Roles
from .settings import BOTH, pinned_bone, pins_of
from .targets import PosedChain


class Pin(NamedTuple):
    """A bone that is pinned during a drag.

    Attributes:
        bone: The index of the bone.
        is_oriented: Whether its rotation is pinned too.
        location_weights: How strictly its location is pinned, along the armature's axes.
        rotation_weights: How strictly its rotation is pinned, about these axes.
        foot: The foot of toes, whose heel may rise; -1 for other bones.
    """

    bone: int
    is_oriented: bool
    location_weights: Vec = (1.0, 1.0, 1.0)
    rotation_weights: Vec = (1.0, 1.0, 1.0)
    foot: int = -1


def meant_bone(
    armature: bpy.types.Object,
    roles: Roles,
    carriers: Carriers,
    chains: Sequence[PosedChain],
    bone: str,
) -> int:
    """Return the bone to drag or pin for another bone; a target stands for its hand or foot.

    Raises:
        ProblemError: If the other bone is the target of a hand or foot that no limb moves.
    """
    index = carriers.rig.index
    named = index[roles.named(bone)]
    of_foot = [
        carrier for carrier in carriers.up(named) if carriers.rig.names[carrier] in roles.reached
    ]
    named = of_foot[-1] if of_foot else named
    for chain in chains:
        target = chain.target
        if target is None or (target.object, target.bone) != (armature, named):
            continue
        last = chain.bones[-1]
        ends = [index[name] for name in roles.ends if carriers.carries(last, index[name])]
        return min(ends, key=lambda end: len(carriers.up(end)), default=last)
    if of_foot:
        name = carriers.rig.names[named]
        raise ProblemError(
            "“{bone}” isn't parented to “{limb}”, so it won't move with the body: choose Add IK "
            "Limb for it first",
            bone=name,
            limb=roles.reached[name],
        )
    return named


def pins_in(
    armature: bpy.types.Object,
    roles: Roles,
    carriers: Carriers,
    chains: Sequence[PosedChain],
    dragged: Sequence[int],
) -> list[Pin]:
    """Return the pins, or the standing feet if only dragged bones are pinned."""
    index = carriers.rig.index
    pins = [
        Pin(
            meant_bone(armature, roles, carriers, chains, name),
            pin.kind == BOTH,
            vector(pin.location_weights),
            vector(pin.rotation_weights),
        )
        for pin in pins_of(armature)
        if (name := pinned_bone(armature, pin))
    ]
    if all(pin.bone in dragged for pin in pins):
        for name in standing_feet(armature, roles):
            foot, toes = index[name], index.get(roles.after.get(name, ""), -1)
            if foot not in dragged:
                has_toes = bool(roles.posture) and toes >= 0 and toes not in dragged
                pins.append(Pin(toes, True, foot=foot) if has_toes else Pin(foot, True))
    return pins


def standing_feet(armature: bpy.types.Object, roles: Roles) -> list[str]:
    """Return the feet that are about as low as the lowest foot."""
    bones, up = pose_bones(armature), roles.up
    lowest: dict[str, float] = {}
    for name in roles.feet:
        heads = [bone.head for bone in (bones[name], *bones[name].children_recursive)]
        # Importers guess the tails of the last bones.
        ends = heads if len(heads) > 1 else [*heads, bones[name].tail]
        lowest[name] = min(dot(vector(end), up) for end in ends)
    floor = min(lowest.values(), default=0.0) + STANDING_HEIGHT * roles.size
    return [name for name, height in lowest.items() if height <= floor]
