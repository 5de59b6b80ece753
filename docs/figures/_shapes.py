"""What the figures of streams, paths, support vectors and classifiers share: rows in the plane and boundaries."""

import numpy as np

from ravine.plot._common import COLOURS, FAINT, LINE, MARKERS

CELLS = 300
"""Points a side of the grid on which boundaries are sought."""


def draw_rows(ax, X, labels, size=8, alpha=0.6):
    """Rows of the plane, each cluster with a colour and a marker of its own."""
    for cluster in np.unique(labels):
        marker, colour = MARKERS[cluster % len(MARKERS)], COLOURS[cluster % len(COLOURS)]
        ax.scatter(*X[labels == cluster].T, s=size, marker=marker, color=colour, alpha=alpha, linewidth=0)


def draw_boundaries(ax, predict, **style):
    """Lines between the regions that `predict` gives different labels, as far as the axes reach."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    x, y = np.linspace(x0, x1, CELLS), np.linspace(y0, y1, CELLS)
    label = predict(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(CELLS, CELLS)
    for k in np.unique(label)[1:]:
        ax.contour(x, y, label == k, levels=[0.5], **{"colors": LINE, "linewidths": 1.2, **style})
    ax.set(xlim=(x0, x1), ylim=(y0, y1))


def draw_labelled(ax, X, y, size=60):
    """The rows that have a label, large, with a dark edge."""
    for k in range(2):
        ax.scatter(*X[y == k].T, s=size, marker=MARKERS[k], color=COLOURS[k], edgecolor=LINE, linewidth=1.1, zorder=4)


def plain(ax, title):
    """No ticks: what matters is the shape."""
    ax.set(title=title, xticks=[], yticks=[])
    ax.spines[:].set(visible=True, color=FAINT, linewidth=0.6)


def gap_between(rng, n_rows=600):
    """Rows of two classes, and their classes: two long clusters side by side, turned."""
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 2)) * [3, 0.8]
    X[:, 1] += 4 * y
    return X @ np.array([[0.8, 0.6], [-0.6, 0.8]]), y


def gap_across(rng, n_rows=600):
    """Rows of two classes, and their classes: the gap runs across the boundary of the classes."""
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += 5 * rng.integers(2, size=n_rows)
    return X, (X[:, 1] > 0).astype(int)


def few_labels(y, n_labels, rng):
    """So many labels of each class; -1 for all other rows."""
    given = np.full(len(y), -1)
    for k in np.unique(y):
        given[rng.choice(np.flatnonzero(y == k), n_labels, replace=False)] = k
    return given


def one_in_ten(rng, n_rows=600):
    """Rows of two classes, and their classes: two Gaussians 5 σ apart, the second with a tenth of the rows."""
    y = (rng.random(n_rows) < 0.1).astype(int)
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += 5 * y
    return X, y
