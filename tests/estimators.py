"""Every public estimator, found among the names of the library: a new one joins all tests that run over this list."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier

import ravine

QUICK = {
    "SpectralPursuit": {"n_microclusters": 20},
    "SumOfNorms": {"n_lambdas": 5},
}
"""Settings with which an estimator takes little time on a few rows; defaults for all others."""

PUBLIC = [getattr(ravine, name) for name in ravine.__all__]
CLASSES = [member for member in PUBLIC if inspect.isclass(member) and issubclass(member, BaseEstimator)]
ALL = [member(**QUICK.get(member.__name__, {})) for member in CLASSES]
WEIGHTED = [model for model in ALL if "sample_weight" in inspect.signature(model.fit).parameters]
SPARSE = [model for model in ALL if model.__sklearn_tags__().input_tags.sparse]
TREES = [model for model in ALL if hasattr(type(model), "transform")]
ONLINE = [model for model in ALL if hasattr(model, "partial_fit")]


def name_of(model):
    return type(model).__name__


def each(models):
    """Parametrize a test by models."""
    return pytest.mark.parametrize("model", models, ids=name_of)


def fitted(model, X, **options):
    """The model itself, fitted; a classifier gets labels for some rows."""
    return model.fit(X, labels_for(X), **options) if is_classifier(model) else model.fit(X, **options)


def labels_for(X):
    """-1 but for the first and last fourth of the rows, which belong to two classes."""
    try:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    except (TypeError, IndexError):
        n_rows = 2
    y = np.full(n_rows, -1)
    n_labels = max(n_rows // 4, 1)
    y[:n_labels], y[n_rows - n_labels :] = 0, 1
    return y


def answer(model, X):
    """Labels of the rows of a fit."""
    return model.predict(X) if is_classifier(model) else model.labels_


def learned(model):
    """Arrays and numbers that a fitted model has learned, by name."""
    state = {}
    tree = getattr(model, "tree_", None)
    for holder in (model, tree, getattr(tree, "mixture", None)):
        for name in dir(holder) if holder is not None else ():
            is_learned = name.endswith("_") and not name.startswith("_") if holder is model else name[0] != "_"
            is_learned = is_learned and name not in ("freedom", "power")  # infinite for Gaussian components
            value = getattr(holder, name, None) if is_learned else None
            if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f":
                state[name] = np.asarray(value)
    return state
