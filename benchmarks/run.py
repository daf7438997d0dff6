"""Measure the extension and Blender's own IK, print tables, and write them with pictures.

python benchmarks/run.py                     runs all sections; takes some minutes
python benchmarks/run.py frame_cost idle     only these sections
python benchmarks/run.py --quick             measures little, to test the benchmark itself
python benchmarks/run.py --to FOLDER         also writes README.md and pictures to a folder

In a real Blender: blender --background --factory-startup --python benchmarks/run.py -- …
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.path.append(str(ROOT / "solver" / "src"))  # A real Blender has it only here.

from benchmarks import harness  # noqa: E402
from benchmarks.report import Section, goals  # noqa: E402

SECTIONS = {
    "frame_cost": "frame_cost",
    "fixed_cost": "frame_cost",
    "skinned": "crowds",
    "idle": "idle",
    "crowd": "crowds",
    "iterations": "solver",
    "limits": "joint_limits",
    "hinges": "characters",
    "continuous": "continuous",
    "long_chains": "solver",
    "bake": "bake",
    "look_at": "motions",
    "ropes": "motions",
    "springs": "springs",
    "ground": "feet",
    "walking": "feet",
    "long_shots": "feet",
    "bodies": "characters",
    "rigify": "characters",
    "holds": "characters",
    "whole_body": "whole_body",
    "armatures": "crowds",
    "overlay": "idle",
    "memory": "idle",
}
"""The function that measures each section, and its module."""


def main(arguments: list[str]) -> None:
    """Run the sections named on the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks/run.py")
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument(
        "--quick", action="store_true", help="measure little; the figures mean nothing"
    )
    parser.add_argument("--to", type=Path, help="folder for README.md and pictures")
    options = parser.parse_args(arguments)
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(SECTIONS)}")
    begin = perf_counter()
    about = harness.about()
    print(f"{about}\n{harness.load()}\n", flush=True)
    sections = measured(options.sections or [*SECTIONS], harness.Effort(options.quick))
    print(f"{goals(sections).text()}\n")
    if options.to is not None:
        write(sections, about, options.to)
    print(f"Done in {perf_counter() - begin:.0f} s.")


def measured(names: Sequence[str], effort: harness.Effort) -> list[Section]:
    """Run sections, print each when it is done, and return them in the order of `SECTIONS`.

    Memory comes first: memory freed by other sections would hide its growth.
    """
    done: dict[str, Section] = {}
    try:
        for name in sorted(names, key=lambda name: name != "memory"):
            begin = perf_counter()
            done[name] = getattr(import_module(f"benchmarks.{SECTIONS[name]}"), name)(effort)
            print(done[name].text())
            print(f"({name}: {perf_counter() - begin:.0f} s)\n", flush=True)
    finally:
        # The wheels crash or hang on exit if a handler is still registered.
        harness.enable(False)
    return [done[name] for name in SECTIONS if name in done]


def write(sections: list[Section], about: str, folder: Path) -> None:
    """Write the page and its pictures."""
    from benchmarks.drawing import draw

    folder.mkdir(parents=True, exist_ok=True)
    page = ["# Benchmarks\n", f"Written by `make bench`. {about}\n"]
    page += [f"## Goals\n\n{goals(sections).markdown()}\n"]
    page += [section.markdown() for section in sections]
    (folder / "README.md").write_text("\n".join(page), encoding="utf-8")
    for section in sections:
        for plot in section.plots:
            draw(plot, folder / plot.file)


if __name__ == "__main__":
    started_by_blender = "--" in sys.argv
    main(sys.argv[sys.argv.index("--") + 1 :] if started_by_blender else sys.argv[1:])
    if not started_by_blender:
        # The wheel of 4.2 may crash on exit, depending on the order of unloading modules.
        sys.stdout.flush()
        os._exit(0)
