"""Baking from the command line: `blender --command fabrik_bake FILE.blend`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from math import radians
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn, cast

import bpy

from ...blender.errors import ProblemError, listed
from ...editing.playing import finish, staged
from ...settings.properties import settings
from ..bake.files import refuse_irregular, refuse_long_path, replaced
from ..bake.operators import armatures_of, summary
from . import jobs, saving
from .jobs import NAME

if TYPE_CHECKING:
    from ..bake.options import BakeOptions
    from ..bake.recording import Recording
    from ..bake.selecting import BakeSelection, ConstraintRef

INVALID, MISMATCH = 2, 1
"""Exit codes: invalid arguments or file, and a bake that differs from the live result."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise the message as a problem, so that it is printed like all others."""
        raise ProblemError(f"{message}; use --help for a list of options")


def _path(text: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("specify a file name")
    return Path(text)


def _parser() -> _Parser:
    parser = _Parser(
        prog=f"blender --command {NAME}",
        description=(
            "Bake the FABRIK IK constraints of a file to keys, and verify the result by playing "
            "the range back. The exit code is 0 if the result matches, 1 if it does not, and 2 "
            "if the arguments or the file are invalid. The new file is kept only if the exit code "
            "is 0."
        ),
    )
    add = parser.add_argument
    add("file", type=_path, metavar="FILE.blend", help="input file, which is not changed")
    add("--output", type=_path, help="output file (FILE_baked.blend)")
    add("--start", type=int, help="first frame (from the scene)")
    add("--end", type=int, help="last frame (from the scene)")
    add("--step", type=int, default=1, help="frames between keys (1)")
    add(
        "--error",
        type=float,
        default=0.0,
        help="simplify to this angle in degrees (0: keep all keys)",
    )
    add("--into", choices=("new", "current"), default="new", help="action to write to (new)")
    add(
        "--afterwards",
        choices=("leave", "disable", "remove"),
        default="disable",
        help="what to do with the constraints (disable)",
    )
    add(
        "--constraint",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="only bake these constraints, as NAME or ARMATURE/NAME (all)",
    )
    add(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="number of Blender processes that share the work; 0 starts one per processor (1)",
    )
    # For the processes of --jobs: simulate these armatures, and write the results.
    add("--histories", nargs="+", metavar=("PATH", "ARMATURE"), help=argparse.SUPPRESS)
    whole = parser.add_mutually_exclusive_group()
    whole.add_argument(
        "--part",
        type=_path,
        metavar="PART",
        help="only record the frames to a part file; options for keys are given when merging",
    )
    whole.add_argument("--merge", type=_path, nargs="+", metavar="PART", help="bake recorded parts")
    return parser


def run(command_line: Sequence[str]) -> int:
    """Run the command with its arguments, and return the exit code."""
    try:
        args = _parser().parse_args(command_line)
        if args.part is not None and args.output is not None:
            raise ProblemError("--part and --output can't be combined: leave one out")
        return _run(args)
    except ProblemError as problem:
        _print(f"{problem}.")
    except MemoryError:
        _print("Not enough memory for all frames: choose fewer with --start and --end.")
    return INVALID


def _print(text: str) -> None:
    print(f"{NAME}: {text}", file=sys.stderr, flush=True)


def _run(args: Any) -> int:
    from ..bake import bake as baking
    from ..bake import parts, selecting

    processes = jobs.count_of(args.jobs)
    digest = _open(args.file)
    if args.histories:
        return _simulate_some(*args.histories)
    output = args.part or args.output
    if args.part and os.path.exists(args.part) and args.part.samefile(args.file):
        raise ProblemError("--part is the file to bake: choose another name")
    if output is None:
        output = args.file.with_name(f"{args.file.stem}_baked.blend")
    scene, layer = bpy.context.scene, cast(bpy.types.ViewLayer, bpy.context.view_layer)
    options = _bake_options(args, scene)
    is_as_saved = not _simulate_outdated(args.file, processes)
    picks, left_out = selecting.select(_constraints(layer, args.constraint))
    baking.check(picks, options)
    if left_out:
        _print(f"Skipped {listed(left_out)}: linked, disabled, or unsolvable")
    with replaced(output) as draft:
        if processes > 1 and not args.merge:
            recorded = _recorded_elsewhere(args, processes, picks, options.frames, is_as_saved)
        else:
            recorded = _recorded(args, digest, picks, options.frames)
        if recorded is not None and args.part is not None:
            parts.save(draft, digest, picks, recorded)
            _print(f"Recorded frames {options.start} to {options.end} to “{output}”")
            return 0
        result = _with_progress(baking.bake(scene, layer, picks, options, recorded))
        text = summary(result, options, [])
        if not result.verification.holds:
            draft.unlink(missing_ok=True)
            _print(f"{text}. No file was written.")
            return MISMATCH
        armatures = [picked.armature for picked in picks]
        saving.save_proven(draft, _is_compressed(args.file), armatures)
    _print(f"{text}. Saved as “{output}”.")
    return 0


def _simulate_some(path: str, *names: str) -> int:
    """Simulate armatures for `jobs.simulate_outdated`; return the exit code.

    The caller reports failures.

    Args:
        path: The file to write the simulations to.
        names: The names of the armatures.
    """
    from ..simulation import simulate

    scene, layer = bpy.context.scene, cast(bpy.types.ViewLayer, bpy.context.view_layer)
    armatures = [bpy.data.objects[name] for name in names]
    with suppress(ProblemError):
        _with_progress(simulate.simulate(scene, layer, armatures))
    jobs.save_histories(Path(path), armatures)
    return 0


def _simulate_outdated(file: Path, processes: int) -> bool:
    """Simulate the open file's outdated armatures, and return whether there were any."""
    from ..simulation import simulate

    scene, layer = bpy.context.scene, cast(bpy.types.ViewLayer, bpy.context.view_layer)
    outdated = simulate.outdated_armatures(layer)
    if not outdated:
        return False
    _print("Simulating what is outdated")
    if processes > 1 and len(outdated) > 1:
        with TemporaryDirectory() as folder:
            jobs.simulate_outdated(file, Path(folder), processes, outdated)
    if still_outdated := simulate.outdated_armatures(layer):
        for reason in _with_progress(simulate.simulate(scene, layer, still_outdated)).refused:
            _print(f"{reason}.")
    return True


def _recorded(
    args: Any, digest: bytes, selections: list[BakeSelection], frames: range
) -> Recording | None:
    """Return the recording to use: joined parts, or a new part; None if the bake records itself."""
    from ..bake import parts, recording

    if args.merge:
        recordings = [parts.load(path, digest, selections, frames) for path in args.merge]
        return parts.joined(recordings, selections, frames)
    if args.part is None:
        return None
    scene, layer = bpy.context.scene, cast(bpy.types.ViewLayer, bpy.context.view_layer)
    with staged(layer, [picked.armature for picked in selections]):
        return _with_progress(recording.record(scene, layer, selections, frames))


def _recorded_elsewhere(
    args: Any, processes: int, selections: list[BakeSelection], frames: range, is_as_saved: bool
) -> Recording:
    """Record the open file in several processes; save a simulated copy for them if needed."""
    _print(f"Recording in {processes} processes")
    with TemporaryDirectory() as folder_name:
        folder, file = Path(folder_name), args.file
        if not is_as_saved:
            file = folder / "simulated.blend"
            saving.save(file, is_compressed=False)
        return jobs.record(file, folder, processes, selections, frames, args.constraint or ())


def _open(path: Path) -> bytes:
    from ..bake.parts import digest_of

    refuse_irregular(path, is_written=False)
    refuse_long_path(path)
    try:
        digest = digest_of(path)
        bpy.ops.wm.open_mainfile(filepath=str(path.absolute()), load_ui=False)
    except OSError as error:
        raise ProblemError(f"Can't read “{path}”: {error.strerror}") from None
    except RuntimeError:
        raise ProblemError(
            f"“{path}” is not a file that this version of Blender can open"
        ) from None
    return digest


def _bake_options(args: Any, scene: bpy.types.Scene) -> BakeOptions:
    from ..bake.options import BakeOptions

    return BakeOptions(
        scene.frame_start if args.start is None else args.start,
        scene.frame_end if args.end is None else args.end,
        args.step,
        radians(args.error),
        args.into == "new",
        args.afterwards.upper(),
    )


def _constraints(layer: bpy.types.ViewLayer, names: Sequence[str] | None) -> list[ConstraintRef]:
    """Return a view layer's constraints, optionally only those with the given names."""
    from ..bake import selecting

    constraints = selecting.all_constraints(armatures_of(layer))
    if not names:
        return constraints
    refs_by_name: dict[str, list[ConstraintRef]] = {}
    for ob, i in constraints:
        name = settings(ob).constraints[i].name
        for key in (name, f"{ob.name}/{name}"):
            refs_by_name.setdefault(key, []).append((ob, i))
    for name in names:
        if name not in refs_by_name:
            labels = [f"{ob.name}/{settings(ob).constraints[i].name}" for ob, i in constraints]
            choice = f"choose from {listed(labels)}" if labels else "the file has no constraints"
            raise ProblemError(f"No constraint “{name}”: {choice}")
    selected = {(ob.name, i) for name in names for ob, i in refs_by_name[name]}
    return [(ob, i) for ob, i in constraints if (ob.name, i) in selected]


def _with_progress(work: Generator[float, None, Any]) -> Any:
    """Run the work to its end while printing its progress, and return its result."""
    printed = 0

    def show(progress: float) -> None:
        nonlocal printed
        tenths = int(10.0 * progress)
        if tenths > printed:
            printed = tenths
            _print(f"{10 * tenths} %")

    return finish(work, show)


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(7) != b"BLENDER"


_handle: Any = None


def register() -> None:
    """Add the command."""
    global _handle
    _handle = bpy.utils.register_cli_command(NAME, run)


def unregister() -> None:
    """Remove the command."""
    bpy.utils.unregister_cli_command(_handle)
