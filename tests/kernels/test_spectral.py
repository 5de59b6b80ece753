import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests import naive
from tests.strategies import seeds

from ravine._kernels import spectral

SHAPE = 0.1
both_laplacians = pytest.mark.parametrize("normalized", [False, True], ids=["standard", "normalized"])


def cloud(seed, n=12, d=2):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    points[: n // 3, 0] += 3
    return points, rng.integers(1, 4, size=n).astype(float)


def weighed(points, counts, scale):
    n = len(counts)
    graph, degrees = np.empty((n, n)), np.empty(n)
    pairs = np.empty((3, n * (n - 1) // 2))
    spectral.similarities(np.ascontiguousarray(points.T), counts, scale, SHAPE, pairs, graph, degrees)
    return graph, degrees


def second(points, counts, scale, normalized, seed=0):
    """λ₂, λ₃, their vectors, the sizes and the graph after elimination."""
    graph, degrees = weighed(points, counts, scale)
    pivots = np.empty(len(counts))
    spectral.eliminate(graph, pivots)
    sizes = degrees if normalized else counts
    vectors = np.random.default_rng(seed).normal(size=(2, len(counts)))
    values = spectral.second_pair(graph, pivots, sizes, vectors)
    return *values, vectors, sizes, graph


@given(seeds, st.sampled_from([0.05, 0.7, 20.0]), st.integers(1, 3))
def test_similarities_and_degrees_agree_with_naive(seed, scale, d):
    points, counts = cloud(seed, d=d)
    graph, degrees = weighed(points, counts, scale)
    dense = naive.similarity_graph(points, counts, scale)
    assert_allclose(graph, dense - np.diag(counts**2), rtol=1e-10)
    assert_allclose(degrees, dense.sum(axis=1), rtol=1e-10)


@given(seeds, st.booleans())
def test_elimination_solves_the_laplacian_and_leaves_the_weights_above(seed, some_zero):
    points, counts = cloud(seed)
    graph, _ = weighed(points, counts, 0.7)
    if some_zero:
        graph[np.abs(graph) < 0.1] = 0.0
        graph[0, 1:] = graph[1:, 0] = np.maximum(graph[0, 1:], 1e-3)
    laplacian = np.diag(graph.sum(axis=1)) - graph
    factors, pivots, out = graph.copy(), np.empty(12), np.empty(12)
    spectral.eliminate(factors, pivots)
    right = np.random.default_rng(seed).normal(size=12)
    right -= right.mean()
    spectral.solve(factors, pivots, right.copy(), out)
    assert out[0] == 0
    assert_allclose(laplacian @ out, right, atol=1e-9)
    assert_allclose(np.triu(factors, 1), np.triu(graph, 1))


@both_laplacians
@given(seed=seeds, scale=st.sampled_from([0.3, 1.0, 20.0]), counted=st.booleans())
def test_second_pair_agrees_with_dense_matrices(normalized, seed, scale, counted):
    points, counts = cloud(seed)
    counts = counts if counted else np.ones(12)
    dense, dense_vectors = naive.laplacian_pairs(naive.similarity_graph(points, counts, scale), counts, normalized)
    value, next_value, vectors, sizes, _ = second(points, counts, scale, normalized)
    # At a large scale all eigenvalues are nearly one, and the steps end before their vectors are told apart.
    assert_allclose(value, dense[1], rtol=1e-8 if scale < 20 else 0.05)
    assert_allclose(next_value, dense[2], rtol=0.3)
    assert next_value >= dense[2] * (1 - 1e-8)
    assert_allclose((vectors * sizes) @ vectors.T, np.eye(2), atol=1e-8)
    if scale < 20 and dense[2] > 1.1 * dense[1]:
        assert_allclose(abs(dense_vectors[:, 1] @ (sizes * vectors[0])), 1, atol=1e-7)


@both_laplacians
@given(seed=seeds)
def test_counts_stand_for_repeated_rows(normalized, seed):
    points, counts = cloud(seed)
    rows = np.repeat(points, counts.astype(int), axis=0)
    once = np.ones(len(rows))
    dense, _ = naive.laplacian_pairs(naive.similarity_graph(rows, once, 1.0), once, normalized)
    assert_allclose(second(points, counts, 1.0, normalized)[0], dense[1], rtol=1e-8)


@both_laplacians
@pytest.mark.parametrize(
    "gap",
    [40.0, 75.0, 300.0, 600.0],
)
def test_tiny_eigenvalues_keep_their_digits(normalized, gap, rng):
    counts = rng.integers(1, 4, size=12).astype(float)
    points = np.sort(rng.uniform(size=12))[:, np.newaxis]
    points[5:] += gap
    value, _, _, sizes, _ = second(points, counts, 1.0, normalized)
    left = np.arange(12) < 5
    # To leading order, and the next is smaller by the weight across.
    assert_allclose(value, naive.cut_value(naive.similarity_graph(points, counts, 1.0), left, sizes), rtol=1e-10)
    assert value < np.exp(-gap + 10)


@both_laplacians
def test_two_points_have_an_eigenvalue(normalized, rng):
    counts = np.array([2.0, 3.0])
    for _ in range(10):
        points = rng.normal(size=(2, 1))
        dense, _ = naive.laplacian_pairs(naive.similarity_graph(points, counts, 1.0), counts, normalized)
        assert_allclose(second(points, counts, 1.0, normalized)[0], dense[1], rtol=1e-8)


def test_similarities_that_vanish_give_no_finite_eigenvalue():
    value = second(np.array([[0.0], [0.5], [1e5]]), np.ones(3), 1.0, False)[0]
    assert not 0 < value < np.inf


@both_laplacians
@given(seed=seeds, d=st.integers(1, 3))
def test_slopes_agree_with_finite_differences(normalized, seed, d):
    points, counts = cloud(seed, d=d)

    def value(points, counts):
        return naive.laplacian_pairs(naive.similarity_graph(points, counts, 1.0), counts, normalized)[0][1]

    dense, vectors = naive.laplacian_pairs(naive.similarity_graph(points, counts, 1.0), counts, normalized)
    if dense[2] < 1.05 * dense[1]:
        return
    graph, _ = weighed(points, counts, 1.0)
    spectral.eliminate(graph, np.empty(12))  # only what stands above the diagonal is asked for
    by_column, by_mass = np.zeros((d, 12)), np.empty(12)
    vector = np.ascontiguousarray(vectors[:, 1])
    columns = np.ascontiguousarray(points.T)
    spectral.slopes(columns, 1.0, SHAPE, graph, vector, dense[1], normalized, by_column)
    spectral.mass_slopes(graph, counts, vector, dense[1], normalized, by_mass)
    for i in range(0, 12, 5):
        step = 1e-5 * np.eye(12)[i]
        change = value(points, counts + step) - value(points, counts - step)
        assert_allclose(by_mass[i], change / 2e-5, atol=1e-7)
        for c in range(d):
            moved = np.outer(step, np.eye(d)[c])
            change = value(points + moved, counts) - value(points - moved, counts)
            assert_allclose(by_column[c, i], change / 2e-5, atol=1e-6)


@both_laplacians
@given(seed=seeds, d=st.integers(1, 2))
def test_sweep_is_the_best_of_all_cuts_in_the_order(normalized, seed, d):
    points, counts = cloud(seed, d=d)
    dense = naive.similarity_graph(points, counts, 0.5)
    sizes = dense.sum(axis=1) if normalized else counts
    order = np.random.default_rng(seed).permutation(12)
    graph, _ = weighed(points, counts, 0.5)
    spectral.eliminate(graph, np.empty(12))
    value, place = spectral.sweep(graph, order, sizes)
    best = naive.best_sweep(dense, order, sizes)
    assert_allclose(value, naive.cut_value(dense, best, sizes), rtol=1e-8)
    assert np.isin(np.arange(12), order[:place]).tolist() == best.tolist()


@given(seeds, st.integers(1, 3))
def test_heights_are_differences_of_the_nearest_distances(seed, d):
    rng = np.random.default_rng(seed)
    values, positions, is_left = rng.normal(size=(20, d)), rng.normal(size=(7, d)), np.arange(7) % 3 == 0
    out = np.empty(20)
    spectral.heights(values, positions, is_left, out)
    apart = np.linalg.norm(values[:, None] - positions, axis=2)
    assert_allclose(out, apart[:, is_left].min(axis=1) - apart[:, ~is_left].min(axis=1), atol=1e-12)
