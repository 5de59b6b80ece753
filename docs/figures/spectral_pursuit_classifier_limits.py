"""Draw boundaries and mean accuracies for a class with a tenth of the rows, and for a valley across the classes."""

from _drawing import draw_few_labels
from _rows import one_in_ten, valley_across_classes
from sklearn.svm import LinearSVC

from ravine import MDHClassifier, SpectralPursuitClassifier

cases = (one_in_ten, "a class with a tenth of the rows"), (valley_across_classes, "the valley runs across the classes")
methods = {
    "SpectralPursuitClassifier": SpectralPursuitClassifier(use_unlabeled="always"),
    "MDHClassifier": MDHClassifier(use_unlabeled="always"),
}
left, _ = draw_few_labels(cases, methods, LinearSVC(), (2, 5, 20), n_draws=10, seed=1, lowest=0.45)
left.legend(loc="lower right", frameon=False, fontsize=9)
