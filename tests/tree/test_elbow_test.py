import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from tests import naive

from ravine.datasets import make_blobs
from ravine.tree import _elbow_test
from ravine.tree._elbow_test import LEAST_SHARE, N_DRAWS, elbow_p_value, share_within_two


def shuffled(X):
    return X[np.random.default_rng(0).permutation(len(X))]


def test_rows_with_clusters_are_more_extreme_than_all_draws():
    X = shuffled(load_wine().data)
    assert elbow_p_value(X, np.ones(len(X)), 0) == 1 / (N_DRAWS + 1)


@pytest.mark.parametrize("kind", ["normal", "exponential", "uniform", "lognormal"])
def test_rows_without_clusters_are_like_their_draws(kind):
    p_values = [
        elbow_p_value(getattr(np.random.default_rng(i), kind)(size=(150, 3)), np.ones(150), i) for i in range(4)
    ]
    assert np.mean(p_values) > 0.5


def test_two_broad_clusters_in_many_columns_are_more_extreme_than_all_draws():
    centers = np.zeros((2, 100))
    centers[1, :40] = 0.5  # 3.2 deviations apart: no valley
    X, _ = make_blobs(1000, centers=centers, random_state=0)
    assert elbow_p_value(X, np.ones(1000), 0) == 1 / (N_DRAWS + 1)


def test_clear_clusters_need_only_the_first_draws(monkeypatch):
    asked = []
    draw = _elbow_test.Structureless.draw
    monkeypatch.setattr(_elbow_test.Structureless, "draw", lambda *args: asked.append(1) or draw(*args))
    X, _ = make_blobs(300, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    assert elbow_p_value(X, np.ones(300), 0, n_jobs=1) == 1 / (N_DRAWS + 1)
    assert len(asked) == _elbow_test.N_FIRST


@pytest.mark.parametrize("kind", ["normal", "rounded", "constant"])
def test_share_within_two_intervals_agrees_with_naive(rng, kind):
    values, weights = rng.normal(size=40), rng.uniform(0.5, 2, 40)
    values = {"normal": values, "rounded": values.round(), "constant": np.ones(40)}[kind]
    assert share_within_two(values, weights) == pytest.approx(naive.share_within_two(values, weights, LEAST_SHARE))


def test_p_value_depends_neither_on_threads_nor_on_units(rng):
    X, weights = shuffled(load_wine().data), np.ones(178)
    assert elbow_p_value(X, weights, 0, n_jobs=2) == elbow_p_value(X, weights, 0, n_jobs=1)
    assert elbow_p_value(X * rng.uniform(1e-3, 1e3, 13), weights, 0) == elbow_p_value(X, weights, 0)


def test_rows_that_do_not_vary_show_nothing():
    assert elbow_p_value(np.ones((30, 2)), np.ones(30), 0) == 1.0


def test_sparse_rows_give_the_result_of_dense_ones():
    X = shuffled(load_wine().data)
    assert elbow_p_value(sparse.csr_array(X), np.ones(178), 0) == elbow_p_value(X, np.ones(178), 0)
