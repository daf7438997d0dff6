"""A free chain: its head is led by the target, and the rest is dragged along.

What is kept is the way of the head, so that how far the chain has come is a function of that and of
nothing that was shown before.
"""

from __future__ import annotations

from math import dist
from typing import Annotated, Any, NamedTuple, cast

import bpy
from bpy.props import BoolProperty

from ...blender.access import session_uid
from ...blender.errors import ProblemError
from ...blender.skeleton import Point
from ...core import WHOLE, ChainInput, Frame, Local, frame_in, inverse, moved_location, point_in
from ...core.vectors import Vec, mix, sub
from ...loop import plan
from ...loop.chain_plan import ChainPlan, ChainPose, Motion, Scenery, Snapshot
from ...loop.explain import explanation
from ...loop.properties import FabrikConstraint, settings
from ...loop.property_kinds import fixed, stored
from ...loop.property_values import values_of
from ...loop.results import Report
from ...motion import codec
from ...motion.follow import Trail
from ...motion.laid import laid
from ..simulation import history
from ..simulation.digest import Source
from ..simulation.history import History

SOLVER = "FOLLOW"

COUNTING = ("chain_count", "use_tail", "use_offset", "offset_location")
"""Settings on which the way of the head depends, or how the chain starts, besides its bones."""

NEAR = 1e-5
"""How near the target has to be to where it was simulated, as a share of the chain's length."""

ELSEWHERE = "The target is not where it was simulated at this frame: key it, or press Simulate"

UNFIT = "The simulation does not match the chain: press Simulate"

FORM = codec.Form(b"FABF", 1)


class FabrikFollow(bpy.types.PropertyGroup):
    """How a chain that is dragged by its head moves."""

    use_path: Annotated[
        bool,
        fixed(
            BoolProperty,
            "Stay on Path",
            (
                "Let each joint follow the path of the head, like a train on rails or a snake. "
                "Disabled, the bones are dragged after the head and cut its curves, like a "
                "trailer"
            ),
            default=False,
        ),
    ]
    history: Annotated[bytes, stored("History", "Simulated path of the head")]


def follow_of(item: FabrikConstraint) -> FabrikFollow:
    """Return how the chain of a constraint is dragged."""
    return cast(Any, item).follow


class Recorded(NamedTuple):
    """What is kept of a free chain.

    Attributes:
        world: Where the armature was at the start, in world space.
        joints: Those of the FK pose there, root first, in armature space.
        path: Where the head was led at each frame, in world space.
    """

    world: Frame
    joints: list[Vec]
    path: list[Vec]

    def packed(self) -> bytes:
        """Return it as bytes."""
        axes, place = self.world
        numbers = [number for point in (*self.joints, *self.path) for number in point]
        return FORM.packed([len(self.joints)], (), [*axes, *place, *numbers])

    @classmethod
    def unpacked(cls, blob: bytes) -> Recorded:
        """Return what was packed.

        Raises:
            ValueError: If it is something else.
        """
        (count,), _, numbers = FORM.unpacked(blob)
        # Three by three, to the last one.
        places: list[Vec] = list(zip(*[iter(numbers[12:])] * 3, strict=True))
        if len(numbers) < 12 or not 0 < count < len(places):
            raise ValueError(codec.DAMAGED)
        world = cast(Frame, (tuple(numbers[:9]), tuple(numbers[9:12])))
        return cls(world, places[:count], places[count:])


class Way(NamedTuple):
    """A chain and the way of its head, in the space that the armature had at the start.

    Attributes:
        trail: The chain.
        world: That space.
        undone: World space in it.
        made_of: Whether the joints stay on the way, the first frame, and what was kept.
    """

    trail: Trail
    world: Frame
    undone: Frame
    made_of: tuple[bool, int, bytes]


class Following(NamedTuple):
    """What a free chain depends on at a moment.

    Attributes:
        way: The way of its head, the same object as long as it is the same one.
        time: In frames since its start, held before and after what was simulated.
        is_held: Whether it is.
        note: What is to be said.
    """

    way: Way
    time: float
    is_held: bool
    note: str


_ways: dict[tuple[int, int], Way] = {}
"""The ways of free chains, by armature and constraint: what they remember is worth keeping."""


def _resolve(chain: ChainPlan, _item: FabrikConstraint) -> None:
    chain.free_root("increase Chain Length")
    chain.is_timed = True


def _read(snapshot: Snapshot, chain: ChainPlan) -> Following:
    armature = chain.rig.object
    owner = history.owner_path(chain.item, "follow")
    found = history.data(armature, owner)
    if found is None:
        raise ProblemError(history.lack(armature, owner))
    way = _way(chain, found, follow_of(settings(armature).constraints[chain.item]).use_path)
    time = min(max(snapshot.time - found.start, 0.0), float(found.end - found.start))
    is_held = time != snapshot.time - found.start
    return Following(way, time, is_held, history.note(found, snapshot.time))


def _way(chain: ChainPlan, found: History, is_on_path: bool) -> Way:
    """Return what was kept, made anew only where it is another one.

    Raises:
        ProblemError: If it belongs to another chain, or to other frames.
    """
    key = (session_uid(chain.rig.object), chain.item)
    made_of = (is_on_path, found.start, found.blob)
    way = _ways.get(key)
    if way is None or way.made_of != made_of:
        try:
            world, joints, path = Recorded.unpacked(found.blob)
            undone = inverse(world)
            trail = Trail(joints, [point_in(undone, place) for place in path], is_on_path)
        except ValueError:
            raise ProblemError(UNFIT) from None
        _ways[key] = way = Way(trail, world, undone, made_of)
    # The chain may have got other bones since.
    if len(way.trail.start) != len(chain.bones) + 1 or len(way.trail.path) != len(found.frames):
        raise ProblemError(UNFIT)
    return way


def _pose(chain: ChainInput, scenery: Scenery, extra: object) -> ChainPose:
    way, time, is_held, note = cast(Following, extra)
    head = point_in(way.undone, scenery.target)
    # The head is on the target also between frames, and while that is being dragged.
    led = way.trail.joints(time, None if is_held else head)
    if not note and time == int(time):
        told = point_in(way.world, way.trail.path[int(time)])
        if dist(told, scenery.target) > NEAR * chain.chain.scale:
            note = ELSEWHERE
    if way.undone != scenery.to_armature:
        to_armature = frame_in(scenery.to_armature, way.world)
        led = tuple([point_in(to_armature, joint) for joint in led])
    location = mix(chain.channels[0].location, _rooted(chain, led[0]), scenery.influence)
    first, *others = chain.channels
    moved = chain.under([Local(location, first.rotation, first.scale), *others])
    target = point_in(scenery.to_armature, scenery.target)
    posture = laid(moved, led, target, scenery.influence, scenery.tolerance)
    error = dist(point_in(scenery.world, posture.tip), scenery.target)
    message = note or ("" if posture.state == "REACHED" else explanation(posture, False))
    return ChainPose(posture, Report(posture.state, round(error, 6), 0, message), location)


def _rooted(chain: ChainInput, root: Vec) -> Vec:
    """Return the location channel of the first bone that puts its head on a place."""
    bone, location = chain.links[0].bone, chain.channels[0].location
    return moved_location(bone, location, chain.parent[0], sub(root, chain.root))


class Head:
    """What is simulated of one free chain: the way of its head."""

    counts_wholly = False

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Take a constraint."""
        self.owner = history.owner_path(index, "follow")
        self._armature = armature
        self._index = index
        self._world = WHOLE
        self._joints: list[Vec] = []
        self._path: list[Vec] = []

    def inputs(self) -> object:
        """Return which bones are dragged, and by what."""
        values = values_of(settings(self._armature).constraints[self._index])
        return [values[name] for name in COUNTING]

    def sources(self) -> list[Source]:
        """Return the target, and the bones themselves."""
        chain = self._chain()
        if chain is None or chain.target is None:
            return []
        return [chain.target, Point(chain.rig.object, chain.rig, chain.bones[-1])]

    def start(self, snapshot: Snapshot) -> None:
        """Keep how the chain lies."""
        chain = cast(ChainPlan, self._chain())
        rig = chain.rig
        frames = [snapshot.frame(rig, bone) for bone in chain.bones]
        tip = (0.0, rig.bone(chain.bones[-1]).length, 0.0)
        end = point_in(frames[-1], tip)
        if chain.tip_bone >= 0:
            end = snapshot.frame(rig, chain.tip_bone)[1]
        self._joints = [*(head for _, head in frames), end]
        self._world = snapshot.world(rig.object, rig.uid)

    def step(self, snapshot: Snapshot) -> None:
        """Keep where the head is led."""
        chain = cast(ChainPlan, self._chain())
        self._path.append(goal_of(snapshot, chain))

    def result(self) -> bytes:
        """Return the whole way."""
        return Recorded(self._world, self._joints, self._path).packed()

    def _chain(self) -> ChainPlan | None:
        known = plan.known()
        return _planned(known.chains if known else (), self._armature, self._index)


def goal_of(snapshot: Snapshot, chain: ChainPlan) -> Vec:
    """Return where the head of a chain is led, in world space."""
    target = cast(Point, chain.target)
    if chain.offset is None:
        return snapshot.point(target)
    return point_in(snapshot.place(target), chain.offset[1])


def _planned(chains: object, armature: bpy.types.Object, index: int) -> ChainPlan | None:
    found = [c for c in cast("list[ChainPlan]", chains) if c.item == index]
    return next((chain for chain in found if chain.rig.object == armature), None)


def heads(armature: bpy.types.Object) -> list[Head]:
    """Return what is simulated of the free chains of an armature that can work."""
    known = plan.known()
    found: list[Head] = []
    for i, item in enumerate(settings(armature).constraints):
        chain = _planned(known.chains if known else (), armature, i)
        if item.solver == SOLVER and (chain is None or not chain.problem):
            found.append(Head(armature, i))
    return found


MOTION = Motion(
    solver=(
        "FOLLOW",
        "Free Chain",
        "Follow the target with the head, and drag the rest of the chain along",
        6,
    ),
    needs_target=True,
    resolve=_resolve,
    read=_read,
    pose=_pose,
)
