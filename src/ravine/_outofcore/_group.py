"""The partitions on one worker of a cluster, and which of their rows belong to which node.

A node is named by the cuts above it, so a worker that has never seen a node finds its rows by these cuts. What a worker
remembers only saves time: another one that gets the same partitions gives the same results.

If a node is searched on rounded rows, these are kept, in memory, with the rows of a node next to each other. A division
moves them in place.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._blocks import map_items, map_rows
from ravine._matrix import Floats, Matrix, fingerprint
from ravine._outofcore import _reductions, _rounded
from ravine._outofcore._chunks import Reduction, checked_rows

Chunk: TypeAlias = tuple[Matrix, Floats | None]
"""Rows of a partition, and their weights or None."""

Path: TypeAlias = tuple[tuple[bytes, float, bool], ...]
"""The cuts above a node: normal vector, offset, and whether the node is on the left."""

FEW_ROWS = 1 << 11
"""If a node has fewer rows than this in a chunk, those of several chunks are put together for a pass."""

GATHERED_CELLS = 1 << 20
"""Maximum number of values that are put together, up to the rows of a chunk."""

MOST_MEMORY = 0.6
"""Rounded rows are kept up to this share of the memory of the worker."""


@dataclass(frozen=True)
class Kept:
    """Rounded rows of a node, and their numbers among all rows of the group."""

    Y: _rounded.RoundedRows
    order: NDArray[np.int64]
    rounding: _reductions.Rounding


@dataclass(frozen=True)
class Divided:
    """Both sides of a division, or None for a side without rows in some groups."""

    sides: tuple[Any, Any]

    def merge(self, other: "Divided") -> "Divided":
        """Merge the results of two groups."""
        left, right = (merged([mine, yours]) for mine, yours in zip(self.sides, other.sides, strict=True))
        return Divided((left, right))


class Group:
    """Partitions on one worker; an actor of Dask.

    Parameters
    ----------
    chunks : list of (rows, weights)
    numbers : list of int
        Numbers of the partitions, for error messages.
    n_features : int
    least : float
        Rows that do not weigh more than this are left out.
    n_jobs : int
        Number of threads.
    below : list of Actor
        Groups whose results are merged with those of this one, before they are sent.
    """

    def __init__(
        self, chunks: list[Chunk], numbers: list[int], n_features: int, least: float, n_jobs: int, below: list[Any]
    ) -> None:
        self._chunks, self._n_jobs, self._below = chunks, n_jobs, below
        rows = [checked_rows(*chunk, n_features, n, least) for chunk, n in zip(chunks, numbers, strict=True)]
        self._starts = np.cumsum([0, *(len(X) for X, _ in chunks)])
        self._nodes: dict[Path, list[_reductions.Rows] | Kept] = {(): rows}
        self._fingerprints: NDArray[np.uint64] | None = None
        self._lock = Lock()

    def reduce(self, reduction: Reduction, path: Path, arguments: tuple[Any, ...]) -> Any:
        """Apply a reduction to the rows of a node, here and in the groups below."""
        pending = [group.reduce(reduction, path, arguments) for group in self._below]
        with self._lock:
            found = self._reduced(reduction, path, arguments)
        return merged([found, *(one.result() for one in pending)])

    def divide(self, path: Path, cut: tuple[bytes, float], by: Any) -> Divided:
        """Divide the rows of a node, here and in the groups below, and describe both sides."""
        pending = [group.divide(path, cut, by) for group in self._below]
        with self._lock:
            found = self._divided(path, cut, by)
        mine: Divided = merged([found, *(one.result() for one in pending)])
        return mine

    def _reduced(self, reduction: Reduction, path: Path, arguments: tuple[Any, ...]) -> Any:
        if reduction in (_rounded.sums, _rounded.look, _rounded.nearest):
            kept = self._kept(path, arguments[0])
            if kept is not None:
                return self._of_kept(reduction, kept, arguments[1:]) if len(kept.Y) else None
        rows = self._listed(path)
        chunks: Iterable[tuple[Chunk, _reductions.Rows]] = zip(self._chunks, rows, strict=True)
        if reduction not in _reductions.BY_CHUNK:
            chunks = with_few_gathered(chunks)
        return self._merged_over(lambda pair: reduce_chunk(reduction, pair[0], pair[1], arguments), list(chunks))

    def _merged_over(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Any:
        return merged(map_items(function, items, self._n_jobs))

    def _of_kept(self, reduction: Reduction, kept: Kept, arguments: tuple[Any, ...]) -> Any:
        if reduction is _rounded.nearest:
            if self._fingerprints is None:
                self._fingerprints = np.concatenate([fingerprint(X, 0, self._n_jobs) for X, _ in self._chunks])
            n_columns = kept.Y.shape[1]
            none = np.empty((0, n_columns), dtype=self._chunks[0][0].dtype)
            rows, distance = _rounded.nearest_to(kept.Y, kept.order, none, self._fingerprints, *arguments)
            return _reductions.Nearest(distance, self._rows_at(rows))
        function = _rounded.OF_KEPT[reduction]
        return merged(map_rows(lambda b: function(kept.Y[b], *arguments), kept.Y.shape, self._n_jobs))

    def _divided(self, path: Path, cut: tuple[bytes, float], by: Any) -> Divided:
        if isinstance(by, _rounded.ByRounding) and self._kept(path, by.rounding) is not None:
            self._divide(path, cut)
            found = []
            for is_left in (True, False):
                side = self._nodes[*path, (*cut, is_left)]
                assert isinstance(side, Kept)
                with_scatter = is_left == by.left_has_scatter
                found.append(self._of_kept(_rounded.sums, side, (with_scatter,)) if len(side.Y) else None)
            return Divided((found[0], found[1]))
        self._divide(path, cut)
        left, right = (self._listed((*path, (*cut, is_left))) for is_left in (True, False))

        def described(k: int) -> Divided | None:
            X, weights = self._chunks[k]
            if not len(left[k]) + len(right[k]):
                return None
            return Divided(by.described(X, np.ones(len(X)) if weights is None else weights, left[k], right[k]))

        found_here = self._merged_over(described, range(len(left)))
        return Divided((None, None)) if found_here is None else found_here

    def _rows_of(self, path: Path) -> list[_reductions.Rows] | Kept:
        """Return the rows of a node; they are found by the cuts above it, if this group does not know the node."""
        if path not in self._nodes:
            self._divide(path[:-1], path[-1][:2])
        return self._nodes[path]

    def _listed(self, path: Path) -> list[_reductions.Rows]:
        """Return the rows of a node in each chunk."""
        rows = self._rows_of(path)
        if not isinstance(rows, Kept):
            return rows
        order = np.sort(rows.order)
        bounds = np.searchsorted(order, self._starts)
        return [
            (order[a:b] - start).astype(np.int32)
            for a, b, start in zip(bounds[:-1], bounds[1:], self._starts[:-1], strict=True)
        ]

    def _kept(self, path: Path, rounding: _reductions.Rounding) -> Kept | None:
        """Return the rows of a node as they are kept; None if there is no memory for them."""
        rows = self._rows_of(path)
        if isinstance(rows, Kept):
            if not rows.rounding.equals(rounding):
                self._round(rows.Y, rows.order, rounding)
                self._forget_below(path)
                self._nodes[path] = Kept(rows.Y, rows.order, rounding)
        else:
            n_rows, n_columns = sum(len(mine) for mine in rows), self._chunks[0][0].shape[1]
            if not _has_memory(n_rows * (4 * n_columns + 8)):
                return None
            numbers = (mine + start for mine, start in zip(rows, self._starts[:-1], strict=True))
            order = np.concatenate([np.empty(0, dtype=np.int64), *numbers])
            Y = np.empty((n_rows, n_columns), dtype=np.float32)
            self._round(Y, order, rounding)
            self._nodes[path] = Kept(Y, order, rounding)
        kept = self._nodes[path]
        assert isinstance(kept, Kept)
        return kept

    def _divide(self, path: Path, cut: tuple[bytes, float]) -> None:
        """Find the rows on both sides of a cut."""
        rows, normal = self._rows_of(path), np.frombuffer(cut[0])
        self._forget_below(path)
        left: list[_reductions.Rows] | Kept
        right: list[_reductions.Rows] | Kept
        if isinstance(rows, Kept):
            n_left = _kernels.rounded.partition(rows.Y, rows.order, self._is_left(rows, normal, cut[1]))
            left = Kept(rows.Y[:n_left], rows.order[:n_left], rows.rounding)
            right = Kept(rows.Y[n_left:], rows.order[n_left:], rows.rounding)
        else:
            pairs = list(zip(self._chunks, rows, strict=True))
            both = map_items(lambda pair: _reductions.sides(pair[0][0], pair[1], normal, cut[1]), pairs, self._n_jobs)
            left, right = [one for one, _ in both], [other for _, other in both]
            if path:  # its rows are those of both sides, and are found again if somebody needs them
                del self._nodes[path]
        self._nodes[*path, (*cut, True)], self._nodes[*path, (*cut, False)] = left, right

    def _is_left(self, kept: Kept, normal: Floats, offset: float) -> NDArray[np.bool_]:
        """Return which rows go left; rounded rows decide it unless they are so near that rounding could matter."""
        unit, center = kept.rounding.unit, kept.rounding.center
        values, u, shift = np.empty(len(kept.Y)), unit * normal, float(center @ normal)
        map_rows(lambda b: _kernels.rounded.project(kept.Y[b], u, shift, values[b]), kept.Y.shape, self._n_jobs)
        largest = np.abs(center) + 2.0 ** (_reductions.SLICE_BITS + 1) * unit
        # A row is rounded by half a unit at most, and each of three products of d terms by d/2 units in the last place.
        near = np.abs(normal) @ unit + 4 * (len(normal) + 4) * np.finfo(np.float64).eps * (np.abs(normal) @ largest)
        is_left = np.asarray(values < offset)
        for chunk, numbers, mine in self._in_chunks(kept.order, np.flatnonzero(np.abs(values - offset) <= near)):
            rows = np.arange(len(numbers), dtype=np.int32)
            is_left[mine] = np.isin(rows, _reductions.sides(chunk[0][numbers], rows, normal, offset)[0])
        return is_left

    def _in_chunks(
        self, order: NDArray[np.int64], some: NDArray[np.int64]
    ) -> Iterator[tuple[Chunk, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the chunks of the rows order[some]: the chunk, their numbers in it, and their places in `order`."""
        which = np.searchsorted(self._starts, order[some], "right") - 1
        by_chunk = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[by_chunk], np.arange(len(self._chunks) + 1))
        for k, chunk in enumerate(self._chunks):
            mine = some[by_chunk[bounds[k] : bounds[k + 1]]]
            if len(mine):
                yield chunk, order[mine] - self._starts[k], mine

    def _round(self, Y: _rounded.RoundedRows, order: NDArray[np.int64], rounding: _reductions.Rounding) -> None:
        def round_chunk(found: tuple[Chunk, NDArray[np.int64], NDArray[np.int64]]) -> None:
            chunk, numbers, mine = found
            if mine[-1] - mine[0] == len(mine) - 1:  # as at first: the rows of a chunk are together
                _rounded.round_rows(chunk[0], numbers.astype(np.int32), rounding, Y[mine[0] : mine[-1] + 1])
            else:
                Y[mine] = _rounded.round_rows(chunk[0], numbers.astype(np.int32), rounding)

        map_items(round_chunk, list(self._in_chunks(order, np.arange(len(order)))), self._n_jobs)

    def _rows_at(self, numbers: NDArray[np.int64]) -> Matrix:
        """Return rows, given their numbers among all rows of the group."""
        out = np.empty((len(numbers), self._chunks[0][0].shape[1]), np.result_type(*(X.dtype for X, _ in self._chunks)))
        for chunk, its_numbers, mine in self._in_chunks(numbers, np.arange(len(numbers))):
            out[mine] = chunk[0][its_numbers]
        return out

    def _forget_below(self, path: Path) -> None:
        """Forget the nodes below a node whose rows are about to move."""
        self._nodes = {
            node: rows for node, rows in self._nodes.items() if len(node) <= len(path) or node[: len(path)] != path
        }


def _has_memory(n_bytes: int) -> bool:
    """Return whether a worker can hold this many bytes more."""
    try:
        worker = import_module("distributed").get_worker()
    except ValueError:  # not on a worker
        return True
    limit = worker.memory_manager.memory_limit
    return not limit or worker.monitor.get_process_memory() + n_bytes <= MOST_MEMORY * limit


def with_few_gathered(
    chunks: Iterable[tuple[Chunk, _reductions.Rows]],
) -> Iterator[tuple[Chunk, _reductions.Rows]]:
    """Put the rows of a node together, some at a time, if it has few in a chunk: each result takes time to merge."""
    few: list[Chunk] = []
    for chunk, rows in chunks:
        X, weights = chunk
        if len(rows) >= FEW_ROWS or (few and (few[0][0].dtype != X.dtype or (few[0][1] is None) != (weights is None))):
            yield chunk, rows
        elif len(rows):
            few.append((X[rows], None if weights is None else weights[rows]))
        if sum(X.size for X, _ in few) > GATHERED_CELLS:
            yield _together(few)
            few = []
    if few:
        yield _together(few)


def _together(few: list[Chunk]) -> tuple[Chunk, _reductions.Rows]:
    X = np.concatenate([rows for rows, _ in few])
    weights = [weights for _, weights in few if weights is not None]
    return (X, np.concatenate(weights) if weights else None), np.arange(len(X), dtype=np.int32)


def reduce_chunk(reduction: Reduction, chunk: Chunk, rows: _reductions.Rows, arguments: tuple[Any, ...]) -> Any:
    """Apply a reduction to some rows of a chunk; None if there are no rows."""
    X, weights = chunk
    return reduction(X, np.ones(X.shape[0]) if weights is None else weights, rows, *arguments) if len(rows) else None


def merged(found: Iterable[Any]) -> Any:
    """Merge results; None stands for no rows."""
    total = None
    for one in found:
        if one is not None:
            total = one if total is None else total.merge(one)
    return total
