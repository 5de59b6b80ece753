"""The reductions of `ravine._outofcore._reductions` for rows on a CUDA device; each takes a pass or two over the rows.

The results are the same, up to the rounding of positions along a direction. Sums are exact, so they do not depend on
the order in which the device works. Sums over the cells of a lattice are not computed: another pass costs less.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._lattice import NEAR, Lattice, nearest_distances, on_lattice
from ravine._matrix import Floats, Ints, fingerprint_factors
from ravine._outofcore import _reductions
from ravine._outofcore._chunks import CHANGED
from ravine._outofcore._device_arrays import cuda
from ravine._outofcore._launch import MOST_BLOCKS, column_blocks, flat_blocks, launch, row_blocks, to_device, zeros
from ravine._outofcore._reductions import Extent, FetchedRows, Looked, Nearest, Sums
from ravine._reservoir import GOLDEN
from ravine._ties import TIE

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

NOT_FOUND = np.iinfo(np.int64).max
"""Number of a row that was not found."""

UPPER_BITS = 16
"""The largest numbers of a sample are found by the counts of this many upper bits."""


@dataclass(frozen=True)
class Part:
    """Rows of a node: their numbers on the device, none if these are all rows, and how many there are."""

    rows: Any
    n: int


@dataclass
class DeviceRows:
    """All rows, their weights and the edges of the columns, as kernels take them, and the extent once it is known."""

    X: Any
    w: Any
    w_step: int
    edges: Any
    extent: Extent | None = None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def total(self) -> float:
        """Upper bound for the weight of a node."""
        assert self.extent is not None
        return self.extent.n_rows * self.extent.heaviest

    def of(self, part: Part) -> tuple[Any, ...]:
        """Return the first arguments of a kernel that reads some of the rows."""
        return self.X, self.edges, part.rows, part.n

    def weighted(self, part: Part) -> tuple[Any, ...]:
        """Return the first arguments of a kernel that also reads their weights."""
        return *self.of(part), self.w, self.w_step


def column_range(rows: DeviceRows, part: Part) -> tuple[Floats, Floats]:
    """Return the smallest and the largest entry of each column, NaN everywhere if there is a NaN."""
    d = rows.n_features
    low, high, strange = (to_device(np.full(d, np.inf)), to_device(np.full(d, -np.inf)), zeros(1, np.int64))
    grid = (row_blocks(part.n, d), column_blocks(d))
    launch(_kernels.cuda.extent, grid, *rows.of(part), low, high, strange)
    if strange.copy_to_host()[0]:
        return np.full(d, np.nan), np.full(d, np.nan)
    return low.copy_to_host(), high.copy_to_host()


def _moments(rows: DeviceRows, part: Part, center: Floats, *grids: Any) -> Sums:
    d, (fine, count_grid, grid, square_grid) = rows.n_features, grids
    found = zeros(2), zeros((2, d)), zeros((2, d))
    settings = to_device(center), fine, count_grid, to_device(grid), to_device(square_grid)
    shape = (row_blocks(part.n, d), column_blocks(d))
    given = rows.weighted(part)
    launch(_kernels.cuda.moments, shape, *given, *settings, *found)
    return Sums((part.n, *(array.copy_to_host() for array in found)))


def _scatter(rows: DeviceRows, part: Part, center: Floats, fine: float, grid: Floats) -> Sums:
    d = rows.n_features
    total = zeros((2, d, d))
    shape = (row_blocks(part.n, d), -(-d * (d + 1) // 2 // _kernels.cuda.THREADS) or 1)
    given = rows.weighted(part)
    launch(_kernels.cuda.scatter, shape, *given, to_device(center), fine, to_device(grid), total)
    return Sums((total.copy_to_host(),))


def _rounded_scatter(rows: DeviceRows, part: Part, rounding: _reductions.Rounding) -> Sums:
    d, kernels = rows.n_features, _kernels.cuda
    total, n_tiles = zeros((2, d, d), np.int64), -(-d // kernels.SCATTER_WIDTH)
    n_blocks = min(max(-(-part.n // kernels.SCATTER_SLICE), 1), max(MOST_BLOCKS // 4, -(-part.n // MOST_IN_BLOCK)))
    given = rows.weighted(part)
    settings = to_device(rounding.center), to_device(1.0 / rounding.unit), LOW_BITS
    grid = (n_blocks, n_tiles * (n_tiles + 1) // 2)
    launch(kernels.rounded_scatter, grid, *given, *settings, total, threads=SCATTER_THREADS)
    lower = total.copy_to_host().astype(np.float64)
    return Sums((np.stack([half + np.tril(half, -1).T for half in lower]),))


def _scatter_times(rows: DeviceRows, part: Part, center: Floats, v: Floats, fine: float, grid: Floats) -> Sums:
    """Return the scatter matrix times a vector: the pull of rows by their own positions."""
    along = v, float(center @ v), 1.0, 0.0
    return _pull(rows, part, center, *along, np.zeros(1), -1.0, fine, grid)


def _pull(
    rows: DeviceRows,
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
    d = rows.n_features
    total = zeros((2, d))
    given = rows.weighted(part)
    along = to_device(v), origin, step, first, to_device(slopes), float(tilt)
    shape = (row_blocks(part.n, d), column_blocks(d))
    launch(_kernels.cuda.pull, shape, *given, to_device(center), *along, fine, to_device(grid), total)
    return Sums((total.copy_to_host(),))


def _look(
    rows: DeviceRows,
    part: Part,
    v: Floats,
    origin: float,
    steps: tuple[float, ...],
    grids: tuple[Any, ...],
    center: Floats | None,
    cell_grid: Floats | None,
) -> Looked:
    """Project the rows as `_reductions.look` does, but without sums over cells: a gradient is another pass."""
    assert rows.extent is not None
    box = rows.extent.low, rows.extent.high
    ends = np.where(v > 0, *box), np.where(v > 0, *box[::-1])
    low, high = (float(v @ end) - origin for end in ends)
    if _n_points(low, high, steps) > MOST_POINTS:  # the corners of a box are farther than its rows
        low, high = _masses(rows, part, v, origin, (), (), grids)[1]
    if _n_points(low, high, steps) > MOST_POINTS:
        return _looked_on_host(rows, part, v, origin, steps, grids)
    slack = TIE * (high - low)
    firsts = tuple(math.floor((low - slack) / step) - 1 for step in steps)
    lasts = tuple(math.floor((high + slack) / step) + 2 for step in steps)
    sizes = [last - first + 1 for first, last in zip(firsts, lasts, strict=True)]
    mass, (low, high), squares = _masses(rows, part, v, origin, steps, firsts, grids, sizes)
    found, begin = [], 0
    for step, first, size in zip(steps, firsts, sizes, strict=True):
        of_step = mass[begin : begin + size]
        begin += size
        used = np.flatnonzero(of_step)
        pair = np.ldexp(_float_pair(of_step[used]), -_scale_bits(rows.total))
        found.append(Lattice(step, first + used, pair, squares, low, high))
    return Looked(tuple(found), None)


def _float_pair(integers: Ints) -> Floats:
    """Return two arrays of float64 whose sum is exactly these integers."""
    upper = (integers >> LOW_BITS) << LOW_BITS
    return np.stack([upper, integers - upper]).astype(np.float64)


def _n_points(low: float, high: float, steps: tuple[float, ...]) -> float:
    return sum((high - low) / step + 8 for step in steps)


def _scale_bits(total: float) -> int:
    """Return the power of two that makes integers of weights, so that the sum of all is below 2 to `SPARE_BITS`."""
    return SPARE_BITS - math.frexp(total)[1]


def _masses(
    rows: DeviceRows,
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
    n_blocks = row_blocks(part.n, rows.n_features)
    masses = zeros((max(min(LINES, MOST_POINTS // max(n_points, 1), n_blocks), 1), max(n_points, 1)), np.int64)
    ranges, squares = zeros((n_blocks, 2)), zeros(2)
    begins = np.append(0, np.cumsum(sizes))
    lattices = np.array(steps, dtype=np.float64), np.array(firsts, dtype=np.int64), begins.astype(np.int64)
    given = rows.weighted(part)
    scale = math.ldexp(1.0, _scale_bits(rows.total))
    settings = to_device(v), origin, *(to_device(array) for array in lattices), scale, fine, square_grid
    launch(_kernels.cuda.look, n_blocks, *given, *settings, masses, ranges, squares)
    if masses.shape[0] > 1:
        launch(_kernels.cuda.add_lines, flat_blocks(masses.shape[1]), masses)
    found = ranges.copy_to_host()
    return masses[0].copy_to_host(), (float(found[:, 0].min()), float(found[:, 1].max())), squares.copy_to_host()


def _looked_on_host(
    rows: DeviceRows, part: Part, v: Floats, origin: float, steps: tuple[float, ...], grids: tuple[Any, ...]
) -> Looked:
    """Look at rows that are too far apart for an array of all points: their positions come to the host."""
    values = cuda().device_array(part.n, np.float64)
    given = rows.of(part)
    launch(_kernels.cuda.positions, row_blocks(part.n, rows.n_features), *given, to_device(v), origin, values)
    on_host, every = values.copy_to_host(), np.arange(part.n)
    weights = _row_weights(rows, part)
    return Looked(tuple(on_lattice(on_host, every, weights, step, *grids) for step in steps), None)


def _row_weights(rows: DeviceRows, part: Part) -> Floats:
    out = cuda().device_array(part.n, np.float64)
    launch(_kernels.cuda.gather_values, flat_blocks(part.n), rows.w, rows.w_step, part.rows, out)
    found: Floats = out.copy_to_host()
    return found


def _nearest(rows: DeviceRows, part: Part, v: Floats, origin: float, positions: Floats, step: float) -> Nearest:
    """Find the nearest row for each position, by the rules of `ravine._lattice.nearest_rows`."""
    kernels, n = _kernels.cuda, len(positions)
    extremes = to_device(np.stack([np.full(n + 1, np.inf), np.full(n + 1, -np.inf)]))
    places = to_device(positions)
    given = *rows.of(part), to_device(v), origin
    grid = row_blocks(part.n, rows.n_features)
    launch(kernels.cell_extremes, grid, *given, places, extremes)
    unit = NEAR * step
    distance, *bounds = nearest_distances(positions, extremes.copy_to_host(), unit)
    factors, salt = fingerprint_factors(rows.n_features, 0)
    number = to_device(np.full(n, np.iinfo(np.uint64).max, dtype=np.uint64))
    row = to_device(np.full(n, NOT_FOUND))
    settings = places, extremes, *(to_device(array) for array in (distance, *bounds)), unit, to_device(factors), salt
    for last in (False, True):
        launch(kernels.rows_at_distance, grid, *given, *settings, last, number, row)
    found = row.copy_to_host()
    if found.max() == NOT_FOUND:
        raise RuntimeError(CHANGED)
    return Nearest(distance, _rows_of(rows, found))


def _rows_of(rows: DeviceRows, numbers: Ints) -> Any:
    """Return some rows, in the memory of the host."""
    return _gathered(rows, Part(to_device(numbers.astype(np.int32)), len(numbers)))


def _gathered(rows: DeviceRows, part: Part) -> Any:
    out = cuda().device_array((part.n, rows.n_features), rows.X.dtype)
    grid = flat_blocks(part.n * rows.n_features)
    launch(_kernels.cuda.gather, grid, rows.X, rows.edges, part.rows, out)
    return out.copy_to_host()


def _take(rows: DeviceRows, part: Part) -> FetchedRows:
    return FetchedRows(_gathered(rows, part), _row_weights(rows, part))


def _draw(rows: DeviceRows, part: Part, size: int, seed: int, by_weight: bool) -> _reductions.Drawn:
    """Draw a sample by the contents of rows; equal rows draw different numbers."""
    kernels, new = _kernels.cuda, cuda().device_array
    factors, salt = fingerprint_factors(rows.n_features, seed)
    numbers = new(part.n, np.uint64)
    given = rows.weighted(part)
    grid, flat = row_blocks(part.n, rows.n_features), flat_blocks(part.n)
    launch(kernels.fingerprints, grid, *given, to_device(factors), salt, by_weight, numbers)
    _tell_copies_apart(numbers)
    counts = zeros(1 << UPPER_BITS, np.int64)
    launch(kernels.count_upper_bits, flat, numbers, 64 - UPPER_BITS, counts)
    from_above = np.cumsum(counts.copy_to_host()[::-1])
    last = int(np.searchsorted(from_above, min(size, part.n)))
    n_found, least = int(from_above[last]), np.uint64((1 << UPPER_BITS) - 1 - last) << np.uint64(64 - UPPER_BITS)
    places, found, n_done = new(n_found, np.int64), new(n_found, np.uint64), zeros(1, np.int64)
    launch(kernels.select, flat, numbers, least, n_done, places, found)
    number, place = found.copy_to_host(), places.copy_to_host()
    kept = np.lexsort([place, ~number])[:size]
    drawn = place[kept] if not part.rows.shape[0] else _numbers_at(part, place[kept])
    chosen = Part(to_device(drawn.astype(np.int32)), len(drawn))
    return _reductions.Drawn(size, number[kept], _gathered(rows, chosen), _row_weights(rows, chosen))


def _numbers_at(part: Part, places: Ints) -> Ints:
    out = cuda().device_array(len(places), np.int32)
    at = to_device(places.astype(np.int32))
    launch(_kernels.cuda.gather_values, flat_blocks(len(places)), part.rows, 1, at, out)
    return np.asarray(out.copy_to_host(), dtype=np.int64)


def _tell_copies_apart(numbers: Any) -> None:
    n = numbers.shape[0]
    n_parts = -(-2 * n // TABLE_SLOTS)
    slots = min(1 << max(2 * n - 1, 1).bit_length(), TABLE_SLOTS)
    keys, counts, copies = zeros(slots, np.uint64), zeros(slots, np.int32), zeros(n, np.int8)
    for part in range(n_parts):
        if part:
            launch(_kernels.cuda.fill, flat_blocks(slots), keys, np.uint64(0))
            launch(_kernels.cuda.fill, flat_blocks(slots), counts, np.int32(0))
        launch(_kernels.cuda.tell_copies_apart, flat_blocks(n), numbers, part, n_parts, GOLDEN, keys, counts, copies)


def _leaf_moments(
    rows: DeviceRows, part: Part, cuts: tuple[Any, ...], leaves: Ints, centers: Floats, *grids: Any
) -> Sums:
    leaf = cuda().device_array(part.n, np.int32)
    given, left = rows.of(part), cuts[2]
    tree = (to_device(array) for array in (*cuts, np.cumsum(left >= 0) - 1))
    launch(_kernels.cuda.leaves, row_blocks(part.n, rows.n_features), *given, *tree, leaf)
    found = []
    for number, center in zip(leaves, centers, strict=True):
        mine = _those_equal(leaf, int(number), part)
        if mine.n:
            found.append(_moments(rows, mine, center, *grids).sums)
        else:
            d = rows.n_features
            found.append((0, np.zeros(2), np.zeros((2, d)), np.zeros((2, d))))
    return Sums(tuple(np.array(sums) for sums in zip(*found, strict=True)))


def described(rows: DeviceRows, part: Part, by: _reductions.ByMoments) -> _reductions.Side:
    """Describe the rows on one side of a cut; see `_reductions.ByMoments`."""
    found = _moments(rows, part, by.center, *by.grids).sums
    if isinstance(by.scatter_by, _reductions.Rounding):
        found += _rounded_scatter(rows, part, by.scatter_by).sums
    elif by.scatter_by is not None:
        found += _scatter(rows, part, by.center, by.grids[0], by.scatter_by).sums
    return _reductions.Side(Sums(found), *column_range(rows, part))


def divided(rows: DeviceRows, part: Part, normal: Floats, offset: float) -> tuple[Part, Part]:
    """Return the rows on both sides of a cut."""
    is_left, counts = cuda().device_array(part.n, np.bool_), cuda().device_array(_spans(part.n), np.int32)
    launch(_kernels.cuda.sides, _spans(part.n), *rows.of(part), to_device(normal), offset, is_left, counts)
    return _partitioned(part, is_left, counts, with_right=True)


def _those_equal(values: Any, number: int, part: Part) -> Part:
    """Return the rows whose value is the given number."""
    is_left, counts = cuda().device_array(part.n, np.bool_), cuda().device_array(_spans(part.n), np.int32)
    launch(_kernels.cuda.equals, _spans(part.n), values, number, is_left, counts)
    return _partitioned(part, is_left, counts, with_right=False)[0]


def _spans(n: int) -> int:
    return max(-(-n // _kernels.cuda.SPAN), 1)


def _partitioned(part: Part, is_left: Any, counts: Any, with_right: bool) -> tuple[Part, Part]:
    ends = np.cumsum(counts.copy_to_host(), dtype=np.int64)
    n_left = int(ends[-1])
    n_right = part.n - n_left if with_right else 0
    none = to_device(np.empty(0, np.int32))
    left, right = (cuda().device_array(n, np.int32) if n else none for n in (n_left, n_right))
    starts = to_device(np.append(0, ends[:-1]))
    launch(_kernels.cuda.partition, _spans(part.n), part.rows, part.n, is_left, starts, left, right)
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
