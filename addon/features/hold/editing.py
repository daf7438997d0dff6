"""Holding and releasing: the lists of holds and their keys."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple, cast

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import NEAR
from ...blender.rotation import ALL_CHANNELS
from ...blender.skeleton import Point
from ...editing.constraints import changed, is_on, remove_from
from ...editing.placed import placed_among
from ...editing.playing import finish
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...settings.properties import free_among, settings
from ..simulation.simulate import simulate
from .carrier import add_carrier, carrier_of, remove_carrier
from .events import (
    Event,
    events_of,
    holder_at,
    keys_of,
    refuse_unkeyable,
    remove_event,
    set_event,
    set_keys,
)
from .problems import connected, missing
from .settings import BONE, OWN, WORLD, FabrikHold, FabrikHolder, holds_of, own_places, signed
from .status import cycle_message, fixed_note


class Held(NamedTuple):
    """What is held: a bone of an armature, or an object.

    Attributes:
        object: The armature or object.
        bone: The name of the bone; empty for the object itself.
    """

    object: bpy.types.Object
    bone: str

    @property
    def name(self) -> str:
        """What it is called."""
        return self.bone or self.object.name


class Holder(NamedTuple):
    """What holds.

    Attributes:
        object: The object; None for the world.
        bone: The name of its bone; empty for the object itself.
        frames: In how many frames what is held goes back to its own place instead; 0 if it stays.
    """

    object: bpy.types.Object | None = None
    bone: str = ""
    frames: int = 0

    @property
    def kind(self) -> str:
        """What it is."""
        return OWN if self.frames > 0 else WORLD if self.object is None else BONE


def goal_of(armature: bpy.types.Object, constraint: str) -> Held:
    """Return what is held for a constraint: its target.

    Raises:
        ProblemError: If there is no such constraint, or it has no target.
    """
    item = settings(armature).constraints.get(constraint)
    if item is None:
        raise ProblemError(
            "“{armature}” has no constraint “{constraint}”",
            armature=armature.name,
            constraint=constraint,
        )
    if item.target is None:
        raise ProblemError("No target: choose an object or a bone")
    return Held(item.target, item.subtarget if item.target.type == "ARMATURE" else "")


def find_hold(held: Held) -> tuple[bpy.types.Object, int] | None:
    """Return the armature and the index of the hold of a bone or object; None if it has none."""
    if not held.bone:
        return carrier_of(held.object)
    for index, hold in enumerate(holds_of(held.object)):
        if hold.bone == held.bone:
            return held.object, index
    return None


def holding(point: Point) -> str | None:
    """Return why channels of a target do not move it at this frame, as something holds it.

    Returns:
        Nothing if they do; None if nothing ever holds it.
    """
    known = find_hold(_held_of(point))
    if known is None:
        return None
    scene = cast(bpy.types.Scene, bpy.context.scene)
    until_now = [one for one in events_of(*known) if one.frame <= scene.frame_current_final + NEAR]
    if not until_now:
        return ""
    item, last = holds_of(known[0])[known[1]], until_now[-1]
    return fixed_note(item.name, last.frame) if signed(item, last.holder) < 0 else ""


def _held_of(point: Point) -> Held:
    return Held(point.object, "" if point.skeleton is None else point.skeleton.names[point.bone])


def hold(
    several: Sequence[Held], holder: Holder, frame: float, is_moved: bool | None = None
) -> bool:
    """Let something hold bones or objects from a frame on.

    Args:
        several: What is held.
        holder: What holds it.
        frame: The frame.
        is_moved: Whether own animation moves what is held within what holds it. None lets that of
            a bone or object count that has none there yet: what it gets later is meant for there,
            but what it has, such as a capture, was made without what holds it.

    Returns:
        Whether own animation counts of all of them.

    Raises:
        ProblemError: If that is impossible for one of them; nothing has changed then.
    """
    for held in several:
        _refuse(held, holder)
    _refuse_placed(several)
    known = [find_hold(held) for held in several]
    keys = [keys_of(*one) if one is not None else [] for one in known]
    try:
        armatures = [
            _add_event(held, holder, one, frame, is_moved)
            for held, one in zip(several, known, strict=True)
        ]
        _simulate(armatures)
        _refuse_cycle(several, holder, frame)
    except ProblemError:
        for held, one, before in zip(several, known, keys, strict=True):
            _take_back(held, one, before)
        raise
    found = [find_hold(held) for held in several]
    return all(_is_moved_at(*one, frame) for one in found if one is not None)


def _is_moved_at(armature: bpy.types.Object, index: int, frame: float) -> bool:
    number = holder_at(events_of(armature, index), frame)
    return signed(holds_of(armature)[index], number) == number


def _add_event(
    held: Held,
    holder: Holder,
    known: tuple[bpy.types.Object, int] | None,
    frame: float,
    is_moved: bool | None,
) -> bpy.types.Object:
    """Key that something holds a bone or object; return the armature of the hold."""
    armature, index = known or _new_hold(held)
    item, events = holds_of(armature)[index], events_of(armature, index)
    now = holder_at(events, frame)
    if is_moved is None:
        until = next((one.frame for one in events if one.frame > frame + NEAR), inf)
        # Held by the same already it stays as it was, which is refused below.
        is_held = now > 0 and _is(item.holders[now - 1], holder)
        is_moved = signed(item, now) >= 0 if is_held else not _moves_by_itself(held, frame, until)
    number = _number_of(item, holder, is_moved)
    if now == number:
        raise ProblemError("“{bone}” is already held by it at this frame", bone=held.name)
    set_event(armature, index, frame, number)
    return armature


def _moves_by_itself(held: Held, start: float, end: float) -> bool:
    """Return whether F-curves of its own move a bone or object from one frame to another."""
    bone = pose_bones(held.object)[held.bone] if held.bone else None
    path = f"{bone.path_from_id()}." if bone else ""
    return any(
        _changes(curve, start, end)
        for name, size in ALL_CHANNELS
        for curves in animation.curves_of(held.object, path + name, size, everywhere=False)
        for curve in curves.values()
    )


def _changes(curve: Any, start: float, end: float) -> bool:
    """Return whether an F-curve has another value at its keys in a range, or at the end of that."""
    keys = [key.co.x for key in curve.keyframe_points]
    # Modifiers and a line go on after the last key.
    last = min(end, max([*keys, start]) + 1.0)
    value = curve.evaluate(start)
    return any(curve.evaluate(at) != value for at in (*keys, last) if start < at <= last)


def release(several: Sequence[Held], frame: float, frames: int = 0) -> None:
    """Give bones or objects back to their own parents from a frame on.

    Args:
        several: What is held.
        frame: The frame.
        frames: In how many frames they go back to their own places; 0 to go on from where they are.

    Raises:
        ProblemError: If nothing holds one of them there; nothing has changed then.
    """
    found: list[tuple[bpy.types.Object, int]] = []
    for held in several:
        known = find_hold(held)
        if known is None or not _can_go(*known, frame, frames):
            raise ProblemError("Nothing holds “{bone}” at this frame", bone=held.name)
        refuse_unkeyable(known[0])
        found.append(known)
    for armature, index in found:
        item = holds_of(armature)[index]
        number = _number_of(item, Holder(frames=frames), True) if frames > 0 else 0
        set_event(armature, index, frame, number)
    _simulate([armature for armature, _ in found])


def _can_go(armature: bpy.types.Object, index: int, frame: float, frames: int) -> bool:
    """Return whether a hold can be released at a frame, or an event there that released it change.

    What was released where it was can still go back to its own place later.
    """
    item, events = holds_of(armature)[index], events_of(armature, index)
    earlier = [one for one in events if one.frame < frame - NEAR]
    now, before = holder_at(events, frame), holder_at(earlier, frame)
    free = own_places(item)
    if frames > 0 and earlier:
        is_same = now in free and item.holders[now - 1].frames == frames
    else:
        is_same, free = now == 0, free | {0}
    return not is_same and not {now, before} <= free


def remove(armature: bpy.types.Object, index: int) -> None:
    """Remove a hold with all of its events; what it held is where it is without it."""
    prop, last = holds_of(armature)[index].prop, len(holds_of(armature)) == 1
    remove_from(armature, "holds", "", index)
    if prop is not None and prop.parent == armature:
        remove_carrier(prop, armature)
    planner.discard()
    if not last:  # Where the others are recorded is by their index.
        _simulate([armature])


def remove_event_at(armature: bpy.types.Object, index: int, frame: float) -> None:
    """Remove an event of a hold; with the last one the hold goes as well."""
    remove_event(armature, index, frame)
    if any(key.holder for key in keys_of(armature, index)):
        _simulate([armature])
    else:
        remove(armature, index)


def _refuse(held: Held, holder: Holder) -> None:
    ob, bone = held
    if bone:
        posed = pose_bones(ob).get(bone)
        if posed is None:
            raise missing(bone, ob)
        if posed.bone.use_connect and posed.parent is not None:
            raise connected(bone)
        refuse_unkeyable(ob)
    if holder.object is None:
        return
    if holder.bone and holder.bone not in (pose_bones(holder.object) if holder.object.pose else ()):
        raise missing(holder.bone, holder.object)
    if (holder.object, holder.bone) == (ob, bone):
        raise ProblemError(
            "“{bone}” can't hold itself: also select what should hold it", bone=held.name
        )


def _refuse_placed(several: Sequence[Held]) -> None:
    """Refuse targets whose chains something places elsewhere at the current frame.

    What is held is the target, and the ground and walks do not count then: the tip would jump to
    it. The target cannot begin where the tip is shown instead: what places it is simulated from
    where the target is, held as well, and would begin again from there at the release.

    Raises:
        ProblemError: If there is one.
    """
    for one in placed_among([c for c in planner.current().chains if _is_of(c, several)]):
        if one.is_beside(settings(one.chain.rig.object).constraints[one.chain.item].tolerance):
            raise ProblemError(
                "On the Ground or a walk places “{constraint}” away from its target, so it would "
                "jump: choose Bake to Targets or Bake Steps first",
                constraint=one.chain.name,
            )


def _is_of(chain: ChainPlan, several: Sequence[Held]) -> bool:
    """Return whether a chain is on, and its target is one of some."""
    return chain.target is not None and is_on(chain) and _held_of(chain.target) in several


def _new_hold(held: Held) -> tuple[bpy.types.Object, int]:
    ob, bone = held
    armature, name = (ob, bone) if bone else add_carrier(ob)
    item: FabrikHold = holds_of(armature).add()
    item.name, item.bone = held.name, name
    if not bone:
        item.prop = ob
    index = len(holds_of(armature)) - 1
    changed(armature)
    return armature, index


def _number_of(item: FabrikHold, holder: Holder, is_moved: bool) -> int:
    """Return the number of a holder of a hold, which is added if it is new."""
    for i, one in enumerate(item.holders):
        if _is(one, holder) and one.use_animation == is_moved:
            return i + 1
    name = free_among(item.holders, "Holder")
    new = item.holders.add()
    new.name, new.kind, new.object, new.bone = name, holder.kind, holder.object, holder.bone
    new.use_animation = is_moved
    if holder.kind == OWN:
        new.frames = holder.frames
    return len(item.holders)


def _is(one: FabrikHolder, holder: Holder) -> bool:
    """Return whether an item of the list is of a holder."""
    is_alike = (one.kind, one.object, one.bone) == (holder.kind, holder.object, holder.bone)
    return is_alike and (one.kind != OWN or one.frames == holder.frames)


def _simulate(armatures: Sequence[bpy.types.Object]) -> None:
    """Find out how everything is held, so that nothing moves at any event."""
    context = bpy.context
    scene = cast(bpy.types.Scene, context.scene)
    layer = cast(bpy.types.ViewLayer, context.view_layer)
    planner.discard()
    plan = planner.current()
    groups = [plan.groups.get(armature.session_uid, ()) for armature in armatures]
    together = [plan.rigs[uid].object for uid in {uid for group in groups for uid in group}]
    moving = [ob for ob in together if any(events_of(ob, i) for i in range(len(holds_of(ob))))]
    if moving:
        finish(simulate(scene, layer, moving))


def _refuse_cycle(several: Sequence[Held], holder: Holder, frame: float) -> None:
    """Refuse a hold that makes something hold itself at its frame.

    Raises:
        ProblemError: If it does.
    """
    if holder.object is not None and planner.current().sequences.at(frame).refused:
        names = ", ".join([held.name for held in several])
        raise ProblemError(cycle_message(holder.bone or holder.object.name, names))


def _take_back(
    held: Held, known: tuple[bpy.types.Object, int] | None, keys: Sequence[Event]
) -> None:
    """Undo what a refused hold has changed, given its keys before."""
    now = find_hold(held)
    if now is None:
        return
    if known is None:
        remove(*now)
    elif keys_of(*now) != keys:
        set_keys(*now, keys)
        _simulate([now[0]])
