"""The unit of the rows changes nothing, for every estimator there is; rows in a unit that cannot be are refused.

Parameters that carry the unit scale with the rows: `OPTIONS` says which. An estimator that joins `ravine.__all__` is
tested here without a line.
"""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier
from tests.estimators import CLASSES

import ravine
from ravine.datasets import make_blobs

OPTIONS = {
    "HSDC": [{"inherit": True}],
    "IncrementalMDH": [{"algorithm": "online"}],
    "MDH": [{"n_clusters": 4}],
    "NCutH": [{"n_clusters": 4, "margin": True}],
    "PDDP": [{"criterion": "mean", "n_clusters": 4}, {"selection": "antimode"}],
    "SpectralPursuit": [{"n_clusters": 4, "projection": "correlated", "n_microclusters": 30}],
    "SumOfNorms": [{"lam": lambda unit: 8.0 * unit}],
    "SupportVectorClustering": [{"solver": "exact", "gamma": lambda unit: 0.02 / unit**2, "C": 10.0}],
}
"""Beside the defaults; a function gives a parameter that carries the unit of the rows."""

CASES = [(member, options) for member in CLASSES for options in ({}, *OPTIONS.get(member.__name__, []))]
each = pytest.mark.parametrize(
    ("member", "options"), CASES, ids=[f"{member.__name__}-{'-'.join(options)}" for member, options in CASES]
)
each_stream = pytest.mark.parametrize("member", [m for m in CLASSES if hasattr(m, "partial_fit")])

FACTORS = [1e-100, 1e-6, 1 / 3, 1e6, 1e100]
POWERS = [2.0**-300, 2.0**300]

CENTERS = np.array([[0.0, 0.0, 0.0], [14.0, 0.0, 3.0], [0.0, 16.0, 5.0], [15.0, 17.0, -5.0]])


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(160, centers=CENTERS, random_state=3)


def made(member, options, unit=1.0):
    values = {name: value(unit) if callable(value) else value for name, value in options.items()}
    if "random_state" in inspect.signature(member).parameters:
        values["random_state"] = 0
    return member(**values)


def fitted(member, options, X, y, unit):
    model = made(member, options, unit)
    return (
        model.fit(X * unit, np.where(np.arange(len(y)) % 8 == 0, y, -1))
        if is_classifier(model)
        else model.fit(X * unit)
    )


STREAMS = [ravine.StreamClusterer, ravine.HSDC, ravine.SPDC]


def streamed(member, X, unit):
    model = made(member, {})
    for start in range(0, len(X), 40):
        model.partial_fit(unit * X[start : start + 40])
    return model


def test_every_estimator_is_here():
    assert {"StreamClusterer", "HSDC", "SPDC", "NCutH", "SumOfNorms", "MDHClassifier"} <= {
        member.__name__ for member in CLASSES
    }
    assert set(OPTIONS) <= {member.__name__ for member in CLASSES}


@each
def test_unit_of_the_rows_changes_no_label_and_a_power_of_two_no_digit_of_a_stream(member, options, blobs):
    X, y = blobs if hasattr(member, "partial_fit") else (blobs[0][:80], blobs[1][:80])
    plain = fitted(member, options, X, y, 1.0)
    expected = plain.predict(X)
    assert len(np.unique(expected)) > 1
    for factor in (*FACTORS, *POWERS):
        model = fitted(member, options, X, y, factor)
        assert_array_equal(model.predict(X * factor), expected, err_msg=f"times {factor:g}")
        if factor in POWERS and member in STREAMS:
            assert_array_equal(model.tree_.normal, plain.tree_.normal)
            assert_array_equal(model.tree_.offset, plain.tree_.offset * factor)


@each_stream
def test_unit_of_a_stream_changes_no_label(member, blobs):
    X, _ = blobs
    expected = streamed(member, X, 1.0).predict(X)
    assert len(np.unique(expected)) > 1
    for factor in (1e-100, 1 / 3, 1e100):
        assert_array_equal(streamed(member, X, factor).predict(X * factor), expected, err_msg=f"times {factor:g}")


@each_stream
@pytest.mark.parametrize("start", [np.zeros((60, 3)), np.full((60, 3), 5.0), np.r_[np.zeros((60, 3)), [[1e-9, 0, 0]]]])
def test_unit_of_a_stream_that_begins_with_equal_rows_changes_no_label(member, start, blobs):
    X = np.concatenate([start, blobs[0]])
    expected = streamed(member, X, 1.0).predict(X)
    for factor in (1e-100, 1 / 3, 1e100):
        assert_array_equal(streamed(member, X, factor).predict(X * factor), expected, err_msg=f"times {factor:g}")


@pytest.mark.parametrize("member", CLASSES)
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_rows_in_a_unit_that_cannot_be_are_refused(member, factor, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="change the unit of X"):
        fitted(member, {}, X, y, factor)


@each_stream
def test_batch_in_a_unit_that_cannot_be_is_refused_and_learned_nothing_of(member, blobs):
    X, _ = blobs
    for factor in (1e-200, 1e200):
        with pytest.raises(ValueError, match="change the unit of X"):
            made(member, {}).partial_fit(X * factor)
    model = streamed(member, X[:80], 1.0)
    with pytest.raises(ValueError, match="change the unit of X"):
        model.partial_fit(X * 1e200)
    model.partial_fit(X[80:])
    assert_array_equal(model.predict(X), clone(model).partial_fit(X[:80]).partial_fit(X[80:]).predict(X))


@pytest.mark.parametrize("member", STREAMS)
def test_prediction_of_rows_in_a_unit_that_cannot_be_is_refused(member, blobs):
    X, _ = blobs
    model = streamed(member, X, 1.0)
    for method in (model.predict, model.transform):
        with pytest.raises(ValueError, match="change the unit of X"):
            method(X * 1e200)
    assert_array_equal(model.predict(X * 1e-200), model.predict(X * 0))


@pytest.mark.parametrize("member", STREAMS)
def test_small_row_is_learned_alone_as_among_others(member, blobs):
    X = np.concatenate([blobs[0], np.full((1, 3), 1e-200)])
    alone, among = made(member, {}).partial_fit(X[:-1]).partial_fit(X[-1:]), made(member, {}).partial_fit(X)
    assert alone.tree_ == among.tree_
