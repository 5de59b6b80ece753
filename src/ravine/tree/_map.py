"""The layout of a drawn tree: positions of its nodes, widths of its lines, and the labels.

Labels do not overlap if a drawing reserves two columns for the label of a cut and one for the label of a leaf.
"""

from typing import TYPE_CHECKING

import numpy as np

from ravine._matrix import Floats
from ravine.tree._text import largest, shares_of_cut, shortened

if TYPE_CHECKING:
    from ravine.tree._tree import HyperplaneTree

EMPTY = 100.0
"""Relative depth from which on a valley is drawn as empty; deeper valleys do not get wider lines."""

MINOR = 0.1
"""Minimum share of a cut for a second feature to be named."""

LEGEND = "area of a circle: rows · width of a line: depth of the valley at the cut, dashed where not known"


def columns(tree: "HyperplaneTree") -> Floats:
    """Return the horizontal position of each node: leaves side by side, a cut midway between its children."""
    column = tree.label.astype(np.float64)
    for node in tree.cuts[::-1]:
        column[node] = (column[tree.left[node]] + column[tree.right[node]]) / 2
    return column


def depth_of_valley(tree: "HyperplaneTree") -> Floats:
    """Return the depth of the valley at each node on a logarithmic scale from 0 (none or unknown) to 1 (empty)."""
    return np.minimum(np.log1p(tree.relative_depth) / np.log1p(EMPTY), 1.0)


def share_of_rows(tree: "HyperplaneTree") -> Floats:
    """Return the rows of each node as a share of the rows of the root."""
    return tree.count / (tree.count[0] or 1.0)


def leaf_label(tree: "HyperplaneTree", leaf: int) -> list[str]:
    """Return the lines that name a cluster."""
    return [f"cluster {tree.label[leaf]}", rows_in_words(tree.count[leaf])]


def cut_label(tree: "HyperplaneTree", cut: int, names: list[str], n_letters: int) -> list[str]:
    """Name the one or two features that drive a split, and its p-value if tested, in lines of at most `n_letters`."""
    lines = [carriers(shares_of_cut(tree, cut), names, n_letters)]
    return [*lines, f"p = {tree.p_value[cut]:.1g}"] if tree.p_value[cut] < 1 else lines


def carriers(shares: Floats, names: list[str], n_letters: int = 60) -> str:
    """Return the names of the one or two features with the largest shares, as many as fit."""
    (first, _), *others = largest(shares, 2)
    both = ", ".join([names[first], *(names[j] for j, share in others if share >= MINOR)])
    return both if len(both) <= n_letters else shortened(names[first], n_letters)


def rows_in_words(count: float) -> str:
    """Format a number of rows, or a weight, in few letters."""
    number = f"{count:,.0f}" if count >= 100 or count == int(count) else f"{count:.3g}"
    return f"{number} row{'' if number == '1' else 's'}"
