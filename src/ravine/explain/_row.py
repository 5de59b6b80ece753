"""The way of one row through a tree: which columns sent it to which side at each cut, and how far it is from the cut.

At a cut, the distance of a row is a sum over the columns. Each column counts from the point where the line between the
means of the two sides crosses the cut, so that the parts of the columns add up to the distance and do not depend on
where the zero of a column is.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.explain._format import name_text, number_text, share_text
from ravine.explain._table import Floats
from ravine.tree import HyperplaneTree, tree_of
from ravine.tree._text import counted, names_of


@dataclass(frozen=True)
class Step:
    """One cut on the way of a row.

    Parameters
    ----------
    node : int
        Number of the node.
    side : {"left", "right"}
        Side on which the row is.
    next_node : int
        Number of the node that the row reaches.
    distance : float
        Signed distance of the row to the cut, negative on the left.
    columns : tuple of (str, float, float)
        Name, value and part of the columns that contributed most to this side. The parts of all columns add up to
        the size of the distance.
    count : float
        Number of training rows on this side.

    See Also
    --------
    explain_row : Returns the steps of a row.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.explain import explain_row
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
    >>> model = PDDP(n_clusters=3, criterion="mean").fit(X)
    >>> step = explain_row(model, [9, 0], ["width", "height"]).steps[0]
    >>> step.node, step.side, round(step.distance, 2)
    (0, 'right', 6.53)
    >>> step.to_text()
    'node 0: right, 6.53 from the cut, by width 9, height 0'
    """

    node: int
    side: str
    next_node: int
    distance: float
    columns: tuple[tuple[str, float, float], ...]
    count: float

    def to_text(self) -> str:
        """Return the step as text.

        Returns
        -------
        text : str
            One line.
        """
        by = ", ".join(f"{name_text(name)} {number_text(value)}" for name, value, _ in self.columns)
        away = number_text(abs(self.distance))
        return f"node {self.node}: {self.side}, {away} from the cut" + (f", by {by}" if by else "")


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """The way of one row through a tree, and where it ends.

    Parameters
    ----------
    steps : tuple of Step
        The cuts from the root to the leaf.
    leaf : int
        Number of the leaf.
    cluster : object
        What the model predicts: the label of the leaf, or that of the mixture or the classifier; -1 for an outlier.
    membership : ndarray of shape (n_clusters,) or None
        Probability that the row belongs to each cluster, if the tree has a mixture.
    cluster_of_leaf : int
        Label of the leaf. It differs from `cluster` if the mixture decides otherwise.

    See Also
    --------
    explain_row : Returns the explanation of a row.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.explain import explain_row
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
    >>> model = PDDP(n_clusters=3, criterion="mean").fit(X)
    >>> print(explain_row(model, {"width": 1, "height": 8}, ["width", "height"]).to_text())
    node 0: left, 4.78 from the cut, by height 8, width 1
    node 1: right, 3.29 from the cut, by height 8
    cluster 1
    """

    steps: tuple[Step, ...]
    leaf: int
    cluster: Any
    membership: Floats | None
    cluster_of_leaf: int

    def to_text(self) -> str:
        """Return the way of the row as text.

        Returns
        -------
        text : str
            One line for each cut, and one for the cluster.
        """
        end = f"cluster {self.cluster}"
        if self.membership is not None:
            nearest = np.argsort(-self.membership.round(9), kind="stable")[:2]
            end += " (" + ", ".join(f"{share_text(self.membership[k])} cluster {k}" for k in nearest) + ")"
        if self.membership is not None and self.cluster != self.cluster_of_leaf:
            end += f"; by the cuts alone, cluster {self.cluster_of_leaf}"
        return "\n".join([*(step.to_text() for step in self.steps), end])


def explain_row(model: Any, row: Any, feature_names: Sequence[str] | None = None, n_columns: int = 3) -> RowExplanation:
    """Explain why a model puts a row into its cluster: the way of the row through the tree.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        A model with a tree, or the tree.
    row : array-like of shape (n_features,) or dict of str to float
        Values of the row, in the order of the columns, or by name.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names of the columns in `fit`, or x0, x1 and so on.
    n_columns : int, default=3
        Maximum number of columns to mention at each cut.

    Returns
    -------
    RowExplanation
        The steps, the cluster, and the membership in each cluster if the tree has a mixture.

    See Also
    --------
    ravine.tree.HyperplaneTree.decision_path : Returns the nodes that rows pass through.

    Examples
    --------
    >>> from ravine import NCutH
    >>> from ravine.explain import explain_row
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> model = NCutH(n_clusters=3).fit(iris.data)
    >>> found = explain_row(model, iris.data.iloc[120])
    >>> found.cluster, found.membership.round(2).tolist()
    (2, [0.0, 0.0, 1.0])
    >>> [(step.node, step.side) for step in found.steps]
    [(0, 'right'), (2, 'right')]
    """
    tree = tree_of(model)
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    names = names_of(tree, given)
    x = _values(row, names)
    rows = x[np.newaxis]
    leaf = int(tree.apply(rows)[0])
    distances = tree.signed_distance(rows)[0]
    number = np.cumsum(~tree.is_leaf) - 1
    steps, node = [], 0
    while node != leaf:
        left = int(tree.left[node])
        goes_left = left <= leaf < int(tree.right[node])  # a subtree is a range of numbers
        distance = float(distances[number[node]])
        after = left if goes_left else int(tree.right[node])
        columns = _columns(tree, node, x, goes_left, names, n_columns)
        steps.append(Step(node, "left" if goes_left else "right", after, distance, columns, float(tree.count[after])))
        node = after
    membership = tree.membership(rows)[0] if tree.mixture is not None else None
    cluster = int(tree.predict(rows)[0]) if isinstance(model, HyperplaneTree) else _predicted(model, rows)
    return RowExplanation(tuple(steps), leaf, cluster, membership, int(tree.label[leaf]))


def _values(row: Any, names: list[str]) -> Floats:
    """Return the values of a row in the order of the columns."""
    if isinstance(row, Mapping):
        missing = [name for name in names if name not in row]
        if missing:
            raise ValueError(f"the row has no value for {', '.join(map(repr, missing[:3]))}")
        row = [row[name] for name in names]
    values = np.asarray(row, dtype=np.float64)
    if values.ndim == 2 and len(values) == 1:
        values = values[0]
    if values.shape != (len(names),):
        raise ValueError(f"the row has shape {values.shape}, but the model has {counted(len(names), 'column')}")
    return values


def _predicted(model: Any, rows: Floats) -> Any:
    """Return the label of a row, whose values are in the order of the columns also for a model fitted on a frame."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        found = model.predict(rows)[0]
    return found.item() if hasattr(found, "item") else found


def _columns(
    tree: HyperplaneTree, node: int, x: Floats, goes_left: bool, names: list[str], n_columns: int
) -> tuple[tuple[str, float, float], ...]:
    """Return the columns that contributed most to the side of a row, with their values and parts."""
    parts = contributions(tree, node, x)
    parts = -parts if goes_left else parts
    largest = np.argsort(-parts.round(12), kind="stable")[:n_columns]
    least = 0.1 * max(float(parts.max(initial=0.0)), 0.0)
    return tuple((names[j], float(x[j]), float(parts[j])) for j in largest if parts[j] > least)


def contributions(tree: HyperplaneTree, node: int, x: Floats) -> Floats:
    """Return the part of each column in the signed distance of a row to a cut; the parts add up to the distance.

    The parts count from the point of the cut on the line between the means of the two sides. If that line does not
    cross the cut, they count from the point of the cut that is nearest to the middle of the two means.
    """
    normal, offset = tree.normal[node], tree.offset[node]
    left, right = tree.mean[tree.left[node]], tree.mean[tree.right[node]]
    across = float(normal @ (right - left))
    share = (offset - float(normal @ left)) / across if across != 0 else -1.0
    if 0.0 <= share <= 1.0:
        start = left + share * (right - left)
    else:
        middle = (left + right) / 2
        start = middle + normal * (offset - float(normal @ middle))
    return np.asarray(normal * (x - start))
