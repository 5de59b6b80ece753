"""Shared by all plots: colors, and the tree, names and rows from the arguments of the user.

Text is passed through `written`, so that names are shown literally.
"""

from collections.abc import Sequence
from operator import index
from typing import Any, TypeVar

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ravine._lazy import is_of_ravine
from ravine._matrix import Matrix
from ravine._names import shown
from ravine.cluster import SumOfNorms, SupportVectorClustering
from ravine.cluster._base import TreeClusterer
from ravine.tree import HyperplaneTree
from ravine.tree._model import rows_to_show
from ravine.tree._pipeline import ShownPipeline
from ravine.tree._text import counted, named, shortened, shown_names
from ravine.tree._unit_rows import has_unit_rows

LEFT, RIGHT, LINE, FAINT, PALE = "#4477aa", "#ee7733", "#222222", "#999999", "#dddddd"
"""Colors that color-blind readers can distinguish. A line, a marker or a word always repeats their meaning."""

COLORS = (LEFT, RIGHT, "#228833", "#aa3377", "#33bbee", "#aa9911", "#774411")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
"""Colors and markers of the clusters. There is one marker more than colors, so that 56 clusters differ."""

MOST_POINTS, MOST_NAMED, LONGEST = 2000, 12, 40
"""Largest number of drawn rows, of clusters in a legend, and of letters in an axis label."""


Kind = TypeVar("Kind")


def written(text: str) -> str:
    """Escape a text for matplotlib, so that a $ is drawn and does not start a formula."""
    return text.replace("$", r"\$") if matplotlib.rcParams["text.parse_math"] else text


def tree_and_names(model: Any, picture: str, feature_names: Sequence[str] | None) -> tuple[HyperplaneTree, list[str]]:
    """Return the tree of a fitted estimator, or the tree itself, and the names of its columns.

    The tree of a pipeline is in the columns of X. Raises ValueError, which names a step, if it cannot be.
    """
    if isinstance(model, Pipeline):
        if not isinstance(getattr(model.steps[-1][1], "tree_", None), HyperplaneTree):
            check_is_fitted(model)
            raise TypeError(refusal(model.steps[-1][1], picture, "a model with a tree, or the tree itself"))
        shown = pipeline_in_columns(model)
        assert shown.tree is not None
        return shown.tree, shown_names(shown.tree, shown.names if feature_names is None else feature_names)
    if isinstance(model, TreeClusterer):
        check_is_fitted(model)
        if has_unit_rows(model):
            raise ValueError(
                "metric='cosine' divides rows by their lengths, so the cuts cannot be drawn in the columns of X: draw "
                "model.tree_ with the rows sklearn.preprocessing.normalize(X)"
            )
    tree = model if isinstance(model, HyperplaneTree) else getattr(model, "tree_", None)
    if not isinstance(tree, HyperplaneTree):
        raise TypeError(refusal(model, picture, "a model with a tree, or the tree itself"))
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    return tree, shown_names(tree, feature_names)


def pipeline_in_columns(pipe: Pipeline) -> ShownPipeline:
    """Return a pipeline as it is shown in the columns of X. Raises ValueError, which names a step, if it cannot be."""
    shown = ShownPipeline.of(pipe)
    if shown.steps is None:
        raise ValueError(f"{shown.reason}: draw pipe[-1] with the rows pipe[:-1].transform(X)")
    return shown


def fitted_as(kind: type[Kind], model: Any, picture: str) -> Kind:
    """Return the model after checking its type and that it is fitted."""
    if not isinstance(model, kind):
        raise TypeError(refusal(model, picture, f"a {kind.__name__}"))
    check_is_fitted(model)
    return model


def refusal(model: Any, picture: str, draws: str) -> str:
    """Error message for an object that a plot cannot draw, with the function that can draw it."""
    return f"plot.{picture} draws {draws}, but this is {_kind_of(model)}: {_remedy(model)}"


def _kind_of(model: Any) -> str:
    return "None" if model is None else f"an object of type {type(model).__name__}"


def _remedy(model: Any) -> str:
    if isinstance(model, TreeClusterer | HyperplaneTree):
        return "use plot.tree, panels, density, node, elbow or path to draw its tree"
    if isinstance(model, SumOfNorms):
        return "use plot.clusterpath or plot.fusions"
    if isinstance(model, SupportVectorClustering):
        return "use plot.support"
    if isinstance(model, BaseEstimator):
        return "use report.write to show its groups" if is_of_ravine(type(model)) else "fit a model of ravine"
    if hasattr(model, "records") and hasattr(model, "events"):
        return "use plot.stream"
    if hasattr(model, "jaccard") and hasattr(model, "verdicts"):
        return "use plot.stability"
    return "pass a fitted model, for instance plot.tree(PDDP().fit(X))"


def columns_and_names(
    model: Any, features: Sequence[str | int] | str | int | None, feature_names: Sequence[str] | None
) -> tuple[list[int], list[str]]:
    """Return the positions and the names of the one or two columns to draw."""
    n_columns = model.n_features_in_
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    names = named(n_columns, given, "rows have")
    if features is None:
        features = range(min(n_columns, 2))
    elif isinstance(features, str | int | np.integer):
        features = [features]
    if len(features) not in (1, 2):
        raise ValueError(f"features has {len(features)} entries: pass one or two columns")
    columns = [_column(feature, names) for feature in features]
    return columns, [shown(names[j]) for j in columns]


def _column(feature: Any, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"there is no feature {feature!r}: the features are {shortened(', '.join(names), 200)}")
        return names.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
        raise TypeError(f"features has the entry {feature!r}: pass names or positions of columns")
    if not 0 <= feature < len(names):
        raise ValueError(f"there is no feature {feature}: the rows have {counted(len(names), 'feature')}")
    return int(feature)


def as_rows(model: Any, tree: HyperplaneTree, X: Any) -> Matrix:
    """Validate rows to draw."""
    if isinstance(model, Pipeline) and X is not None:
        return rows_to_show(None, tree.n_features, pipeline_in_columns(model).in_columns(X))
    return rows_to_show(model, tree.n_features, X)


def rows_of_cut(model: Any, tree: HyperplaneTree, X: Any, node: Any) -> Matrix:
    """Return the rows that reach a node, which must be a cut."""
    if isinstance(node, bool) or not isinstance(node, int | np.integer):
        raise TypeError(f"node={node!r} is not an integer: pass one of tree_.cuts")
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
    """Cut the tree to `n_clusters`. Raises ValueError if the plot has no room for them."""
    if n_clusters is not None:
        tree = tree.cut_to(index(n_clusters))
    if tree.n_clusters > most:
        raise ValueError(
            f"{tree.n_clusters:,} clusters are too many for this plot: pass n_clusters={most} or fewer to draw only "
            "the first cuts"
        )
    return tree


def points(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in points, the unit of text sizes."""
    box = ax.get_window_extent()
    return 72 * box.width / ax.figure.dpi, 72 * box.height / ax.figure.dpi


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure, with width and height in inches."""
    return plt.figure(figsize=(width, height), layout="constrained").add_subplot()
