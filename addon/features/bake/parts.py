"""Parts of a bake: ranges that were recorded by different processes, and joined to one.

A frame depends on nothing but itself, so that it does not matter who records it. What depends on
the frames before, as the sign of a quaternion, is settled when all frames are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from ...blender.errors import ProblemError
from ...blender.rotation import channel_of
from ...motion import codec
from .files import ask_for_regular
from .picking import Picked
from .recording import Take, Track

FORM = codec.Form(b"FABP", 2, Struct("<32s32si"))
"""Its fields are what tells the file apart that was recorded, what tells apart what is baked of it,
and the first frame; the payload is the frames, each as `row` has it."""


class Part(NamedTuple):
    """A range as it was recorded somewhere.

    Attributes:
        name: Of the file it is in.
        frames: The range.
        rows: What was recorded of each frame, as `row` has it.
    """

    name: str
    frames: range
    rows: Any


def digest_of(path: Path) -> bytes:
    """Return what tells the contents of a file from those of any other.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        return file_digest(file, "sha256").digest()


def row(picks: Sequence[Picked]) -> np.dtype[Any]:
    """Return how a frame is kept: its time, and what is recorded of each armature."""
    fields: list[Any] = [("time", "<f8")]
    for i, picked in enumerate(picks):
        for j, channel in enumerate(picked.channels):
            fields.append((f"{i}/{j}", "<f4", (len(channel.bones), channel_of(channel.mode)[1])))
        fields.append((f"{i}/matrices", "<f4", (len(picked.bones), 4, 4)))
        fields.append((f"{i}/worlds", "<f8", (4, 4)))
    return np.dtype(fields)


def save(path: Path, digest: bytes, picks: Sequence[Picked], take: Take) -> None:
    """Write a range to a file.

    Raises:
        OSError: If it cannot be written.
    """
    rows = np.empty(len(take.frames), row(picks))
    rows["time"] = take.times
    for i, track in enumerate(take.tracks):
        rows[f"{i}/matrices"], rows[f"{i}/worlds"] = track.matrices, track.worlds
        for j, numbers in enumerate(track.numbers):
            rows[f"{i}/{j}"] = numbers
    path.write_bytes(FORM.sealed(rows.tobytes(), digest, _described(picks), take.frames[0]))


def load(path: Path, digest: bytes, picks: Sequence[Picked], frames: range) -> Part:
    """Read a range from a file.

    Args:
        path: The file.
        digest: What tells the file apart that is baked.
        picks: What is baked of it.
        frames: The whole range; there may be no more frames in a part.

    Raises:
        ProblemError: If there is none in it, or it belongs to something else.
    """
    ask_for_regular(path, "read")
    kept = row(picks)
    most = FORM.fields.size + len(frames) * kept.itemsize
    try:
        with path.open("rb") as file:
            # What cannot be compressed becomes a little longer.
            blob = file.read(most + most // 64 + 1024)
        own, picked, start, payload = FORM.opened(blob, most)
        if own != digest:
            raise ProblemError(
                f"“{path.name}” was recorded from another file, or before the file was saved "
                "again: record it again"
            )
        if picked != _described(picks):
            raise ProblemError(
                f"“{path.name}” contains other constraints: choose the same constraints for "
                "all parts"
            )
        rows = np.frombuffer(payload, kept)
        _ask_for_sound(rows)
    except OSError as problem:
        raise ProblemError(f"Cannot read “{path}”: {problem.strerror}") from None
    except ValueError:
        raise ProblemError(
            f"“{path}” is damaged, or not a part of a bake of these constraints and frames: "
            "choose the same constraints for all parts, or record it again"
        ) from None
    return Part(path.name, range(start, start + len(rows)), rows)


def _described(picks: Sequence[Picked]) -> bytes:
    """Return what tells apart what is baked: constraints, bones and channels."""
    return sha256(json.dumps([picked.described() for picked in picks]).encode()).digest()


def _ask_for_sound(rows: Any) -> None:
    """Ask for numbers that are finite, and times in order.

    Raises:
        ValueError: If there are others.
    """
    is_finite = all(np.isfinite(rows[name]).all() for name in rows.dtype.names)
    if not len(rows) or not is_finite or not (np.diff(rows["time"]) > 0.0).all():
        raise ValueError("numbers are not finite, or times not in order")


def joined(parts: Sequence[Part], picks: Sequence[Picked], frames: range) -> Take:
    """Return the whole of a range whose parts were recorded apart.

    Args:
        parts: The parts, in any order.
        picks: What is baked.
        frames: The range.

    Raises:
        ProblemError: If they are not the whole.
    """
    _ask_for_all(parts, frames)
    rows = np.concatenate([p.rows for p in sorted(parts, key=lambda part: part.frames[0])])
    tracks: list[Track] = []
    for i, picked in enumerate(picks):
        names = [*map(str, range(len(picked.channels))), "matrices", "worlds"]
        *numbers, matrices, worlds = [np.ascontiguousarray(rows[f"{i}/{name}"]) for name in names]
        tracks.append(Track(numbers, matrices, worlds))
    return Take(list(frames), rows["time"].tolist(), tracks)


def _ask_for_all(parts: Iterable[Part], frames: range) -> None:
    """Ask that each frame of a range be in one part, and no other frame in any."""
    owner: dict[int, str] = {}
    for part in parts:
        for frame in part.frames:
            if frame in owner:
                raise ProblemError(
                    f"Frame {frame} is in both “{owner[frame]}” and “{part.name}”: leave out "
                    "one of them"
                )
            owner[frame] = part.name
    missing = [frame for frame in frames if frame not in owner]
    if missing:
        raise ProblemError(
            f"{_ranges(missing)} missing from the parts: record the missing frames of "
            f"{frames[0]} to {frames[-1]}"
        )
    beyond = sorted(owner.keys() - set(frames))
    if beyond:
        raise ProblemError(
            f"{_ranges(beyond)} outside the range {frames[0]} to {frames[-1]}: specify the whole "
            "range"
        )


def _ranges(frames: list[int]) -> str:
    """Return which frames there are, as the start of a sentence up to its verb."""
    last = next((i for i in range(1, len(frames)) if frames[i] != frames[i - 1] + 1), len(frames))
    first = f"Frame {frames[0]}" if last == 1 else f"Frames {frames[0]} to {frames[last - 1]}"
    if last == len(frames):
        return f"{first} {'is' if last == 1 else 'are'}"
    return f"{first} and more are"
