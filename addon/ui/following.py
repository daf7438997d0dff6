"""The constraint that panels show and buttons affect, which follows the selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

import bpy

from ..blender.access import session_uid
from ..blender.limbs import is_end_of_limb
from ..blender.listeners import on_invalidate, on_load
from ..blender.skeleton import skeleton_of
from ..plan import planner
from ..plan.chain_plan import ChainPlan
from ..settings.properties import FabrikConstraint, FabrikSettings, settings

ListEntry = tuple[bpy.types.Object, int]
"""An armature, and the index of one of its constraints."""


class Seen(NamedTuple):
    """What was active at an update, and what was shown for it.

    Attributes:
        selection: The `session_uid` of the active object, and in Pose Mode the active bone's name.
        armature: The `session_uid` of the armature that was shown.
        item: The index of the constraint that was shown.
        size: The number of its constraints.
    """

    selection: tuple[int, str]
    armature: int
    item: int
    size: int


_seen: Seen | None = None
"""The last update; None after undo and redo, when the selection is followed anew."""

_is_loaded = True
"""Whether nothing has been updated since a file was loaded, which is shown as it was saved."""


def shown_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the active armature, or the one whose target, pole or control bone is active.

    Returns:
        None if the active object is neither.
    """
    place = selected_entry(context)
    if place is not None:
        return place[0]
    ob, _ = _active(context)
    return ob if ob is not None and ob.type == "ARMATURE" else None


def selected_entry(context: bpy.types.Context) -> ListEntry | None:
    """Return the constraint that the active bone or object belongs to.

    That is, in this order, one whose tip is the active bone, whose chain contains it, whose target
    or pole is the active bone or object, or that poses the limb at whose end the bone hangs, as a
    finger does. Of several, the one that is shown already comes first.

    Returns:
        None if it belongs to none, or is an armature in Object Mode.
    """
    ob, name = _active(context)
    if ob is None or (ob.type == "ARMATURE" and not name):
        return None
    try:
        return _entry_of(ob, name)
    except ReferenceError:  # Something was removed since the last update.
        return None


def entries_of(bones: Iterable[Any]) -> list[ListEntry]:
    """Return the constraints of pose bones, each once.

    Those are all whose tip is the bone; without any, the one that `selected_entry` would return.
    """
    bone_places: list[ListEntry] = []
    try:
        for bone in bones:
            ob, name = bone.id_data, bone.name
            tips = _matching(ob, lambda chain, name=name: _tip(chain) == name)
            other = None if tips else _entry_of(ob, name)
            bone_places += tips or ([other] if other else [])
    except ReferenceError:  # Something was removed since the last update.
        return []
    return list(dict.fromkeys(bone_places))


def _entry_of(ob: bpy.types.Object, name: str) -> ListEntry | None:
    if name:
        index = cast(Any, ob.pose).bones.find(name)
        return (
            _first(ob, lambda chain: _tip(chain) == name)
            or _first(ob, lambda chain: index in chain.bones)
            or _first(None, lambda chain: (ob, name) in controls_of(chain))
            or _first(ob, lambda chain: hangs_on(chain, index))
        )
    return _first(None, lambda chain: (ob, "") in controls_of(chain))


def _active(context: bpy.types.Context) -> tuple[bpy.types.Object | None, str]:
    """Return the active object, and the name of its active bone in Pose Mode, else an empty name.

    The context of timers and renders may have neither.
    """
    ob = getattr(context, "object", None)
    bone = getattr(context, "active_pose_bone", None)
    return ob, bone.name if bone is not None and bone.id_data == ob else ""


def _item(chain: ChainPlan) -> FabrikConstraint | None:
    """Return the settings of a constraint; None if it was removed since the last update."""
    items = settings(chain.rig.object).constraints
    return items[chain.item] if chain.item < len(items) else None


def _tip(chain: ChainPlan) -> str:
    item = _item(chain)
    return "" if item is None else item.bone


def controls_of(chain: ChainPlan) -> Iterator[tuple[bpy.types.Object | None, str]]:
    """Yield the target and the pole target of a constraint, with their bones."""
    item = _item(chain)
    if item is not None:
        yield item.target, item.subtarget
        yield item.pole_target, item.pole_subtarget


def hangs_on(chain: ChainPlan, bone: int) -> bool:
    """Return whether a bone of the armature hangs on the hand or foot of a limb that is posed."""
    rig = skeleton_of(chain.rig.object)
    way = rig.chain_up(bone)
    if chain.tip_bone >= 0:
        return chain.tip_bone in way and is_end_of_limb(rig, chain.tip_bone)
    if not chain.bones or chain.bones[-1] not in way[:-1]:
        return False
    # Where only the bones before the hand are posed, it is the first below them.
    return is_end_of_limb(rig, way[way.index(chain.bones[-1]) + 1])


def _first(
    armature: bpy.types.Object | None, is_meant: Callable[[ChainPlan], bool]
) -> ListEntry | None:
    """Return the first matching constraint, preferring the ones that are shown.

    Without a plan there is none: drawing must not make one.

    Args:
        armature: The armature to search; None for all.
        is_meant: Whether a constraint matches.
    """
    places = _matching(armature, is_meant)
    shown = (entry for entry in places if settings(entry[0]).active_index == entry[1])
    return next(shown, places[0] if places else None)


def _matching(
    armature: bpy.types.Object | None, is_meant: Callable[[ChainPlan], bool]
) -> list[ListEntry]:
    known = planner.known()
    return [
        (chain.rig.object, chain.item)
        for chain in (known.chains if known else ())
        if (armature is None or chain.rig.object == armature) and is_meant(chain)
    ]


def follow(depsgraph: bpy.types.Depsgraph) -> None:
    """Show the constraint of what is active, if the selection or the number of them has changed.

    What was chosen meanwhile, in the list or by a script, stays. Renders change nothing.
    """
    global _seen, _is_loaded
    if depsgraph.mode != "VIEWPORT":
        return
    context = bpy.context
    ob, bone = _active(context)
    selection = (session_uid(ob) if ob is not None else 0, bone)
    before = _seen
    if before is not None and before.selection == selection:
        rig = planner.current().rigs.get(before.armature)
        now = (0, 0) if rig is None else _shown_in(settings(rig.object))
        if now[1] == before.size:
            _seen = before._replace(item=now[0])
            return
        before = None  # Adding and removing activate a row that nobody chose.
    armature = shown_armature(context)
    if armature is None:
        _seen = Seen(selection, 0, -1, 0)
        return
    uid, fabrik = session_uid(armature), settings(armature)
    is_chosen = before is not None and before.armature == uid and before.item != fabrik.active_index
    entry = None if is_chosen or _is_loaded else selected_entry(context)
    if entry is not None and fabrik.active_index != entry[1]:
        fabrik.active_index = entry[1]
    _seen, _is_loaded = Seen(selection, uid, *_shown_in(fabrik)), False


def _shown_in(fabrik: FabrikSettings) -> tuple[int, int]:
    """Return the index of the active constraint of an armature, and the number of all."""
    return fabrik.active_index, len(fabrik.constraints)


@on_invalidate
def _forget() -> None:
    """Follow the selection anew: an undo step holds what was shown before it was followed."""
    global _seen
    _seen = None


@on_load
def _accept() -> None:
    """Take what a file shows for chosen."""
    global _is_loaded
    _is_loaded = True
