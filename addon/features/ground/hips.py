"""The hip over feet on the ground: it goes along with them, and down until all of them reach."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import ceil, floor, isfinite
from typing import NamedTuple

from ...blender.errors import ProblemError
from ...blender.relations import above, node_at, parents
from ...blender.rotation import LOCATION
from ...blender.skeleton import Point, Skeleton
from ...core import WHOLE, Frame, moved_location, point_in
from ...core.vectors import (
    Mat3,
    Vec,
    length,
    mat_apply,
    mat_columns,
    mat_product,
    mix,
    scaled,
    sub,
)
from ...loop.chain_plan import ChainPlan, Snapshot, aim_of, refuse_connected
from ...loop.pre_pass import PrePassBone
from ...loop.properties import settings
from ...loop.resolving import bone_index
from ...loop.results import NOTHING, Answer
from ...motion.ground import Leg, foreseen_drop, hip_drop, hip_rise
from .footing import Footing
from .probe import probe_of
from .settings import FabrikGround, ground_settings

EASE = 0.2
"""For how many seconds the hip goes down before it has to, and comes up after."""


class HipTask(NamedTuple):
    """All that the place of a hip depends on, to the last bit.

    Attributes:
        channels: What `SolvedPose.bits_of` and, of a layer, `SolvedPose.beneath` tell of it.
        parent: The frame of its parent, in armature space.
        world: Where the armature stands in world space.
        shift: By how much it is moved, in world space.
    """

    channels: tuple[object, ...]
    parent: Frame
    world: Frame
    shift: Vec


class Hip(PrePassBone):
    """A bone that goes down so that all feet reach."""

    def needs(self) -> list[Point]:
        """Return the targets of its legs."""
        return [leg.target for leg in self.chains if leg.target is not None]

    def read(self, snapshot: Snapshot) -> HipTask | None:
        """Return by how much it is moved, None if it stays."""
        pose = snapshot.poses[self.rig.uid]
        working = [leg for leg in self.chains if not leg.problem and self._counts(snapshot, leg)]
        if not working:
            return None
        first = ground_settings(snapshot.item(working[0]))
        up = probe_of(snapshot, working[0], first, _footing(working[0]).ground).up
        legs = [self._leg(snapshot, chain) for chain in working]
        rise = hip_rise(legs, first.hip_follow)
        drop = hip_drop(legs, up, first.hip_reach, rise)
        shift = rise - max(drop, self._foreseen(snapshot, working, legs, up))
        if shift == 0.0:
            return None
        beneath = pose.beneath(self.bones) if self.is_layered else None
        return HipTask(
            (*pose.bits_of(self.runs, -1), beneath),
            WHOLE if self.root_parent < 0 else snapshot.frame(self.rig, self.root_parent),
            snapshot.world(self.rig.object, self.rig.uid),
            scaled(up, shift),
        )

    def answer(self, snapshot: Snapshot, task: object) -> Answer:
        """Return its location.

        Raises:
            ProblemError: If the armature is scaled to nothing.
        """
        assert isinstance(task, HipTask)
        pose, bone = snapshot.poses[self.rig.uid], self.rig.bone(self.bone)
        shift = mat_apply(self.rig.from_world(task.world)[0], task.shift)
        local = pose.posed_local(self.bone)
        location = moved_location(bone, local.location, task.parent[0], shift)
        return Answer(task, self.bones, local.rotation, (), NOTHING, {self.bone: location})

    def _foreseen(
        self, snapshot: Snapshot, chains: Sequence[ChainPlan], legs: Sequence[Leg], up: Vec
    ) -> float:
        """Return how far it goes down for what its feet do before and after, 0 if nobody knows."""
        first = ground_settings(snapshot.item(chains[0]))
        time = snapshot.time
        walk, _ = _footing(chains[0]).walk(chains[0], first, time)
        if walk is None:
            return 0.0
        ease = max(2, round(EASE * walk.track.rate))
        first_frame = ceil(time) - 2 * ease - 1
        # Every other frame will do, the same ones whatever the time is.
        frames = range(first_frame + first_frame % 2, floor(time) + 2 * ease + 2, 2)
        tracks = [_footing(chain).foreseen(snapshot, chain, frames) for chain in chains]
        drops: dict[int, float] = {}
        for frame in set(frames).intersection(*tracks):
            others = [
                Leg(seen.root, seen.target, seen.goal, leg.length, seen.rise)
                for seen, leg in zip([track[frame] for track in tracks], legs, strict=True)
            ]
            rise = hip_rise(others, first.hip_follow)
            drops[frame] = hip_drop(others, up, first.hip_reach, rise)
        return foreseen_drop(drops, time, ease)

    def _counts(self, snapshot: Snapshot, leg: ChainPlan) -> bool:
        """Return whether a leg is on, and its target anywhere; else it says what is wrong."""
        given = snapshot.poses[self.rig.uid].settings[leg.item]
        is_on = given.enabled and given.influence > 0.0
        return is_on and isfinite(sum(aim_of(snapshot, leg).place))

    def _leg(self, snapshot: Snapshot, chain: ChainPlan) -> Leg:
        world = snapshot.world(self.rig.object, self.rig.uid)
        heads = [
            point_in(world, snapshot.frame(self.rig, bone)[1])
            for bone in (*chain.bones, *([chain.tip_bone] if chain.tip_bone >= 0 else ()))
        ]
        given = aim_of(snapshot, chain)
        found = _footing(chain).foothold(snapshot, chain, given)
        target, goal = given.place, found.base
        last = self.rig.bone(chain.bones[-1])
        axes = mat_product(world[0], snapshot.frame(self.rig, chain.bones[-1])[0])
        tail = point_in((axes, heads[-1]), (0.0, last.length, 0.0))
        if chain.tip_bone < 0 and not chain.has_hand:
            heads.append(tail)
        elif chain.tip_bone < 0:
            # The foot lies as its target does, so it is its head that has to come within reach.
            size = length(sub(tail, heads[-1]))
            target = _heel(target, given.axes, size)
            goal = _heel(goal, found.aim.axes, size)
        size = sum(length(sub(b, a)) for a, b in itertools.pairwise(heads))
        share = snapshot.poses[self.rig.uid].settings[chain.item].influence
        return Leg(heads[0], target, mix(target, goal, share), size, share * found.rise)


def hips_of(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[Hip]:
    """Yield the hips of an armature's legs; what is wrong with one is said by its legs."""
    hips: dict[int, Hip] = {}
    for chain in chains:
        given = ground_settings(settings(rig.object).constraints[chain.item])
        if chain.problem or not isinstance(chain.goal_source, Footing) or not given.hip:
            continue
        try:
            bone = _hip_bone(rig, chain, given)
        except ProblemError as problem:
            chain.problem = str(problem)
            continue
        if bone not in hips:
            hips[bone] = Hip(rig, bone, [], [rig.slot(LOCATION, bone)], is_timed=True)
        hips[bone].chains.append(chain)
    yield from hips.values()


def _hip_bone(rig: Skeleton, chain: ChainPlan, given: FabrikGround) -> int:
    """Return the bone that is the hip of a leg.

    Raises:
        ProblemError: If it cannot be that.
    """
    bone = bone_index(rig, given, "hip")
    name = rig.names[bone]
    if bone in chain.bones or bone not in rig.chain_up(chain.bones[0]):
        raise ProblemError(
            f"“{name}” is not a parent of the leg: choose a bone that carries "
            f"“{rig.names[chain.bones[0]]}”, or decrease Chain Length"
        )
    refuse_connected(rig, bone, "choose another hip")
    target = chain.target
    if target is not None and (rig.object, bone) in above([node_at(target)], parents):
        raise ProblemError(
            f"The target depends on the hip “{name}”, which is moved for it (dependency cycle): "
            "parent the target to something else, or choose another hip"
        )
    return bone


def _footing(chain: ChainPlan) -> Footing:
    assert isinstance(chain.goal_source, Footing)
    return chain.goal_source


def _heel(tip: Vec, axes: Mat3 | None, size: float) -> Vec:
    """Return where a foot's head is, given its tip."""
    return tip if axes is None else sub(tip, scaled(mat_columns(axes)[1], size))
