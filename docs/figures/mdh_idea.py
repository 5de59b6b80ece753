"""The search of MDH: the density along its first direction and along its last."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_in_a_square, gaussian_density
from _rows import ridges

from ravine import MDH
from ravine.plot._common import LINE, PALE

X, _ = ridges()
tree = MDH(n_clusters=2).fit(X).tree_
start = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
h = 0.9 * (X @ start).std() * len(X) ** (-1 / 5)

fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
draw_in_a_square(axes[0], X, tree.predict(X))
box = axes[0].axis()
v, b = tree.normal[0], tree.offset[0]
axes[0].axline(b * v, b * v + [-v[1], v[0]], color=LINE, linewidth=1.5)
axes[0].axis(box)
axes[0].set_title("the rows and the cut")

directions = [(start, "along the first component"), (v, "along the direction found")]
for ax, (direction, title) in zip(axes[1:], directions, strict=True):
    values = X @ direction
    positions = np.linspace(values.min() - 3 * h, values.max() + 3 * h, 400)
    middle, reach = values.mean(), 0.9 * values.std()
    ax.axvspan(middle - reach, middle + reach, color=PALE, alpha=0.6, linewidth=0)
    ax.plot(positions, gaussian_density(values, h, positions), color=LINE)
    ax.set(title=title, yticks=[], ylim=(0, None), xlabel="v · x")
    ax.spines[["left", "top", "right"]].set_visible(False)
axes[2].axvline(b, color=LINE, linestyle="--", linewidth=1.2)
axes[2].annotate("b", (b, 0.9), xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points")
