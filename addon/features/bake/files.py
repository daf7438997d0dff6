"""Checking and atomically replacing files named on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO
from zlib import crc32

from ...blender.errors import ProblemError
from ...blender.messages import msg

LONGEST = 1022
"""Longest path in bytes that Blender does not truncate, including the @ it appends while saving."""

DRAFT = ".fabrik_bake-{:08x}{}"
"""Name of the temporary file next to the output, from a checksum of its name: short, and the same
in each run."""


def refuse_irregular(path: Path, is_written: bool) -> None:
    """Refuse an existing path that isn't a regular file, because opening a pipe would block.

    Args:
        path: The path; links are followed.
        is_written: Whether it will be written, not read.

    Raises:
        ProblemError: If the path isn't a regular file, or is inaccessible.
    """
    problem = (
        msg("Can't write “{path}”", path=path)
        if is_written
        else msg("Can't read “{path}”", path=path)
    )
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ProblemError("{problem}: {reason}", problem=problem, reason=error.strerror) from None
    if not S_ISREG(mode):
        raise ProblemError(
            "{problem}: {reason}",
            problem=problem,
            reason=msg("it's a folder") if S_ISDIR(mode) else msg("it isn't a regular file"),
        )


def refuse_long_path(path: Path) -> None:
    """Refuse paths that Blender would silently truncate.

    Raises:
        ProblemError: If the path is too long.
    """
    if len(os.fsencode(path.absolute())) > LONGEST:
        raise ProblemError(
            "The path of “{path}” is too long for Blender: choose a folder with a shorter path",
            path=path,
        )


@contextmanager
def replaced(output: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces the output on success, and is removed otherwise.

    Links are followed, so the file they point to is replaced. Leftovers of killed runs are removed.

    Raises:
        ProblemError: If the file can't be written, or another process is writing it.
    """
    refuse_irregular(output, is_written=True)
    target = Path(os.path.realpath(output))
    checksum = crc32(os.fsencode(target.name))
    # In the same folder: replacing across file systems would copy, and Blender stores paths
    # relative to the file's folder.
    draft = target.with_name(DRAFT.format(checksum, ".blend"))
    refuse_long_path(draft)
    try:
        # Fail before the work, not afterward.
        with _locked(target.with_name(DRAFT.format(checksum, ".lock")), output):
            _clear(draft)
            try:
                yield draft
                if draft.exists():
                    draft.replace(target)
            finally:
                _clear(draft)
    except OSError as error:
        raise ProblemError(
            "Can't write “{output}”: {strerror}", output=output, strerror=error.strerror
        ) from None


def _clear(draft: Path) -> None:
    for name in (draft.name, f"{draft.name}@"):
        draft.with_name(name).unlink(missing_ok=True)


@contextmanager
def _locked(lock: Path, output: Path) -> Iterator[None]:
    """Lock an output against other processes; the lock ends with the process."""
    try:
        with lock.open("wb") as file:
            try:
                _lock(file)
            except (BlockingIOError, PermissionError):
                raise ProblemError(
                    "Another process is writing “{output}”: wait until it has finished",
                    output=output,
                ) from None
            try:
                yield
            finally:
                if sys.platform != "win32":  # Waiting processes notice.
                    lock.unlink(missing_ok=True)
    finally:
        if sys.platform == "win32":  # Windows can't remove open files.
            with suppress(OSError):
                lock.unlink()


def _lock(file: IO[bytes]) -> None:
    """Lock a file, if its file system supports locks.

    Raises:
        BlockingIOError: If another process has locked or removed it.
        PermissionError: If another process has locked it, on Windows.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return
    if os.fstat(file.fileno()).st_nlink == 0:
        raise BlockingIOError
