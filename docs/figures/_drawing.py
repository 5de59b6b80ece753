"""Shared drawing functions: rows of the plane by cluster, boundaries between clusters, and methods with few labels."""

import matplotlib.pyplot as plt
import numpy as np
from _rows import few_labels

from ravine.plot._common import COLORS, FAINT, LINE, MARKERS

CELLS = 300
"""Number of grid cells per side when boundaries are traced."""

SIDES = np.array([-1, 1])


def draw_rows(ax, X, labels, size=8, alpha=0.6):
    """Draw rows of the plane, with one color and marker per cluster."""
    for cluster in np.unique(labels):
        marker, color = MARKERS[cluster % len(MARKERS)], COLORS[cluster % len(COLORS)]
        ax.scatter(*X[labels == cluster].T, s=size, marker=marker, color=color, alpha=alpha, linewidth=0)


def draw_in_a_square(ax, X, labels, size=9):
    """Draw rows of the plane by cluster, in a square without ticks and with equal axes."""
    draw_rows(ax, X, labels, size, alpha=0.7)
    middle, half = (X.min(axis=0) + X.max(axis=0)) / 2, 0.54 * np.ptp(X, axis=0).max()
    ax.set(xticks=[], yticks=[], xlim=middle[0] + half * SIDES, ylim=middle[1] + half * SIDES, aspect="equal")
    ax.spines[:].set(visible=True, color=FAINT)


def draw_boundaries(ax, predict, **style):
    """Draw lines between the regions to which `predict` gives different labels, within the axes."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    x, y = np.linspace(x0, x1, CELLS), np.linspace(y0, y1, CELLS)
    label = predict(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(CELLS, CELLS)
    for k in np.unique(label)[1:]:
        ax.contour(x, y, label == k, levels=[0.5], **{"colors": LINE, "linewidths": 1.2, **style})
    ax.set(xlim=(x0, x1), ylim=(y0, y1))


def draw_clusters(ax, X, model, title):
    """Draw rows of the plane by their cluster in a fitted model, and the cuts of the model."""
    draw_in_a_square(ax, X, model.predict(X))
    ax.set_title(title)
    draw_boundaries(ax, model.predict)


def draw_labeled(ax, X, y, size=60):
    """Draw the labeled rows large, with a dark edge."""
    for k in range(2):
        ax.scatter(*X[y == k].T, s=size, marker=MARKERS[k], color=COLORS[k], edgecolor=LINE, linewidth=1.1, zorder=4)


def plain(ax, title):
    """Set the title and remove the ticks, since only the shape matters."""
    ax.set(title=title, xticks=[], yticks=[])
    ax.spines[:].set(visible=True, color=FAINT, linewidth=0.6)


def gaussian_density(values, bandwidth, positions):
    """Estimate the kernel density of values at some positions."""
    away = (positions[:, np.newaxis] - values) / bandwidth
    return np.exp(-(away**2) / 2).mean(axis=1) / (bandwidth * np.sqrt(2 * np.pi))


def draw_few_labels(cases, methods, machine, numbers, n_draws, seed, lowest):
    """Draw boundaries from two labels per class (top) and mean accuracies by the number of labels (bottom).

    `cases` are pairs of a function that draws rows and a title. `methods` maps names to estimators that see all rows.
    The boundary of the first one is drawn. `machine` sees only the labeled rows.
    """
    styles = dict(zip(methods, (("o-", LINE), ("^:", COLORS[0])), strict=False))
    styles["support vector machine on the labels"] = ("s--", COLORS[3])

    def fitted(X, y):
        return [*(model.fit(X, y) for model in methods.values()), machine.fit(X[y >= 0], y[y >= 0])]

    def accuracies(draw, n_labels, seed):
        rng = np.random.default_rng(seed)
        X, truth = draw(rng)
        y = few_labels(truth, n_labels, rng)
        return [np.mean(model.predict(X[y < 0]) == truth[y < 0]) for model in fitted(X, y)]

    _, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", height_ratios=[1.2, 1])
    for (plane, line), (draw, title) in zip(axes.T, cases, strict=True):
        rng = np.random.default_rng(seed)
        X, truth = draw(rng)
        y = few_labels(truth, 2, rng)
        draw_rows(plane, X, truth, alpha=0.35)
        draw_labeled(plane, X, y)
        first, *_, last = fitted(X, y)
        draw_boundaries(plane, first.predict, linewidths=2)
        draw_boundaries(plane, last.predict, linestyles="--", colors=COLORS[3], linewidths=1.6)
        plain(plane, title)
        means = np.mean([[accuracies(draw, n, draws) for n in numbers] for draws in range(n_draws)], axis=0)
        for mean, (name, (style, color)) in zip(means.T, styles.items(), strict=True):
            line.plot(numbers, mean, style, color=color, markersize=4, label=name)
        line.set(xscale="log", xticks=numbers, xticklabels=numbers, ylim=(lowest, 1.01), xlabel="labels per class")
        line.minorticks_off()
        line.spines[["top", "right"]].set_visible(False)
    axes[1, 0].set_ylabel(f"mean accuracy, {n_draws} draws")
    return axes[1]
