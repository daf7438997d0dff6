"""A free chain: its settings, its simulation, and how it is read and solved.

The simulation stores the path of the head. A pose depends only on this path, not on previously
shown frames.
"""

from __future__ import annotations

from math import dist
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver import (
    WHOLE,
    ChainInput,
    Frame,
    Local,
    frame_in,
    inverse,
    moved_location,
    point_in,
)
from fabrik_solver.core.vectors import Vec, mix, sub
from fabrik_solver.motion import codec
from fabrik_solver.motion.follow import Trail
from fabrik_solver.motion.joint_fitting import fitted_to_joints

from ...blender.access import session_uid
from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.skeleton import Point
from ...plan.chain_plan import ChainPlan, ChainPose, Motion, MotionContext, Report, Snapshot
from ...plan.results import explanation
from ...settings.definitions import fixed, stored
from ...settings.properties import FabrikConstraint, settings
from ...settings.values import values_of
from ..simulation import history
from ..simulation.digest import Source
from ..simulation.history import History

SOLVER = "FOLLOW"

SIMULATED_SETTINGS = ("chain_count", "use_tail", "use_offset", "offset_location")
"""Settings of the constraint that are inputs of the simulation."""

TARGET_TOLERANCE = 1e-5
"""Maximum distance of the target from its simulated location, as a fraction of the chain length."""

TARGET_MOVED = msg("The target has moved since the simulation: key it, or press Simulate")

MISMATCH = msg("The simulation doesn't match the chain: press Simulate")

FORM = codec.Form(b"FABF", 1)


class FabrikFollow(bpy.types.PropertyGroup):
    """The settings of a free chain."""

    use_path: bool = fixed(
        "Stay on Path",
        "Keep each joint on the path of the head, like a train on rails. When disabled, the "
        "bones cut corners, like a trailer",
        default=False,
    )
    history: bytes = stored("History", "Simulated path of the head")


def free_chain_settings(item: FabrikConstraint) -> FabrikFollow:
    """Return the free chain settings of a constraint."""
    return cast(Any, item).follow


class SimulatedPath(NamedTuple):
    """The simulation of a free chain.

    Attributes:
        world: Frame of the armature at the start, in world space.
        joints: Joints of the FK pose at the start, root first, in armature space.
        path: Goal of the head at each frame, in world space.
    """

    world: Frame
    joints: list[Vec]
    path: list[Vec]

    def packed(self) -> bytes:
        """Return the simulation as bytes."""
        axes, location = self.world
        numbers = [number for point in (*self.joints, *self.path) for number in point]
        return FORM.packed([len(self.joints)], (), [*axes, *location, *numbers])

    @classmethod
    def unpacked(cls, blob: bytes) -> SimulatedPath:
        """Return the simulation from bytes.

        Raises:
            ValueError: If the bytes are damaged.
        """
        (count,), _, numbers = FORM.unpacked(blob)
        # In triples; strict, so that an incomplete triple raises.
        points: list[Vec] = list(zip(*[iter(numbers[12:])] * 3, strict=True))
        if len(numbers) < 12 or not 0 < count < len(points):
            raise ValueError(codec.DAMAGED)
        world = cast(Frame, (tuple(numbers[:9]), tuple(numbers[9:12])))
        return cls(world, points[:count], points[count:])


class CachedTrail(NamedTuple):
    """The trail of a chain, in the space of the armature at the start.

    Attributes:
        trail: The trail.
        world: Frame of that space, in world space.
        from_world: Inverse of that frame.
        source: What it was made from: whether the joints stay on the path, the first frame, and the
            stored simulation.
    """

    trail: Trail
    world: Frame
    from_world: Frame
    source: tuple[bool, int, bytes]


class FreeChainInput(NamedTuple):
    """The inputs of a free chain at a frame, apart from its chain and target.

    Attributes:
        cached: The trail; the same object until the simulation changes.
        time: Time in frames since the start, clamped to the simulation.
        is_clamped: Whether the time was clamped.
        note: A message for the user; empty if there is none.
    """

    cached: CachedTrail
    time: float
    is_clamped: bool
    note: str


_trails: dict[tuple[int, int], CachedTrail] = {}
"""The trails of free chains by armature and constraint, kept because they cache poses."""


def _resolve(chain: ChainPlan, _item: FabrikConstraint) -> None:
    chain.release_root(msg("increase Chain Length"))
    chain.is_timed = True


def _read(snapshot: Snapshot, chain: ChainPlan) -> FreeChainInput:
    armature = chain.rig.object
    owner = history.owner_path(chain.item, "follow")
    simulation = history.data(armature, owner)
    if simulation is None:
        raise ProblemError(history.why_missing(armature, owner))
    cached = _cached_trail(
        chain, simulation, free_chain_settings(settings(armature).constraints[chain.item]).use_path
    )
    time = min(max(snapshot.time - simulation.start, 0.0), float(simulation.end - simulation.start))
    is_clamped = time != snapshot.time - simulation.start
    return FreeChainInput(cached, time, is_clamped, history.note(simulation, snapshot.time))


def _cached_trail(chain: ChainPlan, simulation: History, is_on_path: bool) -> CachedTrail:
    """Return the cached trail, renewed if the simulation has changed.

    Raises:
        ProblemError: If the simulation doesn't match the chain or the frames.
    """
    key = (session_uid(chain.rig.object), chain.item)
    source = (is_on_path, simulation.start, simulation.blob)
    cached = _trails.get(key)
    if cached is None or cached.source != source:
        try:
            world, joints, path = SimulatedPath.unpacked(simulation.blob)
            from_world = inverse(world)
            trail = Trail(joints, [point_in(from_world, point) for point in path], is_on_path)
        except ValueError:
            raise ProblemError(MISMATCH) from None
        _trails[key] = cached = CachedTrail(trail, world, from_world, source)
    # The bones may have changed since the simulation.
    if len(cached.trail.start) != len(chain.bones) + 1 or len(cached.trail.path) != len(
        simulation.frames
    ):
        raise ProblemError(MISMATCH)
    return cached


def _pose(chain: ChainInput, context: MotionContext, read: object) -> ChainPose:
    cached, time, is_clamped, note = cast(FreeChainInput, read)
    head = point_in(cached.from_world, context.target)
    # The head also reaches the target between frames, and while the target is dragged.
    joints = cached.trail.joints(time, None if is_clamped else head)
    if not note and time == int(time):
        simulated = point_in(cached.world, cached.trail.path[int(time)])
        if dist(simulated, context.target) > TARGET_TOLERANCE * chain.chain.scale:
            note = TARGET_MOVED
    if cached.from_world != context.to_armature:
        to_armature = frame_in(context.to_armature, cached.world)
        joints = tuple([point_in(to_armature, joint) for joint in joints])
    location = mix(chain.channels[0].location, _root_location(chain, joints[0]), context.influence)
    first, *other_channels = chain.channels
    moved_chain = chain.under([Local(location, first.rotation, first.scale), *other_channels])
    target = point_in(context.to_armature, context.target)
    posture = fitted_to_joints(moved_chain, joints, target, context.influence, context.tolerance)
    message = note or ("" if posture.state == "REACHED" else explanation(posture, False))
    return ChainPose(posture, Report(posture.state, 0.0, 0, message), location)


def _root_location(chain: ChainInput, root: Vec) -> Vec:
    """Return the first bone's location channel that moves its head to a root location."""
    bone, location = chain.links[0].bone, chain.channels[0].location
    return moved_location(bone, location, chain.parent[0], sub(root, chain.root))


class HeadSimulation(history.SimulatedConstraint):
    """The simulation of a free chain's head."""

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        super().__init__(armature, index, "follow")
        self._world = WHOLE
        self._joints: list[Vec] = []
        self._path: list[Vec] = []

    def inputs(self) -> object:
        """Return the values of `SIMULATED_SETTINGS`."""
        values = values_of(self._item)
        return [values[name] for name in SIMULATED_SETTINGS]

    def sources(self) -> list[Source]:
        """Return the target and the last bone."""
        chain = self._chain()
        if chain is None or chain.target is None:
            return []
        return [chain.target, Point(chain.rig.object, chain.rig, chain.bones[-1])]

    def start(self, snapshot: Snapshot) -> None:
        """Record the FK pose of the chain."""
        chain = cast(ChainPlan, self._chain())
        rig = chain.rig
        frames = [snapshot.frame(rig, bone) for bone in chain.bones]
        tip_local = (0.0, rig.bone(chain.bones[-1]).length, 0.0)
        tip_location = point_in(frames[-1], tip_local)
        if chain.tip_bone >= 0:
            tip_location = snapshot.frame(rig, chain.tip_bone)[1]
        self._joints = [*(head for _, head in frames), tip_location]
        self._world = snapshot.world(rig.object, rig.uid)

    def step(self, snapshot: Snapshot) -> None:
        """Record the head's goal."""
        chain = cast(ChainPlan, self._chain())
        self._path.append(goal_of(snapshot, chain))

    def result(self) -> bytes:
        """Return the simulation as bytes."""
        return SimulatedPath(self._world, self._joints, self._path).packed()


def goal_of(snapshot: Snapshot, chain: ChainPlan) -> Vec:
    """Return the goal of a chain's head, in world space."""
    target = cast(Point, chain.target)
    if chain.offset is None:
        return snapshot.point(target)
    return point_in(snapshot.place(target), chain.offset[1])


def heads(armature: bpy.types.Object) -> list[HeadSimulation]:
    """Return the simulations of the valid free chains of an armature."""
    return [HeadSimulation(armature, i) for i in history.valid_constraints(armature, SOLVER)]


MOTION = Motion(
    solver=(
        "FOLLOW",
        "Free Chain",
        "Follow the target with the head and drag the rest of the chain behind it",
        6,
    ),
    needs_target=True,
    resolve=_resolve,
    read=_read,
    pose=_pose,
)
