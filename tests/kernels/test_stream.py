"""The leaf of one row against its naive twin."""

import numpy as np
from hypothesis import given, settings
from tests import naive
from tests.strategies import seeds

from ravine._kernels import stream


def random_tree(rng, n_cuts, n_features):
    """Return arrays of a tree whose nodes are in no order, and its root."""
    n_nodes = 2 * n_cuts + 1
    number = rng.permutation(n_nodes)
    left, right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    leaves, used = [int(number[0])], 1
    for _ in range(n_cuts):
        node = leaves.pop(int(rng.integers(len(leaves))))
        left[node], right[node] = number[used], number[used + 1]
        leaves += [int(left[node]), int(right[node])]
        used += 2
    cut = np.zeros((n_nodes, stream.N_CUT))
    cut[:, stream.OFFSET] = rng.integers(-2, 3, size=n_nodes)
    return int(number[0]), left, right, rng.integers(-2, 3, size=(n_nodes, n_features)).astype(float), cut


@given(seeds)
@settings(max_examples=50)
def test_leaf_of_a_row_equals_naive_even_if_the_row_is_on_a_cut(seed):
    rng = np.random.default_rng(seed)
    root, left, right, normal, cut = random_tree(rng, int(rng.integers(6)), int(rng.integers(1, 5)))
    for x in rng.integers(-2, 3, size=(20, normal.shape[1])).astype(float):
        expected = naive.walk(x, normal, cut[:, stream.OFFSET], left, right, root)
        assert stream.leaf_of(x[np.newaxis], root, left, right, normal, cut) == expected
