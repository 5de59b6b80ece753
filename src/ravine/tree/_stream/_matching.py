"""What became of the clusters of a region that was learned again: which continue, merged, split, or are new.

Each row of the region may belong to an old cluster, and lies in a new leaf. An old cluster continues in the leaf with
most of its rows, if these are at least half of its rows or of the leaf; otherwise it was no cluster, but rows of
several others. If two old clusters continue in one leaf, they have merged. A leaf that has mostly rows of an old
cluster that continues elsewhere is a part of it: that cluster was split. All other leaves are new clusters.
"""

from dataclasses import dataclass, field

import numpy as np

from ravine._matrix import Ints

NOBODY = -1
"""Owner of a row that belongs to no old cluster."""


@dataclass(frozen=True)
class Matching:
    """Old clusters and new leaves; positions of leaves are 0, 1, …

    Attributes
    ----------
    continues : dict
        Leaf in which an old cluster continues, by its identifier.
    merged : dict
        Old clusters that continue in one leaf, if there are several, by leaf; the largest is first and keeps its
        identifier.
    parts : dict
        Leaves of an old cluster that was split, by its identifier; they include the leaf with most of its rows.
    new : list
        Leaves that no old cluster continues in.
    lost : list
        Old clusters without rows.
    """

    continues: dict[int, int] = field(default_factory=dict)
    merged: dict[int, list[int]] = field(default_factory=dict)
    parts: dict[int, list[int]] = field(default_factory=dict)
    new: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)

    @property
    def keeps_clusters(self) -> bool:
        """Whether each old cluster continues by itself and as a whole, or was rows of several others."""
        return not (self.merged or self.parts or self.new or self.lost)


def match(owner: Ints, leaf: Ints, n_leaves: int, identities: list[int]) -> Matching:
    """Compare the old cluster of each row with its new leaf.

    Parameters
    ----------
    owner : ndarray of shape (n_samples,)
        Identifier of the old cluster of each row, or `NOBODY`.
    leaf : ndarray of shape (n_samples,)
        Position of the new leaf of each row.
    n_leaves : int
    identities : list
        Identifiers of all old clusters of the region.

    Examples
    --------
    Cluster 4 continues in leaf 0, and leaf 1 is new. Nothing is left of cluster 5.

    >>> match(np.array([4, 4, -1, -1]), np.array([0, 0, 1, 1]), 2, [4, 5])
    Matching(continues={4: 0}, merged={}, parts={}, new=[1], lost=[5])
    """
    shared = np.array([np.bincount(leaf[owner == old], minlength=n_leaves) for old in identities])
    n_rows = np.bincount(leaf, minlength=n_leaves)
    found = Matching()
    claims: dict[int, list[int]] = {}
    for k, old in enumerate(identities):
        here = int(shared[k].argmax())
        if not shared[k].any():
            found.lost.append(old)
        elif 2 * shared[k, here] >= min(shared[k].sum(), n_rows[here]):
            claims.setdefault(here, []).append(k)
    for here, rows in sorted(claims.items()):
        rows.sort(key=lambda k: -shared[k, here])
        found.continues.update({identities[k]: here for k in rows})
        if len(rows) > 1:
            found.merged[here] = [identities[k] for k in rows]
    for here in range(n_leaves):
        if here in claims:
            continue
        k = int(shared[:, here].argmax()) if len(identities) else -1
        if k >= 0 and 2 * shared[k, here] > n_rows[here] and identities[k] in found.continues:
            found.parts.setdefault(identities[k], [found.continues[identities[k]]]).append(here)
        else:
            found.new.append(here)
    return found
