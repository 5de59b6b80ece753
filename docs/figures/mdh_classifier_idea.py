"""Draw the boundary of a support vector machine on four labels, and the one that also uses the unlabeled rows."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_boundaries, draw_labeled, plain
from _rows import few_labels, valley_between_classes
from scipy.stats import gaussian_kde
from sklearn.svm import LinearSVC

from ravine import MDHClassifier
from ravine.plot._common import COLORS, FAINT, LINE

rng = np.random.default_rng(10)
X, truth = valley_between_classes(rng)
y = few_labels(truth, 2, rng)
model = MDHClassifier(use_unlabeled="always").fit(X, y)
machine = LinearSVC().fit(X[y >= 0], y[y >= 0])

figure, (plane, line) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", width_ratios=[1.2, 1])
plane.scatter(*X.T, s=6, color=FAINT, linewidth=0)
draw_labeled(plane, X, y)
draw_boundaries(plane, model.predict, linewidths=2)
draw_boundaries(plane, machine.predict, linestyles="--", colors=COLORS[3], linewidths=1.6)
plain(plane, "4 labeled rows, 596 unlabeled")

(cut,) = model.cuts_
other = machine.coef_[0] / np.linalg.norm(machine.coef_)
values = {"MDHClassifier": (X @ cut.normal - cut.offset, LINE, "-")}
offset = machine.intercept_[0] / np.linalg.norm(machine.coef_)
values["support vector machine"] = (X @ other + offset, COLORS[3], "--")
grid = np.linspace(-8, 8, 400)
for name, (value, color, dashes) in values.items():
    line.plot(grid, gaussian_kde(value, 0.15)(grid), color=color, linestyle=dashes, label=name)
line.axvline(0, color=FAINT, linewidth=1)
line.set(xlabel="distance to the boundary", ylabel="density of all rows", yticks=[], xlim=(-8, 8))
line.spines[["top", "right"]].set_visible(False)
line.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=9, borderaxespad=0)
