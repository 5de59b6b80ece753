import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import chisquare
from tests import naive
from tests.strategies import seeds

from ravine import _kernels

sizes, columns = st.integers(1, 9), st.integers(1, 4)
nothing = np.empty(0, dtype=np.int64)


def random_points(n, d, seed):
    """Points as columns, masses, and dual variables of the pairs, some inside the ball and some on its edge."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(d, n * (n - 1) // 2))
    z /= np.maximum(np.linalg.norm(z, axis=0), 1.0)
    return rng, rng.normal(size=(d, n)), rng.uniform(0.5, 3, n), z


@given(sizes, columns, seeds)
def test_dual_step_agrees_with_one_pair_at_a_time(n, d, seed):
    rng, U, m, z = random_points(n, d, seed)
    old, beta, h, F = z * rng.uniform(size=z.shape), rng.uniform(), rng.uniform(), rng.normal(size=U.shape)
    expected = naive.dual_steps(U, m, z, old, beta, h)
    before = z.copy()
    _kernels.pairs.dual_step(U, m, z, old, beta, h, F)
    assert_allclose(old, expected, rtol=1e-12, atol=1e-14)
    assert_allclose(F, naive.forces(expected, m), rtol=1e-12, atol=1e-12)
    assert_array_equal(z, before)


def test_dual_step_of_no_length_copies_the_dual_variables():
    _, U, m, z = random_points(7, 3, 0)
    old, F = np.zeros_like(z), np.zeros_like(U)
    _kernels.pairs.dual_step(U, m, z, old, 0.0, 0.0, F)
    assert_allclose(old, z, rtol=1e-15)


@given(sizes, columns, st.integers(0, 5), seeds)
def test_chained_forces_agree_with_dual_steps_that_are_stored(n, d, n_steps, seed):
    rng, U, m, _ = random_points(n, d, seed)
    steps, beta, F = rng.normal(size=(n_steps, d, n)), rng.uniform(size=n_steps), rng.normal(size=U.shape)
    _kernels.pairs.chained_forces(U, 0.7, steps, beta, 0.3, m, F)
    expected = naive.forces(naive.chained_multipliers(U, 0.7, steps, beta, 0.3, m), m)
    assert_allclose(F, expected, rtol=1e-11, atol=1e-11)


@given(sizes, columns, seeds)
def test_sum_and_largest_of_distances_agree_with_all_pairs_written_out(n, d, seed):
    _, U, m, _ = random_points(n, d, seed)
    i, k = np.triu_indices(n, 1)
    length = np.linalg.norm(U[:, i] - U[:, k], axis=0)
    assert_allclose(_kernels.pairs.weighted_distances(U, m), (m[i] * m[k]) @ length, rtol=1e-12)
    assert_allclose(_kernels.pairs.diameter(U), length.max(initial=0.0), rtol=1e-12)


@given(sizes, columns, seeds)
def test_merged_pairs_agree_with_each_two_groups_in_turn(n, d, seed):
    rng, _, m, z = random_points(n, d, seed)
    group = np.unique(rng.integers(0, n, n), return_inverse=True)[1]
    n_groups = group.max() + 1
    merged = rng.normal(size=(d, n_groups * (n_groups - 1) // 2))
    _kernels.pairs.merge_pairs(z, m, group, merged)
    assert_allclose(merged, naive.merged_pairs(z, m, group), rtol=1e-12, atol=1e-12)


@given(sizes, columns, seeds)
def test_joined_points_are_components_of_the_pairs_that_are_short_and_inside(n, d, seed):
    _, U, _, z = random_points(n, d, seed)
    i, k = np.triu_indices(n, 1)
    apart, length = np.linalg.norm(U[:, i] - U[:, k], axis=0), np.linalg.norm(z, axis=0)
    pairs = np.column_stack([i, k])
    fused = (length < 0.8) & (apart <= 1 - length)
    assert_array_equal(_kernels.pairs.join(z, U, 0.8, 1.0), naive.components(n, pairs[fused]))
    assert_array_equal(_kernels.pairs.join_near(U, 1.0), naive.components(n, pairs[apart <= 1.0]))


@given(sizes, columns, seeds)
def test_balanced_forces_within_groups_are_those_that_are_needed(n, d, seed):
    rng, _, m, z = random_points(n, d, seed)
    group = np.unique(rng.integers(0, 3, n), return_inverse=True)[1]
    total, i_k = np.bincount(group, m), np.triu_indices(n, 1)
    need = rng.normal(size=(d, n))
    need -= np.stack([np.bincount(group, m * row)[group] for row in need]) / total[group]
    balanced = naive.balanced_within(z, m, group, need)
    force = naive.pair_forces(balanced, m)
    assert_allclose(force, m * need, atol=1e-9)
    length = np.linalg.norm(balanced, axis=0)
    largest, joined = _kernels.pairs.balance_within(z, m, group, total, need, 0.7)
    within = group[i_k[0]] == group[i_k[1]]
    assert_allclose(largest, length[within].max(initial=0.0))
    assert_array_equal(joined, naive.components(n, np.column_stack(i_k)[within & (length < 0.7)]))


def test_points_are_apart_where_no_two_of_their_balls_meet():
    U = np.array([[0.0, 3.0, 10.0]])
    assert _kernels.pairs.are_apart(U, np.array([1.0, 1.5, 5.0]))
    assert not _kernels.pairs.are_apart(U, np.array([1.0, 2.0, 1.0]))


def test_points_at_the_same_place_are_near_at_distance_nought():
    U = np.array([[0.0, 1.0, 0.0, 1.0]])
    assert_array_equal(_kernels.pairs.join_near(U, 0.0), [0, 1, 0, 1])


@given(columns, st.sampled_from([0.01, 0.5, 20.0]), seeds)
def test_random_step_minimizes_the_terms_of_its_edge_and_the_way_it_goes(d, lam, seed):
    rng = np.random.default_rng(seed)
    X, U, share, m = rng.normal(size=(2, d)), rng.normal(size=(2, d)), rng.uniform(0.2, 2, 2), np.ones(2)
    a, b, w, mu, start = np.array([1]), np.array([0]), np.array([1.5]), rng.uniform(0.1, 5), U.copy()
    _kernels.pairs.random_steps(X, m, share, a, b, w, U, lam, mu, 0.9, 0, 1, seed)

    def cost(V):
        return naive.sum_of_norms(V, X, a, b, w, lam, share) + ((V - start) ** 2).sum() / (2 * mu)

    c = share + 1 / mu
    middle = (share[:, None] * X + start / mu) / c[:, None]
    assert_allclose(U, naive.cone_optimum(middle, a, b, w, lam, c)[1], atol=2e-5)
    shifts = rng.normal(size=(50, 2, d)) * 10.0 ** rng.uniform(-8, 0, (50, 1, 1))
    assert all(cost(U) <= cost(U + shift) + 1e-12 for shift in shifts)


def test_ends_of_an_edge_fuse_where_the_force_outweighs_their_distance():
    X, share = np.array([[0.0], [1.0]]), np.ones(2)
    edge = np.array([0]), np.array([1]), np.ones(1)
    for lam, fuse in ((0.49, False), (0.51, True)):
        U = X.copy()
        _kernels.pairs.random_steps(X, share, share, *edge, U, lam, 1e12, 0.0, 0, 1, 0)
        assert (U[0, 0] == U[1, 0]) == fuse


def test_random_steps_shrink_as_a_power_of_their_number():
    X, share = np.array([[0.0], [1.0]]), np.full(2, 1e-9)
    edge = np.array([0]), np.array([1]), np.ones(1)
    for done in (0, 64, 6400):
        U = X.copy()
        _kernels.pairs.random_steps(X, share, share, *edge, U, 1e-3, 2.0, 0.9, done, 1, 0)
        assert_allclose(U[0, 0], 1e-3 * 2.0 * (done + 1) ** -0.9, rtol=1e-6)


def test_each_pair_of_points_is_drawn_as_often_as_any_other(rng):
    X, U, one = rng.normal(size=(6, 1)), rng.normal(size=(6, 1)), np.ones(6)
    counts = np.zeros((6, 6))
    for done in range(6000):
        V = U.copy()
        _kernels.pairs.random_steps(X, one, one, nothing, nothing, np.empty(0), V, 0.1, 1.0, 0.0, done, 1, 7)
        i, k = np.flatnonzero((V != U)[:, 0])
        counts[i, k] += 1
    assert chisquare(counts[np.triu_indices(6, 1)]).pvalue > 1e-3


def test_each_edge_is_drawn_as_often_as_any_other(rng):
    X, U, one = np.zeros((8, 1)), np.ones((8, 1)), np.ones(8)
    a, b, counts = np.arange(0, 8, 2), np.arange(1, 8, 2), np.zeros(4)
    for done in range(4000):
        V = U.copy()
        _kernels.pairs.random_steps(X, one, one, a, b, np.ones(4), V, 0.1, 1.0, 0.0, done, 1, 7)
        counts[np.flatnonzero((V != U)[:, 0])[0] // 2] += 1
    assert chisquare(counts).pvalue > 1e-3


def test_weight_of_a_pair_is_the_product_of_the_masses():
    X, m, share = np.array([[0.0], [100.0]]), np.array([2.0, 3.0]), np.full(2, 1e-9)
    U = X.copy()
    _kernels.pairs.random_steps(X, m, share, nothing, nothing, np.empty(0), U, 0.5, 1.0, 0.0, 0, 1, 0)
    assert_allclose(U[:, 0], [3.0, 97.0], rtol=1e-6)


def test_random_steps_are_the_same_however_they_are_split(rng):
    X, m = rng.normal(size=(9, 2)), rng.uniform(1, 2, 9)
    results = []
    for parts in ([500], [1, 63, 64, 200, 172]):
        U, done = X.copy(), 0
        for n_steps in parts:
            _kernels.pairs.random_steps(X, m, m / 8, nothing, nothing, np.empty(0), U, 0.02, 5.0, 0.9, done, n_steps, 3)
            done += n_steps
        results.append(U)
    assert_array_equal(*results)


def attraction(u, x, centers, weight, lam):
    return 0.5 * ((x - u) ** 2).sum() + lam * weight @ np.linalg.norm(centers - u, axis=1)


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
def test_attracted_row_has_the_center_nearest_to_the_least_energy(lam, rng):
    X, centers, weight = 2 * rng.normal(size=(40, 2)), rng.normal(size=(4, 2)), rng.uniform(0.5, 2, 4)
    out = np.empty(40, dtype=np.int64)
    _kernels.pairs.attract(X, centers[None], weight[None], lam, 500, out)
    for x, nearest in zip(X, out, strict=True):
        starts = [x, *centers]
        rests = [minimize(attraction, s, (x, centers, weight, lam), "Nelder-Mead", tol=1e-10).x for s in starts]
        rest = min(rests + starts, key=lambda u: attraction(u, x, centers, weight, lam))
        assert nearest == np.linalg.norm(centers - rest, axis=1).argmin()


def test_rows_with_centers_of_their_own_are_attracted_one_by_one(rng):
    X, centers, weight = rng.normal(size=(10, 3)), rng.normal(size=(10, 4, 3)), rng.uniform(size=(10, 4))
    together, alone = np.empty(10, dtype=np.int64), np.empty(10, dtype=np.int64)
    _kernels.pairs.attract(X, centers, weight, 0.3, 50, together)
    for i in range(10):
        _kernels.pairs.attract(X[i : i + 1], centers[i : i + 1], weight[i : i + 1], 0.3, 50, alone[i : i + 1])
    assert_array_equal(together, alone)


def test_row_that_is_not_attracted_has_the_nearest_center(rng):
    X, centers = rng.normal(size=(30, 2)), rng.normal(size=(5, 2))
    out = np.empty(30, dtype=np.int64)
    _kernels.pairs.attract(X, centers[None], np.ones((1, 5)), 0.0, 50, out)
    assert_array_equal(out, np.linalg.norm(X[:, None] - centers, axis=2).argmin(axis=1))
