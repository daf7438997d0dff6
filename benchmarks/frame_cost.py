"""The cost of a frame, compared with Blender's IK and with the floor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from fabrik_solver import COMPILED

from .child import in_child
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

INTERPRETED = tuple(name for name in RIGS if name not in ("1 × 2, two-bone", "1 × 100"))
"""The rigs that are also measured with the solver as interpreted Python."""

MOST_INTERPRETED = 2.0
INTERPRETED_FRAMES = 50

BLOCK = 25
JUDGE_EVERY = 5

TIMES = """\
Milliseconds that one `Scene.frame_set` takes, everything included: all {frames} frames once, the \
three variants alternating every {block} frames. “floor” has the same rig and the same moving \
targets but no IK: a handler writes all rotations, and Blender evaluates again, which is the \
minimum cost of any extension that writes after each frame. A ratio below 1 means that we are \
faster than Blender's own IK (C++) at its defaults. Where it is above its goal, most of our time \
is not the solver's: each update has a fixed cost (section “Fixed cost”), and for each chain \
Blender's data is read from Python, with code and data that Blender's own work has displaced from \
the processor's caches. “above floor” is our own time in units of the floor's. “again” is the \
ratio when the same frames are played a second time without an edit in between."""

ERRORS = """\
Distance of the tips to their targets as a share of the chain's length (single precision ends at \
about 1e-7), both with default settings; all targets are well within reach. “not reached” counts \
how often the state of a chain was not REACHED."""

PYTHON = "reading from Python, see Frame cost; Blender's IK adds {left:.0f} µs to the floor"

WAYS = """\
The solver compiled, as above, and interpreted, as with the zip for any platform: milliseconds of \
one `Scene.frame_set`, medians of {frames} frames, in a process of its own in which ours and \
Blender's IK alternate as well."""

LONG = "100 × 10, long"
BY_OTHERS = 1.5
INTERPRETED_THEN = """ \
The ratio of {others} that others once measured for the last rig is nearer to interpreted than to \
compiled."""

SLOWER = f"Python runs the solver as well; {'compiled' if COMPILED else 'this run'} {{here:.2f}}"

DEEP = "single precision: each bone's rotation is rounded, and the chain adds them up"


def run(effort: Effort) -> Section:
    """Measure all rigs."""
    names = effort.of(list(RIGS), ["1 × 2, two-bone", "8 × 3"])
    scores = {name: _measured(RIGS[name], effort) for name in names}
    frames = len(scores[names[0]][OURS].first)
    others = effort.of(INTERPRETED, ("8 × 3",))
    interpreted = in_child(times_of, others, effort.quick, interpreted=True)
    ratios = {
        name: (*interpreted[name], scores[name][OURS].ratio(scores[name][BLENDERS]))
        for name in others
    }
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
            Table(
                WAYS.format(frames=INTERPRETED_FRAMES) + _then(ratios.get(LONG)),
                (
                    "chains × bones",
                    "ours interpreted",
                    "Blender",
                    "ours / Blender interpreted",
                    "compiled" if COMPILED else "this run",
                ),
                [
                    [name, ms(ours), ms(blenders), times(ours / blenders), times(here)]
                    for name, (ours, blenders, here) in ratios.items()
                ],
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
        [
            *[goal for name, score in scores.items() for goal in _goals(name, score)],
            *[
                Goal(
                    f"{name}, interpreted: frame / frame with Blender's IK",
                    MOST_INTERPRETED,
                    ours / blenders,
                    SLOWER.format(here=here),
                )
                for name, (ours, blenders, here) in ratios.items()
            ],
        ],
    )


def _then(found: tuple[float, float, float] | None) -> str:
    """Return what the figures of the long rig say about that of others, if anything."""
    if found is None or not COMPILED:
        return ""
    ours, blenders, compiled = found
    is_nearer = abs(ours / blenders - BY_OTHERS) < abs(compiled - BY_OTHERS)
    return INTERPRETED_THEN.format(others=BY_OTHERS) if is_nearer else ""


def _goals(name: str, scores: dict[str, Score]) -> list[Goal]:
    ours, blenders, floor = (scores[variant] for variant in (OURS, BLENDERS, FLOOR))
    most = MOST.get(name, MOST_OF_LARGE)
    reason = PYTHON.format(left=1e6 * (blenders.typical - floor.typical))
    return [
        Goal(f"{name}: frame / frame with Blender's IK", most, ours.ratio(blenders), reason),
        Goal(f"{name}: our own time / the floor", 1.0, ours.ratio(floor) - 1.0, "as above"),
        Goal(f"{name}: worst distance from the target / length", 1e-5, max(ours.errors), DEEP),
    ]


def times_of(names: Sequence[str], is_quick: bool) -> dict[str, tuple[float, float]]:
    """Return the medians of a frame with ours and with Blender's IK, by rig, in seconds."""
    found: dict[str, tuple[float, float]] = {}
    blocks = Effort(is_quick).of(split(INTERPRETED_FRAMES, BLOCK), [range(1, 4)])
    for name in names:
        with TemporaryDirectory() as folder:
            save_variants(RIGS[name], Path(folder))
            scores = in_turns(Path(folder), (OURS, BLENDERS), blocks, passes=1)
        found[name] = (scores[OURS].typical, scores[BLENDERS].typical)
    return found


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
