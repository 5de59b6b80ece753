"""A model of ravine as a clusterer of River: rows come as dictionaries or as frames.

Learning rows one at a time takes some fifty times longer than in frames of a hundred, with the same result.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _is_fitted

try:
    from river import base
    from river.base.typing import FeatureName
    from river.utils.dataframe import into_frame, to_native_series
except ImportError as error:
    raise ImportError("the adapter needs River: pip install 'ravine[river]'") from error

from ravine.cluster import IncrementalMDH
from ravine.matrix import Floats, Ints

__all__ = ["RiverClusterer"]


class RiverClusterer(base.Clusterer):
    """A model with `partial_fit` that learns and predicts as River's clusterers do.

    A model has a fixed number of columns. As in River's own clusterers a feature that a row does not have is 0 there.
    A feature that is not among the columns is left out.

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
    >>> clusterer = preprocessing.StandardScaler() | RiverClusterer(IncrementalMDH(algorithm="paper"))
    >>> for x, _ in stream.iter_array(X):
    ...     clusterer.learn_one(x)
    >>> clusterer.predict_one({0: 0.0, 1: 0.0}) == clusterer.predict_one({0: 9.0, 1: 9.0})
    False
    """

    def __init__(self, model: Any, features: Sequence[FeatureName] | None = None) -> None:
        if not hasattr(model, "partial_fit"):
            raise TypeError(f"{type(model).__name__} has no partial_fit: it cannot learn from a stream")
        if _is_fitted(model):
            raise ValueError("the model has learned before, and its columns have no names here: pass a new one")
        self.model = model
        self.features = features
        self.model_ = clone(model)
        self.features_: list[FeatureName] = [] if features is None else list(features)

    def learn_one(self, x: Mapping[FeatureName, Any]) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Value of each feature.
        """
        self._name_columns(x)
        self.model_.partial_fit(self._row(x))

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
        return int(self._clusters(self._row(x))[0])

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a frame, as one at a time.

        Parameters
        ----------
        X : frame
            A pandas or Polars frame, or another that River takes.
        """
        frame = into_frame(X)
        if len(frame):
            self._name_columns(frame.columns)
            self.model_.partial_fit(self._rows(X))

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
        return to_native_series(self._clusters(self._rows(X)), name=None, like=into_frame(X))

    def _name_columns(self, features: Any) -> None:
        if not self.features_:
            # Sorted, as the order in which a row gives its features must not matter; by type first, to mix types.
            self.features_ = sorted(features, key=lambda feature: (type(feature).__name__, feature))

    def _row(self, x: Mapping[FeatureName, Any]) -> Floats:
        return np.array([[x.get(feature, 0.0) for feature in self.features_]], dtype=np.float64)

    def _rows(self, X: Any) -> Floats:
        frame = into_frame(X)
        rows = np.zeros((len(frame), len(self.features_)))
        present = set(frame.columns)
        for j, feature in enumerate(self.features_):
            if feature in present:
                rows[:, j] = X[feature]
        return rows

    def _clusters(self, rows: Floats) -> Ints:
        if len(rows) == 0 or not _is_fitted(self.model_):
            return np.zeros(len(rows), dtype=np.int64)
        labels: Ints = self.model_.predict(rows)
        return np.asarray(self.model_.cluster_ids_)[labels] if hasattr(self.model_, "cluster_ids_") else labels

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": IncrementalMDH(algorithm="paper", max_depth=3)}
