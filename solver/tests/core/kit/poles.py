"""To which side a chain bends, and whether its pole counts there."""

from strategies import Point

from fabrik_solver.core.bend import NEAR_AXIS, UNCLEAR
from fabrik_solver.core.vectors import Vec, across, add, length, sub, unit


def vec(point: Point) -> Vec:
    return (point[0], point[1], point[2])


def direction(a: Point, b: Point) -> Vec:
    found = unit(sub(vec(b), vec(a)))
    assert found is not None
    return found


def bend_of(joints: tuple[Point, ...], axis: Vec) -> Vec:
    """Where the inner joints stand off the axis through the root, on the whole."""
    bulge: Vec = (0.0, 0.0, 0.0)
    for joint in joints[1:-1]:
        bulge = add(bulge, across(sub(vec(joint), vec(joints[0])), axis))
    return bulge


def has_less_weight(joints: tuple[Point, ...], target: Point, pole: Point) -> bool:
    """Whether the pole is nearly on the axis, or the bend direction is unclear."""
    axis = direction(joints[0], target)
    aside = length(across(direction(joints[0], pole), axis))
    apart = sum(length(across(sub(vec(joint), vec(joints[0])), axis)) for joint in joints)
    return aside < NEAR_AXIS or length(bend_of(joints, axis)) < 1.01 * UNCLEAR * apart
