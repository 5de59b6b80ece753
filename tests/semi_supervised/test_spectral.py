"""What SpectralPursuitClassifier promises beyond the common contract."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale
from tests.semi_supervised.test_mdh import accuracy, few_labels, supervised

from ravine.semi_supervised import SpectralPursuitClassifier


@pytest.mark.parametrize(("load", "least"), [(load_breast_cancer, 0.92), (load_wine, 0.94)], ids=["cancer", "wine"])
def test_unlabeled_rows_help_where_labels_are_few(load, least):
    X, truth = load(return_X_y=True)
    X = scale(X)
    labels = [few_labels(truth, 3, seed) for seed in range(5)]
    ours = np.mean([accuracy(SpectralPursuitClassifier(use_unlabeled="always"), X, truth, y) for y in labels])
    assert ours > least
    assert ours > np.mean([supervised(X, truth, y) for y in labels])


def test_one_label_a_class_is_enough_for_clusters_that_are_apart(rng):
    X = rng.normal(size=(500, 20))
    truth = np.repeat([0, 1], 250)
    X[truth == 1, :2] += 4
    assert accuracy(SpectralPursuitClassifier(), X, truth, few_labels(truth, 1)) > 0.97


def test_a_smaller_bound_gives_sides_more_alike_in_size(rng):
    X = rng.normal(size=(600, 3))
    truth = (rng.random(600) < 0.1).astype(int)
    X[truth == 1, 0] += 2
    y = few_labels(truth, 5)
    models = [SpectralPursuitClassifier(bound=bound, use_unlabeled="always").fit(X, y) for bound in (0.3, 2.5)]
    shares = [np.mean(model.transduction_ == 1) for model in models]
    assert abs(shares[0] - 0.5) < abs(shares[1] - 0.5)


def test_starts_can_be_given(rng):
    X = rng.normal(size=(200, 2))
    truth = np.repeat([0, 1], 100)
    X[truth == 1, 0] += 8
    y = few_labels(truth, 2)
    for init in ("svm", [[1.0, 0.2]], lambda rows: np.eye(2)[:1]):
        assert_array_equal(SpectralPursuitClassifier(init=init).fit(X, y).transduction_, truth)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            SpectralPursuitClassifier(bandwidth_factor=0),
            "The 'bandwidth_factor' parameter of SpectralPursuitClassifier must be",
        ),
        (SpectralPursuitClassifier(bound=-1), "The 'bound' parameter of SpectralPursuitClassifier must be"),
        (SpectralPursuitClassifier(init=[[1.0, 2.0]]), "init gives directions of shape"),
    ],
    ids=["bandwidth_factor", "bound", "init"],
)
def test_bad_settings_say_what_to_change(model, message, rng):
    with pytest.raises(ValueError, match=message):
        model.fit(rng.normal(size=(20, 3)), [0, 1] * 10)
