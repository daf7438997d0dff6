"""Few keys for targets that go where their goals went: what the bakes of feet and walks share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import bpy
import numpy as np

from ...blender.access import pose_bones
from ...blender.continuity import continuous
from ...blender.keying import ActiveCurves, put_keys
from ...blender.moving import channels_of, move_to, owner_of
from ...blender.rotation import LOCATION, channel_of, mode_of
from ...blender.simplifying import between, errors, knots, slopes
from ...blender.skeleton import Point
from ...blender.turns import Numbers
from ...core.vectors import add, sub
from ...loop.chain_plan import ChainPlan
from ...loop.goals import aim_of
from ...loop.solved_scene import SolvedScene


@dataclass
class Channel:
    """A channel over the frames of a range, which are counted from 0.

    Attributes:
        owner: The object or pose bone that has it.
        mode: The rotation mode, or what stands for locations.
        most: How far the curve may be off at a frame, in the unit of locations or in radians.
        rows: The numbers at each frame.
        wanted: Frames that have keys in any case.
        still: Frames at which it stands, so that its curve has no slope there.
    """

    owner: Any
    mode: int
    most: float
    rows: list[list[float]] = field(default_factory=list)
    wanted: set[int] = field(default_factory=set)
    still: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The channel's name."""
        return channel_of(self.mode)[0]

    def note(self) -> None:
        """Take what the channel holds, as its next frame."""
        self.rows.append(list(getattr(self.owner, self.name)))

    def note_shown(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Take what the channel of a bone was evaluated with, as its next frame."""
        bones = pose_bones(self.owner.id_data.evaluated_get(depsgraph))
        self.rows.append(list(getattr(bones[self.owner.name], self.name)))

    def write(self, frames: range) -> int:
        """Key the channel over the frames, and return how many keys it got."""
        numbers = np.array(self.rows, np.float32)[:, None]
        nothing_driven = np.zeros((1, numbers.shape[2]), bool)
        rows = continuous(self.mode, numbers, nothing_driven)[:, 0].astype(np.float64)
        slope = slopes(rows)
        slope[sorted(self.still)] = 0.0

        def misses(first: int, last: int) -> Numbers:
            curve = between(rows, slope, first, last)
            return errors(self.mode, rows[first + 1 : last], curve, 1.0)

        standing = {0}
        for first, last in pairwise(sorted({0, len(rows) - 1} | self.wanted)):
            standing.update(knots(range(first, last + 1), misses, self.most))
        places = sorted(standing)
        curves = ActiveCurves(self.owner.id_data)
        path = self.owner.path_from_id(self.name)
        group = self.owner.name if isinstance(self.owner, bpy.types.PoseBone) else ""
        times = [float(frames[place]) for place in places]
        for i in range(rows.shape[1]):
            values, steep = rows[places, i].tolist(), slope[places, i].tolist()
            put_keys(curves.at(path, i, group), times, values, steep)
        return len(places) * rows.shape[1]


def target_channels(chain: ChainPlan, distance: float, angle: float) -> list[Channel]:
    """Return the channels of a chain's target that its goal moves.

    Args:
        chain: The chain, which has a target.
        distance: How far the curves of its location may be off.
        angle: How far those of its rotation may, in radians; they are only there if the chain
            takes the target's turn.
    """
    owner = owner_of(cast(Point, chain.target))
    place = Channel(owner, LOCATION, distance)
    return [place, Channel(owner, mode_of(owner), angle)] if chain.has_hand else [place]


@contextmanager
def led(snapshot: SolvedScene, chain: ChainPlan) -> Iterator[None]:
    """Put a chain's target where its goal is, for as long as it takes to look at its channels.

    Raises:
        ProblemError: As `move_to`.
    """
    target, source = cast(Point, chain.target), chain.goal_source
    assert source is not None
    owner = owner_of(target)
    before = {name: list(getattr(owner, name)) for name in channels_of(target, turns=True)}
    given = aim_of(snapshot, chain)
    aim = source.goal(snapshot, chain, given)
    # The tip may be kept beside the target, which goes as far as the goal does.
    place = add(snapshot.place(target)[1], sub(aim.place, given.place))
    try:
        move_to(snapshot.depsgraph, target, place, aim.axes)
        yield
    finally:
        for name, values in before.items():
            setattr(owner, name, values)
