"""The results of sections, formatted as text, and as Markdown with pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from textwrap import fill

GOALS = """\
Goals and the figures of this run. Ratios compare medians of one run, in which the variants \
alternate; on a busy machine they still vary by a tenth or two."""


@dataclass(frozen=True)
class Table:
    """A table of figures.

    Attributes:
        meaning: A description of what was measured and how to read it.
        headings: A heading per column.
        rows: A text per column; the first names the measured case.
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
        """Return the table as Markdown."""
        marks = ["---", *["---:"] * (len(self.headings) - 1)]
        lines = [f"| {' | '.join(line)} |" for line in (self.headings, marks, *self.rows)]
        return "\n".join([self.meaning, "", *lines])


@dataclass(frozen=True)
class Bound:
    """A bound for a figure.

    Attributes:
        what: The name of the figure.
        bound: The bound, an upper bound by default.
        found: The measured value.
        reason: Why it is not reached, if so.
        is_lower: Whether it is a lower bound instead.
    """

    what: str
    bound: float
    found: float
    reason: str = ""
    is_lower: bool = False

    def row(self) -> list[str]:
        """Return the row of the table of goals."""
        measured = small(self.found) if 0.0 < self.found < 0.01 else f"{self.found:.2f}"
        is_reached = self.found >= self.bound if self.is_lower else self.found <= self.bound
        verdict = "yes" if is_reached else f"no: {self.reason}" if self.reason else "no"
        return [self.what, f"{'≥' if self.is_lower else '≤'} {self.bound:g}", measured, verdict]


@dataclass(frozen=True)
class Bars:
    """A bar chart with a group per name, and optionally a reference line."""

    file: str
    title: str
    measure: str
    names: Sequence[str]
    series: Mapping[str, Sequence[float]]
    line: float | None = None
    logarithmic: bool = False


@dataclass(frozen=True)
class Lines:
    """A line chart with two logarithmic axes; NaN leaves a gap."""

    file: str
    title: str
    across: str
    up: str
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]]


Plot = Bars | Lines


@dataclass(frozen=True)
class Section:
    """The results of a section of the benchmark."""

    title: str
    tables: Sequence[Table]
    plots: Sequence[Plot] = field(default=())
    goals: Sequence[Bound] = field(default=())

    def text(self) -> str:
        """Return the section for a terminal."""
        head = f"{self.title}\n{'=' * len(self.title)}"
        return "\n\n".join([head, *(table.text() for table in self.tables)]) + "\n"

    def markdown(self) -> str:
        """Return the section as Markdown, for a page in the folder of the pictures."""
        parts = [f"## {self.title}"]
        parts += [table.markdown() for table in self.tables]
        parts += [f"![{plot.title}]({plot.file})" for plot in self.plots]
        return "\n\n".join(parts) + "\n"


def goals(sections: Sequence[Section]) -> Table:
    """Return the table of all goals, and whether they were reached."""
    rows = [goal.row() for section in sections for goal in section.goals]
    return Table(GOALS, ("figure", "goal", "measured", "reached"), rows)


def percentile(values: Sequence[float], fraction: float) -> float:
    """Return the smallest value that this fraction of all values does not exceed."""
    return sorted(values)[max(0, ceil(fraction * len(values)) - 1)]


def ms(seconds: float) -> str:
    """Format a time in milliseconds."""
    return f"{1e3 * seconds:.3f}" if seconds < 0.01 else f"{1e3 * seconds:.1f}"


def us(seconds: float) -> str:
    """Format a time in microseconds."""
    return f"{1e6 * seconds:.2f}" if seconds < 1e-4 else f"{1e6 * seconds:.0f}"


def times(ratio: float) -> str:
    """Format a ratio."""
    return f"{ratio:.2f}×"


def small(value: float) -> str:
    """Format a small number in scientific notation."""
    return f"{value:.1e}"
