#!/usr/bin/env python3
"""Write the table of speed in README and docs/speed.md, from docs/benchmarks/runs.csv.

    python3 tools/speed.py       writes both tables
    python3 tools/speed.py add   first adds the run that docs/benchmarks/README.md shows

The file has a line for each run and rig. After a change that affects speed, delete the earlier
runs: they no longer apply.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "README.md"
RUNS = PAGE.with_name("runs.csv")

RATIOS = {"ratio": "first played", "again": "played again", "interpreted": "interpreted"}
ERRORS = {"error": "error, ours", "error_of_blender": "error, Blender's"}
COLUMNS = ("run", "rig", *RATIOS, *ERRORS)

PRODUCTION = "Rigify's human, 706 bones"
"""The rig of the section “Rigify”, first in the tables."""

SHORT = (PRODUCTION, "1 × 2, two-bone", "1 × 10", "8 × 3", "20 × 10", "100 × 10")
"""The rigs of the table in README."""

TABLES = {ROOT / "README.md": SHORT, ROOT / "docs" / "speed.md": ()}
"""The pages with a table, and the rigs in it; empty for all."""

MARKED = re.compile(r"(<!-- speed: .*? -->\n).*?(<!-- end -->)", re.DOTALL)
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

Line = dict[str, str]
"""The measurements of a rig in a run, by the names of `COLUMNS`."""


def runs() -> list[Line]:
    """Return the measurements of all runs, in the order of the file."""
    with RUNS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def run_of(page: str) -> list[Line]:
    """Return the measurements of the run on the page of benchmarks."""
    tables = _tables(page, "Frame cost")
    times, errors, interpreted = ({row.pop(FIRST): row for row in table} for table in tables)
    day = re.findall(r"Measured on ([\d-]+) ", page)[0]
    (production,) = _tables(page, "Rigify")
    played = {row["update"]: row["ratio"].rstrip("×") for row in production}
    return [
        dict.fromkeys(COLUMNS, "") | {"run": day, "rig": PRODUCTION, "ratio": played["frame"]},
        *(
            {
                "run": day,
                "rig": rig,
                "ratio": time["ours / Blender"].rstrip("×"),
                "again": time["again"].rstrip("×"),
                "interpreted": interpreted.get(rig, {})
                .get("ours / Blender interpreted", "")
                .rstrip("×"),
                "error": errors[rig]["ours worst"],
                "error_of_blender": errors[rig]["Blender worst"],
            }
            for rig, time in times.items()
        ),
    ]


FIRST = "chains × bones"


def _tables(page: str, section: str) -> list[list[Line]]:
    """Return the rows of the tables in a section of the page, up to its picture."""
    text = page[page.index(f"\n## {section}\n") + 1 :].partition("\n## ")[0].partition("\n![")[0]
    return [_rows(table) for table in text.split("\n\n") if table.startswith("| ")]


def _rows(table: str) -> list[Line]:
    """Return the rows of a table in Markdown, by its headings."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def add(lines: Iterable[Line]) -> None:
    """Add a run to the file, numbered if it is not the first of its day."""
    names = {other["run"] for other in runs()}
    with RUNS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        for measured in lines:
            name, count = measured["run"], 1
            while name in names:
                count += 1
                name = f"{measured['run']} ({count})"
            writer.writerow({**measured, "run": name})


def with_table(page: str, rigs: Iterable[str]) -> str:
    """Return a page with its table updated from the runs.

    Args:
        page: The page, with marks around the table.
        rigs: The rigs of the table; empty for all.
    """
    table = "\n".join(_table(runs(), tuple(rigs)))
    text, count = MARKED.subn(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", page)
    assert count == 1, "there is not one table with marks around it"
    return text


def _table(lines: list[Line], rigs: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of the table, after a sentence on the number of runs."""
    rigs = rigs or tuple(dict.fromkeys(line["rig"] for line in lines))
    days = sorted({line["run"].partition(" ")[0] for line in lines})
    every = _count(line["run"] for line in lines)
    when = " to ".join(dict.fromkeys((days[0], days[-1])))
    counts = {
        "The interpreted solver": _count(line["run"] for line in lines if line["interpreted"]),
        PRODUCTION: _count(line["run"] for line in lines if line["rig"] == PRODUCTION),
    }
    exceptions = [
        f" {name} was measured in {count}." for name, count in counts.items() if count != every
    ]
    yield f"Lowest and highest of {every} of `make bench`, {when}.{''.join(exceptions)}"
    yield ""
    headings = (FIRST, *RATIOS.values(), *ERRORS.values())
    yield f"| {' | '.join(headings)} |"
    yield f"| {' | '.join(('---', *['---:'] * (len(headings) - 1)))} |"
    for rig in rigs:
        of_rig = [line for line in lines if line["rig"] == rig]
        ratios = (_range([line[name] for line in of_rig]) for name in RATIOS)
        errors = (_worst([line[name] for line in of_rig]) for name in ERRORS)
        yield f"| {' | '.join((rig, *ratios, *errors))} |"


def _count(names: Iterable[str]) -> str:
    count = len(set(names))
    number = NUMBERS[count - 1] if 0 < count <= len(NUMBERS) else str(count)
    return f"{number} run{'' if count == 1 else 's'}"


def _range(ratios: list[str]) -> str:
    """Return the lowest and the highest ratio."""
    values = sorted(float(ratio) for ratio in ratios if ratio)
    ends = dict.fromkeys(f"{value:.1f}" for value in (values[:1] + values[-1:]))
    return "–".join(ends)


def _worst(errors: list[str]) -> str:
    """Return the largest error, to one digit; empty if none was measured."""
    if not any(errors):
        return ""
    digit, _, power = f"{max(map(float, errors)):.0e}".partition("e")
    return f"{digit}e{int(power)}" if int(power) else digit


if __name__ == "__main__":
    if sys.argv[1:] == ["add"]:
        add(run_of(PAGE.read_text(encoding="utf-8")))
    for path, rigs in TABLES.items():
        path.write_text(with_table(path.read_text(encoding="utf-8"), rigs), encoding="utf-8")
