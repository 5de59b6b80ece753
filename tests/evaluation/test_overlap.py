import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive

from ravine.evaluation._overlap import overlap, positions


def compared(reference, found, weights=None):
    (labels, a), (other, b) = positions(reference), positions(found)
    weights = np.ones(len(reference)) if weights is None else weights
    return other, overlap(a, len(labels), b, len(other), weights)


@pytest.mark.parametrize("seed", range(20))
def test_overlap_equals_that_of_sets(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 40))
    reference = rng.integers(-1, 4, n_rows)
    found = np.where(rng.random(n_rows) < 0.6, 10 + reference // 2, rng.integers(-2, 3, n_rows))
    other, here = compared(reference, found)
    jaccard, match = naive.jaccard_matching(reference, found)
    assert_array_equal(here.jaccard, jaccard)
    assert [other[j] if j >= 0 else None for j in here.match] == match
    assert_allclose(here.together, naive.same_cluster_probability(reference, found).reshape(here.together.shape))


def test_integer_weights_are_copies(rng):
    reference, found, copies = (rng.integers(0, 4, 60) for _ in range(3))
    _, weighted = compared(reference, found, copies.astype(float))
    _, repeated = compared(np.repeat(reference, copies), np.repeat(found, copies))
    assert_allclose(weighted.jaccard, repeated.jaccard)
    assert_array_equal(weighted.match, repeated.match)


def test_same_clusters_under_other_names_overlap_fully(rng):
    reference = rng.integers(0, 500, 5000)
    _, here = compared(reference, 499 - reference)
    assert_array_equal(here.jaccard, 1.0)
    assert_allclose(here.together, np.eye(len(here.jaccard)))


def test_cluster_without_weight_has_no_overlap_to_report():
    _, here = compared(np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([1.0, 1.0, 0.0]))
    assert_array_equal(here.jaccard, [1.0, np.nan])


def test_nothing_is_found_again_if_no_row_is_in_a_cluster():
    _, here = compared(np.array([0, 0, 1]), np.array([-1, -1, -1]))
    assert_array_equal(here.jaccard, 0.0)
    assert_array_equal(here.together, 0.0)
