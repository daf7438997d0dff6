"""Joint limits: how often reachable targets are reached, and whether limits hold."""

from __future__ import annotations

from statistics import median

from .effort import Effort
from .jointed import KINDS, THREE, draw
from .limited import ITERATIONS, Answer, MissingError, blenders, by_three, ours
from .report import Bars, Goal, Section, Table, small, us
from .scenes import BLENDERS, OURS

BONES = (3, 5, 10)
SEED = 2011
NEAR = 1e-3
BROKEN = 1e-4

MEANING = """\
{count} random chains per row, of equal bones, 1 m in total, with random rolls and up to 0.4 rad \
off their parent's direction, each with a target that it can reach: the tip of a random pose \
within the limits. The seed is {seed}; all systems solve the same cases, each from rest. Hinges \
turn about the bone's X or Z axis, by 0 to 0.8 rad to one side and 0.5 to 2.2 to the other; cones \
are centered on the rest pose, extend 0.2 to 1.4 rad to both sides about X and about Z, and allow \
a twist of 0.1 to 1 rad to both sides; “mixed” has either for each bone. “arrived” is the share \
of tips that came within {near:g} m of the target, “broken” the worst of all joints in radians. \
Both are measured from the posed bones, independently of what solvers report."""

REGIONS = """\
The three define cones differently, and each is checked by its own definition: ours is an ellipse \
of the swing angles, Blender's one of the sines of half these angles, that of three.js a range \
for each Euler angle (twist first, then Z, then X). The poses behind the targets are allowed by \
all three."""

SYSTEMS = """\
Ours is `pose_chain` at its defaults (20 iterations, tolerance 1e-4), timed per call. Blender's \
is its IK constraint at its defaults (500 iterations) with locked axes and limits, timed for the \
whole update after the target has moved. three.js is `CCDIKSolver` with up to {iterations} \
iterations and `rotationMin` and `rotationMax`, timed within Node; with an additional \
`limitation` it reaches fewer targets of hinges. An additional parent of each bone provides its \
rest rotation. All times are medians."""

LEFT_OUT = "three.js is left out: {}"

Row = tuple[str, int]
Found = dict[str, list[Answer]]


def run(effort: Effort) -> Section:
    """Measure all chains in all systems."""
    count = effort.of(200, 3)
    systems = {OURS: ours, BLENDERS: blenders, THREE: by_three}
    missing = ""
    if effort.quick:
        del systems[THREE]
        missing = LEFT_OUT.format("this was a quick run.")
    found: dict[Row, Found] = {}
    for kind in KINDS:
        for bones in effort.of(BONES, BONES[:1]):
            cases = draw(kind, bones, count, SEED)
            answers = found[kind, bones] = {}
            for name in list(systems):
                try:
                    answers[name] = systems[name](cases)
                except MissingError as error:
                    missing = LEFT_OUT.format(error)
                    del systems[name]
    meaning = MEANING.format(count=count, seed=SEED, near=NEAR)
    parts = [meaning, REGIONS, SYSTEMS.format(iterations=ITERATIONS), missing]
    headings = ("chains", "system", "arrived", "median distance", "worst", "broken", "µs a solve")
    table = Table(" ".join(filter(None, parts)), headings, _rows(found))
    return Section("Joint limits", [table], [_plot(found, list(systems))], _goals(found))


def _name(row: Row) -> str:
    kind, bones = row
    return f"{kind}, {bones} bones"


def _arrived(answers: list[Answer]) -> float:
    return sum(answer.away <= NEAR for answer in answers) / len(answers)


def _worst(answers: list[Answer]) -> float:
    return max(answer.broken for answer in answers)


def _rows(found: dict[Row, Found]) -> list[list[str]]:
    return [
        [
            _name(row),
            system,
            f"{100.0 * _arrived(answers):.1f} %",
            small(median(answer.away for answer in answers)),
            small(max(answer.away for answer in answers)),
            small(_worst(answers)),
            us(median(answer.seconds for answer in answers)),
        ]
        for row, systems in found.items()
        for system, answers in systems.items()
    ]


def _plot(found: dict[Row, Found], systems: list[str]) -> Bars:
    return Bars(
        "limits.png",
        "Tips that arrive at targets that the joint limits let them reach",
        f"% within {NEAR:g} of the length",
        [f"{kind}, {bones}" for kind, bones in found],
        {name: [100.0 * _arrived(row[name]) for row in found.values()] for name in systems},
    )


def _goals(found: dict[Row, Found]) -> list[Goal]:
    missed = [
        Goal(f"{_name(row)}, limited: share of targets missed", 0.05, 1.0 - _arrived(systems[OURS]))
        for row, systems in found.items()
    ]
    worst = max(_worst(systems[OURS]) for systems in found.values())
    return [*missed, Goal("limits: broken at most, in radians", BROKEN, worst)]
