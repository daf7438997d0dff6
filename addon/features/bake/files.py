"""Files that are named on the command line: regular ones, and written as a whole or not at all."""

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

LONGEST = 1022
"""The longest path in bytes that Blender does not cut short, with room for the @ that it appends
to the name of a file while it writes that."""

DRAFT = ".fabrik_bake-{:08x}{}"
"""The name of what is written next to a file, by a checksum of that file's name: short, so that
the longest names can be written, and the same for each run."""


def ask_for_regular(path: Path, doing: str) -> None:
    """Ask that a path name a regular file, or nothing: to open a pipe would be to wait for it.

    Args:
        path: The path; links are followed.
        doing: What is to be done with it, as in “write”.

    Raises:
        ProblemError: If it names anything else, or cannot be looked at.
    """
    problem = f"Cannot {doing} “{path}”"
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ProblemError(f"{problem}: {error.strerror}") from None
    if not S_ISREG(mode):
        raise ProblemError(
            f"{problem}: it is {'a folder' if S_ISDIR(mode) else 'not a regular file'}"
        )


def ask_for_short(path: Path) -> None:
    """Ask that Blender can open and save a path, which it would cut short without a word.

    Raises:
        ProblemError: If it is too long.
    """
    if len(os.fsencode(path.absolute())) > LONGEST:
        raise ProblemError(
            f"The path of “{path}” is too long for Blender: choose a folder with a shorter path"
        )


@contextmanager
def replaced(output: Path) -> Iterator[Path]:
    """Give a name to write to, which replaces a file when all went well and is gone otherwise.

    A link is followed, and its target replaced. What a run that was killed has left is cleared.

    Raises:
        ProblemError: If the file cannot be written, or another run is writing it.
    """
    ask_for_regular(output, "write")
    target = Path(os.path.realpath(output))
    name = crc32(os.fsencode(target.name))
    # Next to the target: to replace it from elsewhere would be to copy, and Blender writes down
    # where other files are as seen from the folder of the file.
    draft = target.with_name(DRAFT.format(name, ".blend"))
    ask_for_short(draft)
    try:
        # It is better to know before an hour of work.
        with _locked(target.with_name(DRAFT.format(name, ".lock")), output):
            _clear(draft)
            try:
                yield draft
                if draft.exists():
                    draft.replace(target)
            finally:
                _clear(draft)
    except OSError as error:
        raise ProblemError(f"Cannot write “{output}”: {error.strerror}") from None


def _clear(draft: Path) -> None:
    for name in (draft.name, f"{draft.name}@"):
        draft.with_name(name).unlink(missing_ok=True)


@contextmanager
def _locked(lock: Path, output: Path) -> Iterator[None]:
    """Keep other runs from an output; whatever ends a process ends its locks."""
    try:
        with lock.open("wb") as file:
            try:
                _lock(file)
            except (BlockingIOError, PermissionError):
                raise ProblemError(
                    f"“{output}” is being written by another process: wait until it has finished"
                ) from None
            try:
                yield
            finally:
                if sys.platform != "win32":  # Who waits with it open finds that it is gone.
                    lock.unlink(missing_ok=True)
    finally:
        if sys.platform == "win32":  # There no file can be removed that anybody has open.
            with suppress(OSError):
                lock.unlink()


def _lock(file: IO[bytes]) -> None:
    """Lock a file, if its file system has locks.

    Raises:
        BlockingIOError: If another process has it locked, or has removed it.
        PermissionError: The first of these, on Windows.
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
