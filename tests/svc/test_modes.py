import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score
from tests import naive

from ravine import _kernels
from ravine._numbering import from_low_to_high
from ravine._svc import KernelSum, Modes, Nearest, Sample, Strip, levels_below, solve_exactly
from ravine._svc._width_choice import SHARES
from ravine.datasets import make_blobs, make_moons


def fitted(X, gamma, ratio=2.0):
    C = ratio / naive.gaussian_kernel(X, X, gamma).mean()
    return solve_exactly(X, np.ones(len(X)), gamma, C, 1e-4, 2000)[0], Sample(X, np.ones(len(X)))


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(200, noise=0.05, random_state=0)
    return X, y, *fitted(X, 30.0)


@pytest.fixture(scope="module")
def pairs():
    """Four blobs in two pairs, of 40, 50, 60 and 70 rows."""
    centers = [[0, 0], [3, 0], [12, 0], [15, 0]]
    X, y = make_blobs([40, 50, 60, 70], centers=centers, cluster_std=0.4, random_state=0)
    return X, y, *fitted(X, 2.0)


def low_mode_beside_two():
    """At low levels one mode stands apart from two that are one; at high levels these two are apart, and it is not."""
    kernel_sum = KernelSum(np.array([[0.0], [10.0], [11.7]]), np.array([0.5, 1.0, 1.0]), 1.0)
    rows = np.concatenate([np.linspace(-0.2, 0.2, n) + c for n, c in ((30, 0.0), (35, 10.0), (35, 11.7))])
    return kernel_sum, Sample(rows[:, None], np.ones(100)), np.repeat([0, 1, 2], [30, 35, 35])


def at_levels(kernel_sum, sample, least):
    """Levels, and the labels, number of modes and depth at each of them."""
    at_rows = kernel_sum.heights(sample.rows)
    lowest = kernel_sum.lowest_between(sample.rows, sample.a, sample.b, at_rows)
    labels, number, _, depth = sample.flood(lowest, at_rows, least)
    return sample.levels(at_rows), labels, number, depth


def test_modes_are_those_at_the_level_where_they_are_most_like_the_target():
    kernel_sum, sample, y = low_mode_beside_two()
    levels, labels, _, _ = at_levels(kernel_sum, sample, 0.1)
    for target, level in ((y > 0, levels[0]), (y > 1, levels[7])):
        modes, alike = Modes.most_like(kernel_sum, sample, 0.1, target.astype(np.int64))
        assert adjusted_rand_score(target, modes.labels) == 1.0
        assert alike == pytest.approx(1.0)
        assert modes.level == level
    noisy = np.where(np.arange(100) % 10 == 0, 1, y // 2)
    agreements = [_kernels.svc.agreement(at, noisy, 2, sample.share) for at in labels]
    modes, alike = Modes.most_like(kernel_sum, sample, 0.1, noisy)
    assert alike == max(agreements) < 1
    assert modes.level == levels[np.argmax(agreements)]


def test_modes_where_no_level_has_any_are_one_and_not_alike(moons):
    _, y, kernel_sum, sample = moons
    modes, alike = Modes.most_like(kernel_sum, sample, 1.1, y)
    assert_array_equal(modes.labels, 0)
    assert alike == 0


def test_steady_modes_are_those_in_the_middle_of_the_levels_at_which_they_are_the_same(pairs):
    _, y, kernel_sum, sample = pairs
    modes, strength = Modes.most_steady(kernel_sum, sample, 0.03, None)
    levels, labels, *_ = at_levels(kernel_sum, sample, 0.03)
    assert_array_equal(modes.labels, from_low_to_high(y, sample.rows, sample.share))
    same = np.array([adjusted_rand_score(y, at) > 0.99 for at in labels])
    assert same.sum() > 4
    assert levels[same].min() < modes.level < levels[same].max()
    assert strength == same.sum()
    assert Modes.most_steady(kernel_sum, sample, 0.03, 4)[1] == strength


def test_modes_are_one_where_none_are_steady(pairs):
    X, _, kernel_sum, sample = pairs
    for least, n_clusters in ((0.9, None), (0.03, 17)):
        modes, strength = Modes.most_steady(kernel_sum, sample, least, n_clusters)
        assert_array_equal(modes.labels, 0)
        assert (modes.n_clusters, strength) == (1, 0.0)
        assert modes.level == levels_below(kernel_sum.heights(X), sample.share, SHARES)[0]


def test_modes_are_numbered_from_low_to_high(pairs):
    _, y, kernel_sum, sample = pairs
    weighted = Sample(sample.rows, np.array([9.0, 1.0, 5.0, 1.0])[y])
    for either in (sample, weighted):
        expected = from_low_to_high(y, either.rows, either.share)
        assert_array_equal(Modes.most_like(kernel_sum, either, 0.03, y)[0].labels, expected)
        assert_array_equal(Modes.most_steady(kernel_sum, either, 0.03, None)[0].labels, expected)
        assert_array_equal(Modes.with_number(kernel_sum, either, 0.03, 4).labels, expected)


def test_of_equally_heavy_modes_that_with_the_least_row_is_the_first():
    X = np.concatenate([100 + np.arange(20.0), np.arange(20.0)])[:, None]
    kernel_sum, sample = fitted(X, 0.5)
    modes, _ = Modes.most_like(kernel_sum, sample, 0.2, np.repeat([1, 0], 20))
    assert_array_equal(modes.labels, np.repeat([1, 0], 20))


def test_modes_at_a_level_are_components_above_it(pairs):
    X, _, kernel_sum, sample = pairs
    at_rows = kernel_sum.heights(X)
    lowest = kernel_sum.lowest_between(X, sample.a, sample.b, at_rows)
    order = np.argsort(-lowest, kind="stable")
    labels, *rest = sample.flood(lowest, at_rows, 0.1)
    for j, level in enumerate(sample.levels(at_rows)):
        expected = naive.flood(sample.a, sample.b, lowest, order, at_rows, sample.share, level, 0.1)
        assert_array_equal(labels[j], expected[0])
        assert_allclose([part[j] for part in rest], expected[1:])


def test_number_of_modes_that_is_asked_for_is_given_at_the_deepest_valleys():
    kernel_sum, sample, y = low_mode_beside_two()
    levels, _, number, depth = at_levels(kernel_sum, sample, 0.1)
    assert_array_equal(number, [2, 2, 2, 2, 2, 1, 1, 2, 2])
    assert (depth[0] > 0.9) & (depth[7] < 0.1)
    modes = Modes.with_number(kernel_sum, sample, 0.1, 2)
    assert adjusted_rand_score(y > 0, modes.labels) == 1.0
    assert modes.level == levels[0]


def test_more_modes_than_are_asked_for_are_joined_over_the_highest_valleys(pairs):
    X, y, _, sample = pairs
    kernel_sum, _ = fitted(X, 1.0)
    lowest = kernel_sum.lowest_between(X, sample.a, sample.b, kernel_sum.heights(X))
    expected = y
    for n_clusters in (3, 2, 1):
        ends = expected[sample.a], expected[sample.b]
        highest = np.where(ends[0] != ends[1], lowest, -1).argmax()
        expected = np.where(expected == ends[0][highest], ends[1][highest], expected)
        modes = Modes.with_number(kernel_sum, sample, 0.03, n_clusters)
        assert adjusted_rand_score(expected, modes.labels) == 1.0
        assert_array_equal(modes.labels, from_low_to_high(expected, X, sample.share))
        assert modes.n_clusters == n_clusters


def test_number_of_modes_that_no_level_has_is_refused(pairs):
    _, _, kernel_sum, sample = pairs
    for n_clusters in (0, 9):
        with pytest.raises(ValueError, match=f"n_clusters={n_clusters}: no level of this surface has"):
            Modes.with_number(kernel_sum, sample, 0.03, n_clusters)


def test_rows_get_the_cluster_of_the_nearest_row(rng):
    rows, labels, X = rng.normal(size=(30, 3)), rng.integers(0, 4, 30), rng.normal(size=(50, 3))
    nearest = Nearest(rows, labels, 0.5)
    expected = np.linalg.norm(X[:, None] - rows, axis=2).argmin(axis=1)
    for n_jobs in (None, 2):
        assert_array_equal(nearest.find(X, n_jobs), expected)
        assert_array_equal(nearest.predict(X, n_jobs), labels[expected])
    assert_array_equal(nearest.predict(rows), labels)
    assert nearest.n_clusters == labels.max() + 1


def test_strip_has_the_rows_within_epsilon_of_the_boundary(moons):
    X, _, kernel_sum, _ = moons
    off = np.abs(kernel_sum.heights(X) - 1)
    assert (off <= 0.1).sum() > 10
    strip = Strip.of(kernel_sum, X, 0.1, None)
    assert_array_equal(strip.rows, np.unique(X[off <= 0.1], axis=0))
    assert strip.level == 1.0
    assert_array_equal(np.unique(strip.labels), np.arange(strip.n_clusters))


def test_strip_with_few_rows_takes_those_nearest_to_the_boundary(moons):
    X, _, kernel_sum, _ = moons
    low = KernelSum(kernel_sum.vectors, 0.1 * kernel_sum.coefficients, kernel_sum.gamma)
    off = np.abs(low.heights(X) - 1)
    assert (off > 0.01).all()
    strip = Strip.of(low, X, 0.01, None)
    assert_array_equal(strip.rows, np.unique(X[np.argsort(off)[:10]], axis=0))
    assert_array_equal(np.unique(strip.labels), np.arange(strip.n_clusters))
    few = Strip.of(kernel_sum, X[:4], 0.0, None)
    assert_array_equal(few.rows, np.unique(X[:4], axis=0))


def test_strip_depends_neither_on_the_order_of_rows_nor_on_copies(moons, rng):
    X, _, kernel_sum, _ = moons
    strip = Strip.of(kernel_sum, X, 0.1, None)
    other = Strip.of(kernel_sum, np.vstack([X, X])[rng.permutation(400)], 0.1, None)
    assert_array_equal(strip.rows, other.rows)
    assert_array_equal(strip.labels, other.labels)


def test_strip_has_the_clusters_of_equilibria_that_lines_above_the_boundary_connect(pairs):
    X, y, kernel_sum, _ = pairs
    high = KernelSum(kernel_sum.vectors, 1.2 * kernel_sum.coefficients, kernel_sum.gamma)
    strip = Strip.of(high, X, 0.3, None)
    equilibria, which = high.equilibria(strip.rows)

    def height(x):
        return high.heights(x[None])[0]

    group = naive.connected(height, equilibria, 1.0, 20)[which]
    assert_array_equal(group[:, None] == group, strip.labels[:, None] == strip.labels)
    assert_array_equal(strip.labels, from_low_to_high(strip.labels, strip.rows, np.ones(len(strip.rows))))
    assert adjusted_rand_score(y, strip.predict(X)) == 1.0


def test_strip_does_not_depend_on_threads(moons):
    X, _, kernel_sum, _ = moons
    one, two = (Strip.of(kernel_sum, X, 0.1, n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.rows, two.rows)
    assert_array_equal(one.labels, two.labels)
