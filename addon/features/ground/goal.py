"""The goal of a foot on uneven ground, locked while it stands."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol, cast

import bpy

from fabrik_solver import Frame, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    Vec,
    add,
    dot,
    length,
    mat_apply,
    mat_product,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion.columns import Latest
from fabrik_solver.motion.contacts import BALL_HEIGHT, Thresholds

from ...blender.axes import AXES
from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.rays import Ground, SceneGround, Source, ground_of
from ...blender.session import part
from ...blender.skeleton import matrix_frame
from ...body.foot import has_toes, sole_at_rest
from ...frame.carried_foot import find_foot
from ...plan import planner
from ...plan.chain_plan import Aim, ChainPlan, Snapshot
from ...settings.properties import FabrikConstraint, ends_of, settings
from ...settings.values import check_animated, check_choices
from ..simulation import history
from .contact_track import ContactTrack
from .grounded_foot import Foothold, unlocked
from .knees import Knees
from .probe import Probe
from .settings import FabrikGround, ground_settings
from .stances import ClipInput, FootClip, Stances, frame_of
from .track import IN_WORLD, unpacked

UNKNOWN = msg("Contacts aren't locked, because they aren't simulated: press Simulate")

NONE_FOUND = msg(
    "The foot never stands still on the ground: increase Max Speed and Max Height, let the "
    "armature move with the walk, or disable Lock Contacts"
)

KNEELING = msg(
    "The leg rests on its knee, so its foot isn't locked: disable On the Ground, or make the foot "
    "stand on its sole in the animation"
)

NOTHING_BELOW = msg(
    "The foot has no ground below it at any frame: increase Search Above and Search Below, or "
    "choose another ground"
)

LEFT_OUT = msg(
    "The ground is disabled, or excluded from the view layer: enable it, or choose another ground"
)


class MovedHip(Protocol):
    """A hip that moves to let feet reach the ground."""

    def ahead(
        self, snapshot: Snapshot, foot: Stances
    ) -> tuple[object, Callable[[int], Vec]] | None:
        """Return how a leg's hip joint is displaced: the inputs, and a function of the frame.

        None if the feet aren't known ahead.
        """


@dataclass(eq=False)
class GroundGoal:
    """Puts the goal of a chain on the ground; created anew when a threshold changes.

    Contacts and the goals of frames are cached until their inputs change.

    Attributes:
        ground: What counts as ground.
        hip: The bone that carries the leg and moves for it.
        hip_note: Why no hip moves although Move Hip is on; otherwise empty.
    """

    ground: Ground
    hip: MovedHip | None = None
    hip_note: str = ""
    _track: Latest[ContactTrack | None] = field(default_factory=Latest)
    _track_now: Latest[tuple[ContactTrack | None, str]] = field(default_factory=Latest)
    _clip: Latest[FootClip] = field(default_factory=Latest)
    _stances: Latest[Stances] = field(default_factory=Latest)
    _stances_now: Latest[Stances | None] = field(default_factory=Latest)
    _foothold_now: Latest[Foothold] = field(default_factory=Latest)
    _knees: Knees | None = None

    @property
    def replaces_target(self) -> bool:
        """False, because the goal is that of the target, moved to the ground."""
        return False

    @property
    def is_known_ahead(self) -> bool:
        """Whether the ground can be known before an evaluation, unless it changes."""
        return not isinstance(self.ground, SceneGround)

    def seen(self, depsgraph: bpy.types.Depsgraph) -> object | None:
        """Return the state of the ground; None if it is unknown."""
        return self.ground.state(depsgraph)

    def goal(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
        """Return the goal on the ground.

        On both sides of a cut, a leg keeps its pose, because many captures start in the rest pose.
        Only the hip moves it. Elsewhere, a nearly straight leg keeps its extension if that takes
        little correction (see `Knees`).
        """
        foothold = self.foothold(snapshot, chain, aim)
        stances = self.stances(snapshot, chain)
        if stances is None:
            return foothold.aim
        world = snapshot.world(chain.rig.object, chain.rig.uid)
        root = point_in(world, snapshot.frame(chain.rig, chain.bones[0])[1])
        if foothold.root is not None:
            return foothold.aim._replace(place=add(foothold.aim.place, sub(root, foothold.root)))
        return self._eased(snapshot, chain, stances, foothold.aim, root)

    def _eased(
        self, snapshot: Snapshot, chain: ChainPlan, stances: Stances, aim: Aim, root: Vec
    ) -> Aim:
        """Return a foot's goal that lets the knee move smoothly (see `Knees`)."""
        hip = None if self.hip is None else self.hip.ahead(snapshot, stances)
        if self.hip is not None and hip is None:
            return aim
        key, shift_at = hip or (None, lambda _: ORIGIN)
        knees = self._knees
        if knees is None or knees.stances is not stances or knees.key is not key:
            knees = self._knees = Knees(stances, key, shift_at, _inner(chain, stances))
        time = snapshot.time - stances.start
        weight = knees.weight(time)
        aim = knees.eased(time, aim, root, weight)
        return aim if chain.pole is not None else knees.faced(time, aim, root, weight)

    def foothold(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Foothold:
        """Return a foot's goal on the ground from its animated goal.

        The hip needs it before the foot does, so it is cached.
        """
        key = weakref.ref(snapshot), aim
        return self._foothold_now.of(key, lambda: self._foothold(snapshot, chain, aim))

    def _foothold(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Foothold:
        ground = ground_settings(snapshot.item(chain))
        stances = self.stances(snapshot, chain)
        probe = self.probe(snapshot, chain, ground) if stances is None else stances.probe
        note = LEFT_OUT if self.ground.is_excluded(snapshot.depsgraph) else ""
        if ground.use_lock:
            note = note or self.contact_track_at(snapshot, chain)[1]
        note = note or self.hip_note
        if stances is None:
            world = snapshot.world(chain.rig.object, chain.rig.uid)
            foot = sole_at_rest(chain.limb, world[0], probe.leg, probe.up)
            foothold = unlocked(probe, aim, ground.blend, (foot.heel, foot.ball))
        else:
            foothold = stances.foothold(snapshot.time - stances.start, aim)
        return foothold._replace(aim=foothold.aim._replace(note=note))

    def probe(
        self, snapshot: Snapshot, chain: ChainPlan, ground: FabrikGround, leg: float = 0.0
    ) -> Probe:
        """Return the probe that finds the ground below a foot.

        Args:
            snapshot: The scene at one moment.
            chain: The constraint.
            ground: Its settings.
            leg: The length of the leg, in meters; 0 to measure it.

        Raises:
            ProblemError: If a setting isn't finite, or the armature has zero scale along the axis.
        """
        check_animated(ground, msg(" of the ground"))
        axes, origin = snapshot.world(chain.rig.object, chain.rig.uid)
        down = AXES[ground.axis]
        up = unit(scaled(mat_apply(axes, down) if ground.use_local_axis else down, -1.0))
        if up is None:
            raise ProblemError(
                "“{object}” has zero scale, so Down has no direction: change its scale, or disable "
                "Local",
                object=chain.rig.object.name,
            )
        rest = ground.floor if ground.use_floor else found_floor(chain, snapshot)
        return Probe(
            self.ground.caster(snapshot.depsgraph),
            up,
            dot(origin, up) + rest,
            rest,
            leg or leg_length(joints_of(snapshot, chain), chain),
            ground.ray_above,
            ground.ray_below,
            ground.max_angle,
            chain.limb.is_oriented,
            ground.offset,
            ground.lift_only,
        )

    def stances(self, snapshot: Snapshot, chain: ChainPlan) -> Stances | None:
        """Return a foot's contacts; None if they are unknown or locking is off."""
        key = weakref.ref(snapshot)
        return self._stances_now.of(key, lambda: self._stances_at(snapshot, chain))

    def _stances_at(self, snapshot: Snapshot, chain: ChainPlan) -> Stances | None:
        ground = ground_settings(snapshot.item(chain))
        contact_track, _ = self.contact_track_at(snapshot, chain)
        if not ground.use_lock or contact_track is None or not contact_track.covers(snapshot.time):
            return None
        # The recorded length: a measured one would differ in its last bits.
        probe = self.probe(snapshot, chain, ground, contact_track.track.leg)
        frames: dict[int, Frame] = {}
        for under in contact_track.used:
            ob = None if under == IN_WORLD else contact_track.grounds[under]
            frames[under] = frame_of(snapshot, ob)
        toes = has_toes(chain.limb)
        inputs = ClipInput(probe.up, probe.floor, probe.rest, ground.lock_time, frames, toes)
        clip = self._clip.of((contact_track, inputs), lambda: FootClip(contact_track, inputs))
        state = self.ground.state(snapshot.depsgraph)
        key = object() if state is None else (clip, state, ground.blend, probe[1:])
        stances = self._stances.of(key, lambda: Stances(clip, probe, ground.blend))
        stances.probe = probe  # Rays can only be cast until the next evaluation.
        return stances

    def contact_track_at(
        self, snapshot: Snapshot, chain: ChainPlan
    ) -> tuple[ContactTrack | None, str]:
        """Return `contact_track`, looked up once per snapshot."""
        ground = ground_settings(snapshot.item(chain))
        return self._track_now.of(
            weakref.ref(snapshot), lambda: self.contact_track(chain, ground, snapshot.time)
        )

    def contact_track(
        self, chain: ChainPlan, ground: FabrikGround, time: float
    ) -> tuple[ContactTrack | None, str]:
        """Return a foot's track with its contacts, if any, and a message.

        Args:
            chain: The constraint.
            ground: Its settings.
            time: The frame that the message is for.
        """
        owner = history.owner_path(chain.item, "ground")
        kept = history.data(chain.rig.object, owner)
        blob = kept.blob if kept else b""
        contact_track = self._track.of(blob, lambda: _contact_track(chain, ground, blob))
        if (
            kept is None
            or contact_track is None
            or not (contact_track.covers(kept.start) and contact_track.covers(kept.end))
        ):
            return None, history.why_missing(chain.rig.object, owner, UNKNOWN)
        if not contact_track.has_ground:
            return contact_track, history.note(kept, time) or NOTHING_BELOW
        why_missing = (
            "" if contact_track.contacts else KNEELING if contact_track.kneels else NONE_FOUND
        )
        return contact_track, history.note(kept, time) or why_missing


def _contact_track(chain: ChainPlan, ground: FabrikGround, blob: bytes) -> ContactTrack | None:
    """Decode a foot's track and find its contacts; None if the bytes aren't a track."""
    track = unpacked(blob)
    if track is None:
        return None
    thresholds, sizes = Thresholds(ground.speed, ground.height, ground.shortest), _sizes(chain)
    return ContactTrack(track, thresholds, chain.watched, sum(sizes[:1]) / (sum(sizes) or 1.0))


def joints_of(snapshot: Snapshot, chain: ChainPlan) -> list[Vec]:
    """Return the joints of a leg in world space, from the hip joint to the tip."""
    world = snapshot.world(chain.rig.object, chain.rig.uid)
    bones = [*chain.bones, *([chain.tip_bone] if chain.tip_bone >= 0 else ())]
    joints = [point_in(world, snapshot.frame(chain.rig, bone)[1]) for bone in bones]
    if chain.tip_bone < 0:
        last = chain.bones[-1]
        axes = mat_product(world[0], snapshot.frame(chain.rig, last)[0])
        joints.append(point_in((axes, joints[-1]), (0.0, chain.rig.bone(last).length, 0.0)))
    return joints


def leg_length(joints: list[Vec], chain: ChainPlan) -> float:
    """Return the length of a leg from the hip joint to the ankle."""
    pairs = pairwise(joints[:-1] if chain.limb.is_hand_at_tail else joints)
    return sum(length(sub(b, a)) for a, b in pairs)


def _inner(chain: ChainPlan, stances: Stances) -> float:
    """Return the shortest distance from hip to ankle that a leg's bones allow, in meters."""
    sizes = _sizes(chain)
    fraction = 2.0 * max(sizes, default=0.0) / (sum(sizes) or 1.0) - 1.0
    return max(0.0, fraction) * stances.clip.contact_track.track.leg


def _sizes(chain: ChainPlan) -> list[float]:
    """Return the rest lengths of a leg's bones."""
    rest = chain.rig.rest
    ends = [*chain.bones, *([chain.tip_bone] if chain.tip_bone >= 0 else ())]
    heads = [matrix_frame(rest(bone).matrix_local)[1] for bone in ends]
    sizes = [length(sub(b, a)) for a, b in pairwise(heads)]
    if chain.tip_bone < 0 and not chain.has_hand:
        sizes.append(rest(ends[-1]).length)
    return sizes


def resolve_ground(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Put the goal of a chain on the ground, if enabled.

    Raises:
        ProblemError: If no ground is chosen, or the foot isn't parented to the leg and can't move.
    """
    if not item.is_property_set("ground"):
        return  # Reading it would store it (see `pointed`).
    options = ground_settings(item)
    if not options.use:
        return
    check_choices(options)
    find_foot(chain)
    # The scene, until an object is chosen. A chosen object that was deleted is missing.
    is_chosen = options.source != "OBJECT" or options.is_property_set("object")
    source = cast(Source, options.source if is_chosen else "SCENE")
    ground = ground_of(
        source, options.object, options.collection, chain.rig.object, ends_of(chain.rig.object)
    )
    chain.goal_source = GroundGoal(ground)
    chain.is_timed = True
    chain.watched += ground.objects
    differing = [ob.name for ob in ground.objects if ob.hide_viewport and not ob.hide_render]
    if differing:
        chain.note = msg(
            "“{object}” is disabled in viewports but not in renders: enable it, and hide it with "
            "its eye icon in the Outliner",
            object=differing[0],
        )


class Floors(dict[int, Latest[tuple[float, float]]]):
    """The current `_common_floor` of each armature in the session."""


def found_floor(chain: ChainPlan, snapshot: Snapshot | None = None) -> float:
    """Return the height of the animation's floor below a foot, above the armature's origin.

    It is derived from the contacts of all feet together; 0 without contacts. Feet that aren't at
    their resting angle, as when sitting, count only if no other foot does. The markers of a capture
    may sit at different heights on the two feet. So a foot that stands off the common floor, but
    within the range of contacts, has a floor of its own.

    Args:
        chain: The foot.
        snapshot: The scene at this moment, during an update.
    """
    key = None if snapshot is None else weakref.ref(snapshot)
    floors = part(Floors).setdefault(chain.rig.uid, Latest())
    floor, leg = floors.of(key, lambda: _common_floor(chain, snapshot))
    track = _track_of_foot(chain, snapshot)
    if track is None or track.level is None or track.is_tilted:
        return floor
    return floor if abs(track.level - floor) > BALL_HEIGHT * leg else track.level


def _common_floor(chain: ChainPlan, snapshot: Snapshot | None) -> tuple[float, float]:
    """Return the common floor of an armature's feet, and the length of a leg."""
    feet = planner.chains_in(chain.rig.object)
    tracks = [track for foot in feet if (track := _track_of_foot(foot, snapshot)) is not None]
    levels = [(track.is_tilted, track.level) for track in tracks if track.level is not None]
    return min(levels, default=(False, 0.0))[1], tracks[-1].track.leg if tracks else 0.0


def _track_of_foot(chain: ChainPlan, snapshot: Snapshot | None) -> ContactTrack | None:
    """Return a foot's simulated contacts; None if it has none, or no ground."""
    goal = chain.goal_source
    if not isinstance(goal, GroundGoal):
        return None
    if snapshot is not None:
        return goal.contact_track_at(snapshot, chain)[0]
    item = settings(chain.rig.object).constraints[chain.item]
    return goal.contact_track(chain, ground_settings(item), 0.0)[0]
