"""What depends on more than one frame: simulated once, and kept in the file.

A history is the result of one pass over the frames. From then on everything is a function of it, so
that each frame can be jumped to. It carries a key of all that it was made of; where that is another
one now the history is stale: it goes on being used, and that is said.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any, NamedTuple, Protocol, cast

import bpy

from ...blender import data_blocks
from ...blender.access import session_uid
from ...blender.errors import ProblemError
from ...blender.forgetting import forgets
from ...loop import plan
from ...loop.properties import settings
from ...loop.solved_scene import SolvedScene
from ...motion import codec
from . import digest
from .digest import Source

FORM = codec.Form(b"FABH", 2, Struct("<ii16s"))
"""Its fields are the first frame, the last one, and the key; what the owner keeps comes after."""

NONE, FRESH, STALE = "NONE", "FRESH", "STALE"

RUNNING = "Simulating"

UNKNOWN = "Not simulated: press Simulate"

DAMAGED = "The simulation is damaged: press Simulate"


class Simulated(Protocol):
    """What is simulated for one owner of a history; made anew for each pass.

    Attributes:
        owner: The path of the settings on the armature object, as ``fabrik.constraints[0].follow``;
            they have a property ``history`` of bytes.
        counts_wholly: Whether the constraint that these belong to counts with all its settings,
            as any on which it depends.
    """

    owner: str
    counts_wholly: bool

    def inputs(self) -> object:
        """Return the settings that count, whose `repr` goes into the key."""
        ...

    def sources(self) -> Iterable[Source]:
        """Return the objects whose animation, transform or mesh counts.

        A whole armature counts with all its bones, a `Point` with its bone and those above. What
        these hang on is found by itself: parents, constraints, drivers, chains.
        """
        ...

    def start(self, snapshot: SolvedScene) -> None:
        """Begin, at the first frame; `step` is called for that one as well.

        Raises:
            ProblemError: If it cannot be simulated.
        """
        ...

    def step(self, snapshot: SolvedScene) -> None:
        """Go on by one whole frame, which Blender and all constraints have evaluated."""
        ...

    def result(self) -> bytes:
        """Return what is kept."""
        ...


Provider = Callable[[bpy.types.Object], list[Any]]

PROVIDERS: list[Provider] = []
"""Functions that return what is `Simulated` of an armature."""

REFUSALS: list[Callable[[bpy.types.Object], list[str]]] = []
"""Functions that return why some of what an armature has cannot be simulated, and so is not."""

listeners: list[Callable[[], None]] = []
"""What is called when a history may have become stale, from within an update."""


class History(NamedTuple):
    """What was simulated.

    Attributes:
        start: The first frame.
        end: The last frame.
        blob: What its owner kept.
        key: Of what it was made of.
        is_fresh: Whether that is still so.
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
"""What was read of the present plan's armatures, or why there is nothing."""

_decoded_for: plan.Plan | None = None

_fresh: dict[int, dict[str, bool]] = {}
"""For each armature, until something changes that counts, which histories are not stale."""

_counting: dict[int, set[int]] = {}
"""For each armature the numbers of all data that counts for its histories."""

_running: set[tuple[int, str]] = set()
"""What is being simulated: armatures, and owners of theirs."""


def owner_path(index: int, group: str) -> str:
    """Return the path of a group of settings of a constraint, from the armature object."""
    return f"fabrik.constraints[{index}].{group}"


def owners(armature: bpy.types.Object) -> list[Simulated]:
    """Return what can be simulated of an armature."""
    return [one for provider in PROVIDERS for one in provider(armature)]


def refused(armature: bpy.types.Object) -> list[str]:
    """Return why some of what an armature has is not simulated, as far as is known."""
    return [reason for refusals in REFUSALS for reason in refusals(armature)]


def range_of(armature: bpy.types.Object, scene: bpy.types.Scene) -> tuple[int, int]:
    """Return the frames to simulate: those that are set, else those of the scene."""
    simulation = cast(Any, settings(armature)).simulation
    if simulation.frame_start == simulation.frame_end == 0:
        return scene.frame_start, scene.frame_end
    return simulation.frame_start, simulation.frame_end


def data(armature: bpy.types.Object, owner: str) -> History | None:
    """Return the history of an owner, None if there is none.

    While it is being simulated there is none: what depends on it is off then.
    """
    if is_running(armature, owner):
        return None
    found = _history(armature, owner)
    if isinstance(found, str):
        return None
    return found._replace(is_fresh=_freshness(armature).get(owner, False))


def lack(armature: bpy.types.Object, owner: str, unknown: str = UNKNOWN) -> str:
    """Return why there is no history of an owner.

    Args:
        armature: The armature.
        owner: The path of the owner's settings.
        unknown: What is to be said if it was not simulated yet.
    """
    if _running:
        return RUNNING
    return DAMAGED if _history(armature, owner) == DAMAGED else unknown


def is_running(armature: bpy.types.Object, owner: str = "") -> bool:
    """Return whether a history is being made now; without an owner, whether any of an armature."""
    uid = session_uid(armature)
    return (uid, owner) in _running if owner else any(uid == other for other, _ in _running)


@contextmanager
def running(made: Iterable[tuple[bpy.types.Object, str]]) -> Iterator[None]:
    """Let there be no data of some owners for a while, as it is being made."""
    _running.update((session_uid(armature), owner) for armature, owner in made)
    plan.discard()
    try:
        yield
    finally:
        _running.clear()
        plan.discard()


def note(history: History, frame: float) -> str:
    """Return what is to be said of a history at a frame, empty if nothing."""
    if not history.is_fresh:
        return "Simulation is outdated: press Simulate"
    if frame < history.start:
        return (
            f"Simulated from frame {history.start} on, constant before: decrease Start, then "
            "press Simulate"
        )
    if frame > history.end:
        return (
            f"Simulated up to frame {history.end}, constant after: increase End, then press "
            "Simulate"
        )
    return ""


def state(armature: Any) -> str:
    """Return one of the states of an armature's histories, for all together."""
    known = plan.known()
    armature = armature.original
    if known is None or _running:
        return NONE
    kept = _kept(armature)
    if not kept or len(kept) < len(owners(armature)):
        return STALE if kept else NONE
    return FRESH if all(_freshness(armature).get(owner) for owner in kept) else STALE


def sentence(armature: Any) -> str:
    """Return how the histories of an armature are, and what to do about it."""
    armature = armature.original
    now = state(armature)
    if _running:
        return RUNNING
    if any(_history(armature, one.owner) == DAMAGED for one in owners(armature)):
        return DAMAGED
    frames = shown_range(armature)
    if now == NONE or frames is None:
        return UNKNOWN
    start, end = frames
    if now == FRESH:
        return f"Frames {start} to {end} are simulated"
    return f"Simulation of frames {start} to {end} is outdated: press Simulate"


def shown_range(armature: bpy.types.Object) -> tuple[int, int] | None:
    """Return the frames that are simulated, None if none are."""
    kept = _kept(armature).values()
    return (min(one.start for one in kept), max(one.end for one in kept)) if kept else None


def write(armature: bpy.types.Object, owner: str, history: History) -> None:
    """Keep a history; the caller throws the plan away.

    Raises:
        ProblemError: If it is too long to be kept.
    """
    if FORM.fields.size + len(history.blob) > codec.MOST:
        raise ProblemError(
            f"The simulation of “{armature.name}” is too large to be stored: choose a shorter range"
        )
    whole = FORM.sealed(history.blob, history.start, history.end, history.key)
    # Without zeros among the bytes: a library override would compare up to the first of them.
    store(armature, owner, b2a_base64(whole, newline=False))


def stored(armature: bpy.types.Object, owner: str) -> bytes:
    """Return what is stored for an owner, empty if nothing is."""
    group: Any = armature.path_resolve(owner)
    return group.history


def store(armature: bpy.types.Object, owner: str, whole: bytes) -> None:
    """Store what `stored` has returned, or nothing; the caller throws the plan away."""
    forget(armature)
    group: Any = armature.path_resolve(owner)
    group.history = whole


def digest_of(armature: bpy.types.Object, one: Simulated, frames: tuple[int, int]) -> digest.Digest:
    """Return all that a history is made of."""
    inputs = (frames, one.inputs())
    own = "" if one.counts_wholly else one.owner
    found = digest.Digest(one.sources(), inputs, (armature, own))
    uid = session_uid(armature)
    _counting.setdefault(uid, {uid}).update(found.seen)
    return found


def keys_now(armature: bpy.types.Object) -> list[bytes]:
    """Return the keys that the histories of an armature would get if they were made now."""
    frames = range_of(armature, bpy.context.scene)
    return [digest_of(armature, one, frames).key() for one in owners(armature)]


def _kept(armature: bpy.types.Object) -> dict[str, History]:
    """Return what is kept of an armature, by owner."""
    found = {one.owner: _history(armature, one.owner) for one in owners(armature)}
    return {owner: one for owner, one in found.items() if isinstance(one, History)}


def _history(armature: bpy.types.Object, owner: str) -> History | str:
    """Return what is kept for an owner, or why nothing is, decoded once for each plan."""
    global _decoded_for
    known = plan.known()
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
        if blob[:4] == FORM.magic and blob[4:5] != bytes([FORM.version]):  # As 0.1 wrote it.
            return UNKNOWN
        start, end, key, kept = FORM.opened(blob)
    except ValueError:
        return DAMAGED
    return History(start, end, kept, key) if start <= end else DAMAGED


def _freshness(armature: bpy.types.Object) -> dict[str, bool]:
    """Return which histories of an armature belong to what there is now."""
    uid = session_uid(armature)
    if plan.known() is None:  # What hangs on what is being found out.
        return _fresh.get(uid, {})
    if uid not in _fresh:
        _fresh[uid] = {}
        for one in owners(armature):
            history = _history(armature, one.owner)
            if isinstance(history, History):
                key = digest_of(armature, one, (history.start, history.end)).key()
                wanted = range_of(armature, bpy.context.scene)
                is_whole = wanted == (history.start, history.end)
                _fresh[uid][one.owner] = is_whole and key == history.key
    return _fresh[uid]


def note_updates(depsgraph: bpy.types.Depsgraph) -> None:
    """Look again at the histories for which something that was updated counts."""
    if not _counting:
        return
    updated = {session_uid(update.id) for update in depsgraph.updates}
    data_blocks.forget(updated)
    found = [uid for uid, counting in _counting.items() if not counting.isdisjoint(updated)]
    for uid in found:
        _fresh.pop(uid, None)
    if found:
        _tell()


def forget(armature: bpy.types.Object) -> None:
    """Read the histories of an armature anew."""
    _decoded.pop(session_uid(armature), None)
    _fresh.pop(session_uid(armature), None)


def look_again() -> None:
    """Compare all histories with what there is now, whatever is known of it."""
    _fresh.clear()
    _counting.clear()
    data_blocks.forget_all()


@forgets
def forget_all() -> None:
    """Forget everything of a file, or of before undo."""
    _decoded.clear()
    look_again()
    _tell()


def _tell() -> None:
    for listener in listeners:
        listener()
