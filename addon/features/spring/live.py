"""Strands with a pose or settings that weren't simulated, as while a bone or slider is dragged.

A strand is shown as if the current pose were stored. A change to keyed channels blends in from the
last key; a change to other channels applies at all frames. With these changes and the current
settings, the last second is simulated again. So the strand hangs, swings and collides as it will
after the next full simulation. It depends only on the pose, the settings and the simulation, not on
how the mouse got there, and costs the same at any number of frames. Nothing is stored: playing,
rendering and baking show the stored result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, inf, isfinite
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver import WHOLE, ChainInput, Frame, are_near, frame_in, inverse, mixed
from fabrik_solver.core.vectors import length
from fabrik_solver.motion.easing import smooth
from fabrik_solver.motion.spring import Tail
from fabrik_solver.motion.spring_inputs import Instant, carrying, parent_of
from fabrik_solver.motion.spring_strand import simulate_on

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.rotation import TURNS
from ...blender.skeleton import Point
from ...plan.chain_plan import ChainPlan, Snapshot
from ...settings.properties import settings
from ..simulation.history import History
from .recording import (
    Recorded,
    Recording,
    SpringSimulation,
    Still,
    center_of,
    collider_points,
    recordings_of,
    to_space_of,
)
from .settings import spring_of

MEMORY = 1.0
"""Seconds to simulate again: after this time, a strand no longer remembers what came before. The
number of steps doesn't depend on the machine, nor, at the minimum step rate, on the frame rate."""

NEAR = 1e-5
"""Relative difference of two poses that is only rounding, in single precision: one is read from
channels, the other from Blender's evaluation."""


def live_rotations(
    snapshot: Snapshot, chain: ChainPlan, record: History
) -> tuple[float, ...] | None:
    """Return the local rotations of a strand, four numbers per bone; None if they are simulated.

    Args:
        snapshot: The scene, solved so far.
        chain: The strand.
        record: Its stored simulation.
    """
    simulation = SpringSimulation(chain.rig.object, chain.item)
    recording = recordings_of(chain.rig.object).get(simulation.owner)
    if recording is None or recording.result.blob != record.blob:
        return None
    if snapshot.time not in record.frames or _awaits_parent(snapshot, chain):
        return None
    frame = int(snapshot.time) - record.start
    try:
        change = _change(snapshot, chain, recording.frame_by_frame[frame])
        still = simulation.still()
        if change is None and still == recording.result.still:
            return None
        span = ceil(MEMORY * snapshot.frame_rate)
        first = max(0, frame - span, *[cut for cut in recording.result.cuts if cut <= frame])
        key = _last_key(_movers(chain), snapshot.time) - record.start
        rotations = _simulated_on(simulation, recording, (first, frame), change, key, still)
    except (ProblemError, ValueError, ArithmeticError):
        return None  # Simulating reports what is wrong.
    return tuple(rotations) if all(map(isfinite, rotations)) else None


def _awaits_parent(snapshot: Snapshot, chain: ChainPlan) -> bool:
    """Return whether a constraint on top of a strand still has to pose the bones above it."""
    above = chain.rig.chain_up(chain.root_parent) if chain.root_parent >= 0 else ()
    return bool(snapshot.plan.on_top(chain, above))


class _Change(NamedTuple):
    """How a strand's pose differs from the recorded one at a frame.

    Attributes:
        moves: The change of each transform that moves the strand, in that transform's own space.
        bones: The bones in their current pose; None if it is the recorded one.
    """

    moves: list[Frame]
    bones: ChainInput | None

    def carried(self, recorded: Recorded, fraction: float) -> Recorded:
        """Return what moves a strand at a frame, with a fraction of the change applied."""
        moves = [_part_of(move, fraction) for move in self.moves]
        center, world, parent, *places = map(frame_in, _frames_of(recorded), moves)
        to_space = inverse(center)
        placements = [
            placement.at(place, to_space)
            for placement, place in zip(recorded.placements, places, strict=True)
        ]
        return Recorded(
            recorded.values,
            to_space,
            world,
            self.bones or recorded.chain,
            parent,
            placements,
            recorded.fields,
        )


def _change(snapshot: Snapshot, chain: ChainPlan, recorded: Recorded) -> _Change | None:
    """Return how a strand's pose differs from the recorded one; None if it doesn't."""
    were, are = _frames_of(recorded), _frames_now(snapshot, chain)
    bones = _bones_now(snapshot, chain, recorded.chain)
    if bones is None and are_near(were, are, NEAR):
        return None
    return _Change([frame_in(inverse(a), b) for a, b in zip(were, are, strict=True)], bones)


def _simulated_on(
    simulation: SpringSimulation,
    recording: Recording,
    frames: tuple[int, int],
    change: _Change | None,
    key: float,
    still: Still,
) -> list[float]:
    """Return a strand's rotations after simulating some frames of a recording.

    Args:
        simulation: The strand.
        recording: The recorded inputs of the strand, and their result.
        frames: The indices of the first and last frame.
        change: The change of the pose at the last frame, which has blended in since a key.
        key: The index of the frame of the key; -inf if there is none.
        still: The settings.
    """
    first, last = frames
    begin = max(first - 1, 0)
    at = first - begin
    recorded = recording.frame_by_frame[begin : last + 2]
    carried = _carried(recorded, change, (key - begin, last - begin))
    starts = {start - begin for start in (0, *recording.result.cuts)}
    tails: list[Tail] = []
    if at not in starts or (first == 0 and simulation.mode.is_loop):
        carry = carrying(_parent(recorded[at]), _parent(carried[at]))
        tails = [tail.copied() for tail in recording.result.states[first]]
        for tail in tails:
            tail.carry(carry)
    instants, mode = simulation.instants(carried, still), simulation.mode
    return simulate_on(instants, simulation.rate, mode, tails, (at, last - begin), starts)


def _carried(
    recorded: list[Recorded], change: _Change | None, during: tuple[float, float]
) -> list[Recorded]:
    """Return everything that moves a strand at some frames, with a change that blends in.

    Args:
        recorded: What was recorded at the frames.
        change: The change; None to return the recorded values.
        during: The indices of the frames between which the change blends in.
    """
    if change is None:
        return recorded
    key, last = during
    return [
        change.carried(part, smooth((i - key) / (last - key)) if isfinite(key) else 1.0)
        for i, part in enumerate(recorded)
    ]


def _movers(chain: ChainPlan) -> dict[bpy.types.Object, set[str]]:
    """Return the objects that move a strand, each with its bones that do so.

    These objects are the strand's armature, and those of its center and its colliders.
    """
    spring = spring_of(settings(chain.rig.object).constraints[chain.item])
    strand = Point(chain.rig.object, chain.rig, chain.bones[-1])
    colliders = [point for _, point in collider_points(chain, spring)]
    movers: dict[bpy.types.Object, set[str]] = {}
    for point in filter(None, [strand, center_of(spring), *colliders]):
        rig, bones = point.skeleton, movers.setdefault(point.object, set())
        if rig is not None:
            bones.update([rig.names[i] for i in rig.chain_up(point.bone)])
    return movers


def _last_key(movers: dict[bpy.types.Object, set[str]], frame: float) -> float:
    """Return the last key before a frame among the channels that differ from their F-curves.

    -inf if none of the objects' and bones' channels does.
    """
    curves = [(ob, curve) for ob, bones in movers.items() for curve in _curves_of(ob, bones)]
    edited = [curve for ob, curve in curves if _is_edited(ob, curve, frame)]
    keys = [key.co.x for curve in edited for key in curve.keyframe_points]
    return max([key for key in keys if key < frame], default=-inf)


def _curves_of(ob: bpy.types.Object, bones: Iterable[str]) -> list[bpy.types.FCurve]:
    """Return the F-curves that move an object and some of its bones."""
    owners = ["", *[f"{pose_bones(ob)[name].path_from_id()}." for name in bones]]
    paths = {owner + name for owner in owners for name in (*TURNS, "location", "scale")}
    curves = animation.all_active_curves(ob)
    return [curve for curve in curves if curve.data_path in paths and animation.has_effect(curve)]


def _is_edited(ob: bpy.types.Object, curve: bpy.types.FCurve, frame: float) -> bool:
    """Return whether a channel's value differs from its F-curve at a frame."""
    values = cast(Any, ob.path_resolve(curve.data_path))
    if curve.array_index >= len(values):  # As in damaged files.
        return False
    shown = values[curve.array_index]
    return abs(shown - curve.evaluate(frame)) > NEAR * max(1.0, abs(shown))


def _part_of(move: Frame, fraction: float) -> Frame:
    """Return a fraction of a transform: nothing at 0, exactly all of it at 1."""
    return move if fraction == 1.0 else mixed(WHOLE, move, fraction)


def _parent(recorded: Recorded) -> Frame:
    return parent_of(Instant(recorded.world, recorded.chain, recorded.parent, [], []))


def _frames_of(recorded: Recorded) -> list[Frame]:
    """Return the transforms that moved a strand: center, armature, root's parent, colliders."""
    places = [placement.frame for placement in recorded.placements]
    return [inverse(recorded.to_space), recorded.world, recorded.parent, *places]


def _frames_now(snapshot: Snapshot, chain: ChainPlan) -> list[Frame]:
    """Return the current transforms that move a strand. Meshes keep their recorded shape."""
    rig = chain.rig
    spring = spring_of(settings(rig.object).constraints[chain.item])
    to_space = to_space_of(snapshot, center_of(spring))
    world = frame_in(to_space, snapshot.world(rig.object, rig.uid))
    parent = WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent)
    points = [point for _, point in collider_points(chain, spring)]
    places = [frame_in(to_space, snapshot.place(point)) for point in points]
    return [inverse(to_space), world, parent, *places]


def _bones_now(snapshot: Snapshot, chain: ChainPlan, recorded: ChainInput) -> ChainInput | None:
    """Return a strand's bones in their current pose; None if it is the recorded one."""
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
    return None


def _is_near(recorded: Sequence[float], current: Sequence[float], size: float) -> bool:
    """Return whether numbers differ only by rounding, relative to a size or the largest number."""
    difference = max(map(abs, map(float.__sub__, recorded, current)))
    return difference <= NEAR * max(size, *map(abs, recorded))
