"""Checks of rows and weights before a compiled loop reads them.

Compiled loops trust their arrays and would read past the end of an array with wrong indices. So everything that takes
rows from outside checks sparse matrices here, in one pass. Weights are converted to a form in which their sums are
exact enough.
"""

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ravine._matrix import LARGEST, SMALLEST, Floats, Matrix

LIGHTEST, HEAVIEST = 1e-100, 1e100
"""The largest weight must lie between these numbers; beyond them, products of weights and squares leave float64."""

NEGLIGIBLE = 1e-15
"""A weight below this share of the largest one becomes 0, since rounding would lose it in a sum with the largest."""

INSTEAD = {
    ("anndata", "AnnData"): (
        "one of its matrices, such as X.obsm['X_pca'] or X.X, or call ravine.integrations.anndata.cluster(X)"
    ),
    ("duckdb", "DuckDBPyRelation"): "X.to_arrow_table()",
    ("polars", "LazyFrame"): "X.collect()",
    ("pyarrow", "RecordBatchReader"): "X.read_all()",
    ("pyspark", "DataFrame"): "X.toArrow() or X.toPandas()",
    ("xarray", "Dataset"): "one of its arrays, such as X['name']",
}
"""What to pass instead of an object, by its package and its class."""


def checked_sparse(X: Any) -> Matrix:
    """Return sparse rows in CSR format, without a copy if they already are; raise ValueError if they are malformed.

    The flags of a matrix (sorted, without duplicates) are discarded, since the matrix may have changed after they were
    set.
    """
    if X.ndim != 2:
        raise ValueError(f"X is a sparse array of shape {X.shape}: it needs two dimensions, rows and columns")
    n_rows, n_columns = X.shape
    if X.format == "csr":
        _check_compressed(X.format, X.indptr, X.indices, X.data, n_rows, n_columns)
    elif X.format == "csc":
        _check_compressed(X.format, X.indptr, X.indices, X.data, n_columns, n_rows)
    elif X.format == "bsr":
        height, width = X.blocksize
        _check_compressed(X.format, X.indptr, X.indices, X.data, n_rows // height, n_columns // width)
    elif X.format == "coo":
        for index, length in zip(X.coords, X.shape, strict=True):
            _check_indices("coo", "coords", index, length)
            _require(len(index) == len(X.data), "coo", "coords and data have different lengths")
    if X.format != "csr":
        X = X.tocsr()
        _check_compressed("csr", X.indptr, X.indices, X.data, n_rows, n_columns)
    kind = sparse.csr_array if isinstance(X, sparse.sparray) else sparse.csr_matrix
    # Use 64-bit indices only if needed: some scikit-learn methods accept only 32-bit indices.
    index = np.int32 if max(n_rows, n_columns, len(X.data)) <= np.iinfo(np.int32).max else np.int64
    return kind((X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)), shape=X.shape)


def _check_compressed(form: str, indptr: Any, indices: Any, data: Any, n_major: int, n_minor: int) -> None:
    """Raise ValueError unless these are the arrays of a compressed matrix; SciPy's own check misses some errors."""
    _check_integers(form, "indptr", indptr)
    _require(len(indptr) == n_major + 1, form, f"indptr has {len(indptr)} entries, not {n_major + 1}")
    _require(indptr[0] == 0, form, f"indptr begins with {indptr[0]}, not with 0")
    # Compare instead of subtracting, since a difference can overflow.
    _require(bool((indptr[1:] >= indptr[:-1]).all()), form, "indptr has an entry below the one before it")
    _check_indices(form, "indices", indices, n_minor)
    _require(len(indices) == len(data), form, f"there are {len(indices)} indices for {len(data)} values")
    _require(int(indptr[-1]) <= len(data), form, f"indptr ends with {indptr[-1]}, but there are {len(data)} values")


def _check_indices(form: str, name: str, indices: Any, length: int) -> None:
    _check_integers(form, name, indices)
    if len(indices):
        low, high = int(indices.min()), int(indices.max())
        _require(low >= 0 and high < length, form, f"{name} range from {low} to {high}, outside 0 to {length - 1}")


def _check_integers(form: str, name: str, array: Any) -> None:
    is_list = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"
    _require(is_list, form, f"{name} is not a list of integers")


def _require(holds: bool, form: str, complaint: str) -> None:
    if not holds:
        raise ValueError(
            f"X is a malformed sparse matrix ({form}): {complaint}. Build it again from its entries, "
            "for example with scipy.sparse.coo_array((values, (rows, columns)), shape).tocsr()"
        )


def is_half(X: Any) -> bool:
    """Return whether rows hold float16 only: an array, a sparse matrix, a frame, or a tensor on the CPU.

    They are read as float32, which holds each of their numbers exactly. scikit-learn would convert them to float64.
    """
    types = list(X.dtypes) if hasattr(X, "columns") and hasattr(X, "dtypes") else [getattr(X, "dtype", None)]
    return bool(types) and all(str(dtype).lower() in ("float16", "torch.float16") for dtype in types)


def refuse_what_is_no_number(array: Any, name: str) -> None:
    """Raise ValueError for values that NumPy silently converts to numbers: masked entries, dates and durations."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(f"{name} is a masked array with masked entries: remove these rows, or fill them (.filled)")
    types = [getattr(array, "dtype", None)]
    if hasattr(array, "columns"):
        types = list(array.schema.types if is_arrow(array) else array.dtypes)
    if any(str(dtype).lower().startswith(("date", "time", "duration")) for dtype in types):
        raise ValueError(f"{name} holds dates or durations: convert them to numbers, for example days since the first")


def is_arrow(X: Any) -> bool:
    """Return whether rows are a table or a batch of pyarrow, whose `columns` are arrays and not names."""
    return type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "column_names")


def as_table(X: Any) -> Any:
    """Return a batch of pyarrow as a table, whose columns have names for scikit-learn, and anything else unchanged."""
    if is_arrow(X) and type(X).__name__ == "RecordBatch":
        import pyarrow as pa

        return pa.Table.from_batches([X])
    return X


def refuse_what_has_no_rows(X: Any) -> None:
    """Raise TypeError for objects that hold a table but are none; NumPy would fail on them, or read them forever."""
    for kind in type(X).__mro__:
        instead = INSTEAD.get((kind.__module__.partition(".")[0], kind.__name__))
        if instead is not None:
            raise TypeError(f"X is of type {kind.__name__}, which is no array and no frame: pass {instead}")


def refuse_names_given_twice(X: Any) -> None:
    """Raise ValueError for a frame with two columns of the same name."""
    names = list(X.column_names if is_arrow(X) else getattr(X, "columns", ()))
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise ValueError(f"X has two columns named {sorted(map(repr, twice))[0]}: rename one, or leave it out")


def as_floats(array: Any, name: str) -> NDArray[Any]:
    """Return an array of float32 or float64; raise ValueError if it holds anything but real numbers."""
    refuse_what_is_no_number(array, name)
    found = np.asarray(array)
    if found.dtype == np.float16:
        return found.astype(np.float32)
    if found.dtype in (np.float32, np.float64):
        return found
    if found.dtype.kind not in "biufO":
        what = "complex numbers" if found.dtype.kind == "c" else "something other than numbers"
        raise ValueError(f"{name} holds {what}: it needs real numbers")
    with warnings.catch_warnings():  # overflow to infinity is reported by the error below
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return found.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{name} holds values that are not real numbers or exceed float64: {error}") from None


def numbers_of(values: Any, name: str) -> list[float]:
    """Return the numbers in a list given by a user; a ValueError names an invalid list."""
    try:
        found = as_floats(values, name)
    except ValueError as error:
        raise ValueError(f"{name}={values!r} is not a list of numbers: {error}") from None
    if found.ndim != 1:
        raise ValueError(f"{name}={values!r} is not a list of numbers: it has {found.ndim} dimensions")
    return [float(number) for number in found]


def all_finite(array: NDArray[Any]) -> bool:
    """Return whether an array has neither NaN nor infinity.

    The sum usually answers this without a mask of all entries.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=np.float64)
    return bool(np.isfinite(total)) or bool(np.isfinite(array).all())


def checked_weights(sample_weight: ArrayLike | None, n_rows: int, allow_all_zero: bool = False) -> Floats:
    """Return the weights of the rows, 1 each by default; a ValueError says what is wrong with them.

    Valid weights are finite, one per row, not negative and not all zero. They are counts and are not rescaled. But
    weights below `NEGLIGIBLE` times the largest become 0, and the largest must lie between `LIGHTEST` and `HEAVIEST`.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight)
    if sparse.issparse(sample_weight):
        raise ValueError("sample_weight is a sparse matrix: use an array with one number per row")
    weights = np.array(as_floats(sample_weight, "sample_weight"), dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has the shape {weights.shape}: it needs a number for each of {n_rows} rows")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity: remove these rows, or give them the weight 0")
    if (weights < 0).any():
        raise ValueError("Negative values in sample_weight: weights cannot be negative; use 0 to leave a row out")
    heaviest = float(weights.max(initial=0.0))
    if heaviest > 0:
        refuse_weight(heaviest)
        weights[weights < NEGLIGIBLE * heaviest] = 0.0
    elif not allow_all_zero:
        raise ValueError("sample_weight is zero for all rows: it needs at least one non-zero number")
    return weights


def refuse_weight(heaviest: float) -> None:
    """Raise ValueError if the largest weight is too small or too large to compute with."""
    if not LIGHTEST <= heaviest <= HEAVIEST:
        raise ValueError(
            f"the largest of sample_weight is {heaviest:.3g}, not between {LIGHTEST:g} and {HEAVIEST:g}: weights count "
            "rows, so divide them by their mean"
        )


def refuse_product(heaviest: float, n_rows: int, reach: float) -> None:
    """Raise ValueError if weights and rows are valid separately, but weighted sums of squares are not."""
    with np.errstate(over="ignore", under="ignore"):
        largest = float(np.float64(heaviest) * n_rows * np.float64(reach) ** 2)
    is_weighted = heaviest > 0 and heaviest != 1.0
    if is_weighted and (largest > LARGEST**2 or (reach > 0 and largest < SMALLEST**2)):
        what = "overflow" if largest > 1 else "vanish"
        raise ValueError(
            f"sample_weight reaches {heaviest:.3g} and X ranges over {reach:.3g}, so weighted squares would {what} in "
            "float64: divide the weights by their mean, or change the unit of X"
        )
