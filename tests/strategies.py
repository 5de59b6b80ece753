"""Random data and random trees for property tests."""

import numpy as np
from hypothesis import strategies as st

from ravine.cuts import Cut
from ravine.tree import HyperplaneTree

seeds = st.integers(0, 2**32 - 1)


def random_tree(n_cuts: int, n_features: int, seed: int) -> HyperplaneTree:
    """A tree made by cutting random leaves at random places, with the moments of some random rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, n_features))
    root = HyperplaneTree.from_nodes(
        left=[-1],
        right=[-1],
        rank=[0],
        normal=np.zeros((1, n_features)),
        offset=[0.0],
        count=[20.0],
        mean=X.mean(axis=0, keepdims=True),
        sum_sq=[((X - X.mean(axis=0)) ** 2).sum()],
        value=[0.0],
        relative_depth=[0.0],
        p_value=[1.0],
    )
    tree = root
    for _ in range(n_cuts):
        normal = rng.normal(size=n_features)
        cut = Cut(normal, float(rng.normal()), *rng.uniform(size=3).tolist())
        tree = tree.split(int(rng.choice(tree.leaves)), cut, X)
    return tree


trees = st.builds(random_tree, st.integers(0, 12), st.integers(1, 5), seeds)
