"""The valley on a line that is most likely to be real."""

import numpy as np
import pytest
from tests import naive

from ravine.cuts import _valley as module
from ravine.cuts._density import normal_bandwidth, projected_density
from ravine.cuts._valley import BANDWIDTHS, WINDOWS, strongest_valley


def two_modes(rng, n=500, gap=6.0, share=0.5):
    right = rng.uniform(size=n) < share
    return rng.normal(size=n) + gap * right


def test_strongest_valley_lies_between_the_modes(rng):
    valley = strongest_valley(two_modes(rng), np.ones(500), 1.06)
    assert abs(valley.left_mode) < 1 < valley.position < 5 < valley.right_mode
    assert valley.left_mode + valley.window / 2 <= valley.position <= valley.right_mode - valley.window / 2
    assert valley.relative_depth > 1


def test_equal_values_have_no_valley():
    assert strongest_valley(np.ones(30), np.ones(30), 1.06) is None


@pytest.mark.parametrize("gap", [2.5, 4.0, 8.0])
@pytest.mark.parametrize("least_side", [0.0, 0.3])
def test_score_is_the_best_over_bandwidths_windows_and_antimodes(gap, least_side, rng):
    values, weights = two_modes(rng, 300, gap, 0.3), rng.integers(1, 3, size=300).astype(float)
    reference = normal_bandwidth(values, weights, 1.06)
    scores = []
    for multiple in BANDWIDTHS:
        along = projected_density(values, weights, multiple * reference)
        scores.append(naive.best_window_score(along.density, along.step, along.count, WINDOWS, 0.0, least_side))
    valley = strongest_valley(values, weights, 1.06, least_side=least_side)
    assert (0.0 if valley is None else valley.score) == pytest.approx(max(scores), abs=1e-6)


def test_density_at_the_place_is_the_exact_one_and_lower_than_at_the_modes(rng, monkeypatch):
    monkeypatch.setattr(module, "BANDWIDTHS", np.array([1.0]))
    values = two_modes(rng)
    valley = strongest_valley(values, np.ones(500), 1.06)
    h = normal_bandwidth(values, np.ones(500), 1.06)
    place, left, right = naive.density(values, np.ones(500), h, [valley.position, valley.left_mode, valley.right_mode])
    assert valley.density == pytest.approx(place, abs=0.011 * max(left, right))
    assert valley.relative_depth == pytest.approx(min(left, right) / place - 1, rel=0.15)


def test_few_outliers_do_not_hide_the_valley(rng):
    values = np.append(two_modes(rng), [60.0, 61.0, -70.0])
    assert 1 < strongest_valley(values, np.ones(503), 1.06).position < 5


def test_side_too_light_is_not_cut_off(rng):
    values = two_modes(rng, 500, 12.0, 0.1)
    free = strongest_valley(values, np.ones(500), 1.06)
    assert 3 < free.position < 9
    bound = strongest_valley(values, np.ones(500), 1.06, least_side=0.3)
    assert bound is None or 0.3 <= np.mean(values < bound.position) <= 0.7


def test_structure_finer_than_the_resolution_is_no_valley(rng):
    values = np.round(rng.normal(size=600) * 2)  # a lattice
    assert strongest_valley(values, np.ones(600), 0.05).window < 1
    coarse = strongest_valley(values, np.ones(600), 0.05, resolution=1.0)
    assert coarse is None or coarse.window >= 1


def test_integer_weights_equal_repeated_rows(rng):
    values, repeats = two_modes(rng, 200), rng.integers(1, 4, size=200)
    often = np.repeat(values, repeats)
    once, repeated = (
        strongest_valley(x, w, 1.06) for x, w in ((values, repeats.astype(float)), (often, np.ones(len(often))))
    )
    assert once.position == pytest.approx(repeated.position)
    assert once.score == pytest.approx(repeated.score)


@pytest.mark.parametrize(("shift", "scale"), [(3.0, 1.0), (0.0, 8.0), (-5.0, 0.125)])
def test_place_moves_with_the_data(shift, scale, rng):
    values = two_modes(rng)
    plain, moved = (strongest_valley(x, np.ones(500), 1.06) for x in (values, scale * values + shift))
    assert moved.position == pytest.approx(scale * plain.position + shift, abs=0.1 * scale)
    assert moved.relative_depth == pytest.approx(plain.relative_depth, rel=0.1)
