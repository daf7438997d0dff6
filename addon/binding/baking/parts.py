"""Parts of a bake: ranges that were recorded by different processes, and joined to one.

A frame depends on nothing but itself, so that it does not matter who records it. What depends on
the frames before, as the sign of a quaternion, is settled when all frames are there.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..chain_plan import ProblemError
from .picking import Picked
from .recording import Take, Track

FORMAT = 1


class Part(NamedTuple):
    """A range as it was recorded somewhere.

    Attributes:
        name: Of the file it is in.
        digest: What tells the file apart that it was recorded from.
        picked: What was baked, as `Picked.described` has it.
        take: What was recorded.
    """

    name: str
    digest: str
    picked: list[object]
    take: Take


def digest_of(path: Path) -> str:
    """Return what tells the contents of a file from those of any other.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        found = sha256()
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def save(path: Path, digest: str, picks: Sequence[Picked], take: Take) -> None:
    """Write a range to a file.

    Raises:
        OSError: If it cannot be written.
    """
    about = {
        "format": FORMAT,
        "digest": digest,
        "picked": [picked.described() for picked in picks],
        "frames": take.frames,
        "times": take.times,
    }
    arrays: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    for i, track in enumerate(take.tracks):
        arrays[f"{i}/matrices"], arrays[f"{i}/worlds"] = track.matrices, track.worlds
        for j, numbers in enumerate(track.numbers):
            arrays[f"{i}/{j}"] = numbers
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def load(path: Path) -> Part:
    """Read a range from a file.

    Raises:
        ProblemError: If there is none in it.
    """
    try:
        with np.load(path) as arrays:
            about = json.loads(arrays["about"].tobytes())
            if about["format"] != FORMAT:
                raise ValueError
            tracks = [
                Track(
                    [arrays[f"{i}/{j}"] for j in range(len(picked[4]))],
                    arrays[f"{i}/matrices"],
                    arrays[f"{i}/worlds"],
                )
                for i, picked in enumerate(about["picked"])
            ]
            take = Take(about["frames"], about["times"], tracks)
            return Part(path.name, about["digest"], about["picked"], take)
    except OSError as error:
        raise ProblemError(f"“{path}” cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        raise ProblemError(f"“{path}” is no part of a bake, or of another version's") from None


def joined(parts: Sequence[Part], digest: str, picks: Sequence[Picked], frames: range) -> Take:
    """Return the whole of a range whose parts were recorded apart.

    Args:
        parts: The parts, in any order.
        digest: What tells the file apart that is baked.
        picks: What is baked of it.
        frames: The range.

    Raises:
        ProblemError: If they do not belong together, or are not the whole.
    """
    wanted = [picked.described() for picked in picks]
    for part in parts:
        if part.digest != digest:
            raise ProblemError(
                f"“{part.name}” was recorded from another file, or before it was saved again: "
                "record it anew"
            )
        if part.picked != wanted:
            raise ProblemError(
                f"“{part.name}” holds other constraints: choose the same ones for all parts"
            )
    _ask_for_all(parts, frames)
    takes = [part.take for part in sorted(parts, key=lambda part: part.take.frames[0])]
    tracks = [
        Track(
            [np.concatenate(numbers) for numbers in zip(*[t.numbers for t in own], strict=True)],
            np.concatenate([t.matrices for t in own]),
            np.concatenate([t.worlds for t in own]),
        )
        for own in zip(*[take.tracks for take in takes], strict=True)
    ]
    times = [time for take in takes for time in take.times]
    return Take(list(frames), times, tracks)


def _ask_for_all(parts: Iterable[Part], frames: range) -> None:
    """Ask that each frame of a range be in one part, and no other frame in any."""
    owner: dict[int, str] = {}
    for part in parts:
        for frame in part.take.frames:
            if frame in owner:
                raise ProblemError(
                    f"Frame {frame} is in “{owner[frame]}” and in “{part.name}”: leave one out"
                )
            owner[frame] = part.name
    missing = [frame for frame in frames if frame not in owner]
    if missing:
        raise ProblemError(
            f"{_ranges(missing)} in no part: record what is missing of {frames[0]} to {frames[-1]}"
        )
    beyond = sorted(owner.keys() - set(frames))
    if beyond:
        raise ProblemError(
            f"{_ranges(beyond)} beyond the range from {frames[0]} to {frames[-1]}: "
            "give the whole range"
        )


def _ranges(frames: list[int]) -> str:
    """Return which frames there are, as the start of a sentence up to its verb."""
    last = next((i for i in range(1, len(frames)) if frames[i] != frames[i - 1] + 1), len(frames))
    first = f"Frame {frames[0]}" if last == 1 else f"Frames {frames[0]} to {frames[last - 1]}"
    if last == len(frames):
        return f"{first} {'is' if last == 1 else 'are'}"
    return f"{first} and more are"
