"""Classifiers that also learn from rows without a label."""

from ravine.semi_supervised._mdh import MDHClassifier

__all__ = ["MDHClassifier"]
