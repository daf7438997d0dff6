"""The passes of every bake: record, key draft actions, disable, play back, compare."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, TypeVar

import bpy

from ...blender import animation
from ...blender.access import is_there
from ...blender.offset_layers import edited_layer, layer_of
from ...editing.layering import merges_of, remove_tracks, turn_off, turn_on
from ...editing.playing import returning, staged

RECORDED_PROGRESS = 0.5
"""Progress after recording."""

VERIFIED_PROGRESS = 0.75
"""Progress after playback, if the range is played again with the constraints on."""

T = TypeVar("T")
Recorded = TypeVar("Recorded")
Comparison = TypeVar("Comparison")
Result = TypeVar("Result")


class Bake(Generic[Recorded, Comparison, Result]):
    """Base class of bakes; they override its hooks.

    Attributes:
        scene: The scene to play.
        layer: The view layer to evaluate.
        frames: The range.
        armatures: The recorded armatures.
        owners: The objects whose actions get keys.
        stays_on: Whether the constraints stay on, and are also played on top of the keys.
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

    def run(self) -> Generator[float, None, Result]:
        """Record the constraints, write keys and verify them.

        If the generator is closed early or fails, it undoes all changes. Its last frame change
        returns to the current frame.

        Yields:
            The progress, from 0 to 1.

        Raises:
            ProblemError: If a target can't be moved.
        """
        with returning(self.scene, self.layer), staged(self.layer, self.armatures, self.owners):
            live = yield from progress(self._record(), 0.0, RECORDED_PROGRESS)
            with drafts_of(self.owners) as drafts:
                for _ in self._write(live):
                    yield RECORDED_PROGRESS
                over = None
                # Also restores channels that only the drafts animate.
                with returning(self.scene, self.layer):
                    with self._off():
                        end = VERIFIED_PROGRESS if self.stays_on else 1.0
                        again = self._play_again(live)
                        played = yield from progress(again, RECORDED_PROGRESS, end)
                    if self.stays_on:
                        over = yield from progress(self._play(), VERIFIED_PROGRESS, 1.0)
                comparison = self._compare(live, played, over)
            return self._settle(live, comparison, drafts)

    def _record(self) -> Generator[float, None, Recorded]:
        """Play the range, sample the channels to key, and return the recording."""
        raise NotImplementedError

    def _write(self, live: Recorded) -> Iterable[object]:
        """Insert the keys into the active actions, step by step."""
        raise NotImplementedError

    def _off(self) -> AbstractContextManager[None]:
        """Disable the constraints within the block, or permanently unless the block fails."""
        raise NotImplementedError

    def _play(self) -> Generator[float, None, Recorded]:
        """Play the range with the keys or the constraints, and return the recording."""
        raise NotImplementedError

    def _play_again(self, live: Recorded) -> Generator[float, None, Recorded]:
        """Play the keys back, over as much of the range as it takes to prove them."""
        return self._play()

    def _compare(self, live: Recorded, played: Recorded, over: Recorded | None) -> Comparison:
        """Compare the live range with the played keys.

        Args:
            live: The live range.
            played: The keys, played with the constraints off.
            over: The keys, played with the constraints on top; None if they don't stay on.
        """
        raise NotImplementedError

    def _settle(self, live: Recorded, comparison: Comparison, drafts: Sequence[Draft]) -> Result:
        """Keep or drop the drafts, and return the result.

        Args:
            live: The live range.
            comparison: The result of `_compare`.
            drafts: The drafts of the owners' actions.
        """
        raise NotImplementedError


def progress(
    work: Generator[float, None, T], start: float, end: float
) -> Generator[float, None, T]:
    """Run a generator, map its progress to the range from start to end; return its result."""
    while True:
        try:
            done = next(work)
        except StopIteration as finished:
            return finished.value
        yield start + (end - start) * done


class Draft:
    """A copy of an object's action that gets the keys until the bake is verified."""

    def __init__(self, armature: bpy.types.Object) -> None:
        """Assign a copy of the action, or a new action if there isn't any.

        An offset layer is merged into the copy, and turned off.
        """
        data: Any = armature.animation_data
        layer = edited_layer(armature)
        merges = [] if layer is None else merges_of(armature, layer)
        self._was_layered = layer is not None
        if layer is not None:
            turn_off(armature, layer)
        self.armature = armature
        self._had_data = data is not None
        self._old = data.action if data else None
        self._slot = getattr(data, "action_slot_handle", 0)
        # By path, as dependency drivers may be added and removed meanwhile.
        drivers: Any = data.drivers if data else ()
        self._driven = {
            (driver.data_path, driver.array_index) for driver in drivers if not driver.mute
        }
        name = self._old.name if self._old else armature.name
        animation.copy_action(armature, f"{name} Baked")
        for merge in merges:
            merge.write(armature)

    @property
    def has_old(self) -> bool:
        """Whether there was a previous action, without an offset layer."""
        return self._old is not None and not self._was_layered

    def drop(self) -> None:
        """Restore the previous action, and unmute its drivers."""
        if not is_there(self.armature):
            return
        data: Any = self.armature.animation_data
        for driver in data.drivers:
            if (driver.data_path, driver.array_index) in self._driven:
                driver.mute = False
        draft = data.action
        animation.use_action(self.armature, self._old, self._slot)
        bpy.data.actions.remove(draft)
        layer = layer_of(self.armature)
        if self._was_layered and layer is not None:
            turn_on(self.armature, layer)
        if not self._had_data:
            self.armature.animation_data_clear()

    def keep(self, has_old: bool = True) -> None:
        """Keep the copy, and protect the previous action with a fake user, or remove it.

        Args:
            has_old: Whether to keep the previous action, even if nothing else uses it. Otherwise an
                offset layer is also removed.
        """
        if not has_old and layer_of(self.armature) is not None:
            remove_tracks(self.armature)
        if self._old is not None and self._old.users == 0:
            if has_old:
                self._old.use_fake_user = True
            else:
                bpy.data.actions.remove(self._old)


@contextmanager
def drafts_of(owners: Iterable[bpy.types.Object]) -> Iterator[list[Draft]]:
    """Give objects draft actions, and drop them if the block fails or is closed."""
    drafts: list[Draft] = []
    try:
        for owner in owners:
            drafts.append(Draft(owner))
        yield drafts
    except BaseException:
        for draft in reversed(drafts):
            draft.drop()
        raise
