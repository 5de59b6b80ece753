"""Base class of the methods that search for a direction: starting directions, growing the tree, and projections."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ravine._matrix import Floats, Matrix, Moments, column_extent, column_moments, moments_of, with_weight
from ravine._outofcore import ChunkedNode, chunks_of, is_out_of_core, without_far_cells
from ravine._reservoir import largest_numbers
from ravine._scaling import EDGE_SEED, edges_by, moved_in, n_edge_rows
from ravine._sklearn import Interval, StrOptions, is_fitted
from ravine.cluster._base import N_JOBS, OUTLIERS, checked_directions, checked_order, fitting
from ravine.cluster._batch import BatchTreeClusterer
from ravine.cluster._outliers import find_outliers
from ravine.cluster._soft import ASSIGN_LABELS
from ravine.cuts import Cut
from ravine.cuts._chunked import ChunkedStarts
from ravine.cuts._chunked import make_starts as make_chunked_starts
from ravine.cuts._cut import RoughCut
from ravine.cuts._pursuit import make_starts
from ravine.tree._chunked import FindChunkedCut, FinishChunkedCut
from ravine.tree._columns import best_with_column, chunked_best_with_column
from ravine.tree._grow import ORDERS, PAIR_CELLS, FindCut, Order
from ravine.tree._scout import ConfirmedCuts, FromDirectionOfChunks
from ravine.tree._valley_test import VALLEY_BANDWIDTH

RoughSearch = tuple[Callable[..., Cut | RoughCut[Any] | None], Callable[..., Cut | None]]
"""Finds a cut, for large nodes on a sample, given `starts` and `n_jobs`; finishes a cut that was found on a sample."""


class PursuitClusterer(BatchTreeClusterer, ABC):
    """Base class of the estimators that cut across directions found by `ravine.cuts._pursuit`."""

    _pair_cells: ClassVar[float] = PAIR_CELLS

    init: str | int | ArrayLike | Callable[..., ArrayLike]
    max_depth: int | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions({"pca"}), Interval(Integral, 1, None, closed="left"), "array-like", callable],
        "margin": ["boolean"],
        "selection": [StrOptions({"auto", "evidence", "elbow"})],
        "significance": [Interval(Real, 0, 1, closed="neither")],
        "split_order": [StrOptions({"auto", *ORDERS}), callable],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "assign_labels": ASSIGN_LABELS,
        "outliers": OUTLIERS,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    @fitting
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the tree of cuts to the data.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or frame, pyarrow dataset} of shape (n_samples, n_features)
            Training data. A CSR matrix is not converted to a dense array. A Dask collection or a pyarrow dataset is
            read out of core, see the guide on large data; `labels_` are then lazy for Dask, and not kept for files.
            An array on a CUDA device stays there, and so do `labels_`, see the guide on GPUs.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. A row of weight 2 counts as two rows; in the valley test it counts as one row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if is_out_of_core(X):
            self._fit_chunks(X, sample_weight)
        else:
            self._fit_rows(*self._enter(X, sample_weight))
        if self.n_clusters is not None:
            self._warn_if_short("equal rows cannot be separated; a smaller min_cluster_size may help")
        return self

    def _fit_rows(self, X: Matrix, weights: Floats) -> None:
        tested = self.n_clusters is None
        total = float(weights.sum())
        size = self._least_size(total, tested)
        find_cut, rough = self._find_cut(size, total), self._rough_search(size)
        options: dict[str, Any] = {"find_cut": find_cut, "min_cluster_size": size}
        if tested:
            options |= {"find_cut": self._tested(find_cut, size, total).find_cut, **self._acceptance()}
        elif rough is not None:  # for leaves that are never cut, a search on a sample is enough
            find, finish = (partial(function, n_jobs=self.n_jobs) for function in rough)
            options |= {"find_cut": self._from_starts(find), "finish_cut": finish}
        options |= {"max_depth": self.max_depth, "order": checked_order(self._order()), "pair_cells": self._pair_cells}
        self._grow(X, sample_weight=weights, find_any_cut=find_cut, **options)

    def _tested(self, find_cut: FindCut, min_cluster_size: float, total: float) -> ConfirmedCuts:
        """Return the search for confirmed cuts; it starts from the scout unless `init` gives other directions."""
        options = self._column_options()
        is_free = options is not None and isinstance(self.init, str | Integral)
        find_from = partial(self._cut_finder(min_cluster_size, total), n_jobs=self.n_jobs, **(options or {}))

        def whole(X: Matrix, weights: Floats, moments: Moments, normal: Floats) -> Floats | None:
            rows = X, weights, moments
            cut = find_from(*rows, starts=make_starts(normal)) if is_free else find_cut(*rows)
            return None if cut is None else cut.normal

        return self._confirmed_cuts(whole, VALLEY_BANDWIDTH, min_cluster_size)

    def _whole_of_chunks(self, min_cluster_size: float, starts: ChunkedStarts) -> FromDirectionOfChunks:
        """Return the search for the direction of all rows of a node, given that of the scout, as `_tested` does."""
        options = self._column_options()
        find, finish = self._chunked_cut_finder(min_cluster_size), self._chunked_finisher()
        is_free = options is not None and isinstance(self.init, str | Integral)

        def whole(node: ChunkedNode, normal: Floats) -> Floats | None:
            if is_free:
                cut = find(node, **{"starts": make_chunked_starts(normal), **(options or {})})
            else:
                cut = find(node, starts=starts)
            if isinstance(cut, RoughCut):
                assert finish is not None
                cut = finish(node, cut)
            return None if cut is None else cut.normal

        return whole

    def _searched(self, X: Matrix, weights: Floats) -> Matrix:
        if sparse.issparse(X):
            return X
        rows, of_rows = with_weight(X, weights)
        count, mean, squares = column_moments(rows, of_rows, self.n_jobs)
        extent = column_extent(rows, self.n_jobs)
        edges = edges_by(*extent, mean, squares / count, lambda: self._edge_rows(rows, of_rows))
        return X if edges is None else moved_in(X, *edges)

    def _edge_rows(self, X: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the rows that say which cells are far outside: the same as for out-of-core data."""
        most = n_edge_rows(X.shape[1])
        if len(X) <= most:
            return X, weights
        by_weight = bool((weights != weights[0]).any())
        drawn, _ = largest_numbers(X, weights, most, EDGE_SEED, by_weight, self.n_jobs)
        return X[drawn], weights[drawn]

    def _check_outliers(self, X: Matrix, weights: Floats, reach: float) -> None:
        if find_outliers(X, weights, reach, self.n_jobs) is not None:
            super()._check_outliers(self._searched(X, weights), weights, reach)

    def _fit_chunks(self, X: Any, sample_weight: Any) -> None:
        starts = make_chunked_starts(self._init())
        self._chunked_cut_finder(1.0)  # raises before any rows are read if the method needs in-memory data
        with chunks_of(X, sample_weight, self.n_jobs, copied=True) as chunks:
            root = self._root_of_chunks(chunks)
            few = self._fetch_if_few(root)
            searched = without_far_cells(root)
            self._check_chunked_outlier(searched)
            if few is None:
                self._fit_many(X, root, searched, starts)
        if few is not None:
            self._fit_rows(few.X, few.weights)
            self._label_chunks(X)

    def _fit_many(self, X: Any, root: ChunkedNode, searched: ChunkedNode, starts: ChunkedStarts) -> None:
        tested, total = self.n_clusters is None, root.moments.count
        size = self._least_size(total, tested)
        find_cut = self._find_cut(size, total)
        find_chunked_cut = self._chunked_from_starts(self._chunked_cut_finder(size), starts)
        options: dict[str, Any] = {"find_cut": find_cut, "min_cluster_size": size}
        if tested:
            cuts = self._tested(find_cut, size, total)
            options |= {"find_cut": cuts.find_cut, **self._acceptance()}
            find_chunked_cut = partial(cuts.find_chunked_cut, whole=self._whole_of_chunks(size, starts))
        options |= {
            "max_depth": self.max_depth,
            "order": checked_order(self._order()),
            "find_chunked_cut": find_chunked_cut,
        }
        self._grow_on_chunks(X, root, searched, finish_chunked_cut=self._chunked_finisher(), **options)

    def directions(self, X: ArrayLike, n_components: int = 2) -> Floats:
        """Find orthogonal directions that show the structure of the data, for plots.

        The first direction is the normal of the cut of all rows. Each further direction is found in the same way after
        the earlier directions have been projected out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows to project. The model need not be fitted.
        n_components : int, default=2
            Number of directions.

        Returns
        -------
        directions : ndarray of shape (n_components, n_features)
            Orthonormal directions, one in each row; ``X @ directions.T`` are the coordinates of the plot. There are
            fewer than `n_components` if the data varies along fewer directions.

        Examples
        --------
        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> picture = X @ NCutH().directions(X).T
        >>> picture.shape
        (150, 2)
        """
        asked: Any = n_components
        if not isinstance(asked, Integral) or asked < 1:
            raise ValueError(f"n_components={n_components!r} must be an integer of at least 1")
        model = self if is_fitted(self) else copy(self)  # a model that is not fitted is left unchanged
        rows = np.array(model._read(X, reset=model is not self, accept_sparse=False, dtype=np.float64))
        self._check_magnitude(rows)
        weights = np.ones(len(rows))
        found: list[Floats] = []
        for _ in range(min(n_components, rows.shape[1])):
            cut = self._find_cut(1.0, len(rows))(rows, weights, moments_of(rows, weights, self.n_jobs))
            if cut is None:
                break
            normal = cut.normal
            for before in found:  # removes rounding errors only: the rows no longer vary along these directions
                normal = normal - (normal @ before) * before
            normal = normal / np.linalg.norm(normal)
            found.append(normal)
            rows -= np.outer(rows @ normal, normal)
        return np.array(found).reshape(-1, rows.shape[1])

    def _find_cut(self, min_cluster_size: float, total: float) -> FindCut:
        return self._from_starts(partial(self._cut_finder(min_cluster_size, total), n_jobs=self.n_jobs))

    def _from_starts(self, find: Callable[..., Any]) -> Callable[..., Any]:
        """Return a search from the starts of `init`, and perhaps from a column, given a function that finds a cut."""
        find_from_init = partial(find, starts=make_starts(self._init(), self.n_jobs))
        options = self._column_options()
        if options is None or not isinstance(self.init, str | Integral):
            return find_from_init

        def find_cut(X: Matrix, weights: Floats, moments: Moments) -> Any:
            def search(column: Floats) -> Any:
                return find(X, weights, moments, **{"starts": make_starts(column), **options})

            return best_with_column(find_from_init(X, weights, moments), X, weights, moments, search, self.n_jobs)

        return find_cut

    def _chunked_from_starts(self, find: Callable[..., Any], starts: ChunkedStarts) -> FindChunkedCut:
        """Do what `_from_starts` does for out-of-core data."""
        options = self._column_options()
        if options is None or not isinstance(self.init, str | Integral):
            return partial(find, starts=starts)

        def find_cut(node: ChunkedNode) -> Any:
            def search(column: Floats) -> Any:
                return find(node, **{"starts": make_chunked_starts(column), **options})

            return chunked_best_with_column(find(node, starts=starts), node, search)

        return find_cut

    def _init(self) -> Any:
        """Return the argument of `make_starts`."""
        return checked_directions(self.init)

    @abstractmethod
    def _cut_finder(self, min_cluster_size: float, total: float) -> Callable[..., Cut | None]:
        """Return the function that finds a cut, given `starts` and `n_jobs`; `total` is the weight of all rows."""

    def _column_options(self) -> dict[str, Any] | None:
        """Return the options of a search from a column that others do not have; None if columns are not tried."""
        return None

    def _rough_search(self, min_cluster_size: float) -> RoughSearch | None:
        """Return the functions that search a sample and finish a rough cut; None if the method always uses all rows."""
        return None

    def _chunked_cut_finder(self, min_cluster_size: float) -> Callable[..., Cut | RoughCut[Any] | None]:
        """Return the function that finds a cut of a node of out-of-core data, given `starts`."""
        raise ValueError(f"{type(self).__name__} needs in-memory data: use NCutH, MDH or PDDP, or fit a sample")

    def _chunked_finisher(self) -> FinishChunkedCut | None:
        """Return the function that finishes a rough cut of out-of-core data; None if cuts are never rough."""
        return None

    @abstractmethod
    def _order(self) -> Order:
        """Return the rule that says which leaf is split next."""
