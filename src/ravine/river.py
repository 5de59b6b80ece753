"""Adapter that makes a model of ravine a clusterer of River, with rows as dictionaries or data frames.

`StreamClusterer` learns and predicts single rows without the checks that tables need. Every other model checks each
call as one on a table. Most also build their tree again at each prediction after a learned row: use data frames for
them. `IncrementalMDH` builds it again only now and then.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
    raise ImportError("ravine.river needs River: pip install 'ravine[river]'") from error

from ravine._matrix import Floats, Ints
from ravine._sklearn import is_fitted
from ravine.cluster import IncrementalMDH, StreamClusterer
from ravine.cluster._identity import identified

__all__ = ["RiverClusterer"]

COMMON = frozenset((float, int, bool, np.float64))
"""Types of most values. NumPy converts them as `_number` does, which takes far longer to find out what a value is."""


class RiverClusterer(base.Clusterer):
    """Adapter for a model with `partial_fit`, with the interface of River's clusterers.

    A model has a fixed set of columns. As in River's own clusterers, a feature that is missing from a row is 0. A
    feature that is not among the columns is ignored.

    A row is a mapping from names to values, or a Series whose index has the names. A value is a real number: an
    integer, a float, a bool, a Decimal or a Fraction, or a real number of NumPy. Strings, dates, complex numbers, None
    and NaN raise an error, in rows and in data frames. A row that raises an error leaves the adapter unchanged.

    `IncrementalMDH` grows its tree anew at the first question after a learned row, which takes long. Here it does so
    only if the rows have grown by a tenth since then, or by a tenth of `memory_length`. In between, the last tree
    answers. ``model_.predict`` always uses all rows, and ``model_.tree_`` too.

    Parameters
    ----------
    model : estimator with ``partial_fit``, optional
        Estimator that is not fitted. The adapter learns with a clone of it. Default: `ravine.StreamClusterer()`, the
        fastest one for single rows.
    features : sequence, optional
        Names of the columns. By default, the sorted names of the first learned row. Pass them if some features appear
        only later in the stream.

    Attributes
    ----------
    model_ : estimator
        The model that learns. It has no feature names: pass `features_` as `feature_names` to show its tree with names.
    features_ : list
        Names of the columns; empty before the first row.

    Examples
    --------
    >>> from ravine.datasets import make_blobs
    >>> from ravine.river import RiverClusterer
    >>> from river import stream
    >>> X, y = make_blobs(500, centers=[[0, 0], [9, 9]], random_state=0)
    >>> clusterer = RiverClusterer()
    >>> for x, _ in stream.iter_array(X):
    ...     cluster = clusterer.predict_one(x)
    ...     clusterer.learn_one(x)
    >>> clusterer.predict_one({0: 0.0, 1: 0.0}) == clusterer.predict_one({0: 9.0, 1: 9.0})
    False

    Any other model with ``partial_fit``, in a pipeline of River:

    >>> from ravine import IncrementalMDH
    >>> from river import preprocessing
    >>> clusterer = preprocessing.StandardScaler() | RiverClusterer(IncrementalMDH(algorithm="online"))
    >>> for x, _ in stream.iter_array(X):
    ...     clusterer.learn_one(x)
    """

    def __init__(self, model: Any = None, features: Sequence[FeatureName] | None = None) -> None:
        learner = StreamClusterer() if model is None else model
        if not hasattr(learner, "partial_fit"):
            raise TypeError(
                f"{type(learner).__name__} has no partial_fit, so it cannot learn from a stream: pass a "
                "model that has it, for instance StreamClusterer()"
            )
        if is_fitted(learner):
            raise ValueError("the model is already fitted, and its columns have no names here: pass an unfitted model")
        self.model = model
        self.features = features
        self.model_: Any = clone(learner)
        self.features_: list[FeatureName] = [] if features is None else list(features)
        self._has_learned = False

    def learn_one(self, x: Mapping[FeatureName, Any]) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Value of each feature.
        """
        row = _mapping(x)
        features = self.features_ or _sorted(row)
        self._learn(features, _row(row, features))

    def predict_one(self, x: Mapping[FeatureName, Any]) -> int:
        """Predict the cluster of one row; 0 before the first row is learned.

        Parameters
        ----------
        x : dict
            Value of each feature.

        Returns
        -------
        cluster : int
            Number of the cluster. If the model has `cluster_ids_`, a cluster keeps its number as long as it exists. -1
            for an outlier, if the model has ``outliers="label"``.
        """
        row = _row(_mapping(x), self.features_)
        if self._has_learned and type(self.model_) is StreamClusterer:
            return self.model_._cluster_of_row(row)
        return int(self._clusters(row)[0])

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a data frame, with the same result as one row at a time.

        Parameters
        ----------
        X : data frame
            A pandas or Polars data frame, or another that River accepts.
        """
        frame = into_frame(X)
        if len(frame):
            features = self.features_ or _sorted(frame.columns)
            self._learn(features, _rows(X, features))

    def predict_many(self, X: Any) -> Any:
        """Predict the cluster of each row of a data frame, as `predict_one` does.

        Parameters
        ----------
        X : data frame
            A pandas or Polars data frame, or another that River accepts.

        Returns
        -------
        clusters : series
            Series of the same library as `X`, with the index of `X` if it has one.

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
            # Not for subclasses, whose partial_fit may do more.
            if len(rows) == 1 and type(self.model_) is StreamClusterer:
                self.model_._learn_row(rows)
            else:
                self.model_.partial_fit(rows)
        except Exception:
            if not self._has_learned:  # drops what the model has stored of the rows that raised
                self.model_ = clone(self.model_)
            raise
        self.features_, self._has_learned = features, True

    def _clusters(self, rows: Floats) -> Ints:
        if len(rows) == 0 or not is_fitted(self.model_):
            return np.zeros(len(rows), dtype=np.int64)
        if type(self.model_) is IncrementalMDH:
            return self.model_._recent_clusters(rows)
        return identified(self.model_, self.model_.predict(rows))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": IncrementalMDH(algorithm="online", max_depth=3)}


def _sorted(features: Any) -> list[FeatureName]:
    """Sort the names of features, by type first: the order of the features in a row must not matter."""
    return sorted(features, key=lambda feature: (type(feature).__name__, feature))


def _mapping(x: Any) -> Mapping[FeatureName, Any]:
    """Return a row as a mapping; a pandas Series maps its index to its values."""
    if isinstance(x, Mapping):
        return x
    if getattr(x, "ndim", 0) == 1 and hasattr(x, "index") and hasattr(x, "to_dict"):
        if not x.index.is_unique:
            raise ValueError("a row has the same feature twice: the index of a Series must be unique")
        found: Mapping[FeatureName, Any] = x.to_dict()
        return found
    raise TypeError(
        f"a row is a {type(x).__name__}: pass a dict of features, or a pandas Series whose index has their names; for "
        "data frames use learn_many and predict_many"
    )


def _row(x: Mapping[FeatureName, Any], features: list[FeatureName]) -> Floats:
    """Return the values of a row as an array of shape (1, n_features)."""
    values = [x.get(feature, 0.0) for feature in features]
    if COMMON.issuperset(map(type, values)):
        with suppress(OverflowError):  # an integer too large for a float: `_number` says which one
            return np.array([values], dtype=np.float64)
    return np.array([[_number(value, feature) for value, feature in zip(values, features, strict=True)]])


def _rows(X: Any, features: list[FeatureName]) -> Floats:
    frame = into_frame(X)
    rows, present = np.zeros((len(frame), len(features))), set(frame.columns)
    for j, feature in enumerate(features):
        if feature in present:
            rows[:, j] = _numbers(into_series(X[feature]), feature)
    return rows


def _number(value: Any, feature: FeatureName) -> float:
    """Return a value as a float, if it is a real number."""
    is_time = isinstance(value, np.timedelta64)  # NumPy counts these as integers
    if not is_time and isinstance(value, Real | Decimal | np.bool_):
        try:
            return float(value)
        except (OverflowError, ValueError):  # an integer too large for a float, or a signaling NaN
            pass
    kind = type(value).__name__
    shown = f"{value!r:.40}, a {kind}" if isinstance(value, str) else f"a {kind}"
    raise ValueError(
        f"feature {feature!r} is {shown}, not a real number that fits in a float: convert it, or drop the feature"
    )


def _numbers(column: Any, feature: FeatureName) -> NDArray[Any]:
    """Return the values of a column as floats, by the rules of `_number`."""
    values = column.to_numpy()
    if values.dtype.kind in "iufb":
        return np.asarray(values)
    return np.array([_number(value, feature) for value in column.to_list()])
