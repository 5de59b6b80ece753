"""The search of NCutH: NCut along the direction found, and the lowest NCut of every direction."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_in_a_square

from ravine import NCutH
from ravine.plot._common import FAINT, LINE, RIGHT

rng = np.random.default_rng(1)
X = np.vstack([rng.normal(size=(200, 2)) * [2.5, 0.8], rng.normal(size=(120, 2)) * [2.5, 0.8] + [2.0, 4.5]])
start = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
sigma = 100 * (X @ start).std() * len(X) ** (-1 / 5)


def ncuts(v):
    """Return the sorted values along v, and NCut of a cut after each value except the last."""
    values = np.sort(X @ v)
    similarity = np.exp(-np.abs(values[:, np.newaxis] - values) / sigma)
    k = np.arange(1, len(values))
    volume = np.cumsum(similarity.sum(axis=1))
    within = np.cumsum(np.cumsum(similarity, axis=0), axis=1)[k - 1, k - 1]
    across = volume[k - 1] - within
    return values, across * (1 / volume[k - 1] + 1 / (volume[-1] - volume[k - 1]))


tree = NCutH(n_clusters=2).fit(X).tree_
v, b = tree.normal[0], tree.offset[0]
fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
draw_in_a_square(axes[0], X, tree.predict(X))
box = axes[0].axis()
axes[0].axline(b * v, b * v + [-v[1], v[0]], color=LINE, linewidth=1.5)
axes[0].axline(X.mean(axis=0), X.mean(axis=0) + start, color=FAINT, linestyle=":", linewidth=1.5)
axes[0].axis(box)
axes[0].set_title("the rows, the cut and the start")

values, along = ncuts(v)
axes[1].hist(values, bins=30, color="#dddddd", weights=np.full(len(values), np.ptp(along) / 60), bottom=along.min())
axes[1].plot((values[1:] + values[:-1]) / 2, along, color=LINE)
axes[1].axvline(b, color=LINE, linestyle="--", linewidth=1.2)
axes[1].set(xlabel="b", ylabel="NCut(v, b)", yticks=[], title="along the direction found")

angles = np.linspace(0, np.pi, 120)
lowest = [ncuts(np.array([np.cos(a), np.sin(a)]))[1].min() for a in angles]
axes[2].plot(np.degrees(angles), lowest, color=LINE)
for direction, marker, color, word in ((start, "o", FAINT, "start"), (v, "D", RIGHT, "found")):
    angle = np.arctan2(direction[1], direction[0]) % np.pi
    axes[2].plot(np.degrees(angle), ncuts(direction)[1].min(), marker, color=color, markersize=8, label=word)
axes[2].set(xlabel="angle of v, degrees", ylabel="lowest NCut", yticks=[], title="every direction", xticks=[0, 90, 180])
axes[2].legend(frameon=False)
