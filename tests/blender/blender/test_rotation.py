"""The values of rotation channels."""

import pytest
from mathutils import Quaternion

from addon.blender.rotation import AXIS_ANGLE, QUATERNION, channel_values, quaternion

TURN = (0.5, 0.1, -0.7, 0.5)
"""A rotation, of norm 1."""


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("given", [1.0, -1.0])
def test_of_the_two_quaternions_of_a_rotation_the_nearest_is_keyed(
    given: float, sign: float
) -> None:
    near = [sign * x for x in (0.6, 0.2, -0.6, 0.4)]
    values = channel_values(QUATERNION, tuple(given * x for x in TURN), near)
    assert values == pytest.approx([sign * x for x in TURN])


@pytest.mark.parametrize("turns", [-2, 0, 1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_axis_and_angle_stay_on_their_side_and_turn_as_often(sign: float, turns: int) -> None:
    axis, angle = Quaternion(TURN).to_axis_angle()
    near = [sign * angle + 6.3 * turns, *(sign * x for x in axis)]
    values = channel_values(AXIS_ANGLE, TURN, near)
    assert values == pytest.approx(near, abs=0.1)
    assert quaternion(AXIS_ANGLE, values) == pytest.approx(
        [(-1.0) ** turns * x for x in TURN], abs=1e-5
    ) or quaternion(AXIS_ANGLE, values) == pytest.approx(
        [-((-1.0) ** turns) * x for x in TURN], abs=1e-5
    )
