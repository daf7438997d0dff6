"""What a section hands back, and how it is shown: as text, and as Markdown with pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from textwrap import fill

GOALS = """\
What we want, and what this run measured. Ratios compare medians of one run, in which the variants \
took turns; on a busy machine they still move by a tenth or two."""


@dataclass(frozen=True)
class Table:
    """Figures, and what they mean.

    Attributes:
        meaning: In plain words, what was done and how to read it.
        headings: One a column.
        rows: One text a column; the first says what was measured.
    """

    meaning: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """Return the table for a terminal."""
        lines = [self.headings, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.headings))]
        shown = [
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        shown.insert(1, "-" * len(shown[0]))
        return "\n".join([fill(self.meaning, 100), "", *shown])

    def markdown(self) -> str:
        """Return the table for a page."""
        marks = ["---", *["---:"] * (len(self.headings) - 1)]
        lines = [f"| {' | '.join(line)} |" for line in (self.headings, marks, *self.rows)]
        return "\n".join([self.meaning, "", *lines])


@dataclass(frozen=True)
class Goal:
    """A figure that the project wants to stay below.

    Attributes:
        what: What was measured.
        most: What is wanted at most.
        found: What was measured.
        reason: Why it is more, if it is.
    """

    what: str
    most: float
    found: float
    reason: str = ""

    def row(self) -> list[str]:
        """Return what a table says of it."""
        found = small(self.found) if 0.0 < self.found < 0.01 else f"{self.found:.2f}"
        verdict = (
            "yes" if self.found <= self.most else f"no: {self.reason}" if self.reason else "no"
        )
        return [self.what, f"≤ {self.most:g}", found, verdict]


@dataclass(frozen=True)
class Bars:
    """A picture of bars, a group for each name, with a line to compare them with."""

    file: str
    title: str
    measure: str
    names: Sequence[str]
    series: Mapping[str, Sequence[float]]
    line: float | None = None
    logarithmic: bool = False


@dataclass(frozen=True)
class Lines:
    """A picture of lines on two logarithmic axes; NaN leaves a gap."""

    file: str
    title: str
    across: str
    up: str
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]]


Plot = Bars | Lines


@dataclass(frozen=True)
class Section:
    """One part of the benchmark, done."""

    title: str
    tables: Sequence[Table]
    plots: Sequence[Plot] = field(default=())
    goals: Sequence[Goal] = field(default=())

    def text(self) -> str:
        """Return the section for a terminal."""
        head = f"{self.title}\n{'=' * len(self.title)}"
        return "\n\n".join([head, *(table.text() for table in self.tables)]) + "\n"

    def markdown(self) -> str:
        """Return the section for a page that lies beside the pictures."""
        parts = [f"## {self.title}"]
        parts += [table.markdown() for table in self.tables]
        parts += [f"![{plot.title}]({plot.file})" for plot in self.plots]
        return "\n\n".join(parts) + "\n"


def goals(sections: Sequence[Section]) -> Table:
    """Return what is wanted of all that was measured, and whether it was reached."""
    rows = [goal.row() for section in sections for goal in section.goals]
    return Table(GOALS, ("figure", "wanted", "measured", "reached"), rows)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that this share of all values does not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def ms(seconds: float) -> str:
    """Return a time in milliseconds."""
    return f"{1e3 * seconds:.3f}" if seconds < 0.01 else f"{1e3 * seconds:.1f}"


def us(seconds: float) -> str:
    """Return a time in microseconds."""
    return f"{1e6 * seconds:.2f}" if seconds < 1e-4 else f"{1e6 * seconds:.0f}"


def times(ratio: float) -> str:
    """Return how many times as much something is."""
    return f"{ratio:.2f}×"


def small(value: float) -> str:
    """Return a small number by its power of ten."""
    return f"{value:.1e}"
