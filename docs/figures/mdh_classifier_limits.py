"""Draw boundaries, and mean accuracy by the number of labels, if unlabeled rows help and if they do harm."""

from _drawing import draw_few_labels
from _rows import valley_across_classes, valley_between_classes
from sklearn.svm import LinearSVC

from ravine import MDHClassifier

cases = (
    (valley_between_classes, "the valley separates the classes"),
    (valley_across_classes, "the valley runs across the classes"),
)
numbers = (2, 3, 5, 10, 20, 50)
methods = {"MDHClassifier": MDHClassifier(use_unlabeled="always")}
_, right = draw_few_labels(cases, methods, LinearSVC(), numbers, n_draws=20, seed=10, lowest=0.5)
right.legend(loc="lower right", frameon=False, fontsize=9)
