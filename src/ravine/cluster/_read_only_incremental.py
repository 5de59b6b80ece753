"""A fitted `IncrementalMDH`, read from a file without its estimator: see `ravine._read_only`."""

from typing import ClassVar

from ravine._matrix import Floats
from ravine._read_only import Parameter
from ravine._schema import Either, State, Word
from ravine.cluster._fitted_incremental import FittedIncremental
from ravine.cluster._read_only import CHOSEN, COMMON, YES_NO, ReadOnlyTree, count, real


class IncrementalMDH(ReadOnlyTree, FittedIncremental):
    """A fitted `ravine.IncrementalMDH` whose tree has been grown."""

    _parameters: ClassVar[dict[str, Parameter]] = {
        **COMMON,
        "algorithm": Parameter("polished", Word(("polished", "online"))),
        "selection": CHOSEN,
        "metric": Parameter("euclidean", Word(("euclidean",))),  # others take the estimator, which converts the rows
        "standardize": Parameter(True, YES_NO),
        "memory_length": Parameter(None, real(1, optional=True)),
        "sample_size": Parameter(20_000, count(2)),
        "n_passes": Parameter("auto", Either((count(1, 10_000), Word(("auto",))))),
        "max_depth": Parameter(7, count(1, 20)),
        "exponent": Parameter(1 / 6, real(0)),
        "alpha": Parameter(0.25, real(0)),
        "penalty": Parameter(1.0, real(0)),
    }

    def _restore(self, state: State) -> None:
        if state["tree"] is None:
            raise ValueError("the tree is not grown yet, which takes the estimator")
        super()._restore(state)
        self._selection: str = state["chosen"]["selection"]
        self.elbow_path_: Floats | None = state["chosen"]["elbow_path"]

    @property
    def selection_(self) -> str:
        """What determined the number of clusters: "asked" (`n_clusters` was given), "evidence" or "elbow"."""
        return self._selection
