"""A foot lies on what is below both of its ends, and neither is in the ground."""

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver.core.vectors import Vec, length, scaled, sub
from fabrik_solver.motion.sole import counted, resting_normal

UP = (0.0, 0.0, 1.0)
FOOT = (0.2, 0.0, -0.04)

slopes = st.floats(-1.5, 1.5)


def facing(slope: float, roll: float = 0.0) -> Vec:
    """Return the normal of a face that rises along X, and along Y."""
    normal = (-slope, -roll, 1.0)
    return scaled(normal, 1.0 / length(normal))


def pitch(normal: Vec) -> float:
    return -normal[0] / normal[2]


@given(slopes, slopes)
def test_plane_is_lain_on_as_it_is(slope: float, roll: float) -> None:
    normal = facing(slope, roll)
    assert length(sub(resting_normal(normal, normal, FOOT, 0.2 * slope, UP), normal)) < 1e-9


@given(st.floats(-2.0, 2.0), st.floats(-0.5, 0.5))
def test_round_ground_is_lain_on_from_end_to_end(bend: float, slope: float) -> None:
    """A parabola: heel and toes touch, though the faces below them are turned otherwise."""
    rise = slope * 0.2 + bend * 0.2**2
    found = resting_normal(facing(slope), facing(slope + 2 * bend * 0.2), FOOT, rise, UP)
    assert isclose(pitch(found), rise / 0.2, abs_tol=1e-9)
    assert isclose(length(found), 1.0)


def test_foot_is_level_over_a_stair_and_over_its_edge() -> None:
    for rise in (0.15, -0.15):
        assert resting_normal(UP, UP, FOOT, rise, UP) == UP


@given(slopes, slopes, st.floats(-0.3, 0.3))
def test_slope_is_never_beyond_those_of_the_faces(a: float, b: float, rise: float) -> None:
    found = pitch(resting_normal(facing(a), facing(b), FOOT, rise, UP))
    assert min(a, b) - 1e-9 <= found <= max(a, b) + 1e-9


def test_sideways_it_is_the_mean() -> None:
    found = resting_normal(facing(0.0, 0.2), facing(0.0, 0.4), FOOT, 0.0, UP)
    assert isclose(-found[1] / found[2], 0.3)


def test_foot_that_points_down_lies_as_the_face_below_it() -> None:
    assert resting_normal(facing(0.3), UP, (0.0, 0.0, -0.2), 0.1, UP) == facing(0.3)


def test_walls_before_the_toes_fade() -> None:
    found = [counted(0.1, rise, 0.2) for rise in (-1.0, 0.1, 0.2, 0.3, 0.4, 2.0)]
    assert [round(x, 9) for x in found] == [
        0.1,
        0.1,
        0.1,
        0.05,
        0.0,
        0.0,
    ]
    assert counted(-0.1, 0.0, 0.2) == 0.0
