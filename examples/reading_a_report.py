"""
Explaining a tree
=================

A cluster is useful if you can say what it is. Every cut has a normal in the columns of the data, so a tree
shows which columns separate its clusters: as text, as plots, and as an HTML report.
"""

# %%
# The data are chemical analyses of 178 wines of three cultivars. The columns have different units, so we scale
# them. The number of clusters is chosen automatically. :class:`ravine.MDH` finds three. :class:`ravine.NCutH`
# prefers sides of similar size; it finds no valley that held-out rows confirm, and returns one cluster.

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
print(f"KMeans(3): ARI {adjusted_rand_score(wine.target, kmeans.labels_):.2f}")

# %%
# ``KMeans``, with the number of clusters given, is closer to the cultivars, but it does not say why. The tree
# does. Its text shows for each cut the columns that drive the split, that is, the columns with most of the
# distance between the two sides, and the p-value of the valley. The first cut has no evidence of its own: p is
# near 1. It was made provisionally, and kept because a cut below it has evidence.

print(model.tree_.to_text(X.columns, n_features=3))

# %%
# ``describe`` returns the same as records. A cluster is described by its difference from its sibling, in the
# units of the columns, here standard deviations.

import pandas as pd

table = pd.DataFrame(model.tree_.describe(X.columns, n_features=3))
clusters = table[table["kind"] == "cluster"].astype({"label": int, "count": int})
print(clusters[["label", "count", "feature", "difference", "share"]].round(2).to_string(index=False))

# %%
# For each cluster we print the columns that are farthest from the mean of all wines.

for label in range(model.n_clusters_):
    mean = X[model.labels_ == label].mean()
    far = mean[mean.abs().sort_values(ascending=False).index[:3]]
    cultivars = wine.target[model.labels_ == label].value_counts().to_dict()
    words = ", ".join(f"{name} {value:+.1f}" for name, value in far.items())
    print(f"cluster {label}: {words} | cultivars {cultivars}")

# %%
# ``plot.tree`` draws the tree. The width of a line shows the depth of the valley at the cut.

from ravine import plot

_ = plot.tree(model)

# %%
# ``plot.panels`` shows the rows along the normal of each cut. At the leaves we draw the means of the thirteen
# columns, in standard deviations. Cluster 0 has few flavanoids; cluster 1 has more proline and alcohol than
# cluster 2.


def draw_means(ax, node):
    """Draw the means of a cluster's columns as bars."""
    mean = model.tree_.mean[node]
    ax.bar(range(len(mean)), mean, color=["#4477aa" if value < 0 else "#ee7733" for value in mean])
    ax.axhline(0, color="#222222", linewidth=0.6)
    ax.set(ylim=(-1.4, 1.4))
    ax.spines[["top", "right", "bottom", "left"]].set_visible(False)


_ = plot.panels(model, X, draw_leaf=draw_means)

# %%
# The report is one HTML file that works offline. It has the same tree, which you can click through, and describes
# each cluster in words. If classes are known, it shows them beside the clusters.

import tempfile
from pathlib import Path

from ravine import report

with tempfile.TemporaryDirectory() as folder:
    path = report.write(
        model, X, Path(folder) / "wine.html", labels=wine.target_names[wine.target], preparation="columns scaled"
    )
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
