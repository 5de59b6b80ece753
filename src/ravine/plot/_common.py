"""What the pictures share: colors, and the tree, the names and the rows out of what a user passes.

Text is drawn through `written`, so that names are seen as they are.
"""

from collections.abc import Sequence
from operator import index
from typing import Any, TypeVar

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ravine._matrix import Matrix
from ravine._names import shown
from ravine.cluster import SumOfNorms, SupportVectorClustering
from ravine.cluster._base import TreeClusterer
from ravine.tree import HyperplaneTree
from ravine.tree._model import rows_to_show
from ravine.tree._text import counted, named, shortened, shown_names

LEFT, RIGHT, LINE, FAINT, PALE = "#4477aa", "#ee7733", "#222222", "#999999", "#dddddd"
"""Two hues that differ for the color-blind too; a line, a marker or a word always says the same as they do."""

COLOURS = (LEFT, RIGHT, "#228833", "#aa3377", "#33bbee", "#aa9911", "#774411")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
"""Of the clusters in turn. There is one marker more than there are colors, so that 56 clusters differ."""

MOST_POINTS, MOST_NAMED, LONGEST = 2000, 12, 40
"""Rows that are drawn, clusters in a legend, and letters in the label of an axis, at most."""


Kind = TypeVar("Kind")


def written(text: str) -> str:
    """The text as matplotlib is to get it: a $ in it is drawn, and begins no formula."""
    return text.replace("$", r"\$") if matplotlib.rcParams["text.parse_math"] else text


def tree_and_names(model: Any, picture: str, feature_names: Sequence[str] | None) -> tuple[HyperplaneTree, list[str]]:
    """The tree of a fitted estimator, or the tree itself, and the names of its columns."""
    if isinstance(model, TreeClusterer):
        check_is_fitted(model)
    tree = model if isinstance(model, HyperplaneTree) else getattr(model, "tree_", None)
    if not isinstance(tree, HyperplaneTree):
        raise TypeError(refusal(model, picture, "a model with a tree of cuts, or the tree"))
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    return tree, shown_names(tree, feature_names)


def fitted_as(kind: type[Kind], model: Any, picture: str) -> Kind:
    """The model, which must be of the kind that a picture draws, and fitted."""
    if not isinstance(model, kind):
        raise TypeError(refusal(model, picture, f"a {kind.__name__}"))
    check_is_fitted(model)
    return model


def refusal(model: Any, picture: str, draws: str) -> str:
    """What to say of a thing that a picture does not draw: what it draws, and what draws the thing."""
    return f"plot.{picture} draws {draws}, and this is {_kind_of(model)}: {_remedy(model)}"


def _kind_of(model: Any) -> str:
    return "None" if model is None else f"of type {type(model).__name__}"


def _remedy(model: Any) -> str:
    if isinstance(model, TreeClusterer | HyperplaneTree):
        return "plot.tree, panels, density, node, elbow and path draw its tree"
    if isinstance(model, SumOfNorms):
        return "plot.clusterpath and plot.fusions draw it"
    if isinstance(model, SupportVectorClustering):
        return "plot.support draws it"
    if isinstance(model, BaseEstimator):
        return "report.write shows its groups" if type(model).__module__.startswith("ravine.") else "fit one of ravine"
    if hasattr(model, "records") and hasattr(model, "events"):
        return "plot.stream draws it"
    return "pass what fit gives, as plot.tree(PDDP().fit(X)) does"


def columns_and_names(
    model: Any, features: Sequence[str | int] | str | int | None, feature_names: Sequence[str] | None
) -> tuple[list[int], list[str]]:
    """Numbers of the columns to draw, one or two, and their names."""
    n_columns = model.n_features_in_
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    names = named(n_columns, given, "rows have")
    if features is None:
        features = range(min(n_columns, 2))
    elif isinstance(features, str | int | np.integer):
        features = [features]
    if len(features) not in (1, 2):
        raise ValueError(f"features has {len(features)} entries: one or two columns can be drawn")
    columns = [_column(feature, names) for feature in features]
    return columns, [shown(names[j]) for j in columns]


def _column(feature: Any, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"there is no feature {feature!r}: the features are {shortened(', '.join(names), 200)}")
        return names.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
        raise TypeError(f"features has the entry {feature!r}: pass names of columns, or their numbers")
    if not 0 <= feature < len(names):
        raise ValueError(f"there is no feature {feature}: the rows have {counted(len(names), 'feature')}")
    return int(feature)


def as_rows(model: Any, tree: HyperplaneTree, X: Any) -> Matrix:
    """Rows as the kernels take them."""
    return rows_to_show(model, tree.n_features, X)


def rows_of_cut(model: Any, tree: HyperplaneTree, X: Any, node: Any) -> Matrix:
    """The rows that reach a node, which must be cut."""
    if isinstance(node, bool) or not isinstance(node, int | np.integer):
        raise TypeError(f"node={node!r} is not the number of a node: pass one of tree_.cuts")
    if node not in tree.cuts:
        what = (
            f"the cuts are {shortened(str(tree.cuts.tolist()), 200)}"
            if len(tree.cuts)
            else "the tree has one cluster and no cut"
        )
        raise ValueError(f"node {node} is not a cut; {what}")
    rows = as_rows(model, tree, X)
    return rows[tree.decision_path(rows)[:, [node]].toarray()[:, 0]]


def coarse_enough(tree: HyperplaneTree, n_clusters: int | None, most: int) -> HyperplaneTree:
    """The tree down to `n_clusters`; ValueError where these are more than a picture has room for."""
    if n_clusters is not None:
        tree = tree.cut_to(index(n_clusters))
    if tree.n_clusters > most:
        raise ValueError(
            f"{tree.n_clusters:,} clusters are too many for this picture: pass n_clusters={most} or fewer, and it has "
            "those of the first cuts"
        )
    return tree


def points(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in points, the unit of text."""
    box = ax.get_window_extent()
    return 72 * box.width / ax.figure.dpi, 72 * box.height / ax.figure.dpi


def new_axes(width: float, height: float) -> Axes:
    """Axes of a new figure of so many inches."""
    return plt.figure(figsize=(width, height), layout="constrained").add_subplot()
