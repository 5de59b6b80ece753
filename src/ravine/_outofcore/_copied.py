"""A copy of all rows on disk in which the rows of a node are next to each other.

A pass reads only the rows of its nodes, in blocks, each thread its own. When a node is divided, its rows are rewritten
in the same place: those of the left side first. So the file never needs more space than the rows, and passes over all
nodes of one level of the tree read the rows once together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ravine._blocks import count_threads, map_items
from ravine._matrix import Floats, Matrix
from ravine._outofcore import _reductions
from ravine._outofcore._scratch import NoSpaceError, ScratchFile, find_folder

BLOCK_CELLS = 1 << 21
"""Number of values that a thread reads at a time."""

Block: TypeAlias = tuple[Matrix, Floats | None]
"""Rows, and their weights or None."""

OfRows: TypeAlias = Callable[[Matrix, Floats | None], Any]
"""A reduction of all rows of a block; its results have a method `merge`."""

Divide: TypeAlias = Callable[[Matrix, Floats | None], tuple[Any, Any, _reductions.Side, _reductions.Side]]
"""A division of all rows of a block: which rows are on each side, and the sums over them."""


@dataclass(eq=False)
class Part:
    """Rows of a node: where they are in the copy, and the cuts above them with the side that the node is on.

    `rows` lists the rows of the node in each chunk, if these are known; it is needed when there is no copy any more.
    """

    start: int
    stop: int
    path: tuple[tuple[Floats, float, bool], ...] = ()
    rows: list[Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.stop - self.start


class CopiedRows:
    """Rows on disk; with weights, those are in a file of their own.

    Parameters
    ----------
    n_features : int
    dtype : dtype
        Type of the rows.
    weighted : bool
    n_rows : int or None
        Number of rows to come, if it is known. There must be space for them.
    """

    def __init__(self, n_features: int, dtype: Any, weighted: bool, n_rows: int | None) -> None:
        self._dtype, self._n_features = np.dtype(dtype), n_features
        self._row_bytes = self._dtype.itemsize * n_features
        self._bytes_of_all = self._row_bytes + (8 if weighted else 0)
        self.folder, self._limit = find_folder((n_rows or 0) * self._bytes_of_all)
        self._weights: ScratchFile | None = None
        self._rows = ScratchFile(self.folder)
        if weighted:
            try:
                self._weights = ScratchFile(self.folder)
            except BaseException:
                self._rows.close()
                raise
        self.n_rows = 0

    def append(self, X: Matrix, weights: Floats | None) -> None:
        """Add rows at the end; an OSError says that there is no space, or that they differ from those before."""
        if X.dtype != self._dtype or (weights is None) != (self._weights is None):
            raise OSError("the chunks have different types")
        if (self.n_rows + len(X)) * self._bytes_of_all > self._limit:
            raise NoSpaceError(f"{self.folder} has no more space")
        self._write(self.n_rows, X, weights)
        self.n_rows += len(X)

    def close(self) -> None:
        """Delete the copy."""
        self._rows.close()
        if self._weights is not None:
            self._weights.close()

    def reduce(self, part: Part, reductions: Sequence[OfRows], n_jobs: int | None) -> list[Any]:
        """Apply reductions to the rows of a part in one pass, and return their merged results."""
        size, numbers, lock = self._block_rows, count(), Lock()

        def some_blocks(_: int) -> list[Any]:
            """Process blocks until none is left, so that a thread keeps one result only."""
            merged: list[Any] = [None] * len(reductions)
            buffer = self._buffer(min(size, len(part)))
            while True:
                with lock:
                    start = part.start + size * next(numbers)
                if start >= part.stop:
                    return merged
                block = self._read(start, min(size, part.stop - start), buffer)
                for k, reduction in enumerate(reductions):
                    merged[k] = _merged(merged[k], reduction(*block))

        n_threads = min(count_threads(n_jobs), -(-len(part) // size))
        return _merged_lists(map_items(some_blocks, range(n_threads), n_jobs))

    def divide(
        self, part: Part, divide: Divide, cut: tuple[Floats, float], n_jobs: int | None
    ) -> tuple[Part, Part, _reductions.Side, _reductions.Side]:
        """Rewrite the rows of a part so that those left of a cut come first; return both parts and what they are."""
        moves = _Moves(self, part)

        def some_blocks(_: int) -> list[Any]:
            merged: list[Any] = [None, None]
            while (block := moves.take()) is not None:
                left, right, *sums = divide(*block)
                merged = [_merged(mine, new) for mine, new in zip(merged, sums, strict=True)]
                moves.put(_some(block, left), _some(block, right))
            return merged

        n_threads = min(count_threads(n_jobs), -(-len(part) // self._block_rows))
        on_left, on_right = _merged_lists(map_items(some_blocks, range(n_threads), n_jobs))
        left = Part(part.start, moves.front, (*part.path, (*cut, True)))
        right = Part(moves.front, part.stop, (*part.path, (*cut, False)))
        return left, right, on_left, on_right

    @property
    def _block_rows(self) -> int:
        return max(BLOCK_CELLS // self._n_features, 1)

    def _buffer(self, n: int) -> tuple[Matrix, Floats | None]:
        rows = np.empty((n, self._n_features), dtype=self._dtype)
        return rows, None if self._weights is None else np.empty(n)

    def _read(self, start: int, n: int, buffer: Block) -> Block:
        rows, weights = buffer[0][:n], None if buffer[1] is None else buffer[1][:n]
        self._rows.read(start * self._row_bytes, rows)
        if self._weights is not None and weights is not None:
            self._weights.read(8 * start, weights)
        return rows, weights

    def _write(self, start: int, X: Matrix, weights: Floats | None) -> None:
        self._rows.write(start * self._row_bytes, X)
        if self._weights is not None and weights is not None:
            self._weights.write(8 * start, weights)


class _Moves:
    """Rows of a part that move to its front or to its back, in place.

    Blocks are read from both ends. What has been read is free to be written, so a block is read ahead where there is no
    room. At most four blocks are held besides those that threads work on.
    """

    def __init__(self, copy: CopiedRows, part: Part) -> None:
        self._copy, self._lock = copy, Lock()
        self._waiting: list[Block] = []
        self.front, self._front_read = part.start, part.start
        self._back, self._back_read = part.stop, part.stop

    def take(self) -> Block | None:
        """Return the next block, or None if all are taken."""
        with self._lock:
            if self._waiting:
                return self._waiting.pop()
            if self._front_read == self._back_read:
                return None
            return self._read(self._front_read - self.front <= self._back - self._back_read)

    def put(self, left: Block, right: Block) -> None:
        """Write the rows of a block to the front and to the back."""
        with self._lock:
            while self._front_read < self._back_read:
                if self.front + len(left[0]) > self._front_read:
                    self._waiting.append(self._read(at_front=True))
                elif self._back - len(right[0]) < self._back_read:
                    self._waiting.append(self._read(at_front=False))
                else:
                    break
            self._copy._write(self.front, *left)
            self.front += len(left[0])
            self._back -= len(right[0])
            self._copy._write(self._back, *right)

    def _read(self, at_front: bool) -> Block:
        n = min(self._copy._block_rows, self._back_read - self._front_read)
        if at_front:
            start = self._front_read
            self._front_read += n
        else:
            self._back_read -= n
            start = self._back_read
        return self._copy._read(start, n, self._copy._buffer(n))


def _some(block: Block, rows: NDArray[Any]) -> Block:
    X, weights = block
    return X[rows], None if weights is None else weights[rows]


def _merged_lists(by_thread: list[list[Any]]) -> list[Any]:
    total = by_thread[0]
    for found in by_thread[1:]:
        total = [_merged(mine, new) for mine, new in zip(total, found, strict=True)]
    return total


def _merged(mine: Any, new: Any) -> Any:
    if mine is None or new is None:
        return new if mine is None else mine
    return mine.merge(new)
