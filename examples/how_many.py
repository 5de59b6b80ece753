"""
Choosing the number of clusters
===============================

ravine accepts a cut if rows that did not choose it confirm its valley. The test gives a p-value at every node
and so determines the number of clusters. This example compares it with the usual approach: run ``KMeans`` for
every number and take the best silhouette.
"""

# %%
# The data are two large groups of clusters, far apart: three on the left and four on the right, with different
# sizes and shapes.

import numpy as np

rng = np.random.default_rng(0)
centers = [(0, 0), (4, 3), (1, 8), (30, 0), (36, 2), (31, 8), (37, 10)]
sizes = [900, 300, 500, 800, 150, 600, 200]
shape = [(1, 1), (0.5, 0.5), (1.5, 0.4), (1.5, 0.6), (0.5, 1.2), (0.8, 0.8), (1.2, 0.5)]
X = np.vstack([rng.normal(p, s, size=(n, 2)) for p, s, n in zip(centers, shape, sizes, strict=True)])
y = np.repeat(np.arange(7), sizes)

# %%
# The silhouette is best for two clusters. It measures how far apart clusters are, and the two groups are
# farthest apart. The curve has a second, lower maximum at seven.

from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score

numbers = range(2, 11)
runs = [KMeans(k, n_init=5, random_state=0).fit(X) for k in numbers]
silhouettes = [silhouette_score(X, run.labels_, sample_size=2_000, random_state=0) for run in runs]
best = runs[int(np.argmax(silhouettes))]
print(f"KMeans by silhouette: {best.n_clusters} clusters, ARI {adjusted_rand_score(y, best.labels_):.2f}")
print(f"KMeans(7):            {runs[5].n_clusters} clusters, ARI {adjusted_rand_score(y, runs[5].labels_):.2f}")

# %%
# ``NCutH`` tests every node. The p-value of a cut is the probability of a valley this empty if there were none,
# on the rows that did not choose the cut. Leaves are tested too; their p-values show why they were not split.

from ravine import NCutH

model = NCutH().fit(X)
print(f"NCutH: {model.n_clusters_} clusters, ARI {adjusted_rand_score(y, model.labels_):.2f}")
print(model.tree_.to_text(["x", "y"]))
leaves = model.tree_.leaves
print("p-values of the leaves:", model.tree_.p_value[leaves].round(2))

# %%
# To get fewer clusters from the same fit, use ``cut_to``. It keeps the first cuts.

for k in (2, 4):
    coarse = model.cut_to(k)
    print(f"cut_to({k}):", np.bincount(coarse.labels_))

# %%
# A silhouette needs at least two clusters, so it can never answer that there is one. The test can. It errs on
# the side of too few: two species of iris touch, and their valley is too shallow for 100 rows to confirm it.

from sklearn.datasets import load_iris

print("one cloud:", NCutH().fit(rng.normal(size=(3_000, 2))).n_clusters_, "cluster")
print("iris, three species:", NCutH().fit(load_iris().data).n_clusters_, "clusters")

# %%
# ``plot.path`` shows the clusters for each number of clusters as blocks. A dashed line divides the cluster that
# is split next. The sum of squares in ``plot.elbow`` has its elbow at two as well: it measures distance again,
# not evidence.

import matplotlib.pyplot as plt

from ravine import plot

fig, axes = plt.subplot_mosaic([["rows", "silhouette"], ["path", "elbow"]], figsize=(9, 6.4), layout="constrained")
colors = np.array(["#4477aa", "#ee7733", "#228833", "#aa3377", "#33bbee", "#aa9911", "#774411"])
axes["rows"].scatter(*X.T, c=colors[model.labels_ % 7], s=3)
axes["rows"].set(title=f"NCutH, {model.n_clusters_} clusters", xlabel="x", ylabel="y")
axes["silhouette"].plot(numbers, silhouettes, marker="o", color="#4477aa")
axes["silhouette"].set(title="KMeans", xlabel="number of clusters", ylabel="silhouette")
plot.path(model, ax=axes["path"])
plot.elbow(model, ax=axes["elbow"])
for ax in axes.values():
    ax.spines[["top", "right"]].set_visible(False)
