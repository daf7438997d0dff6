"""The bones of a chain by name, for Blender's constraints and ours."""

from __future__ import annotations

from typing import Any, NamedTuple


class NamedChain(NamedTuple):
    """A chain of bones by their names.

    Attributes:
        bones: Root first.
        tip: The bone whose head is the tip; empty if the last bone's tail is.
    """

    bones: list[str]
    tip: str


def named_chain(holder: Any, bone: Any) -> NamedChain:
    """Return the chain of a constraint, Blender's or ours, with a tip bone; cut at its root."""
    tip = "" if holder.use_tail else bone.name
    last = bone if holder.use_tail else bone.parent
    names: list[str] = []
    while last is not None and (holder.chain_count == 0 or len(names) < holder.chain_count):
        names.insert(0, last.name)
        last = last.parent
    return NamedChain(names, tip)
