"""Fitted models of the tree methods, read from a file without their estimators: see `ravine._read_only`."""

from importlib import import_module
from typing import Any, ClassVar

from ravine._matrix import Ints, Matrix
from ravine._read_only import Parameter, ReadOnlyModel
from ravine._schema import POSITIVE, Custom, Either, Number, Word
from ravine.cluster._fitted import FittedEvidenceTree, FittedPDDP, check_that_outliers_have_a_mixture

MOST_COUNTED, MOST = 2**31 - 1, 1e30
"""Largest values of parameters that an estimator takes: of those that count something, and of all others."""

BELOW_ONE = 1 - 2**-53
"""The largest float below 1."""


def count(least: int, most: int = MOST_COUNTED, optional: bool = False) -> Number:
    return Number(int, low=least, high=most, optional=optional)


def real(least: float, most: float = MOST, optional: bool = False) -> Either:
    return Either((Number(int, low=least, high=most), Number(float, low=least, high=most)), optional=optional)


def _floats(value: Any) -> Any:
    """Return a tuple or a list of floats."""
    if not isinstance(value, tuple | list) or not value or not all(type(each) is float for each in value):
        raise ValueError("must be a list of floats")
    return value


def _threads(value: Any) -> Any:
    if type(value) is not int or value == 0 or abs(value) > 10_000:
        raise ValueError("must be a number of threads")
    return value


YES_NO, AUTO_SIZE = Number(bool), Either((count(1), Word(("auto",))))

COMMON = {
    "n_clusters": Parameter(None, count(1, optional=True)),
    "significance": Parameter(0.05, Number(float, low=POSITIVE, high=BELOW_ONE)),
    "min_cluster_size": Parameter("auto", AUTO_SIZE),
    "assign_labels": Parameter("auto", Word(("auto", "tree", "mixture"))),
    "outliers": Parameter("assign", Word(("assign", "label"))),
    "random_state": Parameter(0, Number(int, low=0, high=2**32 - 1, optional=True)),
    "n_jobs": Parameter(-1, Custom(_threads, optional=True)),
}
"""Parameters of all methods."""

FACTOR = real(1e-9, 1e9)
CHOSEN = Parameter("auto", Word(("auto", "evidence", "elbow")))

BATCH = {
    **COMMON,
    "split_order": Parameter("auto", Word(("auto", "size", "value", "sum_sq"))),
    "max_depth": Parameter(None, count(0, optional=True)),
}
"""Parameters of the methods that grow their tree from all rows at once."""

SEARCH = {**BATCH, "selection": CHOSEN, "margin": Parameter(False, YES_NO)}
"""Parameters of the methods that search for a direction."""


class ReadOnlyTree(ReadOnlyModel, FittedEvidenceTree):
    """Base class of the fitted models of tree methods."""

    n_jobs: int | None
    assign_labels: str
    outliers: str

    def _validate_params(self) -> None:
        super()._validate_params()
        check_that_outliers_have_a_mixture(self.outliers, self.assign_labels)

    def predict(self, X: Matrix) -> Ints:
        """Predict the cluster of each row, as the estimator does."""
        return self.tree_.predict(X, self.n_jobs)


class NCutH(ReadOnlyTree):
    """A fitted `ravine.NCutH`."""

    _parameters: ClassVar[dict[str, Parameter]] = {
        **SEARCH,
        "init": Parameter("pca", Either((Word(("pca",)), count(1)))),
        "bandwidth_factor": Parameter(100.0, FACTOR),
    }


class MDH(ReadOnlyTree):
    """A fitted `ravine.MDH`."""

    _parameters: ClassVar[dict[str, Parameter]] = {
        **SEARCH,
        "init": Parameter(2, Either((Word(("pca",)), count(1)))),
        "bandwidth_factor": Parameter(0.9, FACTOR),
        "alphas": Parameter((0.0, 0.9), Custom(_floats)),
    }


class PDDP(FittedPDDP, ReadOnlyTree):
    """A fitted `ravine.PDDP`."""

    _parameters: ClassVar[dict[str, Parameter]] = {
        **BATCH,
        "criterion": Parameter("density", Word(("density", "mean"))),
        "selection": Parameter("auto", Word(("auto", "evidence", "elbow", "antimode"))),
        "bandwidth_factor": Parameter(1.06, FACTOR),
        "assign_labels": Parameter("tree", COMMON["assign_labels"].field),
    }


READ_ONLY = {**dict.fromkeys(("NCutH", "MDH", "PDDP"), "_read_only"), "IncrementalMDH": "_read_only_incremental"}
"""Fitted models that can be read without their estimators, by the names of the estimators, and their modules."""


def read_only_class(name: str) -> type[ReadOnlyModel] | None:
    """Return the class of a fitted model that can be read without its estimator; None if there is none."""
    if name not in READ_ONLY:
        return None
    found: type[ReadOnlyModel] = getattr(import_module(f"ravine.cluster.{READ_ONLY[name]}"), name)
    return found
