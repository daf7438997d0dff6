"""A foot as rays see it: its goal, and its other end."""

from __future__ import annotations

from typing import NamedTuple

from ...core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    dot,
    length,
    mat_apply,
    mat_columns,
    rotate,
    scaled,
    sub,
)
from ...loop.chain_plan import Aim, ChainPlan, Snapshot
from ...motion.ground import raised, tilt_of, turn_of
from ...motion.sole import counted, is_beside, resting_normal
from .probe import Probe, Under


class Lying(NamedTuple):
    """How a foot lies on the ground.

    Attributes:
        tilt: How it is turned (see `tilt_of`).
        height: How high its goal is along the axis, in metres from the origin of the world.
        rise: How much higher the ground counts than the floor of the animation.
    """

    tilt: Vec
    height: float
    rise: float


def end_of(snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Vec:
    """Return where the other end of a foot is, seen from its goal in world space.

    A foot that lies as its target does ends where its bone does, or a bone that is connected to
    it, as the toes. Of one that hangs on its leg as it likes nobody knows: it has no other end.
    """
    if aim.axes is None:
        return ORIGIN
    rig = chain.rig
    sizes = map(length, mat_columns(snapshot.world(rig.object, rig.uid)[0]))
    end = (0.0, -rig.bone(chain.bones[-1]).length, 0.0)
    if chain.tip_bone >= 0:
        end = (0.0, rig.bone(chain.tip_bone).length, 0.0)
        for toes in [b for b in rig.connected if rig.parents[b] == chain.tip_bone]:
            bone = rig.bone(toes)
            tail = add(bone.head, mat_apply(bone.rest, (0.0, bone.length, 0.0)))
            end = max(end, tail, key=length)
    return mat_apply(aim.axes, scaled(end, sum(sizes) / 3.0))


def laid(probe: Probe, under: Under, place: Vec, end: Vec, low: float, end_low: float) -> Lying:
    """Return how a foot lies on the ground so that neither end is in it.

    Args:
        probe: What looks for ground.
        under: What is below the foot's goal.
        place: Where that is, whatever its height.
        end: Its other end seen from there, above flat ground.
        low: How high the goal is above flat ground.
        end_low: How high the other end is.
    """
    rise = probe.level(under) - probe.floor
    if end == ORIGIN:
        return Lying(ORIGIN, probe.level(under) + low, rise)
    reach = length(across(end, probe.up))
    far = probe.under(add(place, end))
    normal = under.normal
    if far is not None and not is_beside(far.height - under.height, reach):
        apart = far.height - under.height
        normal = resting_normal(normal, far.normal, end, apart, probe.up)
    tilt = tilt_of(normal, probe.up, probe.most)
    height = probe.level(under) + raised(low, tilt)
    lift = 0.0
    if far is not None:
        turned = rotate(turn_of(tilt), end)
        # It comes down a little nearer, on the same face.
        beside = across(sub(turned, end), probe.up)
        level = probe.level(far) - dot(beside, far.normal) / dot(far.normal, probe.up)
        wanted = level + raised(end_low, tilt) - dot(turned, probe.up)
        lift = counted(wanted - height, far.height - under.height, reach)
    return Lying(tilt, height + lift, rise + lift)
