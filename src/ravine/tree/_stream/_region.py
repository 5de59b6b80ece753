"""Rows from which a region of the tree is learned again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._matrix import Bools, Floats, Ints
from ravine.tree._stream._matching import NOBODY
from ravine.tree._stream._profile import APART

FEW_OTHERS, OTHERS_SHARE = 12, 0.1
"""Rows are of one cluster if fewer than this many, and less than this share of them, belong to others."""

RECENT_SHARE = 0.3
"""Share of the rows that count as recent where a cluster may have left a place."""


@dataclass(frozen=True)
class Region:
    """Rows in the order of time.

    Attributes
    ----------
    X, t : ndarray
        Rows and their times.
    owner : ndarray of int
        Identifier of the old cluster of each row, or `ravine.tree._stream._matching.NOBODY`.
    is_apart : ndarray of bool
        New rows that are apart from the profile of their leaf.
    """

    X: Floats
    t: Ints
    owner: Ints
    is_apart: Bools

    @classmethod
    def of(cls, parts: "list[Region]") -> "Region":
        """Put regions together."""
        columns = [(part.X, part.t, part.owner, part.is_apart) for part in parts]
        whole = [np.concatenate(column) for column in zip(*columns, strict=True)]
        return cls(*whole)[np.argsort(whole[1], kind="stable")]

    @classmethod
    def with_owner(cls, X: Floats, t: Ints, owner: int) -> "Region":
        """Return rows that all belong to one cluster, or to nobody."""
        return cls(X, t, np.full(len(t), owner), np.zeros(len(t), dtype=bool))

    def __getitem__(self, rows: Any) -> "Region":
        return Region(self.X[rows], self.t[rows], self.owner[rows], self.is_apart[rows])

    def thinned(self, most: int) -> "Region":
        """Return at most so many of the rows, spread evenly over time."""
        return self[:: -(-len(self.t) // most) or 1]

    @property
    def n_apart(self) -> float:
        """Number of rows that are apart, beyond those that would be so by chance."""
        return float(self.is_apart.sum() - APART * len(self.t))

    @property
    def is_recent(self) -> Bools:
        """The rows that count as recent."""
        return np.arange(len(self.t)) >= (1 - RECENT_SHARE) * len(self.t)

    @property
    def is_of_others(self) -> Bools:
        """The rows that do not belong to the most frequent owner."""
        owners, counts = np.unique(self.owner, return_counts=True)
        return self.owner != owners[counts.argmax()]

    @property
    def is_one_cluster(self) -> bool:
        """Whether nearly all rows belong to one old cluster."""
        n_others = int(self.is_of_others.sum())
        is_known = (self.owner != NOBODY).sum() > n_others
        return bool(is_known and n_others < min(FEW_OTHERS, OTHERS_SHARE * len(self.t)))
