"""Parts of a bake: frame ranges recorded by different processes, to be joined later.

Recorded frames are independent of each other. Values that depend on previous frames, such as the
sign of a quaternion, are determined after joining.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from fabrik_solver.motion import codec

from ...blender.errors import ProblemError
from ...blender.messages import Message, msg
from ...blender.rotation import channel_of
from .files import refuse_irregular
from .recording import ArmatureRecording, Recording
from .selecting import BakeSelection

FORM = codec.Form(b"FABP", 2, Struct("<32s32si"))
"""File format of a part. Its fields are the digests of the recorded file and of the selections, and
the first frame; the payload is a `row` per frame."""


class BakePart(NamedTuple):
    """A recorded frame range.

    Attributes:
        name: Name of its file.
        frames: The range.
        rows: A `row` for each frame.
    """

    name: str
    frames: range
    rows: Any


def digest_of(path: Path) -> bytes:
    """Return the SHA-256 digest of a file.

    Raises:
        OSError: If the file can't be read.
    """
    with path.open("rb") as file:
        return file_digest(file, "sha256").digest()


def row(selections: Sequence[BakeSelection]) -> np.dtype[Any]:
    """Return the data type of a frame: its time, and each armature's channels and matrices."""
    fields: list[Any] = [("time", "<f8")]
    for i, selection in enumerate(selections):
        for j, channel in enumerate(selection.channels):
            fields.append((f"{i}/{j}", "<f4", (len(channel.bones), channel_of(channel.mode)[1])))
        fields.append((f"{i}/matrices", "<f4", (len(selection.bones), 4, 4)))
        fields.append((f"{i}/worlds", "<f8", (4, 4)))
    return np.dtype(fields)


def save(
    path: Path, digest: bytes, selections: Sequence[BakeSelection], recording: Recording
) -> None:
    """Write a range to a file.

    Raises:
        OSError: If the file can't be written.
    """
    rows = np.empty(len(recording.frames), row(selections))
    rows["time"] = recording.times
    for i, recorded in enumerate(recording.armatures):
        rows[f"{i}/matrices"], rows[f"{i}/worlds"] = recorded.matrices, recorded.worlds
        for j, numbers in enumerate(recorded.numbers):
            rows[f"{i}/{j}"] = numbers
    fields = digest, _selection_digest(selections), recording.frames[0]
    # Compressing takes half as long as recording, and at most halves the size.
    path.write_bytes(FORM.sealed(rows.tobytes(), *fields, level=0))


def load(path: Path, digest: bytes, selections: Sequence[BakeSelection], frames: range) -> BakePart:
    """Read a range from a file.

    Args:
        path: The file.
        digest: Digest of the file to bake.
        selections: The selections to bake.
        frames: The whole range; it limits the size of a part.

    Raises:
        ProblemError: If the file is damaged, or belongs to another bake.
    """
    refuse_irregular(path, is_written=False)
    dtype = row(selections)
    size_limit = FORM.fields.size + len(frames) * dtype.itemsize
    try:
        with path.open("rb") as file:
            # Incompressible data becomes slightly longer.
            blob = file.read(size_limit + size_limit // 64 + 1024)
        stored_digest, selection, start, payload = FORM.opened(blob, size_limit)
        if stored_digest != digest:
            raise ProblemError(
                "“{path}” was recorded from another file, or before the file was saved "
                "again: bake this part again",
                path=path.name,
            )
        if selection != _selection_digest(selections):
            raise ProblemError(
                "“{path}” contains other constraints: choose the same constraints for all parts",
                path=path.name,
            )
        rows = np.frombuffer(payload, dtype)
        _check_rows(rows)
    except OSError as problem:
        raise ProblemError(
            "Can't read “{path}”: {strerror}", path=path, strerror=problem.strerror
        ) from None
    except ValueError:
        raise ProblemError(
            "“{path}” is damaged, or isn't a part of this bake: choose the same constraints and "
            "frames for all parts, or bake this part again",
            path=path,
        ) from None
    return BakePart(path.name, range(start, start + len(rows)), rows)


def _selection_digest(selections: Sequence[BakeSelection]) -> bytes:
    """Return a digest of the selected constraints, bones and channels."""
    return sha256(json.dumps([selection.described() for selection in selections]).encode()).digest()


def _check_rows(rows: Any) -> None:
    """Check that all numbers are finite, and that times ascend.

    Raises:
        ValueError: If a number isn't finite, or times don't ascend.
    """
    is_finite = all(np.isfinite(rows[name]).all() for name in rows.dtype.names)
    if not len(rows) or not is_finite or not (np.diff(rows["time"]) > 0.0).all():
        raise ValueError("numbers are not finite, or times not in order")


def joined(
    parts: Sequence[BakePart], selections: Sequence[BakeSelection], frames: range
) -> Recording:
    """Join the parts of a range to a recording.

    Args:
        parts: The parts, in any order.
        selections: The selections to bake.
        frames: The range.

    Raises:
        ProblemError: If frames are missing, duplicate or outside the range.
    """
    _check_complete(parts, frames)
    rows = np.concatenate([p.rows for p in sorted(parts, key=lambda part: part.frames[0])])
    armatures: list[ArmatureRecording] = []
    for i, selection in enumerate(selections):
        names = [*map(str, range(len(selection.channels))), "matrices", "worlds"]
        *numbers, matrices, worlds = [np.ascontiguousarray(rows[f"{i}/{name}"]) for name in names]
        armatures.append(ArmatureRecording(numbers, matrices, worlds))
    return Recording(list(frames), rows["time"].tolist(), armatures, is_foreign=True)


def _check_complete(parts: Iterable[BakePart], frames: range) -> None:
    """Check that the parts contain each frame of a range exactly once, and no other frames."""
    owner: dict[int, str] = {}
    for part in parts:
        for frame in part.frames:
            if frame in owner:
                raise ProblemError(
                    "Frame {frame} is in both “{owner}” and “{part}”: leave one of them out",
                    frame=frame,
                    owner=owner[frame],
                    part=part.name,
                )
            owner[frame] = part.name
    missing = [frame for frame in frames if frame not in owner]
    if missing:
        raise ProblemError(
            "Frames missing from the parts: {ranges}. Record all frames from {first} to {last}",
            ranges=_ranges(missing),
            first=frames[0],
            last=frames[-1],
        )
    beyond = sorted(owner.keys() - set(frames))
    if beyond:
        raise ProblemError(
            "Frames outside the range {first} to {last}: {ranges}. Specify the whole range",
            ranges=_ranges(beyond),
            first=frames[0],
            last=frames[-1],
        )


def _ranges(frames: list[int]) -> Message:
    """Return the first consecutive frames as text."""
    last = next((i for i in range(1, len(frames)) if frames[i] != frames[i - 1] + 1), len(frames))
    first, end = frames[0], frames[last - 1]
    text = msg("{first}–{end}", first=first, end=end) if last > 1 else msg("{first}", first=first)
    return text if last == len(frames) else msg("{ranges} and more", ranges=text)
