"""Histories: simulation results stored in the file.

Playing the frames once makes a history; from it, any frame can be evaluated. It contains a digest
of its inputs. When the digest no longer matches, the history is stale: still used, but reported as
outdated.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from struct import Struct
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import bpy

from fabrik_solver.motion import codec

from ...blender import data_blocks
from ...blender.access import frame_rate, session_uid
from ...blender.errors import ProblemError
from ...blender.listeners import on_invalidate
from ...blender.messages import msg, recalled
from ...blender.updates import Updates
from ...editing.playing import frame_of
from ...frame.solved_scene import SolvedScene
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...plan.plan import Plan
from ...settings.properties import FabrikConstraint, settings
from . import digest
from .digest import Source

FORM = codec.Form(b"FABH", 2, Struct("<ii16s"))
"""The header: first frame, last frame, and digest. The payload is the result."""

NONE, FRESH, STALE = "NONE", "FRESH", "STALE"

RUNNING = msg("Simulating")

UNKNOWN = msg("Not simulated: press Simulate")

DAMAGED = msg("The simulation is damaged: press Simulate")


class Simulated:
    """The simulation of a history of an armature, created for each pass.

    Attributes:
        owner: RNA path of its property group on the armature object, such as
            ``fabrik.constraints[0].follow``. The group has a property ``history`` of bytes.
        counts_wholly: Whether all settings of its constraint are inputs.
        moments: The frames that it has to visit; None for all in the range.
        margin: How many frames to visit before and after the range.
    """

    counts_wholly = False
    moments: Sequence[float] | None = None
    margin = 0

    def __init__(self, armature: bpy.types.Object, owner: str) -> None:
        self.owner = owner
        self._armature = armature

    def inputs(self) -> object:
        """Return the settings that are inputs; their ``repr`` goes into the digest."""
        raise NotImplementedError

    def sources(self) -> Iterable[Source]:
        """Return the objects whose animation, transform or mesh is an input.

        An armature includes all its bones. A `Point` includes its bone and the bone's ancestors, or
        its object's transform without the mesh. Their dependencies (parents, constraints, drivers,
        chains) are included automatically.
        """
        raise NotImplementedError

    def start(self, snapshot: SolvedScene) -> None:
        """Start at the first visited frame, before `step` is called for it.

        Raises:
            ProblemError: If the owner can't be simulated.
        """

    def step(self, snapshot: SolvedScene) -> None:
        """Advance to the next frame, which is fully evaluated."""
        raise NotImplementedError

    def result(self) -> bytes:
        """Return the result to store."""
        raise NotImplementedError


class SimulatedConstraint(Simulated):
    """The simulation of a constraint, which stores it in one of its groups of settings."""

    def __init__(self, armature: bpy.types.Object, index: int, group: str) -> None:
        super().__init__(armature, owner_path(index, group))
        self._index = index

    @property
    def _item(self) -> FabrikConstraint:
        return settings(self._armature).constraints[self._index]

    def _chain(self) -> ChainPlan | None:
        """Return its plan; None if it has none."""
        return chain_of(self._armature, self._index)


@runtime_checkable
class Repeatable(Protocol):
    """A simulation that can try other settings without playing the frames again."""

    def recall(self, frames: tuple[int, int]) -> bool:
        """Use the recording between two frames; return whether only settings have changed since."""
        ...

    def compute(self) -> Generator[float, None, None]:
        """Compute the result from the recording, and yield the progress from 0 to 1.

        Raises:
            ProblemError: If the recording can't be simulated.
        """
        ...

    def remember(self, frames: tuple[int, int]) -> None:
        """Keep the recording from the first to the last frame, and the result."""
        ...


@runtime_checkable
class Showing(Protocol):
    """A simulation that needs objects even if they are hidden, or excluded from the view layer."""

    def shown(self) -> list[bpy.types.Object]:
        """Return the objects to unhide while the frames are played."""
        ...


Provider = Callable[[bpy.types.Object], list[Any]]

PROVIDERS: list[Provider] = []
"""Functions that return the `Simulated` parts of an armature."""

REFUSALS: list[Callable[[bpy.types.Object], list[str]]] = []
"""Functions that return why parts of an armature can't be simulated."""

NOTES: list[Callable[[bpy.types.Object], list[str]]] = []
"""Functions that return notes on the histories of an armature."""

listeners: list[Callable[[], None]] = []
"""Functions to call in an update when a history may have become stale."""


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
"""The decoded histories by armature and owner, or messages saying why they are missing."""

_decoded_for: Plan | None = None

_fresh: dict[int, dict[str, bool]] = {}
"""Whether histories are fresh, by armature and owner; discarded when an input is updated."""

watched: dict[int, set[int]] = {}
"""Session UIDs of all inputs of an armature's histories, by armature."""

_frames = (0, 0)
"""The scene's frame range at the last update."""

_pace = (0.0, 1.0)
"""The scene's frame rate, and how many of its frames play one frame of animation."""

_running: dict[tuple[int, str], dict[Any, Any]] = {}
"""Intermediate results of simulations in progress, by armature and owner."""


def owner_path(index: int, group: str) -> str:
    """Return the RNA path of a constraint's property group, from the armature object."""
    return f"fabrik.constraints[{index}].{group}"


def chain_of(armature: bpy.types.Object, index: int) -> ChainPlan | None:
    """Return a constraint's plan; None if it has none."""
    plan = planner.known()
    chains = plan.chains if plan else ()
    return next((c for c in chains if c.item == index and c.rig.object == armature), None)


def valid_constraints(armature: bpy.types.Object, solver: str) -> list[int]:
    """Return the indices of an armature's constraints with a solver that have no problem."""
    indices = [i for i, con in enumerate(settings(armature).constraints) if con.solver == solver]
    chains = {i: chain_of(armature, i) for i in indices}
    return [i for i, chain in chains.items() if chain is None or not chain.problem]


def owners(armature: bpy.types.Object) -> list[Simulated]:
    """Return all simulations of an armature."""
    return [simulated for provider in PROVIDERS for simulated in provider(armature)]


def refused(armature: bpy.types.Object) -> list[str]:
    """Return why parts of an armature can't be simulated."""
    return [reason for refusals in REFUSALS for reason in refusals(armature)]


def notes(armature: bpy.types.Object) -> list[str]:
    """Return notes on an armature's histories, and messages about its invalid constraints."""
    items = [item for item in settings(armature).constraints if item.enabled]
    invalid = [
        msg("“{name}”: {note}", name=con.name, note=recalled(con.message))
        for con in items
        if con.state == "INVALID"
    ]
    return [*(note for feature_notes in NOTES for note in feature_notes(armature)), *invalid]


def range_of(armature: bpy.types.Object, scene: bpy.types.Scene) -> tuple[int, int]:
    """Return the first and last frame to simulate.

    By default this is the scene's range. Frames that are already simulated stay included, so that
    rendering part of a scene doesn't simulate it again.
    """
    if custom_range := _own_range(armature):
        return custom_range
    start, end = scene.frame_start, scene.frame_end
    simulated = shown_range(armature)
    return (start, end) if simulated is None else (min(start, simulated[0]), max(end, simulated[1]))


def _own_range(armature: bpy.types.Object) -> tuple[int, int] | None:
    """Return the first and last frame that the user set; None for the scene's range."""
    simulation = cast(Any, settings(armature)).simulation
    start, end = simulation.frame_start, simulation.frame_end
    return (start, end) if start or end else None


def is_short(armature: bpy.types.Object) -> bool:
    """Return whether a simulation lacks frames of the scene; its existing frames stay valid."""
    simulated = shown_range(armature)
    if simulated is None or not armature.is_editable or _own_range(armature) is not None:
        return False
    return range_of(armature, bpy.context.scene) != simulated


def is_due(armature: bpy.types.Object) -> bool:
    """Return whether an armature needs simulating."""
    return state(armature) != FRESH or is_short(armature)


def data(armature: bpy.types.Object, owner: str) -> History | None:
    """Return an owner's history; None if it is missing or being simulated."""
    if _running and is_running(armature, owner):
        return None
    uid = session_uid(armature)
    history: History | str | None = None
    if planner.known() is _decoded_for and uid in _decoded:
        history = _decoded[uid].get(owner)  # Saves several calls per chain and frame.
    if history is None:
        history = _history(armature, owner)
    if isinstance(history, str):
        return None
    freshness = _fresh.get(uid) or _freshness(armature)
    # Decoded as fresh.
    return history if freshness.get(owner) else history._replace(is_fresh=False)


def why_missing(armature: bpy.types.Object, owner: str, unknown: str = UNKNOWN) -> str:
    """Return why an owner's history is missing.

    Args:
        armature: The armature.
        owner: The path of the owner's settings.
        unknown: The message if it hasn't been simulated yet.
    """
    if _running:
        return RUNNING
    return DAMAGED if _history(armature, owner) == DAMAGED else unknown


def is_running(armature: bpy.types.Object, owner: str = "") -> bool:
    """Return whether an owner is being simulated; if empty, whether any part of the armature is."""
    uid = session_uid(armature)
    return (uid, owner) in _running if owner else any(uid == busy for busy, _ in _running)


def found_so_far(armature: bpy.types.Object, owner: str) -> dict[Any, Any]:
    """Return the mutable results that a simulation in progress keeps for later frames.

    Empty at the start of each pass, before the first frame is solved.
    """
    return _running[session_uid(armature), owner]


@contextmanager
def running(simulated: Iterable[tuple[bpy.types.Object, str]]) -> Iterator[None]:
    """Mark owners as being simulated during the block."""
    _running.update({(session_uid(armature), owner): {} for armature, owner in simulated})
    planner.discard()
    try:
        yield
    finally:
        _running.clear()
        planner.discard()


def note(history: History, frame: float) -> str:
    """Return the note on a history at a frame; may be empty."""
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
    """Return the combined state of an armature's histories."""
    plan = planner.known()
    armature = armature.original
    if plan is None or _running:
        return NONE
    histories = _histories(armature)
    if not histories or len(histories) < len(owners(armature)):
        return STALE if histories else NONE
    return FRESH if all(_freshness(armature).get(owner) for owner in histories) else STALE


def outdated(armature: bpy.types.Object) -> list[Simulated]:
    """Return an armature's simulations that are stored but outdated."""
    freshness = _freshness(armature)
    return [simulated for simulated in owners(armature) if not freshness.get(simulated.owner, True)]


def sentence(armature: Any) -> str:
    """Return a sentence about the state of an armature's histories."""
    armature = armature.original
    current_state = state(armature)
    if _running:
        return RUNNING
    if any(_history(armature, owner.owner) == DAMAGED for owner in owners(armature)):
        return DAMAGED
    frames = shown_range(armature)
    if current_state == NONE or frames is None:
        return UNKNOWN
    start, end = frames
    if current_state == FRESH:
        return msg("Frames {start} to {end} are simulated", start=start, end=end)
    return msg(
        "Simulation of frames {start} to {end} is outdated: press Simulate", start=start, end=end
    )


def shown_range(armature: bpy.types.Object) -> tuple[int, int] | None:
    """Return the first and last simulated frame; None without histories."""
    results = _histories(armature).values()
    return (min(h.start for h in results), max(h.end for h in results)) if results else None


def write(armature: bpy.types.Object, owner: str, history: History) -> None:
    """Store a history; the caller discards the plan.

    Raises:
        ProblemError: If the history is too large.
    """
    if FORM.fields.size + len(history.blob) > codec.MOST:
        raise ProblemError(
            "The simulation of “{armature}” is too large to store: choose a shorter range",
            armature=armature.name,
        )
    sealed = FORM.sealed(history.blob, history.start, history.end, history.key)
    # Library overrides compare bytes only up to the first zero, so there must not be any.
    store(armature, owner, b2a_base64(sealed, newline=False))


def stored(armature: bpy.types.Object, owner: str) -> bytes:
    """Return an owner's stored bytes; may be empty."""
    group: Any = armature.path_resolve(owner)
    return group.history


def store(armature: bpy.types.Object, owner: str, encoded: bytes) -> None:
    """Store an owner's bytes; the caller discards the plan."""
    forget(armature)
    group: Any = armature.path_resolve(owner)
    group.history = encoded


def digest_of(
    armature: bpy.types.Object,
    simulated: Simulated,
    frames: tuple[int, int],
    later: Collection[ChainPlan] = (),
) -> digest.Digest:
    """Return the digest of a history's inputs; constraints solved ``later`` are left out."""
    remapped = frame_of(bpy.context.scene, 1.0)
    inputs = (frames, simulated.inputs(), *([remapped] if remapped != 1.0 else []))
    path = "" if simulated.counts_wholly else simulated.owner
    key = digest.Digest(simulated.sources(), inputs, (armature, path), later)
    uid = session_uid(armature)
    watched.setdefault(uid, {uid}).update(key.seen)
    return key


def keys_now(armature: bpy.types.Object) -> list[bytes]:
    """Return the current digests of all simulations of an armature."""
    frames = range_of(armature, bpy.context.scene)
    return [digest_of(armature, owner, frames).key() for owner in owners(armature)]


def _histories(armature: bpy.types.Object) -> dict[str, History]:
    """Return an armature's histories by owner."""
    histories = {entry.owner: _history(armature, entry.owner) for entry in owners(armature)}
    return {owner: entry for owner, entry in histories.items() if isinstance(entry, History)}


def _history(armature: bpy.types.Object, owner: str) -> History | str:
    """Return an owner's history, or why it is missing; decoded once per plan."""
    global _decoded_for
    plan = planner.known()
    if plan is None:
        return _read(stored(armature, owner))
    if plan is not _decoded_for:
        _decoded.clear()
        _decoded_for = plan
    of_armature = _decoded.setdefault(session_uid(armature), {})
    if owner not in of_armature:
        of_armature[owner] = _read(stored(armature, owner))
    return of_armature[owner]


def _read(encoded: bytes) -> History | str:
    if not encoded:
        return UNKNOWN
    try:
        blob = a2b_base64(encoded, strict_mode=True)
        if blob[:4] == FORM.magic and blob[4:5] != bytes([FORM.version]):  # Of another version.
            return UNKNOWN
        start, end, key, result = FORM.opened(blob)
    except ValueError:
        return DAMAGED
    return History(start, end, result, key) if start <= end else DAMAGED


def _freshness(armature: bpy.types.Object) -> dict[str, bool]:
    """Return whether an armature's histories are fresh, by owner.

    Raises:
        ReferenceError: If the plan refers to data removed since the last update.
    """
    uid = session_uid(armature)
    if planner.known() is None:  # The plan is being made.
        return _fresh.get(uid, {})
    if uid not in _fresh:
        freshness = _fresh[uid] = {}
        try:
            for owner in owners(armature):
                history = _history(armature, owner.owner)
                if isinstance(history, History):
                    key = digest_of(armature, owner, (history.start, history.end)).key()
                    custom_range = _own_range(armature)
                    is_whole = custom_range is None or custom_range == (history.start, history.end)
                    freshness[owner.owner] = is_whole and key == history.key
        except ReferenceError:
            del _fresh[uid]
            raise
    return _fresh[uid]


def note_updates(updates: Updates) -> None:
    """Recheck histories whose inputs were updated; tell listeners of a new frame range or rate."""
    global _frames, _pace
    scene = cast(bpy.types.Scene, updates.depsgraph.scene)
    pace = frame_rate(scene), frame_of(scene, 1.0)
    if pace != _pace:
        _pace = pace
        _fresh.clear()
        _notify()
    frames = scene.frame_start, scene.frame_end
    if frames != _frames:
        _frames = frames
        _notify()
    updated = {block.session_uid for block in updates.blocks}
    data_blocks.forget(updated)
    changed = [uid for uid, input_uids in watched.items() if not input_uids.isdisjoint(updated)]
    for uid in changed:
        _fresh.pop(uid, None)
    if changed:
        _notify()


def forget(armature: bpy.types.Object) -> None:
    """Discard an armature's decoded histories, so that they are decoded again."""
    _decoded.pop(session_uid(armature), None)
    _fresh.pop(session_uid(armature), None)


def check_again() -> None:
    """Discard all digests, so that they are computed again."""
    _fresh.clear()
    watched.clear()
    data_blocks.forget_all()


@on_invalidate
def forget_all() -> None:
    """Discard all cached results, after loading a file or undo."""
    _decoded.clear()
    check_again()
    _notify()


def _notify() -> None:
    for listener in listeners:
        listener()
