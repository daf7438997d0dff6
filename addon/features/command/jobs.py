"""Splitting the work of a command between several Blender processes on this computer.

Each process opens the same file, and writes its results to a file of its own. Frames are
independent. So are simulations of armatures: a process also simulates what its armatures depend on.
The results therefore equal those of a single process bit for bit.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ...blender.errors import ProblemError
from ...plan import planner
from ..simulation import history, simulate
from ..simulation.settings import simulation_of

if TYPE_CHECKING:
    from ..bake.recording import Recording
    from ..bake.selecting import BakeSelection

NAME = "fabrik_bake"
"""The name of the command."""


def count_of(jobs: int) -> int:
    """Return the number of processes that ``--jobs`` requests; 0 means one per processor.

    Raises:
        ProblemError: If the number is negative, or Blender can't be started.
    """
    if jobs < 0:
        raise ProblemError("--jobs can't be negative: use 0 for one job per processor")
    count = jobs or os.cpu_count() or 1
    if count > 1 and not blender():
        raise ProblemError(
            "--jobs needs Blender itself, but this is Blender as a Python module: leave --jobs out"
        )
    return count


def blender() -> list[str]:
    """Return the command that starts another Blender; empty if this is Blender's Python module."""
    return [bpy.app.binary_path] if bpy.app.binary_path else []


def record(
    file: Path,
    folder: Path,
    count: int,
    selections: Sequence[BakeSelection],
    frames: range,
    names: Sequence[str],
) -> Recording:
    """Record a range in several processes.

    Args:
        file: The file to open.
        folder: An empty folder for the parts.
        count: Maximum number of processes.
        selections: The selections to record.
        frames: The range.
        names: The constraints, as on the command line; empty for all.

    Raises:
        ProblemError: If a process fails.
    """
    from ..bake import parts

    count = min(count, len(frames))
    edges = [frames.start + len(frames) * i // count for i in range(count + 1)]
    paths = [folder / f"{i}.part" for i in range(count)]
    chosen = ["--constraint", *names] if names else []
    _run_all(
        [
            [str(file), "--start", str(start), "--end", str(end - 1), "--part", str(path), *chosen]
            for path, start, end in zip(paths, edges, edges[1:], strict=False)
        ]
    )
    digest = parts.digest_of(file)
    recordings = [parts.load(path, digest, selections, frames) for path in paths]
    recording = parts.joined(recordings, selections, frames)
    recording.is_foreign = False
    return recording


def simulate_outdated(
    file: Path, folder: Path, count: int, outdated: Sequence[bpy.types.Object]
) -> None:
    """Simulate armatures of the open file in several processes, and store the results.

    Armatures that a process can't simulate stay outdated.

    Raises:
        ProblemError: If a process fails.
    """
    groups = [outdated[i::count] for i in range(min(count, len(outdated)))]
    paths = [folder / f"{i}.json" for i in range(len(groups))]
    _run_all(
        [
            [str(file), "--histories", str(path), *(armature.name for armature in group)]
            for path, group in zip(paths, groups, strict=True)
        ]
    )
    for path in paths:
        for name, (start, end, simulations) in json.loads(path.read_text(encoding="utf-8")).items():
            armature = bpy.data.objects[name]
            for owner, result in simulations.items():
                history.store(armature, owner, result.encode())
            simulate.set_range(armature, start, end)
    planner.discard()


def save_histories(path: Path, armatures: Iterable[bpy.types.Object]) -> None:
    """Write the simulations of armatures to a file that `simulate_outdated` reads."""
    simulations = {}
    for armature in armatures:
        owners = [simulated.owner for simulated in history.owners(armature)]
        results = {owner: history.stored(armature, owner).decode() for owner in owners}
        group = simulation_of(armature)
        simulations[armature.name] = (group.frame_start, group.frame_end, results)
    path.write_text(json.dumps(simulations), encoding="utf-8")


def _run_all(commands: Sequence[Sequence[str]]) -> None:
    """Run commands in parallel, each in a separate Blender, and wait for all of them.

    Raises:
        ProblemError: If any fails, with its last message; the others are killed.
    """
    started: list[subprocess.Popen[str]] = []
    # They share the processors; more threads would only wait for each other.
    threads = max(1, (os.cpu_count() or 1) // len(commands))
    try:
        for arguments in commands:
            started.append(_start(arguments, threads))
        for process in started:
            _, stderr = process.communicate()
            if process.returncode:
                lines = [line for line in stderr.splitlines() if line.startswith(f"{NAME}: ")]
                last_message = lines[-1] if lines else f"exit code {process.returncode}"
                raise ProblemError(last_message.removeprefix(f"{NAME}: ").removesuffix("."))
    finally:
        for process in started:
            process.kill()


def _start(arguments: Sequence[str], threads: int) -> subprocess.Popen[str]:
    command = [*blender(), "--threads", f"{threads}", "--command", NAME, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    )
