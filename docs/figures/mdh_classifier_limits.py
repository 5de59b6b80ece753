"""Rows without a label that help, and rows that hurt: boundaries, and mean accuracy by the number of labels."""

from _drawing import draw_few_labels
from _rows import gap_across, gap_between
from sklearn.svm import LinearSVC

from ravine import MDHClassifier

cases = (gap_between, "the gap parts the classes"), (gap_across, "the gap runs across them")
numbers = (2, 3, 5, 10, 20, 50)
methods = {"MDHClassifier": MDHClassifier()}
_, right = draw_few_labels(cases, methods, LinearSVC(), numbers, n_draws=20, seed=10, lowest=0.5)
right.legend(loc="lower right", frameon=False, fontsize=9)
