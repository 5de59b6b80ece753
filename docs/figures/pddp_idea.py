"""One node of PDDP: the first principal component, the mean and the valley."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_in_a_square, gaussian_density

from ravine import PDDP
from ravine.plot._common import FAINT, LINE

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(0, 1, (450, 2)), rng.normal([5, 2.5], 0.8, (150, 2))])

valley = PDDP(n_clusters=2).fit(X).tree_
mean = PDDP(n_clusters=2, criterion="mean").fit(X).tree_
v = valley.normal[0]
h = 1.06 * (X @ v).std() * len(X) ** (-1 / 5)

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
draw_in_a_square(left, X, valley.predict(X))
box = left.axis()
left.axline(X.mean(axis=0), X.mean(axis=0) + v, color=FAINT, linewidth=1.2)
left.text(6.6, 4.0, "v", color="#555555", fontsize=13, style="italic")
across = np.array([-v[1], v[0]])
for tree, style in ((valley, "-"), (mean, ":")):
    left.axline(tree.offset[0] * v, tree.offset[0] * v + across, color=LINE, linestyle=style, linewidth=1.5)
left.axis(box)
left.set_title("the rows and their first component v")

positions = np.linspace((X @ v).min() - 1, (X @ v).max() + 1, 400)
right.hist(X @ v, bins=40, density=True, color="#dddddd")
right.plot(positions, gaussian_density(X @ v, h, positions), color=LINE)
right.axvline(valley.offset[0], color=LINE, linewidth=1.5, label="the valley, dePDDP")
right.axvline(mean.offset[0], color=LINE, linestyle=":", linewidth=1.5, label="the mean, PDDP")
right.set(yticks=[], xlabel="v · x", title="the density along v")
right.spines[["left", "top", "right"]].set_visible(False)
right.legend(frameon=False, loc="upper right")
