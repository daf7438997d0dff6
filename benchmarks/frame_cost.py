"""The cost of a frame, and of an update before its first chain, compared with Blender's IK."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import linear_regression, median

import bpy

from fabrik_solver import COMPILED

from .child import in_child
from .harness import Effort, clocked, enable, open_file, save_file, temporary_folder
from .playing import Score, in_turns, judge, split, warm_up
from .report import Bars, Bound, Section, Table, ms, percentile, small, times, us
from .rigs import BLENDERS, FLOOR, FRAMES, OURS, Rig, add_ours, build, save_variants, target_name

# The cost of a frame, compared with Blender's IK and with the floor.


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
"""The last rig was measured by others: chains of 3 m, nearly straight at rest, and fast targets."""

FRAME_COST_MOST = {name: 1.2 for name in ("1 × 2, two-bone", "1 × 2", "1 × 10", "1 × 100", "8 × 3")}
"""The largest time of a frame relative to Blender's IK; for larger rigs `MOST_OF_LARGE`."""

MOST_OF_LARGE = 0.8

INTERPRETED = tuple(name for name in RIGS if name not in ("1 × 2, two-bone", "1 × 100"))
"""The rigs that are also measured with the solver as interpreted Python."""

MOST_INTERPRETED = 2.0
INTERPRETED_FRAMES = 50

FRAME_COST_BLOCK = 25
JUDGE_EVERY = 5

TIMES = """\
Milliseconds that one `Scene.frame_set` takes, everything included: all {frames} frames once, the \
three variants alternating every {block} frames. “floor” has the same rig and the same moving \
targets but no IK: a handler writes all rotations, and Blender evaluates again. Any extension \
costs at least this if it writes after each frame. A ratio below 1 means that we are faster than \
Blender's own IK (C++) at its defaults. Where it is above its goal, most of our time is not the \
solver's. Each update has a fixed cost (section “Fixed cost”), and each chain's data is read from \
Blender by Python. Blender's own work has displaced the code and data for this from the \
processor's caches. “above floor” is our own time in units of the floor's. “again” is the ratio \
when the same frames are played a second time without an edit in between."""

ERRORS = """\
Distance from tips to targets as a fraction of the chain's length, both with default settings. \
Single precision ends at about 1e-7. All targets are well within reach. “not reached” counts how \
often the state of a chain was not REACHED."""

PYTHON = "reading from Python, see Frame cost; Blender's IK adds {left:.0f} µs to the floor"

WAYS = """\
The solver compiled, as above, and interpreted, as with the zip for any platform. Milliseconds of \
one `Scene.frame_set`, medians of {frames} frames, in a separate process. Ours and Blender's IK \
alternate there as well."""

LONG = "100 × 10, long"
BY_OTHERS = 1.5
INTERPRETED_THEN = """ \
The ratio of {others} that others once measured for the last rig is nearer to interpreted than to \
compiled."""

SLOWER = f"Python runs the solver as well; {'compiled' if COMPILED else 'this run'} {{here:.2f}}"

DEEP = "single precision: each bone's rotation is rounded, and the chain adds them up"


def frame_cost(effort: Effort) -> Section:
    """Measure all rigs."""
    names = effort.of(list(RIGS), ["1 × 2, two-bone", "8 × 3"])
    scores = {name: _frame_cost_measured(RIGS[name], effort) for name in names}
    frames = len(scores[names[0]][OURS].first)
    subset = effort.of(INTERPRETED, ("8 × 3",))
    interpreted = in_child(times_of, subset, effort.quick, interpreted=True)
    ratios = {
        name: (*interpreted[name], scores[name][OURS].ratio(scores[name][BLENDERS]))
        for name in subset
    }
    headings = ("chains × bones", "ours median", "p95", "Blender median", "p95", "floor median")
    return Section(
        "Frame cost",
        [
            Table(
                TIMES.format(frames=frames, block=FRAME_COST_BLOCK),
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
                    [name, ms(ours), ms(blenders), times(ours / blenders), times(ratio)]
                    for name, (ours, blenders, ratio) in ratios.items()
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
                Bound(
                    f"{name}, interpreted: frame / frame with Blender's IK",
                    MOST_INTERPRETED,
                    ours / blenders,
                    SLOWER.format(here=ratio),
                )
                for name, (ours, blenders, ratio) in ratios.items()
            ],
        ],
    )


def _then(figures: tuple[float, float, float] | None) -> str:
    """Return the sentence on the ratio that others measured for the long rig, if it applies."""
    if figures is None or not COMPILED:
        return ""
    ours, blenders, compiled = figures
    is_nearer = abs(ours / blenders - BY_OTHERS) < abs(compiled - BY_OTHERS)
    return INTERPRETED_THEN.format(others=BY_OTHERS) if is_nearer else ""


def _goals(name: str, scores: dict[str, Score]) -> list[Bound]:
    ours, blenders, floor = (scores[variant] for variant in (OURS, BLENDERS, FLOOR))
    most = FRAME_COST_MOST.get(name, MOST_OF_LARGE)
    reason = PYTHON.format(left=1e6 * (blenders.typical - floor.typical))
    return [
        Bound(f"{name}: frame / frame with Blender's IK", most, ours.ratio(blenders), reason),
        Bound(f"{name}: our own time / the floor", 1.0, ours.ratio(floor) - 1.0, "as above"),
        Bound(f"{name}: worst distance from the target / length", 1e-5, max(ours.errors), DEEP),
    ]


def times_of(names: Sequence[str], is_quick: bool) -> dict[str, tuple[float, float]]:
    """Return the median seconds of a frame with ours and with Blender's IK, by rig."""
    medians: dict[str, tuple[float, float]] = {}
    blocks = Effort(is_quick).of(split(INTERPRETED_FRAMES, FRAME_COST_BLOCK), [range(1, 4)])
    for name in names:
        with temporary_folder() as folder:
            save_variants(RIGS[name], folder)
            scores = in_turns(folder, (OURS, BLENDERS), blocks, passes=1)
        medians[name] = (scores[OURS].typical, scores[BLENDERS].typical)
    return medians


def _frame_cost_measured(rig: Rig, effort: Effort) -> dict[str, Score]:
    with temporary_folder() as folder:
        save_variants(rig, folder)
        blocks = effort.of(split(FRAMES, FRAME_COST_BLOCK), [range(1, 4)])
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


# The fixed cost of an update that affects our constraints, before the first chain.


CHAINS = (1, 2, 4, 8, 16)
BONES = 3
FIXED_COST_BLOCK = 50

MEANING = """\
Microseconds in our handlers for one armature with more and more chains of {bones} bones whose \
targets all move. “frame” is one `Scene.frame_set`, “edit” an update after the targets were \
moved: medians of alternating blocks of {block}. “evaluating” is the time of evaluations that the \
handlers cause, “own” the rest. A line fitted to them gives the cost of “each chain”, and the \
“fixed” cost of any update that affects one of our constraints."""

FIXED_COST_MOST = 0.04

WHY_NOT = (
    "Python on both sides of Blender's evaluation: what changed, what to solve, what to report"
)


def fixed_cost(effort: Effort) -> Section:
    """Measure frames and edits."""
    counts = effort.of(CHAINS, CHAINS[:2])
    blocks = effort.of(split(FRAMES, FIXED_COST_BLOCK), [range(1, 4)])
    rows: list[list[str]] = []
    goals: list[Bound] = []
    for name, is_keyed in (("frame", True), ("edit", False)):
        own_seconds, evaluating = _fixed_cost_measured(counts, is_keyed, blocks)
        for part, spent in (("own", own_seconds), ("evaluating", evaluating)):
            slope, fixed = linear_regression(counts, spent)
            rows.append([f"{name}, {part}", *map(us, spent), us(fixed), us(slope)])
            if part == "own":
                what = f"fixed cost of an update with anything to do, {name}: own milliseconds"
                goals.append(Bound(what, FIXED_COST_MOST, 1e3 * fixed, WHY_NOT))
    headings = ("chains", *map(str, counts), "fixed", "each chain")
    meaning = MEANING.format(bones=BONES, block=len(blocks[0]))
    return Section("Fixed cost", [Table(meaning, headings, rows)], goals=goals)


def _fixed_cost_measured(
    counts: tuple[int, ...], is_keyed: bool, blocks: list[range]
) -> tuple[list[float], list[float]]:
    """Return the median seconds of our own code and of evaluations, by number of chains."""
    ours: dict[int, list[float]] = {count: [] for count in counts}
    evaluating: dict[int, list[float]] = {count: [] for count in counts}
    enable(True)
    with temporary_folder() as folder:
        for count in counts:
            rig = Rig(count, BONES, keyed=is_keyed)
            build(rig)
            add_ours(rig)
            save_file(folder / f"{count}.blend")
        for block in blocks:
            for count in counts:
                scene = open_file(folder / f"{count}.blend")
                warm_up(scene, block[0])
                update = scene.frame_set if is_keyed else _editing(count)
                if not is_keyed:
                    for number in block:
                        update(number)  # The first edits make the plan.
                with clocked() as clock:
                    for number in block:
                        update(number)
                        handlers, evaluations = clock.take()
                        ours[count].append(handlers - evaluations)
                        evaluating[count].append(evaluations)
    return [median(ours[count]) for count in counts], [
        median(evaluating[count]) for count in counts
    ]


def _editing(count: int) -> Callable[[int], None]:
    """Return a function that moves all targets back or forth by its number, and updates."""
    targets = [bpy.data.objects[target_name(chain)] for chain in range(count)]
    layer = bpy.context.view_layer

    def edit(number: int) -> None:
        for target in targets:
            target.location.x += 0.001 if number % 2 else -0.001
        layer.update()

    return edit
