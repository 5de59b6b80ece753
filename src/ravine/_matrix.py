"""Projections, moments and scatter matrices, with the same functions for dense and CSR matrices.

Dense matrices go through the compiled passes of `ravine._kernels.rows`, block by block on threads. A CSR matrix is
never converted to dense and never centered; its mean is subtracted after the product. No reduction copies the rows.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ravine import _kernels
from ravine._blocks import count_blocks, map_blocks, map_rows, sum_blocks
from ravine._ties import sorted_groups

Matrix: TypeAlias = Any
"""A C-contiguous ndarray or a CSR matrix, of float32 or float64. SciPy has no types to express this."""

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

LARGEST, SMALLEST = 1e150, 1e-150
"""Squares of larger numbers overflow in float64, and squares of smaller ones vanish."""


@dataclass(frozen=True)
class Moments:
    """Total weight of some rows, their mean, and the sum of their squared distances to the mean.

    `scatter` is their scatter matrix, if it was computed with the moments.
    """

    count: float
    mean: Floats
    sum_sq: float
    scatter: Floats | None = field(default=None, repr=False, compare=False)

    @property
    def varies(self) -> bool:
        """Whether the rows differ by more than rounding."""
        rounding = 8 * np.finfo(np.float64).eps
        return bool(self.sum_sq > self.count * rounding**2 * float(self.mean @ self.mean))

    @property
    def unit(self) -> float:
        """Root mean square deviation of a column: a length that makes results independent of the unit."""
        return math.sqrt(self.sum_sq / (self.count * len(self.mean)))


def take_rows(X: Matrix, rows: Ints, n_jobs: int | None = None, out: NDArray[Any] | None = None) -> Matrix:
    """Return a copy of some rows; dense rows are written to `out`, if it is given."""
    if sparse.issparse(X):
        return X[rows]
    out = np.empty((len(rows), X.shape[1]), dtype=X.dtype) if out is None else out
    map_rows(lambda b: _kernels.rows.gather(X, rows[b], out[b]), out.shape, n_jobs)
    return out


def unit_rows(X: Matrix, n_jobs: int | None = None, *, copy: bool = True) -> Matrix:
    """Return rows of length 1, of the type of X; a row of zeros is unchanged. Without `copy`, X itself is changed."""
    if sparse.issparse(X):
        data = np.empty_like(X.data) if copy else X.data
        _kernels.rows.to_unit_length_csr(X.indptr, X.data, data)
        return type(X)((data, X.indices, X.indptr), shape=X.shape)
    out = np.empty_like(X, order="C", subok=False) if copy else X
    map_rows(lambda b: _kernels.rows.to_unit_length(X[b], out[b]), X.shape, n_jobs)
    return out


def with_weight(X: Matrix, weights: Floats) -> tuple[Matrix, Floats]:
    """Return the rows of positive weight, without a copy if these are all, and their weights."""
    has_weight = weights > 0
    return (X, weights) if has_weight.all() else (X[has_weight], weights[has_weight])


def moments_of(X: Matrix, weights: Floats, n_jobs: int | None = None, *, with_scatter: bool = False) -> Moments:
    """Return the moments of the rows: the mean in one pass, the squared distances to it in a second pass.

    For dense rows, the second pass can also give the scatter matrix.
    """
    if with_scatter:
        count = float(weights.sum())
        mean = weighted_sum(X, weights, n_jobs) / count
        matrix = scatter(X, weights, mean, n_jobs)
        return Moments(count, mean, float(np.trace(matrix)), matrix)
    count, mean, squares = column_moments(X, weights, n_jobs)
    return Moments(count, mean, float(squares.sum()))


def column_moments(X: Matrix, weights: Floats, n_jobs: int | None = None) -> tuple[float, Floats, Floats]:
    """Return the total weight, the mean of each column, and the sum of squared distances to the mean in each column."""
    count = float(weights.sum())
    mean = weighted_sum(X, weights, n_jobs) / count
    if sparse.issparse(X):
        return count, mean, _csr_column_squares(X, weights, mean)

    def add_up(b: slice, block_rows: int) -> Floats:
        out = np.zeros((count_blocks(b, block_rows), X.shape[1]))
        _kernels.rows.column_squares(X[b], weights[b], mean, block_rows, out)
        return out

    return count, mean, sum_blocks(add_up, X.shape, n_jobs)


def column_extent(X: Matrix, n_jobs: int | None = None) -> tuple[Floats, Floats]:
    """Return the smallest and the largest entry of each column of dense rows, computed in one pass."""

    def extent(b: slice) -> tuple[Floats, Floats]:
        low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
        _kernels.rows.column_extent(X[b], low, high)
        return low, high

    lows, highs = zip(*map_rows(extent, X.shape, n_jobs), strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def column_deviations(X: Matrix) -> Floats:
    """Return the standard deviation of each column; 0 if its entries differ at most by rounding, or without rows."""
    if not X.shape[0]:
        return np.zeros(X.shape[1])
    count, mean, squares = column_moments(X, np.ones(X.shape[0]))
    deviation = np.sqrt(squares / count)
    return np.where(deviation > 8 * np.finfo(np.float64).eps * np.abs(mean), deviation, 0.0)


def group_moments(
    X: Matrix, weights: Floats, group: Ints, center: Floats, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return weight, mean and sum of squares of each group of rows, in one pass.

    `center` has a row near the mean of each group, which preserves digits. It is also the mean of a group without
    weight.
    """
    if sparse.issparse(X):
        count, mean, sum_sq = np.zeros(len(center)), center.copy(), np.zeros(len(center))
        for g in range(len(center)):
            rows = np.flatnonzero((group == g) & (weights > 0))
            if len(rows):
                of_group = moments_of(X[rows], weights[rows], n_jobs)
                count[g], mean[g], sum_sq[g] = of_group.count, of_group.mean, of_group.sum_sq
        return count, mean, sum_sq

    def add_up(b: slice) -> tuple[Floats, Floats, Floats]:
        sums = np.zeros(len(center)), np.zeros(center.shape), np.zeros(len(center))
        _kernels.rows.group_moments(X[b], weights[b], group[b], center, *sums)
        return sums

    parts = map_blocks(add_up, X.shape, n_jobs)
    count, total, square = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    shift = total / np.where(count > 0, count, 1.0)[:, np.newaxis]
    sum_sq = np.maximum(square - count * (shift**2).sum(axis=1), 0.0)
    return count, center + shift, sum_sq


def fingerprint(X: Matrix, seed: int, n_jobs: int | None = None) -> NDArray[np.uint64]:
    """Return a pseudorandom number per row that depends only on its entries.

    Equal rows have equal numbers, dense or sparse, wherever they are.
    """
    factors, salt = fingerprint_factors(X.shape[1], seed)
    if sparse.issparse(X):
        return np.asarray(_kernels.rows.fingerprint_csr(X.indptr, X.indices, X.data, factors, salt))
    out = np.empty(X.shape[0], np.uint64)
    map_rows(lambda b: _kernels.rows.fingerprint(X[b], factors, salt, out[b]), X.shape, n_jobs)
    return out


@lru_cache(maxsize=8)
def fingerprint_factors(n_columns: int, seed: int) -> tuple[NDArray[np.uint64], np.uint64]:
    """Return the random numbers from which `fingerprint` is computed: one for each column, and one more."""
    odd = np.random.default_rng(seed).integers(1 << 63, size=n_columns + 1, dtype=np.uint64) * 2 + 1
    return odd[1:], odd[0]


def mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits as `ravine._kernels.rows.mix` does, for all numbers of an array."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _csr_column_squares(X: Any, weights: Floats, mean: Floats) -> Floats:
    # Stored entries are centered one by one. All zeros of a column have the same distance to its mean.
    n_columns = X.shape[1]
    row_weight = np.repeat(weights, np.diff(X.indptr))
    stored = np.bincount(X.indices, row_weight * (X.data - mean[X.indices]) ** 2, minlength=n_columns)
    zero_weight = weights.sum() - np.bincount(X.indices, row_weight, minlength=n_columns)
    zero_weight[np.bincount(X.indices, minlength=n_columns) == X.shape[0]] = 0.0  # remove what rounding left
    return np.asarray(stored + zero_weight * mean**2)


def project(X: Matrix, direction: Floats, n_jobs: int | None = None) -> Floats:
    """Return X @ direction, computed in one pass."""
    if sparse.issparse(X):
        return np.asarray(X @ direction, dtype=np.float64)
    out = np.empty(X.shape[0])
    map_rows(lambda b: _kernels.rows.project(X[b], direction, out[b]), X.shape, n_jobs)
    return out


def multiply(A: Floats, B: Floats) -> Floats:
    """Return A @ B for small dense matrices, on one thread.

    BLAS would use threads of its own, which wait for each other where several nodes are searched at the same time.
    """
    out = np.empty((A.shape[0], B.shape[1]))
    _kernels.rows.multiply(A, B, out)
    return out


def order_along(X: Matrix, values: Floats, n_jobs: int | None = None) -> Ints:
    """Return the rows in the order of their values along a direction; the contents of rows decide ties."""
    order, group = sorted_groups(values)
    same = np.diff(group) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(tied):
        rows = order[tied]
        order[tied] = rows[np.lexsort([fingerprint(X[rows], 0, n_jobs), group[tied]])]
    return order


def weighted_sum(X: Matrix, c: Floats, n_jobs: int | None = None) -> Floats:
    """Return Σᵢ cᵢ xᵢ, computed in one pass."""
    if sparse.issparse(X):
        return np.asarray(X.T @ c, dtype=np.float64)

    def add_up(b: slice, block_rows: int) -> Floats:
        out = np.zeros((count_blocks(b, block_rows), X.shape[1]))
        _kernels.rows.weighted_sums(X[b], c[b], block_rows, out)
        return out

    return sum_blocks(add_up, X.shape, n_jobs)


def scatter(X: Matrix, weights: Floats, mean: Floats, n_jobs: int | None = None) -> Floats:
    """Return Σᵢ wᵢ (xᵢ - mean)(xᵢ - mean)ᵀ for dense rows."""
    even = -(-X.shape[1] // 2) * 2

    def add_up(b: slice, block_rows: int) -> Floats:
        out, tile = np.zeros((count_blocks(b, block_rows), even, even)), np.zeros((even, _kernels.rows.TILE))
        _kernels.rows.scatters(X[b], weights[b], mean, block_rows, tile, out)
        return out

    half = sum_blocks(add_up, X.shape, n_jobs)[: X.shape[1], : X.shape[1]]
    return np.where(_lower(X.shape[1]), half, half.T)


@lru_cache(maxsize=8)
def _lower(n: int) -> Bools:
    """Return which entries of a square matrix are on or below the diagonal."""
    return np.tri(n, dtype=bool)


def scatter_times(X: Matrix, weights: Floats, mean: Floats, v: Floats, n_jobs: int | None = None) -> Floats:
    """Return the scatter matrix times v, in one pass and without forming the matrix."""
    if sparse.issparse(X):
        along = weights * (np.asarray(X @ v) - mean @ v)
        return np.asarray(X.T @ along) - along.sum() * mean

    def add_up(b: slice, block_rows: int) -> Floats:
        return _kernels.rows.scatter_times_of_blocks(X[b], weights[b], mean, v, block_rows)

    return sum_blocks(add_up, X.shape, n_jobs)


def walk(
    X: Matrix,
    normal: Floats,
    offset: Floats,
    left: Ints,
    right: Ints,
    *,
    column: Ints | None = None,
    distance: Floats | None = None,
    n_jobs: int | None = None,
) -> Ints:
    """Return the leaf of each row.

    If given, `distance[:, column[node]]` is filled with the signed distances on the way.
    """
    leaf = np.empty(X.shape[0], dtype=np.int64)
    if column is None or distance is None:
        column, distance = np.empty(0, dtype=np.int64), np.empty((X.shape[0], 0))
    # All arrays are read-only, like those of a tree; otherwise the kernel would be compiled a second time.
    tree = (_read_only(normal), _read_only(offset), _read_only(left), _read_only(right))

    def walk_block(b: slice) -> None:
        if sparse.issparse(X):
            indptr, indices, data = _csr_block(X, b)
            _kernels.rows.walk_csr(indptr, indices, data, *tree, leaf[b], column, distance[b])
        else:
            _kernels.rows.walk(np.ascontiguousarray(X[b]), *tree, leaf[b], column, distance[b])

    row_length = X.nnz // max(X.shape[0], 1) if sparse.issparse(X) else X.shape[1]
    map_rows(walk_block, (X.shape[0], row_length), n_jobs)
    return leaf


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.setflags(write=False)
    return view


def _csr_block(X: Any, b: slice) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    indptr = X.indptr[b.start : b.stop + 1]
    return indptr - indptr[0], X.indices[indptr[0] : indptr[-1]], X.data[indptr[0] : indptr[-1]]
