"""
Convex clustering and its path
==============================

:class:`ravine.SumOfNorms` gives every row a centroid and pulls the centroids together with a strength λ. As λ
grows, centroids merge, first within clusters and finally all into one. The problem is convex, so each λ has
one solution, whatever the start. ``gap_`` proves how close the result is to it.
"""

# %%
# The data are two moons and a blob, 400 rows in all. The number of clusters is chosen automatically, from the
# longest range of λ, on a logarithmic scale, over which the clusters stay the same. Only clusters with enough
# rows count.

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
print(f"ARI {adjusted_rand_score(y, model.labels_):.3f}; KMeans(3): {adjusted_rand_score(y, kmeans.labels_):.3f}")

# %%
# ``gap_`` is the largest possible relative distance of the objective from its minimum. It is proved, not
# estimated. ``partition_stable_`` says that the groups are certain to be those of the exact solution.

print(f"gap_ = {model.gap_:.1e}")
print("partition_stable_ =", model.partition_stable_)

# %%
# Each line is the path of a centroid, from its row to the points where it merges with others.

_ = plot.clusterpath(model)

# %%
# This plot shows the number of groups at each λ. The shaded range is the one that decided.

_ = plot.fusions(model)

# %%
# One fit gives every other number of clusters too. The path of random data also has groups by chance. They are
# compared with the groups of draws without clusters. In this square they are not stronger, so there is one cluster.

print("two clusters from the same path:", np.bincount(model.cut_to(2).labels_))
square = SumOfNorms().fit(rng.random((400, 2)))
print(f"a square without clusters: {square.n_clusters_} cluster, confirmed_ = {square.confirmed_}")

# %%
# Iris is harder. Two of its three species touch, and the path finds two clusters. With three clusters it scores
# about the same as ``KMeans``. The plot shows two of the four columns.

from sklearn.datasets import load_iris

iris = load_iris(as_frame=True)
two = SumOfNorms().fit(iris.data)
three = two.cut_to(3)
kmeans = KMeans(3, n_init=10, random_state=0).fit(iris.data)
for name, labels in (("SumOfNorms()", two.labels_), ("cut_to(3)", three.labels_), ("KMeans(3)", kmeans.labels_)):
    print(f"{name:13s} {np.bincount(labels)}, ARI {adjusted_rand_score(iris.target, labels):.2f}")
_ = plot.clusterpath(three, features=["petal length (cm)", "sepal width (cm)"])
