"""What the pictures share: colours, and the tree, the names and the rows out of what a user passes."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy import sparse

from ravine.matrix import Matrix
from ravine.tree import HyperplaneTree, tree_of
from ravine.tree._text import names_of

LEFT, RIGHT, LINE, FAINT, PALE = "#4477aa", "#ee7733", "#222222", "#999999", "#dddddd"
"""Two hues that differ for the colour-blind too; a line, a marker or a word always says the same as they do."""


def tree_and_names(model: Any, feature_names: Sequence[str] | None) -> tuple[HyperplaneTree, list[str]]:
    """The tree of a fitted estimator, or the tree itself, and the names of its columns."""
    tree = tree_of(model)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    return tree, names_of(tree, feature_names)


def as_rows(X: Any) -> Matrix:
    """Rows as the kernels take them."""
    return X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(np.asarray(X, dtype=np.float64))


def rows_of_cut(tree: HyperplaneTree, X: Any, node: int) -> Matrix:
    """The rows that reach a node, which must be cut."""
    if node not in tree.cuts:
        raise ValueError(f"node {node} is not a cut; the cuts are {tree.cuts.tolist()}")
    rows = as_rows(X)
    return rows[tree.decision_path(rows)[:, [node]].toarray()[:, 0]]


def points(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in points, the unit of text."""
    box = ax.get_window_extent()
    return 72 * box.width / ax.figure.dpi, 72 * box.height / ax.figure.dpi


def new_axes(width: float, height: float) -> Axes:
    """Axes of a new figure of so many inches."""
    return plt.figure(figsize=(width, height), layout="constrained").add_subplot()
