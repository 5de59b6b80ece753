"""The least connected direction of rows of which some have labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests import naive
from tests.strategies import seeds

from ravine._matrix import moments_of
from ravine.cuts import _labeled
from ravine.cuts._labeled import LabeledConnectivity, labeled_cut, merged, typical_gap


def line(seed, n=40, n_labels=6):
    """Values of mean 0 around two places, weights, and sides of which one is wrong."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(-1, 0.5, n // 2), rng.normal(1, 0.5, n - n // 2)])
    weights = rng.uniform(0.5, 2, n)
    sides = np.zeros(n, dtype=np.int64)
    chosen = rng.permutation(n)[:n_labels]
    sides[chosen] = np.where(chosen < n // 2, -1, 1)
    sides[chosen[:2]] = [-1, 1][:n_labels]
    return values - np.average(values, weights=weights), weights, sides


@given(seeds, st.sampled_from([0.1, 0.4, 2.0]), st.sampled_from([0.5, 1.5]))
def test_few_rows_have_the_value_of_the_dense_graph(seed, scale, bound):
    values, weights, sides = line(seed)
    value, _, _ = LabeledConnectivity(sides, scale, bound, 1.0, 0.01)(values, weights)
    assert_allclose(value, naive.labeled_connectivity(values, weights, sides, scale, bound)[0], atol=1e-4)


@given(seeds, st.sampled_from([0.1, 0.4]), st.sampled_from([0.5, 1.5]), st.booleans())
def test_derivatives_agree_with_finite_differences(seed, scale, bound, on_grid):
    values, weights, sides = line(seed, n=140 if on_grid else 40)
    objective = LabeledConnectivity(sides, scale, bound, 1.3, 0.03)
    slopes, step = objective(values, weights)[2](), 1e-6
    for i in [*np.flatnonzero(sides), 0, 1, 20]:
        shift = np.zeros(len(values))
        shift[i] = step
        up, down = (objective(values + sign * shift, weights)[0] for sign in (1, -1))
        assert_allclose(slopes[i], (up - down) / (2 * step), rtol=1e-3, atol=1e-6)


def test_a_finer_grid_tends_to_the_rows_themselves(monkeypatch):
    values, weights, sides = line(3, n=150)
    monkeypatch.setattr(_labeled, "POINTS", 200)
    exact = LabeledConnectivity(sides, 0.3, 1.5, 1.0, 0.01)(values, weights)[0]
    monkeypatch.setattr(_labeled, "POINTS", 100)
    objectives = [LabeledConnectivity(sides, 0.3, 1.5, 1.0, step) for step in (0.2, 0.1, 0.05, 0.025)]
    errors = [abs(objective(values, weights)[0] - exact) for objective in objectives]
    assert errors[-1] < 0.01
    assert errors[-1] < errors[0] / 8


def test_a_direction_that_mixes_the_classes_is_more_connected():
    values, weights, sides = line(5, n=60, n_labels=0)
    sides[:3], sides[-3:] = -1, 1
    swapped = sides.copy()
    swapped[[0, -1]] = 1, -1
    objectives = [LabeledConnectivity(s, 0.3, 1.5, 1.0, 0.01) for s in (sides, swapped, -sides)]
    right, one_wrong, turned = (objective(values, weights)[0] for objective in objectives)
    assert right < one_wrong - 1
    assert right < turned - 1


def test_all_rows_labeled_and_two_groups_far_apart_have_a_value():
    values, weights, _ = line(7)
    sides = np.where(values < 0, -1, 1)
    value, place, derivatives = LabeledConnectivity(sides, 0.3, 1.5, 1.0, 0.01)(values, weights)
    assert np.isfinite(value)
    assert np.isfinite(derivatives()).all()
    assert values.min() < place < values.max()
    far = values + 1e4 * np.sign(values)
    far -= np.average(far, weights=weights)
    none = np.zeros(len(far), dtype=np.int64)
    none[[0, -1]] = -1, 1
    value, _, derivatives = LabeledConnectivity(none, 0.01, 1.5, 1.0, 1.0)(far, weights)
    assert value == np.log(1e-6 * weights.sum())
    assert_array_equal(derivatives(), 0)


def test_equal_rows_of_one_side_are_merged_and_no_others():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    for rows in (X, sparse.csr_matrix(X)):
        kept, sides, weights = merged(rows, np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0]))
        dense = kept.toarray() if sparse.issparse(kept) else kept
        found = sorted((*row, int(side), float(w)) for row, side, w in zip(dense.tolist(), sides, weights, strict=True))
        assert found == [(1.0, 2.0, 0, 3.0), (1.0, 2.0, 1, 4.0), (3.0, 4.0, 0, 3.0)]


def test_the_typical_gap_is_the_centile_of_distances_to_neighbors_and_has_a_fallback(rng):
    X = rng.normal(size=(300, 3))
    distances = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
    np.fill_diagonal(distances, np.inf)
    moments, axis = moments_of(X, np.ones(300)), np.eye(3)[0]
    assert_allclose(typical_gap(X, moments, axis), np.percentile(distances.min(axis=1), 99))
    twice = np.concatenate([X, X])
    assert_allclose(typical_gap(twice, moments_of(twice, np.ones(600)), axis), typical_gap(X, moments, axis))
    same = np.ones((5, 3))
    assert typical_gap(same, moments, axis) == np.sqrt(moments.sum_sq / 300)
    many = rng.normal(size=(6000, 3))
    assert_allclose(typical_gap(many, moments, axis), typical_gap(many[:4000], moments, axis), rtol=0.2)


@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "sparse"])
def test_the_cut_parts_two_clouds_from_a_bad_start(rng, as_csr):
    X = rng.normal(size=(400, 4))
    X[:200, 0] -= 4
    X[200:, 0] += 4
    sides = np.zeros(400, dtype=np.int64)
    sides[0], sides[-1] = -1, 1
    weights = np.ones(400)
    start = np.array([[0.5, 0.5, 0.5, 0.5]])
    rows = sparse.csr_matrix(X) if as_csr else X
    cut = labeled_cut(rows, weights, moments_of(rows, weights), sides, starts=start, scale=0.3, bound=1.5)
    assert_array_equal(cut.goes_left(rows), np.arange(400) < 200)
    assert cut.relative_depth > 1
    assert (
        labeled_cut(
            np.ones((4, 2)),
            np.ones(4),
            moments_of(np.ones((4, 2)), np.ones(4)),
            sides[:4],
            starts=np.eye(2),
            scale=0.3,
            bound=1.5,
        )
        is None
    )
