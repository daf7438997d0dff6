"""The FK input: the rotations that the animator gave, which solving never overwrites for good.

The solution is written into the same channels that hold the input. A channel that is animated gets
its input back from Blender whenever its animation is evaluated. For all others the input is kept
on the bone (`PoseBone.fabrik_input`), beside what was written last (`fabrik_output`): a channel
that holds anything else was set by somebody, and that is the new input.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import acos, pi

from . import animation
from .access import pose_bones
from .plan import NO_INPUT
from .rotation import RotationChannels, channel_of, channel_values, floats, quaternion
from .skeleton import Skeleton

SAME_TURN = 1e-4
"""Rotations in two rotation modes that differ by less, in radians, are the same one converted."""

_animated: dict[int, tuple[tuple[object, ...], animation.Channels]] = {}

_earlier: dict[tuple[int, str], dict[tuple[float, ...], list[float]]] = {}
"""Solutions that were overwritten at this frame, and the inputs that they were solved from."""


def forget_animation() -> None:
    """Look again which channels are animated."""
    _animated.clear()


def forget_earlier() -> None:
    """Forget what was overwritten: at another frame nobody goes back to it."""
    _earlier.clear()


def _channels(rig: Skeleton) -> animation.Channels:
    signature = (*animation.signature(rig.object), rig.names)  # A new name makes new paths.
    known = _animated.get(rig.uid)
    if known is None or known[0] != signature:
        known = _animated[rig.uid] = (signature, animation.animated(rig.object))
    return known[1]


class FkInput:
    """The FK input of one armature's bones, at one moment."""

    def __init__(self, rig: Skeleton, evaluated: RotationChannels, is_fresh: bool) -> None:
        """Read what is kept.

        Args:
            rig: The armature.
            evaluated: The rotation channels of its evaluated copy.
            is_fresh: Whether its animation was evaluated just now, so that the evaluated copy
                holds the values of its F-curves and not what we wrote since.
        """
        bones = pose_bones(rig.object)
        self.rig = rig
        self.bones = bones
        self.evaluated = evaluated
        self.original = RotationChannels(bones)
        self.is_fresh = is_fresh
        self.animated = _channels(rig)
        self.modes = array("i", [NO_INPUT]) * len(bones)
        bones.foreach_get("fabrik_mode", self.modes)
        self.kept = floats(bones, "fabrik_input", 4)
        self.written = floats(bones, "fabrik_output", 4)
        self._saved = (self.modes[:], self.kept[:], self.written[:])
        self._inputs: dict[int, list[float]] = {}

    def of(self, bone: int) -> list[float]:
        """Return the FK input of a bone, in the numbers of its rotation mode."""
        if bone not in self._inputs:
            self._inputs[bone] = self._input(bone)
        return self._inputs[bone]

    def _input(self, bone: int) -> list[float]:
        mode = self.original.modes[bone]
        channel, size = channel_of(mode)
        original = self.original.values(bone)
        kept, written = self._record(bone, mode, original)
        keyed, driven = self.animated.rotation(self.rig.names[bone], channel)
        if not keyed and not driven:
            return self._unanimated(bone, original, kept[:size], written and written[:size])
        evaluated = self.evaluated.values(bone)
        free = [i for i in range(size) if i not in keyed and i not in driven]
        result = list(original)
        # Each kind is judged as a whole: a turn by hand changes some numbers of a quaternion and
        # may leave others, but it is all of them that make the new input.
        for indices, present in ((free, original), (keyed, original), (driven, evaluated)):
            if indices is keyed and self.is_fresh:
                source: Sequence[float] = evaluated
            elif written is not None and all(present[i] == written[i] for i in indices):
                source = kept
            else:
                source = present
            for i in indices:
                result[i] = source[i]
        return result

    def _unanimated(
        self, bone: int, present: list[float], kept: list[float], written: list[float] | None
    ) -> list[float]:
        """Return the input of a channel that only we and the animator set."""
        if written is None or present == written:
            return kept if written else present
        # While a bone is being turned it takes many values, and Escape gives back the one that
        # was there before: a solution, which stands for the input that it was solved from.
        earlier = _earlier.setdefault((self.rig.uid, self.rig.names[bone]), {})
        earlier[tuple(written)] = kept
        return earlier.get(tuple(present), present)

    def _record(
        self, bone: int, mode: int, original: list[float]
    ) -> tuple[list[float], list[float] | None]:
        """Return the kept input and what was written with it, None if nothing was."""
        recorded = self.modes[bone]
        if recorded == NO_INPUT:
            return original, None
        kept = self.kept[bone * 4 : bone * 4 + 4].tolist()
        written = self.written[bone * 4 : bone * 4 + 4].tolist()
        if recorded == mode:
            return kept, written
        if recorded > 0 and mode > 0 and written[:3] == original:
            return kept, written  # Between orders of Euler angles Blender keeps the numbers.
        # Blender converts a channel when the rotation mode is changed. If it converted what we
        # wrote, the input is converted as well; else the bone was turned besides.
        a, b = quaternion(recorded, written), quaternion(mode, original)
        cosine = min(1.0, abs(sum(x * y for x, y in zip(a, b, strict=True))))
        if min(2.0 * acos(cosine), pi) > SAME_TURN:
            return original, None
        return channel_values(mode, quaternion(recorded, kept), original), original

    def keep(self, bone: int, given: Sequence[float], written: Sequence[float]) -> None:
        """Remember the input of a bone beside what is written over it."""
        self.modes[bone] = self.original.modes[bone]
        for buffer, values in ((self.kept, given), (self.written, written)):
            for i, value in enumerate(values):
                buffer[bone * 4 + i] = value

    def drop(self, bone: int) -> None:
        """Forget the input of a bone that got it back."""
        self.modes[bone] = NO_INPUT

    def save(self) -> None:
        """Write what changed to the bones."""
        now = (self.modes, self.kept, self.written)
        names = ("fabrik_mode", "fabrik_input", "fabrik_output")
        for name, values, saved in zip(names, now, self._saved, strict=True):
            if values != saved:
                self.bones.foreach_set(name, values)
