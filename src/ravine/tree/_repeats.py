"""Detect whether the rows of a stream repeat so often that their copies look like modes.

The first `WINDOW` rows are kept until this is known, however the stream is divided into batches. Two things were
measured to split clusters that are one (docs/decisions/streams.md): rows with many copies, which rounding in a few
columns produces, and columns in which one value stands out. Many rounded columns together do no harm.
"""

import math
from typing import Any

import numpy as np

from ravine._matrix import LARGEST, Floats, Ints
from ravine._schema import MOST, Array, Field, Number, Sizes, State, require

WINDOW, LEAST_WINDOW, WINDOW_CELLS = 512, 128, 1 << 20
"""Size of the window in rows: the first number, or as many rows as have the third number of values, but at least the
second number."""

MANY_COPIES = 12
"""From this average number of copies per row on, copies are taken for clusters."""

FEWEST_PAIRS = 5
"""With fewer pairs of equal rows in the window, there is no warning."""

OFTEN, OUTSTANDING = 0.05, 3
"""A value stands out if it has this share of the rows and is this many times as frequent as any other value."""

VERY_OFTEN, LEADING = 0.1, 0.25
"""A value also stands out if it has this share of the rows, in a column with at least this share of the variance."""

LEAST_SHARE = 0.1
"""Minimum share of the variance that the columns with an outstanding value must have together."""

COLLECTING, DONE = -1, 0
"""Values of `due` while the window is filling, and after the check is finished."""

REPEATS: dict[str, Field] = {
    "first_rows": Array("float64", ("n_first_rows", "n_features"), low=-LARGEST, high=LARGEST, empty=True),
    "repeats_due": Number(int, low=COLLECTING, high=MOST),
}
"""The result of `RepeatWatch.state`."""


def window_is_complete(state: State, sizes: Sizes) -> None:
    """The window is full if there is something to warn about later."""
    if state["first_rows"] is not None:
        n_rows, window = len(state["first_rows"]), window_for(sizes["n_features"])
        require(n_rows <= window, "first_rows", f"has {n_rows} rows, more than the window of {window}")
        is_full = state["repeats_due"] <= DONE or n_rows == window
        require(is_full, "repeats_due", "waits for rows that 'first_rows' does not have")


def window_for(n_features: int) -> int:
    """Return the size of the window in rows."""
    return min(WINDOW, max(LEAST_WINDOW, WINDOW_CELLS // n_features))


class RepeatWatch:
    """The first rows of a stream, kept until it is known whether copies do harm.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    rows : ndarray of shape (n, n_features)
        The first rows, starting with the last one before the first change.
    due : int
        `COLLECTING`, `DONE`, or the number of rows of the stream from which on there are many copies.
    """

    def __init__(self, n_features: int) -> None:
        self.rows: Floats = np.empty((0, n_features))
        self.due = COLLECTING

    @property
    def window(self) -> int:
        """Size of the window in rows."""
        return window_for(self.rows.shape[1])

    def look(self, X: Any, n_rows: int, is_all: bool) -> dict[int, str]:
        """Take the next rows, up to row `n_rows` of the stream; `is_all` means that no more rows are expected.

        Returns the columns to warn about, with the reason. This happens at most once.
        """
        if self.due == DONE:
            return {}
        due = self.due
        if due == COLLECTING:
            self._collect(X)
            is_full = len(self.rows) == self.window
            if not is_full and not is_all:
                return {}
            due = self._rows_until_harm()
            self.due = due if is_full else COLLECTING
        columns = {}
        if due != DONE and n_rows >= due:
            columns = _columns_that_stand_out(self.rows) or _columns_of_copies(self.rows)
            self.due = DONE
        if self.due == DONE:
            self.rows = self.rows[:0]
        return columns

    def _collect(self, X: Any) -> None:
        if len(self.rows) == 0:
            self.rows = np.array(X[:1], dtype=np.float64)
        if len(self.rows) == 1:  # ignore copies of the first row: a stream may begin before its source does
            differs = (self.rows != X).any(axis=1)
            X = X[int(differs.argmax()) if differs.any() else len(X) :]
        self.rows = np.concatenate([self.rows, X[: self.window - len(self.rows)]])

    def _rows_until_harm(self) -> int:
        """Return the number of rows of the stream at which copies begin to do harm; `DONE` if never."""
        if len(self.rows) < LEAST_WINDOW:
            return DONE
        if _columns_that_stand_out(self.rows):
            return 1
        if not _columns_of_copies(self.rows):
            return DONE
        n = len(self.rows)
        copies = np.unique(self.rows, axis=0, return_counts=True)[1]
        n_pairs = int((copies * (copies - 1)).sum()) // 2
        return math.ceil(MANY_COPIES * n * (n - 1) / (2 * n_pairs)) if n_pairs >= FEWEST_PAIRS else DONE

    def state(self) -> dict[str, Any]:
        """Return everything that must be saved."""
        return {"first_rows": self.rows, "repeats_due": self.due}

    def restore(self, state: State) -> None:
        """Restore the checked result of `state`; older files do not have it, and there is nothing to warn about."""
        if state["first_rows"] is None:
            self.due = DONE
        else:
            self.rows, self.due = state["first_rows"], state["repeats_due"]


def _few_values(rows: Floats) -> Ints:
    """Return the columns with copies and more than two values; two values are a category, not a rounded number."""
    n_distinct = 1 + (np.diff(np.sort(rows, axis=0), axis=0) != 0).sum(axis=0)
    return np.flatnonzero((n_distinct > 2) & (n_distinct < len(rows)))


def _columns_of_copies(rows: Floats) -> dict[int, str]:
    """Return the columns in which copied rows agree, which are all columns that vary, with a description."""
    return {int(j): _said(*np.unique(rows[:, j], return_counts=True)) for j in _few_values(rows)}


def _columns_that_stand_out(rows: Floats) -> dict[int, str]:
    """Return the columns in which one value is far more frequent than the others, if they have much of the variance."""
    few = _few_values(rows)
    if not len(few):
        return {}
    variance = (rows / np.abs(rows).max()).var(axis=0)
    share, found = variance / variance.sum(), {}
    for j in few:
        values, counts = np.unique(rows[:, j], return_counts=True)
        leads = share[j] >= LEADING and counts.max() >= VERY_OFTEN * len(rows)
        if leads or _is_alone(counts):
            found[int(j)] = _said(values, counts)
    return found if share[list(found)].sum() >= LEAST_SHARE else {}


def _is_alone(counts: Ints) -> bool:
    """Return whether one value occurs often, and far more often than any other."""
    second, top = np.partition(counts, -2)[-2:]
    return bool(top >= OFTEN * counts.sum() and top >= OUTSTANDING * second)


def _said(values: Floats, counts: Ints) -> str:
    """Describe what repeats in a column."""
    n_rows = counts.sum()
    if _is_alone(counts):
        return f"{values[counts.argmax()] + 0.0:.3g} in {counts.max() / n_rows:.0%} of {n_rows} rows"
    return f"{len(values)} distinct values in {n_rows} rows, {np.diff(values).min():.3g} apart"
