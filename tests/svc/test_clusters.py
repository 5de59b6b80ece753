import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from ravine._svc import (
    Learned,
    Modes,
    Sample,
    Strip,
    WidthChoice,
    clustering_of,
    find_modes,
    find_segments,
    levels_below,
    solve_exactly,
)
from ravine.datasets import make_blobs

LEAST = 0.03


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(300, centers=[[0, 0], [5, 0], [0, 30], [5, 30]], cluster_std=0.5, random_state=0)
    kernel_sum, _, _ = solve_exactly(X, np.ones(len(X)), 1.0, 100.0, 1e-6, 1000)
    return y, kernel_sum, Sample(X, np.ones(len(X)))


def test_modes_for_a_given_width_are_the_most_steady(blobs):
    _, kernel_sum, sample = blobs
    chosen = WidthChoice(1.0, 100.0, np.zeros(len(sample.rows), dtype=np.int64), 7.0)
    found = find_modes(kernel_sum, sample, chosen, LEAST, None, gamma_is_given=True)
    modes, strength = Modes.most_steady(kernel_sum, sample, LEAST, None)
    assert_array_equal(found.modes.labels, modes.labels)
    assert (found.strength, found.agreement) == (strength, 1.0)


def test_modes_for_a_chosen_width_are_those_chosen_with_it(blobs):
    y, kernel_sum, sample = blobs
    found = find_modes(kernel_sum, sample, WidthChoice(1.0, 100.0, y, 7.0), LEAST, None, gamma_is_given=False)
    assert adjusted_rand_score(y, found.modes.labels) == 1.0
    assert (found.strength, found.agreement) == (7.0, pytest.approx(1.0))
    one = find_modes(kernel_sum, sample, WidthChoice(1.0, 100.0, None, 0.0), LEAST, None, gamma_is_given=False)
    assert one.modes.n_clusters == 1


def test_other_number_of_modes_is_found_where_a_level_has_it(blobs):
    y, kernel_sum, sample = blobs
    chosen = WidthChoice(1.0, 100.0, y, 7.0)
    assert find_modes(kernel_sum, sample, chosen, LEAST, 2, gamma_is_given=False).modes.n_clusters == 2
    assert find_modes(kernel_sum, sample, chosen, LEAST, 40, gamma_is_given=False).modes.n_clusters == 4


def test_segments_are_those_of_the_strip(blobs):
    _, kernel_sum, sample = blobs
    found = find_segments(kernel_sum, sample.rows, WidthChoice(1.0, 100.0, None, 0.5), 0.1, None)
    strip = Strip.of(kernel_sum, sample.rows, 0.1, None)
    assert_array_equal(found.modes.rows, strip.rows)
    assert_array_equal(found.modes.labels, strip.labels)
    assert (found.strength, found.agreement) == (0.5, 1.0)


@pytest.mark.parametrize("contamination", [0.0, 0.2])
def test_boundary_leaves_at_most_the_given_share_outside(blobs, contamination):
    y, kernel_sum, sample = blobs
    learned = Learned.of(kernel_sum, 100.0, sample, gap=0.5, n_iter=3)
    found = find_modes(kernel_sum, sample, WidthChoice(1.0, 100.0, y, 7.0), LEAST, None, gamma_is_given=False)
    result = clustering_of(learned, found, sample, contamination)
    assert result.offset == min(1.0, levels_below(learned.heights, sample.share, np.array([contamination]))[0])
    assert (learned.heights < result.offset).mean() <= contamination
    assert (result.C, result.gap, result.n_iter, result.objective) == (100.0, 0.5, 3, learned.objective)


def test_one_cluster_has_no_strength(blobs):
    y, kernel_sum, sample = blobs
    learned = Learned.of(kernel_sum, 100.0, sample)
    found = find_modes(kernel_sum, sample, WidthChoice(1.0, 100.0, y, 7.0), LEAST, 1, gamma_is_given=False)
    assert found.strength == 7.0
    assert clustering_of(learned, found, sample, 0.02).strength == 0.0
