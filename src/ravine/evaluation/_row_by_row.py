"""Clusterers that take one row at a time, as in River, behind the methods of scikit-learn."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class RowByRow:
    """Adapter that gives `partial_fit` and `predict` to a clusterer or a pipeline of River.

    A row is passed as a dictionary. Its keys are the names of the columns of a data frame, and otherwise 0, 1, ….

    Parameters
    ----------
    model : object with ``learn_one`` and ``predict_one``

    Examples
    --------
    >>> class Signs:
    ...     def learn_one(self, x):
    ...         pass
    ...
    ...     def predict_one(self, x):
    ...         return int(x[0] > 0)
    >>> RowByRow(Signs()).partial_fit([[2.0], [-3.0]]).predict([[1.0], [-1.0]])
    array([1, 0])
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._has_learned = False

    def partial_fit(self, X: Any) -> Self:
        """Learn rows, one after the other."""
        for row in _dictionaries(X):
            self.model.learn_one(row)
            self._has_learned = True
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the cluster of each row."""
        return np.array([self.model.predict_one(row) for row in _dictionaries(X)])

    def __sklearn_is_fitted__(self) -> bool:
        return self._has_learned  # River cannot tell whether a model has learned before


def _dictionaries(X: Any) -> list[dict[Any, Any]]:
    rows = (X.toarray() if sparse.issparse(X) else np.asarray(X)).tolist()
    names = getattr(X, "columns", None)
    return [dict(enumerate(row) if names is None else zip(names, row, strict=True)) for row in rows]
