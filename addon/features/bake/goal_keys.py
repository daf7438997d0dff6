"""Baking goals to sparse keys of targets, for feet on the ground and walks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain as chained
from typing import Any, NamedTuple, cast

import bpy
import numpy as np

from fabrik_solver.core.vectors import Mat3, Vec, add, sub

from ...blender.access import pose_bones
from ...blender.continuity import continuous
from ...blender.errors import ProblemError
from ...blender.keying import ActiveCurves, put_keys
from ...blender.moving import channels_of, move_to, owner_of, refuse_unmovable
from ...blender.refusals import refuse_unkeyable
from ...blender.rotation import LOCATION, channel_of, mode_of
from ...blender.simplifying import simplified, slopes
from ...blender.skeleton import Point, vector
from ...blender.turns import Numbers
from ...editing.playing import play
from ...frame.chain import aim_of, offset_of, placed
from ...frame.solved_scene import SolvedScene
from ...frame.solving import solve_armatures
from ...plan.chain_plan import ChainPlan, Tie, target_of
from ...plan.planner import chains_in
from .passes import Bake, Draft, progress


@dataclass
class TargetChannel:
    """A sampled channel of a target or bone, with frames counted from the start of the range.

    Attributes:
        owner: The object or pose bone.
        mode: The rotation mode, or `LOCATION`.
        most: Maximum error of the curve, in the unit of locations or in radians.
        rows: The values at each frame.
        required: Frames that always get keys.
        still: Frames where the slope is 0.
    """

    owner: Any
    mode: int
    most: float
    rows: list[list[float]] = field(default_factory=list)
    required: set[int] = field(default_factory=set)
    still: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Name of the channel."""
        return channel_of(self.mode)[0]

    def sample(self) -> None:
        """Append the current values."""
        self.rows.append(list(getattr(self.owner, self.name)))

    def sample_evaluated(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Append the evaluated values of a bone."""
        bones = pose_bones(self.owner.id_data.evaluated_get(depsgraph))
        self.rows.append(list(getattr(bones[self.owner.name], self.name)))

    def write(self, frames: range) -> int:
        """Insert simplified keys, and return their total number, over all array elements."""
        numbers = np.array(self.rows, np.float32)[:, None]
        nothing_driven = np.zeros((1, numbers.shape[2]), bool)
        rows = continuous(self.mode, numbers, nothing_driven)[:, 0].astype(np.float64)
        slope = slopes(rows)
        slope[sorted(self.still)] = 0.0
        keyed = simplified(self.mode, rows, range(len(rows)), self.most, 1.0, slope, self.required)
        curves = ActiveCurves(self.owner.id_data)
        path = self.owner.path_from_id(self.name)
        group = self.owner.name if isinstance(self.owner, bpy.types.PoseBone) else ""
        times = [float(frames[index]) for index in keyed]
        for i in range(rows.shape[1]):
            values, key_slopes = rows[keyed, i].tolist(), slope[keyed, i].tolist()
            put_keys(curves.at(path, i, group), times, values, key_slopes)
        return len(keyed) * rows.shape[1]


def target_channels(chain: ChainPlan, distance: float, angle: float) -> list[TargetChannel]:
    """Return a target's location channel, and its rotation channel if the chain copies it.

    Args:
        chain: A chain with a target.
        distance: Maximum error of the location.
        angle: Maximum error of the rotation, in radians.
    """
    owner = owner_of(cast(Point, chain.target))
    locations = TargetChannel(owner, LOCATION, distance)
    return (
        [locations, TargetChannel(owner, mode_of(owner), angle)]
        if chain.limb.is_oriented
        else [locations]
    )


@contextmanager
def target_at_goal(snapshot: SolvedScene, chain: ChainPlan) -> Iterator[None]:
    """Move a chain's target to its goal while in the block.

    Raises:
        ProblemError: See `move_to`.
    """
    target, tip_aim = cast(Point, chain.target), aim_of(snapshot, chain)
    aim = placed(snapshot, chain, tip_aim)
    # With Keep Offset the tip isn't at the target; both move by the same amount.
    shift, axes = sub(aim.place, tip_aim.place), aim.axes
    if chain.roll is not None:
        frame = snapshot.place(target)
        location, axes = target_of(frame, offset_of(snapshot, chain), aim.place, axes)
        shift = sub(location, frame[1])
    with _shifted(snapshot, target, shift, axes):
        yield


@contextmanager
def _shifted(snapshot: SolvedScene, point: Point, shift: Vec, axes: Mat3 | None) -> Iterator[None]:
    """Shift a target or pole in world space within the block, and align it if axes are given.

    Raises:
        ProblemError: See `move_to`.
    """
    owner = owner_of(point)
    original = {name: list(getattr(owner, name)) for name in channels_of(point, turns=True)}
    point_world = add(snapshot.place(point)[1], shift)
    try:
        move_to(snapshot.depsgraph, point, point_world, axes)
        yield
    finally:
        for name, values in original.items():
            setattr(owner, name, values)


class LiftedControl(NamedTuple):
    """A target or pole that follows a lifted body.

    Attributes:
        item: The constraint.
        is_pole: Whether it is the constraint's pole, not its target.
        channel: Its location channel.
    """

    item: int
    is_pole: bool
    channel: TargetChannel


def lifted_controls(chains: Sequence[ChainPlan], distance: float) -> list[LiftedControl]:
    """Return the targets and poles that follow lifted bodies, without duplicates.

    Args:
        chains: The chains.
        distance: Maximum error of their locations.

    Raises:
        ProblemError: If a target or pole can't be moved.
    """
    lifted: dict[tuple[int, int], LiftedControl] = {}
    for chain in chains:
        tied = ((chain.target, chain.target_tie, False), (chain.pole, chain.pole_tie, True))
        for point, tie, is_pole in tied:
            if point is not None and tie is not None:
                refuse_unmovable(point, turns=False)
                channel = TargetChannel(owner_of(point), LOCATION, distance)
                lifted.setdefault(
                    (point.uid, point.bone), LiftedControl(chain.item, is_pole, channel)
                )
    return list(lifted.values())


class TargetBakeResult(NamedTuple):
    """The result of baking goals to targets.

    Attributes:
        feet: Number of baked constraints.
        keys: Number of keys in all array elements.
        most: Number of keys with a key at every frame.
        foot: Largest distance of a tip from its live location, in meters.
        distance: Largest distance of any joint of the chains from its live location, in meters.
        frame: The frame with that distance.
    """

    feet: int
    keys: int
    most: int
    foot: float
    distance: float
    frame: int


class TargetBake(Bake["list[Numbers]", tuple[float, float, int], TargetBakeResult]):
    """A bake of goals to keys of targets, and of evaluated bones."""

    def __init__(
        self,
        scene: bpy.types.Scene,
        layer: bpy.types.ViewLayer,
        frames: range,
        armature: bpy.types.Object,
        feet: Mapping[int, Sequence[TargetChannel]],
        bones: Sequence[TargetChannel],
        error: float,
        switch: Callable[[bool], None],
        lifted: Sequence[LiftedControl] = (),
    ) -> None:
        """Set up the bake.

        Args:
            scene: See `Bake`.
            layer: See `Bake`.
            frames: See `Bake`.
            armature: The armature.
            feet: For each constraint, by index, its `target_channels`.
            bones: Channels of bones to key as evaluated.
            error: Maximum distance of a joint of the chains from its live location, in meters.
            switch: Called with False to disable whatever changes the goals, and with True to enable
                it.
            lifted: Targets and poles that follow the bodies.

        Raises:
            ProblemError: If a target can't be moved, two feet share it, or the NLA or a linked
                action keeps keys from having an effect.
        """
        self._channels = [*chained.from_iterable(feet.values()), *bones]
        self._channels += [entry.channel for entry in lifted]
        owners = [entry.owner.id_data for entry in self._channels]
        super().__init__(scene, layer, frames, [armature], owners)
        for owner in self.owners:
            refuse_unkeyable(owner)
        self._feet, self._bones, self._lifted = feet, bones, lifted
        self._error, self._switch = error, switch
        targets: list[tuple[object, int]] = []
        for chain in self._chains(feet):
            target = cast(Point, chain.target)
            refuse_unmovable(target, chain.limb.is_oriented)
            if (target.object, target.bone) in targets:
                raise ProblemError(
                    "Two feet have the same target “{target}”: give each foot its own target",
                    target=owner_of(target).name,
                )
            targets.append((target.object, target.bone))

    def _record(self) -> Generator[float, None, list[Numbers]]:
        return play(self.scene, self.frames, self._sample)

    def _play(self) -> Generator[float, None, list[Numbers]]:
        return play(self.scene, self.frames, self._joints)

    def _play_again(self, live: list[Numbers]) -> Generator[float, None, list[Numbers]]:
        """Play the keys back, and add keys until each joint is within the error.

        The errors of the curves don't limit those of joints: a nearly straight limb bends by many
        times as much as its ends approach each other, and a chest tilts with its shoulders.
        """
        start, end = 0.0, 0.8
        played = yield from progress(self._play(), start, end)
        while more := self._off_between_keys(live, played):
            for channel in self._channels:
                channel.required |= more
            self._write(live)
            start, end = end, end + 0.8 * (1.0 - end)
            played = yield from progress(self._play(), start, end)
        return played

    def _off_between_keys(self, live: list[Numbers], played: list[Numbers]) -> set[int]:
        """Return the middle of each span in which a joint is off and not all channels have keys.

        Halving the spans limits how often the range is played.
        """
        off = np.linalg.norm(np.subtract(live, played), axis=-1).max(axis=1) > self._error
        off[sorted(set.intersection(*(channel.required for channel in self._channels)))] = False
        edges = np.flatnonzero(np.diff(off, prepend=False, append=False)).tolist()
        return {(a + b) // 2 for a, b in zip(edges[::2], edges[1::2], strict=True)}

    def _sample(self, frame: int) -> Numbers:
        depsgraph: Any = self.layer.depsgraph
        snapshot = solve_armatures(depsgraph, self.armatures)
        for chain, channels in zip(self._chains(self._feet), self._feet.values(), strict=True):
            if chain.limb.foot >= 0:  # Already evaluated at its goal.
                for channel in channels:
                    channel.sample_evaluated(depsgraph)
                continue
            with target_at_goal(snapshot, chain):
                for channel in channels:
                    channel.sample()
        chains = self._chains([control.item for control in self._lifted])
        for chain, control in zip(chains, self._lifted, strict=True):
            point, tie = chain.target, chain.target_tie
            if control.is_pole:
                point, tie = chain.pole, chain.pole_tie
            position = snapshot.place(cast(Point, point))[1]
            lift = snapshot.lift(chain, cast(Tie, tie), position)
            with _shifted(snapshot, cast(Point, point), lift, None):
                control.channel.sample()
        for channel in self._bones:
            channel.sample_evaluated(depsgraph)
        return self._joints(frame)

    def _joints(self, _frame: int) -> Numbers:
        """Return the evaluated joints of the chains in world space: all tips, then all heads."""
        evaluated = self.armatures[0].evaluated_get(cast(Any, self.layer.depsgraph))
        bones = pose_bones(evaluated)
        chains = self._chains([*self._feet, *(control.item for control in self._lifted)])
        joints = [chain.posed_tip(bones) for chain in chains]
        for chain in chains:
            joints += [bones[chain.rig.names[bone]].head for bone in chain.bones]
        return np.array([vector(evaluated.matrix_world @ joint) for joint in joints])

    def _chains(self, items: Iterable[int]) -> list[ChainPlan]:
        chains_by_item = {chain.item: chain for chain in chains_in(self.armatures[0])}
        return [chains_by_item[item] for item in items]

    def _write(self, live: list[Numbers]) -> list[int]:
        self._key_counts = [channel.write(self.frames) for channel in self._channels]
        return self._key_counts

    @contextmanager
    def _off(self) -> Iterator[None]:
        try:
            self._switch(False)
            yield
        except BaseException:
            self._switch(True)
            raise

    def _compare(
        self, live: list[Numbers], played: list[Numbers], over: list[Numbers] | None
    ) -> tuple[float, float, int]:
        distances = np.linalg.norm(np.subtract(live, played), axis=-1)
        largest = distances.max(axis=1)
        worst = int(largest.argmax())
        tips = len(self._feet) + len(self._lifted)
        return float(distances[:, :tips].max()), float(largest[worst]), self.frames[worst]

    def _settle(
        self, live: list[Numbers], comparison: tuple[float, float, int], drafts: Sequence[Draft]
    ) -> TargetBakeResult:
        for draft in drafts:
            draft.keep()
        key_limit = len(self.frames) * sum(len(channel.rows[0]) for channel in self._channels)
        return TargetBakeResult(len(self._feet), sum(self._key_counts), key_limit, *comparison)
