"""Solves a whole shot at once, so that joints only jump between frames if they must.

If each frame is solved alone, a pose has to jump somewhere. Limits and conflicting targets of a
body split the solutions into disconnected components, and the component closest to the FK pose
changes. Here each frame has several candidates: the pose solved from the FK pose, and poses of
tracks. Tracks continue from frame to frame in both directions, each pose solved from the previous
one. Dynamic programming finds the shortest path through the candidates (A. Viterbi, “Error bounds
for convolutional codes and an asymptotically optimum decoding algorithm”, IEEE Trans. Information
Theory 13, 1967). Where the path still jumps, further tracks start on both sides of the jump.
"""

from collections.abc import Sequence
from math import inf
from typing import Final, final

from .instants import Candidate, Instant, largest_step, squared_distance
from .smoothing import blend_changes, roughest, smooth

SAME: Final = 1e-7
"""The distance below which two candidates are the same, in chain lengths."""

JUMP: Final = 0.02
"""The step of a point above which it may be a jump, in chain lengths."""

FASTER: Final = 6.0
"""A step this many times as large as the neighboring steps is a jump."""

ROUNDS: Final = 4
"""Maximum number of rounds of additional tracks."""

AT_ONCE: Final = 3
"""Number of jumps, largest first, that a round handles before the path is chosen again."""

MOST: Final = 48
"""Number of candidates at a frame above which no further tracks start there."""

SEEDS: Final = 6
"""Number of tracks that start on each side of a jump, from poses spread over the limits."""

MISS_COSTS: Final = 1e6
"""The cost factor for missing a target that another candidate reaches, times the squared miss."""

LOOSE_COSTS: Final = 0.1
"""The same if no candidate reaches it, because continuity then matters more."""

CHANGE_COSTS: Final = 0.02
"""The cost of changing tracks, in addition to the distance. It equals two points jumping by a
tenth of the chain's length."""

MORE: Final = 4.0
"""A smoother path may have up to this many times the shortest path's squared distance."""


@final
class _Layer:
    """The candidates of a frame.

    Attributes:
        instant: The solve input.
        candidates: The candidates. The first one is solved alone.
        successors: The index of each candidate's successor on its track in the next frame, or -1.
        predecessors: The index of its predecessor in the previous frame, or -1.
    """

    def __init__(self, instant: Instant) -> None:
        self.instant = instant
        self.candidates: list[Candidate] = []
        self.successors: list[int] = []
        self.predecessors: list[int] = []
        self.place(instant.alone())

    def place(self, candidate: Candidate) -> int:
        """Return the index of a candidate, adding it unless a similar one exists."""
        for i, existing in enumerate(self.candidates):
            if largest_step(existing, candidate) < SAME:
                if candidate.reaches and not existing.reaches:
                    self.candidates[i] = candidate
                return i
        self.candidates.append(candidate)
        self.successors.append(-1)
        self.predecessors.append(-1)
        return len(self.candidates) - 1

    def least_missed(self) -> float:
        """Return the smallest distance of a candidate to the target; 0 if any reaches it."""
        least = inf
        for candidate in self.candidates:
            least = min(least, 0.0 if candidate.reaches else candidate.missed)
        return least

    def costs(self) -> list[float]:
        """Return each candidate's cost of missing the target."""
        least = self.least_missed()
        factor = MISS_COSTS if least == 0.0 else LOOSE_COSTS
        costs: list[float] = []
        for candidate in self.candidates:
            over = 0.0 if candidate.reaches else candidate.missed - least
            costs.append(factor * over * over)
        return costs


def solve_shot(instants: Sequence[Instant]) -> list[Candidate]:
    """Return a pose for each frame of a shot, without jumps if possible.

    Args:
        instants: The solve input of each frame, in order.
    """
    layers = [_Layer(instant) for instant in instants]
    if len(layers) < 2:
        return [layer.candidates[0] for layer in layers]
    _follow(layers, 0, 0, 1)
    _follow(layers, len(layers) - 1, 0, -1)
    chosen = _shortest_path(layers)
    tried: set[int] = set()
    for _ in range(ROUNDS):
        jumps = [i for i in _jumps(layers, chosen) if i not in tried]
        if not jumps:
            break
        for i in jumps[:AT_ONCE]:
            tried.add(i)
            _seed(layers, i)
        chosen = _shortest_path(layers)
    path = [layer.candidates[chosen[i]] for i, layer in enumerate(layers)]
    changes = [i for i in range(len(path) - 1) if not _is_linked(layers, i, chosen)]
    path = blend_changes(instants, path, changes)
    smooth(instants, path)
    for track in (_whole(layers, 1), _whole(layers, -1)):
        if track and _is_better(track, path):
            smooth(instants, track)
            path = track
    return path


def _is_linked(layers: list[_Layer], at: int, chosen: list[int]) -> bool:
    """Return whether the path stays on its track after a frame.

    Args:
        layers: The candidates of all frames.
        at: The frame.
        chosen: The path: the index of a candidate in each frame.
    """
    candidate, successor = chosen[at], chosen[at + 1]
    return (
        layers[at].successors[candidate] == successor
        or layers[at + 1].predecessors[successor] == candidate
    )


def _whole(layers: list[_Layer], direction: int) -> list[Candidate]:
    """Return the track from the first or last frame if it spans the shot, else an empty list.

    Args:
        layers: The candidates of all frames.
        direction: 1 for the track that starts at the first frame, -1 for the last.
    """
    at, candidate = (0, 0) if direction > 0 else (len(layers) - 1, 0)
    track = [layers[at].candidates[0]]
    while len(track) < len(layers):
        candidate = (
            layers[at].successors[candidate]
            if direction > 0
            else layers[at].predecessors[candidate]
        )
        if candidate < 0:
            return []
        at += direction
        track.append(layers[at].candidates[candidate])
    return track if direction > 0 else track[::-1]


def _is_better(track: list[Candidate], path: list[Candidate]) -> bool:
    """Return whether a track is smoother than the path, without missing or moving more."""
    if any([path[i].reaches and not candidate.reaches for i, candidate in enumerate(track)]):
        return False
    if _path_cost(track) > MORE * _path_cost(path):
        return False
    return roughest(track) < roughest(path)


def _path_cost(path: list[Candidate]) -> float:
    return sum([squared_distance(path[i], path[i + 1]) for i in range(len(path) - 1)])


def _follow(layers: list[_Layer], at: int, candidate: int, direction: int) -> None:
    """Continue a candidate's track from frame to frame in a direction until it ends.

    A track ends where it merges with another track, or misses a target that another candidate
    reaches.

    Args:
        layers: The candidates of all frames.
        at: The frame of the candidate.
        candidate: Its index in that frame.
        direction: 1 to go forward, -1 to go backward.
    """
    previous_step = 0.0
    while 0 <= at + direction < len(layers):
        layer, next_layer = layers[at], layers[at + direction]
        links = layer.successors if direction > 0 else layer.predecessors
        if links[candidate] >= 0:
            return
        current = layer.candidates[candidate]
        solved = next_layer.instant.solved_from(current.rotations, current.location)
        if not solved.reaches and next_layer.least_missed() == 0.0:
            return
        step = largest_step(current, solved)
        next_candidate = next_layer.place(solved)
        if step <= max(JUMP, FASTER * previous_step):
            links[candidate] = next_candidate
        candidate, previous_step = next_candidate, step
        at += direction


def _seed(layers: list[_Layer], at: int) -> None:
    """Start tracks on both sides of a jump, in both directions."""
    for i in (at, at + 1):
        layer = layers[i]
        if len(layer.candidates) > MOST:
            continue
        candidates = {0}
        for number in range(SEEDS):
            solved = layer.instant.solved_from(
                layer.instant.spread(number + 1), layer.candidates[0].location
            )
            if solved.reaches or layer.least_missed() > 0.0:
                candidates.add(layer.place(solved))
        for candidate in sorted(candidates | set(range(len(layer.candidates)))):
            _follow(layers, i, candidate, 1)
            _follow(layers, i, candidate, -1)


def _shortest_path(layers: list[_Layer]) -> list[int]:
    """Return each frame's candidate on the path of least cost."""
    costs = layers[0].costs()
    back: list[list[int]] = []
    for i in range(1, len(layers)):
        previous, layer = layers[i - 1], layers[i]
        added = layer.costs()
        predecessors: list[int] = []
        total: list[float] = []
        for k, candidate in enumerate(layer.candidates):
            best, least = 0, inf
            for j, other in enumerate(previous.candidates):
                cost = costs[j]
                if previous.successors[j] != k and layer.predecessors[k] != j:
                    cost += CHANGE_COSTS
                if cost < least:
                    cost += squared_distance(other, candidate, least - cost)
                    if cost < least:
                        best, least = j, cost
            predecessors.append(best)
            total.append(least + added[k])
        back.append(predecessors)
        costs = total
    cheapest = costs.index(min(costs))
    chosen = [cheapest]
    for predecessors in reversed(back):
        cheapest = predecessors[cheapest]
        chosen.append(cheapest)
    chosen.reverse()
    return chosen


def _jumps(layers: list[_Layer], chosen: list[int]) -> list[int]:
    """Return the frames after which the path jumps, the largest jump first."""
    path = [layer.candidates[chosen[i]] for i, layer in enumerate(layers)]
    steps = [largest_step(path[i], path[i + 1]) for i in range(len(path) - 1)]
    jumps: list[tuple[float, int]] = []
    for i, step in enumerate(steps):
        beside = max(steps[i - 1] if i else 0.0, steps[i + 1] if i + 1 < len(steps) else 0.0)
        if step > JUMP and step > FASTER * beside:
            jumps.append((-step, i))
    return [i for _, i in sorted(jumps)]
