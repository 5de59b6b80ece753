"""A class of one row in ten that is found, and a gap across the classes: boundaries, and mean accuracies."""

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
    one_in_ten,
    plain,
)
from sklearn.svm import LinearSVC

from ravine import MDHClassifier, SpectralPursuitClassifier

NUMBERS = (2, 5, 20)
STYLES = (
    ("SpectralPursuitClassifier", "o-", LINE),
    ("MDHClassifier", "^:", COLOURS[0]),
    ("support vector machine on the labels", "s--", COLOURS[3]),
)


def accuracies(draw, n_labels, seed):
    rng = np.random.default_rng(seed)
    X, truth = draw(rng)
    y = few_labels(truth, n_labels, rng)
    new = y < 0
    fits = SpectralPursuitClassifier().fit(X, y), MDHClassifier().fit(X, y), LinearSVC().fit(X[~new], y[~new])
    return [np.mean(model.predict(X[new]) == truth[new]) for model in fits]


figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", height_ratios=[1.2, 1])
for column, draw, title in ((0, one_in_ten, "one row in ten"), (1, gap_across, "the gap runs across the classes")):
    rng = np.random.default_rng(1)
    X, truth = draw(rng)
    y = few_labels(truth, 2, rng)
    plane, line = axes[:, column]
    draw_rows(plane, X, truth, alpha=0.35)
    draw_labelled(plane, X, y)
    draw_boundaries(plane, SpectralPursuitClassifier().fit(X, y).predict, linewidths=2)
    machine = LinearSVC().fit(X[y >= 0], y[y >= 0])
    draw_boundaries(plane, machine.predict, linestyles="--", colors=COLOURS[3], linewidths=1.6)
    plain(plane, title)
    means = np.mean([[accuracies(draw, n, seed) for n in NUMBERS] for seed in range(10)], axis=0)
    for mean, (name, style, colour) in zip(means.T, STYLES, strict=True):
        line.plot(NUMBERS, mean, style, color=colour, markersize=4, label=name)
    line.set(xscale="log", xticks=NUMBERS, xticklabels=NUMBERS, ylim=(0.45, 1.01), xlabel="labels per class")
    line.minorticks_off()
    line.spines[["top", "right"]].set_visible(False)
axes[1, 0].set_ylabel("mean accuracy, 10 draws")
axes[1, 0].legend(loc="lower right", frameon=False, fontsize=9)
