"""A walk as bytes, to be kept in the file."""

from collections.abc import Sequence
from struct import calcsize, error, iter_unpack, pack, unpack_from

from .footfall import Footfall
from .gait import Record
from .stance import Lean, Swaying

HEAD = "<5siiii"
FALL = "<14d2i"
SWAY = "<6d"
VERSION = b"walk2"


def packed(record: Record, names: Sequence[str]) -> bytes:
    """Return a walk as bytes.

    Args:
        record: The walk.
        names: The names of the grounds, by their numbers.
    """
    text = "\n".join(names).encode()
    counts = [len(falls) for falls in record.falls]
    parts = [
        pack(HEAD, VERSION, record.start, len(counts), len(record.sways), len(text)),
        pack(f"<{len(counts)}i", *counts),
        text,
    ]
    for falls in record.falls:
        parts += [
            pack(FALL, *f[:2], *f.place, *f.normal, *f.ahead, f.height, *f[8:], f.ground, f.is_held)
            for f in falls
        ]
    parts += [pack(SWAY, *sway.lean, *sway.speed) for sway in record.sways]
    return b"".join(parts)


def unpacked(blob: bytes) -> tuple[Record, list[str]]:
    """Return a walk from its bytes, and the names of the grounds.

    Raises:
        ValueError: If they are not those of a walk.
    """
    try:
        version, start, legs, frames, size = unpack_from(HEAD, blob)
        at = calcsize(HEAD)
        counts = unpack_from(f"<{legs}i", blob, at)
        at += calcsize(f"<{legs}i")
        text = blob[at : at + size].decode()
        at += size
        falls: list[tuple[Footfall, ...]] = []
        for count in counts:
            end = at + count * calcsize(FALL)
            falls.append(tuple([_fall(*row) for row in iter_unpack(FALL, blob[at:end])]))
            at = end
        sways = tuple([_sway(*row) for row in iter_unpack(SWAY, blob[at:])])
    except (error, UnicodeDecodeError):
        raise ValueError("the bytes are not those of a walk") from None
    if version != VERSION or len(sways) != frames or not all(falls) or not sways:
        raise ValueError("the bytes are not those of a walk")
    return Record(start, tuple(falls), sways), text.split("\n") if text else []


def _fall(*n: float) -> Footfall:
    place, normal, ahead = (n[2], n[3], n[4]), (n[5], n[6], n[7]), (n[8], n[9], n[10])
    ground, is_held = int(n[14]), bool(n[15])
    return Footfall(n[0], n[1], place, normal, ahead, ground, n[11], is_held, n[12], n[13])


def _sway(*n: float) -> Swaying:
    return Swaying(Lean(n[0], n[1], n[2]), Lean(n[3], n[4], n[5]))
