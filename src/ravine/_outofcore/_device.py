"""Rows on a CUDA device: CuPy arrays, torch tensors, and others with a `__cuda_array_interface__`.

The array of the user is read where it is, and is never copied or changed. A node is a list of row numbers on the
device. The reductions are those of `ravine._outofcore._reductions`, with the same results up to the rounding of a
position along a direction, and with exact sums: they do not depend on the order in which the device works. Only small
arrays, and the rows of samples and of small nodes, come to the host.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._lattice import Lattice, nearest_distances, on_lattice
from ravine._matrix import LARGEST, Floats, Ints, fingerprint_factors
from ravine._outofcore import _reductions
from ravine._outofcore._chunks import Chunks, Handles, Item, Result
from ravine._outofcore._node import Whole, about_mean
from ravine._outofcore._reductions import Extent, FetchedRows, Looked, Nearest, Sums
from ravine._reservoir import GOLDEN
from ravine._scaling import NEAR, Scaling, edges_of
from ravine._ties import TIE

BLOCKS = 2048
"""Maximum number of blocks of threads in a pass."""

MOST_POINTS, LINES = 1 << 21, 32
"""Maximum number of points of the lattices of a pass, and of arrays in which a pass adds up their weights: with one,
blocks would wait for each other."""

SPARE_BITS = 62
"""Weights on a lattice are integers whose sum has at most so many bits."""

LOW_BITS = 31
"""Number of bits that are split off an integer, so that both parts are exact in float64."""

SCATTER_THREADS, MOST_IN_BLOCK = 256, 1 << 18
"""Number of threads in a block of `rounded_scatter`, and maximum number of its rows."""

TABLE_SLOTS = 1 << 25
"""Maximum size of the table in which equal rows are found."""

UPPER_BITS = 16
"""The largest numbers of a sample are found by the counts of this many upper bits."""

EDGE_ROWS = 1 << 20
"""Edges of columns with cells far outside are those of all rows up to so many, and else of a sample of this size."""

EDGE_SEED = 0
"""Seed of that sample."""

HOST_CELLS = 1 << 24
"""Number of values that are copied to the host at a time."""


def is_on_device(X: Any) -> bool:
    """Return whether `X` is an array on a CUDA device."""
    if is_tensor(X):
        return str(X.device.type) == "cuda"
    return hasattr(X, "__cuda_array_interface__")


def is_tensor(X: Any) -> bool:
    """Return whether `X` is a torch tensor, without importing torch."""
    return any(kind.__module__.partition(".")[0] == "torch" and kind.__name__ == "Tensor" for kind in type(X).__mro__)


def device_of(X: Any) -> int:
    """Return the number of the device of an array."""
    if is_tensor(X):
        return int(X.device.index or 0)
    return int(getattr(getattr(X, "device", None), "id", 0))


def on_its_device(X: Any) -> AbstractContextManager[Any]:
    """Return a context in which kernels run on the device of an array."""
    cuda = _cuda()
    context: AbstractContextManager[Any] = cuda.gpus[device_of(X)]
    return context


def _cuda() -> Any:
    try:
        from numba import cuda
    except ImportError as error:
        raise ImportError("arrays on a CUDA device need numba-cuda: pip install 'ravine[gpu]'") from error
    if not cuda.is_available():
        raise RuntimeError("X is on a CUDA device, but no device can be used: check the driver with nvidia-smi")
    return cuda


def as_rows(X: Any) -> Any:
    """Return the array on the device as kernels take it, without a copy if its rows are contiguous."""
    cuda = _cuda()
    if is_tensor(X):
        if X.requires_grad:
            raise ValueError("X requires gradients, which a fit does not have: pass X.detach()")
        X = X.contiguous()
    found = X if cuda.devicearray.is_cuda_ndarray(X) else cuda.as_cuda_array(X)
    if found.dtype not in (np.float32, np.float64):
        raise ValueError(f"X on a device has {found.dtype}: convert it to float32, with X.float() or X.astype('float32')")
    if found.ndim != 2:
        raise ValueError(f"X on a device has {found.ndim} dimensions: it needs one row for each sample, as X.reshape(-1, 1)")
    if not found.is_c_contiguous():
        raise ValueError("the rows of X on a device are not contiguous: pass a copy in C order")
    if not 1 <= found.shape[1] <= _kernels.cuda.MOST_COLUMNS:
        most = _kernels.cuda.MOST_COLUMNS
        raise ValueError(f"X on a device has {found.shape[1]} columns, and at most {most} are supported: use fewer")
    if found.shape[0] >= 2**31:
        raise ValueError(f"X on a device has {found.shape[0]} rows, and fewer than 2**31 are supported: pass a sample")
    return found


def empty_beside(X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a new array on the device of `X` and of the same library."""
    if is_tensor(X):
        import torch

        return torch.empty(shape, dtype=getattr(torch, np.dtype(dtype).name), device=X.device)
    if type(X).__module__.partition(".")[0] == "cupy":
        import cupy

        with X.device:
            return cupy.empty(shape, dtype=dtype)
    return _cuda().device_array(shape, dtype)


def to_host(X: Any) -> Any:
    """Return the array in the memory of the host."""
    with on_its_device(X):
        return as_rows(X).copy_to_host()


@dataclass(frozen=True)
class Part:
    """Rows of a node: their numbers on the device, none if these are all rows, and how many there are."""

    rows: Any
    n: int

    def __len__(self) -> int:
        return self.n


class DeviceChunks(Chunks):
    """Rows on a CUDA device, as one chunk.

    Parameters
    ----------
    X : array on a device, of shape (n_samples, n_features)
    weights : array-like of shape (n_samples,), optional
        On the device or on the host.
    edges : ndarray of shape (3, n_features), optional
        Edges of the columns, to which cells far outside are moved whenever they are read; see `ravine._scaling`.
    """

    rounds_rows = False

    def __init__(self, X: Any, weights: Any = None, edges: Floats | None = None) -> None:
        self.source = X
        with self:
            self.X, self.n_features = as_rows(X), int(X.shape[1])
            self._every = _to_device(np.empty(0, dtype=np.int32))
            self.w, self.w_step = (_to_device(np.ones(1)), 0) if weights is None else (self._weights(weights), 1)
            self.edges = _to_device(np.empty((3, 0)) if edges is None else edges)
        self._given, self._extent = weights, None
        self.n_passes = 0

    def __enter__(self) -> "DeviceChunks":
        self._context = on_its_device(self.source)
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    def close(self) -> None:
        """There are no copies of rows."""

    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function on each item: a pass uses the whole device."""
        return [function(item) for item in items]

    def _weights(self, weights: Any) -> Any:
        if is_on_device(weights):
            if device_of(weights) != device_of(self.source):
                raise ValueError("X and sample_weight are on different devices: move one of them")
            found = _cuda().as_cuda_array(weights.detach() if is_tensor(weights) else weights)
            if found.dtype != np.float64:
                raise ValueError(f"sample_weight on a device has {found.dtype}: convert it to float64")
        else:
            found = _to_device(np.ascontiguousarray(weights, dtype=np.float64))
        if found.shape != (self.X.shape[0],):
            raise ValueError(f"sample_weight has shape {found.shape}, and X has {self.X.shape[0]} rows: one weight per row")
        return found

    def everything(self, least: float = 0.0) -> tuple[Handles, Extent | None]:
        """Check all rows, in one pass."""
        part = Part(self._every, self.X.shape[0])
        if not part.n:
            return [part], None
        lightest = heaviest = 1.0
        if self.w_step:
            column = self.w.reshape(self.X.shape[0], 1)
            low, high = _column_range(column, _to_device(np.empty((3, 0))), part)
            if not np.isfinite([low[0], high[0]]).all() or low[0] < 0:
                raise ValueError("sample_weight is negative or not finite")
            lightest, heaviest = float(low[0]), float(high[0])
            if lightest <= least:
                bound = np.nextafter(least, math.inf)
                none = _to_device(np.empty((3, 0)))
                _, part = _divided(column, none, part, np.ones(1), float(bound))
                if not part.n:
                    return [part], None
                low, high = _column_range(column, none, part)
                lightest, heaviest = float(low[0]), float(high[0])
        low, high = _column_range(self.X, self.edges, part)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise ValueError("X contains NaN or infinity: remove or fill such rows before the fit")
        if max(float(high.max()), -float(low.min())) > LARGEST:
            raise ValueError("X has a number whose square would overflow in float64: change the unit of the columns")
        self._extent = Extent(low, high, part.n, lightest, heaviest)
        return [part], self._extent

    def reduce(self, reduction: Any, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction in one pass, or a few."""
        self.n_passes += 1
        (part,) = handles
        return REDUCTIONS[reduction](self, part, *arguments) if part.n else None

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, Any, Any]:
        """Divide the rows, and describe both sides."""
        self.n_passes += 1
        normal, offset, by = arguments
        both = _divided(self.X, self.edges, handles[0], normal, offset)
        left, right = (_described(self, part, by) if part.n else None for part in both)
        return [both[0]], [both[1]], left, right

    def without_far_cells(self) -> "DeviceChunks":
        """Return the rows with the cells far outside moved in, as `ravine._scaling.Scaling` does in memory."""
        with self:
            handles, extent = self.everything()
            if extent is None:
                return self
            center = (extent.low + extent.high) / 2
            count, mean, squares = self.column_moments(handles[0], center)
            farthest = np.maximum(extent.high - mean, mean - extent.low)
            suspect = np.flatnonzero(farthest**2 > NEAR**2 * squares / count)
            if not len(suspect):
                return self
            rows = self._edge_rows(handles, extent)
            edges = np.vstack(edges_within(rows.X[:, suspect], rows.weights, extent.low[suspect], extent.high[suspect]))
        if not np.isfinite(edges[2]).any():
            return self
        every = np.vstack([np.full(self.n_features, bound) for bound in (-np.inf, np.inf, np.inf)])
        every[:, suspect] = edges
        return DeviceChunks(self.source, self._given, every)

    def _edge_rows(self, handles: Handles, extent: Extent) -> FetchedRows:
        if handles[0].n <= EDGE_ROWS:
            taken: FetchedRows = self.reduce(_reductions.take, handles)
            return taken
        drawn = self.reduce(_reductions.draw, handles, EDGE_ROWS, EDGE_SEED, extent.lightest < extent.heaviest)
        return FetchedRows(drawn.X, drawn.weights)

    def column_moments(self, part: Part, center: Floats) -> tuple[float, Floats, Floats]:
        """Return the weight of some rows, their mean, and the squares about it in each column."""
        whole = Whole(self, self.extent)
        _, *pairs = _moments(self, part, center, *whole.moment_grids).sums
        count, mean, squares = about_mean(center, *(pair.sum(axis=0) for pair in pairs))
        return float(count), mean, squares

    @property
    def extent(self) -> Extent:
        """Extent of all rows, after `everything`."""
        assert self._extent is not None
        return self._extent

    @cached_property
    def total(self) -> float:
        """Upper bound for the weight of a node."""
        return self.extent.n_rows * self.extent.heaviest


def edges_within(columns: Any, weights: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the edges of `ravine._scaling.edges_of` of rows, or of a sample of rows with these ranges."""
    with_ends = np.vstack([columns.astype(np.float64), low, high])
    tiny = np.append(weights, [np.finfo(np.float64).tiny] * 2)
    return edges_of(np.ascontiguousarray(with_ends), tiny)


def _to_device(array: Any) -> Any:
    return _cuda().to_device(np.ascontiguousarray(array))


def _zeros(shape: Any, dtype: Any = np.float64) -> Any:
    flat = _cuda().device_array(int(np.prod(shape)), dtype)
    _launch(_kernels.cuda.fill, _flat_blocks(flat.shape[0]), flat, np.dtype(dtype).type(0))
    return flat.reshape(shape) if isinstance(shape, tuple) else flat


def _blocks(n: int, n_columns: int) -> int:
    """Return the number of blocks for a pass over whole rows."""
    kernels = _kernels.cuda
    size = min(kernels.THREADS, kernels.TILE // (n_columns | 1))
    return max(min(-(-n // size), BLOCKS), 1)


def _flat_blocks(n: int) -> int:
    return max(min(-(-n // _kernels.cuda.THREADS), BLOCKS), 1)


def _column_blocks(n_columns: int) -> int:
    return -(-n_columns // _kernels.cuda.THREADS)


def _launch(kernel: Any, grid: Any, *arguments: Any, threads: int | None = None) -> None:
    kernel[grid, _kernels.cuda.THREADS if threads is None else threads](*arguments)


def _column_range(X: Any, edges: Any, part: Part) -> tuple[Floats, Floats]:
    d = X.shape[1]
    low, high, strange = (_to_device(np.full(d, np.inf)), _to_device(np.full(d, -np.inf)), _zeros(1, np.int64))
    grid = (_blocks(part.n, d), _column_blocks(d))
    _launch(_kernels.cuda.extent, grid, X, edges, part.rows, part.n, low, high, strange)
    if strange.copy_to_host()[0]:
        return np.full(d, np.nan), np.full(d, np.nan)
    return low.copy_to_host(), high.copy_to_host()


def _moments(chunks: DeviceChunks, part: Part, center: Floats, *grids: Any) -> Sums:
    d, (fine, count_grid, grid, square_grid) = chunks.n_features, grids
    found = _zeros(2), _zeros((2, d)), _zeros((2, d))
    settings = _to_device(center), fine, count_grid, _to_device(grid), _to_device(square_grid)
    shape = (_blocks(part.n, d), _column_blocks(d))
    rows = chunks.X, chunks.edges, part.rows, part.n, chunks.w, chunks.w_step
    _launch(_kernels.cuda.moments, shape, *rows, *settings, *found)
    return Sums((part.n, *(array.copy_to_host() for array in found)))


def _scatter(chunks: DeviceChunks, part: Part, center: Floats, fine: float, grid: Floats) -> Sums:
    d = chunks.n_features
    total = _zeros((2, d, d))
    shape = (_blocks(part.n, d), -(-d * (d + 1) // 2 // _kernels.cuda.THREADS) or 1)
    rows = chunks.X, chunks.edges, part.rows, part.n, chunks.w, chunks.w_step
    _launch(_kernels.cuda.scatter, shape, *rows, _to_device(center), fine, _to_device(grid), total)
    return Sums((total.copy_to_host(),))


def _rounded_scatter(chunks: DeviceChunks, part: Part, rounding: _reductions.Rounding) -> Sums:
    d, kernels = chunks.n_features, _kernels.cuda
    total, n_tiles = _zeros((2, d, d), np.int64), -(-d // kernels.SCATTER_WIDTH)
    n_blocks = min(max(-(-part.n // kernels.SCATTER_SLICE), 1), max(BLOCKS // 4, -(-part.n // MOST_IN_BLOCK)))
    rows = chunks.X, chunks.edges, part.rows, part.n, chunks.w, chunks.w_step
    settings = _to_device(rounding.center), _to_device(1.0 / rounding.unit), LOW_BITS
    grid = (n_blocks, n_tiles * (n_tiles + 1) // 2)
    _launch(kernels.rounded_scatter, grid, *rows, *settings, total, threads=SCATTER_THREADS)
    lower = total.copy_to_host().astype(np.float64)
    return Sums((np.stack([half + np.tril(half, -1).T for half in lower]),))


def _scatter_times(chunks: DeviceChunks, part: Part, center: Floats, v: Floats, fine: float, grid: Floats) -> Sums:
    """Return the scatter matrix times a vector: the pull of rows by their own positions."""
    along = v, float(center @ v), 1.0, 0.0
    return _pull(chunks, part, center, *along, np.zeros(1), -1.0, fine, grid)


def _pull(
    chunks: DeviceChunks,
    part: Part,
    center: Floats,
    v: Floats,
    origin: float,
    step: float,
    first: float,
    slopes: Floats,
    tilt: float,
    fine: float,
    grid: Floats,
) -> Sums:
    d = chunks.n_features
    total = _zeros((2, d))
    rows = chunks.X, chunks.edges, part.rows, part.n, chunks.w, chunks.w_step
    along = _to_device(v), origin, step, first, _to_device(slopes), float(tilt)
    shape = (_blocks(part.n, d), _column_blocks(d))
    _launch(_kernels.cuda.pull, shape, *rows, _to_device(center), *along, fine, _to_device(grid), total)
    return Sums((total.copy_to_host(),))


def _look(
    chunks: DeviceChunks,
    part: Part,
    v: Floats,
    origin: float,
    steps: tuple[float, ...],
    grids: tuple[Any, ...],
    center: Floats | None,
    cell_grid: Floats | None,
) -> Looked:
    """Project the rows as `_reductions.look` does, but without sums over cells: a gradient is another pass."""
    ends = np.where(v > 0, chunks.extent.low, chunks.extent.high), np.where(v > 0, chunks.extent.high, chunks.extent.low)
    low, high = (float(v @ end) - origin for end in ends)
    if _n_points(low, high, steps) > MOST_POINTS:  # the corners of a box are farther than its rows
        low, high = _masses(chunks, part, v, origin, (), (), grids)[1]
    if _n_points(low, high, steps) > MOST_POINTS:
        return _looked_on_host(chunks, part, v, origin, steps, grids)
    slack = TIE * (high - low)
    firsts = tuple(math.floor((low - slack) / step) - 1 for step in steps)
    lasts = tuple(math.floor((high + slack) / step) + 2 for step in steps)
    sizes = [last - first + 1 for first, last in zip(firsts, lasts, strict=True)]
    mass, (low, high), squares = _masses(chunks, part, v, origin, steps, firsts, grids, sizes)
    found, begin = [], 0
    for step, first, size in zip(steps, firsts, sizes, strict=True):
        of_step = mass[begin : begin + size]
        begin += size
        used = np.flatnonzero(of_step)
        upper = of_step[used] >> LOW_BITS
        pair = np.stack([np.ldexp(upper.astype(np.float64), LOW_BITS), (of_step[used] - (upper << LOW_BITS)).astype(np.float64)])
        found.append(Lattice(step, first + used, np.ldexp(pair, -_scale_bits(chunks.total)), squares, low, high))
    return Looked(tuple(found), None)


def _n_points(low: float, high: float, steps: tuple[float, ...]) -> float:
    return sum((high - low) / step + 8 for step in steps)


def _scale_bits(total: float) -> int:
    """Return the power of two that makes integers of weights, so that the sum of all is below 2 to `SPARE_BITS`."""
    return SPARE_BITS - math.frexp(total)[1]


def _masses(
    chunks: DeviceChunks,
    part: Part,
    v: Floats,
    origin: float,
    steps: tuple[float, ...],
    firsts: tuple[int, ...],
    grids: tuple[Any, ...],
    sizes: Sequence[int] = (),
) -> tuple[Ints, tuple[float, float], Floats]:
    """Return the weights on all lattices one after the other, as integers, the range of the rows, and Σ w p²."""
    (fine, _, square_grid), n_points = grids, int(sum(sizes))
    n_blocks = _blocks(part.n, chunks.n_features)
    masses = _zeros((max(min(LINES, MOST_POINTS // max(n_points, 1), n_blocks), 1), max(n_points, 1)), np.int64)
    ranges, squares = _zeros((n_blocks, 2)), _zeros(2)
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(sizes) else np.zeros(0)
    lattices = np.array(steps, dtype=np.float64), np.array(firsts, dtype=np.int64), begins.astype(np.int64)
    rows = chunks.X, chunks.edges, part.rows, part.n, chunks.w, chunks.w_step
    scale = math.ldexp(1.0, _scale_bits(chunks.total))
    settings = _to_device(v), origin, *(_to_device(array) for array in lattices), scale, fine, square_grid
    _launch(_kernels.cuda.look, n_blocks, *rows, *settings, masses, ranges, squares)
    if masses.shape[0] > 1:
        _launch(_kernels.cuda.add_lines, -(-masses.shape[1] // _kernels.cuda.THREADS), masses)
    found = ranges.copy_to_host()
    return masses[0].copy_to_host(), (float(found[:, 0].min()), float(found[:, 1].max())), squares.copy_to_host()


def _looked_on_host(
    chunks: DeviceChunks, part: Part, v: Floats, origin: float, steps: tuple[float, ...], grids: tuple[Any, ...]
) -> Looked:
    """Look at rows that are too far apart for an array of all points: their positions come to the host."""
    values = _cuda().device_array(part.n, np.float64)
    rows = chunks.X, chunks.edges, part.rows, part.n
    _launch(_kernels.cuda.positions, _blocks(part.n, chunks.n_features), *rows, _to_device(v), origin, values)
    on_host, every = values.copy_to_host(), np.arange(part.n)
    weights = _row_weights(chunks, part)
    return Looked(tuple(on_lattice(on_host, every, weights, step, *grids) for step in steps), None)


def _row_weights(chunks: DeviceChunks, part: Part) -> Floats:
    out = _cuda().device_array(part.n, np.float64)
    _launch(_kernels.cuda.gather_values, _flat_blocks(part.n), chunks.w, chunks.w_step, part.rows, out)
    found: Floats = out.copy_to_host()
    return found


def _nearest(chunks: DeviceChunks, part: Part, v: Floats, origin: float, positions: Floats, step: float) -> Nearest:
    """Find the nearest row for each position, by the rules of `ravine._lattice.nearest_rows`."""
    kernels, n = _kernels.cuda, len(positions)
    extremes = _to_device(np.stack([np.full(n + 1, np.inf), np.full(n + 1, -np.inf)]))
    places = _to_device(positions)
    rows = chunks.X, chunks.edges, part.rows, part.n, _to_device(v), origin
    grid = _blocks(part.n, chunks.n_features)
    _launch(kernels.cell_extremes, grid, *rows, places, extremes)
    unit = TIE * step
    distance, *bounds = nearest_distances(positions, extremes.copy_to_host(), unit)
    factors, salt = fingerprint_factors(chunks.n_features, 0)
    number = _to_device(np.full(n, np.iinfo(np.uint64).max, dtype=np.uint64))
    row = _to_device(np.full(n, np.iinfo(np.int64).max))
    settings = places, extremes, *(_to_device(array) for array in (distance, *bounds)), unit, _to_device(factors), salt
    for last in (False, True):
        _launch(kernels.rows_at_distance, grid, *rows, *settings, last, number, row)
    return Nearest(distance, _rows_of(chunks, row.copy_to_host()))


def _rows_of(chunks: DeviceChunks, numbers: Ints) -> Any:
    """Return some rows, in the memory of the host."""
    return _gathered(chunks, Part(_to_device(numbers.astype(np.int32)), len(numbers)))


def _gathered(chunks: DeviceChunks, part: Part) -> Any:
    out = _cuda().device_array((part.n, chunks.n_features), chunks.X.dtype)
    grid = _flat_blocks(part.n * chunks.n_features)
    _launch(_kernels.cuda.gather, grid, chunks.X, chunks.edges, part.rows, out)
    return out.copy_to_host()


def _take(chunks: DeviceChunks, part: Part) -> FetchedRows:
    return FetchedRows(_gathered(chunks, part), _row_weights(chunks, part))


def _draw(chunks: DeviceChunks, part: Part, size: int, seed: int, by_weight: bool) -> _reductions.Drawn:
    """Draw a sample by the contents of rows; equal rows draw different numbers."""
    kernels, cuda = _kernels.cuda, _cuda()
    factors, salt = fingerprint_factors(chunks.n_features, seed)
    numbers = cuda.device_array(part.n, np.uint64)
    rows = chunks.X, chunks.edges, part.rows, part.n, chunks.w, chunks.w_step
    grid, flat = _blocks(part.n, chunks.n_features), _flat_blocks(part.n)
    _launch(kernels.fingerprints, grid, *rows, _to_device(factors), salt, by_weight, numbers)
    _tell_copies_apart(numbers)
    counts = _zeros(1 << UPPER_BITS, np.int64)
    _launch(kernels.count_upper_bits, flat, numbers, 64 - UPPER_BITS, counts)
    from_above = np.cumsum(counts.copy_to_host()[::-1])
    last = int(np.searchsorted(from_above, min(size, part.n)))
    n_found, least = int(from_above[last]), np.uint64((1 << UPPER_BITS) - 1 - last) << np.uint64(64 - UPPER_BITS)
    places, found, n_done = cuda.device_array(n_found, np.int64), cuda.device_array(n_found, np.uint64), _zeros(1, np.int64)
    _launch(kernels.select, flat, numbers, least, n_done, places, found)
    number, place = found.copy_to_host(), places.copy_to_host()
    kept = np.lexsort([place, ~number])[:size]
    drawn = place[kept] if not part.rows.shape[0] else _numbers_at(part, place[kept])
    chosen = Part(_to_device(drawn.astype(np.int32)), len(drawn))
    return _reductions.Drawn(size, number[kept], _gathered(chunks, chosen), _row_weights(chunks, chosen))


def _numbers_at(part: Part, places: Ints) -> Ints:
    out = _cuda().device_array(len(places), np.int32)
    at = _to_device(places.astype(np.int32))
    _launch(_kernels.cuda.gather_values, _flat_blocks(len(places)), part.rows, 1, at, out)
    return np.asarray(out.copy_to_host(), dtype=np.int64)


def _tell_copies_apart(numbers: Any) -> None:
    n = numbers.shape[0]
    n_parts = -(-2 * n // TABLE_SLOTS)
    slots = min(1 << max(2 * n - 1, 1).bit_length(), TABLE_SLOTS)
    keys, counts, copies = _zeros(slots, np.uint64), _zeros(slots, np.int32), _zeros(n, np.int8)
    for part in range(n_parts):
        if part:
            _launch(_kernels.cuda.fill, _flat_blocks(slots), keys, np.uint64(0))
            _launch(_kernels.cuda.fill, _flat_blocks(slots), counts, np.int32(0))
        _launch(
            _kernels.cuda.tell_copies_apart, _flat_blocks(n), numbers, part, n_parts, GOLDEN, keys, counts, copies
        )


def _leaf_moments(
    chunks: DeviceChunks, part: Part, cuts: tuple[Any, ...], leaves: Ints, centers: Floats, *grids: Any
) -> Sums:
    leaf = _cuda().device_array(part.n, np.int32)
    rows = chunks.X, chunks.edges, part.rows, part.n
    _launch(_kernels.cuda.leaves, _blocks(part.n, chunks.n_features), *rows, *(_to_device(cut) for cut in cuts), leaf)
    found = []
    for number, center in zip(leaves, centers, strict=True):
        mine = _those_equal(leaf, int(number), part)
        if mine.n:
            found.append(_moments(chunks, mine, center, *grids).sums)
        else:
            d = chunks.n_features
            found.append((0, np.zeros(2), np.zeros((2, d)), np.zeros((2, d))))
    return Sums(tuple(np.array(sums) for sums in zip(*found, strict=True)))


def _described(chunks: DeviceChunks, part: Part, by: _reductions.ByMoments) -> _reductions.Side:
    found = _moments(chunks, part, by.center, *by.grids).sums
    if isinstance(by.scatter_by, _reductions.Rounding):
        found += _rounded_scatter(chunks, part, by.scatter_by).sums
    elif by.scatter_by is not None:
        found += _scatter(chunks, part, by.center, by.grids[0], by.scatter_by).sums
    return _reductions.Side(Sums(found), *_column_range(chunks.X, chunks.edges, part))


def _divided(X: Any, edges: Any, part: Part, normal: Floats, offset: float) -> tuple[Part, Part]:
    """Return the rows on both sides of a cut."""
    is_left, counts = _cuda().device_array(part.n, np.bool_), _cuda().device_array(_spans(part.n), np.int32)
    rows = X, edges, part.rows, part.n
    _launch(_kernels.cuda.sides, _spans(part.n), *rows, _to_device(normal), offset, is_left, counts)
    return _partitioned(part, is_left, counts, with_right=True)


def _those_equal(values: Any, number: int, part: Part) -> Part:
    """Return the rows whose value is the given number."""
    is_left, counts = _cuda().device_array(part.n, np.bool_), _cuda().device_array(_spans(part.n), np.int32)
    _launch(_kernels.cuda.equals, _spans(part.n), values, number, is_left, counts)
    return _partitioned(part, is_left, counts, with_right=False)[0]


def _spans(n: int) -> int:
    return max(-(-n // _kernels.cuda.SPAN), 1)


def _partitioned(part: Part, is_left: Any, counts: Any, with_right: bool) -> tuple[Part, Part]:
    ends = np.cumsum(counts.copy_to_host(), dtype=np.int64)
    n_left, cuda = int(ends[-1]), _cuda()
    n_right = part.n - n_left if with_right else 0
    left, right = (cuda.device_array(max(n, 0), np.int32) if n else _to_device(np.empty(0, np.int32)) for n in (n_left, n_right))
    starts = _to_device(np.append(0, ends[:-1]))
    _launch(_kernels.cuda.partition, _spans(part.n), part.rows, part.n, is_left, starts, left, right)
    return Part(left, n_left), Part(right, n_right)


REDUCTIONS: dict[Any, Callable[..., Any]] = {
    _reductions.moments: _moments,
    _reductions.leaf_moments: _leaf_moments,
    _reductions.scatter: _scatter,
    _reductions.rounded_scatter: _rounded_scatter,
    _reductions.scatter_times: _scatter_times,
    _reductions.pull: _pull,
    _reductions.look: _look,
    _reductions.nearest: _nearest,
    _reductions.take: _take,
    _reductions.draw: _draw,
}
"""The functions that do on a device what a reduction does in memory."""
