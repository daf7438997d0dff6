"""How far what was baked is from what was live, wherever the bones are in the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import degrees

import numpy as np

from ...blender.access import pose_bones
from ...blender.rotation import channel_of
from ...blender.simplifying import ROUNDING, errors
from ...blender.turns import Numbers, matrix_angles
from .picking import Picked
from .recording import Take, Track

EXACT = 1e-4
"""What a bake may be off by at its keys: as a share of the chain's length, and in radians."""

NO_LENGTH = 1e-30
"""What counts as the length of a chain that is scaled to zero, all of which is in one place."""


@dataclass(frozen=True)
class Proof:
    """What playing a baked range has shown.

    Attributes:
        distance: The largest distance of a head or tail from where it was live, in metres.
        angle: The largest turn of a bone from how it was live, in radians.
        bone: The bone that is off by most, measured by the length of its chain.
        frame: The frame at which it is.
        holds: Whether keys are exact, and simplified channels within the error that was set.
        wanted: What was asked of them, in words.
    """

    distance: float
    angle: float
    bone: str
    frame: int
    holds: bool
    wanted: str


def compare(
    live: Take, baked: Take, picks: Sequence[Picked], keyed: Sequence[int], error: float
) -> Proof:
    """Compare a range as it was with the same range as baked.

    Args:
        live: As it was.
        baked: As it is played with the constraints off.
        picks: What was baked.
        keyed: The frames, counted from 0, at which unsimplified keys stand.
        error: What simplified channels may be off by, in radians; 0 if they are not simplified.
    """
    distance = angle = worst = 0.0
    where = (0, "")
    holds = True
    for picked, a, b in zip(picks, live.tracks, baked.tracks, strict=True):
        apart, reaches = _distances(picked, a, b)
        turned = _at_other(a, b, matrix_angles)
        share = np.maximum(apart / np.maximum(reaches, NO_LENGTH), turned)
        frame, bone = np.unravel_index(int(share.argmax()), share.shape)
        if not where[1] or share[frame, bone] > worst:
            worst, where = float(share[frame, bone]), (int(frame), picked.names[int(bone)])
        distance, angle = max(distance, float(apart.max())), max(angle, float(turned.max()))
        if error > 0.0:
            most = max(float(off.max()) for _, off in _channel_errors(picked, a, b))
            holds &= most <= error + ROUNDING
        else:
            holds &= bool(share[list(keyed)].max() <= EXACT)
    wanted = f"{EXACT:g} of the chain's length"
    if error > 0.0:
        wanted = f"{degrees(error):.3g}° in the channels"
    return Proof(distance, angle, where[1], live.frames[where[0]], holds, wanted)


def _at_other(a: Track, b: Track, measured: Callable[[Numbers, Numbers], Numbers]) -> Numbers:
    """Return by how much bones differ at each frame: by nothing where they are the same bits.

    Args:
        a: One track.
        b: The other one.
        measured: Given the matrices of some frames in world space, by how much they differ.
    """
    found = np.zeros(a.matrices.shape[:2])
    other = (a.matrices != b.matrices).any(axis=(1, 2, 3)) | (a.worlds != b.worlds).any(axis=(1, 2))
    if other.any():
        worlds = [t.worlds[other, None] @ t.matrices[other].astype(np.float64) for t in (a, b)]
        found[other] = measured(*worlds)
    return found


def _distances(picked: Picked, a: Track, b: Track) -> tuple[Numbers, Numbers]:
    """Return how far heads and tails are apart, and how long the chains are, in world space."""
    bones = pose_bones(picked.armature)
    ends = np.zeros((len(picked.bones), 4, 2))
    ends[:, 3] = 1.0
    ends[:, 1, 1] = [bones[i].bone.length for i in picked.bones]

    def apart(x: Numbers, y: Numbers) -> Numbers:
        return np.linalg.norm(((x - y) @ ends)[:, :, :3], axis=2).max(axis=-1)

    scale = np.linalg.norm(a.worlds[:, :3, :3], axis=1).mean(axis=-1)
    return _at_other(a, b, apart), np.array(picked.reaches) * scale[:, None]


def moved_on(
    live: Take, left: Take, picks: Sequence[Picked], keyed: Sequence[int], error: float
) -> list[set[int]]:
    """Return of each armature the bones that its constraints take on from the baked pose.

    Args:
        live: The range as it was.
        left: As it is played with the constraints on, over their keys.
        picks: What was baked.
        keyed: As for `compare`.
        error: As for `compare`.
    """
    frames = list(keyed)
    return [
        {
            picked.bones[place]
            for place, off in _channel_errors(picked, a, b)
            if off[frames].max() > error + EXACT
        }
        for picked, a, b in zip(picks, live.tracks, left.tracks, strict=True)
    ]


def _channel_errors(picked: Picked, a: Track, b: Track) -> Iterator[tuple[int, Numbers]]:
    """Yield by how much the channels of bones are off, in radians, but for what drivers set.

    With each comes the place of its bone among those that were baked.
    """
    for channel, live, baked in zip(picked.channels, a.numbers, b.numbers, strict=True):
        size = channel_of(channel.mode)[1]
        for place, bone in enumerate(channel.bones):
            free = [i for i in range(size) if i not in channel.driven[place]]
            given = live[:, place]
            other = given.copy()
            other[:, free] = baked[:, place][:, free]
            yield bone, errors(channel.mode, given, other, picked.reaches[bone])
