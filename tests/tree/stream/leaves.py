"""Trees made by hand: leaves along the first column, with given rows and times."""

import numpy as np

from ravine._kernels import stream
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import MIN_PROFILE, profile_of
from ravine.tree._stream._search import Split


def split_at(offset, n_features=1, reach=4.0):
    return Split(0.01, np.eye(n_features)[0], offset, -reach, reach)


def chain(centers, times, ring_size=500, seed=0, n_features=1):
    """A tree that cuts between neighboring centers, and its leaves from left to right.

    Leaf k has normal rows about centers[k] at times[k], and a profile if they are enough. Identifiers are 0, 1, …
    """
    rng, nodes, leaves = np.random.default_rng(seed), Nodes(n_features, ring_size), []
    node, parent = nodes.take(), -1
    nothing = np.empty((0, n_features)), np.empty(0, dtype=np.int64)
    for k, (center, t) in enumerate(zip(centers, times, strict=True)):
        if k + 1 < len(centers):
            nodes.make_leaf(node, parent, *nothing, 0)
            between = split_at((center + centers[k + 1]) / 2, n_features)
            parent, (leaf, node) = node, nodes.make_cut(node, between, np.array([-9.0, 9.0]))
        else:
            leaf = node
        X = rng.normal(size=(len(t), n_features)) + center * np.eye(n_features)[0]
        nodes.make_leaf(leaf, parent, X, np.asarray(t, dtype=np.int64), 0)
        nodes.identity[leaf] = k
        if len(t) >= MIN_PROFILE:
            nodes.set_profile(leaf, profile_of(X, np.full(n_features, 1e-3)))
        leaves.append(leaf)
    return nodes, leaves


def add_rows(nodes, leaf, X, times):
    """Put rows into the ring of a leaf, as the loop over a stream does."""
    for x, row in zip(X, times, strict=True):
        ring = nodes.ring[leaf]
        stream._keep(nodes.leaf[leaf], nodes.rows[ring], nodes.times[ring], x, float(row))
