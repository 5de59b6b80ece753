"""Rows from which a region of the tree is learned again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._matrix import Bools, Floats, Ints
from ravine.tree._stream._profile import APART


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

    @property
    def n_apart(self) -> float:
        """Number of rows that are apart, beyond those that would be so by chance."""
        return float(self.is_apart.sum() - APART * len(self.t))
