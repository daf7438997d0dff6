"""The one form of bytes that are kept in a file: what is damaged is told from what was written.

    offset  bytes
    0       4      magic: what it is
    4       1      version of that
    5       8      length of what is compressed
    13      n      its fields and the payload, compressed (RFC 1950)
    13 + n  4      CRC-32 of all before it

As in PNG and XZ the checksum comes before anything else is believed, and the length before anything
is unpacked. All numbers are little-endian, on any machine.
"""

from collections.abc import Iterable, Sequence
from struct import Struct, error, pack, unpack
from typing import Any, NamedTuple
from zlib import compress, crc32, decompressobj
from zlib import error as zlib_error

HEAD = Struct("<4sBQ")
CHECK = Struct("<I")
COUNTS = Struct("<3I")
CONTENT = "<{}q{}s{}d"

MOST = 1 << 26
"""The longest payload in bytes, if its owner sets no other bound: hours of any motion."""

LARGEST = 3.5e38
"""The largest number of a `Content`: that of single precision. Products of a few stay finite."""

UNIT = 1e-3
"""How much the square of the length of a unit vector or quaternion may differ from 1."""

DAMAGED = "the bytes are damaged, or of another kind"


class Content(NamedTuple):
    """What most payloads are made of.

    Attributes:
        integers: Counts, frames and the like.
        names: Any text without zeros.
        numbers: None beyond `LARGEST`.
    """

    integers: Sequence[int]
    names: Sequence[str]
    numbers: Sequence[float]


def are_units(vectors: Iterable[Sequence[float]]) -> bool:
    """Return whether vectors or quaternions that were stored with length 1 have it."""
    return all([abs(sum([x * x for x in vector]) - 1.0) < UNIT for vector in vectors])


class Form(NamedTuple):
    """What tells one kind of what is kept from all others.

    Attributes:
        magic: Four bytes that say what it is.
        version: Of its form, up to 255.
        fields: What stands before the payload, little-endian.
    """

    magic: bytes
    version: int
    fields: Struct = Struct("<")

    def sealed(self, payload: bytes, *fields: object, level: int = 1) -> bytes:
        """Return a payload as it is stored.

        Args:
            payload: Any bytes.
            fields: What stands before it.
            level: Of compression; 0 for what is compressed as a part of something else.
        """
        whole = self.fields.pack(*fields) + payload
        head = HEAD.pack(self.magic, self.version, len(whole))
        whole = head + compress(whole, level)
        return whole + CHECK.pack(crc32(whole))

    def opened(self, blob: bytes, most: int = MOST) -> tuple[Any, ...]:
        """Return the fields and the payload of what was sealed.

        Args:
            blob: What is stored.
            most: The length in bytes up to which it is unpacked.

        Raises:
            ValueError: If it is anything else, damaged, or longer.
        """
        end = len(blob) - CHECK.size
        view = memoryview(blob)
        if end < HEAD.size or CHECK.unpack_from(blob, end)[0] != crc32(view[:end]):
            raise ValueError(DAMAGED)
        magic, version, size = HEAD.unpack_from(blob)
        if (magic, version) != (self.magic, self.version) or size > most:
            raise ValueError(DAMAGED)
        work = decompressobj()
        try:
            whole = work.decompress(view[HEAD.size : end], size + 1)
        except zlib_error:
            raise ValueError(DAMAGED) from None
        at = self.fields.size
        if len(whole) != size or size < at or not work.eof or work.unused_data:
            raise ValueError(DAMAGED)
        return *self.fields.unpack_from(whole), whole[at:]

    def packed(
        self, integers: Sequence[int], names: Sequence[str], numbers: Sequence[float]
    ) -> bytes:
        """Return what a `Content` is made of sealed, but not compressed: the history does that."""
        text = "".join([f"{name}\0" for name in names]).encode()
        counts = len(integers), len(text), len(numbers)
        body = pack(CONTENT.format(*counts), *integers, text, *numbers)
        return self.sealed(COUNTS.pack(*counts) + body, level=0)

    def unpacked(self, blob: bytes) -> Content:
        """Return what was packed; its owner checks that there is as much as it needs.

        Raises:
            ValueError: If it is anything else, damaged, or a number is beyond `LARGEST`.
        """
        (payload,) = self.opened(blob)
        try:
            counts = COUNTS.unpack_from(payload)
            values = unpack(CONTENT.format(*counts), payload[COUNTS.size :])
        except error:
            raise ValueError(DAMAGED) from None
        at: int = counts[0]
        *names, rest = values[at].decode().split("\0")
        numbers = values[at + 1 :]
        if rest or not all([-LARGEST < number < LARGEST for number in numbers]):
            raise ValueError(DAMAGED)
        return Content(values[:at], names, numbers)
