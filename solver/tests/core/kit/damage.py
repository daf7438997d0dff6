"""Bytes that are not as they were stored."""

from collections.abc import Callable

from hypothesis import strategies as st


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """A way to damage bytes: flip a bit, cut, lengthen, or overwrite the header."""
    kind = draw(st.sampled_from(["flip", "cut", "lengthen", "forge"]))
    place = draw(st.one_of(st.integers(0, 40), st.integers(0, 1 << 20)))
    bit = 1 << draw(st.integers(0, 7))
    more = draw(st.binary(min_size=1, max_size=24))

    def damage(whole: bytes) -> bytes:
        at = place % len(whole)
        if kind == "flip":
            return whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
        if kind == "cut":
            return whole[:at]
        return whole + more if kind == "lengthen" else more + whole[len(more) :]

    return damage
