"""Histories: simulation results that are stored in the file.

A history is the result of one pass over the frames, from which any frame can be evaluated. It
contains a digest of its inputs. If the digest has changed, the history is stale: it is still used,
and reported as outdated.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from struct import Struct
from typing import Any, NamedTuple, Protocol, cast

import bpy

from fabrik_solver.motion import codec

from ...blender import data_blocks
from ...blender.access import frame_rate, session_uid
from ...blender.errors import ProblemError
from ...blender.listeners import on_invalidate
from ...blender.messages import msg, recalled
from ...editing.playing import frame_of
from ...frame.solved_scene import SolvedScene
from ...plan import planner
from ...plan.plan import Plan
from ...settings.properties import settings
from . import digest
from .digest import Source

FORM = codec.Form(b"FABH", 2, Struct("<ii16s"))
"""Its fields are the first frame, the last one and the digest; the payload is the result."""

NONE, FRESH, STALE = "NONE", "FRESH", "STALE"

RUNNING = msg("Simulating")

UNKNOWN = msg("Not simulated: press Simulate")

DAMAGED = msg("The simulation is damaged: press Simulate")


class Simulated(Protocol):
    """The simulation of one history, created for each pass.

    Attributes:
        owner: RNA path of its property group on the armature object, such as
            ``fabrik.constraints[0].follow``, which has a property ``history`` of bytes.
        counts_wholly: Whether all settings of its constraint are inputs.
        moments: The frames that it has to see, at least; None for all in the range.
        margin: How many frames before and after the range it sees as well.
    """

    owner: str
    counts_wholly: bool
    moments: Sequence[float] | None
    margin: int

    def inputs(self) -> object:
        """Return the settings that are inputs; their ``repr`` is part of the digest."""
        ...

    def sources(self) -> Iterable[Source]:
        """Return the objects whose animation, transform or mesh is an input.

        An armature includes all its bones, a `Point` its bone and the parents of that, or the place
        of its object, whose mesh does not count. Their dependencies (parents, constraints, drivers,
        chains) are included automatically.
        """
        ...

    def start(self, snapshot: SolvedScene) -> None:
        """Start at the first frame that it sees; `step` is called for it as well.

        Raises:
            ProblemError: If it cannot be simulated.
        """
        ...

    def step(self, snapshot: SolvedScene) -> None:
        """Advance to the next frame, which is fully evaluated."""
        ...

    def result(self) -> bytes:
        """Return the result to store."""
        ...


Provider = Callable[[bpy.types.Object], list[Any]]

PROVIDERS: list[Provider] = []
"""Functions that return the `Simulated` of an armature."""

REFUSALS: list[Callable[[bpy.types.Object], list[str]]] = []
"""Functions that return why parts of an armature cannot be simulated."""

NOTES: list[Callable[[bpy.types.Object], list[str]]] = []
"""Functions that return notes on the histories of an armature."""

listeners: list[Callable[[], None]] = []
"""Functions to call within an update when a history may have become stale."""


class History(NamedTuple):
    """A simulation result.

    Attributes:
        start: The first frame.
        end: The last frame.
        blob: The encoded result.
        key: Digest of its inputs.
        is_fresh: Whether the digest equals that of the current inputs.
    """

    start: int
    end: int
    blob: bytes
    key: bytes
    is_fresh: bool = True

    @property
    def frames(self) -> range:
        """All frames from the first to the last."""
        return range(self.start, self.end + 1)


_decoded: dict[int, dict[str, History | str]] = {}
"""By armature and owner, the decoded history, or why there is none."""

_decoded_for: Plan | None = None

_fresh: dict[int, dict[str, bool]] = {}
"""By armature, which histories are fresh; dropped when an input is updated."""

_inputs: dict[int, set[int]] = {}
"""By armature, the session UIDs of all inputs of its histories."""

_frames = (0, 0)
"""The frame range of the scene that was updated last."""

_pace = (0.0, 1.0)
"""Its frame rate, and how many frames it takes for one of the animation."""

_running: dict[tuple[int, str], dict[Any, Any]] = {}
"""By armature and owner that are being simulated, what was found up to now."""


def owner_path(index: int, group: str) -> str:
    """Return the RNA path of a property group of a constraint on the armature object."""
    return f"fabrik.constraints[{index}].{group}"


def owners(armature: bpy.types.Object) -> list[Simulated]:
    """Return all that can be simulated of an armature."""
    return [one for provider in PROVIDERS for one in provider(armature)]


def refused(armature: bpy.types.Object) -> list[str]:
    """Return why parts of an armature cannot be simulated."""
    return [reason for refusals in REFUSALS for reason in refusals(armature)]


def notes(armature: bpy.types.Object) -> list[str]:
    """Return notes on histories, and messages of invalid constraints."""
    items = [item for item in settings(armature).constraints if item.enabled]
    invalid = [
        msg("“{name}”: {note}", name=one.name, note=recalled(one.message))
        for one in items
        if one.state == "INVALID"
    ]
    return [*(note for of_feature in NOTES for note in of_feature(armature)), *invalid]


def range_of(armature: bpy.types.Object, scene: bpy.types.Scene) -> tuple[int, int]:
    """Return the first and last frame to simulate.

    By default these are those of the scene. What is simulated already stays in the range: a scene
    of which a part is rendered is not simulated again.
    """
    if chosen := _own_range(armature):
        return chosen
    start, end = scene.frame_start, scene.frame_end
    known = shown_range(armature)
    return (start, end) if known is None else (min(start, known[0]), max(end, known[1]))


def _own_range(armature: bpy.types.Object) -> tuple[int, int] | None:
    """Return the first and last frame that the user has set; None for those of the scene."""
    simulation = cast(Any, settings(armature)).simulation
    start, end = simulation.frame_start, simulation.frame_end
    return (start, end) if start or end else None


def is_short(armature: bpy.types.Object) -> bool:
    """Return whether the scene has frames that a simulation should have, but does not.

    Those that it has are no less right.
    """
    known = shown_range(armature)
    if known is None or not armature.is_editable or _own_range(armature) is not None:
        return False
    return range_of(armature, bpy.context.scene) != known


def is_due(armature: bpy.types.Object) -> bool:
    """Return whether there is anything to simulate."""
    return state(armature) != FRESH or is_short(armature)


def data(armature: bpy.types.Object, owner: str) -> History | None:
    """Return the history of an owner; None if there is none, or while it is being simulated."""
    if is_running(armature, owner):
        return None
    history = _history(armature, owner)
    if isinstance(history, str):
        return None
    return history._replace(is_fresh=_freshness(armature).get(owner, False))


def lack(armature: bpy.types.Object, owner: str, unknown: str = UNKNOWN) -> str:
    """Return why there is no history of an owner.

    Args:
        armature: The armature.
        owner: The path of the owner's settings.
        unknown: The message if it was not simulated yet.
    """
    if _running:
        return RUNNING
    return DAMAGED if _history(armature, owner) == DAMAGED else unknown


def is_running(armature: bpy.types.Object, owner: str = "") -> bool:
    """Return whether a history of an owner, or any of the armature, is being simulated."""
    uid = session_uid(armature)
    return (uid, owner) in _running if owner else any(uid == other for other, _ in _running)


def found_so_far(armature: bpy.types.Object, owner: str) -> dict[Any, Any]:
    """Return what the simulation of an owner that runs keeps for its later frames, to be filled.

    It begins empty with each pass, before the first frame is solved.
    """
    return _running[session_uid(armature), owner]


@contextmanager
def running(made: Iterable[tuple[bpy.types.Object, str]]) -> Iterator[None]:
    """Mark owners as being simulated within the block."""
    _running.update({(session_uid(armature), owner): {} for armature, owner in made})
    planner.discard()
    try:
        yield
    finally:
        _running.clear()
        planner.discard()


def note(history: History, frame: float) -> str:
    """Return the note on a history at a frame; empty if there is none."""
    if not history.is_fresh:
        return msg("Simulation is outdated: press Simulate")
    if frame < history.start:
        return msg(
            "Simulated only from frame {start} on: decrease Start",
            start=history.start,
        )
    if frame > history.end:
        return msg(
            "Simulated only up to frame {end}: increase End",
            end=history.end,
        )
    return ""


def state(armature: Any) -> str:
    """Return the state of all histories of an armature together."""
    known = planner.known()
    armature = armature.original
    if known is None or _running:
        return NONE
    kept = _histories(armature)
    if not kept or len(kept) < len(owners(armature)):
        return STALE if kept else NONE
    return FRESH if all(_freshness(armature).get(owner) for owner in kept) else STALE


def sentence(armature: Any) -> str:
    """Return a sentence on the state of an armature's histories."""
    armature = armature.original
    now = state(armature)
    if _running:
        return RUNNING
    if any(_history(armature, owner.owner) == DAMAGED for owner in owners(armature)):
        return DAMAGED
    frames = shown_range(armature)
    if now == NONE or frames is None:
        return UNKNOWN
    start, end = frames
    if now == FRESH:
        return msg("Frames {start} to {end} are simulated", start=start, end=end)
    return msg(
        "Simulation of frames {start} to {end} is outdated: press Simulate", start=start, end=end
    )


def shown_range(armature: bpy.types.Object) -> tuple[int, int] | None:
    """Return the first and last simulated frame; None if there is no history."""
    kept = _histories(armature).values()
    return (min(one.start for one in kept), max(one.end for one in kept)) if kept else None


def write(armature: bpy.types.Object, owner: str, history: History) -> None:
    """Store a history; the caller discards the plan.

    Raises:
        ProblemError: If it is too large.
    """
    if FORM.fields.size + len(history.blob) > codec.MOST:
        raise ProblemError(
            "The simulation of “{armature}” is too large to store: choose a shorter range",
            armature=armature.name,
        )
    whole = FORM.sealed(history.blob, history.start, history.end, history.key)
    # Library overrides compare bytes up to the first zero, so there must be none.
    store(armature, owner, b2a_base64(whole, newline=False))


def stored(armature: bpy.types.Object, owner: str) -> bytes:
    """Return the stored bytes of an owner; empty if there are none."""
    group: Any = armature.path_resolve(owner)
    return group.history


def store(armature: bpy.types.Object, owner: str, whole: bytes) -> None:
    """Set the stored bytes of an owner; the caller discards the plan."""
    forget(armature)
    group: Any = armature.path_resolve(owner)
    group.history = whole


def digest_of(armature: bpy.types.Object, one: Simulated, frames: tuple[int, int]) -> digest.Digest:
    """Return the digest of the inputs of a history."""
    remapped = frame_of(bpy.context.scene, 1.0)
    inputs = (frames, one.inputs(), *([remapped] if remapped != 1.0 else []))
    path = "" if one.counts_wholly else one.owner
    key = digest.Digest(one.sources(), inputs, (armature, path))
    uid = session_uid(armature)
    _inputs.setdefault(uid, {uid}).update(key.seen)
    return key


def keys_now(armature: bpy.types.Object) -> list[bytes]:
    """Return the current digests of all that can be simulated of an armature."""
    frames = range_of(armature, bpy.context.scene)
    return [digest_of(armature, owner, frames).key() for owner in owners(armature)]


def _histories(armature: bpy.types.Object) -> dict[str, History]:
    """Return the histories of an armature, by owner."""
    histories = {one.owner: _history(armature, one.owner) for one in owners(armature)}
    return {owner: one for owner, one in histories.items() if isinstance(one, History)}


def _history(armature: bpy.types.Object, owner: str) -> History | str:
    """Return the history of an owner, or why there is none; decoded once per plan."""
    global _decoded_for
    known = planner.known()
    if known is None:
        return _read(stored(armature, owner))
    if known is not _decoded_for:
        _decoded.clear()
        _decoded_for = known
    of_armature = _decoded.setdefault(session_uid(armature), {})
    if owner not in of_armature:
        of_armature[owner] = _read(stored(armature, owner))
    return of_armature[owner]


def _read(whole: bytes) -> History | str:
    if not whole:
        return UNKNOWN
    try:
        blob = a2b_base64(whole, strict_mode=True)
        if blob[:4] == FORM.magic and blob[4:5] != bytes([FORM.version]):  # Of another version.
            return UNKNOWN
        start, end, key, kept = FORM.opened(blob)
    except ValueError:
        return DAMAGED
    return History(start, end, kept, key) if start <= end else DAMAGED


def _freshness(armature: bpy.types.Object) -> dict[str, bool]:
    """Return by owner whether the histories of an armature are fresh.

    Raises:
        ReferenceError: If the plan refers to something that was removed since the last update.
    """
    uid = session_uid(armature)
    if planner.known() is None:  # The plan is being made.
        return _fresh.get(uid, {})
    if uid not in _fresh:
        found = _fresh[uid] = {}
        try:
            for owner in owners(armature):
                history = _history(armature, owner.owner)
                if isinstance(history, History):
                    key = digest_of(armature, owner, (history.start, history.end)).key()
                    chosen = _own_range(armature)
                    is_whole = chosen is None or chosen == (history.start, history.end)
                    found[owner.owner] = is_whole and key == history.key
        except ReferenceError:
            del _fresh[uid]
            raise
    return _fresh[uid]


def note_updates(depsgraph: bpy.types.Depsgraph) -> None:
    """Check the histories again whose inputs were updated, and tell if the scene's range was."""
    global _frames, _pace
    if not _inputs:
        return
    scene = cast(bpy.types.Scene, depsgraph.scene)
    pace = frame_rate(scene), frame_of(scene, 1.0)
    if pace != _pace:
        _pace = pace
        _fresh.clear()
        _notify()
    frames = scene.frame_start, scene.frame_end
    if frames != _frames:
        _frames = frames
        _notify()
    updated = {session_uid(update.id) for update in depsgraph.updates}
    data_blocks.forget(updated)
    changed = [uid for uid, counting in _inputs.items() if not counting.isdisjoint(updated)]
    for uid in changed:
        _fresh.pop(uid, None)
    if changed:
        _notify()


def forget(armature: bpy.types.Object) -> None:
    """Decode the histories of an armature again."""
    _decoded.pop(session_uid(armature), None)
    _fresh.pop(session_uid(armature), None)


def check_again() -> None:
    """Compute all digests again."""
    _fresh.clear()
    _inputs.clear()
    data_blocks.forget_all()


@on_invalidate
def forget_all() -> None:
    """Forget everything, after load or undo."""
    _decoded.clear()
    check_again()
    _notify()


def _notify() -> None:
    for listener in listeners:
        listener()
