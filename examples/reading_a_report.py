"""
Reading a tree
==============

A cluster is of use when somebody can say what it is. Every cut has a normal in the columns of the data, so a
tree says which columns part its clusters: in words, in pictures, and in a page of HTML.
"""

# %%
# Chemical analyzes of 178 wines of three cultivars. The columns have different units, so they are scaled.
# Nobody says that there are three cultivars. :class:`ravine.MDH` finds three clusters; :class:`ravine.NCutH`,
# which likes its sides balanced, sees no valley that the held-out rows confirm, and leaves one.

from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from ravine import MDH, NCutH

wine = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(wine.data)
model = MDH().fit(X)
kmeans = KMeans(3, n_init=10, random_state=0).fit(X)
print(f"MDH: {model.n_clusters_} clusters, ARI {adjusted_rand_score(wine.target, model.labels_):.2f}")
print(f"NCutH: {NCutH().fit(X).n_clusters_} cluster")
print(f"KMeans, told 3: ARI {adjusted_rand_score(wine.target, kmeans.labels_):.2f}")

# %%
# ``KMeans``, told the number, is closer to the cultivars. It does not say why. The tree in words: beside each
# cut stand the columns that carry most of the distance between its sides, and the p-value of its valley. The
# first cut has no evidence of its own, p is near 1. It was made on trial, and kept because a cut below it has
# evidence.

print(model.tree_.to_text(X.columns, n_features=3))

# %%
# ``describe`` gives the same as records. A cluster is described by its difference from its sibling, in the
# unit of the columns, here standard deviations.

import pandas as pd

table = pd.DataFrame(model.tree_.describe(X.columns, n_features=3))
clusters = table[table["kind"] == "cluster"].astype({"label": int, "count": int})
print(clusters[["label", "count", "feature", "difference", "share"]].round(2).to_string(index=False))

# %%
# In sentences: cluster by cluster, the columns farthest from the mean of all wines.

for label in range(model.n_clusters_):
    mean = X[model.labels_ == label].mean()
    far = mean[mean.abs().sort_values(ascending=False).index[:3]]
    cultivars = wine.target[model.labels_ == label].value_counts().to_dict()
    words = ", ".join(f"{name} {value:+.1f}" for name, value in far.items())
    print(f"cluster {label}: {words} | cultivars {cultivars}")

# %%
# The map of the tree. The width of a line is the depth of the valley at the cut.

from ravine import plot

_ = plot.tree(model)

# %%
# The rows along the normal of each cut, and at the leaves the means of the thirteen columns, in standard
# deviations. Cluster 0 has few flavanoids; cluster 1 has more proline and alcohol than cluster 2.


def draw_means(ax, node):
    """Draw the means of a cluster's columns as bars."""
    mean = model.tree_.mean[node]
    ax.bar(range(len(mean)), mean, color=["#4477aa" if value < 0 else "#ee7733" for value in mean])
    ax.axhline(0, color="#222222", linewidth=0.6)
    ax.set(ylim=(-1.4, 1.4))
    ax.spines[["top", "right", "bottom", "left"]].set_visible(False)


_ = plot.panels(model, X, draw_leaf=draw_means)

# %%
# The page: one file that works without a network, with the same tree to click through, each cluster in words,
# and the known classes beside them where there are some.

import tempfile
from pathlib import Path

from ravine import report

with tempfile.TemporaryDirectory() as folder:
    path = report.write(
        model, X, Path(folder) / "wine.html", labels=wine.target_names[wine.target], preparation="columns scaled"
    )
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
