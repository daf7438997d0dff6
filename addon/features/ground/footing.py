"""Where a foot goes on uneven ground: on it, and at one place while it stands."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import cast

from ...blender.rays import Ground, Source, ground_of
from ...loop.chain_plan import Aim, ChainPlan, Snapshot
from ...loop.properties import FabrikConstraint, ends_of
from ...motion.contacts import Thresholds
from ..simulation import history
from .probe import Probe, probe_of
from .settings import FabrikGround, ground_settings
from .sole import end_of
from .stances import Foreseen, Stances
from .step import Foothold, Step
from .track import unpacked
from .walk import Walk

UNKNOWN = "Contacts are not locked because they are not simulated: press Simulate"

NONE_FOUND = (
    "The foot never stands still relative to the ground: increase Max Speed and Max Height, let "
    "the armature move with the walk, or disable Lock Contacts"
)


NOTHING_BELOW = (
    "There is no ground below the foot at any frame: increase Search Above and Search Below, or "
    "choose another ground"
)

LEFT_OUT = (
    "The ground is disabled or excluded from the view layer: enable it, or choose another ground"
)


@dataclass(eq=False)
class Footing:
    """Puts the goal of a chain on the ground; made anew with the plan when a threshold changes.

    Attributes:
        ground: What counts as ground.
    """

    ground: Ground
    _known: tuple[bytes, Walk | None] = (b"", None)
    _last: tuple[weakref.ref[Snapshot], Aim, Foothold] | None = None
    _found: tuple[weakref.ref[Snapshot], Stances] | None = None

    def goal(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
        """Return the goal on the ground."""
        return self.foothold(snapshot, chain, aim).aim

    def foothold(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Foothold:
        """Return where a foot goes, given where the animation has it.

        The hip asks for it before the foot does: it is found once.
        """
        last = self._last
        if last is not None and last[0]() is snapshot and last[1] == aim:
            return last[2]
        found = self._foothold(snapshot, chain, aim)
        self._last = (weakref.ref(snapshot), aim, found)
        return found

    def _foothold(self, snapshot: Snapshot, chain: ChainPlan, aim: Aim) -> Foothold:
        given = ground_settings(snapshot.item(chain))
        probe = probe_of(snapshot, chain, given, self.ground)
        step = Step(snapshot.time, probe, aim, end_of(snapshot, chain, aim), given.blend)
        left_out = LEFT_OUT if self.ground.is_left_out(snapshot.depsgraph) else ""
        if not given.use_lock:
            return step.unlocked(left_out)
        walk, note = self.walk(chain, given, snapshot.time)
        note = left_out or note
        if walk is None or not walk.covers(snapshot.time):
            return step.unlocked(note)
        found = step.locked(self._stances(snapshot, probe, walk, given.blend))
        return found._replace(aim=found.aim._replace(note=note))

    def foreseen(self, snapshot: Snapshot, chain: ChainPlan, frames: range) -> dict[int, Foreseen]:
        """Return where a leg is at other frames, as far as its track tells, on ground as it is.

        Args:
            snapshot: The ground.
            chain: The constraint.
            frames: The frames.
        """
        given = ground_settings(snapshot.item(chain))
        walk, _ = self.walk(chain, given, snapshot.time)
        if not given.use_lock or walk is None or not walk.covers(snapshot.time):
            return {}
        probe = probe_of(snapshot, chain, given, self.ground)
        stances = self._stances(snapshot, probe, walk, given.blend)
        return {f: stances.foreseen(f) for f in frames if walk.covers(f)}

    def _stances(self, snapshot: Snapshot, probe: Probe, walk: Walk, blend: float) -> Stances:
        """Return the contacts at a moment, which are looked for once."""
        last = self._found
        if last is None or last[0]() is not snapshot:
            last = self._found = (weakref.ref(snapshot), Stances(snapshot, probe, walk, blend))
        return last[1]

    def walk(self, chain: ChainPlan, given: FabrikGround, time: float) -> tuple[Walk | None, str]:
        """Return the track of a foot with its contacts, if there is one, and what is to be said.

        Args:
            chain: The constraint.
            given: Its settings.
            time: The frame for which that is said.
        """
        owner = history.owner_path(chain.item, "ground")
        kept = history.data(chain.rig.object, owner)
        blob = kept.blob if kept else b""
        if blob != self._known[0]:
            track = unpacked(blob)
            thresholds = Thresholds(given.speed, given.height, given.shortest)
            self._known = (blob, None if track is None else Walk(track, thresholds, chain.watched))
        walk = self._known[1]
        if kept is None or walk is None or len(walk.track.samples) != len(kept.frames):
            return None, history.lack(chain.rig.object, owner, UNKNOWN)
        if not walk.has_ground:
            return walk, history.note(kept, time) or NOTHING_BELOW
        return walk, history.note(kept, time) or ("" if walk.contacts else NONE_FOUND)


def resolve_ground(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Let a chain stand on the ground, if it is to.

    Raises:
        ProblemError: If there is no ground.
    """
    given = ground_settings(item)
    if not given.use:
        return
    source = cast(Source, given.source)
    ground = ground_of(
        source, given.object, given.collection, chain.rig.object, ends_of(chain.rig.object)
    )
    chain.goal_source = Footing(ground)
    chain.is_timed = True
    chain.watched += ground.objects
    differing = [ob.name for ob in ground.objects if ob.hide_viewport and not ob.hide_render]
    if differing:
        chain.note = (
            f"“{differing[0]}” is disabled in viewports but not in renders, so that the foot "
            "would only stand on it in renders: enable it, and hide it with its eye icon in the "
            "Outliner"
        )
