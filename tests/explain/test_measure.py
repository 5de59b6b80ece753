import numpy as np
import pytest
from tests import naive

from ravine.explain import profile
from ravine.explain._measure import KUIPER, MOST_CHANCE, differences, directions


@pytest.mark.parametrize("seed", range(5))
def test_ordered_values_are_compared_over_all_ranges(seed):
    rng = np.random.default_rng(seed)
    is_in = np.arange(14) < 6
    values = np.where(rng.random(14) < 0.2, None, rng.integers(0, 6, 14).astype(object))
    expected = naive.difference_of_shares(values, is_in, naive.range_conditions(values))
    counts = np.array([[np.sum([v == k for v in values[rows]]) for k in [*range(6), None]] for rows in (is_in, ~is_in)])
    many = np.array([1e12])
    found = differences(counts[:1].astype(float), counts.sum(axis=0).astype(float), many, many, is_ordered=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_levels_are_compared_over_all_sets(seed):
    rng = np.random.default_rng(seed)
    is_in = np.arange(14) < 6
    values = np.where(rng.random(14) < 0.2, None, rng.integers(0, 4, 14).astype(object))
    expected = naive.difference_of_shares(values, is_in, naive.set_conditions(values))
    counts = np.array([[np.sum([v == k for v in values[rows]]) for k in [*range(4), None]] for rows in (is_in, ~is_in)])
    many = np.array([1e12])
    found = differences(counts[:1].astype(float), counts.sum(axis=0).astype(float), many, many, is_ordered=False)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_difference_by_hand():
    """Of 4 rows of the cluster 3 are 1, of 4 others 1: the difference is 1/2, and chance is the root of 1/4π, 0.28."""
    counts, total = np.array([[1.0, 3.0, 0.0]]), np.array([4.0, 4.0, 0.0])
    four = np.array([4.0])
    chance = np.sqrt(2 / np.pi * 0.25 / 2)
    expected = (0.5 - chance) / (1 - chance)
    for is_ordered in (True, False):
        np.testing.assert_allclose(differences(counts, total, four, four, is_ordered), expected)


def test_chance_is_what_clusters_without_a_difference_have():
    """Of numbers and of levels, of large and of small clusters: the mean difference stays near zero."""
    rng = np.random.default_rng(0)
    n = 4000
    table = {
        "number": rng.normal(size=n),
        "zero or one": rng.integers(0, 2, n).astype(float),
        "levels": rng.choice([f"level {i}" for i in range(30)], n),
        "truth": rng.random(n) < 0.3,
    }
    for n_clusters in (4, 40, 400):
        found = profile(table, rng.integers(0, n_clusters, n)).difference
        assert found.mean(axis=0).max() < 0.06


def test_range_of_a_brownian_bridge():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(2000, 400)) / 20
    bridge = np.cumsum(steps - steps.mean(axis=1, keepdims=True), axis=1)
    np.testing.assert_allclose(np.ptp(bridge, axis=1).mean(), KUIPER, rtol=0.05)


def test_direction_counts_pairs(rng):
    values, is_in = rng.integers(0, 6, 60), np.arange(60) < 20
    pairs = np.sign(values[is_in][:, None] - values[~is_in][None, :])
    counts = np.array([np.append(np.bincount(values[is_in], minlength=6), 0.0)])
    total = np.append(np.bincount(values, minlength=6), 0.0)
    np.testing.assert_allclose(directions(counts, total), pairs.mean())


def test_numbers_and_levels_are_comparable(rng):
    """The same truth values as numbers, as texts and as truth values differ by the same."""
    labels = rng.integers(0, 5, 500)
    truth = rng.random(500) < np.array([0.1, 0.3, 0.5, 0.7, 0.9])[labels]
    table = {"number": truth.astype(float), "text": np.where(truth, "a", "b"), "truth": truth}
    found = profile(table, labels).difference
    np.testing.assert_allclose(found, np.repeat(found[:, :1], 3, axis=1), atol=1e-12)


def test_units_and_far_values_do_not_matter(rng):
    labels = rng.integers(0, 3, 300)
    values = rng.normal(size=300) + labels
    far = values.copy()
    far[values.argmax()] = 1e300
    found = profile({"a": values, "b": np.exp(values), "c": far, "d": values * 1e-9}, labels).difference
    np.testing.assert_allclose(found, np.repeat(found[:, :1], 4, axis=1), atol=1e-12)
    found = profile({"a": values, "b": -values}, labels)
    np.testing.assert_allclose(found.direction[:, 0], -found.direction[:, 1], atol=1e-12)


def test_a_cluster_in_the_middle_differs():
    values = np.arange(300.0)
    labels = ((values >= 100) & (values < 200)).astype(int)
    column = profile({"a": values}, labels).column("a")
    assert column.difference[1] > 0.98
    assert abs(column.direction[1]) < 1e-9


def test_a_single_cluster_differs_in_nothing(rng):
    found = profile({"a": rng.normal(size=50), "b": rng.choice(["u", "v"], 50)}, np.zeros(50, dtype=int))
    assert found.difference.tolist() == [[0.0, 0.0]]


def test_a_cluster_of_one_row_is_not_put_down_to_chance():
    assert MOST_CHANCE < 1
    column = profile({"a": [*np.arange(99.0), 1e6]}, [0] * 99 + [1]).column("a")
    assert column.difference[1] == pytest.approx(1.0)
    assert column.direction[1] == pytest.approx(1.0)
