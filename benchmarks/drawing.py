"""Draw the plots with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

from .report import Bars, Lines, Plot
from .rigs import FLOOR

mpl.use("Agg")  # Needs no display.


COLORS = ("#d95f02", "#4a6fa5", "#2a9d68", "#a83279", "#c9a227")
GRAY = "#8a8f98"
MARKERS = "osD^v"
SIZE = (9.0, 4.4)
SHARE = 0.8
"""The share of a name's space that its bars fill."""


def draw(plot: Plot, path: Path) -> None:
    """Write a plot as PNG."""
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    if isinstance(plot, Bars):
        _bars(axes, plot)
    else:
        _lines(axes, plot)
    axes.set_title(plot.title, loc="left", fontsize=12)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", frameon=False, fontsize=9, ncols=3)
    # Omit the version of matplotlib, so that the same figures give the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _bars(axes: Any, plot: Bars) -> None:
    width = SHARE / len(plot.series)
    for number, (name, values) in enumerate(plot.series.items()):
        left = 0.5 * (width - SHARE) + number * width
        bars = axes.bar(
            [i + left for i in range(len(values))],
            values,
            width * 0.94,
            label=name,
            color=GRAY if name == FLOOR else COLORS[number],
        )
        axes.bar_label(bars, [_number(value) for value in values], fontsize=8, padding=2)
    axes.set_xticks(range(len(plot.names)), plot.names)
    axes.set_ylabel(plot.measure)
    axes.margins(y=0.12)
    if plot.logarithmic:
        axes.set_yscale("log")
    if plot.line is not None:
        axes.axhline(plot.line, color="#222222", linewidth=1.0, linestyle="--")


def _lines(axes: Any, plot: Lines) -> None:
    for number, (name, (xs, ys)) in enumerate(plot.series.items()):
        axes.plot(xs, ys, label=name, color=COLORS[number], marker=MARKERS[number], markersize=5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(plot.across)
    axes.set_ylabel(plot.up)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))


def _number(value: float) -> str:
    if value < 0.1:
        return f"{value:.0e}"
    return f"{value:.2f}" if value < 10.0 else f"{value:.0f}"
