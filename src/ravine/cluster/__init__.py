"""Estimators in the manner of scikit-learn, one module a method."""

from ravine.cluster._pddp import PDDP

__all__ = ["PDDP"]
