"""
A convex clusterpath
====================

:class:`ravine.SumOfNorms` gives every row a centroid, and draws the centroids together with a force λ. As λ
grows they meet, first within clusters and at last all in one place. The problem is convex: there is one
solution for each λ, whatever the start, and ``gap_`` proves how close the answer is to it.
"""

# %%
# Two moons and a blob, of 400 rows. Nobody says how many clusters there are; the path decides, by the longest
# stretch of λ, on a logarithmic scale, over which the clusters with enough rows stay the same.

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from ravine import SumOfNorms, plot

rng = np.random.default_rng(0)
moons, side = make_moons(300, noise=0.06, random_state=0)
X = np.vstack([moons, rng.normal((2.6, 0.9), 0.15, size=(100, 2))])
y = np.concatenate([side, np.full(100, 2)])

model = SumOfNorms().fit(X)
kmeans = KMeans(3, n_init=10, random_state=0).fit(X)
print(f"{model.n_clusters_} clusters at λ = {model.lam_:.3g}, strength {model.strength_:.2f}")
print(f"ARI {adjusted_rand_score(y, model.labels_):.3f}; KMeans, told 3: {adjusted_rand_score(y, kmeans.labels_):.3f}")

# %%
# The objective is above its least value by this share at most, which is proved and not estimated. The groups
# are sure to be those of the exact solution.

print(f"gap_ = {model.gap_:.1e}")
print("partition_stable_ =", model.partition_stable_)

# %%
# Each line is the way of a centroid, from the row to the places where it meets others.

_ = plot.clusterpath(model)

# %%
# How many groups there are at each λ. The shaded stretch is the one that decided.

_ = plot.fusions(model)

# %%
# One fit has every other granularity too. Chance makes clusters as well, and ``strength_`` tells: it is below
# 0.4 for most data that have none, such as this square. The eighteen clusters in it mean nothing.

print("two clusters from the same path:", np.bincount(model.cut_to(2).labels_))
square = SumOfNorms().fit(rng.random((400, 2)))
print(f"a square without clusters: {square.n_clusters_} clusters, strength {square.strength_:.2f}")

# %%
# Iris is harder. Two of its three species touch, and the path sees two clusters. Asked for three, it has
# about the scores of ``KMeans``. The picture shows two of the four columns.

from sklearn.datasets import load_iris

iris = load_iris(as_frame=True)
two = SumOfNorms().fit(iris.data)
three = two.cut_to(3)
kmeans = KMeans(3, n_init=10, random_state=0).fit(iris.data)
for name, labels in (("SumOfNorms()", two.labels_), ("cut_to(3)", three.labels_), ("KMeans(3)", kmeans.labels_)):
    print(f"{name:13s} {np.bincount(labels)}, ARI {adjusted_rand_score(iris.target, labels):.2f}")
_ = plot.clusterpath(three, features=["petal length (cm)", "sepal width (cm)"])
