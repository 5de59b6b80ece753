"""Draw λ₂ of the projected rows by direction, with and without labels, computed by the formula of the thesis."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_boundaries, draw_labeled, plain
from _rows import few_labels
from scipy.linalg import eigh

from ravine import SpectralPursuitClassifier
from ravine.plot._common import COLORS, FAINT, LINE

rng = np.random.default_rng(3)
truth = np.repeat([0, 1, 1], 40)
X = rng.normal(size=(120, 2)) * 0.8 + np.array([[0, 0], [4, 0.0], [2, 4.5]])[np.repeat([0, 1, 2], 40)]
y = few_labels(truth, 3, rng)
BANDWIDTH, MERGED = 0.35, 1e3


def connectivity(angle, with_labels):
    """Return the second eigenvalue of the Laplacian of the projected rows; rows of a class are joined firmly."""
    position = X @ [np.cos(angle), np.sin(angle)]
    apart = position[:, None] - position
    joined = np.exp(-((apart / BANDWIDTH) ** 2) / 2)
    if with_labels:
        left, right = y == 0, y == 1
        wrong = np.maximum(apart, 0) ** 1.5 * (left[:, None] & ~left) + np.maximum(-apart, 0) ** 1.5 * (
            right[:, None] & ~right
        )
        joined += wrong + wrong.T
        joined[left[:, None] & left | right[:, None] & right] = MERGED
    return eigh(np.diag(joined.sum(axis=1)) - joined, eigvals_only=True, subset_by_index=[1, 1])[0]


model = SpectralPursuitClassifier(use_unlabeled="always").fit(X, y)
(cut,) = model.cuts_
figure, (plane, line) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
plane.scatter(*X.T, s=9, color=FAINT, linewidth=0)
draw_labeled(plane, X, y)
draw_boundaries(plane, model.predict, linewidths=2)
plain(plane, "six labels: one class has two clusters")

degrees = np.arange(-90, 270, 3)
for with_labels, color, dashes, name in (
    (False, FAINT, "--", "without labels"),
    (True, COLORS[0], "-", "with labels"),
):
    values = [connectivity(np.radians(angle), with_labels) for angle in degrees]
    line.plot(degrees, values, color=color, linestyle=dashes, label=name)
found = (np.degrees(np.arctan2(*cut.normal[::-1])) + 90) % 360 - 90
line.axvline(found, color=LINE, linewidth=1, label="direction found")
line.set(yscale="log", xlabel="angle of the direction v, degrees", ylabel="λ₂", xticks=range(-90, 271, 90))
line.spines[["top", "right"]].set_visible(False)
line.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=9, borderaxespad=0)
