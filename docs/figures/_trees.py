"""What the figures of the tree methods share: data in the plane, rows by cluster, and the boundaries between them."""

import numpy as np

from ravine.plot._common import COLOURS, FAINT, LINE, MARKERS

CELLS = 300
"""Grid points a side on which boundaries are sought."""

SIDES = np.array([-1, 1])


def ridges(n_rows=600, seed=0):
    """Two long clusters side by side, turned by 45 degrees."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 2)) * [5, 0.6]
    X[:, 1] += np.where(y, 2, -2)
    return X @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2), y


def large_and_small(n_large=970, n_small=30, seed=0):
    """A large cluster, and a small one 8 units from its middle."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(0, 2, (n_large, 2)), rng.normal([8, 0], 0.4, (n_small, 2))])
    return X, np.repeat([0, 1], [n_large, n_small])


def arc_and_core(seed=0):
    """An arc around a core in two columns, and six columns of noise that is almost as wide."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, 300)
    arc = 5 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.5, (300, 2))
    plane = np.vstack([arc, rng.normal(0, 0.9, (300, 2))])
    return np.column_stack([plane, rng.normal(0, 1.8, (600, 6))]), np.repeat([0, 1], 300)


def draw_rows(ax, X, labels, size=9):
    """Rows in the plane, each cluster with its colour and marker."""
    for k in np.unique(labels):
        here = labels == k
        marker = MARKERS[k % len(MARKERS)]
        ax.scatter(*X[here].T, s=size, marker=marker, color=COLOURS[k % len(COLOURS)], linewidth=0, alpha=0.7)
    middle, half = (X.min(axis=0) + X.max(axis=0)) / 2, 0.54 * np.ptp(X, axis=0).max()
    ax.set(xticks=[], yticks=[], xlim=middle[0] + half * SIDES, ylim=middle[1] + half * SIDES, aspect="equal")
    ax.spines[:].set(visible=True, color=FAINT)


def draw_boundaries(ax, predict):
    """Lines where the labels of the plane change, within the limits of the axes."""
    x, y = np.linspace(*ax.get_xlim(), CELLS), np.linspace(*ax.get_ylim(), CELLS)
    labels = predict(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(CELLS, CELLS)
    for k in np.unique(labels)[1:]:
        ax.contour(x, y, labels == k, levels=[0.5], colors=LINE, linewidths=1.2)


def draw_clusters(ax, X, model, title):
    """Rows of the plane by their cluster in a fitted model, and its cuts."""
    draw_rows(ax, X, model.predict(X))
    ax.set_title(title)
    draw_boundaries(ax, model.predict)


def gaussian_density(values, bandwidth, places):
    """Kernel density of values at some places."""
    away = (places[:, np.newaxis] - values) / bandwidth
    return np.exp(-(away**2) / 2).mean(axis=1) / (bandwidth * np.sqrt(2 * np.pi))
