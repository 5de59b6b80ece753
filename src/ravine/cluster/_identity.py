"""Identifiers of clusters that persist while a model learns from a stream.

The labels of a model are 0 to n_clusters - 1, so they change when a cluster appears or disappears. A cluster keeps its
identifier: old and new clusters are paired so that as many rows as possible stay in their cluster.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ravine._matrix import Floats, Ints
from ravine._schema import MOST, Array, Field, Number, Sizes, State, require
from ravine.tree._coarser import relabeled

IDENTITIES: dict[str, Field] = {
    "ids": Array("integer", ("n_identities",), low=0),
    "next_id": Number(int, low=1, high=MOST),
}
"""What a file keeps of `Identities`."""


def ids_are_distinct(state: State, sizes: Sizes) -> None:
    """Every cluster has an identifier of its own, which was given before."""
    require(state["ids"].max() < state["next_id"], "ids", "has an entry that is not less than 'next_id'")
    require(len(np.unique(state["ids"])) == len(state["ids"]), "ids", "has an entry twice")


@dataclass(frozen=True)
class Identities:
    """Identifier of each cluster, in the order of the labels, and the next identifier that is not used yet."""

    ids: Ints
    next_id: int

    @classmethod
    def of_new_clusters(cls, n_clusters: int) -> Self:
        """Return the identifiers 0, 1, … of a model that starts."""
        return cls(np.arange(n_clusters), n_clusters)

    def carried_over(self, before: Ints, after: Ints, weights: Floats, n_clusters: int) -> "Identities":
        """Return the identifiers of new clusters, given the old and the new label of the same rows.

        An old and a new cluster that share no rows are never paired. A new cluster without a pair gets a new
        identifier. Rows with the label -1, before or after, do not count.

        Examples
        --------
        The second cluster was divided. Its larger part keeps the identifier.

        >>> before, after = np.array([0, 1, 1, 1]), np.array([0, 2, 2, 1])
        >>> Identities.of_new_clusters(2).carried_over(before, after, np.ones(4), 3)
        Identities(ids=array([0, 2, 1]), next_id=3)
        """
        from scipy.optimize import linear_sum_assignment  # prediction can do without it

        n_before = len(self.ids)
        in_clusters = (before >= 0) & (after >= 0)
        before, after, weights = before[in_clusters], after[in_clusters], weights[in_clusters]
        shared = np.bincount(before * n_clusters + after, weights, n_before * n_clusters).reshape(n_before, n_clusters)
        old, new = linear_sum_assignment(shared, maximize=True)
        is_pair = shared[old, new] > 0
        ids = np.full(n_clusters, -1)
        ids[new[is_pair]] = self.ids[old[is_pair]]
        without_pair = np.flatnonzero(ids < 0)
        ids[without_pair] = self.next_id + np.arange(len(without_pair))
        return Identities(ids, self.next_id + len(without_pair))


def identified(model: Any, labels: Ints) -> Ints:
    """Return labels as identifiers, or unchanged if the model has none; an outlier keeps the label -1.

    Examples
    --------
    >>> from ravine import IncrementalMDH
    >>> model = IncrementalMDH(2, algorithm="online").fit([[0], [1], [8], [9]])
    >>> identified(model, np.array([1, 0, -1]))
    array([ 1,  0, -1])
    """
    ids = getattr(model, "cluster_ids_", None)
    return np.asarray(labels) if ids is None else relabeled(labels, np.asarray(ids))
