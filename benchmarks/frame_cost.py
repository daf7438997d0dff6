"""The cost of a frame, compared with Blender's IK and with the floor."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from .effort import Effort
from .playing import Score, in_turns, judge, split
from .report import Bars, Goal, Section, Table, ms, percentile, small, times
from .scenes import BLENDERS, FLOOR, FRAMES, OURS, Rig, save_variants

RIGS = {
    "1 × 2, two-bone": Rig(1, 2, solver="TWO_BONE"),
    "1 × 2": Rig(1, 2),
    "1 × 10": Rig(1, 10),
    "1 × 100": Rig(1, 100),
    "8 × 3": Rig(8, 3),
    "20 × 10": Rig(20, 10),
    "100 × 3": Rig(100, 3),
    "100 × 10": Rig(100, 10),
    "100 × 10, long": Rig(100, 10, key_every=20, length=3.0, turn=0.01, spacing=0.5),
}
"""The last one was measured by others: chains of 3 m, nearly straight at rest, and fast targets."""

MOST = {name: 1.2 for name in ("1 × 2, two-bone", "1 × 2", "1 × 10", "1 × 100", "8 × 3")}
"""How many times as long as with Blender's IK a frame may take; larger rigs `MOST_OF_LARGE`."""

MOST_OF_LARGE = 0.8

BLOCK = 25
JUDGE_EVERY = 3

TIMES = """\
Milliseconds that one `Scene.frame_set` takes, everything included: all {frames} frames once, the \
three variants alternating every {block} frames. “floor” has the same rig and the same moving \
targets but no IK: a handler writes all rotations, and Blender evaluates again, which is the \
minimum cost of any extension that writes after each frame. A ratio below 1 means that we are \
faster than Blender's own IK (C++) at its defaults. “above floor” is our own time in units of the \
floor's. “again” is the ratio when the same frames are played a second time without an edit in \
between."""

ERRORS = """\
Distance of the tips to their targets as a share of the chain's length (single precision ends at \
about 1e-7), both with default settings; all targets are well within reach. “not reached” counts \
how often the state of a chain was not REACHED."""

PYTHON = """\
an update costs some 0.1 ms before anything is solved, and a chain some 10 µs, of which the solver \
takes 2: reading Blender's data from Python, again at every frame, with code and data that \
Blender's own work has displaced from the processor's caches. Blender's IK leaves {left:.0f} µs \
above the floor here"""

DEEP = "single precision: each bone's rotation is rounded, and the chain adds them up"


def run(effort: Effort) -> Section:
    """Measure all rigs."""
    names = effort.of(list(RIGS), ["1 × 2, two-bone", "8 × 3"])
    scores = {name: _measured(RIGS[name], effort) for name in names}
    frames = len(scores[names[0]][OURS].first)
    headings = ("chains × bones", "ours median", "p95", "Blender median", "p95", "floor median")
    return Section(
        "Frame cost",
        [
            Table(
                TIMES.format(frames=frames, block=BLOCK),
                (*headings, "ours / Blender", "above floor", "again"),
                [_time_row(name, score) for name, score in scores.items()],
            ),
            Table(
                ERRORS,
                (
                    "chains × bones",
                    "ours worst",
                    "median",
                    "Blender worst",
                    "median",
                    "not reached",
                ),
                [_error_row(name, score) for name, score in scores.items()],
            ),
        ],
        [
            Bars(
                "frame-cost.png",
                "Time of a frame, as a multiple of Blender's own IK",
                "median, Blender's IK = 1",
                names,
                {
                    OURS: [score[OURS].ratio(score[BLENDERS]) for score in scores.values()],
                    FLOOR: [score[FLOOR].ratio(score[BLENDERS]) for score in scores.values()],
                },
                line=1.0,
            ),
            Bars(
                "tip-error.png",
                "Worst distance of a tip to its target, as a share of the chain's length",
                "share of the length",
                names,
                {
                    OURS: [max(score[OURS].errors) for score in scores.values()],
                    BLENDERS: [max(score[BLENDERS].errors) for score in scores.values()],
                },
                logarithmic=True,
            ),
        ],
        [goal for name, score in scores.items() for goal in _goals(name, score)],
    )


def _goals(name: str, scores: dict[str, Score]) -> list[Goal]:
    ours, blenders, floor = (scores[variant] for variant in (OURS, BLENDERS, FLOOR))
    most = MOST.get(name, MOST_OF_LARGE)
    reason = PYTHON.format(left=1e6 * (blenders.typical - floor.typical))
    return [
        Goal(f"{name}: frame / frame with Blender's IK", most, ours.ratio(blenders), reason),
        Goal(f"{name}: our own time / the floor", 1.0, ours.ratio(floor) - 1.0, "as above"),
        Goal(f"{name}: worst distance from the target / length", 1e-5, max(ours.errors), DEEP),
    ]


def _measured(rig: Rig, effort: Effort) -> dict[str, Score]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        save_variants(rig, folder)
        blocks = effort.of(split(FRAMES, BLOCK), [range(1, 4)])
        scores = in_turns(folder, (OURS, BLENDERS, FLOOR), blocks)
        for variant in (OURS, BLENDERS):
            judged = range(1, blocks[-1].stop, JUDGE_EVERY)
            judge(folder, variant, rig, judged, scores[variant])
    return scores


def _time_row(name: str, scores: dict[str, Score]) -> list[str]:
    ours, blenders, floor = (scores[variant] for variant in (OURS, BLENDERS, FLOOR))
    return [
        name,
        ms(ours.typical),
        ms(percentile(ours.first, 0.95)),
        ms(blenders.typical),
        ms(percentile(blenders.first, 0.95)),
        ms(floor.typical),
        times(ours.ratio(blenders)),
        times(ours.ratio(floor) - 1.0),
        times(ours.ratio_again(blenders)),
    ]


def _error_row(name: str, scores: dict[str, Score]) -> list[str]:
    ours, blenders = scores[OURS], scores[BLENDERS]
    return [
        name,
        small(max(ours.errors)),
        small(median(ours.errors)),
        small(max(blenders.errors)),
        small(median(blenders.errors)),
        f"{ours.missed} of {len(ours.errors)}",
    ]
