"""What is stored comes back to the last bit, and what is damaged or forged is refused."""

import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from math import inf, nan
from struct import Struct

import pytest
from damage import damages
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver.motion import codec, packing
from fabrik_solver.motion.codec import CHECK, HEAD, Content, Form
from fabrik_solver.motion.footfall import STILL, Footfall
from fabrik_solver.motion.gait import RecordedWalk
from fabrik_solver.motion.stance import Lean, LeanState

FORM = Form(b"TEST", 7)

FALL = Footfall(1.0, 3.0, (1.0, 2.0, 3.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), 1, 0.2, True, 0.1, 0.1)
SWAY = LeanState(Lean(0.1, 0.2, 0.3), Lean(0.0, 0.0, 0.0))
WALK = RecordedWalk(1, ((FALL, FALL), (FALL._replace(ground=STILL),)), (SWAY, SWAY, SWAY))


def checked(whole: bytes) -> bytes:
    """Return forged bytes with a checksum that is right."""
    return whole + CHECK.pack(zlib.crc32(whole))


@given(st.binary(max_size=500), st.integers(0, 9))
def test_a_payload_comes_back(payload: bytes, level: int) -> None:
    assert FORM.opened(FORM.sealed(payload, level=level)) == (payload,)


@given(st.binary(max_size=500), damages())
def test_any_damage_is_refused(payload: bytes, damage: Callable[[bytes], bytes]) -> None:
    whole = FORM.sealed(payload)
    damaged = damage(whole)
    if damaged != whole:
        with pytest.raises(ValueError, match="damaged"):
            FORM.opened(damaged)


def test_each_single_bit_counts() -> None:
    whole = FORM.sealed(bytes(range(64)))
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="damaged"):
            FORM.opened(bytes(damaged))


def test_other_kinds_and_versions_are_refused() -> None:
    whole = FORM.sealed(b"x")
    for other in (FORM._replace(magic=b"REST"), FORM._replace(version=FORM.version + 1)):
        with pytest.raises(ValueError, match="damaged"):
            other.opened(whole)


def test_the_bytes_are_the_same_on_any_machine() -> None:
    head = b"TEST\x07\x03" + bytes(7)
    whole = FORM.sealed(b"abc", level=0)
    assert whole == checked(head + zlib.compress(b"abc", 0))
    assert FORM.packed((1, -2), ("é",), (0.5,)) == FORM.sealed(
        bytes.fromhex("02000000 03000000 01000000 0100000000000000 feffffffffffffff")
        + b"\xc3\xa9\0"
        + bytes.fromhex("000000000000e03f"),
        level=0,
    )


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """A megabyte that unpacks to a gigabyte."""
    work, zeros = zlib.compressobj(1), bytes(1 << 20)
    return b"".join([*(work.compress(zeros) for _ in range(1 << 10)), work.flush()])


@pytest.mark.parametrize("size", [1000, 1 << 30, 1 << 62, (1 << 64) - 1, 0])
def test_what_unpacks_to_more_than_it_says_or_is_expected_is_not_unpacked(
    bomb: bytes, size: int
) -> None:
    whole = checked(HEAD.pack(*FORM[:2], size) + bomb)
    tracemalloc.start()
    with pytest.raises(ValueError, match="damaged"):
        FORM.opened(whole)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


def test_fields_stand_before_the_payload() -> None:
    """Files hold histories and parts in this form."""
    form = FORM._replace(fields=Struct("<ii2s"))
    whole = form.sealed(b"abc", -1, 2, b"xy")
    assert whole == FORM.sealed(bytes.fromhex("ffffffff 02000000") + b"xyabc")
    assert form.opened(whole) == (-1, 2, b"xy", b"abc")
    with pytest.raises(ValueError, match="damaged"):
        form.opened(FORM.sealed(bytes(9)))


def test_what_files_hold_is_read() -> None:
    """As a history was written before fields were a part of the form."""
    whole = bytes.fromhex(
        "464142480224000000000000007801fbfbffffff5f0c40c0c8c4ccc2cac6cec1c9c5cd"
        "c3cbc75f9e9158a29059ac909d5a500200ce2409f16bc470d0"
    )
    form = Form(b"FABH", 2, Struct("<ii16s"))
    assert form.opened(whole) == (-3, 250, bytes(range(16)), b"what is kept")


def test_an_owner_bounds_what_is_unpacked() -> None:
    whole = FORM.sealed(bytes(100))
    assert FORM.opened(whole, 100) == (bytes(100),)
    with pytest.raises(ValueError, match="damaged"):
        FORM.opened(whole, 99)


def test_forged_bytes_with_a_right_checksum_are_refused() -> None:
    payload = zlib.compress(b"abc")
    for size, body in (
        (2, payload),
        (4, payload),
        (3, payload[:-1]),
        (3, payload + b"x"),
        (3, b""),
    ):
        with pytest.raises(ValueError, match="damaged"):
            FORM.opened(checked(HEAD.pack(*FORM[:2], size) + body))


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
SINGLE = st.floats(-3.4e38, 3.4e38)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(TEXT), st.lists(SINGLE))
def test_content_comes_back(integers: list[int], names: list[str], numbers: list[float]) -> None:
    found = FORM.unpacked(FORM.packed(integers, names, numbers))
    assert [*map(list, found)] == [integers, names, numbers]


@pytest.mark.parametrize("number", [nan, inf, -inf, 1e39, -1e300])
def test_numbers_that_no_file_holds_are_damage(number: float) -> None:
    with pytest.raises(ValueError, match="damaged"):
        FORM.unpacked(FORM.packed((), (), (1.0, number)))


@pytest.mark.parametrize(
    ("vector", "is_unit"),
    [
        ((0.6, -0.8, 0.0), True),
        ((0.5, 0.5, -0.5, 0.5000001), True),
        ((0.0, 0.0, 0.0), False),
        ((0.6, 0.81, 0.0), False),
        ((1e38, 0.0, 0.0), False),
    ],
)
def test_directions_and_rotations_have_length_1(vector: Sequence[float], is_unit: bool) -> None:
    assert codec.are_units([(1.0, 0.0, 0.0), vector]) == is_unit


PAYLOADS = {
    "no counts": b"",
    "counts of more": codec.COUNTS.pack(2**32 - 1, 2**32 - 1, 2**32 - 1),
    "more than counted": codec.COUNTS.pack(0, 0, 0) + bytes(8),
    "no UTF-8": codec.COUNTS.pack(0, 2, 0) + b"\xff\0",
    "half a surrogate": codec.COUNTS.pack(0, 4, 0) + b"\xed\xa0\x80\0",
    "a name without end": codec.COUNTS.pack(0, 1, 0) + b"a",
}


@pytest.mark.parametrize("case", PAYLOADS)
def test_forged_content_is_refused(case: str) -> None:
    with pytest.raises(ValueError):
        FORM.unpacked(FORM.sealed(PAYLOADS[case]))


def content_of_walk() -> Content:
    return packing.FORM.unpacked(packing.packed(WALK, ["Rock", "A\nB"]))


def test_a_walk_comes_back_with_all_names() -> None:
    blob = packing.packed(WALK, ["Rock", "A\nB"])
    assert packing.unpacked(blob) == (WALK, ["Rock", "A\nB"])


@given(damages())
def test_damage_to_a_walk_is_refused(damage: Callable[[bytes], bytes]) -> None:
    blob = packing.packed(WALK, ["Rock", "A\nB"])
    damaged = damage(blob)
    if damaged != blob:
        with pytest.raises(ValueError):
            packing.unpacked(damaged)


def changed(place: int, value: float) -> Callable[[Content], Content]:
    def change(content: Content) -> Content:
        numbers = list(content.numbers)
        numbers[place] = value
        return content._replace(numbers=numbers)

    return change


def counted(place: int, value: int) -> Callable[[Content], Content]:
    def change(content: Content) -> Content:
        integers = list(content.integers)
        integers[place] = value
        return content._replace(integers=integers)

    return change


FORGED = {
    "fewer legs": counted(1, 1),
    "more legs": counted(1, 3),
    "no legs": counted(1, 0),
    "fewer legs than none": counted(1, -1),
    "many legs": counted(1, 2**62),
    "more footfalls": counted(2, 3),
    "many footfalls": counted(2, 2**62),
    "fewer footfalls than none": counted(2, -1),
    "ground that is not named": counted(4, 2),
    "ground below all": counted(4, -2),
    "a landing before the lift": changed(1, 0.0),
    "no time to go ahead": changed(12, 0.95),
    "an endless wait": changed(12, -1.0),
    "a number less": lambda content: content._replace(numbers=content.numbers[:-1]),
    "no lean_states": lambda content: content._replace(numbers=content.numbers[: 3 * packing.FALL]),
    "no names": lambda content: content._replace(names=()),
    "no integers": lambda content: content._replace(integers=()),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_walk_is_refused(case: str) -> None:
    forged = FORGED[case](content_of_walk())
    with pytest.raises(ValueError):
        packing.unpacked(packing.FORM.packed(*forged))
