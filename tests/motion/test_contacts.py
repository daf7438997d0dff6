"""When a foot stands: an ordinary walk or run needs no thresholds."""

from __future__ import annotations

import itertools
from math import cos, pi, sin, tau

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.motion.contacts import Contact, Thresholds, contacts_of

Track = tuple[list[tuple[float, float, float]], list[float]]

AUTOMATIC = Thresholds()


def walk(stand: int, swing: int, stride: float, lift: float, cycles: int = 4) -> Track:
    """A foot that stands for some frames and then swings ahead; its place, and its height."""
    path, heights = [], []
    for frame in range(cycles * (stand + swing) + 1):
        cycle, phase = divmod(frame, stand + swing)
        u = max(0.0, (phase - stand) / swing)
        share = u * u * (3.0 - 2.0 * u)
        height = 0.08 + lift * sin(pi * u) ** 2
        path.append((stride * (cycle + share), 0.1, height))
        heights.append(height)
    return path, heights


def found(track: Track, leg: float = 0.9, thresholds: Thresholds = AUTOMATIC) -> list[Contact]:
    return contacts_of(*track, 24.0, leg, thresholds)


@pytest.mark.parametrize(
    ("stand", "swing", "stride", "lift"),
    [(14, 10, 1.3, 0.12), (6, 12, 2.6, 0.35), (30, 18, 0.5, 0.04), (3, 9, 3.0, 0.5)],
    ids=["walk", "run", "stroll", "sprint"],
)
@pytest.mark.parametrize("size", [0.1, 1.0, 20.0])
def test_each_step_of_a_cycle_is_one_contact(
    stand: int, swing: int, stride: float, lift: float, size: float
) -> None:
    path, heights = walk(stand, swing, stride, lift)
    track = [tuple(size * x for x in place) for place in path], [size * h for h in heights]
    contacts = found(track, leg=0.9 * size)
    steps = [contact for contact in contacts if contact.last < len(path) - 1]
    assert len(steps) == 4
    for i, contact in enumerate(steps):
        first = i * (stand + swing)
        # The ends of a swing are slow as well: a frame or two of them count as standing.
        assert first - 2 <= contact.first <= first + 1
        assert first + stand - 1 <= contact.last <= first + stand + 2
        assert abs(contact.place[0] - size * stride * i) < 0.05 * size


def test_foot_that_stands_all_the_time_has_one_contact() -> None:
    path = [(0.001 * sin(i), 0.0, 0.08) for i in range(50)]
    assert [(c.first, c.last) for c in found((path, [0.08] * 50))] == [(0, 49)]


def test_foot_in_the_air_has_no_contact_but_where_it_is_lowest_and_slow() -> None:
    path = [(0.1 * i, 0.0, 0.5) for i in range(50)]
    assert found((path, [0.5] * 50)) == []


def test_slow_foot_high_up_does_not_stand() -> None:
    """At the top of a kick the foot is still."""
    heights = [0.4 - 0.4 * cos(tau * i / 48) for i in range(97)]
    path = [(0.0, 0.0, h) for h in heights]
    for contact in found((path, heights)):
        assert max(heights[contact.first : contact.last + 1]) < 0.3


def test_trembling_about_a_threshold_is_one_contact() -> None:
    """Hysteresis: at rest it is slower than 0.18 m/s, and it goes on up to 1.75 times that."""
    path, x = [], 0.0
    for i in range(40):
        x += (0.16 if i % 2 else 0.2) / 24.0 * (1 if i % 4 < 2 else -1)
        path.append((x, 0.0, 0.08))
    thresholds = Thresholds(speed=0.18)
    assert len(found((path, [0.08] * 40), thresholds=thresholds)) == 1


def test_thresholds_of_yours_count() -> None:
    path, heights = walk(14, 10, 1.3, 0.12)
    assert found((path, heights), thresholds=Thresholds(speed=1e-9, height=1e-9, shortest=15)) == []
    wide = found((path, heights), thresholds=Thresholds(speed=0.9, height=0.05))
    strict = found((path, heights))
    assert len(wide) == len(strict)
    assert all(w.first <= s.first and s.last <= w.last for w, s in zip(wide, strict, strict=True))


def test_height_threshold_of_yours_counts() -> None:
    """A foot that is set down from 6 cm, slowly: it stands once it is as low as you say."""
    heights = [0.08 + max(0.0, 0.06 - 0.002 * i) for i in range(60)]
    path = [(0.0, 0.0, h) for h in heights]
    for height in (0.01, 0.03):
        (contact,) = found((path, heights), thresholds=Thresholds(speed=1.0, height=height))
        assert heights[contact.first] <= 0.08 + 1.75 * height < heights[contact.first - 1]


def test_foot_that_bobs_a_little_stands_all_the_time() -> None:
    """Half a centimetre up and down is no step, though it is all that the foot does."""
    heights = [0.08 + 0.005 * sin(tau * i / 24) for i in range(97)]
    path = [(0.0, 0.0, h) for h in heights]
    assert [(c.first, c.last) for c in found((path, heights))] == [(0, 96)]


def test_one_wild_frame_does_not_say_how_a_foot_goes() -> None:
    """A jump of the keys is not how fast the foot is: else all of the walk were slow beside it."""
    path, heights = walk(14, 10, 1.3, 0.12)
    wanted = [(c.first, c.last) for c in found((path, heights))]
    x, y, z = path[20]
    path[20] = (x + 40.0, y, z)
    assert [(c.first, c.last) for c in found((path, heights))] == wanted


def test_foot_that_creeps_on_is_not_held_for_long() -> None:
    """A quarter of a leg to each side is the most that one contact covers."""
    path = [(0.002 * i, 0.0, 0.08) for i in range(800)]
    contacts = found((path, [0.08] * 800))
    assert len(contacts) > 2
    for contact in contacts:
        assert path[contact.last][0] - path[contact.first][0] <= 0.5 * 0.9 + 1e-9


@given(st.lists(st.floats(-1.0, 1.0), min_size=0, max_size=40), st.integers(0, 9))
def test_contacts_are_apart_and_long_enough(steps: list[float], shortest: int) -> None:
    path, heights, x = [], [], 0.0
    for step in steps:
        x += 0.1 * step
        path.append((x, 0.0, abs(step)))
        heights.append(abs(step))
    contacts = contacts_of(path, heights, 24.0, 1.0, Thresholds(shortest=shortest))
    for contact in contacts:
        assert contact.last - contact.first >= max(1, shortest)
    for a, b in itertools.pairwise(contacts):
        assert b.first - a.last >= 2


def test_contacts_are_the_same_played_backwards() -> None:
    path, heights = walk(14, 10, 1.3, 0.12)
    last = len(path) - 1
    back = [(last - c.last, last - c.first) for c in found((path[::-1], heights[::-1]))]
    assert back[::-1] == [(c.first, c.last) for c in found((path, heights))]


def test_no_track_has_no_contacts() -> None:
    assert found(([], [])) == [] and found(([(0.0, 0.0, 0.0)], [0.0])) == []
    assert contacts_of([(0.0, 0.0, 0.0)] * 9, [0.0] * 9, 0.0, 1.0, AUTOMATIC) == []
