import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score
from tests import naive
from tests.strategies import seeds

from ravine._reservoir import merge_copies
from ravine._svc import Sample, choose, least_size, levels_below
from ravine._svc._width_choice import MOST_OCTAVES, SHARES, Cells, largest_region
from ravine.datasets import make_blobs, make_moons, make_rings


def sample_of(X, mass=None, n_jobs=None):
    return Sample(X, np.ones(len(X)) if mass is None else mass, n_jobs)


def chosen(X, mass=None, n_jobs=None, **given):
    sample = sample_of(X, mass, n_jobs)
    return choose(sample, least_size(len(X)) / len(X), **given)


def moons(n=200, seed=0):
    return make_moons(n, noise=0.05, random_state=seed)


def blobs(n=200, seed=0):
    return make_blobs(n, centers=3, cluster_std=0.5, random_state=seed)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("data", [moons, blobs])
def test_moons_and_blobs_are_found(data, seed):
    X, y = data(seed=seed)
    choice = chosen(X)
    assert adjusted_rand_score(y, choice.labels) == 1.0
    assert choice.strength > 10


def test_rings_are_found():
    X, y = make_rings(1000, sizes="length", noise=0.1, random_state=0)
    choice = chosen(X, n_jobs=2)
    assert adjusted_rand_score(y, choice.labels) >= 0.99
    assert choice.strength > 5


@pytest.mark.parametrize("seed", range(3))
def test_one_gaussian_in_ten_columns_has_no_clusters(seed):
    choice = chosen(np.random.default_rng(seed).normal(size=(300, 10)))
    assert choice.labels is None
    assert choice.strength == 0


def test_scaled_and_shifted_rows_have_the_same_clusters_and_a_scaled_gamma():
    X, _ = moons()
    choice = chosen(X)
    for scale, shift in ((2.0**40, 0.0), (2.0**-30, 0.0), (3.7, np.array([5.0, -80.0]))):
        other = chosen(scale * X + shift)
        assert_array_equal(other.labels, choice.labels)
        assert_allclose(other.gamma * scale**2, choice.gamma, rtol=1e-9)
        assert_allclose(other.C, choice.C, rtol=1e-5)
        assert_allclose(other.strength, choice.strength, rtol=1e-2)


def test_order_of_the_rows_has_no_say(rng):
    X, _ = moons()
    order = rng.permutation(len(X))
    choice, other = chosen(X), chosen(X[order])
    assert adjusted_rand_score(choice.labels[order], other.labels) == 1.0
    assert_allclose([choice.gamma, choice.C], [other.gamma, other.C], rtol=1e-5)


@pytest.mark.parametrize("data", [moons, lambda: (np.random.default_rng(0).normal(size=(100, 8)), None)])
def test_number_of_threads_changes_nothing(data):
    X, _ = data()
    alone = chosen(X, n_jobs=1)
    for n_jobs in (2, 5):
        threads = chosen(X, n_jobs=n_jobs)
        assert (threads.gamma, threads.C, threads.strength) == (alone.gamma, alone.C, alone.strength)
        assert_array_equal(threads.labels, alone.labels)


def test_weights_are_copies_that_were_merged(rng):
    X, _ = blobs(150)
    times = rng.integers(1, 4, 150)
    copies = np.repeat(X, times, axis=0)
    rows, mass = merge_copies(copies, np.ones(len(copies)), seed=0)
    place = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
    assert_array_equal(mass, times[place])
    choice, other = chosen(rows, mass), chosen(rows, 5.0 * times[place])
    assert (choice.gamma, choice.labels.max()) == (other.gamma, other.labels.max())
    assert_array_equal(choice.labels, other.labels)


def test_weight_alone_can_make_a_few_rows_a_cluster(rng):
    X = np.vstack([rng.normal(size=(100, 2)), 20 + 0.1 * rng.normal(size=(4, 2))])
    is_far = np.arange(104) >= 100
    for weight, is_found in ((1.0, False), (10.0, True)):
        labels = choose(sample_of(X, np.where(is_far, weight, 1.0)), 0.05).labels
        assert (labels is not None and adjusted_rand_score(is_far, labels) == 1.0) == is_found


def test_number_of_clusters_that_is_given_decides():
    X, y = make_blobs(240, centers=[[0, 0], [3, 0], [30, 0], [33, 0]], cluster_std=0.3, random_state=0)
    for n_clusters, expected in ((2, y // 2), (4, y)):
        choice = chosen(X, n_clusters=n_clusters)
        assert adjusted_rand_score(expected, choice.labels) == 1.0
        assert choice.strength > 0
    assert chosen(X, n_clusters=17).labels is None


def test_gamma_and_trade_off_that_are_given_are_kept():
    X, y = moons()
    choice = chosen(X, gamma=30.0, C=25.0)
    assert (choice.gamma, choice.C) == (30.0, 25.0)
    assert adjusted_rand_score(y, choice.labels) == 1.0
    assert chosen(X, C=25.0).C == 25.0
    free = chosen(X, gamma=30.0)
    assert free.gamma == 30.0
    ratio = free.C * naive.gaussian_kernel(X, X, 30.0).mean()
    assert np.isclose(ratio, [1, 2, 4], rtol=1e-4).any()


@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.array([[0.0, 1.0], [2.0, 1.0]]), 1e-12 * np.eye(3)])
def test_few_rows_have_no_clusters(X):
    choice = chosen(X)
    assert choice.labels is None
    assert 0 < choice.gamma < np.inf
    assert 0 < choice.C < np.inf


def test_clusters_of_a_choice_have_numbers_without_gaps_and_are_at_least_as_large_as_asked():
    for X, _ in (moons(), blobs()):
        labels = chosen(X).labels
        sizes = np.bincount(labels)
        assert sizes.min() >= least_size(len(X))


def test_grid_goes_from_widths_of_all_data_to_those_of_neighbors(rng):
    X = rng.normal(size=(200, 3))
    sample = sample_of(X)
    grid = sample.grid()
    assert_allclose(grid[1:] / grid[:-1], np.sqrt(2))
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert_allclose(1 / np.sqrt(grid[-1]), 0.5 * np.median(apart.min(axis=1)))
    spread = np.sqrt(((X - np.median(X, axis=0)) ** 2).sum(axis=1).mean())
    assert 2.8 * spread <= 1 / np.sqrt(grid[0]) <= 2.8 * 2**0.25 * spread * 1.02


def test_grid_ends_after_so_many_doublings(rng):
    X = np.vstack([1e-9 * rng.normal(size=(50, 2)), [[1e9, 0.0]]])
    grid = sample_of(X).grid()
    assert_allclose(grid[-1] / grid[0], 2.0**MOST_OCTAVES)


@given(st.integers(1, 40), st.booleans(), seeds)
def test_levels_have_the_shares_below_them_that_were_asked_for(n, has_ties, seed):
    rng = np.random.default_rng(seed)
    at_rows = rng.integers(0, 4, n).astype(float) if has_ties else rng.uniform(size=n)
    share = rng.dirichlet(np.ones(n))
    for level, asked in zip(levels_below(at_rows, share, SHARES), SHARES, strict=True):
        assert level in at_rows
        assert share[at_rows < level].sum() <= asked + 1e-12
        assert share[at_rows <= level].sum() > asked - 1e-12


def test_level_has_just_the_share_below_it_where_a_row_makes_it_up():
    levels = levels_below(np.array([4.0, 2.0, 1.0, 3.0]), np.full(4, 0.25), np.array([0.0, 0.25, 0.5, 0.9, 1.0]))
    assert_array_equal(levels, [1, 2, 3, 4, 4])


@pytest.mark.parametrize(("total", "least"), [(10, 5), (250, 5), (400, 8), (625, 12.5), (10_000, 50), (1e6, 500)])
def test_least_size_is_a_fiftieth_or_half_the_root_and_five_at_least(total, least):
    assert_allclose(least_size(total), least)


PARTITIONS = {"-": np.zeros(12), "a": np.arange(12) // 6, "b": np.arange(12) % 2, "c": np.arange(12) // 4}


def cells_of(letters, depth, covered=1.0):
    """Cells of twelve rows: a letter for the partition at each γ, C and level."""
    letters = np.array([[list(levels) for levels in gamma] for gamma in letters])
    labels = np.array([PARTITIONS[letter] for letter in letters.ravel()], dtype=np.int64).reshape(*letters.shape, 12)
    depth, covered = (np.broadcast_to(value, letters.shape) for value in (depth, covered))
    return Cells(np.ones(letters.shape), labels, labels.max(axis=-1) + 1, covered, depth)


def along_gamma(*columns):
    return [[levels] for levels in columns]


def region_of(*cells, n_clusters=None):
    """Letter of the largest region, its place, and its strength."""
    cells = cells_of(*cells)
    place, strength = largest_region(cells, np.full(12, 1 / 12), n_clusters)
    letter = next(name for name, labels in PARTITIONS.items() if np.array_equal(labels, cells.labels[place]))
    return letter, place, pytest.approx(strength)


def test_clusters_that_stay_the_same_most_widely_are_chosen_in_their_middle():
    assert region_of(along_gamma("-", "b", "b", "a", "a", "a", "-"), 0.5) == ("a", (4, 0, 0), 1.5)
    assert region_of(along_gamma("bbb-", "bbb-", "bbb-", "aaaa"), 0.5) == ("b", (1, 0, 1), 4.5)


def test_deep_valleys_outweigh_many_cells():
    depth = np.array([0.9, 0.9, 0.2, 0.2, 0.2, 0.2])[:, None, None]
    letter, _, strength = region_of(along_gamma("b", "b", "a", "a", "a", "a"), depth)
    assert (letter, strength) == ("b", 1.8)


def test_cells_count_towards_the_middle_by_their_depth():
    depth = np.array([1.0, 0.1, 0.1, 0.1, 0.1])[:, None, None]
    assert region_of(along_gamma("a", "a", "a", "a", "a"), depth) == ("a", (1, 0, 0), 1.4)


def test_clusters_that_come_back_elsewhere_or_at_another_trade_off_are_another_region():
    assert region_of(along_gamma("a", "b", "b", "a"), 0.5)[0] == "b"
    assert region_of([["a", "a", "a"], ["b", "-", "-"], ["b", "-", "-"]], 0.5)[0] == "b"
    assert region_of([["a", "-"], ["-", "b"], ["-", "b"]], 0.5)[2] == 1.0


def test_cells_without_valleys_or_with_few_rows_on_modes_do_not_count():
    letters, few = along_gamma("b", "a", "a", "a"), np.array([1.0, 0.2, 0.2, 0.2])[:, None, None]
    assert region_of(letters, 0.5, few)[0] == "b"
    assert region_of(letters, np.array([1.0, 0, 0, 0])[:, None, None])[0] == "b"
    assert largest_region(cells_of(along_gamma("-", "-", "-"), 0.5), np.full(12, 1 / 12), None) is None


def test_more_clusters_win_where_regions_are_about_as_strong():
    letters = along_gamma("a", "a", "-", "c", "c")
    for depth, letter in ((0.5, "c"), (0.6, "a")):
        assert region_of(letters, np.array([depth, depth, 0.5, 0.5, 0.5])[:, None, None])[0] == letter


def test_largest_region_with_the_number_of_clusters_that_is_given():
    letters = along_gamma("a", "a", "a", "-", "c")
    assert region_of(letters, 0.5, n_clusters=3) == ("c", (4, 0, 0), 0.5)
    assert largest_region(cells_of(letters, 0.5), np.full(12, 1 / 12), 4) is None


@pytest.mark.parametrize("exponent", [15, 20, 200])
def test_rows_that_differ_by_next_to_nothing_beside_others_have_clusters(exponent):
    k = np.arange(40)
    near = np.c_[10.0**-exponent * (k + 1), np.full(40, 5.0)]
    X = np.vstack([near, near[:, ::-1], 5 + np.random.default_rng(0).uniform(size=(20, 2))])
    choice = choose(Sample(X, np.ones(100)), 0.05)
    assert 0 < choice.gamma < np.inf
    assert choice.labels is not None
    for group in (slice(0, 40), slice(40, 80)):
        assert len(np.unique(choice.labels[group])) == 1
    assert choice.labels[0] != choice.labels[40]
