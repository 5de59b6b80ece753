"""MDH on clusters of very different sizes, and on one cluster in many columns."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_clusters
from _rows import large_and_small

from ravine import MDH
from ravine.plot._common import LEFT, LINE, RIGHT

unequal, _ = large_and_small()
rng = np.random.default_rng(0)
noise, new = rng.normal(size=(120, 60)), rng.normal(size=(2000, 60))
cut = MDH(n_clusters=2).fit(noise).tree_.cut(0)

fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained", width_ratios=[1.15, 1, 1])
draw_clusters(axes[0], unequal, MDH(n_clusters=2).fit(unequal), "works: 970 and 30 rows")
rows = [
    (noise, "fails: 120 rows of one cluster,\n60 columns, n_clusters=2"),
    (new, "2,000 new rows of this cluster\nalong the same direction"),
]
for ax, (X, title) in zip(axes[1:], rows, strict=True):
    distance = cut.heights(X)
    bins = np.linspace(-3.6, 3.6, 37)
    ax.hist([distance[distance < 0], distance[distance >= 0]], bins=bins, color=[LEFT, RIGHT], stacked=True)
    ax.axvline(0, color=LINE, linestyle="--", linewidth=1.2)
    ax.set(title=title, yticks=[], xlabel="distance to the cut")
    ax.spines[["left", "top", "right"]].set_visible(False)
