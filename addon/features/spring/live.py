"""Strands in poses that aren't simulated, such as while a bone is dragged.

A strand is shown as if the pose were stored. Of channels with keys, it comes in since the last key;
of others, it has always been so. What moves the strand is carried along, and the last second is
simulated again. So it hangs, swings and collides as it will, and depends only on the pose and the
simulation, not on how the mouse got there. Nothing is stored, and a frame that is played, rendered
or baked shows what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import Any, cast

from fabrik_solver import WHOLE, ChainInput, Frame, frame_in, inverse
from fabrik_solver.core.vectors import (
    QUAT_IDENTITY,
    Mat3,
    length,
    mat_inverse,
    mat_product,
    orthonormalize,
    quat_matrix,
    quat_of,
    scaled,
    slerp,
)
from fabrik_solver.motion.easing import smooth
from fabrik_solver.motion.spring import Tail
from fabrik_solver.motion.spring_inputs import Instant, carrying, parent_of
from fabrik_solver.motion.spring_strand import simulate_on

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.rotation import TURNS
from ...plan.chain_plan import ChainPlan, Snapshot
from ...settings.properties import settings
from ..simulation.history import History
from ..simulation.operators import AT_ONCE
from .recording import (
    Recorded,
    Recording,
    SpringSimulation,
    center_of,
    collider_points,
    recordings_of,
    to_space_of,
)
from .settings import spring_of

MEMORY = 1.0
"""Seconds to simulate again at most: by then, a strand has forgotten what was before."""

NEAR = 1e-5
"""The relative difference of two poses that is only rounding, as one is read from channels and the
other from Blender's evaluation, in single precision."""


def live_rotations(
    snapshot: Snapshot, chain: ChainPlan, record: History
) -> tuple[float, ...] | None:
    """Return the local rotations of a strand, four numbers a bone; None if its pose is simulated.

    Args:
        snapshot: The scene, solved so far.
        chain: The strand.
        record: What is stored of it.
    """
    recordings = recordings_of(chain.rig.object)
    simulation = SpringSimulation(chain.rig.object, chain.item)
    recording = recordings.get(simulation.owner)
    if recording is None or recording.result.blob != record.blob or snapshot.time not in record.frames:
        return None
    frame = int(snapshot.time) - record.start
    recorded = recording.frame_by_frame[frame]
    try:
        were, are = _frames_of(recorded), _frames_now(snapshot, chain, recorded)
        bones = _bones_now(snapshot, chain, recorded.chain)
        if bones is recorded.chain and _are_near(were, are):
            return None
        moves = [frame_in(inverse(was), now) for was, now in zip(were, are, strict=True)]
        key = _last_key(chain, snapshot.time)
        pace = sum([other.result.pace for other in recordings.values()])
        span = max(min(ceil(MEMORY * snapshot.frame_rate), int(AT_ONCE / pace)), 1)
        first = max(0, frame - span, *[cut for cut in recording.result.cuts if cut <= frame])
        rotations = _simulated_on(
            simulation, recording, (first, frame), moves, bones, None if key is None else key - record.start
        )
    except (ProblemError, ValueError, ArithmeticError):
        return None  # Simulating will say what is wrong.
    return tuple(rotations) if all(map(isfinite, rotations)) else None


def _simulated_on(
    simulation: SpringSimulation,
    recording: Recording,
    frames: tuple[int, int],
    moves: list[Frame],
    bones: ChainInput,
    key: float | None,
) -> list[float]:
    """Return the rotations after some frames, as if a strand had been carried there all the time.

    Args:
        simulation: The strand.
        recording: What moved it.
        frames: The indices of the first and last frame.
        moves: How each transform that moves it changed.
        bones: Its bones now.
        key: The index of the frame since which this comes in; None if it has always been so.
    """
    first, last = frames
    begin = max(first - 1, 0)
    recorded = recording.frame_by_frame[begin : last + 2]
    is_posed = bones is not recording.frame_by_frame[last].chain
    shares = [
        1.0 if key is None else smooth((i - key) / (last - key))
        for i in range(begin, begin + len(recorded))
    ]
    moved = [
        _moved(part, [_share(move, share) for move in moves], bones if is_posed else part.chain)
        for part, share in zip(recorded, shares, strict=True)
    ]
    at = first - begin
    starts = {start - begin for start in (0, *recording.result.cuts)}
    tails: list[Tail] = []
    if at not in starts or (first == 0 and simulation.mode.is_loop):
        carry = carrying(_parent(recorded[at]), _parent(moved[at]))
        tails = [tail.copied() for tail in recording.result.states[first]]
        for tail in tails:
            tail.carry(carry)
    instants = simulation.instants(moved)
    return simulate_on(
        instants, simulation.rate, simulation.mode, tails, (at, last - begin), starts
    )


def _last_key(chain: ChainPlan, frame: float) -> float | None:
    """Return the last key before a frame of the channels that differ from their F-curves there.

    None if no channel of the armature object, the strand or the bones above it does.
    """
    rig = chain.rig
    above = [pose_bones(rig.object)[rig.names[i]] for i in rig.chain_up(chain.bones[-1])]
    owners = ["", *[f"{bone.path_from_id()}." for bone in above]]
    paths = {owner + name for owner in owners for name in (*TURNS, "location", "scale")}
    keys: list[float] = []
    for curve in animation.all_active_curves(rig.object):
        if curve.data_path in paths and animation.has_effect(curve):
            shown = cast(Any, rig.object.path_resolve(curve.data_path))[curve.array_index]
            if abs(shown - curve.evaluate(frame)) > NEAR * max(1.0, abs(shown)):
                keys += [key.co.x for key in curve.keyframe_points if key.co.x < frame]
    return max(keys, default=None)


def _share(move: Frame, share: float) -> Frame:
    """Return a part of a transform, from none at 0 to all at 1."""
    axes, location = move
    square = orthonormalize(axes)
    if share == 1.0 or square is None:
        return move
    turn = slerp(QUAT_IDENTITY, quat_of(square), share)
    left = mat_product(mat_inverse(square), axes)
    sheared = [share * x + (1.0 - share) * one for x, one in zip(left, WHOLE[0], strict=True)]
    return mat_product(quat_matrix(turn), cast(Mat3, tuple(sheared))), scaled(location, share)


def _parent(recorded: Recorded) -> Frame:
    return parent_of(Instant(recorded.world, recorded.chain, recorded.parent, [], []))


def _frames_of(recorded: Recorded) -> list[Frame]:
    """Return the transforms that moved a strand: center, armature, root's parent, colliders."""
    places = [placement.frame for placement in recorded.placements]
    return [inverse(recorded.to_space), recorded.world, recorded.parent, *places]


def _frames_now(snapshot: Snapshot, chain: ChainPlan, recorded: Recorded) -> list[Frame]:
    """Return the transforms that move a strand now. Meshes stay as recorded."""
    rig = chain.rig
    spring = spring_of(settings(rig.object).constraints[chain.item])
    to_space = to_space_of(snapshot, center_of(spring))
    world = frame_in(to_space, snapshot.world(rig.object, rig.uid))
    parent = WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent)
    frames = [inverse(to_space), world, parent]
    points = collider_points(chain, spring)
    for placement, (_, point) in zip(recorded.placements, points, strict=True):
        is_mesh = placement.ground is not None
        frames.append(placement.frame if is_mesh else frame_in(to_space, snapshot.place(point)))
    return frames


def _moved(recorded: Recorded, moves: list[Frame], bones: ChainInput) -> Recorded:
    """Return what moves a strand at a frame, carried to where it is now."""
    center, world, parent, *places = map(frame_in, _frames_of(recorded), moves)
    placements = [
        placement._replace(frame=place)
        for placement, place in zip(recorded.placements, places, strict=True)
    ]
    return recorded._replace(
        to_space=inverse(center), world=world, chain=bones, parent=parent, placements=placements
    )


def _bones_now(snapshot: Snapshot, chain: ChainPlan, recorded: ChainInput) -> ChainInput:
    """Return the bones of a strand in their pose now: those recorded, if it is the same."""
    pose = snapshot.poses[chain.rig.uid]
    channels = [pose.posed_local(bone) for bone in chain.bones]
    for now, was, link in zip(channels, recorded.channels, recorded.links, strict=True):
        pairs = (
            (now.location, was.location, length(link.arm)),
            (now.rotation, was.rotation, 1.0),
            (now.scale, was.scale, 0.0),
        )
        if not all([_is_near(*pair) for pair in pairs]):
            return recorded.under(channels)
    return recorded


def _are_near(were: list[Frame], are: list[Frame]) -> bool:
    """Return whether transforms differ by no more than rounding."""
    size = max([abs(x) for _, location in were for x in location])
    return all(
        [
            _is_near(was[0], now[0], 0.0) and _is_near(was[1], now[1], size)
            for was, now in zip(were, are, strict=True)
        ]
    )


def _is_near(was: Sequence[float], now: Sequence[float], size: float) -> bool:
    """Return whether numbers differ by no more than rounding, relative to a size or the largest."""
    return max(map(abs, map(float.__sub__, was, now))) <= NEAR * max(size, *map(abs, was))
