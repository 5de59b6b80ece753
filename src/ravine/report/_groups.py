"""The groups of a model: the leaves of its tree, or the clusters or classes of a model without a tree."""

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine._lazy import PIPELINE, is_a
from ravine._matrix import Ints, Matrix
from ravine._names import shown
from ravine.tree import HyperplaneTree
from ravine.tree._model import rows_to_show
from ravine.tree._text import counted
from ravine.tree._unit_rows import has_unit_rows

if TYPE_CHECKING:
    from ravine.tree._pipeline import ShownPipeline

OUTLIERS = "outliers"


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a fitted model, in the order of their numbers.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        The last step, if a pipeline is shown.
    tree : HyperplaneTree or None
        Tree of the model, if it has one. The groups are its leaves.
    n_features : int
        Number of columns.
    values : list
        Value that `predict` returns for each group. The value -1, for rows in no cluster, comes last.
    names : list of str
        Names of the groups.
    finding : str
        The number of groups, in words.
    pipeline : ShownPipeline or None
        The pipeline that ends with the model, if there is one. Then `tree` is in the columns that it shows.
    """

    model: Any
    tree: HyperplaneTree | None
    n_features: int
    values: list[Any]
    names: list[str]
    finding: str
    pipeline: "ShownPipeline | None" = None

    @classmethod
    def of(cls, model: Any) -> "Groups":
        """The groups of a model. Raises TypeError if it is not a model, NotFittedError if it is not fitted."""
        if is_a(model, PIPELINE) or has_unit_rows(model):
            from ravine.tree._pipeline import ShownPipeline

            pipeline = ShownPipeline.of(model)
            groups = cls.of(pipeline.model)
            return replace(groups, tree=pipeline.tree, n_features=pipeline.n_features, pipeline=pipeline)
        tree = model if isinstance(model, HyperplaneTree) else None
        if tree is None:
            is_estimator = is_a(model, "ravine.cluster._base.RowEstimator")
            if is_estimator:
                from sklearn.utils.validation import check_is_fitted

                check_is_fitted(model)
            found = getattr(model, "tree_", None)
            tree = found if isinstance(found, HyperplaneTree) else None
            if tree is None and not is_estimator:
                what = "None" if model is None else f"an object of type {type(model).__name__}"
                raise TypeError(f"model is {what}: pass a fitted model of ravine, or its tree")
        if tree is not None:
            has_outliers = tree.mixture is not None and tree.mixture.limit is not None
            return cls(model, tree, tree.n_features, *_clusters(tree.n_clusters, has_outliers))
        if hasattr(model, "classes_"):
            classes = model.classes_.tolist()
            names = [f"class {shown(value)}" for value in classes]
            return cls(model, None, model.n_features_in_, classes, names, f"{len(classes):,} classes")
        return cls(model, None, model.n_features_in_, *_clusters(int(model.n_clusters_), True))

    @property
    def feature_names(self) -> Any:
        """Names of the columns that are shown, or None."""
        return getattr(self.model, "feature_names_in_", None) if self.pipeline is None else self.pipeline.names

    def read(self, X: Any) -> tuple[Matrix, Ints]:
        """Return the rows to show, and the number of the group of each. Raises ValueError if they do not fit the model.

        The groups of a pipeline are those that the pipeline itself predicts.
        """
        if self.pipeline is None:
            rows = rows_to_show(self.model, self.n_features, X)
            return rows, self._number(rows)
        from ravine._sklearn import num_samples

        if X is not None and not num_samples(X):
            return np.empty((0, self.n_features)), np.empty(0, dtype=np.int64)
        visible, seen = (None, None) if X is None else self.pipeline.read(X)
        rows = rows_to_show(None if self.pipeline.steps is not None else self.model, self.n_features, visible)
        return rows, self._as_numbers(self.model.predict(seen))

    def _number(self, rows: Matrix) -> Ints:
        """Number of the group of each row."""
        if self.tree is not None:
            return self._with_outliers_last(self.tree.predict(rows))
        if not rows.shape[0]:
            return np.empty(0, dtype=np.int64)
        with warnings.catch_warnings():
            # The names of the columns were checked before the rows became an array.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self._as_numbers(self.model.predict(rows))

    def _as_numbers(self, predicted: Any) -> Ints:
        if self.tree is None and hasattr(self.model, "classes_"):
            return np.searchsorted(self.model.classes_, predicted)
        return self._with_outliers_last(predicted)

    def _with_outliers_last(self, labels: Ints) -> Ints:
        return np.where(labels < 0, len(self.values) - 1, labels).astype(np.int64)

    def labels(self, number: Ints) -> Ints:
        """Number of the group of each row, with -1 for rows in no cluster."""
        return np.where(number == len(self.values) - 1, -1, number) if self.may_be_left_out else number

    @property
    def may_be_left_out(self) -> bool:
        """Whether the last group holds rows in no cluster. It is not shown if it is empty."""
        return self.names[-1] == OUTLIERS


def _clusters(n_clusters: int, with_outliers: bool) -> tuple[list[Any], list[str], str]:
    values, names = list(range(n_clusters)), [f"cluster {k}" for k in range(n_clusters)]
    if with_outliers:
        values, names = [*values, -1], [*names, OUTLIERS]
    return values, names, counted(n_clusters, "cluster")
