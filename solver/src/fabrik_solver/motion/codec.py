"""The binary format of all data stored in files, with a checksum that detects damage.

    offset  bytes
    0       4      magic number of the kind of data
    4       1      version of its format
    5       8      length of fields and payload, uncompressed
    13      n      fields and payload, compressed (RFC 1950)
    13 + n  4      CRC-32 of all preceding bytes

As in PNG and XZ, readers check the checksum before they use anything else, and the length before
they decompress. All numbers are little-endian on any machine.
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
"""The default maximum length of fields and payload, in bytes: hours of any motion."""

LARGEST = 3.5e38
"""The largest number of a `Content`, as in single precision. Products of a few stay finite."""

UNIT = 1e-3
"""Maximum deviation from 1 of the squared length of a unit vector or quaternion."""

DAMAGED = "the bytes are damaged, or of another kind"


class Content(NamedTuple):
    """The content of most payloads.

    Attributes:
        integers: Counts, frames and other integers.
        names: Texts without null characters.
        numbers: Numbers of magnitude below `LARGEST`.
    """

    integers: Sequence[int]
    names: Sequence[str]
    numbers: Sequence[float]


def are_units(vectors: Iterable[Sequence[float]]) -> bool:
    """Return whether all vectors or quaternions have length 1, within `UNIT`."""
    return all([abs(sum([x * x for x in vector]) - 1.0) < UNIT for vector in vectors])


class Form(NamedTuple):
    """The file format of a kind of data.

    Attributes:
        magic: The magic number, four bytes that identify the kind.
        version: The version of the format, up to 255.
        fields: The layout of the fields before the payload, little-endian.
    """

    magic: bytes
    version: int
    fields: Struct = Struct("<")

    def sealed(self, payload: bytes, *fields: object, level: int = 1) -> bytes:
        """Return the stored form of a payload.

        Args:
            payload: Any bytes.
            fields: The values of the fields before it.
            level: The compression level; 0 for data that is compressed as part of other data.
        """
        whole = self.fields.pack(*fields) + payload
        head = HEAD.pack(self.magic, self.version, len(whole))
        whole = head + compress(whole, level)
        return whole + CHECK.pack(crc32(whole))

    def opened(self, blob: bytes, most: int = MOST) -> tuple[Any, ...]:
        """Return the fields and the payload from their stored form.

        Args:
            blob: The stored bytes.
            most: The maximum length of fields and payload, in bytes.

        Raises:
            ValueError: If the bytes are of another kind, damaged, or too long.
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
        """Return a content in stored form, uncompressed because the history compresses it.

        Args:
            integers: Its integers.
            names: Its names, without null characters.
            numbers: Its other numbers.
        """
        text = "".join([f"{name}\0" for name in names]).encode()
        counts = len(integers), len(text), len(numbers)
        body = pack(CONTENT.format(*counts), *integers, text, *numbers)
        return self.sealed(COUNTS.pack(*counts) + body, level=0)

    def unpacked(self, blob: bytes) -> Content:
        """Return the packed content. Callers check that it has as many values as they need.

        Raises:
            ValueError: If the bytes are of another kind or damaged, or a number exceeds `LARGEST`.
        """
        (payload,) = self.opened(blob)
        try:
            counts = COUNTS.unpack_from(payload)
            values = unpack(CONTENT.format(*counts), payload[COUNTS.size :])
        except error:
            raise ValueError(DAMAGED) from None
        at: int = counts[0]
        *names, remainder = values[at].decode().split("\0")
        numbers = values[at + 1 :]
        if remainder or not all([-LARGEST < number < LARGEST for number in numbers]):
            raise ValueError(DAMAGED)
        return Content(values[:at], names, numbers)
