"""What a model of a tree method can say after its fit. Estimators and models from a file share it.

Nothing here needs scikit-learn: see `ravine._read_only`.
"""

from typing import ClassVar

import numpy as np

from ravine._matrix import Bools, Floats, Ints
from ravine._schema import Array, Group, Sizes, State, require
from ravine.tree._check import TREE
from ravine.tree._tree import HyperplaneTree, restored


def labels_are_clusters(state: State, sizes: Sizes) -> None:
    """The labels are numbers of leaves, or -1 if the mixture of the tree makes outliers."""
    if state["labels"] is None:
        return
    n_clusters = (sizes.get("n_nodes", 0) + 1) // 2  # of a binary tree
    mixture = None if state["tree"] is None else state["tree"]["mixture"]
    least = 0 if mixture is None or mixture["limit"] is None else -1
    is_valid = least <= state["labels"].min() and state["labels"].max() < n_clusters
    require(is_valid, "labels", f"has an entry outside the {n_clusters} clusters of the tree")


LABELED_TREE = Group(
    {"tree": TREE, "labels": Array("integer", ("n_samples",), low=-1, optional=True)}, (labels_are_clusters,)
)
"""What most models with a tree save. Labels are left out if single rows are not to be saved."""


class FittedTree:
    """A model whose result is a HyperplaneTree in `tree_`."""

    _shrink: ClassVar[float] = 4.0
    """The level of the valley test is divided by this number with each further level of look-ahead. Each level tests
    twice as many nodes; dividing the level keeps the total error below twice that of one test."""

    _schema: ClassVar[Group] = LABELED_TREE

    _has_unit_rows: bool = False
    """Whether the tree is one of rows of length 1, to which the model converts all rows that it reads."""

    tree_: HyperplaneTree
    labels_: Ints
    n_features_in_: int
    significance: float

    def _tested_levels(self) -> tuple[Floats, Bools]:
        """Significance level at which each node was tested, and whether its p-value is at or below this level.

        Below a cut that is not confirmed, the level is divided by `_shrink`.
        """
        tree = self.tree_
        level, confirmed = np.full(tree.n_nodes, self.significance), np.zeros(tree.n_nodes, dtype=bool)
        for node in range(tree.n_nodes):
            parent = tree.parent[node]
            if parent >= 0:
                level[node] = self.significance if confirmed[parent] else level[parent] / self._shrink
            confirmed[node] = tree.p_value[node] <= level[node]
        return level, confirmed

    def _sizes(self) -> Sizes:
        """Return the sizes in `_schema` that the parameters and the number of features determine."""
        return {"n_features": self.n_features_in_}

    def _restore(self, state: State) -> None:
        """Restore what `_state` returned, after it was checked."""
        self.tree_ = restored(state["tree"])
        if state["labels"] is not None:
            self.labels_ = state["labels"]

    @property
    def n_clusters_(self) -> int:
        """Number of clusters found."""
        return self.tree_.n_clusters


class FittedEvidenceTree(FittedTree):
    """A model of a tree method whose number of clusters held-out rows confirm, as far as they can."""

    selection: str = "evidence"  # of a method without this parameter
    n_clusters: int | None

    @property
    def confirmed_(self) -> int:
        """Number of cuts that held-out rows confirm; the other cuts are above such a cut, or were not tested."""
        return int(self._tested_levels()[1][self.tree_.cuts].sum())

    @property
    def selection_(self) -> str:
        """What determined the number of clusters: "asked" (`n_clusters` was given), or a value of `selection`."""
        if self.n_clusters is not None:
            return "asked"
        if self.selection != "auto":
            return self.selection
        return "evidence" if self.tree_.n_clusters == 1 or self.confirmed_ > 0 else "elbow"


class FittedPDDP(FittedEvidenceTree):
    """A model of `PDDP`."""

    # A test that does not search for a direction is wrong far less often than its level says.
    _shrink: ClassVar[float] = 1.0


def check_that_outliers_have_a_mixture(outliers: str, assign_labels: str) -> None:
    """Raise ValueError if the parameters ask for outliers, but for no mixture to find them."""
    if outliers == "label" and assign_labels == "tree":
        raise ValueError(
            "outliers='label' needs a mixture, but assign_labels='tree' fits none: use assign_labels='auto', or "
            "outliers='assign'"
        )
