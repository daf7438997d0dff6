"""A shot: a chain or a body that reaches, solved over all frames at once so that nothing jumps.

What is kept are its poses. At a frame it is solved from the one that is kept for it, and between
frames from a mixture of two, by the least way: the tip is on its target also where that was moved
since, and all that is done to a frame by itself is done to these as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, cast

import bpy

from ...core.vectors import ORIGIN, Quat, Vec, mix, slerp
from ...loop.chain_plan import Begun, ChainPlan
from ...loop.properties import FabrikConstraint
from ...loop.property_kinds import stored
from ...motion import codec
from ..simulation import history

FORM = codec.Form(b"FABC", 1)

UNFIT = "The simulation does not match the chain: press Simulate"

UNKNOWN = "Not simulated, each frame is solved on its own: press Simulate"


class FabrikShot(bpy.types.PropertyGroup):
    """The poses of a chain over all frames."""

    history: Annotated[bytes, stored("History", "Simulated poses")]


class Kept(NamedTuple):
    """A pose at a frame: the local rotations of the bones, and the location of the first one."""

    rotations: tuple[Quat, ...]
    location: Vec


def packed(poses: Sequence[Kept]) -> bytes:
    """Return the poses of all frames as bytes."""
    count = len(poses[0].rotations)
    numbers: list[float] = []
    for pose in poses:
        numbers += pose.location
        for rotation in pose.rotations:
            numbers += rotation
    return FORM.packed([count], (), numbers)


def unpacked(blob: bytes) -> list[Kept]:
    """Return what was packed.

    Raises:
        ValueError: If it is something else.
    """
    (count,), _, numbers = FORM.unpacked(blob)
    size = 3 + 4 * count
    if count <= 0 or not numbers or len(numbers) % size:
        raise ValueError(codec.DAMAGED)
    poses: list[Kept] = []
    for at in range(0, len(numbers), size):
        x, y, z = numbers[at : at + 3]
        turns = iter(numbers[at + 3 : at + size])
        poses.append(Kept(tuple(zip(turns, turns, turns, turns, strict=True)), (x, y, z)))
    return poses


class Shot:
    """The poses of a constraint whose Continuous is on, or of the body that it belongs to.

    Attributes:
        owner: The path of their settings on the armature object.
    """

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Take a constraint of an armature."""
        self.owner = history.owner_path(index, "shot")
        self._armature = armature
        self._blob = b""
        self._poses: list[Kept] = []

    def begun(self, time: float, bones: int) -> Begun | None:
        """Return what is solved from at a time, None while it is being simulated.

        Args:
            time: In frames.
            bones: How many bones are posed.
        """
        found = history.data(self._armature, self.owner)
        if found is None:
            lack = history.lack(self._armature, self.owner, UNKNOWN)
            return None if lack == history.RUNNING else Begun((), ORIGIN, lack)
        if found.blob is not self._blob:
            try:
                self._poses = unpacked(found.blob)
            except ValueError:
                self._poses = []
            self._blob = found.blob
        poses = self._poses
        if len(poses) != len(found.frames) or len(poses[0].rotations) != bones:
            return Begun((), ORIGIN, UNFIT)
        at = min(max(time - found.start, 0.0), float(found.end - found.start))
        place = min(int(at), max(len(poses) - 2, 0))
        pose = _between(poses[place], poses[min(place + 1, len(poses) - 1)], at - place)
        return Begun(pose.rotations, pose.location, history.note(found, time))


def _between(a: Kept, b: Kept, share: float) -> Kept:
    """Return the pose that is part of the way from one to another."""
    if share == 0.0 or share == 1.0:
        return b if share else a
    pairs = zip(a.rotations, b.rotations, strict=True)
    rotations = tuple([slerp(before, after, share) for before, after in pairs])
    return Kept(rotations, mix(a.location, b.location, share))


def resolve(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Have a chain solved as a shot, if it is to be."""
    if is_continuous(item):
        chain.shot = Shot(chain.rig.object, chain.item)
        chain.is_timed = True


def is_continuous(item: FabrikConstraint) -> bool:
    """Return whether a constraint is solved as a shot."""
    return cast(Any, item).use_continuous
