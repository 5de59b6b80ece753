"""A class of one row in ten that is found, and a gap across the classes: boundaries, and mean accuracies."""

from _drawing import draw_few_labels
from _rows import gap_across, one_in_ten
from sklearn.svm import LinearSVC

from ravine import MDHClassifier, SpectralPursuitClassifier

cases = (one_in_ten, "one row in ten"), (gap_across, "the gap runs across the classes")
methods = {"SpectralPursuitClassifier": SpectralPursuitClassifier(), "MDHClassifier": MDHClassifier()}
left, _ = draw_few_labels(cases, methods, LinearSVC(), (2, 5, 20), n_draws=10, seed=1, lowest=0.45)
left.legend(loc="lower right", frameon=False, fontsize=9)
