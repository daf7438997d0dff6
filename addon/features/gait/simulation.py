"""Simulate a walk: plan its steps from the body and the ground, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bpy

from fabrik_solver import Frame, point_in
from fabrik_solver.core.vectors import Vec, add, dot, mat_columns, scaled, sub, sum_of
from fabrik_solver.motion.footfall import STILL, Footfall, in_world
from fabrik_solver.motion.foothold import GroundHit
from fabrik_solver.motion.gait import RecordedWalk, WalkingLeg, WalkSettings
from fabrik_solver.motion.packing import packed
from fabrik_solver.motion.walking import StepPlanner

from ...blender.animation import animated
from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.skeleton import Point
from ...plan import planner
from ...plan.chain_plan import Snapshot
from ...settings.values import animated_form, now, plain_of
from ..simulation.history import Simulated
from .editing import problem_of
from .gait_plan import GaitPlan, plans_of
from .ground_anchor import GroundAnchor, anchor_of, written
from .settings import NOT_SIMULATED, FabrikGait, gait_settings

RECENT = 4
"""How many footfalls a leg may have within a frame or two."""


class WalkSimulation(Simulated):
    """A walk during its simulation."""

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Set a walk of an armature; `start` reports its problems."""
        super().__init__(armature, f"fabrik.gaits[{index}]")
        self._index = index
        self._walk: StepPlanner | None = None
        self._grounds: dict[GroundAnchor, int] = {}
        self._anchors: list[GroundAnchor] = []
        self._frames: list[Frame] = []
        self._moving: set[int] = set()
        self._floor: tuple[Vec, Vec] | None = None

    @property
    def plan(self) -> GaitPlan:
        """The walk, resolved."""
        if self._index >= len(plans_of(self._armature)):
            planner.discard()  # A script added the walk, which Blender doesn't report.
        planner.current()
        return plans_of(self._armature)[self._index]

    @property
    def _gait(self) -> FabrikGait:
        return gait_settings(self._armature).gaits[self._index]

    def inputs(self) -> object:
        """Return the settings that the steps depend on, except animated ones."""
        gait, moving = self._gait, animated(self.plan.rig.object).paths
        keyed = animated_form(type(gait)).names
        values = {
            name: value for name, value in plain_of(gait).items() if name not in NOT_SIMULATED
        }
        pairs = [(name, values[name]) for name in keyed if name in values]
        pairs = [pair for pair in pairs if f"{self.owner}.{pair[0]}" not in moving]
        legs = [leg[1:] for leg in self.plan.legs]  # All but their constraints.
        still = tuple([value for name, value in values.items() if name not in keyed])
        if self.plan.stand:
            return pairs, still, legs, (self.plan.rest, self.plan.head)
        return pairs, still, legs

    def sources(self) -> Sequence[bpy.types.Object | Point]:
        """Return the body and the ground."""
        rig = self.plan.rig
        body = Point(rig.object, rig, self.plan.body) if self.plan.leans else Point(rig.object)
        return [body, *self.plan.ground.objects]

    def start(self, snapshot: Snapshot) -> None:
        """Put the feet on the ground, or if none is in reach, on the plane of their rest positions.

        Raises:
            ProblemError: If the walk has a problem.
        """
        gait = self._gait
        if self.plan.problem:
            raise ProblemError(
                "“{name}” can't walk. {problem}", name=gait.name, problem=self.plan.problem
            )
        rig = self.plan.rig
        legs = self.plan.measured(snapshot.world(rig.object, rig.uid))
        if min(leg.reach for leg in legs) <= 0.0:
            raise ProblemError(
                "A leg of “{walk}” has zero length: change the scale of its bones", walk=gait.name
            )
        body = self._body(snapshot)
        for floor in (None, _rest_floor(legs, body)):
            self._floor = floor
            self._walk = StepPlanner(
                legs,
                self._settings(snapshot),
                round(snapshot.time),
                body,
                lambda *ray: self._cast(snapshot, *ray),
                lambda number: self._frame(snapshot, number),
            )
            if any(foot.support().has_ground for foot in self._walk.feet):
                break

    def step(self, snapshot: Snapshot) -> None:
        """Advance by one frame."""
        walk = self._walk
        assert walk is not None
        if round(snapshot.time) > walk.frame:
            walk.step(
                self._settings(snapshot),
                self._body(snapshot),
                lambda *ray: self._cast(snapshot, *ray),
                lambda number: self._frame(snapshot, number),
            )
        for number in self._in_use(walk):
            if self._frame(snapshot, number) != self._frames[number]:
                self._moving.add(number)

    def result(self) -> bytes:
        """Return the packed walk."""
        assert self._walk is not None
        record = self._walk.record()
        used = {fall.ground for of_leg in record.falls for fall in of_leg}
        moving = sorted(self._moving & used)
        grounds = self.plan.ground.objects if moving else []
        names, anchors = written([self._anchors[number] for number in moving], grounds)
        ground_indices = dict(zip(moving, anchors, strict=True))
        falls = tuple(
            tuple(self._settled(fall, ground_indices) for fall in of_leg) for of_leg in record.falls
        )
        return packed(RecordedWalk(record.start, falls, record.lean_states), names)

    def _settled(self, fall: Footfall, ground_indices: Mapping[int, int]) -> Footfall:
        """Return a footfall in world space if its ground is still, else in the ground's space."""
        if fall.ground == STILL:  # In the air, or at its rest position.
            return fall._replace(has_ground=False)
        if fall.ground in ground_indices:
            return fall._replace(ground=ground_indices[fall.ground])
        return in_world(fall, self._frames.__getitem__)

    def _settings(self, snapshot: Snapshot) -> WalkSettings:
        rig = self.plan.rig
        gait = gait_settings(snapshot.rigs[rig.uid]).gaits[self.plan.index]
        leans = self.plan.leans
        values = now(gait, msg(" of “{walk}”", walk=gait.name))
        return WalkSettings(
            values.threshold,
            values.step_height,
            values.duration,
            values.overshoot,
            values.ray_height,
            values.climbs,
            values.body_height,
            values.body_tilt,
            values.body_bob if leans else 0.0,
            leans,
        )

    def _body(self, snapshot: Snapshot) -> Frame:
        rig = self.plan.rig
        bone = snapshot.frame(rig, self.plan.body) if self.plan.leans else None
        return self.plan.body_frame(snapshot.world(rig.object, rig.uid), bone)

    def _cast(
        self, snapshot: Snapshot, origin: Vec, direction: Vec, distance: float
    ) -> GroundHit | None:
        hit = self.plan.ground.cast(snapshot.depsgraph, origin, direction, distance)
        if hit is None:
            return None if self._floor is None else _hit(*self._floor, origin, direction, distance)
        anchor = anchor_of(snapshot.depsgraph, hit)
        if anchor not in self._grounds:
            self._grounds[anchor] = len(self._anchors)
            self._anchors.append(anchor)
            self._frames.append(anchor.frame(snapshot))
        return GroundHit(hit.place, hit.normal, self._grounds[anchor])

    def _frame(self, snapshot: Snapshot, number: int) -> Frame:
        return self._anchors[number].frame(snapshot)

    def _in_use(self, walk: StepPlanner) -> set[int]:
        """Return the indices of grounds that may have moved: objects, and faces in use."""
        objects = {number for anchor, number in self._grounds.items() if not anchor.corners}
        falls = [fall for foot in walk.feet for fall in (*foot.falls[-RECENT:], foot.support())]
        return objects | {fall.ground for fall in falls if fall.ground != STILL}


def _rest_floor(legs: Sequence[WalkingLeg], body: Frame) -> tuple[Vec, Vec]:
    """Return a point and the normal of the plane of the feet's rest positions, in world space.

    Args:
        legs: The legs, in the body's frame.
        body: The body's frame, in world space.
    """
    middle = scaled(sum_of([leg.rest for leg in legs]), 1.0 / len(legs))
    return point_in(body, middle), mat_columns(body[0])[2]


def _hit(point: Vec, normal: Vec, origin: Vec, direction: Vec, distance: float) -> GroundHit | None:
    """Return where a ray hits the plane of a point and a normal from above; None if it misses."""
    down = -dot(direction, normal)
    if down <= 0.0:
        return None
    ray_length = dot(sub(origin, point), normal) / down
    if not 0.0 <= ray_length <= distance:
        return None
    return GroundHit(add(origin, scaled(direction, ray_length)), normal, STILL)


def walks(armature: bpy.types.Object) -> list[WalkSimulation]:
    """Return an armature's walks that are enabled at some frame and have no problem."""
    return [WalkSimulation(armature, i) for i in _on(armature) if not problem_of(armature, i)]


def walk_refusals(armature: bpy.types.Object) -> list[str]:
    """Return the problems of enabled walks."""
    refusals = [
        (gait_settings(armature).gaits[i].name, problem_of(armature, i)) for i in _on(armature)
    ]
    return [
        msg("“{name}” can't walk. {problem}", name=name, problem=problem)
        for name, problem in refusals
        if problem
    ]


def _on(armature: bpy.types.Object) -> list[int]:
    gaits = gait_settings(armature).gaits if armature.pose else ()
    return [i for i, gait in enumerate(gaits) if gait.enabled or _is_switched(armature, gait)]


def _is_switched(armature: bpy.types.Object, gait: FabrikGait) -> bool:
    channels = animated(armature)
    return (gait.path_from_id("enabled"), 0) in channels.keyed | channels.driven
