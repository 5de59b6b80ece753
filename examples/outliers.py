"""
Outliers
========

:class:`ravine.SupportVectorClustering` learns a function that is high where there are rows. Its hills are the
clusters; a row where it is below a boundary is an outlier. Here it is asked for both at once, beside
``IsolationForest`` and ``LocalOutlierFactor``, which know outliers only.
"""

# %%
# Two moons, a dense blob and a thin one, 1,200 rows, and 40 strays anywhere in the picture; those that fall
# on a cluster by chance, within 0.2 of a proper row, are left out.

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ravine.datasets import make_moons

rng = np.random.default_rng(0)
moons, _ = make_moons(600, noise=0.06, random_state=0)
dense, thin = rng.normal((3.2, 1.0), 0.1, size=(300, 2)), rng.normal((4.6, -0.2), 0.4, size=(300, 2))
proper = np.vstack([moons, dense, thin])
stray = rng.uniform((-2, -1.8), (6.2, 2.2), size=(40, 2))
distance, _ = NearestNeighbors(n_neighbors=1).fit(proper).kneighbors(stray)
stray = stray[distance[:, 0] > 0.2]
X = np.vstack([proper, stray])
is_stray = np.arange(len(X)) >= len(proper)
print(f"{len(X)} rows, {is_stray.sum()} of them stray")

# %%
# ``contamination`` is the share of rows that may be outliers, at most; all three methods are told the true
# one.

from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from ravine import SupportVectorClustering

share = is_stray.mean()
model = SupportVectorClustering(contamination=share).fit(X)
print(f"{model.n_clusters_} clusters of {np.bincount(model.labels_)} rows")

forest = IsolationForest(contamination=share, random_state=0).fit(X)
factor = LocalOutlierFactor(n_neighbors=20, contamination=share).fit(X)
height = {
    "SupportVectorClustering": model.decision_function(X),
    "IsolationForest": forest.decision_function(X),
    "LocalOutlierFactor": factor.negative_outlier_factor_ - factor.offset_,
}
for name, value in height.items():
    found = value < 0
    right = (found & is_stray).sum()
    print(
        f"{name:24s} {found.sum():2d} called outliers, {right:2d} rightly, area {roc_auc_score(~is_stray, value):.3f}"
    )

# %%
# The area under the curve is that of the order in which a method suspects the rows. The picture shows what
# each takes for outliers: hollow marks, and a red circle where that is wrong. The dark line is the boundary,
# the shaded regions are the clusters.
#
# The local factor makes fewest errors here, by a little, and is the fastest of the three; it has no clusters
# to give. What the support vectors miss are strays in pairs, each of which holds up the other; what they call
# outliers wrongly are rows on the fringe of the thin blob.

import matplotlib.pyplot as plt

from ravine import plot

fig, axes = plt.subplot_mosaic("AA;AA;BC", figsize=(8, 6.4), layout="constrained")
plot.support(model, X, ax=axes["A"])
for ax, (name, value) in zip(axes.values(), height.items(), strict=True):
    if ax is not axes["A"]:
        ax.scatter(*X[value >= 0].T, s=6, color="#bbbbbb", linewidth=0)
        ax.scatter(*X[value < 0].T, s=14, facecolor="none", edgecolor="#222222", linewidth=0.8)
    wrong = is_stray != (value < 0)
    ax.scatter(*X[wrong].T, s=80, facecolor="none", edgecolor="#cc3311", linewidth=1.2)
    ax.set(title=f"{name}: {wrong.sum()} wrong", aspect="equal", xlabel="", ylabel="", xticks=[], yticks=[])
