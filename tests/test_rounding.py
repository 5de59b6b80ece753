"""Rounding decides nothing: other last digits of every sum, and other signs of eigenvectors, give the same labels.

Another processor does to a fit what these tests do to it. The data have symmetries, where ties are.
"""

import sys
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import linalg
from sklearn.datasets import load_digits

from ravine import HSDC, MDH, PDDP, SPDC, IncrementalMDH, NCutH, SpectralPursuit, StreamClusterer, _kernels, _matrix

NOISE, N_DRAWS = 1e-14, 100


@contextmanager
def other_digits(seed):
    """Change the last digits of scatter matrices, projections and sums, and the signs of eigenvectors."""
    rng = np.random.default_rng(seed)

    def noisy(array):
        return array * (1 + NOISE * rng.normal(size=np.shape(array)))

    def symmetric(array):
        upper = np.triu(noisy(array))
        return upper + np.triu(upper, 1).T

    def changed(function, change):
        return lambda *args, **options: change(function(*args, **options))

    def eigh(*args, **options):
        values, vectors = true_eigh(*args, **options)
        return noisy(values), noisy(vectors) * rng.choice([-1.0, 1.0], size=vectors.shape[1])

    def begin(start, tolerance, before=None):
        return true_begin(noisy(start), tolerance, before)

    true_eigh, true_begin = linalg.eigh, _kernels.bfgs.begin
    sums = {"project": noisy, "scatter": symmetric, "scatter_times": noisy, "weighted_sum": noisy}
    with ExitStack() as stack:
        for name, change in sums.items():
            true = getattr(_matrix, name)
            for module in [module for key, module in sys.modules.items() if key.startswith("ravine.")]:
                if vars(module).get(name) is true:
                    stack.enter_context(patch.object(module, name, changed(true, change)))
        stack.enter_context(patch.object(linalg, "eigh", eigh))
        stack.enter_context(patch.object(_kernels.bfgs, "begin", begin))
        yield


def turned(rows, angle):
    c, s = np.cos(angle), np.sin(angle)
    return rows @ np.array([[c, s], [-s, c]])


def cloud():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    return rows - rows.mean(axis=0)


def around(n_groups, center):
    """Groups that a turn about the origin carries into each other."""
    return np.concatenate([turned(cloud() + center, 2 * np.pi * k / n_groups) for k in range(n_groups)])


def scaled_triangle():
    corners = around(3, [9.0, 0.0]).reshape(3, -1, 2).mean(axis=1)
    rows = np.concatenate([cloud() + corner for corner in corners])
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def in_a_line():
    return np.concatenate([cloud() + np.array([9.0 * k, 0.0]) for k in range(4)])


def twice_the_same_column():
    rows = in_a_line()
    return np.column_stack([rows[:, 0], rows])


def lattice():
    x, y = np.meshgrid(np.arange(8.0), np.arange(8.0))
    square = np.column_stack([x.ravel(), y.ravel()])
    return np.concatenate([square, square + np.array([16.0, 0.0])])


SYMMETRIC = {
    "triangle": (around(3, [9.0, 0.0]), 3),
    "scaled triangle": (scaled_triangle(), 3),
    "square": (around(4, [9.0, 9.0]), 4),
    "square on its corner": (around(4, [9.0, 0.0]), 4),
    "line": (in_a_line(), 4),
    "twice the same column": (twice_the_same_column(), 4),
    "lattice": (lattice(), 2),
}

WITH_NUMBER = [
    lambda k: PDDP(k),
    lambda k: PDDP(k, criterion="mean"),
    lambda k: NCutH(k),
    lambda k: NCutH(k, init=2),
    lambda k: NCutH(k, margin=True),
    lambda k: MDH(k),
    lambda k: MDH(k, init=2),
    lambda k: MDH(k, margin=True),
    lambda k: SpectralPursuit(k, n_microclusters=40),
    lambda k: SpectralPursuit(k, n_microclusters=40, projection="correlated"),
    lambda k: SpectralPursuit(k, n_microclusters=40, margin=True),
    lambda k: IncrementalMDH(k),
]
WITHOUT_NUMBER = [
    PDDP(),
    PDDP(selection="antimode"),
    NCutH(),
    MDH(),
    SpectralPursuit(n_microclusters=40),
    IncrementalMDH(),
]


def assert_labels_stay(model, X, seeds):
    labels = model.fit(X).labels_
    assert labels.max() > 0
    for seed in seeds:
        with other_digits(seed):
            assert_array_equal(model.fit(X).labels_, labels, err_msg=f"draw {seed}")


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("method", WITH_NUMBER, ids=lambda method: str(method(2)))
def test_labels_do_not_hang_on_the_last_digit(method, name):
    X, n_clusters = SYMMETRIC[name]
    assert_labels_stay(method(n_clusters), X, range(N_DRAWS // len(SYMMETRIC) + 1))


@pytest.mark.parametrize("model", WITHOUT_NUMBER, ids=lambda model: " ".join(str(model).split()))
@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_number_of_clusters_does_not_hang_on_the_last_digit(model, name):
    assert_labels_stay(model, SYMMETRIC[name][0], range(2))


@pytest.mark.parametrize("model", [NCutH(10), MDH(10), NCutH(), MDH(), IncrementalMDH()], ids=str)
def test_labels_of_whole_numbers_in_many_columns_do_not_hang_on_the_last_digit(model):
    assert_labels_stay(model, load_digits().data, range(4))


@pytest.mark.parametrize("model", [StreamClusterer(), HSDC(), HSDC(inherit=True), SPDC()], ids=str)
@pytest.mark.parametrize("name", ["triangle", "square", "line"])
def test_labels_of_a_stream_do_not_hang_on_the_last_digit(model, name):
    rng = np.random.default_rng(0)
    X = rng.permutation(np.tile(SYMMETRIC[name][0], (5, 1)))
    labels = model.fit(X).labels_
    for _ in range(10):
        assert_array_equal(model.fit(X * (1 + NOISE * rng.normal(size=X.shape))).labels_, labels)
