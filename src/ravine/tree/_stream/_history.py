"""How many rows each cluster of a stream got over time, in bounded memory.

Time is measured in rows and divided into bins of equal width. When all bins are full, neighboring bins are merged and
the width doubles, so the whole stream stays visible. A row counts for the cluster that it was assigned to when it came.
The cost of a row does not depend on the history: the counts of the leaves are read a few times per bin.
"""

from typing import Any

import numpy as np

from ravine._matrix import Floats, Ints

MOST_BINS, FIRST_WIDTH = 512, 16
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
    counts : dict of int to ndarray of shape (MOST_BINS,)
        Number of rows in each bin, by the identifier of the cluster.
    """

    def __init__(self) -> None:
        self.width = FIRST_WIDTH
        self.n_rows = 0
        self.counts: dict[int, Ints] = {}

    @property
    def end(self) -> int:
        """The row at which the present bin ends."""
        return (self.n_rows // self.width + 1) * self.width

    @property
    def n_bins(self) -> int:
        """Number of bins with rows."""
        return -(-self.n_rows // self.width)

    def add(self, identity: Ints, n_rows: Floats) -> None:
        """Count the next rows, given the number of those of each cluster; they must not go beyond the present bin."""
        here = self.n_rows // self.width
        for cluster, n in zip(identity.tolist(), n_rows.astype(np.int64).tolist(), strict=True):
            self._of(cluster)[here] += n
            self.n_rows += n
        if self.n_rows == MOST_BINS * self.width:
            self.width *= 2
            for cluster, counts in self.counts.items():
                self.counts[cluster] = np.append(counts.reshape(-1, 2).sum(axis=1), _nothing(MOST_BINS // 2))

    def _of(self, cluster: int) -> Ints:
        return self.counts.setdefault(cluster, _nothing(MOST_BINS))

    def rename(self, old: int, new: int) -> None:
        """Count all rows of a cluster for another one: both are the same cluster."""
        if old in self.counts:
            self._of(new)[:] += self.counts.pop(old)

    def sum_up(self, present: Ints) -> None:
        """Sum up the smallest of the clusters that are not present, if there are too many of them."""
        if len(self.counts) <= MOST_OLD:
            return
        kept = {OTHERS, *present.tolist()}
        old = sorted((int(counts.sum()), cluster) for cluster, counts in self.counts.items() if cluster not in kept)
        for _, cluster in old[: max(len(old) - MOST_OLD, 0)]:
            self.rename(cluster, OTHERS)

    def table(self) -> dict[str, Any]:
        """Return the bins and the counts as arrays; see `StreamClusterer.history_`."""
        start, ids = np.arange(self.n_bins) * self.width, sorted(self.counts)
        counts = [self.counts[cluster][: self.n_bins] for cluster in ids]
        return {
            "start": start,
            "stop": np.minimum(start + self.width, self.n_rows),
            "cluster_ids": np.array(ids, dtype=np.int64),
            "counts": np.array(counts, dtype=np.int64).reshape(-1, self.n_bins).T.copy(),
        }

    def restore(self, width: int, ids: Ints, counts: Ints) -> None:
        """Restore a history that was saved: the width of a bin, and the last two arrays of `table`."""
        self.width, self.n_rows, self.counts = width, int(counts.sum()), {}
        for cluster, column in zip(ids.tolist(), counts.T, strict=True):
            self._of(cluster)[: len(column)] = column


def _nothing(n_bins: int) -> Ints:
    return np.zeros(n_bins, dtype=np.int64)
