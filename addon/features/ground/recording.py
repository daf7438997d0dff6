"""Recording the track of a foot during a simulation."""

from __future__ import annotations

from typing import cast

import bpy

from fabrik_solver import WHOLE, ChainInput, inverse, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    Vec,
    across,
    add,
    cross,
    dot,
    length,
    mat_apply,
    quat_inverse,
    quat_product,
    rotate,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion.ground import STRIDE
from fabrik_solver.motion.knee import LEAST
from fabrik_solver.motion.sole import Sole

from ...blender import animation
from ...blender.access import frame_rate
from ...blender.skeleton import Point
from ...body.foot import sole_at_rest
from ...frame.chain import aim_of, tip_of
from ...frame.solved_scene import SolvedScene
from ...frame.solving import present_runs
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...plan.plan import Plan
from ...plan.pre_pass import BoneInput
from ...plan.registry import kind_of
from ...settings.properties import settings
from ..simulation import history
from ..simulation.digest import Source
from .contact_track import SAME
from .goal import GroundGoal
from .grounded_foot import pose_of
from .hips import Hip
from .settings import ground_settings
from .stances import FASTEST, frame_of
from .track import FORM, IN_WORLD, Sample, Track, moving, packed, turn_of_frame

SETTINGS = ("source", "axis", "use_local_axis", "ray_above", "ray_below")
"""Ground settings that a track depends on. The others only affect contacts, which are found
later."""

PLACE_SETTINGS = ("chain_count", "use_tail", "use_rotation", "use_offset")


class TrackRecorder(history.SimulatedConstraint):
    """Records the animated poses of a foot.

    Attributes:
        margin: How many frames to record before and after the range, while the foot moves: a
            stride, so that swings across the ends of the range have both their contacts.
    """

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Set the armature, and the index of its constraint."""
        super().__init__(armature, index, "ground")
        self.margin = round(STRIDE * frame_rate(bpy.context.scene))
        self._start = 0
        self._leg = 0.0
        self._foot = Sole()
        self._samples: list[Sample] = []
        self._grounds: list[bpy.types.Object] = []
        self._last: tuple[bpy.types.Object | None, Vec, Vec] | None = None

    def inputs(self) -> object:
        """Return the settings that the track depends on."""
        item = self._item
        moving = animation.animated(self._armature).paths
        still = [name for name in SETTINGS if f"{self.owner}.{name}" not in moving]
        chain = self._leg_in(planner.current())
        rest = [_rest(chain, bone) for bone in chain.bones] if chain else []
        if chain is not None and chain.roll is not None:
            rest += [_rest(chain, point.bone) for point in chain.controls]
            rest.append(chain.roll.values(chain))
        offset = [*item.offset_location, *item.offset_rotation] if item.use_offset else []
        return (
            [(name, getattr(ground_settings(item), name)) for name in still],
            [getattr(item, name) for name in PLACE_SETTINGS],
            rest,
            offset,
            frame_rate(bpy.context.scene),
            FORM.version,
        )

    def sources(self) -> list[Source]:
        """Return the target, the parent of the leg, and the ground."""
        chain = self._leg_in(planner.current())
        if chain is None:
            return [Point(self._armature)]
        points = [] if chain.target is None else [chain.target, *chain.controls]
        above = Point(self._armature)
        if chain.root_parent >= 0:
            above = Point(self._armature, chain.rig, chain.root_parent)
        return [*points, above, *chain.watched]

    def start(self, snapshot: SolvedScene) -> None:
        """Start at the first frame."""
        self._start = int(snapshot.time)
        chain = self._leg_in(snapshot.plan)
        if chain is not None:
            self._grounds = [*chain.watched]
            probe = cast(GroundGoal, chain.goal_source).probe(
                snapshot, chain, ground_settings(snapshot.item(chain))
            )
            self._leg = probe.leg
            world = snapshot.world(chain.rig.object, chain.rig.uid)[0]
            self._foot = sole_at_rest(chain.limb, world, probe.leg, probe.up)

    def step(self, snapshot: SolvedScene) -> None:
        """Record a frame."""
        chain = self._leg_in(snapshot.plan)
        if chain is None:
            return  # The constraint reports the reason.
        goal = cast(GroundGoal, chain.goal_source)
        probe = goal.probe(snapshot, chain, ground_settings(snapshot.item(chain)))
        pose = pose_of(aim_of(snapshot, chain))
        under = probe.under(pose.place)
        ob = under.ob if under else None
        ground_frame = frame_of(snapshot, ob)
        undone = inverse(ground_frame)
        other = self._foot.ball if self._foot.heel == ORIGIN else self._foot.heel
        end = add(pose.place, rotate(pose.turn, other))
        local, local_end = point_in(undone, pose.place), point_in(undone, end)
        step = end_step = ORIGIN
        if self._last is not None:
            last, place_then, end_then = self._last
            previous_frame = frame_of(snapshot, last)
            step = sub(pose.place, point_in(previous_frame, place_then))
            end_step = sub(end, point_in(previous_frame, end_then))
        self._samples.append(
            Sample(
                self._number(ob),
                local,
                step,
                dot(pose.place, probe.up) - probe.floor + probe.rest,
                sub(point_in(undone, _root(snapshot, chain)), local),
                quat_product(quat_inverse(turn_of_frame(ground_frame)), pose.turn),
                end_step,
                rotate(quat_inverse(pose.turn), probe.up),
                mat_apply(undone[0], _knee_axis(snapshot, chain)),
            )
        )
        self._last = ob, local, local_end

    def _number(self, ground: bpy.types.Object | None) -> int:
        """Return the index of the object below the foot, adding it if new."""
        if ground is None:
            return IN_WORLD
        if ground not in self._grounds:
            self._grounds.append(ground)
        return self._grounds.index(ground)

    def result(self) -> bytes:
        """Return the track."""
        rate = frame_rate(bpy.context.scene)
        least, most = SAME * self._leg, FASTEST * self._leg / rate
        first, last = moving(self._samples, self.margin, least, most)
        samples = self._samples[first : last + 1]
        start, grounds = self._start + first, tuple(ob.name for ob in self._grounds)
        return packed(Track(start, rate, self._leg, self._foot, grounds, samples))

    def _leg_in(self, plan: Plan) -> ChainPlan | None:
        """Return the resolved constraint; None if it is invalid."""
        for chain in plan.chains:
            if chain.rig.object == self._armature and chain.item == self._index:
                works = isinstance(chain.goal_source, GroundGoal) and not chain.problem
                return chain if works else None
        return None


def _rest(chain: ChainPlan, bone: int) -> object:
    """Return a bone's rest transform and length."""
    rest = chain.rig.bone(bone)
    return rest.rest, rest.length


def _knee_axis(snapshot: SolvedScene, chain: ChainPlan) -> Vec:
    """Return the axis about which a leg's knee flexes in its FK pose, in world space.

    Its length is the knee's distance from the line from hip to ankle. The leg's bend direction
    counts too, weighted by `LEAST`. The axis is 0 unless the leg has exactly one knee.
    """
    rig, pose, limb = chain.rig, snapshot.poses[chain.rig.uid], chain.limb
    chain_input = ChainInput(
        [rig.bone(bone) for bone in chain.bones],
        [pose.fk.posed(bone) for bone in chain.bones],
        tip_of(chain, pose),
        WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent),
        limb.bend,
        has_hand=limb.has_hand,
        limb_bend=limb.bend_to_hand,
    )
    leg = chain_input.limb or chain_input
    world = snapshot.world(rig.object, rig.uid)
    if len(leg.joints) != 3:
        return ORIGIN
    hip, knee, ankle = [point_in(world, joint) for joint in leg.joints]
    leg_vector = sub(ankle, hip)
    along = unit(leg_vector)
    if along is None:
        return ORIGIN
    side = unit(across(mat_apply(world[0], leg.chain.forward()), along)) or ORIGIN
    off = add(across(sub(knee, hip), along), scaled(side, LEAST * length(leg_vector)))
    return cross(along, off)


def _root(snapshot: SolvedScene, chain: ChainPlan) -> Vec:
    """Return a leg's animated hip joint, in world space."""
    world = snapshot.world(chain.rig.object, chain.rig.uid)
    root = point_in(world, snapshot.frame(chain.rig, chain.bones[0])[1])
    hip = cast(GroundGoal, chain.goal_source).hip
    result = present_runs().unit(hip).last if isinstance(hip, Hip) else None
    return root if result is None else cast(BoneInput, result.inputs).wanted.before(root)


def tracks_of(armature: bpy.types.Object) -> list[TrackRecorder]:
    """Return an armature's recorders, one for each foot on the ground."""
    items = settings(armature).constraints
    return [
        TrackRecorder(armature, i)
        for i, item in enumerate(items)
        if ground_settings(item).use and kind_of(item.solver).reaches
    ]
