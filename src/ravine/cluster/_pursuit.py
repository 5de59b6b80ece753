"""What the methods that search for a direction have in common: starts, growth told k or by evidence, other pictures."""

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions

from ravine.cluster._base import TreeClusterer
from ravine.cuts import Cut
from ravine.cuts.pursuit import make_starts
from ravine.matrix import Floats, Matrix, Moments, moments
from ravine.tree.grow import ORDERS, Order

VALLEY_BANDWIDTH = 1.06
"""Factor of the bandwidth in the valley test."""


class PursuitClusterer(TreeClusterer):
    """Base of the estimators that cut across directions found by `ravine.cuts.pursuit`."""

    init: str | int | ArrayLike | Callable[..., ArrayLike]
    max_depth: int | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions({"pca"}), Interval(Integral, 1, None, closed="left"), "array-like", callable],
        "margin": ["boolean"],
        "significance": [Interval(Real, 0, 1, closed="neither")],
        "split_order": [StrOptions({"auto", *ORDERS}), callable],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            A CSR matrix is not made dense.
        y : Ignored
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two rows; as evidence for a valley it counts as one.
        """
        rows = self._check_rows(X, reset=True)
        weights = self._check_weights(sample_weight, rows)
        tested = self.n_clusters is None
        size = self._least_size(weights, tested)
        find_cut = partial(self._cut_finder(size), starts=make_starts(self.init, self.n_jobs), n_jobs=self.n_jobs)
        options: dict[str, Any] = {"min_cluster_size": size, "max_depth": self.max_depth, "order": self._order()}
        if tested:
            self._grow_tested(
                rows, weights, _direction_of(find_cut, self.n_jobs), bandwidth=VALLEY_BANDWIDTH, **options
            )
        else:
            self._grow(rows, find_cut, sample_weight=weights, **options)
            self._warn_if_short("rows that are equal cannot be told apart; a smaller min_cluster_size may help")
        return self

    def _cut_finder(self, min_cluster_size: float) -> Callable[..., Cut | None]:
        """The method: finds a cut of some rows, given `starts` and `n_jobs`."""
        raise NotImplementedError

    def _order(self) -> Order:
        raise NotImplementedError


def _direction_of(find_cut: Callable[..., Cut | None], n_jobs: int | None) -> Callable[..., Floats | None]:
    """The direction of the cut of the rows that are not held out."""

    def direction(X: Matrix, weights: Floats, about: Moments) -> Floats | None:
        kept = np.flatnonzero(weights)
        if len(kept) < len(weights):
            X, weights = X[kept], weights[kept]
            about = moments(X, weights, n_jobs)
        cut = find_cut(X, weights, about)
        return None if cut is None else cut.normal

    return direction
