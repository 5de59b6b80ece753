"""A model of ravine as a clusterer of River: rows come as dictionaries or as frames.

Learning rows one at a time takes some fifty times longer than in frames of a hundred, with the same result.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

try:
    from river import base
    from river.base.typing import FeatureName
    from river.utils.dataframe import into_frame, into_series, to_native_series
except ImportError as error:
    raise ImportError("the adapter needs River: pip install 'ravine[river]'") from error

from ravine._matrix import Floats, Ints
from ravine._sklearn import is_fitted
from ravine.cluster import IncrementalMDH

__all__ = ["RiverClusterer"]


class RiverClusterer(base.Clusterer):
    """A model with `partial_fit` that learns and predicts as River's clusterers do.

    A model has a fixed number of columns. As in River's own clusterers a feature that a row does not have is 0 there.
    A feature that is not among the columns is left out, whatever its value.

    A row is a mapping from names to values, or a Series, whose index holds the names. A value is a real number: an
    integer, a float, a bool, a Decimal or a Fraction, or such a number of NumPy. Strings, dates, complex numbers, None
    and NaN are refused, in rows as in frames. A row that is refused leaves the adapter as it was.

    Parameters
    ----------
    model : estimator with ``partial_fit``
        Estimator that has not learned yet, for instance `ravine.IncrementalMDH()`. It stays as it is.
    features : sequence, optional
        Names of the columns. By default those of the first row that is learned, sorted; name them if some features come
        later in the stream.

    Attributes
    ----------
    model_ : estimator
        The model that learns. Its columns have no names: they are `features_`.
    features_ : list
        Names of the columns; empty before the first row.

    Examples
    --------
    >>> from ravine import IncrementalMDH
    >>> from ravine.datasets import make_blobs
    >>> from ravine.river import RiverClusterer
    >>> from river import preprocessing, stream
    >>> X, y = make_blobs(500, centers=[[0, 0], [9, 9]], random_state=0)
    >>> clusterer = preprocessing.StandardScaler() | RiverClusterer(IncrementalMDH(algorithm="online"))
    >>> for x, _ in stream.iter_array(X):
    ...     clusterer.learn_one(x)
    >>> clusterer.predict_one({0: 0.0, 1: 0.0}) == clusterer.predict_one({0: 9.0, 1: 9.0})
    False
    """

    def __init__(self, model: Any, features: Sequence[FeatureName] | None = None) -> None:
        if not hasattr(model, "partial_fit"):
            raise TypeError(f"{type(model).__name__} has no partial_fit: it cannot learn from a stream")
        if is_fitted(model):
            raise ValueError("the model has learned before, and its columns have no names here: pass a new one")
        self.model = model
        self.features = features
        self.model_ = clone(model)
        self.features_: list[FeatureName] = [] if features is None else list(features)
        self._has_learned = False

    def learn_one(self, x: Mapping[FeatureName, Any]) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Value of each feature.
        """
        row = _mapping(x)
        features = self.features_ or _sorted(row)
        self._learn(features, _row(row, features))

    def predict_one(self, x: Mapping[FeatureName, Any]) -> int:
        """Cluster of a row; 0 before anything was learned.

        Parameters
        ----------
        x : dict
            Value of each feature.

        Returns
        -------
        cluster : int
            The cluster's number, which stays the same while the cluster lives if the model has `cluster_ids_`.
        """
        return int(self._clusters(_row(_mapping(x), self.features_))[0])

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a frame, as one at a time.

        Parameters
        ----------
        X : frame
            A pandas or Polars frame, or another that River takes.
        """
        frame = into_frame(X)
        if len(frame):
            features = self.features_ or _sorted(frame.columns)
            self._learn(features, _rows(X, features))

    def predict_many(self, X: Any) -> Any:
        """Cluster of each row of a frame, as `predict_one` gives it.

        Parameters
        ----------
        X : frame
            A pandas or Polars frame, or another that River takes.

        Returns
        -------
        clusters : series
            Of the same library, with the index of `X` where it has one.

        Examples
        --------
        >>> import pandas as pd
        >>> from ravine import IncrementalMDH
        >>> from ravine.datasets import make_blobs
        >>> from ravine.river import RiverClusterer
        >>> X, y = make_blobs(500, centers=[[0, 0], [9, 9]], random_state=0)
        >>> clusterer = RiverClusterer(IncrementalMDH())
        >>> clusterer.learn_many(pd.DataFrame(X, columns=["width", "height"]))
        >>> clusterer.predict_many(pd.DataFrame({"width": [0.0, 9.0], "height": [0.0, 9.0]}))
        0    0
        1    1
        dtype: int64
        """
        frame = into_frame(X)
        return to_native_series(self._clusters(_rows(X, self.features_)), name=None, like=frame)

    def _learn(self, features: list[FeatureName], rows: Floats) -> None:
        try:
            self.model_.partial_fit(rows)
        except Exception:
            if not self._has_learned:  # whatever it has noted of rows that it refused
                self.model_ = clone(self.model)
            raise
        self.features_, self._has_learned = features, True

    def _clusters(self, rows: Floats) -> Ints:
        if len(rows) == 0 or not is_fitted(self.model_):
            return np.zeros(len(rows), dtype=np.int64)
        labels: Ints = self.model_.predict(rows)
        return np.asarray(self.model_.cluster_ids_)[labels] if hasattr(self.model_, "cluster_ids_") else labels

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": IncrementalMDH(algorithm="online", max_depth=3)}


def _sorted(features: Any) -> list[FeatureName]:
    """Sorted, as the order in which a row gives its features must not matter; by type first, to mix types."""
    return sorted(features, key=lambda feature: (type(feature).__name__, feature))


def _mapping(x: Any) -> Mapping[FeatureName, Any]:
    """A row as a mapping; a Series of pandas is one from its index to its values."""
    if isinstance(x, Mapping):
        return x
    if getattr(x, "ndim", 0) == 1 and hasattr(x, "index") and hasattr(x, "to_dict"):
        if not x.index.is_unique:
            raise ValueError("a row has a feature twice: the index of a Series must be unique")
        found: Mapping[FeatureName, Any] = x.to_dict()
        return found
    raise TypeError(
        f"a row is a {type(x).__name__}: pass a dict of features, or a pandas Series whose index has their names; "
        "learn_many and predict_many take frames"
    )


def _row(x: Mapping[FeatureName, Any], features: list[FeatureName]) -> Floats:
    return np.array([[_number(x.get(feature, 0.0), feature) for feature in features]], dtype=np.float64)


def _rows(X: Any, features: list[FeatureName]) -> Floats:
    frame = into_frame(X)
    rows, present = np.zeros((len(frame), len(features))), set(frame.columns)
    for j, feature in enumerate(features):
        if feature in present:
            rows[:, j] = _numbers(into_series(X[feature]), feature)
    return rows


def _number(value: Any, feature: FeatureName) -> float:
    """A value as a float, if it is a real number."""
    is_time = isinstance(value, np.timedelta64)  # which is an integer to NumPy
    if not is_time and isinstance(value, Real | Decimal | np.bool_):
        try:
            return float(value)
        except (OverflowError, ValueError):  # an integer beyond all floats, a signalling NaN
            pass
    kind = type(value).__name__
    shown = f"{value!r:.40}, a {kind}" if isinstance(value, str) else f"a {kind}"
    raise ValueError(
        f"feature {feature!r} is {shown}, and no real number that a float can hold: turn it into one, or leave it out"
    )


def _numbers(column: Any, feature: FeatureName) -> NDArray[Any]:
    """The values of a column as floats, by the rules of `_number`."""
    values = column.to_numpy()
    if values.dtype.kind in "iufb":
        return np.asarray(values)
    return np.array([_number(value, feature) for value in column.to_list()])
