"""What the pictures share: colours, and the tree, the names and the rows out of what a user passes."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy import sparse

from ravine.matrix import Matrix
from ravine.tree import HyperplaneTree, tree_of
from ravine.tree._text import counted, names_of, shortened

LEFT, RIGHT, LINE, FAINT, PALE = "#4477aa", "#ee7733", "#222222", "#999999", "#dddddd"
"""Two hues that differ for the colour-blind too; a line, a marker or a word always says the same as they do."""

COLOURS = (LEFT, RIGHT, "#228833", "#aa3377", "#33bbee", "#aa9911", "#774411")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
"""Of the clusters in turn. There is one marker more than there are colours, so that 56 clusters differ."""

MOST_POINTS, MOST_NAMED, LONGEST = 2000, 12, 40
"""Rows that are drawn, clusters in a legend, and letters in the label of an axis, at most."""


def tree_and_names(model: Any, feature_names: Sequence[str] | None) -> tuple[HyperplaneTree, list[str]]:
    """The tree of a fitted estimator, or the tree itself, and the names of its columns."""
    tree = tree_of(model)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    return tree, names_of(tree, feature_names)


def columns_and_names(
    model: Any, features: Sequence[str | int] | str | int | None, feature_names: Sequence[str] | None
) -> tuple[list[int], list[str]]:
    """Numbers of the columns to draw, one or two, and their names."""
    n_columns = model.n_features_in_
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(n_columns)])
    names = [str(name) for name in feature_names]
    if len(names) != n_columns:
        raise ValueError(f"feature_names has {len(names)} entries, the rows have {n_columns} features")
    if features is None:
        features = range(min(n_columns, 2))
    elif isinstance(features, str | int | np.integer):
        features = [features]
    if len(features) not in (1, 2):
        raise ValueError(f"features has {len(features)} entries: one or two columns can be drawn")
    columns = [_column(feature, names) for feature in features]
    return columns, [names[j] for j in columns]


def _column(feature: str | int, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"there is no feature {feature!r}: the features are {shortened(', '.join(names), 200)}")
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(f"there is no feature {feature}: the rows have {counted(len(names), 'feature')}")
    return int(feature)


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
