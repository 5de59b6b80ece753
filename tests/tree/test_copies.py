import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.metrics import adjusted_rand_score

from ravine import MDH, PDDP, IncrementalMDH, NCutH
from ravine.datasets import make_blobs
from ravine.tree._copies import comes_in_copies, each_row_once

CENTERS = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]


@pytest.mark.parametrize("method", [NCutH, MDH, IncrementalMDH, PDDP])
@pytest.mark.parametrize("n_copies", [2, 3, 10])
def test_copies_of_all_rows_are_no_evidence(method, n_copies):
    X, y = make_blobs(400, centers=CENTERS, random_state=0)
    model = method().fit(np.repeat(X, n_copies, axis=0))
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(np.repeat(y, n_copies), model.labels_) > 0.97


def test_rows_drawn_with_replacement_have_the_clusters_of_the_rows(rng):
    X, y = make_blobs(2000, centers=CENTERS, random_state=0)
    drawn = rng.integers(2000, size=4000)
    model = IncrementalMDH().fit(X[drawn])
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y[drawn], model.labels_) > 0.99


def test_one_cluster_of_copies_stays_one(rng):
    X = np.tile(rng.normal(size=(500, 3)), (4, 1))
    assert [method().fit(X).n_clusters_ for method in (NCutH, MDH, IncrementalMDH, PDDP)] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "X",
    [
        load_iris().data,
        load_breast_cancer().data,
        load_digits().data,
        np.random.default_rng(0).integers(10, size=(3000, 2)).astype(float),  # equal by chance
        np.random.default_rng(0).integers(200, size=(3000, 1)).astype(float),
        np.random.default_rng(0).poisson(2, size=(3000, 6)).astype(float),
        np.repeat(np.random.default_rng(0).normal(size=(50, 3)), 40, axis=0),  # a few kinds of rows
        np.vstack([np.zeros((900, 3)), np.random.default_rng(0).normal(size=(1000, 3))]),  # zeros beside numbers
    ],
)
def test_rows_without_copies_or_equal_by_chance_are_not_copies(X):
    assert not comes_in_copies(X)


def test_sparse_rows_are_not_looked_at(rng):
    X = np.repeat(rng.normal(size=(50, 3)), 2, axis=0)
    assert comes_in_copies(X)
    assert not comes_in_copies(sparse.csr_array(X))


def test_each_row_is_kept_once_with_the_mean_weight_of_its_copies(rng):
    X, weights = rng.normal(size=(3, 2)), np.array([1.0, 3.0, 4.0, 4.0, 2.0])
    rows, of_rows = each_row_once(X[[2, 0, 1, 0, 2]], weights)
    assert_array_equal(rows, X[[2, 0, 1]])
    assert_allclose(of_rows / of_rows[0], np.array([1.5, 3.5, 4.0]) / 1.5)
    assert of_rows.sum() == pytest.approx(weights.sum())


def test_distinct_rows_remain_as_they_are(rng):
    X, weights = rng.normal(size=(5, 2)), rng.uniform(1, 2, 5)
    rows, of_rows = each_row_once(X, weights)
    assert rows is X
    assert of_rows is weights
