"""Draw boundaries, and mean accuracy by the number of labels, if unlabeled rows help and if they do harm."""

from _drawing import draw_few_labels
from _rows import gap_across, gap_between
from sklearn.svm import LinearSVC

from ravine import MDHClassifier

cases = (gap_between, "the valley separates the classes"), (gap_across, "the valley runs across the classes")
numbers = (2, 3, 5, 10, 20, 50)
methods = {"MDHClassifier": MDHClassifier()}
_, right = draw_few_labels(cases, methods, LinearSVC(), numbers, n_draws=20, seed=10, lowest=0.5)
right.legend(loc="lower right", frameon=False, fontsize=9)
