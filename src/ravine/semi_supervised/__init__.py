"""Classifiers that also learn from rows without a label."""

from ravine.semi_supervised._mdh import MDHClassifier
from ravine.semi_supervised._spectral import SpectralPursuitClassifier

__all__ = ["MDHClassifier", "SpectralPursuitClassifier"]
