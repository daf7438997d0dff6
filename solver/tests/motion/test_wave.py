"""Waves that run along a chain."""

from math import dist, radians

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Bone, ChainInput, Local
from fabrik_solver.core.vectors import IDENTITY, length, quat_about, quat_angle
from fabrik_solver.motion.wave import Wave, pose_wave, smooth_noise, turns

SINE = Wave(0.3, 0.5, 0.1, 0.0, 0.0, 0.0, 1)
EVEN = [0.1] * 20


def chain_of(count: int) -> ChainInput:
    bones, head = [], (0.0, 0.0, 0.0)
    for _ in range(count):
        bones.append(Bone(IDENTITY, head, 0.1))
        head = (0.0, 0.1, 0.0)
    locals_ = [Local(rotation=quat_about((0.6, 0.0, 0.8), radians(7))) for _ in range(count)]
    return ChainInput(bones, locals_, head, WHOLE)


waves = st.builds(
    Wave,
    st.floats(0.0, 1.5),
    st.floats(0.05, 5.0),
    st.floats(-50.0, 50.0),
    st.floats(-1.0, 1.0),
    st.floats(-7.0, 7.0),
    st.floats(0.0, 1.0),
    st.integers(0, 2**31 - 1),
)


@given(waves)
def test_no_bone_turns_by_more_than_the_amplitude_and_its_noise_on_both_axes(wave: Wave) -> None:
    for turn in turns(EVEN, wave):
        assert turn[1] == 0.0
        assert length(turn) <= wave.amplitude * 2.0**0.5 + 1e-12


@given(waves)
def test_the_same_numbers_wave_the_same(wave: Wave) -> None:
    chain = chain_of(8)
    assert pose_wave(chain, wave).numbers == pose_wave(chain_of(8), wave).numbers


@given(waves, st.floats(-1e-6, 1e-6))
def test_it_moves_without_a_jump(wave: Wave, step: float) -> None:
    later = wave._replace(turns=wave.turns + step)
    for before, after in zip(turns(EVEN, wave), turns(EVEN, later), strict=True):
        assert dist(before, after) <= 15.0 * wave.amplitude * abs(step) + 1e-12


def test_a_wave_runs_from_the_root_to_the_tip() -> None:
    # A quarter of a wave is an eighth of this chain, which is two and a half of its bones.
    before, after = turns(EVEN, SINE), turns(EVEN, SINE._replace(turns=0.1 + 0.2))
    for i in range(len(EVEN) - 2):
        assert after[i + 2] == pytest.approx(before[i])


def test_after_a_whole_wave_the_sine_is_where_it_was() -> None:
    for a, b in zip(turns(EVEN, SINE), turns(EVEN, SINE._replace(turns=1.1)), strict=True):
        assert a == pytest.approx(b)


def test_the_direction_says_about_which_axis_bones_turn() -> None:
    for x, _, z in turns(EVEN, SINE):
        assert z == 0.0
        assert x != 0.0
    for x, _, z in turns(EVEN, SINE._replace(direction=radians(90.0))):
        assert abs(x) < 1e-12 < abs(z)


def test_falloff_keeps_one_end_still() -> None:
    whole = turns(EVEN, SINE)
    to_tip = turns(EVEN, SINE._replace(falloff=1.0))
    to_root = turns(EVEN, SINE._replace(falloff=-1.0))
    for i, turn in enumerate(whole):
        way = (i + 0.5) / len(whole)
        assert to_tip[i] == pytest.approx((turn[0] * way, 0.0, 0.0))
        assert to_root[i] == pytest.approx((turn[0] * (1.0 - way), 0.0, 0.0))


def test_seeds_differ_and_noise_uses_both_axes() -> None:
    noisy = SINE._replace(noise=1.0)
    one, other = turns(EVEN, noisy), turns(EVEN, noisy._replace(seed=2))
    assert max(map(dist, one, other)) > 0.1
    assert max(abs(turn[0]) for turn in one) > 0.05
    assert max(abs(turn[2]) for turn in one) > 0.05


def test_noise_keeps_its_numbers() -> None:
    """They are part of files: another version may not move what was animated with this one."""
    assert smooth_noise(0.0, 0) == NOISE[0]
    assert smooth_noise(-3.5, 7) == NOISE[1]
    assert smooth_noise(12345.25, 2**31) == NOISE[2]


NOISE = (-0.9896496259583276, 0.9918700922261621, -0.1661548489160265)


def test_noise_is_of_all_sizes_and_in_bounds() -> None:
    values = [smooth_noise(0.37 * i, 3) for i in range(3000)]
    assert -1.0 <= min(values) < -0.9
    assert 0.9 < max(values) <= 1.0
    assert abs(sum(values) / len(values)) < 0.05


def test_no_amplitude_leaves_the_pose_as_it_is() -> None:
    chain = chain_of(5)
    posture = pose_wave(chain, SINE._replace(amplitude=0.0))
    for rotation, own in zip(posture.rotations, chain.rotations, strict=True):
        assert quat_angle(rotation, own) < 1e-12
    assert dist(posture.tip, chain.joints[-1]) < 1e-12


def test_influence_turns_each_bone_part_of_the_way() -> None:
    chain = chain_of(5)
    full, half = pose_wave(chain, SINE), pose_wave(chain, SINE, 0.5)
    for own, part, whole in zip(chain.rotations, half.rotations, full.rotations, strict=True):
        assert quat_angle(own, part) == pytest.approx(quat_angle(own, whole) / 2)


def test_bones_without_length_wave_as_well() -> None:
    assert len(turns([0.0, 0.0, 0.0], SINE)) == 3
