"""Smooths a path of poses by crossfading where tracks change, and evening out velocities."""

from collections.abc import Sequence
from math import inf
from typing import Final

from .instants import Candidate, Instant, second_difference
from .vectors import ORIGIN, Quat, Vec, add, mix, quat_compatible, quat_unit, scaled, slerp

BLENDS: Final = (64, 32, 16, 8, 4)
"""The crossfade widths to try, in frames to each side; the smoothest result is used."""

PASSES: Final = 40
"""Maximum number of smoothing passes."""

GAIN: Final = 0.98
"""A pass is progress if it reduces the largest second difference below this fraction of the
least so far."""

PATIENCE: Final = 4
"""Number of passes without progress after which smoothing ends."""

ROUGH: Final = 0.3
"""The fraction of the largest second difference above which frames are smoothed."""


def blend_changes(
    instants: Sequence[Instant], path: list[Candidate], changes: list[int]
) -> list[Candidate]:
    """Return a path with crossfades where it changes tracks.

    Args:
        instants: The solve input of each frame.
        path: The pose at each frame.
        changes: The frames after which the track changes.
    """
    for number, at in enumerate(changes):
        first = changes[number - 1] + 1 if number else 0
        last = changes[number + 1] if number + 1 < len(changes) else len(path) - 1
        best, least = path, _unevenness(path, at)
        for width in BLENDS:
            other = _blend(instants, path, at, max(first, at + 1 - width), min(last, at + width))
            uneven = _unevenness(other, at)
            if uneven < least:
                best, least = other, uneven
        path = best
    return path


def _unevenness(path: list[Candidate], at: int) -> float:
    """Return the largest second difference of any point near a change of tracks."""
    first = max(0, at - BLENDS[0] - 1)
    return roughest(path[first : at + BLENDS[0] + 3])


def _blend(
    instants: Sequence[Instant], path: list[Candidate], at: int, first: int, last: int
) -> list[Candidate]:
    """Return the path with both tracks extended past a change and crossfaded.

    Args:
        instants: The solve input of each frame.
        path: The pose at each frame.
        at: The frame after which the track changes.
        first: The first frame of the crossfade.
        last: The last frame of the crossfade.
    """
    first_track: dict[int, Candidate] = {}
    second_track: dict[int, Candidate] = {}
    for i in range(first, at + 1):
        first_track[i] = path[i]
    for i in range(at + 1, last + 1):
        neighbor = first_track[i - 1]
        first_track[i] = instants[i].solved_from(neighbor.rotations, neighbor.location)
        second_track[i] = path[i]
    for i in range(at, first - 1, -1):
        neighbor = second_track[i + 1]
        second_track[i] = instants[i].solved_from(neighbor.rotations, neighbor.location)
    blended = [*path]
    for i in range(first, last + 1):
        factor = (i - first + 1) / (last - first + 2)
        factor = factor * factor * (3.0 - 2.0 * factor)
        pairs = zip(first_track[i].rotations, second_track[i].rotations, strict=True)
        rotations = [slerp(a, b, factor) for a, b in pairs]
        location = mix(first_track[i].location, second_track[i].location, factor)
        solved = instants[i].solved_from(rotations, location)
        if path[i].reaches and not solved.reaches:
            return path
        blended[i] = solved
    return blended


def smooth(instants: Sequence[Instant], path: list[Candidate]) -> None:
    """Reduce the largest second differences, as far as targets and limits allow.

    Each pose is solved again from (−a + 4b + 4d − e) / 6 of its neighbors. This minimizes the
    squares of the second differences. The result is accepted if the differences shrink.
    """
    count = len(path)
    least, idle = inf, 0
    for number in range(PASSES):
        changes = [0.0] * count
        for i in range(1, count - 1):
            changes[i] = second_difference(path[i - 1], path[i], path[i + 1])
        most = max(changes)
        idle = 0 if most < GAIN * least else idle + 1
        least = min(least, most)
        if idle > PATIENCE:
            return
        threshold = ROUGH * most
        frames = [i for i in range(1, count - 1) if max(changes[i - 1 : i + 2]) > threshold]
        if number % 2:
            frames.reverse()
        has_changed = False
        for i in frames:
            near = [path[max(0, min(count - 1, k))] for k in range(i - 2, i + 3)]
            weights = (
                (-1.0, 4.0, 0.0, 4.0, -1.0) if 2 <= i < count - 2 else (0.0, 1.0, 0.0, 1.0, 0.0)
            )
            solved = instants[i].solved_from(*_mean(near, weights))
            if path[i].reaches and not solved.reaches:
                continue
            if _roughness(path, i, solved) < _roughness(path, i, path[i]):
                path[i] = solved
                has_changed = True
        if not has_changed:
            return


def _mean(near: list[Candidate], weights: Sequence[float]) -> tuple[list[Quat], Vec]:
    """Return the weighted mean of poses, with compatible quaternions for rotations."""
    total = sum(weights)
    rotations: list[Quat] = []
    for i, rotation in enumerate(near[2].rotations):
        w = x = y = z = 0.0
        for weight, candidate in zip(weights, near, strict=True):
            if weight != 0.0:
                a, b, c, d = quat_compatible(candidate.rotations[i], rotation)
                w, x, y, z = w + weight * a, x + weight * b, y + weight * c, z + weight * d
        rotations.append(quat_unit((w / total, x / total, y / total, z / total)))
    location = ORIGIN
    for weight, candidate in zip(weights, near, strict=True):
        location = add(location, scaled(candidate.location, weight / total))
    return rotations, location


def _roughness(path: list[Candidate], at: int, candidate: Candidate) -> float:
    """Return the sum of the squared second differences that involve a pose."""
    total = 0.0
    for i in range(max(1, at - 1), min(len(path) - 1, at + 2)):
        a, b, c = (candidate if k == at else path[k] for k in (i - 1, i, i + 1))
        for p, q, r in zip(a.points, b.points, c.points, strict=True):
            x, y, z = p[0] - 2.0 * q[0] + r[0], p[1] - 2.0 * q[1] + r[1], p[2] - 2.0 * q[2] + r[2]
            total += x * x + y * y + z * z
    return total


def roughest(path: list[Candidate]) -> float:
    """Return the largest second difference of any point."""
    most = 0.0
    for i in range(1, len(path) - 1):
        most = max(most, second_difference(path[i - 1], path[i], path[i + 1]))
    return most
