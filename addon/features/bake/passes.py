"""What all bakes do: they record, key drafts of the actions, switch off, and play once more."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, TypeVar

import bpy

from ...blender import animation
from ...editing.playing import returning, staged

PLAYED = 0.5
"""The share of the work that is done when the range is recorded."""

PROVED = 0.75
"""The share that is done when it is proved, if it is played once more with everything on."""

T = TypeVar("T")
Seen = TypeVar("Seen")
Found = TypeVar("Found")
Outcome = TypeVar("Outcome")


class Bake(Generic[Seen, Found, Outcome]):
    """What all bakes do; what each has of its own is in the methods that it overrides.

    Attributes:
        scene: The scene that is played.
        layer: What is evaluated.
        frames: The range.
        armatures: The armatures that are looked at.
        owners: The objects whose actions get keys.
        stays_on: Whether what is baked stays on, and is played over its own keys as well.
    """

    stays_on = False

    def __init__(
        self,
        scene: bpy.types.Scene,
        layer: bpy.types.ViewLayer,
        frames: range,
        armatures: Sequence[bpy.types.Object],
        owners: Iterable[bpy.types.Object],
    ) -> None:
        self.scene, self.layer, self.frames = scene, layer, frames
        self.armatures, self.owners = armatures, list(dict.fromkeys(owners))

    def run(self) -> Generator[float, None, Outcome]:
        """Record, write and prove.

        If it is closed before its end, or fails, everything is as it was. Its last frame change is
        to the frame that was shown.

        Yields:
            The share that is done.

        Raises:
            ProblemError: If a target cannot be moved.
        """
        with returning(self.scene, self.layer), staged(self.layer, self.armatures, self.owners):
            live = yield from _share_of(self._record(), 0.0, PLAYED)
            with drafted(self.owners) as drafts:
                for _ in self._write(live):
                    yield PLAYED
                over = None
                with returning(
                    self.scene, self.layer
                ):  # What only the drafts animate is given back as well.
                    with self._off():
                        end = PROVED if self.stays_on else 1.0
                        played = yield from _share_of(self._play(), PLAYED, end)
                    if self.stays_on:
                        over = yield from _share_of(self._play(), PROVED, 1.0)
                found = self._compare(live, played, over)
            return self._settle(live, found, drafts)

    def _record(self) -> Generator[float, None, Seen]:
        """Play the range, take what gets keys, and return what is seen."""
        raise NotImplementedError

    def _write(self, live: Seen) -> Iterable[object]:
        """Write the keys into the active actions, piece by piece."""
        raise NotImplementedError

    def _off(self) -> AbstractContextManager[None]:
        """Switch off what is baked; on again at the end, or only after a failure."""
        raise NotImplementedError

    def _play(self) -> Generator[float, None, Seen]:
        """Play the range, and return what is seen."""
        raise NotImplementedError

    def _compare(self, live: Seen, played: Seen, over: Seen | None) -> Found:
        """Compare what was live with the keys, and with what is made of these if it stays on."""
        raise NotImplementedError

    def _settle(self, live: Seen, found: Found, drafts: Sequence[Draft]) -> Outcome:
        """Keep the drafts, or else what they were made of, and return what was done."""
        raise NotImplementedError


def _share_of(
    work: Generator[float, None, T], start: float, end: float
) -> Generator[float, None, T]:
    """Do a part of the whole work, and return what it returns."""
    while True:
        try:
            done = next(work)
        except StopIteration as finished:
            return finished.value
        yield start + (end - start) * done


class Draft:
    """A copy of an armature's action, which it uses until it is known to be right."""

    def __init__(self, armature: bpy.types.Object) -> None:
        """Let the armature use a copy, or a new action if it has none."""
        data: Any = armature.animation_data
        self.armature = armature
        self._had_data = data is not None
        self._old = data.action if data else None
        self._slot = getattr(data, "action_slot_handle", 0)
        # By their paths: those by which armatures depend on targets may come and go meanwhile.
        drivers: Any = data.drivers if data else ()
        self._driven = {(one.data_path, one.array_index) for one in drivers if not one.mute}
        name = self._old.name if self._old else armature.name
        animation.copy_action(armature, f"{name} Baked")

    @property
    def has_old(self) -> bool:
        """Whether the armature had an action."""
        return self._old is not None

    def drop(self) -> None:
        """Let the armature use the action that it had, and the drivers that were on."""
        data: Any = self.armature.animation_data
        for driver in data.drivers:
            if (driver.data_path, driver.array_index) in self._driven:
                driver.mute = False
        draft = data.action
        animation.use_action(self.armature, self._old, self._slot)
        bpy.data.actions.remove(draft)
        if not self._had_data:
            self.armature.animation_data_clear()

    def keep(self) -> None:
        """Keep the copy, and the action that it was made of as well, though nobody may use it."""
        if self._old is not None and self._old.users == 0:
            self._old.use_fake_user = True


@contextmanager
def drafted(owners: Iterable[bpy.types.Object]) -> Iterator[list[Draft]]:
    """Give objects drafts of their actions, and drop these if what follows fails or is closed."""
    drafts: list[Draft] = []
    try:
        for owner in owners:
            drafts.append(Draft(owner))
        yield drafts
    except BaseException:
        for draft in reversed(drafts):
            draft.drop()
        raise
