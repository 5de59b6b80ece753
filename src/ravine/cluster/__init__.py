"""Estimators in the manner of scikit-learn, one module a method."""

from ravine.cluster._incremental import IncrementalMDH
from ravine.cluster._mdh import MDH
from ravine.cluster._ncuth import NCutH
from ravine.cluster._pddp import PDDP

__all__ = ["MDH", "PDDP", "IncrementalMDH", "NCutH"]
