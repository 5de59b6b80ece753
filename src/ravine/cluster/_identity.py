"""Identifiers of clusters that persist while a model learns from a stream.

The labels of a model are 0 to n_clusters - 1, so they change when a cluster appears or disappears. A cluster keeps its
identifier: old and new clusters are paired so that as many rows as possible stay in their cluster.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from ravine._matrix import Floats, Ints
from ravine.cluster._saved import saved_ints


@dataclass(frozen=True)
class Identities:
    """Identifier of each cluster, in the order of the labels, and the next identifier that is not used yet."""

    ids: Ints
    next_id: int

    @classmethod
    def of_new_clusters(cls, n_clusters: int) -> Self:
        """Return the identifiers 0, 1, … of a model that starts."""
        return cls(np.arange(n_clusters), n_clusters)

    @classmethod
    def restored(cls, ids: Any, next_id: Any, n_clusters: int) -> Self:
        """Return the identifiers of a saved model; raise ValueError that names an invalid field."""
        if type(next_id) is not int or not n_clusters <= next_id < 1 << 62:
            raise ValueError("field 'next_id' must be an integer of at least the number of clusters")
        ids = saved_ints(ids, "ids", n_clusters, 0, next_id - 1)
        if len(np.unique(ids)) < len(ids):
            raise ValueError("field 'ids' has an entry twice")
        return cls(ids, next_id)

    def carried_over(self, before: Ints, after: Ints, weights: Floats, n_clusters: int) -> "Identities":
        """Return the identifiers of new clusters, given the old and the new label of the same rows.

        An old and a new cluster that share no rows are never paired. A new cluster without a pair gets a new
        identifier.

        Examples
        --------
        The second cluster was divided. Its larger part keeps the identifier.

        >>> before, after = np.array([0, 1, 1, 1]), np.array([0, 2, 2, 1])
        >>> Identities.of_new_clusters(2).carried_over(before, after, np.ones(4), 3)
        Identities(ids=array([0, 2, 1]), next_id=3)
        """
        n_before = len(self.ids)
        shared = np.bincount(before * n_clusters + after, weights, n_before * n_clusters).reshape(n_before, n_clusters)
        old, new = linear_sum_assignment(shared, maximize=True)
        is_pair = shared[old, new] > 0
        ids = np.full(n_clusters, -1)
        ids[new[is_pair]] = self.ids[old[is_pair]]
        without_pair = np.flatnonzero(ids < 0)
        ids[without_pair] = self.next_id + np.arange(len(without_pair))
        return Identities(ids, self.next_id + len(without_pair))
