"""Rows without a label that help, and rows that hurt: boundaries, and mean accuracy by the number of labels."""

import matplotlib.pyplot as plt
import numpy as np
from _shapes import (
    COLOURS,
    LINE,
    draw_boundaries,
    draw_labelled,
    draw_rows,
    few_labels,
    gap_across,
    gap_between,
    plain,
)
from sklearn.svm import LinearSVC

from ravine import MDHClassifier

NUMBERS = (2, 3, 5, 10, 20, 50)


def accuracies(draw, n_labels, seed):
    rng = np.random.default_rng(seed)
    X, truth = draw(rng)
    y = few_labels(truth, n_labels, rng)
    is_new = y < 0
    models = MDHClassifier().fit(X, y), LinearSVC().fit(X[~is_new], y[~is_new])
    return [np.mean(model.predict(X[is_new]) == truth[is_new]) for model in models]


figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", height_ratios=[1.2, 1])
for column, draw, title in ((0, gap_between, "the gap parts the classes"), (1, gap_across, "the gap runs across them")):
    rng = np.random.default_rng(10)
    X, truth = draw(rng)
    y = few_labels(truth, 2, rng)
    plane, line = axes[:, column]
    draw_rows(plane, X, truth, alpha=0.35)
    draw_labelled(plane, X, y)
    draw_boundaries(plane, MDHClassifier().fit(X, y).predict, linewidths=2)
    machine = LinearSVC().fit(X[y >= 0], y[y >= 0])
    draw_boundaries(plane, machine.predict, linestyles="--", colors=COLOURS[3], linewidths=1.6)
    plain(plane, title)
    means = np.mean([[accuracies(draw, n, seed) for n in NUMBERS] for seed in range(20)], axis=0)
    line.plot(NUMBERS, means[:, 0], "o-", color=LINE, markersize=4, label="MDHClassifier")
    line.plot(NUMBERS, means[:, 1], "s--", color=COLOURS[3], markersize=4, label="support vector machine on the labels")
    line.set(xscale="log", xticks=NUMBERS, xticklabels=NUMBERS, ylim=(0.5, 1.01), xlabel="labels per class")
    line.minorticks_off()
    line.spines[["top", "right"]].set_visible(False)
axes[1, 0].set_ylabel("mean accuracy, 20 draws")
axes[1, 1].legend(loc="lower right", frameon=False, fontsize=9)
