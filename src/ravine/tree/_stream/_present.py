"""What the clusters of a stream look like now, from their recent rows."""

from dataclasses import dataclass

import numpy as np

from ravine._matrix import Floats
from ravine.tree._stream._tree import StreamTree


@dataclass(frozen=True)
class Present:
    """A cluster as it is now.

    Attributes
    ----------
    identity : int
    mean, deviation : ndarray of shape (n_features,)
        Mean and standard deviation of the recent rows, in the units of the data.
    n_kept : int
        Number of recent rows that the cluster keeps.
    last : int
        Its last row.
    rests : bool
        Whether it has been reported as vanished, and has had no fitting rows since then.
    """

    identity: int
    mean: Floats
    deviation: Floats
    n_kept: int
    last: int
    rests: bool


def present_clusters(tree: StreamTree) -> list[Present]:
    """Return the clusters in the tree, in the order of their identifiers."""
    nodes, found = tree.nodes, []
    for leaf in nodes.leaves():
        X, _ = nodes.recent(leaf)
        identity = int(nodes.identity[leaf])
        mean, deviation = (X.mean(axis=0), X.std(axis=0)) if len(X) else np.zeros((2, tree.n_features))
        rests = identity in tree.registry.resting
        found.append(Present(identity, mean, deviation, len(X), nodes.last(leaf), rests))
    return sorted(found, key=lambda cluster: cluster.identity)
