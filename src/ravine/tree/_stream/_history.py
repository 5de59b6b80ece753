"""How many rows each cluster of a stream got over time, in bounded memory.

Time is measured in rows and divided into bins of equal width. When all bins are full, neighboring bins are merged and
the width doubles, so the whole stream stays visible. A row counts for the cluster that it was assigned to when it came.
The rows of the leaves are read once per bin and whenever the tree changes, so the cost per row is negligible.
"""

from typing import Any

import numpy as np

from ravine._matrix import Floats, Ints

MOST_BINS, FIRST_WIDTH = 512, 64
"""Maximum number of bins, and the number of rows in a bin at the start of a stream."""

MOST_OLD = 128
"""Number of clusters that are no longer in the tree and still have counts of their own: those with the most rows."""

OTHERS = -1
"""Identifier under which the rows of all other old clusters are summed."""


class History:
    """Number of rows of each cluster in each bin.

    Attributes
    ----------
    width : int
        Number of rows in a bin.
    n_rows : int
        Number of rows so far.
    ids : ndarray of shape (n_ids,)
        Identifiers of the clusters, in ascending order.
    counts : ndarray of shape (MOST_BINS, n_ids)
        Number of rows of each cluster in each bin.
    """

    def __init__(self) -> None:
        self.width = FIRST_WIDTH
        self.n_rows = 0
        self.ids: Ints = np.empty(0, dtype=np.int64)
        self.counts: Ints = np.empty((MOST_BINS, 0), dtype=np.int64)
        self._summed_up: tuple[Ints | None, bytes] = None, b""  # identifiers and present clusters at the last time

    @property
    def end(self) -> int:
        """The row at which the present bin ends."""
        return (self.n_rows // self.width + 1) * self.width

    @property
    def n_bins(self) -> int:
        """Number of bins with rows."""
        return -(-self.n_rows // self.width)

    def add(self, clusters: Ints, n_rows: Floats) -> None:
        """Count the next rows, given the number of those of each cluster; they must not go beyond the present bin."""
        positions, added = self._positions(clusters), n_rows.astype(np.int64)
        self.counts[self.n_rows // self.width, positions] += added
        self.n_rows += int(added.sum())
        if self.n_rows == MOST_BINS * self.width:
            self.width *= 2
            half = MOST_BINS // 2
            self.counts[:half] = self.counts.reshape(half, 2, -1).sum(axis=1)
            self.counts[half:] = 0

    def _positions(self, clusters: Ints) -> Ints:
        """Return the columns of some clusters; those that have none get one."""
        position = np.searchsorted(self.ids, clusters)
        if len(self.ids) and (self.ids[np.minimum(position, len(self.ids) - 1)] == clusters).all():
            return position
        new = np.setdiff1d(clusters, self.ids)
        at = np.searchsorted(self.ids, new)
        self.ids, self.counts = np.insert(self.ids, at, new), np.insert(self.counts, at, 0, axis=1)
        return np.searchsorted(self.ids, clusters)

    def rename(self, old: int, new: int) -> None:
        """Count all rows of a cluster for another one: both are the same cluster."""
        if old not in self.ids:
            return
        self._positions(np.array([new]))
        of_old, of_new = np.searchsorted(self.ids, [old, new])
        self.counts[:, of_new] += self.counts[:, of_old]
        self.ids, self.counts = np.delete(self.ids, of_old), np.delete(self.counts, of_old, axis=1)

    def sum_up(self, present: Ints) -> None:
        """Sum up the smallest of the clusters that are not present, if there are too many of them."""
        present_now = present.tobytes()
        if len(self.ids) <= MOST_OLD or (self._summed_up[0] is self.ids and self._summed_up[1] == present_now):
            return
        old = self.ids[~np.isin(self.ids, present) & (self.ids != OTHERS)]
        totals = self.counts[:, np.searchsorted(self.ids, old)].sum(axis=0)
        for cluster in old[np.lexsort((old, totals))][: max(len(old) - MOST_OLD, 0)].tolist():
            self.rename(cluster, OTHERS)
        self._summed_up = self.ids, present_now

    def table(self) -> dict[str, Any]:
        """Return the bins and the counts as arrays; see `StreamClusterer.history_`."""
        start = np.arange(self.n_bins) * self.width
        return {
            "start": start,
            "stop": np.minimum(start + self.width, self.n_rows),
            "cluster_ids": self.ids.copy(),
            "counts": self.counts[: self.n_bins].copy(),
        }

    def restore(self, width: int, ids: Ints, counts: Ints) -> None:
        """Restore a history that was saved: the width of a bin, and the last two arrays of `table`."""
        self.width, self.n_rows, self.ids = width, int(counts.sum()), ids.copy()
        self.counts = np.zeros((MOST_BINS, len(ids)), dtype=np.int64)
        self.counts[: len(counts)] = counts
