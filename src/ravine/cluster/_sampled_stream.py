"""The state that `IncrementalMDH` keeps of the rows it has seen."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._blocks import BLOCK_CELLS
from ravine._matrix import LARGEST, SMALLEST, Floats, Matrix, column_moments, with_weight
from ravine._reservoir import (
    Reservoir,
    arrival_keys,
    content_sample,
    keys_in_any_unit,
    keys_of,
    merge_copies,
    sample_is_part_of_the_stream,
    sample_of,
)
from ravine._scaling import Scaling
from ravine._schema import MOST, POSITIVE, Array, Group, Number, Sizes, State, require
from ravine.tree._imdh import ONLINE, IMDHTree, squares_are_finite

if TYPE_CHECKING:
    from ravine._outofcore import ChunkedNode

MAX_PASSES, FEW_UPDATES = 20, 50_000
"""A small sample is passed over at most this many times, and up to this many updates in all."""


def _center_and_scale(
    mean: Floats, square: Floats, seen: Floats, count: float, is_sparse: bool, standardize: bool
) -> tuple[Floats, Floats]:
    if not standardize:
        return np.zeros_like(mean), np.ones_like(mean)
    if is_sparse:  # add the zeros since the last stored number of each column
        square = square + mean**2 * seen * (count - seen) / count
    deviation = np.sqrt(square / count)
    center = np.zeros_like(mean) if is_sparse else mean
    return center, np.where(deviation > 0, deviation, 1.0)


def saved_center_and_scale(state: State, sizes: Sizes) -> tuple[Floats, Floats]:
    """Return the center and the scale of each column from the fields of `STREAM`."""
    columns = state["mean"], state["square"], state["seen"]
    standardize = bool(sizes["standardize"]) and not state["is_scaled"]
    return _center_and_scale(*columns, state["count"], state["is_sparse"], standardize)


def sparse_columns_are_counted(state: State, sizes: Sizes) -> None:
    """Each sparse column has seen a part of the weight of all rows; dense columns do not count it."""
    seen, n_columns = state["seen"], sizes["n_features"] if state["is_sparse"] else 0
    require(len(seen) == n_columns, "seen", f"has {len(seen)} entries, but needs {n_columns}")
    require((seen <= state["count"]).all(), "seen", "has an entry that is more than the weight of all rows")


def scales_are_usable(state: State, sizes: Sizes) -> None:
    """The squares of the scales of the columns neither overflow nor vanish."""
    _, scale = saved_center_and_scale(state, sizes)
    is_usable = ((scale >= SMALLEST) & (scale <= LARGEST)).all()
    require(is_usable, "square", "has an entry that is far too small or too large")


def sample_fits_the_stream(state: State, sizes: Sizes) -> None:
    """A sample is kept if the parameters say so; its rows are of the same kind as those of the stream."""
    sample = state["sample"]
    has_sample = "a sample, because the algorithm keeps rows" if sizes["sample_size"] else "no sample"
    require((sample is not None) == (sizes["sample_size"] > 0), "sample", f"must hold {has_sample}")
    if sample is not None:
        rows = sample["rows"]
        is_same = sparse.issparse(rows) == state["is_sparse"]
        require(is_same, "sample.rows", "is sparse and the stream is dense, or the other way round")
        scaled = Scaling.without_bounds(*saved_center_and_scale(state, sizes)).rows(rows)
        largest = np.abs(scaled.data if sparse.issparse(scaled) else scaled).max(initial=0)
        require(largest <= LARGEST, "sample.rows", "has an entry that is far too large for the scale of its column")
        if not sparse.issparse(rows):
            is_usable = (Scaling.of(rows, sample["weights"]).scale >= SMALLEST).all()
            require(is_usable, "sample.rows", "has a column whose scale is far too small")


STREAM = Group(
    {
        "seed": Number(int, low=0, high=np.iinfo(np.int32).max),
        "is_sparse": Number(bool),
        "is_scaled": Number(bool, required=False),  # files of earlier versions do not have it
        "n_rows": Number(int, low=1, high=MOST),
        "count": Number(float, low=POSITIVE),
        "mean": Array("float64", ("n_features",), low=-LARGEST, high=LARGEST),
        "square": Array("float64", ("n_features",), low=0),
        "seen": Array("float64", ("n_seen",), low=0, empty=True),
        "online": ONLINE,
        "sample": replace(
            sample_of(Array("floating", ("n_kept", "n_features"), low=-LARGEST, high=LARGEST, csr=True), POSITIVE),
            optional=True,
        ),
    },
    (
        sparse_columns_are_counted,
        scales_are_usable,
        squares_are_finite,
        sample_is_part_of_the_stream,
        sample_fits_the_stream,
    ),
    optional=True,
)
"""The result of `SampledStream.state`. The sample is None if the algorithm keeps no rows."""


class SampledStream:
    """State of a stream: moments of the columns, cuts of the stochastic gradient, and a sample of the rows.

    Parameters
    ----------
    online : IMDHTree
    reservoir : Reservoir or None
    standardize : bool
    memory_length : float or None
    seed : int
    is_sparse : bool
    is_scaled : bool
        Whether the rows are `ScaledRows`, which are not standardized.
    """

    def __init__(
        self,
        online: IMDHTree,
        reservoir: Reservoir | None,
        standardize: bool,
        memory_length: float | None,
        seed: int,
        is_sparse: bool,
        is_scaled: bool,
    ) -> None:
        self.online = online
        self.reservoir = reservoir
        self.standardize = standardize
        self.memory_length = memory_length
        self.seed = seed
        self.is_sparse = is_sparse
        self.is_scaled = is_scaled
        self.n_rows = 0
        self.count = 0.0
        self.mean = np.zeros(online.n_features)
        self.square = np.zeros(online.n_features)
        self._seen = np.zeros(online.n_features if is_sparse else 0)

    def state(self) -> dict[str, Any]:
        """Return the fields of `STREAM`: the whole state except the parameters, without copies."""
        sample = None
        if self.reservoir is not None:
            sample = dict(zip(("keys", "rows", "weights"), self.reservoir.state(), strict=True))
        kind = {"is_sparse": self.is_sparse, "is_scaled": self.is_scaled}
        numbers = {"seed": self.seed, **kind, "n_rows": self.n_rows, "count": float(self.count)}
        columns = {"mean": self.mean, "square": self.square, "seen": self._seen}
        return {**numbers, **columns, "online": self.online.state(), "sample": sample}

    def restore(self, state: State) -> None:
        """Restore the checked fields of `state` that are not parts of `online` and `reservoir`."""
        self.n_rows, self.count = state["n_rows"], state["count"]
        self.mean, self.square, self._seen = state["mean"], state["square"], state["seen"]

    def learn(self, X: Matrix, weights: Floats, n_jobs: int | None) -> None:
        """Learn the next rows of a stream."""
        X, weights = with_weight(X, weights)
        if not X.shape[0]:
            return
        scaled = self._standardize(X, weights)
        self.online.learn(scaled if self._scales else X, weights, n_jobs)
        if self.reservoir is not None:
            self.reservoir.add(arrival_keys(self.n_rows, X.shape[0], self.seed, self.memory_length), X, weights)
        self.n_rows += X.shape[0]

    def _standardize(self, X: Matrix, weights: Floats) -> Matrix:
        """Update the moments of the columns and return standardized rows; sparse rows are not centered."""
        if self.is_sparse:
            data = np.empty_like(X.data)
            state = (self._seen, self.mean, self.square)
            matrix = (X.indptr, X.indices, X.data)
            self.count = _kernels.imdh.standardize_csr(*matrix, weights, self.count, *state, data)
            return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        scaled = np.empty_like(X)
        most = math.inf if self.memory_length is None else self.memory_length
        self.count = _kernels.imdh.standardize(X, weights, self.count, most, self.mean, self.square, scaled)
        return scaled

    def read_in_order(self, X: Matrix, weights: Floats, n_passes: int, n_jobs: int | None) -> None:
        """Learn in-memory rows as a stream, in their order; the columns are scaled exactly."""
        if (weights == 0).any():
            X, weights = X[weights > 0], weights[weights > 0]
        self._measure(X, weights, n_jobs)
        self.n_rows = X.shape[0]
        scaling = self.scaling()
        n_block = max(BLOCK_CELLS // X.shape[1], 1)
        for _ in range(n_passes):
            for start in range(0, X.shape[0], n_block):
                rows = slice(start, start + n_block)
                self.online.learn(scaling.rows(X[rows]), weights[rows], n_jobs)

    def read_sample(self, X: Matrix, weights: Floats, n_passes: int | str, n_jobs: int | None) -> None:
        """Learn a sample of in-memory rows, in an order that depends only on the content of the rows."""
        assert self.reservoir is not None
        if (weights == 0).any():
            X, weights = X[weights > 0], weights[weights > 0]
        is_all = X.shape[0] <= self.reservoir.size
        if is_all:
            self.reservoir.add(keys_in_any_unit(X, weights, self.seed), X, weights)
        else:
            chosen, keys = content_sample(X, weights, self.reservoir.size, self.seed, n_jobs)
            self.reservoir.add(keys, X[chosen], weights[chosen])
        distinct, total = merge_copies(*self.sample(), self.seed)
        # If the sample holds all rows, a row of weight 2 gives exactly the same numbers as two rows.
        self._measure(*((distinct, total) if is_all else (X, weights)), n_jobs)
        self.n_rows = X.shape[0]
        self._learn_sample(distinct, total, n_passes, n_jobs)

    def read_sample_of_chunks(self, root: "ChunkedNode", n_passes: int | str, n_jobs: int | None) -> None:
        """Learn a sample of out-of-core data that has more rows than the sample."""
        assert self.reservoir is not None
        drawn = root.draw(self.reservoir.size, self.seed)
        self.reservoir.add(keys_of(drawn.number), drawn.X, drawn.weights)
        self.n_rows, self.count = root.n_rows, root.moments.count
        self.mean, self.square = root.moments.mean, root.squares
        self._learn_sample(*merge_copies(*self.sample(), self.seed), n_passes, n_jobs)

    def _learn_sample(self, distinct: Matrix, total: Floats, n_passes: int | str, n_jobs: int | None) -> None:
        """Pass the distinct rows of the sample through the tree of the stream, more than once if there are few."""
        scaled = self.scaling().rows(distinct)
        if n_passes == "auto":
            n_passes = min(max(FEW_UPDATES // len(total), 1), MAX_PASSES)
        for _ in range(int(n_passes)):
            self.online.learn(scaled, total, n_jobs)

    def _measure(self, X: Matrix, weights: Floats, n_jobs: int | None) -> None:
        self.count, self.mean, self.square = column_moments(X, weights, n_jobs)
        self._seen[:] = self.count

    def scaling(self) -> Scaling:
        """Return the scaling of the columns; far cells do not change it if dense rows are kept."""
        columns = self.mean, self.square, self._seen
        of_all = _center_and_scale(*columns, self.count, self.is_sparse, self._scales)
        if self._scales and self.reservoir is not None and not self.is_sparse:
            return Scaling.of(*self.sample()).with_moments_of(*of_all)
        return Scaling.without_bounds(*of_all)

    @property
    def _scales(self) -> bool:
        return self.standardize and not self.is_scaled

    def sample(self) -> tuple[Matrix, Floats]:
        """Return the rows of the sample, in the units of the data, and their weights."""
        assert self.reservoir is not None
        rows, weights = self.reservoir.sample()
        return rows, weights
