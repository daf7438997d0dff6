"""Packing a simulated walk into bytes for storage in the file."""

from collections.abc import Sequence
from itertools import accumulate

from . import codec
from .footfall import STILL, Footfall
from .gait import RecordedWalk
from .stance import Lean, LeanState

FORM = codec.Form(b"FABW", 5)

FALL, LEAN = 14, 10
"""The number of values of a footfall, and of the lean state at a frame."""


def packed(record: RecordedWalk, names: Sequence[str]) -> bytes:
    """Pack a walk.

    Args:
        record: The walk.
        names: The names of the grounds, by index.
    """
    integers = [record.start, len(record.falls), *[len(falls) for falls in record.falls]]
    numbers: list[float] = []
    for f in [fall for falls in record.falls for fall in falls]:
        integers += [f.ground, f.has_ground]
        numbers += [f.lift, f.land, *f.place, *f.normal, *f.ahead, f.height, f.late, f.early]
    for state in record.lean_states:
        numbers += [*state.lean, *state.speed]
    return FORM.packed(integers, names, numbers)


def unpacked(blob: bytes) -> tuple[RecordedWalk, list[str]]:
    """Unpack a walk and the names of its grounds.

    Raises:
        ValueError: If the bytes are damaged or of another version.
    """
    integers, names, numbers = FORM.unpacked(blob)
    start, legs, *remainder = integers
    counts, grounds, ground_flags = remainder[:legs], remainder[legs::2], remainder[legs + 1 :: 2]
    count = sum(counts)
    end = FALL * count
    if (
        len(counts) != legs
        or min(counts, default=0) < 1
        or not len(grounds) == len(ground_flags) == count
        or (len(numbers) - end) % LEAN
        or len(numbers) <= end
    ):
        raise ValueError(codec.DAMAGED)
    footfalls = [
        _fall(grounds[i], ground_flags[i], *numbers[FALL * i : FALL * i + FALL])
        for i in range(count)
    ]
    if not all([_is_sound(fall, len(names)) for fall in footfalls]):
        raise ValueError(codec.DAMAGED)
    ends = list(accumulate(counts))
    falls = [
        tuple(footfalls[last - fall_count : last])
        for last, fall_count in zip(ends, counts, strict=True)
    ]
    lean_states = [_state(*numbers[i : i + LEAN]) for i in range(end, len(numbers), LEAN)]
    return RecordedWalk(start, tuple(falls), tuple(lean_states)), list(names)


def _fall(ground: int, has_ground: int, *n: float) -> Footfall:
    position, normal, ahead = (n[2], n[3], n[4]), (n[5], n[6], n[7]), (n[8], n[9], n[10])
    return Footfall(
        n[0], n[1], position, normal, ahead, ground, n[11], bool(has_ground), n[12], n[13]
    )


def _is_sound(fall: Footfall, grounds: int) -> bool:
    """Return whether a footfall's times are in order, and its ground has a name."""
    waits = min(fall.late, fall.early) >= 0.0 and fall.late + fall.early < 1.0
    return waits and fall.lift <= fall.land and STILL <= fall.ground < grounds


def _state(*n: float) -> LeanState:
    return LeanState(Lean(*n[:5]), Lean(*n[5:]))
