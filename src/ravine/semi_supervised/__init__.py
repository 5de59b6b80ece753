"""Classifiers that also learn from unlabeled rows."""

from ravine.semi_supervised._mdh import MDHClassifier
from ravine.semi_supervised._spectral import SpectralPursuitClassifier

__all__ = ["MDHClassifier", "SpectralPursuitClassifier"]
