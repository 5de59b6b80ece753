"""Place the cuts of a stream anew as rows come, without a change of the tree.

The first cuts are made from few rows of each cluster, and cut off a part of some.
"""

import numpy as np

from ravine import _kernels
from ravine._matrix import project
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._search import placed_between
from ravine.tree._stream._units import Units

FAR_MORE_ROWS, MOST_PASSED_OVER, MOST_PLACED = 3, 0.3, 500
"""A cut is placed anew if there are this many times the rows from which it was made, and if no leaf has more than this
share of its rows on the other side then. Its place is computed from at most so many rows."""


def place_anew(nodes: Nodes, cut: int, units: Units, now: int) -> None:
    """Place a cut anew if there are far more rows than when it was made; clusters stay on their sides.

    Rows that come to lie on the other side are dropped.
    """
    kernel = _kernels.stream
    if nodes.is_filled(cut):
        return
    n_stored = kernel.n_watched(cut, nodes.left, nodes.right, nodes.leaf, nodes.ring_size)
    if not n_stored or n_stored < FAR_MORE_ROWS * nodes.cut[cut, kernel.N_ROWS]:
        return
    nodes.cut[cut, kernel.N_ROWS] = n_stored
    leaves, n_right = nodes.leaves(cut), len(nodes.leaves(int(nodes.right[cut])))
    rows, every = [nodes.recent(leaf)[0] for leaf in leaves], -(-n_stored // MOST_PLACED)
    is_right = np.arange(len(leaves)) >= len(leaves) - n_right  # they are in the order of the tree
    some = [part[::every] for part in rows]
    is_some_right = np.repeat(is_right, [len(part) for part in some])
    units.renew(nodes, now)
    p_value = float(nodes.p_value[cut])
    split = placed_between(np.concatenate(some), is_some_right, units.spread, units.steps, p_value)
    if split is None:
        return
    distances = [project(part, split.normal) - split.offset for part in rows]
    share_right = np.array([(part >= 0).mean() for part in distances])
    swaps = share_right[is_right].mean() < share_right[~is_right].mean()
    if (np.where(is_right ^ swaps, 1 - share_right, share_right) > MOST_PASSED_OVER).any():
        return  # another valley, with other clusters on its sides
    nodes.place_cut(cut, split, np.concatenate(distances))
    if swaps:
        nodes.swap_children(cut)
    for leaf, part, here_right in zip(leaves, distances, is_right ^ swaps, strict=True):
        stays = (part >= 0) == here_right
        if not stays.all():
            nodes.keep_rows(leaf, stays)
